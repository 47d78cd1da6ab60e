//! Conversions between descriptions of agents and W3C Thing Descriptions.
//!
//! [`Format`] lists the formats: Open Agent Spec, A2A agent cards, `server.json` of MCP, AOS agents, and LMOS
//! capability files. [`detect`] detects the format of a document, and [`Format::descriptor`] returns its [`Import`] and
//! [`Export`]. The types of each format are in a module of the same name.
//!
//! A conversion returns valid Things, warnings with JSON Pointers into the source, and the [`Source`] in a form that
//! can be stored and exported again, since secrets are replaced before the conversion.
//!
//! ```
//! use agentdex_convert::{ImportOptions, Input, detect};
//!
//! let file = r#"{"id": "billing", "capabilities": [{"name": "view-bill", "version": "1.0.0"}]}"#;
//! let import = detect(file)?.import().unwrap();
//! let conversion = import.to_things(&Input::json(file.as_bytes()), &ImportOptions::default())?;
//! assert_eq!(conversion.things[0].id, "urn:agentdex:billing");
//! # Ok::<(), agentdex_convert::Error>(())
//! ```

pub mod a2a;
pub mod agent_spec;
pub mod aos;
mod canonical_url;
#[doc(hidden)]
pub mod casting;
mod conversion;
mod credentials;
mod data_schema;
mod descriptor;
mod detect;
mod edits;
mod error;
mod format;
mod hidden_keys;
mod import_options;
#[cfg(feature = "yaml")]
mod json_text;
mod keywords;
pub mod lmos_capabilities;
mod looks;
pub mod mcp_server;
mod redacted_json;
mod redaction;
mod returned;
mod rounded_integers;
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
mod unexpressed;
pub mod verification;
#[cfg_attr(not(feature = "yaml"), path = "no_yaml.rs")]
mod yaml;

// Shared with the other crates of agentdex; no part of the public interface. So is `casting`.
#[cfg(feature = "yaml")]
#[doc(hidden)]
pub use self::json_text::JsonText;
#[doc(hidden)]
pub use self::search_term::{SearchContent, SearchTerm};
pub use self::{
    conversion::{Content, Conversion, ConvertedThing, Rendition, Source},
    credentials::Credentials,
    descriptor::{Descriptor, Export, Import, Input, Supply, Tracking},
    detect::detect,
    error::{Error, Result},
    format::Format,
    import_options::{ImportOptions, InvalidOption, Parameter, ParameterKind},
    returned::Returned,
    rounded_integers::rounded_integers,
    syntax::Syntax,
};
use agentdex_td as td;

/// Maximum size of a document in another format in bytes, and of the JSON into which YAML is converted.
pub const MAX_SOURCE_BYTES: usize = 16 * 1024 * 1024;

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
