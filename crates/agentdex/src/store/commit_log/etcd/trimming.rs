//! Trimming: the leader drops commits that no node needs any more.
//!
//! Each node writes `members/<name>` from time to time. Within a day, it can continue from its last commit. Commits younger than an hour stay in any case, unless the log has become too large. No commit is
//! dropped before two of these nodes, or the only node, have synced it.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use agentdex_etcd::{Compare, Error, KeyRange, Op, Range, Txn};
use serde::{Deserialize, Serialize};

use super::{ask::ask, keys::trimmed_of, log::Log};
use crate::change::Timestamp;

/// Time for which the log is kept for a node that is away, in milliseconds.
const KEPT_FOR_MEMBERS: i64 = 24 * 3600 * 1000;

/// Maximum number of commits dropped at a time.
const DROPPED_AT_ONCE: u64 = 10_000;

/// A node of the cluster, running or not, as it has last published itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Time at which the node was last running.
    pub seen: Timestamp,
    /// Number of the last commit that the node has synced to disk.
    pub synced: u64,
}

/// Ends of the log at earlier times, and the size of the log.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Time, number of the last commit, and bytes of all commits since the start of this process, oldest first.
    samples: VecDeque<(Instant, u64, u64)>,
}

impl Ends {
    fn note(&mut self, now: Instant, end: u64, bytes: u64, kept_for: Duration) {
        self.samples.push_back((now, end, bytes));
        // One sample that is old enough remains.
        while self.samples.get(1).is_some_and(|(at, ..)| now.duration_since(*at) >= kept_for) {
            self.samples.pop_front();
        }
    }

    /// Returns the last commit that is older than `kept_for`, if that is known.
    fn before(&self, now: Instant, kept_for: Duration) -> Option<u64> {
        let (at, end, _) = self.samples.front()?;
        (now.duration_since(*at) >= kept_for).then_some(*end)
    }

    /// Returns the last commit without which the log has at most this number of bytes, if it has more now.
    fn without_excess(&self, most: u64) -> Option<u64> {
        let (_, _, all) = *self.samples.back()?;
        let is_small = |(_, _, before): &&(Instant, u64, u64)| all - before <= most;
        self.samples.front().filter(|oldest| !is_small(oldest))?;
        self.samples.iter().find(is_small).map(|(_, end, _)| *end)
    }
}

/// Returns the last commit that may be dropped. `end` is the last commit in the log, `old` the last commit that is old
/// enough. If the log is too large, it is small enough without the commits up to `large`.
fn last_to_drop(members: &[Member], now: Timestamp, end: u64, old: Option<u64>, large: Option<u64>) -> u64 {
    let recent = members.iter().filter(|member| now.0.saturating_sub(member.seen.0) < KEPT_FOR_MEMBERS);
    let mut synced: Vec<u64> = recent.map(|member| member.synced).collect();
    synced.sort_unstable_by(|one, other| other.cmp(one));
    let Some(&needed) = synced.last() else { return 0 };
    // Synced by two nodes, or the only one.
    let safe = synced.get(1).copied().unwrap_or(needed);
    // Each node verifies its last commit when it starts again.
    let by_age = old.unwrap_or(0).min(needed.saturating_sub(1));
    by_age.max(large.unwrap_or(0)).min(safe.saturating_sub(1)).min(end.saturating_sub(1))
}

impl Log {
    /// Shows that this node exists, and trims the log while it leads, from time to time until the log is closed.
    pub(super) async fn trim(self: Arc<Log>) {
        let mut ends = Ends::default();
        loop {
            tokio::time::sleep(self.limits.trim).await;
            let (is_present, is_leader, end, bytes) = {
                let state = self.state();
                (state.nodes.is_present, state.nodes.is_leader, state.arrivals.next() - 1, state.bytes)
            };
            ends.note(Instant::now(), end, bytes, self.limits.kept_for);
            if !is_present {
                continue;
            }
            match self.work_as_member(is_leader, &ends, end).await {
                Err(Error::Closed) => return,
                Err(error) => tracing::debug!(%error, "the log of the cluster can't be trimmed now"),
                Ok(()) => {}
            }
        }
    }

    async fn work_as_member(&self, is_leader: bool, ends: &Ends, end: u64) -> Result<(), Error> {
        self.show_membership().await?;
        if is_leader { self.trim_once(ends, end).await } else { Ok(()) }
    }

