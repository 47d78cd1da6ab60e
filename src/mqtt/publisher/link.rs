//! A connection to a broker: publishes at QoS 1 and knows what the broker has taken.

use std::{collections::VecDeque, time::Duration};

use rumqttc::{AsyncClient, ConnectionError, Event, EventLoop, MqttOptions, Outgoing, Packet, Publish, QoS};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};

use super::suspect::{Message, Suspicion};
use crate::change::Seq;

/// The most messages that wait for their PUBACK.
const WINDOW: u16 = 100;
/// What a packet has besides topic and payload, at most: its header, and the packet id.
const HEADER_BYTES: usize = 16;

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum Ended {
    /// The publisher is to stop.
    Stopped,
    /// The broker is gone or has refused us.
    Lost(Box<ConnectionError>),
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

/// A message that the broker hasn't taken yet, or later than one before it.
struct Flight {
    message: Message,
    packet_id: Option<u16>,
    acknowledged: bool,
    /// Set on the last message of a change.
    completes: Option<Seq>,
}

pub(super) struct Link {
    client: AsyncClient,
    events: mpsc::UnboundedReceiver<Result<Event, ConnectionError>>,
    polling: JoinHandle<()>,
    stop: watch::Receiver<bool>,
    flights: VecDeque<Flight>,
    taken: Option<Seq>,
    max_packet_bytes: usize,
    suspicion: Option<Suspicion>,
    /// Messages that came from the broker.
    pub received: VecDeque<Publish>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

impl Link {
    /// Connects; the flag says whether the broker still has our session.
    pub async fn connect(
        mut options: MqttOptions,
        suspicion: Option<Suspicion>,
        stop: watch::Receiver<bool>,
    ) -> Result<(Link, bool), Ended> {
        options.set_inflight(WINDOW);
        // Both directions have the same limit.
        let max_packet_bytes = options.max_packet_size();
        // Room for all that is ever asked for at once: sending to the polling task never blocks.
        let (client, event_loop) = AsyncClient::new(options, usize::from(WINDOW) + 16);
        let (sender, events) = mpsc::unbounded_channel();
        let polling = tokio::spawn(poll(event_loop, sender));
        let (flights, received) = (VecDeque::new(), VecDeque::new());
        let taken = None;
        let mut link = Link { client, events, polling, stop, flights, taken, max_packet_bytes, suspicion, received };
        loop {
            if let Event::Incoming(Packet::ConnAck(connack)) = link.next_event().await? {
                return Ok((link, connack.session_present));
            }
        }
    }

    /// Publishes, once the window has room. `completes` is the change that is published with it.
    ///
    /// A message that the broker has refused again and again, or that is larger than any packet may
    /// be, is left out: those after it are worth more.
    pub async fn publish(
        &mut self,
        topic: &str,
        payload: &[u8],
        retain: bool,
        completes: Option<Seq>,
    ) -> Result<(), Ended> {
        while self.flights.len() >= self.window() {
            self.step().await?;
        }
        let message = Message::new(topic, payload);
        let is_too_large = message.bytes() + HEADER_BYTES > self.max_packet_bytes;
        let is_refused = self.suspicion.as_mut().is_some_and(|suspicion| suspicion.convicts(&message));
        let is_left_out = is_too_large || is_refused;
        if is_left_out {
            let (topic, bytes) = (message.topic(), message.bytes());
            tracing::error!(topic, bytes, is_too_large, "a message that the MQTT broker won't take is left out");
        } else {
            self.request(self.client.try_publish(topic, QoS::AtLeastOnce, retain, payload))?;
        }
        self.flights.push_back(Flight { message, packet_id: None, acknowledged: is_left_out, completes });
        self.note_taken();
        Ok(())
    }

    /// After a loss: what the broker may have refused, the oldest that it hasn't taken.
    pub fn into_suspicion(mut self) -> Option<Suspicion> {
        let before = self.suspicion.take();
        match self.flights.pop_front() {
            Some(flight) => Some(Suspicion::after_loss(before, flight.message)),
            None => before,
        }
    }

    /// Notes that nothing was refused, if nothing is in flight any more.
    pub fn trust(&mut self) {
        if self.flights.is_empty() {
            self.suspicion = None;
        }
    }

    fn window(&self) -> usize {
        let is_careful = self.suspicion.as_ref().is_some_and(Suspicion::is_careful);
        if is_careful { 1 } else { usize::from(WINDOW) }
    }

    fn note_taken(&mut self) {
        while let Some(flight) = self.flights.pop_front_if(|flight| flight.acknowledged) {
            self.taken = flight.completes.or(self.taken);
            if let Some(suspicion) = &mut self.suspicion {
                suspicion.acquit(&flight.message);
            }
        }
    }

    /// Subscribes and waits until the broker has taken that.
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

    /// Waits for the broker's next move.
    pub async fn step(&mut self) -> Result<Event, Ended> {
        let event = self.next_event().await?;
        self.apply(&event);
        Ok(event)
    }

    /// Takes in what the broker has said, without waiting.
    pub fn catch_up(&mut self) -> Result<(), Ended> {
        while let Ok(event) = self.events.try_recv() {
            self.apply(&event?);
        }
        Ok(())
    }

    /// Waits until the broker has taken everything.
    pub async fn settle(&mut self) -> Result<(), Ended> {
        while !self.flights.is_empty() {
            self.step().await?;
        }
        Ok(())
    }

    /// The last change that the broker has taken completely since this was last asked.
    pub fn take_taken(&mut self) -> Option<Seq> {
        self.taken.take()
    }

    /// Waits for the broker to take what is in flight, says goodbye, and doesn't wait long.
    pub async fn close(&mut self, patience: Duration) {
        let _ = timeout(patience, async {
            // It has stopped: that must not end this wait.
            while let (false, Some(Ok(event))) = (self.flights.is_empty(), self.events.recv().await) {
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

    fn request(&self, requested: Result<(), rumqttc::ClientError>) -> Result<(), Ended> {
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
                let is_it = |flight: &&mut Flight| flight.packet_id.is_none() && !flight.acknowledged;
                if let Some(flight) = self.flights.iter_mut().find(is_it) {
                    flight.packet_id = Some(*packet_id);
                }
            }
            Event::Incoming(Packet::PubAck(acknowledged)) => {
                let is_it = |flight: &&mut Flight| flight.packet_id == Some(acknowledged.pkid) && !flight.acknowledged;
                if let Some(flight) = self.flights.iter_mut().find(is_it) {
                    flight.acknowledged = true;
                }
                self.note_taken();
            }
            Event::Incoming(Packet::Publish(publish)) => self.received.push_back(publish.clone()),
            _ => {}
        }
    }
}

/// Nothing moves unless the event loop is polled; after an error it would reconnect at once.
async fn poll(mut event_loop: EventLoop, events: mpsc::UnboundedSender<Result<Event, ConnectionError>>) {
    event_loop.network_options.set_tcp_nodelay(true);
    loop {
        let event = event_loop.poll().await;
        let is_over = event.is_err();
        if events.send(event).is_err() || is_over {
            return;
        }
    }
}
