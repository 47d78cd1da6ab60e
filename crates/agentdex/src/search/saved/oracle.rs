//! Test comparing the results of predicates with those of an index that contains only the description.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use tantivy::{Index, ReloadPolicy, collector::Count, directory::RamDirectory};

use super::{Document, QueryIndex, SavedQuery, compile::compile};
use crate::{
    convert::Format,
    search::{
        Condition, Entry, FilterField, Filters, entry,
        hidden::Hidden,
        query::{self, Spelling},
        schema, text,
    },
};

const WORDS: [&str; 24] = [
    "weather",
    "forecast",
    "forecasts",
    "forecasting",
    "the",
    "and",
    "of",
    "payBill",
    "pay_bill",
    "bill",
    "Wetter",
    "Wettern",
    "und",
    "prévisions",
    "prévision",
    "天気",
    "天気予報",
    "a-b",
    "gpt4",
    "2",
    "urn:t:1",
    "don't",
    "HTTPServer2",
    "APIs",
];

fn entry_of(text: &str) -> Entry<'_> {
    Entry { id: "urn:t:1", text, format: None, terms: Format::search_terms(), access: None, moments: None }
}

/// Creates an index of a single description.
fn index_of(text: &str) -> Index {
    let (schema, fields) = schema::build();
    let builder = Index::builder().schema(schema).tokenizers(text::analyzers());
    let mut writer = builder.single_segment_index_writer(RamDirectory::create(), 1024 * 1024).unwrap();
    writer.add_document(entry::document(&fields, &entry_of(text)).unwrap().0).unwrap();
    writer.finalize().unwrap()
}

/// True if a search finds the description.
fn is_found(index: &Index, query: &str, filters: &Filters) -> bool {
    let searcher = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().unwrap().searcher();
    let (nothing, (_, fields)) = (Hidden::default(), schema::build());
    let compiled =
        query::compile(&searcher, &fields, &query::parse(query), filters, Spelling::Exact(&nothing)).unwrap();
    searcher.search(compiled.query.as_ref(), &Count).unwrap() > 0
}

fn words(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(select(&WORDS[..]), 0..most).prop_map(|words| words.join(" "))
}

fn description() -> impl Strategy<Value = String> {
    let list = |of: &'static [&'static str]| prop::collection::vec(select(of), 0..3);
    let texts = (words(4), words(12), words(5), select(&[None, Some("de"), Some("fr-CA"), Some("en")][..]));
    let values = (
        list(&["beta", "Alpha"]),
        list(&["billing", "payBill", "weather"]),
        select(&["1.2.0", "2.0.0", "next"][..]),
        list(&["acme"]),
        select(&["lmos:Agent", "Tool", "saref:Sensor"][..]),
    );
    (texts, values).prop_map(|((title, text, other, language), (tags, capabilities, version, tenants, kind))| {
        let capabilities: Vec<Value> =
            capabilities.iter().map(|name| json!({"lmos:id": name, "lmos:version": version})).collect();
        let mut thing = json!({
            "@type": kind, "title": title, "description": text, "tags": tags, "descriptions": {"de-AT": other},
            "lmos:capabilities": capabilities, "version": {"instance": version}, "lmos:supportedTenants": tenants
        });
        if let Some(language) = language {
            thing["@context"] = json!([{"@language": language}]);
        }
        thing.to_string()
    })
}

fn clause() -> impl Strategy<Value = String> {
    let word = || select(&WORDS[..]);
    let sign = || select(&["", "", "+", "-", "-"][..]);
    let field = || select(&["", "", "title:", "description:"][..]);
    let beginning = select(
        &["fore", "wea", "pay", "paybill", "bills", "wett", "pr", "天", "th", "a-b", "x.pay", "forecastings"][..],
    );
    let exact = select(
        &[
            "tag:beta",
            "tag:al*",
            "capability:pay*",
            "capability:BILLING",
            "type:lmos:*",
            "type:Agent",
            "id:urn:t:1",
            "id:urn:*",
            "lang:de",
            "language:fr*",
            "vendor:acme",
        ][..],
    );
    prop_oneof![
        4 => (sign(), field(), word()).prop_map(|(sign, field, word)| format!("{sign}{field}{word}")),
        3 => (sign(), field(), beginning).prop_map(|(sign, field, word)| format!("{sign}{field}{word}*")),
        3 => (sign(), field(), words(4)).prop_map(|(sign, field, words)| format!("{sign}{field}\"{words}\"")),
        2 => (sign(), exact).prop_map(|(sign, exact)| format!("{sign}{exact}")),
    ]
}

