//! JSONPath queries: whatever comes is answered or refused, in time, and what the text of a description rules out
//! isn't found in it.

#![no_main]

use agentdex::{Error, search::jsonpath::Query};
use libfuzzer_sys::fuzz_target;

const DESCRIPTIONS: [&str; 3] = [
    r#"{"id": "urn:a", "title": "Weather", "tags": ["a", "b"], "actions": {"ask": {"title": "Ask", "n": 1.5,
        "forms": [{"href": "https://a.example/ask"}]}}}"#,
    r#"{"id": "urn:b", "title": "\u0057etter", "n": -0, "x": null, "properties": {"on": {"type": "boolean"}}}"#,
    r#"{"a": [[[[{"a": {"a": [1, 2, [3]]}}]]]], "": {"'": "\"", "\\": "]"}}"#,
];

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let query = match Query::parse(text) {
        Ok(query) => query,
        Err(Error::InvalidQuery { .. } | Error::LimitExceeded { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    for description in DESCRIPTIONS {
        match query.evaluate(description) {
            Ok(found) => assert!(found.is_empty() || query.may_match(description), "{text}: {found:?}"),
            Err(Error::QueryTooCostly { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
});
