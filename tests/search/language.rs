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
    assert_eq!(response.suggestions.first().map(String::as_str), Some("translated +german"));
    let suggestions = index.query("+translatr +german").suggestions;
    assert_eq!(suggestions, ["+translated +german", "+translates +german", "+translator +german"]);
    assert_eq!(index.query("\"germann text\"").suggestions, ["\"german text\""]);
    let response = index.query("xylophone");
    assert!(!response.fuzzy && response.total == 0 && response.suggestions.is_empty());
    assert!(!index.query("weather").fuzzy);
}

#[test]
fn each_misspelled_word_is_corrected_beside_right_ones() {
    let index = TestIndex::with(&[
        thing("urn:w", "Weather agent", "Tells the weather"),
        thing("urn:i", "Invoice reader", "Reads invoices"),
        thing("urn:c", "Calendar helper", "Keeps a calendar"),
        thing("urn:a", "Accommodation", "Beds of all kinds"),
    ]);
    let first = |query: &str| index.found(query).first().cloned();
    for query in ["invioce", "weather invioce", "agent invioces", "+invioce", "title:invioce", "\"invioce reader\""] {
        assert!(index.found(query).contains(&"urn:i".to_owned()), "{query}");
    }
    assert_eq!(first("calender").as_deref(), Some("urn:c"), "the letters of the word count, not those of its stem");
    assert_eq!(first("acomodation").as_deref(), Some("urn:a"), "two edits of nine letters and more");
    for query in ["raedr", "beds tlls", "wxathxr", "tels"] {
        let response = index.query(query);
        assert!(response.corrections.is_empty(), "{query}: {:?}", response.corrections);
    }
    let response = index.query("Wether forcast invioce");
    let corrected: Vec<(&str, String)> =
        response.corrections.iter().map(|one| (one.word.as_str(), one.read_as.join(" "))).collect();
    assert_eq!(corrected, [("Wether", "weather".to_owned()), ("invioce", "invoice invoices".to_owned())]);
    assert_eq!(response.suggestions[0], "weather forcast invoice", "the rest of the query stays");
}

