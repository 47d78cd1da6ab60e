//! `AppendCounters`: counters of the commits that a store appends to a shared log.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::commit_log::Appended;

/// Counters since the store was opened.
#[derive(Debug, Default)]
pub(super) struct AppendCounters {
    appended: AtomicU64,
    lost_races: AtomicU64,
    unknown: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Counts of the commits that a node has appended to the log of its cluster, since the start of the node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppendCounts {
    /// Number of commits that the log has confirmed.
    pub appended: u64,
    /// Number of commits that were decided again, because the commit of another node was first.
    pub lost_races: u64,
    /// Number of commits whose outcome was unknown at first.
    pub unknown: u64,
    /// Total time of the appends that were confirmed or rejected.
    pub time: Duration,
}

impl AppendCounters {
    /// Counts the final outcome of an append. Other outcomes are ignored.
    pub fn count(&self, appended: &Appended, elapsed: Duration) {
        let counter = match appended {
            Appended::Done(_) => &self.appended,
            Appended::Taken => &self.lost_races,
            Appended::Unknown | Appended::Away | Appended::Full | Appended::Lost(_) => return,
        };
        counter.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts a commit with an unknown outcome.
    pub fn count_unknown(&self) {
        self.unknown.fetch_add(1, Relaxed);
    }

    /// Returns the current counts.
    pub fn read(&self) -> AppendCounts {
        AppendCounts {
            appended: self.appended.load(Relaxed),
            lost_races: self.lost_races.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Relaxed)),
        }
    }
}
