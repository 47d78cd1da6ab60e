//! The audit trail as it is read.

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Seq,
    access::{Access, Namespace, Owner, Role, Visibility},
};

/// The chain of an entry. Each chain is retained separately, so many entries in one don't displace those in others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AuditChain))]
pub enum AuditChain {
    /// Changes of descriptions.
    Changes,
    /// Changes of who sees what: access to Things, namespaces, saved queries; and tracked sources.
    Decisions,
    /// Denials.
    Denials,
    /// Administration: API keys, backups, and full exports.
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

/// The state of the target of an entry, before or after it: the access to a Thing, an API key, or a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditedState {
    /// The owner of the Thing, key or namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub owner: Option<Owner>,
    /// The role that the key gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub role: Option<Role>,
    /// The end of the validity of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = DateTime, nullable = false))]
    pub expires: Option<Timestamp>,
    /// The visibility of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub visibility: Option<Visibility>,
    /// The namespace that the Thing is in.
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
    /// Number of the entry: 1 for the first, ascending.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub number: u64,
    /// The moment when it was done or denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(required, value_type = String, format = DateTime))]
    pub at: Option<Timestamp>,
    /// The clock at that moment, if it was behind the time of the log; `at` is the time of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = DateTime, nullable = false))]
    pub arrival: Option<Timestamp>,
    /// The owner who did it; absent for unauthenticated callers, and for changes of the data directory while the registry
    /// was stopped.
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
    /// The SHA-256 of the description afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub after: Option<String>,
    /// The state before, apart from the description: the access to a Thing if it changed, a key, or a namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub from: Option<AuditedState>,
    /// The same state afterwards.
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
    /// The HTTP status of what was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub status: Option<u16>,
    /// Number of similar requests denied since the previous entry, which aren't listed individually.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub unlisted: Option<u64>,
    /// Chain of the entry; absent in entries of older versions, which aren't chained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub chain: Option<AuditChain>,
    /// Place of the entry in its chain: 1 for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub ordinal: Option<u64>,
    /// The SHA-256 of the previous entry in its chain, as stored and exported (compact JSON). For the first entry,
    /// the SHA-256 of no bytes.
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
    /// The number of the last existing entry.
    pub last: u64,
}
