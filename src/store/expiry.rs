//! Expiry: what is due, and the grace after a restart.
//!
//! When a store is opened, every expiry that has a ttl is extended to that ttl from then on, so that
//! a registry that was down doesn't purge everybody who couldn't renew. Readers do that on the fly
//! until the committer, in small steps between writes, has written it into the tree.

use std::sync::atomic::{AtomicBool, Ordering};

use sled::IVec;

use super::{
    layout, value,
    view::{View, reading},
    write::Expiry,
};
use crate::{Result, change::Timestamp};

/// Whether the grace after the start is still to be reckoned with.
pub(super) struct Grace {
    opened: Timestamp,
    granted: AtomicBool,
}

impl Grace {
    /// The grace of a store that is being opened.
    pub fn new(tree: &sled::Tree, opened: Timestamp) -> Grace {
        let nothing_expires = tree.scan_prefix(layout::EXPIRIES).next().is_none();
        Grace { opened, granted: AtomicBool::new(nothing_expires) }
    }

    /// Says that the tree has it now.
    pub fn grant(&self) {
        self.granted.store(true, Ordering::Release);
    }

    /// Whether the tree has it.
    pub fn is_granted(&self) -> bool {
        self.granted.load(Ordering::Acquire)
    }

    /// What an expiry in the tree comes to.
    pub fn extend(&self, expiry: Expiry) -> Expiry {
        let (Some(ttl), Some(expires), false) = (expiry.ttl, expiry.expires, self.is_granted()) else { return expiry };
        Expiry { expires: Some(expires.max(self.opened.plus_seconds(ttl))), ..expiry }
    }
}

impl View {
    /// The durable expiry of a record.
    pub fn expiry(&self, id: &str) -> Result<Expiry> {
        let Some(bytes) = self.get(&layout::expiry_key(id))? else { return Ok(Expiry::default()) };
        value::decode_expiry(&bytes).map(|expiry| self.grace.extend(expiry))
    }

    /// See [`super::Store::expired`].
    pub fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        let exact = self.grace.is_granted();
        for (key, _) in self.due(now, if exact { limit } else { usize::MAX })? {
            if ids.len() == limit {
                break;
            }
            let id = layout::id_of_due_key(&key)?;
            if exact || self.expiry(id)?.is_due(now) {
                ids.push(id.to_owned());
            }
        }
        Ok(ids)
    }

    /// Records that have not expired.
    pub fn live_records(&self) -> Result<u64> {
        loop {
            let (generation, records) = (self.generation(), self.records());
            let expired = self.expired(Timestamp::now(), usize::MAX)?.len();
            // Else a purge may have been counted in one of the two.
            if generation == self.generation() {
                return Ok(records.saturating_sub(expired as u64));
            }
        }
    }

    fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<(IVec, IVec)>> {
        let mut left = limit;
        let (keys, _) = self.scan(layout::DUE, &layout::after_due(now), |_| {
            left = left.saturating_sub(1);
            left == 0
        })?;
        Ok(keys)
    }

    /// The next expiries in the order of ids, at most `limit`: id and key.
    pub fn expiries(&self, start: &IVec, limit: usize) -> Result<Vec<(String, IVec)>> {
        let range = self.tree.range(start.clone()..IVec::from(layout::AFTER_EXPIRIES));
        let id_of = |key: IVec| {
            let id = key.get(layout::EXPIRIES.len()..).unwrap_or_default();
            let id = std::str::from_utf8(id).map_err(|_| layout::corrupt())?.to_owned();
            Ok((id, key))
        };
        range.keys().take(limit).map(|key| id_of(key.map_err(reading)?)).collect()
    }
}
