//! What is sent to one client, and when: the log, the retained descriptions, the shared subscriptions.
//!
//! Nothing is queued. A message is read when the client's window and the output buffer have room
//! for it, so that a slow client costs a position in the log and a buffer, however far behind it is.

use std::{collections::VecDeque, sync::Arc};

use super::{
    super::{
        cloud_event,
        feed::{Entry, Family, Feed, Next},
    },
    engine::{Engine, Sent},
    group::{Claim, Group, Groups, Place},
    packets::Outgoing,
    retained::Scan,
    session::{Session, Subscription},
    wish::Wish,
};
use crate::{
    Result,
    change::{Epoch, Position, Seq},
};

/// The most messages in flight: more than what is on the wire and in the client's hands helps nobody.
const WINDOW: usize = 100;
/// How much is written out ahead of the socket.
const OUTPUT_BYTES: usize = 64 * 1024;
/// How many changes or Things are looked through before others get their turn.
const STEPS: usize = 512;

/// Why there is nothing more to send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// All is sent: a new change is waited for.
    Idle,
    /// The window is full: acknowledgements are waited for.
    WindowFull,
    /// The output buffer is full: the socket is waited for.
    OutputFull,
    /// It is somebody else's turn.
    Busy,
}

/// How one step went.
enum Step {
    Done,
    Nothing,
    WindowFull,
}

/// What a message in flight is part of.
enum Origin {
    Log(Seq),
    Resync,
    Retained,
    Group(Arc<Group>, Place),
}

struct Flight {
    packet_id: u16,
    origin: Origin,
    acknowledged: bool,
}

/// The sending side of a connection.
pub(super) struct Delivery {
    feed: Arc<Feed>,
    groups: Arc<Groups>,
    /// The last change that was looked through completely.
    position: Seq,
    current: Option<(Arc<Entry>, usize)>,
    flights: VecDeque<Flight>,
    scans: VecDeque<Scan>,
    /// Subscriptions whose last retained descriptions are in flight.
    finishing: Vec<String>,
    shared: Vec<(String, Arc<Group>)>,
    /// The client has to be told that it missed changes before this one.
    resync: Option<Seq>,
}

impl Delivery {
    /// Goes on where the session stands.
    pub fn resume(feed: Arc<Feed>, groups: Arc<Groups>, session: &mut Session) -> Delivery {
        let mut delivery = Delivery {
            position: session.cursor.seq,
            feed,
            groups,
            current: None,
            flights: VecDeque::new(),
            scans: VecDeque::new(),
            finishing: Vec::new(),
            shared: Vec::new(),
            resync: None,
        };
        if session.cursor.epoch != delivery.feed.epoch() {
            delivery.lose(session, delivery.feed.last_seq());
        }
        for subscription in &session.subscriptions {
            delivery.attend(subscription);
        }
        delivery
    }

    /// Sends what a subscription is due: its retained descriptions, its share.
    pub fn attend(&mut self, subscription: &Subscription) {
        let text = &subscription.text;
        self.scans.retain(|scan| scan.subscription != *text);
        if subscription.retained_pending {
            self.scans.push_back(Scan::of(subscription, &self.feed));
        }
        let is_known = self.shared.iter().any(|(other, _)| other == text);
        if let (true, false, Some(group)) = (subscription.group.is_some(), is_known, self.groups.find(text)) {
            self.shared.push((text.clone(), group));
        }
    }

    /// Sends nothing more for a subscription.
    pub fn forget(&mut self, text: &str) {
        self.scans.retain(|scan| scan.subscription != text);
        self.shared.retain(|(other, _)| other != text);
    }

