//! An entry of `signatures`: a JWS without its payload (RFC 7515, appendix F).

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;

use super::{
    Algorithm,
    header::{Header, Unreadable},
};

/// A signature that may be checked.
#[derive(Debug)]
pub(super) struct Entry<'c> {
    /// The protected header as it was sent, which is what is signed.
    protected: &'c str,
    pub algorithm: Algorithm,
    /// Name of the algorithm, as received.
    pub alg: String,
    pub kid: String,
    pub signature: Vec<u8>,
}

impl<'c> Entry<'c> {
    /// Parses an entry. Its unprotected `header` is ignored, since it isn't signed.
    pub fn read(entry: &'c Value) -> Result<Entry<'c>, Unreadable> {
        let text = |name: &str| {
            let text = entry.get(name).and_then(Value::as_str);
            text.ok_or_else(|| Unreadable::from(format!("`{name}` of the signature must be a string")))
        };
        let (protected, signature) = (text("protected")?, text("signature")?);
        let Header { algorithm, alg, kid, .. } = Header::read(protected)?;
        let unreadable = |reason: &str| Unreadable { reason: reason.into(), kid: kid.clone(), alg: Some(alg.clone()) };
        let Some(kid) = kid.clone().filter(|kid| !kid.is_empty()) else {
            return Err(unreadable("the protected header has no `kid`"));
        };
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature);
        let signature = signature.map_err(|_| unreadable("the signature is not base64url"))?;
        Ok(Entry { protected, algorithm, alg, kid, signature })
    }

    /// Returns the signing input (RFC 7515, section 5.1) for an encoded payload.
    pub fn signing_input(&self, payload: &str) -> String {
        format!("{}.{payload}", self.protected)
    }
}

/// A payload as it is signed.
pub(super) fn encode_payload(payload: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(payload)
}
