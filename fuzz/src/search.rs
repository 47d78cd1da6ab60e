//! Queries for words and meaning, with filters, and saved queries: whatever comes is answered or refused, and a saved
//! query matches what a search finds.
//!
//! An input is a query as `PUT /queries/{name}` takes it, or else its text alone.

#![no_main]

use std::sync::LazyLock;

use agentdex::{
    Error, Registry,
    convert::Format,
    registry::QueryParameters,
    search::{
        Entry, FacetField, Mode, Search,
        saved::{Document, QueryIndex, SavedQuery},
    },
};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

static THINGS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let described = [
        ("Weather forecast", "Tells temperature, wind and rain.", "beta", "forecast", "1.2.0"),
        ("Wetterdienst", "Sagt das Wetter voraus. C++ & Rust, a-b.", "Beta", "Vorhersage", "2.0.0-rc.1"),
        ("天気予報", "明日の天気", "", "天気", "1"),
        ("payBill", "Pays bills; getWeather too", "finance", "billing", "1.10.3"),
        ("the", "of and a", "urn:tag", "urn:cap:x", ""),
    ];
    let thing = |(number, (title, description, tag, capability, version)): (usize, (&str, &str, &str, &str, &str))| {
        let id = format!("urn:t:{number}");
        let thing = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": ["lmos:Agent", "Thing"], "id": id, "title": title, "description": description, "tags": [tag],
            "lmos:capabilities": [{"lmos:id": capability, "lmos:version": version}],
            "security": "none", "securityDefinitions": {"none": {"scheme": "nosec"}},
        });
        (id, thing.to_string())
    };
    described.into_iter().enumerate().map(thing).collect()
});

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let directory = std::env::temp_dir().join(format!("agentdex-fuzz-{}", std::process::id()));
    let registry = Registry::builder(directory).open().expect("a registry");
    for (_, thing) in &*THINGS {
        registry.put(thing).expect("a description");
    }
    registry.refresh().expect("an index");
    registry.search(Search::words("weather").mode(Mode::Semantic).consistent()).expect("vectors");
    registry
});

static DOCUMENTS: LazyLock<Vec<(String, Document)>> = LazyLock::new(|| {
    let stored = THINGS.iter().map(|(id, _)| REGISTRY.find(id).expect("a store").expect("a Thing"));
    let terms = Format::search_terms();
    let document = |thing: agentdex::registry::Thing| {
        let entry = Entry { id: thing.id(), text: thing.text(), format: None, terms, access: None, moments: None };
        (thing.id().to_owned(), Document::new(entry).expect("a document"))
    };
    stored.map(document).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let as_text = || QueryParameters { q: Some(text.to_owned()), ..QueryParameters::default() };
    let query: QueryParameters = serde_json::from_str(text).unwrap_or_else(|_| as_text());
    let facets = FacetField::ALL.to_vec();
    for mode in Mode::ALL {
        let (query, filters, facets) = (query.q.clone(), query.filters.clone(), facets.clone());
        match REGISTRY.search_as_indexed(&Search { query, mode, filters, facets, limit: 3, ..Search::default() }) {
            Ok(answer) => assert!(answer.hits.len() as u64 <= answer.total),
            Err(Error::InvalidQuery { .. } | Error::LimitExceeded { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let found = match REGISTRY.ids_as_indexed(query.q.as_deref(), &query.filters, None, usize::MAX) {
        Ok(found) => found.ids,
        Err(Error::InvalidQuery { .. } | Error::LimitExceeded { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    let saved = SavedQuery::new(query.q.as_deref(), query.filters.clone()).expect("a search takes it").into();
    let mut filed = QueryIndex::default();
    filed.insert(0, saved);
    for (id, document) in &*DOCUMENTS {
        let (matching, _) = filed.matching(document);
        assert_eq!(!matching.is_empty(), found.contains(id), "{id}: {query:?}");
    }
});
