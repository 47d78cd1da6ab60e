//! Options of the log in etcd.

use std::time::Duration;

use super::super::turn::Node;

/// Times and limits, which tests shorten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Time after which an append without an answer is [`Appended::Unknown`](super::super::Appended::Unknown).
    pub append_wait: Duration,
    /// Time after which the end of the log is asked for if nothing arrives.
    pub silence: Duration,
    /// Time to live of the node's lease.
    pub lease: Duration,
    /// Interval at which a node tells the others how far it is.
    pub update: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits { append_wait: seconds(10), silence: seconds(5), lease: seconds(15), update: seconds(5) }
    }
}

/// Pause after a failed call, at first and at most.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Who a node is.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Number by which turns are passed on, drawn at each start.
    pub node: Node,
    /// Name, which is the same after a restart.
    pub name: String,
    /// URL of its REST API, for the other nodes.
    pub url: Option<String>,
}
