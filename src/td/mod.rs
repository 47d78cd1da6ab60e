//! The Thing Description: reading, validating, fixing, and what agentdex needs to know of one.
//!
//! The document's own text is the truth: member order and number tokens are preserved, and edits (a
//! fixed id, a scheme that was missing) touch only the members they are about.

mod admission;
mod assess;
mod capability;
mod check;
pub mod description;
mod document;
mod duplicates;
mod enrich;
mod flag;
mod identity;
mod json;
#[cfg(feature = "rdf")]
pub mod json_ld;
mod lmos;
mod members;
pub mod merge_patch;
mod operation;
mod path;
mod registration;
mod report;
mod sacp;
mod schema;
mod semantics;
mod thing_description;
mod value_seed;
mod version;

pub use admission::{Admission, admit};
pub use assess::assess;
pub use capability::{Capability, capabilities};
pub(crate) use capability::{listed_capabilities, semantic_version};
pub use check::{Layers, Strictness, validate};
pub use description::Description;
pub use document::Document;
pub(crate) use document::parse_json;
#[doc(hidden)]
pub use document::{malformed_json, text_of};
pub use enrich::enrich;
pub use flag::{Flag, FlagKind, flags};
pub use identity::{Identity, NORMALIZED_ID_PREFIX, normalize_id};
pub use json::Json;
pub use lmos::{LMOS_NAMESPACE, LmosKind};
pub(crate) use members::push_string;
pub use operation::Operation;
pub(crate) use path::Path;
pub use registration::{Registration, RegistrationRequest};
pub(crate) use report::push_token;
pub use report::{Report, Violation};
pub use sacp::{SACP, answers_in_sacp};
pub use thing_description::ThingDescription;
pub use version::{CONTEXT_1_0, CONTEXT_1_1, CONTEXT_DISCOVERY, Version};

/// The most bytes an id may have.
pub const MAX_ID_BYTES: usize = 1024;
/// The deepest nesting of a document.
pub const MAX_NESTING: usize = 64;
/// The most properties, actions and events together.
pub const MAX_AFFORDANCES: usize = 1000;
/// The largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;
