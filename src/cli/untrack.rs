//! `agentdex untrack`: stops tracking sources; their agents stay as they are.

use std::process::ExitCode;

use clap::Args;

use super::remote::for_each;
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The ids of the agents
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, async |id| {
        client.untrack(id).await?;
        Ok(format!("no longer tracked: {id}"))
    })
    .await
}
