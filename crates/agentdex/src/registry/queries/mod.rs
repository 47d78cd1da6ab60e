//! Saved queries, and their events for each change.
//!
//! A query is saved under a name, or belongs to event streams. The query of an event stream is kept for five minutes
//! after the stream was closed, so that the stream can resume. Matches are computed by [`matching`] on the thread of
//! a log follower; readers wait for it.

mod delayed;
mod descriptions;
mod events;
mod journal;
mod known;
mod matches;
mod matching;
mod name;
mod number;
mod saved;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::watch;

use self::{
    delayed::Holder,
    journal::Content,
    known::{Known, seen_in_part},
    matches::MAX_PAIRS,
    matching::Matching,
    number::QueryNo,
};
pub use self::{
    journal::{Finding, Found, JournalPosition},
    saved::{QueryId, SavedQueryEvent},
};
pub(super) use self::{
    name::{Key, check_name},
    saved::Stored,
};
use super::view::View;
use crate::{
    Error, Result,
    access::{Access, Caller},
    change::Seq,
    search::{Meaning, saved::SavedQuery},
    store::{ChangeOrigin, Expects, LoggedChange, Named, Store},
};
use agentdex_api::MatchKind;

/// Maximum number of saved queries.
pub const MAX_QUERIES: usize = 10_000;
/// Maximum number of saved queries per owner.
pub const MAX_QUERIES_OF_OWNER: usize = 1_000;
/// The most different queries of event streams.
const MAX_STREAM_QUERIES: usize = 1_000;
/// Interval at which readers are notified of the progress, while there is more.
const TELL_EVERY: Duration = Duration::from_millis(50);
/// Duration and maximum number of the follower's pauses for threads that look up matches.
const YIELD: Duration = Duration::from_micros(100);
const MOST_YIELDS: usize = 20;
/// Time that delayed queries have at once.
const CATCH_UP_FOR: Duration = Duration::from_millis(200);
/// Time for which the query of an event stream is still compared with changes after the stream was closed.
const RESUMABLE_FOR: Duration = Duration::from_secs(300);

/// The queries of a registry.
pub(super) struct Queries {
    store: Store,
    /// Held while queries are compared with a change. Locked before `names` and `known`.
    matching: Mutex<Matching>,
    /// Number of other threads waiting for `matching`.
    waiting: AtomicUsize,
    known: Arc<Mutex<Known>>,
    names: Arc<Mutex<Names>>,
    /// True if there is any query, which is not the case in most registries.
    has_any: AtomicBool,
    /// Moves with the positions of queries and with the end of the journal.
    progress: watch::Sender<u64>,
}

/// Saved queries, updated with each commit, and queries of event streams.
#[derive(Default)]
struct Names {
    saved: BTreeMap<Key, Saved>,
    /// Queries about to be committed.
    prepared: Vec<Saved>,
    /// Queries no longer saved. Dropping them locks `matching`, so a commit leaves it to other threads.
    dropped: Vec<Saved>,
    /// Queries saved by another store.
    unknown: BTreeSet<Key>,
    /// True while a thread starts queries.
    is_starting: bool,
    by_number: HashMap<QueryNo, Key>,
    /// Queries of event streams, with the time since when no stream is open.
    streams: HashMap<StreamKey, Stream>,
}

/// The key of a query of event streams: streams share it that have the same text, and a threshold from the same view.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StreamKey {
    pub query: String,
    /// View from which the threshold of the query is computed, or `None` if no threshold is computed.
    pub view: Option<View>,
}

impl Names {
    fn remove(&mut self, key: &Key) -> Option<Saved> {
        let saved = self.saved.remove(key)?;
        self.by_number.remove(&saved.watched.number);
        Some(saved)
    }

    fn put(&mut self, saved: Saved) -> Option<Saved> {
        let key = saved.stored.key();
        let replaced = self.remove(&key);
        self.by_number.insert(saved.watched.number, key.clone());
        self.saved.insert(key, saved);
        replaced
    }

