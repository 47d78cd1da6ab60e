//! `Registry`: what an embedder holds, and the only place that joins descriptions, store and search.
//!
//! It owns the followers of the log that need no network ([`followers`]: the search index) and the clock
//! that purges and trims ([`clock`]). What takes descriptions in is in [`write`], and in [`import`]
//! what was converted from other formats.

mod clock;
mod followers;
mod import;
mod own_members;
mod thing;
mod thread;
#[cfg(feature = "fetch")]
pub mod tracked_sources;
mod write;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use tokio::sync::watch;

use self::{
    clock::Clock,
    followers::{Followers, Search, SearchFollower, Shared, View, Waited},
};
pub use self::{
    followers::{FollowerState, FollowerStatus},
    import::{IfExists, Import, Imported},
    thing::{Thing, Things},
    write::{Effect, Write, Written},
};
use crate::{
    Error, Result,
    change::{Change, Epoch, Position, Seq, Timestamp},
    search::{self, Filters},
    store::{self, Changes, Original, Store},
    td::{self, Document, Report, Strictness},
};

/// How long a search with `consistent` waits for the index.
const CONSISTENCY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a search without `consistent` waits for writes that it should find.
const FRESHNESS_TIMEOUT: Duration = Duration::from_secs(1);
/// An index that lacks more changes than this won't have them soon: searches don't wait for it.
const MAX_CHANGES_TO_WAIT_FOR: u64 = 4096;

/// How a registry treats what it is given. The default suits a directory on one machine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether documents are fixed or refused.
    pub strictness: Strictness,
    /// Time to live in seconds of Things that ask for none; none: they live until they are removed.
    pub default_ttl: Option<u64>,
    /// The shortest time to live in seconds; a shorter one is raised, with a warning.
    pub min_ttl: Option<u64>,
    /// The longest time to live in seconds; a longer one is lowered, with a warning.
    pub max_ttl: Option<u64>,
    /// How old a write may be that a search doesn't find yet.
    pub refresh_interval: Duration,
    /// How the store is opened.
    pub store: store::Options,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strictness: Strictness::Lenient,
            default_ttl: None,
            min_ttl: None,
            max_ttl: None,
            refresh_interval: Duration::from_millis(100),
            store: store::Options::default(),
        }
    }
}

/// Opens a [`Registry`]; made by [`Registry::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is opened"]
pub struct Builder {
    directory: std::path::PathBuf,
    options: Options,
    #[cfg(feature = "fetch")]
    tracking: Option<tracked_sources::Tracking>,
}

impl Builder {
    /// Replaces all options.
    pub fn options(mut self, options: Options) -> Builder {
        self.options = options;
        self
    }

    /// Refuses documents that need a fix.
    pub fn strict(mut self) -> Builder {
        self.options.strictness = Strictness::Strict;
        self
    }

    /// Lets the registry import documents by URL, and poll those URLs for changes.
    #[cfg(feature = "fetch")]
    pub fn tracking(mut self, tracking: tracked_sources::Tracking) -> Builder {
        self.tracking = Some(tracking);
        self
    }

    /// Opens or creates the registry. A missing or outdated search index is rebuilt in the
    /// background: see [`Registry::status`].
    ///
    /// # Errors
    /// [`Error::StoreInUse`], [`Error::UnsupportedStoreFormat`], [`Error::Store`], [`Error::Index`], [`Error::Io`].
    pub fn open(self) -> Result<Registry> {
        let store = Store::open(&self.directory, self.options.store.clone())?;
        let mut followers = Followers::new();
        let search = Search::new(store.clone());
        let index = SearchFollower::new(self.directory.join("search"), store.clone(), search.clone());
        let indexing = followers.start(index, &store)?;
        let followers = Arc::new(followers);
        let clock = Clock::start(store.clone(), followers.clone())?;
        let notes = store.all_metadata()?;
        let registry = Registry(Arc::new(Inner {
            #[cfg(feature = "fetch")]
            tracker: self
                .tracking
                .map(|tracking| tracked_sources::Tracker::open(tracking, &store, &notes))
                .transpose()?,
            has_tracked_sources: AtomicBool::new(!notes.is_empty()),
            clock,
            followers,
            search,
            indexing,
            store,
            options: self.options,
        }));
        #[cfg(feature = "fetch")]
        registry.start_polling()?;
        Ok(registry)
    }
}

