//! Commands that call agents: what they share.

use std::{
    io::{self, Write},
    time::Duration,
};

use clap::Args;

use super::output::visible;
use agentdex::fetch::{self, AllowList};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Artifact, Consumer, Content, Event, Message, Part, PassTrace, ReadSacp, Settings};

#[derive(Debug, Args)]
pub(super) struct Calling {
    /// Network, address or host of agents that may be called although it isn't public, such as 127.0.0.1:9000; can be
    /// repeated
    #[arg(long, env = "AGENTDEX_ALLOW_FETCH", value_delimiter = ',', value_name = "CIDR|HOST[:PORT]")]
    allow_fetch: Vec<String>,
    /// How many seconds a call may take in all
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    timeout: u64,
    /// The only binding to use: a2a, http, mcp, mqtt, lmos-websocket
    #[arg(long, value_name = "NAME")]
    binding: Option<String>,
}

impl Calling {
    /// A consumer whose agents' answers are read for people.
    pub(super) fn consumer(&self, client: &RegistryClient) -> anyhow::Result<Consumer> {
        Ok(self.consumer_of_answers(client)?.with_middleware(ReadSacp))
    }

    /// A consumer that leaves answers as they are.
    pub(super) fn consumer_of_answers(&self, client: &RegistryClient) -> anyhow::Result<Consumer> {
        // A variable that is set to nothing allows nothing.
        let allowed = AllowList::parse(self.allow_fetch.iter().filter(|entry| !entry.is_empty()))?;
        let options = fetch::Options::default().allowed(allowed);
        let mut settings = Settings::new().timeout(Duration::from_secs(self.timeout));
        if let Some(name) = &self.binding {
            settings = settings.binding(name);
        }
        let consumer = Consumer::with_options(client.clone(), options)?;
        Ok(consumer.with_settings(settings).with_middleware(PassTrace))
    }
}

/// A message as a terminal shows it.
pub(super) fn shown(message: &Message) -> String {
    let mut lines = Vec::new();
    parts_shown(&message.parts, &mut lines);
    lines.join("\n")
}

fn parts_shown(parts: &[Part], lines: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Text { text } | Part::SystemPrompt { text } => lines.push(lines_visible(text)),
            Part::Data { data } => lines.push(lines_visible(&serde_json::to_string_pretty(data).unwrap_or_default())),
            Part::Artifact(Artifact { id, name, parts, .. }) => {
                lines.push(format!("[{}]", visible(name.as_deref().unwrap_or(id))));
                parts_shown(parts, lines);
            }
            // For people who debug agents; `--json` has all of it.
            Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => {}
            part => lines.extend(part.media().map(|media| {
                let kind = media.media_type.as_deref().unwrap_or("content");
                match &media.content {
                    Content::Url(url) => format!("[{} at {}]", visible(kind), visible(url)),
                    Content::Bytes(bytes) => format!("[{} of {} bytes]", visible(kind), bytes.len()),
                }
            })),
        }
    }
}

/// A text of several lines of which a terminal shows all and obeys nothing.
pub(super) fn lines_visible(text: &str) -> String {
    text.lines().map(|line| visible(&line.replace('\t', "    ")).into_owned()).collect::<Vec<_>>().join("\n")
}

/// Prints an event as it comes. Says whether it left the line open.
pub(super) fn print_event(event: &Event) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match event {
        Event::Text(text) => {
            write!(out, "{}", lines_visible(text))?;
            out.flush()?;
            return Ok(true);
        }
        Event::Data(data) => {
            writeln!(out, "{}", lines_visible(&serde_json::to_string_pretty(data).unwrap_or_default()))?
        }
        Event::Artifact(artifact) => {
            let mut lines = Vec::new();
            parts_shown(&artifact.parts, &mut lines);
            let name = visible(artifact.name.as_deref().unwrap_or(&artifact.id)).into_owned();
            writeln!(out, "[{name}] {}", lines.join("\n"))?;
        }
        Event::Media(part) => {
            let mut lines = Vec::new();
            parts_shown(std::slice::from_ref(part), &mut lines);
            writeln!(out, "{}", lines.join("\n"))?;
        }
        Event::Status(status) => {
            let said = status.message.as_ref().map(shown).filter(|said| !said.is_empty());
            writeln!(
                io::stderr(),
                "({}{})",
                status.state.name(),
                said.map(|said| format!(": {said}")).unwrap_or_default()
            )?;
        }
        Event::Notification(notification) => writeln!(out, "{}", notification.data)?,
        // Endings are printed by the caller; thoughts and tool calls are not shown.
        _ => {}
    }
    Ok(false)
}
