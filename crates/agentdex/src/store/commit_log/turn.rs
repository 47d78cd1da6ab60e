//! `Turn`: turns of the stores with a shared log. Without them, stores would often decide in vain. The content of the log
//! doesn't depend on them.
//!
//! A commit names the store with the next turn. A store keeps its turn while it has more to write, but for at most
//! [`KEPT_FOR`] if others wait. Out of turn, a store waits for a while after the last commit, and then appends anyway,
//! since the other store may be gone.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Maximum duration of a turn while others wait.
const KEPT_FOR: Duration = Duration::from_millis(25);

/// Pause of the other stores after a commit, if the store keeps its turn.
const SILENCE: Duration = Duration::from_millis(15);

/// Pause of the other stores after a commit, if it passes the turn on.
const SILENCE_AFTER_PASSING: Duration = Duration::from_millis(100);

/// Id of a store.
pub(super) type Node = u128;

/// The turn, as known to a store.
#[derive(Debug)]
pub(super) struct Turn {
    own: Node,
    /// Store with the turn, or `None` if any store may append.
    holder: Option<Node>,
    /// Time of the last commit, and true if it passed the turn on.
    last: Option<(Instant, bool)>,
    /// Start of this store's turn.
    since: Option<Instant>,
}

impl Turn {
    pub fn new(own: Node) -> Turn {
        Turn { own, holder: None, last: None, since: None }
    }

    /// Records a commit. `holder` is the store with the next turn.
    pub fn note(&mut self, by: Node, holder: Option<Node>, now: Instant) {
        self.last = Some((now, holder != Some(by)));
        self.holder = holder;
        self.since = if holder == Some(self.own) { self.since.or(Some(now)) } else { None };
    }

    /// Returns the remaining time before this store may append.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let is_others = self.holder.is_some_and(|holder| holder != self.own);
        let (last, is_passed) = self.last.filter(|_| is_others)?;
        let silence = if is_passed { SILENCE_AFTER_PASSING } else { SILENCE };
        silence.checked_sub(now.saturating_duration_since(last)).filter(|left| !left.is_zero())
    }

    /// Returns the store with the next turn, to be named by a commit of this store.
    pub fn next(&self, has_more: bool, waiting: &BTreeSet<Node>, now: Instant) -> Option<Node> {
        let is_due = self.since.is_some_and(|since| now.saturating_duration_since(since) >= KEPT_FOR);
        let after = waiting.range(self.own.saturating_add(1)..).chain(waiting.iter());
        let next = after.copied().find(|node| *node != self.own);
        if has_more && !(is_due && next.is_some()) { Some(self.own) } else { next }
    }

    /// True during this store's turn.
    pub fn is_own(&self) -> bool {
        self.holder == Some(self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_store_keeps_its_turn_for_a_while_and_passes_it_on_in_the_order_of_ids() {
        let start = Instant::now();
        let mut turn = Turn::new(2);
        let all = BTreeSet::from([1, 2, 3]);
        assert_eq!(turn.wait(start), None, "nobody has appended");
        assert_eq!(turn.next(true, &all, start), Some(2));
        turn.note(2, Some(2), start);
        assert_eq!(turn.next(true, &all, start + ms(24)), Some(2));
        turn.note(2, Some(2), start + ms(24));
        assert_eq!(turn.next(true, &all, start + ms(25)), Some(3));
        assert_eq!(
            turn.next(true, &BTreeSet::from([1]), start + ms(25)),
            Some(1),
            "after the last one comes the first"
        );
        assert_eq!(turn.next(true, &BTreeSet::new(), start + ms(99)), Some(2), "nobody waits");
        assert_eq!(turn.next(false, &all, start), Some(3));
        assert_eq!(turn.next(false, &BTreeSet::from([2]), start), None);
    }

    #[test]
    fn whose_turn_it_is_not_waits_until_there_is_silence() {
        let start = Instant::now();
        let mut turn = Turn::new(2);
        turn.note(1, Some(1), start);
        assert_eq!(turn.wait(start + ms(5)), Some(ms(10)));
        assert_eq!(turn.wait(start + ms(15)), None);
        turn.note(1, Some(3), start + ms(20));
        assert_eq!(turn.wait(start + ms(60)), Some(ms(60)));
        assert_eq!(turn.wait(start + ms(120)), None);
        turn.note(1, Some(2), start + ms(130));
        assert!(turn.is_own() && turn.wait(start + ms(130)).is_none());
        turn.note(2, None, start + ms(140));
        assert!(!turn.is_own() && turn.wait(start + ms(140)).is_none(), "anyone may append");
    }
}
