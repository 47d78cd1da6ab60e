//! The guardian of a registry. Replaced by `no_guarding.rs` in builds without the feature `guardian`.

use std::{path::Path, sync::Arc};

use super::{
    followers::{Followers, Shared, guardian::GuardianFollower},
    guardian::{Options, State},
    measures::Measures,
};
use crate::{Result, store::Store};

/// The guardian, and the follower that keeps its agents at the end of the log.
pub(super) struct Guarding {
    pub guardian: Arc<State>,
    pub following: Arc<Shared>,
}

impl Guarding {
    /// Opens the guardian of the registry in `directory` and starts its follower.
    pub fn open(
        directory: &Path,
        options: &Options,
        followers: &mut Followers,
        store: &Store,
        measures: &Measures,
    ) -> Result<Guarding> {
        let agents = State::agents(store, options);
        let following = followers.start(GuardianFollower::new(store, agents.clone()), store)?;
        let guardian = State::open(directory, options.clone(), agents)?;
        measures.add(&guardian);
        Ok(Guarding { guardian, following })
    }

    /// Stops the guardian.
    pub fn stop(&self) {
        self.guardian.stop();
    }
}
