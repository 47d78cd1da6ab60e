//! `CommitLog`: a log of commits that several stores share. Each of them decides its transactions on its own content,
//! appends the commit under the next number, and writes it once the log has it (`store::appender`).
//!
//! - `token`: whose turn it is to append, so that stores rarely decide in vain
//! - `memory`: a log in memory, for tests; `tests`, `history`: stores over such a log, and the check of what they did

use std::{fmt, sync::Arc};

use super::overlay::Pairs;

#[cfg(test)]
mod history;
#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
#[cfg_attr(not(test), expect(dead_code, reason = "only tests have a log that stores share"))]
mod token;

/// A log of commits. Its commits are numbered without gaps, and each number is given once.
pub(super) trait CommitLog: Send + Sync {
    /// Appends a commit. Blocks until its outcome is known, or for a limited time. After [`Appended::Unknown`], a call
    /// with the same commit continues the attempt; no other commit may be appended before the outcome is known.
    fn append(&self, commit: &Arc<Commit>) -> Appended;

    /// Blocks until it is this store's turn to append. Returns false if a commit after `number` has arrived first.
    fn wait_for_turn(&self, number: u64) -> bool;

    /// Returns up to `limit` consecutive commits after `number` that have arrived. Doesn't block.
    fn arrived(&self, number: u64, limit: usize) -> Vec<Pairs>;

    /// Returns the number of the last commit that anyone may have been told about, once all commits up to it have
    /// arrived.
    fn end(&self) -> Result<u64, Away>;

    /// True if other stores wait for this one to pass its turn on.
    fn is_asked(&self) -> bool;

    /// Calls `wake` when a commit arrives, and when another store waits for its turn.
    fn subscribe(&self, wake: Wake);
}

/// Wakes a store that follows a log.
pub(super) type Wake = Box<dyn Fn() + Send + Sync>;

/// A commit on its way into a log.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests have a log that stores share"))]
pub(super) struct Commit {
    pub number: u64,
    /// Tells the commit from those that other stores, or other starts of this one, append under the same number.
    pub id: CommitId,
    pub pairs: Pairs,
    /// True if the store keeps its turn, since it has more to write.
    pub has_more: bool,
}

/// Id of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CommitId {
    /// Random number drawn at each start of a store.
    pub run: u64,
    /// Number of the commit among those of this run.
    pub count: u64,
}

/// Outcome of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests have a log that stores share"))]
pub(super) enum Appended {
    /// The log has the commit.
    Done,
    /// The number went to another commit, which has arrived.
    Taken,
    /// There is no answer yet.
    Unknown,
    /// The log doesn't continue at this store's last commit, or is another one.
    Lost,
}

/// The log can't be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Away;

/// The log that a store shares with others, as an option of the store.
#[derive(Clone)]
pub(super) struct SharedLog(pub Arc<dyn CommitLog>);

impl fmt::Debug for SharedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLog")
    }
}
