//! API keys: `adx_<id>_<secret>`. A key is found by its id; only the SHA-256 of the secret is stored.

use std::fmt;

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::{Owner, Role};
use crate::{Timestamp, whole_number};

/// The prefix of all keys, so that scanners for leaked secrets find them.
const PREFIX: &str = "adx_";
/// The length of an id in hexadecimal digits.
const ID_DIGITS: usize = 12;
/// The length of a secret in hexadecimal digits.
const SECRET_DIGITS: usize = 64;

/// A key to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(example = json!({"role": "register", "owner": "weather-team", "ttl": 7776000}))
)]
pub struct NewKey {
    /// The role granted by the key.
    pub role: Role,
    /// Owner on whose behalf the key acts: ASCII characters without spaces.
    #[cfg_attr(
        feature = "schema",
        schema(value_type = String, min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")
    )]
    pub owner: Owner,
    /// Number of seconds for which the key is valid; if absent, it is valid until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_number::optional")]
    #[cfg_attr(feature = "schema", schema(nullable = false, maximum = 9007199254740991_u64))]
    pub ttl: Option<u64>,
}

/// An API key as listed, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// Id of the key, by which it can be revoked.
    pub id: String,
    /// The role granted by the key.
    pub role: Role,
    /// Owner on whose behalf the key acts.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub owner: Owner,
    /// The time at which the key was created.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub created: Timestamp,
    /// The time at which the key expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = DateTime, nullable = false))]
    pub expires: Option<Timestamp>,
    /// The time at which the key was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = DateTime, nullable = false))]
    pub last_used: Option<Timestamp>,
    /// True if the key was revoked, but the revocation isn't stored yet because the disk is full. The key is already
    /// rejected, and storing the revocation is retried.
    #[serde(default, rename = "revoking", skip_serializing_if = "std::ops::Not::not")]
    pub is_revoking: bool,
}

/// A key as it was created: its holder's credentials are shown this once.
// Debug without the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CreatedKey {
    /// The key as listed.
    #[serde(flatten)]
    pub listed: ApiKey,
    /// The credential to be sent by the holder of the key: `adx_`, the id, `_`, and the secret.
    pub key: String,
}

impl fmt::Debug for CreatedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedKey").field("listed", &self.listed).finish_non_exhaustive()
    }
}

impl ApiKey {
    /// True if the key is valid at the given time.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// The SHA-256 of a secret, in hexadecimal digits.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// True if this is the hash of the token's secret. Compares in constant time.
    pub fn matches(&self, token: &Token<'_>) -> bool {
        let given = token.secret();
        let differing =
            self.0.bytes().zip(given.0.bytes()).fold(0, |differing, (one, other)| differing | (one ^ other));
        self.0.len() == given.0.len() && std::hint::black_box(differing) == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A parsed API key, as sent by its holder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The id of the key.
    pub id: &'a str,
    secret: &'a str,
}

impl<'a> Token<'a> {
    /// Parses a key. Returns `None` if it isn't well-formed.
    ///
    /// ```
    /// use agentdex_api::access::Token;
    ///
    /// let text = format!("adx_0123456789ab_{}", "0".repeat(64));
    /// assert_eq!(Token::parse(&text).map(|token| token.id), Some("0123456789ab"));
    /// assert!(Token::parse("0123456789ab").is_none());
    /// ```
    pub fn parse(text: &'a str) -> Option<Token<'a>> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_hexadecimal =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let is_token = id.len() == ID_DIGITS && secret.len() == SECRET_DIGITS && is_hexadecimal(id);
        (is_token && is_hexadecimal(secret)).then_some(Token { id, secret })
    }

    /// Creates the text of a key from 38 random bytes.
    pub fn from_random(random: &[u8; (ID_DIGITS + SECRET_DIGITS) / 2]) -> String {
        let digits = HEXLOWER.encode(random);
        let (id, secret) = digits.split_at(ID_DIGITS);
        format!("{PREFIX}{id}_{secret}")
    }

    /// Returns the hash of the secret, which is the part that is stored.
    pub fn secret(&self) -> Secret {
        Secret(HEXLOWER.encode(digest(&SHA256, self.secret.as_bytes()).as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_secret_matches() {
        let (one, other) = (Token::from_random(&[7; 38]), Token::from_random(&[8; 38]));
        let (one, other) = (Token::parse(&one).unwrap(), Token::parse(&other).unwrap());
        assert!(one.secret().matches(&one) && !one.secret().matches(&other));
        assert!(!Secret(String::new()).matches(&one));
        assert_eq!(one.id, "070707070707");
        // FIPS 180-4, of 64 times "0".
        let zeros = format!("adx_000000000000_{}", "0".repeat(64));
        assert_eq!(
            Token::parse(&zeros).unwrap().secret().0,
            "60e05bd1b195af2f94112fa7197a5c88289058840ce7c6df9693756bc6250f55"
        );
    }

    #[test]
    fn what_is_no_key_is_not_read_as_one() {
        let key = Token::from_random(&[0xab; 38]);
        assert!(Token::parse(&key).is_some());
        let others = [
            key.to_uppercase(),
            format!("{key}0"),
            format!(" {key}"),
            key.replace("adx_", ""),
            key.replace("ab_ab", "abab"),
        ];
        for other in others.iter().map(String::as_str).chain(["", "adx_", "adx__", "adx_\u{e9}_"]) {
            assert!(Token::parse(other).is_none(), "{other:?}");
        }
    }
}
