//! In-memory cache of the agents whose steps are decided. An agent is read on its first step, and then updated from
//! the log.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use serde_json::Value;

use crate::{
    DeletionReason, Error, Result,
    access::Access,
    policy::{Description, Policy, Standing},
    registry::own_members,
    store::{LoggedChange, Record, Store},
};

/// Maximum number of cached agents, including unregistered ids.
const MOST_AGENTS: usize = 20_000;
/// Maximum total size in bytes of the cached agents' descriptions.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that an entry takes beyond its id and description.
const ENTRY_BYTES: usize = 256;

/// Cache of recently active agents.
pub(in crate::registry) struct Agents {
    store: Store,
    policy: Arc<Policy>,
    cached: RwLock<Cached>,
    /// Counter of uses, for finding the least recently used agent.
    uses: AtomicU64,
}

#[derive(Default)]
struct Cached {
    agents: HashMap<Box<str>, Agent>,
    bytes: usize,
}

struct Agent {
    known: Known,
    bytes: usize,
    used: AtomicU64,
}

/// A registered or expired agent.
#[derive(Clone)]
pub(super) struct KnownAgent {
    pub description: Description,
    /// Access to the agent in this version.
    pub access: Access,
}

/// An agent as known to decisions, or `None` if it is not registered.
pub(super) type Known = Option<Arc<KnownAgent>>;

impl Agents {
    pub(super) fn new(store: Store, policy: Arc<Policy>) -> Agents {
        Agents { store, policy, cached: RwLock::default(), uses: AtomicU64::new(0) }
    }

    /// Returns an agent if it is in memory, and records the use.
    pub(super) fn cached(&self, id: &str) -> Option<Known> {
        let cached = self.read();
        let agent = cached.agents.get(id)?;
        agent.used.store(self.uses.fetch_add(1, Relaxed), Relaxed);
        Some(agent.known.clone())
    }

    /// Reads an agent. Changes of the log are applied before or after that, never concurrently, so that none is
    /// missed.
    pub(super) fn load(&self, id: &str) -> Result<Known> {
        let mut cached = self.write();
        if let Some(agent) = cached.agents.get(id) {
            return Ok(agent.known.clone());
        }
        let record = self.store.find_unpurged(id)?;
        if let Some(record) = record.as_ref().filter(|record| record.expiry.is_due(crate::Timestamp::now())) {
            // Either it is purged or renewed next; the latter is no change of the log.
            return Ok(self.read_agent(record)?.map(expired));
        }
        self.put(&mut cached, id, record.as_ref())
    }

    /// Applies a change.
    pub(in crate::registry) fn apply(&self, change: &LoggedChange) -> Result<()> {
        // Most changes are about agents that took no step lately: decisions don't wait for those.
        if !self.read().agents.contains_key(change.id.as_str()) {
            return Ok(());
        }
        let mut cached = self.write();
        let Some(agent) = cached.agents.get_mut(change.id.as_str()) else { return Ok(()) };
        match self.store.find_unpurged(&change.id)? {
            Some(record) => drop(self.put(&mut cached, &change.id, Some(&record))?),
            None if change.reason == Some(DeletionReason::Expired) => {
                agent.known = agent.known.take().map(expired);
            }
            None => agent.known = None,
        }
        Ok(())
    }

    /// Removes all agents from memory, so that each is read again.
    pub(in crate::registry) fn forget_all(&self) {
        *self.write() = Cached::default();
    }

    /// Returns the number of agents in memory, ids that nobody has registered included.
    pub(super) fn len(&self) -> usize {
        self.read().agents.len()
    }

    fn read_agent(&self, record: &Record) -> Result<Known> {
        let thing: Value = serde_json::from_str(&record.text)
            .map_err(|source| Error::Store { doing: "reading a stored description", source: source.into() })?;
        let is_stale = thing.get(own_members::STATUS).is_some_and(|status| status == "stale");
        let standing = if is_stale { Standing::Stale } else { Standing::Live };
        let description = Description::of_thing(&record.id, &thing, standing, &self.policy);
        Ok(Some(Arc::new(KnownAgent { description, access: record.access.clone() })))
    }

    fn put(&self, cached: &mut Cached, id: &str, record: Option<&Record>) -> Result<Known> {
        let known = record.map(|record| self.read_agent(record)).transpose()?.flatten();
        let bytes = ENTRY_BYTES + id.len() + record.map_or(0, |record| record.text.len());
        let used = AtomicU64::new(self.uses.fetch_add(1, Relaxed));
        let before = cached.agents.insert(id.into(), Agent { known: known.clone(), bytes, used });
        cached.bytes = cached.bytes + bytes - before.map_or(0, |before| before.bytes);
        if cached.agents.len() > MOST_AGENTS || cached.bytes > MOST_BYTES {
            cached.forget_oldest();
        }
        Ok(known)
    }

    fn read(&self) -> RwLockReadGuard<'_, Cached> {
        self.cached.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Cached> {
        self.cached.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cached {
    /// Removes the least recently used half of the agents from memory.
    fn forget_oldest(&mut self) {
        let mut uses: Vec<u64> = self.agents.values().map(|agent| agent.used.load(Relaxed)).collect();
        uses.sort_unstable();
        let Some(middle) = uses.get(uses.len() / 2).copied() else { return };
        self.agents.retain(|_, agent| agent.used.load(Relaxed) >= middle);
        self.bytes = self.agents.values().map(|agent| agent.bytes).sum();
    }
}

fn expired(agent: Arc<KnownAgent>) -> Arc<KnownAgent> {
    let KnownAgent { description, access } = Arc::unwrap_or_clone(agent);
    Arc::new(KnownAgent { description: Description { standing: Standing::Expired, ..description }, access })
}
