//! `Age`: the age of the oldest entries of a log, some of which may have been written while the clock was wrong.
//!
//! The age of an entry is based on the latest arrival time among the entries up to it, ignoring times in the future.

use crate::{Result, change::Timestamp};

/// Latest arrival time among the dropped entries of a log.
#[derive(Debug, Default)]
pub(super) struct Age {
    /// Latest arrival time that wasn't in the future. If the log begins with arrival times in the future, the first
    /// one after them that isn't, since the entries before it are even older.
    arrived: Option<Timestamp>,
    /// Entry up to which such an arrival time was searched for without success.
    searched_to: u64,
}

impl Age {
    /// Looks for an arrival time that isn't in the future among the next entries, unless such a time is already known.
    /// `entries_after` returns the numbers and arrival times.
    pub fn find<I>(&mut self, now: Timestamp, entries_after: impl FnOnce(u64) -> I) -> Result<()>
    where
        I: Iterator<Item = Result<(u64, Option<Timestamp>)>>,
    {
        if self.arrived.is_some_and(|arrived| arrived > now) {
            // The clock was ahead when it was taken.
            *self = Age::default();
        }
        if self.arrived.is_some() {
            return Ok(());
        }
        for entry in entries_after(self.searched_to) {
            let (number, arrival) = entry?;
            self.arrived = arrival.filter(|arrival| *arrival <= now);
            if self.arrived.is_some() {
                break;
            }
            self.searched_to = number;
        }
        Ok(())
    }

    /// Returns the arrival time on which the age of the next entry is based, or `None` if it is unknown.
    pub fn of_next(&self, arrival: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        self.arrived.max(arrival.filter(|arrival| *arrival <= now))
    }

    /// Records that the next entry, whose age was based on `arrived`, was dropped.
    pub fn drop_next(&mut self, arrived: Option<Timestamp>) {
        self.arrived = arrived;
    }
}
