//! Commands that call agents: what they share.

use std::{
    io::{self, Write},
    net::SocketAddr,
    time::Duration,
};

use clap::Args;

use super::output::{complain, visible};
use super::terminal::stdout;
use agentdex::fetch::{self, AllowList};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Artifact, Consumer, Content, Event, Message, Part, PassTrace, Repair, Sacp, Settings};

/// Stands on standard error for an answer without content.
pub(super) const NO_ANSWER: &str = "(no answer)";

#[derive(Debug, Args)]
pub(super) struct Calling {
    /// Network, address or host of agents that may be called although it isn't public, such as 127.0.0.1:9000; can be
    /// repeated
    #[arg(long, env = "AGENTDEX_ALLOW_FETCH", value_delimiter = ',', value_name = "CIDR|HOST[:PORT]")]
    allow_fetch: Vec<String>,
    /// Maximum time of a call in seconds
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    timeout: u64,
    /// The only binding to use: a2a, http, mcp, mqtt, lmos-websocket
    #[arg(long, value_name = "NAME")]
    binding: Option<String>,
}

impl Calling {
    /// A consumer whose agents' answers are read for people.
    pub(super) async fn consumer(&self, client: &RegistryClient) -> anyhow::Result<Consumer> {
        let consumer = self.consumer_of_answers(client).await?;
        Ok(consumer.with_settings(Settings::new().answers(Sacp::Allowed)))
    }

    /// A consumer that leaves answers as they are.
    pub(super) async fn consumer_of_answers(&self, client: &RegistryClient) -> anyhow::Result<Consumer> {
        // A variable that is set to nothing allows nothing.
        let allowed = AllowList::parse(self.allow_fetch.iter().filter(|entry| !entry.is_empty()))?;
        let allowed = match agents_of_demo(client).await? {
            Some(own) => allowed.and(own),
            None => allowed,
        };
        let options = fetch::Options::default().allowed(allowed);
        let mut settings = Settings::new().timeout(Duration::from_secs(self.timeout));
        if let Some(name) = &self.binding {
            settings = settings.binding(name);
        }
        let consumer = Consumer::with_options(client.clone(), options)?;
        Ok(consumer.with_settings(settings).with_middleware(PassTrace))
    }
}

/// The address of the registry, if agents there may be called: it is on loopback, and says that it is a demo. A registry
/// elsewhere could talk its clients into calling their own machines.
async fn agents_of_demo(client: &RegistryClient) -> anyhow::Result<Option<AllowList>> {
    let Some(address) = loopback_address(client.url()) else { return Ok(None) };
    // What can't be reached is reported by the command.
    if !client.clone().attempts(1).about().await.is_ok_and(|about| about.demo) {
        return Ok(None);
    }
    complain(&format!("calling agents at {address}: the registry is on this machine, and is a demo"));
    Ok(Some(AllowList::parse([address.to_string()])?))
}

/// The address in a URL, if it is on loopback.
fn loopback_address(url: &str) -> Option<SocketAddr> {
    let authority = url.strip_prefix("http://")?.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let address = match authority.strip_prefix("localhost") {
        Some(port) => format!("127.0.0.1{port}"),
        None => authority.to_owned(),
    };
    let address = address.parse().or_else(|_| format!("{address}:80").parse()).ok();
    address.filter(|address: &SocketAddr| address.ip().is_loopback())
}

/// A message as a terminal shows it.
pub(super) fn shown(message: &Message) -> String {
    let mut lines = Vec::new();
    parts_shown(&message.parts, &mut lines);
    lines.join("\n")
}

/// Prints an answer, or says that there is none.
pub(super) fn print_answer(text: &str) -> io::Result<()> {
    match text {
        "" => complain(NO_ANSWER),
        text => writeln!(stdout(), "{text}")?,
    }
    Ok(())
}

/// Reports values of an answer that are not as the agent wrote them. Repairs of its form change no value.
pub(super) fn report_coercions(repairs: &[Repair]) {
    for repair in repairs.iter().filter(|repair| repair.rule == "sacp/coerced") {
        complain(&format!("({})", visible(&repair.to_string())));
    }
}

