//! Turns with agents that go on with their work, break off, or never come to an end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use agentdex::consumer::{Agent, Error, Event, FirstThatAnswers, Message, ReportSteps, Sacp, Settings, State};
use agentdex_client::RegistryClient;
use serde_json::{Value, json};

use super::{
    agent, asking, consumer, run,
    server::{Received, Said, Server},
    thing,
};
use crate::support::eventually;

/// The method of a request, and what answers it.
fn rpc(request: &Received, result: Value) -> Said {
    Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": result}))
}

fn events(request: &Received, results: &[Value]) -> Said {
    let event = |result: &Value| {
        format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": result}))
    };
    Said::stream("text/event-stream", &[&results.iter().map(event).collect::<String>()])
}

fn method(request: &Received) -> String {
    request.json()["method"].as_str().unwrap_or_default().to_owned()
}

fn task(state: &str, said: Option<&str>, artifact: Option<&str>) -> Value {
    let mut task = json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}});
    if let Some(said) = said {
        task["status"]["message"] = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": said}]});
    }
    if let Some(text) = artifact {
        task["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": text}]}]);
    }
    task
}

fn piece(text: &str, append: bool) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": append}})
}

fn a2a(server: &Server, streams: bool) -> Value {
    let form =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    thing(json!({"a2a:capabilities": {"streaming": streams}, "actions": {"ask": {"forms": [form]}}}))
}

/// The texts that a stream shows, and the state at its end.
fn streamed(agent: &Agent) -> (String, State) {
    run(async {
        let mut exchange = agent.call_streaming("ask", json!("x")).await.unwrap();
        let mut shown = String::new();
        loop {
            match futures_util::StreamExt::next(&mut exchange.events).await.unwrap().unwrap() {
                Event::Artifact(artifact) => shown += &Message::agent(artifact.parts).text(),
                Event::Text(text) => shown += &text,
                Event::Done(reply) => return (shown, reply.state),
                _ => {}
            }
        }
    })
}

#[test]
fn pieces_that_come_again_are_shown_once() {
    // After a poll, after a break, and in the snapshot at the end.
    for kind in ["poll", "break", "snapshot"] {
        let server = Server::start(move |request| match (method(request).as_str(), kind) {
            ("SendStreamingMessage", "snapshot") => {
                let last = json!({"task": task("COMPLETED", None, Some("It rains."))});
                events(request, &[json!({"task": task("WORKING", None, None)}), piece("It rains.", false), last])
            }
            ("SendStreamingMessage", "break") => {
                events(request, &[json!({"task": task("WORKING", None, None)}), piece("It ", false)])
            }
            ("SubscribeToTask", _) => {
                let last = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}});
                events(request, &[json!({"task": task("WORKING", None, Some("It "))}), piece("rains.", true), last])
            }
            ("SendMessage", _) => rpc(request, json!({"task": task("WORKING", None, Some("It "))})),
            _ => rpc(request, task("COMPLETED", None, Some("It rains."))),
        });
        let agent = agent(&a2a(&server, kind != "poll"));
        assert_eq!(streamed(&agent), ("It rains.".to_owned(), State::Completed), "{kind}");
        assert_eq!(run(agent.process("x")).unwrap().message().text(), "It rains.", "{kind}");
    }
}

#[test]
fn a_response_in_an_artifact_counts_whatever_the_agent_says_beside_it() {
    let response = json!({"thought": "t", "status": "failure", "data": {}, "message": "Nope."}).to_string();
    let (said, streams) = (Some("Done"), [false, true]);
    for streams in streams {
        let response = response.clone();
        let server = Server::start(move |request| match streams {
            false => rpc(request, json!({"task": task("COMPLETED", said, Some(&response))})),
            true => {
                let status = task("COMPLETED", said, None)["status"].clone();
                let last = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status, "final": true}});
                events(request, &[json!({"task": task("WORKING", None, None)}), piece(&response, false), last])
            }
        });
        let agent = agent(&a2a(&server, streams)).update(Settings::new().answers(Sacp::Allowed));
        let answer = run(agent.process("Rain?")).unwrap();
        assert_eq!((answer.state(), answer.message().text().as_str()), (State::Failed, "Nope."), "{streams}");
    }
}

