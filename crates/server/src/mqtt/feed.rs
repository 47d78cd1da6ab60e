//! The log as messages: each change is turned into topics and payloads once, which it carries for all readers.
//!
//! There are two lanes, which a reader follows at a position of its own each: what a change itself says is read in the order of
//! the log; what it means for saved queries is read in the order in which that was found out, so that nothing waits for a
//! query that was not compared with the change yet.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Deref,
    sync::{Arc, OnceLock},
};

use tokio::sync::watch;

use super::{
    cloud_event::{self, CloudEvents},
    topics::Topics,
};
use crate::{
    Registry, Result,
    access::{Caller, Owner},
    change::{Epoch, Position, Seq},
    registry::{Finding, Found, JournalPosition, QueryId, SavedQueryEvent},
    store::{ChangeOrigin, Logged, LoggedChange, Slot},
};

/// The number of entries that are read from the log at once.
const ENTRIES_AT_ONCE: usize = 64;

/// A family of topics that a change is published under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Event,
    Capability,
    Thing,
    Query,
}

impl Family {
    pub const ALL: [Family; 4] = [Family::Event, Family::Capability, Family::Thing, Family::Query];

    /// The level after the prefix.
    pub fn level(self) -> &'static str {
        match self {
            Family::Event => "events",
            Family::Capability => "capabilities",
            Family::Thing => "things",
            Family::Query => "queries",
        }
    }

    /// The media type of its payloads.
    pub fn media_type(self) -> &'static str {
        match self {
            Family::Event | Family::Capability | Family::Query => cloud_event::MEDIA_TYPE,
            Family::Thing => "application/td+json",
        }
    }

    /// Returns the number of levels after [`Family::level`] in its topics.
    pub fn depth(self) -> usize {
        match self {
            Family::Event => 2,
            Family::Capability | Family::Query => 3,
            Family::Thing => 1,
        }
    }
}

/// Messages that are read at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Messages about the change itself.
    Plain,
    /// Messages about saved queries that it concerns.
    Queries,
}

/// A position in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LanePosition {
    /// In the lane of plain messages.
    Log(Seq),
    /// In the lane of queries.
    Journal(JournalPosition),
}

impl LanePosition {
    /// The position of the log; `None` in the lane of queries.
    pub fn in_log(self) -> Option<Seq> {
        match self {
            LanePosition::Log(seq) => Some(seq),
            LanePosition::Journal(_) => None,
        }
    }
}

/// A part of a lane that is read at once.
#[derive(Clone)]
pub(super) struct Part {
    pub entry: Logged,
    /// What queries found at the entry; `None` for its plain messages.
    finding: Option<Arc<Finding>>,
    /// Its messages of saved queries for readers who see the entry as it is, once they are made.
    of_queries: OnceLock<Arc<Messages>>,
    /// The position after it.
    pub end: LanePosition,
}

/// Levels of saved queries in topics, of which a reader wants the messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct QueryLevels {
    /// True if all are wanted.
    pub all: bool,
    /// The levels that are wanted, ascending.
    pub levels: Vec<Box<str>>,
}

impl QueryLevels {
    fn has(&self, level: &str) -> bool {
        self.levels.binary_search_by(|wanted| (**wanted).cmp(level)).is_ok()
    }

    /// True if none is wanted.
    pub fn is_empty(&self) -> bool {
        !self.all && self.levels.is_empty()
    }

    /// Adds the level of a filter; `None`: all.
    pub fn add(&mut self, level: Option<&str>) {
        let Some(level) = level else {
            self.all = true;
            return;
        };
        if let Err(at) = self.levels.binary_search_by(|wanted| (**wanted).cmp(level)) {
            self.levels.insert(at, level.into());
        }
    }
}

/// A reader, and the saved queries whose messages it wants.
#[derive(Clone, Copy)]
pub(super) struct Audience<'a> {
    pub reader: &'a Registry,
    pub wanted: &'a QueryLevels,
}

/// One message of a change.
#[derive(Debug)]
pub(super) struct Message {
    pub family: Family,
    pub topic: String,
    /// The saved query that it is of.
    query: Option<QueryId>,
}

/// Identifies a message among those of one change, whatever kind of change the reader sees: the family, and the level of the
/// capability or query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey {
    family: Family,
    level: Box<str>,
}

impl Part {
    /// True if its messages are those of the change itself.
    pub fn is_plain(&self) -> bool {
        self.finding.is_none()
    }
}

impl MessageKey {
    /// The level of the saved query whose messages have this key.
    pub fn query_level(&self) -> Option<&str> {
        (self.family == Family::Query).then_some(&*self.level)
    }
}

