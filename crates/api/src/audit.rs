//! The audit trail, as returned to clients.

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Seq,
    access::{Access, Namespace, Owner, Role, Visibility},
};

/// The chain of an entry. Each chain is retained separately, so many entries in one chain don't displace entries in
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditChain))]
pub enum AuditChain {
    /// Changes of descriptions.
    Changes,
    /// Changes of visibility and permissions (access to Things, namespaces, saved queries), and of tracked sources.
    Decisions,
    /// Denied requests.
    Denials,
    /// Administrative actions: API keys, backups, and full exports.
    Administration,
}

impl AuditChain {
    /// All chains.
    pub const ALL: [AuditChain; 4] =
        [AuditChain::Changes, AuditChain::Decisions, AuditChain::Denials, AuditChain::Administration];

    /// Returns the name of the chain.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditChain::Changes => "changes",
            AuditChain::Decisions => "decisions",
            AuditChain::Denials => "denials",
            AuditChain::Administration => "administration",
        }
    }
}

/// The state of the target of an entry: the access to a Thing, an API key, or a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditedState {
    /// The owner of the Thing, key or namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub owner: Option<Owner>,
    /// The role granted by the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub role: Option<Role>,
    /// The time at which the key expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = DateTime, nullable = false))]
    pub expires: Option<Timestamp>,
    /// The visibility of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub visibility: Option<Visibility>,
    /// The namespace of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub namespace: Option<Namespace>,
}

impl From<&Access> for AuditedState {
    fn from(access: &Access) -> AuditedState {
        AuditedState {
            owner: access.owner.clone(),
            visibility: Some(access.visibility),
            namespace: access.namespace.clone(),
            ..AuditedState::default()
        }
    }
}

/// One entry of the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Number of the entry, counted from 1.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub number: u64,
    /// The time at which the action was performed or denied, according to the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(required, value_type = String, format = DateTime))]
    pub at: Option<Timestamp>,
    /// The time of the system clock, if it was behind the time of the log (`at`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = DateTime, nullable = false))]
    pub arrival: Option<Timestamp>,
    /// The owner who performed the action. Absent for unauthenticated callers, and for changes of the data directory
    /// while the registry was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub owner: Option<Owner>,
    /// The role of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub role: Option<Role>,
    /// The API key that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub key: Option<String>,
    /// The address of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub address: Option<String>,
    /// The action: a kind of change, `denied`, or the HTTP method of a request that changed something else.
    pub action: String,
    /// The target of the action: the id of a Thing, or the path of a request.
    pub target: String,
    /// The position of the change in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false))]
    pub seq: Option<Seq>,
    /// The SHA-256 of the description before the change, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub before: Option<String>,
    /// The SHA-256 of the description after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub after: Option<String>,
    /// The state of the target before the action, apart from its description: the access to a Thing if it changed, a
    /// key, or a namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub from: Option<AuditedState>,
    /// The same state after the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub to: Option<AuditedState>,
    /// The owners that became members of the namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub joined: Vec<Owner>,
    /// The owners that are no longer members of the namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub left: Vec<Owner>,
    /// The HTTP status of a denied request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub status: Option<u16>,
    /// Number of similar requests that were denied since the previous entry and aren't listed individually.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub unlisted: Option<u64>,
    /// Chain of the entry; absent in entries of older versions, which aren't chained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub chain: Option<AuditChain>,
    /// Position of the entry in its chain, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub ordinal: Option<u64>,
    /// The SHA-256 of the previous entry in the chain, as stored and exported (compact JSON). For the first entry, the
    /// SHA-256 of an empty string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub previous: Option<String>,
}

/// Part of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Audited {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number of the last entry in the trail.
    pub last: u64,
}
