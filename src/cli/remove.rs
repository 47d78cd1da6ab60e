//! `agentdex remove`: removes agents.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{
    agent_name::id_of,
    output::visible,
    remote::{Done, for_each},
};
use agentdex_client::{Effect, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Ids of the agents, or titles that no other agent has
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Remove only this version; if an agent has no other version, the agent is removed
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Print a line of JSON for each agent
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, arguments.json, async |name| {
        let id = &id_of(client, name).await?;
        let (effect, warnings) = match &arguments.version {
            Some(version) => {
                let written = client.remove_version(id, version).await?;
                (written.effect, written.warnings)
            }
            None => (Effect::Removed, client.remove(id).await?),
        };
        let mut json = json!({"id": id, "effect": effect, "warnings": warnings});
        let mut text = format!("removed {id}");
        if let Some(version) = &arguments.version {
            json["version"] = version.as_str().into();
            let last = if effect == Effect::Removed { ", its last version" } else { "" };
            text.push_str(&format!(" {}{last}", visible(version)));
        }
        text.extend(warnings.iter().map(|warning| format!("\n  warning: {}", visible(&warning.message))));
        Ok(Done { text, json })
    })
    .await
}
