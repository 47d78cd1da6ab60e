//! `Presence`: when a reader of the log was connected, which decides what a deletion that it gets contains.

use super::visibility;
use crate::{access::Grants, change::Seq, store::Life};

/// Positions of the log at which a reader was present: the one that it resumes from, and all since it connected.
///
/// A reader that doesn't see the end of a life gets one deletion. That deletion has the capabilities of the Thing, and goes
/// to their topics, only if the reader was present while it saw the life. Otherwise it has the id alone: what was retracted
/// before somebody read it isn't shown to it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presence {
    resumed: Seq,
    connected: Seq,
}

impl Presence {
    /// A reader that was always connected. Used to redeliver messages that were sent before.
    pub const ALWAYS: Presence = Presence { resumed: Seq::ZERO, connected: Seq::ZERO };

    /// Creates the presence of a reader that resumes after `resumed` and connected when the log ended at `connected`.
    pub fn new(resumed: Seq, connected: Seq) -> Presence {
        Presence { resumed, connected }
    }

    /// Creates the presence of a single request that resumes after a position.
    pub fn at(resumed: Seq) -> Presence {
        Presence { resumed, connected: Seq(u64::MAX) }
    }

    /// True if the reader was present while it saw a life that left its sight at `left`. `log_start` is the position before
    /// the oldest entry of the log: nobody knows who saw what before that.
    pub(super) fn saw(self, life: &Life, grants: &Grants, left: Seq, log_start: Seq) -> bool {
        let is_known = self.resumed > Seq::ZERO && self.resumed >= log_start;
        left > self.connected || is_known && visibility::is_seen_at(life, grants, self.resumed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Visibility};

    fn life(accesses: &[(u64, Visibility)]) -> Life {
        let access = |visibility| Access { owner: Some("alice".parse().unwrap()), visibility, ..Access::default() };
        let accesses: Vec<_> = accesses.iter().map(|(seq, visibility)| (Seq(*seq), access(*visibility))).collect();
        Life { created: accesses.first().map(|(seq, _)| *seq), accesses, ended: None }
    }

    #[test]
    fn reader_saw_a_life_that_it_resumes_within_or_was_connected_in() {
        let retracted = life(&[(10, Visibility::Public), (20, Visibility::Private)]);
        let saw = |presence: Presence| presence.saw(&retracted, &Grants::default(), Seq(20), Seq::ZERO);
        for resumed in [10, 15, 19] {
            assert!(saw(Presence::at(Seq(resumed))), "{resumed}");
        }
        for resumed in [0, 9] {
            assert!(!saw(Presence::at(Seq(resumed))), "{resumed}");
            assert!(!saw(Presence::new(Seq(resumed), Seq(20))), "{resumed}: it connected when that was over");
            assert!(saw(Presence::new(Seq(resumed), Seq(19))), "{resumed}: it was connected");
        }
        assert!(saw(Presence::ALWAYS));
    }

    #[test]
    fn reader_from_before_the_log_saw_nothing() {
        let mut retracted = life(&[(0, Visibility::Public), (20, Visibility::Private)]);
        retracted.created = None;
        let saw = |resumed: u64| Presence::at(Seq(resumed)).saw(&retracted, &Grants::default(), Seq(20), Seq(12));
        assert_eq!([0, 5, 11, 12, 19].map(saw), [false, false, false, true, true]);
    }
}
