//! Addresses: which Thing a path means, and the paths in responses.
//!
//! An id is everything after `/things/` or `/imports/`, percent-decoded once. Clients that join the `Location` of
//! an anonymous create to `/things/`, instead of resolving it, are understood as well.

use std::borrow::Cow;

use actix_web::{
    HttpRequest,
    http::{header::HOST, uri::Authority},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{Options, problem::Problem};
use crate::Error;

/// Characters that are percent-encoded in a path segment and in a query: all but the unreserved ones (RFC 3986, section
/// 2.3) and `:`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The path of the API's root as clients see it: empty, or the prefix that it is mounted under.
/// `path` is the part of the request's path that the API itself knows.
pub(super) fn base_path<'a>(request: &'a HttpRequest, options: &'a Options, path: &str) -> &'a str {
    match &options.public_url {
        Some(url) => path_of(url),
        None => request.match_info().as_str().strip_suffix(path).unwrap_or_default(),
    }
}

/// The URL of the API's root as clients see it, without a slash at the end.
pub(super) fn base_url(request: &HttpRequest, options: &Options, path: &str) -> String {
    match &options.public_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => {
            let is_secure = options.is_encrypted() || request.app_config().secure();
            let scheme = if is_secure { "https" } else { "http" };
            format!("{scheme}://{}{}", host(request), base_path(request, options, path))
        }
    }
}

/// The same where `path` is that of a resource as it is mounted, with names in it or "other".
pub(super) fn base_url_before(request: &HttpRequest, options: &Options, path: &str) -> String {
    let fixed = path.split_once('{').map_or(path, |(fixed, _)| fixed).trim_end_matches('/');
    let known = request.match_info().as_str();
    let own = match known.find(fixed) {
        Some(start) if !fixed.is_empty() => known.get(start..).unwrap_or_default(),
        _ => known,
    };
    base_url(request, options, own)
}

/// The host as the client names it; headers that only a proxy should set are ignored.
fn host(request: &HttpRequest) -> String {
    let named = request.headers().get(HOST).and_then(|host| host.to_str().ok()).or_else(|| request.uri().host());
    named.filter(|host| is_host(host)).map_or_else(|| request.app_config().local_addr().to_string(), str::to_owned)
}

/// True if a text is a host, perhaps with a port, that a URL can be made with.
fn is_host(text: &str) -> bool {
    let has_sane_port = |host: Authority| host.host().len() == text.len() || host.port_u16().is_some();
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
        && text.parse().is_ok_and(has_sane_port)
}

fn path_of(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.find('/').and_then(|slash| after_scheme.get(slash..)).unwrap_or_default().trim_end_matches('/')
}

/// Returns the part of a request's path after `/things`, `/imports`, or `/servers`: empty, or a slash and what it addresses.
pub(super) fn path_below(request: &HttpRequest) -> &str {
    request.match_info().unprocessed()
}

/// The id that the path of a request addresses.
pub(super) fn thing_id(request: &HttpRequest, options: &Options) -> Result<String, Error> {
    id_of(request, options, path_below(request))
}

/// The id in a path that is `/things/` and the absolute URL that a Thing has here, as clients request it that
/// resolve `Location` first; none for other paths.
pub(super) fn id_in_own_url(request: &HttpRequest, options: &Options) -> Result<Option<String>, Error> {
    let below = path_below(request);
    let tail = below.strip_prefix('/').unwrap_or(below);
    if !tail.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http")) {
        return Ok(None);
    }
    let own = base_url(request, options, &format!("/things{below}"));
    let own = own.split_once("://").map_or(own.as_str(), |(_, rest)| rest);
    let id_of = |url: &str| {
        let rest = url.split_once("://")?.1;
        let (host, path) = (rest.get(..own.len())?, rest.get(own.len()..)?);
        host.eq_ignore_ascii_case(own).then(|| path.strip_prefix("/things/").map(str::to_owned))?
    };
    let id = id_of(tail).map_or_else(|| Ok::<_, Error>(id_of(&decode(tail)?)), |id| Ok(Some(id)))?;
    id.map(|id| decode(&id).map(Cow::into_owned)).transpose()
}

