//! Request bodies and media types: what is read, how much of it, and what is answered.

use actix_web::{
    HttpRequest,
    dev::{Decompress, Payload},
    http::{
        StatusCode,
        header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName},
    },
    web,
};
use futures_util::StreamExt;

use super::problem::Problem;

/// What a Thing Description comes in.
pub(super) const DESCRIPTIONS: [&str; 3] = ["application/td+json", "application/ld+json", "application/json"];
/// What a merge patch comes in.
pub(super) const MERGE_PATCHES: [&str; 2] = ["application/merge-patch+json", "application/json"];
/// What a batch comes in.
pub(super) const LINES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

/// Refuses a body of a type that isn't among `taken` (415). A body without a type is taken for the
/// first of them: RFC 9110, section 8.3, leaves that to the recipient.
pub(super) fn check_type(request: &HttpRequest, taken: &[&str]) -> Result<(), Problem> {
    let Some(given) = request.headers().get(CONTENT_TYPE) else { return Ok(()) };
    let given = given.to_str().unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if taken.iter().any(|taken| taken.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let detail = format!("the body is {given:?}, but must be {}", taken.join(", "));
    Err(unsupported(detail).with_header(ACCEPT, taken.join(", ")))
}

/// Undoes the content coding of a body.
pub(super) fn decoded(request: &HttpRequest, payload: web::Payload) -> Result<Decompress<Payload>, Problem> {
    let coding = request.headers().get(CONTENT_ENCODING).map(|coding| coding.to_str().unwrap_or_default().trim());
    if let Some(coding) = coding.filter(|coding| !["gzip", "x-gzip", "deflate", "br", "identity", ""].contains(coding))
    {
        let detail = format!("the content coding {coding:?} is not known");
        return Err(unsupported(detail).with_header(ACCEPT_ENCODING, "gzip, br, deflate"));
    }
    Ok(Decompress::from_headers(payload.into_inner(), request.headers()))
}

/// Reads a whole body of at most `maximum` bytes.
pub(super) async fn read(request: &HttpRequest, payload: web::Payload, maximum: usize) -> Result<Vec<u8>, Problem> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > maximum) {
        return Err(Problem::body_too_large(maximum));
    }
    let mut payload = decoded(request, payload)?;
    let mut body = Vec::with_capacity(length.unwrap_or_default());
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| broken(&error))?;
        if body.len() + chunk.len() > maximum {
            return Err(Problem::body_too_large(maximum));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A body that ends early or isn't coded as it says.
pub(super) fn broken(error: &actix_web::error::PayloadError) -> Problem {
    let detail = format!("the body could not be read: {error}");
    Problem::new(StatusCode::BAD_REQUEST, "broken-body", "Broken body", detail)
}

fn unsupported(detail: String) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type", detail)
}

/// The first of the offered media types that the client names, else the first offered: a client that
/// accepts none of them gets what there is.
pub(super) fn negotiate(request: &HttpRequest, offered: &[&'static str]) -> &'static str {
    let first = offered.first().copied().unwrap_or_default();
    let Some(accept) = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()) else { return first };
    let named = |offer: &&&str| {
        accept
            .split(',')
            .any(|range| range.split(';').next().is_some_and(|range| range.trim().eq_ignore_ascii_case(offer)))
    };
    offered.iter().find(named).copied().unwrap_or(first)
}

/// Whether the client asks for a preference (RFC 7240).
pub(super) fn prefers(request: &HttpRequest, preference: &str) -> bool {
    let prefer = HeaderName::from_static("prefer");
    let mut given = request.headers().get_all(prefer).filter_map(|value| value.to_str().ok());
    given.any(|value| value.split([',', ';']).any(|given| given.trim().eq_ignore_ascii_case(preference)))
}
