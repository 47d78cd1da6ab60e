//! `EtcdLog`: the log of a cluster in etcd, which holds its tail.
//!
//! A commit is stored under a key with its number. An append is a transaction: it creates the key unless the key
//! exists, the previous commit is missing, or the log was replaced. An append without an answer is sent again until the
//! key exists; then the id and digest in its value tell whose commit it is.
//!
//! - `encoding`: commits as values; `keys`: names of the keys
//! - `founding`, `place`: finding the log of a store, or founding it; the last commit of a store in the log
//! - `log`: state that the tasks share; `ask`: requests that may be carried out twice
//! - `append`, `attempt`: appends; `follow`, `arrivals`: reading and watching; `waiting`: turns
//! - `presence`, `nodes`, `agreement`: the nodes, and their differences; `leading`: the leader; `clocks`: their clocks;
//!   `trimming`: dropping commits that no node needs

use std::{
    collections::BTreeSet,
    fmt, future,
    path::Path,
    sync::{Arc, Mutex, atomic::Ordering, mpsc},
};

use agentdex_etcd::{Client, message::LeaseRevokeRequest};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};
use uuid::Uuid;

use self::{
    arrivals::Arrivals,
    clocks::Clocks,
    founding::{Follower, Founding, NotOpened, unavailable},
    keys::Keys,
    log::{Currency, Log, SharedPositions, State},
    nodes::Nodes,
    options::NodeOptions,
};
use super::{
    Appended, Arrived, Away, Broken, CaughtUp, Commit, CommitLog, Delay, LastCommit, LogStatus, NewStore, OpenLog,
    OpenedLog, Progress, Wake, turn::Turn,
};
use crate::{change::Position, store::digests::Digests};

mod agreement;
mod append;
mod arrivals;
mod ask;
mod attempt;
mod clocks;
mod encoding;
mod follow;
mod founding;
mod keys;
mod leading;
mod log;
mod nodes;
pub(crate) mod options;
mod place;
mod presence;
#[cfg(test)]
mod tests;
mod trimming;
mod waiting;

/// Log of a cluster, stored in etcd.
pub(crate) struct EtcdLog {
    log: Arc<Log>,
    /// `None` once the log is closed.
    runtime: Option<Runtime>,
}

/// A node's access to the log of its cluster, which is opened together with the node's store.
#[derive(Debug)]
pub(crate) struct EtcdCluster(pub NodeOptions);

impl OpenLog for EtcdCluster {
    fn identity(&self, directory: &Path) -> crate::Result<Option<NewStore>> {
        let found = connect(&self.0).and_then(|(runtime, founding)| {
            let found = run(&runtime, founding.identity()).unwrap_or_else(|| Err(ended()));
            runtime.shutdown_background();
            found
        });
        found.map_err(|error| error.of(directory))
    }

    fn open(&self, store: &LastCommit<'_>) -> crate::Result<OpenedLog> {
        let opened = EtcdLog::open(&self.0, store).map_err(|error| error.of(store.directory))?;
        let stamp = opened.log.founded.place.encode();
        Ok(OpenedLog { log: Arc::new(opened), stamp: store.stamp.is_none().then_some(stamp) })
    }
}

impl NotOpened {
    fn of(self, directory: &Path) -> crate::Error {
        match self {
            NotOpened::Refused(reason) => crate::Error::ClusterRefused { path: directory.to_owned(), reason },
            NotOpened::Unavailable(reason) => crate::Error::ClusterUnavailable { reason },
        }
    }
}

fn ended() -> NotOpened {
    NotOpened::Unavailable("the connection to etcd was closed".into())
}

/// Creates a client, and the runtime in which it runs.
fn connect(options: &NodeOptions) -> Result<(Runtime, Founding), NotOpened> {
    let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("etcd").enable_all().build();
    let runtime = runtime.map_err(|error| NotOpened::Unavailable(format!("no thread can be started: {error}")))?;
    let connected = {
        let _context = runtime.enter();
        Client::connect(options.connection.clone())
    };
    let client = match connected {
        Ok(client) => client,
        Err(error) => {
            // The caller may be async code, which must not wait for the end of a runtime.
            runtime.shutdown_background();
            return Err(unavailable(&error));
        }
    };
    let NodeOptions { cluster, limits, is_first, .. } = options.clone();
    let keys = Keys::new(&cluster);
    Ok((runtime, Founding { client, keys, cluster, limits, is_first }))
}

