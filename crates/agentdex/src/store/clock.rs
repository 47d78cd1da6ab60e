//! `LogClock`: the time of the log, which never goes backward by itself. If it is ahead of the clock, it stops until
//! the clock has caught up or until it is reset by hand.

use std::sync::atomic::{AtomicI64, Ordering};

use super::{layout, value, view::View};
use crate::{
    Result,
    change::{Seq, Timestamp},
};

/// The time of the log.
#[derive(Debug)]
pub(super) struct LogClock(AtomicI64);

impl LogClock {
    /// Reads the time of the last entry, or a later reset.
    pub fn load(view: &View) -> Result<LogClock> {
        let set = view.tree.get(layout::CLOCK_KEY)?;
        let set = set.map(|bytes| value::decode_clock(&bytes)).transpose()?;
        let last = view.log.last();
        let at = match set {
            Some((after, at)) if after == last => at,
            _ => view.log.last_moment(),
        };
        Ok(LogClock(AtomicI64::new(at.0)))
    }

    /// Returns the time of the log.
    pub fn at(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }

    /// Advances the time of the log to the time of the clock, unless the log is ahead. Returns the time of the log.
    pub fn advance(&self, clock: Timestamp) -> Timestamp {
        Timestamp(self.0.fetch_max(clock.0, Ordering::AcqRel).max(clock.0))
    }

    /// Resets the time of the log. Call it when the value encoded by [`LogClock::set_after`] is durable.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.0, Ordering::Release);
    }

    /// Encodes a reset of the time after the last entry of a log.
    pub fn set_after(last: Seq, at: Timestamp) -> (sled::IVec, sled::IVec) {
        (layout::CLOCK_KEY.into(), value::encode_clock(last, at))
    }
}
