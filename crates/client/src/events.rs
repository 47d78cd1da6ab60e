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

/// Filter of an event stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Kind of the events, or `None` for all kinds.
    pub kind: Option<MatchKind>,
    /// Key of a capability that the Things have or had before the change, or `None` for all Things.
    pub capability: Option<String>,
    /// Query as in `GET /search`, or `None` for all Things. A Thing that starts or stops matching causes
    /// `thing_matched` or `thing_unmatched`.
    pub query: Option<String>,
    /// Search mode of the query; `None` combines words and meaning.
    pub mode: Option<Mode>,
    /// Name of a saved query. If it is set, `kind`, `capability`, `query`, and `mode` are ignored.
    pub saved_query: Option<QueryName>,
    /// True to include the Thing Description in events of creations, and the merge patch in events of updates.
    pub diff: bool,
}

/// An event received by [`RegistryClient::subscribe`], [`RegistryClient::subscribe_to_agent`], or
/// [`RegistryClient::subscribe_to_decisions`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Position of a registry's event, `<epoch>-<seq>`, from which a subscription can resume; number of a guardian's
    /// decision. Empty for events of agents.
    pub id: String,
    /// Kind of a registry's event: `thing_created`, `thing_updated`, `thing_deleted`, or `resync`; with a query also
    /// `thing_matched` and `thing_unmatched`. For a guardian's decision, `decision`. For events of agents, empty or
    /// `error`. Subscriptions to decisions also contain `missed` if the client was too slow to receive all decisions.
    pub kind: String,
    /// Data as JSON. For a change of a Thing, an object with at least its `id`.
    pub data: String,
    /// Time at which the change was committed, or `None` for other events.
    pub at: Option<Timestamp>,
    /// Reason for a deletion: `removed`, `expired`, or `source-gone`.
    pub reason: Option<String>,
}

/// A subscription to events, created by [`RegistryClient::subscribe`] or [`RegistryClient::subscribe_to_agent`].
pub struct Events {
    client: RegistryClient,
    path: String,
    parameters: Vec<(String, String)>,
    last_id: Option<String>,
    pause: Duration,
    attempted: bool,
    /// The position that the connection starts after.
    start: Option<String>,
    connection: Option<Connection>,
}

struct Connection {
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Vec<u8>>> + Send>>,
    parser: Parser,
}

impl RegistryClient {
    /// Subscribes to future events, or to all events after the event with the id `since`. After a lost connection, the
    /// subscription resumes after the last event. If the changes after that event are no longer available, it continues
    /// with a `resync` event. [`Events::stream`] converts the subscription to a stream.
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
        Events {
            client,
            path,
            parameters,
            last_id: after,
            pause: FIRST_PAUSE,
            attempted: false,
            start: None,
            connection: None,
        }
    }

    /// Returns the next event. After a [transient](Error::is_transient) error, call it again: it waits, reconnects,
    /// and resumes after the last event.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if the connection failed, [`Error::Refused`].
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

    /// Converts the subscription to an endless stream, which reconnects and resumes after the last event by itself. It
    /// ends only with an error that another attempt can't fix.
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

    /// Connects immediately, instead of at the next call of [`Events::next`]. Does nothing if connected.
    ///
    /// # Errors
    /// Same as [`Events::next`].
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
        let start = response.headers().get("last-event-id").and_then(|id| id.to_str().ok());
        self.start = start.map(str::to_owned);
        if self.last_id.is_none() {
            // A connection that breaks before the first event resumes there.
            self.last_id.clone_from(&self.start);
        }
        let body = Box::pin(response.bytes_stream().map(|bytes| bytes.map(|bytes| bytes.to_vec())));
        self.connection = Some(Connection { body, parser: Parser::default() });
        Ok(())
    }

    /// Returns the position after which the current connection started. Returns `None` before the first connection, and
    /// for events of agents. Also returns `None` if the position to resume from is no longer available, or belongs to
    /// another registry; events may then be missing, and the first event is `resync`.
    pub fn start(&self) -> Option<&str> {
        self.start.as_deref()
    }

    fn broke(&mut self, source: Option<reqwest::Error>) -> Error {
        // All events have been returned by now; an id may also have come without one.
        let last_id = self.connection.take().and_then(|connection| connection.parser.into_position());
        self.last_id = last_id.or(self.last_id.take());
        let url = self.client.url().to_owned();
        match source {
            Some(source) => Error::unreachable(url, source),
            None => {
                let reason = "the connection was closed".to_owned();
                Error::Unreachable { url, source: reason.clone().into(), reason }
            }
        }
    }
}
