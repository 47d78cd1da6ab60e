//! `GET /connect`, `GET /things/{id}/connect`: configurations of MCP clients.

use agentdex::access::Rules;
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{TestRegistry, agent};

fn configurations(answer: &Value) -> Vec<(&str, &str)> {
    let text = |one: &Value, name: &str| one[name].as_str().map(str::to_owned);
    assert!(
        answer["clients"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| text(one, "configuration").is_some() != text(one, "reason").is_some())
    );
    let clients = answer["clients"].as_array().unwrap().iter();
    clients.map(|one| (one["client"].as_str().unwrap(), one["configuration"].as_str().unwrap_or_default())).collect()
}

#[test]
fn registry_says_how_clients_connect_to_it() {
    let registry = TestRegistry::start();
    let answer = registry.get("/connect").expect(200);
    assert!(answer.header("vary").contains("host"));
    let answer = answer.json();
    let found = configurations(&answer);
    assert_eq!(found.len(), 6);
    let url = registry.url("/mcp");
    assert_eq!(found[4], ("codex", format!("[mcp_servers.agentdex]\nurl = \"{url}\"\n").as_str()));
    assert!(found[0].1.contains(&url) && !found[0].1.contains("headers"), "{found:?}");
    registry.get("/connect?client=cursor").problem(400, "invalid-parameter");
}

#[test]
fn key_is_asked_for_where_anonymous_callers_may_not_read() {
    for (public_read, is_asked) in [(false, true), (true, false)] {
        let rules = Rules { authentication: true, public_read, ..Rules::default() };
        let options = http::Options {
            access: rules,
            public_url: Some("https://registry.example/x".into()),
            ..Default::default()
        };
        let registry = TestRegistry::start_with(Default::default(), options);
        let key = registry.registry().keys().create(agentdex::access::NewKey {
            role: agentdex::access::Role::Read,
            owner: "team".parse().unwrap(),
            ttl: None,
        });
        let call = registry.call("GET", "/connect").header("authorization", &format!("Bearer {}", key.unwrap().1));
        let answer = call.send().expect(200).json();
        let found = configurations(&answer);
        assert!(found[0].1.contains("https://registry.example/x/mcp"), "{found:?}");
        assert_eq!(found[0].1.contains("${AGENTDEX_API_KEY}"), is_asked, "{found:?}");
    }
}

#[test]
fn mcp_servers_say_how_clients_connect_to_them() {
    let registry = TestRegistry::start();
    let server = json!({
        "name": "com.example/weather", "description": "Weather", "version": "1.0.0",
        "remotes": [{"type": "sse", "url": "https://weather.example/sse"}],
    });
    registry.call("POST", "/import/mcp-server").body("application/json", server.to_string()).send().expect(201);
    let path = "/things/urn:agentdex:mcp:com.example%2Fweather/connect";
    let answer = registry.get(path).expect(200).json();
    let found = configurations(&answer);
    assert!(found[2].1.contains("https://weather.example/sse"), "{found:?}");
    assert!(answer["clients"][4]["reason"].as_str().unwrap().contains("SSE"), "{answer}");
    // A Thing with forms of MCP that wasn't imported.
    let mut thing: Value = serde_json::from_str(&agent("urn:example:forms", "Forms")).unwrap();
    thing["actions"] = json!({"ask": {"forms": [{"href": "https://forms.example/mcp", "subprotocol": "mcp"}]}});
    registry.put("/things/urn:example:forms", thing.to_string()).expect(201);
    let answer = registry.get("/things/urn:example:forms/connect").expect(200).json();
    assert!(configurations(&answer)[0].1.contains("https://forms.example/mcp"), "{answer}");
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    registry.get("/things/urn:example:a/connect").problem(409, "not-expressible");
    registry.get("/things/urn:example:none/connect").problem(404, "not-found");
    registry.call("POST", path).send().problem(405, "method-not-allowed");
}
