//! The documents of a configuration, as they came.

use serde_json::Value;

use crate::{Result, convert::Syntax, td};

/// A document that was read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) value: Value,
    /// JSON Pointers of the members whose name is repeated in its object.
    pub(super) duplicates: Vec<String>,
}

impl Source {
    /// Reads a document.
    pub(super) fn parse(bytes: &[u8], syntax: Syntax) -> Result<Source> {
        let (value, duplicates) = td::parse_json(&syntax.to_json(bytes)?)?;
        Ok(Source { value, duplicates })
    }
}
