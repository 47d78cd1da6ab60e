//! `/events` and `/events/{type}`: changes as Server-Sent Events (WoT Discovery, section 7.3.2.2).
//!
//! An event stream is a reader of the log: what it sends next is what comes after its position. A
//! client that comes back with `Last-Event-ID` gets what it missed. Where that can't be served, one
//! `resync` event says so, and the stream goes on from the end.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{CACHE_CONTROL, HeaderName},
    },
    web::{Bytes, BytesMut, Data},
};
use futures_util::{Stream, stream};
use serde_json::json;
use tokio::{sync::watch, time::Instant};

use super::{
    Context,
    blocking::blocking,
    feed::{AT_ONCE, encode, encoded},
    listing::Empty,
    metrics::{Metrics, Subscriber},
    parameters::Parameters,
    problem::Problem,
    stop::Stopped,
};
use crate::{Change, ChangeKind, Position, Seq};

/// How much is sent at once.
const CHUNK: usize = 64 * 1024;
/// How long a client waits before it comes back.
const RETRY: Duration = Duration::from_secs(2);

/// `GET /events`
#[utoipa::path(
    get,
    path = "/events",
    tag = "changes",
    summary = "Hear of changes",
    params(
        ("diff" = Option<bool>, Query, description = "With what changed"),
        ("capability" = Option<Vec<String>>, Query, description = "Only of Things that have, or had, one of these capabilities"),
        ("last_event_id" = Option<String>, Query, description = "For clients that cannot set the header"),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events", body = String, content_type = "text/event-stream"),
        super::schemas::Refusals,
    )
)]
pub(super) async fn all(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    answer(&context, &request, None)
}

/// `GET /events/{type}`
#[utoipa::path(
    get,
    path = "/events/{type}",
    tag = "changes",
    summary = "Hear of changes of one kind",
    params(
        ("type" = String, Path, description = "`thing_created`, `thing_updated` or `thing_deleted`"),
        ("diff" = Option<bool>, Query, description = "With what changed"),
        ("capability" = Option<Vec<String>>, Query, description = "Only of Things that have, or had, one of these capabilities"),
        ("last_event_id" = Option<String>, Query, description = "For clients that cannot set the header"),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events", body = String, content_type = "text/event-stream"),
        super::schemas::Refusals,
        (status = 404, description = "No such kind", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn of_type(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = request.match_info().get("type").unwrap_or_default();
    let kind = ChangeKind::from_name(name).ok_or_else(|| {
        let kinds = ChangeKind::ALL.map(ChangeKind::as_str).join(", ");
        Problem::unknown_path(request.path()).with_detail(format!("there are no events {name:?}, but {kinds}"))
    })?;
    answer(&context, &request, Some(kind))
}

/// Which changes a client wants to hear of.
struct Wanted {
    kind: Option<ChangeKind>,
    /// Keys of capabilities before or after the change; none: all.
    capabilities: Vec<String>,
}

impl Wanted {
    fn includes(&self, change: &Change) -> bool {
        let concerns = |wanted: &String| change.capability_keys().any(|key| key == wanted);
        self.kind.is_none_or(|kind| kind == change.kind)
            && (self.capabilities.is_empty() || self.capabilities.iter().any(concerns))
    }
}

fn answer(context: &Data<Context>, request: &HttpRequest, kind: Option<ChangeKind>) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(request, &["diff", "capability", "last_event_id"])?;
    let diff = parameters.flag("diff")?;
    let wanted = Wanted { kind, capabilities: parameters.values("capability").map(str::to_owned).collect() };
    let mut response = HttpResponse::Ok();
    response
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-store"))
        // Proxies such as nginx would hold events back otherwise.
        .insert_header((HeaderName::from_static("x-accel-buffering"), "no"));
    if *request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let last_event_id = request.headers().get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()));
    let given = last_event_id.as_deref().or_else(|| parameters.text("last_event_id")).filter(|id| !id.is_empty());
    Ok(response.streaming(Subscription::new(context, wanted, diff, given).into_stream()))
}

/// An event stream that is open.
struct Subscription {
    context: Data<Context>,
    durable: watch::Receiver<Seq>,
    stopped: Stopped,
    wanted: Wanted,
    diff: bool,
    position: Seq,
    /// What is sent before everything else.
    pending: VecDeque<Bytes>,
    /// What comes after the position, as far as it was read.
    ahead: VecDeque<Arc<Change>>,
    _counted: Subscriber,
}

