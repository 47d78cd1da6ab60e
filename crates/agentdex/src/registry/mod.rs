//! `Registry`: the handle of an embedder, and the only place that joins descriptions, store, and search.
//!
//! It owns two kinds of background work: followers of the log ([`followers`], such as the search index, the shapes of
//! capabilities, and saved queries), and the clock for purging and trimming ([`clock`]). Descriptions are written in [`write`], converted
//! documents in [`import`], and searches are answered in [`searches`].

mod audit;
mod authentication;
mod backlog;
pub mod backup;
mod builder;
#[cfg(feature = "guardian")]
mod catch_up;
mod check;
mod clock;
mod cluster;
#[cfg(feature = "cluster")]
mod cluster_options;
mod commit;
mod compatible;
mod compose;
mod denials;
#[cfg(feature = "consumer")]
mod directory;
#[cfg(feature = "fetch")]
mod domains;
mod expiry;
mod export;
mod followers;
#[cfg_attr(not(feature = "guardian"), path = "no_guardian.rs")]
pub mod guardian;
#[cfg_attr(not(feature = "guardian"), path = "no_guarding.rs")]
mod guarding;
mod import;
mod import_options;
#[cfg(feature = "fetch")]
mod issuer;
mod keys;
mod measures;
mod names;
mod namespaces;
#[cfg_attr(not(feature = "fetch"), path = "no_network.rs")]
mod network;
#[cfg(feature = "fetch")]
mod networking;
mod options;
mod own_members;
mod past;
mod permissions;
mod prepare;
mod presence;
mod queries;
#[cfg_attr(not(feature = "sparql"), path = "no_rdf.rs")]
mod rdf;
mod reads;
mod records;
mod redaction;
mod remarks;
#[cfg(feature = "guardian")]
mod responses;
mod returned;
mod salvage;
mod saved_queries;
mod searches;
mod server_metadata;
mod server_namespaces;
mod shared_address;
mod sight;
#[cfg(feature = "sparql")]
mod sparql;
mod status;
mod structure;
mod subscription;
mod thing;
mod thread;
mod thresholds;
#[cfg(feature = "fetch")]
pub mod tracked_sources;
mod versions;
mod view;
mod visibility;
#[cfg(feature = "fetch")]
mod worker;
mod write;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::watch;

#[cfg(feature = "cluster")]
pub use self::cluster_options::ClusterOptions;
#[cfg(feature = "fetch")]
pub use self::issuer::IssuerOptions;
pub use self::{
    backup::{RestoreOptions, Restored, restore, restore_node, restore_with},
    salvage::{InspectionStep, accept_rollback, inspect, inspect_with, salvage},
};
pub use self::{
    builder::Builder,
    compatible::CompatibleAnswer,
    export::{ExportOptions, Exported},
    followers::{FollowerState, FollowerStatus},
    import::{IfExists, Import, Imported},
    keys::Keys,
    measures::{Metric, MetricSource},
    namespaces::{DomainProof, Namespaces},
    options::Options,
    past::Seen,
    presence::Presence,
    queries::{
        Finding, Found, JournalPosition, MAX_QUERIES, MAX_QUERIES_OF_OWNER, QueryEvents, QueryId, SavedQueryEvent,
    },
    reads::Changes,
    records::FullRecords,
    redaction::Redaction,
    searches::Matching,
    status::Status,
    subscription::{Event, Since, Subscription, SubscriptionStream},
    thing::{Thing, Things},
    versions::ThingVersion,
    write::{Write, Written},
};
#[doc(hidden)]
pub use self::{
    builder::followed,
    server_namespaces::{Holding, domain_of},
};
use self::{
    clock::Clock,
    followers::{Followers, Search, Shared, SharedFlags, SharedShapes},
    guarding::Guarding,
    measures::Measures,
    network::Network,
    queries::Queries,
    rdf::Rdf,
};
#[cfg(doc)]
use crate::Error;
#[doc(inline)]
pub use crate::store::{
    AppendCounts, Checked, Expiry, Fault, Inspection, Logged, LoggedChange, Membership, Options as StoreOptions,
    Original, Salvaged, Verdict,
};
use crate::{
    Result,
    access::Caller,
    change::{Epoch, Position, Seq, Timestamp},
    search::semantic::Meaning,
    store::Store,
};
#[doc(inline)]
pub use agentdex_api::{
    AuditChain, AuditEntry, Audited, AuditedState, CapabilityNeighbors, Chain, ClaimedNamespace, CompatibleQuery,
    ComposeQuery, ComposeResult, Effect, FullRecord, MatchKind, NamedQuery, Neighbors, OriginalDocument, QueryName,
    QueryParameters,
};

