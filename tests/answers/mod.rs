//! What every command shows of every kind of answer, over every protocol: a table of cells. Each cell runs the program as a user
//! does, against an agent that answers so, and compares exit status, standard output and standard error with what the kind is.
//!
//! The rules: exit status 0 with a result, 1 without success, 2 with a question. Standard output has the text as the agent wrote
//! it, then its data, then one line break; of `call`, the data alone, if there are any. A question is on standard error (in a
//! `chat` on standard output), a failure's reason too. Nobody is shown a thought. JSON has state, text, and data.

mod a2a;
mod asking;
mod http;
mod kind;
mod processes;
mod turns;

use std::{sync::Mutex, thread};

use agentdex::consumer::{Consumer, Sacp, Settings};
use agentdex_server::http as server;
use serde_json::{Value, json};

use self::kind::{Cell, Kind};
use crate::{
    consumer::{agentdex, loopback},
    support::TestRegistry,
};

/// The ways of talking with an agent.
const COMMANDS: [&str; 8] =
    ["ask", "ask --stream", "ask --json", "chat", "call", "call --stream", "run", "conversation"];

/// Processes that run at a time.
const PARALLEL: usize = 4;

/// An agent, and what it answers to each kind of question.
struct Agent {
    protocol: &'static str,
    description: Value,
    kinds: Vec<Kind>,
    /// Whether the kind is chosen by what is said; otherwise by the action.
    is_told: bool,
}

impl Agent {
    fn id(&self) -> &str {
        self.description["id"].as_str().unwrap()
    }
}

/// A description with these actions.
fn thing(protocol: &str, members: Value) -> Value {
    let mut thing = crate::consumer::thing(members);
    thing["id"] = format!("urn:example:{protocol}").into();
    thing["title"] = protocol.into();
    thing
}

/// A registry that calls agents for its clients, as `agentdex serve --conversations` does.
fn registry() -> TestRegistry {
    TestRegistry::with_consumer(|registry| {
        let consumer = Consumer::with_options(registry.clone(), loopback()).unwrap();
        server::Options {
            conversations: Some(consumer.with_settings(Settings::new().answers(Sacp::Allowed))),
            ..server::Options::default()
        }
    })
}

fn register(registry: &TestRegistry, agent: &Agent) {
    registry.put(&format!("/things/{}", agent.id()), agent.description.to_string()).expect(201);
}

/// Runs all cells of an agent, and fails with those that are wrong.
fn check(agent: &Agent) {
    let registry = registry();
    register(&registry, agent);
    let cells: Vec<(&Kind, &str)> =
        agent.kinds.iter().flat_map(|kind| COMMANDS.map(|command| (kind, command))).collect();
    let (next, wrong) = (Mutex::new(cells.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                loop {
                    let Some((kind, command)) = next.lock().unwrap().next().copied() else { break };
                    let cell = cell(&registry, agent, kind, command);
                    if let Some(why) = kind.wrong(command, &cell) {
                        let name = format!("{} {} {command}", agent.protocol, kind.name);
                        wrong.lock().unwrap().push(format!("{name}: {why}: {cell:?}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} cells are wrong:\n{}", wrong.len(), cells.len(), wrong.join("\n"));
}

fn cell(registry: &TestRegistry, agent: &Agent, kind: &Kind, command: &str) -> Cell {
    let id = agent.id();
    let (said, action) = if agent.is_told { (kind.name, "ask") } else { ("x", kind.name) };
    let (name, flag) = command.split_once(' ').map_or((command, None), |(name, flag)| (name, Some(flag)));
    let input = kind.input.clone().unwrap_or_else(|| said.into()).to_string();
    let mut arguments: Vec<&str> = match name {
        "ask" => vec!["ask", "--agent", id, said, "--action", action],
        "chat" => vec!["chat", id, "--action", action],
        "call" => vec!["call", id, action, "--input", &input],
        "run" => return run_of(registry, agent, kind, said, action),
        _ => return conversation(registry, agent, kind, said, action),
    };
    arguments.extend(flag);
    let output = agentdex(registry, &arguments, &format!("{said}\n"));
    Cell::of(&output)
}

/// A chain of one node.
fn run_of(registry: &TestRegistry, agent: &Agent, kind: &Kind, said: &str, action: &str) -> Cell {
    let folder = tempfile::tempdir().unwrap();
    let input = kind.input.clone().unwrap_or_else(|| said.into());
    let node = json!({"agent": agent.id(), "action": action, "input": input});
    let file = folder.path().join("chain.json");
    std::fs::write(&file, json!({"start": "a", "nodes": {"a": node}}).to_string()).unwrap();
    Cell::of(&agentdex(registry, &["run", file.to_str().unwrap()], ""))
}

fn conversation(registry: &TestRegistry, agent: &Agent, kind: &Kind, said: &str, action: &str) -> Cell {
    let turn = match &kind.input {
        Some(input) => json!({"input": input, "action": action}),
        None => json!({"message": said, "action": action}),
    };
    let path = format!("/things/{}/conversation", agent.id());
    let answer = registry.call("POST", &path).body("application/json", turn.to_string()).send();
    Cell {
        code: i32::from(answer.status != 200),
        out: String::from_utf8_lossy(&answer.body).into_owned(),
        err: String::new(),
    }
}
