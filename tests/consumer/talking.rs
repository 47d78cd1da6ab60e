//! Conversations: history, what goes with messages, and what is around calls.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agentdex::consumer::{
    Call, Error, Event, Exchange, Message, Middleware, Next, Part, PassTrace, Pending, Retry, Role, Sacp, Settings,
    State, Trace,
};
use serde_json::json;

use super::{
    agent, asking, consumer, run,
    server::{Said, Server},
};

/// A server that answers with the number of the question, and the last of its bodies.
fn counting() -> Server {
    let count = Mutex::new(0);
    Server::start(move |_| {
        let mut count = count.lock().unwrap();
        *count += 1;
        Said::json(json!(format!("answer {count}")))
    })
}

#[test]
fn history_is_stored_restored_replaced_and_summarized() {
    let server = counting();
    let agent = agent(&asking(&server.origin)).update(Settings::new().system_prompt("Be brief."));
    run(async {
        let first = agent.ask("one").await.unwrap();
        assert_eq!(server.received()[0].json(), json!("Be brief.\n\none"));
        let restored = agent.restore_conversation(&first.to_json()).unwrap();
        assert_eq!((restored.history(), restored.message().text().as_str()), (first.history(), "answer 1"));
        let second = restored.ask("two").await.unwrap();
        let sent = server.received()[1].json();
        assert!(sent.as_str().unwrap().contains("User: one\nAgent: answer 1"), "{sent}");
        assert_eq!(second.history().len(), 4);
        // The turn before stays what it is: a conversation can go on from any of them.
        assert_eq!(first.history().len(), 2);
        let short = second.summarized_by(&agent).await.unwrap();
        assert_eq!(short.history(), [Message { role: Role::Agent, ..Message::from("answer 3") }]);
        let replaced = short.with_history([Message::from("zero")]).ask("three").await.unwrap();
        assert_eq!(replaced.history().len(), 3);
        assert!(matches!(agent.restore_conversation("{}"), Err(Error::InvalidHistory { .. })));
    });
}

#[test]
fn settings_of_one_call_are_for_that_call() {
    let server = counting();
    let agent = agent(&asking(&server.origin)).update(Settings::new().header("X-A", "1"));
    run(async {
        let conversation = agent.ask_with("one", Settings::new().header("X-A", "2").header("X-B", "3")).await.unwrap();
        conversation.ask("two").await.unwrap();
    });
    let headers: Vec<_> = server
        .received()
        .iter()
        .map(|request| (request.header("x-a").to_owned(), request.header("x-b").to_owned()))
        .collect();
    assert_eq!(headers, [("2".into(), "3".into()), ("1".into(), String::new())]);
}

#[derive(Debug, Clone, Default)]
struct Watch(Arc<Mutex<Vec<String>>>);

impl Middleware for Watch {
    fn handle<'a>(&'a self, mut call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let said = call.request.data().map(ToString::to_string).unwrap_or_default();
            self.0.lock().unwrap().push(said.clone());
            if said.contains("forbidden") {
                return Err(Error::Denied { by: "watch".into(), reason: "it is forbidden".into() });
            }
            call.headers.push(("X-Seen".into(), "yes".into()));
            next.run(call).await
        })
    }
}

