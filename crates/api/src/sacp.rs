//! Answers of agents in the Standard Agent Communication Protocol (SACP), as they were read.

use std::{borrow::Cow, fmt};

use agentdex_td::Violation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of `POST /things/{id}/actions/{name}/sacp`: the response that was read in an agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SacpReading {
    /// The place of the response in the text.
    pub found: Found,
    /// True if the response could only be read after repairs.
    pub repaired: bool,
    /// The repairs: deviations from JSON, members in another form, and values in another type than the action declares.
    #[serde(default)]
    pub repairs: Vec<Repair>,
    /// The response, or its substitute: `schemas/sacp-response.json`.
    pub response: Value,
    /// True if there is a response without faults.
    pub valid: bool,
    /// Faults of the response; without a response, those of the most similar object.
    pub violations: Vec<Violation>,
}

/// A repair of an answer: a part of it had an unexpected form with exactly one interpretation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Repair {
    /// The place in the response: a JSON Pointer; empty for its text.
    pub pointer: String,
    /// The kind of repair, a stable code, such as `sacp/quotes` or `sacp/coerced`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rule: Cow<'static, str>,
    /// A description of the repair.
    pub message: String,
}

impl Repair {
    /// A repair by `rule` at `pointer`.
    pub fn new(pointer: impl Into<String>, rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Repair {
        Repair { pointer: pointer.into(), rule: rule.into(), message: message.into() }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// The place of a response in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Found {
    /// The text is the response.
    Whole,
    /// In a fenced code block.
    Fenced,
    /// Between other words.
    Embedded,
    /// Nowhere: the response is the fallback of section 7.2.
    Nowhere,
}
