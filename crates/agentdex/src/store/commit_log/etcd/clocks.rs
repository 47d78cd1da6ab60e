//! Comparison of this node's clock with the clocks of the other nodes. A node with a wrong clock must not write: it would
//! move the time of the log ahead for all nodes, and agents would expire too early.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use crate::change::Timestamp;

/// Number of differences kept of each node. A message that is late makes a clock seem slow, so the greatest difference of
/// several is the right one.
const SAMPLES: usize = 3;

/// A moment by the clock, and by the monotonic clock of this process.
pub(super) type Moment = (Instant, Timestamp);

/// Returns by how many milliseconds the clock was set ahead between two moments.
fn jump((since, then): Moment, (instant, clock): Moment) -> i64 {
    let elapsed: i64 = instant.duration_since(since).as_millis().try_into().unwrap_or(i64::MAX);
    clock.0.saturating_sub(then.0).saturating_sub(elapsed)
}

/// Returns the present moment.
pub(super) fn now() -> Moment {
    (Instant::now(), Timestamp::now())
}

/// Returns the time since a moment. The monotonic clock stops while the machine is suspended, but the other clock doesn't.
pub(super) fn elapsed(since: Moment) -> Duration {
    let (instant, clock) = now();
    let by_clock = clock.0.saturating_sub(since.1.0).try_into().map_or(Duration::ZERO, Duration::from_millis);
    instant.duration_since(since.0).max(by_clock)
}

/// The clocks of the nodes, compared with the clock of this node.
#[derive(Debug)]
pub(super) struct Clocks {
    own: String,
    /// Most recent differences of the other nodes' clocks from the clock of this node, in milliseconds. They are
    /// positive if the other clock is ahead.
    differences: BTreeMap<String, VecDeque<i64>>,
    /// Delays of this node's own messages in milliseconds, as negative numbers, most recent first.
    own_differences: VecDeque<i64>,
    /// Last moment at which this node's clock agreed with the others.
    agreed: Moment,
    /// Last moment at which a difference was recorded.
    noted: Moment,
    limit: i64,
}

impl Clocks {
    /// Creates the value for a node whose clock may differ by `limit`.
    pub fn new(own: String, limit: Duration, now: Moment) -> Clocks {
        let limit = limit.as_millis().try_into().unwrap_or(i64::MAX);
        let (differences, own_differences) = Default::default();
        Clocks { own, differences, own_differences, agreed: now, noted: now, limit }
    }

    /// Records the clock of a node, as it was a moment ago.
    pub fn note(&mut self, node: &str, clock: Timestamp, leader: Option<&str>, now: Moment) {
        if self.is_far(jump(self.noted, now)) {
            // They were differences from another clock.
            self.differences.values_mut().for_each(VecDeque::clear);
            self.own_differences.clear();
        }
        self.noted = now;
        let samples = match node == self.own {
            true => &mut self.own_differences,
            false => self.differences.entry(node.to_owned()).or_default(),
        };
        samples.push_front(clock.0.saturating_sub(now.1.0));
        samples.truncate(SAMPLES);
        // After a jump, another clock has to confirm the own one, if there is another.
        let agrees = |node: &String| self.of(node).is_some_and(|difference| !self.is_far(difference));
        let is_confirmed = || self.differences.is_empty() || self.differences.keys().any(agrees);
        if !self.differs(leader) && (!self.is_far(jump(self.agreed, now)) || is_confirmed()) {
            self.agreed = now;
        }
    }

    /// Forgets the nodes that don't run any more.
    pub fn retain(&mut self, is_running: impl Fn(&str) -> bool) {
        self.differences.retain(|node, _| is_running(node));
    }

    /// Returns how far this node's clock is ahead of most other clocks in milliseconds, or behind (negative), if that is
    /// too far.
    pub fn error(&self, leader: Option<&str>, now: Moment) -> Option<i64> {
        let jump = jump(self.agreed, now);
        if self.is_far(jump) {
            return Some(jump);
        }
        let mut far = self.far();
        far.sort_unstable();
        self.differs(leader).then(|| far.get(far.len() / 2).map(|difference| difference.saturating_neg())).flatten()
    }

    /// True if this node's clock differs from those of more than half of all nodes. If it differs from half of them, the
    /// clock of the leader is right.
    fn differs(&self, leader: Option<&str>) -> bool {
        let (far, all) = (self.far().len(), self.differences.len() + 1);
        far * 2 > all || far * 2 == all && leader.and_then(|leader| self.of(leader)).is_some_and(|it| self.is_far(it))
    }

    /// Returns the differences that are too large.
    fn far(&self) -> Vec<i64> {
        self.differences.keys().filter_map(|node| self.of(node)).filter(|difference| self.is_far(*difference)).collect()
    }

    fn of(&self, node: &str) -> Option<i64> {
        // Messages of all nodes are equally late if etcd is slow.
        let delay = self.own_differences.iter().max().map_or(0, |difference| (*difference).min(0));
        self.differences.get(node)?.iter().max().map(|difference| difference.saturating_sub(delay))
    }

