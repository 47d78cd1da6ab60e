//! Parts of the change log.

use serde::{Deserialize, Serialize};

use crate::{Change, Cursor, Epoch, Position, Seq};

/// A part of the change log: the answer of `GET /changes`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Changes {
    /// The life of the store; another one than before means that positions mean nothing any more.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub epoch: Epoch,
    /// The changes in ascending order. None is missing but those that the reader doesn't see; their positions may have
    /// gaps.
    pub changes: Vec<Change>,
    /// The position to go on from, where the answer ends among the changes of one position: many Things can come into
    /// sight at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub next: Option<Cursor>,
    /// The end of the log.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub last: Seq,
    /// The oldest change that the log still has; a position beyond `last` where it has none.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub oldest: Seq,
    /// True if changes after the asked position are gone, or it lies beyond the end: read the whole state again.
    pub truncated: bool,
}

impl Changes {
    /// The place to go on from: after the last change, or at the end of the log where there is none.
    pub fn cursor(&self) -> Cursor {
        let seq = self.changes.last().map_or(self.last, |change| change.seq);
        self.next.clone().unwrap_or_else(|| Position { epoch: self.epoch, seq }.into())
    }
}

/// The changes of one Thing: the answer of `GET /things/{id}/history`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct History {
    /// The life of the store.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub epoch: Epoch,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

impl History {
    /// The position of the last change, to go on from; none where there is none.
    pub fn position(&self) -> Option<Position> {
        self.changes.last().map(|change| Position { epoch: self.epoch, seq: change.seq })
    }
}
