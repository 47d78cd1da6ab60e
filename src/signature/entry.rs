//! One entry of `signatures`: a JWS without its payload (RFC 7515, appendix F).

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;

use super::Algorithm;
use crate::td::Document;

/// The most bytes of a protected header, encoded.
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// The most bytes of a `kid`.
const MAX_KID_BYTES: usize = 512;

/// A signature that may be checked.
#[derive(Debug)]
pub(super) struct Entry<'c> {
    /// The protected header as it was sent, which is what is signed.
    protected: &'c str,
    pub algorithm: Algorithm,
    /// The name of the algorithm as it was sent.
    pub alg: String,
    pub kid: String,
    pub signature: Vec<u8>,
}

/// A signature that isn't even checked: why, and what it says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub reason: String,
    pub kid: Option<String>,
    pub alg: Option<String>,
}

impl From<String> for Unreadable {
    fn from(reason: String) -> Unreadable {
        Unreadable { reason, ..Unreadable::default() }
    }
}

impl From<&str> for Unreadable {
    fn from(reason: &str) -> Unreadable {
        reason.to_owned().into()
    }
}

impl<'c> Entry<'c> {
    /// Reads an entry. Its unprotected `header` is ignored: nobody signed it.
    pub fn read(entry: &'c Value) -> Result<Entry<'c>, Unreadable> {
        let text = |name: &str| {
            let text = entry.get(name).and_then(Value::as_str);
            text.ok_or_else(|| Unreadable::from(format!("the signature has no text `{name}`")))
        };
        let (protected, signature) = (text("protected")?, text("signature")?);
        if protected.len() > MAX_HEADER_BYTES {
            return Err(format!("the protected header is longer than {MAX_HEADER_BYTES} bytes").into());
        }
        let header = BASE64_URL_SAFE_NO_PAD.decode(protected).map_err(|_| "the protected header is not base64url")?;
        let header = Document::parse(&header).map_err(|_| "the protected header is not JSON")?;
        let (alg, kid) = (member(&header, "alg"), member(&header, "kid"));
        let unreadable = |reason: String| Unreadable { reason, kid: kid.clone(), alg: alg.clone() };
        if let Some(pointer) = header.repeated_members().first() {
            return Err(unreadable(format!("the member {pointer} of the protected header is repeated")));
        }
        // RFC 7515, section 4.1.11: extensions that must be understood, and none is.
        if header.value().get("crit").is_some() {
            return Err(unreadable("the protected header has `crit`, and no extension is understood".into()));
        }
        let named = alg.clone().ok_or_else(|| unreadable("the protected header has no `alg`".into()))?;
        let algorithm = named.parse::<Algorithm>().map_err(unreadable)?;
        let Some(kid) = kid.clone().filter(|kid| !kid.is_empty()) else {
            return Err(unreadable("the protected header has no `kid`".into()));
        };
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature);
        let signature = signature.map_err(|_| unreadable("the signature is not base64url".into()))?;
        Ok(Entry { protected, algorithm, alg: named, kid, signature })
    }

    /// What is signed (RFC 7515, section 5.1), given the payload encoded.
    pub fn signing_input(&self, payload: &str) -> String {
        format!("{}.{payload}", self.protected)
    }
}

/// A text of the header, if it is short enough to be repeated.
fn member(header: &Document, name: &str) -> Option<String> {
    let text = header.value().get(name)?.as_str()?;
    (text.len() <= MAX_KID_BYTES).then(|| text.to_owned())
}

/// A payload as it is signed.
pub(super) fn encode_payload(payload: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(payload)
}
