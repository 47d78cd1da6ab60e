//! The registry as a node of a cluster, whose nodes share a log of commits.

use std::time::Duration;

use agentdex_api::{Cluster, ClusterNode};

use super::Registry;
use crate::store::{AppendCounts, LogStatus};

impl Registry {
    /// Returns the state of the cluster, as known to this node, or `None` if this registry is not a node of a cluster.
    pub fn cluster(&self) -> Option<Cluster> {
        let status = self.0.store.log_status()?;
        let LogStatus { cluster, node, leader, end, number: commit, behind_for, broken, clock_error, nodes } = status;
        let nodes = nodes.into_iter().map(|(name, node)| ClusterNode {
            clock: node.clock,
            commit: node.progress.number,
            name,
            synced: node.progress.synced,
            url: node.url,
            version: node.version,
        });
        Some(Cluster {
            behind_for: behind_for.as_secs_f64(),
            clock_ahead: clock_error.map(|ahead| ahead as f64 / 1000.0),
            commit,
            leader,
            log_end: end.max(commit),
            name: cluster,
            node,
            nodes: nodes.collect(),
            problem: broken,
        })
    }

    /// Returns counts of the commits that this node has appended to the log of its cluster, or `None` if this registry is
    /// not a node of a cluster.
    pub fn append_counts(&self) -> Option<AppendCounts> {
        self.behind_for().map(|_| self.0.store.append_counts())
    }

    /// Returns the time since this node last contained all writes of its cluster, or `None` if this registry is not a
    /// node of a cluster.
    pub fn behind_for(&self) -> Option<Duration> {
        self.0.store.behind_for()
    }
}
