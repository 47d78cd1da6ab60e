//! `LogReader`: a reader of the log that doesn't keep the store open.

use std::sync::Arc;

use tokio::sync::watch;

use super::{log::Part, logged::Logged, view::View};
use crate::{
    Result,
    change::{Epoch, Seq},
};

/// A reader of a store's log. Unlike a clone of the store, it doesn't keep the store open.
#[derive(Clone)]
pub struct LogReader(Arc<View>);

impl LogReader {
    pub(super) fn new(view: Arc<View>) -> LogReader {
        LogReader(view)
    }

    /// See [`super::Store::epoch`].
    pub fn epoch(&self) -> Epoch {
        self.0.epoch
    }

    /// See [`super::Store::durable`].
    pub fn durable(&self) -> watch::Receiver<Seq> {
        self.0.log.watch()
    }

    /// Returns the position before the oldest change in the log.
    pub fn start(&self) -> Seq {
        self.0.log.start().trimmed_to
    }

    /// Returns the number of changes up to a position, relative to the end of the log when it was opened. The number
    /// of changes between two positions is the difference of their ordinals. For older positions, this reads the
    /// disk.
    ///
    /// # Errors
    /// [`crate::Error::Store`], [`crate::Error::ShuttingDown`].
    pub fn ordinal(&self, position: Seq) -> Result<i64> {
        self.0.log.ordinal(position)
    }

    /// See [`super::Store::changes`].
    ///
    /// # Errors
    /// [`crate::Error::Store`], [`crate::Error::ShuttingDown`].
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Part> {
        self.0.log.changes(since, limit)
    }

    /// See [`super::Store::cached_changes`].
    pub fn cached_changes(&self, since: Seq, limit: usize) -> Option<Vec<Logged>> {
        self.0.log.cached(since, self.0.log.last(), limit)
    }
}
