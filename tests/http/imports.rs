//! Imports by URL, and `/imports`: listing tracked sources, polling them now, and ending it.

use agentdex::{
    fetch::{Fetcher, Options},
    registry::tracked_sources::Tracking,
};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, Page, Reply, Site, TestRegistry};

fn card(name: &str, description: &str) -> Value {
    json!({
        "name": name, "description": description, "version": "1.0.0", "url": format!("https://{name}.example/a2a"),
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "forecast", "name": "Forecast", "description": "Says the weather", "tags": []}],
    })
}

fn import(registry: &TestRegistry, query: &str, url: &str) -> Answer {
    let body = json!({"url": url}).to_string();
    registry.call("POST", &format!("/import/a2a{query}")).body("application/json", body).send()
}

fn refresh(registry: &TestRegistry, id: &str) -> Answer {
    registry.call("POST", &format!("/things/{id}/refresh")).send()
}

fn imported(registry: &TestRegistry, id: &str) -> Value {
    registry.get(&format!("/imports/{id}")).expect(200).json()
}

/// The Things with this status, by search.
fn found(registry: &TestRegistry, status: &str) -> Vec<String> {
    let found = registry.get(&format!("/search?status={status}&consistent=true")).expect(200).json();
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

/// Polls as if the time of the next poll had come.
fn look_when_due(registry: &TestRegistry, id: &str) {
    let moment = registry.registry().find_tracked_source(id).unwrap().unwrap().next_try;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(registry.registry().refresh_due(moment)).unwrap() > 0);
}

/// A registry that follows this page as `urn:a`, and calls it stale at its first failure.
fn tracking(page: &Page) -> TestRegistry {
    let change = |tracking: Tracking| tracking.stale_after(1);
    let registry = TestRegistry::tracking_with(change, http::Options::default());
    import(&registry, "?id=urn:a", &page.url()).expect(201);
    registry
}

#[test]
fn card_is_fetched_and_tracked() {
    let page = Page::start(&card("a", "first"));
    let registry = TestRegistry::tracking();
    let answer = import(&registry, "", &page.url()).expect(201);
    let body = answer.json();
    let id = body["ids"][0].as_str().unwrap();
    assert_eq!((&body["created"], &body["updated"]), (&body["ids"], &json!([])));
    assert_eq!(answer.header("location"), format!("/things/{id}"));
    assert_eq!(answer.header("agentdex-warnings"), body["warnings"].as_array().unwrap().len().to_string());
    let thing = registry.get(&answer.header("location")).expect(200);
    assert_eq!((thing.header("etag"), &thing.json()["title"]), (answer.header("etag"), &json!("a")));
    let original = registry.get(&format!("/things/{id}/agent-card")).expect(200);
    assert_eq!(original.text(), card("a", "first").to_string());

    let import_ = imported(&registry, id);
    assert_eq!((&import_["id"], &import_["source"]), (&json!(id), &json!(page.url())));
    assert_eq!((&import_["format"], &import_["status"]), (&json!("a2a"), &json!("current")));
    assert_eq!((&import_["failures"], import_.get("lastError")), (&json!(0), None));
    assert!(import_["nextTry"].as_str() > import_["lastFetch"].as_str(), "{import_}");
    assert!(import_["revisions"][0]["hash"].as_str().unwrap().starts_with("sha256:"), "{import_}");
    assert_eq!(registry.get("/imports").expect(200).json(), json!([import_]));

    let again = import(&registry, "", &page.url()).expect(200).json();
    assert_eq!((&again["created"], &again["updated"]), (&json!([]), &json!([])));
    let refused = import(&registry, "?if_exists=refuse", &page.url());
    assert_eq!(refused.problem(409, "already-exists")["id"], id);
}

#[test]
fn url_of_an_agent_leads_to_its_card() {
    let site = Site::start(|head| match head.split(' ').nth(1) {
        Some("/.well-known/agent.json") => Reply::json(&card("a", "first").to_string()),
        _ => Reply::new("404 Not Found", &[], ""),
    });
    let registry = TestRegistry::tracking();
    import(&registry, "?id=urn:a", &site.url("")).expect(201);
    assert_eq!(imported(&registry, "urn:a")["source"], site.url("/.well-known/agent.json"));
    let problem = import(&registry, "", &site.url("/other.json")).problem(502, "fetch-failed");
    assert_eq!((&problem["answered"], &problem["url"]), (&json!(404), &json!(site.url("/other.json"))));
}

#[test]
fn dry_run_follows_nothing() {
    let page = Page::start(&card("a", "first"));
    let registry = TestRegistry::tracking();
    let foreseen = import(&registry, "?dry_run=true&id=urn:a", &page.url()).expect(200).json();
    assert_eq!((&foreseen["dryRun"], &foreseen["created"]), (&json!(true), &json!(["urn:a"])));
    assert_eq!(registry.get("/imports").json(), json!([]));
    assert!(registry.registry().is_empty());
}

