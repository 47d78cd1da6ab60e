//! Trimming: the leader drops commits that no node needs any more.
//!
//! Each node writes `members/<name>` from time to time. Within a day, it can continue from its last commit. Commits
//! younger than an hour stay in any case, unless the log has become too large or etcd is full. No commit is dropped
//! before two of these nodes, or the only node, have synced it.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use agentdex_etcd::{Compare, Error, KeyRange, KeyValue, Op, Range, Txn};
use serde::{Deserialize, Serialize};

use super::{ask::ask, keys::trimmed_of, log::Log};
use crate::change::Timestamp;

/// Time for which the log is kept for a node that is away, in milliseconds.
const KEPT_FOR_MEMBERS: i64 = 24 * 3600 * 1000;

/// Maximum number of remembered ends of the log: those of a day.
const MAX_ENDS: usize = 24 * 120;

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
    fn note(&mut self, now: Instant, end: u64, bytes: u64) {
        self.samples.push_back((now, end, bytes));
        if self.samples.len() > MAX_ENDS {
            self.samples.pop_front();
        }
    }

    /// Forgets the ends of the log before its present beginning.
    fn forget(&mut self, dropped: u64) {
        while self.samples.get(1).is_some_and(|(_, end, _)| *end <= dropped) {
            self.samples.pop_front();
        }
    }

    /// Returns the last commit that is older than `kept_for`, if that is known.
    fn before(&self, now: Instant, kept_for: Duration) -> Option<u64> {
        let is_old = |(at, ..): &&(Instant, u64, u64)| now.duration_since(*at) >= kept_for;
        self.samples.iter().rev().find(is_old).map(|(_, end, _)| *end)
    }

    /// Returns the last commit without which the log has at most this number of bytes, if it has more now. Commits from
    /// before the start of this process don't count.
    fn without_excess(&self, most: u64) -> Option<u64> {
        let (_, _, all) = *self.samples.back()?;
        let is_small = |(_, _, before): &&(Instant, u64, u64)| all - before <= most;
        self.samples.front().filter(|oldest| !is_small(oldest))?;
        self.samples.iter().find(is_small).map(|(_, end, _)| *end)
    }
}

