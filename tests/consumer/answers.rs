//! What is made of an answer, by the library, by chains, and by commands. The names begin with the findings of
//! `../shared/reviews` that they are about.

use std::process::Output;

use agentdex::{
    consumer::{Agent, Error, Message, Run, RunEvent, Sacp, Settings, State},
    sacp::{Chain, Outcome, Response, Status},
};
use serde_json::{Value, json};

use super::{
    agent, asking, consumer,
    program::agentdex,
    run,
    server::{Said, Server},
    thing,
};
use crate::support::TestRegistry;

fn good() -> Value {
    json!({"thought": "t", "status": "success", "data": {"city": "Bonn"}, "message": "Found."})
}

/// An action whose output is a response with this schema of its data.
fn typed(data: Value) -> Value {
    json!({"output": {"@type": "sacp:Response", "type": "object", "properties": {"data": data}}})
}

/// A Thing whose only action has these members.
fn with_action(origin: &str, members: &Value) -> Value {
    let mut thing = asking(origin);
    thing["actions"]["ask"].as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    thing
}

/// The agent that a description describes, whose responses are read.
fn reading(description: &Value) -> Agent {
    agent(description).update(Settings::new().answers(Sacp::Allowed))
}

/// A run of one node.
fn run_of(description: &Value) -> Run {
    let chain = json!({"start": "a", "nodes": {"a": {"thing": description, "input": "x"}}});
    consumer().run(Chain::new(chain).unwrap(), "x")
}

/// What the agent of a chain answers.
fn answered(description: &Value) -> RunEvent {
    let mut run_of_one = run_of(description);
    run(async {
        loop {
            let event = run_of_one.next().await.expect("an answer");
            if let RunEvent::Answered { .. } = event {
                return event;
            }
        }
    })
}

fn response(description: &Value) -> Response {
    match answered(description) {
        RunEvent::Answered { response, .. } => response,
        other => panic!("{other:?}"),
    }
}

