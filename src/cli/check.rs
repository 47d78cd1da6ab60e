//! `agentdex check`: whether what a data directory has fits together.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    thread,
    time::Duration,
};

use anyhow::bail;
use clap::Args;

use crate::settings::DEFAULT_DATA;
use agentdex::{Error, Registry};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The data directory of a registry that isn't running
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let data = &arguments.data;
    // Opening would make an empty registry of it.
    if !data.join("store").exists() {
        bail!("{}: there is no registry in this directory; name its directory with --data", data.display());
    }
    let registry = Registry::open(data)?;
    let checked = loop {
        match registry.check() {
            // That of a restored directory has yet to be made.
            Err(Error::IndexRebuilding { .. }) => thread::sleep(Duration::from_millis(50)),
            checked => break checked,
        }
    };
    registry.close();
    let checked = checked?;
    let mut out = io::stdout().lock();
    for fault in &checked.faults {
        writeln!(out, "{fault}")?;
    }
    for note in &checked.notes {
        writeln!(out, "note: {note}")?;
    }
    let found = match checked.faults.len() {
        0 => "all in order".to_owned(),
        1 => "1 fault".to_owned(),
        count => format!("{count} faults"),
    };
    writeln!(out, "{} descriptions, {} changes: {found}", checked.records, checked.changes)?;
    if checked.faults.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if checked.faults.iter().any(|fault| fault.place == "the search index") {
        writeln!(
            out,
            "the search index is made again if its directory, {}, is removed",
            data.join("search").display()
        )?;
    }
    writeln!(out, "`agentdex restore` makes a directory of a backup; `agentdex list --json` prints what can be read")?;
    Ok(ExitCode::FAILURE)
}