impl Subscription {
    fn new(context: &Data<Context>, wanted: Wanted, diff: bool, given: Option<&str>) -> Subscription {
        let mut durable = context.registry.durable();
        let end = *durable.borrow_and_update();
        let mut subscription = Subscription {
            durable,
            stopped: context.options.stop.listener(),
            wanted,
            diff,
            position: end,
            pending: VecDeque::new(),
            ahead: VecDeque::new(),
            _counted: Metrics::subscriber(context),
            context: context.clone(),
        };
        subscription.pending.push_back(format!("retry: {}\n\n", RETRY.as_millis()).into());
        match given.map(|given| given.trim().parse::<Position>()) {
            Some(Ok(cursor)) if cursor.epoch == context.registry.epoch() => subscription.position = cursor.seq,
            Some(_) => subscription.resync(),
            // The position at once: who is cut off before the first event comes back with it.
            None => subscription.say_position(),
        }
        subscription
    }

    fn into_stream(self) -> impl Stream<Item = crate::Result<Bytes>> {
        stream::try_unfold(self, |mut subscription| async move {
            Ok(subscription.next().await?.map(|chunk| (chunk, subscription)))
        })
    }

    /// The next chunk; none once the server stops.
    async fn next(&mut self) -> crate::Result<Option<Bytes>> {
        let silent_until = Instant::now() + self.context.options.heartbeat;
        loop {
            if let Some(chunk) = self.pending.pop_front().or_else(|| self.take_in()) {
                return Ok(Some(chunk));
            }
            self.durable.borrow_and_update();
            if !self.read().await? {
                tokio::select! {
                    // What is known when the server stops is still told.
                    biased;
                    changed = self.durable.changed() => if changed.is_err() { return Ok(None) },
                    () = self.stopped.wait() => return Ok(None),
                    () = tokio::time::sleep_until(silent_until) => self.say_position(),
                }
            } else if Instant::now() >= silent_until {
                // Much is read of which nothing is asked for.
                self.say_position();
            }
        }
    }

    /// Reads on in the log; whether there was more.
    async fn read(&mut self) -> crate::Result<bool> {
        let (registry, position) = (self.context.registry.clone(), self.position);
        match registry.cached_changes(position, AT_ONCE) {
            Some(changes) => self.ahead.extend(changes),
            None => {
                // What is further back is on disk: reading it must not hold up the other connections.
                let read = blocking(move || registry.changes(position, AT_ONCE)).await?;
                if read.truncated {
                    self.resync();
                }
                self.ahead.extend(read.changes);
            }
        }
        Ok(!self.ahead.is_empty() || !self.pending.is_empty())
    }

    /// The next chunk of what was read, as far as it is asked for.
    fn take_in(&mut self) -> Option<Bytes> {
        let mut chunk = BytesMut::new();
        while let Some(change) = self.ahead.pop_front() {
            self.position = change.seq;
            if !self.wanted.includes(&change) {
                continue;
            }
            let encoded = encoded(&change, self.diff);
            if chunk.is_empty() && (self.ahead.is_empty() || encoded.len() >= CHUNK) {
                return Some(encoded);
            }
            chunk.extend_from_slice(&encoded);
            if chunk.len() >= CHUNK {
                break;
            }
        }
        (!chunk.is_empty()).then(|| chunk.freeze())
    }

    fn cursor(&self, seq: Seq) -> Position {
        Position { epoch: self.context.registry.epoch(), seq }
    }

    /// A comment that keeps the connection alive, with the position: a client keeps it, but dispatches
    /// no event without data.
    fn say_position(&mut self) {
        self.pending.push_back(format!(": alive\nid: {}\n\n", self.cursor(self.position)).into());
    }

    /// Says that the client has to read the state anew, and from where the log can be had.
    fn resync(&mut self) {
        let (oldest, last) = match self.context.registry.changes(Seq::ZERO, 1) {
            Ok(log) => (log.oldest, log.last),
            Err(_) => (Seq::ZERO, self.context.registry.last_seq()),
        };
        self.position = last;
        let data = json!({"oldest": self.cursor(oldest).to_string(), "last": self.cursor(last).to_string()});
        self.pending.push_back(encode(self.cursor(last), "resync", &data.to_string()).into());
    }
}
