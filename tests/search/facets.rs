//! Filters, facets and what they read from a description.

use agentdex::search::{FacetCount, FacetField, Filters, Search};
use serde_json::{Value, json};

use super::{TestIndex, extended, request, thing};

fn agent(id: &str, members: Value) -> Value {
    extended(thing(id, "Agent", "An agent."), members)
}

fn fleet() -> TestIndex {
    TestIndex::with(&[
        agent(
            "urn:a",
            json!({
                "@type": "lmos:Agent",
                "lmos:metadata": {"lmos:vendor": {"lmos:name": "Acme"}},
                "lmos:capabilities": [{"id": "urn:cap:bill", "name": "billing", "tags": ["money"]}],
                "tags": ["Finance"],
                "securityDefinitions": {"s": {"scheme": "bearer"}}, "security": "s",
                "forms": [{"href": "https://a.example/"}]
            }),
        ),
        agent(
            "urn:b",
            json!({
                "@type": ["lmos:Agent", "saref:Sensor"],
                "lmos:metadata": {"lmos:vendor": {"lmos:name": "Acme"}},
                "keywords": "finance",
                "actions": {"measure": {"forms": [{"href": "mqtts://b.example/m", "security": "s"}]}},
                "securityDefinitions": {"s": {"scheme": "nosec"}}
            }),
        ),
        agent(
            "urn:c",
            json!({"@type": "https://eclipse.dev/lmos/protocol/v1#Tool", "lmos:metadata": {"lmos:vendor": "Beta"}}),
        ),
    ])
}

fn one(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}

#[test]
fn each_filter_finds_its_things() {
    let index = fleet();
    let filters = |filters: Filters| index.filtered(filters);
    assert_eq!(filters(Filters { capability: one(&["billing"]), ..Filters::default() }), ["urn:a"], "by name");
    assert_eq!(filters(Filters { capability: one(&["urn:cap:bill"]), ..Filters::default() }), ["urn:a"], "by id");
    assert_eq!(filters(Filters { capability: one(&["measure"]), ..Filters::default() }), ["urn:b"], "by action");
    assert_eq!(filters(Filters { capability: one(&["MEASURE"]), ..Filters::default() }), ["urn:b"], "in any case");
    assert_eq!(filters(Filters { capability: one(&["urn:CAP:bill"]), ..Filters::default() }), ["urn:a"], "in any case");
    assert_eq!(filters(Filters { type_: one(&["saref:Sensor"]), ..Filters::default() }), ["urn:b"]);
    assert_eq!(filters(Filters { type_: one(&["lmos:Tool"]), ..Filters::default() }), ["urn:c"]);
    assert_eq!(filters(Filters { tag: one(&["finance"]), ..Filters::default() }), ["urn:a", "urn:b"]);
    assert_eq!(filters(Filters { tag: one(&["money"]), ..Filters::default() }), ["urn:a"]);
    assert_eq!(filters(Filters { vendor: one(&["ACME"]), ..Filters::default() }), ["urn:a", "urn:b"]);
    assert_eq!(filters(Filters { protocol: one(&["http"]), ..Filters::default() }), ["urn:a"]);
    assert_eq!(filters(Filters { protocol: one(&["mqtt"]), ..Filters::default() }), ["urn:b"]);
    assert_eq!(filters(Filters { security: one(&["bearer"]), ..Filters::default() }), ["urn:a"]);
    assert_eq!(filters(Filters { format: one(&["td"]), ..Filters::default() }), ["urn:a", "urn:b", "urn:c"]);
    assert_eq!(filters(Filters { format: one(&["a2a"]), ..Filters::default() }), Vec::<String>::new());
}

#[test]
fn filters_are_or_within_and_across() {
    let index = fleet();
    let both = Filters { vendor: one(&["Acme", "Beta"]), ..Filters::default() };
    assert_eq!(index.filtered(both.clone()), ["urn:a", "urn:b", "urn:c"]);
    let tools = Filters { type_: one(&["lmos:Tool", "saref:Sensor"]), ..both.clone() };
    assert_eq!(index.filtered(tools), ["urn:b", "urn:c"]);
    let scored = index.search(&Search { filters: both, ..request("billing agent") });
    assert_eq!((scored.total, scored.hits[0].id.as_str()), (3, "urn:a"));
}

