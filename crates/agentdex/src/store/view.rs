//! `View`: parts of a store shared by readers and commits.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use uuid::Uuid;

use super::{
    append_counters::AppendCounters,
    audit::Audit,
    expiry::Expiries,
    layout,
    listeners::Listeners,
    local::Local,
    log::{Creations, Log},
    namespaces::Namespaces,
    options::Options,
    past::Past,
    restricted::Restricted,
    saving::Saving,
    space::Space,
    tree::Tree,
    value::{Origin, State, StoredRecord},
    witness::Slot,
};
use crate::{
    Error, Result,
    access::Access,
    change::{Epoch, Seq, Timestamp},
};

/// Observer of the commits of a store, called with the pairs of a commit, or of a number of commits folded into one.
#[cfg(any(test, debug_assertions))]
pub(super) type Observer = Box<dyn Fn(&super::overlay::Pairs, u64) + Send + Sync>;

/// Tree with its in-memory state.
pub(super) struct View {
    pub tree: Arc<Tree>,
    pub epoch: Epoch,
    pub registry_id: Uuid,
    /// Origin of a restored store.
    pub origin: Option<Origin>,
    pub options: Options,
    pub log: Log,
    pub expiries: Expiries,
    pub restricted: Restricted,
    /// Past of restricted ids.
    pub past: Past,
    pub namespaces: Namespaces,
    pub audit: Audit,
    pub local: Local,
    /// Listeners to commits.
    pub listeners: Listeners,
    /// Values preserved for a backup.
    pub saving: Saving,
    /// Free disk space, checked before each commit.
    pub space: Space,
    /// Counters of the commits appended to the log shared with other stores, if any.
    pub appends: AppendCounters,
    /// True if the store was opened without a witness although a witness was expected.
    pub is_unwitnessed: bool,
    /// True if the store was properly closed before it was opened.
    pub was_closed: bool,
    /// Reason why the store accepts no writes.
    pub closed: OnceLock<String>,
    /// Number of records, including expired records.
    pub records: AtomicU64,
    /// Observers of the commits that are published, in order; for tests.
    #[cfg(any(test, debug_assertions))]
    pub observers: std::sync::RwLock<Vec<Observer>>,
    /// Fault of the next write of a commit, for tests.
    #[cfg(test)]
    pub write_fault: super::write_fault::WriteFault,
}

impl View {
    /// Returns the number of records that have not expired. When very many records have just expired, some of them
    /// are still counted.
    pub fn live_records(&self) -> u64 {
        let all = || self.records.load(Ordering::Acquire);
        // Where reading fails, the records that were counted are the best answer there is.
        self.expiries
            .count(Timestamp::now(), all)
            .map_or_else(|_| all(), |(expired, all)| all - (expired as u64).min(all))
    }

    /// Adds an observer of commits.
    #[cfg(any(test, debug_assertions))]
    pub fn observe(&self, observer: Observer) {
        super::tree::write(&self.observers).push(observer);
    }

    /// Notifies the observers of commits about to be published.
    #[cfg(any(test, debug_assertions))]
    pub fn notify_observers(&self, pairs: &super::overlay::Pairs, commits: u64) {
        super::tree::read(&self.observers).iter().for_each(|observe| observe(pairs, commits));
    }

    /// Makes a durable batch visible. `moved` lists the expiries added or removed. `restricted` lists the Things that
    /// are or were restricted.
    pub fn publish(&self, state: State, moved: Vec<(sled::IVec, bool)>, restricted: &[(String, Access)]) {
        self.restricted.publish_narrower(restricted);
        self.expiries.publish(moved, || self.tree.show(|| self.records.store(state.records, Ordering::Release)));
        self.restricted.publish_wider(restricted);
        self.log.publish(state.last);
    }

    /// Returns the slot of the witness for a state of the store.
    pub fn slot(&self, state: &State) -> Slot {
        Slot::of(self.epoch, self.registry_id, state)
    }

    /// Closes the store to writes.
    pub fn close(&self, reason: String) {
        tracing::error!(reason, "the store is closed to writes");
        // The first reason stays.
        let _ = self.closed.set(reason);
    }

    /// Fails if the store is closed to writes.
    pub fn check_open_to_writes(&self) -> Result<()> {
        match self.closed.get() {
            Some(reason) => Err(Error::WritesClosed { reason: reason.clone() }),
            None => Ok(()),
        }
    }
}

impl Creations for View {
    fn creation(&self, id: &str) -> Result<Option<Seq>> {
        let Some(bytes) = self.tree.get(&layout::record_key(id))? else { return Ok(None) };
        let record = StoredRecord::decode(&bytes)?;
        Ok(record.is_creation.then_some(record.seq))
    }
}
