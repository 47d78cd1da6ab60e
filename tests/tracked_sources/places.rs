//! Where a card may be: at its URL, or at the well-known places of its agent.

use std::sync::Mutex;

use super::*;

/// A site that has documents at some paths.
fn site(documents: &'static [(&'static str, &'static str)]) -> Site {
    Site::start(move |head| {
        let path = head.split(' ').nth(1).unwrap();
        let found = documents.iter().find(|(place, _)| *place == path);
        found.map_or_else(|| Reply::new("404 Not Found", &[], ""), |(_, document)| Reply::json(document))
    })
}

/// What is imported from a URL: where it was found, and what was asked for.
fn place(site: &Site, path: &str) -> (Result<String, Error>, Vec<String>) {
    let fixture = Fixture::start();
    let tracked = block_on(fixture.registry.track(TrackRequest::new(site.url(path), Format::A2a)));
    let source = tracked.map(|imported| fixture.import(&imported.things[0].id).source);
    let asked = site.heads().iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect();
    (source, asked)
}

const CARD: &str = "{\"name\": \"a\", \"description\": \"\"}";
const NEW: &str = "/.well-known/agent-card.json";
const OLD: &str = "/.well-known/agent.json";

#[test]
fn base_url_leads_to_the_well_known_places() {
    let new = site(&[(NEW, CARD), (OLD, CARD)]);
    let (source, asked) = place(&new, "");
    assert_eq!((source.unwrap(), asked), (new.url(NEW), vec![NEW.to_owned()]));
    let old = site(&[(OLD, CARD)]);
    let (source, asked) = place(&old, "/");
    assert_eq!((source.unwrap(), asked), (old.url(OLD), vec![NEW.to_owned(), OLD.to_owned()]));
}

#[test]
fn document_that_is_no_card_is_passed_over() {
    let site = site(&[("/agent", "{\"service\": \"up\"}"), ("/agent/.well-known/agent.json", CARD)]);
    let (source, asked) = place(&site, "/agent");
    assert_eq!(source.unwrap(), site.url("/agent/.well-known/agent.json"));
    assert_eq!(asked, ["/agent", "/agent/.well-known/agent-card.json", "/agent/.well-known/agent.json"]);
}

#[test]
fn where_nothing_is_found_the_first_place_is_what_is_told_of() {
    let site = site(&[("/agent", "{\"service\": \"up\"}")]);
    let (result, asked) = place(&site, "/agent");
    assert!(matches!(result, Err(Error::RejectedDocument { url, .. }) if url == site.url("/agent")));
    assert_eq!(asked.len(), 5);
    let (result, _) = place(&site, "");
    assert!(matches!(result, Err(Error::FetchFailed { status: Some(404), url, .. }) if url == site.url(NEW)));
    let (result, _) = place(&site, "/missing.json");
    assert!(matches!(result, Err(Error::FetchFailed { url, .. }) if url == site.url("/missing.json")));
}

#[test]
fn server_that_is_broken_is_not_searched() {
    let site = Site::start(|_| Reply::new("503 Service Unavailable", &[], ""));
    let (result, asked) = place(&site, "");
    assert!(matches!(result, Err(Error::FetchFailed { status: Some(503), .. })));
    assert_eq!(asked, [NEW]);
}

/// A site with a status and a body at each path.
fn answering(places: &'static [(&'static str, &'static str, &'static str)]) -> Site {
    Site::start(move |head| {
        let path = head.split(' ').nth(1).unwrap();
        match places.iter().find(|(place, ..)| *place == path) {
            Some((_, "302 Found", location)) => Reply::redirect(location),
            Some((_, "200 OK", "<html>")) => Reply::new("200 OK", &[("content-type", "text/html")], "<html>"),
            Some((_, status, body)) => Reply::new(status, &[("content-type", "application/json")], body),
            None => Reply::new("404 Not Found", &[], ""),
        }
    })
}

