//! The audit trail: what authenticated callers have changed, written with the change, and what callers were denied.

use std::sync::atomic::{AtomicU64, Ordering};

use agentdex_api::{AuditEntry, Audited};
use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use sled::IVec;

use super::{
    layout,
    overlay::Overlay,
    tree::{Tree, reading},
    value::State,
};
use crate::{Error, Result, change::Timestamp};

/// How many entries are dropped at once.
const TRIMMED_AT_ONCE: usize = 1024;

/// The trail in the tree.
#[derive(Debug)]
pub(super) struct Audit {
    last: AtomicU64,
}

impl Audit {
    /// Finds its end.
    pub fn load(tree: &Tree) -> Result<Audit> {
        let last = tree.db()?.scan_prefix(layout::AUDIT).keys().next_back().transpose().map_err(reading)?;
        let last = last.map(|key| layout::seq_of_key(&key)).transpose()?.unwrap_or_default();
        Ok(Audit { last: AtomicU64::new(last.0) })
    }

    /// The number of the last durable entry.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Entries up to this one are durable.
    pub fn publish(&self, last: u64) {
        self.last.store(last, Ordering::Release);
    }

    /// At most `limit` entries after one.
    pub fn read(&self, tree: &Tree, after: u64, limit: usize) -> Result<Audited> {
        let (db, last) = (tree.db()?, self.last());
        let mut entries = Vec::new();
        for pair in
            db.range(layout::audit_key(after.saturating_add(1))..layout::audit_key(last.saturating_add(1))).take(limit)
        {
            let (_, value) = pair.map_err(reading)?;
            let entry = serde_json::from_slice(&value)
                .map_err(|source| Error::Store { doing: "reading the audit trail", source: source.into() })?;
            entries.push(entry);
        }
        Ok(Audited { entries, last })
    }

    /// Drops some of what is beyond retention; true if there may be more. No commit may run meanwhile.
    pub fn trim_step(&self, state: &mut State, tree: &Tree, too_old: Timestamp, retained: u64) -> Result<bool> {
        let (db, beyond) = (tree.db()?, self.last().saturating_sub(retained));
        let (mut overlay, mut dropped) = (Overlay::new(&db), 0);
        for pair in db.scan_prefix(layout::AUDIT).take(TRIMMED_AT_ONCE) {
            let (key, value) = pair.map_err(reading)?;
            let entry: AuditEntry = serde_json::from_slice(&value).unwrap_or_default();
            if entry.number > beyond && entry.at.is_some_and(|at| at >= too_old) {
                break;
            }
            overlay.set(key, None);
            dropped += 1;
        }
        if dropped > 0 {
            let sealed = overlay.seal(*state)?;
            db.apply_batch(sealed.batch)
                .map_err(|source| Error::Store { doing: "trimming the audit trail", source: source.into() })?;
            *state = sealed.state;
        }
        Ok(dropped == TRIMMED_AT_ONCE)
    }
}

/// Encodes an entry as it is stored.
pub(super) fn encode(entry: &AuditEntry) -> IVec {
    // A struct of texts and numbers is always JSON.
    serde_json::to_vec(entry).unwrap_or_default().into()
}

/// The SHA-256 of a text in hexadecimal digits.
pub(super) fn hash_of(text: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, text).as_ref())
}
