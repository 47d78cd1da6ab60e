//! Checks on URLs in cards that may become the `href` of a form or link.

use fluent_uri::{Iri, IriRef};

use crate::td::{Violation, internal::Path};

/// Schemes that name no place, or run what they carry.
const NO_PLACE: [&str; 8] = ["javascript", "data", "vbscript", "file", "blob", "about", "mailto", "tel"];

/// Why a URL is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It says where only beside another URL, which isn't known.
    Relative,
    /// It is not a URL.
    Broken,
    /// It leads nowhere, or to what nobody should follow.
    Unsafe,
}

impl Unusable {
    pub(super) fn rule(self) -> &'static str {
        match self {
            Unusable::Relative => "url-relative",
            Unusable::Broken => "url-broken",
            Unusable::Unsafe => "url-unsafe",
        }
    }

    /// The warning at `path`; `consequence` is what comes of it.
    pub(super) fn warning(self, path: &Path<'_>, text: &str, consequence: &str) -> Violation {
        let reason = match self {
            Unusable::Relative => "is relative, but there is no base URL",
            Unusable::Broken => "is not a URL",
            Unusable::Unsafe => "has no host, or an unsafe scheme",
        };
        let text: String = text.chars().take(200).collect();
        Violation::new(path.to_pointer(), self.rule(), format!("{text:?} {reason}: {consequence}"))
    }
}

/// The URL of an interface: any scheme that has a host.
pub(super) fn interface_url(text: &str, base: Option<&str>) -> Result<String, Unusable> {
    let url = absolute(text, base)?;
    let iri = Iri::parse(url.as_str()).map_err(|_| Unusable::Broken)?;
    let has_host = iri.authority().is_some_and(|authority| !authority.host().is_empty());
    let scheme = iri.scheme().as_str();
    let is_place = !NO_PLACE.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    if has_host && is_place { Ok(url) } else { Err(Unusable::Unsafe) }
}

/// The URL of a page or picture, or of an endpoint that a person is sent to: http or https.
pub(super) fn web_url(text: &str, base: Option<&str>) -> Result<String, Unusable> {
    let url = interface_url(text, base)?;
    let is_web = ["http:", "https:"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    if is_web { Ok(url) } else { Err(Unusable::Unsafe) }
}

fn absolute(text: &str, base: Option<&str>) -> Result<String, Unusable> {
    let text = text.trim();
    let reference = IriRef::parse(text).map_err(|_| Unusable::Broken)?;
    if reference.has_scheme() {
        return Ok(text.to_owned());
    }
    if text.is_empty() {
        return Err(Unusable::Broken);
    }
    let base = base.and_then(|base| Iri::parse(base).ok()).ok_or(Unusable::Relative)?;
    let resolved = reference.resolve_against(&base.strip_fragment()).map_err(|_| Unusable::Relative)?;
    Ok(resolved.into_string())
}

/// Of a gRPC target without a scheme, `host:port`, the URL.
pub(super) fn grpc_target(text: &str) -> Option<String> {
    let (host, port) = text.trim().rsplit_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'[' | b']' | b':'));
    let url = (is_port && is_host).then(|| format!("grpc://{}", text.trim()))?;
    Iri::parse(url.as_str()).is_ok().then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_with_a_host_are_used() {
        for text in ["https://a.example", "http://[::1]:8080/a2a", " https://a.example/x ", "grpc://a.example:50051"] {
            assert_eq!(interface_url(text, None), Ok(text.trim().to_owned()));
        }
        for text in [
            "javascript:alert(1)",
            "data:text/html,x",
            "https:///path",
            "urn:x:y",
            "file:///etc/passwd",
            "file://host/x",
        ] {
            assert_eq!(interface_url(text, None), Err(Unusable::Unsafe), "{text}");
        }
        for text in ["", "https://a b/", "http://[::", "https://a/{tenant}", "\u{0}"] {
            assert_eq!(interface_url(text, None), Err(Unusable::Broken), "{text}");
        }
        assert_eq!(web_url("ftp://a.example/icon.png", None), Err(Unusable::Unsafe));
    }

    #[test]
    fn relative_urls_need_a_base() {
        assert_eq!(interface_url("/a2a", None), Err(Unusable::Relative));
        let base = Some("https://a.example/.well-known/agent-card.json");
        assert_eq!(interface_url("/a2a", base).as_deref(), Ok("https://a.example/a2a"));
        assert_eq!(interface_url("//evil.example/", base).as_deref(), Ok("https://evil.example/"));
        assert_eq!(interface_url("x", Some("not a url")), Err(Unusable::Relative));
    }

    #[test]
    fn a_grpc_target_is_no_scheme() {
        assert_eq!(grpc_target("localhost:50051").as_deref(), Some("grpc://localhost:50051"));
        assert_eq!(grpc_target("[::1]:443").as_deref(), Some("grpc://[::1]:443"));
        for text in ["javascript:alert(1)", "https://a.example", "a]b:1", "[a.example:1", "::1:443"] {
            assert_eq!(grpc_target(text), None, "{text}");
        }
    }
}
