//! The events API: Server-Sent Events with reconnection by `Last-Event-ID`.

use std::{collections::VecDeque, pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt};
use reqwest::Method;

use super::{Error, RegistryClient, Result};
use crate::registry::MatchKind;

/// The first pause before a reconnection; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Which events are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only this kind; none: all.
    pub kind: Option<MatchKind>,
    /// Only Things that have, or had, the capability with this key; none: all.
    pub capability: Option<String>,
    /// A query as in `GET /search`: only Things that match, with `thing_matched` and `thing_unmatched` where that
    /// changed; none: all.
    pub query: Option<String>,
    /// Whether the data carry what was created (the TD) and what was updated (the merge patch).
    pub diff: bool,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// `<epoch>-<seq>`
    pub id: String,
    /// `thing_created`, `thing_updated`, `thing_deleted`, with a query `thing_matched` and `thing_unmatched`, or `resync`.
    pub kind: String,
    /// JSON with at least the `id` of the Thing.
    pub data: String,
}

/// Events as they happen; made by [`RegistryClient::events`].
pub struct Events {
    client: RegistryClient,
    filter: EventFilter,
    last_id: Option<String>,
    pause: Duration,
    attempted: bool,
    connection: Option<Connection>,
}

struct Connection {
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Vec<u8>>> + Send>>,
    parser: Parser,
}

impl RegistryClient {
    /// The events from now on, or after the event `after`. It reconnects and misses none.
    pub fn events(&self, filter: EventFilter, after: Option<String>) -> Events {
        Events { client: self.clone(), filter, last_id: after, pause: FIRST_PAUSE, attempted: false, connection: None }
    }
}

impl Events {
    /// The next event. An error that [`Error::is_transient`] doesn't end the events: the next call
    /// waits a moment, connects again and resumes after the last event.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when the connection broke or none was made, [`Error::Refused`].
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            let Some(connection) = &mut self.connection else {
                self.connect().await?;
                continue;
            };
            if let Some(event) = connection.parser.events.pop_front() {
                self.pause = FIRST_PAUSE;
                return Ok(event);
            }
            match connection.body.next().await {
                Some(Ok(bytes)) => connection.parser.push(&bytes),
                Some(Err(source)) => return Err(self.broke(Some(source))),
                None => return Err(self.broke(None)),
            }
        }
    }

    /// Connects now rather than with the next call of [`Events::next`]; does nothing while connected.
    ///
    /// # Errors
    /// As [`Events::next`].
    pub async fn connect(&mut self) -> Result<()> {
        if self.connection.is_some() {
            return Ok(());
        }
        if self.attempted {
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        // From now on every attempt but the first is preceded by a pause.
        self.attempted = true;
        let path = match self.filter.kind {
            Some(kind) => format!("events/{kind}"),
            None => "events".into(),
        };
        let mut parameters = Vec::new();
        if self.filter.diff {
            parameters.push(("diff", "true"));
        }
        parameters.extend(self.filter.capability.as_deref().map(|capability| ("capability", capability)));
        parameters.extend(self.filter.query.as_deref().map(|query| ("q", query)));
        let mut request = self.client.request(Method::GET, &path, &parameters).header("accept", "text/event-stream");
        if let Some(id) = &self.last_id {
            request = request.header("last-event-id", id);
        }
        let response = self.client.send(request).await?;
        if self.last_id.is_none() {
            // Where the stream starts: a connection that breaks before the first event resumes there.
            let start = response.headers().get("last-event-id").and_then(|id| id.to_str().ok());
            self.last_id = start.map(str::to_owned);
        }
        let body = Box::pin(response.bytes_stream().map(|bytes| bytes.map(|bytes| bytes.to_vec())));
        self.connection = Some(Connection { body, parser: Parser::default() });
        Ok(())
    }

    fn broke(&mut self, source: Option<reqwest::Error>) -> Error {
        // All events have been returned by now; an id may also have come without one.
        let last_id = self.connection.take().and_then(|connection| connection.parser.taken_id);
        self.last_id = last_id.or(self.last_id.take());
        let url = self.client.url().to_owned();
        match source {
            Some(source) => Error::unreachable(url, source),
            None => {
                let reason = "the registry ended the stream".to_owned();
                Error::Unreachable { url, source: reason.clone().into(), reason }
            }
        }
    }
}

/// Reads an event stream (HTML Living Standard, section 9.2.6) in pieces.
#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    after_return: bool,
    event: Event,
    has_data: bool,
    last_id: String,
    /// The id up to which everything is complete.
    taken_id: Option<String>,
    events: VecDeque<Event>,
}

impl Parser {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    self.end_line(&String::from_utf8_lossy(&line));
                }
                other => {
                    self.after_return = false;
                    self.line.push(*other);
                }
            }
        }
    }

    fn end_line(&mut self, line: &str) {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            self.taken_id = Some(self.last_id.clone()).filter(|id| !id.is_empty());
            if std::mem::take(&mut self.has_data) {
                event.id.clone_from(&self.last_id);
                self.events.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.kind = value.into(),
            "id" => self.last_id = value.into(),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(pieces: &[&str]) -> Vec<Event> {
        let mut parser = Parser::default();
        pieces.iter().for_each(|piece| parser.push(piece.as_bytes()));
        parser.events.into()
    }

    fn event(id: &str, kind: &str, data: &str) -> Event {
        Event { id: id.into(), kind: kind.into(), data: data.into() }
    }

    #[test]
    fn stream_is_read_wherever_it_is_cut() {
        let text = ": hello\n\nid: e-1\nevent: thing_created\ndata: {\"id\":\ndata: \"ä\"}\n\nevent:thing_deleted\r\nid:e-2\r\ndata:{}\r\n\r\n";
        let expected = [event("e-1", "thing_created", "{\"id\":\n\"ä\"}"), event("e-2", "thing_deleted", "{}")];
        assert_eq!(events_of(&[text]), expected);
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            assert_eq!(events_of(&[&text[..cut], &text[cut..]]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn position_without_an_event_is_remembered() {
        let mut parser = Parser::default();
        parser.push(b": alive\nid: e-7\n\nid: e-8\ndata: {}\n");
        assert_eq!(parser.taken_id.as_deref(), Some("e-7"));
        assert!(parser.events.is_empty());
    }

    #[test]
    fn unfinished_event_is_not_returned() {
        assert!(events_of(&["id: e-1\ndata: {}\n"]).is_empty());
        assert!(events_of(&["id: e-1\nevent: thing_created\n\n"]).is_empty());
    }
}
