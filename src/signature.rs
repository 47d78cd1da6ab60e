//! Signatures of A2A agent cards: JWS (RFC 7515) over a canonical form (RFC 8785) of the card.
//!
//! [`verify`] is pure: it is given a card as it was received and the keys that are trusted, and says
//! whether somebody behind one of these keys signed this very card. A card that names its own keys
//! proves nothing with them. No JOSE library with ring below it is kept, and what is needed of one is
//! small: [`entry`] reads an entry of `signatures`, [`key`] has ring check it, [`checking`] bounds how often.

mod algorithm;
mod checking;
mod domain;
mod entry;
mod form;
mod key;
mod keys;
mod presence;
mod uncovered;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::checking::Checking;
pub use self::{algorithm::Algorithm, domain::key_set_urls, form::Form, keys::TrustedKeys};
use crate::{Timestamp, td::Document};

/// What a check of a card's signatures came to; in Thing Descriptions `agentdex:signature`.
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
    /// The form that was signed, of a valid one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// Where the key is trusted from, of a valid one: the name of a file of the operator's, or the URL of a domain's keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_by: Option<String>,
    /// Why it isn't valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When a check first came to this. Of a followed card, later checks that come to the same leave it as it is:
    /// when it was last checked is when its source last succeeded.
    pub checked_at: Timestamp,
}

/// Whether a card is signed by somebody who is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A trusted key signed this card.
    Valid,
    /// A signature is not what it should be: the card was changed, or the signature is malformed or refused.
    Invalid,
    /// The keys that signed it are not trusted, so that the signatures say nothing.
    Untrusted,
    /// It has no signatures.
    Unsigned,
}

impl Status {
    /// All of them, the best first.
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

/// Checks the signatures of a card. One that is valid is enough; without one, one that is invalid
/// counts more than those whose keys aren't known.
///
/// ```
/// use agentdex::{Timestamp, signature::{Status, TrustedKeys, verify}, td::Document};
///
/// let card = Document::parse(br#"{"name": "Agent", "skills": []}"#)?;
/// assert_eq!(verify(&card, &TrustedKeys::none(), Timestamp::now()).status, Status::Unsigned);
/// # Ok::<(), agentdex::Error>(())
/// ```
pub fn verify(card: &Document, keys: &TrustedKeys, now: Timestamp) -> Verification {
    Checking::of(Cow::Borrowed(card)).with(keys, now)
}

/// SHA-256 of a document, as `sha256:` and hexadecimal digits.
pub fn digest(document: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, document);
    let digits: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}
