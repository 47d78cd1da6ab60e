//! A change as seen by readers of the log, with shared encoded forms.

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Serialize, Serializer};

use super::renditions::{Renditions, Slot};
use crate::change::Change;

/// A [`Change`] read from the log. While it is cached, all readers share it; the first reader that needs an encoded
/// form creates it for all.
#[derive(Debug, Clone)]
pub struct LoggedChange {
    change: Change,
    origin: ChangeOrigin,
    pub(super) renditions: Renditions,
}

/// Reason why a reader receives a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// The change is an entry of the log, unmodified.
    Entry,
    /// An update by which the Thing became visible or invisible to the reader.
    Update,
    /// A change of membership by which the Thing became visible or invisible to the reader. Contains the last
    /// description seen by the reader, if known.
    Membership(Option<Box<str>>),
    /// A deletion of a Thing that the reader never saw while connected. The deletion contains only the id.
    Unseen {
        /// True if the reader has left a namespace. A single log entry may then lead to many changes.
        by_membership: bool,
    },
}

impl LoggedChange {
    /// Creates a change that replaces a log entry for a reader.
    #[doc(hidden)]
    pub fn in_place_of(origin: ChangeOrigin, change: Change) -> LoggedChange {
        LoggedChange { change, origin, renditions: Renditions::default() }
    }

    /// Returns the reason why the reader receives the change.
    #[doc(hidden)]
    pub fn origin(&self) -> &ChangeOrigin {
        &self.origin
    }

    /// Returns the encoded form in a slot, rendering it if necessary.
    #[doc(hidden)]
    pub fn rendition<T: Send + Sync + 'static>(&self, slot: &Slot<T>, render: impl FnOnce() -> T) -> Arc<T> {
        self.renditions.get_or_render(slot, render)
    }

    /// Returns the encoded form in a slot if it was rendered before.
    #[cfg(test)]
    pub(super) fn find_rendition<T: Send + Sync + 'static>(&self, slot: &Slot<T>) -> Option<Arc<T>> {
        self.renditions.find(slot)
    }
}

impl From<Change> for LoggedChange {
    fn from(change: Change) -> LoggedChange {
        LoggedChange { change, origin: ChangeOrigin::Entry, renditions: Renditions::default() }
    }
}

impl From<LoggedChange> for Change {
    fn from(logged: LoggedChange) -> Change {
        logged.change
    }
}

impl Deref for LoggedChange {
    type Target = Change;

    fn deref(&self) -> &Change {
        &self.change
    }
}

impl fmt::Display for LoggedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.change.fmt(f)
    }
}

impl Serialize for LoggedChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.change.serialize(serializer)
    }
}
