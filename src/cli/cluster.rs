//! `agentdex cluster`: the nodes of a cluster.

mod status;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the running nodes, and how far each is behind the log.
    #[command(after_help = "With --auth, this requires the key of an admin. Nodes publish their progress every few \
        seconds, so a node that is a few commits behind may have caught up already.")]
    Status(status::Arguments),
}

/// Runs the command; `registry` creates the client.
pub(super) async fn run(
    arguments: &Arguments,
    registry: impl FnOnce() -> anyhow::Result<RegistryClient>,
) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Status(arguments) => status::run(arguments, &registry()?).await,
    }
}
