//! The guardian of a registry. `no_guarding.rs` stands for it in a library without the feature `guardian`.

use std::{path::Path, sync::Arc, time::Duration};

use super::{
    Registry,
    followers::{Followers, Shared, Waited, guardian::GuardianFollower},
    guardian::{Guardian, Options},
};
use crate::{Error, Result, store::Store};

/// How many seconds a decision waits for what was written before.
const CATCH_UP: u64 = 5;

/// The guardian, and the follower that keeps its agents at the end of the log.
pub(super) struct Guarding {
    guardian: Arc<Guardian>,
    following: Arc<Shared>,
}

impl Guarding {
    /// Opens the guardian of a registry in `directory`, and starts its follower.
    pub fn open(directory: &Path, options: &Options, followers: &mut Followers, store: &Store) -> Result<Guarding> {
        let agents = Guardian::agents(store, options);
        let following = followers.start(GuardianFollower::new(store, agents.clone()), store)?;
        Ok(Guarding { guardian: Guardian::open(directory, options.clone(), agents)?, following })
    }

    /// Starts what needs the registry: its numbers.
    pub fn start(registry: &Registry) {
        registry.add_metrics(registry.guardian());
    }

    /// Ends the guardian.
    pub fn stop(&self) {
        self.guardian.stop();
    }
}

impl Registry {
    /// The guardian, which decides of the steps that agents report.
    pub fn guardian(&self) -> &Arc<Guardian> {
        &self.0.guarding.guardian
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
