//! The agents of a demo, called by this project's consumer, and by the SDKs of their protocols.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use agentdex::consumer::{Agent, Error, Event, State};
use agentdex_server::http::{Activity, Demo, Options};
use serde_json::{Value, json};

use super::process::DemoProcess;
use crate::{
    consumer::{agent, run},
    support::{Call, TestRegistry, run_javascript, run_python, skipped},
};

const CARD: &str = include_str!("../../examples/demo/units.json");

/// A server with the agents, and what they report.
fn agents() -> (TestRegistry, Arc<Mutex<Vec<Activity>>>) {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let copy = reported.clone();
    let demo = Demo::new(CARD, move |activity| copy.lock().unwrap().push(activity));
    (TestRegistry::start_with(Default::default(), Options { demo: Some(demo), ..Options::default() }), reported)
}

/// An agent as its file describes it, at a server.
fn described(name: &str, registry: &TestRegistry) -> Agent {
    let file = format!("{}/examples/demo/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap().replace("http://127.0.0.1:8080", &registry.url(""));
    agent(&serde_json::from_str(&text).unwrap())
}

fn converter(registry: &TestRegistry) -> Agent {
    let card = CARD.replace("http://127.0.0.1:8080", &registry.url(""));
    let card = agentdex::convert::a2a::Card::parse(card.as_bytes()).unwrap();
    let conversion = card.to_thing(&Default::default()).unwrap();
    agent(conversion.things[0].description.value())
}

#[test]
fn clock_tells_the_time_lists_its_cities_and_reports_each_hour() {
    let (registry, reported) = agents();
    run(async {
        let clock = described("clock", &registry);
        let reply = clock.call("time", json!({"city": "How late is it in Kathmandu?"})).await.unwrap();
        let told = reply.message.data().unwrap();
        assert_eq!((&told["city"], &told["offset"]), (&json!("Kathmandu"), &json!("+05:45")));
        assert!(told["time"].as_str().unwrap().ends_with("+05:45"), "{told}");
        let asked = clock.process("What time is it in Tokyo?").await.unwrap();
        assert_eq!(asked.message().data().unwrap()["city"], "Tokyo");
        let cities = clock.read("cities").await.unwrap();
        assert_eq!((cities.as_array().unwrap().len(), &cities[39]), (40, &json!("Tokyo")));
        let Err(error) = clock.call("time", json!({"city": "Atlantis"})).await else { panic!("there is no Atlantis") };
        assert!(error.to_string().contains("contains no city that this clock knows"), "{error}");
        drop(clock.subscribe("hour", None).await.unwrap());
    });
    let events = registry.head("/demo/agents/clock/hour").expect(200);
    assert_eq!(events.header("content-type"), "text/event-stream");
    let reported = reported.lock().unwrap();
    assert_eq!(reported.len(), 2, "an answer each: {reported:?}");
    assert!(matches!(&reported[0], Activity::Called { agent: "urn:demo:clock", action, .. } if action == "time"));
}

#[test]
fn clock_refuses_texts_that_are_longer_than_its_description_says() {
    let (registry, reported) = agents();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/clock.json");
    let description: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let longest = &description["actions"]["time"]["input"]["properties"]["city"]["maxLength"];
    let longest = usize::try_from(longest.as_u64().unwrap()).unwrap();
    let ask = |length: usize| {
        // Characters, not bytes.
        let city = format!("Tokyo {}", "é".repeat(length - 6));
        registry
            .call("POST", "/demo/agents/clock/time")
            .body("application/json", json!({"city": city}).to_string())
            .send()
    };
    assert_eq!(ask(longest).expect(200).json()["city"], "Tokyo");
    let refused = ask(longest + 1).problem(400, "invalid-query");
    assert_eq!(refused["detail"], "`city` has more than 100 characters; write a city, such as Tokyo");
    assert_eq!(reported.lock().unwrap().len(), 1, "only what is answered");
}

#[test]
fn converter_answers_streams_and_asks_back() {
    let (registry, reported) = agents();
    run(async {
        let converter = converter(&registry);
        let asked = converter.process("Convert 42").await.unwrap();
        assert_eq!(asked.state(), State::InputRequired);
        let answered = asked.process("km").await.unwrap();
        assert_eq!((answered.state(), answered.message().text()), (State::Completed, "42 km are 26.1 miles.".into()));
        let mut dialogue = converter.stream();
        dialogue.send("20 °C in Fahrenheit");
        let mut states = Vec::new();
        let text = loop {
            match dialogue.next().await.unwrap().unwrap() {
                Event::Status(status) => states.push(status.state),
                Event::Done(reply) => break reply.message.text(),
                _ => {}
            }
        };
        assert_eq!((states, text.as_str()), (vec![State::Submitted, State::Working], "20 °C are 68 °F."));
    });
    let expected = |question: &str, answer: &str| Activity::Asked {
        agent: "urn:demo:units",
        question: question.into(),
        answer: answer.into(),
    };
    assert_eq!(reported.lock().unwrap()[1], expected("km", "42 km are 26.1 miles."));
}

#[test]
fn converter_keeps_to_a2a() {
    let (registry, _) = agents();
    let call = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        let answer =
            registry.call("POST", "/demo/agents/units").body("application/json", body).send().expect(200).json();
        assert_eq!(answer["id"], 7, "{answer}");
        answer
    };
    let sent = |text: &str| json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": text}]}});
    let with_id = |name: &str, length: usize| {
        let mut params = sent("42");
        params["message"][name] = "i".repeat(length).into();
        params
    };
    let longest = call("SendMessage", with_id("contextId", 256));
    assert_eq!(longest["result"]["task"]["contextId"], "i".repeat(256));
    let task = call("SendMessage", sent("42"))["result"]["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let id = json!({"id": task["id"]});
    for _ in 0..2 {
        assert_eq!(call("GetTask", id.clone())["result"], task, "each read is the same, with the id of its message");
    }
    assert_eq!(call("CancelTask", id.clone())["result"]["status"]["state"], "TASK_STATE_CANCELED");
    for (method, params, code) in [
        ("CancelTask", id, -32002),
        ("GetTask", json!({"id": "none"}), -32001),
        ("GetTask", json!({}), -32602),
        ("GetTask", json!({"id": "i".repeat(257)}), -32602),
        ("SendMessage", json!({"message": {"taskId": "none", "parts": []}}), -32001),
        ("SendMessage", json!({}), -32602),
        ("SendMessage", with_id("contextId", 257), -32602),
        ("SendStreamingMessage", with_id("taskId", 257), -32602),
        ("SendMessage", with_id("messageId", 257), -32602),
        ("ListTasks", json!({}), -32601),
    ] {
        assert_eq!(call(method, params)["error"]["code"], code, "{method}");
    }
    let card = registry.get("/demo/agents/units/.well-known/agent-card.json").expect(200);
    assert_eq!(card.json(), serde_json::from_str::<Value>(CARD).unwrap());
}

#[test]
fn requests_that_are_not_json_rpc_are_refused_by_its_codes() {
    let (registry, reported) = agents();
    for (body, id, code) in [
        ("{", Value::Null, -32700),
        ("", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        (r#"{"id": 7, "method": "GetTask"}"#, json!(7), -32600),
        (r#"{"jsonrpc": "1.0", "id": "a", "method": "GetTask"}"#, json!("a"), -32600),
        (r#"{"jsonrpc": 2.0, "id": 7, "method": "GetTask"}"#, json!(7), -32600),
        (r#"{"jsonrpc": "2.0", "id": 7}"#, json!(7), -32600),
        (r#"{"jsonrpc": "2.0", "id": {}, "method": "GetTask"}"#, Value::Null, -32600),
    ] {
        let call = registry.call("POST", "/demo/agents/units").body("application/json", body);
        let answer = call.send().expect(200).json();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{body}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
    assert!(reported.lock().unwrap().is_empty());
}

#[test]
fn converter_asks_for_fewer_words_than_a_thousand_characters() {
    let (registry, _) = agents();
    let padded = |text: &str, length: usize| format!("{text}{}", ".".repeat(length - text.chars().count()));
    run(async {
        let converter = converter(&registry);
        let answered = converter.process(padded("42 km", 1000)).await.unwrap();
        assert_eq!(answered.message().text(), "42 km are 26.1 miles.");
        let asked = converter.process("Convert 42").await.unwrap();
        let asked = asked.process(padded("km", 1001)).await.unwrap();
        assert_eq!(asked.state(), State::InputRequired);
        assert_eq!(asked.message().text(), "That is more than 1000 characters. Can you ask in fewer words?");
        let answered = asked.process("km").await.unwrap();
        assert_eq!(answered.message().text(), "42 km are 26.1 miles.", "the question is still open");
    });
}

#[test]
fn dice_are_tools_of_mcp() {
    let (registry, reported) = agents();
    run(async {
        let dice = described("dice", &registry);
        let roll =
            async |input: Value| dice.call("roll", input).await.map(|reply| reply.message.data().cloned().unwrap());
        let rolled = roll(json!({"dice": 3, "seed": 42})).await.unwrap();
        assert_eq!(rolled, roll(json!({"dice": 3, "seed": 42})).await.unwrap());
        assert_eq!(rolled["rolled"].as_array().unwrap().len(), 3);
        let shuffled = dice.call("shuffle", json!({"items": ["a", "b", "c"], "seed": 1})).await.unwrap();
        assert_eq!(shuffled.message.data().unwrap()["shuffled"].as_array().unwrap().len(), 3);
        // Checked before it is sent, by the description.
        assert!(matches!(roll(json!({"dice": 0})).await, Err(Error::InvalidInput { .. })));
    });
    assert_eq!(reported.lock().unwrap().len(), 3);
    for method in ["GET", "DELETE"] {
        registry.call(method, "/demo/agents/dice").send().expect(405);
    }
    let foreign = registry.call("POST", "/demo/agents/dice").header("origin", "https://page.example");
    foreign.body("application/json", "{}").send().expect(403);
}

/// Talks with the converter: an answer, and a question back that is answered.
const PYTHON: &str = r#"
import asyncio, sys
from a2a.client import create_client
from a2a.helpers import get_message_text, new_text_message
from a2a.types import a2a_pb2 as t

async def main():
    client = await create_client(sys.stdin.read().strip())
    async def say(text, **more):
        message = new_text_message(text, role=t.Role.ROLE_USER, **more)
        last = None
        async for event in client.send_message(t.SendMessageRequest(message=message)):
            if event.HasField("status_update"):
                last = event.status_update
        print(t.TaskState.Name(last.status.state), get_message_text(last.status.message))
        return last
    await say("How many miles are 42 km?")
    asked = await say("Convert 42")
    await say("km", task_id=asked.task_id, context_id=asked.context_id)

asyncio.run(main())
"#;

/// The same.
const JAVASCRIPT: &str = r#"
import { readFileSync } from 'node:fs';
import { ClientFactory } from '@a2a-js/sdk/client';
import { Message, TaskState } from '@a2a-js/sdk';
const client = await new ClientFactory().createFromUrl(readFileSync(0, 'utf8').trim());
const say = async (text, more = {}) => {
  const message = Message.fromJSON({ messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more });
  let last;
  for await (const event of client.sendMessageStream({ message })) {
    const payload = event.payload ?? event;
    if (payload.$case === 'statusUpdate' || payload.kind === 'status-update') last = payload.value ?? payload;
  }
  const { status } = last;
  console.log(TaskState[status.state], Message.toJSON(status.message).parts.map((part) => part.text).join(''));
  return last;
};
await say('How many miles are 42 km?');
const { taskId, contextId } = await say('Convert 42');
await say('km', { taskId, contextId });
"#;

const CONVERSATION: &str = "TASK_STATE_COMPLETED 42 km are 26.1 miles.\n\
    TASK_STATE_INPUT_REQUIRED 42 of which unit? For example km, pounds or °C.\n\
    TASK_STATE_COMPLETED 42 km are 26.1 miles.\n";

#[test]
fn sdks_of_a2a_talk_with_the_converter() {
    let demo = DemoProcess::start();
    let base = format!("{}/demo/agents/units", demo.url());
    if let Some(said) = run_python(PYTHON, &base) {
        assert_eq!(said, CONVERSATION);
    }
    // The card is looked for at the root of the URL unless it ends in a slash.
    if let Some(said) = run_javascript(JAVASCRIPT, &format!("{base}/")) {
        assert_eq!(said, CONVERSATION);
    }
}

#[test]
fn sdk_of_mcp_lists_and_calls_the_tools() {
    let Ok(python) = env::var("AGENTDEX_MCP_PYTHON") else {
        return skipped("mcp", "AGENTDEX_MCP_PYTHON that names a Python with the SDK of MCP (.ci/run installs one)");
    };
    let (registry, _) = agents();
    let program = r#"
import asyncio, sys
from mcp import Client

async def main():
    async with Client(sys.argv[1]) as client:
        listed = await client.list_tools()
        print([tool.name for tool in listed.tools])
        result = await client.call_tool("roll", {"dice": 2, "seed": 1})
        print(result.structured_content["sum"] == sum(result.structured_content["rolled"]))
        result = await client.call_tool("flip", {})
        print(result.is_error, result.content[0].text)

asyncio.run(main())
"#;
    let mut command = Command::new(python);
    command.args(["-c", program, &registry.url("/demo/agents/dice")]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!(lines, ["['roll', 'shuffle']", "True", "True unknown tool \"flip\"; the tools are roll and shuffle"]);
}

#[test]
fn searches_are_reported_with_their_best_match() {
    let (registry, reported) = agents();
    registry.put("/things/urn:x:a", crate::support::agent("urn:x:a", "Tide agent")).expect(201);
    registry.get("/search?q=tide&consistent=true").expect(200);
    registry.get("/search?capability=none").expect(200);
    let searched = Activity::Searched { query: "tide".into(), found: Some("Tide agent".into()) };
    assert_eq!(*reported.lock().unwrap(), [searched], "only those with words");
    // A server without a demo has none of it.
    let plain = TestRegistry::start();
    Call::new("POST", &plain.url("/demo/agents/clock/time")).send().expect(404);
}
