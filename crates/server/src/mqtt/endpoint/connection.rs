//! One connection from CONNACK to its end.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{Instant, sleep_until},
};

use super::{
    context::Context,
    decisions::{Decided, Decisions},
    delivery::{Delivery, Filled, OUTPUT_BYTES},
    engine::DisconnectReason,
    link::Link,
    packets::{FilterRequest, Incoming, Outgoing, Retained},
    session::Session,
    sessions::Lease,
};
use crate::{
    Registry, Result,
    access::{Caller, Need, Role},
};

/// Interval at which a session that moves is written to the store.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// Later than anything.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// A connection with a session.
pub(super) struct Connection<S> {
    context: Arc<Context>,
    link: Link<S>,
    lease: Lease,
    session: Session,
    delivery: Delivery,
    decisions: Decisions,
    /// The registry as the client sees it.
    reader: Registry,
    /// True if the client may see what the guardian decides.
    sees_decisions: bool,
    /// Session expiry in seconds that the client requested in CONNECT; 0 can't be raised later (5.0, section
    /// 3.14.2.2.2).
    asked_expiry: u32,
    /// Since when the client has been neither taking bytes nor acknowledging, while it should.
    waiting_since: Option<Instant>,
    saved_at: Instant,
    /// [`Delivery::moves`] when the session was saved.
    saved_moves: u64,
}

