//! Follower that compares saved queries with changes, even without subscribers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    follower::{Durability, Follower, Inspected},
    stop::Stop,
};
use crate::{
    Result,
    change::Position,
    registry::queries::Queries,
    store::{LoggedChange, Record, Store},
};

/// Polling intervals of the log with and without queries.
const SHORT_TICK: Duration = Duration::from_millis(5);
const LONG_TICK: Duration = Duration::from_millis(50);

/// Follower that compares changes with queries. Queries start at its starting position.
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

    fn apply(&mut self, _: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        self.queries.read_on(|| stop.is_requested())?;
        stop.check()
    }

    /// Events of queries are waited for.
    fn tick(&self) -> Duration {
        if self.queries.has_any() { SHORT_TICK } else { LONG_TICK }
    }

    /// Lets delayed queries catch up, which is due whenever there is time.
    fn inspect(&mut self) -> Result<Inspected> {
        self.queries.catch_up()?;
        Ok(Inspected::Nothing)
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
