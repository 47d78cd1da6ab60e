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

/// Thirteen agents with 130 capabilities.
fn many_capabilities() -> TestIndex {
    let capabilities = |agent: usize| -> Vec<Value> {
        let own = (0..10).map(|number| format!("cap-{:03}", 10 * agent + number));
        let own = own.map(|name| if name == "cap-077" { "zz-hotel".to_owned() } else { name });
        let all = own.chain((agent > 2).then(|| "Hotline".to_owned()));
        all.map(|name| json!({"name": name})).collect()
    };
    let agents = (0..13).map(|number| {
        let agent = agent(&format!("urn:{number:02}"), json!({"lmos:capabilities": capabilities(number)}));
        extended(agent, json!({"description": "Somebody who reserves rooms."}))
    });
    TestIndex::with(&agents.collect::<Vec<_>>())
}

#[test]
fn facets_are_cut_and_say_how_many_values_there_are() {
    let index = many_capabilities();
    let answer = |query: &str| index.search(&request(query).facet(FacetField::Capability).facet(FacetField::Vendor));
    let all = answer("");
    assert_eq!(all.facets[&FacetField::Capability].len(), 100);
    assert_eq!(all.facet_totals[&FacetField::Capability], 131);
    assert_eq!(all.facet_totals[&FacetField::Vendor], 0);
    let values = |query: &str| -> Vec<String> {
        answer(query).facets[&FacetField::Capability].iter().map(|count| count.value.clone()).collect()
    };
    assert_eq!(values("rooms")[..2], ["Hotline", "cap-000"], "the most frequent, then by the alphabet");
    assert!(!values("rooms").contains(&"cap-129".to_owned()));
    for query in ["rooms hotels", "rooms \"hotels\"", "rooms bookings hotel"] {
        assert_eq!(values(query)[0], "zz-hotel", "{query}: values with a word of the query come first");
    }
}

#[test]
fn values_of_facets_are_looked_up_by_a_part_of_them() {
    let index = many_capabilities();
    let values = |text: &str| {
        let answer = index.search(&request("").facet(FacetField::Capability).facet_query(text));
        let counts = &answer.facets[&FacetField::Capability];
        let values: Vec<String> = counts.iter().map(|count| count.value.clone()).collect();
        (values, answer.facet_totals[&FacetField::Capability])
    };
    assert_eq!(values("HOT"), (one(&["Hotline", "zz-hotel"]), 2), "what begins with the text comes first");
    assert_eq!(values("-hotel"), (one(&["zz-hotel"]), 1));
    assert_eq!((values("cap-").0.len(), values("cap-").1), (100, 129));
    assert_eq!(values("nothing"), (one(&[]), 0));
    let filters = Filters { capability: one(&["hotline"]), ..Filters::default() };
    let search = Search { filters, ..request("").facet(FacetField::Capability).facet_query("hotel") };
    let answer = index.search(&search);
    assert_eq!((answer.total, answer.facet_totals[&FacetField::Capability]), (10, 1), "its own filter is left out");
    let refused = index.index.search(&request("").facet_query("x".repeat(257)), &[]);
    assert_eq!(refused.expect_err("too long").code(), "limit-exceeded");
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
