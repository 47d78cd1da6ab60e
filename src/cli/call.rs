//! `agentdex call`: invokes one action of an agent with data.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    affordance_input::{UriVariables, input, with_flag},
    agent_name::id_of,
    answer_printer::{AnswerPrinter, aside_of_data, exit_of, report_coercions},
    calling::Calling,
    output::{print_json, visible},
    terminal::stdout,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Affordance, Agent, Event, Reply, Settings, State};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Action to call; if omitted, the agent's actions are listed
    action: Option<String>,
    /// Input as JSON, or - for standard input. A member with the name of a variable in the URL sets this variable, and
    /// takes precedence over --variable
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    variables: UriVariables,
    /// Don't ask for confirmation, even if the action requires it
    #[arg(long)]
    yes: bool,
    /// Print the answer as it arrives
    #[arg(long, conflicts_with = "json")]
    stream: bool,
    /// Print the state, the message, and the data of the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calling: Calling,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let input = arguments.input.as_deref().map(input).transpose()?;
    let consumer = arguments.calling.consumer(client).await?;
    let agent = consumer.agent(&id_of(client, &arguments.id).await?).await?;
    let Some(action) = &arguments.action else { bail!("{}", which_action(&agent)) };
    let agent = agent.update(arguments.variables.settings(&agent, &Affordance::Action(action.clone()))?);
    let agent = agent.update(Settings::new().confirmed(arguments.yes || is_confirmed(&agent, action)?));
    let outcome = match arguments.stream {
        true => stream(&agent, action, input).await,
        false => agent.invoke(action, input).await.map_err(with_flag).and_then(|reply| match arguments.json {
            true => print_answer(&reply),
            false => print(reply),
        }),
    };
    consumer.close().await;
    outcome
}

async fn stream(agent: &Agent, action: &str, input: Option<Value>) -> anyhow::Result<ExitCode> {
    let mut exchange = agent.call_streaming(action, input).await.map_err(with_flag)?;
    let mut printer = AnswerPrinter::default();
    let mut code = ExitCode::SUCCESS;
    while let Some(event) = exchange.events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                printer.close()?;
                return Err(error.into());
            }
        };
        printer.event(&event)?;
        if let Event::Done(reply) | Event::InputRequired(reply) = &event {
            code = exit_of(reply.state);
        }
    }
    Ok(code)
}

/// Prints an answer as JSON.
fn print_answer(reply: &Reply) -> anyhow::Result<ExitCode> {
    report_coercions(&reply.repairs);
    let mut answer = json!({"state": reply.state.name(), "message": reply.message});
    let data: Vec<&Value> = reply.message.all_data().collect();
    match data.as_slice() {
        [] => {}
        [data] => answer["data"] = (*data).clone(),
        several => answer["data"] = json!(several),
    }
    print_json(&answer)?;
    Ok(exit_of(reply.state))
}

/// Prints the data of an answer on standard output, for programs, and what the agent says beside them on standard error.
fn print(reply: Reply) -> anyhow::Result<ExitCode> {
    let state = reply.state;
    let data = reply.message.all_data().map(serde_json::to_string_pretty).collect::<Result<Vec<_>, _>>()?;
    if data.is_empty() || state != State::Completed {
        AnswerPrinter::default().reply(reply)?;
        return Ok(exit_of(state));
    }
    report_coercions(&reply.repairs);
    writeln!(stdout(), "{}", data.join("\n"))?;
    aside_of_data(&reply.message)?;
    Ok(exit_of(state))
}

/// Asks whether an action is to be called that requires confirmation, in the words of a Flow.
fn is_confirmed(agent: &Agent, action: &str) -> anyhow::Result<bool> {
    if !agent.description().requires_confirmation(&Affordance::Action(action.to_owned())) {
        return Ok(false);
    }
    if !io::stdin().is_terminal() {
        bail!("{} requires confirmation, but standard input is not a terminal; use --yes", visible(action));
    }
    write!(io::stderr(), "Call the tool {:?}? (yes or no) ", visible(action))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "yes" | "y" | "Yes" => Ok(true),
        _ => bail!("the call to {} was not confirmed", visible(action)),
    }
}

/// The question which action is meant, with those that the agent has.
fn which_action(agent: &Agent) -> String {
    let actions: Vec<_> = agent.description().actions().map(visible).collect();
    match actions.as_slice() {
        [] => match agent.description().instructions() {
            Some(instructions) => format!("{} has no actions: {}", visible(agent.title()), visible(&instructions)),
            None => format!("{} has no actions; `agentdex get {}` prints its description", agent.title(), agent.id()),
        },
        actions => format!("specify an action of {}: {}", visible(agent.id()), actions.join(", ")),
    }
}
