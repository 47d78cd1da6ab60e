//! Counters of an endpoint.

use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Counters of connections, messages and bytes, reported as metrics.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// The connections that are open.
    pub connections: AtomicUsize,
    pub refused: AtomicU64,
    pub messages: AtomicU64,
    pub sent_bytes: AtomicU64,
    pub received_bytes: AtomicU64,
}