#[test]
fn filters_do_not_change_the_score() {
    let index = fleet();
    let plain = index.query("billing").hits[0].score;
    let filters = Filters { vendor: one(&["Acme"]), type_: one(&["lmos:Agent"]), ..Filters::default() };
    assert_eq!(index.search(&Search { filters, ..request("billing") }).hits[0].score, plain);
}

#[test]
fn facets_count_all_matches() {
    let index = fleet();
    let facets = vec![FacetField::Vendor, FacetField::Tag, FacetField::Protocol, FacetField::Capability];
    let response = index.search(&Search { facets, limit: 1, ..request("agent") });
    assert_eq!((response.total, response.hits.len()), (3, 1));
    let counts = |field| -> Vec<(String, u64)> {
        response.facets[&field].iter().map(|FacetCount { value, count }| (value.clone(), *count)).collect()
    };
    assert_eq!(counts(FacetField::Vendor), [("Acme".to_owned(), 2), ("Beta".to_owned(), 1)]);
    assert_eq!(
        counts(FacetField::Tag),
        [("Finance".to_owned(), 2), ("money".to_owned(), 1)],
        "what a filter takes as the same is counted together"
    );
    assert_eq!(counts(FacetField::Protocol), [("http".to_owned(), 1), ("mqtt".to_owned(), 1)]);
    assert_eq!(counts(FacetField::Capability), [("measure".to_owned(), 1), ("urn:cap:bill".to_owned(), 1)]);
}

#[test]
fn facets_count_spellings_of_a_value_together() {
    let named = |id: &str, name: &str, vendor: &str| {
        agent(id, json!({"lmos:capabilities": [{"name": name}], "lmos:metadata": {"lmos:vendor": vendor}}))
    };
    let mut index = TestIndex::with(&[named("urn:a", "payBill", "ACME"), named("urn:b", "paybill", "Acme")]);
    index.put(&named("urn:c", "payBill", "Acme"));
    index.commit();
    let facets = vec![FacetField::Capability, FacetField::Vendor];
    let response = index.search(&Search { facets, ..request("") });
    let count = |value: &str| vec![FacetCount { value: value.to_owned(), count: 3 }];
    assert_eq!(response.facets[&FacetField::Capability], count("payBill"));
    assert_eq!(response.facets[&FacetField::Vendor], count("Acme"));
}

#[test]
fn spellings_of_an_lmos_type_are_one_value() {
    let typed = |id: &str, types: Value| agent(id, json!({"@type": types}));
    let index = TestIndex::with(&[
        typed("urn:a", json!("lmos:Agent")),
        typed("urn:b", json!("Agent")),
        typed("urn:c", json!(["https://eclipse.dev/lmos/protocol/v1#Agent", "lmos:Agent"])),
        typed("urn:d", json!(["lmos:Agent", "Agent"])),
        typed("urn:e", json!("saref:Sensor")),
    ]);
    let response = index.search(&Search { facets: vec![FacetField::Type], ..request("") });
    let counts: Vec<_> =
        response.facets[&FacetField::Type].iter().map(|count| (count.value.as_str(), count.count)).collect();
    assert_eq!(counts, [("lmos:Agent", 4), ("saref:Sensor", 1)]);
    for value in ["lmos:Agent", "Agent"] {
        let filters = Filters { type_: one(&[value]), ..Filters::default() };
        assert_eq!(index.search(&Search { filters, ..request("") }).total, 4, "{value}");
    }
}

#[test]
fn facets_go_over_segments_and_leave_out_what_is_deleted() {
    let mut index = fleet();
    index.put(&agent("urn:d", json!({"lmos:metadata": {"lmos:vendor": "Beta"}})));
    index.writer.delete("urn:a").expect("a delete");
    index.commit();
    let response = index.search(&Search { facets: vec![FacetField::Vendor], limit: 0, ..request("") });
    assert_eq!((response.total, response.hits.len()), (3, 0));
    let counts: Vec<_> =
        response.facets[&FacetField::Vendor].iter().map(|count| (count.value.as_str(), count.count)).collect();
    assert_eq!(counts, [("Beta", 2), ("Acme", 1)]);
}
