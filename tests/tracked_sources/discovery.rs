//! The search for the document of an agent whose format isn't known.

use std::{sync::Mutex, time::Duration};

use super::*;

const A2A: &str = "/.well-known/agent-card.json";
const MCP: &str = "/.well-known/mcp/server-card.json";
const WOT: &str = "/.well-known/wot";

fn agent_card() -> String {
    json!({"name": "a", "description": "A.", "version": "1.0.0", "url": "https://a.example/a2a",
        "skills": [{"id": "s", "name": "S", "description": "S", "tags": []}]})
    .to_string()
}

fn server_card() -> String {
    json!({"serverInfo": {"name": "keeper", "version": "1.0.0"}, "transport": {"type": "http", "endpoint": "/mcp"},
        "tools": [{"name": "open"}]})
    .to_string()
}

fn thing() -> String {
    json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x:lamp", "title": "Lamp", "security": "n",
        "securityDefinitions": {"n": {"scheme": "nosec"}}})
    .to_string()
}

/// A site with a status and a body at each path.
fn site(places: Vec<(&'static str, &'static str, String)>) -> Site {
    Site::start(move |head| {
        let path = head.split(' ').nth(1).unwrap();
        match places.iter().find(|(place, ..)| *place == path) {
            Some((_, status, body)) => Reply::new(status, &[("content-type", "application/json")], body),
            None => Reply::new("404 Not Found", &[], ""),
        }
    })
}

/// The id of what is registered from a URL in whatever format it is, and where it was found.
fn found(
    site: &Site,
    path: &str,
    change: impl FnOnce(Tracking) -> Tracking,
) -> Result<(String, Option<String>), Error> {
    let fixture = Fixture::with(|tracking| {
        let fetcher = tracking.fetcher.clone();
        change(Tracking::new(fetcher).in_background(false))
    });
    let imported = block_on(fixture.registry.track(TrackRequest::new(site.url(path), None)))?;
    let id = imported.things[0].id.clone();
    let source = fixture.registry.find_tracked_source(&id).unwrap().map(|source| source.source);
    Ok((id, source))
}

fn plain(tracking: Tracking) -> Tracking {
    tracking
}

#[test]
fn well_known_places_of_all_formats_are_tried() {
    const OK: &str = "200 OK";
    let of_card = site(vec![(A2A, OK, agent_card()), (MCP, OK, server_card())]);
    assert_eq!(found(&of_card, "", plain).unwrap().1.unwrap(), of_card.url(A2A));
    let of_server = site(vec![(MCP, OK, server_card()), (WOT, OK, thing())]);
    assert_eq!(found(&of_server, "/mcp", plain).unwrap(), ("urn:agentdex:mcp:keeper".into(), Some(of_server.url(MCP))));
    let of_thing = site(vec![(WOT, OK, thing())]);
    assert_eq!(found(&of_thing, "", plain).unwrap(), ("urn:x:lamp".into(), None));
    let itself = site(vec![("/thing", OK, thing()), (A2A, OK, agent_card())]);
    assert_eq!(found(&itself, "/thing", plain).unwrap().0, "urn:x:lamp");
}

#[test]
fn what_was_found_and_not_understood_is_the_error() {
    const OK: &str = "200 OK";
    let odd = json!({"openapi": "3.1.0", "info": {"title": "x"}}).to_string();
    let below = site(vec![("/agent/.well-known/mcp.json", OK, odd.clone()), (A2A, OK, agent_card())]);
    let error = found(&below, "/agent", plain).unwrap_err();
    assert!(error.to_string().contains("an OpenAPI document"), "{error}");
    assert!(error.to_string().contains(&below.url("/agent/.well-known/mcp.json")), "{error}");
    // What is at the URL itself may be anything, and says nothing of the rest of the site.
    let itself = site(vec![("/agent", OK, odd.clone()), (A2A, OK, agent_card())]);
    assert_eq!(found(&itself, "/agent", plain).unwrap().1.unwrap(), itself.url(A2A));
    let alone = site(vec![("/agent", OK, odd)]);
    let error = found(&alone, "/agent", plain).unwrap_err();
    assert!(error.to_string().contains("an OpenAPI document"), "{error}");
}

#[test]
fn card_that_needs_credentials_ends_the_search() {
    for path in ["/agent", "/agent/.well-known/agent-card.json", "/agent/.well-known/mcp.json"] {
        let locked = site(vec![(path, "401 Unauthorized", "{}".into()), (A2A, "200 OK", agent_card())]);
        let error = found(&locked, "/agent", plain).unwrap_err();
        assert!(error.to_string().contains("requires credentials"), "{path}: {error}");
    }
}