/// True if an event of a stream shows something of the answer.
pub(super) fn shows_answer(event: &Event) -> bool {
    matches!(event, Event::Text(_) | Event::Data(_) | Event::Artifact(_) | Event::Media(_) | Event::Notification(_))
}

fn parts_shown(parts: &[Part], lines: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Text { text } | Part::SystemPrompt { text } => lines.push(lines_visible(text)),
            Part::Data { data } => lines.push(lines_visible(&serde_json::to_string_pretty(data).unwrap_or_default())),
            Part::Artifact(Artifact { id, name, parts, .. }) => {
                lines.push(format!("[{}]", visible(name.as_deref().unwrap_or(id))));
                parts_shown(&joined_texts(parts), lines);
            }
            // For people who debug agents; `--json` has all of it.
            Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => {}
            part => lines.extend(part.media().map(|media| {
                let kind = media.media_type.as_deref().unwrap_or("content");
                match (&media.content, media.text()) {
                    (_, Some(text)) => lines_visible(text),
                    (Content::Url(url), None) => format!("[{} at {}]", visible(kind), visible(url)),
                    (Content::Bytes(bytes), None) => format!("[{} of {} bytes]", visible(kind), bytes.len()),
                }
            })),
        }
    }
}

/// The parts of an artifact, in which texts that follow each other are one.
fn joined_texts(parts: &[Part]) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Text { text: before }), Part::Text { text }) => before.push_str(text),
            _ => joined.push(part.clone()),
        }
    }
    joined
}

/// A text of several lines of which a terminal shows all and obeys nothing.
pub(super) fn lines_visible(text: &str) -> String {
    text.lines().map(|line| visible(&line.replace('\t', "    ")).into_owned()).collect::<Vec<_>>().join("\n")
}

/// Prints an event as it comes. Says whether it left the line open.
pub(super) fn print_event(event: &Event) -> io::Result<bool> {
    let mut out = stdout();
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
            parts_shown(&joined_texts(&artifact.parts), &mut lines);
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
            complain(&format!("({}{})", status.state.name(), said.map(|said| format!(": {said}")).unwrap_or_default()));
        }
        Event::Notification(notification) => writeln!(out, "{}", notification.data)?,
        // Endings are printed by the caller; thoughts and tool calls are not shown.
        _ => {}
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use agentdex_consumer::Media;

    use super::*;

    #[test]
    fn embedded_text_is_shown_as_text() {
        for (media_type, bytes, expected) in [
            ("text/plain", "tide\u{1b} table", "tide\u{fffd} table"),
            ("text/markdown; charset=utf-8", "# Tides", "# Tides"),
            ("application/json", "[1]", "[1]"),
            ("application/ld+json", "{}", "{}"),
            ("image/svg+xml", "<svg/>", "<svg/>"),
            ("application/pdf", "%PDF", "[application/pdf of 4 bytes]"),
        ] {
            let part = Part::of_media(Media::bytes(media_type, bytes));
            assert_eq!(shown(&Message::agent([part])), expected, "{media_type}");
        }
        let latin = Part::of_media(Media::bytes("text/plain", [b'a', 0xe9]));
        assert_eq!(shown(&Message::agent([latin])), "[text/plain of 2 bytes]");
    }

    #[test]
    fn only_registries_on_loopback_may_be_demos() {
        let address = |url: &str| loopback_address(url).map(|address| address.to_string());
        for (url, expected) in [
            ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
            ("http://localhost:8080", "127.0.0.1:8080"),
            ("http://user:password@127.0.0.1:9/registry/", "127.0.0.1:9"),
            ("http://[::1]:8080/", "[::1]:8080"),
            ("http://127.0.0.2/", "127.0.0.2:80"),
        ] {
            assert_eq!(address(url).as_deref(), Some(expected), "{url}");
        }
        for url in [
            "http://192.0.2.1:8080/",
            "http://localhost.example:8080/",
            "http://127.0.0.1.example:8080/",
            "http://127.0.0.1:8080@registry.example/",
            "https://127.0.0.1:8080/",
            "http://registry.example/?127.0.0.1:8080",
        ] {
            assert_eq!(address(url), None, "{url}");
        }
    }
}
