//! Search requests.

use agentdex_api::{DEFAULT_LIMIT, Mode};

use super::{Condition, FacetField, FilterField, Filters};

/// A search request: words, filters, and the part of the answer to return.
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
    /// Search mode: by words, by meaning or by both.
    pub mode: Mode,
    /// The least cosine of what is found by its meaning, from 0 to 1; none: one that depends on the nearest. A saved
    /// query has one, and so finds the same.
    pub threshold: Option<f32>,
    /// The filters.
    pub filters: Filters,
    /// The fields that are counted.
    pub facets: Vec<FacetField>,
    /// Maximum number of hits: [`DEFAULT_LIMIT`] unless given.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
    /// True if everything is found that was acknowledged before, for which the search waits.
    pub consistent: bool,
    /// True if hits come with the parts of their scores.
    pub explain: bool,
    /// True for a query that is still being typed: its last word counts as itself or as the beginning of another one.
    pub typing: bool,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            query: None,
            mode: Mode::default(),
            threshold: None,
            filters: Filters::default(),
            facets: Vec::new(),
            limit: DEFAULT_LIMIT,
            offset: 0,
            consistent: false,
            explain: false,
            typing: false,
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

    /// Finds only what has each value of the field that it is called with.
    pub fn filter_all(mut self, field: FilterField, value: impl Into<String>) -> Search {
        self.filters.add_to(Condition::AllOf, field, value);
        self
    }

    /// Finds only what doesn't have this value of the field.
    pub fn filter_not(mut self, field: FilterField, value: impl Into<String>) -> Search {
        self.filters.add_to(Condition::NoneOf, field, value);
        self
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

    /// Sets the search mode: by words, by meaning or by both.
    pub fn mode(mut self, mode: Mode) -> Search {
        self.mode = mode;
        self
    }

    /// The least cosine of what is found by its meaning, from 0 to 1.
    pub fn threshold(mut self, threshold: f32) -> Search {
        self.threshold = Some(threshold);
        self
    }

    /// Counts the values of a field.
    pub fn facet(mut self, field: FacetField) -> Search {
        self.facets.push(field);
        self
    }

    /// Maximum number of hits, at most [`MAX_LIMIT`](super::MAX_LIMIT).
    pub fn limit(mut self, limit: usize) -> Search {
        self.limit = limit;
        self
    }

    /// Number of hits to skip.
    pub fn offset(mut self, offset: usize) -> Search {
        self.offset = offset;
        self
    }

    /// Explains the score of each hit by its parts: [`Hit::explanation`](super::Hit::explanation).
    pub fn explain(mut self) -> Search {
        self.explain = true;
        self
    }

    /// Searches as one types: the last word counts as itself or as the beginning of another one, unless a space or
    /// another sign ends it.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Polyglot translator").id("urn:example:translator"))?;
    /// use agentdex::search::Search;
    ///
    /// let search = Search::words("polyglot transla").typing().consistent();
    /// assert_eq!(registry.search(search)?.hits[0].id, "urn:example:translator");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn typing(mut self) -> Search {
        self.typing = true;
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
