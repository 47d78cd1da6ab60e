//! `agentdex get`: prints the description of an agent.

use std::{io::Write, process::ExitCode};

use clap::Args;

use super::{
    agent_name::{id_of, no_agent},
    output::{indented, visible},
    terminal::stdout,
};
use agentdex_client::{RegistryClient, Version};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Version to print: an exact version, an npm-style range (selects the highest match), or latest. The version is
    /// printed as it was registered, without later edits
    #[arg(long, value_name = "RANGE")]
    version: Option<String>,
    /// List all versions, starting with the version served by default
    #[arg(long, conflicts_with = "version")]
    versions: bool,
    /// Print the description as the registry returns it, without indentation; with --versions, print a line of JSON for
    /// each version
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let id = id_of(client, &arguments.id).await?;
    if arguments.versions {
        return print_versions(&client.versions(&id).await?, arguments.json);
    }
    let found = match &arguments.version {
        Some(range) => Some(client.find_version(&id, range).await?),
        None => client.find(&id).await?,
    };
    let Some(thing) = found else {
        return Err(no_agent(client, &id).await);
    };
    let mut out = stdout();
    if arguments.json {
        writeln!(out, "{}", thing.trim_end())?;
    } else {
        writeln!(out, "{}", indented(&thing))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_versions(versions: &[Version], json: bool) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    for version in versions {
        if json {
            writeln!(out, "{}", serde_json::to_string(version)?)?;
            continue;
        }
        let name = version.version.as_deref().unwrap_or("(none)");
        let format = version.format.as_deref().map_or_else(String::new, |format| format!("  {format}"));
        let seen = version.visibility.map_or_else(String::new, |visibility| format!("  {visibility}"));
        let unreadable = if version.is_readable { "" } else { "  unreadable (belongs to a former owner)" };
        let served = if version.is_served { "  served" } else { "" };
        writeln!(out, "{}{seen}{unreadable}{}{served}", visible(name), visible(&format))?;
    }
    Ok(ExitCode::SUCCESS)
}
