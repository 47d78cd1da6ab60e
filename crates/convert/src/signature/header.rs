//! The protected header of a JWS (RFC 7515, section 4), which names the algorithm and the key.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use super::Algorithm;
use crate::td::Document;

/// The most bytes of a protected header, encoded.
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// The most bytes of a member that is repeated elsewhere.
const MAX_MEMBER_BYTES: usize = 512;

/// A header whose signature may be checked.
#[derive(Debug)]
pub(super) struct Header {
    pub algorithm: Algorithm,
    /// Name of the algorithm, as received.
    pub alg: String,
    pub kid: Option<String>,
    pub typ: Option<String>,
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

impl Header {
    /// Parses an encoded header, as received.
    pub fn read(protected: &str) -> Result<Header, Unreadable> {
        if protected.len() > MAX_HEADER_BYTES {
            return Err(format!("the protected header is longer than {MAX_HEADER_BYTES} bytes").into());
        }
        let header = BASE64_URL_SAFE_NO_PAD.decode(protected).map_err(|_| "the protected header is not base64url")?;
        let header = Document::parse(&header).map_err(|_| "the protected header is not JSON")?;
        let (alg, kid, typ) = (member(&header, "alg"), member(&header, "kid"), member(&header, "typ"));
        let unreadable = |reason: String| Unreadable { reason, kid: kid.clone(), alg: alg.clone() };
        if let Some(pointer) = header.repeated_members().first() {
            return Err(unreadable(format!("the member {pointer} of the protected header is repeated")));
        }
        // RFC 7515, section 4.1.11: extensions that must be understood, and none is.
        if header.value().get("crit").is_some() {
            return Err(unreadable("the protected header contains `crit`, but no extensions are supported".into()));
        }
        let alg = alg.clone().ok_or_else(|| unreadable("the protected header has no `alg`".into()))?;
        let algorithm = alg.parse::<Algorithm>().map_err(unreadable)?;
        Ok(Header { algorithm, alg, kid, typ })
    }
}

/// A text of the header, if it is short enough to be repeated.
fn member(header: &Document, name: &str) -> Option<String> {
    let text = header.value().get(name)?.as_str()?;
    (text.len() <= MAX_MEMBER_BYTES).then(|| text.to_owned())
}
