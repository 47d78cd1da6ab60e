//! A change as readers of the log get it: with the encoded forms that they share.

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Serialize, Serializer};

use super::renditions::{Renditions, Slot};
use crate::change::Change;

/// A [`Change`] read from the log. All readers get the same one while it is cached; the first that needs an encoded
/// form makes it for all.
#[derive(Debug, Clone)]
pub struct LoggedChange {
    change: Change,
    origin: ChangeOrigin,
    pub(super) renditions: Renditions,
}

/// The reason why a change is one for its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// It is the entry of the log as it is.
    Entry,
    /// An update, by which the Thing comes into the sight of the reader or leaves it.
    Update,
    /// The reader has become a member of a namespace, or no longer is; with the last description that it saw, where that
    /// is known.
    Membership(Option<Box<str>>),
    /// A deletion of a Thing that the reader never saw while it was connected: it gets the id alone.
    Unseen {
        /// True if the reader is no longer a member of a namespace: one entry of the log may be many such changes.
        by_membership: bool,
    },
}

impl LoggedChange {
    /// A change that a reader gets in place of an entry of the log.
    #[doc(hidden)]
    pub fn in_place_of(origin: ChangeOrigin, change: Change) -> LoggedChange {
        LoggedChange { change, origin, renditions: Renditions::default() }
    }

    /// The reason why it is a change for its reader.
    #[doc(hidden)]
    pub fn origin(&self) -> &ChangeOrigin {
        &self.origin
    }

    /// Returns the encoded form in a slot, which is rendered if nobody has done so before.
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
