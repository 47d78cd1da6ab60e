//! `agentdex read`: prints a property of an agent.

use std::{io::Write, process::ExitCode};

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use super::{
    affordance_input::UriVariables,
    agent_name::{id_of, which_of},
    answer_printer::{AnswerPrinter, aside, exit_of},
    calling::Calling,
    output::print_json,
    terminal::stdout,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Affordance, Message};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Property to print; if omitted, the agent's properties are listed
    property: Option<String>,
    #[command(flatten)]
    variables: UriVariables,
    /// Print the value as one line of JSON; binary values are Base64-encoded
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calling: Calling,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let consumer = arguments.calling.consumer_of_answers(client).await?;
    let agent = consumer.agent(&id_of(client, &arguments.id).await?).await?;
    let Some(property) = &arguments.property else {
        bail!("{}", which_of(&agent, "a property", "properties", agent.description().properties()));
    };
    let agent = agent.update(arguments.variables.settings(&agent, &Affordance::Property(property.clone()))?);
    let reply = agent.read_reply(property).await?;
    if reply.state.needs_input() {
        aside(&reply.message)?;
        return Ok(exit_of(reply.state));
    }
    match (arguments.json, reply.message.data()) {
        (true, _) => print_json(&value(&reply.message)?)?,
        (false, Some(data)) => writeln!(stdout(), "{}", serde_json::to_string_pretty(data)?)?,
        (false, None) => AnswerPrinter::default().reply(reply)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The value of a property as JSON.
fn value(message: &Message) -> serde_json::Result<Value> {
    match (message.data(), message.parts.iter().find_map(|part| part.media())) {
        (Some(data), _) => Ok(data.clone()),
        (None, Some(media)) => serde_json::to_value(media),
        (None, None) if message.parts.is_empty() => Ok(Value::Null),
        (None, None) => Ok(message.text().into()),
    }
}
