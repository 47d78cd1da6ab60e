//! Delivery of messages to one client: from the log, the retained descriptions and the shared subscriptions.
//!
//! What a change itself says, and what it means for saved queries, are two lanes, each read at a position of its own: nobody
//! waits until queries were compared with changes. Nothing is queued. A message is read when the client's window and the
//! output buffer have room for it, so that a slow client costs two positions and a buffer, however far behind it is.

use std::{collections::VecDeque, sync::Arc};

use super::{
    super::feed::{Audience, Family, Lane, LanePosition, Next, Part},
    cursor::{Current, Cursor},
    delivery_options::DeliveryOptions,
    engine::{Engine, Sent},
    group::{Assigned, Attendance, Member},
    in_flight::{InFlight, Origin, Redelivered},
    index::SubscriptionIndex,
    packets::Outgoing,
    retained::{Scan, Scanned},
    session::{LaneProgress, Progress, QueryProgress, Session, Source},
    trie::FilterId,
};
use crate::{
    Registry, Result,
    change::Seq,
    registry::Presence,
    store::{ChangeOrigin, LoggedChange},
};

/// The most messages in flight: more than what is on the wire and in the client's hands helps nobody.
const WINDOW: usize = 100;
/// Bytes of output at which delivery waits for the socket.
pub(super) const OUTPUT_BYTES: usize = 64 * 1024;
/// Work after which others get their turn, in changes and filters examined and messages sent.
const WORK: usize = 1024;

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

/// The result of one step.
enum Step {
    /// With the work that it took.
    Done(usize),
    Nothing,
    WindowFull,
}

/// The result of a search for the next change of a lane.
enum Found {
    /// A change, and the work that it took to find its messages.
    Change(Current, usize),
    Step(Step),
}

/// The sending side of a connection.
pub(super) struct Delivery {
    index: Arc<SubscriptionIndex>,
    /// The registry as the client sees it.
    reader: Registry,
    /// When the client was there.
    presence: Presence,
    /// The client in groups.
    member: Member,
    plain: Cursor,
    queries: Cursor,
    /// The last change up to which all messages of saved queries were sent.
    queries_sent: Seq,
    in_flight: InFlight,
    /// Messages that an earlier connection left unacknowledged, with their packet ids.
    redelivery: VecDeque<(u16, Source)>,
    scans: VecDeque<Scan>,
    /// Shared subscriptions with their groups.
    shared: VecDeque<(Arc<str>, Attendance)>,
    /// The client has to be notified that it missed changes before this one.
    resync: Option<Seq>,
    /// The last change for which this connection notifies, or has notified, of lost events.
    resynced: Option<Seq>,
    /// Counts what moves the position.
    moves: u64,
    /// The messages that were sent since [`Delivery::take_sent`].
    sent: u64,
}

