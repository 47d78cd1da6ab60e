//! Options of the log in etcd.

use std::time::Duration;

use agentdex_etcd::Options as Connection;

use super::agreement::Values;

/// Options of a node of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct NodeOptions {
    pub connection: Connection,
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the node, which is the same after a restart.
    pub name: String,
    /// URL of the node's REST API, for the other nodes.
    pub url: Option<String>,
    /// Digests of settings that should be the same on all nodes, by name.
    pub settings: Values,
    /// True if this node founds the cluster if etcd has no such cluster.
    pub is_first: bool,
    pub limits: Limits,
}

/// Timeouts and intervals, which tests shorten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Time after which an append without an answer is [`Appended::Unknown`](super::super::Appended::Unknown).
    pub append_wait: Duration,
    /// Maximum delay with which a node may still show its content.
    pub stale: Duration,
    /// Time without arrivals after which the end of the log is requested.
    pub silence: Duration,
    /// Time to live of the node's lease.
    pub lease: Duration,
    /// Interval at which a node reports its progress to the other nodes.
    pub update: Duration,
    /// Time without a write by a leader after which the expiries of all agents are extended.
    pub grace_after: Duration,
    /// Maximum difference between the clocks of the nodes.
    pub skew: Duration,
    /// Interval at which the leader trims the log.
    pub trim: Duration,
    /// Minimum time for which a commit is kept, unless the log is too large.
    pub kept_for: Duration,
    /// Maximum size of the log in bytes, as far as that is possible without losing commits.
    pub log_bytes: u64,
    /// Maximum time to wait until the store has installed all arrived commits.
    pub install_wait: Duration,
    /// Maximum time to wait for etcd, and for the founding of the log, at the start of a node.
    pub start_wait: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits {
            append_wait: seconds(10),
            stale: seconds(60),
            silence: seconds(5),
            lease: seconds(15),
            update: seconds(5),
            grace_after: seconds(30),
            skew: seconds(5),
            trim: seconds(30),
            kept_for: seconds(3600),
            log_bytes: 512 << 20,
            install_wait: seconds(5),
            start_wait: seconds(30),
        }
    }
}

/// First and longest pause after a failed call.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
