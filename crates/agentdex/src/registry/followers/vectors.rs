//! Follower for the vectors of Things, which are used by semantic searches.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    follower::{Durability, Follower, Inspected, changed},
    stop::Stop,
};
use crate::{
    Error, Result,
    change::Position,
    search::semantic::{Meaning, VectorWriter},
    store::{LoggedChange, Record, Store},
};

/// The time between two comparisons of the file with its checksums.
const INSPECT_EVERY: Duration = Duration::from_secs(600);

/// Keeps the vectors at the end of the log. They are shown as soon as they are made.
pub(in crate::registry) struct VectorFollower {
    path: PathBuf,
    store: Store,
    meaning: Arc<Meaning>,
    /// Writer, or `None` before it was opened and after a failure.
    writer: Option<VectorWriter>,
    inspected: Instant,
}

impl VectorFollower {
    pub(in crate::registry) fn new(path: PathBuf, store: Store, meaning: Arc<Meaning>) -> VectorFollower {
        VectorFollower { path, store, meaning, writer: None, inspected: Instant::now() }
    }

    fn writer(&mut self) -> Result<&mut VectorWriter> {
        self.writer.as_mut().ok_or(Error::Index { doing: "writing vectors", source: "their file isn't open".into() })
    }
}

impl Follower for VectorFollower {
    fn name(&self) -> &'static str {
        super::VECTORS
    }

    fn position(&mut self) -> Result<Option<Position>> {
        self.writer = None;
        let (writer, position) = VectorWriter::open(self.meaning.clone(), self.path.clone())?;
        self.writer = Some(writer);
        Ok(position)
    }

    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        let store = self.store.clone();
        for thing in changed(&store, changes, stop) {
            match thing? {
                (id, Some(record)) => self.writer()?.put(id, &record.text)?,
                (id, None) => self.writer()?.remove(id)?,
            }
        }
        Ok(())
    }

    fn commit(&mut self, position: Position, durability: Durability) -> Result<()> {
        self.writer()?.commit(position, durability != Durability::Process)
    }

    /// Damage is an error, after which the file is opened again: up to there it counts.
    fn inspect(&mut self) -> Result<Inspected> {
        if self.inspected.elapsed() < INSPECT_EVERY {
            return Ok(Inspected::Nothing);
        }
        self.inspected = Instant::now();
        if self.writer()?.is_whole()? {
            return Ok(Inspected::Nothing);
        }
        Err(Error::Index {
            doing: "inspecting the vectors",
            source: "their file is damaged, and is being rebuilt".into(),
        })
    }

    /// Rebuilds the vectors, keeping those of unchanged texts, so that an interrupted rebuild can continue.
    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        let writer = self.writer()?;
        writer.begin_rebuild()?;
        let mut ids = HashSet::new();
        for record in records {
            let record = record?;
            writer.put(&record.id, &record.text)?;
            ids.insert(record.id.into());
        }
        writer.retain(&ids)?;
        writer.commit(position, true)
    }
}
