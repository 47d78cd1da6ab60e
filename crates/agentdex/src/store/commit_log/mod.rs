//! `CommitLog`: a log of commits shared by several stores. Each store decides its transactions on its own content,
//! appends the commit under the next number, and then writes it (`store::appender`).
//!
//! - `turn`: turns of the stores, so that they rarely decide in vain
//! - `etcd`: the log of a cluster in etcd
//! - `memory`: a log in memory, for tests; `tests`, `history`: stores with such a log, and the check of their history

use std::{fmt, sync::Arc};

use super::overlay::Pairs;

#[cfg(test)]
mod copies;
#[cfg(test)]
mod etcd;
#[cfg(test)]
mod history;
#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
#[cfg_attr(not(test), expect(dead_code, reason = "only tests have a log that stores share"))]
mod turn;

/// A log of commits. Its commits are numbered without gaps, and each number is given once.
pub(super) trait CommitLog: Send + Sync {
    /// Appends a commit. Blocks until its outcome is known, or for a limited time. After [`Appended::Unknown`], a call
    /// with the same commit continues the attempt. No other commit may be appended before the outcome is known.
    fn append(&self, commit: &Arc<Commit>) -> Appended;

    /// Blocks until it is this store's turn to append. Returns false if a commit after `number` has arrived first.
    fn wait_for_turn(&self, number: u64) -> bool;

    /// Returns up to `limit` consecutive commits after `number` that have arrived. Doesn't block.
    ///
    /// # Errors
    /// The reason why no more commits will arrive.
    fn arrived(&self, number: u64, limit: usize) -> Result<Vec<Pairs>, Broken>;

    /// Returns the number of the last commit in the log, once all commits up to it have arrived.
    fn end(&self) -> Result<u64, Away>;

    /// True if it is the turn of this store, and others wait for theirs.
    fn is_asked(&self) -> bool;

    /// Registers `wake`, to be called when a commit arrives, and when another store waits for its turn.
    fn subscribe(&self, wake: Wake);

    /// Leaves the log. Nothing is appended afterwards.
    fn close(&self);
}

/// Wakes a store.
pub(super) type Wake = Box<dyn Fn() + Send + Sync>;

/// A commit to be appended to a log.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests have a log that stores share"))]
pub(super) struct Commit {
    pub number: u64,
    /// Id that distinguishes the commit from other commits with the same number, by other stores or by other runs of
    /// this store.
    pub id: CommitId,
    pub pairs: Pairs,
    /// True if the store has more to write, and keeps its turn.
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
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests have a log that stores share"))]
pub(super) enum Appended {
    /// The log has the commit.
    Done,
    /// The number was taken by another commit, which has arrived.
    Taken,
    /// There is no answer yet.
    Unknown,
    /// The log can't accept commits at present, and doesn't contain this commit.
    Away,
    /// The log doesn't continue at the last commit of this store, or was replaced by another log.
    Lost(Broken),
}

/// Reason why a store can't follow the log any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken(pub String);

/// The log can't be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Away;

/// A shared log, as an option of a store.
#[derive(Clone)]
pub(super) struct SharedLog(pub Arc<dyn CommitLog>);

impl fmt::Debug for SharedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLog")
    }
}
