//! A2A of both generations, over JSON-RPC and HTTP+JSON, against the SDKs of the protocol's project.

use std::sync::Arc;

use agentdex::consumer::{
    Agent, Call, Error, Event, Exchange, Media, Message, Middleware, Next, Part, Pending, State, ToolResult,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{TestAgent, agent, consumer, run};
use crate::support::eventually_async;

/// The agents that are installed, each with its bindings.
fn each(check: impl AsyncFn(&str, Agent)) {
    each_described(async |name, described| check(name, agent(described)).await);
}

/// The same by their descriptions.
fn each_described(check: impl AsyncFn(&str, &Value)) {
    let agents = [
        ("Python 1.0", TestAgent::python_1_0()),
        ("Python 0.3", TestAgent::python_0_3()),
        ("JavaScript 1.0", TestAgent::javascript()),
    ];
    for (name, peer) in &agents {
        let Some(peer) = peer else { continue };
        for binding in ["JSONRPC", "HTTP+JSON"] {
            let described = peer.described(binding);
            run(check(&format!("{name}, {binding}"), &described));
        }
    }
}

async fn all(mut exchange: Exchange) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = exchange.events.next().await {
        events.push(event.unwrap());
    }
    events
}

#[test]
fn question_is_answered_and_the_conversation_goes_on() {
    each(async |name, agent| {
        let conversation = agent.ask("Will it rain in Bonn?").await.unwrap();
        assert_eq!(conversation.message().text(), "Yes, take an umbrella.", "{name}");
        assert_eq!((conversation.state(), conversation.history().len()), (State::Completed, 2), "{name}");
        let context = conversation.continuation().context.clone();
        assert!(context.is_some(), "{name}");
        let next = conversation.ask("Will it rain in Cologne?").await.unwrap();
        assert_eq!(next.continuation().context, context, "{name}");
        assert_eq!((next.history().len(), next.cost().calls), (4, 2), "{name}");
    });
}

#[test]
fn task_is_processed_until_it_is_done_or_needs_input() {
    each(async |name, agent| {
        let done = agent.process("report").await.unwrap();
        assert_eq!(done.message().text().replace('\n', ""), "Monday: sunHere is the report.", "{name}");
        let asked = agent.process("which?").await.unwrap();
        assert_eq!((asked.state(), asked.message().text()), (State::InputRequired, "Which city?".into()), "{name}");
        assert!(asked.continuation().task.is_some(), "{name}");
        let answered = asked.process("Bonn").await.unwrap();
        assert_eq!(answered.message().text(), "It is dry in Bonn.", "{name}");
        let failed = agent.process("fail").await.unwrap();
        assert_eq!((failed.state(), failed.message().text()), (State::Failed, "No station answers".into()), "{name}");
        let error = failed.into_result().unwrap_err();
        assert!(matches!(&error, Error::Failed { message, .. } if message == "No station answers"), "{name}: {error}");
    });
}

#[test]
fn answer_comes_in_pieces() {
    each(async |name, agent| {
        let mut dialogue = agent.stream();
        dialogue.send("report");
        let mut seen = Vec::new();
        let mut pieces = Vec::new();
        while let Some(event) = dialogue.next().await {
            match event.unwrap() {
                Event::Status(status) => seen.push(status.state.name()),
                Event::Artifact(artifact) => pieces.push(artifact.parts),
                Event::Text(text) => assert_eq!(text, "Here is the report.", "{name}"),
                Event::Done(reply) => {
                    assert_eq!(reply.message.text().replace('\n', ""), "Monday: sunHere is the report.", "{name}");
                    seen.push("done");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!(seen, ["submitted", "working", "done"], "{name}");
        assert_eq!(pieces, [vec![Part::text("Monday: ")], vec![Part::text("sun")]], "{name}");
        assert_eq!(dialogue.conversation().history().len(), 2, "{name}");
        dialogue.send("which?");
        let last = last_of(&mut dialogue).await;
        assert!(
            matches!(&last, Event::InputRequired(reply) if reply.message.text() == "Which city?"),
            "{name}: {last:?}"
        );
        dialogue.send("Bonn");
        let last = last_of(&mut dialogue).await;
        assert!(
            matches!(&last, Event::Done(reply) if reply.message.text() == "It is dry in Bonn."),
            "{name}: {last:?}"
        );
    });
}

async fn last_of(dialogue: &mut agentdex::consumer::Dialogue) -> Event {
    let mut last = None;
    while let Some(event) = dialogue.next().await {
        last = Some(event.unwrap());
    }
    last.unwrap()
}

#[test]
fn call_that_is_given_up_cancels_its_task() {
    each(async |name, agent| {
        let cancelled = async || -> u32 { agent.ask("cancelled?").await.unwrap().message().text().parse().unwrap() };
        let before = cancelled().await;
        // By the writer, then by dropping what is read.
        for dropped in [false, true] {
            let mut dialogue = agent.stream();
            let writer = dialogue.writer();
            writer.send("slow").await.unwrap();
            loop {
                match dialogue.next().await.unwrap().unwrap() {
                    Event::Status(status) if status.state == State::Working => break,
                    Event::Status(_) => {}
                    other => panic!("{name}: {other:?}"),
                }
            }
            if dropped {
                drop(dialogue);
            } else {
                writer.cancel().await.unwrap();
                let error = dialogue.next().await.unwrap().unwrap_err();
                assert!(matches!(error, Error::Cancelled), "{name}: {error}");
            }
            let expected = before + 1 + u32::from(dropped);
            eventually_async(&format!("the end of the task of {name}"), async || cancelled().await >= expected).await;
        }
    });
}

/// Reports that the agent works on a question.
#[derive(Debug)]
struct ReportWork(Arc<Notify>);

impl Middleware for ReportWork {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let Exchange { events, control } = next.run(call).await?;
            let working = self.0.clone();
            let events = events.inspect(move |event| {
                if matches!(event, Ok(Event::Status(status)) if status.state == State::Working) {
                    working.notify_one();
                }
            });
            Ok(Exchange { events: events.boxed(), control })
        })
    }
}

