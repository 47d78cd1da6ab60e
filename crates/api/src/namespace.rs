//! Namespaces: agents that several owners share.

use std::collections::BTreeSet;

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Namespace, Owner};

/// A namespace: its claimant and its members see the Things in it that have the visibility `namespace`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedNamespace {
    /// Its name.
    pub name: Namespace,
    /// Who has claimed it, and says who its members are.
    pub owner: Owner,
    /// Its other members.
    pub members: BTreeSet<Owner>,
    /// Since when.
    pub created: Timestamp,
    /// Where its domain said then that it is its owner's, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

impl ClaimedNamespace {
    /// Whether somebody sees what is in it.
    pub fn has(&self, owner: &Owner) -> bool {
        self.owner == *owner || self.members.contains(owner)
    }
}
