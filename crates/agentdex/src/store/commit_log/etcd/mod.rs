//! `EtcdLog`: the log of a cluster in etcd, which holds its tail.
//!
//! A commit is stored under a key with its number. An append is a transaction: it creates the key unless the key
//! exists, the previous commit is missing, or the log was replaced. An append without an answer is sent again until the
//! key exists; then the id and digest in its value tell whose commit it is.
//!
//! - `encoding`: commits as values; `keys`: names of the keys; `founding`: the identity of a log
//! - `log`: state that the tasks share; `ask`: requests that may be carried out twice
//! - `append`, `attempt`: appends; `follow`, `arrivals`: reading and watching; `waiting`: turns
//! - `presence`, `nodes`: the nodes, and the election of a leader

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, mpsc},
};

use agentdex_etcd::{Client, Error, message::LeaseRevokeRequest};
use tokio::runtime::{Builder, Runtime};

use self::{
    arrivals::Arrivals,
    founding::Founding,
    keys::Keys,
    log::{Log, State},
    nodes::{NodeEntry, Nodes, Progress},
    options::{Identity, Limits},
};
use super::{Appended, Away, Broken, Commit, CommitLog, Wake, turn::Turn};
use crate::store::overlay::Pairs;

mod append;
mod arrivals;
mod ask;
mod attempt;
mod encoding;
mod follow;
mod founding;
mod keys;
mod log;
mod nodes;
mod options;
mod presence;
#[cfg(test)]
mod tests;
mod waiting;

/// Log of a cluster, stored in etcd.
pub(crate) struct EtcdLog {
    log: Arc<Log>,
    /// `None` once the log is closed.
    runtime: Option<Runtime>,
}

impl EtcdLog {
    /// Opens the log for a store whose last commit has this number.
    ///
    /// # Errors
    /// The operating system can't start a thread.
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

    /// Sets the progress of the store that is published to the other nodes.
    pub fn report(&self, progress: Progress) {
        self.log.state().progress = progress;
    }

    /// True while this node is the leader.
    pub fn is_leader(&self) -> bool {
        self.log.state().nodes.is_leader
    }

    /// Returns the nodes known to be present, by name.
    pub fn nodes(&self) -> BTreeMap<String, NodeEntry> {
        self.log.state().nodes.entries.clone()
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
