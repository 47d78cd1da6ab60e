//! Answers of agents in the Standard Agent Communication Protocol (SACP), and the result of parsing them.

use std::{borrow::Cow, fmt};

use agentdex_td::Violation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of `POST /things/{id}/actions/{name}/sacp`: the response found in an agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SacpReading {
    /// Location of the response in the text.
    pub found: Found,
    /// True if the response could only be parsed after repairs.
    pub repaired: bool,
    /// The repairs: deviations from JSON, members in another form, and values of a type other than the action declares.
    #[serde(default)]
    pub repairs: Vec<Repair>,
    /// The response, or its fallback; see `schemas/sacp-response.json`.
    pub response: Value,
    /// True if the text contains a response without faults.
    pub valid: bool,
    /// Faults of the response or, if there is none, of the most similar object.
    pub violations: Vec<Violation>,
}

/// A repair of an answer: a part of it was in an unexpected form with a single possible interpretation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Repair {
    /// JSON Pointer to the repaired value in the response; empty for the text of the answer.
    pub pointer: String,
    /// Stable code of the kind of repair, such as `sacp/quotes` or `sacp/coerced`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rule: Cow<'static, str>,
    /// Description of the repair, as a sentence.
    pub message: String,
}

impl Repair {
    /// Creates a repair by `rule` at `pointer`.
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

/// Location of a response in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Found {
    /// The whole text is the response.
    Whole,
    /// The response is in a fenced code block.
    Fenced,
    /// The response is surrounded by other text.
    Embedded,
    /// The text contains no response, so the fallback of section 7.2 is used.
    Nowhere,
}
