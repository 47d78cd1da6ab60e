//! `agentdex cluster join`: the data directory of another node.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use futures_util::StreamExt;
use serde_json::json;
use tokio::runtime::Handle;

use crate::{
    cli::{
        backup::restore_into,
        output::{counted, print_json},
        progress,
        terminal::stdout,
    },
    settings::DEFAULT_DATA,
};
use agentdex::registry::{Restored, restore_node};
use agentdex_client::{Pieces, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// URL of a running node, from which a backup is taken
    #[arg(long, value_name = "URL", required_unless_present = "backup", conflicts_with = "url")]
    pub(super) from: Option<String>,
    /// File with a backup of a running node, instead of the URL of a node
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    backup: Option<PathBuf>,
    /// Data directory to create; it must be empty or not exist
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Print a summary of the data as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command; `registry` creates the client of the node to join from.
pub(super) async fn run(
    arguments: &Arguments,
    registry: impl FnOnce() -> anyhow::Result<RegistryClient>,
) -> anyhow::Result<ExitCode> {
    let data = arguments.data.clone();
    let restored = match &arguments.backup {
        Some(path) => {
            let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
            let bar = progress::of_bytes(fs::metadata(path).ok().map(|file| file.len()));
            let file = bar.wrap_read(file);
            restore_into(&data, |beside| restore_node(file, beside)).with_context(|| path.display().to_string())?
        }
        None => {
            let pieces = registry()?.backup().await?;
            let backup = Download { pieces, rest: Vec::new(), read: 0, runtime: Handle::current() };
            let backup = progress::of_bytes(None).wrap_read(backup);
            let copy = move || restore_into(&data, |beside| restore_node(backup, beside));
            tokio::task::spawn_blocking(copy).await??
        }
    };
    match arguments.json {
        true => {
            let data = arguments.data.to_string_lossy();
            print_json(&json!({"data": data, "agents": restored.head.records, "at": restored.head.at}))?;
        }
        false => print(&mut stdout(), &restored, &arguments.data)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, restored: &Restored, data: &Path) -> io::Result<()> {
    let Restored { head, .. } = restored;
    let copied = counted(head.records, "description", "descriptions");
    writeln!(out, "{copied} copied to {}, as of {}", data.display(), head.at)?;
    writeln!(out, "start the node within an hour: agentdex serve --data {} --cluster URL,…", data.display())
}

/// Reader of a backup that is still being received. It blocks until the next bytes arrive, so async code must not use it.
struct Download {
    pieces: Pieces,
    /// Last piece, of which `read` bytes were read.
    rest: Vec<u8>,
    read: usize,
    runtime: Handle,
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.rest.len() {
            match self.runtime.block_on(self.pieces.next()) {
                Some(piece) => (self.rest, self.read) = (piece.map_err(io::Error::other)?, 0),
                None => return Ok(0),
            }
        }
        let rest = self.rest.get(self.read..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}
