//! The query language.

use agentdex::{Error, search::Filters};
use proptest::prelude::*;
use serde_json::json;

use super::{TestIndex, extended, request, thing};

fn weather_agents() -> TestIndex {
    TestIndex::with(&[
        extended(
            thing("urn:a", "Weather agent", "Forecasts the weather for tomorrow."),
            json!({"lmos:metadata": {"lmos:vendor": {"lmos:name": "Acme Inc"}}, "tags": ["beta", "climate"]}),
        ),
        thing("urn:b", "Tomorrow's tides", "A forecast of the sea, not of weather at large."),
        extended(
            thing("urn:c", "Translator", "Translates German texts."),
            json!({"actions": {"getWeatherReport": {"description": "Translated reports."}}}),
        ),
        thing("urn:d", "State of the art", "Shows paintings; the IT department runs it."),
    ])
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

#[test]
fn any_of_the_words_will_do() {
    let index = weather_agents();
    assert_eq!(sorted(index.found("weather paintings")), ["urn:a", "urn:b", "urn:c", "urn:d"]);
    assert_eq!(sorted(index.found("forecasting")), ["urn:a", "urn:b"], "words are stemmed");
}

#[test]
fn phrases_are_found_side_by_side_over_stop_words_too() {
    let index = weather_agents();
    assert_eq!(index.found("\"german texts\""), ["urn:c"]);
    assert_eq!(index.found("\"texts german\""), Vec::<String>::new());
    assert_eq!(index.found("\"state of the art\""), ["urn:d"]);
    assert_eq!(index.found("\"get weather report\""), ["urn:c"], "names are words side by side");
}

#[test]
fn must_and_not_restrict() {
    let index = weather_agents();
    assert_eq!(sorted(index.found("+weather +forecast")), ["urn:a", "urn:b"]);
    assert_eq!(index.found("weather -forecast"), ["urn:c"]);
    assert_eq!(index.found("+tides weather"), ["urn:b"]);
    assert_eq!(sorted(index.found("-weather")), ["urn:d"], "what is left without them");
    assert_eq!(index.found("+getWeatherReport"), ["urn:c"]);
    assert_eq!(sorted(index.found("weather -\"weather report\"")), ["urn:a", "urn:b"]);
}

#[test]
fn names_are_found_whole_in_parts_and_by_prefix() {
    let index = weather_agents();
    for query in
        ["getweatherreport", "getWeatherReport", "get_weather_report", "GETWEATHERREPORT", "getWeath*", "report"]
    {
        assert_eq!(index.found(query).first().map(String::as_str), Some("urn:c"), "{query}");
    }
}

#[test]
fn prefixes_match_words_and_what_stems_cut() {
    let index = weather_agents();
    assert_eq!(sorted(index.found("trans*")), ["urn:c"]);
    assert_eq!(sorted(index.found("forecasting*")), ["urn:a", "urn:b"]);
    assert_eq!(sorted(index.found("WEATH*")), ["urn:a", "urn:b", "urn:c"]);
    assert_eq!(index.query("*").total, 4);
}

#[test]
fn fields_restrict_to_a_part_or_a_value() {
    let index = weather_agents();
    assert_eq!(index.found("title:tomorrow"), ["urn:b"]);
    assert_eq!(index.found("description:tomorrow"), ["urn:a"]);
    assert_eq!(index.found("vendor:\"acme inc\""), ["urn:a"]);
    assert_eq!(index.found("tag:BETA"), ["urn:a"]);
    assert_eq!(index.found("tag:cli*"), ["urn:a"]);
    assert_eq!(index.found("forecast -tag:beta"), ["urn:b"]);
    assert_eq!(index.found("tides tag:beta"), Vec::<String>::new(), "a value restricts as its filter does");
    assert_eq!(index.found("id:urn:b"), ["urn:b"]);
    assert_eq!(sorted(index.found("id:urn:b id:urn:a")), ["urn:a", "urn:b"]);
    assert_eq!(index.found("capability:getWeatherReport"), ["urn:c"]);
    assert_eq!(index.found("capability:getWeath*"), ["urn:c"]);
}

#[test]
fn an_id_is_found_as_text() {
    assert_eq!(weather_agents().found("urn:d").first().map(String::as_str), Some("urn:d"));
}

#[test]
fn stray_operators_are_text() {
    let index = weather_agents();
    for query in [
        "\"weather",
        "weather\"",
        "weather +",
        "weather -",
        "weather AND (",
        "weather ~2^",
        "foo:weather",
        "title: weather",
        "weather \\",
    ] {
        assert!(index.query(query).total >= 3, "{query}");
    }
    for query in ["\"", "+", "-", "???", "( )", "\"\""] {
        assert_eq!(index.query(query).total, 0, "{query}");
    }
}

#[test]
fn beside_a_prefix_that_nothing_begins_with_stop_words_do_not_count() {
    let index = TestIndex::with(&[thing("urn:a", "The Who", "A band.")]);
    assert_eq!(index.found("the"), ["urn:a"]);
    assert_eq!(index.found("weath* the"), [""; 0]);
}

#[test]
fn stop_words_alone_are_looked_for_in_titles() {
    let index = weather_agents();
    assert_eq!(index.found("of the"), ["urn:d"]);
    assert_eq!(index.query("the weather").total, index.query("weather").total);
}

#[test]
fn nothing_asked_is_everything() {
    let index = weather_agents();
    assert_eq!(index.found(""), ["urn:a", "urn:b", "urn:c", "urn:d"]);
    assert_eq!(index.found("  "), ["urn:a", "urn:b", "urn:c", "urn:d"]);
}

#[test]
fn words_spelled_wrongly_are_retried_and_suggested() {
    let index = weather_agents();
    let response = index.query("wether");
    assert!(response.fuzzy);
    assert_eq!(response.total, 3);
    assert_eq!(response.suggestions, ["weather"]);
    let response = index.query("translatr +germann");
    assert!(response.fuzzy);
    assert_eq!(super::ids(&response), ["urn:c"]);
    assert!(response.suggestions.contains(&"german".to_owned()), "{:?}", response.suggestions);
    let suggestions = index.query("+translatr +german").suggestions;
    assert_eq!(suggestions, ["translated", "translates", "translator"], "only what was corrected");
    assert_eq!(index.query("\"germann text\"").suggestions, ["german"]);
    let response = index.query("xylophone");
    assert!(!response.fuzzy && response.total == 0 && response.suggestions.is_empty());
    assert!(!index.query("weather").fuzzy);
}

#[test]
fn a_query_over_one_kibibyte_exceeds_the_limit() {
    let index = weather_agents();
    assert!(index.index.search(&request(&"a".repeat(4096)), &[]).is_ok());
    let error = index.index.search(&request(&"a".repeat(4097)), &[]).expect_err("too long");
    assert!(matches!(error, Error::LimitExceeded { maximum: 4096, .. }), "{error}");
    assert!(index.index.ids(Some(&"a".repeat(4097)), &Filters::default(), &[]).is_err());
}

#[test]
fn scripts_without_spaces_are_found_in_parts() {
    let index = TestIndex::with(&[thing("urn:cn", "天气预报助手", "提供天气预报"), thing("urn:jp", "翻訳", "天と気")]);
    assert_eq!(index.found("天气"), ["urn:cn"]);
    assert_eq!(index.found("翻訳"), ["urn:jp"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_or_fails(query in "[-+\"*:~^()\\[\\]{}\\\\/ a-zA-Z0-9_àß語\u{0}]{0,60}", any in "\\PC{0,40}") {
        thread_local!(static INDEX: TestIndex = weather_agents());
        INDEX.with(|index| {
            for query in [&query, &any, &format!("{query} weather"), &format!("title:{any} tag:{query}")] {
                let response = index.query(query);
                let listed = index.index.ids(Some(query), &Filters::default(), &[]).expect("ids").len();
                assert!(response.fuzzy || response.total == listed as u64, "{query}: {} of {listed}", response.total);
                assert_eq!(response.hits.len() as u64, response.total, "{query}");
            }
        });
    }
}
