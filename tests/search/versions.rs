//! Capabilities in a range of versions, tenants and channels.

use agentdex::search::{Filters, Request};
use serde_json::{Value, json};

use super::{TestIndex, extended, ids, request, thing};

fn agent(id: &str, description: &str, capabilities: Value) -> Value {
    extended(thing(id, id, description), json!({"lmos:capabilities": capabilities}))
}

fn billing(id: &str, version: &str) -> Value {
    agent(id, "explains bills", json!([{"id": "urn:cap:billing", "name": "billing", "version": version}]))
}

fn asked(capability: &[&str]) -> Filters {
    Filters { capability: capability.iter().map(|&one| one.to_owned()).collect(), ..Filters::default() }
}

fn index() -> TestIndex {
    let several = json!([{"name": "billing", "version": "1.4.0"}, {"name": "billing", "version": "3.0.0"}]);
    TestIndex::with(&[
        billing("urn:a", "1.2.0"),
        billing("urn:b", "1.10.1"),
        billing("urn:c", "2.0.0-beta.1"),
        billing("urn:d", "no version"),
        agent("urn:e", "explains bills", several),
        agent("urn:f", "explains bills", json!([{"name": "billing"}, {"name": "other", "version": "1.3.0"}])),
    ])
}

#[test]
fn the_highest_satisfying_version_comes_first() {
    let index = index();
    for (range, expected) in [
        ("^1.2", &["urn:b", "urn:e", "urn:a"][..]),
        ("1.x || >=3", &["urn:e", "urn:b", "urn:a"]),
        (">=1.2 <1.5", &["urn:e", "urn:a"]),
        ("1.2.0 - 1.4.0", &["urn:e", "urn:a"]),
        ("~1.10.0", &["urn:b"]),
        (">=2.0.0-alpha <2.0.0", &["urn:c"]),
        ("*", &["urn:e", "urn:b", "urn:a"]),
        ("", &["urn:e", "urn:b", "urn:a"]),
        ("^9", &[]),
    ] {
        assert_eq!(index.filtered(asked(&[&format!("billing@{range}")])), expected, "{range:?}");
    }
    assert_eq!(index.filtered(asked(&["urn:cap:billing@^1"])), ["urn:b", "urn:a"]);
    assert_eq!(index.filtered(asked(&["other@1", "billing@~1.2.0"])), ["urn:f", "urn:a"]);
}

#[test]
fn what_follows_an_at_and_is_no_range_is_part_of_the_name() {
    let scoped =
        json!([{"name": "@scope/billing", "version": "1.0.0"}, {"name": "mail@example.com"}, {"name": "old@1"}]);
    let index = TestIndex::with(&[agent("urn:a", "", scoped)]);
    for capability in ["@scope/billing", "@scope/billing@^1", "mail@example.com", "old@1"] {
        assert_eq!(index.filtered(asked(&[capability])), ["urn:a"], "{capability}");
    }
    for capability in ["@scope/billing@^2", "mail@^1", "old@^1", "old"] {
        assert!(index.filtered(asked(&[capability])).is_empty(), "{capability}");
    }
}

#[test]
fn within_a_version_the_score_decides() {
    let index = TestIndex::with(&[
        agent("urn:a", "invoices, rarely", json!([{"name": "billing", "version": "1.0.0"}])),
        agent("urn:b", "invoices invoices invoices", json!([{"name": "billing", "version": "1.0.0"}])),
        agent("urn:c", "invoices", json!([{"name": "billing", "version": "0.9.0"}])),
        agent("urn:d", "weather", json!([{"name": "billing", "version": "1.0.0"}])),
    ]);
    let filters = asked(&["billing@>=0.5"]);
    let found = index.search(&Request { filters: filters.clone(), ..request("invoices") });
    assert_eq!((ids(&found), found.total), (vec!["urn:b".into(), "urn:a".into(), "urn:c".into()], 3));
    assert!(found.hits[0].score > found.hits[1].score);
    let page = index.search(&Request { filters, offset: 1, limit: 1, ..request("invoices") });
    assert_eq!((ids(&page), page.total), (vec!["urn:a".into()], 3));
}

#[test]
fn pages_go_on_across_segments() {
    let mut index = TestIndex::new();
    for number in 0..30 {
        index.put(&billing(&format!("urn:{number:02}"), &format!("1.{}.0", number % 3)));
        index.commit();
    }
    let mut seen = Vec::new();
    for offset in (0..30).step_by(7) {
        let page = index.search(&Request { filters: asked(&["billing@1"]), offset, limit: 7, ..request("") });
        assert_eq!(page.total, 30);
        seen.extend(ids(&page));
    }
    let expected = [2, 1, 0].into_iter().flat_map(|minor| (0..10).map(move |n| format!("urn:{:02}", n * 3 + minor)));
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[test]
fn no_tenants_means_any_and_channels_must_be_listed() {
    let supported = |id: &str, tenants: Value, channels: Value| {
        let members = json!({"lmos:supportedTenants": tenants, "lmos:supportedChannels": channels});
        extended(thing(id, id, ""), members)
    };
    let index = TestIndex::with(&[
        supported("urn:a", json!(["de", "AT"]), json!(["web"])),
        supported("urn:b", json!([]), json!(["app", "Web"])),
        supported("urn:c", json!(["fr"]), json!([])),
        thing("urn:d", "d", ""),
        supported("urn:e", json!("*"), json!("web")),
    ]);
    let filters = |tenant: &[&str], channel: &[&str]| Filters {
        tenant: tenant.iter().map(|&one| one.to_owned()).collect(),
        channel: channel.iter().map(|&one| one.to_owned()).collect(),
        ..Filters::default()
    };
    assert_eq!(index.filtered(filters(&["at"], &[])), ["urn:a", "urn:b", "urn:d", "urn:e"]);
    assert_eq!(index.filtered(filters(&["fr", "de"], &[])), ["urn:a", "urn:b", "urn:c", "urn:d", "urn:e"]);
    assert_eq!(index.filtered(filters(&[], &["web"])), ["urn:a", "urn:b", "urn:e"]);
    assert_eq!(index.filtered(filters(&["fr"], &["web"])), ["urn:b", "urn:e"]);
}
