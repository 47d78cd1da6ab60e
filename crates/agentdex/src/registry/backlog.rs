//! Acknowledged writes that aren't indexed yet, by owner. If searches fall behind, the owner with the most such writes
//! is slowed down.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{access::Owner, change::Seq};

/// Lag of searches beyond which writers are slowed.
const LONGEST_LAG: Duration = Duration::from_secs(2);
/// Time within which writes of the same owner are counted together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Cost of a write beside its bytes.
const WRITE_BYTES: u64 = 1024;

/// Writes that aren't indexed yet.
#[derive(Default)]
pub(super) struct Backlog(Mutex<State>);

#[derive(Default)]
struct State {
    /// In the order of their last changes.
    runs: VecDeque<Run>,
    bytes: HashMap<Option<Owner>, u64>,
}

/// Writes of an owner.
struct Run {
    owner: Option<Owner>,
    since: Instant,
    last: Seq,
    bytes: u64,
}

impl Backlog {
    /// Adds acknowledged writes up to the change `last`. `indexed` is the last indexed change, or `None` while the
    /// index fails or is rebuilt.
    pub fn add(&self, owner: Option<&Owner>, bytes: usize, last: Seq, indexed: Option<Seq>, now: Instant) {
        let bytes = bytes as u64 + WRITE_BYTES;
        let mut state = self.state();
        // While the index fails or is rebuilt nobody is slowed.
        let Some(indexed) = indexed else {
            *state = State::default();
            return;
        };
        state.remove_indexed(indexed);
        let owner = owner.cloned();
        *state.bytes.entry(owner.clone()).or_default() += bytes;
        match state.runs.back_mut() {
            Some(run) if run.owner == owner && now.duration_since(run.since) < TOGETHER => {
                run.last = run.last.max(last);
                run.bytes += bytes;
            }
            _ => state.runs.push_back(Run { owner, since: now, last, bytes }),
        }
    }

    /// True if searches lag more than two seconds behind writes of several owners, most of them by `owner`.
    pub fn is_mostly_of(&self, owner: &Owner, indexed: Seq, now: Instant) -> bool {
        let mut state = self.state();
        state.remove_indexed(indexed);
        let is_long = state.runs.front().is_some_and(|oldest| now.duration_since(oldest.since) > LONGEST_LAG);
        let own = state.bytes.get(&Some(owner.clone())).copied().unwrap_or_default();
        is_long && state.bytes.len() > 1 && own > 0 && state.bytes.values().all(|bytes| *bytes <= own)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove_indexed(&mut self, indexed: Seq) {
        while let Some(run) = self.runs.pop_front_if(|run| run.last <= indexed) {
            let left = self.bytes.get_mut(&run.owner).map_or(0, |bytes| {
                *bytes -= run.bytes;
                *bytes
            });
            if left == 0 {
                self.bytes.remove(&run.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_of_most_bytes_holds_up_the_others() {
        let (eve, bob): (Owner, Owner) = ("eve".parse().unwrap(), "bob".parse().unwrap());
        let (backlog, start) = (Backlog::default(), Instant::now());
        let after = |millis| start + Duration::from_millis(millis);
        for number in 0..100 {
            backlog.add(Some(&eve), 1_000_000, Seq(number + 1), Some(Seq(0)), after(number));
        }
        let is_slowed = |owner: &Owner, indexed, millis| backlog.is_mostly_of(owner, Seq(indexed), after(millis));
        assert!(!is_slowed(&eve, 0, 60_000), "one owner alone never is");
        backlog.add(Some(&bob), 500, Seq(101), Some(Seq(0)), after(100));
        assert!(!is_slowed(&eve, 0, 2_000), "it doesn't take long");
        assert!(is_slowed(&eve, 0, 2_100) && !is_slowed(&bob, 0, 2_100));
        assert!(!is_slowed(&eve, 100, 60_000), "only what Bob wrote is left");
        assert!(!is_slowed(&bob, 100, 60_000) && !is_slowed(&bob, 101, 60_000));
        assert!(backlog.state().runs.is_empty() && backlog.state().bytes.is_empty());
    }
}
