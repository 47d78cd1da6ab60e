//! Signatures of A2A agent cards: JWS (RFC 7515) over a canonical form (RFC 8785) of the card; and of tokens that
//! clients prove themselves with (RFC 7519).
//!
//! [`verify`] is pure: it takes a card as it was received and the trusted keys, and returns whether the owner of one
//! of these keys signed exactly this card. Keys that a card itself names prove nothing. There is no maintained JOSE
//! library on top of ring, and the part needed of one is small: [`entry`] reads an entry of `signatures` with its
//! [`header`], [`key`] has ring check it, [`checking`] bounds how often. [`Claims::read`] does the same for a token.

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

/// Checks the signatures of a card. One valid signature is enough. Without one, an invalid
/// signature takes precedence over those with unknown keys.
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

/// SHA-256 of a document, as `sha256:` and hexadecimal digits.
///
/// ```
/// let digest = agentdex_convert::signature::digest(b"{}");
/// assert_eq!(digest, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
/// ```
pub fn digest(document: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, document);
    format!("sha256:{}", HEXLOWER.encode(hash.as_ref()))
}
