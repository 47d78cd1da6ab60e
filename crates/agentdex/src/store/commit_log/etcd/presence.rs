//! Presence of this node in etcd, and the election of a leader. Both are keys with the node's lease.

use std::{sync::Arc, time::Instant};

use agentdex_etcd::{Compare, Error, KeyRange, Lease, LeaseState, Op, Range, Txn};

use super::{
    super::{Broken, Progress},
    ask::ask,
    log::{Log, State},
    nodes::{NodeEntry, Nodes},
    options::PAUSES,
};
use crate::change::Timestamp;

impl Log {
    /// Keeps the key of this node until the log is closed.
    pub(super) async fn keep_present(self: Arc<Log>) {
        let mut pause = PAUSES.0;
        loop {
            match self.be_present().await {
                Err(Absence::Copied) => {
                    let name = &self.name;
                    let reason =
                        format!("another process runs as the node {name:?}, perhaps on a copy of this directory");
                    return self.break_off(Broken(reason));
                }
                Err(Absence::Etcd(Error::Closed)) => return,
                Err(Absence::Etcd(error)) => {
                    tracing::debug!(%error, "the node isn't registered in etcd");
                    pause = (pause * 2).min(PAUSES.1);
                }
                // The lease was lost, though it was kept for a while.
                Ok(()) => pause = PAUSES.0,
            }
            self.change_nodes(|nodes| (nodes.is_present, nodes.is_leader, nodes.alive_at) = (false, false, None));
            tokio::time::sleep(pause).await;
        }
    }

    /// Obtains a lease, creates the key of this node, and updates the key regularly until the lease is lost.
    async fn be_present(&self) -> Result<(), Absence> {
        let lease = self.client.grant_lease(self.limits.lease).await?;
        let created = self.announce(&lease).await?;
        self.change_nodes(|nodes| nodes.is_present = true);
        self.state().lease = lease.id();
        if let Err(error) = self.show_membership().await {
            tracing::debug!(%error, "the node isn't listed as a member yet");
        }
        let (mut state, mut is_elected, mut last_leader) = (lease.state(), false, None);
        loop {
            // Without an answer, the leader is the same as before, as long as its lease is sure.
            is_elected = match self.can_be_leader() {
                true => self.become_leader(&lease, &mut last_leader).await.unwrap_or(is_elected),
                false => {
                    last_leader = None;
                    self.resign(&lease).await.map_or(is_elected, |()| false)
                }
            };
            let is_leader = is_elected && *state.borrow_and_update() == LeaseState::Held;
            let is_new = is_leader && !self.state().nodes.is_leader;
            self.change_nodes(|nodes| nodes.is_leader = is_leader);
            if is_leader {
                match self.record_life(is_new).await {
                    Err(Error::Closed) => return Err(Error::Closed.into()),
                    Err(error) => tracing::debug!(%error, "the leader can't write"),
                    Ok(()) => {}
                }
            } else {
                let nodes = &mut self.state().nodes;
                (nodes.owes_grace, nodes.alive_at) = (false, None);
            }
            tokio::select! {
                () = lease.lost() => return Ok(()),
                _ = state.changed() => continue,
                // The election comes first.
                () = self.to_record.notified() => if self.state().nodes.leader.is_none() { continue },
                () = tokio::time::sleep(self.limits.update) => {}
            }
            let update = Txn::new()
                .when([Compare::create_revision(self.own_key()).equals(created)])
                .then([Op::put_with_lease(self.own_key(), self.entry(), lease.id())]);
            match ask(&self.client, &update).await {
                // Somebody has deleted it.
                Ok(answer) if !answer.body.succeeded => return Ok(()),
                Err(Error::Closed) => return Err(Error::Closed.into()),
                Err(Error::NoSpace { .. }) => self.state().is_full = true,
                Err(_) => {}
                Ok(_) => self.state().is_full = false,
            }
        }
    }

