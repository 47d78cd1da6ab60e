//! Saved queries of a registry, as visible to the caller, and their events.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use agentdex_api::{Mode, NamedQuery, QueryName, QueryParameters};
use tokio::sync::watch;

use super::{
    Inner, Registry,
    queries::{
        Finding, Found, JournalPosition, Key, QueryEvents, QueryId, Saved, SavedQueryEvent, Stored, StreamKey, Watched,
        check_name,
    },
    thread::spawn,
    thresholds::mode_of,
    view::View,
};
use crate::{
    Error, Result,
    access::{Access, AccessRequest, Owner, Visibility},
    change::Seq,
    search::saved::SavedQuery,
    store::{Expects, LoggedChange, StoredQuery},
};

/// Maximum number of attempts to save a query while others change it.
const MAX_ATTEMPTS: u32 = 5;

/// Pause before the next attempt to start saved queries.
const RETRY_AFTER: Duration = Duration::from_millis(200);

impl Registry {
    /// Saves a query under a name, replacing a query with the same name. Returns true if the query is new. Blocks
    /// until all matching Things are known and the query is durable.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::registry::QueryParameters;
    ///
    /// let query = QueryParameters { q: Some("forecast".into()), ..QueryParameters::default() };
    /// assert!(registry.save_query("weather", query)?, "it is new");
    /// let saved = registry.saved_query("weather").expect("it was saved");
    /// assert_eq!(saved.query.q.as_deref(), Some("forecast"));
    /// assert_eq!(registry.saved_queries().len(), 1);
    /// assert!(registry.remove_query("weather")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::save_query_with`].
    pub fn save_query(&self, name: impl Into<QueryName>, query: QueryParameters) -> Result<bool> {
        self.save_query_with(name, query, AccessRequest::default()).map(|(_, is_new)| is_new)
    }

    /// Saves a query with an owner and visibility. Returns the query, and true if it is new. A new query with an
    /// owner is private by default, since its words may be confidential; a new query without an owner is public.
    /// Replacing a query changes only the requested parts of its access.
    ///
    /// A name without an owner refers to the caller's own query. For an admin without a query of that name, it refers
    /// to the query without an owner, if there is one.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use agentdex::{
    ///     access::{AccessRequest, Caller, Principal, Role, Visibility},
    ///     registry::{QueryName, QueryParameters},
    /// };
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    ///
    /// let team: agentdex::access::Owner = "weather-team".parse()?;
    /// let principal = Principal { owner: team.clone(), role: Role::Register, key: String::new(), expires: None };
    /// let as_team = registry.as_caller(Caller::Principal(Arc::new(principal)));
    /// let query = QueryParameters { q: Some("forecast".into()), ..QueryParameters::default() };
    /// as_team.save_query("weather", query.clone())?;
    ///
    /// let name = QueryName::new("weather").of(team);
    /// let others = registry.as_caller(Caller::Anonymous);
    /// assert!(others.saved_query(name.clone()).is_none(), "it is private");
    /// let public = AccessRequest { visibility: Some(Visibility::Public), ..AccessRequest::default() };
    /// as_team.save_query_with("weather", query, public)?;
    /// assert!(others.saved_query(name).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if the name or the query is invalid; [`Error::NoSuchQuery`] if the named query is
    /// hidden from the caller; [`Error::NotOwner`] if the caller must not change it; [`Error::AccessRefused`] and
    /// [`Error::NotMember`] if the caller must not request this access; [`Error::LimitExceeded`] beyond 10,000
    /// queries, 1,000 queries of an owner, or 20,000,000 matches of all queries together; [`Error::Contended`] if
    /// others repeatedly change the query; [`Error::WritesClosed`]; otherwise the same as [`Registry::search`].
    pub fn save_query_with(
        &self,
        name: impl Into<QueryName>,
        query: QueryParameters,
        access: AccessRequest,
    ) -> Result<(NamedQuery, bool)> {
        self.save(name.into(), query, access, |_| Ok(()))
    }

