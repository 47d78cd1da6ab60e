//! `Log`: the changes in order. Appends entries, reads them (recent entries from memory, older entries from the
//! tree), and applies retention.
//!
//! Positions are ascending and may have gaps. Each entry contains the previous position, by which a missing entry is
//! detected. Distances are counted in entries.
//!
//! The log knows about records only in one respect: a creation is listed in the history once its record has changed,
//! and readers determine whether it has. An alternative implementation, such as a replicated log, has to provide the
//! same interface.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::watch;

use super::{
    age::Age,
    database::Database,
    layout,
    logged::Logged,
    logged_change::LoggedChange,
    options::Options,
    overlay::{Overlay, Sealed},
    past::{Lives, Past},
    recent::{Loaded, Recent, RecentEntry},
    tree::{Tree, read, reading, write},
    value::{self, Body, Content, Entry, State, StoredRecord},
};
use crate::{
    Result,
    change::{Change, Epoch, Seq, Timestamp},
};

/// Maximum number of changes dropped by retention per step, which bounds the delay of writes.
const TRIMMED_AT_ONCE: usize = 256;

/// Maximum number of entries counted per step.
const COUNTED_AT_ONCE: usize = 4096;

/// Maximum size of a part of the log, reached by its last change.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// Part of the log.
#[derive(Debug, Clone)]
pub struct Part {
    /// Entries in ascending order, without omissions.
    pub entries: Vec<Logged>,
    /// Durable end of the log at the time of the read.
    pub last: Seq,
    /// Position of the oldest entry of the log; a position beyond `last` if the log is empty.
    pub oldest: Seq,
    /// True if the requested position is older than the retained log, or beyond its end. The reader has to resync.
    pub truncated: bool,
}

impl Part {
    /// Returns the changes among the entries.
    pub fn changes(&self) -> Vec<Arc<LoggedChange>> {
        self.entries.iter().filter_map(Logged::change).cloned().collect()
    }
}

/// Access to creations not yet listed in the history.
pub(super) trait Creations {
    /// Returns the position of a record that hasn't changed since its creation.
    fn creation(&self, id: &str) -> Result<Option<Seq>>;
}

/// The change log in the tree.
pub(super) struct Log {
    tree: Arc<Tree>,
    epoch: Epoch,
    /// The durable end.
    end: watch::Receiver<Seq>,
    /// Sender for the end of the log. `None` once the log is closed, which wakes all waiters.
    moves_end: Mutex<Option<watch::Sender<Seq>>>,
    start: RwLock<Start>,
    recent: RwLock<Recent>,
    /// Older changes that somebody has read.
    loaded: Mutex<Loaded>,
    age: Mutex<Age>,
}

/// The start of the log: its oldest entry and the position before that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// Position before the oldest entry: that of the last entry dropped by retention.
    pub trimmed_to: Seq,
    /// Oldest entry. A position beyond the end if the log is empty.
    pub oldest: Seq,
}

impl Start {
    /// Reads the first entry of a log that ends at `last`.
    pub fn read(db: &Database, last: Seq) -> Result<Start> {
        let first = db.range(layout::log_key(Seq::ZERO)..layout::log_key(last.next())).next();
        let Some((key, value)) = first.transpose().map_err(reading)? else {
            return Ok(Start { trimmed_to: last, oldest: last.next() });
        };
        let oldest = layout::seq_of_key(&key)?;
        // One that is damaged is found by whoever reads it.
        let previous = Entry::decode(oldest, &value).map_or(Seq(oldest.0.saturating_sub(1)), |entry| entry.previous);
        Ok(Start { trimmed_to: previous, oldest })
    }
}

impl Log {
    pub fn new(tree: Arc<Tree>, epoch: Epoch, start: Start, last: Seq) -> Log {
        let (moves_end, end) = watch::channel(last);
        Log {
            tree,
            epoch,
            end,
            moves_end: Mutex::new(Some(moves_end)),
            start: RwLock::new(start),
            recent: RwLock::new(Recent::after_end(last)),
            loaded: Mutex::new(Loaded::new()),
            age: Mutex::default(),
        }
    }

