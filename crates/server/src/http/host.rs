//! Host names that the server answers to. A web page can have its own name resolve to the address of this
//! server (DNS rebinding) and is then, to the browser, of the same origin as the API. Its requests still
//! carry the name in `Host`, so a name that isn't known is refused before anything else is read.

use std::net::IpAddr;

use actix_web::{
    dev::RequestHead,
    http::{
        StatusCode,
        header::{HOST, ORIGIN},
        uri::Authority,
    },
};

use super::{
    options::{Options, is_origin},
    problem::Problem,
};

/// The hosts that requests may name.
#[derive(Debug, Clone)]
pub(super) struct Hosts {
    /// In small letters, without port.
    names: Vec<String>,
    /// True if any name is taken: somebody else checks them.
    any: bool,
}

impl Hosts {
    /// The configured names, and that of the public URL.
    pub(super) fn of(options: &Options) -> Hosts {
        let configured = options.allowed_hosts.iter().map(|name| name.to_ascii_lowercase());
        let public = options.public_url.as_deref().and_then(host_of_url).map(|host| name_of(host).to_ascii_lowercase());
        Hosts { names: configured.chain(public).collect(), any: options.allowed_hosts.iter().any(|name| name == "*") }
    }

    /// True if a `Host` is this server for certain. Addresses are, since no name that somebody else
    /// controls stands for them; so are the names of loopback. Ports don't matter: they may be forwarded.
    fn know(&self, host: &str) -> bool {
        let name = name_of(host).trim_end_matches('.');
        let is_name = |known: &str| name.eq_ignore_ascii_case(known);
        is_address(name)
            || is_name("localhost")
            || name.len() > 10 && name.get(name.len() - 10..).is_some_and(|end| end.eq_ignore_ascii_case(".localhost"))
            || self.names.iter().any(|known| is_name(known))
    }

    /// Refuses a request for another host (421), and one that changes something from a page of another
    /// origin (403). Programs that are no browsers send no `Origin`.
    pub(super) fn check(&self, head: &RequestHead, options: &Options) -> Result<(), Problem> {
        let named = head.headers().get_all(HOST).map(|host| host.to_str().unwrap_or("\u{fffd}"));
        let in_target = head.uri.authority().map(Authority::as_str);
        if let Some(other) = named.chain(in_target).find(|host| !self.any && !self.know(host)) {
            return Err(misdirected(other));
        }
        if head.method.is_safe() { Ok(()) } else { self.check_origin(head, options) }
    }

    /// Refuses a request for another host, and any one from a page of another origin, with 403: as MCP asks of its servers
    /// (streamable HTTP, "Security Warning").
    pub(super) fn check_strictly(&self, head: &RequestHead, options: &Options) -> Result<(), Problem> {
        self.check(head, options).map_err(|problem| problem.with_status(StatusCode::FORBIDDEN))?;
        self.check_origin(head, options)
    }

