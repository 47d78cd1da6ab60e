//! The log as messages: each change is turned into topics and payloads once, which it carries for all readers.
//!
//! There are two lanes, which a reader follows at a position of its own each: the messages of saved queries are known only
//! once the queries were compared with the change, which nobody waits for who reads the others.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Deref,
    sync::Arc,
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
    registry::{QueryId, SavedQueryEvent},
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

/// Messages that are read in the order of the log, at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Messages about the change itself.
    Plain,
    /// Messages about saved queries that it concerns.
    Queries,
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

/// The difference of a message of a change from its others, whatever kind of change it is for a reader: the family, and the
/// level of the capability or query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey {
    family: Family,
    level: Box<str>,
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
}

impl Messages {
    fn new(list: Box<[Message]>) -> Messages {
        let mut hasher = DefaultHasher::new();
        list.iter().for_each(|message| message.topic.hash(&mut hasher));
        Messages { tag: hasher.finish(), list }
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

/// The next entry of the log after a position, or the reason why there is none.
pub(super) enum Next {
    Entry(Logged),
    /// Nothing yet.
    Nothing,
    /// The log doesn't reach back to the position, or not up to it. Whoever reads on from `resume`
    /// and takes the current state in misses nothing but the events between.
    Lost {
        resume: Seq,
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

    /// The entry of the log after `seq`.
    pub fn after(&self, seq: Seq) -> Result<Next> {
        if seq == self.last_seq() {
            return Ok(Next::Nothing);
        }
        if let Some(entry) = self.registry.cached_entries(seq, 1).and_then(|entries| entries.into_iter().next()) {
            return Ok(Next::Entry(entry));
        }
        let read = self.registry.entries(seq, ENTRIES_AT_ONCE)?;
        if read.truncated {
            return Ok(Next::Lost { resume: read.last });
        }
        Ok(read.entries.into_iter().next().map_or(Next::Nothing, Next::Entry))
    }

    /// The entry at a position; none where the log no longer has it.
    pub fn find(&self, seq: Seq) -> Result<Option<Logged>> {
        self.registry.entry(seq)
    }

    /// The entry of the log after `seq` whose messages in a lane are known: those of the saved queries that an audience sees
    /// and wants.
    pub fn next_in(&self, lane: Lane, seq: Seq, audience: Audience<'_>) -> Result<Next> {
        if lane == Lane::Plain {
            return self.after(seq);
        }
        if seq == self.last_seq() {
            return Ok(Next::Nothing);
        }
        let Audience { reader, wanted } = audience;
        let is_wanted =
            |owner: Option<&Owner>, name: &str| wanted.all || wanted.has(&self.topics.query_level(owner, name));
        // Read before what is forgotten: what may be missing by then isn't taken for known.
        let compared = reader.queries_position(is_wanted);
        if let Some(resume) = reader.query_events_lost_after(seq, is_wanted) {
            return Ok(Next::Lost { resume });
        }
        match self.after(seq)? {
            Next::Entry(entry) if entry.seq() > compared => Ok(Next::Nothing),
            next => Ok(next),
        }
    }

    /// True if no change that an entry is for readers can have messages in a lane.
    pub fn is_silent(&self, lane: Lane, entry: &Logged, audience: Audience<'_>) -> bool {
        let is_silent = |change: &Arc<LoggedChange>| self.messages(lane, change, audience).is_empty();
        lane == Lane::Queries && entry.change().is_some_and(is_silent)
    }

    /// The messages of a change in a lane, in the order they are published in. Those of saved queries are known once
    /// [`Feed::next_in`] has the change.
    pub fn messages(&self, lane: Lane, change: &LoggedChange, audience: Audience<'_>) -> Arc<Messages> {
        match lane {
            Lane::Plain => {
                let messages = change.rendition(&self.slots.plain, || self.plain_messages(change));
                self.own(messages, || self.plain_messages(change))
            }
            Lane::Queries => {
                if let Some(messages) = change.find_rendition(&self.slots.queries) {
                    return self.own(messages, || self.query_messages(change, audience));
                }
                // Read first: only what was known of all queries before is all of it.
                let is_all = self.registry.as_caller(Caller::Trusted).queries_position(|_, _| true) >= change.seq;
                let messages = self.query_messages(change, audience);
                if is_all { change.rendition(&self.slots.queries, || messages) } else { Arc::new(messages) }
            }
        }
    }

    /// Messages that a change carries, unless another endpoint of the same process, with another prefix, made them.
    fn own(&self, messages: Arc<Messages>, make: impl FnOnce() -> Messages) -> Arc<Messages> {
        let is_own = messages.first().is_none_or(|message| self.topics.has_prefix_of(&message.topic));
        if is_own { messages } else { Arc::new(make()) }
    }

    fn plain_messages(&self, change: &LoggedChange) -> Messages {
        let event = Message::new(Family::Event, self.topics.event(change.kind, &change.id));
        if matches!(change.origin(), ChangeOrigin::Unseen { .. }) {
            return Messages::new([event].into());
        }
        let capabilities = change
            .capability_keys()
            .filter_map(|key| self.topics.capability(key, change.kind, &change.id))
            .map(|topic| Message::new(Family::Capability, topic));
        let thing = Message::new(Family::Thing, self.topics.thing(&change.id));
        Messages::new(std::iter::once(event).chain(capabilities).chain([thing]).collect())
    }

    /// The messages of saved queries, in the order of their levels.
    fn query_messages(&self, change: &LoggedChange, audience: Audience<'_>) -> Messages {
        let Audience { reader, wanted } = audience;
        let events = match change.origin() {
            // What it matched is nothing that its reader saw.
            ChangeOrigin::Unseen { .. } => Ok(Vec::new()),
            // Such a change is one of this reader alone: what it doesn't want isn't compared.
            ChangeOrigin::Membership(_) => reader.known_query_events(change, |owner, name| {
                wanted.all || wanted.has(&self.topics.query_level(owner, name))
            }),
            ChangeOrigin::Entry | ChangeOrigin::Update => {
                self.registry.as_caller(Caller::Trusted).known_query_events(change, |_, _| true)
            }
        };
        let events = events.unwrap_or_else(|error| {
            tracing::error!(%error, seq = %change.seq, "what a change means for saved queries isn't announced");
            Vec::new()
        });
        let message = |event: SavedQueryEvent| {
            let topic = self.topics.query(event.owner.as_ref(), &event.name, event.kind, &change.id);
            Message { query: Some(event.query), ..Message::new(Family::Query, topic) }
        };
        let mut messages: Vec<Message> = events.into_iter().map(message).collect();
        messages.sort_by(|one, other| one.query_level(&self.topics).cmp(&other.query_level(&self.topics)));
        Messages::new(messages.into())
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