impl EtcdLog {
    /// Opens the log for a store.
    fn open(options: &NodeOptions, store: &LastCommit<'_>) -> Result<EtcdLog, NotOpened> {
        let follower = Follower::of(store)?;
        let (runtime, founding) = connect(options)?;
        let Founding { client, keys, limits, .. } = founding.clone();
        let opened = run(&runtime, founding.open(follower)).unwrap_or_else(|| Err(ended()));
        let founded = match opened {
            Ok(founded) => founded,
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let (node, last) = (Uuid::new_v4().as_u128(), store.number);
        let state = State {
            arrivals: Arrivals::after(last),
            turn: Turn::new(node),
            waiting: BTreeSet::new(),
            is_waiting: false,
            lease: 0,
            nodes: Nodes::default(),
            positions: SharedPositions::default(),
            clocks: Clocks::new(options.name.clone(), limits.skew, clocks::now()),
            progress: Progress { number: last, synced: last },
            digests: None,
            currency: Currency::new(last),
            bytes: 0,
            attempt: None,
            seen: Some(founded.place.seen),
            broken: None,
            is_full: false,
            trouble: None,
            wake: None,
        };
        let NodeOptions { name, url, settings, .. } = options.clone();
        let (changed, room, asks, to_record, reported, reading, is_closing) = Default::default();
        let state = Mutex::new(state);
        let log = Arc::new(Log {
            client,
            keys,
            node,
            name,
            url,
            settings,
            since: last,
            founded,
            limits,
            state,
            changed,
            room,
            asks,
            to_record,
            reported,
            reading,
            is_closing,
        });
        runtime.spawn(log.clone().keep_present());
        runtime.spawn(log.clone().follow());
        runtime.spawn(log.clone().wait_for_turns());
        runtime.spawn(log.clone().trim());
        Ok(EtcdLog { log, runtime: Some(runtime) })
    }

    /// Runs a task of the log, and blocks until it is done. May be called on any thread.
    fn wait_for<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Option<T> {
        run(self.runtime.as_ref()?, task)
    }
}

/// Runs a task, and blocks until it is done. Returns `None` if the runtime ends first.
fn run<T: Send + 'static>(runtime: &Runtime, task: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime.spawn(async move { drop(sender.send(task.await)) });
    receiver.recv().ok()
}

impl fmt::Debug for EtcdLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EtcdLog")
    }
}

impl CommitLog for EtcdLog {
    fn append(&self, commit: &Arc<Commit>) -> Appended {
        let (log, commit) = (self.log.clone(), commit.clone());
        self.wait_for(async move { log.append(&commit).await }).unwrap_or(Appended::Unknown)
    }

    fn wait_for_turn(&self, number: u64) -> bool {
        self.log.wait_for_turn(number)
    }

    fn arrived(&self, number: u64, limit: usize) -> Result<Vec<Arrived>, Broken> {
        let mut state = self.log.state();
        let had_enough = state.arrivals.are_enough();
        let arrived = state.arrivals.after_commit(number, limit);
        if had_enough && !state.arrivals.are_enough() {
            self.log.room.notify_waiters();
        }
        match &state.broken {
            Some(broken) if arrived.is_empty() => Err(broken.clone()),
            _ => Ok(arrived),
        }
    }

    fn end(&self) -> Result<u64, Away> {
        let log = self.log.clone();
        self.wait_for(async move { log.end().await }).unwrap_or(Err(Away))
    }

    fn caught_up(&self) -> CaughtUp {
        let Some(runtime) = &self.runtime else { return Box::pin(future::ready(Err(Away))) };
        let (log, (sender, receiver)) = (self.log.clone(), oneshot::channel());
        runtime.spawn(async move {
            let _ = sender.send(log.caught_up().await);
        });
        Box::pin(async move { receiver.await.unwrap_or(Err(Away)) })
    }

    fn is_leader(&self) -> bool {
        let state = self.log.state();
        // After this time, another node may take over, or the expiries have to be extended.
        let limit = self.log.limits.lease.min(self.log.limits.grace_after);
        state.nodes.is_leader && state.nodes.alive_at.is_some_and(|at| clocks::elapsed(at) < limit)
    }

