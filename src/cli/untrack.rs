//! `agentdex untrack`: stops tracking sources; their agents stay as they are.

use std::process::ExitCode;

use clap::Args;

use super::remote::Remote;

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
        client.untrack(id).await?;
        Ok(format!("no longer tracked: {id}"))
    })
}