/// The id of the Thing that the path of a request addresses something of, such as `/history`.
pub(super) fn thing_id_before(request: &HttpRequest, options: &Options, end: &str) -> Result<String, Error> {
    let path = path_below(request);
    id_of(request, options, path.strip_suffix(end).unwrap_or(path))
}

/// Returns the end of a path that addresses something of an affordance of a Thing, such as `/actions/<name>/sacp` with the list
/// `/actions/`, and the decoded name of the affordance; none for other paths.
pub(super) fn affordance_before<'a>(path: &'a str, list: &str, end: &str) -> Option<(&'a str, Result<String, Error>)> {
    let before = path.strip_suffix(end)?;
    let start = before.rfind(list).filter(|start| *start > 0)?;
    let name = before.get(start + list.len()..).filter(|name| !name.is_empty() && !name.contains('/'))?;
    Some((path.get(start..)?, decode(name).map(Cow::into_owned)))
}

/// The id of the Thing and the name of the affordance in the path of a request, which ends like `/actions/<name>/sacp` with
/// `/actions/` and `/sacp` as `ends`.
pub(super) fn affordance(
    request: &HttpRequest,
    options: &Options,
    (list, suffix): (&str, &str),
) -> Result<(String, String), Problem> {
    let unknown = || Problem::unknown_path(request.path());
    let (end, name) = affordance_before(path_below(request), list, suffix).ok_or_else(unknown)?;
    Ok((thing_id_before(request, options, end)?, name?))
}

fn id_of(request: &HttpRequest, options: &Options, below: &str) -> Result<String, Error> {
    let tail = below.strip_prefix('/').unwrap_or(below);
    if tail.contains(char::REPLACEMENT_CHARACTER) {
        return Err(not_utf8(tail));
    }
    if !tail.starts_with('/') && !tail.starts_with("%2F") && !tail.starts_with("%2f") {
        return decode(tail).map(Cow::into_owned);
    }
    let known = request.match_info().as_str();
    let own = known.find("/things/").and_then(|end| known.get(..end)).unwrap_or_default();
    let base = options.public_url.as_deref().map_or(own, path_of);
    let joined = |text: &str| text.strip_prefix(base)?.strip_prefix("/things/").map(str::to_owned);
    if let Some(id) = joined(tail) {
        return decode(&id).map(Cow::into_owned);
    }
    let id = decode(tail)?;
    match joined(&id) {
        Some(id) => decode(&id).map(Cow::into_owned),
        None => Ok(id.into_owned()),
    }
}

/// Decodes a percent-encoded part of a path.
pub(super) fn decode(text: &str) -> Result<Cow<'_, str>, Error> {
    percent_decode_str(text).decode_utf8().map_err(|_| not_utf8(text))
}

fn not_utf8(id: &str) -> Error {
    Error::InvalidId { id: id.to_owned(), reason: "it is not valid UTF-8 after percent-decoding".to_owned() }
}

/// The path of a Thing: what `Location` says.
pub(super) fn thing_path(base_path: &str, id: &str) -> String {
    format!("{base_path}/things/{}", escape(id))
}

/// Escapes a text for use in a path segment or a query.
pub(super) fn escape(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_url_has_no_slash_at_the_end() {
        assert_eq!(path_of("https://example.org"), "");
        assert_eq!(path_of("https://example.org/"), "");
        assert_eq!(path_of("https://example.org/registry/"), "/registry");
    }

    #[test]
    fn hosts_are_what_urls_can_be_made_with() {
        for host in ["localhost", "localhost:8080", "a_b.example", "[::1]", "[::1]:80", "192.0.2.1:1"] {
            assert!(is_host(host), "{host}");
        }
        for other in ["", "[::1", "x:99999999", "x:", "a b", "<x>", "a@b", "a/b", "::1"] {
            assert!(!is_host(other), "{other}");
        }
    }

    #[test]
    fn colons_of_an_id_stay_and_slashes_are_escaped() {
        assert_eq!(thing_path("", "urn:a:b/c?d"), "/things/urn:a:b%2Fc%3Fd");
    }
}
