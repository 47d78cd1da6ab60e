//! Damage: records and pages that can't be read, reported once each, while all else is served.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Bound,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sled::IVec;

use super::layout;
use crate::{Error, change::Seq};

/// The most ids, and the most gaps, that are remembered; what is damaged beyond is reported again and again.
const MOST_REPORTED: usize = 10_000;
/// The time for which ends of damaged pages are looked for in all. sled gives up only after a million tries where a page is lost that
/// others refer to, and each try of such a key costs that.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keys that can't be read, because the page is damaged that they are on: from the first of them on, up to the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap(pub IVec, pub IVec);

/// The damage that was reported.
#[derive(Default)]
pub(super) struct Damage {
    reported: Mutex<Reported>,
    /// True if a record was reported, so that most stores never lock.
    has_ids: AtomicBool,
    /// The same of gaps.
    has_gaps: AtomicBool,
    /// The nanoseconds for which ends of pages were looked for.
    searched: AtomicU64,
}

#[derive(Default)]
struct Reported {
    ids: BTreeSet<String>,
    /// By their first keys.
    gaps: BTreeMap<IVec, IVec>,
}

impl Damage {
    /// Reports a record that can't be read.
    pub fn report(&self, id: &str, error: &Error) {
        let mut reported = self.lock();
        if reported.ids.contains(id) {
            return;
        }
        let reason = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        tracing::error!(
            id,
            reason,
            "a record is damaged and not served; `agentdex check` lists all faults, `agentdex restore` makes a directory from a \
             backup, `agentdex salvage` one of what can be read"
        );
        if reported.ids.len() < MOST_REPORTED {
            reported.ids.insert(id.to_owned());
            self.has_ids.store(true, Ordering::Release);
        }
    }

    /// True if a record was reported.
    pub fn has(&self, id: &str) -> bool {
        self.has_ids.load(Ordering::Acquire) && self.lock().ids.contains(id)
    }

    /// Reports an entry of the log that can't be read.
    pub fn report_change(&self, seq: Seq, error: &Error) {
        let key = layout::log_key(seq);
        let end = layout::key_after(&key);
        self.report_gap(Gap(key, end), &error.to_string());
    }

    /// Reports keys that can't be read.
    pub fn report_gap(&self, gap: Gap, reason: &str) {
        let mut reported = self.lock();
        if reported.gaps.contains_key(&gap.0) {
            return;
        }
        tracing::error!(
            what = %gap,
            reason,
            "a page of the store is damaged: what was on it isn't served; `agentdex check` lists all faults, \
             `agentdex salvage` makes a directory of what can be read"
        );
        if reported.gaps.len() < MOST_REPORTED {
            reported.gaps.insert(gap.0, gap.1);
            self.has_gaps.store(true, Ordering::Release);
        }
    }

    /// The end of the gap that a key lies in.
    pub fn end_of_gap(&self, key: &[u8]) -> Option<IVec> {
        if !self.has_gaps.load(Ordering::Acquire) {
            return None;
        }
        let reported = self.lock();
        let (_, end) = reported.gaps.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        (**end > *key).then(|| end.clone())
    }

    /// Tries a key in a search for the end of a page; none once that took too long.
    pub fn search<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        if Duration::from_nanos(self.searched.load(Ordering::Relaxed)) > PATIENCE {
            return None;
        }
        let started = Instant::now();
        let found = read();
        self.searched.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Some(found)
    }

    /// The gaps that were reported.
    pub fn gaps(&self) -> Vec<Gap> {
        self.lock().gaps.iter().map(|(start, end)| Gap(start.clone(), end.clone())).collect()
    }

    /// The number of records and gaps that were reported.
    pub fn count(&self) -> usize {
        let reported = self.lock();
        reported.ids.len() + reported.gaps.len()
    }

    fn lock(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.0.get(..2).unwrap_or_default();
        let what = match prefix {
            b"r/" => "the records",
            b"t/" => "the texts",
            b"o/" => "the originals",
            b"l/" => "the changes",
            b"h/" => "the history",
            b"e/" | b"x/" => "the expiries",
            b"a/" | b"b/" => "the audit trail",
            _ => "keys",
        };
        let name = |key: &IVec| match prefix {
            b"t/" | b"o/" | b"l/" | b"a/" if key.starts_with(prefix) && key.len() == 10 => {
                layout::seq_of_key(key).map_or_else(|_| "the end".to_owned(), |seq| seq.to_string())
            }
            _ if key.starts_with(prefix) => {
                format!("{:?}", String::from_utf8_lossy(key.get(2..100.min(key.len())).unwrap_or_default()))
            }
            _ => "the end".to_owned(),
        };
        write!(f, "{what} from {} to {}", name(&self.0), name(&self.1))
    }
}
