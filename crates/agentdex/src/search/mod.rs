//! Search by capability, based on tantivy: the index, the query language, filters, and facets.
//!
//! - **Searched content**: titles, descriptions, capabilities, affordances and their data, tags, vendors, and types
//!   (`entry`), split into words (`text`). The query language is in `query`.
//! - **Meaning**: vectors of Things and requests are compared (`semantic`) and combined with the words (`hybrid`).
//! - **Ranking**: by BM25 over a single field that contains titles and names of capabilities several times. Words
//!   common to most requests have little weight. Ties are broken by id (`rank`).
//! - **Filters**: a Thing must have at least one of the values given for each field. A `Condition` can also require
//!   all values, or exclude some. There are also version ranges and periods. Types are compared exactly; all other
//!   values (capabilities by id or name) are compared without regard to case, and facets count accordingly. Filters
//!   and facets don't change scores, except that a version range of a capability (`name@range`) ranks Things with the
//!   highest version first (`versions`).
//! - **Sorting** by title, id, or time arranges the same hits in another order (`sorting`).
//! - **Totals and facets** are exact and exclude expired Things (for the cost see `cached`). A facet ignores the
//!   filter of its own field, so it shows the alternatives.
//! - **Scores** are explained by their parts, and related to the best possible score of a request (`explanation`).
//! - **Corrections**: if nothing is found, words with a similar spelling are searched, and the answer says so
//!   (`suggest`).
//! - **Storage**: see `directory` and `files`. Each commit contains the position in the log. An unreadable index is
//!   rebuilt.

use crate::{access::Access, change::Timestamp, convert::SearchTerm};

mod cached;
mod collect;
pub mod compatible;
mod containment;
mod directory;
mod documents;
mod entry;
mod explanation;
mod facets;
mod failure;
mod files;
mod followed;
mod forms;
mod hidden;
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
mod restricted;
#[doc(hidden)]
pub mod saved;
mod schema;
#[cfg_attr(not(feature = "semantic"), path = "no_semantic.rs")]
pub mod semantic;
mod sight;
mod snapshot;
mod snippet;
mod sorting;
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

#[doc(inline)]
pub use agentdex_api::{
    Answer, CapabilityHit, Condition, Confidence, Correction, DEFAULT_LIMIT, Explanation, FacetCount, FacetField,
    FilterField, Filters, Highlight, Hit, MAX_DEPTH, MAX_FACET_QUERY_BYTES, MAX_LIMIT, MAX_QUERY_BYTES, MeaningScore,
    Mode, Period, Segment, SortBy, SortOrder, TitleScore, WordScore,
};
#[doc(hidden)]
pub use failure::may_be_damage;
#[doc(hidden)]
pub use files::Inspection;
#[doc(hidden)]
pub use followed::position_of_index;
#[doc(hidden)]
pub use hidden::{Hidden, HiddenIds};
pub use index::Index;
pub use request::Search;
pub use restricted::{RestrictedDocuments, RestrictedThings};
#[doc(hidden)]
pub use snapshot::Snapshot;
pub(crate) use versions::choose_version;
#[doc(hidden)]
pub use writer::IndexWriter;

#[doc(hidden)]
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

/// A Thing to be indexed.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Id of the Thing.
    pub id: &'a str,
    /// Stored text of the Thing, as JSON.
    pub text: &'a str,
    /// Format from which the Thing was converted, or `None` if it was registered as a TD.
    pub format: Option<&'a str>,
    /// Format-specific search terms, in addition to those common to all Things.
    pub terms: &'a [SearchTerm],
    /// Owner and visibility. If `None`, the Thing is public.
    pub access: Option<&'a Access>,
    /// Times of creation and last change. If `None`, the Thing matches no period.
    pub moments: Option<Moments>,
}

/// Times of a Thing, for searches by period.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    /// Time of creation.
    pub created: Timestamp,
    /// Time of the last change.
    pub modified: Timestamp,
}
