//! `agentdex events`: prints the events of an agent, or the changes of a property, as they come.

use std::{io::Write, process::ExitCode, time::Duration};

use anyhow::bail;
use clap::Args;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    affordance_input::{UriVariables, input, with_flag},
    agent_name::{id_of, which_of},
    answer_printer::{AnswerPrinter, aside},
    calling::Calling,
    output::visible,
    stop,
    terminal::stdout,
};
use crate::settings::number;
use agentdex_client::RegistryClient;
use agentdex_consumer::{Affordance, Content, Event, Notification};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Event or observable property to print; if omitted, the agent's events are listed
    name: Option<String>,
    /// Input of the subscription as JSON, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    variables: UriVariables,
    /// Stop after this number of events
    #[arg(long, value_name = "NUMBER", value_parser = number::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// Stop after this time; with --count, fail if fewer events arrived
    #[arg(long = "for", value_name = "SECONDS", value_parser = number::<u64>(0..=u64::MAX))]
    duration: Option<u64>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    calling: Calling,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let input = arguments.input.as_deref().map(input).transpose()?;
    let consumer = arguments.calling.consumer_of_answers(client).await?;
    let agent = consumer.agent(&id_of(client, &arguments.id).await?).await?;
    let description = agent.description();
    let Some(name) = &arguments.name else {
        bail!("{}", which_of(&agent, "an event", "events", description.events()));
    };
    let property = Affordance::Property(name.clone());
    let event = Affordance::Event(name.clone());
    let is_property = description.find(&event).is_none() && description.find(&property).is_some();
    let affordance = if is_property { property } else { event };
    let agent = agent.update(arguments.variables.settings(&agent, &affordance)?);
    let stopped = stop::signal()?;
    let subscription = async {
        match is_property {
            true if input.is_some() => {
                bail!("--input: {name:?} is a property; observing it takes no input")
            }
            true => Ok(agent.observe(name).await?),
            false => agent.subscribe(name, input).await.map_err(with_flag),
        }
    };
    let until = async {
        match arguments.duration {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    let mut printed = 0;
    let printing = async {
        let mut events = subscription.await?;
        while let Some(event) = events.next().await {
            match event? {
                Event::Notification(notification) => print(&notification, arguments.json)?,
                Event::InputRequired(question) => {
                    aside(&question.message)?;
                    return Ok(ExitCode::from(2));
                }
                event => {
                    let mut printer = AnswerPrinter::default();
                    printer.event(&event)?;
                    printer.close()?;
                    continue;
                }
            }
            printed += 1;
            if arguments.count == Some(printed) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        bail!("the agent has ended the subscription")
    };
    tokio::select! {
        code = printing => return code,
        () = stopped => return Ok(ExitCode::SUCCESS),
        () = until => {}
    }
    match arguments.count {
        Some(count) => bail!("only {printed} of {count} events arrived"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Prints a notification on one line.
fn print(Notification { name, data, media, .. }: &Notification, is_json: bool) -> anyhow::Result<()> {
    let line = match (is_json, data, media) {
        (true, data, None) => json!({"event": name, "data": data}).to_string(),
        (true, data, Some(media)) => json!({"event": name, "data": data, "media": media}).to_string(),
        (false, Value::String(text), _) => visible(text).into_owned(),
        (false, Value::Null, Some(media)) => {
            let kind = visible(media.media_type.as_deref().unwrap_or("content"));
            match &media.content {
                Content::Url(url) => format!("[{kind} at {}]", visible(url)),
                Content::Bytes(bytes) => format!("[{kind} of {} bytes]", bytes.len()),
            }
        }
        (false, data, _) => data.to_string(),
    };
    let mut out = stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
