//! The order of hits, and what they show.

use agentdex::search::{Filters, Search};
use serde_json::json;

use super::{TestIndex, extended, ids, request, thing};

#[test]
fn a_title_or_capability_name_weighs_more_than_prose() {
    let index = TestIndex::with(&[
        thing("urn:a-prose", "Planner", "Plans trips with a forecast in mind."),
        thing("urn:b-title", "Forecast planner", "Plans trips with a map in mind."),
        extended(
            thing("urn:c-action", "Planner", "Plans trips with a map in mind."),
            json!({"actions": {"forecast": {}}, "properties": {"map": {}}}),
        ),
        extended(
            thing("urn:d-capability", "Planner", "Plans trips with a map in mind."),
            json!({"lmos:capabilities": [{"name": "forecast"}]}),
        ),
        thing("urn:e-none", "Planner", "Plans trips with a map in mind."),
    ]);
    let response = index.query("forecast");
    assert_eq!(response.total, 4);
    assert_eq!(response.hits.last().map(|hit| hit.id.as_str()), Some("urn:a-prose"), "{:?}", ids(&response));
}

#[test]
fn ties_are_in_the_order_of_ids_and_pages_fit_together() {
    let mut index = TestIndex::new();
    for n in (0..90).rev() {
        index.put(&thing(
            &format!("urn:{:03}", (n * 37) % 90),
            "Weather agent",
            "Tells the weather, at length, of the day.",
        ));
        if n % 13 == 0 {
            index.commit();
        }
    }
    index.commit();
    let expected: Vec<String> = (0..90).map(|n| format!("urn:{n:03}")).collect();
    for query in [
        "weather",
        "weather agent",
        "weather agent day length",
        "+weather agent day",
        "\"weather agent\"",
        "",
        "weath*",
    ] {
        let mut paged = Vec::new();
        for offset in (0..90).step_by(10) {
            let response = index.search(&Search { offset, ..request(query) });
            assert_eq!(response.total, 90, "{query}");
            paged.extend(ids(&response));
        }
        assert_eq!(paged, expected, "{query}");
    }
}

#[test]
fn every_part_of_a_description_is_searched() {
    let whole = extended(
        thing("urn:a", "Untitled", "Nothing."),
        json!({
            "titles": {"de": "Wetterfrosch"}, "descriptions": {"fr": "grenouille"},
            "properties": {"barometer": {"title": "hygrometer", "properties": {"millibar": {"description": "anemometer"}}}},
            "actions": {"predictRain": {"description": "drizzle", "input": {"properties": {"postcode": {"description": "municipality"}}},
                "output": {"items": {"title": "cloudburst"}}, "uriVariables": {"unit": {"description": "fahrenheit"}}}},
            "events": {"stormWarning": {"title": "hurricane", "data": {"properties": {"severity": {}}}}},
            "lmos:capabilities": [{"id": "urn:cap:x", "name": "meteorology", "description": "nowcasting", "examples": ["umbrella today?"]}],
            "tags": ["climatology"], "lmos:metadata": {"lmos:vendor": {"lmos:name": "Sunshine GmbH"}}, "@type": "saref:Thermometer"
        }),
    );
    let index = TestIndex::with(&[whole, thing("urn:b", "Other", "Else.")]);
    let words = [
        "Wetterfrosch",
        "grenouille",
        "barometer",
        "hygrometer",
        "millibar",
        "anemometer",
        "rain",
        "drizzle",
        "postcode",
        "municipality",
        "cloudburst",
        "fahrenheit",
        "storm",
        "hurricane",
        "severity",
        "meteorology",
        "nowcasting",
        "umbrella",
        "climatology",
        "sunshine",
        "thermometer",
        "language:de",
        "lang:FR",
        "capability:urn:cap:x",
    ];
    for word in words {
        assert_eq!(index.found(word), ["urn:a"], "{word}");
    }
}

#[test]
fn hits_show_title_description_and_the_capabilities_that_match_best() {
    let actions: serde_json::Map<_, _> =
        (0..9).map(|n| (format!("action{n}"), json!({"description": format!("Does <{n}>")}))).collect();
    let mut agent = extended(thing("urn:a", "Agent & Co", "All <sorts>."), json!({"actions": actions}));
    agent["actions"]["action7"] = json!({"description": "Books a <table> for dinner"});
    let index = TestIndex::with(&[agent]);
    let response = index.query("book a table");
    let hit = &response.hits[0];
    assert_eq!((hit.title.as_deref(), hit.description.as_deref()), (Some("Agent & Co"), Some("All <sorts>.")));
    assert!(hit.score > 0.0);
    assert_eq!(hit.capabilities.len(), 5);
    assert_eq!(hit.capabilities[0].name, "action7");
    assert_eq!(hit.capabilities[0].snippet, "<b>Books</b> a &lt;<b>table</b>&gt; for dinner");
    assert_eq!(hit.capabilities[1].snippet, "Does &lt;0&gt;");
}

/// Deletions take totals another way.
#[test]
fn totals_are_exact_with_deletions_and_segments() {
    let mut index = TestIndex::new();
    for n in 0..300 {
        let words = [(2, "alpha"), (3, "beta"), (5, "gamma"), (97, "delta")];
        let text: Vec<&str> = words.into_iter().filter(|(divisor, _)| n % divisor == 0).map(|(_, word)| word).collect();
        index.put(&thing(&format!("urn:{n}"), "Numbers", &text.join(" ")));
        if n % 70 == 0 {
            index.commit();
        }
    }
    for n in (0..300).step_by(7) {
        index.writer.delete(&format!("urn:{n}")).expect("a delete");
    }
    index.commit();
    let left = |divisors: &[u32]| {
        (0..300).filter(|n| n % 7 != 0 && divisors.iter().any(|divisor| n % divisor == 0)).count() as u64
    };
    for _ in 0..2 {
        assert_eq!(index.query("alpha").total, left(&[2]));
        assert_eq!(index.query("delta").total, left(&[97]));
        assert_eq!(index.query("alpha beta").total, left(&[2, 3]));
        assert_eq!(index.query("alpha beta gamma delta").total, left(&[2, 3, 5, 97]));
    }
}

#[test]
fn a_request_of_several_sentences_finds_what_answers_one_of_them() {
    let index = TestIndex::with(&[
        thing("urn:a-mixed", "Planner", "Hotel, Rome, letter."),
        thing("urn:b-translator", "Planner", "Translates a letter, Italian."),
    ]);
    let order = ["urn:b-translator", "urn:a-mixed"];
    assert_eq!(
        index.found("book the hotel in Rome and translate the letter into Italian"),
        ["urn:a-mixed", "urn:b-translator"]
    );
    let query = "Please book the hotel in Rome. Then translate the letter into Italian!";
    assert_eq!(index.found(query), order);
    let filters = Filters { format: vec!["td".into()], ..Filters::default() };
    let (plain, filtered) = (index.query(query), index.search(&Search { filters, ..request(query) }));
    assert_eq!(ids(&filtered), order);
    assert_eq!(filtered.hits[0].score, plain.hits[0].score, "filters don't change scores");
    assert_eq!((plain.total, filtered.total), (2, 2));
}