    /// True if this node's clock was compared with that of another node.
    pub fn are_compared(&self) -> bool {
        self.differences.values().any(|samples| !samples.is_empty())
    }

    fn is_far(&self, difference: i64) -> bool {
        difference.saturating_abs() > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clock of the other nodes, in seconds.
    struct Test {
        start: Instant,
        clocks: Clocks,
        leader: &'static str,
    }

    impl Test {
        fn new(leader: &'static str) -> Test {
            let start = Instant::now();
            let clocks = Clocks::new("a".into(), Duration::from_secs(5), (start, Timestamp(0)));
            Test { start, clocks, leader }
        }

        /// Returns the moment after some seconds, if the own clock is ahead by others.
        fn at(&self, seconds: i64, ahead: i64) -> Moment {
            let passed = Duration::from_secs(seconds.try_into().unwrap());
            (self.start + passed, Timestamp((seconds + ahead) * 1000))
        }

        /// Returns the error of the own clock in seconds, after all nodes have reported their clocks.
        fn error(&mut self, seconds: i64, ahead: i64, others: &[(&str, i64)]) -> Option<i64> {
            let now = self.at(seconds, ahead);
            self.clocks.note("a", now.1, Some(self.leader), now);
            for (node, other) in others {
                self.clocks.note(node, Timestamp((seconds + other) * 1000), Some(self.leader), now);
            }
            self.clocks.error(Some(self.leader), now).map(|error| error / 1000)
        }
    }

    #[test]
    fn clock_is_wrong_if_it_differs_from_most() {
        let mut three = Test::new("b");
        assert_eq!(three.error(5, 0, &[("b", 0), ("c", 0)]), None);
        assert_eq!(three.error(10, 0, &[("b", 3600), ("c", 0)]), None, "b is wrong, though it leads");
        assert_eq!(Test::new("b").error(5, 0, &[("b", 3600), ("c", 3600)]), Some(-3600));
        assert_eq!(Test::new("b").error(5, 0, &[("b", -60), ("c", -70)]), Some(60));
        assert_eq!(Test::new("b").error(5, 0, &[("b", 5), ("c", -5)]), None);
    }

    #[test]
    fn of_two_nodes_the_leader_is_right_unless_its_own_clock_has_jumped() {
        assert_eq!(Test::new("b").error(5, 0, &[("b", 3600)]), Some(-3600));
        let mut leader = Test::new("a");
        assert_eq!(leader.error(5, 0, &[("b", 3600)]), None);
        assert_eq!(leader.error(10, 0, &[("b", 0)]), None);
        for seconds in [15, 20, 25, 30, 35] {
            assert_eq!(leader.error(seconds, 3600, &[("b", 0)]), Some(3600), "it was set");
        }
        assert_eq!(leader.error(40, 0, &[("b", 0)]), None, "it was set back");
    }

    #[test]
    fn jump_counts_before_the_next_comparison() {
        let mut three = Test::new("b");
        assert_eq!(three.error(5, 0, &[("b", 0), ("c", 0)]), None);
        assert_eq!(three.clocks.error(Some("b"), three.at(7, 0)), None);
        assert_eq!(three.clocks.error(Some("b"), three.at(7, 60)), Some(60_000));
        assert_eq!(three.clocks.error(Some("b"), three.at(7, -60)), Some(-60_000));
        // The clock was wrong before, and has been corrected.
        assert_eq!(three.error(10, 60, &[("b", 60), ("c", 60)]), None);
    }

    #[test]
    fn node_that_is_alone_is_right() {
        let mut alone = Test::new("a");
        assert_eq!(alone.error(5, 0, &[]), None);
        assert_eq!(alone.error(10, 3600, &[]), None);
        // The other node has ended.
        assert_eq!(alone.error(15, 3600, &[("b", 0)]), None);
        alone.clocks.retain(|node| node == "a");
        assert_eq!(alone.error(20, 0, &[]), None);
    }

    #[test]
    fn messages_of_all_nodes_may_be_late() {
        let mut three = Test::new("b");
        assert_eq!(three.error(5, 0, &[("b", 0), ("c", 0)]), None);
        for seconds in [10, 15, 20, 25] {
            let now = three.at(seconds, 0);
            for node in ["a", "b", "c"] {
                three.clocks.note(node, Timestamp((seconds - 9) * 1000), Some("b"), now);
            }
            assert_eq!(three.clocks.error(Some("b"), now), None, "after {seconds} s");
        }
    }

    #[test]
    fn message_that_is_late_makes_no_difference() {
        let mut two = Test::new("b");
        assert_eq!(two.error(5, 0, &[("b", 0)]), None);
        assert_eq!(two.error(10, 0, &[("b", -9)]), None);
        assert_eq!(two.error(15, 0, &[("b", -9)]), None);
        assert_eq!(two.error(20, 0, &[("b", -9)]), Some(9), "it has always been so");
    }
}
