//! Saved queries as a follower: they are compared with changes also where nobody listens.

use std::{sync::Arc, time::Instant};

use super::follower::{Durability, Follower};
use crate::{
    Result,
    change::Position,
    registry::queries::Queries,
    store::{LoggedChange, Record, Store},
};

/// Compares changes with queries. Where it starts is where queries start.
pub(in crate::registry) struct QueriesFollower {
    queries: Arc<Queries>,
    position: Position,
}

impl QueriesFollower {
    pub(in crate::registry) fn new(store: &Store, queries: Arc<Queries>) -> QueriesFollower {
        let position = Position { epoch: store.epoch(), seq: *store.durable().borrow() };
        QueriesFollower { queries, position }
    }
}

impl Follower for QueriesFollower {
    fn name(&self) -> &'static str {
        "queries"
    }

    fn position(&mut self) -> Result<Option<Position>> {
        Ok(Some(self.position))
    }

    fn apply(&mut self, _: &[Arc<LoggedChange>]) -> Result<()> {
        self.queries.read_on()
    }

    fn commit(&mut self, position: Position, _: Durability) -> Result<()> {
        self.queries.forget_idle(Instant::now());
        self.position = position;
        Ok(())
    }

    fn rebuild(&mut self, _: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        self.position = position;
        Ok(())
    }
}