/// A URL as its owner gave it, the answers of its site, and the paths that are asked for until the search ends.
type Locked = (&'static str, &'static [(&'static str, &'static str, &'static str)], &'static [&'static str]);

const BELOW: &str = "/locked/.well-known/agent-card.json";
const BELOW_OLD: &str = "/locked/.well-known/agent.json";
const FOUND: &str = "302 Found";

#[test]
fn card_that_needs_credentials_is_not_replaced_by_that_of_another_agent() {
    let cases: [Locked; 7] = [
        ("/locked", &[(BELOW, "401 Unauthorized", "{}"), (NEW, "200 OK", CARD)], &["/locked", BELOW]),
        ("/locked", &[(BELOW, "403 Forbidden", "{}"), (BELOW_OLD, "200 OK", CARD)], &["/locked", BELOW]),
        ("/locked", &[("/locked", "401 Unauthorized", ""), (NEW, "200 OK", CARD)], &["/locked", BELOW, BELOW_OLD]),
        ("", &[(NEW, "403 Forbidden", ""), (OLD, "200 OK", CARD)], &[NEW]),
        (
            "/locked",
            &[(BELOW, FOUND, "/login?next=card"), ("/login?next=card", "200 OK", "<html>"), (NEW, "200 OK", CARD)],
            &["/locked", BELOW, "/login?next=card"],
        ),
        ("/cards/a.json", &[("/cards/a.json", "401 Unauthorized", ""), (NEW, "200 OK", CARD)], &["/cards/a.json"]),
        (BELOW, &[(BELOW, "403 Forbidden", ""), (NEW, "200 OK", CARD)], &[BELOW]),
    ];
    for (url, answers, expected) in cases {
        let (result, asked) = place(&answering(answers), url);
        let Err(Error::FetchFailed { status: Some(302 | 401 | 403), reason, .. }) = &result else {
            panic!("{url}: {result:?}")
        };
        assert!(reason.contains("as a file"), "{url}: {reason}");
        assert_eq!(asked, expected);
    }
}

/// The card of another agent of the site, at its well-known place and at the one of before.
const OTHERS: [(&str, &str, &str); 2] = [(NEW, "200 OK", CARD), (OLD, "200 OK", CARD)];
const PAGE: &str = "<html>";

#[test]
fn page_in_place_of_a_card_is_not_replaced_by_that_of_another_agent() {
    let below_alone: &[&str] = &["/locked", BELOW];
    let cases: [Locked; 9] = [
        // A page at a place where the card is looked for, and a redirect to one that has no name of such a page.
        ("/locked", &[(BELOW, "200 OK", PAGE)], below_alone),
        ("/locked", &[(BELOW, FOUND, "/"), ("/", "200 OK", PAGE)], &["/locked", BELOW, "/"]),
        ("", &[(NEW, "200 OK", PAGE), (OLD, "200 OK", CARD)], &[NEW]),
        ("", &[(NEW, FOUND, "/start"), ("/start", "200 OK", PAGE), (OLD, "200 OK", CARD)], &[NEW, "/start"]),
        // One that refuses who is no browser, and one behind another redirect.
        ("/locked", &[(BELOW, FOUND, "/start"), ("/start", "406 Not Acceptable", "")], &["/locked", BELOW, "/start"]),
        (
            "/locked",
            &[(BELOW, FOUND, "/start"), ("/start", FOUND, "/more"), ("/more", "200 OK", PAGE)],
            &["/locked", BELOW, "/start", "/more"],
        ),
        // The URL itself: its own well-known places may have the card, those of the site not.
        ("/locked", &[("/locked", "200 OK", PAGE)], &["/locked", BELOW, BELOW_OLD]),
        ("/locked", &[("/locked", FOUND, "/"), ("/", "200 OK", PAGE)], &["/locked", "/", BELOW, BELOW_OLD]),
        ("/cards/a.json", &[("/cards/a.json", "200 OK", PAGE)], &["/cards/a.json"]),
    ];
    for (url, answers, expected) in cases {
        let of_site = OTHERS.iter().filter(|(place, ..)| answers.iter().all(|(known, ..)| known != place));
        let answers: Vec<_> = answers.iter().chain(of_site).copied().collect();
        let (result, asked) = place(&answering(answers.leak()), url);
        let Err(Error::FetchFailed { status: Some(200 | 302), reason, .. }) = &result else {
            panic!("{url}: {result:?}")
        };
        assert!(reason.contains("as a file"), "{url}: {reason}");
        assert_eq!(asked, expected, "{url}");
    }
}

#[test]
fn every_kind_of_redirect_to_a_page_ends_the_search() {
    for status in [301, 302, 303, 307, 308] {
        let site = Site::start(move |head| match head.split(' ').nth(1).unwrap() {
            BELOW => Reply::new(&format!("{status} Elsewhere"), &[("location", "/welcome")], ""),
            "/welcome" => Reply::new("200 OK", &[("content-type", "text/html")], PAGE),
            NEW | OLD => Reply::json(CARD),
            _ => Reply::new("404 Not Found", &[], ""),
        });
        let (result, _) = place(&site, "/locked");
        assert!(
            matches!(&result, Err(Error::FetchFailed { status: Some(found), .. }) if *found == status),
            "{result:?}"
        );
    }
}

#[test]
fn pages_beside_the_card_are_passed_over() {
    // The home page of a site, and one at the URL of an agent that has its own card.
    let home = answering(&[("/", "200 OK", PAGE), (OLD, "200 OK", CARD)]);
    for path in ["", "/", "/?from=mail"] {
        assert_eq!(place(&home, path).0.unwrap(), home.url(OLD), "{path:?}");
    }
    let agent = answering(&[("/agent", "200 OK", PAGE), ("/agent/.well-known/agent.json", "200 OK", CARD)]);
    assert_eq!(place(&agent, "/agent").0.unwrap(), agent.url("/agent/.well-known/agent.json"));
    // Where an agent is called, also behind a slash that is missing; its card is at the root of its site.
    let called =
        answering(&[("/agent", FOUND, "/agent/"), ("/agent/", "405 Method Not Allowed", ""), (NEW, "200 OK", CARD)]);
    assert_eq!(place(&called, "/agent").0.unwrap(), called.url(NEW));
    // A redirect to what isn't there leads on as if nothing were there.
    let moved = answering(&[(NEW, FOUND, "/not-here"), (OLD, "200 OK", CARD)]);
    assert_eq!(place(&moved, "").0.unwrap(), moved.url(OLD));
}

#[test]
fn files_of_other_formats_that_need_credentials_are_not_replaced_either() {
    let formats = Format::imports().filter_map(|(format, import)| Some((format, import.tracking.as_ref()?)));
    for (format, tracking) in formats {
        for known in tracking.well_known {
            let locked = format!("/locked{known}");
            let site = Site::start(move |head| match head.split(' ').nth(1).unwrap() {
                path if path == locked => Reply::new("401 Unauthorized", &[], ""),
                path if path.starts_with("/locked") => Reply::new("404 Not Found", &[], ""),
                _ => Reply::json(CARD),
            });
            let fixture = Fixture::start();
            let tracked = block_on(fixture.registry.track(TrackRequest::new(site.url("/locked"), format)));
            assert!(
                matches!(&tracked, Err(Error::FetchFailed { status: Some(401), .. })),
                "{format} {known}: {tracked:?}"
            );
            assert!(fixture.registry.is_empty());
        }
    }
}

#[test]
fn agent_that_is_called_with_credentials_has_its_own_card() {
    let site = answering(&[("/agent", "401 Unauthorized", ""), ("/agent/.well-known/agent.json", "200 OK", CARD)]);
    let (source, _) = place(&site, "/agent");
    assert_eq!(source.unwrap(), site.url("/agent/.well-known/agent.json"));
}

#[test]
fn card_that_is_not_given_for_now_is_not_looked_for() {
    for status in ["429 Too Many Requests", "402 Payment Required", "451 Unavailable For Legal Reasons"] {
        let site = Site::start(move |head| match head.split(' ').nth(1).unwrap() {
            BELOW => Reply::new(status, &[], ""),
            NEW => Reply::json(CARD),
            _ => Reply::new("404 Not Found", &[], ""),
        });
        let (result, asked) = place(&site, "/locked");
        assert!(matches!(&result, Err(Error::FetchFailed { status: Some(_), .. })), "{status}: {result:?}");
        assert_eq!(asked, ["/locked", BELOW]);
    }
}

#[test]
fn card_that_moved_to_the_place_of_a_newer_version_is_tracked_there() {
    let place = Arc::new(Mutex::new(OLD));
    let current = place.clone();
    let site = Site::start(move |head| {
        let is_there = head.starts_with(&format!("GET {} ", current.lock().unwrap()));
        if is_there { Reply::json(CARD) } else { Reply::new("404 Not Found", &[], "") }
    });
    let fixture = Fixture::start();
    block_on(fixture.registry.track(TrackRequest::new(site.url(""), Format::A2a))).unwrap();
    assert_eq!(fixture.import("urn:card:a").source, site.url(OLD));
    *place.lock().unwrap() = NEW;
    let import = fixture.refresh("urn:card:a");
    assert_eq!((import.source, import.failures, import.last_error), (site.url(NEW), 0, None));
    *place.lock().unwrap() = "/elsewhere.json";
    let import = fixture.refresh("urn:card:a");
    assert_eq!((import.source, import.failures), (site.url(NEW), 1));
}

#[test]
fn card_that_moved_to_where_it_needs_credentials_is_not_replaced_by_that_of_another_agent() {
    let is_gone = Arc::new(Mutex::new(false));
    let now = is_gone.clone();
    let site = Site::start(move |head| match (head.split(' ').nth(1).unwrap(), *now.lock().unwrap()) {
        ("/server-card", false) => Reply::json(CARD),
        ("/mcp/server-card", true) => Reply::new("401 Unauthorized", &[], ""),
        ("/.well-known/mcp/server-card.json", true) => Reply::json(CARD),
        _ => Reply::new("404 Not Found", &[], ""),
    });
    let fixture = Fixture::start();
    block_on(fixture.registry.track(TrackRequest::new(site.url(""), Format::McpServer))).unwrap();
    *is_gone.lock().unwrap() = true;
    let import = fixture.refresh("urn:card:a");
    assert_eq!((import.source, import.failures), (site.url("/server-card"), 1));
}
