//! Other descriptions of agents, turned into Thing Descriptions and back.
//!
//! What is kept of a source is what may be handed out again: secrets are replaced by references
//! before anything leaves this room.

pub mod a2a;
pub mod agent_spec;
mod detect;
mod json_text;
pub mod lmos_capabilities;
mod place;
mod redaction;
mod shape;
mod signs;
mod syntax;
mod thing_builder;
mod yaml;

use std::{fmt, str::FromStr};

#[cfg(feature = "cli")]
pub(crate) use self::json_text::JsonText;
pub use self::{detect::detect, syntax::Syntax};
use crate::td::{Document, Violation};

/// The largest document of another format in bytes, and the largest that YAML may stand for.
pub const MAX_SOURCE_BYTES: usize = 16 * 1024 * 1024;

/// A format of descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A W3C Thing Description.
    ThingDescription,
    /// An Open Agent Spec configuration.
    AgentSpec,
    /// An A2A agent card.
    A2a,
    /// An LMOS capability file.
    LmosCapabilities,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::ThingDescription, Format::AgentSpec, Format::A2a, Format::LmosCapabilities];

    /// The name in parameters, flags, filters and records.
    pub fn name(self) -> &'static str {
        match self {
            Format::ThingDescription => "td",
            Format::AgentSpec => "agent-spec",
            Format::A2a => "a2a",
            Format::LmosCapabilities => "lmos-capabilities",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        let known = || Format::ALL.map(Format::name).join(", ");
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("unknown format {name:?}; known are {}", known()))
    }
}

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

/// The document that a Thing was made of, as it may be stored and handed back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its format.
    pub format: Format,
    /// Its media type.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
}
