//! What a server can do to a fetcher: be slow, say too much, or something else than it should.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use agentdex::fetch::{Error, Fetcher, Options, Request};
use flate2::{Compression, write::GzEncoder};

use super::{allowing, block_on, failure, fetch, fetcher_for};
use crate::support::{Answers, Reply, Site, closed_address};

const SHORT: Duration = Duration::from_millis(300);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn compressed(bytes: &[u8]) -> Reply {
    Reply::new("200 OK", &[("content-type", "application/json"), ("content-encoding", "gzip")], gzip(bytes))
}

/// What a fetch waited for when its time was over.
fn waited_for(options: Options, site: &Site) -> &'static str {
    match fetch(&Fetcher::new(options).unwrap(), &site.url("/")) {
        Err(Error::TimedOut { doing, url }) => {
            assert_eq!(url, site.url("/"));
            doing
        }
        other => panic!("not too slow: {other:?}"),
    }
}

#[test]
fn documents_are_taken_up_to_the_limit() {
    let site = Site::start(|head| {
        let length = if head.starts_with("GET /most") { 1 << 20 } else { (1 << 20) + 1 };
        Reply::json(&"1".repeat(length))
    });
    let fetcher = fetcher_for(&site);
    assert_eq!(fetch(&fetcher, &site.url("/most")).unwrap().bytes.len(), 1 << 20);
    assert!(failure(&fetcher, &site.url("/more")).contains("exceeds the limit of 1048576 bytes"));
}

#[test]
fn endless_document_is_cut_off() {
    let site = Site::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
        Reply::raw(&[&head[..], &chunk.repeat(40)], Duration::ZERO)
    });
    assert!(failure(&fetcher_for(&site), &site.url("/")).contains("exceeds the limit"));
}

#[test]
fn compressed_document_is_read() {
    let site = Site::start(|_| compressed(b"{\"compressed\": true}"));
    assert_eq!(fetch(&fetcher_for(&site), &site.url("/")).unwrap().bytes, b"{\"compressed\": true}");
}

#[test]
fn bomb_is_no_document() {
    let site = Site::start(|_| compressed(&vec![b' '; 64 << 20]));
    assert!(failure(&fetcher_for(&site), &site.url("/")).contains("exceeds the limit"));
}

