//! The events API: Server-Sent Events with reconnection by `Last-Event-ID`.

use std::{pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt, stream};
use reqwest::Method;

use super::{
    Error, RegistryClient, Result,
    search::{owner_of, query_path},
    sse::{Block, Parser},
};
use crate::api::{MatchKind, Mode, QueryName, Timestamp};

/// The first pause before a reconnection; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The filter of an event stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only this kind; none: all.
    pub kind: Option<MatchKind>,
    /// Only Things that have, or had, the capability with this key; none: all.
    pub capability: Option<String>,
    /// A query as in `GET /search`: only Things that match, with `thing_matched` and `thing_unmatched` where that
    /// changed; none: all.
    pub query: Option<String>,
    /// Search mode of the query; none: words and meaning.
    pub mode: Option<Mode>,
    /// The name of a saved query, in place of all of the above; none: by them.
    pub saved_query: Option<QueryName>,
    /// True if the data carry what was created (the TD) and what was updated (the merge patch).
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
    /// When the change was committed.
    pub at: Option<Timestamp>,
    /// The reason why a Thing is gone: `removed`, `expired` or `source-gone`.
    pub reason: Option<String>,
}

/// Events as they happen; made by [`RegistryClient::subscribe`].
pub struct Events {
    client: RegistryClient,
    path: String,
    parameters: Vec<(String, String)>,
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
    /// The events from now on, or since the event with this id. It reconnects and misses none. [`Events::stream`] makes
    /// it a stream.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_client::EventFilter;
    ///
    /// let filter = EventFilter { capability: Some("tide-table".into()), ..EventFilter::default() };
    /// let mut events = client.subscribe(filter, None);
    /// while let Ok(event) = events.next().await {
    ///     // `event.id` is where another subscription goes on.
    ///     println!("{} {}", event.kind, event.data);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn subscribe(&self, filter: EventFilter, since: Option<String>) -> Events {
        let path = match (&filter.saved_query, filter.kind) {
            (Some(name), _) => format!("{}/events", query_path(name)),
            (None, Some(kind)) => format!("events/{kind}"),
            (None, None) => "events".into(),
        };
        let mut parameters = filter.saved_query.as_ref().map(owner_of).unwrap_or_default();
        if filter.diff {
            parameters.push(("diff", "true"));
        }
        if filter.saved_query.is_none() {
            parameters.extend(filter.capability.as_deref().map(|capability| ("capability", capability)));
            parameters.extend(filter.query.as_deref().map(|query| ("q", query)));
            parameters.extend(filter.mode.map(|mode| ("mode", mode.name())));
        }
        Events::at(self.clone(), path, &parameters, since)
    }
}

impl Events {
    /// The events at a path.
    pub(super) fn at(
        client: RegistryClient,
        path: String,
        parameters: &[(&str, &str)],
        after: Option<String>,
    ) -> Events {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Events { client, path, parameters, last_id: after, pause: FIRST_PAUSE, attempted: false, connection: None }
    }

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
            if let Some(Block { id, kind, data, time, reason }) = connection.parser.next_block() {
                self.pause = FIRST_PAUSE;
                let at = time.as_deref().and_then(Timestamp::parse_rfc3339);
                return Ok(Event { id, kind, data, at, reason });
            }
            match connection.body.next().await {
                Some(Ok(bytes)) => connection.parser.push(&bytes),
                Some(Err(source)) => return Err(self.broke(Some(source))),
                None => return Err(self.broke(None)),
            }
        }
    }

    /// The events as a stream, which never ends: what breaks is connected again, and resumes after the last event. Only
    /// errors that another attempt doesn't help against are in it; they end it.
    pub fn stream(self) -> impl Stream<Item = Result<Event>> + Send {
        stream::unfold(Some(self), |events| async move {
            let mut events = events?;
            loop {
                match events.next().await {
                    Ok(event) => return Some((Ok(event), Some(events))),
                    Err(error) if error.is_transient() => {}
                    Err(error) => return Some((Err(error), None)),
                }
            }
        })
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
        let parameters: Vec<(&str, &str)> =
            self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut request =
            self.client.request(Method::GET, &self.path, &parameters).header("accept", "text/event-stream");
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
        let last_id = self.connection.take().and_then(|connection| connection.parser.into_position());
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
