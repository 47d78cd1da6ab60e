//! Search requests.

use agentdex_api::{DEFAULT_LIMIT, Mode, SortBy, SortOrder};

use super::{Condition, FacetField, FilterField, Filters};

/// A search request: words, filters, and the part of the answer to return.
///
/// A string converts into a search for its words: `registry.search("weather forecast")`.
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
    /// Query text. If empty or absent, everything that passes the filters matches.
    pub query: Option<String>,
    /// Search mode: by words, by meaning, or both.
    pub mode: Mode,
    /// Minimum cosine of matches by meaning, from 0 to 1. If `None`, the minimum depends on the nearest match. A
    /// saved query has a threshold, so that its results stay the same.
    pub threshold: Option<f32>,
    /// Filters that every hit must pass.
    pub filters: Filters,
    /// Fields for which facets are counted.
    pub facets: Vec<FacetField>,
    /// Text that a facet value must contain to be counted, at most
    /// [`MAX_FACET_QUERY_BYTES`](super::MAX_FACET_QUERY_BYTES) long.
    pub facet_query: Option<String>,
    /// Sort key of the hits.
    pub sort_by: SortBy,
    /// Direction of the sort. In an order by relevance, the best hits always come first.
    pub sort_order: SortOrder,
    /// Maximum number of hits, [`DEFAULT_LIMIT`] by default.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
    /// True if the search waits until all acknowledged writes are searchable.
    pub consistent: bool,
    /// True if hits include the parts of their scores.
    pub explain: bool,
    /// True if hits come with the words of the query marked in their title and description.
    pub highlight: bool,
    /// True for a query that is still being typed. Its last word also matches words with that prefix.
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
            facet_query: None,
            sort_by: SortBy::default(),
            sort_order: SortOrder::default(),
            limit: DEFAULT_LIMIT,
            offset: 0,
            consistent: false,
            explain: false,
            highlight: false,
            typing: false,
        }
    }
}

impl Search {
    /// Creates a search for words, in the query language of `GET /search`.
    pub fn words(query: impl Into<String>) -> Search {
        Search { query: Some(query.into()), ..Search::default() }
    }

    /// Creates a search for all Things that pass the filters.
    pub fn all() -> Search {
        Search::default()
    }

    /// Requires a value of a field, in addition to other required values.
    pub fn filter_all(mut self, field: FilterField, value: impl Into<String>) -> Search {
        self.filters.add_to(Condition::AllOf, field, value);
        self
    }

    /// Excludes a value of a field.
    pub fn filter_not(mut self, field: FilterField, value: impl Into<String>) -> Search {
        self.filters.add_to(Condition::NoneOf, field, value);
        self
    }

    /// Requires a value of a field, as an alternative to other values given for that field.
    pub fn filter(mut self, field: FilterField, value: impl Into<String>) -> Search {
        self.filters.add(field, value);
        self
    }

    /// Replaces all filters.
    pub fn filters(mut self, filters: Filters) -> Search {
        self.filters = filters;
        self
    }

    /// Sets the search mode: by words, by meaning, or both.
    pub fn mode(mut self, mode: Mode) -> Search {
        self.mode = mode;
        self
    }

    /// Sets the minimum cosine of matches by meaning, from 0 to 1.
    pub fn threshold(mut self, threshold: f32) -> Search {
        self.threshold = Some(threshold);
        self
    }

    /// Counts the values of a field.
    pub fn facet(mut self, field: FacetField) -> Search {
        self.facets.push(field);
        self
    }

    /// Counts only facet values that contain a text, regardless of case. Values that begin with the text come first.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Travel planner").id("urn:example:travel").capability("book-hotel"))?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::search::{FacetField, Search};
    ///
    /// let answer = registry.search(Search::all().facet(FacetField::Capability).facet_query("hotel").consistent())?;
    /// assert_eq!(answer.facets[&FacetField::Capability][0].value, "book-hotel");
    /// assert_eq!(answer.facet_totals[&FacetField::Capability], 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn facet_query(mut self, text: impl Into<String>) -> Search {
        self.facet_query = Some(text.into());
        self
    }

    /// Sorts hits by a key, the smallest first, instead of by relevance.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:a"))?;
    /// # registry.register(Description::new("tide agent").id("urn:example:b"))?;
    /// use agentdex::search::{Search, SortBy};
    ///
    /// let answer = registry.search(Search::all().sort_by(SortBy::Title).consistent())?;
    /// let titles: Vec<_> = answer.hits.iter().filter_map(|hit| hit.title.as_deref()).collect();
    /// assert_eq!(titles, ["tide agent", "Weather agent"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sort_by(mut self, key: SortBy) -> Search {
        self.sort_by = key;
        self
    }

    /// Reverses the order: the largest key first.
    pub fn descending(mut self) -> Search {
        self.sort_order = SortOrder::Desc;
        self
    }

    /// Sets the maximum number of hits. Larger values than [`MAX_LIMIT`](super::MAX_LIMIT) are reduced to that limit.
    pub fn limit(mut self, limit: usize) -> Search {
        self.limit = limit;
        self
    }

    /// Sets the number of hits to skip.
    pub fn offset(mut self, offset: usize) -> Search {
        self.offset = offset;
        self
    }

    /// Includes the parts of each hit's score: [`Hit::explanation`](super::Hit::explanation).
    pub fn explain(mut self) -> Search {
        self.explain = true;
        self
    }

    /// Marks the words of the query in the title and description of each hit: [`Hit::highlight`](super::Hit::highlight).
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather forecasts").id("urn:example:weather"))?;
    /// use agentdex::search::Search;
    ///
    /// let answer = registry.search(Search::words("forecast").highlight().consistent())?;
    /// let title = &answer.hits[0].highlight.as_ref().expect("a match in the title").title;
    /// assert_eq!((title[0].text.as_str(), title[0].is_match), ("Weather ", false));
    /// assert_eq!((title[1].text.as_str(), title[1].is_match), ("forecasts", true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn highlight(mut self) -> Search {
        self.highlight = true;
        self
    }

    /// Marks the query as still being typed: the last word also matches words with that prefix, unless a space or
    /// another delimiter follows it.
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

    /// Waits until all acknowledged writes are searchable.
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
