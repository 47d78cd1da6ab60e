//! `agentdex refresh`: polls the sources of agents now.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{
    agent_name::id_of,
    remote::{Done, for_each},
};
use agentdex_client::{RefreshResult, RegistryClient};

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
        let result = client.refresh(id).await?.result;
        let text = match result {
            RefreshResult::Updated => format!("updated {id}"),
            RefreshResult::Unchanged => format!("unchanged {id}"),
            RefreshResult::Stopped => format!("no longer tracked: {id}"),
        };
        Ok(Done { text, json: json!({"id": id, "effect": result}) })
    })
    .await
}
