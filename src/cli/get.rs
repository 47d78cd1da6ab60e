//! `agentdex get`: prints the description of an agent.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;

use super::output::indented;
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Its id, or its title if no other agent has it
    id: String,
    /// Print it as the registry returns it, on one line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let thing = find(client, &arguments.id).await?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", thing.trim_end())?;
    } else {
        writeln!(out, "{}", indented(&thing))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The description of the agent with this id, else of the one with this title.
async fn find(client: &RegistryClient, name: &str) -> anyhow::Result<String> {
    if let Some(thing) = client.find(name).await? {
        return Ok(thing);
    }
    let query = format!("title:\"{}\"", name.replace('"', " "));
    let parameters = [("q", query.as_str()), ("mode", "lexical"), ("limit", "100"), ("consistent", "true")];
    let answer = client.search(&parameters).await?;
    let is_called = |title: &Option<String>| title.as_deref().is_some_and(|title| title.eq_ignore_ascii_case(name));
    let ids: Vec<&str> = answer.hits.iter().filter(|hit| is_called(&hit.title)).map(|hit| hit.id.as_str()).collect();
    match ids.as_slice() {
        [] => {}
        [id] => {
            if let Some(thing) = client.find(id).await? {
                return Ok(thing);
            }
        }
        ids => bail!("{} agents are called {name:?}; give the id of one:\n  {}", ids.len(), ids.join("\n  ")),
    }
    bail!("there is no agent {name:?} at {}\n  `agentdex list` shows what there is", client.url())
}