    /// Creates the key of this node, after a key of an earlier process has expired. Returns the revision in which the
    /// key was created.
    async fn announce(&self, lease: &Lease) -> Result<i64, Absence> {
        let put = || Op::put_with_lease(self.own_key(), self.entry(), lease.id());
        let look = || Op::range(Range::new(KeyRange::key(self.own_key())));
        let (started, mut first_seen) = (Instant::now(), None);
        loop {
            let create =
                Txn::new().when([Compare::create_revision(self.own_key()).equals(0)]).then([put()]).otherwise([look()]);
            let answer = ask(&self.client, &create).await?;
            if answer.body.succeeded {
                return Ok(answer.header.revision);
            }
            let found = answer.body.range(0).and_then(|range| range.kvs.first());
            if let Some(found) = found {
                let entry = serde_json::from_slice(&found.value).ok();
                if entry.is_some_and(|entry: NodeEntry| entry.run == self.run()) {
                    // It is from an earlier lease, or from a request without an answer.
                    let unchanged = Compare::mod_revision(self.own_key()).equals(found.mod_revision);
                    let take = Txn::new().when([unchanged]).then([put()]);
                    if ask(&self.client, &take).await?.body.succeeded {
                        return Ok(found.create_revision);
                    }
                    continue;
                }
                // The key of a process that has ended stays for a while, but nobody writes it.
                let first = *first_seen.get_or_insert((found.create_revision, found.version));
                if first.0 != found.create_revision {
                    first_seen = None;
                } else if first.1 < found.version && started.elapsed() > self.limits.lease * 2 {
                    return Err(Absence::Copied);
                }
            }
            tokio::time::sleep(self.limits.update.min(self.limits.lease / 10)).await;
        }
    }

    fn own_key(&self) -> Vec<u8> {
        self.keys.node(&self.name)
    }

    /// Returns the value of this node's key.
    fn entry(&self) -> Vec<u8> {
        let (Progress { number, synced }, digests) = {
            let state = self.state();
            (state.progress, state.digests.clone())
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (run, url, settings) = (self.run(), self.url.clone(), self.settings.clone());
        let (since, clock) = (self.since, Timestamp::now());
        let entry = NodeEntry { run, url, version, number, synced, since, clock, settings, digests };
        serde_json::to_vec(&entry).unwrap_or_default()
    }

    fn run(&self) -> String {
        format!("{:032x}", self.node)
    }

    fn change_nodes(&self, change: impl FnOnce(&mut Nodes)) {
        let mut state = self.state();
        let before = (state.nodes.is_present, state.nodes.is_leader);
        change(&mut state.nodes);
        let is_changed = before != (state.nodes.is_present, state.nodes.is_leader);
        drop(state);
        if is_changed {
            self.notify();
        }
    }

    /// Reads the keys of all nodes.
    pub(super) async fn read_nodes(&self) -> Result<(), Error> {
        let leader = self.client.range(&Range::new(KeyRange::key(self.keys.leader()))).await?;
        let answer = self.client.range(&Range::new(self.keys.nodes())).await?;
        let alive = self.client.range(&Range::new(KeyRange::key(self.keys.alive()))).await?;
        let mut state = self.state();
        state.nodes.are_known = true;
        alive.body.kvs.iter().for_each(|kv| state.nodes.note_life(kv, self.limits.grace_after));
        state.nodes.note_leader(leader.body.kvs.first());
        state.nodes.entries.clear();
        for kv in &answer.body.kvs {
            self.keys.node_name(&kv.key).into_iter().for_each(|name| state.nodes.note(name, kv));
        }
        let State { nodes, clocks, .. } = &mut *state;
        nodes.compare();
        clocks.retain(|name| nodes.entries.contains_key(name));
        drop(state);
        self.notify();
        Ok(())
    }
}

/// Reason why the key of a node is missing.
#[derive(Debug)]
enum Absence {
    /// The key belongs to another process, which keeps it alive.
    Copied,
    Etcd(Error),
}

impl From<Error> for Absence {
    fn from(error: Error) -> Absence {
        Absence::Etcd(error)
    }
}
