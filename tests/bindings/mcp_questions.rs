//! Tools that ask their user, of a server that the official Python SDK makes.

use agentdex::consumer::{
    Agent, Consumer, Continuation, Conversation, Error, Event, Mcp, Message, Program, Settings, State,
};
use agentdex_server::http;
use serde_json::{Value, json};

use super::{
    beside, block_on,
    mcp::{Server, python},
};
use crate::{
    consumer::{agent, agentdex, consumer, thing},
    support::TestRegistry,
};

/// The tools of a server.
const TOOLS: [&str; 12] = [
    "resolved",
    "resolved_both",
    "resolved_twice",
    "ask",
    "twice",
    "order",
    "endless",
    "large",
    "sign_in",
    "gated",
    "sample",
    "count",
];
/// The id of [`thing`]s.
const ID: &str = "urn:example:thing";

fn start(python: &str, arguments: &[&str]) -> Server {
    Server::of("mcp_questions.py", python, arguments)
}

/// A Thing with an action for each tool of a server.
fn described(href: &str) -> Value {
    let action = |name: &str| {
        let mut form = json!({"href": href, "subprotocol": "mcp", "op": "invokeaction", "mcp:tool": name});
        if href.ends_with("/sse") {
            form["mcp:transport"] = "sse".into();
        }
        let q = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
        match name {
            "resolved" | "ask" => json!({"input": q, "forms": [form]}),
            _ => json!({"forms": [form]}),
        }
    };
    let actions: serde_json::Map<String, Value> = TOOLS.iter().map(|name| ((*name).to_owned(), action(name))).collect();
    thing(json!({"actions": actions}))
}

fn tool(agent: &Agent, name: &str) -> Agent {
    agent.update(Settings::new().action(name))
}

/// A conversation whose last answer is a question.
async fn asked(agent: &Agent, name: &str, message: impl Into<Message>, question: &str) -> Conversation {
    let conversation = tool(agent, name).ask(message).await.unwrap();
    expect_question(&conversation, question);
    conversation
}

fn expect_question(conversation: &Conversation, question: &str) {
    assert_eq!((conversation.state(), conversation.message().text().as_str()), (State::InputRequired, question));
}

fn expect_answer(conversation: &Conversation, answer: &str) {
    assert_eq!((conversation.state(), conversation.message().text().as_str()), (State::Completed, answer));
}

/// The same conversation, restored from what is stored of it.
fn restored(agent: &Agent, conversation: &Conversation) -> Conversation {
    agent.restore_conversation(&conversation.to_json()).unwrap()
}

async fn runs(agent: &Agent) -> Value {
    agent.call("count", json!({})).await.unwrap().message.data().unwrap().clone()
}

/// What every server does, however it is reached.
async fn check_questions(agent: &Agent) {
    for name in ["resolved", "ask"] {
        let conversation = asked(agent, name, "Rain", "Which city?").await;
        let schema = &conversation.message().data().unwrap()["requestedSchema"];
        assert_eq!(schema["properties"]["city"]["type"], "string");
        expect_answer(&conversation.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
        // Data are the content.
        let conversation = asked(agent, name, "Rain", "Which city?").await;
        expect_answer(&conversation.ask(json!({"city": "Bonn"})).await.unwrap(), "Rain: dry in Bonn.");
    }
    for name in ["resolved_twice", "twice"] {
        let conversation = asked(agent, name, json!({}), "Which city?").await;
        let conversation = conversation.ask("Bonn").await.unwrap();
        expect_question(&conversation, "How many days in Bonn?");
        // An answer that isn't one changes nothing.
        let error = conversation.ask("a few").await.unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
        expect_answer(&conversation.ask("2").await.unwrap(), "2 days in Bonn.");
    }
    let conversation = asked(agent, "order", json!({}), "Which size?").await;
    expect_answer(&conversation.ask(json!({"size": "small", "count": 3})).await.unwrap(), "3 small");
    let conversation = asked(agent, "order", json!({}), "Which size?").await;
    expect_answer(&conversation.ask("Large").await.unwrap(), "1 large");
    let conversation = asked(agent, "ask", "Rain", "Which city?").await;
    expect_answer(&conversation.ask(json!({"action": "decline"})).await.unwrap(), "Nowhere: decline.");
    let conversation = asked(agent, "sign_in", json!({}), "Sign in.\nhttps://a.example/in").await;
    expect_answer(&conversation.ask("yes").await.unwrap(), "Signed in: accept.");
}

#[test]
fn questions_are_answered_over_http() {
    let Some(python) = python() else { return };
    let server = start(&python, &[]);
    block_on(check_questions(&agent(&described(&server.url()))));
}

#[test]
fn questions_are_answered_over_server_sent_events() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    block_on(check_questions(&agent(&described(&server.stream()))));
}