#[test]
fn middleware_sees_changes_and_stops_calls() {
    let server = counting();
    let watch = Watch::default();
    let consumer = consumer().with_middleware(PassTrace).with_middleware(watch.clone());
    let trace =
        Trace { parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(), state: Some("a=b".into()) };
    let agent = consumer.agent_of(&asking(&server.origin).to_string()).unwrap().update(Settings::new().trace(trace));
    run(async {
        agent.ask("one").await.unwrap();
        let error = agent.ask("forbidden").await.unwrap_err();
        assert!(matches!(error, Error::Denied { .. }) && error.is_before_sending(), "{error}");
    });
    assert_eq!(*watch.0.lock().unwrap(), ["\"one\"", "\"forbidden\""]);
    let request = server.only();
    assert_eq!((request.header("x-seen"), request.header("tracestate")), ("yes", "a=b"));
    assert!(request.header("traceparent").starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
    assert!(!request.header("traceparent").contains("b7ad6b7169203331"));
}

#[test]
fn only_what_may_be_repeated_is_repeated() {
    for (members, said, expected) in [
        (json!({"safe": true}), Said::new("502 Bad Gateway", &[], ""), 3),
        (json!({}), Said::new("502 Bad Gateway", &[], ""), 1),
        (json!({}), Said::new("429 Too Many Requests", &["retry-after: 0"], ""), 3),
        (json!({"idempotent": true}), Said::new("404 Not Found", &[], ""), 1),
    ] {
        let server = Server::start(move |_| said.clone());
        let mut description = asking(&server.origin);
        let action = description["actions"]["ask"].as_object_mut().unwrap();
        action.extend(members.as_object().unwrap().clone());
        let consumer = consumer().with_middleware(Retry::new(3).pause(Duration::from_millis(1)));
        run(consumer.agent_of(&description.to_string()).unwrap().ask("x")).unwrap_err();
        assert_eq!(server.received().len(), expected, "{members}");
    }
}

#[test]
fn answer_in_sacp_is_read() {
    let said = |status: &str| {
        let response = json!({"thought": "hm", "status": status, "data": {"mm": 3}, "message": "It rains."});
        let server = Server::start(move |_| Said::json(response.clone()));
        let agent = agent(&asking(&server.origin)).update(Settings::new().answers(Sacp::Allowed));
        run(agent.ask("x"))
    };
    let answer = said("success").unwrap();
    assert_eq!((answer.message().text().as_str(), answer.message().data()), ("It rains.", Some(&json!({"mm": 3}))));
    assert_eq!(answer.message().parts[0], Part::Thinking { text: "hm".into() });
    assert_eq!(said("clarification_needed").unwrap().state(), State::InputRequired);
    let failed = said("failure").unwrap();
    assert_eq!((failed.state(), failed.message().data()), (State::Failed, Some(&json!({"mm": 3}))));
    assert!(matches!(failed.into_result().unwrap_err(), Error::Failed { message, .. } if message == "It rains."));
}

#[test]
fn agent_that_cannot_continue_an_action_is_told_what_was_said() {
    let server = Server::start(|request| match request.body.contains("Bonn") {
        true => Said::json(json!({"status": "completed", "output": "Dry."})),
        false => Said::json(json!({"status": "input-required", "output": "Which city?", "href": "/actions/1"})),
    });
    let agent = agent(&asking(&server.origin));
    run(async {
        let asking = agent.ask("Will it rain?").await.unwrap();
        assert_eq!((asking.state(), asking.message().text().as_str()), (State::InputRequired, "Which city?"));
        assert_eq!(asking.ask("Bonn").await.unwrap().message().text(), "Dry.");
    });
    let sent = &server.received()[1].body;
    assert!(sent.contains("Will it rain?") && sent.contains("Which city?"), "{sent}");
}

#[test]
fn writer_sends_while_another_task_reads() {
    let server = counting();
    let agent = agent(&asking(&server.origin));
    run(async {
        let mut dialogue = agent.stream();
        let writer = dialogue.writer();
        let sending = tokio::spawn(async move {
            writer.send("one").await.unwrap();
            writer.pause().await.unwrap();
            writer.send("two").await.unwrap();
            writer.resume().await.unwrap();
        });
        let mut answers = Vec::new();
        while let Some(event) = dialogue.next().await {
            if let Event::Done(reply) = event.unwrap() {
                answers.push(reply.message.text());
            }
        }
        sending.await.unwrap();
        assert_eq!(answers, ["answer 1", "answer 2"]);
        assert_eq!(dialogue.conversation().history().len(), 4);
    });
}

#[test]
fn dialogue_without_writers_ends_when_there_is_nothing_to_do() {
    let server = counting();
    let agent = agent(&asking(&server.origin));
    run(async {
        let mut dialogue = agent.stream();
        assert!(dialogue.next().await.is_none());
        dialogue.send("one");
        let mut count = 0;
        while let Some(event) = dialogue.next().await {
            event.unwrap();
            count += 1;
        }
        assert_eq!(count, 2);
        let writer = dialogue.writer();
        drop(writer);
        assert!(dialogue.next().await.is_none());
    });
}
