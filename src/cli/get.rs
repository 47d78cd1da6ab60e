//! `agentdex get`: prints the description of an agent.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;

use super::{named::id_of, output::indented};
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
    let id = id_of(client, &arguments.id).await?;
    let Some(thing) = client.find(&id).await? else {
        bail!("there is no agent {id:?} at {}\n  `agentdex list` shows what there is", client.url());
    };
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", thing.trim_end())?;
    } else {
        writeln!(out, "{}", indented(&thing))?;
    }
    Ok(ExitCode::SUCCESS)
}
