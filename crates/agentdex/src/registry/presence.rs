//! `Presence`: the positions at which a reader of the log was connected, which determine the content of its
//! deletions.

use super::visibility;
use crate::{access::Grants, change::Seq, store::Life};

/// Log positions at which a reader was present: the position it resumes from, and all positions since it connected.
///
/// A reader receives a deletion when a Thing is removed or becomes invisible. If the reader was present while the Thing
/// was visible to it, the deletion contains the capabilities of the Thing, and is also sent to the MQTT topics of these
/// capabilities. Otherwise, the deletion contains only the id, since retracted content is never sent to a reader that
/// doesn't have it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presence {
    resumed: Seq,
    connected: Seq,
}

impl Presence {
    /// Presence of a reader that never disconnected. Used to redeliver messages.
    pub const ALWAYS: Presence = Presence { resumed: Seq::ZERO, connected: Seq::ZERO };

    /// Creates the presence of a reader that resumes after `resumed`, and connected when the log ended at
    /// `connected`.
    pub fn new(resumed: Seq, connected: Seq) -> Presence {
        Presence { resumed, connected }
    }

    /// Creates the presence of a request that resumes after a position and ends with its response.
    pub fn at(resumed: Seq) -> Presence {
        Presence { resumed, connected: Seq(u64::MAX) }
    }

    /// True if the reader was present while a life was visible to it that became invisible at `left`. `log_start` is
    /// the position before the oldest entry of the log; visibility before that is unknown.
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