#[test]
fn questions_are_answered_in_a_program() {
    let Some(python) = python() else { return };
    let program = Program::new(python).argument(beside("mcp_questions.py"));
    let mcp = Mcp::default().program("questions", program);
    let agent = consumer().with_binding(mcp).agent_of(&described("stdio:questions").to_string()).unwrap();
    block_on(async {
        let conversation = asked(&agent, "ask", "Rain", "Which city?").await;
        expect_answer(&conversation.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
        let conversation = asked(&agent, "resolved", "Rain", "Which city?").await;
        expect_answer(&conversation.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
    });
}

#[test]
fn several_questions_are_asked_one_after_another() {
    let Some(python) = python() else { return };
    let server = start(&python, &[]);
    let agent = agent(&described(&server.url()));
    block_on(async {
        // In the order of the names that the server gives them.
        let name = "resolved_both";
        let conversation = asked(&agent, name, json!({}), "How many days?").await;
        let conversation = restored(&tool(&agent, name), &conversation).ask("3").await.unwrap();
        expect_question(&conversation, "Which city?");
        expect_answer(&restored(&tool(&agent, name), &conversation).ask("Bonn").await.unwrap(), "3 days in Bonn.");
    });
}

#[test]
fn progress_comes_before_the_question() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let agent = tool(&agent(&described(&server.stream())), "ask");
    let events = block_on(async {
        let (mut stream, mut events) = (agent.stream(), Vec::new());
        stream.send("Rain");
        while let Some(event) = stream.next().await {
            events.push(event.unwrap());
        }
        events
    });
    let [Event::Status(status), Event::InputRequired(reply)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((status.progress, reply.message.text().as_str()), (Some(0.5), "Which city?"));
}

#[test]
fn question_is_answered_in_the_call_that_asked_it_or_by_calling_the_tool_again() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let thing = described(&server.stream());
    block_on(async {
        let held = agent(&thing);
        let conversation = asked(&held, "twice", json!({}), "Which city?").await;
        let conversation = conversation.ask("Bonn").await.unwrap();
        expect_answer(&conversation.ask("2").await.unwrap(), "2 days in Bonn.");
        assert_eq!(runs(&held).await, 1);
        // Another process has other connections: the tool runs again up to the question, whose answers are known by then.
        let other = || tool(&agent(&thing), "twice");
        let conversation = asked(&other(), "twice", json!({}), "Which city?").await;
        let conversation = restored(&other(), &conversation).ask("Bonn").await.unwrap();
        expect_question(&conversation, "How many days in Bonn?");
        expect_answer(&restored(&other(), &conversation).ask("2").await.unwrap(), "2 days in Bonn.");
        assert_eq!(runs(&held).await, 4);
        // The conversation can go on from any of its turns.
        let conversation = asked(&held, "ask", "Rain", "Which city?").await;
        for city in ["Bonn", "Cologne"] {
            expect_answer(&conversation.ask(city).await.unwrap(), &format!("Rain: dry in {city}."));
        }
    });
}

#[test]
fn call_whose_server_is_gone_while_the_user_thinks_is_made_again() {
    let Some(python) = python() else { return };
    for transport in [&[][..], &["sse"]] {
        let server = start(&python, transport);
        let port = server.port;
        let href = if transport.is_empty() { server.url() } else { server.stream() };
        let agent = agent(&described(&href));
        block_on(async {
            let conversation = asked(&agent, "ask", "Rain", "Which city?").await;
            drop(server);
            let again = Server::at(port, "mcp_questions.py", &python, transport);
            expect_answer(&conversation.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
            drop(again);
        });
    }
}

#[test]
fn tool_that_requires_a_url_to_be_opened_is_called_again_then() {
    let Some(python) = python() else { return };
    for transport in [&[][..], &["sse"]] {
        let server = start(&python, transport);
        let href = if transport.is_empty() { server.url() } else { server.stream() };
        let agent = agent(&described(&href));
        block_on(async {
            let conversation = asked(&agent, "gated", json!({}), "Pay.\nhttps://a.example/pay").await;
            assert_eq!(conversation.ask("no").await.unwrap().state(), State::Cancelled);
            expect_answer(&conversation.ask("yes").await.unwrap(), "Open.");
        });
    }
}

#[test]
fn calls_that_wait_for_an_answer_are_limited() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let agent = agent(&described(&server.stream()));
    block_on(async {
        let oldest = asked(&agent, "ask", "Rain", "Which city?").await;
        let next = asked(&agent, "ask", "Rain", "Which city?").await;
        for _ in 2..65 {
            asked(&agent, "ask", "Rain", "Which city?").await;
        }
        assert_eq!(runs(&agent).await, 65);
        expect_answer(&next.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
        assert_eq!(runs(&agent).await, 65);
        expect_answer(&oldest.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
        assert_eq!(runs(&agent).await, 66);
    });
}

#[test]
fn server_that_asks_without_end_is_given_up() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let agent = agent(&described(&server.stream()));
    let error = block_on(async {
        let mut conversation = asked(&agent, "endless", json!({}), "Which city?").await;
        for _ in 0..100 {
            conversation = match conversation.ask("Bonn").await {
                Ok(next) => next,
                Err(error) => return error,
            };
        }
        panic!("it still asks")
    });
    assert!(matches!(&error, Error::Protocol { reason, .. } if reason.contains("32 questions")), "{error:?}");
}

#[test]
fn question_that_is_too_large_and_wishes_for_a_model_are_refused() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let agent = agent(&described(&server.stream()));
    for name in ["large", "sample"] {
        let error = block_on(agent.call(name, json!({}))).unwrap_err();
        assert!(matches!(error, Error::Failed { .. } | Error::Agent { .. }), "{name}: {error:?}");
    }
}

#[test]
fn continuation_that_was_changed_calls_nothing_else() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let agent = agent(&described(&server.stream()));
    block_on(async {
        let conversation = asked(&agent, "ask", "Rain", "Which city?").await;
        let changed = |change: fn(&mut Value)| {
            let mut stored: Value = serde_json::from_str(&conversation.to_json()).unwrap();
            let mut task: Value = serde_json::from_str(stored["continuation"]["task"].as_str().unwrap()).unwrap();
            change(&mut task);
            stored["continuation"]["task"] = task.to_string().into();
            agent.restore_conversation(&stored.to_string()).unwrap()
        };
        // Another input is held to the schema of the action.
        let other = changed(|task| task["input"] = json!({"q": 7}));
        assert!(matches!(other.ask("Bonn").await.unwrap_err(), Error::InvalidInput { .. }));
        let unknown = changed(|task| task["held"] = "4f2d".into());
        expect_answer(&unknown.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
        let nothing = changed(|task| *task = json!({}));
        assert!(matches!(nothing.ask("Bonn").await.unwrap_err(), Error::InvalidHistory { .. }));
        expect_answer(&conversation.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
    });
}

#[test]
fn calls_that_wait_for_an_answer_end_with_the_consumer() {
    let Some(python) = python() else { return };
    let server = start(&python, &["sse"]);
    let consumer: Consumer = consumer();
    let agent = consumer.agent_of(&described(&server.stream()).to_string()).unwrap();
    block_on(async {
        let conversation = asked(&agent, "ask", "Rain", "Which city?").await;
        assert_ne!(*conversation.continuation(), Continuation::default());
        consumer.close().await;
        // It is made again.
        expect_answer(&conversation.ask("Bonn").await.unwrap(), "Rain: dry in Bonn.");
        assert_eq!(runs(&agent).await, 2);
    });
}

#[test]
fn commands_pass_questions_on() {
    let Some(python) = python() else { return };
    for (transport, name) in [(&[][..], "resolved"), (&[], "ask"), (&["sse"], "ask")] {
        let server = start(&python, transport);
        let href = if transport.is_empty() { server.url() } else { server.stream() };
        let registry = TestRegistry::start();
        registry.put(&format!("/things/{ID}"), described(&href).to_string()).expect(201);
        let text = |output: &std::process::Output| {
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        };
        let asked = agentdex(&registry, &["ask", "--agent", ID, "--action", name, "Rain"], "");
        assert!(asked.status.code() == Some(2) && text(&asked).contains("Which city?"), "{}", text(&asked));
        let chat = agentdex(&registry, &["chat", ID, "--action", name], "Rain\nBonn\n");
        assert!(text(&chat).contains("Which city?") && text(&chat).contains("Rain: dry in Bonn."), "{}", text(&chat));
        let folder = tempfile::tempdir().unwrap();
        let (chain, state) = (folder.path().join("chain.yaml"), folder.path().join("state.json"));
        std::fs::write(&chain, format!("start: a\nnodes: {{a: {{agent: '{ID}', action: {name}, input: Rain}}}}\n"))
            .unwrap();
        let (chain, state) = (chain.to_str().unwrap(), state.to_str().unwrap());
        let asked = agentdex(&registry, &["run", chain, "--state", state], "");
        assert!(asked.status.code() == Some(2) && text(&asked).contains("Which city?"), "{}", text(&asked));
        let answered = agentdex(&registry, &["run", chain, "--state", state, "--answer", "Bonn"], "");
        assert!(answered.status.success() && text(&answered).contains("Rain: dry in Bonn."), "{}", text(&answered));
    }
}

#[test]
fn conversation_over_http_passes_questions_on() {
    let Some(python) = python() else { return };
    let server = start(&python, &[]);
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    registry.put(&format!("/things/{ID}"), described(&server.url()).to_string()).expect(201);
    let say = |turn: Value| {
        let path = format!("/things/{ID}/conversation");
        registry.call("POST", &path).body("application/json", turn.to_string()).send().expect(200).json()
    };
    for name in ["resolved", "ask"] {
        let asked = say(json!({"message": "Rain", "action": name}));
        assert_eq!((&asked["state"], &asked["text"]), (&json!("input-required"), &json!("Which city?")));
        let answered = say(json!({"message": "Bonn", "action": name, "conversation": asked["conversation"]}));
        assert_eq!((&answered["state"], &answered["text"]), (&json!("completed"), &json!("Rain: dry in Bonn.")));
    }
}
