//! `agentdex untrack`: stops tracking sources; their agents stay as they are.

use std::process::ExitCode;

use clap::Args;

use super::{agent_name::id_of, remote::for_each};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Ids of the agents, or titles if no other agent has them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, async |name| {
        let id = &id_of(client, name).await?;
        client.untrack(id).await?;
        Ok(format!("no longer tracked: {id}"))
    })
    .await
}