    /// Applies a commit. Returns true if a thread has to be started for queries of another store.
    fn take(&mut self, committed: &[Named]) -> bool {
        for named in committed {
            let Named::Query { owner, name, value } = named else { continue };
            let key = Key { name: name.clone(), owner: owner.clone() };
            let dropped = match value.as_deref().map(Expects::value) {
                None => self.remove(&key),
                Some(stored_as) => {
                    let is_it = |saved: &Saved| saved.stored_as == stored_as && saved.stored.key() == key;
                    match self.prepared.iter().position(is_it) {
                        Some(index) => {
                            let saved = self.prepared.swap_remove(index);
                            self.put(saved)
                        }
                        None => {
                            self.unknown.insert(key);
                            None
                        }
                    }
                }
            };
            self.dropped.extend(dropped);
        }
        !self.unknown.is_empty() && !std::mem::replace(&mut self.is_starting, true)
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

/// Keeps a query compared with changes. Dropping it ends that.
pub(super) struct Watched {
    number: QueryNo,
    queries: Weak<Queries>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(queries) = self.queries.upgrade() {
            queries.matching().remove(self.number);
            // Others may have waited for it.
            queries.tell();
        }
    }
}

/// A saved query that is compared with changes.
#[derive(Clone)]
pub(super) struct Saved {
    pub stored: Stored,
    pub access: Access,
    /// Digest of the stored query.
    pub stored_as: Expects,
    pub watched: Arc<Watched>,
}

impl Saved {
    pub fn new(stored: Stored, stored_as: Expects, watched: Arc<Watched>) -> Saved {
        Saved { access: stored.access(), stored, stored_as, watched }
    }
}

/// Events of a query, looked up by change. Returned by [`Registry::query_events`](crate::Registry::query_events) and
/// [`Registry::watch_query`](crate::Registry::watch_query).
#[derive(Clone)]
pub struct QueryEvents {
    queries: Arc<Queries>,
    watched: Arc<Watched>,
    /// Caller that reads a saved query.
    reader: Option<Caller>,
}

impl Queries {
    pub fn new(store: Store, meaning: Option<Arc<Meaning>>) -> Arc<Queries> {
        let known = Arc::new(Mutex::new(Known::after(*store.durable().borrow())));
        Arc::new(Queries {
            store,
            matching: Mutex::new(Matching::new(known.clone(), meaning)),
            waiting: AtomicUsize::new(0),
            known,
            names: Arc::default(),
            has_any: AtomicBool::new(false),
            progress: watch::Sender::new(0),
        })
    }

    fn matching(&self) -> MutexGuard<'_, Matching> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let matching = self.matching.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        matching
    }

