//! `/events` and `/events/{kind}`: changes as Server-Sent Events (WoT Discovery, section 7.3.2.2).
//!
//! An event stream is a reader of the log: what it sends next is what comes after its position. A
//! client that reconnects with `Last-Event-ID` gets what it missed. Where that can't be served, one
//! `resync` event says so, and the stream continues from the end. Nothing is sent before the first event
//! or heartbeat: some clients take every block for an event. The start position is in a response header.

use std::{collections::VecDeque, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, header::HeaderName},
    web::{Bytes, BytesMut, Data},
};
use futures_util::{Stream, stream};
use serde_json::json;
use tokio::{sync::watch, time::Instant};

use super::{
    blocking::blocking,
    cluster,
    context::Context,
    event_stream::{self, Open},
    feed::{AT_ONCE, encode, encoded},
    listing::Empty,
    parameters::Parameters,
    problem::{Problem, excerpt},
};
use crate::{
    ChangeKind, Position, Registry, Seq,
    registry::{MatchKind, Presence, QueryEvents, QueryParameters, Seen, Since},
    search::{Filters, Mode},
    store::{Logged, LoggedChange},
};

/// Size in bytes at which a chunk is full and is sent.
const CHUNK: usize = 64 * 1024;
/// Time that a client waits before it reconnects, as the `retry` field tells it.
const RETRY: Duration = Duration::from_secs(2);
/// In a request the event to resume after, in a response the position that the stream starts after.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Parameters of all event streams.
const KNOWN: [&str; 6] = ["diff", "q", "mode", "threshold", "format", "last_event_id"];

/// Parameters of the event streams of saved queries.
pub(super) const OF_QUERIES: [&str; 3] = ["owner", "diff", "last_event_id"];

/// Subscribe to changes
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/events",
    operation_id = "subscribe",
    tag = "changes",
    params(
        super::schemas::StreamParameters,
        super::schemas::QueryOfEvents,
        super::schemas::FilterParameters,
        super::schemas::ConditionsOfFilters,
        ("all_format" = Option<Vec<String>>, Query, description = "Values of `format` that must all match"),
        ("not_format" = Option<Vec<String>>, Query, description = "Values of `format` that must not match"),
        ("Last-Event-ID" = Option<String>, Header, description = "Resume after the event with this id"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events. If the position to resume from is no longer available, the first event is `resync`: read `/things` again. `oldest` in its data is the id from which everything in the log can be read", body = String, content_type = "text/event-stream", headers(("Last-Event-ID"))),
        super::schemas::Refusals,
    )
))]
pub(super) async fn all(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    respond(&context, &request, &KNOWN, None).await
}