#[test]
fn server_without_a_card_is_asked() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let describing = |tools: &'static str| {
        let asked = asked.clone();
        move |tracking: Tracking| {
            let describer: agentdex::registry::tracked_sources::ServerDescriber = Arc::new(move |url: String| {
                asked.lock().unwrap().push(url.clone());
                let card = json!({"serverInfo": {"name": "live", "version": "2.0.0"}, "tools": [{"name": tools}],
                    "transport": {"type": "streamable-http", "endpoint": url}});
                Box::pin(async move { Ok(card.to_string().into_bytes()) })
            });
            tracking.server_describer(describer)
        }
    };
    // Another agent of the site isn't the one at the URL.
    let live = site(vec![("/mcp", "405 Method Not Allowed", String::new()), (A2A, "200 OK", agent_card())]);
    let (id, source) = found(&live, "/mcp", describing("open")).unwrap();
    assert_eq!((id.as_str(), source.unwrap()), ("urn:agentdex:mcp:live", live.url("/mcp")));
    let fixture = Fixture::with(|tracking| {
        let fetcher = tracking.fetcher.clone();
        describing("open")(Tracking::new(fetcher).in_background(false))
    });
    block_on(fixture.registry.track(TrackRequest::new(live.url("/mcp"), Format::McpServer))).unwrap();
    assert_eq!(fixture.thing("urn:agentdex:mcp:live")["actions"]["open"]["forms"][0]["href"], live.url("/mcp"));
    assert_eq!(fixture.refresh("urn:agentdex:mcp:live").last_error, None);
    assert_eq!(asked.lock().unwrap().len(), 3);
    // A document is one: its URL is not asked.
    let document = site(vec![]);
    assert!(found(&document, "/mcp.json", describing("open")).is_err());
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[test]
fn asking_a_server_counts_as_a_fetch_from_its_host() {
    let live = site(vec![]);
    let mut options = fetch::Options::default().allowed(AllowList::parse(["127.0.0.0/8"]).unwrap());
    options.at_once_per_host = 1;
    let fetcher = Fetcher::new(options).unwrap();
    // Each server asks for another document of its host while it is described, for which there is no place.
    let within = fetcher.clone();
    let elsewhere = live.url("/elsewhere");
    let fixture = Fixture::with(|_| {
        let describer: agentdex::registry::tracked_sources::ServerDescriber = Arc::new(move |url: String| {
            let (within, elsewhere) = (within.clone(), elsewhere.clone());
            Box::pin(async move {
                let fetch = within.permit(&elsewhere);
                let is_held_up = tokio::time::timeout(Duration::from_millis(200), fetch).await.is_err();
                let card = json!({"serverInfo": {"name": format!("held-up-{is_held_up}"), "version": "1.0.0"},
                    "transport": {"type": "streamable-http", "endpoint": url}});
                Ok(card.to_string().into_bytes())
            })
        });
        Tracking::new(fetcher).in_background(false).server_describer(describer)
    });
    let imported = block_on(fixture.registry.track(TrackRequest::new(live.url("/mcp"), Format::McpServer))).unwrap();
    assert_eq!(imported.things[0].id, "urn:agentdex:mcp:held-up-true");
}

#[test]
fn server_whose_card_lists_no_tools_is_asked_for_them() {
    const CARD: &str = "/mcp/server-card";
    let card = json!({"$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "example.a/k", "version": "1.0.0", "description": "K", "title": "Keeper",
        "remotes": [{"type": "streamable-http", "url": "ORIGIN/mcp"}]});
    let text = card.to_string();
    let site = Site::start(move |head| {
        let mut parts = head.split(' ').skip(1);
        let (path, lines) = (parts.next().unwrap(), parts.collect::<Vec<_>>().join(" "));
        let host =
            lines.lines().find_map(|line| line.to_lowercase().strip_prefix("host: ").map(str::to_owned)).unwrap();
        let body = text.replace("ORIGIN", &format!("http://{host}"));
        match path {
            CARD if lines.contains("\"1\"") => Reply::new("304 Not Modified", &[("etag", "\"1\"")], ""),
            CARD => Reply::new("200 OK", &[("content-type", "application/json"), ("etag", "\"1\"")], &body),
            _ => Reply::new("404 Not Found", &[], ""),
        }
    });
    let answer = Arc::new(Mutex::new(None::<Vec<&str>>));
    let fixture = Fixture::with({
        let answer = answer.clone();
        move |tracking| {
            let fetcher = tracking.fetcher.clone();
            let describer: agentdex::registry::tracked_sources::ServerDescriber = Arc::new(move |url: String| {
                let tools = answer.lock().unwrap().clone();
                let described = tools.map(|names| {
                    let tools: Vec<_> = names.into_iter().map(|name| json!({"name": name})).collect();
                    json!({"serverInfo": {"name": "other", "version": "2"}, "tools": tools}).to_string().into_bytes()
                });
                let failure = agentdex::Error::FetchRefused { url, reason: "not now".into() };
                Box::pin(async move { described.ok_or(failure) })
            });
            Tracking::new(fetcher).in_background(false).server_describer(describer)
        }
    });
    let id = "urn:agentdex:mcp:example.a/k";
    let actions = || {
        let thing = fixture.thing(id);
        thing["actions"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let imported = block_on(fixture.registry.track(TrackRequest::new(site.url("/mcp"), None))).unwrap();
    assert_eq!(imported.things[0].id, id);
    let warned =
        imported.warnings.iter().any(|warning| warning.rule == "tools-unknown" && warning.message.contains("not now"));
    assert!(warned, "{:?}", imported.warnings);
    assert_eq!(actions(), ["k"]);
    // It is asked again although the card is the same.
    for names in [vec!["open", "shut"], vec!["open"]] {
        *answer.lock().unwrap() = Some(names.clone());
        assert_eq!(fixture.refresh(id).last_error, None);
        assert_eq!(actions(), names);
    }
    let thing = fixture.thing(id);
    assert_eq!(
        (&thing["title"], &thing["actions"]["open"]["forms"][0]["href"]),
        (&json!("Keeper"), &json!(site.url("/mcp")))
    );
    let before = thing["registration"]["modified"].clone();
    assert_eq!(fixture.refresh(id).last_error, None);
    assert_eq!(fixture.thing(id)["registration"]["modified"], before);
    // Tools that are known stay if the server isn't reached.
    *answer.lock().unwrap() = None;
    let import = fixture.refresh(id);
    assert!(import.failures == 1 && import.last_error.unwrap().contains("not now"));
    assert_eq!(actions(), ["open"]);
}
