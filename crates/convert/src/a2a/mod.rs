//! A2A agent cards from v0.2.0 to v1.0: parsed as version 1.0 cards, and converted to Thing Descriptions and back.
//!
//! - **Parsing** ([`Card::parse`]): the structure determines the generation (`members` lists the members of each).
//!   Deviations with a single possible meaning are fixed, and all deviations are reported. Other documents are refused
//!   with a diagnosis of what they resemble (`diagnosis`). Secrets are removed first (`redaction`). The card is then
//!   converted to the structure of version 1.0 (`normalization`), on which all other code is based.
//! - **Conversion to a Thing** ([`Card::to_thing`]): skills become capabilities and actions, interfaces become the
//!   forms of these actions, and security schemes and requirements become security definitions and their combinations.
//! - **Conversion to a card** ([`from_thing`]): a version 1.0 card is generated from the content of the Thing.
//! - **Conversion between versions** ([`Card::as_version`]): returns the original card unchanged, or its conversion to
//!   the other generation (`rendition`).
//!
//! In the description, a member of the card without a counterpart in a TD keeps its name and value with the prefix
//! `a2a:`. Terms defined by agentdex:
//!
//! | term | location | content |
//! |---|---|---|
//! | `a2a:binding`, `a2a:protocolVersion`, `a2a:tenant` | form | the interface of the form |
//! | `a2a:method` | form | the called method of the protocol |
//! | `a2a:http`, `a2a:openIdConnect`, `a2a:mutualTLS` | security | schemes that a TD can't express |
//! | `a2a:implicit`, `a2a:password` | security | OAuth 2.0 flows that a TD can't express |
//! | `a2a:scheme` | security | the HTTP scheme; the name of the scheme in the card |
//! | `a2a:scopes` | security | scopes with their descriptions |
//! | `a2a:flow`, `a2a:flows` | security | further members of the flow, and flows that a card doesn't define |
//! | `a2a:declared` | security | the scheme of the card, if the TD can only express it as `auto` |
//! | `a2a:undeclared` | security | names of required schemes that the card doesn't declare |
//! | `a2a:siblings` | security | members next to the object that contains a scheme of version 1.0 |
//!
//! A card is exported unchanged until its description is edited. After that, the export contains the edits but no
//! signatures ([`Export::with_edits`](crate::Export::with_edits)). A version 0.3 card declares the protocol version of
//! the agent in `protocolVersion`. For an agent that supports only version 1.0, that is 1.0, and clients of version 0.3
//! refuse the card. For Things without a card, one is generated if they have a form for A2A or, with version 1.0, for
//! HTTP. If required content of the card would have to be invented, the export fails.

mod card;
mod definition;
mod diagnosis;
mod export;
mod export_forms;
mod export_schemes;
mod export_security;
mod format;
mod forms;
mod interface;
mod members;
mod normalization;
mod redaction;
mod reference;
mod rendition;
mod rendition_security;
mod requirements;
mod rest;
mod schemes;
mod security;
pub(super) mod signs;
mod skills;
mod thing;
mod unsafe_urls;

use std::{fmt, str::FromStr};

pub use self::{card::Card, export::from_thing};
pub(super) use self::{format::FORMAT, forms::message_form};
use crate::{Error, td::Report, td::Violation};

/// Namespace of the prefix `a2a` in descriptions.
pub const A2A_NAMESPACE: &str = "urn:agentdex:a2a:";

/// JSON-LD context that defines the terms with the prefix `a2a`. Programs that expand descriptions add it to the W3C
/// WoT context. agentdex itself doesn't use it, and descriptions only declare the namespace, since the context of a
/// Thing Description is a map of strings (TD 1.1, section 5.3.1.1).
pub const A2A_CONTEXT: &str = agentdex_td::contexts::A2A;

/// Binding of interfaces that don't use A2A but plain HTTP requests, as described by the forms in the extension with
/// the same URI.
pub const FORMS_BINDING: &str = "urn:agentdex:a2a:td-forms";

/// Extension of cards that were generated from Things. Its parameter `id` is the id of the Thing.
pub const THING_EXTENSION: &str = "urn:agentdex:a2a:thing";

/// Generation of an agent card, which determines its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Generation {
    /// v0.2.0 to v0.3.0.
    V0,
    /// v1.0.
    V1,
}

impl Generation {
    /// Returns the version that stands for the generation.
    pub fn name(self) -> &'static str {
        match self {
            Generation::V0 => "0.3",
            Generation::V1 => "1.0",
        }
    }

    /// The generation of a protocol version; none if it is no version.
    fn of_version(version: &str) -> Option<Generation> {
        let major = version.trim().trim_start_matches(['v', 'V']).split('.').next()?;
        match major.parse::<u32>().ok()? {
            0 => Some(Generation::V0),
            _ => Some(Generation::V1),
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Generation {
    type Err = String;

    /// Reads a version: 0.2, 0.3, 0.3.0, 1.0.
    fn from_str(version: &str) -> Result<Generation, String> {
        match version {
            "0.2" | "0.3" => Ok(Generation::V0),
            "1" | "1.0" => Ok(Generation::V1),
            _ if version.starts_with("0.2.") || version.starts_with("0.3.") => Ok(Generation::V0),
            _ if version.starts_with("1.0.") => Ok(Generation::V1),
            _ => {
                Err(format!("there is no agent card of version {version:?}; supported versions are 0.2, 0.3, and 1.0"))
            }
        }
    }
}

/// Options for converting a card to a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The id of the Thing; by default, it is derived from the card.
    pub id: Option<String>,
    /// The URL of the card, against which its relative URLs are resolved.
    pub base: Option<String>,
}

/// The most alternatives that schemes which are needed together are expanded to.
const MOST_ALTERNATIVES: usize = 64;

fn invalid(violations: Vec<Violation>, warnings: Vec<Violation>) -> Error {
    Error::InvalidSource { format: "a2a", report: Report { version: None, violations, warnings } }
}
