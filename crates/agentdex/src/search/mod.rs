//! Search by capability, on tantivy: the index, its query language, filters and facets.
//!
//! - **What is found**: titles, descriptions, capabilities, affordances and their data, tags, vendors
//!   and types (`entry`), as words (`text`) that a query asks for (`query` has the language).
//! - **By meaning**: beside words, vectors of Things and requests are compared (`semantic`), and both count (`hybrid`).
//! - **In which order**: by BM25 over one field in which titles and names of capabilities count
//!   several times; words that any request has count little; ties are in the order of ids (`rank`).
//! - **Filters**: one of the values given for a field, and of every field that is given some.
//!   Types are compared to the letter, all others (capabilities by id or name) regardless of
//!   case, and facets count accordingly. Filters and facets don't change scores; but where a capability is asked for in a range of
//!   versions (`name@range`), those that have it in the highest come first (`versions`).
//! - **Totals and facets** are exact, and leave out what has expired (`cached` says why that is cheap).
//! - **Nothing found**: words that are spelled alike are tried, and said to be so (`suggest`).
//! - **On disk**: see `directory` and `files`. The position in the log is in each commit; what can't be
//!   read is built again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{access::Access, change::Seq, convert::SearchTerm, td::Flag};

mod cached;
mod collect;
pub mod compatible;
mod directory;
mod documents;
mod entry;
mod facets;
mod failure;
mod files;
mod forms;
mod hidden;
#[cfg(feature = "semantic")]
mod hybrid;
mod index;
mod iri_spellings;
pub mod jsonpath;
mod known_ids;
#[doc(hidden)]
pub mod measure;
mod node;
mod query;
mod queue;
mod rank;
#[cfg(feature = "sparql")]
pub mod rdf;
mod request;
#[doc(hidden)]
pub mod saved;
mod schema;
#[cfg(feature = "semantic")]
pub mod semantic;
mod sight;
mod snapshot;
mod snippet;
#[cfg(feature = "sparql")]
pub mod sparql;
mod suggest;
mod summary;
mod text;
mod union;
mod unseen;
mod version_range;
mod versions;
mod writer;

pub use agentdex_api::{DEFAULT_LIMIT, FacetField, FilterField, Filters, MAX_DEPTH, MAX_LIMIT, MAX_QUERY_BYTES, Mode};
#[doc(hidden)]
pub use hidden::{Hidden, HiddenIds};
#[doc(hidden)]
pub use index::Index;
pub use request::Search;
#[doc(hidden)]
pub use snapshot::Snapshot;
#[doc(hidden)]
pub use writer::IndexWriter;

/// What searches know of meaning: nothing in a build without the feature `semantic`.
#[doc(hidden)]
#[cfg(not(feature = "semantic"))]
#[derive(Debug, Clone, Copy)]
pub enum Meaning {}
#[cfg(feature = "semantic")]
pub use semantic::Meaning;

/// Returns the column of the index that a field is counted by.
fn facet_column(field: FacetField) -> &'static str {
    match field {
        FacetField::Capability => "capability_values",
        FacetField::Type => "type_values",
        FacetField::Tag => "tag_values",
        FacetField::Vendor => "vendor_values",
        FacetField::Protocol => "protocol_values",
        FacetField::Security => "security_values",
        FacetField::Format => "format_values",
        FacetField::Status => "status_values",
        FacetField::Signature => "signature_values",
    }
}

/// What was found.
///
/// ```
/// # use agentdex::{Registry, td::Description};
/// # let directory = tempfile::tempdir()?;
/// # let registry = Registry::open(directory.path())?;
/// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
/// use agentdex::search::{FacetField, Search};
///
/// let answer = registry.search(Search::words("forecasts").facet(FacetField::Type).consistent())?;
/// assert_eq!((answer.total, answer.hits[0].title.as_deref()), (1, Some("Weather agent")));
/// assert_eq!(answer.hits[0].capabilities[0].name, "forecast");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, Serialize)]
pub struct Answer {
    /// How many Things match.
    pub total: u64,
    /// The page.
    pub hits: Vec<Hit>,
    /// The counts asked for, the most frequent value first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facets: BTreeMap<FacetField, Vec<FacetCount>>,
    /// Words that the index has and that were perhaps meant; only where nothing matched exactly.
    pub suggestions: Vec<String>,
    /// What in the query is perhaps not what was meant, such as a field that there isn't.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Whether nothing matched exactly and the hits match words that are spelled alike.
    pub fuzzy: bool,
    /// Says so where the hits are perhaps not what was asked for. Only where meaning counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Every change up to this one is taken into account.
    pub seq: Seq,
}

/// How sure it is that hits are what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// No hit is much like the request, and the best has few of its words.
    Low,
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
    /// What hits are ranked by: the raw scores of words and of meaning together.
    pub score: f32,
    /// How well the words match: the raw BM25 score, 0 where none does.
    pub bm25: f32,
    /// How alike the meaning is: the cosine, where meaning counts and the Thing has vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// What it can do, the best match first; the first five.
    pub capabilities: Vec<CapabilityHit>,
    /// How many capabilities it has that aren't listed.
    pub more_capabilities: usize,
    /// What in its description may be there to deceive; the registry adds it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
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
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its stored form, as JSON.
    pub text: &'a str,
    /// The format it was converted from; none if it came as a TD.
    pub format: Option<&'a str>,
    /// Where descriptions may have texts to search by, beside those of every Thing.
    pub terms: &'a [SearchTerm],
    /// Whose it is, and who sees it; none: everybody does.
    pub access: Option<&'a Access>,
}