#[test]
fn urls_that_are_none_and_places_that_are_not_public_are_refused() {
    let registry = TestRegistry::tracking();
    for url in
        [json!("agents.example"), json!("/card.json"), json!(""), json!("https://a.example/a b"), json!(7), json!(null)]
    {
        let call = registry.call("POST", "/import/a2a").body("application/json", json!({"url": url}).to_string());
        call.send().problem(400, "invalid-url");
    }
    for (url, reason) in [
        ("ftp://agents.example/card.json", "http:// or https://"),
        ("https://user:secret@agents.example/card.json", "credentials"),
        ("http://10.0.0.1/card.json", "private"),
        ("http://169.254.169.254/latest/meta-data", ""),
        ("http://[::1]/card.json", "--allow-fetch"),
        ("http://agents.example:0/card.json", "port 0"),
    ] {
        let problem = import(&registry, "", url).problem(422, "fetch-refused");
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{problem}");
    }
    assert_eq!(registry.get("/imports").json(), json!([]));
}

#[test]
fn loopback_is_fetched_from_where_the_operator_allows_it_alone() {
    let page = Page::start(&card("a", "first"));
    let strict = |tracking: Tracking| tracking.fetcher(Fetcher::new(Options::default()).unwrap());
    let guarded = TestRegistry::tracking_with(strict, http::Options::default());
    let problem = import(&guarded, "", &page.url()).problem(422, "fetch-refused");
    assert!(problem["detail"].as_str().unwrap().contains("--allow-fetch 127.0.0.1:"), "{problem}");
    let bare = TestRegistry::start();
    let problem = import(&bare, "", &page.url()).problem(422, "fetch-refused");
    assert!(problem["detail"].as_str().unwrap().contains("without a fetcher"), "{problem}");
    assert!(page.site.heads().is_empty());
}

#[test]
fn what_is_found_at_a_url_is_no_fault_of_the_request() {
    let page = Page::start(&json!({"name": "no card"}));
    let registry = TestRegistry::tracking();
    let problem = import(&registry, "", &page.url()).problem(422, "invalid-document");
    assert!(problem["detail"].as_str().unwrap().contains("not an A2A"), "{problem}");
    page.answer(Reply::json("{\"name\": "));
    let problem = import(&registry, "", &format!("{}?key=secret", page.url())).problem(422, "malformed-json");
    let document = format!("the document from {}?… was rejected: malformed JSON at line 1", page.url());
    assert!(problem["detail"].as_str().unwrap().starts_with(&document), "{problem}");
    assert_eq!(problem["url"], format!("{}?…", page.url()));
    page.answer(Reply::json(&format!("{{\"name\": {}{}}}", "[".repeat(65), "]".repeat(65))));
    import(&registry, "", &page.url()).problem(422, "limit-exceeded");
    page.answer(Reply::new("200 OK", &[("content-type", "text/html")], "<p>hello</p>"));
    let problem = import(&registry, "", &page.url()).problem(502, "fetch-failed");
    assert!(problem["detail"].as_str().unwrap().contains("only JSON"), "{problem}");
    page.break_down();
    assert_eq!(import(&registry, "", &page.url()).problem(502, "fetch-failed")["answered"], 500);
    import(&registry, "?id=", &page.url()).problem(400, "invalid-id");
    assert!(registry.registry().is_empty());
}

#[test]
fn a_document_that_is_rejected_is_named_by_its_own_url() {
    let reply = |head: &str| match head.split(' ').nth(1) {
        Some("/agent/.well-known/agent-card.json") => Reply::json("{\"name\": 1}"),
        _ => Reply::new("404 Not Found", &[], ""),
    };
    let site = Site::start(reply);
    let registry = TestRegistry::tracking();
    let problem = import(&registry, "", &site.url("/agent")).problem(422, "invalid-document");
    let url = site.url("/agent/.well-known/agent-card.json");
    assert!(problem["detail"].as_str().unwrap().starts_with(&format!("the document from {url} was rejected: ")));
    assert_eq!(problem["url"], url);
}

#[test]
fn refresh_imports_what_changed_and_tells_it() {
    let page = Page::start(&card("a", "first"));
    let registry = tracking(&page);
    let mut events = registry.events("/events?diff=true", None);
    let same = refresh(&registry, "urn:a").expect(200).json();
    assert_eq!((&same["result"], &same["import"]), (&json!("unchanged"), &imported(&registry, "urn:a")));
    page.serve(&card("a", "second"));
    let changed = refresh(&registry, "urn:a").expect(200).json();
    assert_eq!(
        (&changed["result"], changed["import"]["revisions"].as_array().map(Vec::len)),
        (&json!("updated"), Some(2))
    );
    let event = events.next().unwrap();
    assert_eq!((event.kind.as_str(), &event.json()["id"]), ("thing_updated", &json!("urn:a")));
    assert_eq!(registry.get("/things/urn:a").json()["description"], "second");
    assert_eq!(registry.get("/things/urn:a/agent-card").text(), card("a", "second").to_string());
}

