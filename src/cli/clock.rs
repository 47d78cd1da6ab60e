//! `agentdex clock`: the time of the log, after a clock that was ahead has been set right.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use super::data_directory::check_has_registry;
use super::terminal::stdout;
use agentdex::{Timestamp, store::Store};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Data directory of a stopped registry
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Set the time of the log back to the current clock, so that changes get correct times again.
    Accept,
}

pub(super) async fn run(action: &Action, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let Action::Accept = action;
    let accepted = client.accept_clock().await?;
    print(accepted.before, accepted.now)
}

/// The same in the data directory of a registry that is stopped.
pub(super) fn run_in(directory: &Path, action: &Action) -> anyhow::Result<ExitCode> {
    let Action::Accept = action;
    check_has_registry(directory)?;
    let store = Store::open(directory, agentdex::store::Options::default())?;
    let accepted = store.accept_clock();
    store.close();
    let (before, now) = accepted?;
    print(before, now)
}

fn print(before: Timestamp, now: Timestamp) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    if before > now {
        writeln!(out, "the time of the log was {before}, and is {now}")?;
    } else {
        writeln!(out, "the log is not ahead of the clock, {now}: nothing to do")?;
    }
    Ok(ExitCode::SUCCESS)
}
