//! Signatures of A2A agent cards, which are JWS (RFC 7515) over a canonical form (RFC 8785) of the card, and of the
//! tokens by which clients authenticate (RFC 7519).
//!
//! [`verify`] performs no I/O: it takes a card as received and the trusted keys, and determines whether the owner of
//! one of these keys signed exactly this card. Keys named by the card itself prove nothing. No maintained JOSE library
//! is based on ring, and only a small part of JOSE is needed: [`entry`] parses an entry of `signatures` with its
//! [`header`], [`key`] verifies it with ring, and [`checking`] limits the number of verifications. [`Claims::read`]
//! verifies a token.

mod algorithm;
mod checking;
mod domain;
mod entry;
mod form;
mod header;
mod key;
mod keys;
mod presence;
mod token;
mod uncovered;

use std::borrow::Cow;

use data_encoding::HEXLOWER;

#[doc(hidden)]
pub use self::checking::Checking;
pub use self::{
    algorithm::Algorithm,
    domain::key_set_urls,
    keys::TrustedKeys,
    token::{Claims, TokenError, TokenRules},
};
pub use crate::verification::{Form, Status, Verification};

use crate::td::{Document, Timestamp};

/// Verifies the signatures of a card. A single valid signature is sufficient. If there is none, an invalid signature
/// takes precedence over signatures with unknown keys.
///
/// ```
/// use agentdex_convert::signature::{Status, TrustedKeys, verify};
/// use agentdex_td::{Document, Timestamp};
///
/// let card = Document::parse(br#"{"name": "Agent", "skills": []}"#)?;
/// assert_eq!(verify(&card, &TrustedKeys::none(), Timestamp::now()).status, Status::Unsigned);
/// # Ok::<(), agentdex_td::Error>(())
/// ```
pub fn verify(card: &Document, keys: &TrustedKeys, now: Timestamp) -> Verification {
    Checking::of(Cow::Borrowed(card)).with(keys, now)
}

/// Returns the SHA-256 of a document, as `sha256:` and hexadecimal digits.
///
/// ```
/// let digest = agentdex_convert::signature::digest(b"{}");
/// assert_eq!(digest, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
/// ```
pub fn digest(document: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, document);
    format!("sha256:{}", HEXLOWER.encode(hash.as_ref()))
}