#[test]
fn what_the_agent_says_of_its_artifacts_comes_last() {
    let server = Server::start(|request| rpc(request, json!({"task": task("COMPLETED", Some("Done."), Some("Dry."))})));
    let answer = run(agent(&a2a(&server, false)).process("Rain?")).unwrap();
    assert_eq!(answer.message().text(), "Dry.\nDone.");
}

#[test]
fn an_answer_that_the_agent_still_has_is_asked_for_until_it_comes() {
    // The events can't be received again, and the first attempts to ask fail.
    for kind in ["error in the stream", "empty stream", "refused", "busy"] {
        let attempts = AtomicU32::new(0);
        let server = Server::start(move |request| match (method(request).as_str(), kind) {
            ("SendStreamingMessage", _) => events(request, &[json!({"task": task("WORKING", None, None)})]),
            ("SubscribeToTask", "error in the stream") => {
                let error = json!({"jsonrpc": "2.0", "id": request.json()["id"], "error": {"code": -32004, "message": "task is terminal"}});
                Said::stream("text/event-stream", &[&format!("data: {error}\n\n")])
            }
            ("SubscribeToTask", "empty stream") => Said::stream("text/event-stream", &[]),
            ("SubscribeToTask", _) => Said::new("404 Not Found", &[], ""),
            _ if kind == "busy" && attempts.fetch_add(1, Ordering::Relaxed) < 2 => {
                Said::new("503 Service Unavailable", &[], "")
            }
            _ => rpc(request, task("COMPLETED", None, Some("In the end."))),
        });
        let answer = run(agent(&a2a(&server, true)).process("x")).unwrap();
        assert_eq!(answer.message().text(), "In the end.", "{kind}");
    }
}

