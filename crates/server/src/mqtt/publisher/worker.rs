//! The publisher's thread: connects, follows the log, saves its position, and tries again.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rumqttc::v5::MqttOptions;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

use super::{
    super::{
        PublisherOptions,
        feed::{Audience, Family, Feed, Lane, LanePosition, Next, PUBLISHER_MESSAGES, Part, QueryLevels},
        topics::Topics,
    },
    broker::Broker,
    counters::Counters,
    decisions::Decisions,
    link::{Ended, Link, Message},
    resync::{Resynced, resync},
};
use crate::{
    Error, Registry,
    change::{Position, Seq},
    registry::{Metric, MetricSource, Presence},
    store::{ChangeOrigin, LoggedChange},
};

/// The wait before the second attempt to reach the broker.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// After a connection that lasted this long, or taught something, the next attempt comes soon.
const GOOD_CONNECTION: Duration = Duration::from_secs(5);
/// Maximum time for a single resync to reach the broker.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The most decisions that are published between two changes of the log.
const DECISIONS_AT_ONCE: usize = 64;

/// Interval at which a node of a cluster checks whether it leads: only the leader publishes.
const LEADER_CHECK: Duration = Duration::from_secs(1);

/// State that the publisher's handle and its thread share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub is_connected: AtomicBool,
    pub is_resync_due: AtomicBool,
    pub counters: Arc<Counters>,
    pub nudge: Notify,
}

impl MetricSource for Shared {
    fn metrics(&self) -> Vec<Metric> {
        let metric = |name, help, value| Metric { name, help, value };
        let Counters { published, quarantined } = &*self.counters;
        let connected = u64::from(self.is_connected.load(Ordering::Relaxed));
        vec![
            metric("agentdex_mqtt_broker_connected", "Whether the MQTT broker is connected.", connected),
            metric(
                "agentdex_mqtt_broker_published_total",
                "Messages acknowledged by the MQTT broker.",
                published.load(Ordering::Relaxed),
            ),
            metric(
                "agentdex_mqtt_broker_quarantined_total",
                "Messages that the MQTT broker permanently refuses.",
                quarantined.load(Ordering::Relaxed),
            ),
        ]
    }
}

/// Progress with the messages of saved queries.
#[derive(Debug, Clone, Copy)]
struct QueriesPublished {
    position: LanePosition,
    /// Findings about changes up to this one are skipped.
    since: Seq,
    /// Losses of events up to this change are published already.
    resynced: Seq,
}

/// Follows the log to one broker.
pub(super) struct Worker {
    feed: Feed,
    /// Those that wait while there is no connection are published afterwards, as far as they are in memory.
    decisions: Decisions,
    broker: Broker,
    /// The name of the saved position.
    follower: String,
    /// The name of the saved position of the lane of queries.
    queries_follower: String,
    /// The name of a position that is stored as long as a resync is begun and not done.
    unfinished: String,
    /// The most bytes that the broker is known to accept of a packet, learned from what it refused.
    learned_bytes: usize,
    /// The messages of saved queries that the broker has acknowledged; `None` before the first connection.
    queries: Option<QueriesPublished>,
    options: PublisherOptions,
    stop: watch::Receiver<bool>,
    shared: Arc<Shared>,
}

impl Worker {
    pub fn new(
        url: &str,
        registry: Registry,
        options: PublisherOptions,
        stop: watch::Receiver<bool>,
        shared: Arc<Shared>,
    ) -> crate::Result<Worker> {
        let broker = Broker::parse(url)?;
        let topics = Topics::new(&options.prefix)?;
        // What is wrong with the certificates is reported now, not in the log of every attempt.
        broker.client_options("agentdex", true, &options)?;
        let follower = format!("mqtt:{}/{}", broker.address(), topics.prefix());
        let queries_follower = format!("mqtt-queries:{}/{}", broker.address(), topics.prefix());
        let unfinished = format!("mqtt-resync:{}/{}", broker.address(), topics.prefix());
        let decisions = Decisions::of(&registry, &topics);
        let feed = Feed::new(registry, topics, PUBLISHER_MESSAGES);
        Ok(Worker {
            feed,
            decisions,
            broker,
            follower,
            queries_follower,
            unfinished,
            learned_bytes: usize::MAX,
            queries: None,
            options,
            stop,
            shared,
        })
    }