    /// Refuses a page of another origin than that of the API and those that CORS lets in (403).
    pub(super) fn check_origin(&self, head: &RequestHead, options: &Options) -> Result<(), Problem> {
        let Some(origin) = head.headers().get(ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or("\u{fffd}");
        if self.let_in(origin, head, options) {
            return Ok(());
        }
        // Files and sandboxed frames have the origin `null`, which no value of the flag names.
        let remedy = match is_origin(origin) {
            true => format!("to allow it, start the server with `--cors-origin {origin}`"),
            false => "open the page at an http:// or https:// URL, and allow the origin of that URL with \
                      `--cors-origin`"
                .into(),
        };
        let detail = format!("pages of {origin:?} may not send this request; {remedy}");
        Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", detail))
    }

    /// True if pages of an origin may use the API: its own, and those that CORS lets in.
    pub(super) fn let_in(&self, origin: &str, head: &RequestHead, options: &Options) -> bool {
        let is_configured = options.cors_origins.iter().any(|allowed| allowed == "*" || allowed == origin);
        is_configured || self.is_own(origin, head, options)
    }

    /// True if an origin is that of the API: of the public URL, or of the host that the request names, if
    /// that is known to be this server.
    fn is_own(&self, origin: &str, head: &RequestHead, options: &Options) -> bool {
        let is_start =
            |url: &String| url.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let host = head.headers().get(HOST).and_then(|host| host.to_str().ok());
        let same_host = |host: &str| origin.split_once("://").is_some_and(|(_, own)| own.eq_ignore_ascii_case(host));
        !origin.is_empty()
            && (options.public_url.as_ref().is_some_and(is_start)
                || host.is_some_and(|host| self.know(host) && same_host(host)))
    }
}

fn misdirected(host: &str) -> Problem {
    let shown: String = host.chars().take(256).collect();
    let name = name_of(&shown);
    let detail = format!(
        "this server doesn't serve the host {shown:?}; to allow it, start the server with `--allowed-host {name}`"
    );
    Problem::new(StatusCode::MISDIRECTED_REQUEST, "host-not-allowed", detail)
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// True if a host is written as an address: `192.0.2.1` or `[2001:db8::1]`.
fn is_address(name: &str) -> bool {
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.parse::<std::net::Ipv4Addr>().is_ok(),
    }
}

/// The host of a URL, perhaps with a port.
fn host_of_url(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', '?', '#']).next()
}

/// The name in a listen address such as `registry.internal:8080`; none for an address of numbers.
#[must_use]
pub fn name_in_listen_address(address: &str) -> Option<&str> {
    let name = name_of(address);
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    (!is_address && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn options() -> Options {
        Options {
            allowed_hosts: vec!["Registry.internal".into()],
            public_url: Some("https://agents.example:8443/registry".into()),
            cors_origins: vec!["https://pages.example".into()],
            ..Options::default()
        }
    }

    fn status(options: &Options, method: &str, host: &str, origin: &str) -> Option<u16> {
        let method = actix_web::http::Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let mut request = TestRequest::with_uri("/things").method(method);
        if !host.is_empty() {
            request = request.insert_header((HOST, host));
        }
        if !origin.is_empty() {
            request = request.insert_header((ORIGIN, origin));
        }
        let refused = Hosts::of(options).check(request.to_http_request().head(), options).err();
        refused.map(|problem| problem.status().as_u16())
    }

    #[test]
    fn known_hosts_are_loopback_addresses_and_configured_names() {
        for host in [
            "",
            "localhost",
            "LOCALHOST:9",
            "a.localhost:80",
            "127.0.0.1:8080",
            "[::1]",
            "[2001:db8::1]:80",
            "192.0.2.7",
            "registry.internal:8080",
            "agents.example",
            "agents.example.:1",
        ] {
            assert_eq!(status(&options(), "GET", host, ""), None, "{host}");
        }
        for other in [
            "attacker.example",
            "attacker.example:8080",
            "localhost.attacker.example",
            "127.0.0.1.nip.io",
            "x",
            "::1",
            "localhost:a",
            "notlocalhost",
            "[::1",
            "2130706433",
            "0x7f.1",
            "pages.example",
            "[attacker.example]",
        ] {
            assert_eq!(status(&options(), "GET", other, ""), Some(421), "{other}");
        }
        assert_eq!(status(&Options { allowed_hosts: vec!["*".into()], ..options() }, "GET", "x", ""), None);
    }

    #[test]
    fn hosts_in_the_request_target_count_too() {
        let request = TestRequest::with_uri("http://attacker.example/things").insert_header((HOST, "localhost"));
        assert!(Hosts::of(&options()).check(request.to_http_request().head(), &options()).is_err());
    }

    #[test]
    fn writes_come_from_programs_and_from_pages_of_known_origins() {
        let with = |origin| status(&options(), "PUT", "localhost:8080", origin);
        for origin in ["", "http://localhost:8080", "https://agents.example:8443", "https://pages.example"] {
            assert_eq!(with(origin), None, "{origin}");
        }
        for origin in ["null", "http://localhost:3000", "https://agents.example", "https://pages.example.org", "h"] {
            assert_eq!(with(origin), Some(403), "{origin}");
        }
        assert_eq!(status(&options(), "GET", "localhost", "https://attacker.example"), None);
        // An origin that is only said to be that of a host which nobody checked.
        let unchecked = Options { allowed_hosts: vec!["*".into()], ..Options::default() };
        assert_eq!(status(&unchecked, "PUT", "attacker.example:8080", "http://attacker.example:8080"), Some(403));
    }

    #[test]
    fn listen_addresses_have_names_or_numbers() {
        assert_eq!(name_in_listen_address("registry.internal:80"), Some("registry.internal"));
        for numbers in ["127.0.0.1:80", "[::1]:80", "0.0.0.0:0", ":80"] {
            assert_eq!(name_in_listen_address(numbers), None, "{numbers}");
        }
    }
}
