//! The leader carries out the periodic work for all nodes. This module contains its election, and its record for the next
//! leader.

use std::time::Instant;

use agentdex_etcd::{Compare, Error, KeyRange, Lease, Op, Range, Txn};

use super::{
    ask::ask,
    clocks,
    log::{Log, SharedPositions},
    nodes::{alive_at, is_recent},
};
use crate::change::Timestamp;

/// State of the leader's key and record, as found by another node.
#[derive(Debug)]
pub(super) struct LeaderState {
    /// Revisions of the last changes of the key and the record.
    revisions: [i64; 2],
    /// Time at which the node first found them so.
    since: Instant,
}

impl Log {
    /// True if the store of this node has kept up with the log, so that the node can work for the others.
    pub(super) fn can_be_leader(&self) -> bool {
        let state = self.state();
        let has_kept_up = state.broken.is_none() && state.currency.current_at.elapsed() < self.limits.lease;
        let is_alone = state.nodes.entries.keys().all(|name| *name == self.name);
        let is_compared = state.nodes.are_known && (is_alone || state.clocks.are_compared());
        has_kept_up && is_compared && state.clocks.error(state.nodes.leader.as_deref(), clocks::now()).is_none()
    }

    /// Records that the cluster can write, as its leader. If it couldn't for a while, agents couldn't renew their
    /// registrations, so this node first has to extend their expiries. `is_new` is true if this node has just become the
    /// leader.
    pub(super) async fn record_life(&self, is_new: bool) -> Result<(), Error> {
        if self.state().nodes.owes_grace {
            return Ok(());
        }
        let alive_at = if is_new { None } else { self.state().nodes.alive_at };
        let is_alive = match alive_at {
            Some(at) => clocks::elapsed(at) < self.limits.grace_after,
            None => self.take_over().await?,
        };
        if !is_alive {
            self.state().nodes.owes_grace = true;
            self.notify();
            return Ok(());
        }
        let sent = clocks::now();
        let mut record = vec![Op::put(self.keys.alive(), Timestamp::now().0.to_string())];
        record.extend(self.positions_to_record().map(|positions| Op::put(self.keys.positions(), positions)));
        if let Err(error) = ask(&self.client, &Txn::new().then(record)).await {
            self.state().positions.are_changed = true;
            return Err(error);
        }
        let is_new = self.state().nodes.alive_at.replace(sent).is_none();
        if is_new {
            // This node leads from now on.
            self.notify();
        }
        Ok(())
    }

    /// Reads the record of the former leader. Returns true if that leader was alive a moment ago.
    async fn take_over(&self) -> Result<bool, Error> {
        let read = [self.keys.alive(), self.keys.positions()].map(|key| Op::range(Range::new(KeyRange::key(key))));
        let found = ask(&self.client, &Txn::new().then(read)).await?;
        let value = |index| found.body.range(index).and_then(|range| Some(&range.kvs.first()?.value[..]));
        let by_name = value(1).and_then(|value| serde_json::from_slice(value).ok()).unwrap_or_default();
        self.state().positions = SharedPositions { by_name, are_changed: false };
        Ok(value(0).and_then(alive_at).is_some_and(|at| is_recent(at, self.limits.grace_after)))
    }

    /// Returns the positions of the leader's followers as JSON, if they have changed.
    fn positions_to_record(&self) -> Option<Vec<u8>> {
        let positions = &mut self.state().positions;
        std::mem::take(&mut positions.are_changed).then(|| serde_json::to_vec(&positions.by_name).unwrap_or_default())
    }

    /// Leaves the leadership to another node, if this node is the leader.
    pub(super) async fn resign(&self, lease: &Lease) -> Result<(), Error> {
        let leader = self.keys.leader();
        let found = self.client.range(&Range::new(KeyRange::key(leader.clone()))).await?;
        let Some(own) = found.body.kvs.first().filter(|found| found.lease == lease.id()) else { return Ok(()) };
        let resign = Txn::new()
            .when([Compare::mod_revision(leader.clone()).equals(own.mod_revision)])
            .then([Op::delete_range(KeyRange::key(leader))]);
        ask(&self.client, &resign).await?;
        Ok(())
    }

    /// Becomes the leader if there is no leader, or if the leader hasn't recorded anything for the duration of a lease: its
    /// own lease starts again whenever etcd gets another leader, even if the node has ended. `last` is what the last call has found.
    /// Returns true if this node is the leader.
    pub(super) async fn become_leader(&self, lease: &Lease, last: &mut Option<LeaderState>) -> Result<bool, Error> {
        let before = last.take();
        let [leader, alive] = [self.keys.leader(), self.keys.alive()];
        let put = || Op::put_with_lease(leader.clone(), self.name.clone(), lease.id());
        let look = [&leader, &alive].map(|key| Op::range(Range::new(KeyRange::key(key.clone())).keys_only()));
        let claim = Txn::new().when([Compare::create_revision(leader.clone()).equals(0)]).then([put()]).otherwise(look);
        let answer = ask(&self.client, &claim).await?;
        let found = |index| answer.body.range(index).and_then(|range| range.kvs.first());
        if answer.body.succeeded || found(0).is_some_and(|found| found.lease == lease.id()) {
            return Ok(true);
        }
        let revisions = [found(0), found(1)].map(|found| found.map_or(0, |found| found.mod_revision));
        let before = before.filter(|before| before.revisions == revisions);
        let since = before.map_or_else(Instant::now, |before| before.since);
        if since.elapsed() < self.limits.lease {
            *last = Some(LeaderState { revisions, since });
            return Ok(false);
        }
        let are_same = [(&leader, revisions[0]), (&alive, revisions[1])]
            .map(|(key, revision)| Compare::mod_revision(key.clone()).equals(revision));
        Ok(ask(&self.client, &Txn::new().when(are_same).then([put()])).await?.body.succeeded)
    }
}
