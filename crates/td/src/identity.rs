//! Ids: absolute URIs, and the conversion of other texts to absolute URIs.

use std::borrow::Cow;

use fluent_uri::Iri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::MAX_ID_BYTES;
use crate::{Error, Result};

/// Prefix of ids that were converted to absolute URIs.
pub const NORMALIZED_ID_PREFIX: &str = "urn:agentdex:";

/// All but the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The source of an admitted document's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity<'a> {
    /// The document's own id, which must be present; otherwise, [`Error::MissingId`].
    Own,
    /// The document gets this id, and must not contain an id; otherwise, [`Error::UnexpectedId`].
    Assigned(&'a str),
    /// The document must contain this id after [`normalize_id`]; otherwise, [`Error::IdMismatch`] or
    /// [`Error::MissingId`].
    Addressed(&'a str),
}

/// Returns an id in its stored form. An absolute URI (RFC 3986) or IRI (RFC 3987) is unchanged, except that `urn` and
/// the namespace of a URN become lower case, since their case has no meaning (RFC 8141, section 3.1). Any other text
/// becomes `urn:agentdex:<percent-encoded>`. Ids in documents and in paths are normalized by this function, which is
/// idempotent.
///
/// ```
/// use agentdex_td::normalize_id;
///
/// assert_eq!(normalize_id("urn:uuid:6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77")?, "urn:uuid:6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77");
/// assert_eq!(normalize_id("URN:Example:Weather")?, "urn:example:Weather");
/// assert_eq!(normalize_id("my agent")?, "urn:agentdex:my%20agent");
/// # Ok::<(), agentdex_td::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidId`] for an empty id, [`Error::LimitExceeded`] for an id over [`MAX_ID_BYTES`].
pub fn normalize_id(id: &str) -> Result<Cow<'_, str>> {
    if id.is_empty() {
        return Err(Error::InvalidId { id: String::new(), reason: "it is empty".into() });
    }
    let normal = match is_absolute_uri(id) {
        true => urn_in_lower_case(id),
        false => {
            // A fixed id whose encoding was undone, as servers do with paths, is still meant.
            let word = id.strip_prefix(NORMALIZED_ID_PREFIX).unwrap_or(id);
            Cow::Owned(format!("{NORMALIZED_ID_PREFIX}{}", utf8_percent_encode(word, RESERVED)))
        }
    };
    if normal.len() > MAX_ID_BYTES {
        return Err(Error::LimitExceeded { what: "length of the id in bytes", maximum: MAX_ID_BYTES as u64 });
    }
    Ok(normal)
}

/// A URN with its scheme and namespace in lower case; other URIs as they are.
fn urn_in_lower_case(id: &str) -> Cow<'_, str> {
    let parts = id.split_once(':').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("urn"));
    let Some((namespace, specific)) = parts.and_then(|(_, rest)| rest.split_once(':')) else { return id.into() };
    let start = format!("urn:{}", namespace.to_ascii_lowercase());
    if id.starts_with(&start) { id.into() } else { format!("{start}:{specific}").into() }
}

/// True if `id` has a scheme and the syntax of a URI or IRI.
pub(super) fn is_absolute_uri(id: &str) -> bool {
    Iri::parse(id).is_ok()
}
