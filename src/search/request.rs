//! What is searched for.

use serde::{Deserialize, Serialize};

use super::{FacetField, FilterField, Filters};

/// Hits without `limit`.
pub const DEFAULT_LIMIT: usize = 10;
/// The most hits of a page.
pub const MAX_LIMIT: usize = 1000;
/// The deepest page: `offset + limit`.
pub const MAX_DEPTH: usize = 10_000;
/// The longest query text in bytes.
pub const MAX_QUERY_BYTES: usize = 4096;

/// What is searched for: words, filters, and which part of the answer is returned.
///
/// A text is a search for its words: `registry.search("weather forecast")`.
///
/// ```
/// use agentdex::search::{FacetField, FilterField, Search};
///
/// let search = Search::words("weather forecast")
///     .filter(FilterField::Protocol, "a2a")
///     .facet(FacetField::Vendor)
///     .limit(20)
///     .consistent();
/// assert_eq!(search.filters.protocol, ["a2a"]);
/// assert!(search.consistent);
/// ```
#[derive(Debug, Clone)]
pub struct Search {
    /// The query text; empty or absent: everything that passes the filters.
    pub query: Option<String>,
    /// Whether words, meaning or both count.
    pub mode: Mode,
    /// The filters.
    pub filters: Filters,
    /// The fields that are counted.
    pub facets: Vec<FacetField>,
    /// Maximum number of hits: [`DEFAULT_LIMIT`] unless given.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
    /// Whether everything is found that was acknowledged before, for which the search waits.
    pub consistent: bool,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            query: None,
            mode: Mode::default(),
            filters: Filters::default(),
            facets: Vec::new(),
            limit: DEFAULT_LIMIT,
            offset: 0,
            consistent: false,
        }
    }
}

impl Search {
    /// Searches for words, in the query language of `GET /search`.
    pub fn words(query: impl Into<String>) -> Search {
        Search { query: Some(query.into()), ..Search::default() }
    }

    /// Finds everything that passes the filters.
    pub fn all() -> Search {
        Search::default()
    }

    /// Finds only what has this value of the field, or another one that it is filtered by.
    pub fn filter(mut self, field: FilterField, value: impl Into<String>) -> Search {
        self.filters.add(field, value);
        self
    }

    /// Replaces all filters.
    pub fn filters(mut self, filters: Filters) -> Search {
        self.filters = filters;
        self
    }

    /// Whether words, meaning or both count.
    pub fn mode(mut self, mode: Mode) -> Search {
        self.mode = mode;
        self
    }

    /// Counts the values of a field.
    pub fn facet(mut self, field: FacetField) -> Search {
        self.facets.push(field);
        self
    }

    /// Maximum number of hits, at most [`MAX_LIMIT`].
    pub fn limit(mut self, limit: usize) -> Search {
        self.limit = limit;
        self
    }

    /// Number of hits to skip.
    pub fn offset(mut self, offset: usize) -> Search {
        self.offset = offset;
        self
    }

    /// Waits until everything is found that was acknowledged before.
    pub fn consistent(mut self) -> Search {
        self.consistent = true;
        self
    }
}

impl From<&str> for Search {
    fn from(query: &str) -> Search {
        Search::words(query)
    }
}

impl From<String> for Search {
    fn from(query: String) -> Search {
        Search::words(query)
    }
}

impl From<&Search> for Search {
    fn from(search: &Search) -> Search {
        search.clone()
    }
}

/// What counts in a search for words.
///
/// ```
/// # use agentdex::{Registry, td::Description};
/// # let directory = tempfile::tempdir()?;
/// # let registry = Registry::open(directory.path())?;
/// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
/// use agentdex::search::{Mode, Search};
///
/// // By its words alone, a search for `umbrella` finds nothing.
/// let search = Search::words("umbrella").mode(Mode::Lexical).consistent();
/// assert_eq!(registry.search(search)?.total, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The words alone.
    Lexical,
    /// The meaning alone.
    Semantic,
    /// Both; the words alone where the registry has no vectors.
    #[default]
    Hybrid,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 3] = [Mode::Lexical, Mode::Semantic, Mode::Hybrid];

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Lexical => "lexical",
            Mode::Semantic => "semantic",
            Mode::Hybrid => "hybrid",
        }
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
