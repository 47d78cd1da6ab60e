//! `agentdex status`: whether a registry is there, and how far its followers are.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::Value;

use super::output::{self, Style};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let status = client.status().await?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", output::indented(&status.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::stdout();
    let number = |member: &str| status.get(member).map_or_else(|| "?".into(), Value::to_string);
    writeln!(out, "{} at {}", style.green("ready"), client.url())?;
    writeln!(out, "agents    {}", number("things"))?;
    writeln!(out, "position  {}", status.get("cursor").and_then(Value::as_str).unwrap_or("?"))?;
    for follower in status.get("followers").and_then(Value::as_array).into_iter().flatten() {
        let text = |member: &str| follower.get(member).and_then(Value::as_str);
        let position = follower.get("seq").map_or_else(|| "?".into(), Value::to_string);
        let error = text("error").map(|error| format!(": {}", output::visible(error))).unwrap_or_default();
        let (name, state) = (text("name").unwrap_or("?"), text("state").unwrap_or("?"));
        writeln!(out, "{name:<9} {state} at {position}{error}")?;
    }
    Ok(ExitCode::SUCCESS)
}
