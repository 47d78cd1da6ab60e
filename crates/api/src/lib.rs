//! The wire vocabulary of an agentdex registry: changes, access, filters, queries.
//!
//! Plain data with serde, shared by the registry, its server and its clients: a type that goes over the wire is defined
//! here, once.

mod audit;
mod change;
mod data_search;
mod filters;
mod match_kind;
mod namespace;
mod query;
mod search;
#[doc(hidden)]
pub mod whole_number;

pub mod access;

pub use self::{
    audit::{AuditEntry, Audited},
    change::{Change, ChangeKind, DeletionReason, Epoch, Position, Precondition, Seq},
    data_search::{CompatibleQuery, ComposeQuery},
    filters::{FilterField, Filters},
    match_kind::MatchKind,
    namespace::ClaimedNamespace,
    query::{NamedQuery, QueryParameters},
    search::{DEFAULT_LIMIT, FacetField, MAX_DEPTH, MAX_LIMIT, MAX_QUERY_BYTES, Mode},
};
pub use agentdex_td::Timestamp;
