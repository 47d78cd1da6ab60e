//! A connection to a broker: publishes at QoS 1 and knows what the broker has acknowledged.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use rumqttc::{
    Outgoing,
    v5::{
        AsyncClient, ClientError, ConnectionError, Event, EventLoop, MqttOptions,
        mqttbytes::{
            QoS,
            v5::{Packet, PubAckReason, Publish, PublishProperties},
        },
    },
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};

use super::{
    super::feed::{Family, LanePosition},
    counters::Counters,
    limits::{self, Limits, Verdict},
};
use crate::change::Seq;

/// The most messages that wait for their PUBACK.
const WINDOW: u16 = 100;

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum Ended {
    /// The publisher is to stop.
    Stopped,
    /// The leadership of the cluster has passed to another node.
    Resigned,
    /// The connection to the broker is lost, or it refuses us.
    Lost(Box<ConnectionError>),
    /// The broker can't take messages at the moment.
    Refused(PubAckReason),
    /// The registry can't be read.
    Failed(crate::Error),
}

impl From<crate::Error> for Ended {
    fn from(error: crate::Error) -> Ended {
        Ended::Failed(error)
    }
}

impl From<ConnectionError> for Ended {
    fn from(error: ConnectionError) -> Ended {
        Ended::Lost(Box::new(error))
    }
}

/// A message that the broker hasn't acknowledged yet, or later than one before it.
struct InFlight {
    topic: String,
    /// The size of its packet.
    bytes: usize,
    packet_id: Option<u16>,
    acknowledged: bool,
    /// What is published with it.
    completes: Completed,
}

/// Positions of the lanes up to which everything is acknowledged, as far as that is news.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Completed {
    pub plain: Option<Seq>,
    pub queries: Option<LanePosition>,
}

impl Completed {
    fn set(&mut self, position: LanePosition) {
        match position {
            LanePosition::Log(seq) => self.plain = Some(seq),
            LanePosition::Journal(_) => self.queries = Some(position),
        }
    }

    fn add(&mut self, later: Completed) {
        self.plain = later.plain.or(self.plain);
        self.queries = later.queries.or(self.queries);
    }
}

/// A message to publish.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub topic: &'a str,
    pub payload: &'a [u8],
    pub content_type: &'static str,
    pub retain: bool,
}

pub(super) struct Link {
    client: AsyncClient,
    events: mpsc::UnboundedReceiver<Result<Event, ConnectionError>>,
    polling: JoinHandle<()>,
    stop: watch::Receiver<bool>,
    in_flight: VecDeque<InFlight>,
    completed: Completed,
    limits: Limits,
    counters: Arc<Counters>,
    /// Why the broker can't take messages at the moment.
    refused: Option<PubAckReason>,
    /// Messages that came from the broker.
    pub received: VecDeque<Publish>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

impl Link {
    /// Connects; the flag says whether the broker still has our session. `learned_bytes` is the most that
    /// is known to be accepted of a packet; `counters` counts what is published and left out.
    pub async fn connect(
        mut options: MqttOptions,
        learned_bytes: usize,
        counters: Arc<Counters>,
        stop: watch::Receiver<bool>,
    ) -> Result<(Link, bool), Ended> {
        options.set_outgoing_inflight_upper_limit(WINDOW);
        // Room for all that is ever requested at once: sending to the polling task never blocks.
        let (client, event_loop) = AsyncClient::new(options, usize::from(WINDOW) + 16);
        let (sender, events) = mpsc::unbounded_channel();
        let polling = tokio::spawn(poll(event_loop, sender));
        let limits = Limits { packet_bytes: learned_bytes, receive_maximum: WINDOW.into(), has_retained: true };
        let (in_flight, received) = (VecDeque::new(), VecDeque::new());
        let (completed, refused) = (Completed::default(), None);
        let mut link =
            Link { client, events, polling, stop, in_flight, completed, limits, counters, refused, received };
        loop {
            if let Event::Incoming(Packet::ConnAck(connack)) = link.next_event().await? {
                link.limits = Limits::of(&connack, learned_bytes);
                if !link.limits.has_retained {
                    tracing::warn!(
                        "the MQTT broker doesn't retain messages, so new subscribers don't receive the \
                        current state"
                    );
                }
                return Ok((link, connack.session_present));
            }
        }
    }

