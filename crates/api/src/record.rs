//! Records: Things with all that is stored of each.

use std::collections::BTreeMap;

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Access, Namespace, Owner, Visibility};

/// A Thing with all that is stored of it: a line of `GET /records`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Record))]
pub struct FullRecord {
    /// Its description as it is stored.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::description, required))]
    pub td: Box<RawValue>,
    /// The moment of its creation (RFC 3339), which a registry that hasn't got it yet keeps.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub created: Timestamp,
    /// The moment of its last change (RFC 3339), which a registry that takes it keeps; without it, that is the moment when it
    /// is taken. The change in the log is of that moment in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub modified: Option<Timestamp>,
    /// Its owner; without one it is nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")
    )]
    pub owner: Option<Owner>,
    /// Its visibility.
    #[serde(default)]
    pub visibility: Visibility,
    /// The namespace that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")
    )]
    pub namespace: Option<Namespace>,
    /// The seconds that it lasts after each renewal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The moment when it expires (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub expires: Option<Timestamp>,
    /// The document that it was converted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalDocument>,
    /// The description without what was edited by hand since it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, serde_json::Value>>))]
    pub unedited: Option<Box<RawValue>>,
    /// The access of `unedited` and of the document that it was converted from, where fewer are shown them than see the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unedited_access: Option<Access>,
    /// The version of what has several, and the others beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions that aren't served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_versions: Vec<RecordVersion>,
    /// The ids of the Things of the documents that declare it as a part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part_of: Vec<String>,
    /// The ids of the Things that its document declares as parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The URL that is polled for it, with what is known of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, serde_json::Value>>))]
    pub source: Option<Box<RawValue>>,
}

/// A version of a Thing that isn't served.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RecordVersion {
    /// The version; absent for a text without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its description.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::description, required))]
    pub td: Box<RawValue>,
    /// The document that it was converted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalDocument>,
    /// Its access, where fewer are shown it than see the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
}

/// The document that a Thing was converted from, with secrets replaced by references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OriginalDocument {
    /// Its format, such as `agent-spec`.
    pub format: String,
    /// Its media type.
    pub media_type: String,
    /// The document.
    pub text: String,
    /// The options of its import.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}
