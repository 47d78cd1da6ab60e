//! Result of verifying an agent card's signatures, which a registry stores with the agent. The feature `signature`
//! provides the verification.

use serde::{Deserialize, Serialize};

use crate::td::Timestamp;

/// Result of verifying a card's signatures, stored in Thing Descriptions as `agentdex:signature`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Status of the signatures.
    pub status: Status,
    /// Key named by the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// Algorithm named by the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// For a valid signature, the form that was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// For a valid signature, the origin of the trusted key: the name of the operator's file, or the URL of a domain's
    /// keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_by: Option<String>,
    /// Reason for any status other than valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the first verification with this result. For a tracked card, later verifications with the same result
    /// don't change it; the time of the last verification is then the last success of its source.
    pub checked_at: Timestamp,
}

/// Status of a card's signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A trusted key signed this card.
    Valid,
    /// A signature doesn't match: the card was changed, or the signature is malformed or was refused.
    Invalid,
    /// The card was only signed with keys that are not trusted, so the signatures prove nothing.
    Untrusted,
    /// The card has no signatures.
    Unsigned,
}

impl Status {
    /// All values, best first.
    pub const ALL: [Status; 4] = [Status::Valid, Status::Invalid, Status::Untrusted, Status::Unsigned];

    /// Returns the name used in descriptions and filters.
    pub fn name(self) -> &'static str {
        match self {
            Status::Valid => "valid",
            Status::Invalid => "invalid",
            Status::Untrusted => "untrusted",
            Status::Unsigned => "unsigned",
        }
    }
}

/// Canonical form of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The form defined by the specification: required members, optional members that are present, and no other default
    /// values.
    Specification,
    /// The form of the specification without empty values, as signed by SDKs.
    Stripped,
    /// The complete card as received.
    Plain,
}