impl Delivery {
    /// Goes on where the session stands.
    pub fn resume(index: Arc<SubscriptionIndex>, reader: Registry, session: &mut Session) -> Delivery {
        let progress = &mut session.progress;
        let queries = progress.queries.take();
        let queries_sent = queries.as_ref().map_or(progress.seq, |queries| queries.seq);
        let (queries, lost) = match queries.and_then(|queries| queries.lane) {
            Some(LaneProgress { position, after }) => {
                (Cursor { query: after.map(Into::into), ..Cursor::at(position) }, None)
            }
            None => {
                let audience = Audience { reader: &reader, wanted: session.subscriptions.wanted_queries() };
                let (position, lost) = index.feed.resume_queries(queries_sent, audience);
                (Cursor::at(position), lost)
            }
        };
        let resync = lost.or(progress.resync);
        let mut delivery = Delivery {
            plain: Cursor { messages: progress.messages, ..Cursor::at(LanePosition::Log(progress.seq)) },
            queries,
            queries_sent,
            presence: Presence::new(progress.seq, index.feed.last_seq()),
            in_flight: InFlight::default(),
            redelivery: std::mem::take(&mut progress.in_flight).into(),
            scans: VecDeque::new(),
            shared: VecDeque::new(),
            resync,
            resynced: resync,
            moves: 0,
            sent: 0,
            member: Member::of(&reader),
            reader,
            index,
        };
        // What somebody has who saw everything, it is not told to drop.
        let is_narrower = std::mem::take(&mut progress.saw_everything) && !delivery.sees_everything();
        if progress.epoch == delivery.index.feed.epoch() && !is_narrower {
            let (text, after) = progress.retained.take().unzip();
            let pending = |text: &&str| session.subscriptions.get(text).is_some_and(|found| found.retained_pending);
            if let Some(text) = text.as_deref().filter(pending) {
                delivery.scans.push_back(Scan::of(&text.into(), after, &delivery.index.feed, &delivery.reader));
            }
        } else {
            delivery.lose(session, delivery.index.feed.last_seq());
        }
        if session.subscriptions.own_filters().len() == 0 {
            delivery.plain.move_to(delivery.index.feed.end(Lane::Plain));
        }
        let texts: Vec<Arc<str>> = session.subscriptions.iter().map(|subscription| subscription.text.clone()).collect();
        for text in &texts {
            if delivery.scans.iter().all(|scan| scan.text != *text) {
                delivery.start(session, text);
            }
        }
        delivery
    }

    /// Sends what a subscription is due: its retained descriptions, its share.
    pub fn start(&mut self, session: &Session, text: &str) {
        let Some(subscription) = session.subscriptions.get(text) else { return };
        self.scans.retain(|scan| *scan.text != *text);
        if subscription.retained_pending {
            self.scans.push_back(Scan::of(&subscription.text, None, &self.index.feed, &self.reader));
        }
        if !subscription.is_shared || self.shared.iter().any(|(other, ..)| **other == *text) {
            return;
        }
        let (last, mut resumed) = (self.index.feed.last_seq(), None);
        for group in self.index.groups.find_all(&session.subscriptions.group(text)) {
            let attendance = group.enter(&session.client_id, &self.member, last, resumed);
            resumed = Some(attendance.resumed);
            self.shared.push_back((subscription.text.clone(), attendance));
        }
    }

    /// Sends nothing more for a subscription.
    pub fn stop(&mut self, text: &str) {
        self.scans.retain(|scan| *scan.text != *text);
        self.shared.retain(|(other, ..)| **other != *text);
    }

    /// True if the client gets messages of saved queries, which come once these were compared with changes.
    pub fn waits_for_queries(&self, session: &Session) -> bool {
        let is_of_queries = |(_, attendance): &(Arc<str>, Attendance)| attendance.group.is_of_queries();
        !session.subscriptions.wanted_queries().is_empty() || self.shared.iter().any(is_of_queries)
    }