#[test]
fn question_that_nobody_waits_for_any_more_cancels_its_task() {
    each_described(async |name, described| {
        let working = Arc::new(Notify::new());
        let consumer = consumer().with_middleware(ReportWork(working.clone()));
        let agent = consumer.agent_of(&described.to_string()).unwrap();
        let cancelled = async || -> u32 { agent.ask("cancelled?").await.unwrap().message().text().parse().unwrap() };
        let before = cancelled().await;
        tokio::select! {
            answer = agent.ask("slow") => panic!("{name}: {answer:?}"),
            () = working.notified() => {}
        }
        eventually_async(&format!("the end of the task of {name}"), async || cancelled().await > before).await;
    });
}

#[test]
fn task_is_asked_about_listed_cancelled_and_resumed() {
    each(async |name, agent| {
        let waiting = agent.ask("which?").await.unwrap();
        let task = waiting.continuation().task.clone().unwrap();
        let state = agent.query("forecast", Some(task.clone())).await.unwrap();
        assert_eq!(state.state, State::InputRequired, "{name}");
        match agent.tasks(None).await {
            Ok(tasks) => {
                let ids: Vec<&Value> = tasks.as_array().unwrap().iter().map(|task| &task["id"]).collect();
                assert!(ids.contains(&&json!(task)), "{name}: {tasks}");
            }
            // 0.3 has no such method, and the JavaScript SDK lists tasks of authenticated users alone.
            Err(error) => assert!(!name.starts_with("Python 1.0"), "{name}: {error}"),
        }
        let cancelled = agent.cancel("forecast", Some(task)).await.unwrap();
        assert_eq!(cancelled.state, State::Cancelled, "{name}");
        let error = agent.query("forecast", Some("no-such-task".into())).await.unwrap_err();
        assert!(matches!(error, Error::Agent { .. }), "{name}: {error}");
    });
}

#[test]
fn events_of_a_task_go_on_after_a_break() {
    for peer in [TestAgent::python_1_0(), TestAgent::python_0_3()].into_iter().flatten() {
        let agent = agent(&peer.described("JSONRPC"));
        run(async {
            let mut dialogue = agent.stream();
            dialogue.send("slow");
            while !matches!(dialogue.next().await, Some(Ok(Event::Status(status))) if status.state == State::Working) {}
            let tasks = agent.tasks(None).await;
            let Ok(tasks) = tasks else { return };
            let task = tasks.as_array().unwrap().iter().find(|task| task["state"] == "working").unwrap()["id"].clone();
            let task = task.as_str().unwrap();
            let mut resumed = agent.resume(task).await.unwrap();
            // It says at once where it is.
            let first = resumed.events.next().await.unwrap().unwrap();
            assert!(matches!(&first, Event::Status(status) if status.state == State::Working), "{first:?}");
            agent.cancel("forecast", Some(task.to_owned())).await.unwrap();
            let rest = all(resumed).await;
            assert!(matches!(rest.last(), Some(Event::Done(reply)) if reply.state == State::Cancelled), "{rest:?}");
        });
    }
}

#[test]
fn message_of_several_parts_arrives_whole() {
    for peer in [TestAgent::python_1_0(), TestAgent::python_0_3()].into_iter().flatten() {
        for binding in ["JSONRPC", "HTTP+JSON"] {
            let agent = agent(&peer.described(binding));
            run(async {
                let result = ToolResult { id: "1".into(), name: Some("search".into()), result: json!(["x"]) };
                let message = Message::user([
                    Part::text("echo"),
                    Part::Image(Media::url("https://example.com/logo.png")),
                    Part::Audio(Media::bytes("audio/wav", [0, 255])),
                    Part::data(json!({"a": [1, {"b": true}]})),
                    Part::from(result),
                ]);
                let answer = agent.ask(message).await.unwrap();
                let received = answer.message().data().unwrap()["parts"].to_string();
                for expected in [
                    "\"echo\"",
                    "https://example.com/logo.png",
                    "image/png",
                    "AP8=",
                    "audio/wav",
                    "toolResult",
                    "search",
                ] {
                    assert!(received.contains(expected), "{binding}: {expected} in {received}");
                }
            });
        }
    }
}

#[test]
fn typed_answer_is_checked() {
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema, PartialEq)]
    struct Forecast {
        rain: bool,
        text: String,
    }
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    struct Other {
        #[expect(dead_code, reason = "no answer has it")]
        temperature: f64,
    }
    for peer in [TestAgent::python_1_0(), TestAgent::python_0_3()].into_iter().flatten() {
        let agent = agent(&peer.described("JSONRPC"));
        run(async {
            let typed = agent.ask_as::<Forecast>("typed").await.unwrap();
            assert_eq!(typed.value, Forecast { rain: true, text: "It rains.".into() });
            let error = agent.ask_as::<Other>("typed").await.unwrap_err();
            assert!(matches!(&error, Error::InvalidAnswer { expected, .. } if expected == "Other"), "{error}");
            // What an agent is sent of the type.
            let sent = agent.ask_as::<Value>("echo").await.unwrap().conversation;
            let sent = sent.message().data().unwrap()["metadata"]["urn:agentdex:response-schema"].clone();
            assert!(!sent.is_null());
        });
    }
}
