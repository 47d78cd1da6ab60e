//! Reading the log: first by range requests up to the last commit, then by a watch, which only serves as a wake-up.
//! Numbers have no gaps, so a node knows which commits it lacks.

use std::{convert::Infallible, sync::Arc, time::Instant};

use agentdex_etcd::{
    Answer, Error, Event, KeyRange, KeyValue, Op, Range, ResponseHeader, Txn, Update, message::TxnResponse,
};
use data_encoding::HEXLOWER;

use super::{
    super::{Arrived, Away, Broken},
    ask::{Seen, ask},
    clocks,
    encoding::{Digest, Head, Unreadable},
    log::{Log, State},
    options::PAUSES,
    place::Place,
};

/// Number of commits read at a time.
const READ_AT_ONCE: u64 = 16;

/// Reason why the log isn't followed at present.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A request failed. It is retried.
    Etcd(Error),
    Broken(Broken),
    /// A commit was dropped while it was read.
    Moved,
    /// The watch has brought nothing for the duration of a lease.
    Silent,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Etcd(error)
    }
}

impl From<Broken> for Trouble {
    fn from(broken: Broken) -> Trouble {
        Trouble::Broken(broken)
    }
}

impl Log {
    /// Reads commits as they arrive, until the log is closed or can't be followed any more.
    pub(super) async fn follow(self: Arc<Log>) {
        let mut pause = PAUSES.0;
        loop {
            let next = self.state().arrivals.next();
            match self.follow_once().await {
                Err(Trouble::Broken(broken)) => return self.break_off(broken),
                Err(Trouble::Etcd(Error::Closed)) => return,
                Err(trouble) => {
                    tracing::debug!(?trouble, "the log of the cluster can't be followed; retrying");
                    if let Trouble::Etcd(error) = trouble {
                        self.state().trouble = Some(error.to_string());
                    }
                }
            }
            let has_progressed = self.state().arrivals.next() > next;
            pause = if has_progressed { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
            tokio::time::sleep(pause).await;
        }
    }

    async fn follow_once(&self) -> Result<Infallible, Trouble> {
        let revision = self.catch_up().await?;
        self.read_waiting().await?;
        self.read_nodes().await?;
        let endpoint = self.client.endpoint();
        let watch = self.client.watch(&endpoint, self.keys.all(), revision + 1).await;
        let mut watch = watch.inspect_err(|_| drop(self.client.move_on(&endpoint)))?;
        self.state().trouble = None;
        let mut last_update = Instant::now();
        loop {
            // A watch may lag behind, so the end is read from time to time whatever it tells.
            let known_for = self.state().currency.end().1.elapsed();
            let Ok(update) = tokio::time::timeout(self.limits.silence.saturating_sub(known_for), watch.next()).await
            else {
                self.catch_up().await?;
                // It brings at least the updates of this node's own key, unless its member doesn't get on.
                if last_update.elapsed() > self.limits.lease {
                    self.client.move_on(&endpoint);
                    return Err(Trouble::Silent);
                }
                continue;
            };
            last_update = Instant::now();
            if let Update::Events { events, .. } = update.inspect_err(|_| drop(self.client.move_on(&endpoint)))? {
                for event in events {
                    self.take(&event).await?;
                }
            }
        }
    }

    /// Processes an event of the watch.
    async fn take(&self, event: &Event) -> Result<(), Trouble> {
        let Some(kv) = &event.kv else { return Ok(()) };
        if let Some(node) = self.keys.waiting_node(&kv.key) {
            let mut state = self.state();
            let is_new = if event.is_delete() { state.waiting.remove(&node) } else { state.waiting.insert(node) };
            drop(state);
            if is_new && node != self.node {
                self.notify();
            }
            return Ok(());
        }
        if kv.key == self.keys.alive() {
            self.change_deciding(|state| state.nodes.note_life(kv, self.limits.grace_after));
            return Ok(());
        }
        if kv.key == self.keys.leader() {
            self.state().nodes.note_leader((!event.is_delete()).then_some(kv));
            if event.is_delete() {
                // This node may become the leader at once.
                self.to_record.notify_one();
            }
            return Ok(());
        }
        if let Some(name) = self.keys.node_name(&kv.key) {
            self.change_deciding(|state| {
                let State { nodes, clocks, .. } = state;
                if !nodes.entries.contains_key(&name) && name != self.name {
                    // So that the new node can compare its clock.
                    self.to_record.notify_one();
                }
                nodes.note(name.clone(), kv);
                nodes.compare();
                if let Some(entry) = nodes.entries.get(&name) {
                    clocks.note(&name, entry.clock, nodes.leader.as_deref(), clocks::now());
                }
                clocks.retain(|name| nodes.entries.contains_key(name));
            });
            return Ok(());
        }
        let Some(number) = self.keys.commit_number(&kv.key).filter(|_| !event.is_delete()) else { return Ok(()) };
        let (next, are_enough) = {
            let state = self.state();
            (state.arrivals.next(), state.arrivals.are_enough())
        };
        if number < next {
            return Ok(());
        }
        if number == next && !are_enough {
            let _reading = self.reading.lock().await;
            return self.arrive(number, kv).await;
        }
        self.catch_up().await.map(drop)
    }

    /// Changes the state, and wakes everyone who waits until this node may decide, if it may now.
    pub(super) fn change_deciding(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        let before = self.may_decide(&state);
        change(&mut state);
        let is_new = !before && self.may_decide(&state);
        drop(state);
        if is_new {
            self.notify();
        }
    }

    /// Reads all available commits, and waits whenever the store has enough commits to install. Returns the etcd
    /// revision up to which commits were read.
    async fn catch_up(&self) -> Result<i64, Trouble> {
        loop {
            if let Some(revision) = self.read().await? {
                return Ok(revision);
            }
            self.wait_for_room().await;
        }
    }

    /// Like [`Log::catch_up`], unless another task has read the end of the log since then.
    async fn catch_up_since(&self, since: Instant) -> Result<(), Trouble> {
        let reading = self.reading.lock().await;
        if self.state().currency.end().1 >= since || self.read_locked().await?.is_some() {
            return Ok(());
        }
        drop(reading);
        self.wait_for_room().await;
        Ok(())
    }

    /// Waits until the store has installed some of the commits that have arrived.
    async fn wait_for_room(&self) {
        let room = self.room.notified();
        if self.state().arrivals.are_enough() {
            room.await;
        }
    }

    /// Reads commits until the end of the log, and returns the etcd revision. Returns `None` once the store has enough
    /// commits to install.
    async fn read(&self) -> Result<Option<i64>, Trouble> {
        let _reading = self.reading.lock().await;
        self.read_locked().await
    }

    /// See [`Log::read`]. The caller must hold the lock `reading`.
    async fn read_locked(&self) -> Result<Option<i64>, Trouble> {
        loop {
            let (next, are_enough) = {
                let state = self.state();
                (state.arrivals.next(), state.arrivals.are_enough())
            };
            if are_enough {
                return Ok(None);
            }
            let end = next.saturating_add(READ_AT_ONCE);
            let commits = KeyRange::between(self.keys.commit(next), self.keys.commit(end));
            let txn = Txn::new().then([
                Op::range(Range::new(KeyRange::key(self.keys.meta())).keys_only()),
                Op::range(Range::new(KeyRange::key(self.keys.commit(next - 1))).keys_only()),
                Op::range(Range::new(commits)),
            ]);
            let sent = Instant::now();
            let answer = self.ask(&txn).await?;
            let of = |index| answer.body.range(index).map(|range| &range.kvs[..]).unwrap_or_default();
            self.check_founding(of(0))?;
            if of(1).is_empty() {
                return Err(Broken(self.trimmed(next - 1)).into());
            }
            for (number, kv) in (next..).zip(of(2)) {
                self.arrive(number, kv).await?;
            }
            if (of(2).len() as u64) < READ_AT_ONCE {
                let mut state = self.state();
                let (last, number) = (state.arrivals.next() - 1, state.progress.number);
                state.currency.note_end(last, sent, number);
                return Ok(Some(answer.header.revision));
            }
        }
    }

    /// Adds a commit that was read from etcd. The caller must hold the lock `reading`.
    async fn arrive(&self, number: u64, kv: &KeyValue) -> Result<(), Trouble> {
        let unreadable = |reason: Unreadable| Broken(format!("commit {number} can't be read: {reason}"));
        if self.keys.commit_number(&kv.key) != Some(number) {
            return Err(Broken(format!("commit {number} is missing in etcd, but later commits exist")).into());
        }
        let head = Head::read(&kv.value).map_err(unreadable)?;
        let parts = self.parts(number, &head).await?;
        let pairs = head.pairs(&parts).map_err(unreadable)?;
        let mut state = self.state();
        let seen = state.seen.unwrap_or(self.founded.place.seen);
        let stamp = Some(self.place(number, head.digest, seen).encode());
        if state.arrivals.add(number, Arrived { pairs, stamp }) {
            if let Some(attempt) = &mut state.attempt {
                attempt.note(number, &head);
            }
            state.note_turn(head.by, head.turn);
            state.bytes += kv.value.len() as u64 + parts.iter().map(|part| part.len() as u64).sum::<u64>();
            drop(state);
            self.notify();
        }
        Ok(())
    }

    /// Returns the place of a store after a commit.
    pub(super) fn place(&self, number: u64, digest: Digest, seen: Seen) -> Place {
        let (cluster, digest) = (self.founded.place.cluster.clone(), HEXLOWER.encode(&digest));
        Place { cluster, number, digest, seen }
    }

    /// Reads the additional values of a commit.
    async fn parts(&self, number: u64, head: &Head<'_>) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut parts = Vec::with_capacity(head.parts);
        for part in 0..head.parts {
            let txn = Txn::new().then([
                Op::range(Range::new(KeyRange::key(self.keys.commit(number))).keys_only()),
                Op::range(Range::new(KeyRange::key(self.keys.part(number, head.id, part)))),
            ]);
            let answer = self.ask(&txn).await?;
            let of = |index| answer.body.range(index).and_then(|range| range.kvs.first());
            match (of(0), of(1)) {
                (_, Some(kv)) => parts.push(kv.value.to_vec()),
                (Some(_), None) => {
                    let reason = format!("commit {number} can't be read: its part {part} is missing");
                    return Err(Broken(reason).into());
                }
                (None, None) => return Err(Trouble::Moved),
            }
        }
        Ok(parts)
    }

    /// See [`CommitLog::end`](super::super::CommitLog::end).
    pub(super) async fn end(&self) -> Result<u64, Away> {
        match self.read().await {
            Ok(_) => Ok(self.state().arrivals.next() - 1),
            Err(Trouble::Broken(broken)) => {
                self.break_off(broken);
                Err(Away)
            }
            Err(trouble) => {
                tracing::debug!(?trouble, "the end of the log can't be determined");
                Err(Away)
            }
        }
    }

    /// See [`CommitLog::caught_up`](super::super::CommitLog::caught_up).
    pub(super) async fn caught_up(&self) -> Result<(), Away> {
        let asked = Instant::now();
        let caught_up = async {
            let end = loop {
                let (end, at) = self.state().currency.end();
                if at >= asked {
                    break end;
                }
                self.catch_up_since(asked).await?;
            };
            loop {
                let reported = self.reported.notified();
                if self.state().progress.number >= end {
                    return Ok(());
                }
                reported.await;
            }
        };
        let caught_up: Result<(), Trouble> =
            tokio::time::timeout(self.limits.install_wait, caught_up).await.map_err(|_| Away)?;
        caught_up.map_err(|trouble| {
            tracing::debug!(?trouble, "the end of the log isn't known");
            Away
        })
    }

    fn check_founding(&self, meta: &[KeyValue]) -> Result<(), Broken> {
        let is_same = meta.first().is_some_and(|meta| meta.mod_revision == self.founded.revision);
        if is_same { Ok(()) } else { Err(Broken(self.replaced())) }
    }

    /// Returns the reason for no longer following a log that was replaced by another log.
    pub(super) fn replaced(&self) -> String {
        "the log of this cluster in etcd was replaced or removed after this node started".into()
    }

    /// Returns the reason for no longer following a log without the commits after `last`, the last commit of this
    /// store.
    pub(super) fn trimmed(&self, last: u64) -> String {
        format!(
            "the log in etcd no longer continues from commit {last}, the last commit of this node: the node was \
             offline for too long, or etcd was restored from an older copy"
        )
    }

    /// Sends a read-only transaction, and checks that etcd hasn't gone back in time.
    async fn ask(&self, txn: &Txn) -> Result<Answer<TxnResponse>, Trouble> {
        let known = self.state().seen;
        let answer = ask(&self.client, txn).await?;
        self.check_header(known, answer.header)?;
        Ok(answer)
    }

    /// Checks the header of a linearizable answer against the latest state that was known when the request was sent.
    pub(super) fn check_header(&self, known: Option<Seen>, header: ResponseHeader) -> Result<(), Broken> {
        let seen = Seen { cluster: header.cluster_id, revision: header.revision };
        if known.is_some_and(|known| known.cluster != seen.cluster || known.revision > seen.revision) {
            let reason = "etcd was restored from an older copy, or replaced by a different etcd: its revision is lower \
                than before, or its cluster id differs";
            return Err(Broken(reason.into()));
        }
        let mut state = self.state();
        if state.seen.is_none_or(|before| before.revision < seen.revision) {
            state.seen = Some(seen);
        }
        Ok(())
    }
}
