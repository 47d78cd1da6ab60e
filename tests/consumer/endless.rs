//! Answers without end: what a call gathers is bounded, and what it forwards is not gathered.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use agentdex::{
    consumer::{Error, Event, ReportSteps, RunEvent, Settings},
    sacp::Chain,
};
use agentdex_client::RegistryClient;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    agent, asking, consumer, run,
    server::{Said, Server},
    thing,
};
use crate::{
    process::{ServerProcess, agentdex},
    support::{TestRegistry, unreachable_url},
};

const MEBIBYTE: usize = 1024 * 1024;
/// Number of bytes that an agent sends.
const SENT: usize = 64 * MEBIBYTE;
/// The most that a process may grow by, in kilobytes.
const GROWTH: u64 = 32 * 1024;
const A2A: &str = "a2a";

/// A stream of small events.
#[derive(Clone)]
struct Flood {
    name: &'static str,
    media_type: &'static str,
    events: String,
}

impl Flood {
    fn new(name: &'static str, media_type: &'static str, event: &str) -> Flood {
        // Many in one piece, so that the sender isn't what takes time.
        Flood { name, media_type, events: event.repeat(MEBIBYTE / event.len()) }
    }

    fn all() -> Vec<Flood> {
        let update = |append: bool, part: Value| {
            let artifact = json!({"artifactId": "a", "parts": [part]});
            let update = json!({"taskId": "t", "contextId": "c", "append": append, "artifact": artifact});
            format!("data: {}\n\n", json!({"jsonrpc": "2.0", "result": {"artifactUpdate": update}}))
        };
        let text = "x".repeat(100);
        vec![
            Flood::new("data in events", "text/event-stream", "data: {\"a\":\"hello\"}\n\n"),
            Flood::new("text in events", "text/event-stream", &format!("data: \"{text}\"\n\n")),
            Flood::new("nothing in events", "text/event-stream", "data: {}\n\n"),
            Flood::new("empty texts in events", "text/event-stream", "data: \"\"\n\n"),
            Flood::new("events without data", "text/event-stream", "data:\n\n"),
            Flood::new("ids without events", "text/event-stream", "id: 1\n\n"),
            Flood::new("comments", "text/event-stream", ":\n"),
            Flood::new("blank lines", "application/x-ndjson", "\n"),
            Flood::new("data in lines", "application/x-ndjson", "{\"a\":\"hello\"}\n"),
            Flood::new("objects in lines", "application/x-ndjson", "[{\"a\":{\"b\":{}}},[],[[]],\"\"]\n"),
            Flood::new(A2A, "text/event-stream", &update(true, json!({"data": {"a": "hello"}}))),
            Flood::new(A2A, "text/event-stream", &update(true, json!({"text": text}))),
        ]
    }

    /// The first events alone.
    fn beginning(&self) -> Flood {
        let end = if self.media_type == "text/event-stream" { "\n\n" } else { "\n" };
        let (first, _) = self.events.split_once(end).unwrap();
        Flood { events: format!("{first}{end}"), ..self.clone() }
    }

    fn serve(&self, bytes: usize) -> Server {
        let said = Said::stream(self.media_type, &[&self.events]).again((bytes / self.events.len()).saturating_sub(1));
        Server::start(move |_| said.clone())
    }

    fn describe(&self, server: &Server) -> Value {
        if self.name != A2A {
            return asking(&server.origin);
        }
        let form = json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
        thing(json!({"a2a:capabilities": {"streaming": true}, "actions": {"ask": {"forms": [form]}}}))
    }
}

fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::AnswerTooLarge { limit, .. } if *limit == 4 * MEBIBYTE)
}

#[test]
fn what_is_gathered_of_a_stream_is_bounded() {
    for flood in Flood::all() {
        let (server, name) = (flood.serve(SENT), flood.name);
        let agent = agent(&flood.describe(&server));
        run(async {
            let error = agent.ask("x").await.unwrap_err();
            assert!(is_too_large(&error), "ask, {name}: {error}");
            let error = agent.call("ask", None).await.unwrap_err();
            assert!(matches!(error, Error::AnswerTooLarge { .. }), "call, {name}: {error}");
            let error = agent.ask_as::<Vec<String>>("x").await.unwrap_err();
            assert!(is_too_large(&error), "a type, {name}: {error}");
            let mut dialogue = agent.stream();
            dialogue.send("x");
            let error = loop {
                if let Err(error) = dialogue.next().await.expect("an error, before the end") {
                    break error;
                }
            };
            assert!(is_too_large(&error), "stream, {name}: {error}");
            assert!(dialogue.conversation().history().is_empty() && dialogue.next().await.is_none(), "{name}");
        });
    }
}