#[test]
fn source_that_breaks_is_stale_until_it_returns() {
    let page = Page::start(&card("a", "first"));
    let registry = tracking(&page);
    let other = Page::start(&card("b", "other"));
    import(&registry, "?id=urn:b", &other.url()).expect(201);
    page.break_down();
    assert_eq!(refresh(&registry, "urn:a").problem(502, "fetch-failed")["answered"], 500);
    // Asked for before its time, that alone makes nothing stale.
    assert_eq!(imported(&registry, "urn:a")["status"], "current");
    look_when_due(&registry, "urn:a");
    let import = imported(&registry, "urn:a");
    assert_eq!((&import["status"], &import["failures"]), (&json!("stale"), &json!(1)));
    assert!(import["lastError"].as_str().unwrap().contains("500"), "{import}");
    assert_eq!(registry.get("/things/urn:a").json()["agentdex:status"], "stale");
    assert_eq!((found(&registry, "stale"), found(&registry, "current")), (vec!["urn:a".into()], vec!["urn:b".into()]));
    assert_eq!(registry.get("/imports?status=stale").json(), json!([import]));
    assert_eq!(registry.get("/imports?status=current").json()[0]["id"], "urn:b");
    assert_eq!(registry.get("/imports?status=current&status=stale").json().as_array().unwrap().len(), 2);
    assert_eq!(registry.get("/imports?id=urn:b").json()[0]["id"], "urn:b");
    assert_eq!(registry.get("/imports?id=urn:b&status=stale").json(), json!([]));
    assert_eq!(registry.get("/imports?id=urn:none").json(), json!([]));
    registry.get("/imports?status=broken").problem(400, "invalid-parameter");

    page.serve(&json!({"name": "no card"}));
    let problem = refresh(&registry, "urn:a").problem(422, "invalid-document");
    assert!(problem["detail"].as_str().unwrap().contains(&page.url()), "{problem}");
    assert_eq!(imported(&registry, "urn:a")["failures"], 1);
    page.serve(&card("a", "first"));
    assert_eq!(refresh(&registry, "urn:a").expect(200).json()["import"]["status"], "current");
    assert!(found(&registry, "stale").is_empty());
}

#[test]
fn imports_are_listed_in_pages() {
    let page = Page::start(&card("a", "first"));
    let registry = TestRegistry::tracking();
    for id in ["urn:c", "urn:a", "urn:b", "https:%2F%2Fd.example%2Fd"] {
        import(&registry, &format!("?id={id}"), &format!("{}?of={id}", page.url())).expect(201);
    }
    let mut path = "/imports?limit=3&status=current".to_owned();
    let mut pages = Vec::new();
    loop {
        let answer = registry.get(&path).expect(200);
        let ids: Vec<String> =
            answer.json().as_array().unwrap().iter().map(|import| import["id"].as_str().unwrap().to_owned()).collect();
        pages.push(ids);
        let link = answer.header("link");
        let Some(next) = link.strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\"")) else { break };
        path = next.to_owned();
    }
    assert_eq!(pages, [vec!["https://d.example/d", "urn:a", "urn:b"], vec!["urn:c"]]);
    assert_eq!(path, "/imports?offset=3&limit=3&status=current");
    assert_eq!(registry.get("/imports?offset=9").json(), json!([]));
    registry.get("/imports?limit=0").problem(400, "invalid-parameter");
    assert_eq!(imported(&registry, "https:%2F%2Fd.example%2Fd")["id"], "https://d.example/d");
    assert_eq!(registry.head("/imports").expect(200).body.len(), 0);
    registry.delete("/imports").problem(405, "method-not-allowed");
    registry.get("/imports/").problem(404, "unknown-path");
}

#[test]
fn import_can_be_given_up_and_its_thing_stays() {
    let page = Page::start(&card("a", "first"));
    let registry = tracking(&page);
    assert!(registry.delete("/imports/urn:a").expect(204).body.is_empty());
    for refused in [registry.delete("/imports/urn:a"), registry.get("/imports/urn:a"), refresh(&registry, "urn:a")] {
        assert_eq!(refused.problem(404, "not-tracked")["id"], "urn:a");
    }
    refresh(&registry, "urn:none").problem(404, "not-tracked");
    assert_eq!(registry.get("/things/urn:a").expect(200).json()["title"], "a");
    registry.get("/things/urn:a/agent-card").expect(200);
    let refused = registry.put("/imports/urn:a", "{}").problem(405, "method-not-allowed");
    assert!(refused["detail"].as_str().unwrap().contains("GET, HEAD, DELETE"), "{refused}");
}

