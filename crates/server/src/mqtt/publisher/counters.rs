//! What a publisher counts.

use std::sync::atomic::AtomicU64;

/// What a publisher counts.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// How many messages the broker has acknowledged.
    pub published: AtomicU64,
    /// How many messages were quarantined.
    pub quarantined: AtomicU64,
}