/// An agent discovery registry in a directory. Cloning is cheap; the last clone closes it.
///
/// ```
/// # fn main() -> agentdex::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("agentdex-doc-{}", std::process::id()));
/// let registry = agentdex::Registry::builder(&directory).open()?;
/// let written = registry.register(
///     r#"{
///         "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
///         "@type": "lmos:Agent",
///         "id": "urn:example:weather",
///         "title": "Weather agent",
///         "lmos:capabilities": [{"id": "forecast", "name": "Weather forecast"}]
///     }"#,
/// )?;
/// assert_eq!(written.id, "urn:example:weather");
/// assert!(registry.find_by_id("urn:example:weather")?.is_some());
///
/// let answer = registry.search(&agentdex::search::Request::words("forecast"), true)?;
/// assert_eq!(answer.response.hits[0].id, "urn:example:weather");
/// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    /// Stops first: it uses everything else.
    #[cfg(feature = "fetch")]
    tracker: Option<tracked_sources::Tracker>,
    /// Whether a source was ever tracked: most registries never have to read the store for it.
    has_tracked_sources: AtomicBool,
    clock: Clock,
    followers: Arc<Followers>,
    /// What searches see.
    search: Arc<Search>,
    /// The follower that keeps it at the end of the log.
    indexing: Arc<Shared>,
    store: Store,
    options: Options,
}

/// A search answer and the log position that it shows.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// What was found.
    #[serde(flatten)]
    pub response: search::Response,
    /// Every change up to this one is taken into account.
    pub seq: Seq,
}

/// The Things that pass filters, and the log position that this shows.
#[derive(Debug, Clone)]
pub struct Matching {
    /// How many there are in all.
    pub total: u64,
    /// Their ids, ascending.
    pub ids: Vec<String>,
    /// Every change up to this one is taken into account.
    pub seq: Seq,
}

/// How the registry is.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The durable end of the log.
    pub cursor: String,
    /// How many Things there are.
    pub things: u64,
    /// How each follower of the log is; `search` is the one that searches need.
    pub followers: Vec<FollowerStatus>,
    /// Why writes are refused, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_to_writes: Option<String>,
}

impl Status {
    /// Why the registry isn't ready: writes are refused, or a follower doesn't answer or keep up. None where
    /// it is.
    pub fn not_ready(&self) -> Option<String> {
        let closed =
            self.closed_to_writes.is_some().then(|| "the registry takes no writes until it is restarted".into());
        closed.or_else(|| self.followers.iter().find_map(FollowerStatus::reason))
    }

    /// The last change that searches show; none where they aren't answered.
    pub fn searchable(&self) -> Option<Seq> {
        self.followers.iter().find(|follower| follower.name == "search")?.seq
    }
}

impl Registry {
    /// Starts to open the registry in `directory`, which is created where it is missing.
    pub fn builder(directory: impl AsRef<Path>) -> Builder {
        Builder {
            directory: directory.as_ref().into(),
            options: Options::default(),
            #[cfg(feature = "fetch")]
            tracking: None,
        }
    }

    /// The options it was opened with.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The life of the store behind it.
    pub fn epoch(&self) -> Epoch {
        self.0.store.epoch()
    }

    /// The uuid of this registry, drawn when its directory was created.
    pub fn registry_id(&self) -> uuid::Uuid {
        self.0.store.registry_id()
    }

    /// The durable end of the log.
    pub fn last_seq(&self) -> Seq {
        *self.0.store.durable().borrow()
    }

    /// The durable end of the log, as it moves: what followers wait on.
    pub fn durable(&self) -> watch::Receiver<Seq> {
        self.0.store.durable()
    }

    /// The Thing of that id, unless it has expired. The id may be one that [`td::normalize_id`] fixes.
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn find_by_id(&self, id: &str) -> Result<Option<Thing>> {
        let id = td::normalize_id(id)?;
        Ok(self.0.store.find(&id)?.map(Thing::from))
    }

    /// All Things in ascending order of id, read lazily.
    pub fn list(&self) -> Things {
        self.list_from(None)
    }