    /// Whether it takes part in a shared subscription.
    pub fn shares(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Notes that the client has taken messages; true if one of them was waited for.
    pub fn acknowledge(&mut self, packet_ids: &[u16], session: &mut Session) -> bool {
        for packet_id in packet_ids {
            let flight = self.flights.iter_mut().find(|flight| flight.packet_id == *packet_id && !flight.acknowledged);
            let Some(flight) = flight else { continue };
            flight.acknowledged = true;
            if let Origin::Group(group, place) = &flight.origin {
                group.acknowledge(*place);
            }
        }
        while self.flights.front().is_some_and(|flight| flight.acknowledged) {
            self.flights.pop_front();
        }
        self.finish_scans(session);
        !packet_ids.is_empty()
    }

    /// The last change that needs no sending again.
    pub fn cursor(&self) -> Position {
        let epoch = self.feed.epoch();
        let mut open = self.flights.iter().filter(|flight| !flight.acknowledged);
        if self.resync.is_some() || open.clone().any(|flight| matches!(flight.origin, Origin::Resync)) {
            // A place that no log has: whoever goes on from there is told again.
            return Position { epoch: Epoch(!epoch.0), seq: Seq::ZERO };
        }
        let first = open.find_map(|flight| match flight.origin {
            Origin::Log(seq) => Some(Seq(seq.0.saturating_sub(1))),
            _ => None,
        });
        Position { epoch, seq: first.unwrap_or(self.position) }
    }

    /// Gives back what others of a group can take.
    pub fn end(self) {
        for flight in self.flights {
            if let (false, Origin::Group(group, place)) = (flight.acknowledged, flight.origin) {
                self.groups.give_back(&group, place);
            }
        }
    }

    /// Sends as much as there is room for.
    pub fn fill(&mut self, engine: &mut Engine, session: &mut Session) -> Result<Filled> {
        for _ in 0..STEPS {
            if engine.output().len() >= OUTPUT_BYTES {
                return Ok(Filled::OutputFull);
            }
            let step = match self.send_resync(engine, session) {
                Step::Nothing => match self.send_change(engine, session)? {
                    Step::Nothing => match self.send_share(engine, session)? {
                        Step::Nothing => self.send_retained(engine, session)?,
                        step => step,
                    },
                    step => step,
                },
                step => step,
            };
            match step {
                Step::Done => {}
                Step::Nothing => return Ok(Filled::Idle),
                Step::WindowFull => return Ok(Filled::WindowFull),
            }
        }
        Ok(Filled::Busy)
    }

    fn has_room(&self, engine: &Engine) -> bool {
        self.flights.len() < WINDOW && engine.vacancy() != Some(0)
    }

    fn send(&mut self, engine: &mut Engine, message: &Outgoing<'_>, origin: Origin) {
        match engine.publish(message) {
            Sent::Awaiting(packet_id) => self.flights.push_back(Flight { packet_id, origin, acknowledged: false }),
            Sent::Once | Sent::Unsendable => {
                if let Origin::Group(group, place) = origin {
                    group.acknowledge(place);
                }
            }
        }
    }

    /// The log no longer holds what the session needs: the current state takes its place.
    fn lose(&mut self, session: &mut Session, resume: Seq) {
        tracing::warn!(client_id = session.client_id, "an MQTT session missed changes that the log no longer holds");
        session.start_anew(Position { epoch: self.feed.epoch(), seq: resume }, self.feed.topics());
        self.position = resume;
        self.current = None;
        // Groups find out themselves.
        self.resync = session.own().next().is_some().then_some(resume);
        self.scans.clear();
        for subscription in session.own() {
            self.attend(subscription);
        }
    }

    fn send_resync(&mut self, engine: &mut Engine, session: &Session) -> Step {
        let Some(seq) = self.resync else { return Step::Nothing };
        let at_least_once = session.own().any(|subscription| subscription.at_least_once);
        if at_least_once && !self.has_room(engine) {
            return Step::WindowFull;
        }
        self.resync = None;
        let (topic, payload) = self.feed.resync_event(seq);
        let message = Outgoing {
            topic: &topic,
            payload: &payload,
            media_type: cloud_event::MEDIA_TYPE,
            at_least_once,
            retain: false,
            identifiers: &[],
        };
        self.send(engine, &message, Origin::Resync);
        Step::Done
    }

    fn send_change(&mut self, engine: &mut Engine, session: &mut Session) -> Result<Step> {
        let (entry, start) = match self.current.take() {
            Some(current) => current,
            None if session.own().next().is_none() => {
                self.position = self.feed.last_seq();
                return Ok(Step::Nothing);
            }
            None => match self.feed.after(self.position)? {
                Next::Entry(entry) => (entry, 0),
                Next::Nothing => return Ok(Step::Nothing),
                Next::Lost { resume } => {
                    self.lose(session, resume);
                    return Ok(Step::Done);
                }
            },
        };
        let feed = self.feed.clone();
        let messages = feed.messages(&entry);
        for (index, message) in messages.iter().enumerate().skip(start) {
            let Some(wish) = Wish::of(session, message.family, &message.topic, entry.seq) else { continue };
            if wish.at_least_once && !self.has_room(engine) {
                self.current = Some((entry, index));
                return Ok(Step::WindowFull);
            }
            let payload = feed.payload(&entry, message.family)?;
            let message = wish.outgoing(&message.topic, &payload, message.family);
            self.send(engine, &message, Origin::Log(entry.seq));
            if index + 1 < messages.len() {
                self.current = Some((entry, index + 1));
            } else {
                self.position = entry.seq;
            }
            return Ok(Step::Done);
        }
        self.position = entry.seq;
        Ok(Step::Done)
    }

    fn send_share(&mut self, engine: &mut Engine, session: &Session) -> Result<Step> {
        for index in 0..self.shared.len() {
            let Some((text, group)) = self.shared.get(index).cloned() else { break };
            let Some(subscription) = session.subscriptions.iter().find(|subscription| subscription.text == text) else {
                continue;
            };
            if subscription.at_least_once && !self.has_room(engine) {
                return Ok(Step::WindowFull);
            }
            let (entry, place) = match group.claim(subscription, &self.feed)? {
                Claim::Message(entry, place) => (entry, place),
                Claim::Busy => return Ok(Step::Done),
                Claim::Nothing => continue,
            };
            let (feed, place) = (self.feed.clone(), (entry.seq, place));
            let messages = feed.messages(&entry);
            let Some(message) = messages.get(place.1) else { continue };
            let payload = feed.payload(&entry, message.family);
            let payload = payload.inspect_err(|_| self.groups.give_back(&group, place))?;
            let wish = Wish::alone(subscription);
            let message = wish.outgoing(&message.topic, &payload, message.family);
            self.send(engine, &message, Origin::Group(group, place));
            return Ok(Step::Done);
        }
        Ok(Step::Nothing)
    }

    /// Sends the next retained description.
    fn send_retained(&mut self, engine: &mut Engine, session: &mut Session) -> Result<Step> {
        let Some(mut scan) = self.scans.pop_front() else { return Ok(Step::Nothing) };
        let find = |subscription: &&Subscription| subscription.text == scan.subscription;
        let Some(subscription) = session.subscriptions.iter().find(find) else { return Ok(Step::Done) };
        let wish = Wish::alone(subscription);
        let feed = self.feed.clone();
        if wish.at_least_once && !self.has_room(engine) {
            self.scans.push_front(scan);
            return Ok(Step::WindowFull);
        }
        let thing = match scan.next(&feed)? {
            Some(thing) => thing,
            None => {
                self.finishing.push(scan.subscription);
                self.finish_scans(session);
                return Ok(Step::Done);
            }
        };
        self.scans.push_front(scan);
        let payload = Arc::from(thing.enriched().into_bytes());
        let topic = feed.topics().thing(thing.id());
        let message = Outgoing { retain: true, ..wish.outgoing(&topic, &payload, Family::Thing) };
        self.send(engine, &message, Origin::Retained);
        Ok(Step::Done)
    }

    /// A subscription has its retained descriptions once the last of them is acknowledged.
    fn finish_scans(&mut self, session: &mut Session) {
        let is_flying = |flight: &Flight| !flight.acknowledged && matches!(flight.origin, Origin::Retained);
        if self.finishing.is_empty() || self.flights.iter().any(is_flying) {
            return;
        }
        for text in std::mem::take(&mut self.finishing) {
            let is_pending = self.scans.iter().any(|scan| scan.subscription == text);
            let subscription = session.subscriptions.iter_mut().find(|subscription| subscription.text == text);
            if let (false, Some(subscription)) = (is_pending, subscription) {
                subscription.retained_pending = false;
            }
        }
    }
}
