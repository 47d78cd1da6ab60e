//! The audit trail: what authenticated callers have changed, written with the change, and what callers were denied.

use std::sync::atomic::{AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sled::{Batch, IVec};

use super::{
    layout,
    tree::{Tree, reading},
};
use crate::{
    Error, Result,
    access::Owner,
    change::{Seq, Timestamp},
};

/// How many entries are dropped at once.
const TRIMMED_AT_ONCE: usize = 1024;

/// One entry of the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Its number: 1 for the first, ascending.
    #[serde(default)]
    pub number: u64,
    /// When it was done or denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// In whose name; absent where nobody had proved who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The API key that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The address of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What was done: the kind of the change, or `denied`, or the method of a request that changed something else.
    pub action: String,
    /// What it was done to: the id of a Thing, or the path of a request.
    pub target: String,
    /// The position of the change in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// The SHA-256 of the description before, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The SHA-256 of the description since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The HTTP status of what was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many more like it were denied since the entry before, which aren't listed one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<u64>,
}

/// Part of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number of the last entry that there is.
    pub last: u64,
}

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
    pub fn trim_step(&self, tree: &Tree, too_old: Timestamp, retained: u64) -> Result<bool> {
        let (db, beyond) = (tree.db()?, self.last().saturating_sub(retained));
        let (mut batch, mut dropped) = (Batch::default(), 0);
        for pair in db.scan_prefix(layout::AUDIT).take(TRIMMED_AT_ONCE) {
            let (key, value) = pair.map_err(reading)?;
            let entry: AuditEntry = serde_json::from_slice(&value).unwrap_or_default();
            if entry.number > beyond && entry.at.is_some_and(|at| at >= too_old) {
                break;
            }
            batch.remove(key);
            dropped += 1;
        }
        if dropped > 0 {
            db.apply_batch(batch)
                .map_err(|source| Error::Store { doing: "trimming the audit trail", source: source.into() })?;
        }
        Ok(dropped == TRIMMED_AT_ONCE)
    }
}

impl AuditEntry {
    pub(super) fn encode(&self) -> IVec {
        // A struct of texts and numbers is always JSON.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// The SHA-256 of a text in hexadecimal digits.
pub(super) fn hash_of(text: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}
