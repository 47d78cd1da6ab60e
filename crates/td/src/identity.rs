//! Ids: absolute URIs, and what becomes of those that are none.

use std::borrow::Cow;

use fluent_uri::Iri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::MAX_ID_BYTES;
use crate::{Error, Result};

/// The prefix of ids that were fixed.
pub const NORMALIZED_ID_PREFIX: &str = "urn:agentdex:";

/// All but the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The source of an admitted document's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity<'a> {
    /// The document has it.
    Own,
    /// The document must not have one (that is [`Error::UnexpectedId`]); it gets this one.
    Assigned(&'a str),
    /// The document must have this one, up to [`normalize_id`]: else [`Error::IdMismatch`] or
    /// [`Error::MissingId`].
    Addressed(&'a str),
}

/// An id as it is stored: an absolute URI (RFC 3986, or an IRI by RFC 3987) stays as it is, anything
/// else becomes `urn:agentdex:<percent-encoded>`. The same function serves ids in documents and in
/// paths, and what it returns it returns unchanged.
///
/// ```
/// use agentdex_td::normalize_id;
///
/// assert_eq!(normalize_id("urn:uuid:6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77")?, "urn:uuid:6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77");
/// assert_eq!(normalize_id("my agent")?, "urn:agentdex:my%20agent");
/// # Ok::<(), agentdex_td::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidId`] where it is empty, [`Error::LimitExceeded`] over [`MAX_ID_BYTES`].
pub fn normalize_id(id: &str) -> Result<Cow<'_, str>> {
    if id.is_empty() {
        return Err(Error::InvalidId { id: String::new(), reason: "it is empty".into() });
    }
    let normal = match is_absolute_uri(id) {
        true => Cow::Borrowed(id),
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

/// True if `id` has a scheme and the syntax of a URI or IRI.
pub(super) fn is_absolute_uri(id: &str) -> bool {
    Iri::parse(id).is_ok()
}
