//! Access to the guardian of a registry, and the wait until its decisions reflect all writes.

use std::time::Duration;

use super::{Registry, followers::Waited, guardian::Guardian};
use crate::{Error, Result};

/// Maximum time in seconds that a decision waits for earlier writes.
const CATCH_UP: u64 = 5;

impl Registry {
    /// Returns the guardian, which decides about the steps reported by agents, on behalf of the registry's caller.
    pub fn guardian(&self) -> Guardian<'_> {
        Guardian::new(self, &self.0.guarding.guardian)
    }

    /// Waits for up to five seconds until the guardian's decisions reflect every acknowledged write.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] after five seconds, [`Error::LogUnavailable`] for a node of a cluster that can't
    /// reach the log, [`Error::ShuttingDown`].
    pub async fn catch_up_guardian(&self) -> Result<()> {
        let end = self.0.store.acknowledged().await?;
        match self.0.guarding.following.wait(end, Duration::from_secs(CATCH_UP)).await {
            Waited::Reached(_) => Ok(()),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CATCH_UP }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }
}