    /// Publishes, once the window has room. A message that is larger than the broker accepts is quarantined.
    pub async fn publish(&mut self, message: Message<'_>) -> Result<(), Ended> {
        while self.in_flight.len() >= usize::from(WINDOW).min(self.limits.receive_maximum) {
            self.step().await?;
        }
        let Message { topic, payload, content_type, retain } = message;
        let bytes = limits::packet_bytes(topic, payload, content_type);
        let is_too_large = bytes > self.limits.packet_bytes;
        if is_too_large {
            self.quarantine(topic, bytes, "the message is larger than the broker accepts");
        } else {
            let retain = retain && self.limits.has_retained;
            let properties = PublishProperties { content_type: Some(content_type.into()), ..Default::default() };
            let payload = payload.to_vec();
            self.request(self.client.try_publish_with_properties(
                topic,
                QoS::AtLeastOnce,
                retain,
                payload,
                properties,
            ))?;
        }
        let topic = topic.to_owned();
        let completes = Completed::default();
        self.in_flight.push_back(InFlight { topic, bytes, packet_id: None, acknowledged: is_too_large, completes });
        self.note_completed();
        Ok(())
    }

    /// Everything up to a position of a lane is published, and completed with what is in flight.
    pub fn pass(&mut self, position: LanePosition) {
        match self.in_flight.back_mut() {
            Some(last) => last.completes.set(position),
            None => self.completed.set(position),
        }
    }

    /// After the end of the connection: how large packets may be, if that was the reason. rumqttc reports
    /// the error before the PUBACKs that it read with it, so which message it was isn't known; but the largest
    /// that isn't acknowledged is no smaller than that one, and so too large as well.
    pub fn learned_bytes(&self, error: &ConnectionError) -> Option<usize> {
        let open = self.in_flight.iter().filter(|message| !message.acknowledged).map(|message| message.bytes);
        limits::is_too_large(error).then_some(open.max()?.saturating_sub(1))
    }

    fn quarantine(&self, topic: &str, bytes: usize, reason: &str) {
        self.counters.quarantined.fetch_add(1, Ordering::Relaxed);
        tracing::error!(topic, bytes, reason, "a message was not published: the MQTT broker refuses it");
    }

    fn note_completed(&mut self) {
        while let Some(message) = self.in_flight.pop_front_if(|message| message.acknowledged) {
            self.completed.add(message.completes);
        }
    }

    /// Subscribes and waits for the acknowledgement.
    pub async fn subscribe(&mut self, filters: &[&str]) -> Result<(), Ended> {
        for filter in filters {
            self.request(self.client.try_subscribe(*filter, QoS::AtMostOnce))?;
            while !matches!(self.step().await?, Event::Incoming(Packet::SubAck(_))) {}
        }
        Ok(())
    }

    pub async fn unsubscribe(&mut self, filters: &[&str]) -> Result<(), Ended> {
        for filter in filters {
            self.request(self.client.try_unsubscribe(*filter))?;
            while !matches!(self.step().await?, Event::Incoming(Packet::UnsubAck(_))) {}
        }
        Ok(())
    }

    /// Waits for the next event.
    pub async fn step(&mut self) -> Result<Event, Ended> {
        let event = self.next_event().await?;
        self.apply(&event);
        self.check_refused()?;
        Ok(event)
    }

    /// Applies the events that are there, without waiting.
    pub fn catch_up(&mut self) -> Result<(), Ended> {
        while let Ok(event) = self.events.try_recv() {
            self.apply(&event?);
        }
        self.check_refused()
    }

