//! Follower that refreshes the guardian's cached agents after changes.

use std::sync::Arc;

use super::{
    follower::{Durability, Follower},
    stop::Stop,
};
use crate::{
    Result,
    change::Position,
    registry::guardian::Agents,
    store::{LoggedChange, Record, Store},
};

/// Keeps the agents that are in memory at the end of the log. It starts there: nothing is in memory before.
pub(in crate::registry) struct GuardianFollower {
    agents: Arc<Agents>,
    position: Position,
}

impl GuardianFollower {
    pub(in crate::registry) fn new(store: &Store, agents: Arc<Agents>) -> GuardianFollower {
        GuardianFollower { agents, position: Position { epoch: store.epoch(), seq: *store.durable().borrow() } }
    }
}

impl Follower for GuardianFollower {
    fn name(&self) -> &'static str {
        "guardian"
    }

    fn position(&mut self) -> Result<Option<Position>> {
        Ok(Some(self.position))
    }

    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        for change in changes {
            stop.check()?;
            self.agents.apply(change)?;
        }
        Ok(())
    }

    fn commit(&mut self, position: Position, _: Durability) -> Result<()> {
        self.position = position;
        Ok(())
    }

    fn rebuild(&mut self, _: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        // The log doesn't reach back to where it was: what is in memory may be old.
        self.agents.forget_all();
        self.position = position;
        Ok(())
    }
}
