//! `agentdex remove`: removes agents.

use std::process::ExitCode;

use clap::Args;

use super::{agent_name::id_of, output::visible, remote::for_each};
use agentdex_client::{Effect, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Ids of the agents, or titles if no other agent has them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Remove only this version; the agent goes with its last version
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, async |name| {
        let id = &id_of(client, name).await?;
        let (removed, warnings) = match &arguments.version {
            Some(version) => {
                let written = client.remove_version(id, version).await?;
                let is_last = written.effect == Effect::Removed;
                let last = if is_last { ", its last one" } else { "" };
                (format!("{id} {}{last}", visible(version)), written.warnings)
            }
            None => (id.clone(), client.remove(id).await?),
        };
        let warnings = warnings.iter().map(|warning| format!("\n  warning: {}", visible(&warning.message)));
        Ok(format!("removed {removed}{}", warnings.collect::<String>()))
    })
    .await
}
