//! Capabilities in a range of versions, tenants and channels.

use agentdex::{
    Error,
    search::{Filters, Search},
};
use serde_json::{Value, json};

use super::{TestIndex, extended, ids, request, thing};
use crate::support::run_node;

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
fn a_capability_without_a_version_has_that_of_its_thing() {
    let mut whole = agent("urn:a", "", json!([{"name": "billing"}, {"name": "paying", "version": "2.0.0"}]));
    whole["version"] = json!({"instance": "1.4.0"});
    whole["actions"] = json!({"calling": {"forms": [{"href": "https://a.example"}]}});
    let index = TestIndex::with(&[whole, agent("urn:b", "", json!([{"name": "billing"}]))]);
    for capability in ["billing@^1", "paying@^2", "calling@1.4.x"] {
        assert_eq!(index.filtered(asked(&[capability])), ["urn:a"], "{capability}");
    }
    for capability in ["billing@^2", "paying@^1"] {
        assert!(index.filtered(asked(&[capability])).is_empty(), "{capability}");
    }
}

#[test]
fn a_version_that_is_not_semantic_is_in_no_range() {
    let odd = ["1.2.3.4", "1.0.0 foo", "01.2.3", "1.2", "latest", ""];
    let index = TestIndex::with(&odd.map(|version| billing(&format!("urn:{}", version.replace(' ', "-")), version)));
    assert!(index.filtered(asked(&["billing@*"])).is_empty());
    assert_eq!(index.filtered(asked(&["billing"])).len(), odd.len());
}

/// Writes for each range in which of the versions it is, or nothing where npm refuses it.
const NPM: &str = r#"
import { execSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
const home = execSync('npm root -g', { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim();
let semver;
try {
  semver = createRequire(home + '/npm/')('semver');
} catch {
  console.error('ERR_MODULE_NOT_FOUND');
  process.exit(1);
}
const { ranges, versions } = JSON.parse(readFileSync(0, 'utf8'));
const within = range => semver.validRange(range) === null ? null : versions.filter(one => semver.satisfies(one, range));
console.log(JSON.stringify(ranges.map(within)));
"#;

#[test]
fn ranges_hold_what_they_hold_for_npm() {
    let versions = [
        "0.0.0-0",
        "0.0.0",
        "0.0.1-a",
        "0.0.1",
        "0.0.2",
        "0.1.0",
        "0.1.5",
        "0.2.0",
        "1.0.0-0",
        "1.0.0-alpha",
        "1.0.0",
        "1.0.1",
        "1.2.0-rc.1",
        "1.2.0",
        "1.2.3-beta.2",
        "1.2.3-beta.11",
        "1.2.3",
        "1.2.4",
        "1.10.0",
        "2.0.0-0",
        "2.0.0-beta",
        "2.0.0",
        "2.5.0",
        "3.0.0-0",
        "3.0.0",
        "10.0.0",
    ];
    let ranges = ranges();
    let input = json!({"ranges": ranges, "versions": versions}).to_string();
    let Some(answer) = run_node(NPM, &input) else { return };
    let expected: Vec<Option<Vec<String>>> = serde_json::from_str(&answer).unwrap();
    let things: Vec<_> = versions.iter().map(|version| billing(&format!("urn:{version}"), version)).collect();
    let index = TestIndex::with(&things);
    let (mut refused, mut found_some) = (0, 0);
    for (range, expected) in ranges.iter().zip(&expected) {
        let filters = asked(&[&format!("billing@{range}")]);
        let request = Search { filters, limit: 100, ..request("") };
        let found = index.index.search(&request, &[]);
        let Some(expected) = expected else {
            refused += 1;
            // What begins with a letter may be meant as a name, and is none that anybody has.
            let is_refused = match &found {
                Err(Error::InvalidQuery { .. }) => true,
                found => range.starts_with('x') && found.as_ref().is_ok_and(|found| found.total == 0),
            };
            assert!(is_refused, "npm refuses {range:?}: {found:?}");
            continue;
        };
        let mut found: Vec<_> = ids(&found.unwrap_or_else(|error| panic!("{range:?}: {error}")));
        found.reverse();
        let expected: Vec<_> = expected.iter().map(|version| format!("urn:{version}")).collect();
        found_some += usize::from(!expected.is_empty());
        assert_eq!(found, expected, "{range:?}");
    }
    println!("{} ranges, {refused} refused, {found_some} with versions", ranges.len());
    assert!(refused > 50 && found_some > 200);
}

/// Ranges of one and two parts in all their forms, and of parts that are put together by chance.
fn ranges() -> Vec<String> {
    let numbers = [
        "0",
        "0.0",
        "0.1",
        "0.0.1",
        "0.0.0",
        "1",
        "1.x",
        "1.2",
        "1.2.x",
        "1.2.3",
        "v1.2.0",
        "2.0.0-beta",
        "1.2.3-beta.2",
        "0.0.1-a",
        "2",
        "*",
        "x",
        "3.0.0-0",
        "1.0.0+build",
        "1.2.*",
    ];
    let operators = ["", "^", "~", "~>", ">", ">=", "<", "<=", "=", "> ", "^ ", ">= ", "~ "];
    let odd = [
        ">=1, <3",
        "^1 ^10",
        ">=3 <1",
        "^1 ||",
        "|| ^1",
        "||",
        ">=1 foo",
        "^1 beta",
        "1.0.0, 2.5.0",
        ">1 <",
        ">=1.2.0,<2",
        "1 - 2",
        "1.2 - 2.0.0-beta",
        "* - 1.2",
        "1.2.3 - *",
        "1 - 2 - 3",
        "1 - ",
        "1 -2",
        ">1 - 2",
        "1 - 2 || 5",
        "^^1",
        "1.2.3.4",
        "01.2",
        "^1.02.3",
        "* || 2.0.0-beta",
        "1 2",
        "1.x.3",
        "~1.2.3-",
        "1.0.0-01",
        "1 | 2",
        "^1 && ^2",
        "=>1",
        "^1 -",
        "1.2-beta",
        "9007199254740993.0.0",
        ">=0.0.0 || 1.0.0-alpha",
        "  ^1   ||   ~2.5  ",
    ];
    let simple = operators.iter().flat_map(|operator| numbers.map(|number| format!("{operator}{number}")));
    let mut ranges: Vec<String> = simple.chain(odd.map(str::to_owned)).collect();
    let hyphens = numbers.iter().flat_map(|from| numbers.map(|to| format!("{from} - {to}")));
    ranges.extend(hyphens);
    let mut state = 1_u64;
    let mut pick = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for _ in 0..600 {
        let mut range = String::new();
        for place in 0..=1 + pick(3) {
            let between = if place == 0 { "" } else { [" ", " ", " || ", "||"][pick(4)] };
            range.extend([between, operators[pick(operators.len())], numbers[pick(numbers.len())]]);
            if pick(25) == 0 {
                range.push_str([",", " foo", "!", " >", " -"][pick(5)]);
            }
        }
        ranges.push(range);
    }
    ranges
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
    let found = index.search(&Search { filters: filters.clone(), ..request("invoices") });
    assert_eq!((ids(&found), found.total), (vec!["urn:b".into(), "urn:a".into(), "urn:c".into()], 3));
    assert!(found.hits[0].score > found.hits[1].score);
    let page = index.search(&Search { filters, offset: 1, limit: 1, ..request("invoices") });
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
        let page = index.search(&Search { filters: asked(&["billing@1"]), offset, limit: 7, ..request("") });
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
