//! The registry as a node of a cluster, whose nodes share a log of commits.

use std::{future, time::Duration};

use agentdex_api::{Cluster, ClusterNode};

use super::Registry;
use crate::{
    Error, Result,
    change::Position,
    store::{AppendCounts, Delay, LogStatus},
};

impl Registry {
    /// Returns the state of the cluster, as known to this node, or `None` if this registry is not a node of a cluster.
    pub fn cluster(&self) -> Option<Cluster> {
        let status = self.0.store.log_status()?;
        let LogStatus { cluster, node, leader, end, number: commit, behind_for, broken, .. } = status;
        let nodes = status.nodes.into_iter().map(|(name, node)| ClusterNode {
            clock: node.clock,
            commit: node.progress.number,
            differs: node.comparison.differs,
            differs_from: node.comparison.differs_from,
            name,
            settings_differ: node.settings_differ,
            synced: node.progress.synced,
            url: node.url,
            verification_problem: node.comparison.problem,
            verified: node.comparison.is_compared,
            version: node.version,
        });
        Some(Cluster {
            behind_for: behind_for.as_secs_f64(),
            clock_ahead: status.clock_error.map(|ahead| ahead as f64 / 1000.0),
            commit,
            leader,
            log_end: end.max(commit),
            log_error: status.trouble,
            log_full: status.is_full,
            name: cluster,
            node,
            nodes: nodes.collect(),
            problem: broken,
            verified: status.compared,
        })
    }

    /// Asks all running nodes of the cluster to compare their whole content, and returns the number of the commit at
    /// which they do so. Each node reads its data directory once, while requests and writes continue. The result is in
    /// [`Registry::cluster`] once its `verified` has reached this number. Returns `None` if this registry is not
    /// a node of a cluster. A cluster also does this daily by itself.
    ///
    /// # Errors
    /// [`Error::Overloaded`] while this node is being read for a backup or an earlier comparison,
    /// [`Error::LogUnavailable`], [`Error::OutcomeUnknown`],
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn verify_cluster(&self) -> Result<Option<u64>> {
        self.is_node().then(|| self.0.store.ask_for_digests()).transpose()
    }

    /// Returns counts of the commits that this node has appended to the log of its cluster, or `None` if this registry is
    /// not a node of a cluster.
    pub fn append_counts(&self) -> Option<AppendCounts> {
        self.is_node().then(|| self.0.store.append_counts())
    }

    /// True if this registry is a node of a cluster.
    pub fn is_node(&self) -> bool {
        self.0.store.delay().is_some()
    }

    /// Waits until this node of a cluster contains all writes that any node acknowledged before the call. Until then, a write
    /// may be refused based on an earlier state. Returns at once if this registry is not a node.
    ///
    /// # Errors
    /// [`Error::LogUnavailable`] if the end of the log can't be reached in time,
    /// [`Error::WritesClosed`], [`Error::DiskFull`].
    pub async fn catch_up_with_cluster(&self) -> Result<()> {
        if !self.is_node() {
            return Ok(());
        }
        let store = &self.0.store;
        let Err(error) = store.ready_to_decide().await else { return Ok(()) };
        match store.closed_to_writes() {
            Some(reason) => Err(Error::WritesClosed { reason }),
            None => store.check_space().and(Err(error)),
        }
    }

    /// True if this registry carries out the periodic work of its cluster, or if it is not a node of a cluster.
    #[doc(hidden)]
    pub fn is_leader(&self) -> bool {
        self.0.store.is_leader()
    }

    /// Returns the stored cursor of a follower of a cluster's leader.
    ///
    /// # Errors
    /// Same as [`Registry::position`].
    #[doc(hidden)]
    pub fn position_of_leader(&self, follower: &str) -> Result<Option<Position>> {
        let shared = self.0.store.shared_log().and_then(|log| log.shared_position(follower));
        shared.map_or_else(|| self.position(follower), |shared| Ok(Some(shared)))
    }

    /// Stores the cursor of a follower of a cluster's leader. `None` deletes it.
    ///
    /// # Errors
    /// Same as [`Registry::set_position`].
    #[doc(hidden)]
    pub fn set_position_of_leader(&self, follower: &str, position: Option<Position>) -> Result<()> {
        match position {
            Some(position) => self.set_position(follower, position)?,
            None => self.remove_position(follower)?,
        }
        self.0.store.shared_log().into_iter().for_each(|log| log.share_position(follower, position));
        Ok(())
    }

    /// Returns the time since this node last contained all writes of its cluster, once this time reaches
    /// [`ClusterOptions::stale_limit`](super::ClusterOptions::stale_limit). The content must then not be served, since
    /// access may have been revoked meanwhile. Returns `None` before that, or if this registry is not a node.
    pub fn cut_off_for(&self) -> Option<Duration> {
        let Delay { behind_for, limit } = self.0.store.delay()?;
        (behind_for >= limit).then_some(behind_for)
    }

    /// Resolves when this node must stop serving its content. See [`Registry::cut_off_for`].
    pub async fn until_cut_off(&self) {
        loop {
            match self.0.store.delay() {
                None => return future::pending().await,
                Some(Delay { behind_for, limit }) if behind_for >= limit => return,
                Some(Delay { behind_for, limit }) => tokio::time::sleep(limit - behind_for).await,
            }
        }
    }
}
