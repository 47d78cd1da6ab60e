//! Thing Descriptions of software agents: parsing, validation, fixes, merge patch, JSON-LD.
//!
//! Agents are described as Eclipse LMOS agents: W3C Web of Things Thing Descriptions (TD) 1.0 or 1.1 with the LMOS
//! vocabulary. [`Document::parse`] parses a description, [`validate`] returns its violations with JSON Pointers, and
//! [`admit`] fixes it and returns a valid [`ThingDescription`].
//!
//! The text of a document is preserved, including member order and number tokens. Edits, such as a fixed id or an
//! added security scheme, change only the affected members.
//!
//! ```
//! use agentdex_td::{Document, Layers, validate};
//!
//! let document = Document::parse(br#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": 7}"#)?;
//! let report = validate(&document, Layers::All);
//! assert!(report.violations.iter().any(|violation| violation.pointer == "/title"));
//! # Ok::<(), agentdex_td::Error>(())
//! ```

mod admission;
mod assess;
mod capability;
mod check;
mod data_schema;
pub mod description;
mod document;
mod duplicates;
mod enrich;
mod error;
mod flag;
mod identity;
mod json;
#[cfg(feature = "json-ld")]
pub mod json_ld;
mod json_schema;
mod legacy_keywords;
mod lmos;
mod losses;
mod mcp_transport;
mod members;
pub mod merge_patch;
mod operation;
mod path;
mod registration;
mod report;
mod sacp;
mod schema;
mod schema_references;
mod semantics;
mod source_schema;
mod thing_description;
mod timestamp;
mod uri_origin;
mod value_seed;
mod version;

pub use admission::{Admission, admit};
pub use assess::assess;
pub use capability::{Capability, capabilities};
pub use check::{Layers, Strictness, validate};
pub use description::Description;
pub use document::Document;
pub use enrich::{Notes, enrich};
pub use error::{BoxError, Error, Result};
pub use flag::{Flag, FlagKind, flags};
pub use identity::{Identity, NORMALIZED_ID_PREFIX, normalize_id};
pub use json::Json;
pub use lmos::{LMOS_NAMESPACE, LmosKind, TAG_MEMBERS};
pub use losses::Losses;
pub use operation::Operation;
pub use registration::{Registration, RegistrationRequest};
pub use report::{Report, Violation};
pub use sacp::{SACP, answers_in_sacp};
pub use thing_description::ThingDescription;
pub use timestamp::Timestamp;
pub use version::{CONTEXT_1_0, CONTEXT_1_1, CONTEXT_DISCOVERY, Version};

/// Maximum length of an id in bytes.
pub const MAX_ID_BYTES: usize = 1024;
/// Maximum nesting depth of arrays and objects in a document.
pub const MAX_NESTING: usize = 64;
/// Maximum number of properties, actions, events, and capabilities in total. A capability whose id is the name of an
/// action isn't counted again.
pub const MAX_AFFORDANCES: usize = 1000;
/// Maximum size of a document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// Functions shared by the crates of agentdex; not part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::{
        capability::{listed_capabilities, semantic_version, thing_version},
        data_schema::DataSchema,
        document::{malformed_json, parse_json, text_of},
        flag::is_invisible,
        json_schema::{Edition, JsonSchema, Mismatch, Patterns},
        legacy_keywords::modernize,
        mcp_transport::McpTransport,
        members::push_string,
        path::Path,
        report::push_token,
        schema_references::has_broken_references,
        source_schema::source_schema,
        uri_origin::origin_variable,
    };
}

/// JSON-LD contexts of the terms that conversions use, as exported by `agentdex-convert`.
#[doc(hidden)]
pub mod contexts {
    /// Terms used by conversions of A2A agent cards.
    pub const A2A: &str = include_str!("../schemas/a2a.jsonld");
    /// Terms used by conversions of Agent Spec configurations.
    pub const AGENT_SPEC: &str = include_str!("../schemas/agent-spec.jsonld");
}

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
