//! `agentdex remove`: removes agents.

use std::process::ExitCode;

use clap::Args;

use super::{named::id_of, output::visible, remote::for_each};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Their ids, or titles that no other agent has
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    for_each(&arguments.ids, async |name| {
        let id = &id_of(client, name).await?;
        let warnings = client.remove(id).await?;
        let warnings = warnings.iter().map(|warning| format!("\n  warning: {}", visible(&warning.message)));
        Ok(format!("removed {id}{}", warnings.collect::<String>()))
    })
    .await
}
