//! Follower for the shapes of capabilities. They are kept in memory, and read from the records at every start.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::{
    follower::{Durability, Follower, changed},
    stop::Stop,
    taken_in::TakenIn,
};
use crate::{
    Result,
    access::Grants,
    change::Position,
    search::compatible::{ShapeIndex, shapes},
    store::{LoggedChange, Record, Store},
};

/// The shapes of all Things, as far as the log was read.
#[derive(Default)]
pub(in crate::registry) struct SharedShapes(RwLock<KnownShapes>);

/// Shapes, and the access to their descriptions when they were indexed.
#[derive(Default)]
pub(in crate::registry) struct KnownShapes {
    pub index: ShapeIndex,
    taken_in: TakenIn,
}

impl KnownShapes {
    /// Returns the ids of Things that are hidden from a caller with these grants, according to the access recorded with
    /// their shapes.
    pub fn unseen_by(&self, grants: Option<&Grants>) -> impl Iterator<Item = &str> {
        self.taken_in.unseen_by(grants)
    }
}

impl SharedShapes {
    pub(in crate::registry) fn read(&self) -> RwLockReadGuard<'_, KnownShapes> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut KnownShapes)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Keeps the shapes at the end of the log.
pub(in crate::registry) struct ShapesFollower {
    store: Store,
    shared: Arc<SharedShapes>,
    /// Position, or `None` before the first build.
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

    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        for thing in changed(&self.store, changes, stop) {
            let (id, record) = thing?;
            let shapes = record.as_ref().map(|record| shapes(&record.text)).transpose()?;
            // Locked for each Thing alone: searches don't wait for all of them.
            self.shared.change(|known| {
                known.taken_in.put(id, record.as_ref().map(|record| &record.access));
                match shapes {
                    Some(shapes) => known.index.put(id, shapes),
                    None => known.index.remove(id),
                }
            });
        }
        Ok(())
    }

    fn commit(&mut self, position: Position, _: Durability) -> Result<()> {
        self.position = Some(position);
        Ok(())
    }

    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        let mut built = KnownShapes::default();
        for record in records {
            let record = record?;
            built.taken_in.put(&record.id, Some(&record.access));
            built.index.put(&record.id, shapes(&record.text)?);
        }
        self.shared.change(|known| *known = built);
        self.position = Some(position);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::followers::taken_in::tests::{STEPS, Writer};

    #[test]
    fn shapes_are_hidden_from_who_did_not_see_the_description() {
        let writer = Writer::new();
        let shared = Arc::new(SharedShapes::default());
        let mut follower = ShapesFollower::new(writer.store.clone(), shared.clone());
        let is_hidden = |grants: Option<&Grants>| shared.read().unseen_by(grants).next().is_some();
        for (visibility, text) in STEPS {
            let change = writer.put(visibility, text);
            // The shapes are those of before; who may see them is too.
            let was_private = text == "public again";
            assert_eq!((is_hidden(Some(&Grants::default())), is_hidden(None)), (was_private, false), "before {text}");
            follower.apply(&[change], &Stop::default()).unwrap();
            let is_private = text == "private";
            assert_eq!((is_hidden(Some(&Grants::default())), is_hidden(None)), (is_private, false), "after {text}");
            assert!(!is_hidden(Some(&writer.owner())), "its owner sees it");
        }
    }
}