    /// Like [`Registry::save_query_with`], but fails if the caller already has a query with this name.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{Error, access::AccessRequest, registry::QueryParameters};
    ///
    /// let query = || QueryParameters { q: Some("forecast".into()), ..QueryParameters::default() };
    /// registry.save_new_query("weather", query(), AccessRequest::default())?;
    /// let again = registry.save_new_query("weather", query(), AccessRequest::default());
    /// assert!(matches!(again, Err(Error::AlreadyExists { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::AlreadyExists`]; otherwise the same as [`Registry::save_query_with`].
    pub fn save_new_query(
        &self,
        name: impl Into<QueryName>,
        query: QueryParameters,
        access: AccessRequest,
    ) -> Result<NamedQuery> {
        let name = name.into();
        let refuse_known = |known: Option<&Saved>| match known {
            Some(_) => Err(Error::AlreadyExists { id: name.name.clone() }),
            None => Ok(()),
        };
        self.save(name.clone(), query, access, refuse_known).map(|(named, _)| named)
    }

    /// Saves a query, replacing a query with the same name. `check` may refuse to replace it; it is called before the
    /// search for matches, which may take long, and again under the lock.
    fn save(
        &self,
        name: QueryName,
        query: QueryParameters,
        access: AccessRequest,
        check: impl Fn(Option<&Saved>) -> Result<()>,
    ) -> Result<(NamedQuery, bool)> {
        check_name(&name.name)?;
        let key = self.key_to_save(name)?;
        let queries = &self.0.queries;
        let known = queries.named(&key);
        check(known.as_ref())?;
        let after = self.access_to_save(&key, known.as_ref(), access.clone())?;
        // What is the same goes on as it is, so that who listens misses nothing.
        let unchanged = known.filter(|known| {
            is_same(&known.stored.named.query, &query) && !known.stored.has_threshold_of_unknown_origin()
        });
        if let Some(known) = unchanged.as_ref().filter(|known| known.access == after) {
            return Ok((known.stored.named.clone(), false));
        }
        let (query, view, watched) = match unchanged {
            Some(known) if known.stored.suits(&after) => {
                (known.stored.named.query.clone(), known.stored.view().cloned(), known.watched)
            }
            unchanged => {
                let view = self.view_of_threshold(&query, || View::of_those_admitted_by(&after))?;
                let query = self.with_threshold(query, view.as_ref())?;
                let watched = match unchanged.filter(|known| known.stored.named.query == query) {
                    Some(known) => known.watched,
                    None => {
                        let compiled = self.compile(&query)?;
                        queries.check_room_for(&key)?;
                        let watched = queries.watch(compiled.clone(), key.owner.clone());
                        self.find_matching(&compiled, &watched)?;
                        watched
                    }
                };
                (query, view, watched)
            }
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            queries.check_room_for(&key)?;
            // Somebody else may have changed it meanwhile.
            let known = queries.named(&key);
            check(known.as_ref())?;
            let access = self.access_to_save(&key, known.as_ref(), access.clone())?;
            let stored = Stored::new(&key.name, query.clone(), &access).with_threshold_from(view.clone());
            if !stored.suits(&access) {
                return Err(Error::Contended { id: key.name, attempts });
            }
            let json = serde_json::to_vec(&stored)
                .map_err(|source| Error::Store { doing: "writing a saved query", source: source.into() })?;
            let named = stored.named.clone();
            let saved = Saved::new(stored, Expects::value(&json), watched.clone());
            let expects = known.as_ref().map_or(Expects::Absent, |known| known.stored_as);
            let put = || self.0.store.local().put_query_if(key.owner.as_ref(), &key.name, json, expects);
            match queries.commit(saved, put) {
                Ok(()) => return Ok((named, known.is_none())),
                Err(Error::Contended { .. }) if attempts < MAX_ATTEMPTS => {}
                Err(Error::Contended { .. }) => return Err(Error::Contended { id: key.name, attempts }),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the query with the given name, if it is visible to the caller.
    pub fn saved_query(&self, name: impl Into<QueryName>) -> Option<NamedQuery> {
        self.find_saved(name.into()).map(|saved| self.reported(saved))
    }

    /// Returns the saved queries visible to the caller, sorted by name.
    pub fn saved_queries(&self) -> Vec<NamedQuery> {
        let (all, grants) = (self.0.queries.all_named().into_iter(), self.grants());
        let seen = all.filter(|saved| grants.as_ref().is_none_or(|grants| grants.see(&saved.access)));
        seen.map(|saved| self.reported(saved)).collect()
    }

    /// A saved query with how far it is behind.
    fn reported(&self, saved: Saved) -> NamedQuery {
        NamedQuery { behind: self.0.queries.behind(&saved), ..saved.stored.named }
    }

    /// True if the saved query still exists unchanged and is visible to the caller.
    pub fn sees_query(&self, query: QueryId) -> bool {
        self.0.queries.is_seen(query, &self.1)
    }

    /// Removes the query with the given name. Returns false if no such query is visible to the caller.
    ///
    /// # Errors
    /// [`Error::NotOwner`], [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn remove_query(&self, name: impl Into<QueryName>) -> Result<bool> {
        let Some(saved) = self.find_saved(name.into()) else { return Ok(false) };
        let key = saved.stored.key();
        if !saved.access.lets_change(&self.1) {
            return Err(Error::NotOwner { id: key.name });
        }
        match self.0.store.local().remove_query_if(key.owner.as_ref(), &key.name, Expects::Present) {
            Ok(()) => {
                self.0.queries.drop_replaced();
                Ok(true)
            }
            // Somebody else has removed it.
            Err(Error::Contended { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the events of the query with the given name, or `None` if no such query is visible to the caller.
    pub fn query_events(&self, name: impl Into<QueryName>) -> Option<QueryEvents> {
        let saved = self.find_saved(name.into())?;
        Some(QueryEvents::of_saved(&self.0.queries, saved.watched, self.1.clone()))
    }

    /// Returns the query with the given name, if it is visible to the caller.
    fn find_saved(&self, name: QueryName) -> Option<Saved> {
        let queries = &self.0.queries;
        let QueryName { name, owner } = name;
        let saved = match (owner, self.1.owner()) {
            (Some(owner), _) => queries.named(&Key { name, owner }),
            (None, None) => queries.named(&Key { name, owner: None }),
            (None, Some(owner)) => {
                let own = queries.named(&Key { name: name.clone(), owner: Some(owner.clone()) });
                own.or_else(|| queries.named(&Key { name, owner: None }))
            }
        };
        saved.filter(|saved| self.grants().is_none_or(|grants| grants.see(&saved.access)))
    }

    /// Returns the key under which the caller saves a query: that of the visible query with the name, if the caller
    /// may change it, otherwise that of a query of its own.
    ///
    /// # Errors
    /// [`Error::NoSuchQuery`] and [`Error::NotOwner`] for queries of other owners.
    fn key_to_save(&self, name: QueryName) -> Result<Key> {
        let found = self.find_saved(name.clone());
        if let Some(found) = found.as_ref().filter(|found| found.access.lets_change(&self.1)) {
            return Ok(found.stored.key());
        }
        let QueryName { name, owner: asked } = name;
        let owner = asked.clone().unwrap_or_else(|| self.1.owner().cloned());
        let is_own = owner.as_ref() == self.1.owner() && (owner.is_some() || asked.is_none());
        let key = Key { name, owner };
        match found {
            _ if self.grants().is_none() => Ok(key),
            // Also where the name is that of a query which has no owner, and that somebody else sees under it.
            _ if is_own && key.owner.is_some() => Ok(key),
            Some(_) => Err(Error::NotOwner { id: key.name }),
            None if is_own && self.0.queries.named(&key).is_none() => Ok(key),
            None => Err(Error::NoSuchQuery { name: key.name }),
        }
    }

    /// Returns the access of a query saved by the caller.
    ///
    /// # Errors
    /// [`Error::AccessRefused`], [`Error::NotMember`].
    fn access_to_save(&self, key: &Key, known: Option<&Saved>, access: AccessRequest) -> Result<Access> {
        if access.owner.is_some() {
            let message = "the owner of a saved query can't be changed; an admin can save the query for another owner";
            return Err(Error::AccessRefused { message: message.to_owned() });
        }
        let visibility = if key.owner.is_some() { Visibility::Private } else { Visibility::Public };
        let to_new = || Access { owner: key.owner.clone(), visibility, ..Access::default() };
        let before = known.map_or_else(to_new, |known| known.access.clone());
        let after = self.author(access)?.access.applied_to(&before);
        if let (Visibility::Namespace, Some(namespace), Some(grants)) =
            (after.visibility, &after.namespace, self.grants())
            && grants.since(&after).is_none()
        {
            let known = after.number.and_then(|number| self.0.store.namespace(number));
            let is_given_up = known.is_none_or(|known| known.given_up.is_some());
            return Err(Error::NotMember { id: key.name.clone(), namespace: namespace.clone(), is_given_up });
        }
        Ok(after)
    }

    /// Returns the events of a query without saving it. The query is compared with changes until five minutes after
    /// the last of these [`QueryEvents`] was dropped. Blocks until all matching Things are known.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`]; [`Error::QueryTooCostly`] beyond 1,000 different queries; otherwise the same as
    /// [`Registry::search`].
    pub fn watch_query(&self, query: &QueryParameters) -> Result<QueryEvents> {
        let text = serde_json::to_string(query)
            .map_err(|source| Error::Store { doing: "writing a query", source: source.into() })?;
        let view = self.view_of_threshold(query, || self.view_of_caller())?;
        let key = StreamKey { query: text, view };
        let queries = &self.0.queries;
        if let Some(watched) = queries.of_stream(&key) {
            return Ok(QueryEvents::new(queries, watched));
        }
        let compiled = self.compile(&self.with_threshold(query.clone(), key.view.as_ref())?)?;
        queries.forget_idle(Instant::now());
        let watched = queries.watch(compiled.clone(), self.1.owner().cloned());
        self.find_matching(&compiled, &watched)?;
        if !queries.keep_for_streams(key, &watched) {
            let message =
                "event streams already use 1000 different queries; save the query, or try again later".to_owned();
            return Err(Error::QueryTooCostly { message });
        }
        Ok(QueryEvents::new(queries, watched))
    }

    /// Returns the events that a change causes for the saved queries visible to the caller. The change must have been
    /// read by the same caller. Blocks until the queries have been compared with the change.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    pub fn saved_query_events(&self, change: &LoggedChange) -> Result<Vec<SavedQueryEvent>> {
        let grants = self.grants();
        let is_seen = |saved: &Saved| grants.as_ref().is_none_or(|grants| grants.see(&saved.access));
        self.0.queries.read_up_to(change.seq, is_seen)?;
        self.0.queries.named_events(change, is_seen)
    }

    /// Looks up the event that a change causes for a saved query, as seen by a reader. Returns `None` if there is no
    /// event, if the query was not yet compared with the change, or if the result was dropped. The event may be shown
    /// to callers that [see the query](Registry::sees_query).
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    #[doc(hidden)]
    pub fn known_query_event(
        &self,
        change: &LoggedChange,
        owner: Option<Owner>,
        name: String,
    ) -> Result<Option<SavedQueryEvent>> {
        self.0.queries.named_event(change, Key { name, owner })
    }

    /// Returns the last change with which all visible and `relevant` saved queries were compared.
    #[doc(hidden)]
    pub fn queries_position(&self, relevant: impl Fn(Option<&Owner>, &str) -> bool) -> Seq {
        self.0.queries.position_of_all(self.relevant(relevant))
    }

    /// Returns the position of the last change that has been compared with a saved query.
    #[doc(hidden)]
    pub fn last_compared(&self) -> Seq {
        self.0.queries.position_of_all(|_| false)
    }

    /// Returns the position up to which events of visible and `relevant` saved queries may be missing, if it is
    /// greater than `after`.
    #[doc(hidden)]
    pub fn query_events_lost_after(&self, after: Seq, relevant: impl Fn(Option<&Owner>, &str) -> bool) -> Option<Seq> {
        let forgotten = self.0.queries.forgotten();
        (after < forgotten && self.0.queries.has_relevant(self.relevant(relevant))).then_some(forgotten)
    }

    /// True if there is a visible and `relevant` saved query.
    #[doc(hidden)]
    pub fn has_saved_query(&self, relevant: impl Fn(Option<&Owner>, &str) -> bool) -> bool {
        self.0.queries.has_relevant(self.relevant(relevant))
    }

    /// Returns the end of the journal of saved queries.
    #[doc(hidden)]
    pub fn query_journal_end(&self) -> JournalPosition {
        self.0.queries.journal_end()
    }

    /// Reads the next finding in the journal after a position. Filter it with [`Registry::events_of_finding`] before
    /// showing it to a caller.
    #[doc(hidden)]
    pub fn found_after(&self, position: JournalPosition) -> Found {
        self.0.queries.found_after(position)
    }

    /// True if, according to the finding, events of a visible and `relevant` saved query may be missing.
    #[doc(hidden)]
    pub fn is_lost_by(&self, finding: &Finding, relevant: impl Fn(Option<&Owner>, &str) -> bool) -> bool {
        self.0.queries.is_lost(finding, self.relevant(relevant))
    }

    /// Returns the events of visible and `relevant` saved queries in a finding. `change` is the change in the same log
    /// entry, as seen by a reader.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    #[doc(hidden)]
    pub fn events_of_finding(
        &self,
        finding: &Finding,
        change: &LoggedChange,
        relevant: impl Fn(Option<&Owner>, &str) -> bool,
    ) -> Result<Vec<SavedQueryEvent>> {
        self.0.queries.events_of_finding(finding, change, self.relevant(relevant))
    }

    /// Drops the recorded events of saved queries, for tests. After that, only readers of the journal receive them.
    #[doc(hidden)]
    pub fn forget_query_events(&self) {
        self.0.queries.lose_past();
    }

    /// Returns a receiver that is notified whenever saved queries have been compared with further changes. Its value
    /// only counts these notifications.
    #[doc(hidden)]
    pub fn queries_progress(&self) -> watch::Receiver<u64> {
        self.0.queries.progress()
    }

    fn relevant(&self, relevant: impl Fn(Option<&Owner>, &str) -> bool) -> impl Fn(&Saved) -> bool {
        let grants = self.grants();
        move |saved: &Saved| {
            let named = &saved.stored.named;
            grants.as_ref().is_none_or(|grants| grants.see(&saved.access))
                && relevant(named.owner.as_ref(), &named.name)
        }
    }

    /// Loads the saved queries, and starts determining their matches. Queries saved by
    /// another store are loaded when its commit is installed.
    pub(super) fn load_queries(&self) -> Result<()> {
        let (queries, registry) = (&self.0.queries, Arc::downgrade(&self.0));
        let starting = registry.clone();
        queries.follow_store(move || {
            if let Err(error) = start_queries_of(starting.clone()) {
                tracing::warn!(%error, "queries saved by another node can't be loaded until this node is restarted");
            }
        });
        let stored = self.0.store.local().queries()?.into_iter();
        queries.begin_starting(stored.map(|StoredQuery { owner, name, .. }| Key { name, owner }));
        self.name_unknown()?;
        if queries.all_named().is_empty() && queries.end_starting() {
            return Ok(());
        }
        queries.lose_past();
        start_queries_of(registry)
    }

    /// Names stored queries that aren't known yet.
    fn name_unknown(&self) -> Result<()> {
        let (queries, local) = (&self.0.queries, self.0.store.local());
        while let Some(key) = queries.next_unknown() {
            let stored = || local.query(key.owner.as_ref(), &key.name);
            while let Some(bytes) = stored()? {
                let stored_as = Expects::value(&bytes);
                if queries.named(&key).is_some_and(|known| known.stored_as == stored_as) {
                    break;
                }
                let Some((query, watched)) = self.watch_stored(&key, &bytes) else { break };
                let is_still_there = || Ok(stored()?.is_some_and(|bytes| Expects::value(&bytes) == stored_as));
                if queries.name_if(Saved::new(query, stored_as, watched), is_still_there)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Starts comparing a stored query with changes. Returns `None` if it can't be used.
    fn watch_stored(&self, key: &Key, bytes: &[u8]) -> Option<(Stored, Arc<Watched>)> {
        let name = &key.name;
        // What is wrong is not logged: it has words of the query.
        let Some(stored) = serde_json::from_slice(bytes).ok().filter(|stored: &Stored| stored.key() == *key) else {
            tracing::warn!(name, "a saved query can't be read");
            return None;
        };
        match self.compile(&stored.named.query) {
            Ok(compiled) => Some((stored, self.0.queries.watch(compiled, key.owner.clone()))),
            Err(error) => {
                tracing::warn!(name, code = error.code(), "a saved query can't be used; it stays stored");
                None
            }
        }
    }

    /// Recomputes thresholds stored by earlier versions, which didn't record whether a threshold was given, and
    /// computed others from Things hidden from some readers of the query. Adds queries whose threshold can't be
    /// computed or stored to `failed`; they keep their threshold.
    ///
    /// # Errors
    /// [`Error::IndexRebuilding`], [`Error::ConsistencyTimeout`].
    fn recompute_old_thresholds(&self, failed: &mut BTreeSet<Key>) -> Result<()> {
        let is_old = |saved: &Saved| saved.stored.has_threshold_of_unknown_origin();
        for saved in self.0.queries.all_named().iter().filter(|saved| is_old(saved) && self.meaning().is_some()) {
            let (key, name) = (saved.stored.key(), &saved.stored.named.name);
            if failed.contains(&key) {
                continue;
            }
            let query = QueryParameters { threshold: None, ..saved.stored.named.query.clone() };
            let query_name = QueryName { name: name.clone(), owner: Some(key.owner.clone()) };
            // Saving takes long: meanwhile the query may be removed, or saved by its owner.
            let check = |known: Option<&Saved>| match known.is_some_and(is_old) {
                true => Ok(()),
                false => Err(Error::NoSuchQuery { name: name.clone() }),
            };
            match self.save(query_name, query, AccessRequest::default(), check) {
                Ok(_) => {
                    tracing::info!(name, "recomputed the threshold that an older version stored for a saved query")
                }
                Err(Error::NoSuchQuery { .. }) => {}
                Err(error @ (Error::IndexRebuilding { .. } | Error::ConsistencyTimeout { .. })) => return Err(error),
                Err(error) => {
                    tracing::warn!(
                        name,
                        code = error.code(),
                        "a saved query keeps the threshold that an older version stored, since a new threshold \
                         can't be computed"
                    );
                    failed.insert(key);
                }
            }
        }
        Ok(())
    }

    /// Determines the matches of saved queries that are not yet known. `failed` lists the queries that keep the
    /// threshold of an earlier version.
    fn start_queries(&self, failed: &mut BTreeSet<Key>) -> Result<()> {
        self.name_unknown()?;
        self.recompute_old_thresholds(failed)?;
        let named = self.0.queries.all_named();
        let mut starting = named.iter().filter(|saved| self.0.queries.is_starting(&saved.watched));
        starting.try_for_each(|saved| {
            let compiled = self.compile(&saved.stored.named.query)?;
            self.find_matching(&compiled, &saved.watched)
        })
    }

    fn compile(&self, query: &QueryParameters) -> Result<Arc<SavedQuery>> {
        let (mode, filters, text) = (mode_of(query)?, query.filters.clone(), query.q.as_deref());
        Ok(Arc::new(match (mode, text, query.threshold, self.meaning()) {
            (Mode::Semantic, Some(text), threshold, Some(meaning)) => {
                let threshold = threshold.unwrap_or(meaning.model().low_confidence());
                SavedQuery::by_meaning(text, threshold, filters, meaning)?
            }
            (Mode::Semantic, ..) => {
                let message = "this registry has no vectors to compare by meaning; omit `mode`".to_owned();
                return Err(Error::InvalidQuery { message });
            }
            (Mode::Hybrid, Some(text), Some(threshold), Some(meaning)) => {
                SavedQuery::by_both(text, threshold, filters, meaning)?
            }
            _ => SavedQuery::new(text, filters)?,
        }))
    }

    fn find_matching(&self, query: &SavedQuery, watched: &Watched) -> Result<()> {
        let mode = if query.is_by_meaning() { Mode::Semantic } else { Mode::Lexical };
        pollster::block_on(self.ready_to_search_in(mode, true))?;
        // Of all Things: what a change means for the query is the same for whoever sees the change.
        let everything = Registry::of(self.0.clone());
        let ids = everything.read_index(|view| query.ids(&view.snapshot, &view.hidden, self.meaning()))?;
        self.0.queries.started(watched, &ids)
    }
}

/// Starts a thread that determines the matches of saved queries.
fn start_queries_of(registry: Weak<Inner>) -> Result<()> {
    let start = move || {
        let mut failed = BTreeSet::new();
        // What they match is read from the index, which may have to be built first.
        while let Some(registry) = registry.upgrade().map(Registry::of) {
            match registry.start_queries(&mut failed) {
                Ok(()) | Err(Error::LimitExceeded { .. }) => {
                    if registry.0.queries.end_starting() {
                        break;
                    }
                    continue;
                }
                Err(Error::ShuttingDown) => break,
                Err(error) => tracing::debug!(code = error.code(), "the matches of saved queries aren't known yet"),
            }
            drop(registry);
            std::thread::sleep(RETRY_AFTER);
        }
    };
    spawn("agentdex-queries", start).map(drop)
}

/// True if a query is saved already, with the threshold that it got when it was saved.
fn is_same(known: &QueryParameters, asked: &QueryParameters) -> bool {
    let has_mode = known.mode.unwrap_or_default() == asked.mode.unwrap_or_default();
    let has_threshold = asked.threshold.is_none() || asked.threshold == known.threshold;
    has_mode && has_threshold && (&known.q, &known.filters) == (&asked.q, &asked.filters)
}

#[cfg(test)]
mod tests {
    use agentdex_api::MatchKind;

    use super::*;
    use crate::{
        registry::Options,
        store::{Directories, Faults},
        td::Description,
    };

    #[test]
    fn old_thresholds_of_queries_that_are_removed_meanwhile_are_not_computed() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        if registry.meaning().is_none() {
            return;
        }
        registry.put(Description::new("Reports on companies").id("urn:a")).unwrap();
        let mut olds = Vec::new();
        for name in ["first", "second"] {
            let text = Some("merger".to_owned());
            let query = QueryParameters { q: text, threshold: Some(0.75), ..QueryParameters::default() };
            registry.save_query(name, query.clone()).unwrap();
            olds.push((name, query));
        }
        registry.hold_index(true);
        registry.put(Description::new("Reports on companies").id("urn:b")).unwrap();
        for (name, query) in olds {
            // As an older version stored it.
            let old = serde_json::to_vec(&Stored::new(name, query, &Access::default())).unwrap();
            registry.0.store.local().put_query(None, name, old.clone()).unwrap();
            // It is named as one that another store has saved.
            while registry.find_saved(name.into()).unwrap().stored_as != Expects::value(&old) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        std::thread::scope(|scope| {
            let computing = scope.spawn(|| registry.recompute_old_thresholds(&mut BTreeSet::new()));
            std::thread::sleep(RETRY_AFTER);
            ["first", "second"].into_iter().for_each(|name| assert!(registry.remove_query(name).unwrap()));
            registry.hold_index(false);
            computing.join().unwrap().unwrap();
        });
        let names: Vec<String> = registry.saved_queries().into_iter().map(|saved| saved.name).collect();
        assert!(names.is_empty(), "{names:?}");
    }

    #[test]
    fn queries_follow_what_another_store_commits() {
        let directories = Directories::new(2, 1, Faults { lag: 2_000, ..Faults::default() });
        let open = |number| {
            let store = directories.options(number, Options::default().store);
            Registry::builder(directories.path(number)).options(Options { store, ..Options::default() }).open().unwrap()
        };
        let registries = [0, 1].map(open);
        let [one, other] = &registries;
        let until = |holds: &dyn Fn() -> bool| {
            let started = Instant::now();
            while !holds() {
                assert!(started.elapsed() < Duration::from_secs(60));
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let query = |text: &str| QueryParameters { q: Some(text.into()), ..QueryParameters::default() };
        one.put(Description::new("Tides").id("urn:a").capability("tides")).unwrap();
        assert!(one.save_query("water", query("tides")).unwrap());
        until(&|| other.saved_query("water").is_some());
        let (events, before) = (other.query_events("water").unwrap(), one.last_seq());
        until(&|| events.is_known_after(before));
        one.put(Description::new("High tides").id("urn:b").capability("tides")).unwrap();
        until(&|| events.position() >= one.last_seq());
        let part = other.0.store.log_reader().changes(before, 1).unwrap();
        let change = part.entries[0].change().unwrap();
        assert_eq!((&*change.id, events.kind(change).unwrap()), ("urn:b", Some(MatchKind::Created)));

        // Of two who replace it at once, each replaces what is there.
        std::thread::scope(|scope| {
            for (registry, text) in [(one, "high tides"), (other, "low tides")] {
                scope.spawn(move || while registry.save_query("water", query(text)).is_err() {});
            }
        });
        let saved = |registry: &Registry| registry.saved_query("water").map(|saved| saved.query.q);
        until(&|| saved(one) == saved(other));
        assert!(one.remove_query("water").unwrap());
        until(&|| other.saved_query("water").is_none());
        assert!(!other.remove_query("water").unwrap());
        registries.iter().for_each(Registry::close);
    }
}