/// Returns the last commit that may be dropped. `end` is the last commit in the log, `old` the last commit that is old
/// enough. If the log is too large, it is small enough without the commits up to `large`.
fn last_to_drop(members: &[Member], end: u64, old: Option<u64>, large: Option<u64>) -> u64 {
    let mut synced: Vec<u64> = members.iter().map(|member| member.synced).collect();
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
            let (is_member, is_leader, end, bytes) = {
                let state = self.state();
                let is_member = state.nodes.is_present && state.broken.is_none();
                (is_member, state.nodes.is_leader, state.arrivals.next() - 1, state.bytes)
            };
            ends.note(Instant::now(), end, bytes);
            if !is_member {
                continue;
            }
            // If etcd is full, it takes no membership, but can be trimmed.
            let shown = self.show_membership().await;
            let trimmed = if is_leader { self.trim_once(&mut ends, end).await } else { Ok(()) };
            let done =
                [("publishing the membership of this node", shown), ("trimming the log of the cluster", trimmed)];
            for (doing, error) in done.into_iter().filter_map(|(doing, result)| Some((doing, result.err()?))) {
                if matches!(error, Error::Closed) {
                    return;
                }
                tracing::debug!(%error, "{doing} failed; retrying later");
            }
        }
    }

    async fn trim_once(&self, ends: &mut Ends, end: u64) -> Result<(), Error> {
        let members = self.members().await?;
        let trimmed = self.client.range(&Range::new(KeyRange::key(self.keys.trimmed()))).await?;
        let trimmed = trimmed.body.kvs.first().map(|kv| (kv.mod_revision, trimmed_of(&kv.value)));
        let (mut revision, mut dropped) = trimmed.unwrap_or((0, self.founded.from.saturating_sub(1)));
        ends.forget(dropped);
        let old = ends.before(Instant::now(), self.limits.kept_for);
        // If etcd is full, even young commits are dropped.
        let large = if self.state().is_full { Some(end) } else { ends.without_excess(self.limits.log_bytes) };
        let last = last_to_drop(&members, end, old, large);
        while dropped < last {
            let to = last.min(dropped + DROPPED_AT_ONCE);
            let drop = Txn::new().when([
                Compare::mod_revision(self.keys.meta()).equals(self.founded.revision),
                Compare::mod_revision(self.keys.trimmed()).equals(revision),
            ]);
            // From the beginning: a node that was stopped may have written parts late.
            let deletes = [
                Op::delete_range(KeyRange::between(self.keys.commit(0), self.keys.commit(to + 1))),
                Op::delete_range(KeyRange::between(self.keys.parts_of(0), self.keys.parts_of(to + 1))),
            ];
            let noted = drop.clone().then(deletes.clone()).then([Op::put(self.keys.trimmed(), to.to_string())]);
            let (answer, is_noted) = match ask(&self.client, &noted).await {
                // etcd takes nothing but deletions, so it can't note what is dropped.
                Err(Error::NoSpace { .. }) => (ask(&self.client, &drop.then(deletes)).await?, false),
                answer => (answer?, true),
            };
            if !answer.body.succeeded {
                // Another leader was faster.
                return Ok(());
            }
            tracing::debug!(to, "the log of the cluster was trimmed");
            dropped = to;
            if is_noted {
                revision = answer.header.revision;
            }
        }
        Ok(())
    }

    /// Reads the nodes that are running, or were running within a day.
    async fn members(&self) -> Result<Vec<Member>, Error> {
        let answer = self.client.range(&Range::new(self.keys.members())).await?;
        let state = self.state();
        let now = Timestamp::now();
        let member = |kv: &KeyValue| {
            let member: Member = serde_json::from_slice(&kv.value).ok()?;
            // The clocks of running nodes don't matter.
            let is_running = self.keys.member_name(&kv.key).is_some_and(|name| state.nodes.entries.contains_key(name));
            (is_running || now.0.saturating_sub(member.seen.0) < KEPT_FOR_MEMBERS).then_some(member)
        };
        Ok(answer.body.kvs.iter().filter_map(member).collect())
    }

    /// Publishes that this node exists, for the time when it isn't running.
    pub(super) async fn show_membership(&self) -> Result<(), Error> {
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
    fn ends_are_known_until_they_are_dropped() {
        let start = Instant::now();
        let (mut ends, minute) = (Ends::default(), Duration::from_secs(60));
        for (number, at) in (0..180).map(|minutes| (u64::from(minutes), start + minute * minutes)) {
            ends.note(at, 10 * number, 100 * number);
            let expected = (number >= 60).then(|| 10 * (number - 60));
            assert_eq!(ends.before(at, HOUR), expected, "after {number} minutes");
        }
        let without = |ends: &Ends| [20_000, 6_000, 1_000, 0].map(|most| ends.without_excess(most));
        assert_eq!(without(&ends), [None, Some(1_190), Some(1_690), Some(1_790)]);
        ends.forget(1_195);
        assert_eq!(without(&ends), [None, None, Some(1_690), Some(1_790)], "the rest is small enough");
        (180..10_000).for_each(|number| ends.note(start + minute * 180, 10 * number, 100 * number));
        assert_eq!(ends.samples.len(), MAX_ENDS);
    }

    #[test]
    fn nothing_is_dropped_that_a_node_needs() {
        let drop = |synced: &[u64], old, large| {
            let member = |synced: &u64| Member { synced: *synced, seen: Timestamp(0) };
            last_to_drop(&synced.iter().map(member).collect::<Vec<_>>(), 90, old, large)
        };
        assert_eq!(drop(&[], Some(80), Some(80)), 0, "nobody has said what it has");
        assert_eq!(drop(&[90], Some(80), None), 80, "a single node");
        assert_eq!(drop(&[70], Some(80), None), 69, "its last commit stays");
        assert_eq!(drop(&[90, 85, 40], Some(80), None), 39, "one is behind");
        assert_eq!(drop(&[90, 85], None, None), 0, "nothing is old");
        // It is too large: the one that is behind has to start with a copy, but two keep everything.
        assert_eq!(drop(&[90, 85, 40], Some(80), Some(82)), 82);
        assert_eq!(drop(&[90, 60, 40], Some(80), Some(82)), 59);
        assert_eq!(drop(&[90, 90], Some(90), Some(90)), 89, "the last commit stays");
    }
}
