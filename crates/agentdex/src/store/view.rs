//! `View`: the parts of a store that readers and commits share.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use uuid::Uuid;

use super::{
    audit::Audit,
    expiry::Expiries,
    layout,
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

/// The tree, and what goes with it in memory.
pub(super) struct View {
    pub tree: Arc<Tree>,
    pub epoch: Epoch,
    pub registry_id: Uuid,
    /// The store that it was restored from, if it was.
    pub origin: Option<Origin>,
    pub options: Options,
    pub log: Log,
    pub expiries: Expiries,
    pub restricted: Restricted,
    /// The ids of which not everybody saw everything.
    pub past: Past,
    pub namespaces: Namespaces,
    pub audit: Audit,
    pub local: Local,
    /// Former values that commits save for a backup.
    pub saving: Saving,
    /// Free disk space, checked before each commit.
    pub space: Space,
    /// True if no witness told what the store had come to when it was opened, though there should have been one.
    pub is_unwitnessed: bool,
    /// True if it was closed properly before it was opened.
    pub was_closed: bool,
    /// Why the store takes no writes.
    pub closed: OnceLock<String>,
    /// Number of records, including expired ones.
    pub records: AtomicU64,
}

impl View {
    /// Returns the number of records that have not expired. Where very many have just expired, some of them still
    /// count.
    pub fn live_records(&self) -> u64 {
        let all = || self.records.load(Ordering::Acquire);
        // Where reading fails, the records that were counted are the best answer there is.
        self.expiries
            .count(Timestamp::now(), all)
            .map_or_else(|_| all(), |(expired, all)| all - (expired as u64).min(all))
    }

    /// Makes a batch visible that has become durable. `moved` are the expiries that it added or removed.
    /// `restricted` are the Things that not everybody sees or saw.
    pub fn publish(&self, state: State, moved: Vec<(sled::IVec, bool)>, restricted: &[(String, Access)]) {
        self.restricted.publish_narrower(restricted);
        self.expiries.publish(moved, || self.tree.show(|| self.records.store(state.records, Ordering::Release)));
        self.restricted.publish_wider(restricted);
        self.log.publish(state.last);
    }

    /// The slot of the witness for a state of the store.
    pub fn slot(&self, state: &State) -> Slot {
        Slot::of(self.epoch, self.registry_id, state)
    }

    /// Takes no writes from now on.
    pub fn close(&self, reason: String) {
        tracing::error!(reason, "the store is closed to writes");
        // The first reason stays.
        let _ = self.closed.set(reason);
    }

    /// Fails if the store takes no writes.
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
