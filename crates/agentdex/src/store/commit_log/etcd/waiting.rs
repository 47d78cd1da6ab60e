//! Turns: the node with the turn, and the nodes waiting for theirs.

use std::{
    mem,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use agentdex_etcd::{Error, Range};

use super::{
    super::Away,
    clocks,
    log::{Log, State},
    options::PAUSES,
};

/// Interval at which a waiting node repeats its request for a turn, since a request may be lost.
const REPEATED_AFTER: Duration = Duration::from_millis(200);

impl Log {
    /// See [`CommitLog::wait_for_turn`](super::super::CommitLog::wait_for_turn).
    pub(super) fn wait_for_turn(&self, number: u64) -> bool {
        let mut state = self.state();
        let started = Instant::now();
        let may_append = loop {
            if state.arrivals.next() > number + 1 || state.broken.is_some() {
                break false;
            }
            let now = Instant::now();
            // At the start, the key of an earlier process of this node may still be there.
            let absent = (!state.nodes.is_present).then(|| self.patience().saturating_sub(started.elapsed()));
            let left = match absent.filter(|left| !left.is_zero()) {
                Some(left) => left,
                None => match state.turn.wait(now) {
                    Some(left) => left,
                    None => break true,
                },
            };
            if state.nodes.is_present && !mem::replace(&mut state.is_waiting, true) {
                self.asks.notify_one();
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        };
        state.is_waiting = false;
        may_append
    }

    /// See [`CommitLog::wait_to_decide`](super::super::CommitLog::wait_to_decide).
    pub(super) fn wait_to_decide(&self) -> bool {
        let mut state = self.state();
        let started = Instant::now();
        loop {
            if self.may_decide(&state) || self.has_wrong_clock(&state) {
                return true;
            }
            let left = self.patience().saturating_sub(started.elapsed());
            let owes_grace = state.nodes.is_leader && state.nodes.owes_grace;
            if left.is_zero() || owes_grace || state.broken.is_some() {
                return false;
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// See [`CommitLog::until_decidable`](super::super::CommitLog::until_decidable).
    pub(super) async fn until_decidable(&self) -> Result<(), Away> {
        let started = Instant::now();
        loop {
            let is_decided = {
                let state = self.state();
                self.may_decide(&state) || self.has_wrong_clock(&state)
            };
            if is_decided {
                return Ok(());
            }
            if started.elapsed() >= self.patience() {
                return Err(Away);
            }
            tokio::time::sleep(PAUSES.0).await;
        }
    }

    /// True if all decisions are refused because of this node's clock, so that there is nothing to wait for.
    fn has_wrong_clock(&self, state: &State) -> bool {
        state.clocks.error(state.nodes.leader.as_deref(), clocks::now()).is_some()
    }

    /// Shows the other nodes that this node waits for its turn, by a key with the node's lease.
    pub(super) async fn wait_for_turns(self: Arc<Log>) {
        loop {
            self.asks.notified().await;
            while self.state().is_waiting {
                let lease = self.state().lease;
                if let Err(error) = self.client.put(self.keys.waiting(self.node), "", lease).await {
                    tracing::debug!(%error, "etcd doesn't accept this node's request to append commits");
                }
                tokio::time::sleep(REPEATED_AFTER).await;
            }
        }
    }

    /// Reads which nodes wait for a turn.
    pub(super) async fn read_waiting(&self) -> Result<(), Error> {
        let range = Range::new(self.keys.all_waiting()).keys_only();
        let answer = self.client.range(&range).await?;
        let waiting = answer.body.kvs.iter().filter_map(|kv| self.keys.waiting_node(&kv.key)).collect();
        self.state().waiting = waiting;
        self.notify();
        Ok(())
    }
}
