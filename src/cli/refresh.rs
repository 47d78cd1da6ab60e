//! `agentdex refresh`: polls the sources of agents now.

use std::process::ExitCode;

use clap::Args;

use super::remote::Remote;
use agentdex::client::RefreshResult;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The ids of the agents
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    pub(super) remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.remote.for_each(&arguments.ids, async |client, id| {
        Ok(match client.refresh(id).await?.result {
            RefreshResult::Updated => format!("updated {id}"),
            RefreshResult::Unchanged => format!("unchanged {id}"),
            RefreshResult::Stopped => format!("no longer tracked: {id}"),
            _ => format!("refreshed {id}"),
        })
    })
}
