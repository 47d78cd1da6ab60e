//! Saved queries: what changes mean for each of them.
//!
//! A query is saved under a name, or belongs to an event stream for as long as that is open, and five minutes
//! longer so that it can resume. What the queries match is found out by [`matching`].

mod matching;
mod name;
mod saved;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use self::matching::{MAX_PAIRS, Matching, QueryNo};
pub use self::saved::{QueryId, SavedQueryEvent};
pub(super) use self::{
    name::{Key, check_name},
    saved::Stored,
};
use crate::{
    Error, Result,
    access::{Access, Caller},
    change::Seq,
    search::{Meaning, saved::SavedQuery},
    store::{ChangeOrigin, LoggedChange, Store},
};
use agentdex_api::MatchKind;

/// The most saved queries.
pub const MAX_QUERIES: usize = 10_000;
/// The most saved queries of one owner.
pub const MAX_QUERIES_OF_OWNER: usize = 1_000;
/// The most different queries of event streams.
const MAX_STREAM_QUERIES: usize = 1_000;
/// Time for which the query of an event stream is still compared with changes after the stream was closed.
const RESUMABLE_FOR: Duration = Duration::from_secs(300);

/// The queries of a registry.
pub(super) struct Queries {
    store: Store,
    matching: Mutex<Matching>,
    names: Mutex<Names>,
    /// One write at a time: the store and what is in memory say the same.
    writing: Mutex<()>,
    /// True if there is any query: most registries never have one.
    has_any: AtomicBool,
}

#[derive(Default)]
struct Names {
    saved: BTreeMap<Key, Saved>,
    by_number: HashMap<QueryNo, Key>,
    /// The queries of event streams, by their text, with the time since when none is open.
    streams: HashMap<String, Stream>,
}

impl Names {
    fn remove(&mut self, key: &Key) -> Option<Saved> {
        let saved = self.saved.remove(key)?;
        self.by_number.remove(&saved.watched.number);
        Some(saved)
    }

    fn by_number(&self, number: QueryNo) -> Option<&Saved> {
        self.by_number.get(&number).and_then(|key| self.saved.get(key))
    }
}

struct Stream {
    /// Held for a while after the last stream was closed.
    watched: Arc<Watched>,
    idle_since: Option<Instant>,
}

/// A query that is compared with changes for as long as this lives.
pub(super) struct Watched {
    number: QueryNo,
    queries: Weak<Queries>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(queries) = self.queries.upgrade() {
            queries.matching().remove(self.number);
        }
    }
}

/// A saved query that is compared with changes.
#[derive(Clone)]
pub(super) struct Saved {
    pub stored: Stored,
    pub access: Access,
    pub watched: Arc<Watched>,
}

impl Saved {
    pub fn new(stored: Stored, watched: Arc<Watched>) -> Saved {
        Saved { access: stored.access(), stored, watched }
    }
}

/// The events of one query.
#[derive(Clone)]
pub struct QueryEvents {
    queries: Arc<Queries>,
    watched: Arc<Watched>,
    /// The caller that reads a saved query.
    reader: Option<Caller>,
}

impl Queries {
    pub fn new(store: Store, meaning: Option<Arc<Meaning>>) -> Arc<Queries> {
        let position = *store.durable().borrow();
        Arc::new(Queries {
            store,
            matching: Mutex::new(Matching::new(position, meaning)),
            names: Mutex::default(),
            writing: Mutex::default(),
            has_any: AtomicBool::new(false),
        })
    }

