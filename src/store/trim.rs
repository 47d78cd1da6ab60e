//! Retention: the log is cut from its old end, by count and by age.

use sled::Batch;

use super::{
    layout,
    value::Entry,
    view::{View, reading},
};
use crate::{
    Error, Result,
    change::{Seq, Timestamp},
};

/// How many changes go at a time, so that writes don't wait long for it.
const STEP: usize = 256;

impl View {
    /// Drops some of what is beyond retention; true if there may be more. Runs on the committer. It
    /// isn't flushed: what a crash brings back is dropped again.
    pub fn trim_step(&self, now: Timestamp, last: Seq) -> Result<bool> {
        let retained_for = i64::try_from(self.options.retained_for.as_millis()).unwrap_or(i64::MAX);
        let too_old = Timestamp(now.0.saturating_sub(retained_for));
        let beyond_count = Seq(last.0.saturating_sub(self.options.retained_changes));
        let (mut batch, mut oldest, mut dropped) = (Batch::default(), self.oldest(), 0);
        for pair in self.tree.range(layout::log_key(Seq::ZERO)..layout::log_key(last.next())).take(STEP) {
            let (key, value) = pair.map_err(reading)?;
            let (seq, entry) = (layout::seq_of_key(&key)?, Entry::decode(&value)?);
            if seq > beyond_count && entry.at >= too_old {
                break;
            }
            batch.remove(layout::history_key(&entry.id, seq));
            batch.remove(key);
            (oldest, dropped) = (seq.next(), dropped + 1);
        }
        if dropped > 0 {
            // First, so that no reader takes the gap for the log.
            self.forget_before(oldest);
            self.tree
                .apply_batch(batch)
                .map_err(|source| Error::Store { doing: "trimming the log", source: source.into() })?;
        }
        Ok(dropped == STEP)
    }
}