#[test]
fn what_is_gathered_for_a_chain_or_a_guardian_is_bounded() {
    let flood = &Flood::all()[0];
    let server = flood.serve(SENT);
    let mut description = flood.describe(&server);
    let action = description["actions"]["ask"].take();
    description["actions"] = json!({"find_trains": action});
    let input = json!({"from": "Bonn", "to": "Cologne"});
    let nodes = json!({"ask": {"thing": description, "action": "find_trains", "input": input}});
    let chain = Arc::new(Chain::new(json!({"start": "ask", "nodes": nodes})).unwrap());

    let registry = TestRegistry::start();
    let caller: Value = serde_json::from_slice(include_bytes!("../fixtures/aos/travel.json")).unwrap();
    registry.call("POST", "/import/aos").body("application/json", caller.to_string()).send().expect(201);
    pollster::block_on(registry.registry().catch_up_guardian()).unwrap();
    let guardian = RegistryClient::new(&registry.url("")).unwrap();
    let guarded = consumer().with_middleware(ReportSteps::new(guardian, caller, "s-1"));
    run(async {
        for consumer in [consumer(), guarded.clone()] {
            let mut run = consumer.run(chain.clone(), "x");
            let mut failure = None;
            while let Some(event) = run.next().await {
                if let RunEvent::Answered { response, .. } = event {
                    failure = Some(response.message);
                }
            }
            assert!(
                failure.as_ref().is_some_and(|said| said.contains("exceeds the limit of 4194304 bytes")),
                "{failure:?}"
            );
        }
        let error = guarded.agent_of(&description.to_string()).unwrap().call("find_trains", input).await.unwrap_err();
        assert!(is_too_large(&error), "{error}");
    });
}

#[test]
fn limit_of_a_stream_can_be_set() {
    let server = Server::start(|_| Said::stream("text/event-stream", &["data: \"0123456789\"\n\n"]).again(99));
    let limited = |bytes| agent(&asking(&server.origin)).update(Settings::new().max_bytes(bytes));
    run(async {
        assert_eq!(limited(1500).call("ask", None).await.unwrap().message.text().len(), 1000);
        let error = limited(900).call("ask", None).await.unwrap_err();
        assert!(matches!(error, Error::AnswerTooLarge { limit: 900, .. }), "{error}");
        // Forwarded pieces are bounded one by one.
        let mut exchange = limited(900).call_streaming("ask", None).await.unwrap();
        let mut pieces = 0;
        while let Some(event) = exchange.events.next().await {
            pieces += usize::from(matches!(event.unwrap(), Event::Text(_)));
        }
        assert_eq!(pieces, 100);
        let mut exchange = limited(9).call_streaming("ask", None).await.unwrap();
        let first = exchange.events.next().await.unwrap();
        assert!(matches!(first, Err(Error::AnswerTooLarge { limit: 9, .. })), "{first:?}");
    });
}

/// The most memory that a process has had resident, in kilobytes; none once it has ended.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// A command against a registry that has a flood as its agent.
struct Setting {
    registry: TestRegistry,
    server: Server,
}

impl Setting {
    fn new(flood: &Flood, bytes: usize) -> Setting {
        let server = flood.serve(bytes);
        let registry = TestRegistry::start();
        let mut description = flood.describe(&server);
        description["id"] = "urn:example:flood".into();
        registry.put("/things/urn:example:flood", description.to_string()).expect(201);
        Setting { registry, server }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = agentdex();
        command.args(arguments).env("AGENTDEX_URL", self.registry.url("")).env("AGENTDEX_ALLOW_FETCH", "127.0.0.1");
        command
    }

    /// The peak of memory of a command, as long as it ran, whether it succeeded, and what it wrote on standard error.
    fn run(&self, arguments: &[&str]) -> (u64, bool, String) {
        let folder = tempfile::tempdir().unwrap();
        let errors = folder.path().join("errors");
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&errors).unwrap());
        let mut child = command.spawn().unwrap();
        let mut most = 0;
        let status = loop {
            most = most.max(peak(child.id()).unwrap_or_default());
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            thread::sleep(Duration::from_millis(1));
        };
        assert!(!self.server.received().is_empty(), "{arguments:?} called nobody");
        (most, status.success(), fs::read_to_string(errors).unwrap())
    }
}

