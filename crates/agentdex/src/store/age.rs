//! `Age`: the age of the oldest entries of a log, which may have arrived while the clock was wrong.
//!
//! An entry is as old as the latest arrival up to it that isn't in the future.

use crate::{Result, change::Timestamp};

/// The latest arrival among the entries of a log that were dropped.
#[derive(Debug, Default)]
pub(super) struct Age {
    /// The latest one that wasn't in the future; or else, where the log begins with arrivals in the future, the first one
    /// after them that isn't: what comes before it is older still.
    arrived: Option<Timestamp>,
    /// The entry up to which such an arrival was looked for and not found.
    searched_to: u64,
}

impl Age {
    /// Looks for an arrival that isn't in the future, if none is known yet, among some of the entries after one: their
    /// numbers and arrivals.
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

    /// Returns the arrival that the age of the next entry goes by; none if none is known.
    pub fn of_next(&self, arrival: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        self.arrived.max(arrival.filter(|arrival| *arrival <= now))
    }

    /// Notes that the entry was dropped whose age went by an arrival.
    pub fn drop_next(&mut self, arrived: Option<Timestamp>) {
        self.arrived = arrived;
    }
}
