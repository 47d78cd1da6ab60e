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
        ("a byte order mark", format!("\u{feff}{GOOD}"), Found::Whole, json!(1)),
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
        ("single quotes", GOOD.replace('"', "'"), Found::Whole, json!(1)),
        ("a wrapped response", format!(r#"{{"response": {GOOD}}}"#), Found::Whole, json!(1)),
    ];
    check(cases);
}

/// As [`messy_answers_are_read`]: what models wrote around, into and instead of their answers.
#[test]
fn answers_as_models_write_them_are_read() {
    let pretty = "{\n  \"thought\": \"t\",\n  \"status\": \"success\",\n  \"data\": {\n    \"n\": 1\n  },\n  \"message\": \"m\"\n}";
    let with_message = |message: &str| GOOD.replace("\"m\"", message);
    let with_data = |data: &str| GOOD.replace("{\"n\": 1}", data);
    let example = GOOD.replace("\"success\"", "\"failure\"").replace('1', "9");
    let cases = [
        ("printed over lines", pretty.to_owned(), Found::Whole, json!(1)),
        ("with the line ends of Windows", pretty.replace('\n', "\r\n"), Found::Whole, json!(1)),
        ("fenced with the line ends of Windows", format!("```json\r\n{pretty}\r\n```\r\n"), Found::Fenced, json!(1)),
        ("fenced in one line", format!("```json{GOOD}```"), Found::Embedded, json!(1)),
        ("fenced with an attribute", format!("```json title=\"answer\"\n{GOOD}\n```"), Found::Fenced, json!(1)),
        ("fenced as JSONC", format!("```jsonc\n{GOOD}\n```"), Found::Fenced, json!(1)),
        ("fenced as text", format!("```text\n{GOOD}\n```"), Found::Fenced, json!(1)),
        ("a fence after words on its line", format!("Response: ```json\n{GOOD}\n```"), Found::Embedded, json!(1)),
        ("words in the fence", format!("```\nAnswer: {GOOD}\n```"), Found::Embedded, json!(1)),
        ("the word json before it", format!("json\n{GOOD}"), Found::Embedded, json!(1)),
        ("a label before it", format!("**Final Answer:**\n\n{GOOD}"), Found::Embedded, json!(1)),
        ("an assignment", format!("const response = {GOOD};"), Found::Embedded, json!(1)),
        ("a call", format!("return json.dumps({GOOD})"), Found::Embedded, json!(1)),
        ("an element of HTML", format!("<pre>{GOOD}</pre>"), Found::Embedded, json!(1)),
        ("thoughts in a tag", format!("<think>They want {{n}}, so 1.</think>\n{GOOD}"), Found::Embedded, json!(1)),
        (
            "thoughts with a draft",
            format!("<think>{other}</think>\n{GOOD}", other = example),
            Found::Embedded,
            json!(1),
        ),
        ("thoughts that never end", format!("<think>Hm. {{\"status\": \n{GOOD}"), Found::Embedded, json!(1)),
        ("a formula before it", format!("By $\\frac{{1}}{{2}}$: {GOOD}"), Found::Embedded, json!(1)),
        ("a program before it", format!("fn main() {{ if x {{ y() }} }}\n{GOOD}"), Found::Embedded, json!(1)),
        (
            "a call of a tool before it",
            format!("<tool_call>{{\"name\": \"x\"}}</tool_call>{GOOD}"),
            Found::Embedded,
            json!(1),
        ),
        ("progress in lines before it", format!("{{\"step\": 1}}\n{{\"step\": 2}}\n{GOOD}"), Found::Embedded, json!(1)),
        (
            "an example, then the answer",
            format!("E.g.\n```json\n{example}\n```\nSo:\n```json\n{GOOD}\n```"),
            Found::Fenced,
            json!(1),
        ),
        ("the same twice", format!("{GOOD}{GOOD}"), Found::Embedded, json!(1)),
        ("a hundred objects before it", format!("{}{GOOD}", "{\"a\": {}} ".repeat(100)), Found::Embedded, json!(1)),
        ("a fence in the message", with_message("\"See:\\n```json\\n{}\\n```\""), Found::Whole, json!(1)),
        (
            "a fence in the message, with prose",
            format!("So: {}", with_message("\"```json\\n{ ```\"")),
            Found::Embedded,
            json!(1),
        ),
        ("braces and quotes in the message", with_message(r#""use \"{x}\", not }{""#), Found::Whole, json!(1)),
        ("a URL in the message", with_message("\"https://a.example//b /* c */\""), Found::Whole, json!(1)),
        ("letters as escape sequences", with_message("\"caf\\u00e9 \\ud83d\\ude00\""), Found::Whole, json!(1)),
        ("letters of all scripts", with_message("\"天気は晴れ ☀️ 👍\""), Found::Whole, json!(1)),
        ("line breaks in the message", with_message("\"one\ntwo\n\n\tthree\""), Found::Whole, json!(1)),
        (
            "line breaks and a fence",
            format!("```json\n{}\n```", with_message("\"- a\r\n- b\"")),
            Found::Fenced,
            json!(1),
        ),
        ("line breaks and a comma", with_message("\"a\nb\","), Found::Whole, json!(1)),
        ("several trailing commas", with_data("{\"x\": [1, 2,], \"n\": 1,}"), Found::Whole, json!(1)),
        ("a comment at the end", format!("{GOOD} // done"), Found::Whole, json!(1)),
        ("a comment with braces", GOOD.replace("\"data\"", "/* { \" } */ \"data\""), Found::Whole, json!(1)),
        ("a member more", with_message("\"m\", \"confidence\": 0.9, \"sources\": []"), Found::Whole, json!(1)),
        ("a member twice", with_data("{\"n\": 7, \"n\": 1}"), Found::Whole, json!(1)),
        (
            "members in another order",
            r#"{"message": "m", "data": {"n": 1}, "status": "completed", "thought": "t"}"#.to_owned(),
            Found::Whole,
            json!(1),
        ),
        ("no thought", GOOD.replace("\"thought\": \"t\", ", ""), Found::Whole, json!(1)),
        ("a hint that is null", with_message("\"m\", \"next_step_hint\": null"), Found::Whole, json!(1)),
        (
            "a large answer",
            with_data(&format!("{{\"x\": [{}0], \"n\": 1}}", "0, ".repeat(100_000))),
            Found::Whole,
            json!(1),
        ),
        ("a long message", with_message(&format!("\"{}\"", "word ".repeat(100_000))), Found::Whole, json!(1)),
        ("a long story before it", format!("{}{GOOD}", "I think so. ".repeat(10_000)), Found::Embedded, json!(1)),
        ("cut off in its data", GOOD[..53].to_owned(), Found::Nowhere, json!(null)),
        ("cut off after its data", GOOD[..55].to_owned(), Found::Whole, json!(1)),
        ("cut off in its last word", GOOD[..GOOD.len() - 2].to_owned(), Found::Whole, json!(1)),
        ("quotes of a word processor", GOOD.replace('"', "\u{201d}"), Found::Whole, json!(1)),
        ("no quotes", GOOD.replace('"', ""), Found::Whole, json!(1)),
        (
            "a dictionary of Python",
            "{'thought': None, 'status': 'success', 'data': {'n': 1}}".to_owned(),
            Found::Whole,
            json!(1),
        ),
        ("YAML", "thought: t\nstatus: success\ndata:\n  n: 1\nmessage: m".to_owned(), Found::Whole, json!(1)),
        ("XML", "<status>success</status><data><n>1</n></data>".to_owned(), Found::Nowhere, json!(null)),
        ("a missing comma", GOOD.replace("\"success\",", "\"success\""), Found::Whole, json!(1)),
        ("an unknown status", GOOD.replace("success", "ok"), Found::Nowhere, json!(null)),
        ("a status in capitals", GOOD.replace("success", "SUCCESS"), Found::Whole, json!(1)),
        ("no number", with_data("{\"n\": NaN}"), Found::Whole, json!(null)),
        (
            "a schema instead",
            r#"{"type": "object", "properties": {"status": {"enum": ["success"]}}}"#.to_owned(),
            Found::Nowhere,
            json!(null),
        ),
        ("an apology", "I'm sorry, but I can't help with {that}.".to_owned(), Found::Nowhere, json!(null)),
    ];
    check(cases);
}

fn check<'a>(cases: impl IntoIterator<Item = (&'a str, String, Found, serde_json::Value)>) {
    let wrong: Vec<_> = cases
        .into_iter()
        .filter_map(|(name, text, found, n)| {
            let reading = read(&text);
            let read_n = reading.response.data.get("n").cloned().unwrap_or_default();
            let is_preserved = reading.response.data.get("raw_output") == Some(&json!(text));
            let is_right = reading.found == found && read_n == n && is_preserved == (found == Found::Nowhere);
            (!is_right).then_some((name, reading.found, read_n, is_preserved))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
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
    let rules = |text: &str| read(text).repairs.into_iter().map(|repair| repair.rule).collect::<Vec<_>>();
    assert_eq!(rules(&GOOD.replace("1}", "1,}")), ["sacp/comma"]);
    assert_eq!(rules(&GOOD.replace('"', "'").replace("'m'", "None")), ["sacp/quotes", "sacp/word", "sacp/member-type"]);
    assert!(rules(GOOD).is_empty());
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
