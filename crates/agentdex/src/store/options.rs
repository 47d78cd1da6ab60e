//! Store options.

use std::{fmt, io, sync::Arc, time::Duration};

use super::gaps::Gaps;
use crate::change::Position;

/// Store options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The most changes that the log keeps, and the most entries that each chain of the audit trail does.
    pub retained_changes: u64,
    /// The longest that the log keeps a change, and the audit trail an entry.
    pub retained_for: Duration,
    /// The number of the latest changes that the log keeps whatever their age, and of the latest entries that each chain of the
    /// audit trail does: a clock that is ahead for a while must not empty them.
    pub retained_at_any_age: u64,
    /// The most bytes of sled's cache. It has a 64th of the size of the store when this is opened, and at least 16 MiB: the
    /// system's own cache of files is behind it.
    pub cache_bytes: u64,
    /// The most transactions that share one flush.
    pub group_size: usize,
    /// The positions up to which the log is known to have been: a store of that epoch that ends earlier is refused.
    pub followed: Vec<Position>,
    /// Called before each flush; for tests that count flushes, hold them up or make them fail.
    #[doc(hidden)]
    pub before_flush: Option<FlushHook>,
    /// The numbers that positions leave out; for tests.
    #[doc(hidden)]
    pub gaps: Gaps,
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

/// A hook that is called before each flush. An error from it counts as a failed flush.
#[doc(hidden)]
#[derive(Clone)]
pub struct FlushHook(Arc<dyn Fn() -> io::Result<()> + Send + Sync>);

impl FlushHook {
    /// Makes a hook of a closure.
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
