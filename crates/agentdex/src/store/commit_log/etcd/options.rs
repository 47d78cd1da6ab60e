//! Options of the log in etcd.

use std::time::Duration;

use super::super::turn::Node;

/// Timeouts and intervals, which tests shorten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Time after which an append without an answer is [`Appended::Unknown`](super::super::Appended::Unknown).
    pub append_wait: Duration,
    /// Time without arrivals after which the end of the log is requested.
    pub silence: Duration,
    /// Time to live of the node's lease.
    pub lease: Duration,
    /// Interval at which a node reports its progress to the other nodes.
    pub update: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits { append_wait: seconds(10), silence: seconds(5), lease: seconds(15), update: seconds(5) }
    }
}

/// First and longest pause after a failed call.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Identity of a node.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Random id of the node in turns, generated at each start.
    pub node: Node,
    /// Name of the node, which is the same after a restart.
    pub name: String,
    /// URL of the node's REST API, for the other nodes.
    pub url: Option<String>,
}
