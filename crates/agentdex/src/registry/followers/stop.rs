//! `Stop`: a shutdown request, checked by a follower between changes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{Error, Result};

/// A shared request to stop.
#[derive(Debug, Clone, Default)]
pub(in crate::registry) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Requests the shutdown.
    pub fn request(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True if the shutdown was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Fails if the shutdown was requested.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`]
    pub fn check(&self) -> Result<()> {
        if self.is_requested() { Err(Error::ShuttingDown) } else { Ok(()) }
    }
}
