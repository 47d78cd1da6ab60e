//! The limit on denials in the audit trail.

use std::sync::{Mutex, PoisonError};

use crate::change::Timestamp;

/// Maximum number of recorded denials per second, so that a flood of them can't fill the disk.
const LISTED_A_SECOND: u64 = 20;

/// Counts denials, second by second.
#[derive(Debug, Default)]
pub(super) struct Denials(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    began: i64,
    listed: u64,
    unlisted: u64,
}

impl Denials {
    /// Counts a denial. Returns `None` if the denial is omitted from the audit trail, and otherwise the number of
    /// denials omitted since the last recorded one.
    pub fn take(&self, now: Timestamp) -> Option<u64> {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0.saturating_sub(second.began) >= 1000 || now.0 < second.began {
            (second.began, second.listed) = (now.0, 0);
        }
        if second.listed >= LISTED_A_SECOND {
            second.unlisted += 1;
            return None;
        }
        second.listed += 1;
        Some(std::mem::take(&mut second.unlisted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_denials_is_counted() {
        let denials = Denials::default();
        let listed = (0..1000).filter(|_| denials.take(Timestamp(5000)).is_some()).count();
        assert_eq!(listed as u64, LISTED_A_SECOND);
        assert_eq!(denials.take(Timestamp(6000)), Some(1000 - LISTED_A_SECOND));
        assert_eq!(denials.take(Timestamp(6001)), Some(0));
        // A clock that was set back.
        assert_eq!(denials.take(Timestamp(0)), Some(0));
    }
}
