//! `Builder`: opens a registry with options.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    Inner, Registry,
    clock::Clock,
    followers::{
        FlagsFollower, Followers, QueriesFollower, Search, SearchFollower, ShapesFollower, SharedFlags, SharedShapes,
        VectorFollower,
    },
    guarding::Guarding,
    keys::Keys,
    measures::Measures,
    namespaces::Namespaces,
    network::{Network, NetworkOptions},
    options::Options,
    permissions,
    queries::Queries,
    rdf::Rdf,
};
#[cfg(doc)]
use crate::Error;
use crate::{
    Position, Result,
    search::{
        position_of_index,
        semantic::{Meaning, position_of_vectors},
    },
    store::{Named, SharedLog, Store},
    td::Strictness,
};

/// Builder that opens a [`Registry`], created by [`Registry::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is opened"]
pub struct Builder {
    directory: PathBuf,
    options: Options,
    strict: bool,
    pub(super) network: NetworkOptions,
    /// Log of the cluster, if the registry is a node of a cluster.
    pub(super) cluster: Option<SharedLog>,
}

impl Builder {
    fn new(directory: &Path) -> Builder {
        Builder {
            directory: directory.into(),
            options: Options::default(),
            strict: false,
            network: NetworkOptions::default(),
            cluster: None,
        }
    }

    /// Replaces all options. [`Builder::strict`] remains in effect, whichever of the two is called first.
    ///
    /// ```
    /// use agentdex::{Registry, registry::Options};
    /// use std::time::Duration;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// // Searches find what was written half a second ago.
    /// let options = Options::default().refresh_interval(Duration::from_millis(500));
    /// let registry = Registry::builder(directory.path()).options(options).open()?;
    /// assert_eq!(registry.options().refresh_interval, Duration::from_millis(500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn options(mut self, options: Options) -> Builder {
        self.options = options;
        self
    }

    /// Refuses documents with fixable problems, instead of fixing them.
    ///
    /// ```
    /// use agentdex::{Error, Registry};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let registry = Registry::builder(directory.path()).strict().open()?;
    /// // Without `security`, which isn't fixed here.
    /// let agent = r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:tides", "title": "Tides"}"#;
    /// assert!(matches!(registry.register(agent), Err(Error::Invalid(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn strict(mut self) -> Builder {
        self.strict = true;
        self
    }

    /// Opens or creates the registry. If the search index is missing or outdated, it is rebuilt in the background;
    /// see [`Registry::status`].
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] if an option requires a disabled feature of the library, [`Error::StoreInUse`],
    /// [`Error::StoreBehind`], [`Error::StoreDamaged`], [`Error::UnsupportedStoreFormat`], [`Error::ClusterDirectory`]
    /// for the directory of a node that is opened without its cluster, [`Error::ClusterRefused`] for a directory that a
    /// node of this cluster can't use, [`Error::ClusterUnavailable`], [`Error::Store`], [`Error::Index`],
    /// [`Error::Io`].
    pub fn open(mut self) -> Result<Registry> {
        if self.strict {
            self.options.strictness = Strictness::Strict;
        }
        self.options.check_features()?;
        let mut options = self.options.store.clone().followed(followed(&self.directory));
        options.log = self.cluster.or(options.log);
        let store = Store::open(&self.directory, options)?;
        permissions::warn_of_other_users(&self.directory);
        let mut followers = Followers::new();
        let search = Search::new(store.clone());
        let index = SearchFollower::new(self.directory.join("search"), store.clone(), search.clone());
        let indexing = followers.start(index, &store)?;
        let measures = Measures::default();
        let rdf = Rdf::open(self.options.sparql, &mut followers, &store)?;
        let meaning = match self.options.model.clone() {
            Some(model) => {
                let meaning = Meaning::new(model, self.options.semantic_scale);
                let follower = VectorFollower::new(self.directory.join("vectors"), store.clone(), meaning.clone());
                Some((meaning, followers.start(follower, &store)?))
            }
            None => None,
        };
        let flags = Arc::new(SharedFlags::default());
        let flagging = followers.start(FlagsFollower::new(store.clone(), flags.clone()), &store)?;
        let shapes = Arc::new(SharedShapes::default());
        let shaping = followers.start(ShapesFollower::new(store.clone(), shapes.clone()), &store)?;
        let known_meaning = meaning.as_ref().map(|(meaning, _)| meaning.clone());
        let queries = Queries::new(store.clone(), known_meaning);
        followers.start(QueriesFollower::new(&store, queries.clone()), &store)?;
        let guarding = Guarding::open(&self.directory, &self.options.guardian, &mut followers, &store, &measures)?;
        let followers = Arc::new(followers);
        let clock = Clock::start(store.clone(), followers.clone())?;
        let has_tracked_sources = Arc::<AtomicBool>::default();
        let are_tracked = has_tracked_sources.clone();
        store.listen(Arc::new(move |committed| {
            if committed.iter().any(|named| matches!(named, Named::Metadata { .. })) {
                are_tracked.store(true, Ordering::Relaxed);
            }
        }));
        let notes = store.all_metadata()?;
        has_tracked_sources.fetch_or(!notes.is_empty(), Ordering::Relaxed);
        let registry = Registry::of(Arc::new(Inner {
            network: Network::open(self.network, &store, &notes, &measures)?,
            has_tracked_sources,
            rdf,
            guarding,
            clock,
            followers,
            search,
            indexing,
            meaning,
            flags,
            flagging,
            shapes,
            shaping,
            queries,
            keys: Keys::open(&store)?,
            namespaces: Namespaces::new(&store),
            backlog: Default::default(),
            denials: Default::default(),
            store,
            options: self.options,
            measures,
        }));
        registry.load_queries()?;
        #[cfg(feature = "fetch")]
        registry.start_polling()?;
        Ok(registry)
    }
}

/// Returns the last positions of the search index and of the vectors in a directory. A store that ends at an earlier
/// position has lost changes.
#[doc(hidden)]
pub fn followed(directory: &Path) -> Vec<Position> {
    let index = position_of_index(&directory.join("search"));
    index.into_iter().chain(position_of_vectors(&directory.join("vectors"))).collect()
}

impl Registry {
    /// Opens the registry in `directory` with default options. A missing directory is created. To set options, use
    /// [`Registry::builder`].
    ///
    /// ```
    /// # let directory = std::env::temp_dir().join(format!("agentdex-open-{}", std::process::id()));
    /// let registry = agentdex::Registry::open(&directory)?;
    /// assert!(registry.is_empty());
    /// registry.close();
    /// # std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Builder::open`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Registry> {
        Registry::builder(directory).open()
    }

    /// Returns a builder that opens the registry in `directory`. A missing directory is created.
    pub fn builder(directory: impl AsRef<Path>) -> Builder {
        Builder::new(directory.as_ref())
    }
}
