//! Expiry: what is due, and the grace after a restart.

use sled::{Batch, IVec};

use super::{
    layout,
    view::{View, reading},
};
use crate::{Error, Result, change::Timestamp};

impl View {
    /// See [`super::Store::expired`].
    pub fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<String>> {
        let mut keys = self.due(now, limit)?;
        keys.truncate(limit);
        keys.iter().map(|(key, _)| layout::id_of_due_key(key).map(str::to_owned)).collect()
    }

    /// Records that have not expired.
    pub fn live_records(&self) -> Result<u64> {
        loop {
            let (generation, records) = (self.generation(), self.records());
            let expired = self.due(Timestamp::now(), usize::MAX)?.len();
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
}

/// Gives every expiry that has a ttl that ttl from `now` on, so that a registry that was down doesn't
/// purge everybody who couldn't renew. Not flushed: a crash repeats it.
pub(super) fn grant_grace(tree: &sled::Tree, now: Timestamp) -> Result<()> {
    const STEP: usize = 4096;
    let mut batch = Batch::default();
    let mut staged = 0;
    let apply = |batch| {
        tree.apply_batch(batch).map_err(|source| Error::Store { doing: "extending expiries", source: source.into() })
    };
    for pair in tree.scan_prefix(layout::EXPIRIES) {
        let (key, value) = pair.map_err(reading)?;
        let mut expiry = layout::decode_expiry(&value)?;
        let (Some(ttl), Some(moment)) = (expiry.ttl, expiry.expires) else { continue };
        let extended = now.plus_seconds(ttl);
        if extended <= moment {
            continue;
        }
        let id = key.get(layout::EXPIRIES.len()..).unwrap_or_default();
        let id = std::str::from_utf8(id).map_err(|_| layout::corrupt())?;
        expiry.expires = Some(extended);
        batch.remove(layout::due_key(moment, id));
        batch.insert(layout::due_key(extended, id), IVec::default());
        batch.insert(key.clone(), layout::encode_expiry(&expiry));
        staged += 1;
        if staged == STEP {
            apply(std::mem::take(&mut batch))?;
            staged = 0;
        }
    }
    if staged > 0 { apply(batch) } else { Ok(()) }
}