    fn check_refused(&self) -> Result<(), Ended> {
        self.refused.map_or(Ok(()), |reason| Err(Ended::Refused(reason)))
    }

    /// Waits until the broker has acknowledged everything.
    pub async fn drain(&mut self) -> Result<(), Ended> {
        while !self.in_flight.is_empty() {
            self.step().await?;
        }
        Ok(())
    }

    /// Returns the positions that everything up to is acknowledged, as far as they have moved since the last call.
    pub fn take_completed(&mut self) -> Completed {
        std::mem::take(&mut self.completed)
    }

    /// Waits for what is in flight and disconnects, for no longer than `patience`.
    pub async fn close(&mut self, patience: Duration) {
        let _ = timeout(patience, async {
            // It has stopped: that must not end this wait.
            while let (false, Some(Ok(event))) = (self.in_flight.is_empty(), self.events.recv().await) {
                self.apply(&event);
            }
            if self.client.disconnect().await.is_ok() {
                while let Some(Ok(event)) = self.events.recv().await {
                    if matches!(event, Event::Outgoing(Outgoing::Disconnect)) {
                        break;
                    }
                }
            }
        })
        .await;
    }

    fn request(&self, requested: Result<(), ClientError>) -> Result<(), Ended> {
        // The channel has room unless the other side is gone.
        requested.map_err(|_| Ended::from(ConnectionError::RequestsDone))
    }

    async fn next_event(&mut self) -> Result<Event, Ended> {
        tokio::select! {
            event = self.events.recv() => Ok(event.unwrap_or(Err(ConnectionError::RequestsDone))?),
            _ = self.stop.wait_for(|stop| *stop) => Err(Ended::Stopped),
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            // Packet ids are given in the order of the requests.
            Event::Outgoing(Outgoing::Publish(packet_id)) if *packet_id > 0 => {
                let is_next = |message: &&mut InFlight| message.packet_id.is_none() && !message.acknowledged;
                if let Some(message) = self.in_flight.iter_mut().find(is_next) {
                    message.packet_id = Some(*packet_id);
                }
            }
            Event::Incoming(Packet::PubAck(answer)) => {
                let is_it = |message: &&InFlight| message.packet_id == Some(answer.pkid) && !message.acknowledged;
                let verdict = Verdict::from(answer.reason);
                if verdict == Verdict::Later {
                    self.refused = Some(answer.reason);
                } else if verdict == Verdict::Accepted {
                    self.counters.published.fetch_add(1, Ordering::Relaxed);
                } else if let (Verdict::Refused, Some(message)) = (verdict, self.in_flight.iter().find(is_it)) {
                    self.quarantine(&message.topic, message.bytes, &format!("{:?}", answer.reason));
                }
                let is_it = |message: &&mut InFlight| is_it(&&**message);
                if let (true, Some(message)) = (verdict != Verdict::Later, self.in_flight.iter_mut().find(is_it)) {
                    message.acknowledged = true;
                }
                self.note_completed();
            }
            Event::Incoming(Packet::Publish(publish)) => self.received.push_back(publish.clone()),
            _ => {}
        }
    }
}

impl<'a> Message<'a> {
    /// A message of a change, or a description that is published again.
    pub fn of(family: Family, topic: &'a str, payload: &'a [u8]) -> Message<'a> {
        let content_type = family.media_type();
        Message { topic, payload, content_type, retain: family == Family::Thing }
    }

    /// A decision of the guardian.
    pub fn of_decision(topic: &'a str, payload: &'a [u8]) -> Message<'a> {
        Message { topic, payload, content_type: "application/json", retain: false }
    }
}

/// Nothing moves unless the event loop is polled; after an error it would reconnect at once.
async fn poll(mut event_loop: EventLoop, events: mpsc::UnboundedSender<Result<Event, ConnectionError>>) {
    loop {
        let event = event_loop.poll().await;
        let is_over = event.is_err();
        if events.send(event).is_err() || is_over {
            return;
        }
    }
}
