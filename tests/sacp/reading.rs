use agentdex::sacp::{Found, MAX_TEXT_BYTES, Status, read};
use serde_json::json;

const GOOD: &str = r#"{"thought": "t", "status": "success", "data": {"n": 1}, "message": "m"}"#;

/// What each text is read as: where it was found, and `data.n`, or null for the fallback.
#[test]
fn messy_answers_are_read() {
    let other = GOOD.replace('1', "2");
    let nested = r#"{"thought": "a } in a \" string {", "status": "success", "data": {"n": 1, "x": {"y": [{}]}}, "message": "m"}"#;
    let cases = [
        ("plain", GOOD.to_owned(), Found::Whole, json!(1)),
        ("space around", format!("\n\n \t{GOOD}\r\n"), Found::Whole, json!(1)),
        ("braces in strings", nested.to_owned(), Found::Whole, json!(1)),
        ("escaped as a string", serde_json::to_string(GOOD).expect("JSON"), Found::Whole, json!(1)),
        ("fenced", format!("```json\n{GOOD}\n```"), Found::Fenced, json!(1)),
        ("fenced without a language", format!("```\n{GOOD}\n```"), Found::Fenced, json!(1)),
        ("fenced with tildes", format!("~~~json\n{GOOD}\n~~~"), Found::Fenced, json!(1)),
        ("prose and a fence", format!("Sure! Here:\n\n```json\n{GOOD}\n```\nAnything else?"), Found::Fenced, json!(1)),
        ("an unclosed fence", format!("Here:\n```json\n{GOOD}"), Found::Fenced, json!(1)),
        ("an indented fence", format!("1. First\n   ```json\n   {GOOD}\n   ```"), Found::Fenced, json!(1)),
        ("a longer fence", format!("````\n{GOOD}\n````"), Found::Fenced, json!(1)),
        ("several fences", format!("```json\n{GOOD}\n```\nNo, rather\n```json\n{other}\n```"), Found::Fenced, json!(2)),
        (
            "a fence of something else",
            format!("```python\nprint({{}})\n```\n```json\n{GOOD}\n```"),
            Found::Fenced,
            json!(1),
        ),
        ("a fence of something else last", format!("```json\n{GOOD}\n```\n```sh\nls\n```"), Found::Fenced, json!(1)),
        ("prose before", format!("The answer is {GOOD}"), Found::Embedded, json!(1)),
        ("prose after", format!("{GOOD} Hope that helps!"), Found::Embedded, json!(1)),
        ("prose with quotes", format!("It\"s {GOOD} isn\"t it"), Found::Embedded, json!(1)),
        ("several objects", format!("{GOOD}\n{other}"), Found::Embedded, json!(2)),
        ("another object after it", format!("{GOOD} {{\"unrelated\": true}}"), Found::Embedded, json!(1)),
        ("a template before it", format!("For {{name}} I answer {GOOD}"), Found::Embedded, json!(1)),
        ("an open brace before it", format!("Use {{ to open. {GOOD}"), Found::Embedded, json!(1)),
        ("a byte order mark", format!("\u{feff}{GOOD}"), Found::Embedded, json!(1)),
        ("a trailing comma", GOOD.replace("1}", "1,}"), Found::Whole, json!(1)),
        ("comments", GOOD.replace("\"data\"", "// what was found\n\"data\""), Found::Whole, json!(1)),
        (
            "a comment in a fence",
            format!("```json\n{}\n```", GOOD.replace("}, ", "}, /* so */ ")),
            Found::Fenced,
            json!(1),
        ),
        ("a trailing comma in prose", format!("So: {}.", GOOD.replace("\"m\"", "\"m\",")), Found::Embedded, json!(1)),
        ("truncated", GOOD[..40].to_owned(), Found::Nowhere, json!(null)),
        ("a truncated fence", format!("```json\n{}", &GOOD[..40]), Found::Nowhere, json!(null)),
        ("prose alone", "I could not find it.".to_owned(), Found::Nowhere, json!(null)),
        ("nothing", String::new(), Found::Nowhere, json!(null)),
        ("an array", format!("[{GOOD}]"), Found::Embedded, json!(1)),
        ("another object", r#"{"answer": 42}"#.to_owned(), Found::Nowhere, json!(null)),
        ("single quotes", GOOD.replace('"', "'"), Found::Nowhere, json!(null)),
        ("a wrapped response", format!(r#"{{"response": {GOOD}}}"#), Found::Nowhere, json!(null)),
    ];
    for (name, text, found, n) in cases {
        let reading = read(&text);
        assert_eq!(
            (reading.found, &reading.response.data.get("n").cloned().unwrap_or_default()),
            (found, &n),
            "{name}"
        );
        let is_fallback = reading.response.data.get("raw_output") == Some(&json!(text));
        assert_eq!(is_fallback, found == Found::Nowhere, "{name}: the raw text is preserved");
    }
}

#[test]
fn a_fallback_says_what_is_wrong_with_what_came_nearest() {
    let reading = read(r#"Here: {"status": "done", "data": {}, "message": "m", "thought": "t"}"#);
    assert_eq!((reading.response.status, reading.violations[0].pointer.as_str()), (Status::Failure, "/status"));
    assert!(reading.violations[0].message.contains("success"), "{}", reading.violations[0]);
    assert_eq!(read("no").violations[0].rule, "sacp/no-object");
}

#[test]
fn repairs_are_reported() {
    assert!(read(&GOOD.replace("1}", "1,}")).is_repaired);
    assert!(!read(GOOD).is_repaired);
}

#[test]
fn hostile_texts_end_in_the_fallback() {
    let deep = "{\"a\":".repeat(20_000);
    let braces = "{".repeat(1_000_000);
    let fences = "```\n{\n".repeat(100_000);
    let pairs = "{} ".repeat(300_000);
    for text in [deep, braces, fences, pairs, "\"\\".repeat(500_000), "x".repeat(MAX_TEXT_BYTES + 1)] {
        assert_eq!(read(&text).found, Found::Nowhere);
    }
}
