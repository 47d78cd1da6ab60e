//! Search by capability, on tantivy: the index, its query language, filters and facets.
//!
//! - **What is found**: titles, descriptions, capabilities, affordances and their data, tags, vendors
//!   and types (`entry`), as words (`text`) that a query asks for (`query` has the language).
//! - **By meaning**: beside words, vectors of Things and requests are compared (`semantic`), and both count (`hybrid`).
//! - **In which order**: by BM25 over one field in which titles and names of capabilities count
//!   several times; words that any request has count little; ties are in the order of ids (`rank`).
//! - **Filters**: one of the values given for a field, and of every field that is given some; each of several values and
//!   none of them (`Condition`); ranges of versions, and periods.
//!   Types are compared to the letter, all others (capabilities by id or name) regardless of
//!   case, and facets count accordingly. Filters and facets don't change scores; but where a capability is asked for in a range of
//!   versions (`name@range`), those that have it in the highest come first (`versions`).
//! - **Totals and facets** are exact, and leave out what has expired (`cached` says why that is cheap). A facet ignores the
//!   filter of its own field, so that it shows the alternatives.
//! - **Scores** are explained by their parts, and put in relation to the best that a request could get (`explanation`).
//! - **Nothing found**: words that are spelled alike are tried, and said to be so (`suggest`).
//! - **On disk**: see `directory` and `files`. The position in the log is in each commit; what can't be
//!   read is built again.

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
    FilterField, Filters, Hit, MAX_DEPTH, MAX_LIMIT, MAX_QUERY_BYTES, MeaningScore, Mode, Period, TitleScore,
    WordScore,
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

/// A Thing as it is indexed.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its stored form, as JSON.
    pub text: &'a str,
    /// The format it was converted from; none if it came as a TD.
    pub format: Option<&'a str>,
    /// Members with texts to search by, beside those of every Thing.
    pub terms: &'a [SearchTerm],
    /// Owner and visibility; without one it is public.
    pub access: Option<&'a Access>,
    /// When it was created and last changed; without them it is in no period.
    pub moments: Option<Moments>,
}

/// The moments of a Thing that searches can ask for.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    /// The moment of its creation.
    pub created: Timestamp,
    /// The moment of its last change.
    pub modified: Timestamp,
}
