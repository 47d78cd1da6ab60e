//! Registry options.

use std::time::Duration;

use super::{guardian, redaction::Redaction};
use crate::{Error, Result, search::semantic::Model, store, td::Strictness};

/// Options of a registry.
///
/// The fields are the same with all features of the library. Values that require a disabled feature are rejected when a
/// registry is opened.
///
/// ```
/// use agentdex::registry::{Options, StoreOptions};
/// use std::time::Duration;
///
/// let options = Options::default()
///     .default_ttl(3600)
///     .refresh_interval(Duration::from_millis(500))
///     .store(StoreOptions::default().retained_changes(10_000));
/// assert_eq!((options.default_ttl, options.store.retained_changes), (Some(3600), 10_000));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Treatment of documents with fixable problems.
    pub strictness: Strictness,
    /// Treatment of credentials in Thing Descriptions.
    pub redaction: Redaction,
    /// Default time to live of Things in seconds; `None` keeps them until they are removed.
    pub default_ttl: Option<u64>,
    /// Minimum time to live in seconds. Shorter times are raised, with a warning.
    pub min_ttl: Option<u64>,
    /// Maximum time to live in seconds. Longer times are lowered, with a warning.
    pub max_ttl: Option<u64>,
    /// Maximum time after which a search finds a write.
    pub refresh_interval: Duration,
    /// True to answer SPARQL queries. The statements of all descriptions are then kept in memory, 10 to 20 KB for a
    /// description of 3.6 KB. Requires the feature `sparql`.
    pub sparql: bool,
    /// Model for searches by meaning; `None` to search by words only. The default is the built-in table with the
    /// feature `semantic`, and `None` without.
    pub model: Option<Model>,
    /// Score that a cosine of 1 adds to the BM25 score of a hit; `None` uses [`Model::scale`]. Requires the feature
    /// `semantic`.
    pub semantic_scale: Option<f32>,
    /// Options of the guardian, which judges steps reported by agents. Empty without the feature `guardian`.
    pub guardian: guardian::Options,
    /// Options of the store.
    pub store: store::Options,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strictness: Strictness::Lenient,
            redaction: Redaction::Flag,
            default_ttl: None,
            min_ttl: None,
            max_ttl: None,
            refresh_interval: Duration::from_millis(100),
            sparql: false,
            model: Model::built_in(),
            semantic_scale: None,
            guardian: guardian::Options::default(),
            store: store::Options::default(),
        }
    }
}

impl Options {
    /// Sets [`Options::strictness`].
    pub fn strictness(mut self, strictness: Strictness) -> Options {
        self.strictness = strictness;
        self
    }

    /// Sets [`Options::redaction`].
    pub fn redaction(mut self, redaction: Redaction) -> Options {
        self.redaction = redaction;
        self
    }

    /// Sets [`Options::default_ttl`], in seconds.
    pub fn default_ttl(mut self, seconds: impl Into<Option<u64>>) -> Options {
        self.default_ttl = seconds.into();
        self
    }

    /// Sets [`Options::min_ttl`], in seconds.
    pub fn min_ttl(mut self, seconds: impl Into<Option<u64>>) -> Options {
        self.min_ttl = seconds.into();
        self
    }

    /// Sets [`Options::max_ttl`], in seconds.
    pub fn max_ttl(mut self, seconds: impl Into<Option<u64>>) -> Options {
        self.max_ttl = seconds.into();
        self
    }

    /// Sets [`Options::refresh_interval`].
    pub fn refresh_interval(mut self, interval: Duration) -> Options {
        self.refresh_interval = interval;
        self
    }

    /// Sets [`Options::sparql`].
    pub fn sparql(mut self, answered: bool) -> Options {
        self.sparql = answered;
        self
    }

    /// Sets [`Options::model`].
    pub fn model(mut self, model: impl Into<Option<Model>>) -> Options {
        self.model = model.into();
        self
    }

    /// Sets [`Options::semantic_scale`].
    pub fn semantic_scale(mut self, scale: impl Into<Option<f32>>) -> Options {
        self.semantic_scale = scale.into();
        self
    }

    /// Sets [`Options::guardian`].
    pub fn guardian(mut self, options: guardian::Options) -> Options {
        self.guardian = options;
        self
    }

    /// Sets [`Options::store`].
    pub fn store(mut self, options: store::Options) -> Options {
        self.store = options;
        self
    }

    /// Checks that all features needed by the options are enabled.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] with the name of the missing feature.
    pub(super) fn check_features(&self) -> Result<()> {
        let needed = [
            ("sparql", "sparql", self.sparql, cfg!(feature = "sparql")),
            ("semantic_scale", "semantic", self.semantic_scale.is_some(), cfg!(feature = "semantic")),
        ];
        match needed.into_iter().find(|(.., is_set, is_built)| *is_set && !is_built) {
            Some((option, feature, ..)) => Err(Error::InvalidSetting {
                origin: format!("option {option}"),
                message: format!("this library was built without the feature `{feature}`"),
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[test]
    fn options_without_their_feature_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refusal = |options| match Registry::builder(directory.path()).options(options).open() {
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        assert_eq!(refusal(Options::default()), None);
        for (options, feature, is_built) in [
            (Options::default().sparql(true), "`sparql`", cfg!(feature = "sparql")),
            (Options::default().semantic_scale(20.0), "`semantic`", cfg!(feature = "semantic")),
        ] {
            let refusal = refusal(options);
            assert_eq!(refusal.is_none(), is_built, "{feature}: {refusal:?}");
            assert!(refusal.is_none_or(|message| message.contains(feature)));
        }
    }
}
