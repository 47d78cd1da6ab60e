//! Descriptions of agents in other formats, converted to Thing Descriptions and back.
//!
//! [`Format`] lists the formats: Open Agent Spec, A2A agent cards, server.json of MCP, AOS agents, LMOS capability files.
//! A conversion returns Things that validate, warnings with JSON Pointers into the source, and the [`Source`] as it may be
//! stored and exported again: secrets are replaced before it is mapped.

pub mod a2a;
pub mod agent_spec;
pub mod aos;
mod canonical_url;
#[doc(hidden)]
pub mod casting;
mod descriptor;
mod detect;
mod error;
mod format;
mod import_options;
#[cfg(feature = "yaml")]
mod json_text;
mod keywords;
pub mod lmos_capabilities;
mod looks;
pub mod mcp_server;
mod redacted_json;
mod redaction;
mod search_term;
mod shape;
#[cfg(feature = "signature")]
pub mod signature;
mod signs;
mod size;
mod syntax;
mod table;
mod thing_builder;
mod thing_description;
#[cfg_attr(not(feature = "yaml"), path = "no_yaml.rs")]
mod yaml;

#[cfg(feature = "yaml")]
#[doc(hidden)]
pub use self::json_text::JsonText;
pub use self::{
    descriptor::{Descriptor, Export, Import, Input, Supply, Tracking},
    detect::detect,
    error::{Error, Result},
    format::Format,
    import_options::{ImportOptions, InvalidOption, Parameter, ParameterKind},
    search_term::{SearchContent, SearchTerm},
    syntax::Syntax,
};
use agentdex_td::{self as td, Document, Violation};

/// The largest document of another format in bytes, and the largest that YAML may stand for.
pub const MAX_SOURCE_BYTES: usize = 16 * 1024 * 1024;

/// What became of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// The Thing of the document itself first, then those of its parts.
    pub things: Vec<ConvertedThing>,
    /// What is odd about the document, or didn't survive; pointers are into the source.
    pub warnings: Vec<Violation>,
}

/// A Thing that was made of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedThing {
    /// Its id, which is in the description too.
    pub id: String,
    /// The Thing Description.
    pub description: Document,
    /// What it was made of, without secrets.
    pub source: Source,
}

/// The document that a Thing was made of, as it may be stored and exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its format.
    pub format: Format,
    /// Its media type.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
}

/// A Thing as a document of another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendition {
    /// The document.
    pub bytes: Vec<u8>,
    /// What could not be said; pointers are into what it was made of.
    pub warnings: Vec<Violation>,
}