#[test]
fn what_must_be_there_and_is_nowhere_restricts() {
    let index = weather_agents();
    assert_eq!(index.found("+nonexistentword weather"), [""; 0]);
    assert_eq!(index.found("+forecats weather"), index.found("+forecast weather"));
    assert_eq!(index.found("weather -forecats"), index.found("weather"), "nothing else is left out");
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

#[test]
fn any_two_neighbours_of_a_run_of_characters_will_do() {
    let index = TestIndex::with(&[
        thing("urn:hotel", "酒店预订", "查找并预订酒店房间。"),
        thing("urn:helper", "AI helper", "Helps."),
        thing("urn:shop", "商店", "订单"),
    ]);
    for query in
        ["帮我预订一间酒店客房", "AI 帮我预订一间酒店客房", "AI帮我预订一间酒店客房", "PDF 帮我预订一间酒店客房"]
    {
        let response = index.query(query);
        assert_eq!(super::ids(&response).first().map(String::as_str), Some("urn:hotel"), "{query}");
        assert!(!response.fuzzy, "{query}");
    }
    assert!(!index.found("帮我预订一间酒店客房").contains(&"urn:shop".to_owned()), "single characters don't count");
    assert_eq!(index.found("+帮我预订"), [""; 0], "what must be there is there whole");
    assert_eq!(index.found("\"帮我预订\""), [""; 0], "and what is quoted");
    assert_eq!(index.found("+预订酒店"), ["urn:hotel"]);
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

#[test]
fn what_must_be_there_is_the_whole_name_and_not_a_part_of_it() {
    let index = TestIndex::with(&[
        thing("urn:bot", "WhatsApp-Bot", "Sends messages."),
        thing("urn:app", "WhatsApp", "An app."),
        thing("urn:apart", "Whats app bot", "Sends messages."),
    ]);
    assert_eq!(sorted(index.found("WhatsApp-Bot")), ["urn:apart", "urn:app", "urn:bot"]);
    assert_eq!(sorted(index.found("+WhatsApp-Bot")), ["urn:apart", "urn:bot"]);
    assert_eq!(index.found("whatsapp -WhatsApp-Bot"), ["urn:app"]);
    assert_eq!(index.found("+example.WhatsApp"), [""; 0], "of several names all must be there");
}

#[test]
fn case_and_marks_make_no_difference_in_any_script() {
    let index = TestIndex::with(&[
        extended(thing("urn:tr", "İstanbul guide", "Shows the way."), json!({"tags": ["Straße"]})),
        thing("urn:el", "ΧΑΡΤΗΣ", "Maps."),
        thing("urn:de", "Mu\u{308}ller", "Decomposed."),
        thing("urn:ru", "Ёлочный базар", "Trees."),
        thing("urn:hi", "हिन्दी अनुवाद", "Translates."),
        thing("urn:de2", "GROSSE STRASSE", "A street."),
        spoken("urn:gr", "el", "Δρομολόγια", "Πλοία."),
    ]);
    for (query, found) in [
        ("istanbul", "urn:tr"),
        ("ISTANBUL", "urn:tr"),
        ("i\u{307}stanbul", "urn:tr"),
        ("istan*", "urn:tr"),
        ("tag:STRASSE", "urn:tr"),
        ("χάρτης", "urn:el"),
        ("Χάρτης", "urn:el"),
        ("χαρτησ", "urn:el"),
        ("müller", "urn:de"),
        ("MULLER", "urn:de"),
        ("елочный", "urn:ru"),
        ("हिन्दी", "urn:hi"),
        ("title:straße", "urn:de2"),
        ("ΔΡΟΜΟΛΌΓΙΟ", "urn:gr"),
    ] {
        assert_eq!(index.found(query), [found], "{query}");
    }
    let typed = agentdex::search::Search { typing: true, ..request("χάρτ") };
    assert_eq!(super::ids(&index.search(&typed)), ["urn:el"]);
}

#[test]
fn stop_words_of_the_built_in_languages_count_little_whatever_agents_declare() {
    let mut things = vec![
        thing("urn:table", "Mesas", "Reserva una mesa."),
        thing("urn:lamp", "Luces", "Enciende y apaga la luz."),
        thing("urn:sensor", "Illuminance", "en un una el la del de con"),
    ];
    things.extend((0..10).map(|n| thing(&format!("urn:{n}"), "Agent", "An agent for everything else.")));
    let others = [
        None,
        Some(spoken("urn:fr", "fr", "Météo", "Les prévisions pour demain.")),
        Some(spoken("urn:es", "es", "Tiempo", "El pronóstico.")),
    ];
    for other in others {
        let index = TestIndex::with(&things.iter().cloned().chain(other.clone()).collect::<Vec<_>>());
        for (query, found) in
            [("reservar una mesa en un restaurante", "urn:table"), ("apagar la luz del salón", "urn:lamp")]
        {
            assert_eq!(index.found(query).first().map(String::as_str), Some(found), "{query} {other:?}");
        }
    }
}

/// A Thing whose texts are in a language.
fn spoken(id: &str, language: &str, title: &str, description: &str) -> serde_json::Value {
    let context = json!(["https://www.w3.org/2022/wot/td/v1.1", {"@language": language}]);
    extended(thing(id, title, description), json!({"@context": context}))
}

#[test]
fn texts_in_a_declared_language_are_found_in_other_forms_of_their_words() {
    let index = TestIndex::with(&[
        spoken("urn:de", "de", "Wetterdienst", "Liefert Vorhersagen für alle Städte und Inseln."),
        spoken("urn:fr", "fr-CA", "Météo", "Donne les prévisions pour demain."),
        thing("urn:en", "Weather agent", "Forecasts for cities."),
        extended(
            thing("urn:both", "Ferry times", "Departures of ferries."),
            json!({"descriptions": {"en": "Departures of ferries.", "nb": "Avganger for ferger."}}),
        ),
        extended(
            thing("urn:action", "Trains", "-"),
            json!({"actions": {"find": {"descriptions": {"it": "Cerca i treni e gli orari."}}}}),
        ),
    ]);
    for (query, found) in [
        ("Vorhersage", &["urn:de"][..]),
        ("vorhersagen", &["urn:de"]),
        ("Dorf", &[]),
        ("Städten", &["urn:de"]),
        ("stadte", &["urn:de"]),
        ("prévision", &["urn:fr"]),
        ("PREVISIONS", &["urn:fr"]),
        ("avgang", &["urn:both"]),
        ("treno orario", &["urn:action"]),
        ("departure", &["urn:both"]),
        ("city forecast", &["urn:en"]),
        ("+Vorhersage -Insel", &[]),
        ("\"alle Städte\"", &["urn:de"]),
    ] {
        assert_eq!(index.found(query), found, "{query}");
    }
    assert_eq!(index.found("language:it"), ["urn:action"]);
}

#[test]
fn what_a_request_in_another_language_is_about_counts_most() {
    let mut things = vec![spoken("urn:hotel", "de", "Zimmer", "Bucht Hotels.")];
    for n in 0..5 {
        things.push(spoken(&format!("urn:{n}"), "de", "Auskunft", "Ich kann in der und die Auskunft mit dem für das"));
    }
    let index = TestIndex::with(&things);
    let found = index.found("Ich möchte in der Stadt und für die Familie ein Hotel buchen");
    assert_eq!(found.first().map(String::as_str), Some("urn:hotel"));
    // A word counts once, however many of its forms a text has.
    let same = TestIndex::with(&[
        spoken("urn:de", "de", "Reise", "hotel"),
        thing("urn:en", "Journey", "hotel"),
        spoken("urn:fr", "fr", "Voyage", "x"),
    ]);
    let scores: Vec<f32> = same.query("hotel").hits.iter().map(|hit| hit.score).collect();
    assert_eq!(scores.len(), 2);
    assert!(scores[0] < scores[1] * 2.0, "{scores:?}");
}