impl Message {
    fn new(family: Family, topic: String) -> Message {
        Message { family, topic, query: None }
    }

    /// True unless it is of a saved query that a reader doesn't see: all readers have the same list of messages.
    pub fn is_seen_by(&self, reader: &Registry) -> bool {
        self.query.is_none_or(|query| reader.sees_query(query))
    }

    /// The level of the saved query that it is of; `None` if it is of none.
    pub fn query_level(&self, topics: &Topics) -> Option<&str> {
        (self.family == Family::Query).then(|| self.own_level(topics))
    }

    pub fn key(&self, topics: &Topics) -> MessageKey {
        MessageKey { family: self.family, level: self.own_level(topics).into() }
    }

    /// True if it has that key.
    pub fn has_key(&self, key: &MessageKey, topics: &Topics) -> bool {
        self.family == key.family && self.own_level(topics) == &*key.level
    }

    /// The level of the capability or query; empty in other families.
    fn own_level(&self, topics: &Topics) -> &str {
        match self.family {
            Family::Event | Family::Thing => "",
            Family::Capability | Family::Query => {
                let start = topics.prefix().len() + self.family.level().len() + 2;
                self.topic.get(start..).and_then(|rest| rest.split('/').next()).unwrap_or_default()
            }
        }
    }
}

/// The slots in which a change carries its event, and a description of its Thing.
const EVENT: Slot<Payload> = Slot::numbered(2, payload_size);
const THING: Slot<Described> = Slot::numbered(3, |described| size_of::<Described>() + described.payload.len());
/// Slots in which a change carries its messages: the endpoint and the publisher may have other topics.
pub(super) const ENDPOINT_MESSAGES: Slots = Slots::numbered(4, 5);
pub(super) const PUBLISHER_MESSAGES: Slots = Slots::numbered(6, 7);

/// The slots of both lanes.
pub(super) struct Slots {
    plain: Slot<Messages>,
    queries: Slot<Messages>,
}

impl Slots {
    const fn numbered(plain: usize, queries: usize) -> Slots {
        let (plain, queries) = (Slot::numbered(plain, messages_size), Slot::numbered(queries, messages_size));
        Slots { plain, queries }
    }
}

/// The messages of a change, in the order they are published in.
#[derive(Debug)]
pub(super) struct Messages {
    list: Box<[Message]>,
    /// Tells them from those of the same change as another reader sees it.
    tag: u64,
    /// The end of the part that they are of; `None` if they are of none.
    part: Option<LanePosition>,
}

impl Messages {
    fn new(list: Box<[Message]>, part: Option<LanePosition>) -> Messages {
        let mut hasher = DefaultHasher::new();
        list.iter().for_each(|message| message.topic.hash(&mut hasher));
        Messages { tag: hasher.finish(), list, part }
    }

    pub fn tag(&self) -> u64 {
        self.tag
    }
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.list
    }
}

type Payload = Arc<[u8]>;

/// The description of a Thing as it was at a position.
struct Described {
    seq: Seq,
    payload: Payload,
}

fn messages_size(messages: &Messages) -> usize {
    size_of::<Messages>() + messages.iter().map(|message| size_of::<Message>() + message.topic.len()).sum::<usize>()
}

fn payload_size(payload: &Payload) -> usize {
    size_of::<Payload>() + payload.len()
}

/// The next part of a lane after a position, or the reason why there is none.
pub(super) enum Next {
    Part(Part),
    /// Nothing yet.
    Nothing,
    /// Nothing for this reader up to a position.
    Skipped(LanePosition),
    /// The lane doesn't reach back to the position, or not up to it. Whoever reads on from `resume`
    /// and takes the current state in misses nothing but the events between, of changes up to `seq`.
    Lost {
        resume: LanePosition,
        seq: Seq,
    },
}

/// Reads the log for any number of readers.
pub(super) struct Feed {
    registry: Registry,
    topics: Topics,
    slots: Slots,
    events: CloudEvents,
    durable: watch::Receiver<Seq>,
}

