//! `agentdex call`: invokes one action of an agent with data.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use futures_util::StreamExt;
use serde_json::Value;

use super::calling::{Calling, print_event, shown};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The agent
    #[arg(value_name = "ID")]
    id: String,
    /// The action
    #[arg(value_name = "ACTION")]
    action: String,
    /// What goes in; - for standard input. Members that are URI variables of the action go into the URL
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Print what comes in pieces, as it comes
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    calling: Calling,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let input = arguments.input.as_deref().map(input).transpose()?;
    let consumer = arguments.calling.consumer(client).await?;
    let agent = consumer.agent(&arguments.id).await?;
    if arguments.stream {
        let mut exchange = agent.call_streaming(&arguments.action, input).await?;
        while let Some(event) = exchange.events.next().await {
            if print_event(&event?)? {
                writeln!(io::stdout())?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let reply = agent.call(&arguments.action, input).await?;
    let text = match reply.message.data() {
        Some(data) => serde_json::to_string_pretty(data)?,
        None => shown(&reply.message),
    };
    writeln!(io::stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
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
