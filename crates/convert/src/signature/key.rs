//! Public keys (RFC 7517, RFC 7518 section 6, RFC 8037), and the verification of signatures with
//! them.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

use super::Algorithm;

/// The sizes of RSA moduli that are accepted, in bytes.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=512;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    /// Key id. A key without an id is tried for signatures whose `kid` matches no key.
    pub kid: Option<String>,
    /// The only algorithm it may be used with, if it says so.
    alg: Option<String>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    P256(Vec<u8>),
    P384(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Ed25519(Vec<u8>),
}

/// Why a JSON Web Key can't be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is for something else, or of a kind that isn't accepted; which of them it is.
    OtherPurpose(String),
    /// It must not be where it is, or isn't what it says.
    Wrong(&'static str),
}

impl PublicKey {
    /// Parses a JSON Web Key.
    pub fn from_jwk(jwk: &Value) -> Result<PublicKey, Unusable> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        if text("kty") == Some("oct") {
            return Err(Unusable::Wrong("is a shared secret; only public keys are trusted"));
        }
        if jwk.get("d").is_some() {
            return Err(Unusable::Wrong("contains its private part; remove it"));
        }
        let restriction = |name: &str| match jwk.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(Unusable::Wrong("has a use, alg, or kid that is not a string")),
        };
        let operations = match jwk.get("key_ops") {
            None => None,
            Some(Value::Array(operations)) => Some(operations),
            Some(_) => return Err(Unusable::Wrong("has key_ops that are not a list")),
        };
        let (purpose, alg, kid) = (restriction("use")?, restriction("alg")?, restriction("kid")?);
        let may_verify = operations.is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
        if let Some(purpose) = purpose.filter(|purpose| *purpose != "sig") {
            return Err(Unusable::OtherPurpose(format!("its use is {purpose:?}, not \"sig\"")));
        }
        if !may_verify {
            return Err(Unusable::OtherPurpose("its key_ops don't contain \"verify\"".to_owned()));
        }
        let material = match (text("kty"), text("crv")) {
            (Some("EC"), Some("P-256")) => Material::P256(point(jwk, 32)?),
            (Some("EC"), Some("P-384")) => Material::P384(point(jwk, 48)?),
            (Some("OKP"), Some("Ed25519")) => Material::Ed25519(coordinate(jwk, "x", 32)?),
            (Some("RSA"), _) => rsa(jwk)?,
            (Some(kind), curve) => {
                let kind = curve.map_or_else(|| kind.to_owned(), |curve| format!("{kind} {curve}"));
                return Err(Unusable::OtherPurpose(format!("keys of type {kind:?} are not supported")));
            }
            (None, _) => return Err(Unusable::Wrong("has no kty")),
        };
        Ok(PublicKey { kid: kid.map(str::to_owned), alg: alg.map(str::to_owned), material })
    }

    /// True if the key has the type required by the algorithm, and may be used with it.
    pub fn fits(&self, algorithm: Algorithm) -> bool {
        let is_kind = matches!(
            (&self.material, algorithm),
            (Material::P256(_), Algorithm::Es256)
                | (Material::P384(_), Algorithm::Es384)
                | (Material::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Material::Ed25519(_), Algorithm::EdDsa)
        );
        is_kind && self.alg.as_deref().is_none_or(|own| own.parse() == Ok(algorithm))
    }

    /// True if `signature` is a signature of the message with this key and algorithm.
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        let verified = match &self.material {
            Material::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Material::P384(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            Material::Ed25519(point) => UnparsedPublicKey::new(&signature::ED25519, point).verify(message, signature),
            Material::Rsa { n, e } => {
                let scheme = match algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(scheme, message, signature)
            }
        };
        verified.is_ok()
    }
}

/// An uncompressed point (SEC 1, section 2.3.3).
fn point(jwk: &Value, length: usize) -> Result<Vec<u8>, Unusable> {
    Ok([&[4][..], &coordinate(jwk, "x", length)?, &coordinate(jwk, "y", length)?].concat())
}

fn coordinate(jwk: &Value, name: &str, length: usize) -> Result<Vec<u8>, Unusable> {
    let bytes = octets(jwk, name).filter(|bytes| bytes.len() == length);
    bytes.ok_or(Unusable::Wrong("lacks coordinates of the length required by its curve"))
}

fn rsa(jwk: &Value) -> Result<Material, Unusable> {
    let number = |name| octets(jwk, name).map(|bytes| bytes.iter().copied().skip_while(|byte| *byte == 0).collect());
    let (n, e): (Option<Vec<u8>>, Option<Vec<u8>>) = (number("n"), number("e"));
    match (n, e) {
        (Some(n), Some(e)) if RSA_BYTES.contains(&n.len()) && (1..=4).contains(&e.len()) => Ok(Material::Rsa { n, e }),
        _ => Err(Unusable::Wrong("needs a modulus of 2048 to 4096 bits and an exponent of at most 32 bits")),
    }
}

fn octets(jwk: &Value, name: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(jwk.get(name)?.as_str()?).ok()
}
