//! `agentdex call`: invokes one action of an agent with data.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{
    agent_name::id_of,
    calling::{Calling, print_event, shown},
    output::visible,
    terminal::stdout,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Affordance, Agent, Error, Settings};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Its id, or its title if no other agent has it
    id: String,
    /// The action; without it those that there are
    action: Option<String>,
    /// Input; - for standard input. Members that are URI variables of the action go into the URL
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Value of a URI variable of the action, for inputs that are not objects; can be repeated. A member of --input with the same
    /// name wins
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// Print what comes in pieces, as it comes
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    calling: Calling,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let input = arguments.input.as_deref().map(input).transpose()?;
    let consumer = arguments.calling.consumer(client).await?;
    let agent = consumer.agent(&id_of(client, &arguments.id).await?).await?;
    let Some(action) = &arguments.action else { bail!("{}", which_action(&agent)) };
    let agent = agent.update(variables(&agent, action, &arguments.variables)?);
    if arguments.stream {
        let mut exchange = agent.call_streaming(action, input).await.map_err(with_flag)?;
        while let Some(event) = exchange.events.next().await {
            if print_event(&event?)? {
                writeln!(stdout())?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let reply = agent.call(action, input).await.map_err(with_flag)?;
    let text = match reply.message.data() {
        Some(data) => serde_json::to_string_pretty(data)?,
        None => shown(&reply.message),
    };
    writeln!(stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

/// The question which action is meant, with those that the agent has.
fn which_action(agent: &Agent) -> String {
    let actions: Vec<_> = agent.description().actions().map(visible).collect();
    match actions.as_slice() {
        [] => match agent.description().instructions() {
            Some(instructions) => format!("{} has no actions: {}", visible(agent.title()), visible(&instructions)),
            None => format!("{} has no actions; `agentdex get {}` prints its description", agent.title(), agent.id()),
        },
        actions => format!("which action of {}? It has {}", visible(agent.id()), actions.join(", ")),
    }
}

/// Settings with the values of URI variables: a text where one is allowed, else JSON.
fn variables(agent: &Agent, action: &str, given: &[String]) -> anyhow::Result<Settings> {
    let description = agent.description();
    let owners = [description.find(&Affordance::Action(action.to_owned())), description.find(&Affordance::Thing)];
    let declared: Vec<(String, &Value)> = owners
        .iter()
        .flatten()
        .filter_map(|owner| owner.get("uriVariables")?.as_object())
        .flatten()
        .map(|(name, schema)| (percent_decode_str(name).decode_utf8_lossy().into_owned(), schema))
        .collect();
    let input = owners[0].and_then(|action| action.get("input")?.get("properties"));
    let mut settings = Settings::new();
    for variable in given {
        let (name, text) =
            variable.split_once('=').ok_or_else(|| anyhow!("--variable {variable:?}: it is not NAME=VALUE"))?;
        let Some((_, schema)) = declared.iter().find(|(known, _)| known == name) else {
            let names: Vec<_> = declared.iter().map(|(name, _)| visible(name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("--variable: {action} has no URI variable {name:?}; it has {names}");
        };
        // An input that is in the URL and can't be one of its variables is described there as text.
        let schema = input.and_then(|input| input.get(name)).unwrap_or(schema);
        let value = if takes_text(schema) { None } else { serde_json::from_str(text).ok() };
        settings = settings.variable(name, value.unwrap_or_else(|| Value::from(text)));
    }
    Ok(settings)
}

/// True if a schema allows texts.
fn takes_text(schema: &Value) -> bool {
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array());
    match (schema.get("type"), alternatives) {
        (Some(Value::Array(kinds)), _) => kinds.iter().any(|kind| kind == "string"),
        (Some(kind), _) => kind == "string",
        (None, Some(alternatives)) => alternatives.iter().any(takes_text),
        (None, None) => true,
    }
}

/// An error about the input names the flag that gives it.
fn with_flag(error: Error) -> anyhow::Error {
    match error {
        Error::InvalidInput { .. } => anyhow!("{error}; --input gives it as JSON"),
        error => error.into(),
    }
}

fn input(text: &str) -> anyhow::Result<Value> {
    let mut read = String::new();
    let text = match text {
        "-" => {
            io::stdin().read_to_string(&mut read)?;
            &read
        }
        text => text,
    };
    serde_json::from_str(text).with_context(|| "--input is not JSON; a text is written in quotes: '\"Bonn\"'")
}
