//! The result of the check of an agent card's signatures, which a registry stores with the agent. The feature `signature`
//! makes the checks.

use serde::{Deserialize, Serialize};

use crate::td::Timestamp;

/// The result of a check of a card's signatures; in Thing Descriptions `agentdex:signature`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// The result.
    pub status: Status,
    /// The key that the signature names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// The algorithm that the signature names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// For a valid signature, the form that was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// For a valid signature, why the key is trusted: the name of the operator's file, or the URL of a domain's
    /// keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_by: Option<String>,
    /// Why it isn't valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When a check first had this result. For a tracked card, later checks with the same result leave it unchanged:
    /// the last check is then the last success of its source.
    pub checked_at: Timestamp,
}

/// The result of checking whether a trusted key signed a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A trusted key signed this card.
    Valid,
    /// A signature is wrong: the card was changed, or the signature is malformed or refused.
    Invalid,
    /// The keys that signed it are not trusted, so the signatures prove nothing.
    Untrusted,
    /// It has no signatures.
    Unsigned,
}

impl Status {
    /// All values, the best first.
    pub const ALL: [Status; 4] = [Status::Valid, Status::Invalid, Status::Untrusted, Status::Unsigned];

    /// The name in descriptions and filters.
    pub fn name(self) -> &'static str {
        match self {
            Status::Valid => "valid",
            Status::Invalid => "invalid",
            Status::Untrusted => "untrusted",
            Status::Unsigned => "unsigned",
        }
    }
}

/// A canonical form of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The form of the specification: required members, present optional members, and no other
    /// defaults.
    Specification,
    /// The same without empty values, as signed by SDKs.
    Stripped,
    /// Everything that was received.
    Plain,
}