    /// Publishes until it is stopped; after a loss it tries again, less and less often.
    pub async fn run(mut self) {
        let (mut backoff, address) = (FIRST_BACKOFF, self.broker.address());
        loop {
            let begun = Instant::now();
            let learned_before = self.learned_bytes;
            let Err(ended) = self.publish().await;
            self.shared.is_connected.store(false, Ordering::Relaxed);
            match ended {
                Ended::Stopped => return,
                Ended::Resigned => {
                    // The next time, the recorded position counts.
                    self.queries = None;
                    tracing::info!(broker = address, "another node of the cluster publishes to the MQTT broker now");
                    backoff = FIRST_BACKOFF;
                }
                Ended::Lost(error) => {
                    tracing::warn!(broker = address, %error, "the connection to the MQTT broker failed");
                }
                Ended::Refused(reason) => {
                    tracing::warn!(broker = address, ?reason, "the MQTT broker can't accept messages at the moment");
                }
                Ended::Failed(error) => {
                    tracing::error!(broker = address, %error, "publishing to the MQTT broker failed");
                }
            }
            if begun.elapsed() >= GOOD_CONNECTION || self.learned_bytes < learned_before {
                backoff = FIRST_BACKOFF;
            }
            tokio::select! {
                () = tokio::time::sleep(backoff) => {}
                _ = self.stop.wait_for(|stop| *stop) => return,
            }
            backoff = (backoff * 2).min(self.options.max_backoff);
        }
    }

    async fn connect(&self, options: MqttOptions) -> Result<(Link, bool), Ended> {
        Link::connect(options, self.learned_bytes, self.shared.counters.clone(), self.stop.clone()).await
    }

    /// Resolves once this registry is the leader of its cluster. Decisions of the time before are dropped: their readers have
    /// moved on.
    async fn until_leader(&mut self) {
        while !self.feed.registry().is_leader() {
            tokio::time::sleep(LEADER_CHECK).await;
            while self.decisions.try_next().is_some() {}
        }
    }

    async fn publish(&mut self) -> Result<Infallible, Ended> {
        let mut stop = self.stop.clone();
        tokio::select! {
            () = self.until_leader() => {}
            _ = stop.wait_for(|stop| *stop) => return Err(Ended::Stopped),
        }
        let client_id = format!("agentdex-{}", self.feed.registry().registry_id());
        let options = self.broker.client_options(&client_id, false, &self.options)?;
        let (mut link, has_session) = self.connect(options).await?;
        self.shared.is_connected.store(true, Ordering::Relaxed);
        tracing::info!(broker = self.broker.address(), "connected to the MQTT broker");
        let ended = self.follow(&mut link, has_session).await;
        if matches!(ended, Err(Ended::Stopped | Ended::Resigned)) {
            link.close(self.options.stop_timeout).await;
        }
        self.save_position(&mut link)?;
        self.save_queries_position()?;
        if let Err(Ended::Lost(error)) = &ended
            && let Some(bytes) = link.learned_bytes(error)
        {
            self.learned_bytes = self.learned_bytes.min(bytes);
        }
        ended
    }

    /// Publishes what is in the log, waits for more, and so on.
    async fn follow(&mut self, link: &mut Link, has_session: bool) -> Result<Infallible, Ended> {
        let registry = self.feed.registry().clone();
        let (mut durable, mut compared) = (registry.durable(), registry.queries_progress());
        let mut position = self.start(link, has_session).await?;
        let mut queries = self.start_queries(link, position).await?;
        let presence = Presence::new(position, self.feed.last_seq());
        let (public, wanted) = (self.feed.public(), QueryLevels { all: true, ..QueryLevels::default() });
        let audience = Audience { reader: &public, wanted: &wanted };
        loop {
            durable.borrow_and_update();
            compared.borrow_and_update();
            if !registry.is_leader() {
                return Err(Ended::Resigned);
            }
            let has_queries = self.publish_queries(link, &mut queries, presence, audience).await?;
            if self.shared.is_resync_due.load(Ordering::Relaxed) {
                self.resync_now(link).await?;
            }
            match self.feed.after(LanePosition::Log(position), audience)? {
                Next::Part(part) => {
                    // A broker has readers of its own: it gets what everybody sees.
                    for change in public.seen(&part.entry, presence) {
                        self.publish_change(&part, link, &change?, audience).await?;
                    }
                    link.pass(part.end);
                    position = part.entry.seq();
                    link.catch_up()?;
                    self.publish_decisions(link).await?;
                }
                Next::Lost { seq, .. } => position = self.start_over(link, seq).await?,
                Next::Nothing | Next::Skipped(_) if has_queries => {}
                Next::Nothing | Next::Skipped(_) => {
                    self.save_queries_position()?;
                    tokio::select! {
                        event = link.step() => event.map(|_| ())?,
                        changed = durable.changed() => changed.map_err(|_| Ended::Stopped)?,
                        _ = compared.changed() => {}
                        () = self.shared.nudge.notified() => {}
                        () = tokio::time::sleep(LEADER_CHECK), if registry.is_node() => {}
                        decision = self.decisions.next() => {
                            link.publish(Message::of_decision(&decision.topic, &decision.payload)).await?;
                            self.publish_decisions(link).await?;
                        }
                    }
                }
            }
            self.save_position(link)?;
        }
    }