    fn matching(&self) -> MutexGuard<'_, Matching> {
        self.matching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the log to its end.
    pub fn read_on(&self) -> Result<()> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(());
        }
        let end = *self.store.durable().borrow();
        self.read_up_to(end)
    }

    /// Reads the log up to a change, a few changes at a time: others look up what these mean meanwhile.
    fn read_up_to(&self, end: Seq) -> Result<()> {
        while self.matching().read_on(&self.store, end)? {}
        Ok(())
    }

    /// Compares a query with all changes from now on.
    pub fn watch(self: &Arc<Self>, query: Arc<SavedQuery>) -> Arc<Watched> {
        self.has_any.store(true, Ordering::Release);
        let end = *self.store.durable().borrow();
        let number = self.matching().add(query, end);
        Arc::new(Watched { number, queries: Arc::downgrade(self) })
    }

    /// The Things that a query matches already.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where all queries together match too much.
    pub fn started(&self, watched: &Watched, ids: &[String]) -> Result<()> {
        let mut matching = self.matching();
        if !matching.has_room_for(ids.len()) {
            let what = "number of pairs of queries and Things that match";
            return Err(Error::LimitExceeded { what, maximum: MAX_PAIRS as u64 });
        }
        matching.started(watched.number, ids);
        Ok(())
    }

    /// True if it isn't known yet what a query matches.
    pub fn is_starting(&self, watched: &Watched) -> bool {
        self.matching().is_starting(watched.number)
    }

    /// Locks the writing of saved queries.
    pub fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a query can be saved: that there are not too many, nor too many of its owner.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`]
    pub fn check_room_for(&self, key: &Key) -> Result<()> {
        let names = self.names();
        if names.saved.contains_key(key) {
            return Ok(());
        }
        if names.saved.len() >= MAX_QUERIES {
            return Err(Error::LimitExceeded { what: "number of saved queries", maximum: MAX_QUERIES as u64 });
        }
        let is_full =
            || names.saved.keys().filter(|other| other.owner == key.owner).nth(MAX_QUERIES_OF_OWNER - 1).is_some();
        if key.owner.is_some() && is_full() {
            let what = "number of saved queries of one owner";
            return Err(Error::LimitExceeded { what, maximum: MAX_QUERIES_OF_OWNER as u64 });
        }
        Ok(())
    }

    /// Names a query; true if none had that name.
    pub fn name(&self, saved: Saved) -> bool {
        let key = saved.stored.key();
        let known = {
            let mut names = self.names();
            let known = names.remove(&key);
            names.by_number.insert(saved.watched.number, key.clone());
            names.saved.insert(key, saved);
            known
        };
        // Dropped unlocked: that locks what queries match.
        known.is_none()
    }

    /// Takes a name from its query; false if none has it.
    pub fn unname(&self, key: &Key) -> bool {
        let known = self.names().remove(key);
        known.is_some()
    }

    /// The query of that name.
    pub fn named(&self, key: &Key) -> Option<Saved> {
        self.names().saved.get(key).cloned()
    }

    /// All queries that have a name, by name.
    pub fn all_named(&self) -> Vec<Saved> {
        self.names().saved.values().cloned().collect()
    }

    /// True if a caller sees a query, which has a name still.
    pub fn is_seen(&self, QueryId(number): QueryId, caller: &Caller) -> bool {
        let grants = self.store.grants(caller);
        let is_admitted = |saved: &Saved| grants.as_ref().is_none_or(|grants| grants.see(&saved.access));
        self.names().by_number(number).is_some_and(is_admitted)
    }

    /// The events that a change as a reader sees it is for queries that have a name and an access that is accepted. Reads the log
    /// up to it where nobody has.
    pub fn named_events(
        &self,
        change: &LoggedChange,
        is_seen: impl Fn(&Access) -> bool,
    ) -> Result<Vec<SavedQueryEvent>> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        self.read_up_to(change.seq)?;
        let events = self.events_of(change)?;
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.names();
        let named = events.into_iter().filter_map(|(number, kind)| {
            let saved = names.by_number(number).filter(|saved| is_seen(&saved.access))?;
            let Key { name, owner } = saved.stored.key();
            Some(SavedQueryEvent { query: QueryId(number), owner, name, kind })
        });
        Ok(named.collect())
    }

    fn events_of(&self, change: &LoggedChange) -> Result<Vec<(QueryNo, MatchKind)>> {
        let format = match change.origin() {
            ChangeOrigin::Membership(_) => self.store.find_unpurged(&change.id)?.and_then(|record| record.format),
            ChangeOrigin::Entry | ChangeOrigin::Update => None,
        };
        self.matching().events_of(change, format.as_deref())
    }

    /// The query of event streams that have this text.
    pub fn of_stream(&self, text: &str) -> Option<Arc<Watched>> {
        let mut names = self.names();
        let stream = names.streams.get_mut(text)?;
        stream.idle_since = None;
        Some(stream.watched.clone())
    }

    /// Keeps the query of event streams with this text; false where there are too many.
    pub fn keep_for_streams(&self, text: String, watched: &Arc<Watched>) -> bool {
        let mut names = self.names();
        let has_room = names.streams.len() < MAX_STREAM_QUERIES;
        if has_room {
            names.streams.insert(text, Stream { watched: watched.clone(), idle_since: None });
        }
        has_room
    }

    /// Forgets the queries of event streams that are closed for long.
    pub fn forget_idle(&self, now: Instant) {
        let mut forgotten = Vec::new();
        let mut names = self.names();
        names.streams.retain(|_, stream| {
            if Arc::strong_count(&stream.watched) > 1 {
                stream.idle_since = None;
                return true;
            }
            let is_kept = now.duration_since(*stream.idle_since.get_or_insert(now)) < RESUMABLE_FOR;
            if !is_kept {
                forgotten.push(stream.watched.clone());
            }
            is_kept
        });
        // Taking a query out locks what it matches.
        drop(names);
        drop(forgotten);
    }
}

impl QueryEvents {
    pub(super) fn new(queries: &Arc<Queries>, watched: Arc<Watched>) -> QueryEvents {
        QueryEvents { queries: queries.clone(), watched, reader: None }
    }

    /// The events of a saved query as somebody sees it.
    pub(super) fn of_saved(queries: &Arc<Queries>, watched: Arc<Watched>, reader: Caller) -> QueryEvents {
        QueryEvents { queries: queries.clone(), watched, reader: Some(reader) }
    }

    /// True unless the query is a saved one that was removed or replaced since, or that its reader no longer sees: then it
    /// has no more events.
    pub fn is_seen(&self) -> bool {
        self.reader.as_ref().is_none_or(|reader| self.queries.is_seen(QueryId(self.watched.number), reader))
    }

    /// Reads the log up to a change, where nobody has. May take a while.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    pub fn read_up_to(&self, seq: Seq) -> Result<()> {
        self.queries.read_up_to(seq)
    }

    /// The event that a change as a reader sees it is for the query, once the log was read up to it; none: nothing.
    ///
    /// # Errors
    /// [`Error::Index`]
    pub fn kind(&self, change: &LoggedChange) -> Result<Option<MatchKind>> {
        if !self.is_seen() {
            return Ok(None);
        }
        let events = self.queries.events_of(change)?;
        let of_query = events.into_iter().find(|(number, _)| *number == self.watched.number);
        Ok(of_query.map(|(_, kind)| kind))
    }

    /// True if all events after a position are known.
    pub fn is_known_after(&self, seq: Seq) -> bool {
        self.queries.matching().known_since(self.watched.number).is_some_and(|since| since <= seq)
    }
}

#[cfg(test)]
mod tests {
    use agentdex_api::QueryParameters;

    use super::*;
    use crate::{Registry, search::Filters};

    #[test]
    fn an_owner_takes_no_more_than_its_share() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let queries = &registry.0.queries;
        let query = Arc::new(SavedQuery::new(Some("harbour"), Filters::default()).unwrap());
        let watched = queries.watch(query);
        let key = |owner: &str, name: String| Key { name, owner: (!owner.is_empty()).then(|| owner.parse().unwrap()) };
        let fill = |owner: &str, count: usize| {
            for number in 0..count {
                let Key { name, owner } = key(owner, format!("q{number}"));
                let access = Access { owner, ..Access::default() };
                queries.name(Saved::new(Stored::new(&name, QueryParameters::default(), &access), watched.clone()));
            }
        };
        let refused = |owner: &str, name: &str| match queries.check_room_for(&key(owner, name.to_owned())) {
            Err(Error::LimitExceeded { what, maximum }) => Some((what, maximum)),
            other => other.map(|()| None).unwrap(),
        };
        fill("greedy", MAX_QUERIES_OF_OWNER - 1);
        assert_eq!(refused("greedy", "last"), None);
        fill("greedy", MAX_QUERIES_OF_OWNER);
        assert_eq!(refused("greedy", "more"), Some(("number of saved queries of one owner", 1_000)));
        assert_eq!(refused("greedy", "q7"), None, "one that is there is saved again");
        assert_eq!((refused("modest", "first"), refused("", "first")), (None, None));
        fill("", MAX_QUERIES - MAX_QUERIES_OF_OWNER);
        for (owner, name) in [("modest", "first"), ("", "first")] {
            assert_eq!(refused(owner, name), Some(("number of saved queries", 10_000)), "{owner:?}");
        }
        assert_eq!(refused("", "q7"), None);
    }
}