    async fn trim_once(&self, ends: &Ends, end: u64) -> Result<(), Error> {
        let members = self.client.range(&Range::new(self.keys.members())).await?;
        let members: Vec<Member> =
            members.body.kvs.iter().filter_map(|kv| serde_json::from_slice(&kv.value).ok()).collect();
        let old = ends.before(Instant::now(), self.limits.kept_for);
        let large = ends.without_excess(self.limits.log_bytes);
        let last = last_to_drop(&members, Timestamp::now(), end, old, large);
        loop {
            let trimmed = self.client.range(&Range::new(KeyRange::key(self.keys.trimmed()))).await?;
            let trimmed = trimmed.body.kvs.first().map(|kv| (kv.mod_revision, trimmed_of(&kv.value)));
            let (revision, dropped) = trimmed.unwrap_or((0, self.founded.from.saturating_sub(1)));
            if last <= dropped {
                return Ok(());
            }
            let to = last.min(dropped + DROPPED_AT_ONCE);
            let drop = Txn::new()
                .when([
                    Compare::mod_revision(self.keys.meta()).equals(self.founded.revision),
                    Compare::mod_revision(self.keys.trimmed()).equals(revision),
                ])
                .then([
                    // From the beginning: a node that was stopped may have written parts late.
                    Op::delete_range(KeyRange::between(self.keys.commit(0), self.keys.commit(to + 1))),
                    Op::delete_range(KeyRange::between(self.keys.parts_of(0), self.keys.parts_of(to + 1))),
                    Op::put(self.keys.trimmed(), to.to_string()),
                ]);
            if !ask(&self.client, &drop).await?.body.succeeded {
                // Another leader was faster.
                return Ok(());
            }
            tracing::debug!(to, "the log of the cluster was trimmed");
        }
    }

    /// Publishes that this node exists, for the time when it isn't running.
    async fn show_membership(&self) -> Result<(), Error> {
        let member = Member { seen: Timestamp::now(), synced: self.state().progress.synced };
        let value = serde_json::to_vec(&member).unwrap_or_default();
        self.client.put(self.keys.member(&self.name), value, 0).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn ends_are_known_for_as_long_as_the_log_is_kept() {
        let start = Instant::now();
        let (mut ends, minute) = (Ends::default(), Duration::from_secs(60));
        for (number, at) in (0..180).map(|minutes| (u64::from(minutes), start + minute * minutes)) {
            ends.note(at, 10 * number, 100 * number, HOUR);
            let expected = (number >= 60).then(|| 10 * (number - 60));
            assert_eq!(ends.before(at, HOUR), expected, "after {number} minutes");
        }
        assert_eq!(ends.samples.len(), 61);
        let without = |most| ends.without_excess(most);
        assert_eq!((without(6_000), without(1_000), without(0)), (None, Some(1_690), Some(1_790)));
    }

    #[test]
    fn nothing_is_dropped_that_a_node_needs() {
        let now = Timestamp(100 * KEPT_FOR_MEMBERS);
        let member = |synced, ago| Member { synced, seen: Timestamp(now.0 - ago) };
        let drop = |members: &[Member], old, large| last_to_drop(members, now, 90, old, large);
        assert_eq!(drop(&[], Some(80), Some(80)), 0, "nobody has said what it has");
        assert_eq!(drop(&[member(90, 0)], Some(80), None), 80, "a single node");
        assert_eq!(drop(&[member(70, 0)], Some(80), None), 69, "its last commit stays");
        assert_eq!(drop(&[member(90, 0), member(85, 0), member(40, 5)], Some(80), None), 39, "one is behind");
        assert_eq!(drop(&[member(90, 0), member(85, 0), member(40, KEPT_FOR_MEMBERS)], Some(80), None), 80);
        assert_eq!(drop(&[member(90, 0), member(85, 0)], None, None), 0, "nothing is old");
        // It is too large: the one that is behind has to start with a copy, but two keep everything.
        assert_eq!(drop(&[member(90, 0), member(85, 0), member(40, 5)], Some(80), Some(82)), 82);
        assert_eq!(drop(&[member(90, 0), member(60, 0), member(40, 5)], Some(80), Some(82)), 59);
        assert_eq!(drop(&[member(90, 0), member(90, 0)], Some(90), Some(90)), 89, "the last commit stays");
    }
}
