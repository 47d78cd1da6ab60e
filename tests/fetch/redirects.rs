//! Redirects: followed a few times, each checked as if it had been asked for.

use agentdex::fetch::Fetcher;

use super::{allowing, failure, fetch, fetcher_for, refusal};
use crate::support::{Answers, Reply, Site};

/// A site where `/n` redirects to `/n-1`, and `/0` is a document.
fn chain() -> Site {
    Site::start(|head| {
        let path = head.split(' ').nth(1).unwrap();
        match path.trim_start_matches('/').parse::<u32>().unwrap() {
            0 => Reply::json("\"reached\""),
            steps => Reply::redirect(&format!("/{}", steps - 1)),
        }
    })
}

#[test]
fn five_redirects_are_followed_and_not_six() {
    let site = chain();
    let fetched = fetch(&fetcher_for(&site), &site.url("/5")).unwrap();
    assert_eq!((fetched.url, fetched.bytes.as_slice()), (site.url("/0"), &b"\"reached\""[..]));
    assert_eq!(site.heads().len(), 6);
    let reason = refusal(&fetcher_for(&site), &site.url("/6"));
    assert!(reason.contains("more than 5 times"), "{reason}");
    assert_eq!(site.heads().len(), 12);
}

#[test]
fn redirect_to_where_nobody_may_go_is_refused() {
    let victim = Site::start(|_| Reply::json("\"secret\""));
    let to = victim.url("/secret");
    let site = Site::start(move |_| Reply::redirect(&to));
    let reason = refusal(&fetcher_for(&site), &site.url("/"));
    let expected = format!("it redirects to {}: 127.0.0.1 is a loopback address", victim.url("/secret"));
    assert!(reason.starts_with(&expected), "{reason}");
    assert!(victim.heads().is_empty());
}

#[test]
fn redirects_that_lead_nowhere_good_are_refused() {
    for (location, why) in [
        ("http://169.254.169.254/latest/meta-data/", "a cloud metadata address"),
        ("//0xa9fea9fe/", "a cloud metadata address"),
        ("http://localhost/", "is this machine"),
        ("file:///etc/passwd", "scheme is file"),
        ("http://user:secret@127.0.0.1/", "credentials"),
        ("http://[", "not a valid URL"),
    ] {
        let site = Site::start(move |_| Reply::redirect(location));
        let reason = refusal(&fetcher_for(&site), &site.url("/"));
        assert!(reason.contains("it redirects to") && reason.contains(why), "{location}: {reason}");
    }
}

#[test]
fn every_kind_of_redirect_is_followed_and_needs_a_place() {
    for status in
        ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let site = Site::start(move |head| match head.starts_with("GET /to ") {
            true => Reply::json("1"),
            false => Reply::new(status, &[("location", "to")], "<p>elsewhere</p>"),
        });
        assert_eq!(fetch(&fetcher_for(&site), &site.url("/from")).unwrap().url, site.url("/to"));
        let nowhere = Site::start(move |_| Reply::new(status, &[], ""));
        assert!(failure(&fetcher_for(&nowhere), &nowhere.url("/")).contains(status));
    }
    let choices = Site::start(|_| Reply::new("300 Multiple Choices", &[("location", "/to")], ""));
    assert!(failure(&fetcher_for(&choices), &choices.url("/")).contains("300"));
}

#[test]
fn host_is_resolved_anew_for_each_hop() {
    let site = Site::start(|_| Reply::redirect("/again"));
    let port = site.address().port();
    let answers = Answers::of(&[&["127.0.0.1"], &["127.0.0.3"]]);
    let fetcher = Fetcher::with_resolver(allowing([format!("127.0.0.1:{port}")]), answers.clone()).unwrap();
    let reason = refusal(&fetcher, &format!("http://rebinding.example:{port}/"));
    assert!(reason.contains("it redirects to") && reason.contains("a loopback address"), "{reason}");
    assert_eq!((answers.asked(), site.heads().len()), (2, 1));
}
