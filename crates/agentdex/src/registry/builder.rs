//! How a registry is opened.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

#[cfg(feature = "guardian")]
use super::guardian;
use super::{
    Inner, Registry,
    clock::Clock,
    followers::{
        FlagsFollower, Followers, QueriesFollower, Search, SearchFollower, ShapesFollower, SharedFlags, SharedShapes,
    },
    keys::Keys,
    measures::Measures,
    namespaces::Namespaces,
    options::Options,
    queries::Queries,
};
#[cfg(feature = "fetch")]
use super::{
    issuer::{Issuer, IssuerOptions},
    tracked_sources,
};
#[cfg(doc)]
use crate::Error;
use crate::{Result, store::Store, td::Strictness};

/// Opens a [`Registry`]; made by [`Registry::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is opened"]
pub struct Builder {
    directory: PathBuf,
    options: Options,
    strict: bool,
    #[cfg(feature = "fetch")]
    tracking: Option<tracked_sources::Tracking>,
    #[cfg(feature = "fetch")]
    issuer: Option<IssuerOptions>,
}

impl Builder {
    fn new(directory: &Path) -> Builder {
        Builder {
            directory: directory.into(),
            options: Options::default(),
            strict: false,
            #[cfg(feature = "fetch")]
            tracking: None,
            #[cfg(feature = "fetch")]
            issuer: None,
        }
    }

    /// Replaces all options; [`Builder::strict`] stays, whichever of the two is called first.
    ///
    /// ```
    /// use agentdex::{Registry, registry::Options};
    /// use std::time::Duration;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// // Searches find what was written half a second ago.
    /// let options = Options { refresh_interval: Duration::from_millis(500), ..Options::default() };
    /// let registry = Registry::builder(directory.path()).options(options).open()?;
    /// assert_eq!(registry.options().refresh_interval, Duration::from_millis(500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn options(mut self, options: Options) -> Builder {
        self.options = options;
        self
    }

    /// Refuses documents that need a fix.
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

    /// Lets the registry import documents by URL, and poll those URLs for changes.
    #[cfg(feature = "fetch")]
    pub fn tracking(mut self, tracking: tracked_sources::Tracking) -> Builder {
        self.tracking = Some(tracking);
        self
    }

    /// Lets clients of servers that authenticate prove who they are with tokens of an issuer, beside API keys.
    #[cfg(feature = "fetch")]
    pub fn issuer(mut self, issuer: IssuerOptions) -> Builder {
        self.issuer = Some(issuer);
        self
    }

    /// Opens or creates the registry. A missing or outdated search index is rebuilt in the
    /// background: see [`Registry::status`].
    ///
    /// # Errors
    /// [`Error::StoreInUse`], [`Error::UnsupportedStoreFormat`], [`Error::Store`], [`Error::Index`], [`Error::Io`].
    pub fn open(mut self) -> Result<Registry> {
        if self.strict {
            self.options.strictness = Strictness::Strict;
        }
        let store = Store::open(&self.directory, self.options.store.clone())?;
        let mut followers = Followers::new();
        let search = Search::new(store.clone());
        let index = SearchFollower::new(self.directory.join("search"), store.clone(), search.clone());
        let indexing = followers.start(index, &store)?;
        #[cfg(feature = "sparql")]
        let sparql = if self.options.sparql {
            let quads = super::followers::Quads::new(store.clone());
            let following =
                followers.start(super::followers::QuadFollower::new(store.clone(), quads.clone()), &store)?;
            Some(super::followers::Sparql { quads, following, running: Default::default() })
        } else {
            None
        };
        #[cfg(feature = "semantic")]
        let meaning = match self.options.model.clone() {
            Some(model) => {
                let meaning = crate::search::semantic::Meaning::new(model, self.options.semantic_scale);
                let path = self.directory.join("vectors");
                let follower = super::followers::VectorFollower::new(path, store.clone(), meaning.clone());
                Some((meaning, followers.start(follower, &store)?))
            }
            None => None,
        };
        let flags = Arc::new(SharedFlags::default());
        followers.start(FlagsFollower::new(store.clone(), flags.clone()), &store)?;
        let shapes = Arc::new(SharedShapes::default());
        let shaping = followers.start(ShapesFollower::new(store.clone(), shapes.clone()), &store)?;
        #[cfg(feature = "semantic")]
        let known_meaning = meaning.as_ref().map(|(meaning, _)| meaning.clone());
        #[cfg(not(feature = "semantic"))]
        let known_meaning = None;
        let queries = Queries::new(store.clone(), known_meaning);
        followers.start(QueriesFollower::new(&store, queries.clone()), &store)?;
        #[cfg(feature = "guardian")]
        let (guardian, guarding) = {
            let agents = guardian::Guardian::agents(&store, &self.options.guardian);
            let following = followers.start(super::followers::GuardianFollower::new(&store, agents.clone()), &store)?;
            (guardian::Guardian::open(&self.directory, self.options.guardian.clone(), agents)?, following)
        };
        let followers = Arc::new(followers);
        let clock = Clock::start(store.clone(), followers.clone())?;
        let notes = store.all_metadata()?;
        let registry = Registry::of(Arc::new(Inner {
            #[cfg(feature = "fetch")]
            tracker: self
                .tracking
                .map(|tracking| tracked_sources::Tracker::open(tracking, &store, &notes))
                .transpose()?,
            #[cfg(feature = "fetch")]
            issuer: self.issuer.map(Issuer::start).transpose()?,
            has_tracked_sources: AtomicBool::new(!notes.is_empty()),
            #[cfg(feature = "sparql")]
            sparql,
            #[cfg(feature = "sparql")]
            expander: crate::td::json_ld::Expander::new(),
            #[cfg(feature = "guardian")]
            guardian,
            #[cfg(feature = "guardian")]
            guarding,
            clock,
            followers,
            search,
            indexing,
            #[cfg(feature = "semantic")]
            meaning,
            flags,
            shapes,
            shaping,
            queries,
            keys: Keys::open(&store)?,
            namespaces: Namespaces::open(&store)?,
            denials: Default::default(),
            store,
            options: self.options,
            measures: Measures::default(),
        }));
        #[cfg(feature = "guardian")]
        registry.add_metrics(registry.guardian());
        #[cfg(feature = "fetch")]
        if let Some(issuer) = &registry.0.issuer {
            registry.add_metrics(issuer);
        }
        registry.load_queries()?;
        #[cfg(feature = "fetch")]
        registry.start_polling()?;
        Ok(registry)
    }
}

impl Registry {
    /// Opens the registry in `directory`, which is created where it is missing. [`Registry::builder`] opens it with
    /// other options.
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
    /// As [`Builder::open`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Registry> {
        Registry::builder(directory).open()
    }

    /// Starts to open the registry in `directory`, which is created where it is missing.
    pub fn builder(directory: impl AsRef<Path>) -> Builder {
        Builder::new(directory.as_ref())
    }
}