impl<S> Connection<S>
where
    S: AsyncRead + AsyncWrite + Send,
{
    pub fn new(
        context: Arc<Context>,
        link: Link<S>,
        lease: Lease,
        mut session: Session,
        asked_expiry: u32,
        caller: &Caller,
    ) -> Self {
        let sees_decisions = context.options.access.decide(caller, Need::Read(Role::Admin)).is_ok();
        let reader = context.index.feed.registry().as_caller(caller.clone());
        let delivery = Delivery::resume(context.index.clone(), reader.clone(), &mut session);
        Connection {
            context,
            link,
            lease,
            session,
            delivery,
            decisions: Decisions::default(),
            reader,
            sees_decisions,
            asked_expiry,
            waiting_since: None,
            saved_at: Instant::now(),
            saved_moves: 0,
        }
    }

    /// Serves the client to the end, and leaves the session behind. `input` came with CONNECT.
    pub async fn run(mut self, input: &[u8]) {
        if self.session.is_stored {
            // From now on it isn't away.
            self.save();
        }
        let result = match self.take(input) {
            Ok(()) => self.exchange().await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            tracing::error!(client_id = self.session.client_id, %error, "an MQTT connection failed");
            self.link.engine.disconnect(DisconnectReason::Failed);
        }
        self.session.progress = self.delivery.progress(&self.session);
        self.delivery.end();
        tracing::debug!(client_id = self.session.client_id, "an MQTT connection has ended");
        self.context.sessions.leave(self.lease, self.session);
        self.link.finish().await;
    }

    /// Reads, sends and writes until one side has had enough.
    async fn exchange(&mut self) -> Result<()> {
        let mut durable = self.context.index.feed.registry().durable();
        let mut requeued = self.context.index.groups.requeued();
        let mut compared = self.context.index.feed.registry().queries_progress();
        let mut stop = self.context.stop.clone();
        let reader = self.reader.clone();
        let invalid = reader.until_invalid(reader.caller());
        tokio::pin!(invalid);
        let cut_off = reader.until_cut_off();
        tokio::pin!(cut_off);
        let mut buffer = [0; 4096];
        self.select_decisions();
        let sleep = sleep_until(Instant::now() + NEVER);
        tokio::pin!(sleep);
        while !self.link.engine.has_ended() {
            durable.borrow_and_update();
            requeued.borrow_and_update();
            compared.borrow_and_update();
            let filled = self.delivery.fill(&mut self.link.engine, &mut self.session)?;
            self.context.counters.messages.fetch_add(self.delivery.take_sent(), Ordering::Relaxed);
            self.note_waiting(filled);
            let deadline = self.deadline();
            if deadline < sleep.deadline() {
                sleep.as_mut().reset(deadline);
            }
            let may_read = self.link.may_read();
            let Link { reader, writer, engine, written, .. } = &mut self.link;
            let output = engine.output().get(*written..).unwrap_or_default();
            let has_room = output.len() < OUTPUT_BYTES;
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
                    Ok(count) if count > 0 => {
                        self.link.note_received(count);
                        self.take(buffer.get(..count).unwrap_or_default())?;
                    }
                    _ => return Ok(()),
                },
                changed = durable.changed(), if filled == Filled::Idle => if changed.is_err() {
                    self.link.engine.disconnect(DisconnectReason::ShuttingDown);
                },
                decided = self.decisions.next(), if has_room => self.send_decision(&decided),
                _ = requeued.changed(), if filled == Filled::Idle && self.delivery.shares() => {}
                _ = compared.changed(), if filled == Filled::Idle && self.delivery.waits_for_queries(&self.session) => {
                    self.delivery.note_compared(&self.session);
                }
                () = tokio::task::yield_now(), if filled == Filled::Busy => {}
                () = self.lease.evicted() => self.link.engine.disconnect(DisconnectReason::TakenOver),
                _ = stop.wait_for(|stop| *stop) => self.link.engine.disconnect(DisconnectReason::ShuttingDown),
                () = &mut cut_off => self.link.engine.disconnect(DisconnectReason::CutOff),
                // With a session that waits for valid ones.
                () = &mut invalid => self.link.engine.disconnect(DisconnectReason::NotAuthorized),
                () = sleep.as_mut() => {
                    self.check_deadlines();
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
                Incoming::Subscribe { packet_id, requests, identifier } => {
                    self.subscribe(packet_id, &requests, identifier);
                }
                Incoming::Unsubscribe { packet_id, filters } => self.unsubscribe(packet_id, &filters),
                Incoming::Publish { qos, packet_id } => self.link.engine.refuse_publish(qos, packet_id),
                Incoming::PubRel { packet_id } => self.link.engine.answer_pubrel(packet_id),
                Incoming::Disconnect { session_expiry } => self.disconnect(session_expiry),
                Incoming::Connect(_) => self.link.engine.disconnect(DisconnectReason::ProtocolError),
                Incoming::Other => {}
            }
        }
        self.link.note_replies(before);
        let acknowledged = self.link.engine.take_acknowledged();
        if self.delivery.acknowledge(&acknowledged) {
            self.waiting_since = None;
        }
        Ok(())
    }

    fn subscribe(&mut self, packet_id: u16, requests: &[FilterRequest], identifier: Option<u32>) {
        if requests.iter().any(|request| request.no_local && request.filter.starts_with("$share/")) {
            // 5.0, section 3.8.3.1
            return self.link.engine.disconnect(DisconnectReason::ProtocolError);
        }
        let mut granted = Vec::with_capacity(requests.len());
        for request in requests {
            let was_pending =
                self.session.subscriptions.get(&request.filter).is_some_and(|found| found.retained_pending);
            granted.push(self.context.index.subscribe(
                &mut self.session.subscriptions,
                request,
                identifier,
                self.sees_decisions,
            ));
            // One that is being sent its retained descriptions goes on, unless it asks for them again.
            if !was_pending || request.retained == Retained::Always {
                self.delivery.start(&self.session, &request.filter);
            }
        }
        self.link.engine.subscribed(packet_id, &granted);
        self.select_decisions();
        self.save();
    }

    /// Receives the decisions that the session's subscriptions match.
    fn select_decisions(&mut self) {
        if !self.sees_decisions {
            return;
        }
        let feed = &self.context.index.feed;
        self.decisions.select(&self.reader, feed.topics(), &self.session.subscriptions);
    }

    /// Sends a decision, at most once.
    fn send_decision(&mut self, decided: &Decided) {
        let message = Outgoing {
            topic: &decided.topic,
            payload: &decided.payload,
            media_type: "application/json",
            at_least_once: false,
            retain: false,
            identifiers: &decided.identifiers,
            packet_id_again: None,
        };
        self.link.engine.publish(&message);
        self.context.counters.messages.fetch_add(1, Ordering::Relaxed);
    }

    fn unsubscribe(&mut self, packet_id: u16, filters: &[String]) {
        let mut existed = Vec::with_capacity(filters.len());
        for filter in filters {
            self.delivery.stop(filter);
            existed.push(self.context.index.unsubscribe(&mut self.session.subscriptions, filter));
        }
        self.link.engine.unsubscribed(packet_id, &existed);
        self.select_decisions();
        let gone = filters.iter().zip(existed).filter_map(|(filter, existed)| existed.then_some(filter.as_str()));
        self.context.sessions.remove_subscriptions(&self.session, gone);
        self.save();
    }

    fn disconnect(&mut self, session_expiry: Option<u32>) {
        if let Some(expiry) = session_expiry {
            if self.asked_expiry == 0 && expiry != 0 {
                return self.link.engine.disconnect(DisconnectReason::ProtocolError);
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

    /// When the deadlines have to be checked.
    fn deadline(&self) -> Instant {
        let stalled = self.waiting_since.map(|since| since + self.context.options.stall_timeout);
        let save = self.is_unsaved().then(|| self.saved_at + SAVE_INTERVAL);
        let keep_alive = self.link.engine.keep_alive_deadline();
        [stalled, save, keep_alive].into_iter().flatten().min().unwrap_or_else(|| Instant::now() + NEVER)
    }

    fn check_deadlines(&mut self) {
        let now = Instant::now();
        let stall_timeout = self.context.options.stall_timeout;
        if self.link.engine.keep_alive_deadline().is_some_and(|deadline| deadline <= now) {
            tracing::debug!(
                client_id = self.session.client_id,
                "an MQTT client has sent nothing within its keep-alive interval"
            );
            self.link.engine.keep_alive_expired();
        } else if self.waiting_since.is_some_and(|since| since + stall_timeout <= now) {
            tracing::warn!(client_id = self.session.client_id, "an MQTT subscriber was disconnected for not reading");
            self.link.engine.disconnect(DisconnectReason::Stalled);
        } else if self.is_unsaved() && self.saved_at + SAVE_INTERVAL <= now {
            self.save();
        }
    }

    /// True if the store has an older state of the session.
    fn is_unsaved(&self) -> bool {
        let is_stored = self.session.expiry > 0 && !self.session.subscriptions.is_empty();
        is_stored && self.saved_moves != self.delivery.moves()
    }

    fn save(&mut self) {
        self.saved_moves = self.delivery.moves();
        if self.session.expiry > 0 {
            self.session.progress = self.delivery.progress(&self.session);
            self.context.sessions.save(&mut self.session, None);
        }
        self.saved_at = Instant::now();
    }
}
