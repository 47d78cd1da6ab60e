//! `agentdex refresh`: has the registry look at the sources of agents now.

use std::process::ExitCode;

use clap::Args;

use super::remote::Remote;
use crate::client::RefreshResult;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The agents' ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.remote.for_each(&arguments.ids, async |client, id| {
        let refreshed = client.refresh(id).await?;
        let verb = if refreshed.result == RefreshResult::Updated { "updated" } else { "unchanged" };
        Ok(format!("{verb} {id}"))
    })
}