/// The forms that an answer comes in: JSON, text, a fence, and the last two in a string of JSON.
fn forms(answer: &Value) -> [Said; 5] {
    let text = |text: &str| Said::new("200 OK", &["content-type: text/plain"], text);
    let (plain, fenced) = (answer.to_string(), format!("Here:\n```json\n{answer}\n```"));
    [Said::json(answer), text(&plain), text(&fenced), Said::json(json!(plain)), Said::json(json!(fenced))]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A registry with one agent.
fn registry_of(description: &Value) -> TestRegistry {
    let registry = TestRegistry::start();
    let id = description["id"].as_str().unwrap();
    registry.put(&format!("/things/{id}"), description.to_string()).expect(201);
    registry
}

/// What a command prints, with a line to chat with.
fn command(registry: &TestRegistry, arguments: &[&str]) -> Output {
    agentdex(registry, arguments, "x\n")
}

const ID: &str = "urn:example:thing";

#[test]
fn r1_json_with_a_status_is_shown_whole() {
    let quoting = "The tool said {\"status\": \"success\", \"code\": 200}. I could not finish the booking.";
    for (said, expected) in [
        (Said::json(json!({"status": "success", "rain": true, "mm": 4})), "rain"),
        (Said::json(json!({"status": "failure", "orders": [1, 2]})), "orders"),
        (Said::new("200 OK", &["content-type: text/plain"], quoting), quoting),
    ] {
        let server = Server::start(move |_| said.clone());
        let registry = registry_of(&asking(&server.origin));
        for arguments in [&["ask", "--agent", ID, "x"][..], &["call", ID, "ask", "--input", "\"x\""], &["chat", ID]] {
            let output = command(&registry, arguments);
            let printed = text(&output.stdout);
            assert!(output.status.success() && printed.contains(expected), "{arguments:?} {printed} {output:?}");
        }
        let conversation = run(reading(&asking(&server.origin)).ask("x")).unwrap();
        assert!(conversation.message().to_string().contains(expected), "{conversation:?}");
        assert_eq!(response(&asking(&server.origin)).status, Status::Success);
    }
}

#[test]
fn r3_perfect_answers_are_taken_in_every_form_by_every_way_to_call() {
    let seed = json!({"output": {"type": "object", "required": ["thought", "status", "data", "message"], "properties": {
        "thought": {"type": "string"}, "status": {"type": "string"}, "data": {"type": "object"}, "message": {"type": "string"},
    }}});
    let typed = typed(json!({"type": "object", "required": ["city"]}));
    for members in [seed, typed, json!({})] {
        for said in forms(&good()) {
            let server = Server::start(move |_| said.clone());
            let description = with_action(&server.origin, &members);
            let check = |message: &Message| {
                assert_eq!((message.text().as_str(), message.data()), ("Found.", Some(&json!({"city": "Bonn"}))));
            };
            run(async {
                let agent = reading(&description);
                check(&agent.call("ask", json!("x")).await.unwrap().message);
                check(agent.ask("x").await.unwrap().message());
            });
            let response = response(&description);
            assert_eq!((response.message.as_str(), &response.data["city"]), ("Found.", &json!("Bonn")), "{members}");
        }
    }
}

#[test]
fn r4_run_reads_every_form_of_every_status() {
    let typed = typed(json!({"type": "object", "required": ["city"]}));
    for (status, data) in [
        ("success", json!({"city": "Bonn"})),
        ("completed", json!({"city": "Bonn"})),
        ("failure", json!({})),
        ("clarification_needed", json!({})),
    ] {
        let answer = json!({"thought": "t", "status": status, "data": data, "message": "said"});
        for said in forms(&answer) {
            let server = Server::start(move |_| said.clone());
            let response = response(&with_action(&server.origin, &typed));
            assert_eq!((response.status.as_str(), response.message.as_str()), (status, "said"));
        }
    }
}

#[test]
fn r5_fallback_in_a_run_carries_the_answer() {
    let typed = typed(json!({"type": "object", "required": ["city"]}));
    let prose = Said::new("200 OK", &["content-type: text/plain"], "I could not find it.");
    for (said, raw) in [(prose, "I could not find it."), (Said::json(json!({"city": "Bonn"})), r#"{"city":"Bonn"}"#)] {
        let server = Server::start(move |_| said.clone());
        let chain = json!({
            "start": "a",
            "nodes": {
                "a": {"thing": with_action(&server.origin, &typed), "input": "x"},
                "sorry": {"answer": {"message": "It said: {{a.data.raw_output}}"}},
            },
            "edges": [{"from": "a", "to": "sorry", "on_error": true}],
        });
        run(async {
            let mut run = consumer().run(Chain::new(chain).unwrap(), "x");
            match run.finish().await {
                Some(Outcome::Done(response)) => assert_eq!(response.message, format!("It said: {raw}")),
                other => panic!("{other:?}"),
            }
        });
        // A call says what came.
        let error = run(reading(&with_action(&server.origin, &typed)).call("ask", json!("x"))).unwrap_err();
        assert!(matches!(&error, Error::InvalidAnswer { answer, .. } if answer.as_str() == Some(raw)), "{error:?}");
    }
}

#[test]
fn r7_coercions_are_in_the_event_of_a_run() {
    let schema = json!({"type": "object", "properties": {"score": {"type": "number"}, "rain": {"type": "boolean"}}});
    let said = |data: Value| json!({"thought": "t", "status": "success", "data": data, "message": "m"});
    let server = Server::start(move |_| Said::json(said(json!({"score": "0.9", "rain": "yes"}))));
    let event = answered(&with_action(&server.origin, &typed(schema.clone()))).to_value();
    assert_eq!(event["response"]["data"], json!({"score": 0.9, "rain": true}));
    assert_eq!(
        (&event["repairs"][0]["pointer"], &event["repairs"][0]["rule"]),
        (&json!("/data/rain"), &json!("sacp/coerced"))
    );
    let server = Server::start(move |_| Said::json(said(json!({"score": "90%"}))));
    let response = response(&with_action(&server.origin, &typed(schema)));
    assert_eq!(response.status, Status::Failure);
    assert!(response.message.contains("/data/score") && response.data.contains_key("raw_output"), "{response:?}");
}

#[test]
fn r46_quoted_example_is_overruled_only_by_a_declaration() {
    let example = json!({"thought": "why", "status": "failure", "data": {}, "message": "reason"});
    let quoting = format!("To report, write {example} to the queue. Your order is placed.");
    let said = quoting.clone();
    let server = Server::start(move |_| Said::new("200 OK", &["content-type: text/plain"], &said));
    let undeclared = asking(&server.origin);
    let answer = run(reading(&undeclared).ask("x")).unwrap();
    assert_eq!((answer.message().text(), answer.state()), (quoting.clone(), State::Completed));
    assert_eq!((response(&undeclared).status, response(&undeclared).message), (Status::Success, quoting));
    let declared = with_action(&server.origin, &typed(json!({})));
    let answer = run(reading(&declared).ask("x")).unwrap();
    assert_eq!((answer.state(), answer.message().text().as_str()), (State::Failed, "reason"));
}

#[test]
fn s3_several_data_are_all_printed_and_given_to_the_next_node() {
    let pieces = ["data: {\"step\": 1}\n\n", "data: {\"step\": 2}\n\n", "data: {\"answer\": \"dry\"}\n\n"];
    let server = Server::start(move |_| Said::stream("text/event-stream", &pieces));
    let all = json!([{"step": 1}, {"step": 2}, {"answer": "dry"}]);
    assert_eq!(response(&asking(&server.origin)).data["result"], all);
    let registry = registry_of(&asking(&server.origin));
    let output = command(&registry, &["call", ID, "ask", "--input", "\"x\""]);
    let printed = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let printed: Vec<Value> = printed.map(|value| value.unwrap()).collect();
    assert_eq!(json!(printed), all);
}

/// An agent of A2A 1.0 without streaming that answers with this task.
fn task(task: Value) -> (Server, Value) {
    let server = Server::start(move |request| {
        Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"task": task}}))
    });
    let form =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    let description = thing(json!({"a2a:capabilities": {"streaming": false}, "actions": {"ask": {"forms": [form]}}}));
    (server, description)
}

