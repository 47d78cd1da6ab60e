//! `agentdex clock`: the time of the log, after a clock that was ahead has been set right.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use super::data_directory::check_has_registry;
use super::output::print_json;
use super::terminal::stdout;
use agentdex::store::Store;
use agentdex_client::{RegistryClient, api::ClockAccepted};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Use the data directory of a stopped registry instead of a running server
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Reset the log's time to the system clock, so that new changes get correct times.
    Accept {
        /// Print the log's time before and after the reset as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(action: &Action, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let Action::Accept { json } = action;
    print(&client.accept_clock().await?, *json)
}

/// The same in the data directory of a registry that is stopped.
pub(super) fn run_in(directory: &Path, action: &Action) -> anyhow::Result<ExitCode> {
    let Action::Accept { json } = action;
    check_has_registry(directory)?;
    let store = Store::open(directory, agentdex::store::Options::default())?;
    let accepted = store.accept_clock();
    store.close();
    let (before, now) = accepted?;
    print(&ClockAccepted { before, now }, *json)
}

fn print(accepted: &ClockAccepted, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        print_json(accepted)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ClockAccepted { before, now } = accepted;
    let mut out = stdout();
    if before > now {
        writeln!(out, "the time of the log was {before}, and is now {now}")?;
    } else {
        writeln!(out, "the time of the log is not ahead of the clock ({now}); nothing to do")?;
    }
    Ok(ExitCode::SUCCESS)
}
