//! Nodes of a cluster, as they publish themselves.

use std::{collections::BTreeMap, time::Duration};

use agentdex_etcd::KeyValue;
use serde::{Deserialize, Serialize};

use super::{
    super::{NodeComparison, NodeState, Progress},
    agreement::{Values, Wrong, wrong},
    clocks::{self, Moment},
};
use crate::{change::Timestamp, store::digests::Digests};

/// State of a node, as the node publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeEntry {
    /// Random identifier of the node's current run, generated at startup.
    pub run: String,
    /// URL of the node's REST API, if it serves clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Number of the last commit in the store.
    pub number: u64,
    /// Number of the last commit synced to disk.
    pub synced: u64,
    /// Number of the last commit when the process was started.
    #[serde(default)]
    pub since: u64,
    /// Clock of the node at the time of this update.
    pub clock: Timestamp,
    /// Digests of settings that should be the same on all nodes, by name.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub settings: Values,
    /// Last digests of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<Digests>,
}

/// Nodes that are present in etcd.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Entries by the name of the node.
    pub entries: BTreeMap<String, NodeEntry>,
    /// True while this node's key exists. Without it, the node appends nothing.
    pub is_present: bool,
    /// True while this node is the leader.
    pub is_leader: bool,
    /// Time of this node's last record in etcd, as the leader: the cluster can write.
    pub alive_at: Option<Moment>,
    /// Time of the last such record by any leader, as far as this node knows.
    pub alive_seen: Option<Moment>,
    /// True once the entries were read.
    pub are_known: bool,
    /// True if no node could write for a while, so that this node, as the leader, has to extend the expiries of all agents.
    pub owes_grace: bool,
    /// Name of the leader.
    pub leader: Option<String>,
    /// Last comparison of all nodes.
    pub comparison: Comparison,
}

/// Result of a comparison of all nodes.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Number of the commit after which the digests were computed.
    pub number: Option<u64>,
    /// Results by the name of the node, with the run that computed the digests.
    nodes: BTreeMap<String, (String, NodeComparison)>,
}

impl Nodes {
    /// Compares the nodes once all have computed their digests after the same commit. Until then, the result of the last
    /// comparison remains.
    pub fn compare(&mut self) {
        let last = self.entries.values().filter_map(|entry| Some(entry.digests.as_ref()?.number)).max();
        let Some(last) = last.filter(|last| Some(*last) > self.comparison.number) else { return };
        let at_last = |entry: &NodeEntry| entry.digests.clone().filter(|digests| digests.number == last);
        // A node that was started later doesn't compute any.
        if !self.entries.values().all(|entry| entry.since >= last || at_last(entry).is_some()) {
            return;
        }
        let computed: BTreeMap<&str, Digests> =
            self.entries.iter().filter_map(|(name, entry)| Some((name.as_str(), at_last(entry)?))).collect();
        let compared = computed.iter().filter(|(_, digests)| digests.problem.is_none());
        let compared = compared.map(|(name, digests)| (*name, &digests.families)).collect();
        let result = |(name, digests): (&&str, &Digests)| {
            let Wrong { names, is_by_leader } = wrong(name, &compared, self.leader.as_deref());
            let problem = digests.problem.clone();
            let differs_from = self.leader.clone().filter(|_| is_by_leader);
            let state = NodeComparison { is_compared: problem.is_none(), differs: names, differs_from, problem };
            ((*name).to_owned(), (self.entries[*name].run.clone(), state))
        };
        self.comparison = Comparison { number: Some(last), nodes: computed.iter().map(result).collect() };
    }

    /// Returns the states of all nodes, with their differences from each other.
    pub fn states(&self) -> Vec<(String, NodeState)> {
        let settings = self.entries.iter().map(|(name, entry)| (name.as_str(), &entry.settings)).collect();
        let state = |(name, entry): (&String, &NodeEntry)| {
            let NodeEntry { run, url, version, number, synced, clock, .. } = entry.clone();
            let compared = self.comparison.nodes.get(name).filter(|(of_run, _)| *of_run == run);
            let mut comparison = compared.map(|(_, comparison)| comparison.clone()).unwrap_or_default();
            if self.entries.len() == 1 {
                // Nobody else is there to be preferred.
                comparison.differs.clear();
            }
            let settings_differ = wrong(name, &settings, self.leader.as_deref()).names;
            let progress = Progress { number, synced };
            (name.clone(), NodeState { url, version, progress, clock, comparison, settings_differ })
        };
        self.entries.iter().map(state).collect()
    }

    /// Records the present leader, or that there is none.
    pub fn note_leader(&mut self, kv: Option<&KeyValue>) {
        self.leader = kv.filter(|kv| kv.version > 0).and_then(|kv| String::from_utf8(kv.value.to_vec()).ok());
    }

    /// Records a sign of life of a leader, unless it is too old.
    pub fn note_life(&mut self, kv: &KeyValue, grace_after: Duration) {
        if alive_at(&kv.value).is_some_and(|at| is_recent(at, grace_after)) {
            self.alive_seen = Some(clocks::now());
        }
    }

    /// Records the present value of a node's key, or that the key is gone.
    pub fn note(&mut self, name: String, kv: &KeyValue) {
        match serde_json::from_slice(&kv.value) {
            Ok(entry) => drop(self.entries.insert(name, entry)),
            Err(_) => drop(self.entries.remove(&name)),
        }
    }
}

/// Maximum time in milliseconds by which the clock of a former leader may have been ahead.
const AHEAD: i64 = 5_000;

/// Reads the time at which a leader was alive.
pub(super) fn alive_at(value: &[u8]) -> Option<Timestamp> {
    str::from_utf8(value).ok()?.parse().ok().map(Timestamp)
}

/// True if a leader with a sign of life at this time is still alive, or was a moment ago.
pub(super) fn is_recent(at: Timestamp, grace_after: Duration) -> bool {
    let age = Timestamp::now().0.saturating_sub(at.0);
    let most = i64::try_from(grace_after.as_millis()).unwrap_or(i64::MAX);
    (-AHEAD..most).contains(&age)
}
