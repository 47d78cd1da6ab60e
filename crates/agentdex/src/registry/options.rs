//! How a registry treats what it is given.

use std::time::Duration;

#[cfg(feature = "guardian")]
use super::guardian;
use crate::{store, td::Strictness};

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
    /// Whether SPARQL queries are answered, for which the statements of all descriptions are held in memory: 10 to
    /// 20 KB for one of 3.6 KB.
    #[cfg(feature = "sparql")]
    pub sparql: bool,
    /// What makes the vectors that searches by meaning compare; none: words alone count.
    #[cfg(feature = "semantic")]
    pub model: Option<crate::search::semantic::Model>,
    /// What a cosine of 1 counts beside BM25 in the score of a hit; none: [`crate::search::semantic::Model::scale`].
    #[cfg(feature = "semantic")]
    pub semantic_scale: Option<f32>,
    /// How decisions are made of the steps that agents report.
    #[cfg(feature = "guardian")]
    pub guardian: guardian::Options,
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
            #[cfg(feature = "sparql")]
            sparql: false,
            #[cfg(feature = "semantic")]
            model: Some(crate::search::semantic::Model::BuiltIn),
            #[cfg(feature = "semantic")]
            semantic_scale: None,
            #[cfg(feature = "guardian")]
            guardian: guardian::Options::default(),
            store: store::Options::default(),
        }
    }
}
