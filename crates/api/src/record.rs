//! Records, which contain the complete stored state of Things.

use std::collections::BTreeMap;

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Access, Namespace, Owner, Visibility};

/// The complete stored state of a Thing: a line of `GET /records`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Record))]
pub struct FullRecord {
    /// The stored description.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::description, required))]
    pub td: Box<RawValue>,
    /// Time of creation (RFC 3339). An importing registry keeps it, unless the Thing already exists there.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub created: Timestamp,
    /// Time of the last change (RFC 3339). An importing registry keeps it; by default, it is the time of the import.
    /// The change in the log always has the time of the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub modified: Option<Timestamp>,
    /// Owner of the Thing, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")
    )]
    pub owner: Option<Owner>,
    /// Visibility of the Thing.
    #[serde(default)]
    pub visibility: Visibility,
    /// The namespace of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")
    )]
    pub namespace: Option<Namespace>,
    /// Time to live of the Thing after each renewal, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The time at which the Thing expires (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub expires: Option<Timestamp>,
    /// The document from which the Thing was converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalDocument>,
    /// The description as imported, without later edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, serde_json::Value>>))]
    pub unedited: Option<Box<RawValue>>,
    /// Access to `unedited` and to the original document, if they are visible to fewer callers than the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unedited_access: Option<Access>,
    /// Version of the served description, if the Thing has several versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions that aren't served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_versions: Vec<RecordVersion>,
    /// The ids of Things whose documents declare this Thing as a part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part_of: Vec<String>,
    /// The ids of Things declared as parts by the document of this Thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The tracked source of the Thing: its URL and state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, serde_json::Value>>))]
    pub source: Option<Box<RawValue>>,
}

/// A version of a Thing that isn't served.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RecordVersion {
    /// The version name; absent for a description without a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Description of the Thing in this version.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::description, required))]
    pub td: Box<RawValue>,
    /// The document from which the version was converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalDocument>,
    /// Access to the version, if it is visible to fewer callers than the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
}

/// The document from which a Thing was converted, with secrets replaced by references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OriginalDocument {
    /// Format of the document, such as `agent-spec`.
    pub format: String,
    /// Media type of the document.
    pub media_type: String,
    /// Text of the document.
    pub text: String,
    /// Options of the import.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}
