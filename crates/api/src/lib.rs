//! Wire types of an agentdex registry: changes, access, filters, queries.
//!
//! Plain data types with serde, shared by the registry, its server, and its clients. Each type that is sent over the
//! network is defined here, and only here. This crate reads no clock, file, or socket.
//!
//! - [`Change`], [`Position`], [`Seq`]: the change feed; [`Precondition`]: the condition of a write;
//! - [`Filters`], [`Mode`], [`FacetField`], [`QueryParameters`]: searches and saved queries;
//! - [`CompatibleQuery`], [`ComposeQuery`]: searches by data schemas, with [`CompatibleResult`], [`ComposeResult`];
//! - [`Answer`], [`ThingCollection`], [`Summary`]: hits and lists; [`Created`], [`DryRun`], [`BatchResult`]: writes;
//! - [`Imported`], [`Converted`], [`TrackedSource`], [`FullRecord`]: documents of other formats, records;
//! - [`Turn`], [`Answered`], [`TurnEvent`], [`SacpReading`]: conversations; [`PropertyValue`], [`AgentEvent`]: properties and events of agents;
//! - [`About`], [`Ready`], [`ClockAccepted`], [`Cluster`], [`ProtectedResource`]: the registry itself; [`Problem`]:
//!   failures;
//! - [`mcp_registry`]: the API of MCP registries;
//! - [`ClientConfigurations`]: configurations of MCP clients;
//! - [`access`]: roles, API keys, owners and visibility;
//! - [`guardian`]: decisions about the steps of agents, and their trail;
//! - [`AuditEntry`]: the audit trail.

mod about;
pub mod access;
mod affordance;
mod answer;
mod audit;
mod change;
mod changes;
mod client_configuration;
mod cluster;
mod compatible;
mod conversation;
mod converted;
mod data_search;
mod filters;
pub mod guardian;
mod listing;
mod match_kind;
pub mod mcp_registry;
mod namespace;
mod position;
mod problem;
mod query;
mod record;
mod sacp;
#[cfg(feature = "schema")]
mod schema;
mod search;
mod tracked_source;
mod validation;
mod whole_number;
mod write;

pub use self::{
    about::{
        About, CallerAccess, ClockAccepted, DocumentFormat, Follower, FormatParameter, Live, ProtectedResource, Ready,
        SignIn,
    },
    affordance::{AgentEvent, NewPropertyValue, PropertyValue},
    answer::{
        Answer, CapabilityHit, Confidence, Correction, Explanation, FacetCount, Highlight, Hit, LeftOut, Link,
        MeaningScore, Segment, TitleScore, WordScore,
    },
    audit::{AuditChain, AuditEntry, Audited, AuditedState},
    change::{Change, ChangeKind, DeletionReason, Precondition},
    changes::{Changes, History},
    client_configuration::{ClientConfiguration, ClientConfigurations, ConfigurationVariable},
    cluster::{Cluster, ClusterNode, Verification},
    compatible::{
        CapabilityNeighbors, Chain, ChainLink, ChainStep, CompatibleHit, CompatibleResult, ComposeResult, DataLink,
        MissingData, Neighbors, Side,
    },
    conversation::{Answered, Turn, TurnEvent, TurnStatus},
    converted::{Converted, ExportedDocument},
    data_search::{CompatibleQuery, ComposeQuery},
    filters::{Condition, FilterField, Filters, Period, STATUSES},
    listing::{CapabilitySummary, Summary, ThingCollection},
    match_kind::MatchKind,
    namespace::{ClaimedNamespace, Membership},
    position::{Cursor, Epoch, ParsePositionError, Position, Seq},
    problem::{Problem, ValidationError},
    query::{NamedQuery, QueryName, QueryParameters},
    record::{FullRecord, OriginalDocument, RecordVersion},
    sacp::{Found, Repair, SacpReading},
    search::{
        DEFAULT_LIMIT, FacetField, MAX_DEPTH, MAX_FACET_QUERY_BYTES, MAX_LIMIT, MAX_QUERY_BYTES, Mode, SortBy,
        SortOrder,
    },
    tracked_source::{RefreshResult, Refreshed, Revision, SourceStatus, TrackedSource},
    validation::ValidationReport,
    write::{BatchResult, Created, DryRun, Effect, Imported, Version},
};
pub use agentdex_td::Timestamp;

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
