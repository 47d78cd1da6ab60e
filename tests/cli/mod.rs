//! The command line, run as users run it: in processes of its own.

mod access;
mod agent_cards;
mod agent_spec;
mod backup;
pub mod clock;
mod commands;
mod connect;
mod contexts;
mod damage;
mod edit;
mod embedding_model;
mod errors;
mod guardian;
mod help;
mod json;
mod logging;
mod mcp;
mod messages;
mod other_documents;
mod own_agent;
mod progress;
mod queries;
mod records;
mod remote;
mod resync;
mod search;
mod serve;
mod settings;
mod terminal;
mod tracked_sources;
mod validate;

use std::{
    io::Write,
    process::{Output, Stdio},
};

use serde_json::Value;

use crate::{
    process::agentdex,
    support::{Call, eventually},
};

/// Runs a command to its end.
fn run(arguments: &[&str]) -> Output {
    agentdex().args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs a command with something on its standard input.
fn run_with_input(arguments: &[&str], input: &str) -> Output {
    let mut command = agentdex();
    let mut child =
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The lines of standard output as JSON.
fn json_lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A valid description of an agent.
fn agent(id: &str, title: &str) -> String {
    format!(
        r#"{{"@context": ["https://www.w3.org/2022/wot/td/v1.1", {{"lmos": "https://eclipse.dev/lmos/protocol/v1"}}],
            "@type": "lmos:Agent", "id": "{id}", "title": "{title}", "security": "none",
            "securityDefinitions": {{"none": {{"scheme": "nosec"}}}},
            "lmos:capabilities": [{{"id": "greet", "name": "Greet people"}}]}}"#
    )
}

/// Waits until somebody follows the events of a registry, and has noticed that.
fn wait_for_subscriber(url: &str) {
    eventually("an event stream", || {
        let metrics = Call::new("GET", &format!("{url}/metrics")).send().expect(200);
        metrics
            .text()
            .lines()
            .any(|line| line.strip_prefix("agentdex_event_streams ").is_some_and(|count| count != "0"))
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
}
