//! Signatures of A2A agent cards: JWS (RFC 7515) over a canonical form (RFC 8785) of the card.
//!
//! [`verify`] is pure: it is given a card as it was received and the keys that are trusted, and says
//! whether somebody behind one of these keys signed this very card. A card that names its own keys
//! proves nothing with them. No JOSE library with ring below it is kept, and what is needed of one is
//! small: [`entry`] reads an entry of `signatures`, [`key`] has ring check it.

mod algorithm;
mod domain;
mod entry;
mod form;
mod key;
mod keys;
mod presence;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::entry::{Entry, Unreadable, encode_payload};
pub use self::{algorithm::Algorithm, domain::key_set_urls, form::Form, keys::TrustedKeys};
use crate::{Timestamp, td::Document};

/// The most signatures of a card that are looked at.
const MAX_SIGNATURES: usize = 16;

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
    /// When it was checked.
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
    let result = |status| Verification {
        status,
        kid: None,
        alg: None,
        form: None,
        trusted_by: None,
        reason: None,
        checked_at: now,
    };
    let invalid = |reason: String| Verification { reason: Some(reason), ..result(Status::Invalid) };
    let entries = match card.value().get("signatures") {
        None | Some(Value::Null) => return result(Status::Unsigned),
        Some(Value::Array(entries)) if entries.is_empty() => return result(Status::Unsigned),
        Some(Value::Array(entries)) => entries,
        Some(_) => return invalid("`signatures` is no list".into()),
    };
    if let Some(pointer) = card.repeated_members().first() {
        return invalid(format!("the member {pointer} is repeated, so that readers may see different cards"));
    }
    if entries.len() > MAX_SIGNATURES {
        return invalid(format!("there are more than {MAX_SIGNATURES} signatures"));
    }
    let mut payloads = Payloads::new(card.value());
    let mut best: Option<Verification> = None;
    for entry in entries {
        let found = match Entry::read(entry) {
            Ok(entry) => check(&entry, keys, &mut payloads, result(Status::Untrusted)),
            Err(Unreadable { reason, kid, alg }) => Verification { kid, alg, ..invalid(reason) },
        };
        let is_better = best.as_ref().is_none_or(|best| rank(found.status) < rank(best.status));
        if is_better {
            best = Some(found);
        }
    }
    best.unwrap_or_else(|| result(Status::Unsigned))
}

/// SHA-256 of a document, as `sha256:` and hexadecimal digits.
pub fn digest(document: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, document);
    let digits: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

fn rank(status: Status) -> Option<usize> {
    Status::ALL.iter().position(|other| *other == status)
}

/// Checks one signature.
fn check(entry: &Entry<'_>, keys: &TrustedKeys, payloads: &mut Payloads<'_>, untrusted: Verification) -> Verification {
    let named = Verification { kid: Some(entry.kid.clone()), alg: Some(entry.algorithm.name().into()), ..untrusted };
    let mut known = keys.called(&entry.kid).peekable();
    if known.peek().is_none() {
        return Verification { reason: Some(format!("no trusted key is called {:?}", entry.kid)), ..named };
    }
    let fitting: Vec<_> = known.filter(|trusted| trusted.key.fits(entry.algorithm)).collect();
    if fitting.is_empty() {
        let reason = format!("the trusted key {:?} is not one for {}", entry.kid, entry.algorithm);
        return Verification { status: Status::Invalid, reason: Some(reason), ..named };
    }
    for form in Form::ALL {
        let Some(payload) = payloads.encoded(form) else { continue };
        let message = entry.signing_input(payload);
        let signer =
            fitting.iter().find(|trusted| trusted.key.verifies(entry.algorithm, message.as_bytes(), &entry.signature));
        if let Some(signer) = signer {
            let trusted_by = Some(signer.origin.to_string());
            return Verification { status: Status::Valid, form: Some(form), trusted_by, ..named };
        }
    }
    let reason = format!("the signature by {:?} is not one of this card: one of them was changed", entry.kid);
    Verification { status: Status::Invalid, reason: Some(reason), ..named }
}

/// The forms of a card, made when they are needed; none for one that is like an earlier one.
struct Payloads<'c> {
    card: &'c Value,
    made: Vec<Option<String>>,
}

impl<'c> Payloads<'c> {
    fn new(card: &'c Value) -> Payloads<'c> {
        Payloads { card, made: Vec::new() }
    }

    fn encoded(&mut self, form: Form) -> Option<&str> {
        let index = Form::ALL.iter().position(|other| *other == form)?;
        while self.made.len() <= index {
            let form = Form::ALL.get(self.made.len())?;
            let encoded = form.payload(self.card).map(|payload| encode_payload(&payload));
            let is_new = !self.made.contains(&encoded);
            self.made.push(encoded.filter(|_| is_new));
        }
        self.made.get(index)?.as_deref()
    }
}
