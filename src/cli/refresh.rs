//! `agentdex refresh`: polls the sources of agents now.

use std::process::ExitCode;

use clap::Args;

use super::{agent_name::id_of, remote::for_each};
use agentdex_client::{RefreshResult, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Ids of the agents, or titles if no other agent has them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, async |name| {
        let id = &id_of(client, name).await?;
        Ok(match client.refresh(id).await?.result {
            RefreshResult::Updated => format!("updated {id}"),
            RefreshResult::Unchanged => format!("unchanged {id}"),
            RefreshResult::Stopped => format!("no longer tracked: {id}"),
        })
    })
    .await
}
