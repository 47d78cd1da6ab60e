//! Follower for the search index, and its view for searches.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    follower::{Durability, Follower, Inspected, changed},
    stop::Stop,
    unseen::Unseen,
};
use crate::{
    Error, Result,
    access::Access,
    change::{Position, Seq, Timestamp},
    convert::Format,
    search::{
        Entry, Hidden, HiddenIds, Index, IndexWriter, Inspection, Moments, RestrictedDocuments, RestrictedThings,
        Snapshot,
    },
    store::{LoggedChange, Record, Store},
};

/// Records between readings of the log while the index is rebuilt.
const RECORDS_AT_ONCE: usize = 1024;

/// The time between two comparisons of files of the index with their checksums, and how many bytes of them at once.
const INSPECT_EVERY: Duration = Duration::from_secs(60);
const INSPECTED_AT_ONCE: u64 = 64 * 1024 * 1024;
/// After a search has failed on an index whose files are whole, the failures of other searches in this time aren't taken for
/// its damage.
const TRUSTED_FOR: Duration = Duration::from_secs(60);
/// Minimum interval between rebuilds of an index with intact files because of failed searches.
const REBUILT_AT_MOST_EVERY: Duration = Duration::from_secs(3600);

/// State read by searches: the last valid snapshot of the index, and later changes of the log.
pub(in crate::registry) struct Search {
    store: Store,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    snapshot: Option<Snapshot>,
    unseen: Unseen,
    hidden: HiddenIds,
    restricted: RestrictedDocuments,
    /// Expired ids contained in `hidden`.
    expired: Option<Arc<[String]>>,
    trust: Trust,
}

/// The trust in the index after a search has failed.
#[derive(Default, Clone, Copy)]
enum Trust {
    #[default]
    Full,
    /// Searches are suspended until the files are inspected.
    Suspended,
    /// The files were intact at this time.
    Confirmed(Instant),
}

/// Searchable content of an index at a moment: a snapshot, and the entries hidden from searches.
pub(in crate::registry) struct Visible {
    pub snapshot: Snapshot,
    /// Last change reflected in the index.
    pub seq: Seq,
    /// Entries of the index that a search must not return.
    pub hidden: Hidden,
    /// Things in the index that are restricted to some callers.
    pub restricted: RestrictedDocuments,
}

/// Log position of an index, and the last change that is overdue there.
pub(in crate::registry) struct Freshness {
    /// Last change reflected in the index.
    pub seq: Seq,
    /// Last change that has been missing from the index for longer than allowed.
    pub overdue: Option<Seq>,
}

impl Search {
    pub(in crate::registry) fn new(store: Store) -> Arc<Search> {
        Arc::new(Search { store, shown: Mutex::default() })
    }

