//! `agentdex patch`: changes a part of a description.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    agent_name::id_of,
    misuse::misuse,
    output::{print_json, visible, warn},
    terminal::stdout,
};
use agentdex_client::{Effect, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Changes as a JSON merge patch (RFC 7396), such as '{"title": "New", "support": null}', or - for standard input
    #[arg(value_name = "PATCH")]
    patch: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let mut patch = arguments.patch.clone();
    if patch == "-" {
        patch.clear();
        io::stdin().lock().read_to_string(&mut patch)?;
    }
    check(&patch)?;
    let id = id_of(client, &arguments.id).await?;
    let written = client.patch(&id, patch).await?;
    if arguments.json {
        print_json(&json!({"id": written.id, "effect": written.effect, "warnings": written.warnings}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let verb = if written.effect == Effect::Unchanged { "unchanged" } else { "updated" };
    writeln!(stdout(), "{verb} {}", visible(&written.id))?;
    warn(&written.id, &written.warnings);
    Ok(ExitCode::SUCCESS)
}

/// Refuses what is not a JSON object, with an object that was probably meant.
fn check(patch: &str) -> anyhow::Result<()> {
    let error = match serde_json::from_str::<Value>(patch) {
        Ok(Value::Object(_)) => return Ok(()),
        Ok(_) => "the given JSON is not an object".to_owned(),
        Err(error) => error.to_string(),
    };
    let example = match patch.split_once('=') {
        Some((name, value)) if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "@:_-".contains(c)) => {
            json!({name: value}).to_string()
        }
        _ => r#"{"title": "New"}"#.to_owned(),
    };
    Err(misuse(format!("the patch must be a JSON object, such as '{example}': {error}")))
}
