//! What the JSON Schemas refuse, and how it is said.

use agentdex::td::{Document, Layers, validate};

const THING: &str = r#"{
    "@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "Oven",
    "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open", "x": X
}"#;

fn said(member: &str) -> String {
    let document = THING.replace("\"x\": X", member);
    let report = validate(&Document::parse(document.as_bytes()).unwrap(), Layers::Schema);
    let lines = report.violations.iter().chain(&report.warnings).map(|found| format!("[{}] {found}\n", found.rule));
    lines.collect()
}

#[test]
fn schema_errors_say_what_would_be_right() {
    let members = [
        r#""title": 7"#,
        r#""@type": 7"#,
        r#""@type": ["a", "tm:ThingModel"]"#,
        r#""@context": ["https://example.com/context", 7]"#,
        r#""@context": ["https://www.w3.org/2022/wot/td/v1.1", "https://www.w3.org/2019/wot/td/v1"]"#,
        r#""version": {}"#,
        r#""security": []"#,
        r#""securityDefinitions": {}"#,
        r#""securityDefinitions": {"a": {"scheme": "none"}, "b": {"scheme": "basic", "in": "uri"}, "c": {"scheme": "combo"}, "d": {"scheme": "auto", "name": "n"}, "e": {}, "f": 7}"#,
        r#""properties": {"a": {}, "b": {"forms": []}, "c": {"forms": [{"op": "invokeaction"}]}, "d": {"forms": [{"href": "a", "op": ["readproperty", "read"], "response": {}}]}}"#,
        r#""properties": {"a": {"type": "float", "minimum": "low", "minItems": -1, "multipleOf": 0, "enum": [1, 1], "items": 7, "forms": [{"href": ""}]}}"#,
        r#""links": [{"rel": "x", "href": "a", "sizes": "1x1"}, {"rel": "icon", "href": "a", "sizes": "big"}, {"rel": "tm:extends", "href": "a", "hreflang": "deutsche Sprache"}]"#,
        r#""forms": [{"href": "a"}]"#,
        r#""@type": "lmos:Agent", "lmos:capabilities": [{"name": "a"}, {"description": "b"}, 7], "lmos:metadata": {"lmos:vendor": {"lmos:name": 7}}"#,
    ];
    let all: String = members.iter().map(|member| format!("{member}\n{}\n", said(member))).collect();
    insta::assert_snapshot!(all);
}

#[test]
fn a_document_without_members_lacks_what_is_mandatory() {
    let report = validate(&Document::parse(b"{}").unwrap(), Layers::All);
    let rules: Vec<_> = report.violations.iter().map(|found| found.to_string()).collect();
    insta::assert_snapshot!(rules.join("\n"));
}

#[test]
fn extension_schemes_need_a_prefix_and_version_1_1() {
    let definitions = r#""securityDefinitions": {"open": {"scheme": "a2a:mutualTLS"}}"#;
    assert_eq!(said(definitions), "");
    let document = THING.replace("\"x\": X", definitions).replace("2022/wot/td/v1.1", "2019/wot/td/v1");
    assert!(!validate(&Document::parse(document.as_bytes()).unwrap(), Layers::Schema).is_valid());
}

#[test]
fn a_document_that_is_wrong_everywhere_is_reported_in_bounds() {
    let forms: Vec<_> = (0..20_000).map(|n| format!(r#"{{"security":["s{n}"],"op":{n}}}"#)).collect();
    let definitions: Vec<_> =
        (0..5_000).map(|n| format!(r#""d{n}":{{"scheme":"apikey","in":"uri","name":"{n}"}}"#)).collect();
    let document = format!(r#"{{"forms":[{}],"securityDefinitions":{{{}}}}}"#, forms.join(","), definitions.join(","));
    let report = validate(&Document::parse(document.as_bytes()).unwrap(), Layers::All);
    assert!((1000..=3000).contains(&report.violations.len()), "{}", report.violations.len());
    assert!(report.violations.iter().all(|found| found.message.len() < 1000));
}
