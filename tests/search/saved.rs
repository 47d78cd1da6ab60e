//! Saved queries match what a search finds.

use std::sync::Arc;

use agentdex::{
    convert::Format,
    search::{
        Entry, Filters,
        saved::{Document, QueryIndex, SavedQuery},
    },
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{TestIndex, extended, thing};

fn document(thing: &Value) -> Document {
    let (id, text) = (thing["id"].as_str().unwrap(), thing.to_string());
    Document::new(Entry { id, text: &text, format: None, terms: Format::search_terms(), access: None, moments: None })
        .unwrap()
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "weather",
            "forecast",
            "the",
            "payBill",
            "pay",
            "bill",
            "forecasts",
            "Wetter",
            "Wettern",
            "und",
            "prévisions",
            "prévision",
            "天気",
            "天気予報",
            "a-b",
            "urn:t:1",
        ][..],
    )
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..5).prop_map(|words| words.join(" "))
}

fn description() -> impl Strategy<Value = Value> {
    let list = |of: &'static [&'static str]| prop::collection::vec(prop::sample::select(of), 0..2);
    let language = prop::sample::select(&[None, None, Some("de"), Some("fr-CA"), Some("en")][..]);
    let other = (text(), prop::sample::select(&["de-AT", "fr"][..]));
    let texts = (text(), text(), language, prop::option::of(other));
    (texts, list(&["beta", "Alpha"]), list(&["billing", "payBill"]), list(&["1.2.0", "2.0.0"])).prop_map(
        |((title, description, language, other), tags, capabilities, versions)| {
            let capabilities: Vec<Value> = capabilities
                .iter()
                .map(|name| json!({"lmos:id": name, "lmos:version": versions.first().unwrap_or(&"1.0.0")}))
                .collect();
            let mut members = json!({"tags": tags, "lmos:capabilities": capabilities});
            if let Some(language) = language {
                members["@context"] = json!(["https://www.w3.org/2022/wot/td/v1.1", {"@language": language}]);
            }
            if let Some((text, tag)) = other {
                members["descriptions"] = json!({tag: text});
            }
            extended(thing("", &title, &description), members)
        },
    )
}

fn query() -> impl Strategy<Value = (String, Filters)> {
    let clause = prop_oneof![
        6 => word().prop_map(str::to_owned),
        2 => word().prop_map(|word| format!("+{word}")),
        2 => word().prop_map(|word| format!("-{word}")),
        2 => (word(), word()).prop_map(|(one, two)| format!("\"{one} {two}\"")),
        2 => prop::sample::select(&["fore*", "pay*", "paybill*", "bills*", "wett*", "+wetter*", "-pr*", "天*", "the*", "title:fo*", "a-b*"][..]).prop_map(str::to_owned),
        1 => word().prop_map(|word| format!("title:{word}")),
        1 => prop::sample::select(&["tag:beta", "-tag:beta", "+tag:alpha", "capability:pay*", "id:urn:t:1"][..]).prop_map(str::to_owned),
    ];
    let list =
        |of: &'static [&'static str]| prop::collection::vec(prop::sample::select(of).prop_map(str::to_owned), 0..2);
    let filters =
        (list(&["beta", "ALPHA"]), list(&["Billing", "paybill", "billing@^1.1", "billing@>=2"]), list(&["acme"]));
    (prop::collection::vec(clause, 0..4), prop::option::weighted(0.4, filters)).prop_map(|(clauses, filters)| {
        let (tag, capability, tenant) = filters.unwrap_or_default();
        (clauses.join(" "), Filters { tag, capability, tenant, ..Filters::default() })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn saved_queries_match_what_a_search_finds(
        things in prop::collection::vec(description(), 1..6),
        queries in prop::collection::vec(query(), 1..40),
    ) {
        let things: Vec<Value> =
            (0..).zip(things).map(|(n, thing)| extended(thing, json!({"id": format!("urn:t:{n}")}))).collect();
        let searched = TestIndex::with(&things);
        let mut filed = QueryIndex::default();
        for (number, (text, filters)) in (0..).zip(&queries) {
            filed.insert(number, Arc::new(SavedQuery::new(Some(text), filters.clone()).unwrap()));
        }
        let matching: Vec<Vec<u32>> =
            things.iter().map(|thing| filed.matching(&document(thing)).0).collect();
        for (number, (text, filters)) in (0..).zip(&queries) {
            let found = searched.index.ids(Some(text), filters, &[]).unwrap();
            let matched: Vec<String> = things
                .iter()
                .zip(&matching)
                .filter(|(_, numbers)| numbers.contains(&number))
                .map(|(thing, _)| thing["id"].as_str().unwrap().to_owned())
                .collect();
            prop_assert_eq!(matched, found, "{} {:?}", text, filters);
        }
        (0..queries.len() as u32).for_each(|number| filed.remove(number));
        prop_assert!(filed.is_empty());
    }
}

/// What a registration costs is decided by how many queries may match, not by how many there are.
#[test]
fn few_of_many_queries_are_asked() {
    // A word for each number, of letters alone: others are words with parts.
    let word = |n: u32| -> String {
        format!("{n:05}").bytes().map(|digit| char::from(digit - b'0' + b'b')).chain("x".chars()).collect()
    };
    let mut filed = QueryIndex::default();
    for n in 0..10_000u32 {
        let (text, filters) = match n % 4 {
            0 => (format!("{} {}", word(n), word(n + 50_000)), Filters::default()),
            1 => (format!("+{} agent", word(n)), Filters::default()),
            2 => (String::new(), Filters { capability: vec![format!("capability{n}")], ..Filters::default() }),
            _ => (format!("\"long {}\"", word(n)), Filters { tag: vec!["beta".into()], ..Filters::default() }),
        };
        filed.insert(n, Arc::new(SavedQuery::new(Some(&text), filters).unwrap()));
    }
    let thing = extended(
        thing(
            "urn:a",
            &format!("Agent for {} and {}", word(4), word(5)),
            &format!("A long {} that {} has", word(7), word(50_008)),
        ),
        json!({"tags": ["beta"], "lmos:capabilities": [{"lmos:id": "capability6"}]}),
    );
    let (matching, steps) = filed.matching(&document(&thing));
    assert_eq!(matching, [4, 5, 6, 7, 8]);
    assert!(steps <= 20, "{steps} steps");
}