    /// Returns the position of the index and the changes missing for longer than `age`, or `None` if there is no
    /// searchable index.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub(in crate::registry) fn freshness(&self, age: Duration) -> Result<Option<Freshness>> {
        let mut shown = self.lock();
        shown.read_on(&self.store)?;
        let Shown { snapshot: Some(snapshot), unseen, .. } = &mut *shown else { return Ok(None) };
        Ok(Some(Freshness { seq: seq(snapshot), overdue: unseen.older_than(age, Timestamp::now()) }))
    }

    /// Returns the last searchable change, or `None` if there is no searchable index.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub(in crate::registry) fn shown(&self) -> Result<Option<Seq>> {
        let mut shown = self.lock();
        shown.read_on(&self.store)?;
        Ok(shown.snapshot.as_ref().map(seq))
    }

    /// Returns the searchable index without deleted and expired Things, including the restricted Things unless the
    /// caller sees everything. Returns `None` if there is no searchable index.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    pub(in crate::registry) fn visible(
        &self,
        expired: &Arc<[String]>,
        sees_everything: bool,
    ) -> Result<Option<Visible>> {
        let mut shown = self.lock();
        shown.read_on(&self.store)?;
        let Shown { snapshot: Some(snapshot), unseen, hidden, restricted, expired: known, trust } = &mut *shown else {
            return Ok(None);
        };
        if matches!(trust, Trust::Suspended) {
            return Ok(None);
        }
        let newly_expired = known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, expired)).then_some(expired);
        let ids = unseen.newly_deleted().iter().chain(newly_expired.into_iter().flat_map(|expired| expired.iter()));
        let hidden = snapshot.hide(hidden, ids.map(String::as_str))?;
        unseen.clear_newly_deleted();
        *known = Some(expired.clone());
        if !sees_everything {
            snapshot.look_up(restricted, &self.store, unseen.newly_restricted())?;
            unseen.clear_newly_restricted();
        }
        let restricted = if sees_everything { RestrictedDocuments::default() } else { restricted.clone() };
        Ok(Some(Visible { snapshot: snapshot.clone(), seq: seq(snapshot), hidden, restricted }))
    }

    /// Reports that a search failed in a way that may be caused by damage. Returns true if the index is being
    /// inspected or rebuilt, so the search should be retried later.
    pub(in crate::registry) fn distrust(&self) -> bool {
        let mut shown = self.lock();
        if shown.snapshot.is_some() && matches!(shown.trust, Trust::Confirmed(at) if at.elapsed() < TRUSTED_FOR) {
            return false;
        }
        shown.trust = Trust::Suspended;
        true
    }

    fn is_suspended(&self) -> bool {
        matches!(self.lock().trust, Trust::Suspended)
    }

    /// The files of the index are whole: it is searched again.
    fn confirm(&self) {
        self.lock().trust = Trust::Confirmed(Instant::now());
    }

    /// Disables searches until the index is rebuilt.
    fn clear(&self) {
        *self.lock() = Shown::default();
    }

    fn read_on(&self) -> Result<()> {
        self.lock().read_on(&self.store)
    }

    /// From now on searches see this state. Together with the position the deletions beyond it change.
    fn show(&self, snapshot: Snapshot) {
        let position = seq(&snapshot);
        let mut shown = self.lock();
        let before = shown.snapshot.replace(snapshot).map(|before| seq(&before));
        match before {
            Some(before) if before <= position => {
                shown.unseen.shown(position);
                shown.hidden.clear();
            }
            _ => {
                shown.unseen = Unseen::after(position);
                (shown.hidden, shown.restricted, shown.trust) = Default::default();
            }
        }
        shown.expired = None;
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RestrictedThings for Store {
    fn count(&self) -> usize {
        self.restricted_count()
    }

    fn ids(&self) -> Vec<String> {
        self.restricted_ids()
    }

    fn access(&self, id: &str) -> Option<Access> {
        self.restricted_access(id)
    }
}

/// Returns the last change in a snapshot.
fn seq(snapshot: &Snapshot) -> Seq {
    snapshot.position().map_or(Seq::ZERO, |position| position.seq)
}

impl Shown {
    /// Reads the log up to its end. If the log no longer contains the changes in between, disables searches until the
    /// index is rebuilt: the deletions among these changes are unknown and can't be hidden.
    fn read_on(&mut self, store: &Store) -> Result<()> {
        if self.snapshot.is_some() && !self.unseen.read_on(store)? {
            *self = Shown::default();
        }
        Ok(())
    }
}

/// Keeps the index in a directory at the end of the log.
pub(in crate::registry) struct SearchFollower {
    directory: PathBuf,
    store: Store,
    search: Arc<Search>,
    /// Opened index, or `None` before it was opened and after a failure, since a failed writer is unusable.
    open: Option<(Index, IndexWriter)>,
    inspection: Inspection,
    inspected: Instant,
    /// When it was rebuilt though its files were whole.
    rebuilt_whole: Option<Instant>,
}

impl SearchFollower {
    pub(in crate::registry) fn new(directory: PathBuf, store: Store, search: Arc<Search>) -> SearchFollower {
        let (inspection, inspected) = (Inspection::default(), Instant::now());
        SearchFollower { directory, store, search, open: None, inspection, inspected, rebuilt_whole: None }
    }

    /// Inspects all files for a search that has failed.
    fn inspect_all(&mut self) -> Result<Inspected> {
        if let Some(damaged) = Index::inspect(&self.directory, &mut Inspection::default(), u64::MAX)? {
            return Ok(self.found(&damaged));
        }
        self.search.confirm();
        if self.rebuilt_whole.is_some_and(|at| at.elapsed() < REBUILT_AT_MOST_EVERY) {
            return Ok(Inspected::Whole);
        }
        tracing::warn!("a search failed although the files of the index are intact; rebuilding the index");
        self.rebuilt_whole = Some(Instant::now());
        Ok(Inspected::Damaged)
    }

    fn found(&self, damaged: &Path) -> Inspected {
        tracing::error!(file = %damaged.display(), "the search index is damaged, and is being rebuilt");
        self.search.clear();
        Inspected::Damaged
    }

    fn take_open(&mut self) -> Result<(Index, IndexWriter)> {
        self.open.take().ok_or(Error::Index { doing: "writing", source: "it isn't open".into() })
    }

    fn build(
        &self,
        records: &mut dyn Iterator<Item = Result<Record>>,
        position: Position,
    ) -> Result<(Index, IndexWriter)> {
        let (index, mut writer) = Index::create(&self.directory)?;
        for (done, record) in records.enumerate() {
            put(&mut writer, &record?)?;
            if done.is_multiple_of(RECORDS_AT_ONCE) {
                self.search.read_on()?;
            }
        }
        writer.commit(position)?;
        Ok((index, writer))
    }
}

impl Follower for SearchFollower {
    fn name(&self) -> &'static str {
        "search"
    }

    fn position(&mut self) -> Result<Option<Position>> {
        // What was applied and not committed goes with the writer.
        self.open = None;
        let Some((index, writer, position)) = Index::open(&self.directory)? else { return Ok(None) };
        let can_follow = position.epoch == self.store.epoch() && !self.store.changes(position.seq, 1)?.truncated;
        if !can_follow {
            return Ok(None);
        }
        self.search.show(index.snapshot());
        self.open = Some((index, writer));
        Ok(Some(position))
    }

    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        self.search.read_on()?;
        let (index, mut writer) = self.take_open()?;
        let mut apply = |(id, record): (&str, Option<Record>)| match record {
            Some(record) => put(&mut writer, &record),
            None => writer.delete(id),
        };
        let applied = changed(&self.store, changes, stop).try_for_each(|thing| apply(thing?));
        // What was applied before a stop may be committed; after another error the writer is of no use.
        if matches!(applied, Ok(()) | Err(Error::ShuttingDown)) {
            self.open = Some((index, writer));
        }
        applied
    }

    fn commit(&mut self, position: Position, durability: Durability) -> Result<()> {
        let (index, mut writer) = self.take_open()?;
        writer.commit(position)?;
        match durability {
            Durability::Process => {}
            Durability::SystemLater => writer.start_syncing()?,
            Durability::System => writer.sync()?,
        }
        self.search.show(index.snapshot());
        self.open = Some((index, writer));
        Ok(())
    }

    fn inspect(&mut self) -> Result<Inspected> {
        if self.search.is_suspended() {
            return self.inspect_all();
        }
        if self.inspected.elapsed() < INSPECT_EVERY {
            return Ok(Inspected::Nothing);
        }
        self.inspected = Instant::now();
        let damaged = Index::inspect(&self.directory, &mut self.inspection, INSPECTED_AT_ONCE)?;
        Ok(damaged.map_or(Inspected::Nothing, |damaged| self.found(&damaged)))
    }

    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        self.open = None;
        let (index, writer) =
            self.build(records, position).inspect_err(|_| Index::remove_leftovers(&self.directory))?;
        self.search.show(index.snapshot());
        self.open = Some((index, writer));
        Ok(())
    }
}

fn put(writer: &mut IndexWriter, record: &Record) -> Result<()> {
    writer.put(Entry {
        id: &record.id,
        text: &record.text,
        format: record.format.as_deref(),
        terms: Format::search_terms(),
        access: Some(&record.access),
        moments: Some(Moments { created: record.created, modified: record.modified }),
    })
}