    /// Returns the durable end.
    pub fn last(&self) -> Seq {
        *self.end.borrow()
    }

    /// Returns the time of the last change, if the log contains a change.
    pub fn last_moment(&self) -> Timestamp {
        let last = self.last();
        let entry = self.tree.get(&layout::log_key(last)).ok().flatten();
        entry.and_then(|entry| Entry::decode(last, &entry).ok()).map_or(Timestamp(0), |entry| entry.at)
    }

    /// Returns a receiver for the durable end.
    pub fn watch(&self) -> watch::Receiver<Seq> {
        self.end.clone()
    }

    /// Returns the position of the oldest entry, and the position before it.
    pub fn start(&self) -> Start {
        *read(&self.start)
    }

    /// Returns the number of changes up to a position, relative to the end of the log when it was opened. The number
    /// of changes between two positions is the difference of their ordinals. For older positions, the entries are
    /// counted on disk.
    pub fn ordinal(&self, position: Seq) -> Result<i64> {
        let (known, (first, left)) = {
            let recent = read(&self.recent);
            (recent.ordinal(position), recent.start())
        };
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        match known {
            Some(ordinal) => Ok(signed(ordinal)),
            None => Ok(signed(left).saturating_sub(signed(self.count(position, first)?))),
        }
    }

    /// The number of entries after a position and up to another.
    fn count(&self, after: Seq, up_to: Seq) -> Result<u64> {
        let (mut start, end) = (layout::log_key(after.next()), layout::log_key(up_to.next()));
        let mut count = 0;
        loop {
            // In parts: what reads the tree holds up its closing.
            let (part, last) = self.tree.count(&start, &end, COUNTED_AT_ONCE)?;
            count += part as u64;
            match last {
                Some(last) if part == COUNTED_AT_ONCE => start = layout::key_after(&last),
                _ => return Ok(count),
            }
        }
    }

    /// Moves the start of the log. Call it before dropped entries are removed from the tree, so that readers don't
    /// take them for entries that never existed.
    pub fn begin_at(&self, start: Start) {
        *write(&self.start) = start;
    }

    /// Caches changes that have become durable.
    pub fn cache(&self, entries: Vec<RecentEntry>) {
        if let Some(first) = entries.first() {
            let mut start = write(&self.start);
            if start.oldest > self.last() {
                start.oldest = first.seq();
            }
        }
        write(&self.recent).extend(entries);
    }

    /// Publishes `last` as the durable end.
    pub fn publish(&self, last: Seq) {
        if let Some(end) = &*self.moves_end.lock().unwrap_or_else(PoisonError::into_inner) {
            end.send_if_modified(|seq| std::mem::replace(seq, last) != last);
        }
    }

