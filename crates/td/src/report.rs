//! Results of validation: a report of violations, each with a location, a rule, and a message.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use super::Version;

/// More than anybody reads: of a document that is this wrong, a layer lists no more.
pub(super) const MAX_FINDINGS: usize = 1000;
/// The same for the bytes of a list: a pointer repeats member names, which may be as long as a document.
const MAX_FINDING_BYTES: usize = 256 * 1024;

/// True if a list takes more; the layers share the lists of a report.
pub(super) fn has_room(findings: &[Violation]) -> bool {
    let bytes: usize = findings.iter().map(|found| found.pointer.len() + found.message.len()).sum();
    findings.len() < 2 * MAX_FINDINGS && bytes < MAX_FINDING_BYTES
}

/// The same for pointers alone.
pub(super) fn has_room_for_pointers(pointers: &[String]) -> bool {
    pointers.len() < MAX_FINDINGS && pointers.iter().map(String::len).sum::<usize>() < MAX_FINDING_BYTES
}

/// A violation of a rule in a document, or a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Violation {
    /// Place in the document as a JSON Pointer (RFC 6901); empty for the root.
    pub pointer: String,
    /// Stable code of the rule, such as `schema/required` or `security-undefined`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rule: Cow<'static, str>,
    /// Description of the problem and its correction.
    pub message: String,
}

impl Violation {
    /// Creates a violation of `rule` at `pointer`.
    pub fn new(
        pointer: impl Into<String>,
        rule: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Violation {
        Violation { pointer: pointer.into(), rule: rule.into(), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// Result of validation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Version of the TD specification named by the document. If this is `None`, the document was validated against
    /// version 1.1.
    pub version: Option<Version>,
    /// Violations that make the document invalid; empty if it is valid. Each layer of validation lists up to about
    /// 1,000.
    pub violations: Vec<Violation>,
    /// Valid but probably unintended content, and problems that are fixed on admission.
    pub warnings: Vec<Violation>,
}

impl Report {
    /// True if there are no violations.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.violations.iter().take(3).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{violation}")?;
        }
        match self.violations.len() {
            0..=3 => Ok(()),
            more => write!(f, "; and {} more", more - 3),
        }
    }
}

/// Appends a reference token to a JSON Pointer (RFC 6901, section 3: `~` and `/` are escaped).
pub fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}
