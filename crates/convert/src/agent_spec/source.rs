//! The documents of a configuration, as received.

use serde_json::Value;

use super::{Profile, version::VERSION_MEMBERS};
use crate::{Result, Syntax, rounded_integers, td};

/// Optional signature of UTF-8 at the start of a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A document that was read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) syntax: Syntax,
    /// Its text, of YAML that of the same document in JSON; without a byte order mark.
    pub(super) json: String,
    pub(super) has_byte_order_mark: bool,
    pub(super) value: Value,
    /// JSON Pointers of the members whose name is repeated in its object.
    pub(super) duplicates: Vec<String>,
    /// JSON Pointers of integers that lose digits.
    pub(super) rounded_integers: Vec<String>,
}

impl Source {
    /// Reads a document.
    pub(super) fn parse(bytes: &[u8], syntax: Syntax, profile: Profile) -> Result<Source> {
        let json = match profile {
            Profile::Spec => syntax.to_json(bytes)?,
            Profile::Sdk => syntax.to_json_as_pyyaml(bytes)?,
        };
        let json = json.into_owned();
        let has_byte_order_mark = bytes.starts_with(BYTE_ORDER_MARK.as_bytes());
        Source::of_json(json, syntax, has_byte_order_mark)
    }

    /// The same document with another text.
    pub(super) fn with_json(&self, json: String) -> Result<Source> {
        Source::of_json(json, self.syntax, self.has_byte_order_mark)
    }

    fn of_json(json: String, syntax: Syntax, has_byte_order_mark: bool) -> Result<Source> {
        let (value, duplicates) = td::internal::parse_json(&json)?;
        let rounded_integers = rounded_integers(&json);
        Ok(Source { syntax, json, has_byte_order_mark, value, duplicates, rounded_integers })
    }

    /// The version that it says it is written for.
    pub(super) fn version(&self) -> Option<&str> {
        version_of(&self.value)
    }
}

/// The version that a document says it is written for.
pub(super) fn version_of(document: &Value) -> Option<&str> {
    VERSION_MEMBERS.into_iter().find_map(|name| document.get(name)?.as_str())
}
