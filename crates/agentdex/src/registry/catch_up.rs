//! The guardian for those who hold a registry, and the wait until its decisions show all writes.

use std::time::Duration;

use super::{Registry, followers::Waited, guardian::Guardian};
use crate::{Error, Result};

/// Maximum time in seconds that a decision waits for earlier writes.
const CATCH_UP: u64 = 5;

impl Registry {
    /// The guardian, which decides of the steps that agents report, for the registry's caller.
    pub fn guardian(&self) -> Guardian<'_> {
        Guardian::new(self, &self.0.guarding.guardian)
    }

    /// Waits until decisions show every write that was acknowledged so far, for at most five seconds.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] where that took too long, [`Error::ShuttingDown`].
    pub async fn catch_up_guardian(&self) -> Result<()> {
        match self.0.guarding.following.wait(self.last_seq(), Duration::from_secs(CATCH_UP)).await {
            Waited::Reached(_) => Ok(()),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CATCH_UP }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }
}
