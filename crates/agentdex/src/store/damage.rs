//! Damage: unreadable records and pages. Each is reported once, while all other data is served.

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

/// Maximum number of remembered ids and of gaps. Further damage is reported repeatedly.
const MOST_REPORTED: usize = 10_000;
/// Total time budget for finding the ends of damaged pages. If a page referenced by others is lost, sled gives up
/// only after a million attempts, for each key tried.
const PATIENCE: Duration = Duration::from_secs(5);

/// Length of the common prefix of keys of a kind.
const PREFIX: usize = 2;
/// Maximum length of displayed names in bytes.
const LONGEST_NAME: usize = 98;

/// Range of keys, from the first up to the second, that can't be read because their page is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap(pub IVec, pub IVec);

/// Reported damage.
#[derive(Default)]
pub(super) struct Damage {
    reported: Mutex<Reported>,
    /// True if a record was reported, so that most stores never lock.
    has_ids: AtomicBool,
    /// The same of gaps.
    has_gaps: AtomicBool,
    /// Time spent searching for the ends of pages, in nanoseconds.
    searched: AtomicU64,
}

#[derive(Default)]
struct Reported {
    ids: BTreeSet<String>,
    /// By their first keys.
    gaps: BTreeMap<IVec, IVec>,
}

impl Damage {
    /// Reports an unreadable record.
    pub fn report(&self, id: &str, error: &Error) {
        let mut reported = self.lock();
        if reported.ids.contains(id) {
            return;
        }
        let reason = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        tracing::error!(
            id,
            reason,
            "a record is damaged, and is not served; `agentdex check` lists all faults, `agentdex restore` restores \
             a backup, and `agentdex salvage` recovers the readable data"
        );
        if reported.ids.len() < MOST_REPORTED {
            reported.ids.insert(id.to_owned());
            self.has_ids.store(true, Ordering::Release);
        }
    }

    /// True if the record was reported.
    pub fn has(&self, id: &str) -> bool {
        self.has_ids.load(Ordering::Acquire) && self.lock().ids.contains(id)
    }

    /// Reports an unreadable entry of the log.
    pub fn report_change(&self, seq: Seq, error: &Error) {
        let key = layout::log_key(seq);
        let end = layout::key_after(&key);
        self.report_gap(Gap(key, end), &error.to_string());
    }

    /// Reports a range of unreadable keys.
    pub fn report_gap(&self, gap: Gap, reason: &str) {
        let mut reported = self.lock();
        if reported.gaps.contains_key(&gap.0) {
            return;
        }
        tracing::error!(
            what = %gap,
            reason,
            "a page of the store is damaged, and its content is not served; `agentdex check` lists all faults, and \
             `agentdex salvage` recovers the readable data"
        );
        if reported.gaps.len() < MOST_REPORTED {
            reported.gaps.insert(gap.0, gap.1);
            self.has_gaps.store(true, Ordering::Release);
        }
    }

    /// Returns the end of the gap that contains a key.
    pub fn end_of_gap(&self, key: &[u8]) -> Option<IVec> {
        if !self.has_gaps.load(Ordering::Acquire) {
            return None;
        }
        let reported = self.lock();
        let (_, end) = reported.gaps.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        (**end > *key).then(|| end.clone())
    }

    /// Tries to read a key while searching for the end of a damaged page. Returns `None` once the search has taken
    /// too long.
    pub fn search<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        if Duration::from_nanos(self.searched.load(Ordering::Relaxed)) > PATIENCE {
            return None;
        }
        let started = Instant::now();
        let found = read();
        self.searched.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Some(found)
    }

    /// Stops searching for the ends of damaged pages: a gap then extends to the end of the range being read.
    pub fn search_no_more(&self) {
        self.searched.store(u64::MAX, Ordering::Relaxed);
    }

    /// Returns the reported gaps.
    pub fn gaps(&self) -> Vec<Gap> {
        self.lock().gaps.iter().map(|(start, end)| Gap(start.clone(), end.clone())).collect()
    }

    /// Returns the number of reported records and gaps.
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
        let prefix = self.0.get(..PREFIX).unwrap_or_default();
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
            _ if !key.starts_with(prefix) => "the end".to_owned(),
            b"t/" | b"o/" | b"l/" | b"a/" => position_in(key).to_string(),
            b"x/" => name_in(key.get(PREFIX + 8..)),
            _ => name_in(key.get(PREFIX..)),
        };
        write!(f, "{what} from {} to {}", name(&self.0), name(&self.1))
    }
}

/// Returns the first position that a key may denote. A key may be a prefix of a key with a position, or directly
/// follow one.
fn position_in(key: &[u8]) -> u64 {
    let position = key.get(PREFIX..).unwrap_or_default();
    let first = position.iter().chain(&[0; 8]).take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    if position.len() > 8 { first.saturating_add(1) } else { first }
}

/// Returns the id or name at the beginning of a part of a key.
fn name_in(part: Option<&[u8]>) -> String {
    let name = part.unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
    format!("{:?}", String::from_utf8_lossy(name.get(..LONGEST_NAME).unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_named_by_positions_and_ids() {
        let text = |position: u64| layout::text_key(Seq(position));
        let after = |key: IVec| layout::key_after(&key);
        let audit = |number| layout::audit_key(agentdex_api::AuditChain::Denials, number);
        for (from, to, expected) in [
            (text(23), text(6037), "the texts from 23 to 6037"),
            (after(text(23)), text(6037), "the texts from 24 to 6037"),
            (IVec::from(b"t/"), layout::key_after(b"t/\0\0\0\0\0\0\x17"), "the texts from 0 to 5888"),
            (layout::log_key(Seq(5)), layout::record_key("urn:a"), "the changes from 5 to the end"),
            (after(layout::record_key("urn:a")), IVec::from(b"r/urn:b"), "the records from \"urn:a\" to \"urn:b\""),
            (
                layout::history_key("urn:a", Seq(7)),
                after(layout::history_key("urn:b", Seq(1))),
                "the history from \"urn:a\" to \"urn:b\"",
            ),
            (
                layout::due_key(crate::change::Timestamp(1), "urn:a"),
                layout::due_key(crate::change::Timestamp(2), "urn:b"),
                "the expiries from \"urn:a\" to \"urn:b\"",
            ),
            (audit(1), after(audit(2)), "the audit trail from \"denials/\" to \"denials/\""),
        ] {
            assert_eq!(Gap(from, to).to_string(), expected);
        }
    }
}
