//! The result of a fetch: the document, with the media type, validators and freshness that its server states.

use std::time::Duration;

use reqwest::{
    Response,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

/// Longer validators are not stored.
const MAX_VALIDATOR_BYTES: usize = 1024;

/// A document that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The final URL, after redirects.
    pub url: String,
    /// Its media type without parameters, in lower case.
    pub media_type: String,
    /// The document, decompressed.
    pub bytes: Vec<u8>,
    /// Validators for the next conditional fetch.
    pub validators: Validators,
    /// Freshness lifetime by its server's `Cache-Control`, if there is one.
    pub max_age: Option<Duration>,
}

/// The result of a conditional fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A document that differs from the known one, or may differ.
    Fetched(Fetched),
    /// The known document is still current.
    NotModified {
        /// Freshness lifetime by its server's `Cache-Control`, if there is one.
        max_age: Option<Duration>,
    },
}

/// Validators of a document's version (RFC 9110, section 8.8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// The entity tag, quotes included.
    pub etag: Option<String>,
    /// The moment of the last change, as the server wrote it.
    pub last_modified: Option<String>,
}

impl Validators {
    /// True if there are no validators.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    pub(super) fn of(headers: &HeaderMap) -> Validators {
        let validator = |name| text(headers, name).filter(|text| !text.is_empty() && text.len() <= MAX_VALIDATOR_BYTES);
        Validators {
            etag: validator(header::ETAG).map(str::to_owned),
            last_modified: validator(header::LAST_MODIFIED).map(str::to_owned),
        }
    }

    /// The headers that ask for something newer.
    pub(super) fn headers(&self) -> HeaderMap {
        let conditions = [(header::IF_NONE_MATCH, &self.etag), (header::IF_MODIFIED_SINCE, &self.last_modified)];
        let value = |text: &Option<String>| text.as_deref().and_then(|text| HeaderValue::from_str(text).ok());
        conditions.into_iter().filter_map(|(name, text)| value(text).map(|value| (name, value))).collect()
    }
}

/// A header as text; of a repeated one the first.
pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// Returns the freshness lifetime of an answer (RFC 9111, section 5.2.2): zero for `no-store` and `no-cache`, none if
/// it states none.
pub(super) fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all(header::CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    let directives: Vec<String> =
        values.flat_map(|value| value.split(',')).map(|part| part.trim().to_ascii_lowercase()).collect();
    if directives.iter().any(|directive| matches!(directive.as_str(), "no-store" | "no-cache")) {
        return Some(Duration::ZERO);
    }
    let seconds = directives.iter().find_map(|directive| directive.strip_prefix("max-age="))?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

/// Returns the pause that a server asks for (RFC 9110, section 10.2.3), given in seconds or as a moment; none if there
/// is none that can be read.
pub(super) fn retry_after(headers: &HeaderMap, now: OffsetDateTime) -> Option<Duration> {
    let value = text(headers, header::RETRY_AFTER)?;
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse().ok().map(Duration::from_secs);
    }
    let moment = OffsetDateTime::parse(value, &Rfc2822).ok()?;
    Some(Duration::try_from(moment - now).unwrap_or_default())
}

/// The media type of an answer that may be JSON; else what is wrong with it.
pub(super) fn json_media_type(response: &Response) -> Result<String, String> {
    let Some(written) = text(response.headers(), header::CONTENT_TYPE) else {
        return Err("the response has no Content-Type, but only JSON is accepted".into());
    };
    let media_type = written.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if is_json(&media_type) || is_unspecific(&media_type) {
        return Ok(media_type);
    }
    Err(not_json(written))
}

fn not_json(media_type: &str) -> String {
    let shown: String = media_type.chars().take(100).collect();
    format!(
        "the response has the media type {shown:?}, but only JSON is accepted (application/json or application/…+json)"
    )
}

/// Checks that a document whose media type says little begins as JSON does.
pub(super) fn check_content(media_type: &str, document: &[u8]) -> Result<(), String> {
    let text = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if is_unspecific(media_type) && !matches!(first, Some(b'{' | b'[')) {
        return Err(not_json(media_type));
    }
    Ok(())
}

/// True for media types that servers give to files of any kind, JSON included.
fn is_unspecific(media_type: &str) -> bool {
    matches!(media_type, "text/plain" | "application/octet-stream" | "binary/octet-stream")
}

fn is_json(media_type: &str) -> bool {
    let is_structured = media_type.starts_with("application/") && media_type.ends_with("+json");
    is_structured || matches!(media_type, "application/json" | "text/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn freshness_is_read_leniently() {
        let age = |value: &str| max_age(&headers(&[(header::CACHE_CONTROL, value)])).map(|age| age.as_secs());
        assert_eq!(age("public, Max-Age=60"), Some(60));
        assert_eq!(age("max-age=\"7\""), Some(7));
        assert_eq!(age("max-age=60, no-cache"), Some(0));
        assert_eq!(age("max-age=soon"), None);
        assert_eq!(age("max-age=99999999999999999999"), None);
        assert_eq!(age("s-maxage=5"), None);
        assert_eq!(max_age(&HeaderMap::new()), None);
    }

    #[test]
    fn pauses_that_are_asked_for_are_read() {
        let now = OffsetDateTime::from_unix_timestamp(784_111_777).unwrap();
        let pause =
            |value: &str| retry_after(&headers(&[(header::RETRY_AFTER, value)]), now).map(|pause| pause.as_secs());
        assert_eq!(pause("120"), Some(120));
        assert_eq!(pause("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(pause("Sun, 06 Nov 1994 08:48:37 GMT"), Some(0));
        assert_eq!(pause("99999999999999999999"), None);
        assert_eq!((pause("soon"), pause("")), (None, None));
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn validators_come_back_as_conditions() {
        let answered = headers(&[(header::ETAG, "W/\"7\""), (header::LAST_MODIFIED, "Sun, 22 Nov 2026 00:00:00 GMT")]);
        let sent = Validators::of(&answered).headers();
        assert_eq!(text(&sent, header::IF_NONE_MATCH), Some("W/\"7\""));
        assert_eq!(text(&sent, header::IF_MODIFIED_SINCE), Some("Sun, 22 Nov 2026 00:00:00 GMT"));
        let long = headers(&[(header::ETAG, &format!("\"{}\"", "x".repeat(MAX_VALIDATOR_BYTES)))]);
        assert!(Validators::of(&long).is_empty());
    }

    #[test]
    fn media_types_of_json_are_told_from_others() {
        for media_type in ["application/json", "text/json", "application/td+json", "application/a2a+json"] {
            assert!(is_json(media_type), "{media_type}");
        }
        for media_type in
            ["text/html", "application/jsonp", "image/svg+xml", "application/json-seq", "text/x+json", "+json", ""]
        {
            assert!(!is_json(media_type), "{media_type}");
        }
    }

    #[test]
    fn unspecific_media_types_are_told_by_the_document() {
        for document in ["{}", " \n[1]", "\u{feff}{}"] {
            assert_eq!(check_content("text/plain", document.as_bytes()), Ok(()), "{document:?}");
        }
        for document in ["", "not found", "<html>", "\"{}\""] {
            assert!(check_content("application/octet-stream", document.as_bytes()).is_err(), "{document:?}");
        }
        assert_eq!(check_content("application/json", b"not found"), Ok(()));
    }
}
