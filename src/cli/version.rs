//! `agentdex version`: the versions of this program and of a registry.

use std::{io::Write, process::ExitCode};

use clap::Args;
use serde_json::{Value, json};

use super::{output::print_json, output::visible, terminal::stdout};
use agentdex_client::RegistryClient;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print only the version of this program, without contacting a registry
    #[arg(long)]
    client: bool,
    /// Print the versions as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    arguments: &Arguments,
    registry: impl FnOnce() -> anyhow::Result<RegistryClient>,
) -> anyhow::Result<ExitCode> {
    let own = json!({"client": VERSION});
    if arguments.client {
        return print(arguments.json, &own, &format!("agentdex {VERSION}"));
    }
    let client = registry()?;
    let about = match client.about().await {
        Ok(about) => about,
        Err(error) => {
            // What is known is printed all the same.
            print(arguments.json, &own, &format!("agentdex {VERSION}"))?;
            return Err(error.into());
        }
    };
    let registry = json!({"version": about.version, "url": client.url(), "id": about.registry, "demo": about.demo});
    let text = format!("agentdex {VERSION}\nregistry {} at {}", visible(&about.version), client.url());
    print(arguments.json, &json!({"client": VERSION, "registry": registry}), &text)
}

fn print(as_json: bool, json: &Value, text: &str) -> anyhow::Result<ExitCode> {
    match as_json {
        true => print_json(json)?,
        false => writeln!(stdout(), "{text}")?,
    }
    Ok(ExitCode::SUCCESS)
}
