//! Store options.

use std::{fmt, io, sync::Arc, time::Duration};

use super::{commit_log::SharedLog, gaps::Gaps};
use crate::change::Position;

/// Options of the store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Maximum number of entries retained in the change log, and in each chain of the audit trail.
    pub retained_changes: u64,
    /// Maximum time for which changes and audit entries are retained.
    pub retained_for: Duration,
    /// Number of the latest entries retained regardless of age, in the log and in each chain of the audit trail, so
    /// that a clock that runs ahead for a while can't empty them.
    pub retained_at_any_age: u64,
    /// Maximum size of sled's cache in bytes. The actual size is 1/64 of the store's size when it is opened, but at
    /// least 16 MiB; the operating system caches the files in addition.
    pub cache_bytes: u64,
    /// Maximum number of transactions per flush.
    pub group_size: usize,
    /// Last positions of the log known from elsewhere, such as from the search index. A store of the same epoch has
    /// lost changes if it ends before such a position, and is refused.
    pub followed: Vec<Position>,
    /// Hook called before each flush, for tests that count, delay, or fail flushes.
    #[doc(hidden)]
    pub before_flush: Option<FlushHook>,
    /// Gaps between positions, for tests.
    #[doc(hidden)]
    pub gaps: Gaps,
    /// Log shared with other stores, if any.
    pub(crate) log: Option<SharedLog>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            retained_changes: 1_000_000,
            retained_for: Duration::from_secs(30 * 24 * 3600),
            retained_at_any_age: 10_000,
            cache_bytes: 64 * 1024 * 1024,
            group_size: 256,
            followed: Vec::new(),
            before_flush: None,
            gaps: Gaps::default(),
            log: None,
        }
    }
}

impl Options {
    /// Sets [`Options::retained_changes`].
    pub fn retained_changes(mut self, changes: u64) -> Options {
        self.retained_changes = changes;
        self
    }

    /// Sets [`Options::retained_for`].
    pub fn retained_for(mut self, time: Duration) -> Options {
        self.retained_for = time;
        self
    }

    /// Sets [`Options::retained_at_any_age`].
    pub fn retained_at_any_age(mut self, changes: u64) -> Options {
        self.retained_at_any_age = changes;
        self
    }

    /// Sets [`Options::cache_bytes`].
    pub fn cache_bytes(mut self, bytes: u64) -> Options {
        self.cache_bytes = bytes;
        self
    }

    /// Sets [`Options::group_size`].
    pub fn group_size(mut self, transactions: usize) -> Options {
        self.group_size = transactions;
        self
    }

    /// Sets [`Options::followed`].
    pub fn followed(mut self, positions: Vec<Position>) -> Options {
        self.followed = positions;
        self
    }

    /// Sets [`Options::before_flush`].
    #[doc(hidden)]
    pub fn before_flush(mut self, hook: impl Into<Option<FlushHook>>) -> Options {
        self.before_flush = hook.into();
        self
    }

    /// Sets [`Options::gaps`].
    #[doc(hidden)]
    pub fn gaps(mut self, gaps: Gaps) -> Options {
        self.gaps = gaps;
        self
    }
}

/// A hook to be called before each flush. An error from the hook counts as a failed flush.
#[doc(hidden)]
#[derive(Clone)]
pub struct FlushHook(Arc<dyn Fn() -> io::Result<()> + Send + Sync>);

impl FlushHook {
    /// Creates a hook from a closure.
    pub fn new(hook: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> FlushHook {
        FlushHook(Arc::new(hook))
    }

    /// Calls it.
    pub(super) fn call(&self) -> io::Result<()> {
        (self.0)()
    }
}

impl fmt::Debug for FlushHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FlushHook")
    }
}