#[test]
fn s23_reason_of_a_failed_task_comes_after_what_was_done() {
    let said = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "No station answers."}]});
    let artifacts = json!([{"artifactId": "a", "parts": [{"text": "Half a plan."}]}]);
    let status = json!({"state": "TASK_STATE_FAILED", "message": said});
    let (_server, description) = task(json!({"id": "1", "contextId": "c", "status": status, "artifacts": artifacts}));
    let conversation = run(agent(&description).ask("x")).unwrap();
    assert_eq!(conversation.message().text(), "Half a plan.\nNo station answers.");
}

#[test]
fn s23_text_is_decoded_by_its_charset() {
    for (content_type, body, expected) in [
        ("content-type: text/plain; charset=iso-8859-1", &b"K\xf6ln"[..], "Köln"),
        ("content-type: text/plain; charset=utf-16le", b"K\0\xf6\0l\0n\0", "Köln"),
        ("content-type: application/json; charset=iso-8859-1", b"\"K\xf6ln\"", "Köln"),
        ("content-type: text/plain", "Köln".as_bytes(), "Köln"),
    ] {
        let said = Said::new("200 OK", &[content_type], body);
        let server = Server::start(move |_| said.clone());
        let conversation = run(agent(&asking(&server.origin)).ask("x")).unwrap();
        assert_eq!(conversation.message().text(), expected, "{content_type}");
    }
    let refused = Said::new("500 Internal Server Error", &["content-type: text/plain; charset=iso-8859-1"], b"K\xf6ln");
    let server = Server::start(move |_| refused.clone());
    let error = run(agent(&asking(&server.origin)).ask("x")).unwrap_err();
    assert!(error.to_string().contains("Köln"), "{error}");
}

