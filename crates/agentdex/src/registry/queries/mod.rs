//! Saved queries: what changes mean for each of them.
//!
//! A query is saved under a name, or belongs to an event stream for as long as that is open, and five minutes
//! longer so that it can resume. What the queries match is found out by [`matching`].

mod matching;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use self::matching::{MAX_PAIRS, Matching, QueryNo};
use crate::{
    Error, Result,
    change::Seq,
    search::{Meaning, saved::SavedQuery},
    store::{ChangeOrigin, LoggedChange, Store},
};
use agentdex_api::{MatchKind, NamedQuery};

/// The most saved queries.
pub const MAX_QUERIES: usize = 10_000;
/// The longest name of a query in bytes.
const MAX_NAME_BYTES: usize = 128;
/// The most different queries of event streams.
const MAX_STREAM_QUERIES: usize = 1_000;
/// How long the query of an event stream is compared after the stream was closed.
const RESUMABLE_FOR: Duration = Duration::from_secs(300);

/// The queries of a registry.
pub(super) struct Queries {
    store: Store,
    matching: Mutex<Matching>,
    names: Mutex<Names>,
    /// Whether there is any query: most registries never have one.
    has_any: AtomicBool,
}

#[derive(Default)]
struct Names {
    saved: BTreeMap<String, (NamedQuery, Arc<Watched>)>,
    by_number: HashMap<QueryNo, String>,
    /// The queries of event streams, by their text, with the time since when none is open.
    streams: HashMap<String, Stream>,
}

impl Names {
    fn remove(&mut self, name: &str) -> Option<Arc<Watched>> {
        let (_, watched) = self.saved.remove(name)?;
        self.by_number.remove(&watched.number);
        Some(watched)
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

/// The events of one query.
#[derive(Clone)]
pub struct QueryEvents {
    queries: Arc<Queries>,
    watched: Arc<Watched>,
}

impl Queries {
    pub fn new(store: Store, meaning: Option<Arc<Meaning>>) -> Arc<Queries> {
        let position = *store.durable().borrow();
        Arc::new(Queries {
            store,
            matching: Mutex::new(Matching::new(position, meaning)),
            names: Mutex::default(),
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

    /// Whether it isn't known yet what a query matches.
    pub fn is_starting(&self, watched: &Watched) -> bool {
        self.matching().is_starting(watched.number)
    }

    /// Whether a query of that name can be saved.
    pub fn has_room_for(&self, name: &str) -> bool {
        let names = self.names();
        names.saved.len() < MAX_QUERIES || names.saved.contains_key(name)
    }

    /// Names a query; true if none had that name.
    pub fn name(&self, named: NamedQuery, watched: Arc<Watched>) -> bool {
        let known = {
            let mut names = self.names();
            let known = names.remove(&named.name);
            names.by_number.insert(watched.number, named.name.clone());
            names.saved.insert(named.name.clone(), (named, watched));
            known
        };
        known.is_none()
    }

    /// Takes a name from its query; false if none has it.
    pub fn unname(&self, name: &str) -> bool {
        let known = self.names().remove(name);
        known.is_some()
    }

    /// The query of that name.
    pub fn named(&self, name: &str) -> Option<(NamedQuery, Arc<Watched>)> {
        self.names().saved.get(name).cloned()
    }

    /// All queries that have a name, by name.
    pub fn all_named(&self) -> Vec<(NamedQuery, Arc<Watched>)> {
        self.names().saved.values().cloned().collect()
    }

    /// What a change as a reader sees it means for queries that have a name. Reads the log up to it where nobody has.
    pub fn named_events(&self, change: &LoggedChange) -> Result<Vec<(String, MatchKind)>> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        self.read_up_to(change.seq)?;
        let events = self.events_of(change)?;
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.names();
        let named = events.into_iter().filter_map(|(number, kind)| Some((names.by_number.get(&number)?.clone(), kind)));
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
        QueryEvents { queries: queries.clone(), watched }
    }

    /// Reads the log up to a change, where nobody has. May take a while.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    pub fn read_up_to(&self, seq: Seq) -> Result<()> {
        self.queries.read_up_to(seq)
    }

    /// What a change as a reader sees it means for the query, once the log was read up to it; none: nothing.
    ///
    /// # Errors
    /// [`Error::Index`]
    pub fn kind(&self, change: &LoggedChange) -> Result<Option<MatchKind>> {
        let events = self.queries.events_of(change)?;
        let of_query = events.into_iter().find(|(number, _)| *number == self.watched.number);
        Ok(of_query.map(|(_, kind)| kind))
    }

    /// Whether all events after a position are known.
    pub fn is_known_after(&self, seq: Seq) -> bool {
        self.queries.matching().known_since(self.watched.number).is_some_and(|since| since <= seq)
    }
}

/// Whether a query can have that name.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    // A path of dots is another path.
    if name.is_empty() || name.starts_with('.') || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
        let message =
            format!("the name of a query has 1 to {MAX_NAME_BYTES} letters, digits and - _ . ~, and no . in front");
        return Err(Error::InvalidQuery { message });
    }
    Ok(())
}
