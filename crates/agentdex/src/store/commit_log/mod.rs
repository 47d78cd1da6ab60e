//! `CommitLog`: a log of commits shared by several stores. Each store decides its transactions on its own content,
//! appends the commit under the next number, and then writes it (`store::appender`).
//!
//! - `turn`: turns of the stores, so that they rarely decide in vain
//! - `etcd`: the log of a cluster in etcd
//! - `memory`: a log in memory, for tests; `tests`, `history`: stores with such a log, and the check of their history

use std::{fmt, future, path::Path, pin::Pin, sync::Arc, time::Duration};

use sled::IVec;
use uuid::Uuid;

use super::{digests::Digests, overlay::Pairs};
#[cfg(doc)]
use crate::Error;
use crate::change::{Epoch, Position, Timestamp};

#[cfg(test)]
mod copies;
#[cfg(any(test, feature = "cluster"))]
pub(crate) mod etcd;
#[cfg(test)]
mod history;
#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
#[cfg_attr(not(any(test, feature = "cluster")), expect(dead_code, reason = "there is no log without the feature"))]
mod turn;

/// A log of commits. Its commits are numbered without gaps, and each number is given once.
pub(crate) trait CommitLog: Send + Sync {
    /// Appends a commit. Blocks until its outcome is known, or for a limited time. After [`Appended::Unknown`], a call
    /// with the same commit continues the attempt. No other commit may be appended before the outcome is known.
    fn append(&self, commit: &Arc<Commit>) -> Appended;

    /// Blocks until it is this store's turn to append. Returns false if a commit after `number` has arrived first.
    fn wait_for_turn(&self, number: u64) -> bool;

    /// Returns up to `limit` consecutive commits after `number` that have arrived. Doesn't block.
    ///
    /// # Errors
    /// The reason why no more commits will arrive.
    fn arrived(&self, number: u64, limit: usize) -> Result<Vec<Arrived>, Broken>;

    /// Returns the number of the last commit in the log, once all commits up to it have arrived.
    fn end(&self) -> Result<u64, Away>;

    /// Resolves once the store contains all commits in the log, as of the call. Resolves to [`Away`] after a while.
    fn caught_up(&self) -> CaughtUp {
        Box::pin(future::ready(Ok(())))
    }

    /// True if this store leads: it carries out the periodic work for all stores.
    fn is_leader(&self) -> bool {
        true
    }

    /// Records the position of a follower of the leader, or removes it. The next leader continues from there.
    fn share_position(&self, _follower: &str, _position: Option<Position>) {}

    /// Returns the position that was recorded by an earlier leader, or by this store.
    fn shared_position(&self, _follower: &str) -> Option<Position> {
        None
    }

    /// Blocks until the store may decide transactions. Returns false if that takes too long, or if the store
    /// [owes a grace](CommitLog::owes_grace).
    fn wait_to_decide(&self) -> bool {
        true
    }

    /// Resolves once the store may decide transactions. Resolves to [`Away`] after a while.
    fn until_decidable(&self) -> CaughtUp {
        Box::pin(future::ready(Ok(())))
    }

    /// True if this store has to begin an extension of all expiries: it leads, and no store could write for a while.
    fn owes_grace(&self) -> bool {
        false
    }

    /// Records that this store has begun the extension.
    fn note_grace(&self) {}

    /// Returns how far the clock of this store is ahead of most others in milliseconds, or behind (negative), if that is
    /// too far. The store must not decide anything then.
    fn clock_error(&self) -> Option<i64> {
        None
    }

    /// True if it is the turn of this store, and others wait for theirs.
    fn is_asked(&self) -> bool;

    /// Registers `wake`, to be called when a commit arrives, and when another store waits for its turn.
    fn subscribe(&self, wake: Wake);

    /// Publishes the progress of the store to the other stores.
    fn report(&self, _progress: Progress) {}

    /// Publishes the digests of the store to the other stores.
    fn report_digests(&self, _digests: Digests) {}

    /// Returns how far the store is behind the log.
    fn delay(&self) -> Option<Delay> {
        None
    }

    /// Returns the state of the log, for operators.
    fn status(&self) -> Option<LogStatus> {
        None
    }

    /// Shortens all waits, since the store is about to be closed.
    fn hurry(&self) {}

    /// Leaves the log. Nothing is appended afterwards.
    fn close(&self);
}

/// Progress of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Number of the last commit in the store.
    pub number: u64,
    /// Number of the last commit synced to disk.
    pub synced: u64,
}

/// Delay of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delay {
    /// Time since the store last contained all commits in the log.
    pub behind_for: Duration,
    /// Maximum delay with which the content of the store may still be shown.
    pub limit: Duration,
}

