//! The namespaces of a registry: who claims which, who its members are, and what they see by that.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use agentdex_api::ClaimedNamespace;

use crate::{
    Error, Result,
    access::{Grants, Namespace, Owner},
    store::Store,
};

/// The most namespaces.
const MAX_NAMESPACES: usize = 10_000;
/// The most members of one.
const MAX_MEMBERS: usize = 1_000;

/// Returns the refusal of a claim by anybody but its owner.
pub(super) fn is_taken(namespace: &ClaimedNamespace) -> Error {
    Error::AccessRefused { message: format!("the namespace {:?} is somebody else's", namespace.name.as_str()) }
}

/// That a domain names an owner, as its site said a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainProof {
    pub(super) name: Namespace,
    pub(super) owner: Owner,
    /// Where it says so.
    pub(super) url: String,
}

/// The namespaces in a store. They are all in memory.
pub struct Namespaces {
    store: Store,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    by_name: BTreeMap<Namespace, ClaimedNamespace>,
    /// What those see who are members of some.
    grants: HashMap<Owner, Arc<Grants>>,
}

impl Known {
    fn new(by_name: BTreeMap<Namespace, ClaimedNamespace>) -> Known {
        let mut namespaces: HashMap<&Owner, BTreeSet<Namespace>> = HashMap::new();
        for namespace in by_name.values() {
            for owner in namespace.members.iter().chain([&namespace.owner]) {
                namespaces.entry(owner).or_default().insert(namespace.name.clone());
            }
        }
        let grants = |(owner, namespaces): (&Owner, BTreeSet<Namespace>)| {
            (owner.clone(), Arc::new(Grants { owner: Some(owner.clone()), namespaces }))
        };
        let grants = namespaces.into_iter().map(grants).collect();
        Known { by_name, grants }
    }
}

impl Namespaces {
    /// Reads the namespaces.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub(super) fn open(store: &Store) -> Result<Namespaces> {
        let read = |(_, bytes): (String, Vec<u8>)| match serde_json::from_slice::<ClaimedNamespace>(&bytes) {
            Ok(namespace) => Ok((namespace.name.clone(), namespace)),
            Err(source) => Err(Error::Store { doing: "reading a namespace", source: source.into() }),
        };
        let by_name = store.local().namespaces()?.into_iter().map(read).collect::<Result<_>>()?;
        Ok(Namespaces { store: store.clone(), known: RwLock::new(Known::new(by_name)) })
    }

    /// What an owner sees beside what is public.
    pub(super) fn grants_of(&self, owner: &Owner) -> Arc<Grants> {
        let known = self.read().grants.get(owner).cloned();
        known.unwrap_or_else(|| Arc::new(Grants { owner: Some(owner.clone()), ..Grants::default() }))
    }

    /// The namespace of a name.
    pub fn find(&self, name: &Namespace) -> Option<ClaimedNamespace> {
        self.read().by_name.get(name).cloned()
    }

    /// All namespaces, by name.
    pub fn list(&self) -> Vec<ClaimedNamespace> {
        self.read().by_name.values().cloned().collect()
    }

    /// Claims a namespace, or says who its members are; true if it is new. Blocks until that is durable.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] where somebody else has claimed it, [`Error::LimitExceeded`] beyond 10,000 namespaces or
    /// 1,000 members, [`Error::WritesClosed`], [`Error::DiskFull`], [`Error::ShuttingDown`].
    pub fn put(&self, namespace: ClaimedNamespace) -> Result<bool> {
        let mut known = self.write();
        if let Some(taken) = known.by_name.get(&namespace.name).filter(|taken| taken.owner != namespace.owner) {
            return Err(is_taken(taken));
        }
        if namespace.members.len() > MAX_MEMBERS {
            return Err(Error::LimitExceeded { what: "number of members of a namespace", maximum: MAX_MEMBERS as u64 });
        }
        if known.by_name.len() >= MAX_NAMESPACES && !known.by_name.contains_key(&namespace.name) {
            return Err(Error::LimitExceeded { what: "number of namespaces", maximum: MAX_NAMESPACES as u64 });
        }
        let bytes = serde_json::to_vec(&namespace)
            .map_err(|source| Error::Store { doing: "writing a namespace", source: source.into() })?;
        self.store.local().put_namespace(namespace.name.as_str(), bytes)?;
        let mut by_name = std::mem::take(&mut known.by_name);
        let before = by_name.insert(namespace.name.clone(), namespace);
        *known = Known::new(by_name);
        Ok(before.is_none())
    }

    /// Gives a namespace up: what is in it and has the visibility `namespace` is seen by its owner and admins alone,
    /// until somebody claims it again. False if there is none of that name. Blocks until that is durable.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::DiskFull`], [`Error::ShuttingDown`].
    pub fn remove(&self, name: &Namespace) -> Result<bool> {
        let mut known = self.write();
        if !known.by_name.contains_key(name) {
            return Ok(false);
        }
        self.store.local().remove_namespace(name.as_str())?;
        let mut by_name = std::mem::take(&mut known.by_name);
        by_name.remove(name);
        *known = Known::new(by_name);
        Ok(true)
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
