//! Version of the TD specification, as determined by the `@context` of a document.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// JSON-LD context of TD 1.0 (section 5.3.1.1 of that version).
pub const CONTEXT_1_0: &str = "https://www.w3.org/2019/wot/td/v1";
/// JSON-LD context of TD 1.1 (section 5.3.1.1 of that version).
pub const CONTEXT_1_1: &str = "https://www.w3.org/2022/wot/td/v1.1";
/// JSON-LD context of WoT Discovery, which defines the `registration` member.
pub const CONTEXT_DISCOVERY: &str = "https://www.w3.org/2022/wot/discovery";

/// Version of the TD specification named by the `@context` of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Version {
    /// `https://www.w3.org/2019/wot/td/v1`
    #[serde(rename = "1.0")]
    V1_0,
    /// `https://www.w3.org/2022/wot/td/v1.1`
    #[serde(rename = "1.1")]
    V1_1,
}

impl Version {
    /// Returns the version, 1.0 or 1.1, that the `@context` of `thing` names, or `None` if it names neither. If it
    /// names both, as documents for readers of both versions do, the version is 1.1 (TD 1.1, section 5.3.1.1).
    pub fn of(thing: &Value) -> Option<Version> {
        Self::named_by(thing.get("@context")?)
    }

    /// The version that an `@context` names.
    pub(super) fn named_by(context: &Value) -> Option<Version> {
        if names_context(context, CONTEXT_1_1) {
            Some(Version::V1_1)
        } else if names_context(context, CONTEXT_1_0) {
            Some(Version::V1_0)
        } else {
            None
        }
    }

    /// Returns `1.0` or `1.1`.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::V1_0 => "1.0",
            Version::V1_1 => "1.1",
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

fn names_context(context: &Value, uri: &str) -> bool {
    match context {
        Value::String(one) => one == uri,
        Value::Array(several) => several.iter().any(|entry| entry.as_str() == Some(uri)),
        _ => false,
    }
}