    /// Returns the position from which events of saved queries are published. Publishes `resync` first if earlier events are
    /// unknown, as after a restart.
    async fn start_queries(&mut self, link: &mut Link, plain: Seq) -> Result<QueriesPublished, Ended> {
        if let Some(queries) = self.queries {
            return Ok(queries);
        }
        let (registry, epoch) = (self.feed.registry(), self.feed.epoch());
        let stored = registry.position_of_leader(&self.queries_follower)?.filter(|stored| stored.epoch == epoch);
        let since = stored.map_or(plain, |stored| stored.seq.min(plain));
        let (public, wanted) = (self.feed.public(), QueryLevels { all: true, ..QueryLevels::default() });
        let (position, lost) = self.feed.resume_queries(since, Audience { reader: &public, wanted: &wanted });
        if let Some(lost) = lost {
            self.publish_loss(link, lost).await?;
            // If the connection ends before the acknowledgement, the next one publishes it again.
            link.drain().await?;
        }
        registry
            .set_position_of_leader(&self.queries_follower, Some(Position { epoch, seq: lost.unwrap_or(since) }))?;
        let queries = QueriesPublished { position, since, resynced: lost.unwrap_or(since) };
        self.queries = Some(queries);
        Ok(queries)
    }

    /// Resyncs a broker whose state can't be trusted, and returns the position to go on from.
    async fn start(&self, link: &mut Link, has_session: bool) -> Result<Seq, Ended> {
        let registry = self.feed.registry();
        let position = registry.position_of_leader(&self.follower)?;
        let last = self.feed.last_seq();
        let Some(position) = position else {
            self.resync_now(link).await?;
            registry.set_position_of_leader(&self.follower, Some(Position { epoch: self.feed.epoch(), seq: last }))?;
            return Ok(last);
        };
        if position.epoch != self.feed.epoch() {
            return self.start_over(link, last).await;
        }
        // The former leader may have published what this node hasn't got yet.
        while registry.is_node() && registry.last_seq() < position.seq {
            if *self.stop.borrow() {
                return Err(Ended::Stopped);
            }
            if !registry.is_leader() {
                return Err(Ended::Resigned);
            }
            tokio::time::sleep(FIRST_BACKOFF).await;
        }
        // A broker that was wiped has a session again from the first connection on, which may have
        // ended before everything was there.
        if !has_session || registry.position_of_leader(&self.unfinished)?.is_some() {
            self.resync_now(link).await?;
        }
        Ok(position.seq)
    }

    /// The log no longer has what the broker missed: the state has to do, and an event says so.
    async fn start_over(&self, link: &mut Link, resume: Seq) -> Result<Seq, Ended> {
        tracing::warn!(broker = self.broker.address(), "changes that are no longer in the log weren't published");
        self.resync_now(link).await?;
        self.publish_loss(link, resume).await?;
        link.pass(LanePosition::Log(resume));
        Ok(resume)
    }

    /// Publishes that events up to a change are missing.
    async fn publish_loss(&self, link: &mut Link, resume: Seq) -> Result<(), Ended> {
        let (topic, payload) = self.feed.resync_event(resume);
        link.publish(Message::of(Family::Event, &topic, &payload)).await
    }

    /// Completes the broker's state; if that is interrupted, the next connection does it again.
    async fn resync_now(&self, link: &mut Link) -> Result<(), Ended> {
        let begun = Position { epoch: self.feed.epoch(), seq: self.feed.last_seq() };
        self.feed.registry().set_position_of_leader(&self.unfinished, Some(begun))?;
        // Before it begins: a request that comes meanwhile gets another one.
        self.shared.is_resync_due.store(false, Ordering::Relaxed);
        let Resynced { published, cleared } = resync(link, &self.feed).await?;
        self.feed.registry().set_position_of_leader(&self.unfinished, None)?;
        tracing::info!(broker = self.broker.address(), published, cleared, "the MQTT broker is up to date");
        Ok(())
    }