impl Feed {
    /// A feed that has its messages in slots of its own.
    pub fn new(registry: Registry, topics: Topics, slots: Slots) -> Feed {
        let events = CloudEvents::new(registry.registry_id());
        // Whoever is shown something brings a registry of its own.
        let registry = registry.as_caller(Caller::Anonymous);
        Feed { durable: registry.durable(), registry, topics, slots, events }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The registry as everybody sees it.
    pub fn public(&self) -> Registry {
        self.registry.as_caller(Caller::Anonymous)
    }

    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    pub fn epoch(&self) -> Epoch {
        self.registry.epoch()
    }

    /// The durable end of the log.
    pub fn last_seq(&self) -> Seq {
        *self.durable.borrow()
    }

    /// The end of a lane.
    pub fn end(&self, lane: Lane) -> LanePosition {
        match lane {
            Lane::Plain => LanePosition::Log(self.last_seq()),
            Lane::Queries => LanePosition::Journal(self.registry.query_journal_end()),
        }
    }

    /// The part of a lane after a position. Of the lane of queries an audience needs what concerns the saved queries that it
    /// sees and wants.
    pub fn after(&self, position: LanePosition, audience: Audience<'_>) -> Result<Next> {
        match position {
            LanePosition::Log(seq) => self.after_in_log(seq),
            LanePosition::Journal(position) => self.after_in_journal(position, audience),
        }
    }

    fn after_in_log(&self, seq: Seq) -> Result<Next> {
        if seq == self.last_seq() {
            return Ok(Next::Nothing);
        }
        let part = |entry: Logged| {
            let end = LanePosition::Log(entry.seq());
            Next::Part(Part { entry, finding: None, of_queries: OnceLock::new(), end })
        };
        if let Some(entry) = self.registry.cached_entries(seq, 1).and_then(|entries| entries.into_iter().next()) {
            return Ok(part(entry));
        }
        let read = self.registry.entries(seq, ENTRIES_AT_ONCE)?;
        if read.truncated {
            return Ok(Next::Lost { resume: LanePosition::Log(read.last), seq: read.last });
        }
        Ok(read.entries.into_iter().next().map_or(Next::Nothing, part))
    }

    fn after_in_journal(&self, position: JournalPosition, audience: Audience<'_>) -> Result<Next> {
        let Audience { reader, wanted } = audience;
        let is_wanted = self.is_wanted(wanted);
        let forgotten = |resume| {
            let resume = LanePosition::Journal(resume);
            match reader.has_saved_query(&is_wanted) {
                true => Next::Lost { resume, seq: self.registry.last_compared() },
                false => Next::Skipped(resume),
            }
        };
        let (finding, end) = match self.registry.found_after(position) {
            Found::Nothing => return Ok(Next::Nothing),
            Found::Forgotten(resume) => return Ok(forgotten(resume)),
            Found::Finding(finding, end) => (finding, end),
        };
        if finding.is_loss() {
            let (resume, seq) = (LanePosition::Journal(end), finding.seq);
            let is_lost = reader.is_lost_by(&finding, is_wanted);
            return Ok(if is_lost { Next::Lost { resume, seq } } else { Next::Skipped(resume) });
        }
        // The log may have been trimmed up to here meanwhile.
        let Some(entry) = self.find(finding.seq)? else { return Ok(forgotten(end)) };
        let (finding, of_queries, end) = (Some(finding), OnceLock::new(), LanePosition::Journal(end));
        Ok(Next::Part(Part { entry, finding, of_queries, end }))
    }

    /// The position in the lane of queries of an audience that got everything about changes up to `seq`, maybe from an
    /// earlier process; with the position up to which it misses events, if it does.
    pub fn resume_queries(&self, seq: Seq, audience: Audience<'_>) -> (LanePosition, Option<Seq>) {
        let lost = audience.reader.query_events_lost_after(seq, self.is_wanted(audience.wanted));
        let start = LanePosition::Journal(JournalPosition::START);
        (lost.map_or(start, |_| self.end(Lane::Queries)), lost)
    }

    /// The last change that all saved queries were compared with which an audience sees and wants.
    pub fn queries_position(&self, audience: Audience<'_>) -> Seq {
        audience.reader.queries_position(self.is_wanted(audience.wanted))
    }

    fn is_wanted(&self, wanted: &QueryLevels) -> impl Fn(Option<&Owner>, &str) -> bool {
        |owner, name| wanted.all || wanted.has(&self.topics.query_level(owner, name))
    }

    /// The entry at a position; none where the log no longer has it.
    pub fn find(&self, seq: Seq) -> Result<Option<Logged>> {
        self.registry.entry(seq)
    }

    /// True if no change that the entry of a part is for readers can have messages in it.
    pub fn is_silent(&self, part: &Part, audience: Audience<'_>) -> bool {
        let is_silent = |change: &Arc<LoggedChange>| self.messages(part, change, audience).is_empty();
        part.finding.is_some() && part.entry.change().is_some_and(is_silent)
    }

    /// The messages of a part, for a change that its entry is for a reader, in the order they are published in.
    pub fn messages(&self, part: &Part, change: &LoggedChange, audience: Audience<'_>) -> Arc<Messages> {
        let Some(finding) = &part.finding else { return self.plain_messages(change) };
        if matches!(change.origin(), ChangeOrigin::Membership(_)) {
            // Such a change is one of this reader alone: what it doesn't want isn't compared.
            let events = audience.reader.events_of_finding(finding, change, self.is_wanted(audience.wanted));
            return Arc::new(self.query_messages(change, events, Some(part.end)));
        }
        let make = || {
            let everything = self.registry.as_caller(Caller::Trusted);
            self.query_messages(change, everything.events_of_finding(finding, change, |_, _| true), Some(part.end))
        };
        if *change.origin() != ChangeOrigin::Entry {
            return Arc::new(make());
        }
        let shared = || {
            let messages = change.rendition(&self.slots.queries, make);
            if messages.part == Some(part.end) && self.is_own(&messages) { messages } else { Arc::new(make()) }
        };
        part.of_queries.get_or_init(shared).clone()
    }

    /// The messages of a change itself.
    pub fn plain_messages(&self, change: &LoggedChange) -> Arc<Messages> {
        let make = || {
            let event = Message::new(Family::Event, self.topics.event(change.kind, &change.id));
            if matches!(change.origin(), ChangeOrigin::Unseen { .. }) {
                return Messages::new([event].into(), None);
            }
            let capabilities = change
                .capability_keys()
                .filter_map(|key| self.topics.capability(key, change.kind, &change.id))
                .map(|topic| Message::new(Family::Capability, topic));
            let thing = Message::new(Family::Thing, self.topics.thing(&change.id));
            Messages::new(std::iter::once(event).chain(capabilities).chain([thing]).collect(), None)
        };
        let messages = change.rendition(&self.slots.plain, make);
        if self.is_own(&messages) { messages } else { Arc::new(make()) }
    }

    /// The message of a change for the saved query of a level.
    pub fn messages_of_query(&self, change: &LoggedChange, level: &str) -> Messages {
        let event = Topics::query_at(level)
            .map_or(Ok(None), |(owner, name)| self.registry.known_query_event(change, owner, name));
        self.query_messages(change, event.map(Vec::from_iter), None)
    }

    /// True unless another endpoint of the same process, with another prefix, made the messages that a change carries.
    fn is_own(&self, messages: &Messages) -> bool {
        messages.first().is_none_or(|message| self.topics.has_prefix_of(&message.topic))
    }

    /// The messages of saved queries, in the order of their levels.
    fn query_messages(
        &self,
        change: &LoggedChange,
        events: Result<Vec<SavedQueryEvent>>,
        part: Option<LanePosition>,
    ) -> Messages {
        let events = events.unwrap_or_else(|error| {
            tracing::error!(%error, seq = %change.seq, "the saved-query events of a change can't be published");
            Vec::new()
        });
        let message = |event: SavedQueryEvent| {
            let topic = self.topics.query(event.owner.as_ref(), &event.name, event.kind, &change.id);
            Message { query: Some(event.query), ..Message::new(Family::Query, topic) }
        };
        let mut messages: Vec<Message> = events.into_iter().map(message).collect();
        messages.sort_by(|one, other| one.query_level(&self.topics).cmp(&other.query_level(&self.topics)));
        Messages::new(messages.into(), part)
    }

    /// The payload of one of its messages. Under `things` that is the description as it is now,
    /// which may be later than the change; empty if there is none.
    /// For a `reader` who doesn't see the Thing there is none either. A change carries the description that was made
    /// for one reader for others who are shown the same one.
    pub fn payload(&self, change: &LoggedChange, family: Family, reader: &Registry) -> Result<Arc<[u8]>> {
        if family != Family::Thing {
            return Ok((*change.rendition(&EVENT, || self.events.event(change).into_bytes().into())).clone());
        }
        let Some(thing) = reader.find(&change.id)? else { return Ok(Arc::from(Vec::new())) };
        let describe = || Described { seq: thing.seq(), payload: thing.enriched().into_bytes().into() };
        let described = change.rendition(&THING, describe);
        Ok(if described.seq == thing.seq() { described.payload.clone() } else { describe().payload })
    }

    /// Topic and payload of the event for subscribers who missed changes; the next they get comes after `seq`.
    pub fn resync_event(&self, seq: Seq) -> (String, Arc<[u8]>) {
        let cursor = Position { epoch: self.epoch(), seq };
        (self.topics.resync(self.events.source()), self.events.resync(cursor).into_bytes().into())
    }
}
