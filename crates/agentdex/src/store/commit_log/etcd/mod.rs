//! `EtcdLog`: the log of a cluster in etcd, which holds its tail.
//!
//! A commit is a key with its number. An append is a transaction: it puts the key if it isn't there, its predecessor is, and
//! the log is still the same. An append without an answer is sent again until the key exists; then the id and digest in
//! its value tell whose commit it is.
//!
//! - `encoding`: commits as values; `keys`: names of the keys
//! - `append`: appends; `follow`: reading and watching; `arrivals`: commits that have arrived
//! - `waiting`: turns that nodes wait for; `presence`: which nodes run, and which of them leads
//! - `founding`: the identity of a log

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

use agentdex_etcd::{Client, Error, message::LeaseRevokeRequest};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
};

use self::{
    append::Attempt,
    arrivals::Arrivals,
    follow::Seen,
    founding::{Founded, Founding},
    keys::Keys,
    presence::{NodeEntry, Nodes, Progress},
};
use super::{
    Appended, Away, Broken, Commit, CommitLog, Wake,
    turn::{Node, Turn},
};
use crate::store::overlay::Pairs;

mod append;
mod arrivals;
mod encoding;
mod follow;
mod founding;
mod keys;
mod presence;
#[cfg(test)]
mod tests;
mod waiting;

/// Times and limits, which tests shorten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Time after which an append without an answer is [`Appended::Unknown`].
    pub append_wait: Duration,
    /// Time after which the end of the log is asked for if nothing arrives.
    pub silence: Duration,
    /// Time to live of the node's lease.
    pub lease: Duration,
    /// Interval at which a node tells the others how far it is.
    pub update: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits { append_wait: seconds(10), silence: seconds(5), lease: seconds(15), update: seconds(5) }
    }
}

/// Pause after a failed call, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The log of a cluster.
pub(crate) struct EtcdLog {
    log: Arc<Log>,
    /// `None` once the log is closed.
    runtime: Option<Runtime>,
}

/// Who a node is.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Number by which turns are passed on, drawn at each start.
    pub node: Node,
    /// Name, which is the same after a restart.
    pub name: String,
    /// URL of its REST API, for the other nodes.
    pub url: Option<String>,
}

/// What the tasks of a log share.
struct Log {
    client: Client,
    keys: Keys,
    node: Node,
    /// Name of the node, which is the same after a restart.
    name: String,
    /// URL of its REST API, for the other nodes.
    url: Option<String>,
    founded: Founded,
    limits: Limits,
    state: Mutex<State>,
    /// Commits have arrived, or a turn has changed.
    changed: Condvar,
    /// The store has installed some commits.
    room: Notify,
    /// A node waits for its turn: its key is to be put.
    asks: Notify,
    /// Held while commits are read.
    reading: tokio::sync::Mutex<()>,
}

struct State {
    arrivals: Arrivals,
    turn: Turn,
    /// Nodes waiting for their turn.
    waiting: BTreeSet<Node>,
    /// True while this node waits for its turn.
    is_waiting: bool,
    /// Lease of this node's keys, or 0.
    lease: i64,
    nodes: Nodes,
    progress: Progress,
    /// The last commit that was sent.
    attempt: Option<Attempt>,
    /// What the last linearizable answer has told of etcd.
    seen: Option<Seen>,
    /// Reason why the log can't be followed any more.
    broken: Option<Broken>,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl EtcdLog {
    /// Opens the log for a store whose last commit has this number.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn open(
        connect: impl FnOnce() -> Result<Client, Error>,
        cluster: &str,
        identity: Identity,
        founding: Founding,
        limits: Limits,
    ) -> Result<EtcdLog, Broken> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("etcd").enable_all().build();
        let runtime = runtime.map_err(|error| Broken(format!("no thread can be started: {error}")))?;
        let context = runtime.enter();
        let client = connect().map_err(|error| Broken(error.to_string()))?;
        drop(context);
        let (keys, last) = (Keys::new(cluster), founding.last);
        let (found, of_keys) = (client.clone(), keys.clone());
        let founded = run(&runtime, async move { founding.carry_out(&found, &of_keys).await })
            .unwrap_or_else(|| Err(Broken("the log was closed".into())))?;
        let state = State {
            arrivals: Arrivals::after(last),
            turn: Turn::new(identity.node),
            waiting: BTreeSet::new(),
            is_waiting: false,
            lease: 0,
            nodes: Nodes::default(),
            progress: Progress { number: last, synced: last },
            attempt: None,
            seen: None,
            broken: None,
            wake: None,
        };
        let Identity { node, name, url } = identity;
        let (changed, room, asks, reading) = Default::default();
        let state = Mutex::new(state);
        let log = Arc::new(Log { client, keys, node, name, url, founded, limits, state, changed, room, asks, reading });
        runtime.spawn(log.clone().keep_present());
        runtime.spawn(log.clone().follow());
        runtime.spawn(log.clone().wait_for_turns());
        Ok(EtcdLog { log, runtime: Some(runtime) })
    }

    /// Tells how far the store has come, for the other nodes.
    pub fn report(&self, progress: Progress) {
        self.log.state().progress = progress;
    }

    /// True while this node leads.
    pub fn leads(&self) -> bool {
        self.log.state().nodes.leads
    }

    /// The nodes that run, as far as this node knows, by name.
    pub fn nodes(&self) -> BTreeMap<String, NodeEntry> {
        self.log.state().nodes.entries.clone()
    }

    /// Waits for a task, which may be called on any thread.
    fn wait_for<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Option<T> {
        run(self.runtime.as_ref()?, task)
    }
}

/// Runs a task, and blocks until it is done. `None` if the runtime ends before.
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

impl Log {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everyone that something has arrived.
    fn notify(&self) {
        self.changed.notify_all();
        let wake = self.state().wake.clone();
        wake.iter().for_each(|wake| wake());
    }

    /// Ends the log for good.
    fn break_off(&self, broken: Broken) {
        tracing::error!(reason = %broken.0, "the log of the cluster can't be followed any more");
        self.state().broken.get_or_insert(broken);
        self.notify();
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

    fn arrived(&self, number: u64, limit: usize) -> Result<Vec<Pairs>, Broken> {
        let mut state = self.log.state();
        let had_enough = state.arrivals.are_enough();
        let arrived = state.arrivals.after_commit(number, limit);
        if had_enough && !state.arrivals.are_enough() {
            self.log.room.notify_one();
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

    fn is_asked(&self) -> bool {
        let state = self.log.state();
        state.turn.is_own() && state.waiting.iter().any(|node| *node != self.log.node)
    }

    fn subscribe(&self, wake: Wake) {
        self.log.state().wake = Some(wake.into());
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
