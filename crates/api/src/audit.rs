//! The audit trail as it is read.

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Seq, access::Owner};

/// One entry of the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Its number: 1 for the first, ascending.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub number: u64,
    /// The moment when it was done or denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(required, value_type = String, format = DateTime))]
    pub at: Option<Timestamp>,
    /// The owner in whose name it was done; absent where nobody had proved who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub owner: Option<Owner>,
    /// The API key that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub key: Option<String>,
    /// The address of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub address: Option<String>,
    /// The action: the kind of the change, or `denied`, or the method of a request that changed something else.
    pub action: String,
    /// The target of the action: the id of a Thing, or the path of a request.
    pub target: String,
    /// The position of the change in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false))]
    pub seq: Option<Seq>,
    /// The SHA-256 of the description before, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub before: Option<String>,
    /// The SHA-256 of the description since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub after: Option<String>,
    /// The HTTP status of what was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub status: Option<u16>,
    /// Number of others like it that were denied since the entry before, which aren't listed one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub unlisted: Option<u64>,
}

/// Part of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Audited {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number of the last entry that there is.
    pub last: u64,
}
