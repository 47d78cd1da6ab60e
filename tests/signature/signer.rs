//! Signs cards, in every algorithm and form, well and badly.

use agentdex::signature::{Algorithm, Form};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, PublicKeyComponents},
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};

/// Made for these tests with `openssl genrsa 2048`: ring can't make RSA keys.
const RSA: &[u8] = include_bytes!("../fixtures/signature/rsa-2048.pem");

/// Somebody with a key.
pub struct Signer {
    pub kid: String,
    pub algorithm: Algorithm,
    key: Key,
}

enum Key {
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    /// A new key, but for RSA, where it is always the same.
    pub fn new(kid: &str, algorithm: Algorithm) -> Signer {
        let random = SystemRandom::new();
        let ecdsa = |kind| {
            let key = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            Key::Ecdsa(EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).unwrap())
        };
        let key = match algorithm {
            Algorithm::Es256 => ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::Es384 => ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
            Algorithm::Rs256 | Algorithm::Ps256 => {
                let key = PrivatePkcs8KeyDer::from_pem_slice(RSA).unwrap();
                Key::Rsa(Box::new(RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap()))
            }
            Algorithm::EdDsa => {
                let key = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
                Key::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
            }
        };
        Signer { kid: kid.into(), algorithm, key }
    }

    /// The public key.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &self.key {
            Key::Ecdsa(key) => {
                let point = &key.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if point.len() == 64 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)})
            }
            Key::Rsa(key) => {
                let public: PublicKeyComponents<Vec<u8>> = key.public().into();
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
            Key::Ed25519(key) => json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key().as_ref())}),
        };
        jwk["kid"] = self.kid.as_str().into();
        jwk
    }

    /// A protected header as it should be.
    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm.name(), "kid": self.kid, "typ": "JOSE"})
    }

    /// Adds a signature of a form to the card.
    pub fn sign(&self, card: &mut Value, form: Form) {
        let payload = form.payload(card).unwrap();
        add(card, self.entry(&self.header().to_string(), &payload));
    }

    /// An entry for `signatures` with this header over this payload.
    pub fn entry(&self, header: &str, payload: &str) -> Value {
        let protected = encode(header.as_bytes());
        let message = format!("{protected}.{}", encode(payload.as_bytes()));
        json!({"protected": protected, "signature": encode(&self.sign_bytes(message.as_bytes()))})
    }

    fn sign_bytes(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.key {
            Key::Ecdsa(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Key::Ed25519(key) => key.sign(message).as_ref().to_vec(),
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let padding: &dyn signature::RsaEncoding = match self.algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                key.sign(padding, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

/// Adds an entry to the signatures of a card.
pub fn add(card: &mut Value, entry: Value) {
    let signatures = card.as_object_mut().unwrap().entry("signatures").or_insert_with(|| json!([]));
    signatures.as_array_mut().unwrap().push(entry);
}

pub fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
