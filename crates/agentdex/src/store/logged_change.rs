//! A change as readers of the log get it: with the encoded forms that they share.

use std::{ops::Deref, sync::Arc};

use serde::{Serialize, Serializer};

use super::renditions::{Renditions, Slot};
use crate::change::Change;

/// A [`Change`] read from the log. All readers get the same one while it is cached; the first that needs an encoded
/// form makes it for all.
#[derive(Debug, Clone)]
pub struct LoggedChange {
    change: Change,
    pub(super) renditions: Renditions,
}

impl LoggedChange {
    /// Returns the encoded form in a slot, which is rendered if nobody has done so before.
    #[doc(hidden)]
    pub fn rendition<T: Send + Sync + 'static>(&self, slot: &Slot<T>, render: impl FnOnce() -> T) -> Arc<T> {
        self.renditions.get_or_render(slot, render)
    }

    /// Returns the encoded form in a slot if it was rendered before.
    #[doc(hidden)]
    pub fn find_rendition<T: Send + Sync + 'static>(&self, slot: &Slot<T>) -> Option<Arc<T>> {
        self.renditions.find(slot)
    }
}

impl From<Change> for LoggedChange {
    fn from(change: Change) -> LoggedChange {
        LoggedChange { change, renditions: Renditions::default() }
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

impl Serialize for LoggedChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.change.serialize(serializer)
    }
}
