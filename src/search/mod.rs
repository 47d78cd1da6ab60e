//! Search by capability, on tantivy: the index, its query language, filters and facets.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Result, change::Cursor};

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The query text; empty or absent: everything that passes the filters.
    pub query: Option<String>,
    /// The filters.
    pub filters: Filters,
    /// The fields that are counted.
    pub facets: Vec<FacetField>,
    /// How many hits; see [`crate::search::DEFAULT_LIMIT`].
    pub limit: usize,
    /// How many hits are passed over first.
    pub offset: usize,
}

impl Request {
    /// Looks for words, with the default limit.
    pub fn words(query: impl Into<String>) -> Request {
        Request { query: Some(query.into()), limit: DEFAULT_LIMIT, ..Request::default() }
    }
}

/// Hits without `limit`.
pub const DEFAULT_LIMIT: usize = 10;
/// The most hits of a page.
pub const MAX_LIMIT: usize = 1000;
/// The deepest page: `offset + limit`.
pub const MAX_DEPTH: usize = 10_000;
/// The longest query text in bytes.
pub const MAX_QUERY_BYTES: usize = 1024;

/// Values that a Thing must have: one of those within a field, and of every field that has some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// Ids or names of capabilities.
    pub capability: Vec<String>,
    /// Values of `@type`.
    pub type_: Vec<String>,
    /// Tags.
    pub tag: Vec<String>,
    /// Vendor names.
    pub vendor: Vec<String>,
    /// Protocols of the forms: `http`, `mqtt`, `ws`, `coap`, `a2a`, `mcp`…
    pub protocol: Vec<String>,
    /// Names of security schemes: `nosec`, `bearer`…
    pub security: Vec<String>,
    /// Formats that descriptions were converted from; `td` for those that came as TDs.
    pub format: Vec<String>,
}

impl Filters {
    /// Whether everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Filters::default()
    }
}

/// A field that can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FacetField {
    /// Capability keys.
    Capability,
    /// `@type`
    Type,
    /// Tags.
    Tag,
    /// Vendors.
    Vendor,
    /// Protocols.
    Protocol,
    /// Security schemes.
    Security,
    /// Source formats.
    Format,
}

/// The answer.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Response {
    /// How many Things match.
    pub total: u64,
    /// The page.
    pub hits: Vec<Hit>,
    /// The counts asked for, the most frequent value first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facets: BTreeMap<FacetField, Vec<FacetCount>>,
    /// Words that the index has and that were perhaps meant; only where nothing matched exactly.
    pub suggestions: Vec<String>,
    /// Whether nothing matched exactly and the hits match words that are spelled alike.
    pub fuzzy: bool,
}

/// One Thing that matches.
#[derive(Debug, Clone, Serialize)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Raw BM25 score.
    pub score: f32,
    /// What it can do, the best match first.
    pub capabilities: Vec<CapabilityHit>,
}

/// A capability of a hit.
#[derive(Debug, Clone, Serialize)]
pub struct CapabilityHit {
    /// Its key.
    pub name: String,
    /// Its text as HTML, escaped, with matches in `<b>`.
    pub snippet: String,
}

/// How often a value occurs among the matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FacetCount {
    /// The value.
    pub value: String,
    /// How many matching Things have it.
    pub count: u64,
}

/// What is indexed of a Thing.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its stored form.
    pub thing: &'a serde_json::Value,
    /// The format it was converted from; none if it came as a TD.
    pub format: Option<&'a str>,
}

/// Readers search while one writer (the registry's follower loop) adds, deletes and commits.
/// Cloning is cheap.
#[derive(Clone)]
pub struct Index {
    _inner: (),
}

/// The one writer of an index.
pub struct IndexWriter {
    _inner: (),
}

impl Index {
    /// Opens the index in a directory; none if there is none, or one that this version can't read:
    /// it is to be built anew by [`Index::create`].
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn open(_directory: &Path) -> Result<Option<(Index, IndexWriter, Cursor)>> {
        todo!()
    }

    /// Starts an empty index in a new directory beside the old one. The first
    /// [`IndexWriter::commit`] puts it in the old one's place.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn create(_directory: &Path) -> Result<(Index, IndexWriter)> {
        todo!()
    }

    /// The last change whose effect can be searched.
    pub fn cursor(&self) -> Option<Cursor> {
        todo!()
    }

    /// Searches; `expired` are ids that the index still has and that must not be found.
    ///
    /// # Errors
    /// [`crate::Error::InvalidQuery`], [`crate::Error::LimitExceeded`], [`crate::Error::Index`].
    pub fn search(&self, _request: &Request, _expired: &[String]) -> Result<Response> {
        todo!()
    }

    /// The ids of all Things that pass the filters (and match the query), ascending.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn ids(&self, _query: Option<&str>, _filters: &Filters, _expired: &[String]) -> Result<Vec<String>> {
        todo!()
    }
}

impl IndexWriter {
    /// Adds a Thing, in place of what has its id.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn put(&mut self, _entry: Entry<'_>) -> Result<()> {
        todo!()
    }

    /// Takes a Thing out.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn delete(&mut self, _id: &str) -> Result<()> {
        todo!()
    }

    /// Makes everything since the last commit durable and visible, the cursor with it.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn commit(&mut self, _cursor: Cursor) -> Result<()> {
        todo!()
    }
}
