//! Accepted signature algorithms. All of them are asymmetric, so a registry that can verify a card can't sign one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A JWS algorithm (RFC 7518, section 3.1; RFC 8037, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// ECDSA over P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA over P-384 with SHA-384.
    #[serde(rename = "ES384")]
    Es384,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// RSASSA-PSS with SHA-256.
    #[serde(rename = "PS256")]
    Ps256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Es256, Algorithm::Es384, Algorithm::Rs256, Algorithm::Ps256, Algorithm::EdDsa];

    /// Returns the name used in headers.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::Rs256 => "RS256",
            Algorithm::Ps256 => "PS256",
            Algorithm::EdDsa => "EdDSA",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = String;

    /// Reads a name; EdDSA is also known by the curve (RFC 9864, section 2.2).
    fn from_str(name: &str) -> Result<Algorithm, String> {
        if name == "Ed25519" {
            return Ok(Algorithm::EdDsa);
        }
        let known = || Algorithm::ALL.map(Algorithm::name).join(", ");
        let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| format!("the algorithm {name:?} is not accepted; accepted algorithms are {}", known()))
    }
}
