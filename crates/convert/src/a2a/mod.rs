//! A2A agent cards, v0.2.0 to v1.0: read as one card of 1.0, turned into a Thing Description, and back.
//!
//! - **Read** ([`Card::parse`]): the shape decides the generation (`members` has those of each).
//!   What is odd is fixed where one meaning is left, and reported in any case; what is not a card is
//!   refused with what it looks like (`diagnosis`). Secrets are taken out first (`redaction`). Then it is brought
//!   to the shape of 1.0 (`normalization`), the only one that the rest knows.
//! - **To a Thing** ([`Card::to_thing`]): skills become capabilities and actions, interfaces become
//!   their forms, schemes and requirements become security definitions and combinations of them.
//! - **Back** ([`from_thing`]): a card of 1.0 of what the Thing says.
//! - **For readers of a generation** ([`Card::as_version`]): the card as it was written, byte for byte, or in the
//!   words of the other (`rendition`).
//!
//! In the description, a member of the card that has no place in a TD keeps its name and value with
//! the prefix `a2a:`. The terms that are ours:
//!
//! | term | where | what |
//! |---|---|---|
//! | `a2a:binding`, `a2a:protocolVersion`, `a2a:tenant` | form | the interface that the form is of |
//! | `a2a:method` | form | the method of the protocol that is called |
//! | `a2a:http`, `a2a:openIdConnect`, `a2a:mutualTLS` | security | schemes that a TD hasn't |
//! | `a2a:implicit`, `a2a:password` | security | flows of OAuth 2.0 that a TD hasn't |
//! | `a2a:scheme` | security | the HTTP scheme; the card's name of what the definition is of |
//! | `a2a:scopes` | security | scopes with their descriptions |
//! | `a2a:flow`, `a2a:flows` | security | other members of the flow, and other flows than a card's |
//! | `a2a:declared` | security | the card's scheme where a TD can only say `auto` |
//! | `a2a:undeclared` | security | what a card requires by a name that it doesn't declare |
//! | `a2a:siblings` | security | members beside the object that a scheme of 1.0 is in |
//!
//! A card is exported byte for byte until its description is edited; from then on with what was edited, and without its
//! signatures ([`Export::with_edits`](crate::Export::with_edits)). A card of version 0.3 has the protocol version of the agent in
//! `protocolVersion`: for an agent that speaks only 1.0 that is 1.0, and clients of 0.3 refuse it. Agents without a card
//! get one if they have a form for A2A or, in 1.0, for HTTP; where a card would have to be invented, that is an error.

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

/// The namespace of the prefix `a2a` in descriptions.
pub const A2A_NAMESPACE: &str = "urn:agentdex:a2a:";

/// The JSON-LD context that defines its terms, for programs that expand descriptions: they add it to the
/// context of W3C WoT. Nothing here does, and descriptions only name the namespace: the context of a
/// Thing Description is a map of texts (TD 1.1, section 5.3.1.1).
pub const A2A_CONTEXT: &str = agentdex_td::contexts::A2A;

/// The binding of interfaces that aren't A2A, but plain HTTP requests: those of the forms in the
/// extension with the same URI.
pub const FORMS_BINDING: &str = "urn:agentdex:a2a:td-forms";

/// The extension of a card that was created from a Thing: its parameter `id` is the id of the
/// Thing.
pub const THING_EXTENSION: &str = "urn:agentdex:a2a:thing";

/// The generations of agent cards, which differ in their shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Generation {
    /// v0.2.0 to v0.3.0
    V0,
    /// v1.0
    V1,
}

impl Generation {
    /// The version that represents it.
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
            _ => Err(format!("there is no agent card of version {version:?}; supported versions are 0.3 and 1.0")),
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