    /// True if it takes part in a shared subscription.
    pub fn shares(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Takes note of messages that the client has acknowledged; true if there are any.
    pub fn acknowledge(&mut self, packet_ids: &[u16]) -> bool {
        for packet_id in packet_ids {
            self.in_flight.acknowledge(*packet_id);
            self.moves += 1;
        }
        !packet_ids.is_empty()
    }

    /// Returns the number of messages sent since the last call.
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// Changes whenever [`Delivery::progress`] does.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Takes note of the changes that queries were compared with: the progress may be another one without a message.
    pub fn note_compared(&mut self, session: &Session) {
        if let Some(sent) = self.all_queries_sent(session).filter(|sent| *sent != self.queries_sent) {
            self.queries_sent = sent;
            self.moves += 1;
        }
    }

    /// Returns the progress from which another connection continues.
    pub fn progress(&mut self, session: &Session) -> Progress {
        self.queries_sent = self.all_queries_sent(session).unwrap_or(self.queries_sent);
        let scan = self.scans.front();
        let after = self.queries.query.as_deref().map(str::to_owned);
        Progress {
            epoch: self.index.feed.epoch(),
            seq: self.plain.position.in_log().unwrap_or_default(),
            messages: self.plain.messages,
            queries: Some(QueryProgress {
                seq: self.queries_sent,
                lane: Some(LaneProgress { position: self.queries.position, after }),
            }),
            resync: self.resync,
            saw_everything: self.sees_everything(),
            retained: scan.and_then(|scan| Some((scan.text.to_string(), scan.after.clone()?))),
            in_flight: self.in_flight.own().chain(self.redelivery.iter().cloned()).collect(),
        }
    }

    /// The last change that all queries were compared with whose messages the client gets, if all of these are sent.
    fn all_queries_sent(&self, session: &Session) -> Option<Seq> {
        let audience = Audience { reader: &self.reader, wanted: session.subscriptions.wanted_queries() };
        // Read first: what is found later may be about later changes only.
        let compared = self.index.feed.queries_position(audience);
        (self.queries.position == self.index.feed.end(Lane::Queries)).then_some(compared)
    }

    fn sees_everything(&self) -> bool {
        self.reader.grants().is_none()
    }

    /// Requeues what others of a group can get.
    pub fn end(self) {
        self.in_flight.requeue(&self.index.groups);
    }

    /// Sends as much as there is room for.
    pub fn fill(&mut self, engine: &mut Engine, session: &mut Session) -> Result<Filled> {
        let mut work = 0;
        while work < WORK {
            if engine.output().len() >= OUTPUT_BYTES {
                return Ok(Filled::OutputFull);
            }
            match self.step(engine, session)? {
                Step::Done(count) => work += count,
                Step::Nothing => return Ok(Filled::Idle),
                Step::WindowFull => return Ok(Filled::WindowFull),
            }
        }
        Ok(Filled::Busy)
    }

    fn step(&mut self, engine: &mut Engine, session: &mut Session) -> Result<Step> {
        let mut step = self.redeliver(engine, session)?;
        if matches!(step, Step::Nothing) {
            step = self.send_resync(engine, session);
        }
        if matches!(step, Step::Nothing) {
            step = self.send_change(Lane::Plain, engine, session)?;
        }
        if matches!(step, Step::Nothing) {
            step = self.send_change(Lane::Queries, engine, session)?;
        }
        if matches!(step, Step::Nothing) {
            step = self.send_share(engine, session)?;
        }
        if matches!(step, Step::Nothing) {
            step = self.send_retained(engine, session)?;
        }
        Ok(step)
    }

    fn has_room(&self, engine: &Engine) -> bool {
        self.in_flight.len() < WINDOW && engine.vacancy() != Some(0)
    }

    fn send(&mut self, engine: &mut Engine, message: &Outgoing<'_>, origin: Origin) {
        (self.moves, self.sent) = (self.moves + 1, self.sent + 1);
        match engine.publish(message) {
            Sent::Awaiting(packet_id) => self.in_flight.push(packet_id, origin),
            Sent::Once | Sent::Unsendable => origin.finish(),
        }
    }

    /// The log no longer holds what the session needs: the current state takes its place.
    fn lose(&mut self, session: &mut Session, resume: Seq) {
        tracing::warn!(client_id = session.client_id, "an MQTT session missed changes that are no longer in the log");
        self.plain.move_to(LanePosition::Log(resume));
        self.queries.move_to(self.index.feed.end(Lane::Queries));
        self.moves += 1;
        self.redelivery.clear();
        self.scans.clear();
        let own: Vec<Arc<str>> = session.subscriptions.own().map(|subscription| subscription.text.clone()).collect();
        self.queries_sent = resume;
        // Groups find out themselves.
        self.resync = (!own.is_empty()).then_some(resume);
        self.resynced = self.resync;
        for text in own {
            session.subscriptions.update(&text, |subscription| {
                subscription.since = resume;
                subscription.retained_pending = true;
            });
            self.start(session, &text);
        }
    }

    /// Sends what was sent before and not acknowledged, under its old packet id (5.0, section 4.4).
    fn redeliver(&mut self, engine: &mut Engine, session: &Session) -> Result<Step> {
        if self.redelivery.is_empty() {
            return Ok(Step::Nothing);
        }
        if !self.has_room(engine) {
            return Ok(Step::WindowFull);
        }
        let Some((packet_id, source)) = self.redelivery.pop_front() else { return Ok(Step::Nothing) };
        self.moves += 1;
        if let Some(again) = Redelivered::of(&source, &self.index, &self.reader, session)? {
            let outgoing = again.options.outgoing(&again.topic, &again.payload, again.family);
            let retain = again.retain || outgoing.retain;
            let message = Outgoing { retain, packet_id_again: Some(packet_id), ..outgoing };
            self.send(engine, &message, Origin::Own(source));
        } else if let Source::Query { seq, .. } = source {
            // Either the query is gone, or the event is no longer known, as after a restart.
            let audience = Audience { reader: &self.reader, wanted: session.subscriptions.wanted_queries() };
            let (_, lost) = self.index.feed.resume_queries(Seq(seq.0.saturating_sub(1)), audience);
            if let Some(lost) = lost {
                self.notify_of_loss(session, lost);
            }
        }
        Ok(Step::Done(1))
    }

    fn send_resync(&mut self, engine: &mut Engine, session: &Session) -> Step {
        let Some(seq) = self.resync else { return Step::Nothing };
        let at_least_once = session.subscriptions.own().any(|subscription| subscription.at_least_once);
        if at_least_once && !self.has_room(engine) {
            return Step::WindowFull;
        }
        self.resync = None;
        let (topic, payload) = self.index.feed.resync_event(seq);
        let options = DeliveryOptions { at_least_once, ..DeliveryOptions::default() };
        let message = options.outgoing(&topic, &payload, Family::Event);
        self.send(engine, &message, Origin::Own(Source::Resync(seq)));
        Step::Done(1)
    }

    /// Events of saved queries up to a change are no longer known: the client has to read the state again.
    fn notify_of_loss(&mut self, session: &Session, seq: Seq) {
        if self.resynced < Some(seq) {
            tracing::warn!(client_id = session.client_id, "an MQTT session missed events of saved queries");
            (self.resync, self.resynced) = (Some(seq), Some(seq));
        }
    }

    fn cursor(&mut self, lane: Lane) -> &mut Cursor {
        match lane {
            Lane::Plain => &mut self.plain,
            Lane::Queries => &mut self.queries,
        }
    }

    /// The change in a lane whose messages are sent next.
    fn next_change(&mut self, lane: Lane, session: &mut Session) -> Result<Found> {
        if let Some(current) = self.cursor(lane).current.take() {
            return Ok(Found::Change(current, 0));
        }
        if let Some((part, seen)) = &mut self.cursor(lane).part {
            let part = part.clone();
            let Some(change) = seen.next().transpose()? else {
                return Ok(Found::Step(self.pass(lane, part.end)));
            };
            let (current, work) = self.examine(&part, change, session);
            return Ok(Found::Change(current, work));
        }
        let wanted = session.subscriptions.wanted_queries();
        let is_idle = match lane {
            Lane::Plain => session.subscriptions.own_filters().len() == 0,
            Lane::Queries => wanted.is_empty(),
        };
        if is_idle {
            let end = self.index.feed.end(lane);
            self.cursor(lane).move_to(end);
            return Ok(Found::Step(Step::Nothing));
        }
        let position = self.cursor(lane).position;
        let audience = Audience { reader: &self.reader, wanted };
        let queries_sent = self.queries_sent;
        let is_sent = |seq: Seq| lane == Lane::Queries && seq <= queries_sent;
        Ok(Found::Step(match self.index.feed.after(position, audience)? {
            // Another endpoint of this process has sent it.
            Next::Part(Part { entry, end, .. }) if is_sent(entry.seq()) => self.pass(lane, end),
            Next::Lost { resume, seq } if is_sent(seq) => self.pass(lane, resume),
            Next::Part(part) if self.index.feed.is_silent(&part, audience) => self.pass(lane, part.end),
            Next::Part(part) => {
                let seen = self.reader.seen(&part.entry, self.presence);
                self.cursor(lane).part = Some((part, seen));
                Step::Done(1)
            }
            Next::Skipped(end) => self.pass(lane, end),
            Next::Nothing => Step::Nothing,
            Next::Lost { resume, seq } => {
                match lane {
                    Lane::Plain => self.lose(session, seq),
                    Lane::Queries => {
                        self.notify_of_loss(session, seq);
                        self.pass(lane, resume);
                    }
                }
                Step::Done(session.subscriptions.len())
            }
        }))
    }

    /// Leaves a part of a lane behind.
    fn pass(&mut self, lane: Lane, end: LanePosition) -> Step {
        self.cursor(lane).move_to(end);
        self.moves += 1;
        Step::Done(1)
    }

    fn send_change(&mut self, lane: Lane, engine: &mut Engine, session: &mut Session) -> Result<Step> {
        let (mut current, mut work) = match self.next_change(lane, session)? {
            Found::Change(current, work) => (current, work),
            Found::Step(step) => return Ok(step),
        };
        let index = self.index.clone();
        let messages = current.messages.clone();
        let seq = current.change.seq;
        while let Some(&(number, _)) = current.matched.get(current.done) {
            work += 1;
            let rest = current.matched.get(current.done..).unwrap_or_default();
            let count = rest.iter().take_while(|(other, _)| *other == number).count();
            let filters = rest.iter().take(count).map(|(_, filter)| *filter);
            let subscriptions = filters.flat_map(|filter| session.subscriptions.with_filter(filter));
            let options = DeliveryOptions::of(subscriptions.filter(|subscription| subscription.since < seq));
            let message = messages.get(number as usize).filter(|message| message.is_seen_by(&self.reader));
            let (Some(options), Some(message)) = (options, message) else {
                current.done += count;
                continue;
            };
            if options.at_least_once && !self.has_room(engine) {
                self.cursor(lane).current = Some(current);
                return Ok(Step::WindowFull);
            }
            let payload = index.feed.payload(&current.change, message.family, &self.reader)?;
            let outgoing = options.outgoing(&message.topic, &payload, message.family);
            current.done += count;
            let level = message.query_level(index.feed.topics());
            let source = self.note_sent(lane, &current.change, number as usize, level);
            self.send(engine, &outgoing, Origin::Own(source));
            self.cursor(lane).current = Some(current);
            return Ok(Step::Done(work));
        }
        Ok(Step::Done(work + 1))
    }

    /// Notes that a message of a change needs no sending any more, and returns what it can be made of again.
    fn note_sent(&mut self, lane: Lane, change: &LoggedChange, number: usize, level: Option<&str>) -> Source {
        // What a membership means for many Things is done with as a whole.
        let is_of_membership =
            matches!(change.origin(), ChangeOrigin::Membership(_) | ChangeOrigin::Unseen { by_membership: true });
        let (seq, id, cursor) = (change.seq, change.id.clone(), self.cursor(lane));
        match level {
            Some(level) if is_of_membership => Source::Query { seq, id: Some(id), level: level.to_owned() },
            Some(level) => {
                cursor.query = Some(level.into());
                Source::Query { seq, id: None, level: level.to_owned() }
            }
            None if is_of_membership => Source::Membership(seq, id, number),
            None => {
                cursor.messages = number + 1;
                Source::Change(seq, number)
            }
        }
    }

    /// Finds what a session's own filters match of a change, and says what work that took.
    fn examine(&self, part: &Part, change: Arc<LoggedChange>, session: &Session) -> (Current, usize) {
        let (own, index) = (&session.subscriptions, &self.index);
        let audience = Audience { reader: &self.reader, wanted: own.wanted_queries() };
        let messages = index.feed.messages(part, &change, audience);
        let matches = index.matcher.matches(&index.feed, &change, &messages);
        let mut matched: Vec<(u32, FilterId)> = Vec::new();
        let mut add =
            |filter: FilterId, messages: &[u32]| matched.extend(messages.iter().map(|message| (*message, filter)));
        let work = own.own_filters().len().min(matches.len());
        if own.own_filters().len() < matches.len() {
            own.own_filters().for_each(|filter| add(filter, matches.messages(filter)));
        } else {
            let matching = matches.iter().filter(|(filter, _)| own.has_own_filter(*filter));
            matching.for_each(|(filter, messages)| add(filter, messages));
        }
        matched.sort_unstable();
        let start = match (part.end, self.queries.query.as_deref()) {
            (LanePosition::Log(_), _) => self.plain.messages,
            (LanePosition::Journal(_), None) => 0,
            (LanePosition::Journal(_), Some(query)) => {
                let topics = index.feed.topics();
                messages.partition_point(|message| message.query_level(topics).is_some_and(|level| level <= query))
            }
        };
        let done = matched.partition_point(|(message, _)| (*message as usize) < start);
        let work = work + matched.len();
        (Current { change, messages, matched, done }, work)
    }

    fn send_share(&mut self, engine: &mut Engine, session: &Session) -> Result<Step> {
        for asked in 1..=self.shared.len() {
            // The next group has its turn first next time.
            self.shared.rotate_left(1);
            let Some((text, attendance)) = self.shared.back() else { break };
            let (text, group) = (text.clone(), attendance.group.clone());
            let Some(subscription) = session.subscriptions.get(&text) else { continue };
            if subscription.at_least_once && !self.has_room(engine) {
                return Ok(Step::WindowFull);
            }
            let index = self.index.clone();
            let (change, messages, number, place) = match group.assign(&index.feed, &index.matcher, &self.member)? {
                Assigned::Message(change, messages, number, place) => (change, messages, number, place),
                Assigned::Busy => return Ok(Step::Done(asked + WORK / 4)),
                Assigned::Nothing => continue,
            };
            let Some(message) = messages.get(number) else { continue };
            let payload = index.feed.payload(&change, message.family, &self.reader);
            let payload = payload.inspect_err(|_| index.groups.requeue(&group, place.clone()))?;
            let options = DeliveryOptions::alone(subscription);
            let message = options.outgoing(&message.topic, &payload, message.family);
            self.send(engine, &message, Origin::Group(group, place));
            return Ok(Step::Done(asked));
        }
        Ok(Step::Nothing)
    }

    /// Sends the next retained description.
    fn send_retained(&mut self, engine: &mut Engine, session: &mut Session) -> Result<Step> {
        let room = self.has_room(engine);
        let Some(scan) = self.scans.front_mut() else { return Ok(Step::Nothing) };
        let Some(subscription) = session.subscriptions.get(&scan.text) else {
            self.scans.pop_front();
            return Ok(Step::Done(1));
        };
        let options = DeliveryOptions::alone(subscription);
        if options.at_least_once && !room {
            return Ok(Step::WindowFull);
        }
        let thing = match scan.next(&self.index.feed, &self.reader)? {
            Scanned::Thing(thing) => thing,
            Scanned::Nothing => return Ok(Step::Done(1)),
            Scanned::End => {
                let text = scan.text.clone();
                session.subscriptions.update(&text, |subscription| subscription.retained_pending = false);
                self.scans.pop_front();
                self.moves += 1;
                return Ok(Step::Done(1));
            }
        };
        let payload = Arc::from(thing.enriched().into_bytes());
        let topic = self.index.feed.topics().thing(thing.id());
        let message = Outgoing { retain: true, ..options.outgoing(&topic, &payload, Family::Thing) };
        let source = Source::Retained(thing.id().to_owned(), options.identifiers.first().copied());
        self.send(engine, &message, Origin::Own(source));
        Ok(Step::Done(1))
    }
}