#[test]
fn what_cannot_be_decompressed_fails() {
    let json = ("content-type", "application/json");
    for (coding, why) in [("gzip", "can't be decompressed"), ("br", "\"br\""), ("gzip, gzip", "\"gzip, gzip\"")] {
        let site = Site::start(move |_| Reply::new("200 OK", &[json, ("content-encoding", coding)], "{}"));
        let reason = failure(&fetcher_for(&site), &site.url("/"));
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn only_json_is_taken() {
    for (media_type, taken) in [
        ("application/json", true),
        ("Application/JSON; charset=utf-8", true),
        ("application/a2a+json", true),
        ("text/html; charset=utf-8", false),
        ("text/plain; charset=utf-8", true),
        ("application/octet-stream", true),
        ("image/png", false),
        ("", false),
    ] {
        let site = Site::start(move |_| Reply::new("200 OK", &[("content-type", media_type)], "{}"));
        match fetch(&fetcher_for(&site), &site.url("/")) {
            Ok(fetched) => assert!(taken && fetched.media_type == fetched.media_type.to_lowercase(), "{media_type}"),
            Err(error) => assert!(!taken && error.to_string().contains("only JSON"), "{media_type}: {error}"),
        }
    }
    let text = Site::start(|_| Reply::new("200 OK", &[("content-type", "text/plain")], "No such file."));
    assert!(failure(&fetcher_for(&text), &text.url("/")).contains("only JSON"));
    let silent = Site::start(|_| Reply::new("200 OK", &[], "{}"));
    assert!(failure(&fetcher_for(&silent), &silent.url("/")).contains("Content-Type"));
}

#[test]
fn answers_without_a_document_fail_with_their_status() {
    for (status, code) in [
        ("404 Not Found", 404),
        ("410 Gone", 410),
        ("500 Oops", 500),
        ("204 No Content", 204),
        ("304 Not Modified", 304),
        ("206 Partial Content", 206),
    ] {
        let site = Site::start(move |_| Reply::new(status, &[("content-type", "application/json")], ""));
        match fetch(&fetcher_for(&site), &site.url("/")) {
            Err(Error::Failed { status, .. }) => assert_eq!(status, Some(code)),
            other => panic!("{status}: {other:?}"),
        }
    }
}

#[test]
fn server_that_says_nothing_is_not_waited_for() {
    let site = Site::start(|_| Reply::raw(&[b"", b"late"], Duration::from_secs(60)));
    let doing = waited_for(allowing([site.address().to_string()]).timeout(SHORT), &site);
    assert_eq!(doing, "waiting for the response");
    let doing = waited_for(allowing([site.address().to_string()]).phase_timeout(SHORT), &site);
    assert_eq!(doing, "waiting for the response");
}

#[test]
fn drip_feeding_ends_with_the_time_for_everything() {
    // Each piece comes in time, all of them don't.
    let letter: &[u8] = b" ";
    let mut pieces = vec![&b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"[..]];
    pieces.extend([letter; 1000]);
    let body = Site::start(move |_| Reply::raw(&pieces, SHORT / 10));
    let doing = waited_for(allowing([body.address().to_string()]).timeout(2 * SHORT), &body);
    assert_eq!(doing, "reading the document");
    let mut pieces = vec![&b"HTTP/1.1 200 OK\r\n"[..]];
    pieces.extend([&b"x-a: b\r\n"[..]; 1000]);
    let head = Site::start(move |_| Reply::raw(&pieces, SHORT / 10));
    let doing = waited_for(allowing([head.address().to_string()]).timeout(2 * SHORT), &head);
    assert_eq!(doing, "waiting for the response");
}

#[test]
fn connection_that_breaks_off_fails() {
    let whole = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    for bytes in [&whole[..], &whole[..30], b"", b"SSH-2.0-OpenSSH_9.2\r\n"] {
        let site = Site::start(move |_| Reply::raw(&[bytes], Duration::ZERO));
        failure(&fetcher_for(&site), &site.url("/"));
    }
    let closed = closed_address();
    let fetcher = Fetcher::new(allowing([closed.to_string()])).unwrap();
    let reason = failure(&fetcher, &format!("http://{closed}/"));
    assert!(reason.contains("refused"), "{reason}");
}

#[test]
fn many_names_of_one_address_are_one_server() {
    let site = Site::start(|_| Reply::json("{}"));
    let port = site.address().port();
    let options = allowing(["127.0.0.0/8"]).at_once(100).phase_timeout(SHORT);
    let fetcher = Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap();
    let started = Instant::now();
    let busy = block_on(async {
        let mut fetches = tokio::task::JoinSet::new();
        for number in 0..200 {
            let (fetcher, url) = (fetcher.clone(), format!("http://n{number}.evil.example:{port}/"));
            fetches.spawn(async move { fetcher.fetch(&Request::new(url)).await });
        }
        let outcomes = fetches.join_all().await;
        outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Busy { .. }))).count()
    });
    // Twenty at once, then ten a second.
    let most = 21 + started.elapsed().as_millis() / 100;
    assert!(site.heads().len() as u128 <= most, "{} requests, {busy} turned away", site.heads().len());
}

#[test]
fn busy_host_turns_the_impatient_away() {
    let site = Site::start(|_| Reply::raw(&[b"", b"late"], Duration::from_secs(60)));
    let options = allowing([site.address().to_string()]).at_once_per_host(2).timeout(20 * SHORT).phase_timeout(SHORT);
    let fetcher = Fetcher::new(options.timeout(4 * SHORT)).unwrap();
    let outcomes = block_on(async {
        let fetches = (0..4).map(|_| {
            let (fetcher, url) = (fetcher.clone(), site.url("/"));
            tokio::spawn(async move { fetcher.fetch(&Request::new(url)).await })
        });
        let mut outcomes = Vec::new();
        for fetch in fetches.collect::<Vec<_>>() {
            outcomes.push(fetch.await.unwrap().unwrap_err());
        }
        outcomes
    });
    let busy = outcomes.iter().filter(|error| matches!(error, Error::Busy { host } if host == "127.0.0.1")).count();
    let slow = outcomes.iter().filter(|error| matches!(error, Error::TimedOut { .. })).count();
    assert_eq!(busy + slow, 4, "{outcomes:?}");
    assert!(site.heads().len() < 4 && busy > 0, "{outcomes:?}");
}
