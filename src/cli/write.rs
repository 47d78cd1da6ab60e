//! `agentdex write`: writes a property of an agent.

use std::{
    io::{self, Read},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use super::{
    affordance_input::{UriVariables, check_integers, takes_text},
    agent_name::{id_of, which_of},
    calling::Calling,
    output::print_json,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::Affordance;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Property to set; if omitted, the agent's properties are listed
    #[arg(requires = "value")]
    property: Option<String>,
    /// Value as JSON or plain text, or - for standard input
    #[arg(allow_hyphen_values = true)]
    value: Option<String>,
    #[command(flatten)]
    variables: UriVariables,
    #[command(flatten)]
    calling: Calling,
    /// Print the id of the agent, the name of the property, and the new value as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let consumer = arguments.calling.consumer_of_answers(client).await?;
    let agent = consumer.agent(&id_of(client, &arguments.id).await?).await?;
    let (Some(property), Some(value)) = (&arguments.property, &arguments.value) else {
        bail!("{}", which_of(&agent, "a property", "properties", agent.description().properties()));
    };
    let affordance = Affordance::Property(property.clone());
    let value = parse_value(value, agent.description().find(&affordance))?;
    let agent = agent.update(arguments.variables.settings(&agent, &affordance)?);
    agent.write(property, value.clone()).await?;
    if arguments.json {
        print_json(&json!({"id": agent.id(), "property": property, "value": value}))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a value: JSON, else the text as it is where the property may be a text.
fn parse_value(text: &str, schema: Option<&Value>) -> anyhow::Result<Value> {
    let mut read = String::new();
    let text = match text {
        "-" => {
            io::stdin().read_to_string(&mut read)?;
            read.trim_end_matches(['\r', '\n'])
        }
        text => text,
    };
    match serde_json::from_str(text) {
        Ok(value) => check_integers("the value", text).map(|()| value),
        // What begins like JSON was meant to be it.
        Err(_) if schema.is_none_or(takes_text) && !text.starts_with(['{', '[', '"']) => Ok(text.into()),
        Err(error) => Err(error).context("the value is not JSON"),
    }
}