    /// The Things whose id is `start` or greater, in ascending order.
    pub fn list_from(&self, start: Option<&str>) -> Things {
        Things::from(self.0.store.records(start))
    }

    /// How many Things there are.
    pub fn len(&self) -> u64 {
        self.0.store.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Searches. Every write is found that was acknowledged longer than [`Options::refresh_interval`] ago,
    /// or before the call where `consistent` is set. Blocks while the index takes them in: see
    /// [`Registry::ready_to_search`].
    ///
    /// # Errors
    /// [`Error::InvalidQuery`], [`Error::LimitExceeded`], [`Error::IndexRebuilding`],
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::Index`].
    pub fn search(&self, request: &search::Request, consistent: bool) -> Result<Answer> {
        pollster::block_on(self.ready_to_search(consistent))?;
        self.search_as_indexed(request)
    }

    /// Searches what is indexed, without waiting for what isn't. Blocks while it reads.
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn search_as_indexed(&self, request: &search::Request) -> Result<Answer> {
        let (view, excluded) = self.view()?;
        Ok(Answer { response: view.snapshot.search(request, &excluded)?, seq: view.seq })
    }

    /// The ids of all Things that pass the filters and match the query, ascending. Blocks as
    /// [`Registry::search`] does.
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn ids_matching(&self, query: Option<&str>, filters: &Filters, consistent: bool) -> Result<Matching> {
        pollster::block_on(self.ready_to_search(consistent))?;
        self.ids_as_indexed(query, filters, None, usize::MAX)
    }

    /// The first `limit` ids after `after`, ascending, of the Things that are indexed and pass the filters and
    /// match the query, without waiting for what isn't indexed. Blocks while it reads.
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn ids_as_indexed(
        &self,
        query: Option<&str>,
        filters: &Filters,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Matching> {
        let (view, excluded) = self.view()?;
        let (total, ids) = view.snapshot.ids_after(query, filters, &excluded, after, limit)?;
        Ok(Matching { total, ids, seq: view.seq })
    }

    /// What can be searched, and what it still has and nobody may find: Things that have expired or were
    /// removed since. Usually none.
    fn view(&self) -> Result<(View, Arc<[String]>)> {
        let view = self.0.search.view(self.0.options.refresh_interval)?.ok_or_else(|| self.rebuilding())?;
        let expired = self.expired()?;
        if expired.is_empty() {
            let deleted = view.deleted.clone();
            return Ok((view, deleted));
        }
        let excluded = view.deleted.iter().cloned().chain(expired).collect();
        Ok((view, excluded))
    }

    fn rebuilding(&self) -> Error {
        match self.0.indexing.status().state {
            FollowerState::Rebuilding { done, total } => Error::IndexRebuilding { done, total },
            _ => Error::IndexRebuilding { done: 0, total: self.len() },
        }
    }

    /// Waits until a search finds what it should: every write that was acknowledged longer than
    /// [`Options::refresh_interval`] ago, or, where `consistent` is set, before the call. Without it, an
    /// index that is more than some thousand changes behind, or fails, isn't waited for: the position in
    /// the [`Answer`] tells. Takes no thread while it waits.
    ///
    /// # Errors
    /// With `consistent` as [`Registry::refreshed`], otherwise [`Error::Store`].
    pub async fn ready_to_search(&self, consistent: bool) -> Result<()> {
        if consistent {
            return self.refreshed().await.map(drop);
        }
        let Some(view) = self.0.search.view(self.0.options.refresh_interval)? else { return Ok(()) };
        let is_near = self.last_seq().0.saturating_sub(view.seq.0) <= MAX_CHANGES_TO_WAIT_FOR;
        if let Some(target) = view.overdue.filter(|_| is_near && self.0.indexing.status().is_ready()) {
            self.0.indexing.wait(target, FRESHNESS_TIMEOUT).await;
        }
        Ok(())
    }

    /// Waits until everything acknowledged so far can be searched, and says up to which change that is.
    /// The commit that this takes is shared with all who wait. Takes no thread while it waits.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::IndexRebuilding`], [`Error::ShuttingDown`].
    pub async fn refreshed(&self) -> Result<Seq> {
        let target = self.last_seq();
        let view = self.0.search.view(Duration::ZERO)?.ok_or_else(|| self.rebuilding())?;
        if view.seq >= target {
            return Ok(view.seq);
        }
        drop(view);
        match self.0.indexing.wait(target, CONSISTENCY_TIMEOUT).await {
            Waited::Reached(seq) => Ok(seq),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CONSISTENCY_TIMEOUT.as_secs() }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }

