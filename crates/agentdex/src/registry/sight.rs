//! A registry as visible to its caller. Things a caller is not allowed to see are treated as nonexistent.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
    sync::Arc,
};

use agentdex_api::ClaimedNamespace;

use super::{DomainProof, Inner, Registry, namespaces::is_taken};
use crate::{
    Error, Result,
    access::{AccessRequest, Caller, Grants, Namespace, NamespaceNumber, Owner},
    change::Timestamp,
    store::Author,
};

impl Registry {
    /// Returns the caller on whose behalf the registry acts.
    #[doc(hidden)]
    pub fn caller(&self) -> &Caller {
        &self.1
    }

    /// The registry as its program sees it: everything.
    pub(super) fn of(inner: Arc<Inner>) -> Registry {
        Registry(inner, Caller::Trusted, None)
    }

    /// Returns a handle of the registry that acts on behalf of a caller. Things hidden from the caller are treated as
    /// nonexistent, and the caller can't change Things of other owners. Servers use such a handle for each client that
    /// they have authenticated.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use agentdex::{
    ///     Registry,
    ///     access::{AccessRequest, Caller, Principal, Role, Visibility},
    ///     registry::Write,
    ///     td::Description,
    /// };
    ///
    /// # let directory = std::env::temp_dir().join(format!("agentdex-caller-{}", std::process::id()));
    /// # let registry = Registry::open(&directory)?;
    /// let owner = "weather-team".parse().unwrap();
    /// let team = Caller::Principal(Arc::new(Principal { owner, role: Role::Register, key: String::new(), expires: None }));
    /// let access = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    /// let forecast = Description::new("Forecast").id("urn:example:forecast");
    /// registry.as_caller(team.clone()).write_blocking(Write::put(forecast).with_access(access))?;
    ///
    /// assert_eq!(registry.as_caller(team).len(), 1);
    /// assert_eq!(registry.as_caller(Caller::Anonymous).len(), 0);
    /// assert!(registry.as_caller(Caller::Anonymous).find("urn:example:forecast")?.is_none());
    /// # registry.close(); std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    pub fn as_caller(&self, caller: Caller) -> Registry {
        Registry(self.0.clone(), caller, None)
    }

    /// Returns a handle with the caller's network address, to be recorded in the audit trail.
    pub fn at_address(self, address: Option<IpAddr>) -> Registry {
        Registry(self.0, self.1, address)
    }

    /// Returns the caller's grants, which define the Things visible to it in addition to public Things. Returns
    /// `None` if it sees everything.
    #[doc(hidden)]
    pub fn grants(&self) -> Option<Arc<Grants>> {
        self.0.store.grants(&self.1)
    }

    /// Returns the caller's grants, or `None` if it currently sees everything, also because all Things are public.
    pub(super) fn sight(&self) -> Option<Arc<Grants>> {
        if self.0.store.has_restricted() { self.grants() } else { None }
    }

    /// True if the Thing is visible to the caller or doesn't exist.
    #[doc(hidden)]
    pub fn sees(&self, id: &str) -> bool {
        self.sight().is_none_or(|grants| self.0.store.is_seen(id, &grants))
    }

    /// Returns the ids of Things hidden from the caller.
    pub(super) fn unseen_ids(&self) -> Vec<String> {
        self.sight().map(|grants| self.0.store.unseen_ids(&grants)).unwrap_or_default()
    }

    /// Returns a hash that identifies the set of Things visible to the caller, or `None` if the caller sees
    /// everything.
    #[doc(hidden)]
    pub fn sight_tag(&self) -> Option<u64> {
        let grants = self.sight()?;
        let mut hasher = DefaultHasher::new();
        grants.hash(&mut hasher);
        Some(hasher.finish())
    }

    /// Builds the author of a write: the caller, its address, and the access that it asks for.
    ///
    /// # Errors
    /// [`Error::AccessRefused`]
    pub(super) fn author(&self, mut access: AccessRequest) -> Result<Author> {
        if let Some(Some(name)) = &access.namespace {
            let number = self.0.store.find_namespace(name).map(|(number, _)| number);
            access.number = Some(number.unwrap_or(NamespaceNumber::UNCLAIMED));
        }
        let refused = |message: String| Err(Error::AccessRefused { message });
        if let Some(grants) = self.grants() {
            if access.owner.is_some() {
                return refused("only an admin can change the owner of a Thing".to_owned());
            }
            if let Some(Some(name)) = access
                .namespace
                .as_ref()
                .filter(|_| !access.number.is_some_and(|number| grants.member_since.contains_key(&number)))
            {
                return refused(format!(
                    "you are not a member of the namespace {:?}; its owner can add you with PUT /namespaces/{name}",
                    name.as_str()
                ));
            }
        }
        let address = self.2.map(|address| address.to_string());
        Ok(Author { address, ..Author::new(self.1.clone(), access) })
    }

    /// Returns the namespaces of which the caller is a member. For callers with access to everything, returns all
    /// namespaces.
    pub fn claimed_namespaces(&self) -> Vec<ClaimedNamespace> {
        let grants = self.grants();
        let is_seen = |number| grants.as_ref().is_none_or(|grants| grants.member_since.contains_key(&number));
        let all = self.0.namespaces.list_numbered().into_iter();
        all.filter(|(number, _)| is_seen(*number)).map(|(_, namespace)| namespace).collect()
    }

    /// Claims a namespace for the caller, or changes the members of a namespace owned by the caller. Returns the
    /// namespace, and true if it is new. Blocks until the write is durable.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] if the caller has no API key or token, if another owner has claimed the namespace, or
    /// if it is named after a domain, the caller is not an admin, and there is no [proof](Registry::domain_proof);
    /// otherwise the same as [`super::Namespaces::put`].
    pub fn claim_namespace(
        &self,
        name: Namespace,
        members: BTreeSet<Owner>,
        proof: Option<DomainProof>,
    ) -> Result<(ClaimedNamespace, bool)> {
        let refused = |message: &str| Err(Error::AccessRefused { message: message.to_owned() });
        let known = self.0.namespaces.find(&name);
        let (may_everything, caller) = (self.grants().is_none(), self.1.owner());
        let proof = proof.filter(|proof| proof.name == name && Some(&proof.owner) == caller).map(|proof| proof.url);
        let owner = match (&known, caller) {
            (Some(known), caller) if may_everything || caller == Some(&known.owner) => &known.owner,
            (Some(known), _) => return Err(is_taken(known)),
            (None, None) => {
                return refused("only callers with an API key, a token, or a client certificate can claim a namespace");
            }
            (None, Some(_)) if name.is_domain() && !may_everything && proof.is_none() => {
                return refused("only an admin can claim a domain name, unless the domain serves a proof of ownership");
            }
            (None, Some(owner)) => owner,
        };
        let (created, proof) = match &known {
            Some(known) => (known.created, known.proof.clone()),
            None => (Timestamp::now(), proof),
        };
        let namespace = ClaimedNamespace { name, owner: owner.clone(), members, created, proof };
        let author = self.author(AccessRequest::default())?;
        self.0.namespaces.put_as(author, namespace.clone(), |entry| self.entry_of_principal(entry))?;
        Ok((namespace, known.is_none()))
    }

    /// Gives up a namespace owned by the caller. Callers with access to everything can give up any namespace. Returns
    /// false if the namespace isn't claimed, or the caller is not a member of it. Blocks until the write is durable.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] for members who don't own it; otherwise the same as [`super::Namespaces::remove`].
    pub fn give_up_namespace(&self, name: &Namespace) -> Result<bool> {
        let Some(known) = self.claimed_namespaces().into_iter().find(|known| known.name == *name) else {
            return Ok(false);
        };
        if self.grants().is_some() && self.1.owner() != Some(&known.owner) {
            let message = format!("only the owner of the namespace {:?} or an admin can give it up", name.as_str());
            return Err(Error::AccessRefused { message });
        }
        let author = self.author(AccessRequest::default())?;
        self.0.namespaces.remove_as(author, &known, |entry| self.entry_of_principal(entry))
    }
}
