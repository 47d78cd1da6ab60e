//! Whole answers, read by what their actions declare. The names begin with the findings of `../shared/reviews` that they are
//! about: R1 to R7, R46, S3, S4.

use std::{fs, path::PathBuf};

use agentdex::sacp::{Answer, Expected, Found, Given, Kind, MAX_TEXT_BYTES, Piece, Sacp, Status, read_answer};
use serde_json::{Value, json};

use crate::support::skipped;

const GOOD: &str =
    r#"{"thought": "t", "status": "success", "data": {"n": 3, "city": "Bonn"}, "message": "Three found."}"#;

fn good() -> Value {
    serde_json::from_str(GOOD).expect("JSON")
}

fn declared(data: Value) -> Expected {
    let action = json!({"output": {"@type": "sacp:Response", "type": "object", "properties": {"data": data}}});
    Expected::of_action(&action, Sacp::Allowed).expect("a schema")
}

/// What an agent that declares SACP answers.
fn read(text: &str) -> Answer {
    read_answer(&Given::text(text), &Expected::response(None))
}

/// What an agent that declares nothing answers.
fn read_undeclared(text: &str) -> Answer {
    read_answer(&Given::text(text), &Expected::any(Sacp::Allowed))
}

/// The members of a response that are compared.
fn members(answer: &Answer) -> Value {
    let response = &answer.response;
    json!({"thought": response.thought, "status": response.status, "data": response.data, "message": response.message})
}

/// Compares an answer with the response that is expected, or none; says what is wrong.
fn verdict(answer: &Answer, expected: &Value, is_cut_off: bool) -> Option<String> {
    let found = matches!(answer.kind, Kind::Response(_)).then(|| members(answer));
    let is_right = match (&found, expected) {
        (None, Value::Null) => true,
        (Some(found), Value::Null) => is_cut_off && found["status"] == "failure",
        (Some(found), expected) => found == expected,
        (None, _) => false,
    };
    let reports_cut = answer.violations.iter().any(|violation| violation.rule == "sacp/cut-off");
    match (is_right, is_cut_off && !reports_cut) {
        (false, _) => Some(format!("{found:?} {:?}", answer.violations)),
        (true, true) => Some("the cut is not reported".to_owned()),
        (true, false) => None,
    }
}

#[test]
fn r6_messy_answers_of_the_corpus_are_all_read_and_none_wrong() {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let file = shared.join("corpus/sacp/messy.jsonl");
    let Ok(lines) = fs::read_to_string(&file) else {
        return skipped("corpus/sacp", &file.display().to_string());
    };
    let mut count = 0;
    let wrong: Vec<String> = lines
        .lines()
        .filter_map(|line| {
            let row: Value = serde_json::from_str(line).expect("JSON");
            count += 1;
            let answer = read(row["text"].as_str().expect("a text"));
            let wrong = verdict(&answer, &row["expect"], row["cut_off"] == true)?;
            Some(format!("{}: {wrong}", row["kind"]))
        })
        .collect();
    assert!(wrong.is_empty() && count >= 38, "{count}\n{}", wrong.join("\n"));
}

