//! `agentdex watch`: prints what changes, as it changes.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    output::{Style, red_on_stderr, visible},
    remote::{self, Remote},
};
use crate::{
    client::{Event, EventFilter},
    registry::MatchKind,
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only agents that this query finds, as `agentdex search` reads it; also tells when one begins or
    /// ceases to match
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Only this kind: created, updated, deleted, and with a query matched or unmatched
    #[arg(long = "type", value_name = "KIND", value_parser = kind)]
    type_: Option<MatchKind>,
    /// Only agents that have, or had, this capability (its id; its name if it has none)
    #[arg(long, value_name = "CAPABILITY")]
    capability: Option<String>,
    /// Start after this event instead of now
    #[arg(long, value_name = "EVENT-ID")]
    since: Option<String>,
    /// Print one JSON object an event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

fn kind(name: &str) -> Result<MatchKind, String> {
    let full = if name.starts_with("thing_") { name.to_owned() } else { format!("thing_{name}") };
    MatchKind::from_name(&full)
        .ok_or_else(|| "it is one of `created`, `updated`, `deleted`, `matched`, `unmatched`".into())
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let query = Some(arguments.words.join(" ")).filter(|query| !query.trim().is_empty());
    let filter = EventFilter { kind: arguments.type_, capability: arguments.capability.clone(), query, diff: true };
    remote::block_on(async {
        let mut events = client.events(filter, arguments.since.clone());
        // What never answered is more likely a wrong address than a registry that restarts.
        events.connect().await.map_err(remote::explain)?;
        loop {
            match events.next().await {
                Ok(event) => print(&event, arguments.json)?,
                Err(error) if error.is_transient() => {
                    writeln!(io::stderr(), "{} {error}; trying again", red_on_stderr("interrupted:"))?;
                }
                Err(error) => return Err(remote::explain(error)),
            }
        }
    })
}

fn print(event: &Event, as_json: bool) -> anyhow::Result<()> {
    let data: Value = serde_json::from_str(&event.data).unwrap_or_else(|_| event.data.as_str().into());
    let mut out = io::stdout().lock();
    if as_json {
        writeln!(out, "{}", json!({"event": event.id, "type": event.kind, "data": data}))?;
    } else {
        let style = Style::stdout();
        let text = |member: &str| data.get(member).and_then(Value::as_str).unwrap_or_default();
        let kind = match event.kind.as_str() {
            "thing_created" => style.green("created"),
            "thing_updated" => style.yellow("updated"),
            "thing_deleted" => style.red("deleted"),
            "thing_matched" => style.green("matched"),
            "thing_unmatched" => style.red("unmatched"),
            other => other.to_owned(),
        };
        writeln!(out, "{kind} {} {} {}", style.bold(text("id")), visible(text("title")), style.dim(&event.id))?;
    }
    out.flush()?;
    Ok(())
}