    /// Locks the matches for comparing a change. Other waiting threads take precedence, since the next change follows
    /// soon.
    fn matching_of_follower(&self) -> MutexGuard<'_, Matching> {
        for _ in 0..MOST_YIELDS {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                break;
            }
            std::thread::sleep(YIELD);
        }
        self.matching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        lock(&self.names)
    }

    /// True if a query exists or existed.
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// Compares queries with the log up to its end, change by change, so that others can look up results
    /// meanwhile. Returns early if `is_stopping` returns true.
    pub fn read_on(&self, is_stopping: impl Fn() -> bool) -> Result<()> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(());
        }
        let (end, mut reported) = (*self.store.durable().borrow(), Instant::now());
        while !is_stopping() && self.matching_of_follower().read_on(&self.store, end)? {
            if reported.elapsed() >= TELL_EVERY {
                self.tell();
                reported = Instant::now();
            }
        }
        self.tell();
        Ok(())
    }

    /// Compares delayed queries with the changes they have missed, for a while or until a new change arrives. Returns
    /// true if changes are left.
    pub fn catch_up(&self) -> Result<bool> {
        let began = Instant::now();
        let mut has_more = self.has_any.load(Ordering::Acquire) && self.matching_of_follower().catch_up(&self.store)?;
        if !has_more {
            return Ok(false);
        }
        let has_news = || self.known().position() < *self.store.durable().borrow();
        while has_more && began.elapsed() < CATCH_UP_FOR && !has_news() {
            has_more = self.matching_of_follower().catch_up(&self.store)?;
        }
        self.tell();
        Ok(has_more)
    }

    fn tell(&self) {
        self.progress.send_modify(|progress| *progress = progress.wrapping_add(1));
    }

    /// Returns a receiver that is notified whenever queries have been compared with further changes. Its value only
    /// counts these notifications.
    pub fn progress(&self) -> watch::Receiver<u64> {
        self.progress.subscribe()
    }

    /// Returns the last change with which all `relevant` saved queries were compared.
    pub fn position_of_all(&self, relevant: impl Fn(&Saved) -> bool) -> Seq {
        if !self.has_any.load(Ordering::Acquire) {
            return *self.store.durable().borrow();
        }
        let names = self.names();
        let named = |number| names.by_number(number).is_some_and(&relevant);
        self.known().position_of_all(named)
    }

    /// True if any saved query is `relevant`.
    pub fn has_relevant(&self, relevant: impl Fn(&Saved) -> bool) -> bool {
        self.names().saved.values().any(relevant)
    }

    /// Returns the position up to which events of saved queries may be missing.
    pub fn forgotten(&self) -> Seq {
        if self.has_any.load(Ordering::Acquire) { self.known().forgotten() } else { Seq::ZERO }
    }

    /// Returns the number of changes a delayed query is behind, or `None` if it keeps up.
    pub fn behind(&self, saved: &Saved) -> Option<u64> {
        let position = self.known().delayed().position(saved.watched.number)?;
        let log = self.store.log_reader();
        let ordinals = log.ordinal(*log.durable().borrow()).ok().zip(log.ordinal(position).ok());
        ordinals.and_then(|(last, position)| u64::try_from(last.saturating_sub(position)).ok())
    }

    /// Marks the results of all changes up to now as unknown, since queries existed before the start of the process.
    pub fn lose_past(&self) {
        self.known().begin_at(*self.store.durable().borrow());
    }

    /// Returns the number of delayed queries.
    pub fn delayed(&self) -> usize {
        if self.has_any.load(Ordering::Acquire) { self.known().delayed().len() } else { 0 }
    }

    /// Starts comparing a query with all further changes, within the quota of its holder.
    pub fn watch(self: &Arc<Self>, query: Arc<SavedQuery>, holder: Holder) -> Arc<Watched> {
        self.has_any.store(true, Ordering::Release);
        let end = *self.store.durable().borrow();
        let number = self.matching().add(query, holder, end);
        Arc::new(Watched { number, queries: Arc::downgrade(self) })
    }

    /// Stores the ids of Things that already match a query.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if all queries together have too many matches.
    pub fn started(&self, watched: &Watched, ids: &[String]) -> Result<()> {
        let mut matching = self.matching();
        if !matching.has_room_for(ids.len()) {
            let what = "number of matches of all saved queries";
            return Err(Error::LimitExceeded { what, maximum: MAX_PAIRS as u64 });
        }
        // One without a name begins with the answer to whoever asked for it.
        let has_readers = self.names().by_number(watched.number).is_some();
        matching.started(watched.number, ids, has_readers);
        drop(matching);
        self.tell();
        Ok(())
    }

    /// True if the initial matches of a query are not yet known.
    pub fn is_starting(&self, watched: &Watched) -> bool {
        self.matching().is_starting(watched.number)
    }

    /// Checks that the maximum number of saved queries, in total and of the owner, is not reached.
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

    /// Follows the commits of the store. Calls `start` if a thread has to be started for queries saved by another
    /// store.
    pub fn follow_store(&self, start: impl Fn() + Send + Sync + 'static) {
        let names = self.names.clone();
        self.store.listen(Arc::new(move |committed| {
            if lock(&names).take(committed) {
                start();
            }
        }));
    }

    /// Commits a query with `commit`. Afterwards, the query replaces the known query of the same name.
    pub fn commit(&self, saved: Saved, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        let (key, stored_as) = (saved.stored.key(), saved.stored_as);
        self.names().prepared.push(saved);
        let committed = commit();
        let mut names = self.names();
        let is_it = |saved: &mut Saved| saved.stored_as == stored_as && saved.stored.key() == key;
        let unused: Vec<Saved> = names.prepared.extract_if(.., is_it).collect();
        drop(names);
        drop(unused);
        self.drop_replaced();
        committed
    }

    /// Drops queries that are no longer saved.
    pub fn drop_replaced(&self) {
        let dropped = std::mem::take(&mut self.names().dropped);
        drop(dropped);
    }

    /// Makes a stored query available under its name, unless `is_stored` returns false.
    pub fn name_if(&self, saved: Saved, is_stored: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let mut names = self.names();
        let is_stored = is_stored()?;
        let dropped = if is_stored { names.put(saved) } else { Some(saved) };
        drop(names);
        drop(dropped);
        Ok(is_stored)
    }

    /// Queues stored queries to be made available under their names, and records that a thread does this.
    pub fn begin_starting(&self, keys: impl IntoIterator<Item = Key>) {
        let mut names = self.names();
        names.unknown.extend(keys);
        names.is_starting = true;
    }

    /// Returns the next stored query in this queue.
    pub fn next_unknown(&self) -> Option<Key> {
        self.names().unknown.pop_first()
    }

    /// Records that the thread for this queue ends, unless the queue contains more queries. Returns true if the thread
    /// ends.
    pub fn end_starting(&self) -> bool {
        let mut names = self.names();
        names.is_starting = !names.unknown.is_empty();
        !names.is_starting
    }

    /// Returns the query with the given name.
    pub fn named(&self, key: &Key) -> Option<Saved> {
        self.names().saved.get(key).cloned()
    }

    /// Returns all named queries, sorted by name.
    pub fn all_named(&self) -> Vec<Saved> {
        self.names().saved.values().cloned().collect()
    }

    /// True if the query still has a name and is visible to the caller.
    pub fn is_seen(&self, QueryId(number): QueryId, caller: &Caller) -> bool {
        let grants = self.store.grants(caller);
        let is_admitted = |saved: &Saved| grants.as_ref().is_none_or(|grants| grants.see(&saved.access));
        self.names().by_number(number).is_some_and(is_admitted)
    }

    /// Returns the events that a change causes for `relevant` saved queries, as seen by a reader. Includes only queries
    /// already compared with the change.
    pub fn named_events(
        &self,
        change: &LoggedChange,
        relevant: impl Fn(&Saved) -> bool,
    ) -> Result<Vec<SavedQueryEvent>> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        let is_relevant = |number| self.names().by_number(number).is_some_and(&relevant);
        Ok(self.with_names(self.events_of(change, is_relevant)?))
    }

    /// Returns the event that a change causes for a named query, as seen by a reader. Returns `None` if there is no
    /// event, or if the query was not yet compared with the change.
    pub fn named_event(&self, change: &LoggedChange, key: Key) -> Result<Option<SavedQueryEvent>> {
        let Some(number) = self.names().saved.get(&key).map(|saved| saved.watched.number) else { return Ok(None) };
        let Key { name, owner } = key;
        let event = |kind| SavedQueryEvent { query: QueryId(number), owner, name, kind };
        Ok(self.event_of(change, number)?.map(event))
    }

    fn with_names(&self, events: Vec<(QueryNo, MatchKind)>) -> Vec<SavedQueryEvent> {
        if events.is_empty() {
            return Vec::new();
        }
        let names = self.names();
        let named = events.into_iter().filter_map(|(number, kind)| {
            let Key { name, owner } = names.by_number(number)?.stored.key();
            Some(SavedQueryEvent { query: QueryId(number), owner, name, kind })
        });
        named.collect()
    }

    /// Returns the end of the journal.
    pub fn journal_end(&self) -> JournalPosition {
        if self.has_any() { self.known().journal().end() } else { JournalPosition::START }
    }

    /// Reads the journal after a position.
    pub fn found_after(&self, position: JournalPosition) -> Found {
        self.known().journal().after(position)
    }

    /// True if, according to the finding, events of any `relevant` saved query may be missing.
    pub fn is_lost(&self, finding: &Finding, relevant: impl Fn(&Saved) -> bool) -> bool {
        let Content::Lost(queries) = &finding.content else { return false };
        let names = self.names();
        queries.iter().any(|number| names.by_number(*number).is_some_and(&relevant))
    }

    /// Returns the events of `relevant` saved queries in a finding. `change` is the change in the same log entry, as
    /// seen by a reader.
    pub fn events_of_finding(
        &self,
        finding: &Finding,
        change: &LoggedChange,
        relevant: impl Fn(&Saved) -> bool,
    ) -> Result<Vec<SavedQueryEvent>> {
        let is_relevant = |number: QueryNo| self.names().by_number(number).is_some_and(&relevant);
        let events = match (&finding.content, change.origin()) {
            (Content::Events(events), ChangeOrigin::Entry | ChangeOrigin::Update) => {
                seen(events.iter().filter(|(number, _)| is_relevant(*number)).copied(), change)
            }
            (Content::Membership { but }, ChangeOrigin::Membership(_)) => {
                self.events_of(change, |number| but.binary_search(&number).is_err() && is_relevant(number))?
            }
            (Content::LateMembership(queries), ChangeOrigin::Membership(_)) => {
                self.events_of(change, |number| queries.binary_search(&number).is_ok() && is_relevant(number))?
            }
            _ => Vec::new(),
        };
        Ok(self.with_names(events))
    }

    /// Compares `relevant` saved queries with changes up to `seq`, unless this was already done. May take a while.
    pub fn read_up_to(&self, seq: Seq, relevant: impl Fn(&Saved) -> bool) -> Result<()> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(());
        }
        while self.matching().read_on(&self.store, seq)? {}
        while self.position_of_all(&relevant) < seq && self.matching().catch_up(&self.store)? {}
        self.tell();
        Ok(())
    }

    /// Returns the events of `relevant` queries caused by a change as visible to a reader. Includes only queries
    /// already compared with the change.
    fn events_of(
        &self,
        change: &LoggedChange,
        relevant: impl Fn(QueryNo) -> bool,
    ) -> Result<Vec<(QueryNo, MatchKind)>> {
        match change.origin() {
            // What it matched is nothing that its reader saw.
            ChangeOrigin::Unseen { .. } => Ok(Vec::new()),
            ChangeOrigin::Entry | ChangeOrigin::Update => {
                let known = self.known().events_of(change.seq).to_vec();
                Ok(seen(known.into_iter().filter(|(number, _)| relevant(*number)), change))
            }
            ChangeOrigin::Membership(last) => {
                let format = self.store.find_unpurged(&change.id)?.and_then(|record| record.format);
                self.matching().events_of_membership(change, last.as_deref(), format.as_deref(), relevant)
            }
        }
    }

    /// Returns the event of a query for a change as visible to a reader, or `None` if there is no event or the query
    /// was not yet compared with the change.
    fn event_of(&self, change: &LoggedChange, number: QueryNo) -> Result<Option<MatchKind>> {
        if !matches!(change.origin(), ChangeOrigin::Entry | ChangeOrigin::Update) {
            return Ok(self.events_of(change, |other| other == number)?.first().map(|(_, kind)| *kind));
        }
        let known = self.known();
        let events = known.events_of(change.seq);
        let at = events.binary_search_by_key(&number, |(number, _)| *number);
        let event = at.ok().and_then(|at| events.get(at)).copied();
        Ok(seen(event.into_iter(), change).first().map(|(_, kind)| *kind))
    }

    /// Returns the query of event streams with this key.
    pub fn of_stream(&self, key: &StreamKey) -> Option<Arc<Watched>> {
        let mut names = self.names();
        let stream = names.streams.get_mut(key)?;
        stream.idle_since = None;
        Some(stream.watched.clone())
    }

    /// Stores the query of event streams with this key. Returns false if there are too many such queries.
    pub fn keep_for_streams(&self, key: StreamKey, watched: &Arc<Watched>) -> bool {
        let mut names = self.names();
        let has_room = names.streams.len() < MAX_STREAM_QUERIES;
        if has_room {
            let before = names.streams.insert(key, Stream { watched: watched.clone(), idle_since: None });
            // Dropped unlocked, as in `name`.
            drop(names);
            drop(before);
        }
        has_room
    }

    /// Removes queries of event streams that were closed long ago.
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

