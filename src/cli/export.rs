//! `agentdex export`: prints an agent in another format.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;

use super::remote::{self, Remote};
use crate::convert::{Format, a2a::Generation};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Its id
    id: String,
    /// Which format: agent-spec, a2a or lmos-capabilities
    #[arg(long)]
    format: Format,
    /// Which version of an agent card; without it that of the card it was imported from, else 1.0
    #[arg(long, value_name = "0.3|1.0")]
    version: Option<Generation>,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let id = &arguments.id;
    let found = remote::block_on(async {
        match (arguments.format, arguments.version) {
            (Format::ThingDescription, _) => bail!("`agentdex get {id}` prints the Thing Description"),
            (Format::A2a, Some(version)) => client.find_agent_card(id, version).await.map_err(remote::explain),
            (format, None) => client.find_in_format(id, format).await.map_err(remote::explain),
            (format, Some(_)) => bail!("--version is for agent cards (--format a2a), not for {format}"),
        }
    })?;
    let Some(document) = found else {
        bail!("there is no agent {:?} at {}\n  `agentdex list` shows what there is", arguments.id, client.url());
    };
    if let Some(path) = &arguments.out {
        fs::write(path, document.bytes).with_context(|| format!("writing {}", path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = io::stdout().lock();
    out.write_all(&document.bytes)?;
    if out.is_terminal() && !document.bytes.ends_with(b"\n") {
        writeln!(out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
