//! The log as messages: each change is turned into topics and payloads once and shared by all readers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::sync::watch;

use super::{cloud_event::CloudEvents, topics::Topics};
use crate::{
    Registry, Result,
    change::{Change, Cursor, Epoch, Seq},
};

/// How many changes are read from the log at once.
const CHANGES_AT_ONCE: usize = 64;
/// What the changes that are kept for other readers may take, payloads included.
const CACHE_BYTES: usize = 24 * 1024 * 1024;

/// What is published of a change, and how it is told apart when a filter is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Event,
    Capability,
    Thing,
}

impl Family {
    pub const ALL: [Family; 3] = [Family::Event, Family::Capability, Family::Thing];

    /// The level after the prefix.
    pub fn level(self) -> &'static str {
        match self {
            Family::Event => "events",
            Family::Capability => "capabilities",
            Family::Thing => "things",
        }
    }
}

/// One message of a change.
#[derive(Debug)]
pub(super) struct Message {
    pub family: Family,
    pub topic: String,
}

/// A change with what is published of it.
pub(super) struct Entry {
    change: Arc<Change>,
    messages: OnceLock<Box<[Message]>>,
    event: OnceLock<Arc<[u8]>>,
    thing: OnceLock<Arc<[u8]>>,
}

impl Entry {
    fn new(change: Arc<Change>) -> Entry {
        Entry { change, messages: OnceLock::new(), event: OnceLock::new(), thing: OnceLock::new() }
    }

    pub fn seq(&self) -> Seq {
        self.change.seq
    }

    /// What it takes before anything is written out.
    fn bytes(&self) -> usize {
        size_of::<Entry>() + self.change.weight()
    }
}

/// What comes after a position in the log.
pub(super) enum Next {
    Entry(Arc<Entry>),
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
    events: CloudEvents,
    durable: watch::Receiver<Seq>,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    /// With the bytes that each is counted as.
    entries: HashMap<Seq, (Arc<Entry>, usize)>,
    /// In the order they came in.
    order: VecDeque<Seq>,
    bytes: usize,
}

impl Feed {
    pub fn new(registry: Registry, topics: Topics) -> Feed {
        let events = CloudEvents::new(registry.registry_id());
        Feed { durable: registry.durable(), registry, topics, events, cache: Mutex::default() }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
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

    /// The change after `seq`.
    pub fn after(&self, seq: Seq) -> Result<Next> {
        if seq == self.last_seq() {
            return Ok(Next::Nothing);
        }
        // Held while the log is read, so that of many readers who wake at once only one reads.
        let mut cache = self.cache();
        if let Some((entry, _)) = cache.entries.get(&seq.next()) {
            return Ok(Next::Entry(entry.clone()));
        }
        let read = self.registry.changes(seq, CHANGES_AT_ONCE)?;
        if read.truncated {
            return Ok(Next::Lost { resume: read.last });
        }
        let mut first = None;
        for change in read.changes {
            let entry = cache.insert(Entry::new(change));
            first.get_or_insert(entry);
        }
        Ok(first.map_or(Next::Nothing, Next::Entry))
    }

    /// The messages of a change, in the order they are published in.
    pub fn messages<'a>(&self, entry: &'a Entry) -> &'a [Message] {
        let mut added = 0;
        let messages = entry.messages.get_or_init(|| {
            let change = &*entry.change;
            let event = Message { family: Family::Event, topic: self.topics.event(change.kind, &change.id) };
            let capabilities = change
                .capability_keys()
                .filter_map(|key| self.topics.capability(key, change.kind, &change.id))
                .map(|topic| Message { family: Family::Capability, topic });
            let thing = Message { family: Family::Thing, topic: self.topics.thing(&change.id) };
            let messages: Box<[Message]> = std::iter::once(event).chain(capabilities).chain([thing]).collect();
            added = messages.iter().map(|message| size_of::<Message>() + message.topic.len()).sum();
            messages
        });
        self.note_added(entry, added);
        messages
    }

    /// The payload of one of its messages. Under `things` that is the description as it is now,
    /// which may be later than the change; empty if there is none.
    pub fn payload(&self, entry: &Entry, family: Family) -> Result<Arc<[u8]>> {
        let change = &*entry.change;
        let mut added = 0;
        if family != Family::Thing {
            let payload = entry.event.get_or_init(|| {
                let payload: Arc<[u8]> = self.events.event(change).into_bytes().into();
                added = payload.len();
                payload
            });
            self.note_added(entry, added);
            return Ok(payload.clone());
        }
        if let Some(payload) = entry.thing.get() {
            return Ok(payload.clone());
        }
        let thing = self.registry.find_by_id(&change.id)?;
        let payload: Arc<[u8]> = thing.map(|thing| thing.enriched()).unwrap_or_default().into_bytes().into();
        let payload = entry.thing.get_or_init(|| {
            added = payload.len();
            payload
        });
        self.note_added(entry, added);
        Ok(payload.clone())
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is written out of an entry is kept with it, and counts.
    fn note_added(&self, entry: &Entry, bytes: usize) {
        if bytes > 0 {
            self.cache().grow(entry.seq(), bytes);
        }
    }

    /// Topic and payload of the event that tells of changes that are gone; all after `seq` are told.
    pub fn resync_event(&self, seq: Seq) -> (String, Arc<[u8]>) {
        let cursor = Cursor { epoch: self.epoch(), seq };
        (self.topics.resync(self.events.source()), self.events.resync(cursor).into_bytes().into())
    }
}

impl Cache {
    fn insert(&mut self, entry: Entry) -> Arc<Entry> {
        let (seq, bytes) = (entry.seq(), entry.bytes());
        let entry = Arc::new(entry);
        if let Some((there, _)) = self.entries.get(&seq) {
            return there.clone();
        }
        self.entries.insert(seq, (entry.clone(), bytes));
        self.order.push_back(seq);
        self.bytes += bytes;
        self.shrink();
        entry
    }

    /// An entry takes more than before; one that is no longer here is its readers' alone.
    fn grow(&mut self, seq: Seq, added: usize) {
        if let Some((_, bytes)) = self.entries.get_mut(&seq) {
            *bytes += added;
            self.bytes += added;
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        while self.bytes > CACHE_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some((_, bytes)) = self.entries.remove(&oldest) {
                self.bytes -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{ChangeKind, Timestamp};

    fn entry(seq: u64, key_bytes: usize) -> Entry {
        Entry::new(Arc::new(Change {
            epoch: Epoch(1),
            seq: Seq(seq),
            kind: ChangeKind::Updated,
            id: "urn:a".into(),
            at: Timestamp(0),
            actor: None,
            td: None,
            patch: None,
            capabilities_before: vec!["k".repeat(key_bytes)],
            capabilities_after: Vec::new(),
        }))
    }

    #[test]
    fn small_changes_of_large_descriptions_are_kept_by_what_is_written_out() {
        let mut cache = Cache::default();
        for seq in 1..=100 {
            cache.insert(entry(seq, 10));
            cache.grow(Seq(seq), CACHE_BYTES / 10);
        }
        assert!(cache.entries.len() < 10 && cache.entries.contains_key(&Seq(100)));
        assert_eq!(cache.order.len(), cache.entries.len());
    }

    #[test]
    fn capability_keys_count() {
        let mut cache = Cache::default();
        (1..=100).for_each(|seq| drop(cache.insert(entry(seq, CACHE_BYTES / 10))));
        assert!(cache.entries.len() < 10);
    }
}
