//! Answers of agents in the Standard Agent Communication Protocol (SACP), as they were read.

use agentdex_td::Violation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of `POST /things/{id}/actions/{name}/sacp`: the response that was read in an agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SacpReading {
    /// The place of the response in the text.
    pub found: Found,
    /// True if comments or trailing commas had to be taken out.
    pub repaired: bool,
    /// The response, or what stands for it: `schemas/sacp-response.json`.
    pub response: Value,
    /// True if there is a response and nothing is wrong with it.
    pub valid: bool,
    /// Faults of the response; without one, of the object that came nearest.
    pub violations: Vec<Violation>,
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
