//! Counters of a publisher.

use std::sync::atomic::AtomicU64;

/// Counters of messages, reported as metrics.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Number of messages that the broker has acknowledged as accepted.
    pub published: AtomicU64,
    /// Number of messages that were quarantined.
    pub quarantined: AtomicU64,
}