#[test]
fn commands_gather_little_of_a_stream_without_end() {
    let flood = &Flood::all()[0];
    let folder = tempfile::tempdir().unwrap();
    let chain = folder.path().join("chain.json");
    let nodes = json!({"ask": {"agent": "urn:example:flood", "action": "ask", "input": "x"}});
    fs::write(&chain, json!({"start": "ask", "nodes": nodes}).to_string()).unwrap();
    let commands: [&[&str]; 4] = [
        &["call", "urn:example:flood", "ask"],
        &["ask", "--agent", "urn:example:flood", "x"],
        &["ask", "--agent", "urn:example:flood", "x", "--stream"],
        &["run", chain.to_str().unwrap(), "--json"],
    ];
    let (few, many) = (Setting::new(&flood.beginning(), 0), Setting::new(flood, SENT));
    for arguments in commands {
        let (quiet, succeeded, errors) = few.run(arguments);
        assert!(succeeded, "{arguments:?}: {errors}");
        let (loud, succeeded, errors) = many.run(arguments);
        assert!(!succeeded, "{arguments:?}");
        // A run says so on standard output.
        assert!(
            arguments[0] == "run" || errors.contains("exceeds the limit of 4194304 bytes"),
            "{arguments:?}: {errors}"
        );
        assert!(loud < quiet + GROWTH, "{arguments:?}: {quiet} kB, and {loud} kB");
    }
}

#[test]
fn forwarded_stream_is_not_gathered() {
    let flood = Flood::new("text in events", "text/event-stream", &format!("data: \"{}\"\n\n", "x".repeat(4000)));
    let (few, many) = (Setting::new(&flood.beginning(), 0), Setting::new(&flood, SENT));
    let arguments = ["call", "urn:example:flood", "ask", "--stream"];
    let (quiet, ..) = few.run(&arguments);
    let (loud, succeeded, errors) = many.run(&arguments);
    assert!(succeeded, "{errors}");
    assert!(loud < quiet + GROWTH, "{quiet} kB, and {loud} kB");
}

/// A chat, which goes on after an answer that is too large.
struct Chat {
    child: Child,
    errors: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Chat {
    fn start(setting: &Setting) -> Chat {
        let mut command = setting.command(&["chat", "urn:example:flood"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap()).lines();
        Chat { child, errors }
    }

    /// Says something, and returns the next line of standard error.
    fn say(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.errors.next().unwrap().unwrap()
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn chat_goes_on_after_an_answer_that_is_too_large() {
    let setting = Setting::new(&Flood::all()[0], SENT);
    let mut chat = Chat::start(&setting);
    // A file that isn't there is what it complains of before anything is called.
    chat.say("/attach /no/such/file");
    let before = peak(chat.child.id()).unwrap();
    for _ in 0..3 {
        let error = chat.say("x");
        assert!(error.contains("exceeds the limit of 4194304 bytes"), "{error}");
    }
    let after = peak(chat.child.id()).unwrap();
    assert!(after < before + GROWTH, "{before} kB, and {after} kB");
}

#[test]
fn conversations_of_a_server_are_bounded() {
    let data = tempfile::tempdir().unwrap();
    let registry = ServerProcess::start(data.path(), &["--conversations", "--allow-fetch", "127.0.0.1"]);
    let client = RegistryClient::new(registry.url()).unwrap();
    let turn = agentdex_client::api::Turn { message: Some("x".into()), ..Default::default() };
    let describe = async |flood: &Flood, server: &Server| {
        let mut description = flood.describe(server);
        description["id"] = "urn:example:flood".into();
        client.put("urn:example:flood", description.to_string()).await.unwrap();
    };
    run(async {
        // What the first conversation of a server needs once is no part of an answer.
        let beginning = Flood::all().remove(0).beginning();
        let server = beginning.serve(0);
        describe(&beginning, &server).await;
        client.ask_agent("urn:example:flood", &turn).await.unwrap();
        for flood in Flood::all() {
            let server = flood.serve(SENT);
            describe(&flood, &server).await;
            let before = peak(registry.id()).unwrap();
            let error = client.ask_agent("urn:example:flood", &turn).await.unwrap_err();
            let problem = error.problem().unwrap();
            assert_eq!((problem.status, problem.code.as_str()), (502, "agent-answer-too-large"), "{}", flood.name);
            let after = peak(registry.id()).unwrap();
            assert!(after < before + GROWTH, "{}: {before} kB, and {after} kB", flood.name);
        }
    });
    assert!(registry.stop().success());
}

#[test]
fn agent_that_is_away_is_no_flood() {
    let error = run(agent(&asking(&unreachable_url(""))).call("ask", None)).unwrap_err();
    assert!(!is_too_large(&error), "{error}");
}
