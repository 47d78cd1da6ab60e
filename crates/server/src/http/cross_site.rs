//! Reads that a page of another origin may not start.
//!
//! Such a page can't see the response, but every visit of it could have this server compute, or take one of its streams.
//! Browsers say where a request comes from in `Sec-Fetch-Site` (W3C Fetch Metadata). Older ones, and all browsers over plain HTTP
//! to an address other than loopback, send only `Origin`, and only for scripts: what a page embeds is not recognized. Other
//! programs send neither.

use actix_web::{
    dev::RequestHead,
    http::{
        Method, StatusCode,
        header::{HeaderName, ORIGIN},
    },
};

use super::{
    host::Hosts,
    options::{Options, is_origin},
    problem::Problem,
};

/// Routes whose reads take more than a lookup: searches, streams, calls of agents, and everything that is stored.
const COSTLY: [&str; 14] = [
    "/search",
    "/search/jsonpath",
    "/search/sparql",
    "/search/compatible",
    "/search/compose",
    "/things/{id}/compatible",
    "/things/{id}/properties/{name}/value",
    "/things/{id}/events/{name}/notifications",
    "/changes",
    "/events",
    "/events/{kind}",
    "/queries/{name}/events",
    "/backup",
    "/records",
];
/// Routes of the guardian's trail begin with this.
const GUARDIAN: &str = "/aos/";

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");
const USER: HeaderName = HeaderName::from_static("sec-fetch-user");

/// Refuses a read of a costly route by a page of another origin, unless CORS lets that origin in or a user followed a link
/// (403). Writes are checked by [`Hosts::check`].
pub(super) fn check(path: &str, head: &RequestHead, hosts: &Hosts, options: &Options) -> Result<(), Problem> {
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    if !is_read || !is_costly(path) || !is_of_another_origin(head) || is_link_navigation(head) {
        return Ok(());
    }
    let origin = head.headers().get(ORIGIN).map(|origin| origin.to_str().unwrap_or("\u{fffd}"));
    // What is embedded, such as an image, has no origin.
    let is_let_in = match origin {
        Some(origin) => hosts.let_in(origin, head, options),
        None => options.cors_origins.iter().any(|allowed| allowed == "*"),
    };
    if is_let_in {
        return Ok(());
    }
    let detail = format!(
        "pages of other origins may not read {path}; to allow it, start the server with `--cors-origin {}`",
        origin.filter(|origin| is_origin(origin)).unwrap_or("ORIGIN")
    );
    Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", detail))
}

fn is_costly(path: &str) -> bool {
    COSTLY.contains(&path) || path.starts_with(GUARDIAN)
}

/// True if a page of another origin sent the request, or one of an origin that is still to be compared. One of the same site,
/// such as another port or a sibling domain, is another origin too.
fn is_of_another_origin(head: &RequestHead) -> bool {
    match value(head, &SITE) {
        Some(site) => site == "cross-site" || site == "same-site",
        None => head.headers().contains_key(ORIGIN),
    }
}

/// True if a user followed a link, or entered a form, whose answer replaces the page.
fn is_link_navigation(head: &RequestHead) -> bool {
    value(head, &MODE) == Some("navigate")
        && value(head, &DESTINATION) == Some("document")
        && value(head, &USER) == Some("?1")
}

fn value<'a>(head: &'a RequestHead, name: &HeaderName) -> Option<&'a str> {
    head.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use actix_web::{http::header::HOST, test::TestRequest};

    use super::*;

    const PAGES: &str = "https://pages.example";

    fn is_refused(method: Method, path: &str, headers: &[(&str, &str)], allowed: &[&str]) -> bool {
        let mut request = TestRequest::default().method(method).insert_header((HOST, "localhost:8080"));
        for header in headers {
            request = request.insert_header(*header);
        }
        let cors_origins = allowed.iter().map(|origin| (*origin).to_owned()).collect();
        let options = Options { cors_origins, ..Options::default() };
        check(path, request.to_http_request().head(), &Hosts::of(&options), &options).is_err()
    }

    #[test]
    fn pages_of_other_origins_start_nothing_costly() {
        for site in ["cross-site", "same-site"] {
            let headers = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
            for path in COSTLY.into_iter().chain(["/aos/events", "/aos/decisions"]) {
                assert!(is_refused(Method::GET, path, &headers, &[]), "{path}");
                assert!(is_refused(Method::HEAD, path, &headers, &[PAGES]), "{path}");
            }
            for path in ["/", "/.well-known/wot", "/things/{id}", "/page/{file}", "/health/live", "/openapi.json"] {
                assert!(!is_refused(Method::GET, path, &headers, &[]), "{path}");
            }
            // Browsers ask first what they may ask; CORS answers that.
            assert!(!is_refused(Method::OPTIONS, "/events", &headers, &[]));
        }
    }

    #[test]
    fn own_pages_and_programs_read_everything() {
        let own = ("origin", "http://localhost:8080");
        for headers in [&[][..], &[own], &[("sec-fetch-site", "same-origin"), own], &[("sec-fetch-site", "none")]] {
            assert!(!is_refused(Method::GET, "/events", headers, &[]), "{headers:?}");
        }
    }

    #[test]
    fn origins_that_cors_lets_in_read_everything() {
        let of = |origin| [("sec-fetch-site", "cross-site"), ("origin", origin)];
        assert!(!is_refused(Method::GET, "/events", &of(PAGES), &[PAGES]));
        assert!(!is_refused(Method::GET, "/events", &of(PAGES), &["*"]));
        assert!(is_refused(Method::GET, "/events", &of("https://pages.example.org"), &[PAGES]));
        assert!(is_refused(Method::GET, "/events", &of("null"), &[PAGES]));
        // Of a browser that sends no `Sec-Fetch-Site`.
        for (origin, is_let_in) in [(PAGES, true), ("https://pages.example.org", false), ("null", false)] {
            assert_eq!(is_refused(Method::GET, "/search", &[("origin", origin)], &[PAGES]), !is_let_in, "{origin}");
            assert!(!is_refused(Method::GET, "/things/{id}", &[("origin", origin)], &[PAGES]), "{origin}");
        }
        let embedded = [("sec-fetch-site", "cross-site")];
        assert!(is_refused(Method::GET, "/events", &embedded, &[PAGES]));
        assert!(!is_refused(Method::GET, "/events", &embedded, &["*"]));
    }

    #[test]
    fn links_are_followed_by_users_alone() {
        let link = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
            ("sec-fetch-user", "?1"),
        ];
        assert!(!is_refused(Method::GET, "/search", &link, &[]));
        // A frame, a script that sets the location, a fetch.
        for other in [("sec-fetch-dest", "iframe"), ("sec-fetch-user", "?0"), ("sec-fetch-mode", "cors")] {
            let headers = link.map(|header| if header.0 == other.0 { other } else { header });
            assert!(is_refused(Method::GET, "/search", &headers, &[]), "{other:?}");
        }
        assert!(is_refused(Method::GET, "/search", &link[..3], &[]));
    }
}
