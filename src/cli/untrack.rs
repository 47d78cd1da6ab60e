//! `agentdex untrack`: stops tracking sources; their agents stay as they are.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{
    agent_name::id_of,
    remote::{Done, for_each},
};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Ids of the agents, or titles that no other agent has
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Print a line of JSON for each agent
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, arguments.json, async |name| {
        let id = &id_of(client, name).await?;
        client.untrack(id).await?;
        Ok(Done { text: format!("no longer tracked: {id}"), json: json!({"id": id, "effect": "untracked"}) })
    })
    .await
}
