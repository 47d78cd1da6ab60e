//! `Registry`: what an embedder holds, and the only place that joins descriptions, store and search.
//!
//! It owns the followers that need no network: the search follower ([`follower`]) and the clock
//! that purges and trims ([`clock`]). What takes descriptions in is in [`write`], and in [`import`]
//! what was converted from other formats.

mod clock;
mod follower;
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

use self::{clock::Clock, follower::SearchFollower};
pub use self::{
    follower::IndexStatus,
    import::{IfExists, Import, Imported},
    thing::{Thing, Things},
    write::{Effect, Write, Written},
};
use crate::{
    Result,
    change::{Change, ChangeKind, Epoch, Position, Seq, Timestamp},
    search::{self, Filters},
    store::{self, Changes, Original, Store},
    td::{self, Document, Report, Strictness},
};

/// How long a search with `consistent` waits for the index.
const CONSISTENCY_TIMEOUT: Duration = Duration::from_secs(5);

/// The most changes beyond the index that a search looks through for removals.
const MAX_UNSEEN_CHANGES: usize = 4096;

/// How a registry treats what it is given. The default suits a directory on one machine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether documents are mended or refused.
    pub strictness: Strictness,
    /// Time to live in seconds of Things that ask for none; none: they live until they are removed.
    pub default_ttl: Option<u64>,
    /// The shortest time to live in seconds; a shorter one is raised, with a warning.
    pub min_ttl: Option<u64>,
    /// The longest time to live in seconds; a longer one is lowered, with a warning.
    pub max_ttl: Option<u64>,
    /// How often the search index takes in what changed.
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

    /// Refuses documents that would have to be mended.
    pub fn strict(mut self) -> Builder {
        self.options.strictness = Strictness::Strict;
        self
    }

    /// Lets the registry import documents by URL, and follow them.
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
        let search = SearchFollower::start(&self.directory, store.clone(), self.options.refresh_interval)?;
        let clock = Clock::start(store.clone())?;
        let notes = store.all_metadata()?;
        let registry = Registry(Arc::new(Inner {
            #[cfg(feature = "fetch")]
            tracker: self
                .tracking
                .map(|tracking| tracked_sources::Tracker::open(tracking, &store, &notes))
                .transpose()?,
            has_tracked_sources: AtomicBool::new(!notes.is_empty()),
            search,
            clock,
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
    /// Whether an import was ever followed: most registries never have to ask.
    has_tracked_sources: AtomicBool,
    search: SearchFollower,
    clock: Clock,
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

/// How the registry is.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The durable end of the log.
    pub cursor: String,
    /// How many Things there are.
    pub things: u64,
    /// Whether search answers.
    pub index: IndexStatus,
    /// Why writes are refused, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_to_writes: Option<String>,
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

    /// The Thing of that id, unless it has expired. The id may be one that [`td::normalize_id`] mends.
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

    /// Searches. A write is seen once it was acknowledged longer than [`Options::refresh_interval`]
    /// ago, or at once where `consistent` is set: then this waits for one index commit, shared with
    /// all who wait. Blocks.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`], [`Error::LimitExceeded`], [`Error::IndexRebuilding`],
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::Index`].
    pub fn search(&self, request: &search::Request, consistent: bool) -> Result<Answer> {
        if consistent {
            self.refresh()?;
        }
        let index = self.0.search.index()?;
        let seq = index.cursor().map_or(Seq::ZERO, |cursor| cursor.seq);
        Ok(Answer { response: index.search(request, &self.gone_since(seq)?)?, seq })
    }

    /// The ids of all Things that pass the filters and match the query, ascending. Blocks.
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn ids_matching(&self, query: Option<&str>, filters: &Filters, consistent: bool) -> Result<Vec<String>> {
        if consistent {
            self.refresh()?;
        }
        let index = self.0.search.index()?;
        let seq = index.cursor().map_or(Seq::ZERO, |cursor| cursor.seq);
        index.ids(query, filters, &self.gone_since(seq)?)
    }

    /// What the index still has and nobody may find: Things that have expired, or were removed
    /// after `seq`. Usually none.
    fn gone_since(&self, seq: Seq) -> Result<Vec<String>> {
        let mut gone = self.expired()?;
        if self.last_seq() > seq {
            let changes = self.0.store.changes(seq, MAX_UNSEEN_CHANGES)?.changes;
            let removed = changes.iter().filter(|change| change.kind == ChangeKind::Deleted);
            gone.extend(removed.map(|change| change.id.clone()));
        }
        Ok(gone)
    }

    /// Waits until everything acknowledged so far can be searched. Blocks.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::IndexRebuilding`], [`Error::ShuttingDown`].
    pub fn refresh(&self) -> Result<Seq> {
        self.0.search.refresh(self.last_seq(), CONSISTENCY_TIMEOUT)
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
    /// refused, warnings of what would be mended.
    ///
    /// # Errors
    /// [`Error::MalformedJson`], [`Error::LimitExceeded`].
    pub fn validate(&self, json: &[u8]) -> Result<Report> {
        Ok(td::assess(Document::parse(json)?, self.options().strictness))
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

    /// Whether the source of a Thing is followed.
    fn is_tracked(&self, id: &str) -> Result<bool> {
        Ok(self.0.has_tracked_sources.load(Ordering::Relaxed) && self.0.store.metadata(id)?.is_some())
    }

    /// How the registry is: the end of the log, the state of the search index, whether it takes writes.
    pub fn status(&self) -> Status {
        Status {
            cursor: Position { epoch: self.epoch(), seq: self.last_seq() }.to_string(),
            things: self.len(),
            index: self.0.search.status(),
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
        self.0.search.stop();
        self.0.store.close();
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("status", &self.status()).finish_non_exhaustive()
    }
}