/// Maximum time that a list waits for the flags of the latest changes.
const FLAGS_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// An agent discovery registry in a directory. Cloning is cheap. Dropping the last clone closes the registry.
///
/// ```
/// # fn main() -> agentdex::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("agentdex-doc-{}", std::process::id()));
/// use agentdex::{Registry, search::Search, td::Description};
///
/// let registry = Registry::open(&directory)?;
/// registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
///
/// let answer = registry.search(Search::words("forecast").consistent())?;
/// assert_eq!(answer.hits[0].id, "urn:example:weather");
///
/// for event in registry.subscribe(agentdex::registry::Since::Oldest) {
///     match event? {
///         agentdex::registry::Event::Change(change) => assert_eq!(change.id, "urn:example:weather"),
///         agentdex::registry::Event::Resync(_) => unreachable!("the log has everything"),
///     }
///     // Wakes whoever waits for changes; the directory is free again.
///     registry.close();
/// }
/// # std::fs::remove_dir_all(directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry(Arc<Inner>, Caller, Option<std::net::IpAddr>);

struct Inner {
    /// Stops first: it uses everything else.
    network: Network,
    /// True if a source was ever tracked: most registries never have to read the store for it.
    has_tracked_sources: Arc<AtomicBool>,
    #[cfg_attr(not(feature = "sparql"), expect(dead_code, reason = "it is empty without the feature"))]
    rdf: Rdf,
    guarding: Guarding,
    clock: Clock,
    followers: Arc<Followers>,
    /// The searchable state of the index.
    search: Arc<Search>,
    /// Follower that keeps the index at the end of the log.
    indexing: Arc<Shared>,
    /// The vectors, and the follower that keeps them at the end of the log.
    meaning: Option<(Arc<Meaning>, Arc<Shared>)>,
    /// The flags of Things.
    flags: Arc<SharedFlags>,
    /// Follower that keeps the flags up to date with the log.
    flagging: Arc<Shared>,
    /// The inputs and outputs of capabilities.
    shapes: Arc<SharedShapes>,
    /// Follower that keeps the shapes at the end of the log.
    shaping: Arc<Shared>,
    /// Queries to be matched with changes, and their events.
    queries: Arc<Queries>,
    /// API keys, each with an owner and a role, for a server that authenticates its clients.
    keys: Keys,
    /// Namespaces, which let several owners share Things.
    namespaces: Namespaces,
    /// Writes that aren't indexed yet, by owner.
    backlog: backlog::Backlog,
    /// Counts of recent denials.
    denials: denials::Denials,
    store: Store,
    options: Options,
    /// Sources of metrics other than its own.
    measures: Measures,
}

