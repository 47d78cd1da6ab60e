//! `agentdex call`: invokes one action of an agent with data.

use std::{io::Write, process::ExitCode};

use anyhow::bail;
use clap::Args;
use futures_util::StreamExt;

use super::{
    affordance_input::{UriVariables, input, with_flag},
    agent_name::id_of,
    calling::{Calling, print_event, shown},
    output::visible,
    terminal::stdout,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Affordance, Agent};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Its id, or its title if no other agent has it
    id: String,
    /// The action; without it those that there are
    action: Option<String>,
    /// Input; - for standard input. Members that are URI variables of the action go into the URL
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    variables: UriVariables,
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
    let agent = agent.update(arguments.variables.settings(&agent, &Affordance::Action(action.clone()))?);
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
