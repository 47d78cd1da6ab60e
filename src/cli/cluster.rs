//! `agentdex cluster`: the nodes of a cluster.

mod join;
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
    /// Create the data directory of another node, or of a node that has missed too many commits.
    #[command(
        after_help = "The directory gets a backup of a running node. A node that is started with it within an hour \
        reads later changes from the log of the cluster. With --auth, this requires the key of an admin."
    )]
    Join(join::Arguments),
}

impl Arguments {
    /// Returns the URL of the registry, if the command has an option of its own for it.
    pub(super) fn url(&self) -> Option<&str> {
        match &self.action {
            Action::Join(arguments) => arguments.from.as_deref(),
            Action::Status(_) => None,
        }
    }
}

/// Runs the command; `registry` creates the client.
pub(super) async fn run(
    arguments: &Arguments,
    registry: impl FnOnce() -> anyhow::Result<RegistryClient>,
) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Status(arguments) => status::run(arguments, &registry()?).await,
        Action::Join(arguments) => join::run(arguments, registry).await,
    }
}
