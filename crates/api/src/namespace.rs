//! Namespaces, in which several owners share agents.

use std::collections::BTreeSet;

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Namespace, Owner};

/// A namespace. Things in it with the visibility `namespace` are visible to its owner and members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Namespace))]
pub struct ClaimedNamespace {
    /// Name of the namespace.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub name: Namespace,
    /// The owner who claimed the namespace, and who manages its members.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub owner: Owner,
    /// Members of the namespace other than its owner.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub members: BTreeSet<Owner>,
    /// Time of the claim.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub created: Timestamp,
    /// The URL at which the domain confirmed the claim, if a confirmation was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

impl ClaimedNamespace {
    /// True if the Things in the namespace are visible to an owner.
    pub fn has(&self, owner: &Owner) -> bool {
        self.owner == *owner || self.members.contains(owner)
    }
}

/// The body of a request to claim a namespace: its members in addition to its owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(example = json!({"members": ["maps-team"]}))
)]
pub struct Membership {
    /// The members.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Owner>, max_items = 1000))]
    pub members: BTreeSet<Owner>,
}