/// Further kinds of what models write, each with what it is: changes of the good response, or `None` for the fallback.
#[test]
fn r6_other_notations_are_read_where_they_have_one_interpretation() {
    let escaped = GOOD.replace('"', "\\\"");
    let long = "x".repeat(500);
    let is = |changes: Value| Some(changes);
    let cases = [
        ("Python in a fence", "```python\n{'thought': 't', 'status': 'success', 'data': {'ok': True, 'next': None}, 'message': 'Three found.'}\n```".to_owned(), is(json!({"data": {"ok": true, "next": null}}))),
        ("an apostrophe in double quotes", r#"{'thought': "it's fine", 'status': 'success', 'data': {}, 'message': "It's done."}"#.to_owned(), is(json!({"thought": "it's fine", "data": {}, "message": "It's done."}))),
        ("an apostrophe escaped", r"{'thought': 't', 'status': 'success', 'data': {}, 'message': 'It\'s done.'}".to_owned(), is(json!({"data": {}, "message": "It's done."}))),
        ("a tuple", "{'thought': 't', 'status': 'success', 'data': {'xs': (1, 2)}, 'message': 'ok'}".to_owned(), is(json!({"data": {"xs": [1, 2]}, "message": "ok"}))),
        ("a wrapper with another member", format!("{{\"id\": \"x1\", \"response\": {GOOD}}}"), is(json!({}))),
        ("a wrapper with a status of its own", format!("{{\"status\": 200, \"result\": {}}}", good()), is(json!({}))),
        ("a wrapper with a text", format!("{{\"output\": \"{escaped}\"}}"), is(json!({}))),
        ("a choice of a model", format!("{{\"choices\": [{{\"message\": {{\"role\": \"assistant\", \"content\": \"{escaped}\"}}}}]}}"), is(json!({}))),
        ("a list of parts", format!("{{\"role\": \"assistant\", \"content\": [{{\"type\": \"text\", \"text\": \"{escaped}\"}}]}}"), is(json!({}))),
        ("a call of a tool", format!("{{\"name\": \"answer\", \"arguments\": {}}}", good()), is(json!({}))),
        ("a wrapper in single quotes", format!("{{'response': {}}}", GOOD.replace('"', "'")), is(json!({}))),
        ("Infinity", r#"{"thought":"t","status":"success","data":{"n":-Infinity},"message":"ok"}"#.to_owned(), is(json!({"data": {"n": null}, "message": "ok"}))),
        ("unescaped quotes", r#"{"thought":"t","status":"success","data":{},"message":"He said "yes", and "no" twice."}"#.to_owned(), is(json!({"data": {}, "message": "He said \"yes\", and \"no\" twice."}))),
        ("triple quotes", "{\"thought\": \"t\", \"status\": \"success\", \"data\": {}, \"message\": \"\"\"a\nb\"\"\"}".to_owned(), is(json!({"data": {}, "message": "a\nb"}))),
        ("backticks", "{\"thought\": `t`, \"status\": `success`, \"data\": {}, \"message\": `ok`}".to_owned(), is(json!({"data": {}, "message": "ok"}))),
        ("German quotes", "{„thought“: „t“, „status“: „success“, „data“: {}, „message“: „ok“}".to_owned(), is(json!({"data": {}, "message": "ok"}))),
        ("French quotes", "{«thought»: «t», «status»: «success», «data»: {}, «message»: «ok»}".to_owned(), is(json!({"data": {}, "message": "ok"}))),
        ("quotes of a word processor in a text", GOOD.replace("Three", "“Three”"), is(json!({"message": "“Three” found."}))),
        ("no opening brace", GOOD[1..].to_owned(), is(json!({}))),
        ("no braces", GOOD[1..].trim_end_matches('}').to_owned(), is(json!({}))),
        ("no braces, in lines", "\"thought\": \"t\",\n\"status\": \"success\",\n\"data\": {\"n\": 3, \"city\": \"Bonn\"},\n\"message\": \"Three found.\"".to_owned(), is(json!({}))),
        ("XML", "<response><thought>t</thought><status>success</status><data>{\"n\": 3, \"city\": \"Bonn\"}</data><message>Three found.</message></response>".to_owned(), is(json!({}))),
        ("YAML", "thought: t\nstatus: success\ndata:\n  n: 3\n  city: Bonn\nmessage: Three found.".to_owned(), is(json!({}))),
        ("YAML in a fence", "```yaml\nthought: t\nstatus: success\ndata:\n  n: 3\n  city: Bonn\nmessage: Three found.\n```".to_owned(), is(json!({}))),
        ("equals signs", GOOD.replace("\":", "\"="), is(json!({}))),
        ("semicolons", GOOD.replace(',', ";"), is(json!({}))),
        ("names in capitals", r#"{"Thought": "t", "Status": "success", "Data": {"n": 3, "city": "Bonn"}, "Message": "Three found."}"#.to_owned(), is(json!({}))),
        ("leading zero, hexadecimal", r#"{"thought":"t","status":"success","data":{"a":007,"b":0x10},"message":"ok"}"#.to_owned(), is(json!({"data": {"a": 7, "b": 16}, "message": "ok"}))),
        ("escaped once more", escaped.clone(), is(json!({}))),
        ("a path", r#"{"thought":"t","status":"success","data":{"path":"C:\Temp\x"},"message":"ok"}"#.to_owned(), is(json!({"data": {"path": "C:\\Temp\\x"}, "message": "ok"}))),
        ("a fence in the message", format!("Sure:\n{}", GOOD.replace("Three found.", "Use:\n```sh\nls\n```\ndone")), is(json!({"message": "Use:\n```sh\nls\n```\ndone"}))),
        ("a comma after data is cut off", format!("{}\"message\":\"It", r#"{"thought":"t","status":"success","data":{"n":3,"city":"Bonn"},"#), is(json!({"message": "It"}))),
        ("a comment with quotes", GOOD.replace("\"data\"", "// it's \"so\"\n\"data\""), is(json!({}))),
        ("a long name after a quote", GOOD.replace("\"n\": 3", &format!("\"{long}\": 3,")), is(json!({"data": {long.clone(): 3, "city": "Bonn"}}))),
        ("a number as the message", GOOD.replace("\"Three found.\"", "3"), is(json!({"message": "3"}))),
        ("a thought of several steps", GOOD.replace("\"t\"", "{\"step\": 1}"), is(json!({"thought": "{\"step\":1}"}))),
        ("a status of another protocol", GOOD.replace("success", "input-required"), is(json!({"status": "clarification_needed"}))),
        ("the end of thoughts alone", format!("Perhaps {}</think>{}", GOOD.replace("success", "failure"), good()), is(json!({}))),
        ("a response, then other data", format!("{}\n{{\"n\": 3}}", good()), is(json!({}))),
        ("a status in data whose last brace is missing", r#"{"thought": "t", "status": "success", "data": {"order": {"status": "failure", "message": "lost"}}, "message": "Three found.""#.to_owned(), is(json!({"data": {"order": {"status": "failure", "message": "lost"}}}))),
        ("HTML in thought and message", r#"{"thought": "<b>t</b>", "status": "success", "data": {}, "message": "<p>Three</p>"}"#.to_owned(), is(json!({"thought": "<b>t</b>", "data": {}, "message": "<p>Three</p>"}))),
        ("entities of HTML", GOOD.replace('"', "&quot;"), is(json!({}))),
        ("two commas", GOOD.replace(", \"status\"", ",, \"status\""), is(json!({}))),
        ("a fence in data", json!({"thought": "t", "status": "success", "data": "```json\n{\"n\": 3, \"city\": \"Bonn\"}\n```", "message": "Three found."}).to_string(), is(json!({}))),
        ("a status of a program", GOOD.replace("success", "Status.SUCCESS"), is(json!({}))),
        ("YAML with a marker", "---\nthought: t\nstatus: success\ndata:\n  n: 3\n  city: Bonn\nmessage: Three found.".to_owned(), is(json!({}))),
        ("one brace too many", format!("{}}}", good()), is(json!({}))),
        ("a response within the data of another", json!({"thought": "t", "status": "success", "data": {"inner": {"thought": "i", "status": "failure", "data": {}, "message": "i"}}, "message": "Three found."}).to_string(), is(json!({"data": {"inner": {"thought": "i", "status": "failure", "data": {}, "message": "i"}}}))),
        ("no thought and no data", r#"{"status": "success", "message": "Three found."}"#.to_owned(), is(json!({"thought": "", "data": {}}))),
        // What has several interpretations, or none.
        ("an inner brace missing", GOOD.replace("\"Bonn\"}", "\"Bonn\""), None),
        ("a status that doesn't exist", GOOD.replace("success", "ok"), None),
        ("bullets of Markdown", "- **thought**: t\n- **status**: success\n- **message**: m".to_owned(), None),
        ("a template", "{\"thought\": \"<why>\", \"status\": \"success\" | \"failure\", \"data\": {\"<key>\": <value>}, \"message\": \"<text>\"}".to_owned(), None),
        ("a template with a status", r#"{"thought": "...", "status": "success", "data": {}, "message": "..."}"#.to_owned(), None),
        ("an envelope of HTTP", "The tool said {\"status\": \"success\", \"code\": 200}. I could not finish.".to_owned(), None),
        ("a status within other data", r#"{"order": {"status": "completed", "message": "sent"}}"#.to_owned(), None),
        ("two wrapped responses", json!([{"a": good()}, {"b": good()}]).to_string().replace("[{", "{\"x\": [{").replace("}]", "}]}"), None),
        ("data as a list", GOOD.replace("{\"n\": 3, \"city\": \"Bonn\"}", "[1, 2]"), None),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|(kind, text, changes)| {
            let expected = changes.map(|changes| {
                let mut expected = good();
                expected.as_object_mut()?.extend(changes.as_object()?.clone());
                Some(expected)
            });
            let is_cut_off = kind.contains("cut off");
            let wrong = verdict(&read(&text), &expected.flatten().unwrap_or_default(), is_cut_off)?;
            Some(format!("{kind}: {wrong}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn r6_answers_that_end_too_early_are_reported() {
    let whole = r#"{"thought":"t","status":"success","data":{"n":3,"city":"Bonn"},"message":"Three found."}"#;
    let data_ends = whole.find("}").expect("a brace") + 1;
    for end in 1..whole.len() {
        let answer = read(&whole[..end]);
        match answer.kind {
            Kind::Response(_) => {
                assert!(end >= data_ends, "{end}");
                assert_eq!((answer.response.status, &answer.response.data["city"]), (Status::Success, &json!("Bonn")));
                // Only the last brace is missing.
                let is_complete = end == whole.len() - 1;
                assert_eq!(answer.is_valid(), is_complete, "{end} {:?}", answer.violations);
            }
            _ => assert!(end < data_ends, "{end} {:?}", answer.violations),
        }
    }
    for end in 1..whole.len() {
        let fenced = format!("```json\n{}", &whole[..end]);
        assert_eq!(matches!(read(&fenced).kind, Kind::Response(_)), end >= data_ends, "{end}");
    }
}

#[test]
fn r1_json_with_a_status_is_an_answer_of_its_own() {
    for text in [
        r#"{"status": "success", "rain": true, "mm": 4}"#,
        r#"{"status": "failure", "orders": [1, 2]}"#,
        r#"{"status": "success", "data": {"id": 7}}"#,
        r#"{"status": "success", "data": {"id": 7}, "message": "ok"}"#,
    ] {
        let data: Value = serde_json::from_str(text).expect("JSON");
        for answer in [read_undeclared(text), read_answer(&Given::data(&data), &Expected::any(Sacp::Allowed))] {
            assert_eq!(
                (answer.kind, answer.value, answer.text.as_str()),
                (Kind::Plain, Some(data.clone()), ""),
                "{text}"
            );
        }
    }
    let quoting = r#"The tool said {"status": "success", "code": 200}. I could not finish the booking."#;
    assert_eq!(read_undeclared(quoting).text, quoting);
}

#[test]
fn r2_last_response_counts_and_thoughts_are_no_answer() {
    let draft = r#"{"thought": "t", "status": "success", "data": {}, "message": "draft"}"#;
    let think = format!(
        "<think>{draft}</think>{{'thought': 't', 'status': 'failure', 'data': {{}}, 'message': 'Not booked.'}}"
    );
    assert_eq!(
        (read(&think).response.status, read(&think).response.message.as_str()),
        (Status::Failure, "Not booked.")
    );
    let corrected = format!("```json\n{}\n```\nCorrection: {}", draft.replace("success", "failure"), good());
    assert_eq!(members(&read(&corrected)), good());
    assert_eq!(read(&corrected).kind, Kind::Response(Found::Embedded));
}

/// Each of the forms that an answer comes in, by what the action declares; nothing declared reads a response that is all of the
/// answer.
#[test]
fn r3_each_form_is_read_whatever_the_action_declares() {
    let seed = json!({"output": {"type": "object", "required": ["thought", "status", "data", "message"], "properties": {
        "thought": {"type": "string"}, "status": {"type": "string"}, "data": {"type": "object"}, "message": {"type": "string"},
    }}});
    let typed = json!({"output": {"@type": "sacp:Response"}});
    let text = good().to_string();
    let fenced = format!("```json\n{text}\n```");
    let (quoted, quoted_fence) = (json!(text).to_string(), json!(fenced).to_string());
    for action in [seed, typed, json!({})] {
        let expected = Expected::of_action(&action, Sacp::Allowed).expect("a schema");
        let data = good();
        let as_string = Value::String(text.clone());
        let texts = [&text, &fenced, &quoted, &quoted_fence];
        for given in
            [Given::data(&data), Given::data(&as_string)].into_iter().chain(texts.map(|text| Given::text(text)))
        {
            let answer = read_answer(&given, &expected);
            assert_eq!(members(&answer), good(), "{action} {given:?}");
            assert!(answer.is_valid(), "{action} {given:?}");
        }
    }
}

#[test]
fn r4_only_success_is_held_to_the_schema() {
    let expected = declared(json!({"type": "object", "required": ["city"]}));
    for (status, is_held) in
        [("success", true), ("completed", true), ("failure", false), ("clarification_needed", false)]
    {
        let response = json!({"thought": "t", "status": status, "data": {}, "message": "m"});
        for text in [response.to_string(), format!("Here:\n```json\n{response}\n```")] {
            let answer = read_answer(&Given::text(&text), &expected);
            assert_eq!((answer.response.status.as_str(), !answer.mismatches.is_empty()), (status, is_held), "{text}");
        }
    }
    // A schema of the response is checked against the response.
    let action = json!({"output": {"@type": "sacp:Response", "required": ["confidence"]}});
    let expected = Expected::of_action(&action, Sacp::Allowed).expect("a schema");
    let answer = read_answer(&Given::data(&good()), &expected);
    assert!(answer.mismatches[0].message.contains("confidence"), "{answer:?}");
    // One of other answers is checked against the data of a response that wasn't declared.
    let action = json!({"output": {"type": "object", "required": ["city"]}});
    let expected = Expected::of_action(&action, Sacp::Allowed).expect("a schema");
    assert_eq!(read_answer(&Given::data(&good()), &expected).mismatches, []);
}

#[test]
fn r5_fallback_carries_the_answer_as_it_came() {
    let expected = declared(json!({"required": ["city"]}));
    let prose = read_answer(&Given::text("I could not find it."), &expected);
    assert_eq!(prose.kind, Kind::Unreadable);
    assert_eq!(prose.response.data["raw_output"], "I could not find it.");
    let bare = read_answer(&Given::data(&json!({"city": "Bonn"})), &expected);
    assert_eq!(
        (bare.response.status, &bare.response.data["raw_output"]),
        (Status::Failure, &json!(r#"{"city":"Bonn"}"#))
    );
    let broken =
        read_answer(&Given::data(&json!({"thought": "", "status": "success", "data": {}, "message": ""})), &expected);
    let rejected = broken.rejected("no city");
    assert!(rejected.data["raw_output"].as_str().is_some_and(|raw| raw.contains("success")), "{rejected:?}");
}

#[test]
fn r7_values_are_coerced_to_the_schema_and_reported() {
    let schema = json!({"type": "object", "properties": {
        "score": {"type": "number"}, "n": {"type": "integer"}, "rain": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}}, "mood": {"enum": ["happy", "sad"]},
    }});
    let response = |data: Value| json!({"thought": "t", "status": "success", "data": data, "message": "m"});
    let data = json!({"score": "0.9", "n": "3", "rain": "yes", "names": "Ada", "mood": "Happy"});
    let answer = read_answer(&Given::data(&response(data)), &declared(schema.clone()));
    let coerced = json!({"score": 0.9, "n": 3, "rain": true, "names": ["Ada"], "mood": "happy"});
    assert_eq!((Value::Object(answer.response.data.clone()), answer.mismatches.len()), (coerced, 0));
    let mut places: Vec<_> =
        answer.repairs.iter().map(|repair| (repair.pointer.as_str(), repair.rule.as_ref())).collect();
    places.sort_unstable();
    let expected = ["/data/mood", "/data/n", "/data/names", "/data/rain", "/data/score"];
    assert_eq!(places, expected.map(|place| (place, "sacp/coerced")));
    let ambiguous = read_answer(&Given::data(&response(json!({"score": "90%"}))), &declared(schema));
    assert_eq!(
        (&ambiguous.response.data["score"], ambiguous.mismatches[0].pointer.as_str()),
        (&json!("90%"), "/data/score")
    );
}

#[test]
fn r46_examples_in_the_text_of_an_undeclared_agent_are_text() {
    let response = json!({"thought": "why", "status": "failure", "data": {}, "message": "reason"});
    let text = format!("To report, write {response} to the queue. Your order is placed.");
    let undeclared = read_undeclared(&text);
    assert_eq!((undeclared.kind, undeclared.text.as_str()), (Kind::Plain, text.as_str()));
    assert_eq!(read(&text).response.message, "reason");
    for (text, is_response) in [
        (format!("**Answer:**\n\n{response}"), true),
        (format!("Here:\n```json\n{response}\n```\n"), true),
        (format!("```json{response}```"), true),
        (format!("<think>Hm: {{x}}</think>\n{response}"), true),
        (format!("{response}\nHope that helps!"), false),
        (format!("{{\"response\": {response}}}"), false),
        (format!("An agent that failed would answer like this, for example: {response}"), false),
        (format!("```json\n{response}\n```\nis what you should write."), false),
        (response.to_string().replace("\"thought\":\"why\"", "\"x\":1"), false),
    ] {
        assert_eq!(matches!(read_undeclared(&text).kind, Kind::Response(_)), is_response, "{text}");
    }
}

#[test]
fn s3_several_data_are_all_kept_and_the_last_response_counts() {
    let data = [json!({"step": 1}), json!({"step": 2}), json!({"answer": "dry"})];
    let given = Given { texts: Vec::new(), data: data.iter().collect() };
    let answer = read_answer(&given, &Expected::any(Sacp::Allowed));
    assert_eq!(answer.response.data["result"], json!(data));
    let action = json!({"output": {"type": "object", "required": ["city"]}});
    let expected = Expected::of_action(&action, Sacp::Allowed).expect("a schema");
    assert_eq!(read_answer(&given, &expected).mismatches.len(), 1);
    let mut responses = data.to_vec();
    responses.extend([good(), json!({"done": true})]);
    let given = Given { texts: Vec::new(), data: responses.iter().collect() };
    assert_eq!(members(&read_answer(&given, &Expected::any(Sacp::Allowed))), good());
}

#[test]
fn s4_texts_of_one_artifact_are_one_text() {
    let pieces = |pieces: &[&'static str], artifact| {
        let piece = |text: &&'static str| Piece { text, artifact };
        Given { texts: pieces.iter().map(piece).collect(), data: Vec::new() }
    };
    let rains = ["It ", "ra", "ins."];
    assert_eq!(read_answer(&pieces(&rains, Some("a")), &Expected::any(Sacp::Allowed)).text, "It rains.");
    assert_eq!(
        read_answer(&pieces(&["First.", "Second."], None), &Expected::any(Sacp::Allowed)).text,
        "First.\nSecond."
    );
    let text = good().to_string();
    let cut: Vec<&str> = text.as_bytes().chunks(9).map(|piece| std::str::from_utf8(piece).expect("ASCII")).collect();
    for artifact in [Some("a"), None] {
        let texts = cut.iter().map(|text| Piece { text, artifact }).collect();
        let answer = read_answer(&Given { texts, data: Vec::new() }, &Expected::any(Sacp::Allowed));
        assert_eq!(members(&answer), good(), "{artifact:?}");
    }
}

#[test]
fn a_response_counts_beside_other_texts_and_the_last_one_most() {
    let failure = GOOD.replace("\"success\"", "\"failure\"");
    let piece = |text, artifact| Piece { text, artifact };
    for (texts, status) in [
        (vec![piece(GOOD, Some("a")), piece("Done", None)], Some(Status::Success)),
        (vec![piece("Working on it.", None), piece(&failure, None)], Some(Status::Failure)),
        (vec![piece(GOOD, Some("a")), piece(&failure, Some("b")), piece("Done", None)], Some(Status::Failure)),
        (vec![piece("It said ", Some("a")), piece(GOOD, Some("a")), piece(" and left.", Some("a"))], None),
    ] {
        let answer = read_answer(&Given { texts, data: Vec::new() }, &Expected::any(Sacp::Allowed));
        let read = matches!(answer.kind, Kind::Response(_)).then_some(answer.response.status);
        assert_eq!(read, status, "{answer:?}");
    }
}

#[test]
fn text_is_read_as_the_data_that_a_schema_declares() {
    let tool = json!({"output": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}});
    let expected = Expected::of_action(&tool, Sacp::Allowed).expect("a schema");
    for text in [r#"{"n": 3}"#, "```json\n{\"n\": \"3\"}\n```"] {
        let answer = read_answer(&Given::text(text), &expected);
        assert_eq!(
            (answer.value, answer.text.as_str(), answer.mismatches.len()),
            (Some(json!({"n": 3})), "", 0),
            "{text}"
        );
    }
    assert!(!read_answer(&Given::text("3"), &expected).mismatches.is_empty());
    let single = Expected::of_action(&tool, Sacp::Allowed).expect("a schema").or_single_output();
    assert_eq!(read_answer(&Given::text("3"), &single).value, Some(json!({"n": 3})));
    assert_eq!(read_answer(&Given::data(&json!(3)), &single).value, Some(json!({"n": 3})));
}

/// A kind of hostile text, made for a size in bytes.
type Hostile = (&'static str, fn(usize) -> String);

/// Hostile texts: each ends in the fallback, or is read.
fn hostile() -> [Hostile; 16] {
    [
        ("opening braces", |size| "{".repeat(size)),
        ("pairs of braces", |size| "{} ".repeat(size / 3)),
        ("nested objects", |size| "{\"a\":".repeat(size / 5)),
        ("10,000 levels", |size| {
            format!("{}{}", "{\"status\":".repeat(10_000), "}".repeat(size.max(100_000) - 100_000))
        }),
        ("quotes", |size| "\"".repeat(size)),
        ("quotes in an object", |size| format!("{{\"status\": \"{}", "\" ".repeat(size / 2))),
        ("single quotes", |size| format!("{{'status': '{}", "', ".repeat(size / 3))),
        ("backslashes", |size| "{\"\\".repeat(size / 3)),
        ("fences", |size| "```\n{\n".repeat(size / 6)),
        ("fences of objects", |size| "```\n{\"status\": \"success\"}\n```\n".repeat(size / 30)),
        ("thoughts without an end", |size| "<think>{'a".repeat(size / 10)),
        ("comments", |size| format!("{{{}", "/* { ".repeat(size / 5))),
        ("names", |size| "{a:b,".repeat(size / 5)),
        ("members that never end", |size| format!("{{{}", "status: \"success\", more: {}, ".repeat(size / 30))),
        ("spaces before quotes", |size| format!("{{\"a\": \"{}", format!("\"{}", " ".repeat(200)).repeat(size / 201))),
        ("responses", |size| r#"{"thought": "t", "status": "success", "data": {}, "message": "m"}"#.repeat(size / 65)),
    ]
}

#[test]
fn hostile_texts_of_1_mib_are_read_or_end_in_the_fallback() {
    for (kind, text) in hostile() {
        let text = text(1 << 20);
        let answer = read(&text);
        let is_preserved = answer.response.data.get("raw_output") == Some(&json!(text));
        assert_eq!(is_preserved, answer.kind == Kind::Unreadable, "{kind}");
        assert_eq!(matches!(answer.kind, Kind::Response(_)), kind == "responses", "{kind}");
        assert_eq!(read_undeclared(&text).kind, Kind::Plain, "{kind}");
    }
    assert_eq!(read(&"x".repeat(MAX_TEXT_BYTES + 1)).violations[0].rule, "sacp/too-long");
}

/// The processor time of this thread, which doesn't depend on what else the machine does; none where the system doesn't tell.
fn processor_time() -> Option<f64> {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split(' ').next()?.parse().ok()
}

/// As much text in one piece as in eight takes as long where the work is linear, and eight times as long where it is quadratic.
#[test]
fn hostile_texts_are_read_in_linear_time() {
    let cost = |texts: &[String]| {
        let start = processor_time()?;
        texts.iter().for_each(|text| drop(std::hint::black_box(read(text))));
        Some(processor_time()? - start)
    };
    let wrong: Vec<String> = hostile()
        .into_iter()
        .filter(|(kind, _)| *kind != "10,000 levels")
        .filter_map(|(kind, text)| {
            let (small, large) = (vec![text(1 << 15); 8], [text(1 << 18)]);
            let costs = (0..3).map(|_| Some((cost(&small)?, cost(&large)?))).collect::<Option<Vec<_>>>()?;
            // The system counts in ticks of a few milliseconds.
            let least = |which: fn(&(f64, f64)) -> f64| costs.iter().map(which).fold(f64::INFINITY, f64::min).max(10e6);
            let ratio = least(|(_, large)| *large) / least(|(small, _)| *small);
            (ratio > 4.0).then(|| format!("{kind}: {ratio:.1}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