    /// Closes the log: everyone waiting for changes is woken and sees the end.
    pub fn end(&self) {
        self.moves_end.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// See [`super::Store::changes`].
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Part> {
        let last = self.last();
        let Start { trimmed_to, oldest } = self.start();
        let truncated = since > last || since < trimmed_to;
        let mut part = Part { entries: Vec::new(), last, oldest, truncated };
        if since >= last || part.truncated {
            return Ok(part);
        }
        if let Some(cached) = self.cached(since, last, limit) {
            part.entries = cached;
            return Ok(part);
        }
        let (start, end) = (layout::log_key(since.next()), layout::log_key(last.next()));
        let (mut entries, mut bytes) = (0, 0);
        let (pairs, _) = self.tree.scan(&start, &end, |entry| {
            entries += 1;
            bytes += entry.len();
            entries >= limit || bytes >= PART_BYTES
        })?;
        // Again, with the descriptions that lie apart.
        let (mut position, mut bytes) = (since, 0);
        for (key, value) in pairs.into_iter().take(limit) {
            let seq = layout::seq_of_key(&key)?;
            let entry = match self.logged(seq, &value) {
                Err(error) if layout::is_corrupt(&error) => {
                    self.tree.damage.report_change(seq, &error);
                    None
                }
                read => read?,
            };
            // Trimmed while it was being read, or lost.
            let Some(entry) = entry.filter(|entry| entry.follows(position)) else {
                part.oldest = self.start().oldest;
                part.truncated = true;
                part.entries.clear();
                break;
            };
            (position, bytes) = (entry.seq(), bytes + entry.weight());
            part.entries.push(entry);
            if bytes >= PART_BYTES {
                break;
            }
        }
        // Nothing before the end: it was trimmed, or can't be read.
        part.truncated |= part.entries.is_empty();
        self.loaded().extend(&part.entries);
        Ok(part)
    }

    /// Returns up to `limit` changes after `since` from memory. Returns `None` if the next change is not cached or if
    /// `since` is beyond the end.
    pub fn cached(&self, since: Seq, last: Seq, limit: usize) -> Option<Vec<Logged>> {
        if since >= last {
            return (since == last).then(Vec::new);
        }
        let (recent, budget) = {
            let recent = read(&self.recent);
            (recent.after(since, last, limit), recent.budget())
        };
        if let Some(recent) = recent {
            return recent.iter().map(|entry| entry.read(self.epoch, &budget)).collect();
        }
        Some(self.loaded().after(since, limit)).filter(|loaded| !loaded.is_empty() && since >= self.start().trimmed_to)
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`super::Store::history`].
    pub fn history(&self, id: &str, since: Seq, limit: usize, creations: &impl Creations) -> Result<Vec<Change>> {
        let last = self.last();
        // Before the list: what the record no longer tells is in the list by then.
        let creation = creations.creation(id)?.filter(|seq| *seq > since && *seq <= last);
        let (start, end) = (layout::history_key(id, since.next()), layout::history_key(id, last.next()));
        let db = self.tree.db()?;
        let listed = self.tree.pairs(&db, &start, &end).map(|pair| layout::seq_of_key(&pair?.0));
        let mut seqs: Vec<Seq> = listed.take(limit).collect::<Result<_>>()?;
        seqs.extend(creation.filter(|creation| !seqs.contains(creation)));
        seqs.truncate(limit);
        let mut changes = Vec::with_capacity(seqs.len());
        for seq in seqs {
            match self
                .tree
                .get(&layout::log_key(seq))
                .and_then(|entry| entry.map(|entry| self.logged(seq, &entry)).transpose())
            {
                Ok(entry) => changes.extend(entry.flatten().and_then(|entry| Some(Change::clone(entry.change()?)))),
                Err(error) if layout::is_corrupt(&error) => self.tree.damage.report_change(seq, &error),
                Err(error) => return Err(error),
            }
        }
        Ok(changes)
    }

    /// Returns the lives of an id, as far as the log contains them. Includes entries that are not yet durable, since
    /// commits announce an entry before the end of the log moves.
    pub fn lives(&self, id: &str, creations: &impl Creations) -> Result<Lives> {
        let creation = creations.creation(id)?;
        let (start, end) = (layout::history_key(id, Seq::ZERO), layout::history_key(id, Seq(u64::MAX)));
        let db = self.tree.db()?;
        // Who saw a part of it isn't known where another part can't be read.
        let listed = self.tree.all_pairs(&db, &start, &end);
        let mut seqs = listed.map(|pair| layout::seq_of_key(&pair?.0)).collect::<Result<Vec<Seq>>>()?;
        seqs.extend(creation.filter(|creation| !seqs.contains(creation)));
        let mut lives = Lives::default();
        for seq in seqs {
            let Some(entry) = self.tree.get(&layout::log_key(seq))? else { continue };
            if let Some(change) = Entry::decode(seq, &entry)?.change() {
                lives.add(seq, change);
            }
        }
        Ok(lives)
    }

    /// Returns an entry for readers, or `None` if it was trimmed meanwhile.
    fn logged(&self, seq: Seq, entry: &[u8]) -> Result<Option<Logged>> {
        let mut entry = Entry::decode(seq, entry)?;
        if let Content::Change(change) = &mut entry.content
            && change.body == Body::Apart
        {
            let Some(text) = self.tree.get(&layout::text_key(seq))? else { return Ok(None) };
            change.body = Body::Text(value::text(&text)?.to_owned());
        }
        Ok(Some(entry.into_logged(self.epoch, seq)))
    }

    /// True if a record still needs the text at a position, either because it is served or because of a declaration.
    fn is_current(&self, seq: Seq, id: &str) -> Result<bool> {
        let Some(bytes) = self.tree.get(&layout::record_key(id))? else { return Ok(false) };
        let record = StoredRecord::decode(&bytes)?;
        Ok(record.seq == seq || record.declared()?.0.iter().any(|declaration| declaration.base == seq))
    }

    /// Returns a commit that drops some of the entries beyond retention, or `None` if there are no such entries. The
    /// age of an entry is based on the latest arrival time among the entries up to it, ignoring times in the future;
    /// the latest entries are retained regardless of age. `state` is the state after the last commit.
    pub fn trim_step(&self, state: &State, past: &Past, now: Timestamp, options: &Options) -> Result<Option<Sealed>> {
        let retained_for = i64::try_from(options.retained_for.as_millis()).unwrap_or(i64::MAX);
        let too_old = Timestamp(now.0.saturating_sub(retained_for));
        let mut dropped = 0;
        let mut superfluous = state.entries.saturating_sub(options.retained_changes);
        let mut may_age = state.entries.saturating_sub(options.retained_at_any_age);
        let end = layout::log_key(state.last.next());
        let db = self.tree.db()?;
        let mut overlay = Overlay::new(&db);
        let mut age = self.age.lock().unwrap_or_else(PoisonError::into_inner);
        if may_age > 0 {
            age.find(now, |searched_to| {
                let pairs = self.tree.pairs(&db, &layout::log_key(Seq(searched_to).next()), &end);
                pairs.take(COUNTED_AT_ONCE).map(|pair| {
                    let (key, value) = pair?;
                    let seq = layout::seq_of_key(&key)?;
                    Ok((seq.0, Entry::decode(seq, &value).ok().map(|entry| entry.arrival)))
                })
            })?;
        }
        let mut entries = self.tree.pairs(&db, &layout::log_key(Seq::ZERO), &end);
        while dropped < TRIMMED_AT_ONCE
            && let Some((key, value)) = entries.next().transpose()?
        {
            let seq = layout::seq_of_key(&key)?;
            // One that is damaged goes like any other.
            let entry = Entry::decode(seq, &value).ok();
            let arrived = age.of_next(entry.as_ref().map(|entry| entry.arrival), now);
            let is_old = may_age > 0 && arrived.is_some_and(|arrived| arrived < too_old);
            if superfluous == 0 && !is_old {
                break;
            }
            age.drop_next(arrived);
            if let Some(change) = entry.as_ref().and_then(Entry::change) {
                if change.body == Body::Apart && !self.is_current(seq, &change.id)? {
                    overlay.set(layout::text_key(seq), None);
                }
                overlay.set(layout::history_key(&change.id, seq), None);
                if past.last(&change.id) == Some(seq) {
                    overlay.set(layout::restricted_key(&change.id), None);
                }
            }
            overlay.set(key, None);
            (superfluous, may_age) = (superfluous.saturating_sub(1), may_age.saturating_sub(1));
            dropped += 1;
        }
        let entries = state.entries.saturating_sub(dropped as u64);
        (dropped > 0).then(|| overlay.seal(State { entries, ..*state })).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{held::Held, overlay::batch_of, value::MembershipEntry},
        *,
    };
    use crate::access::NamespaceNumber;

    const DAY: i64 = 24 * 3600 * 1000;

    fn day(number: i64) -> Timestamp {
        Timestamp(number * DAY)
    }

    /// The days of the arrivals that are left of a log, once it is trimmed on another day.
    fn left(arrivals: &[i64], today: i64, options: &Options) -> Vec<i64> {
        let directory = tempfile::tempdir().unwrap();
        let config = sled::Config::new().path(directory.path()).flush_every_ms(None);
        let db = Database::open(&config, directory.path()).unwrap();
        let mut at = Timestamp(0);
        for (seq, arrival) in (1..).zip(arrivals.iter().copied().map(day)) {
            at = at.max(arrival);
            let nobody = MembershipEntry { number: NamespaceNumber(1), joined: Vec::new(), left: Vec::new() };
            let (previous, content) = (Seq(seq - 1), Content::Membership(nobody));
            let entry = Entry { previous, at, arrival, actor: None, content };
            db.insert(layout::log_key(Seq(seq)), entry.encode()).unwrap();
        }
        let entries = arrivals.len() as u64;
        let last = Seq(entries);
        let mut state = State { last, entries, ..State::default() };
        let start = Start::read(&db, last).unwrap();
        let tree = Arc::new(Tree::new(db, Held::new(directory.path())));
        let past = Past::load(&tree).unwrap();
        let log = Log::new(tree.clone(), Epoch(1), start, last);
        while let Some(sealed) = log.trim_step(&state, &past, day(today), options).unwrap() {
            state = sealed.state;
            let db = tree.db().unwrap();
            db.apply_batch(batch_of(sealed.pairs)).unwrap();
            log.begin_at(Start::read(&db, last).unwrap());
        }
        let part = log.changes(log.start().trimmed_to, arrivals.len()).unwrap();
        assert_eq!(state.entries, part.entries.len() as u64);
        let left = part.entries.iter().map(|entry| arrivals[entry.seq().0 as usize - 1]).collect();
        tree.close();
        left
    }

    #[test]
    fn an_entry_is_as_old_as_the_latest_arrival_up_to_it_that_is_not_in_the_future() {
        let options = Options::default().retained_for(Duration::from_secs(30 * 24 * 3600)).retained_at_any_age(0);
        let left = |arrivals: &[i64]| left(arrivals, 100, &options);
        assert_eq!(left(&[1, 50, 69, 71, 99]), [71, 99]);
        // The clock was ahead for a while, and is right again.
        assert_eq!(left(&[60, 500, 501, 71]), [71]);
        assert_eq!(left(&[60, 75, 500, 501, 99]), [75, 500, 501, 99]);
        // From the start: what came before something old is old.
        assert_eq!(left(&[500, 501, 60, 99]), [99]);
        assert_eq!(left(&[500, 501, 90]), [500, 501, 90]);
        assert_eq!(left(&[500, 501]), [500, 501]);
        // The clock was behind for a while.
        assert_eq!(left(&[95, 3, 4, 96]), [95, 3, 4, 96]);
        // In more than one step.
        let many = [vec![60; 300], vec![500; 300], vec![80; 5]].concat();
        assert_eq!(left(&many), [80; 5]);
    }

    #[test]
    fn the_latest_entries_stay_whatever_their_age() {
        let arrivals: Vec<i64> = (0..20).collect();
        let options = Options::default().retained_at_any_age(4);
        assert_eq!(left(&arrivals, 1000, &options), [16, 17, 18, 19]);
        assert_eq!(left(&arrivals, 1000, &Options::default()), arrivals);
        assert_eq!(left(&arrivals, 1000, &Options::default().retained_changes(3)), [17, 18, 19]);
    }
}