#[test]
fn s23_answer_without_content_prints_nothing() {
    let server = Server::start(|_| Said::new("204 No Content", &[], ""));
    let mut description = asking(&server.origin);
    description["actions"]["ask"]["forms"][0]["htv:methodName"] = "GET".into();
    description["actions"]["ask"]["safe"] = true.into();
    let registry = registry_of(&description);
    for arguments in [&["call", ID, "ask"][..], &["call", ID, "ask", "--stream"]] {
        let output = command(&registry, arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(
            output.status.success() && out.is_empty() && err.contains("(no answer)"),
            "{arguments:?}: {out:?} {err}"
        );
    }
}

fn completed(members: Value) -> Value {
    let mut task = json!({"id": "1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
    task.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    task
}

#[test]
fn s4_parts_of_an_artifact_are_one_text() {
    let artifact = |texts: &[&str]| {
        let parts: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
        completed(json!({"artifacts": [{"artifactId": "a1", "name": "say", "parts": parts}]}))
    };
    let (_server, description) = task(artifact(&["It ", "ra", "ins."]));
    assert_eq!(run(reading(&description).ask("x")).unwrap().message().text(), "It rains.");
    assert_eq!(response(&description).message, "It rains.");
    let registry = registry_of(&description);
    let printed = text(&command(&registry, &["ask", "--agent", ID, "x"]).stdout);
    assert_eq!(printed, "It rains.\n");
    // A failure in pieces is a failure.
    let failure = json!({"thought": "t", "status": "failure", "data": {}, "message": "Declined."}).to_string();
    let pieces: Vec<&str> = failure.as_bytes().chunks(9).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let (_server, description) = task(artifact(&pieces));
    let answer = run(reading(&description).ask("x")).unwrap();
    assert_eq!((answer.state(), answer.message().text().as_str()), (State::Failed, "Declined."));
    assert_eq!(response(&description).status, Status::Failure);
}

#[test]
fn s12_task_without_artifacts_is_answered_in_its_history() {
    let message = |role: &str, said: &str| json!({"role": role, "messageId": "m", "parts": [{"text": said}]});
    let (user, said) = (message("ROLE_USER", "x"), message("ROLE_AGENT", "Answer in the history."));
    let (_server, description) = task(completed(json!({"history": [user, said]})));
    assert_eq!(run(reading(&description).ask("x")).unwrap().message().text(), "Answer in the history.");
    assert_eq!(response(&description).message, "Answer in the history.");
    // What was said before the caller's last message is no answer to it.
    let (_server, description) = task(completed(json!({"history": [said, user]})));
    assert_eq!(run(reading(&description).ask("x")).unwrap().message().text(), "");
    let registry = registry_of(&description);
    for arguments in [
        &["ask", "--agent", ID, "x"][..],
        &["ask", "--agent", ID, "x", "--stream"],
        &["call", ID, "ask", "--input", "\"x\""],
        &["chat", ID],
    ] {
        let output = command(&registry, arguments);
        let (printed, complained) = (text(&output.stdout), text(&output.stderr));
        assert!(
            printed.trim().is_empty() && complained.contains("(no answer)"),
            "{arguments:?} {printed} {complained}"
        );
    }
}

#[test]
fn message_that_repeats_an_artifact_is_shown_once() {
    let status = json!({"state": "TASK_STATE_COMPLETED", "message": {"role": "ROLE_AGENT", "messageId": "m", "parts": [{"text": "It rains."}]}});
    let artifacts = json!([{"artifactId": "a1", "parts": [{"text": "It "}, {"text": "rains."}]}]);
    let (_server, description) = task(completed(json!({"status": status, "artifacts": artifacts})));
    assert_eq!(run(reading(&description).ask("x")).unwrap().message().text(), "It rains.");
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Forecast {
    rain: bool,
    mm: u32,
}

#[test]
fn typed_answers_are_found_in_text_and_coerced() {
    let fenced = "Here:\n```json\n{\"rain\": true, \"mm\": 3}\n```";
    for said in [
        Said::json(json!({"rain": true, "mm": 3})),
        Said::json(json!({"rain": "yes", "mm": "3"})),
        Said::new("200 OK", &["content-type: text/plain"], fenced),
    ] {
        let server = Server::start(move |_| said.clone());
        let typed = run(agent(&asking(&server.origin)).ask_as::<Forecast>("x")).unwrap();
        assert_eq!((typed.value.rain, typed.value.mm), (true, 3));
    }
    let server = Server::start(|_| Said::json(json!("It rains.")));
    let error = run(agent(&asking(&server.origin)).ask_as::<Forecast>("x")).unwrap_err();
    assert!(matches!(&error, Error::InvalidAnswer { answer, .. } if **answer == "It rains."), "{error:?}");
}
