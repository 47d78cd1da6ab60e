//! The log as messages: each change is turned into topics and payloads once, which it carries for all readers.

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
    access::Caller,
    change::{Epoch, Position, Seq},
    registry::QueryId,
    store::{Logged, LoggedChange, Slot},
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
pub(super) const ENDPOINT_MESSAGES: Slot<Messages> = Slot::numbered(4, messages_size);
pub(super) const PUBLISHER_MESSAGES: Slot<Messages> = Slot::numbered(5, messages_size);

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
    messages: Slot<Messages>,
    events: CloudEvents,
    durable: watch::Receiver<Seq>,
}

impl Feed {
    /// A feed that has its messages in a slot of its own.
    pub fn new(registry: Registry, topics: Topics, messages: Slot<Messages>) -> Feed {
        let events = CloudEvents::new(registry.registry_id());
        // Whoever is shown something brings a registry of its own.
        let registry = registry.as_caller(Caller::Anonymous);
        Feed { durable: registry.durable(), registry, topics, messages, events }
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

    /// The messages of a change, in the order they are published in.
    pub fn messages(&self, change: &LoggedChange) -> Arc<Messages> {
        let messages = change.rendition(&self.messages, || self.messages_of(change));
        // Another endpoint of the same process may have another prefix; its messages are not ours.
        let is_ours = messages.first().is_none_or(|message| self.topics.is_event(&message.topic));
        if is_ours { messages } else { Arc::new(self.messages_of(change)) }
    }

    fn messages_of(&self, change: &LoggedChange) -> Messages {
        let event = Message::new(Family::Event, self.topics.event(change.kind, &change.id));
        let capabilities = change
            .capability_keys()
            .filter_map(|key| self.topics.capability(key, change.kind, &change.id))
            .map(|topic| Message::new(Family::Capability, topic));
        let thing = Message::new(Family::Thing, self.topics.thing(&change.id));
        let queries = self.registry.query_events_for_all(change).unwrap_or_else(|error| {
            tracing::error!(%error, seq = %change.seq, "what a change means for saved queries isn't announced");
            Vec::new()
        });
        let queries = queries.into_iter().map(|event| {
            let topic = self.topics.query(event.owner.as_ref(), &event.name, event.kind, &change.id);
            Message { query: Some(event.query), ..Message::new(Family::Query, topic) }
        });
        Messages::new(std::iter::once(event).chain(capabilities).chain([thing]).chain(queries).collect())
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
