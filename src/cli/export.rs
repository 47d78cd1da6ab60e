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
use crate::convert::Format;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Its id
    id: String,
    /// Which format: agent-spec
    #[arg(long)]
    format: Format,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match arguments.format {
        Format::AgentSpec => {}
        Format::ThingDescription => bail!("`agentdex get {}` prints the Thing Description", arguments.id),
        other => bail!("{other} documents can't be exported yet"),
    }
    let client = arguments.remote.client()?;
    let find = client.find_in_format(&arguments.id, arguments.format);
    let found = remote::block_on(async { find.await.map_err(remote::explain) })?;
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
