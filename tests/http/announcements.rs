//! Where the registry announces itself: cards for clients of A2A and MCP, `/llms.txt`, and links on the page.

use agentdex::{
    access::{Role, Rules},
    convert::{a2a::Card, mcp_server::Server},
};
use agentdex_server::http;
use serde_json::json;

use crate::support::{Answer, TestRegistry, agent, run_python};

const AGENT_CARD: &str = "/.well-known/agent-card.json";
const SERVER_CARD: &str = "/mcp/server-card";
const OLD_SERVER_CARD: &str = "/.well-known/mcp/server-card.json";
const ALL: [&str; 4] = [AGENT_CARD, SERVER_CARD, OLD_SERVER_CARD, "/llms.txt"];

fn guarded(public_read: bool, options: http::Options) -> TestRegistry {
    let access = Rules { authentication: true, public_read, ..Rules::default() };
    TestRegistry::start_with(Default::default(), http::Options { access, ..options })
}

#[test]
fn cards_are_valid_and_lead_to_what_they_describe() {
    let registry = TestRegistry::start();
    let answer = registry.get(AGENT_CARD).expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let card = Card::parse(&answer.body).unwrap();
    assert!(card.warnings().is_empty(), "{:?}", card.warnings());
    let conversion = card.to_thing(&Default::default()).unwrap();
    assert!(conversion.warnings.is_empty(), "{:?}", conversion.warnings);
    let card = answer.json();
    let interface =
        |binding: &str| json!({"url": registry.url("/a2a"), "protocolBinding": binding, "protocolVersion": "1.0"});
    assert_eq!(card["supportedInterfaces"], json!([interface("JSONRPC"), interface("HTTP+JSON")]));
    assert_eq!((&card["capabilities"]["streaming"], card.get("securitySchemes")), (&json!(false), None));
    registry.get(card["documentationUrl"].as_str().unwrap().strip_prefix(&registry.url("")).unwrap()).expect(200);

    let answer = registry.get(SERVER_CARD).expect(200);
    assert_eq!(answer.header("content-type"), "application/mcp-server-card+json");
    assert_eq!(registry.get(OLD_SERVER_CARD).expect(200).body, answer.body);
    let server = Server::parse(&answer.body).unwrap();
    assert!(server.warnings().is_empty(), "{:?}", server.warnings());
    let card = answer.json();
    assert!(card["description"].as_str().unwrap().len() <= 100);
    assert_eq!(card["$schema"], "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json");
    assert_eq!((&card["name"], card.get("tools")), (&json!("1.0.0.127/agentdex"), None));
    let remote = &card["remotes"][0];
    assert_eq!((&remote["url"], remote.get("headers")), (&json!(registry.url("/mcp")), None));
    let versions = &remote["supportedProtocolVersions"];
    assert_eq!((&versions[0], &versions[1]), (&json!("2026-07-28"), &json!("2025-11-25")));

    let text = registry.get("/llms.txt").expect(200);
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    let text = text.text();
    assert!(text.starts_with("# agentdex\n\n> "), "{text}");
    let links: Vec<&str> = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert_eq!(links.len(), 5);
    for link in links {
        registry.get(link.strip_prefix(&registry.url("")).unwrap()).expect(200);
    }
}

