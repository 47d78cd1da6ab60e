//! `agentdex get`: prints the description of an agent.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;

use super::{
    output::indented,
    remote::{self, Remote},
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Its id
    id: String,
    /// Print it as it came, on one line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let found = remote::block_on(async { client.find_by_id(&arguments.id).await.map_err(remote::explain) })?;
    let Some(thing) = found else {
        bail!("there is no agent {:?} at {}\n  `agentdex list` shows what there is", arguments.id, client.url());
    };
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", thing.trim_end())?;
    } else {
        writeln!(out, "{}", indented(&thing))?;
    }
    Ok(ExitCode::SUCCESS)
}
