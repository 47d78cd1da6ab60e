//! `agentdex remove`: removes agents.

use std::process::ExitCode;

use clap::Args;

use super::{output::visible, remote::Remote};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Their ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    pub(super) remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.remote.for_each(&arguments.ids, async |client, id| {
        let warnings = client.remove(id).await?;
        let warnings = warnings.iter().map(|warning| format!("\n  warning: {}", visible(&warning.message)));
        Ok(format!("removed {id}{}", warnings.collect::<String>()))
    })
}