#[test]
fn credentials_are_declared_as_the_server_takes_them() {
    for public_read in [false, true] {
        let registry = guarded(public_read, Default::default());
        let card = registry.get(AGENT_CARD).expect(200);
        let parsed = Card::parse(&card.body).unwrap();
        assert!(parsed.warnings().is_empty(), "{:?}", parsed.warnings());
        let conversion = parsed.to_thing(&Default::default()).unwrap();
        assert!(conversion.warnings.is_empty(), "{:?}", conversion.warnings);
        let card = card.json();
        assert_eq!(card["securitySchemes"]["apiKey"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
        let key = json!({"schemes": {"apiKey": {"list": []}}});
        let requirements = if public_read { json!([{"schemes": {}}, key]) } else { json!([key]) };
        assert_eq!(card["securityRequirements"], requirements);
        let header = registry.get(SERVER_CARD).expect(200).json()["remotes"][0]["headers"][0].clone();
        assert_eq!((&header["name"], &header["isRequired"]), (&json!("Authorization"), &json!(!public_read)));
        assert!(registry.get("/llms.txt").text().contains("Authorization: Bearer KEY"));
    }
}

#[test]
fn all_callers_get_the_same_and_nothing_of_the_agents() {
    for public_read in [false, true] {
        let registry = guarded(public_read, Default::default());
        let key = registry.key("us", Role::Admin);
        let read = |key: Option<&str>| {
            ALL.map(|path| {
                let call = registry.call("GET", path);
                let call =
                    key.into_iter().fold(call, |call, key| call.header("authorization", &format!("Bearer {key}")));
                let answer = call.send().expect(200);
                (answer.header("etag"), answer.text().to_owned())
            })
        };
        let before = read(None);
        registry.registry().put(agent("urn:example:a", "Zebra agent")).unwrap();
        assert_eq!(read(None), before);
        assert_eq!(read(Some(&key)), before);
        assert_eq!(read(Some("adx_wrong")), before);
    }
}

#[test]
fn pages_of_all_origins_read_them_and_revalidate_them() {
    for origins in [vec![], vec!["https://page.example".to_owned()]] {
        let options = http::Options { cors_origins: origins, ..Default::default() };
        let registry = guarded(false, options);
        for path in ALL {
            let of_page = |method: &str| registry.call(method, path).header("origin", "https://other.example");
            let answer = of_page("GET").send().expect(200);
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(answer.header("access-control-expose-headers").to_lowercase(), "etag", "{path}");
            assert_eq!(answer.header("cache-control"), "public, max-age=3600", "{path}");
            assert!(answer.header("vary").contains("host"), "{path}: {}", answer.header("vary"));
            let again = of_page("GET").header("if-none-match", &answer.header("etag")).send().expect(304);
            assert_eq!((again.header("etag"), again.body.len()), (answer.header("etag"), 0), "{path}");
            assert_eq!(again.header("access-control-allow-origin"), "*", "{path}");
            let failed = registry.call("GET", path).header("if-match", "\"other\"").send();
            failed.problem(412, "precondition-failed");
            let asked = of_page("OPTIONS").header("access-control-request-method", "GET");
            let allowed = asked.header("access-control-request-headers", "if-none-match").send().expect(200);
            assert_eq!(allowed.header("access-control-allow-origin"), "*", "{path}");
            let plain = registry.head(path).expect(200);
            assert_eq!(plain.header("etag"), answer.header("etag"), "{path}");
            assert_eq!(plain.header("access-control-allow-origin"), "*", "a cache may answer pages with it: {path}");
            registry.call("POST", path).send().problem(405, "method-not-allowed");
            registry.get(&format!("{path}?a=b")).problem(400, "invalid-parameter");
            registry.call("GET", path).header("host", "attacker.example").send().problem(421, "host-not-allowed");
        }
        // What has agents in it is read as before.
        let listed = registry.call("GET", "/a2a/tasks").header("origin", "https://other.example").send();
        assert_eq!(listed.header("access-control-allow-origin"), "");
    }
}

#[test]
fn urls_begin_with_the_public_url() {
    let options = http::Options { public_url: Some("https://agents.example/registry/".into()), ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    let card = registry.get(AGENT_CARD).json();
    assert_eq!(card["supportedInterfaces"][1]["url"], "https://agents.example/registry/a2a");
    for path in [SERVER_CARD, OLD_SERVER_CARD] {
        let card = registry.get(path).json();
        assert_eq!(card["name"], "example.agents/agentdex");
        assert_eq!(card["remotes"][0]["url"], "https://agents.example/registry/mcp");
    }
    assert!(registry.get("/llms.txt").text().contains("https://agents.example/registry/search?q="));
    // Else with the host that the request names.
    let plain = TestRegistry::start();
    let named = plain.call("GET", SERVER_CARD).header("host", "localhost:1234").send().json();
    assert_eq!(named["remotes"][0]["url"], "http://localhost:1234/mcp");
}

/// Targets of links, with their relations.
fn links(answer: &Answer) -> Vec<(String, String)> {
    let header = answer.header("link");
    let link = |link: &str| {
        let (target, rest) = link.trim().strip_prefix('<').unwrap().split_once('>').unwrap();
        let relation = rest.split("rel=\"").nth(1).unwrap().split('"').next().unwrap();
        (target.to_owned(), relation.to_owned())
    };
    header.split(", <").map(|one| link(&format!("<{}", one.trim_start_matches('<')))).collect()
}

#[test]
fn page_and_root_link_to_them() {
    let registry = TestRegistry::start();
    let root = registry.get("/").expect(200);
    let page = registry.call("GET", "/").header("accept", "text/html").send().expect(200);
    let found = links(&root);
    assert_eq!(links(&page), found);
    for (target, relation) in [
        ("openapi.json", "service-desc"),
        ("mcp/server-card", "service-desc"),
        (".well-known/agent-card.json", "service-desc"),
        (".well-known/wot", "describedby"),
        ("llms.txt", "describedby"),
        ("docs/guide/", "service-doc"),
    ] {
        assert!(found.contains(&(target.to_owned(), relation.to_owned())), "{target}: {found:?}");
        registry.get(&format!("/{target}")).expect(200);
        let element = format!("<link rel=\"{relation}\" href=\"{target}\"");
        assert!(page.text().contains(&element), "{element}");
    }
    let links = root.json()["links"].clone();
    for (name, path) in [("agent-card", AGENT_CARD), ("server-card", SERVER_CARD), ("llms", "/llms.txt")] {
        assert_eq!(links[name], path);
    }
}

/// Reads cards, one a line, as the protocol buffers have them: unknown members and wrong types are errors.
const PYTHON: &str = r#"
import json, sys
from google.protobuf.json_format import ParseDict
from a2a.types import a2a_pb2 as t
for line in sys.stdin:
    card = ParseDict(json.loads(line), t.AgentCard())
    print(len(card.supported_interfaces), len(card.skills), sorted(card.security_schemes), len(card.security_requirements))
"#;

#[test]
fn sdk_of_a2a_reads_the_cards() {
    let registries = [TestRegistry::start(), guarded(false, Default::default()), guarded(true, Default::default())];
    let cards = registries.map(|registry| registry.get(AGENT_CARD).json().to_string());
    if let Some(said) = run_python(PYTHON, &cards.join("\n")) {
        assert_eq!(said, "2 1 [] 0\n2 1 ['apiKey'] 1\n2 1 ['apiKey'] 2\n");
    }
}