fn filters() -> impl Strategy<Value = Filters> {
    let condition = select(&[Condition::AnyOf, Condition::AllOf, Condition::NoneOf][..]);
    let value = select(
        &[
            (FilterField::Tag, "beta"),
            (FilterField::Tag, "ALPHA"),
            (FilterField::Capability, "Billing"),
            (FilterField::Capability, "billing@^1.1"),
            (FilterField::Capability, "billing@>=2"),
            (FilterField::Capability, "weather@1.x"),
            (FilterField::Version, "^1"),
            (FilterField::Version, "2.0.0"),
            (FilterField::Tenant, "acme"),
            (FilterField::Type, "Agent"),
            (FilterField::Format, "td"),
            (FilterField::Status, "current"),
        ][..],
    );
    prop::collection::vec((condition, value), 0..3).prop_map(|values| {
        let mut filters = Filters::default();
        values.into_iter().for_each(|(condition, (field, value))| filters.add_to(condition, field, value.to_owned()));
        filters
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn predicates_match_what_a_search_in_an_index_of_the_description_finds(
        text in description(),
        queries in prop::collection::vec((prop::collection::vec(clause(), 0..5), filters()), 1..12),
    ) {
        let (document, index) = (Document::new(entry_of(&text)).unwrap(), index_of(&text));
        let mut filed = QueryIndex::default();
        for (number, (clauses, filters)) in (0..).zip(&queries) {
            let query = SavedQuery::new(Some(&clauses.join(" ")), filters.clone()).unwrap();
            filed.insert(number, query.into());
        }
        let matching = filed.matching(&document).0;
        for (number, (clauses, filters)) in (0..).zip(queries) {
            let query = clauses.join(" ");
            let predicate = compile(&query::parse(&query), &filters).unwrap();
            let expected = is_found(&index, &query, &filters);
            prop_assert_eq!(predicate.is_met_by(&document, &mut 0), expected, "{:?} {:?} {}", query, filters, text);
            prop_assert_eq!(matching.contains(&number), expected, "filed: {:?} {:?} {}", query, filters, text);
        }
    }
}

#[test]
fn terms_are_those_of_an_index() {
    let text = r#"{
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"@language": "de"}], "@type": ["lmos:Agent", "Tool"],
        "title": "Die Vorhersagen von getWeather_v2", "description": "天気予報 und mehr", "tags": ["Beta", "beta"],
        "descriptions": {"fr-CA": "Prévisions météo"}, "version": {"instance": "1.2.0"},
        "actions": {"payBill": {"input": {"type": "object", "properties": {"IBAN": {"title": "the account"}}}}},
        "lmos:capabilities": [{"lmos:id": "billing@2", "lmos:version": "2.0.1"}], "lmos:supportedChannels": "web"
    }"#;
    let (schema, index) = (schema::build().0, index_of(text));
    let mut indexed = Vec::new();
    for segment in index.reader().unwrap().searcher().segment_readers() {
        for (field, _) in schema.fields().filter(|(_, entry)| entry.is_indexed()) {
            let inverted = segment.inverted_index(field).unwrap();
            let mut terms = inverted.terms().stream().unwrap();
            while terms.advance() {
                indexed.push((field, std::str::from_utf8(terms.key()).unwrap().to_owned()));
            }
        }
    }
    let document = Document::new(entry_of(text)).unwrap();
    let terms: Vec<_> =
        document.terms().iter().map(|term| (term.field(), term.value().as_str().unwrap().to_owned())).collect();
    assert!(indexed.len() > 50, "{}", indexed.len());
    assert_eq!(terms, indexed);
}

/// Some 700 negated prefixes of a letter that begins no word of the description.
fn negated_beginnings() -> String {
    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
    (0..680).map(|number| format!("-q{}{}* ", letter(number / 26), letter(number))).collect()
}

#[test]
fn negations_cost_a_step_each_and_no_index() {
    let text = r#"{"title": "Weather agent", "description": "Forecasts for cities"}"#;
    let query = negated_beginnings();
    let mut filed = QueryIndex::default();
    filed.insert(0, SavedQuery::new(Some(&query), Filters::default()).unwrap().into());
    let (matching, steps) = filed.matching(&Document::new(entry_of(text)).unwrap());
    assert_eq!(matching, [0]);
    assert!((680..1_500).contains(&steps), "{steps} steps");
}
