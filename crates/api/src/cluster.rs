//! The state of a cluster, as known to one of its nodes.

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of a cluster, as known to the node that was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cluster {
    /// Time since this node last contained all writes of the cluster, in seconds.
    pub behind_for: f64,
    /// How far the clock of this node is ahead of those of most other nodes, in seconds (negative if it is behind).
    /// Present if this is too far: then the node accepts no writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub clock_ahead: Option<f64>,
    /// Number of the last commit in this node.
    pub commit: u64,
    /// Name of the leader, the node that carries out the periodic work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub leader: Option<String>,
    /// Number of the last commit in the log that this node knows.
    pub log_end: u64,
    /// Last error of etcd, if this node can't read the log at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub log_error: Option<String>,
    /// True if etcd is out of space, so that the cluster accepts no writes.
    #[serde(default)]
    pub log_full: bool,
    /// Name of the cluster.
    pub name: String,
    /// Name of this node.
    pub node: String,
    /// Nodes that are running, sorted by name.
    pub nodes: Vec<ClusterNode>,
    /// Reason why this node no longer follows the log, until it is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub problem: Option<String>,
    /// Number of the commit at which the content of all nodes was last compared, if it was compared since the start of
    /// this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub verified: Option<u64>,
}

impl Cluster {
    /// True if this node has kept up with the others, except for a few seconds. Otherwise it isn't ready.
    pub fn has_kept_up(&self) -> bool {
        self.behind_for < 10.0
    }

    /// Returns the entry of this node, or `None` if it isn't listed in etcd.
    pub fn own(&self) -> Option<&ClusterNode> {
        self.nodes.iter().find(|node| node.name == self.node)
    }
}

/// A node of a cluster, as it has published itself a few seconds ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClusterNode {
    /// Clock of the node at the time of its last update.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub clock: Timestamp,
    /// Number of the last commit in the node.
    pub commit: u64,
    /// Parts of the node's content that differed from those of most other nodes in the last comparison: `records`,
    /// `texts`, `originals`, `metadata`, `edits`, `parts`, `expiries`, `expiry-times`, `changes`, `history`,
    /// `restrictions`, `audit-trail`, `namespaces`, `queries`, `keys`, or `state`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// Name of the leader, if the node was compared only with the leader because no content was that of most nodes, for
    /// example of two nodes. Then either of the two may be damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub differs_from: Option<String>,
    /// Name of the node.
    pub name: String,
    /// Names of the node's settings that differ from those of most other nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings_differ: Vec<String>,
    /// Number of the last commit that the node has written to its disk.
    pub synced: u64,
    /// URL of the node's REST API, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub url: Option<String>,
    /// Reason why the content of the node couldn't be compared the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub verification_problem: Option<String>,
    /// True if the content of the node was part of the last comparison. A node that was started later was not.
    #[serde(default)]
    pub verified: bool,
    /// Version of agentdex.
    pub version: String,
}

/// Answer to a request to compare all nodes of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Verification {
    /// Number of the commit after which each node computes digests of its content. The comparison is complete once
    /// `verified` of the cluster is at least this number.
    pub commit: u64,
}
