//! What is read and what is refused before anybody looks at the meaning.

use agentdex::td::{Document, Error, Layers, MAX_NESTING, normalize_id, validate};

fn place_of_error(json: &[u8]) -> (usize, usize) {
    match Document::parse(json) {
        Err(Error::MalformedJson { line, column, .. }) => (line, column),
        other => panic!("expected malformed JSON, got {other:?}"),
    }
}

#[test]
fn malformed_json_is_located() {
    assert_eq!(place_of_error(b"{\n  \"a\": 1,\n  b: 2}"), (3, 3));
    assert_eq!(place_of_error(b"{} x"), (1, 4));
    assert_eq!(place_of_error(b"{\n \"\xff\": 1}"), (2, 3));
}

#[test]
fn byte_order_mark_is_skipped() {
    let document = Document::parse("\u{feff}{\"title\": \"x\"}".as_bytes()).unwrap();
    assert_eq!(document.value()["title"], "x");
}

fn nested(depth: usize) -> Vec<u8> {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)).into_bytes()
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    assert!(Document::parse(&nested(MAX_NESTING)).is_ok());
    for depth in [MAX_NESTING + 1, 127, 129, 100_000] {
        let refused = Document::parse(&nested(depth));
        assert!(matches!(refused, Err(Error::LimitExceeded { maximum: 64, .. })), "{depth}: {refused:?}");
    }
}

#[test]
fn size_and_affordances_are_limited() {
    let huge = format!("\"{}\"", "x".repeat(1024 * 1024));
    assert!(matches!(Document::parse(huge.as_bytes()), Err(Error::DocumentTooLarge { .. })));
    let affordances = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!("\"a{n}\":{{}}")).collect();
        format!("{{\"actions\":{{{}}}}}", members.join(","))
    };
    assert!(Document::parse(affordances(1000).as_bytes()).is_ok());
    assert!(matches!(
        Document::parse(affordances(1001).as_bytes()),
        Err(Error::LimitExceeded { what: "number of affordances and capabilities", .. })
    ));
    let capabilities = format!("{{\"lmos:capabilities\":[{}]}}", vec!["\"a\""; 1001].join(","));
    assert!(matches!(Document::parse(capabilities.as_bytes()), Err(Error::LimitExceeded { .. })));
}

#[test]
fn repeated_members_are_all_pointed_at() {
    let document = Document::parse(br#"{"title": "a", "x/y": [{"b": 1, "b": 2, "b": 3}], "title": "c"}"#).unwrap();
    assert_eq!(document.value()["title"], "c");
    let report = validate(&document, Layers::All);
    let pointers: Vec<_> =
        report.violations.iter().filter(|v| v.rule == "duplicate-member").map(|v| v.pointer.as_str()).collect();
    assert_eq!(pointers, ["/x~1y/0/b", "/x~1y/0/b", "/title"]);
}

#[test]
fn a_document_that_is_no_object_is_told_so() {
    let report = validate(&Document::parse(b"[]").unwrap(), Layers::All);
    assert_eq!(report.violations.len(), 1);
    assert!(report.violations[0].message.contains("is a JSON object"), "{report}");
}

#[test]
fn absolute_uris_stay_ids_and_others_are_encoded() {
    let kept = ["urn:dev:ops:1", "https://example.com/a?b#c", "did:web:example.com", "urn:ä", "a:b"];
    for id in kept {
        assert_eq!(normalize_id(id).unwrap(), id);
    }
    for (id, normal) in [
        ("my-agent", "urn:agentdex:my-agent"),
        ("a/b c", "urn:agentdex:a%2Fb%20c"),
        ("1:2", "urn:agentdex:1%3A2"),
        ("urn:a b", "urn:agentdex:urn%3Aa%20b"),
        ("100%", "urn:agentdex:100%25"),
        ("ä", "urn:agentdex:%C3%A4"),
        ("urn:agentdex:my agent", "urn:agentdex:my%20agent"),
        ("urn:agentdex:100%", "urn:agentdex:100%25"),
    ] {
        assert_eq!(normalize_id(id).unwrap(), normal);
        assert_eq!(normalize_id(normal).unwrap(), normal, "the mend of {id:?} isn't stable");
    }
}

#[test]
fn ids_that_are_empty_or_too_long_are_refused() {
    assert!(matches!(normalize_id(""), Err(Error::InvalidId { .. })));
    let longest = format!("urn:{}", "x".repeat(1020));
    assert_eq!(normalize_id(&longest).unwrap(), longest);
    assert!(matches!(normalize_id(&format!("{longest}x")), Err(Error::LimitExceeded { maximum: 1024, .. })));
    assert!(matches!(normalize_id(&" ".repeat(400)), Err(Error::LimitExceeded { .. })));
}

#[test]
fn what_is_said_of_a_hostile_document_stays_small() {
    let name = "n".repeat(300_000);
    let repeats = vec!["\"a\":1"; 50_000].join(",");
    let forms = vec!["{}"; 1000].join(",");
    for json in [
        format!("{{\"{name}\":{{{repeats}}}}}"),
        format!(
            "{{\"@context\":\"https://www.w3.org/2022/wot/td/v1.1\",\"properties\":{{\"{name}\":{{\"forms\":[{forms}]}}}}}}"
        ),
    ] {
        let report = validate(&Document::parse(json.as_bytes()).unwrap(), Layers::All);
        let said: usize = report.violations.iter().map(|found| found.pointer.len() + found.message.len()).sum();
        assert!(!report.is_valid() && said < 2 * 1024 * 1024, "{said} bytes are said of it");
    }
}
