//! Parts of the change log.

use serde::{Deserialize, Serialize};

use crate::{Change, Cursor, Epoch, Position, Seq};

/// A part of the change log: the answer of `GET /changes`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Changes {
    /// The epoch of the store. If it has changed, earlier positions are no longer meaningful.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub epoch: Epoch,
    /// The changes in ascending order. Only changes that the reader can't see are omitted, so positions may have
    /// gaps.
    pub changes: Vec<Change>,
    /// The position from which to continue, if the answer contains only some of the changes at a position. There are
    /// many if many Things become visible at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub next: Option<Cursor>,
    /// The end of the log.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub last: Seq,
    /// The position of the oldest change in the log, or a position beyond `last` if the log is empty.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub oldest: Seq,
    /// True if changes after the requested position are no longer in the log, or if the position is beyond its end.
    /// Read the current state again.
    pub truncated: bool,
}

impl Changes {
    /// Returns the position from which to continue: after the last change, or at the end of the log if the part is
    /// empty.
    pub fn cursor(&self) -> Cursor {
        let seq = self.changes.last().map_or(self.last, |change| change.seq);
        self.next.clone().unwrap_or_else(|| Position { epoch: self.epoch, seq }.into())
    }
}

/// The changes of a Thing: the answer of `GET /things/{id}/history`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct History {
    /// The epoch of the store.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub epoch: Epoch,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

impl History {
    /// Returns the position of the last change, from which to continue, or `None` if there are no changes.
    pub fn position(&self) -> Option<Position> {
        self.changes.last().map(|change| Position { epoch: self.epoch, seq: change.seq })
    }
}