fn lock(names: &Mutex<Names>) -> MutexGuard<'_, Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts the events of a log entry to those of the change received by a reader.
fn seen(events: impl Iterator<Item = (QueryNo, MatchKind)>, change: &LoggedChange) -> Vec<(QueryNo, MatchKind)> {
    match change.origin() {
        ChangeOrigin::Update => {
            events.filter_map(|(number, kind)| Some((number, seen_in_part(kind, change.kind)?))).collect()
        }
        _ => events.collect(),
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

    /// False if the query is a saved query, and was removed or replaced, or became invisible to its reader. Such a
    /// query has no further events.
    pub fn is_seen(&self) -> bool {
        self.reader.as_ref().is_none_or(|reader| self.queries.is_seen(QueryId(self.watched.number), reader))
    }

    /// Returns the last change with which the query was compared. [`QueryEvents::progress`] reports when it advances.
    pub fn position(&self) -> Seq {
        self.queries.known().position_of(self.watched.number)
    }

    /// Returns a receiver that is notified whenever queries have been compared with further changes. Its value only
    /// counts these notifications.
    pub fn progress(&self) -> watch::Receiver<u64> {
        self.queries.progress()
    }

    /// Returns the query's event for a change, as seen by the reader. Returns `None` if there is no such event, or if
    /// the event is not known yet.
    ///
    /// # Errors
    /// [`Error::Index`]
    pub fn kind(&self, change: &LoggedChange) -> Result<Option<MatchKind>> {
        if !self.is_seen() {
            return Ok(None);
        }
        self.queries.event_of(change, self.watched.number)
    }

    /// True if all events after a position are known.
    pub fn is_known_after(&self, seq: Seq) -> bool {
        self.queries.known().known_since(self.watched.number).is_some_and(|since| since <= seq)
    }
}

#[cfg(test)]
mod tests {
    use agentdex_api::QueryParameters;

    use super::*;
    use crate::{Registry, search::Filters, td::Description};

    #[test]
    fn readers_are_notified_of_what_a_query_missed_before_its_matches_were_known() {
        for has_readers in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let registry = Registry::open(directory.path()).unwrap();
            let queries = &registry.0.queries;
            let query = Arc::new(SavedQuery::new(Some("harbour"), Filters::default()).unwrap());
            let watched = queries.watch(query, None);
            if has_readers {
                let stored = Stored::new("q", QueryParameters::default(), &Access::default());
                queries.name_if(Saved::new(stored, Expects::Any, watched.clone()), || Ok(true)).unwrap();
            }
            let put = |id: &str| registry.put(Description::new("Harbour").id(id)).unwrap();
            let before = registry.last_seq();
            put("urn:a");
            queries.read_up_to(registry.last_seq(), |_| true).unwrap();
            let expected = if has_readers { before } else { registry.last_seq() };
            assert_eq!(queries.position_of_all(|_| true), expected, "what it means for the query isn't known");
            queries.started(&watched, &[]).unwrap();
            put("urn:b");
            queries.read_up_to(registry.last_seq(), |_| true).unwrap();
            let (mut lost, mut seqs, mut position) = (Vec::new(), Vec::new(), JournalPosition::START);
            while let Found::Finding(finding, next) = queries.found_after(position) {
                let found = if matches!(finding.content, Content::Lost(_)) { &mut lost } else { &mut seqs };
                found.push(finding.seq);
                assert_eq!(queries.is_lost(&finding, |_| true), matches!(finding.content, Content::Lost(_)));
                position = next;
            }
            assert_eq!(seqs, [registry.last_seq()], "{has_readers}");
            assert_eq!(lost.len(), usize::from(has_readers));
        }
    }

    #[test]
    fn an_owner_takes_no_more_than_its_share() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let queries = &registry.0.queries;
        let query = Arc::new(SavedQuery::new(Some("harbour"), Filters::default()).unwrap());
        let watched = queries.watch(query, None);
        let key = |owner: &str, name: String| Key { name, owner: (!owner.is_empty()).then(|| owner.parse().unwrap()) };
        let fill = |owner: &str, count: usize| {
            for number in 0..count {
                let Key { name, owner } = key(owner, format!("q{number}"));
                let access = Access { owner, ..Access::default() };
                queries
                    .name_if(
                        Saved::new(
                            Stored::new(&name, QueryParameters::default(), &access),
                            Expects::Any,
                            watched.clone(),
                        ),
                        || Ok(true),
                    )
                    .unwrap();
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
