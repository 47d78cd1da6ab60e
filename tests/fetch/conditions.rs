//! Conditional requests: what didn't change isn't sent again.

use std::time::Duration;

use agentdex::fetch::{Answer, Request, Validators};

use super::{block_on, fetch, fetcher_for};
use crate::support::{Reply, Site};

const MODIFIED: &str = "Sun, 22 Nov 2026 00:00:00 GMT";

/// Answers 304 to those who have the document, by tag or by moment.
fn site() -> Site {
    Site::start(|head| {
        let head = head.to_lowercase();
        let known = head.contains("if-none-match: \"v1\"") || head.contains(&MODIFIED.to_lowercase());
        let headers = [
            ("content-type", "application/json"),
            ("etag", "\"v1\""),
            ("last-modified", MODIFIED),
            ("cache-control", "public, max-age=300"),
        ];
        if known { Reply::new("304 Not Modified", &headers[1..], "") } else { Reply::new("200 OK", &headers, "{}") }
    })
}

#[test]
fn known_document_is_not_sent_again() {
    let site = site();
    let (fetcher, request) = (fetcher_for(&site), Request::new(site.url("/card.json")));
    let fetched = fetch(&fetcher, &site.url("/card.json")).unwrap();
    assert_eq!(fetched.validators.etag.as_deref(), Some("\"v1\""));
    assert_eq!(fetched.validators.last_modified.as_deref(), Some(MODIFIED));
    assert_eq!(fetched.max_age, Some(Duration::from_secs(300)));
    let by_moment = Validators { etag: None, ..fetched.validators.clone() };
    for validators in [&fetched.validators, &by_moment] {
        let answer = block_on(fetcher.fetch_if_changed(&request, validators)).unwrap();
        assert_eq!(answer, Answer::NotModified { max_age: Some(Duration::from_secs(300)) });
    }
    let head = site.heads()[2].to_lowercase();
    assert!(head.contains("if-modified-since: ") && !head.contains("if-none-match"), "{head}");
}

#[test]
fn changed_document_is_sent() {
    let site = site();
    let old = Validators { etag: Some("\"v0\"".into()), last_modified: None };
    let answer = block_on(fetcher_for(&site).fetch_if_changed(&Request::new(site.url("/")), &old)).unwrap();
    assert!(matches!(answer, Answer::Fetched(fetched) if fetched.bytes == b"{}"));
}

#[test]
fn validators_of_strangers_break_no_header() {
    let site = site();
    let odd = Validators { etag: Some("\"a\r\nx-injected: 1\"".into()), last_modified: None };
    block_on(fetcher_for(&site).fetch_if_changed(&Request::new(site.url("/")), &odd)).unwrap();
    assert!(!site.heads()[0].contains("x-injected"), "{:?}", site.heads());
}

#[test]
fn callers_preference_is_sent() {
    let site = site();
    block_on(fetcher_for(&site).fetch(&Request::new(site.url("/")).accept("application/a2a+json"))).unwrap();
    assert!(site.heads()[0].contains("application/a2a+json"));
}
