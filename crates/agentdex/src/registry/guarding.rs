//! The guardian of a registry.

use std::{sync::Arc, time::Duration};

use super::{Registry, followers::Waited, guardian::Guardian};
use crate::{Error, Result};

/// How many seconds a decision waits for what was written before.
const CATCH_UP: u64 = 5;

impl Registry {
    /// What decides of the steps that agents report.
    pub fn guardian(&self) -> &Arc<Guardian> {
        &self.0.guardian
    }

    /// Waits until decisions show every write that was acknowledged so far, for at most five seconds.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] where that took too long, [`Error::ShuttingDown`].
    pub async fn catch_up_guardian(&self) -> Result<()> {
        match self.0.guarding.wait(self.last_seq(), Duration::from_secs(CATCH_UP)).await {
            Waited::Reached(_) => Ok(()),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CATCH_UP }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }
}