#[test]
fn a_task_that_nobody_waits_for_is_cancelled() {
    for streams in [true, false] {
        let server = Server::start(move |request| match method(request).as_str() {
            "SendStreamingMessage" | "SubscribeToTask" => {
                events(request, &[json!({"task": task("WORKING", None, None)})])
            }
            "SendMessage" => rpc(request, json!({"task": task("WORKING", None, None)})),
            "CancelTask" => rpc(request, task("CANCELED", None, None)),
            _ => rpc(request, task("WORKING", None, None)),
        });
        let agent = agent(&a2a(&server, streams));
        let is_cancelled = || server.received().iter().any(|request| method(request) == "CancelTask");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        // The caller leaves while the agent is asked.
        runtime.block_on(async {
            let asking = agent.process("x");
            let polled = async {
                while !server
                    .received()
                    .iter()
                    .any(|request| method(request) == "GetTask" || method(request) == "SubscribeToTask")
                {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::select! {
                answer = asking => panic!("{answer:?}"),
                () = polled => {}
            }
        });
        eventually("the cancellation", is_cancelled);
    }
}

#[test]
fn work_without_an_end_takes_the_time_of_one_call() {
    let server = Server::start(|request| match method(request).as_str() {
        "SendMessage" => rpc(request, json!({"task": task("WORKING", None, None)})),
        _ => rpc(request, task("WORKING", None, None)),
    });
    let limit = Duration::from_millis(700);
    let error = run(agent(&a2a(&server, false)).update(Settings::new().timeout(limit)).process("x")).unwrap_err();
    assert!(matches!(&error, Error::TimedOut { .. }), "{error}");
    // Without a place to ask, there is nothing to wait for.
    let server = Server::start(|_| {
        Said::new("201 Created", &["content-type: application/json"], r#"{"status": "running", "actionID": "9"}"#)
    });
    let error = run(agent(&asking(&server.origin)).process("x")).unwrap_err();
    assert!(error.to_string().contains("contains no status URL"), "{error}");
}

#[test]
fn what_came_before_a_break_is_shown_whatever_it_would_have_become() {
    let server = Server::start(|_| {
        Said::raw(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 1000\r\n\r\ndata: \"{ It rains all day.\"\n\n",
        )
    });
    let agent = agent(&asking(&server.origin)).update(Settings::new().answers(Sacp::Allowed));
    run(async {
        let mut dialogue = agent.stream();
        dialogue.send("x");
        let first = dialogue.next().await.unwrap();
        assert!(matches!(&first, Ok(Event::Text(text)) if text == "{ It rains all day."), "{first:?}");
        assert!(dialogue.next().await.unwrap().is_err());
    });
}

#[test]
fn a_failure_after_pieces_is_one_in_a_stream_too() {
    let failure = json!({"thought": "t", "status": "failure", "data": {}, "message": "No station."});
    let body = format!("data: {{\"x\": 1}}\n\ndata: {failure}\n\n");
    let server = Server::start(move |_| Said::stream("text/event-stream", &[&body]));
    let agent = agent(&asking(&server.origin)).update(Settings::new().answers(Sacp::Allowed));
    assert_eq!(streamed(&agent).1, State::Failed);
    assert_eq!(run(agent.process("x")).unwrap().state(), State::Failed);
}

#[test]
fn an_agent_that_is_still_at_work_has_not_answered() {
    let server = Server::start(|request| match request.line.split_once(' ').map(|(method, _)| method) {
        Some("POST") => Said::new("202 Accepted", &["location: /poll"], ""),
        _ => Said::json(json!({"status": "completed", "output": "Dry."})),
    });
    let answer = run(FirstThatAnswers::of([agent(&asking(&server.origin))]).ask("x")).unwrap();
    assert_eq!((answer.state(), answer.message().text().as_str()), (State::Completed, "Dry."));
    // Output that comes while the action goes on is the answer, if none follows.
    let polls = AtomicU32::new(0);
    let server = Server::start(move |request| match request.line.starts_with("POST") {
        true => Said::new("202 Accepted", &["location: /poll"], ""),
        false if polls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => {
            Said::json(json!({"status": "running", "output": {"rain": true}}))
        }
        false => Said::json(json!({"status": "succeeded"})),
    });
    let answer = run(agent(&asking(&server.origin)).process("x")).unwrap();
    assert_eq!(answer.message().data(), Some(&json!({"rain": true})));
}

#[test]
fn a_guardian_judges_what_an_agent_answers_when_it_is_asked_again() {
    let guardian = Server::start(|request| {
        let decision = if request.body.contains("SECRET") { "deny" } else { "allow" };
        Said::json(
            json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"decision": decision, "message": "no secrets"}}),
        )
    });
    for kind in ["poll", "break", "failure"] {
        let server = Server::start(move |request| match (method(request).as_str(), kind) {
            ("SendStreamingMessage", "failure") => {
                events(request, &[json!({"task": task("FAILED", Some("SECRET reason"), None)})])
            }
            ("SendStreamingMessage", _) => {
                events(request, &[json!({"task": task("WORKING", Some("SECRET status"), None)})])
            }
            ("SendMessage", _) => rpc(request, json!({"task": task("WORKING", Some("SECRET status"), None)})),
            ("SubscribeToTask", _) => events(request, &[json!({"task": task("COMPLETED", None, Some("SECRET"))})]),
            _ => rpc(request, task("COMPLETED", None, Some("SECRET"))),
        });
        let steps =
            ReportSteps::new(RegistryClient::new(&guardian.origin).unwrap(), json!({"id": "urn:example:caller"}), "s");
        let guarded = consumer().with_middleware(steps).agent_of(&a2a(&server, kind != "poll").to_string()).unwrap();
        let shown = Arc::new(std::sync::Mutex::new(String::new()));
        let outcome = run(async {
            let mut dialogue = guarded.stream();
            dialogue.send("x");
            let mut last = None;
            while let Some(event) = dialogue.next().await {
                shown.lock().unwrap().push_str(&format!("{event:?}"));
                last = Some(event);
            }
            last.unwrap()
        });
        assert!(matches!(&outcome, Err(Error::Denied { .. })), "{kind}: {outcome:?}");
        assert!(!shown.lock().unwrap().contains("SECRET"), "{kind}: {}", shown.lock().unwrap());
    }
}
