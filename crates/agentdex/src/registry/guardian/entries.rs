//! Subscriptions to the entries of the trail.

use std::sync::{Arc, Weak};

use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

use super::{Entry, state::Made};
use crate::{
    access::{Caller, Grants},
    registry::{Inner, Registry},
};

/// Subscription to new entries of the trail that are visible to the caller. Created by
/// [`Guardian::subscribe`](super::Guardian::subscribe).
pub struct Entries {
    receiver: Receiver<Arc<Made>>,
    /// Weak: who receives keeps no registry open.
    registry: Weak<Inner>,
    caller: Caller,
}

impl Entries {
    pub(super) fn new(receiver: Receiver<Arc<Made>>, registry: &Registry) -> Entries {
        Entries { receiver, registry: Arc::downgrade(&registry.0), caller: registry.caller().clone() }
    }

    /// Waits for the next entry. Cancel safe.
    ///
    /// # Errors
    /// [`RecvError::Lagged`] with the number of missed entries, including hidden entries; [`RecvError::Closed`] after
    /// the registry was closed.
    pub async fn recv(&mut self) -> Result<Arc<Entry>, RecvError> {
        loop {
            let made = self.receiver.recv().await?;
            if self.shows(&made) {
                return Ok(made.entry.clone());
            }
        }
    }

    /// Returns the next entry if it is already available.
    ///
    /// # Errors
    /// Same as [`Entries::recv`], and [`TryRecvError::Empty`].
    pub fn try_recv(&mut self) -> Result<Arc<Entry>, TryRecvError> {
        loop {
            let made = self.receiver.try_recv()?;
            if self.shows(&made) {
                return Ok(made.entry.clone());
            }
        }
    }

    /// True if the agent was visible to the caller, as known to the guardian. An entry about an unknown agent reveals
    /// only the reporter's own data.
    fn shows(&self, made: &Made) -> bool {
        let Some(access) = made.access.as_ref().filter(|access| !access.is_public()) else { return true };
        let Some(inner) = self.registry.upgrade() else { return false };
        let grants = Registry::of(inner).as_caller(self.caller.clone()).grants();
        grants.is_none_or(|grants: Arc<Grants>| grants.see(access))
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("caller", &self.caller).finish_non_exhaustive()
    }
}