    fn owes_grace(&self) -> bool {
        let state = self.log.state();
        state.nodes.is_leader && state.nodes.owes_grace
    }

    fn note_grace(&self) {
        let mut state = self.log.state();
        (state.nodes.owes_grace, state.nodes.alive_at) = (false, Some(clocks::now()));
        drop(state);
        self.log.to_record.notify_one();
        self.log.notify();
    }

    fn wait_to_decide(&self) -> bool {
        self.log.wait_to_decide()
    }

    fn until_decidable(&self) -> CaughtUp {
        let Some(runtime) = &self.runtime else { return Box::pin(future::ready(Err(Away))) };
        let (log, (sender, receiver)) = (self.log.clone(), oneshot::channel());
        runtime.spawn(async move {
            let _ = sender.send(log.until_decidable().await);
        });
        Box::pin(async move { receiver.await.unwrap_or(Err(Away)) })
    }

    fn share_position(&self, follower: &str, position: Option<Position>) {
        let mut state = self.log.state();
        let shared = &mut state.positions;
        let before = match position {
            Some(position) => shared.by_name.insert(follower.to_owned(), position.to_string()),
            None => shared.by_name.remove(follower),
        };
        shared.are_changed = true;
        let is_new = before.is_some() != position.is_some();
        drop(state);
        // Progress is written from time to time.
        if is_new {
            self.log.to_record.notify_one();
        }
    }

    fn shared_position(&self, follower: &str) -> Option<Position> {
        self.log.state().positions.by_name.get(follower)?.parse().ok()
    }

    fn clock_error(&self) -> Option<i64> {
        let state = self.log.state();
        state.clocks.error(state.nodes.leader.as_deref(), clocks::now())
    }

    fn is_asked(&self) -> bool {
        let state = self.log.state();
        state.turn.is_own() && state.waiting.iter().any(|node| *node != self.log.node)
    }

    fn subscribe(&self, wake: Wake) {
        self.log.state().wake = Some(wake.into());
    }

    fn report(&self, progress: Progress) {
        let mut state = self.log.state();
        state.progress = progress;
        state.currency.note_installed(progress.number);
        drop(state);
        self.log.reported.notify_waiters();
    }

    fn report_digests(&self, digests: Digests) {
        let mut state = self.log.state();
        // Those of an earlier commit may take longer.
        if state.digests.as_ref().is_some_and(|last| last.number > digests.number) {
            return;
        }
        state.digests = Some(digests);
        drop(state);
        self.log.to_record.notify_one();
    }

    fn delay(&self) -> Option<Delay> {
        let behind_for = self.log.state().currency.current_at.elapsed();
        Some(Delay { behind_for, limit: self.log.limits.stale })
    }

    fn status(&self) -> Option<LogStatus> {
        let state = self.log.state();
        Some(LogStatus {
            cluster: self.log.founded.place.cluster.clone(),
            node: self.log.name.clone(),
            leader: state.nodes.leader.clone(),
            end: state.currency.end().0.max(state.arrivals.next() - 1),
            number: state.progress.number,
            behind_for: state.currency.current_at.elapsed(),
            broken: state.broken.clone().map(|Broken(reason)| reason),
            is_full: state.is_full,
            trouble: state.trouble.clone(),
            clock_error: state.clocks.error(state.nodes.leader.as_deref(), clocks::now()),
            nodes: state.nodes.states(),
            compared: state.nodes.comparison.number,
        })
    }

    fn hurry(&self) {
        self.log.is_closing.store(true, Ordering::Relaxed);
        self.log.notify();
    }

    fn close(&self) {
        let (client, lease) = (self.log.client.clone(), self.log.state().lease);
        // The keys of the node go at once, so that it can start again. Without an answer, they expire.
        self.wait_for(async move {
            if lease != 0 {
                let revoke = LeaseRevokeRequest { id: lease };
                drop(client.attempt(&client.endpoint(), &revoke).await);
            }
            client.close();
        });
    }
}

impl Drop for EtcdLog {
    fn drop(&mut self) {
        self.log.client.close();
        if let Some(runtime) = self.runtime.take() {
            // The last reference may be dropped in a task.
            runtime.shutdown_background();
        }
    }
}
