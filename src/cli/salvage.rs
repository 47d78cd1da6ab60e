//! `agentdex salvage`: what is left of a data directory that is damaged, or older than it was.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};

use super::backup::start_command;
use super::data_directory::check_has_registry;
use super::keys;
use super::output::{counted, print_json};
use super::terminal::stdout;
use crate::settings::DEFAULT_DATA;
use agentdex::{
    Error,
    registry::{Salvaged, accept_rollback, salvage},
};

#[derive(Debug, Args)]
#[command(
    after_help = "The damaged directory is read from a copy in the folder for temporary files (TMPDIR). Unless the \
    file witness proves that the directory is complete, all agents become private, all keys are revoked, and history, \
    namespaces, and saved queries are dropped. With --accept-rollback, only the keys are revoked."
)]
pub(super) struct Arguments {
    /// Data directory of a stopped registry
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Data directory to create; it must be empty or not exist
    #[arg(long, value_name = "DIR", required_unless_present = "accept_rollback")]
    to: Option<PathBuf>,
    /// Accept a directory whose files were deliberately replaced by older files
    #[arg(long, conflicts_with = "to")]
    accept_rollback: bool,
    /// Print a summary of the recovered data as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let data = &arguments.data;
    check_has_registry(data)?;
    match &arguments.to {
        Some(to) => salvage_to(data, to, arguments.json),
        None => accept(data, arguments.json),
    }
}

fn accept(data: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let revoked = accept_rollback(data)?;
    if as_json {
        print_json(&json!({"data": data.to_string_lossy(), "revokedKeys": revoked}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    revoked_keys(&mut out, &revoked)?;
    writeln!(
        out,
        "{} is accepted as it is. The visibility of agents and the members of namespaces are as in the older files.\n\
         start the registry with: {}",
        data.display(),
        start_command(data, !revoked.is_empty() || keys::are_needed(data)?)
    )?;
    Ok(ExitCode::SUCCESS)
}

fn salvage_to(data: &Path, to: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let salvaged = match salvage(data, to) {
        Err(Error::StoreDamaged { path: _, found }) => {
            bail!("{}: {found}; restore the last backup: agentdex restore FILE --data {}", data.display(), to.display())
        }
        salvaged => salvaged?,
    };
    let Salvaged { records, changes, lost, is_proven, revoked, .. } = &salvaged;
    if as_json {
        let lost: Vec<Value> =
            lost.iter().map(|fault| json!({"place": fault.place, "message": fault.message})).collect();
        print_json(&json!({
            "data": to.to_string_lossy(), "agents": records, "changes": changes, "lost": lost, "private": !is_proven,
            "revokedKeys": revoked,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    for fault in lost {
        writeln!(out, "lost: {fault}")?;
    }
    revoked_keys(&mut out, revoked)?;
    if !is_proven {
        writeln!(
            out,
            "the original visibility of the agents is unknown: all agents are now private, and history, namespaces, \
             and saved queries were not salvaged; `agentdex access` makes agents public again"
        )?;
    }
    writeln!(
        out,
        "{} and {} salvaged into {}\nstart the registry with: {}",
        counted(*records, "description", "descriptions"),
        counted(*changes, "change", "changes"),
        to.display(),
        start_command(to, !revoked.is_empty() || keys::are_needed(to)?)
    )?;
    Ok(ExitCode::SUCCESS)
}

fn revoked_keys(out: &mut impl Write, revoked: &[String]) -> io::Result<()> {
    match revoked {
        [] => Ok(()),
        revoked => {
            writeln!(
                out,
                "revoked keys: {}; `agentdex keys create --role ROLE --owner NAME --data DIR` creates new keys",
                revoked.join(", ")
            )
        }
    }
}
