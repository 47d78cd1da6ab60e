//! `agentdex watch`: prints what changes, as it changes.

use std::{
    collections::HashMap,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    excluded_words::word,
    moments,
    output::{self, Style, complain, red_on_stderr, visible},
    terminal::stdout,
};
use agentdex::registry::MatchKind;
use agentdex_client::{Event, EventFilter, RegistryClient, api::Mode};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only agents that match this query, in the syntax of `agentdex search`. Agents that start or stop matching are
    /// reported as well
    #[arg(value_name = "WORD", value_parser = word)]
    words: Vec<String>,
    /// Match by words only
    #[arg(long, conflicts_with = "semantic")]
    lexical: bool,
    /// Match by meaning only
    #[arg(long)]
    semantic: bool,
    /// Only this kind of change: created, updated, or removed; with a query, also matched or unmatched
    #[arg(long = "type", value_name = "KIND", value_parser = kind)]
    type_: Option<MatchKind>,
    /// Only agents that have or had this capability (its id, or its name if it has no id)
    #[arg(long, value_name = "CAPABILITY")]
    capability: Option<String>,
    /// Start after the event with this id instead of now
    #[arg(long, value_name = "EVENT-ID")]
    since: Option<String>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

fn kind(name: &str) -> Result<MatchKind, String> {
    let name = if name == "removed" { "deleted" } else { name };
    let full = if name.starts_with("thing_") { name.to_owned() } else { format!("thing_{name}") };
    MatchKind::from_name(&full)
        .ok_or_else(|| "expected `created`, `updated`, `removed`, `matched`, or `unmatched`".into())
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let query = Some(arguments.words.join(" ")).filter(|query| !query.trim().is_empty());
    let filter = EventFilter {
        kind: arguments.type_,
        capability: arguments.capability.clone(),
        query,
        mode: match (arguments.lexical, arguments.semantic) {
            (true, _) => Some(Mode::Lexical),
            (_, true) => Some(Mode::Semantic),
            _ => None,
        },
        diff: true,
        ..EventFilter::default()
    };
    follow(client, filter, arguments.since.clone(), arguments.json).await
}

/// Prints the events of a filter until the process is stopped.
pub(super) async fn follow(
    client: &RegistryClient,
    filter: EventFilter,
    since: Option<String>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut events = client.subscribe(filter, since);
    // What never answered is more likely a wrong address than a registry that restarts.
    events.connect().await?;
    if io::stderr().is_terminal() {
        complain(&format!("watching {}; press Ctrl-C to stop", client.url()));
    }
    let mut titles = Titles::default();
    let mut interrupted = false;
    loop {
        let event = match events.connect().await {
            Ok(()) => {
                if std::mem::take(&mut interrupted) {
                    complain(match events.start() {
                        Some(_) => "reconnected; nothing was missed",
                        // The first event says so as well.
                        None => "reconnected, but some changes were missed; `agentdex list` shows the current agents",
                    });
                }
                events.next().await
            }
            Err(error) => Err(error),
        };
        match event {
            Ok(event) if as_json => print_json(&event)?,
            Ok(event) => titles.print(client, &event).await?,
            Err(error) if error.is_transient() => {
                if !std::mem::replace(&mut interrupted, true) {
                    complain(&format!("{} {error}; trying again", red_on_stderr("interrupted:")));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn data(event: &Event) -> Value {
    serde_json::from_str(&event.data).unwrap_or_else(|_| event.data.as_str().into())
}

fn print_json(event: &Event) -> anyhow::Result<()> {
    let mut line = json!({"event": event.id, "type": event.kind, "data": data(event)});
    if let Some(at) = event.at {
        line["time"] = at.to_string().into();
    }
    if let Some(reason) = &event.reason {
        line["reason"] = reason.as_str().into();
    }
    let mut out = stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Titles of agents by their ids: an event has the title only where that changed.
#[derive(Default)]
struct Titles(HashMap<String, String>);

/// The most titles that are remembered.
const MAX_TITLES: usize = 10_000;

impl Titles {
    async fn print(&mut self, client: &RegistryClient, event: &Event) -> anyhow::Result<()> {
        let style = Style::stdout();
        let data = data(event);
        let text = |member: &str| data.get(member).and_then(Value::as_str);
        let id = text("id").unwrap_or_default();
        let kind = match event.kind.as_str() {
            "thing_created" => style.green("created"),
            "thing_updated" => style.yellow("updated"),
            "thing_deleted" => style.red("removed"),
            "thing_matched" => style.green("matched"),
            "thing_unmatched" => style.red("unmatched"),
            other => visible(other).into_owned(),
        };
        let title = match text("title") {
            Some(title) => Some(title.to_owned()),
            None => self.find(client, id, event.kind == "thing_deleted").await,
        };
        let time = event.at.map(moments::shown_as_time).unwrap_or_default();
        // Without another reason, somebody removed it.
        let reason = event.reason.as_deref().filter(|reason| *reason != "removed");
        let reason = reason.map(|reason| format!(" ({})", visible(reason))).unwrap_or_default();
        // Ids stay whole, so that they can be copied: in a line that is too long, the title gets shorter.
        let word = event.kind.trim_start_matches("thing_");
        let others: usize = [&time, word, &reason, id].iter().map(|text| text.chars().count()).sum();
        let room = output::columns().map_or(usize::MAX, |columns| columns.saturating_sub(others + 3));
        let title_shown = visible(title.as_deref().unwrap_or_default());
        let mut line = format!("{}{kind}{reason} {}", style.dim(&time), style.bold(id));
        if !title_shown.is_empty() {
            line = format!("{line} {}", output::shorten(&title_shown, room));
        }
        let mut out = stdout();
        writeln!(out, "{line}")?;
        out.flush()?;
        if self.0.len() < MAX_TITLES
            && let Some(title) = title
        {
            self.0.insert(id.to_owned(), title);
        }
        Ok(())
    }

    /// The title that an agent had, or has; an error here is none of the events'.
    async fn find(&mut self, client: &RegistryClient, id: &str, is_gone: bool) -> Option<String> {
        if let Some(title) = self.0.remove(id) {
            return Some(title);
        }
        if is_gone || id.is_empty() {
            return None;
        }
        let thing: Value = serde_json::from_str(&client.find(id).await.ok()??).ok()?;
        thing.get("title").and_then(Value::as_str).map(str::to_owned)
    }
}
