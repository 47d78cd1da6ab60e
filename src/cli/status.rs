//! `agentdex status`: whether a registry is there, and how far its followers are.

use std::{io::Write, process::ExitCode};

use clap::Args;

use super::output::{self, Style};
use super::terminal::stdout;
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print the status as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let status = client.status().await?;
    if arguments.json {
        output::print_json(&status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    let style = Style::stdout();
    let number = |number: Option<u64>| number.map_or_else(|| "?".into(), |number| number.to_string());
    writeln!(out, "{} at {}", style.green("ready"), client.url())?;
    writeln!(out, "agents    {}", number(status.things))?;
    writeln!(out, "position  {}", status.cursor.as_deref().unwrap_or("?"))?;
    for note in status.notes.iter().flatten() {
        writeln!(out, "note      {}", output::visible(note))?;
    }
    for follower in status.followers.into_iter().flatten() {
        let error = follower.error.map(|error| format!(": {}", output::visible(&error))).unwrap_or_default();
        let position = number(follower.seq.map(|seq| seq.0));
        writeln!(out, "{:<9} {} at {position}{error}", follower.name, follower.state)?;
    }
    Ok(ExitCode::SUCCESS)
}