    /// Publishes the next part of the lane of queries; true if there was one.
    async fn publish_queries(
        &self,
        link: &mut Link,
        queries: &mut QueriesPublished,
        presence: Presence,
        audience: Audience<'_>,
    ) -> Result<bool, Ended> {
        queries.position = match self.feed.after(queries.position, audience)? {
            Next::Nothing => return Ok(false),
            Next::Skipped(end) => end,
            Next::Lost { resume, seq } if seq <= queries.resynced => resume,
            Next::Lost { resume, seq } => {
                tracing::warn!(broker = self.broker.address(), "events of saved queries weren't published");
                self.publish_loss(link, seq).await?;
                queries.resynced = seq;
                resume
            }
            Next::Part(part) if part.entry.seq() <= queries.since => part.end,
            Next::Part(part) => {
                for change in audience.reader.seen(&part.entry, presence) {
                    self.publish_change(&part, link, &change?, audience).await?;
                }
                part.end
            }
        };
        link.pass(queries.position);
        Ok(true)
    }

    async fn publish_change(
        &self,
        part: &Part,
        link: &mut Link,
        change: &Arc<LoggedChange>,
        audience: Audience<'_>,
    ) -> Result<(), Ended> {
        let public = audience.reader;
        if part.is_plain() && matches!(change.origin(), ChangeOrigin::Unseen { .. }) {
            // The broker may retain a description whose acknowledgement never arrived.
            let (topic, payload) =
                (self.feed.topics().thing(&change.id), self.feed.payload(change, Family::Thing, public)?);
            link.publish(Message::of(Family::Thing, &topic, &payload)).await?;
        }
        let messages = self.feed.messages(part, change, audience);
        for message in messages.iter().filter(|message| message.is_seen_by(public)) {
            let payload = self.feed.payload(change, message.family, public)?;
            link.publish(Message::of(message.family, &message.topic, &payload)).await?;
        }
        Ok(())
    }

    /// Publishes decisions that are there, a bounded number of them, so that changes wait for no flood of steps.
    async fn publish_decisions(&mut self, link: &mut Link) -> Result<(), Ended> {
        for _ in 0..DECISIONS_AT_ONCE {
            let Some(decision) = self.decisions.try_next() else { break };
            link.publish(Message::of_decision(&decision.topic, &decision.payload)).await?;
        }
        Ok(())
    }

    fn save_position(&mut self, link: &mut Link) -> Result<(), Ended> {
        let completed = link.take_completed();
        if let (Some(queries), Some(position)) = (&mut self.queries, completed.queries) {
            queries.position = position;
        }
        if let Some(seq) = completed.plain {
            let position = Position { epoch: self.feed.epoch(), seq };
            self.feed.registry().set_position_of_leader(&self.follower, Some(position))?;
        }
        Ok(())
    }

    /// Saves the last change up to which all events of saved queries are acknowledged.
    fn save_queries_position(&self) -> Result<(), Ended> {
        let Some(queries) = &self.queries else { return Ok(()) };
        let (registry, public) = (self.feed.registry(), self.feed.public());
        let wanted = QueryLevels { all: true, ..QueryLevels::default() };
        // Read first: what is found later is about later changes only.
        let seq = self.feed.queries_position(Audience { reader: &public, wanted: &wanted });
        let position = Position { epoch: self.feed.epoch(), seq };
        let is_at_end = queries.position == self.feed.end(Lane::Queries);
        if is_at_end && registry.position_of_leader(&self.queries_follower)? != Some(position) {
            registry.set_position_of_leader(&self.queries_follower, Some(position))?;
        }
        Ok(())
    }

    pub async fn resync_once(self) -> crate::Result<Resynced> {
        let client_id = format!("agentdex-{}-resync", self.feed.registry().registry_id());
        let options = self.broker.client_options(&client_id, true, &self.options)?;
        let doing = format!("bringing the MQTT broker {} up to date", self.broker.address());
        let connecting = timeout(CONNECT_TIMEOUT, self.connect(options)).await;
        let resynced = match connecting {
            Err(_) => return Err(Error::Broker { doing, source: "the broker doesn't respond".into() }),
            Ok(Err(ended)) => Err(ended),
            Ok(Ok((mut link, _))) => {
                let resynced = resync(&mut link, &self.feed).await;
                link.close(self.options.stop_timeout).await;
                resynced
            }
        };
        resynced.map_err(|ended| match ended {
            Ended::Failed(error) => error,
            Ended::Lost(error) => Error::Broker { doing, source: error },
            Ended::Refused(reason) => {
                Error::Broker { doing, source: format!("the broker responds with {reason:?}").into() }
            }
            Ended::Stopped | Ended::Resigned => Error::ShuttingDown,
        })
    }
}
