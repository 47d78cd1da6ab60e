//! Replacement for YAML support in a build without the feature `yaml`.

use crate::{Error, Result};

/// Refuses every document.
///
/// # Errors
/// [`Error::Unsupported`]
pub(super) fn to_json_1_1(text: &str) -> Result<String> {
    to_json(text)
}

/// Refuses every document.
///
/// # Errors
/// [`Error::Unsupported`]
pub(super) fn to_json(_: &str) -> Result<String> {
    Err(Error::Unsupported {
        what: "YAML",
        instead: "convert the document to JSON, or enable the feature `yaml` of agentdex-convert",
    })
}