    /// As [`Registry::refreshed`], for threads that may block.
    ///
    /// # Errors
    /// As [`Registry::refreshed`].
    pub fn refresh(&self) -> Result<Seq> {
        pollster::block_on(self.refreshed())
    }

    /// At most `limit` changes after `since`.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Changes> {
        self.0.store.changes(since, limit)
    }

    /// The next changes after `since`, at most `limit`, if they are in memory; empty at the end of the log.
    /// Never waits for the disk.
    pub fn cached_changes(&self, since: Seq, limit: usize) -> Option<Vec<Arc<Change>>> {
        self.0.store.cached_changes(since, limit)
    }

    /// The retained changes of one Thing after `since`, oldest first; also those of a Thing that is gone.
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        let id = td::normalize_id(id)?;
        self.0.store.history(&id, since, limit)
    }

    /// The document that a Thing was converted from, as long as the description is what the conversion
    /// made of it: a description that was changed by hand has none.
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        let id = td::normalize_id(id)?;
        self.0.store.original(&id)
    }

    /// What registering a document would say, without storing anything: violations if it would be
    /// refused, warnings of what would be fixed.
    ///
    /// # Errors
    /// [`Error::MalformedJson`], [`Error::LimitExceeded`].
    pub fn validate(&self, json: &[u8]) -> Result<Report> {
        Ok(td::assess(Document::parse(json)?, self.options().strictness))
    }

    /// How many have expired and aren't purged yet. Costs the same however many those are; where thousands
    /// expire at once, they are counted little by little.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn expired_count(&self) -> Result<usize> {
        self.0.store.expired_count()
    }

    /// The ids that have expired and aren't purged yet: usually none.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn expired(&self) -> Result<Vec<String>> {
        self.0.store.expired(Timestamp::now(), usize::MAX)
    }

    /// The cursor that a follower keeps in the store.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn position(&self, follower: &str) -> Result<Option<Position>> {
        Ok(self.0.store.local().position(follower))
    }

    /// Keeps the cursor of a follower.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn set_position(&self, follower: &str, cursor: Position) -> Result<()> {
        self.0.store.local().set_position(follower, cursor)
    }

    /// Forgets the cursor of a follower.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn remove_position(&self, follower: &str) -> Result<()> {
        self.0.store.local().remove_position(follower)
    }

    /// The sessions of network followers that are kept here: name and what [`Registry::put_session`] was given.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn sessions(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.0.store.local().sessions()
    }

    /// Keeps a session; durable as a cursor is.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn put_session(&self, name: &str, session: Vec<u8>) -> Result<()> {
        self.0.store.local().put_session(name, session)
    }

    /// Forgets a session.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn remove_session(&self, name: &str) -> Result<()> {
        self.0.store.local().remove_session(name)
    }

    /// Whether the source of a Thing is tracked.
    fn is_tracked(&self, id: &str) -> Result<bool> {
        Ok(self.0.has_tracked_sources.load(Ordering::Relaxed) && self.0.store.metadata(id)?.is_some())
    }

    /// How the registry is: the end of the log, its followers, whether it takes writes.
    pub fn status(&self) -> Status {
        Status {
            cursor: Position { epoch: self.epoch(), seq: self.last_seq() }.to_string(),
            things: self.len(),
            followers: self.0.followers.status(),
            closed_to_writes: self.0.store.closed_to_writes(),
        }
    }

    /// Stops the followers, commits the search index and closes the store to writes. Later writes
    /// fail with [`Error::ShuttingDown`]; also done when the last clone is dropped. Blocks.
    pub fn close(&self) {
        #[cfg(feature = "fetch")]
        if let Some(tracker) = &self.0.tracker {
            tracker.stop();
        }
        self.0.clock.stop();
        self.0.followers.stop();
        self.0.store.close();
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("status", &self.status()).finish_non_exhaustive()
    }
}
