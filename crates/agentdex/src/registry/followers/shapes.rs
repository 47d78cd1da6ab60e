//! The shapes of capabilities as a follower: in memory, read from the records at every start.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::follower::{Durability, Follower, changed};
use crate::{
    Result,
    change::Position,
    search::compatible::{ShapeIndex, shapes},
    store::{LoggedChange, Record, Store},
};

/// The shapes of all Things, as far as the log was read.
#[derive(Default)]
pub(in crate::registry) struct SharedShapes(RwLock<ShapeIndex>);

impl SharedShapes {
    pub(in crate::registry) fn read(&self) -> RwLockReadGuard<'_, ShapeIndex> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut ShapeIndex)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Keeps the shapes at the end of the log.
pub(in crate::registry) struct ShapesFollower {
    store: Store,
    shared: Arc<SharedShapes>,
    /// None before it was built.
    position: Option<Position>,
}

impl ShapesFollower {
    pub(in crate::registry) fn new(store: Store, shared: Arc<SharedShapes>) -> ShapesFollower {
        ShapesFollower { store, shared, position: None }
    }
}

impl Follower for ShapesFollower {
    fn name(&self) -> &'static str {
        super::SHAPES
    }

    fn position(&mut self) -> Result<Option<Position>> {
        Ok(self.position)
    }

    fn apply(&mut self, changes: &[Arc<LoggedChange>]) -> Result<()> {
        for thing in changed(&self.store, changes) {
            let (id, record) = thing?;
            let shapes = record.map(|record| shapes(&record.text)).transpose()?;
            // Locked for each Thing alone: searches don't wait for all of them.
            self.shared.change(|index| match shapes {
                Some(shapes) => index.put(id, shapes),
                None => index.remove(id),
            });
        }
        Ok(())
    }

    fn commit(&mut self, position: Position, _: Durability) -> Result<()> {
        self.position = Some(position);
        Ok(())
    }

    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        let mut built = ShapeIndex::default();
        for record in records {
            let record = record?;
            built.put(&record.id, shapes(&record.text)?);
        }
        self.shared.change(|index| *index = built);
        self.position = Some(position);
        Ok(())
    }
}