#[test]
fn description_changed_by_hand_stays_tracked() {
    let page = Page::start(&card("a", "first"));
    let registry = tracking(&page);
    let mut thing = registry.get("/things/urn:a").json();
    thing["title"] = "Mine".into();
    let foreseen = registry.put("/things/urn:a?dry_run=true", thing.to_string()).expect(200).json();
    assert_eq!(foreseen["warnings"], json!([]), "{foreseen}");
    let written = registry.put("/things/urn:a", thing.to_string()).expect(204);
    assert_eq!(written.header("agentdex-warnings"), "0");
    page.serve(&card("a", "second"));
    assert_eq!(refresh(&registry, "urn:a").expect(200).json()["result"], "updated");
    let thing = registry.get("/things/urn:a").json();
    assert_eq!((&thing["title"], &thing["description"]), (&json!("Mine"), &json!("second")));
    // A card with that id that is imported from a body ends the tracking.
    let post = registry.call("POST", "/import/a2a?id=urn:a").body("application/json", card("a", "third").to_string());
    let warnings = post.send().expect(200).json()["warnings"].clone();
    assert!(warnings.as_array().unwrap().iter().any(|warning| warning["rule"] == "tracking-stopped"), "{warnings}");
    registry.get("/imports/urn:a").problem(404, "not-tracked");
    assert_eq!(registry.get("/things/urn:a").json()["title"], "Mine");
}

#[test]
fn pages_of_foreign_origins_cannot_make_it_fetch() {
    let page = Page::start(&card("a", "first"));
    let registry = tracking(&page);
    page.serve(&card("a", "second"));
    let from = |origin: &str| registry.call("POST", "/things/urn:a/refresh").header("origin", origin).send();
    for foreign in ["https://evil.example", "null", "http://127.0.0.1", ""] {
        from(foreign).problem(403, "foreign-origin");
    }
    assert_eq!(page.site.heads().len(), 1);
    assert_eq!(from(&registry.url("")).expect(200).json()["result"], "updated");
    let refused = registry.get("/things/urn:a/refresh").problem(405, "method-not-allowed");
    assert!(refused["detail"].as_str().unwrap().contains("POST"), "{refused}");
    // What could be sent from anywhere without asking has no such type.
    let body = json!({"url": page.url()}).to_string();
    registry.call("POST", "/import/a2a").body("text/plain", body).send().problem(415, "unsupported-media-type");
}

#[test]
fn allowed_origins_may_make_it_fetch() {
    let page = Page::start(&card("a", "first"));
    let options = http::Options { cors_origins: vec!["https://app.example".into()], ..http::Options::default() };
    let registry = TestRegistry::tracking_with(|tracking| tracking, options);
    import(&registry, "?id=urn:a", &page.url()).expect(201);
    let call = registry.call("POST", "/things/urn:a/refresh").header("origin", "https://app.example");
    assert_eq!(call.send().expect(200).header("access-control-allow-origin"), "https://app.example");
}

#[test]
fn mounted_below_a_path_its_links_lead_there() {
    let page = Page::start(&card("a", "first"));
    let options =
        http::Options { public_url: Some("https://agents.example/registry".into()), ..http::Options::default() };
    let registry = TestRegistry::tracking_with(|tracking| tracking, options);
    for id in ["urn:a", "urn:b"] {
        let answer = import(&registry, &format!("?id={id}"), &format!("{}?of={id}", page.url())).expect(201);
        assert_eq!(answer.header("location"), format!("/registry/things/{id}"));
    }
    assert_eq!(registry.get("/imports?limit=1").header("link"), "</registry/imports?offset=1&limit=1>; rel=\"next\"");
}

#[test]
fn other_requests_are_answered_while_a_source_is_slow() {
    let (waiting, told) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let (waiting, gone) = (std::sync::Mutex::new(waiting), std::sync::Mutex::new(gone));
    let site = Site::start(move |_| {
        waiting.lock().unwrap().send(()).unwrap();
        let _ = gone.lock().unwrap().recv();
        Reply::json(&card("a", "first").to_string())
    });
    let options = http::Options { workers: Some(1), ..http::Options::default() };
    let registry = TestRegistry::tracking_with(|tracking| tracking, options);
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| import(&registry, "?id=urn:a", &site.url("/card.json")));
        told.recv().unwrap();
        assert_eq!(registry.get("/things").expect(200).json(), json!([]));
        go.send(()).unwrap();
        importing.join().unwrap().expect(201);
    });
    let metrics = registry.get("/metrics");
    let counted = "agentdex_http_requests_total{path=\"/import/a2a\",method=\"POST\",status=\"2xx\"} 1";
    assert!(metrics.text().lines().any(|line| line == counted), "{}", metrics.text());
}
