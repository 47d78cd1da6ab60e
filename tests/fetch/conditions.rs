//! Conditional requests: what didn't change isn't sent again.

use std::time::Duration;

use agentdex::fetch::{Answer, Error, Fetcher, Request, Validators};

use super::{allowing, block_on, fetch, fetcher_for};
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
fn validators_are_no_business_of_another_server() {
    let known = Validators { etag: Some("\"track-7\"".into()), last_modified: Some(MODIFIED.into()) };
    // It answers 304 whoever asks for whatever.
    let stranger = Site::start(|_| Reply::new("304 Not Modified", &[], ""));
    let to = stranger.url("/x");
    let site = Site::start(move |_| Reply::redirect(&to));
    let fetcher = Fetcher::new(allowing(["127.0.0.0/8"])).unwrap();
    let error = block_on(fetcher.fetch_if_changed(&Request::new(site.url("/")), &known)).unwrap_err();
    assert!(matches!(error, Error::Failed { status: Some(304), .. }), "{error}");
    assert!(site.heads()[0].contains("track-7"));
    assert!(!stranger.heads()[0].contains("track-7") && !stranger.heads()[0].contains(MODIFIED));
}

#[test]
fn validators_of_another_server_are_not_kept() {
    let other = site();
    let away = other.url("/x");
    let home = Site::start(move |_| Reply::redirect(&away));
    let fetched = fetch(&Fetcher::new(allowing(["127.0.0.0/8"])).unwrap(), &home.url("/")).unwrap();
    assert_eq!((fetched.url, fetched.validators), (other.url("/x"), Validators::default()));
}

#[test]
fn redirects_within_a_server_keep_the_conditions() {
    let site = Site::start(|head| match head.starts_with("GET /to ") {
        true if head.contains("\"v1\"") => Reply::new("304 Not Modified", &[], ""),
        true => Reply::new("200 OK", &[("content-type", "application/json"), ("etag", "\"v1\"")], "{}"),
        false => Reply::redirect("/to"),
    });
    let (fetcher, url) = (fetcher_for(&site), site.url("/from"));
    let validators = fetch(&fetcher, &url).unwrap().validators;
    let answer = block_on(fetcher.fetch_if_changed(&Request::new(&url), &validators)).unwrap();
    assert_eq!(answer, Answer::NotModified { max_age: None });
}

#[test]
fn callers_preference_is_sent() {
    let site = site();
    block_on(fetcher_for(&site).fetch(&Request::new(site.url("/")).accept("application/a2a+json"))).unwrap();
    assert!(site.heads()[0].contains("application/a2a+json"));
}