impl Registry {
    /// Returns the options with which the registry was opened.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Returns the epoch of the store. A registry gets a new epoch when it is restored from a backup, salvaged, or
    /// accepted after a rollback of its files.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// let (before, id) = (registry.epoch(), registry.registry_id());
    /// registry.close();
    ///
    /// // Opened again, it is the same; a restored backup would have another epoch.
    /// let registry = agentdex::Registry::open(directory.path())?;
    /// assert_eq!((registry.epoch(), registry.registry_id()), (before, id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn epoch(&self) -> Epoch {
        self.0.store.epoch()
    }

    /// Returns the end of the log from which this registry was restored, salvaged, or rolled back, or `None` if it was
    /// not. Positions in that log refer to other changes in this registry.
    pub fn origin(&self) -> Option<Position> {
        self.0.store.origin()
    }

    /// Returns the UUID of the registry, generated when the registry was created. A restored registry keeps the UUID.
    pub fn registry_id(&self) -> uuid::Uuid {
        self.0.store.registry_id()
    }

    /// Returns the API keys, for servers that authenticate their clients.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::access::{NewKey, Role};
    ///
    /// let new = NewKey { role: Role::Read, owner: "weather-team".parse()?, ttl: Some(86_400) };
    /// let (key, secret) = registry.keys().create(new)?;
    /// assert!(registry.keys().authenticate(&secret).is_some());
    ///
    /// registry.keys().revoke(&key.id)?;
    /// assert!(registry.keys().authenticate(&secret).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys(&self) -> &Keys {
        &self.0.keys
    }

    /// Returns the namespaces, for servers that authenticate their clients.
    pub fn namespaces(&self) -> &Namespaces {
        &self.0.namespaces
    }

    /// Returns the position of the last durable change.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// let before = registry.last_seq();
    /// registry.patch("urn:example:weather", r#"{"description": "Forecasts for every city"}"#)?;
    /// assert!(registry.last_seq() > before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_seq(&self) -> Seq {
        *self.0.store.durable().borrow()
    }

    /// Waits briefly until the flags of Things reflect the position `wanted`, and returns the position that they
    /// reflect. Blocks.
    #[doc(hidden)]
    pub fn flags_position(&self, wanted: Seq) -> Seq {
        if self.0.flags.position() < wanted {
            let _ = pollster::block_on(self.0.flagging.wait(wanted, FLAGS_TIMEOUT));
        }
        self.0.flags.position()
    }

    /// Returns a receiver for the durable end of the log, to be watched by followers.
    #[doc(hidden)]
    pub fn durable(&self) -> watch::Receiver<Seq> {
        self.0.store.durable()
    }

    /// Returns the stored cursor of a follower.
    ///
    /// # Errors
    /// [`Error::Store`]
    #[doc(hidden)]
    pub fn position(&self, follower: &str) -> Result<Option<Position>> {
        Ok(self.0.store.local().position(follower))
    }

    /// Stores the cursor of a follower.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    #[doc(hidden)]
    pub fn set_position(&self, follower: &str, cursor: Position) -> Result<()> {
        self.0.store.local().set_position(follower, cursor)
    }

    /// Deletes the cursor of a follower.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    #[doc(hidden)]
    pub fn remove_position(&self, follower: &str) -> Result<()> {
        self.0.store.local().remove_position(follower)
    }

    /// Returns the stored sessions of network followers: the name and content passed to [`Registry::put_session`].
    ///
    /// # Errors
    /// [`Error::Store`]
    #[doc(hidden)]
    pub fn sessions(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.0.store.local().sessions()
    }

    /// Stores a session with the same durability as a cursor.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    #[doc(hidden)]
    pub fn put_session(&self, name: &str, session: Vec<u8>) -> Result<()> {
        self.0.store.local().put_session(name, session)
    }

    /// Deletes a session.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    #[doc(hidden)]
    pub fn remove_session(&self, name: &str) -> Result<()> {
        self.0.store.local().remove_session(name)
    }

    /// True if the source of a Thing is tracked.
    fn is_tracked(&self, id: &str) -> Result<bool> {
        Ok(self.0.has_tracked_sources.load(Ordering::Relaxed) && self.0.store.metadata(id)?.is_some())
    }

    /// Adds the metrics of `source` to those of the registry, until all other references to `source` are dropped.
    pub fn add_metrics(&self, source: &Arc<impl MetricSource + 'static>) {
        self.0.measures.add(source);
    }

    /// Returns the metrics of the registry and of added sources. Values of the same name are summed. Only callers who
    /// see everything get metrics that count hidden Things or steps of agents. Tracked sources are counted only if the
    /// caller sees their Things.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// let metrics = registry.metrics();
    /// assert!(metrics.iter().any(|metric| metric.name == "agentdex_damaged_records" && metric.value == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metrics(&self) -> Vec<Metric> {
        // Not by what is restricted now: that there is something would show.
        let sees_everything = self.grants().is_none();
        let mut metrics = Vec::new();
        if sees_everything {
            metrics.push(Metric {
                name: "agentdex_delayed_queries",
                help: "Saved queries and queries of event streams that are too expensive to keep up with the log.",
                value: self.0.queries.delayed() as u64,
            });
            metrics.push(Metric {
                name: "agentdex_expired_things_total",
                help: "Expired Things that were purged.",
                value: self.0.clock.purged(),
            });
            let damaged = self.0.store.damaged() as u64;
            let help = "Damaged records and pages, which are not served.";
            metrics.push(Metric { name: "agentdex_damaged_records", help, value: damaged });
            metrics.push(Metric {
                name: "agentdex_unwitnessed",
                help: "Whether the witness of the store was missing when the store was opened.",
                value: self.0.store.is_unwitnessed().into(),
            });
        }
        let grants = self.sight();
        let is_seen = |id: &str| grants.as_ref().is_none_or(|grants| self.0.store.is_seen(id, grants));
        metrics.extend(self.0.network.metric(is_seen));
        metrics.extend(self.0.measures.read(sees_everything));
        metrics
    }

    /// Returns the status of the registry: the end of the log, the followers, and whether writes are accepted.
    pub fn status(&self) -> Status {
        Status {
            cursor: Position { epoch: self.epoch(), seq: self.last_seq() }.to_string(),
            things: self.len(),
            followers: self.0.followers.status(),
            closed_to_writes: self.0.store.closed_to_writes(),
            disk_full: self.0.store.check_space().err().map(|error| error.to_string()),
            clock_behind: clock::log_ahead(&self.0.store),
            cluster: self.cluster(),
        }
    }

    /// Resets the time of the log to the clock, if changes were made while the clock was ahead. Returns the time of
    /// the log before and after. Blocks until the reset is durable.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let registry = agentdex::Registry::open(directory.path())?;
    /// let (before, now) = registry.accept_clock()?;
    /// assert_eq!(before, now, "it isn't ahead");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn accept_clock(&self) -> Result<(Timestamp, Timestamp)> {
        self.0.store.accept_clock()
    }

    /// Stops the followers, commits the search index, and releases the directory, even if there are other clones.
    /// Subscriptions and event streams end. Subsequent reads and writes fail with [`Error::ShuttingDown`]. Dropping
    /// the last clone closes the registry, too. Blocks.
    pub fn close(&self) {
        self.0.network.stop();
        self.0.clock.stop();
        self.0.guarding.stop();
        if let Some((meaning, _)) = &self.0.meaning {
            meaning.stop();
        }
        self.0.followers.stop();
        self.0.store.close();
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("status", &self.status()).finish_non_exhaustive()
    }
}