/// Subscribe to changes of one kind
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/events/{kind}",
    operation_id = "subscribe_to_kind",
    tag = "changes",
    params(
        ("kind" = String, Path, description = "`thing_created`, `thing_updated`, or `thing_deleted`; with a query also `thing_matched` or `thing_unmatched`"),
        super::schemas::StreamParameters,
        super::schemas::QueryOfEvents,
        super::schemas::FilterParameters,
        super::schemas::ConditionsOfFilters,
        ("all_format" = Option<Vec<String>>, Query, description = "Values of `format` that must all match"),
        ("not_format" = Option<Vec<String>>, Query, description = "Values of `format` that must not match"),
        ("unnamed" = Option<bool>, Query, description = "Send events without the `event` field, for clients that receive only unnamed messages, such as WoT consumers"),
        ("Last-Event-ID" = Option<String>, Header, description = "Resume after the event with this id"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events. If the position to resume from is no longer available, the first event is `resync`: read `/things` again. `oldest` in its data is the id from which everything in the log can be read", body = String, content_type = "text/event-stream", headers(("Last-Event-ID"))),
        super::schemas::Refusals,
        (status = 404, description = "There is no such kind of event", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn of_type(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = request.match_info().get("kind").unwrap_or_default();
    let kind = MatchKind::from_name(name).ok_or_else(|| {
        let kinds = MatchKind::ALL.map(MatchKind::as_str).join(", ");
        Problem::unknown_path(request.path())
            .with_detail(format!("unknown kind of event {:?}; kinds are {kinds}", excerpt(name)))
    })?;
    respond(&context, &request, &[&KNOWN[..], &["unnamed"]].concat(), Some(kind)).await
}

/// Answers with the event stream of a saved query: the effects of changes on its matches.
pub(super) async fn of_query(
    context: &Data<Context>,
    request: &HttpRequest,
    query: QueryEvents,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(request, &OF_QUERIES)?;
    let (kind, capabilities, diff, is_unnamed) = (None, Vec::new(), parameters.flag("diff")?, false);
    open(context, request, &parameters, Selected { kind, capabilities, query: Some(query), diff, is_unnamed }).await
}

/// The filter for the changes that a client requests, and their encoding.
struct Selected {
    kind: Option<MatchKind>,
    /// Keys of capabilities before or after the change; none: all.
    capabilities: Vec<String>,
    /// A query, which gives changes another meaning.
    query: Option<QueryEvents>,
    diff: bool,
    is_unnamed: bool,
}

impl Selected {
    /// A change, as the client sees it, as it is sent; none where it isn't asked for.
    fn encoded(&self, change: &LoggedChange) -> crate::Result<Option<Bytes>> {
        let concerns = |selected: &String| change.capability_keys().any(|key| key == selected);
        if !self.capabilities.is_empty() && !self.capabilities.iter().any(concerns) {
            return Ok(None);
        }
        let kind = match &self.query {
            Some(query) => match query.kind(change)? {
                Some(kind) => kind.as_str(),
                None => return Ok(None),
            },
            None => change.kind.as_str(),
        };
        if self.kind.is_some_and(|asked| asked.as_str() != kind) {
            return Ok(None);
        }
        let encoded = encoded(change, self.diff);
        Ok(Some(match self.is_unnamed {
            true => with_name(&encoded, None),
            false if kind != change.kind.as_str() => with_name(&encoded, Some(kind)),
            false => encoded,
        }))
    }
}

/// An encoded event with another `event` field, or without one.
fn with_name(encoded: &Bytes, name: Option<&str>) -> Bytes {
    let mut renamed = BytesMut::with_capacity(encoded.len() + 16);
    for line in encoded.split_inclusive(|byte| *byte == b'\n') {
        match name {
            _ if !line.starts_with(b"event: ") => renamed.extend_from_slice(line),
            Some(name) => renamed.extend_from_slice(format!("event: {name}\n").as_bytes()),
            None => {}
        }
    }
    renamed.freeze()
}

/// An encoded event without its `id` field: not the last one of its position.
fn without_id(encoded: &Bytes) -> Bytes {
    let lines = encoded.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"id: "));
    lines.flatten().copied().collect()
}

/// The start position of a stream.
enum Start {
    After(Seq),
    /// The position that the client gave can't be served.
    Resync,
}

impl Start {
    fn of(context: &Context, given: Option<&str>) -> Start {
        match given.map(|given| given.trim().parse::<Position>()) {
            None => Start::After(context.last_seq()),
            Some(Ok(given)) if given.epoch == context.epoch() => Start::After(given.seq),
            Some(_) => Start::Resync,
        }
    }

    /// Waits until a node of a cluster has reached the start.
    async fn reached(self, context: &Data<Context>, request: &HttpRequest) -> Result<Start, Problem> {
        if let Start::After(seq) = self {
            let position = Position { epoch: context.epoch(), seq };
            cluster::reach(context, request, position, cluster::PATIENCE_OF_STREAMS).await?;
        }
        Ok(self)
    }
}

async fn respond(
    context: &Data<Context>,
    request: &HttpRequest,
    known: &[&str],
    kind: Option<MatchKind>,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse_with_filters(request, known)?;
    let (diff, is_unnamed) = (parameters.flag("diff")?, parameters.flag("unnamed")?);
    let query = QueryParameters {
        q: parameters.text("q").map(str::to_owned).filter(|query| !query.trim().is_empty()),
        mode: parameters.choice("mode", &Mode::ALL.map(|mode| (mode.name(), mode)))?,
        threshold: parameters.share("threshold")?,
        filters: parameters.filters("format")?,
    };
    let of_capabilities = QueryParameters {
        filters: Filters { capability: query.filters.capability.clone(), ..Filters::default() },
        ..QueryParameters::default()
    };
    let mut selected = Selected { kind, capabilities: Vec::new(), query: None, diff, is_unnamed };
    let is_ranged = query.filters.capability.iter().any(|capability| capability.contains('@'));
    if query == of_capabilities && !is_ranged {
        // Changes have the keys of capabilities themselves.
        selected.capabilities = query.filters.capability;
    } else {
        let registry = context.registry(request);
        selected.query = Some(blocking(move || registry.watch_query(&query)).await?);
    }
    let is_of_queries = kind.is_some_and(|kind| ChangeKind::from_name(kind.as_str()).is_none());
    if is_of_queries && selected.query.is_none() {
        let detail = "events of this kind require a query; give `q`, a filter other than `capability`, or a \
            `capability` with a version range, such as forecast@^1";
        return Err(Problem::invalid_parameter("q", detail));
    }
    open(context, request, &parameters, selected).await
}

async fn open(
    context: &Data<Context>,
    request: &HttpRequest,
    parameters: &Parameters,
    selected: Selected,
) -> Result<HttpResponse, Problem> {
    let last_event_id = request.headers().get(LAST_EVENT_ID).map(|id| String::from_utf8_lossy(id.as_bytes()));
    let given = last_event_id.as_deref().or_else(|| parameters.text("last_event_id")).filter(|id| !id.is_empty());
    let start = match Start::of(context, given).reached(context, request).await? {
        Start::After(seq) if selected.query.as_ref().is_some_and(|query| !query.is_known_after(seq)) => Start::Resync,
        start => start,
    };
    let mut response = event_stream::head();
    if let Start::After(seq) = start {
        let position = Position { epoch: context.epoch(), seq };
        response.insert_header((LAST_EVENT_ID, position.to_string()));
    }
    if *request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let open = Open::new(context, request)?;
    Ok(response.streaming(Subscription::new(context, context.registry(request), selected, start, open).into_stream()))
}

/// An event stream that is open.
struct Subscription {
    /// As the client sees it.
    registry: Registry,
    durable: watch::Receiver<Seq>,
    /// Moves whenever queries were compared with further changes; none where there is no query.
    compared: Option<watch::Receiver<u64>>,
    selected: Selected,
    position: Seq,
    presence: Presence,
    /// True if anything was sent: the first block carries the `retry` field.
    has_begun: bool,
    /// Chunks to send before everything else.
    pending: VecDeque<Bytes>,
    /// The entry after the position, as far as it isn't sent yet.
    current: Option<Current>,
    /// The entries after that, as far as they were read.
    ahead: VecDeque<Logged>,
    open: Open,
}

/// An entry of the log that is being sent.
struct Current {
    seq: Seq,
    seen: Seen,
    /// The last event that was encoded: only with the last of all the position is reached.
    held: Option<Bytes>,
}

impl Subscription {
    fn new(context: &Data<Context>, registry: Registry, selected: Selected, start: Start, open: Open) -> Subscription {
        let last = context.last_seq();
        let resumed = if let Start::After(seq) = start { seq } else { last };
        let mut subscription = Subscription {
            registry,
            durable: context.durable(),
            compared: selected.query.as_ref().map(QueryEvents::progress),
            selected,
            position: resumed,
            presence: Presence::new(resumed, last),
            has_begun: false,
            pending: VecDeque::new(),
            current: None,
            ahead: VecDeque::new(),
            open,
        };
        if matches!(start, Start::Resync) {
            subscription.resync();
        }
        subscription
    }

    fn into_stream(self) -> impl Stream<Item = crate::Result<Bytes>> {
        stream::try_unfold(self, |mut subscription| async move {
            Ok(subscription.next().await?.map(|chunk| (chunk, subscription)))
        })
    }

    /// The next chunk; none once the server stops, or the client no longer sees the saved query.
    async fn next(&mut self) -> crate::Result<Option<Bytes>> {
        let silent_until = Instant::now() + self.open.heartbeat;
        loop {
            if self.selected.query.as_ref().is_some_and(|query| !query.is_seen()) {
                return Ok(None);
            }
            let chunk = match self.pending.pop_front() {
                Some(chunk) => Some(chunk),
                None => self.take_in()?,
            };
            if let Some(chunk) = chunk {
                return Ok(Some(if std::mem::replace(&mut self.has_begun, true) { chunk } else { first(&chunk) }));
            }
            self.durable.borrow_and_update();
            if let Some(compared) = &mut self.compared {
                compared.borrow_and_update();
            }
            if !self.read().await? {
                let is_ahead = !self.ahead.is_empty();
                tokio::select! {
                    // What is durable when the server stops is still sent, unless a query has to be compared with it first.
                    biased;
                    changed = self.durable.changed(), if !is_ahead => if changed.is_err() { return Ok(None) },
                    () = moved(&mut self.compared), if is_ahead => {}
                    () = self.open.stopped.wait() => return Ok(None),
                    () = tokio::time::sleep_until(silent_until) => self.beat(),
                }
            } else if Instant::now() >= silent_until {
                // Much is read of which nothing is selected.
                self.beat();
            }
        }
    }

    /// Reads on in the log; whether there was more that can be sent: changes that the query wasn't compared with wait.
    async fn read(&mut self) -> crate::Result<bool> {
        if self.ahead.is_empty() {
            self.read_ahead().await?;
        }
        if let (Some(query), Some(_)) = (&self.selected.query, self.ahead.front())
            && !query.is_known_after(self.position)
        {
            self.ahead.clear();
            self.resync();
        }
        Ok(self.has_next() || !self.pending.is_empty())
    }

    /// True if the next entry that was read can be sent.
    fn has_next(&self) -> bool {
        let is_compared =
            |entry: &Logged| self.selected.query.as_ref().is_none_or(|query| entry.seq() <= query.position());
        self.ahead.front().is_some_and(is_compared)
    }

    async fn read_ahead(&mut self) -> crate::Result<()> {
        let (registry, position) = (self.registry.clone(), self.position);
        match registry.cached_entries(position, AT_ONCE) {
            Some(entries) => self.ahead.extend(entries),
            None => {
                // What is further back is on disk: reading it must not hold up the other connections.
                let read = blocking(move || registry.entries(position, AT_ONCE)).await?;
                if read.truncated {
                    self.resync();
                }
                self.ahead.extend(read.entries);
            }
        }
        Ok(())
    }

    /// The next chunk of what was read, as far as it is selected.
    fn take_in(&mut self) -> crate::Result<Option<Bytes>> {
        let mut chunk = BytesMut::new();
        while let Some(event) = self.next_event()? {
            if chunk.is_empty() && ((!self.has_next() && self.current.is_none()) || event.len() >= CHUNK) {
                return Ok(Some(event));
            }
            chunk.extend_from_slice(&event);
            if chunk.len() >= CHUNK {
                break;
            }
        }
        Ok((!chunk.is_empty()).then(|| chunk.freeze()))
    }

    /// The next event of what was read that is selected.
    fn next_event(&mut self) -> crate::Result<Option<Bytes>> {
        loop {
            let Some(current) = &mut self.current else {
                if !self.has_next() {
                    return Ok(None);
                }
                let Some(entry) = self.ahead.pop_front() else { return Ok(None) };
                let seen = self.registry.seen(&entry, self.presence);
                self.current = Some(Current { seq: entry.seq(), seen, held: None });
                continue;
            };
            if let Some(change) = current.seen.next() {
                let Some(event) = self.selected.encoded(&*change?)? else { continue };
                if let Some(before) = current.held.replace(event) {
                    return Ok(Some(without_id(&before)));
                }
                continue;
            }
            self.position = current.seq;
            let last = current.held.take();
            self.current = None;
            if last.is_some() {
                return Ok(last);
            }
        }
    }

    fn position_at(&self, seq: Seq) -> Position {
        Position { epoch: self.registry.epoch(), seq }
    }

    /// Adds a heartbeat: a comment that keeps the connection alive, with the position. Clients remember
    /// the position, and dispatch no event without data.
    fn beat(&mut self) {
        self.pending.push_back(format!(": alive\nid: {}\n\n", self.position_at(self.position)).into());
    }

    /// Adds an event that asks the client to read the state again. `oldest` is the id to resume from for
    /// everything that the log still holds: the position before its first change.
    fn resync(&mut self) {
        let oldest = self.registry.subscribe(Since::Oldest).resume_position();
        let last = self.registry.last_seq();
        self.position = last;
        let data = json!({"oldest": oldest.to_string(), "last": self.position_at(last).to_string()});
        self.pending.push_back(encode(self.position_at(last), "resync", &data.to_string()).into());
    }
}

/// Waits until queries were compared with further changes; forever where there is no query.
async fn moved(compared: &mut Option<watch::Receiver<u64>>) {
    match compared {
        // The sender lives as long as the query, which the stream holds.
        Some(compared) => drop(compared.changed().await),
        None => std::future::pending().await,
    }
}

/// The first chunk of a stream, with the `retry` field in its first block.
fn first(chunk: &[u8]) -> Bytes {
    [format!("retry: {}\n", RETRY.as_millis()).as_bytes(), chunk].concat().into()
}