/// State of a log, as known to one of its stores.
#[derive(Debug, Clone)]
pub(crate) struct LogStatus {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of this node.
    pub node: String,
    /// Name of the leader, if there is one.
    pub leader: Option<String>,
    /// Number of the last known commit in the log.
    pub end: u64,
    /// Number of the last commit in the store.
    pub number: u64,
    /// Time since the store last contained all commits in the log.
    pub behind_for: Duration,
    /// Reason why the log can't be followed any more.
    pub broken: Option<String>,
    /// True if the log has no space for further commits.
    pub is_full: bool,
    /// Reason why the log isn't followed at present, if requests fail.
    pub trouble: Option<String>,
    /// How far the clock of this node is ahead of most others in milliseconds, or behind (negative), if that is too far.
    pub clock_error: Option<i64>,
    /// Present nodes by name.
    pub nodes: Vec<(String, NodeState)>,
    /// Number of the commit at which all nodes were last compared.
    pub compared: Option<u64>,
}

/// State of a node, as the node publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeState {
    /// URL of the node's REST API, if it serves clients.
    pub url: Option<String>,
    /// Version of the program.
    pub version: String,
    pub progress: Progress,
    /// Clock of the node at the time of this update.
    pub clock: Timestamp,
    /// Result of the last comparison of all nodes.
    pub comparison: NodeComparison,
    /// Names of settings that differ from those of most other nodes.
    pub settings_differ: Vec<String>,
}

/// Result of the last comparison of all nodes for one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeComparison {
    /// True if the node was compared.
    pub is_compared: bool,
    /// Families of keys that differ.
    pub differs: Vec<String>,
    /// Name of the leader, if the node differs from the leader because no content is that of most nodes.
    pub differs_from: Option<String>,
    /// Reason why the node couldn't be compared.
    pub problem: Option<String>,
}

/// Opens the log when a store is opened.
pub(crate) trait OpenLog: Send + Sync {
    /// Returns the identity and the place in the log for a new store, or `None` if the new store founds the log.
    ///
    /// # Errors
    /// [`Error::ClusterRefused`] if a new store can't follow the log, [`Error::ClusterUnavailable`].
    fn identity(&self, directory: &Path) -> crate::Result<Option<NewStore>>;

    /// Opens the log for a store.
    ///
    /// # Errors
    /// [`Error::ClusterRefused`] if the log doesn't continue at the last commit of the store,
    /// [`Error::ClusterUnavailable`].
    fn open(&self, store: &LastCommit<'_>) -> crate::Result<OpenedLog>;
}

/// A log opened for a store.
pub(crate) struct OpenedLog {
    pub log: Arc<dyn CommitLog>,
    /// Stamp of the store's last commit, if the store doesn't have it yet.
    pub stamp: Option<Stamp>,
}

/// Identity that all stores with the same log have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub registry: Uuid,
    pub epoch: Epoch,
}

/// Data of a new store of a log that exists already.
#[derive(Debug, Clone)]
pub(crate) struct NewStore {
    pub identity: Identity,
    /// Stamp of the commit with which the store is created.
    pub stamp: Stamp,
}

/// A store with its last commit.
#[derive(Debug)]
#[cfg_attr(not(any(test, feature = "cluster")), expect(dead_code, reason = "there is no log without the feature"))]
pub(crate) struct LastCommit<'a> {
    pub directory: &'a Path,
    pub identity: Identity,
    pub number: u64,
    /// Checksum of the content.
    pub sum: u128,
    /// Stamp of the commit, or `None` if the store isn't a store of the log yet.
    pub stamp: Option<&'a [u8]>,
}

/// Commit received from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub pairs: Pairs,
    pub stamp: Option<Stamp>,
}

/// Description of a commit in the log. A store keeps the stamp of its last commit, and passes it to the log when it is
/// opened again.
pub(crate) type Stamp = IVec;

/// Future of [`CommitLog::caught_up`].
pub(crate) type CaughtUp = Pin<Box<dyn Future<Output = Result<(), Away>> + Send>>;

/// Wakes a store.
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// A commit to be appended to a log.
#[derive(Debug)]
#[cfg_attr(not(any(test, feature = "cluster")), expect(dead_code, reason = "there is no log without the feature"))]
pub(crate) struct Commit {
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
pub(crate) struct CommitId {
    /// Random number drawn at each start of a store.
    pub run: u64,
    /// Number of the commit among those of this run.
    pub count: u64,
}

/// Outcome of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(any(test, feature = "cluster")), expect(dead_code, reason = "there is no log without the feature"))]
pub(crate) enum Appended {
    /// The log has the commit.
    Done(Option<Stamp>),
    /// The number was taken by another commit, which has arrived.
    Taken,
    /// There is no answer yet.
    Unknown,
    /// The log can't accept commits at present, and doesn't contain this commit.
    Away,
    /// The log has no space for the commit, and doesn't contain it.
    Full,
    /// The log doesn't continue at the last commit of this store, or was replaced by another log.
    Lost(Broken),
}

/// Reason why a store can't follow the log any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken(pub String);

/// The log can't be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Away;

/// A shared log, as an option of a store.
#[derive(Clone)]
pub(crate) struct SharedLog(pub Arc<dyn OpenLog>);

impl fmt::Debug for SharedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLog")
    }
}
