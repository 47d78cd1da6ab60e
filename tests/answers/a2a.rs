//! Agents of A2A 1.0, which stream or answer whole.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};

use super::{
    Agent, check,
    kind::{Cell, Kind},
    register, registry, thing,
};
use crate::consumer::{
    agentdex,
    server::{Received, Said, Server},
};

const PLAN: &str = "# Plan\n\n- one\n- two";

/// Numbers of tasks.
static TASKS: AtomicU32 = AtomicU32::new(1);

fn sacp(status: &str, data: Value, message: &str) -> String {
    json!({"thought": "hm", "status": status, "data": data, "message": message}).to_string()
}

fn message(parts: Value) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "contextId": "c", "parts": parts}})
}

/// What an agent does about a kind: a message, or a task that ends so after these pieces of artifacts.
enum Does {
    Says(Value),
    Works { artifacts: Vec<(&'static str, Vec<String>)>, state: &'static str, said: Value, more: Value },
    Refuses(i64, &'static str),
}

fn works(artifacts: Vec<(&'static str, Vec<String>)>, state: &'static str, said: Value) -> Does {
    Does::Works { artifacts, state, said, more: json!({}) }
}

fn text(text: &str) -> Value {
    json!([{"text": text}])
}

fn does(kind: &str) -> Does {
    let chunks =
        |text: &str| text.as_bytes().chunks(7).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
    let found = sacp("success", json!({"city": "Bonn"}), "Found.");
    let plan = || vec![("plan", chunks(PLAN))];
    match kind {
        "plain" => Does::Says(text("You said: plain")),
        "lines" => Does::Says(text(PLAN)),
        "two" => Does::Says(json!([{"text": "First."}, {"text": "Second."}])),
        "both" => Does::Says(json!([{"text": "Three."}, {"data": {"n": 3}}])),
        "data" => Does::Says(json!([{"data": {"n": 3}}])),
        "status" => Does::Says(json!([{"data": {"status": "success", "rain": true}}])),
        "sacp" => Does::Says(text(&found)),
        "sacp_data" => Does::Says(
            json!([{"data": {"thought": "hm", "status": "success", "data": {"city": "Bonn"}, "message": "Found."}}]),
        ),
        "fence" => Does::Says(text(&format!("Here:\n```json\n{found}\n```"))),
        "sacp_question" => Does::Says(text(&sacp("clarification_needed", json!({}), "Which city?"))),
        "sacp_failure" => Does::Says(text(&sacp("failure", json!({"k": 1}), "Declined."))),
        "sacp_artifact" => works(vec![("answer", vec![found])], "COMPLETED", json!(null)),
        "sacp_pieces" => works(vec![("answer", chunks(&found))], "COMPLETED", json!(null)),
        "pieces" => works(plan(), "COMPLETED", json!(null)),
        "said" => works(Vec::new(), "COMPLETED", text(PLAN)),
        "nothing" => works(Vec::new(), "COMPLETED", json!(null)),
        "question" => works(Vec::new(), "INPUT_REQUIRED", text("Which city?")),
        "access" => works(Vec::new(), "AUTH_REQUIRED", text("Log in at https://example.com")),
        "form" => works(Vec::new(), "INPUT_REQUIRED", json!([{"text": "Fill in"}, {"data": {"fields": ["city"]}}])),
        "failure" => works(Vec::new(), "FAILED", text("No station answers")),
        "rejected" => works(Vec::new(), "REJECTED", text("Not my job")),
        "cancelled" => works(Vec::new(), "CANCELED", text("Stopped")),
        "partial" => works(plan(), "FAILED", text("Lost it")),
        "early" | "slow" => works(vec![("answer", vec!["At last.".to_owned()])], "COMPLETED", json!(null)),
        "history" => {
            let history = json!([
                {"messageId": "u", "role": "ROLE_USER", "parts": [{"text": "history"}]},
                {"messageId": "a", "role": "ROLE_AGENT", "parts": [{"text": "In the history."}]},
            ]);
            Does::Works {
                artifacts: Vec::new(),
                state: "COMPLETED",
                said: json!(null),
                more: json!({"history": history}),
            }
        }
        "streamless" => Does::Says(text("Whole.")),
        "error" => Does::Refuses(-32603, "Internal error"),
        other => panic!("{other}"),
    }
}

fn task(id: &str, state: &str, said: &Value, more: &Value) -> Value {
    let mut status = json!({"state": format!("TASK_STATE_{state}")});
    if !said.is_null() {
        status["message"] = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": said});
    }
    let mut task = json!({"id": id, "contextId": "c", "status": status});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

/// The task as it is at its end.
fn whole(id: &str, artifacts: &[(&str, Vec<String>)], state: &str, said: &Value, more: &Value) -> Value {
    let mut task = task(id, state, said, more);
    let artifacts: Vec<Value> = artifacts
        .iter()
        .map(|(name, texts)| {
            let parts: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            json!({"artifactId": name, "name": name, "parts": parts})
        })
        .collect();
    if !artifacts.is_empty() {
        task["artifacts"] = artifacts.into();
    }
    task
}

/// The kind of each task, and how often it was asked for.
type Tasks = Mutex<HashMap<String, (String, u32)>>;

fn answer(request: &Received, tasks: &Tasks) -> Said {
    let request = request.json();
    let reply = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    let whole_reply = |result: Value| Said::json(reply(result));
    let stream = |events: Vec<Value>| {
        let events: String = events.into_iter().map(|event| format!("data: {}\n\n", reply(event))).collect();
        Said::stream("text/event-stream", &[&events])
    };
    let refused = |code: i64, said: &str| {
        Said::json(json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": said}}))
    };
    let (method, params) = (request["method"].as_str().unwrap_or_default(), &request["params"]);
    let known = |id: &str| tasks.lock().unwrap().get(id).cloned();
    let at_end = |id: &str, kind: &str| match does(kind) {
        Does::Works { artifacts, state, said, more } => whole(id, &artifacts, state, &said, &more),
        _ => unreachable!("{kind}"),
    };
    match method {
        "SendMessage" | "SendStreamingMessage" => {
            let streams = method == "SendStreamingMessage";
            let texts = params["message"]["parts"].as_array().unwrap().iter();
            let kind: String = texts.filter_map(|part| part["text"].as_str()).collect();
            let (artifacts, state, said, more) = match does(&kind) {
                Does::Refuses(code, said) => return refused(code, said),
                Does::Says(_) if streams && kind == "streamless" => {
                    return refused(-32004, "Streaming is not supported");
                }
                Does::Says(parts) if streams => return stream(vec![message(parts)]),
                Does::Says(parts) => return whole_reply(message(parts)),
                Does::Works { artifacts, state, said, more } => (artifacts, state, said, more),
            };
            let id = format!("task-{}", TASKS.fetch_add(1, Ordering::Relaxed));
            tasks.lock().unwrap().insert(id.clone(), (kind.clone(), 0));
            // Where nothing follows, the last message about the work is the answer.
            let at_work = if kind == "nothing" { json!(null) } else { text("Working on it") };
            let working = json!({"task": task(&id, "WORKING", &at_work, &json!({}))});
            if matches!(kind.as_str(), "early" | "slow") && !streams {
                return whole_reply(working);
            }
            if !streams {
                return whole_reply(json!({"task": whole(&id, &artifacts, state, &said, &more)}));
            }
            let mut events = vec![working];
            if kind == "early" {
                return stream(events);
            }
            for (name, texts) in &artifacts {
                events.extend(texts.iter().enumerate().map(|(index, text)| {
                    let artifact = json!({"artifactId": name, "name": name, "parts": [{"text": text}]});
                    json!({"artifactUpdate": {"taskId": id, "contextId": "c", "artifact": artifact, "append": index > 0}})
                }));
            }
            match kind.as_str() {
                "history" => events.push(json!({"task": task(&id, state, &said, &more)})),
                _ => {
                    let last = task(&id, state, &said, &more);
                    events.push(json!({"statusUpdate": {"taskId": id, "contextId": "c", "status": last["status"]}}));
                }
            }
            stream(events)
        }
        "GetTask" => {
            let id = params["id"].as_str().unwrap();
            let (kind, count) = known(id).unwrap();
            tasks.lock().unwrap().insert(id.to_owned(), (kind.clone(), count + 1));
            match count {
                0 => whole_reply(task(id, "WORKING", &json!(null), &json!({}))),
                _ => whole_reply(at_end(id, &kind)),
            }
        }
        "SubscribeToTask" => {
            let id = params["id"].as_str().unwrap();
            let (kind, _) = known(id).unwrap();
            stream(vec![json!({"task": at_end(id, &kind)})])
        }
        _ => refused(-32601, "Method not found"),
    }
}

fn kinds(streams: bool) -> Vec<Kind> {
    let city = || json!({"city": "Bonn"});
    let mut kinds = vec![
        Kind::result("plain", "You said: plain"),
        Kind::result("lines", PLAN),
        Kind::result("two", "First.\nSecond."),
        Kind::result("both", "Three.").with(json!({"n": 3})),
        Kind::result("data", "").with(json!({"n": 3})),
        Kind::result("status", "").with(json!({"status": "success", "rain": true})),
        Kind::result("sacp", "Found.").with(city()),
        Kind::result("sacp_data", "Found.").with(city()),
        Kind::result("fence", "Found.").with(city()),
        Kind::question("sacp_question", "Which city?"),
        Kind::failure("sacp_failure", "Declined.").with(json!({"k": 1})),
        Kind::result("sacp_artifact", "Found.").with(city()),
        Kind::result("sacp_pieces", "Found.").with(city()),
        Kind::result("pieces", PLAN),
        Kind::result("said", PLAN),
        Kind::result("nothing", ""),
        Kind::question("question", "Which city?"),
        Kind::question("access", "Log in at https://example.com"),
        Kind::question("form", "Fill in").with(json!({"fields": ["city"]})),
        Kind::failure("failure", "No station answers"),
        Kind::failure("rejected", "Not my job"),
        Kind::failure("cancelled", "Stopped"),
        Kind::failure("partial", "Lost it").after(PLAN),
        Kind::result("slow", "At last."),
        Kind::result("history", "In the history."),
        Kind::error("error", "Internal error"),
    ];
    if streams {
        kinds.extend([Kind::result("early", "At last."), Kind::result("streamless", "Whole.")]);
    }
    kinds
}

fn agent(server: &Server, protocol: &'static str, streams: bool) -> Agent {
    let form =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    let description = thing(
        protocol,
        json!({
            "a2a:capabilities": {"streaming": streams}, "a2a:defaultInputModes": ["text/plain"],
            "actions": {"ask": {"input": {"type": "object"}, "forms": [form]}},
        }),
    );
    Agent { protocol, description, kinds: kinds(streams), is_told: true }
}

#[test]
fn every_command_shows_every_answer_over_a2a() {
    let tasks = Tasks::default();
    let server = Server::start(move |request| answer(request, &tasks));
    check(&agent(&server, "a2a", true));
}

#[test]
fn every_command_shows_every_answer_over_a2a_without_streams() {
    let tasks = Tasks::default();
    let server = Server::start(move |request| answer(request, &tasks));
    check(&agent(&server, "a2a-whole", false));
}

#[test]
fn what_was_done_before_a_failure_is_on_standard_output_and_its_reason_is_not() {
    let tasks = Tasks::default();
    let server = Server::start(move |request| answer(request, &tasks));
    for streams in [true, false] {
        let agent = agent(&server, "a2a", streams);
        let registry = registry();
        register(&registry, &agent);
        let id = agent.id();
        for arguments in [
            &["ask", "--agent", id, "partial"][..],
            &["ask", "--agent", id, "partial", "--stream"],
            &["call", id, "ask", "--input", "\"partial\""],
            &["call", id, "ask", "--input", "\"partial\"", "--stream"],
        ] {
            let cell = Cell::of(&agentdex(&registry, arguments, ""));
            assert_eq!((cell.code, cell.out.as_str()), (1, "# Plan\n\n- one\n- two\n"), "{arguments:?}: {}", cell.err);
            assert!(
                cell.err.contains("error: the agent's work ended without success: failed: Lost it\n"),
                "{arguments:?}: {}",
                cell.err
            );
        }
    }
}
