//! One connection from CONNACK to the farewell.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{Instant, sleep_until},
};

use super::{
    Context,
    delivery::{Delivery, Filled},
    engine::Farewell,
    link::Link,
    packets::{Entry, Granted, Incoming},
    session::{Session, Subscription},
    sessions::Lease,
};
use crate::Result;

/// How often a session that moves is written to the store.
const KEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Later than anything.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// A connection with a session.
pub(super) struct Connection<S> {
    context: Arc<Context>,
    link: Link<S>,
    lease: Lease,
    session: Session,
    delivery: Delivery,
    /// What the client asked for in CONNECT; 0 can't be raised later (5.0, section 3.14.2.2.2).
    asked_expiry: u32,
    /// Since when the client has been neither taking bytes nor acknowledging, while it should.
    waiting_since: Option<Instant>,
    kept_at: Instant,
}

impl<S> Connection<S>
where
    S: AsyncRead + AsyncWrite + Send,
{
    pub fn new(context: Arc<Context>, link: Link<S>, lease: Lease, mut session: Session, asked_expiry: u32) -> Self {
        let delivery = Delivery::resume(context.feed.clone(), context.groups.clone(), &mut session);
        Connection {
            context,
            link,
            lease,
            session,
            delivery,
            asked_expiry,
            waiting_since: None,
            kept_at: Instant::now(),
        }
    }

    /// Serves the client to the end, and leaves the session behind. `input` came with CONNECT.
    pub async fn run(mut self, input: &[u8]) {
        let result = match self.take(input) {
            Ok(()) => self.exchange().await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            tracing::error!(client_id = self.session.client_id, %error, "an MQTT connection failed");
            self.link.engine.farewell(Farewell::Failed);
        }
        self.session.cursor = self.delivery.cursor();
        self.delivery.end();
        tracing::debug!(client_id = self.session.client_id, "an MQTT connection has ended");
        self.context.sessions.leave(self.lease, self.session);
        self.link.finish().await;
    }

    /// Reads, sends and writes until one side has had enough.
    async fn exchange(&mut self) -> Result<()> {
        let mut durable = self.context.feed.registry().durable();
        let mut returned = self.context.groups.returned();
        let mut stop = self.context.stop.clone();
        let mut buffer = [0; 4096];
        let sleep = sleep_until(Instant::now() + NEVER);
        tokio::pin!(sleep);
        while !self.link.engine.has_ended() {
            durable.borrow_and_update();
            returned.borrow_and_update();
            let filled = self.delivery.fill(&mut self.link.engine, &mut self.session)?;
            self.note_waiting(filled);
            let deadline = self.deadline();
            if deadline < sleep.deadline() {
                sleep.as_mut().reset(deadline);
            }
            let may_read = self.link.may_read();
            let Link { reader, writer, engine, written, .. } = &mut self.link;
            let output = engine.output().get(*written..).unwrap_or_default();
            tokio::select! {
                written = writer.write(output), if !output.is_empty() => match written {
                    Ok(count) if count > 0 => {
                        self.link.advance(count);
                        // With a full window it is acknowledgements that count, not answers to pings.
                        if filled != Filled::WindowFull {
                            self.waiting_since = None;
                        }
                    }
                    _ => return Ok(()),
                },
                read = reader.read(&mut buffer), if may_read => match read {
                    Ok(count) if count > 0 => self.take(buffer.get(..count).unwrap_or_default())?,
                    _ => return Ok(()),
                },
                changed = durable.changed(), if filled == Filled::Idle => if changed.is_err() {
                    self.link.engine.farewell(Farewell::ShuttingDown);
                },
                _ = returned.changed(), if filled == Filled::Idle && self.delivery.shares() => {}
                () = tokio::task::yield_now(), if filled == Filled::Busy => {}
                () = self.lease.evicted() => self.link.engine.farewell(Farewell::TakenOver),
                _ = stop.wait_for(|stop| *stop) => self.link.engine.farewell(Farewell::ShuttingDown),
                () = sleep.as_mut() => {
                    self.look_at_the_clock();
                    sleep.as_mut().reset(self.deadline());
                }
            }
        }
        Ok(())
    }

    /// Acts on what was received.
    fn take(&mut self, mut input: &[u8]) -> Result<()> {
        let before = self.link.engine.output().len();
        while let Some(incoming) = self.link.engine.receive(&mut input) {
            match incoming {
                Incoming::Subscribe { packet_id, entries, identifier } => {
                    self.subscribe(packet_id, &entries, identifier);
                }
                Incoming::Unsubscribe { packet_id, filters } => self.unsubscribe(packet_id, &filters),
                Incoming::Publish { qos, packet_id } => self.link.engine.refuse_publish(qos, packet_id),
                Incoming::Disconnect { session_expiry } => self.disconnect(session_expiry),
                Incoming::Connect(_) => self.link.engine.farewell(Farewell::ProtocolError),
                Incoming::Other => {}
            }
        }
        self.link.note_replies(before);
        let acknowledged = self.link.engine.take_acknowledged();
        if self.delivery.acknowledge(&acknowledged, &mut self.session) {
            self.waiting_since = None;
        }
        Ok(())
    }

    fn subscribe(&mut self, packet_id: u16, entries: &[Entry], identifier: Option<u32>) {
        if entries.iter().any(|entry| entry.no_local && entry.filter.starts_with("$share/")) {
            // 5.0, section 3.8.3.1
            return self.link.engine.farewell(Farewell::ProtocolError);
        }
        let mut granted = Vec::with_capacity(entries.len());
        for entry in entries {
            granted.push(self.subscribe_to(entry, identifier));
        }
        self.link.engine.subscribed(packet_id, &granted);
        self.keep();
    }

    fn subscribe_to(&mut self, entry: &Entry, identifier: Option<u32>) -> Granted {
        let is_new = !self.session.is_subscribed(&entry.filter);
        let Some(subscription) = Subscription::requested(entry, identifier, is_new, &self.context.feed) else {
            return Granted::InvalidFilter;
        };
        if is_new && self.session.subscriptions.len() >= self.context.options.max_subscriptions {
            return Granted::QuotaExceeded;
        }
        if is_new && subscription.group.is_some() {
            self.context.groups.join(&subscription.text, subscription.since);
        }
        // Otherwise it goes on getting what it was getting.
        if is_new || subscription.retained_pending {
            self.delivery.attend(&subscription);
        }
        self.session.subscribe(subscription);
        if entry.at_least_once { Granted::AtLeastOnce } else { Granted::AtMostOnce }
    }

    fn unsubscribe(&mut self, packet_id: u16, filters: &[String]) {
        let mut existed = Vec::with_capacity(filters.len());
        for filter in filters {
            self.delivery.forget(filter);
            let subscription = self.session.unsubscribe(filter);
            if subscription.as_ref().is_some_and(|subscription| subscription.group.is_some()) {
                self.context.groups.leave(filter);
            }
            existed.push(subscription.is_some());
        }
        self.link.engine.unsubscribed(packet_id, &existed);
        self.keep();
    }

    fn disconnect(&mut self, session_expiry: Option<u32>) {
        if let Some(expiry) = session_expiry {
            if self.asked_expiry == 0 && expiry != 0 {
                return self.link.engine.farewell(Farewell::ProtocolError);
            }
            let longest = u32::try_from(self.context.options.max_session_expiry.as_secs()).unwrap_or(u32::MAX);
            self.session.expiry = expiry.min(longest);
        }
        self.link.engine.close();
    }

    /// Keeps track of how long the client hasn't moved while it is its turn to.
    fn note_waiting(&mut self, filled: Filled) {
        let has_output = !self.link.engine.output().is_empty();
        if !has_output && filled != Filled::WindowFull {
            self.waiting_since = None;
        } else if self.waiting_since.is_none() {
            self.waiting_since = Some(Instant::now());
        }
    }

    /// When the clock has to be looked at.
    fn deadline(&self) -> Instant {
        let stalled = self.waiting_since.map(|since| since + self.context.options.stall_timeout);
        let keep = self.is_unkept().then(|| self.kept_at + KEEP_INTERVAL);
        let keep_alive = self.link.engine.keep_alive_deadline();
        [stalled, keep, keep_alive].into_iter().flatten().min().unwrap_or_else(|| Instant::now() + NEVER)
    }

    fn look_at_the_clock(&mut self) {
        let now = Instant::now();
        let stall_timeout = self.context.options.stall_timeout;
        if self.link.engine.keep_alive_deadline().is_some_and(|deadline| deadline <= now) {
            tracing::debug!(client_id = self.session.client_id, "an MQTT client wasn't heard of in time");
            self.link.engine.keep_alive_expired();
        } else if self.waiting_since.is_some_and(|since| since + stall_timeout <= now) {
            tracing::warn!(client_id = self.session.client_id, "an MQTT subscriber has stalled and is cut off");
            self.link.engine.farewell(Farewell::Stalled);
        } else if self.is_unkept() && self.kept_at + KEEP_INTERVAL <= now {
            self.keep();
        }
    }

    /// Whether the store has an older state of the session.
    fn is_unkept(&self) -> bool {
        self.session.expiry > 0
            && !self.session.subscriptions.is_empty()
            && self.session.cursor != self.delivery.cursor()
    }

    fn keep(&mut self) {
        if self.session.expiry > 0 {
            self.session.cursor = self.delivery.cursor();
            self.context.sessions.keep(&mut self.session, None);
        }
        self.kept_at = Instant::now();
    }
}
