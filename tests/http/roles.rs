//! Every operation of the OpenAPI document as each caller, by each set of rules: a request that is in order, of something
//! that is there, and the status that the documentation lets expect.

use std::sync::atomic::{AtomicUsize, Ordering};

use agentdex::{
    Timestamp,
    access::{NewKey, Role, Rules},
    registry::ClaimedNamespace,
};
use agentdex_server::http;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::access::{Expected, READING_POSTS, expected, operations};
use crate::support::{Answer, Page, TestRegistry, agent, client};

const JSON: &str = "application/json";
const TD: &str = "application/td+json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    Reader,
    /// Has the role `register`, and owns what the requests are about.
    Owner,
    /// Has the role `register` too.
    Other,
    Admin,
}

use Who::{Admin, Nobody, Other, Owner, Reader};

const ALL: [Who; 5] = [Nobody, Reader, Owner, Other, Admin];

impl Who {
    fn role(self) -> Option<Role> {
        match self {
            Nobody => None,
            Reader => Some(Role::Read),
            Owner | Other => Some(Role::Register),
            Admin => Some(Role::Admin),
        }
    }
}

const fn rules(authentication: bool, public_read: bool, read_only: bool) -> Rules {
    Rules { authentication, public_read, read_only }
}

/// `--auth`, `--public-read`, `--read-only` in all combinations that mean something.
const RULES: [Rules; 6] = [
    rules(false, false, false),
    rules(false, false, true),
    rules(true, false, false),
    rules(true, true, false),
    rules(true, false, true),
    rules(true, true, true),
];

/// The operations that only the owner of what they are about may use, and admins; and what others get, to whom a namespace
/// that they are no member of isn't there.
const OWNED: [(&str, &str, u16); 11] = [
    ("PUT", "/things/{id}", 403),
    ("PATCH", "/things/{id}", 403),
    ("DELETE", "/things/{id}", 403),
    ("PUT", "/things/{id}/access", 403),
    ("POST", "/things/{id}/refresh", 403),
    ("DELETE", "/imports/{id}", 403),
    ("PUT", "/namespaces/{name}", 403),
    ("DELETE", "/namespaces/{name}", 404),
    ("DELETE", "/queries/{name}", 403),
    ("PATCH", "/v0.1/servers/{serverName}/versions/{version}/status", 403),
    ("PATCH", "/v0.1/servers/{serverName}/status", 403),
];

/// What those get who may: 200 unless it is here. Nothing of this server has tokens, SPARQL, or conversations.
const DONE: [(&str, &str, u16); 28] = [
    ("GET", "/a2a/tasks/{id}", 404),
    ("GET", "/.well-known/oauth-protected-resource", 404),
    ("GET", "/cluster", 404),
    ("POST", "/cluster/verification", 404),
    ("POST", "/things", 201),
    ("PUT", "/things/{id}", 204),
    ("PATCH", "/things/{id}", 204),
    ("DELETE", "/things/{id}", 204),
    ("PUT", "/things/{id}/access", 204),
    ("POST", "/things/{id}/conversation", 501),
    ("GET", "/things/{id}/properties/{name}/value", 501),
    ("PUT", "/things/{id}/properties/{name}/value", 501),
    ("GET", "/things/{id}/events/{name}/notifications", 501),
    ("POST", "/import", 201),
    ("POST", "/import/a2a", 201),
    ("POST", "/import/agent-spec", 201),
    ("POST", "/import/aos", 201),
    ("POST", "/import/lmos-capabilities", 201),
    ("POST", "/import/mcp-server", 201),
    ("DELETE", "/imports/{id}", 204),
    ("PUT", "/queries/{name}", 201),
    ("DELETE", "/queries/{name}", 204),
    ("DELETE", "/namespaces/{name}", 204),
    ("POST", "/keys", 201),
    ("DELETE", "/keys/{id}", 204),
    ("GET", "/search/sparql", 501),
    ("POST", "/search/sparql", 501),
    ("GET", "/aos/sessions/{id}", 404),
];

/// The status that the documentation lets a caller expect.
fn status(rules: Rules, who: Who, method: &str, path: &str) -> u16 {
    let of = |table: &[(&str, &str, u16)]| {
        table.iter().find(|(known, at, _)| (*known, *at) == (method, path)).map(|(.., status)| *status)
    };
    let writes = method != "GET" && !(method == "POST" && READING_POSTS.contains(&path));
    let done = match path {
        "/search/{language}" => 501,
        _ => of(&DONE).unwrap_or(200),
    };
    if rules.authentication {
        let may = match expected(method, path).unwrap() {
            Expected::Everybody => true,
            Expected::AtLeast(Role::Read) if rules.public_read => true,
            Expected::AtLeast(needed) => who.role().is_some_and(|role| role >= needed),
        };
        if !may {
            return if who == Nobody { 401 } else { 403 };
        }
    }
    if rules.read_only && writes {
        return 403;
    }
    if !rules.authentication {
        // Everybody may do everything, but nobody manages keys that nobody is asked for.
        return if path.starts_with("/keys") { 403 } else { done };
    }
    match of(&OWNED) {
        Some(refused) if who == Other => refused,
        _ => done,
    }
}

/// A registry behind one server for each set of rules, a key of each caller, and a page with an agent card.
struct Doors {
    registry: TestRegistry,
    urls: Vec<(Rules, String)>,
    keys: Vec<(Who, String)>,
    page: Page,
    made: AtomicUsize,
    runtime: Runtime,
    client: reqwest::Client,
}

fn card() -> Value {
    json!({
        "name": "Rhymer", "description": "Rhymes.", "version": "1.0.0", "url": "https://rhymes.example/a2a",
        "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "rhyme", "name": "Rhyme", "description": "Rhymes two lines", "tags": ["verse"]}],
    })
}

/// A document of each of three formats.
fn documents() -> [(&'static str, Value); 3] {
    [
        ("aos", crate::aos::agent()),
        (
            "lmos-capabilities",
            json!({"capabilities": [{"name": "view-bill", "version": "1.2.0", "description": "Shows bills"}]}),
        ),
        (
            "mcp-server",
            json!({
                "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
                "name": "com.example/tides", "description": "High and low water", "version": "1.0.0",
                "remotes": [{"type": "streamable-http", "url": "https://tides.example/mcp"}],
            }),
        ),
    ]
}

/// The `server.json` of an MCP server.
fn server(name: &str) -> Value {
    json!({"name": format!("com.example/{name}"), "description": "Made for a request", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": format!("https://{name}.example/mcp")}]})
}

impl Doors {
    fn open() -> Doors {
        let options = |access| http::Options { access, ..Default::default() };
        let mut registry = TestRegistry::tracking_with(|tracking| tracking, options(rules(true, false, false)));
        let urls = RULES.map(|rules| (rules, registry.serve_also(options(rules)))).into();
        let key = |who: Who| {
            let owner = if who == Owner { "us" } else { "others" };
            let new = NewKey { role: who.role()?, owner: owner.parse().unwrap(), ttl: None };
            Some((who, registry.registry().keys().create(new).unwrap().1))
        };
        let keys = ALL.into_iter().filter_map(key).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (page, made) = (Page::start(&card()), AtomicUsize::new(0));
        let doors = Doors { registry, urls, keys, page, made, runtime, client: client() };
        doors.setup("PUT", "/queries/known?visibility=public", JSON, json!({"q": "weather"}).to_string());
        doors.setup("PUT", "/things/urn:roles:known", TD, thing("urn:roles:known"));
        doors.import("urn:roles:tracked");
        // Both may publish servers in it.
        let namespace = ClaimedNamespace {
            name: "example.com".parse().unwrap(),
            owner: "us".parse().unwrap(),
            members: ["others".parse().unwrap()].into(),
            created: Timestamp::now(),
            proof: None,
        };
        doors.registry.registry().namespaces().put(namespace).unwrap();
        for (format, document) in documents() {
            doors.setup("POST", &format!("/import/{format}?id=urn:roles:{format}"), JSON, document.to_string());
        }
        doors
    }

    fn send(&self, who: Who, method: &str, url: &str, media_type: &str, body: String) -> Answer {
        let mut request = self.client.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        if let Some((_, key)) = self.keys.iter().find(|(known, _)| *known == who) {
            request = request.bearer_auth(key);
        }
        if !body.is_empty() {
            request = request.header("content-type", media_type).body(body);
        }
        self.runtime.block_on(async {
            let response = request.send().await.unwrap();
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
        })
    }

    /// Makes something that belongs to the owner.
    fn setup(&self, method: &str, path: &str, media_type: &str, body: String) {
        let answer = self.send(Owner, method, &self.registry.url(path), media_type, body);
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    }

    fn import(&self, id: &str) {
        let body = json!({"url": format!("{}?of={id}", self.page.url())}).to_string();
        self.setup("POST", &format!("/import/a2a?id={id}"), "application/json", body);
    }

    /// A request that is in order, about something that is there: path, media type and body.
    fn request(&self, method: &str, path: &str) -> (String, &'static str, String) {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let (id, name) = (format!("urn:roles:{number}"), format!("made-{number}"));
        let body = |body: Value| (path.to_owned(), JSON, body.to_string());
        let import = |body: Value| (format!("{path}?id={id}"), JSON, body.to_string());
        let make = || self.setup("PUT", &format!("/things/{id}"), TD, thing(&id));
        let at_id = |media_type, body: Value| (path.replace("{id}", &id), media_type, body.to_string());
        let none = |path: String| (path, JSON, String::new());
        match (method, path) {
            ("PUT", "/things/{id}") => {
                make();
                (path.replace("{id}", &id), TD, thing(&id).replace("weather", "storms"))
            }
            ("PATCH", "/things/{id}") => {
                make();
                at_id("application/merge-patch+json", json!({"title": "B"}))
            }
            ("DELETE", "/things/{id}") => {
                make();
                none(path.replace("{id}", &id))
            }
            ("PUT", "/things/{id}/access") => {
                make();
                at_id(JSON, json!({"visibility": "private"}))
            }
            ("POST", "/things/{id}/refresh") | ("DELETE", "/imports/{id}") => {
                self.import(&id);
                none(path.replace("{id}", &id))
            }
            ("GET", "/imports/{id}" | "/things/{id}/agent-card") => none(path.replace("{id}", "urn:roles:tracked")),
            ("POST", "/things/{id}/conversation") => {
                (path.replace("{id}", "urn:roles:known"), JSON, json!({"message": "Hello"}).to_string())
            }
            ("PUT", "/things/{id}/properties/{name}/value") => {
                let value = json!({"value": 1}).to_string();
                ("/things/urn:roles:known/properties/level/value".to_owned(), JSON, value)
            }
            ("GET", "/things/{id}/properties/{name}/value" | "/things/{id}/events/{name}/notifications") => {
                none(path.replace("{id}", "urn:roles:known").replace("{name}", "level"))
            }
            ("POST", "/things/{id}/actions/{name}/sacp") => {
                let answer = json!({"status": "success", "data": {}}).to_string();
                ("/things/urn:roles:known/actions/ask/sacp".to_owned(), JSON, answer)
            }
            ("GET", "/things/{id}/actions/{name}/sacp") => none("/things/urn:roles:known/actions/ask/sacp".to_owned()),
            ("PUT" | "DELETE", "/namespaces/{name}") => {
                self.setup("PUT", &format!("/namespaces/{name}"), JSON, json!({"members": []}).to_string());
                let members = if method == "PUT" { json!({"members": ["guests"]}).to_string() } else { String::new() };
                (path.replace("{name}", &name), JSON, members)
            }
            ("PUT", "/queries/{name}") => (path.replace("{name}", &name), JSON, json!({"q": "weather"}).to_string()),
            ("DELETE", "/queries/{name}") => {
                self.setup(
                    "PUT",
                    &format!("/queries/{name}?visibility=public"),
                    JSON,
                    json!({"q": "weather"}).to_string(),
                );
                none(format!("{}?owner=us", path.replace("{name}", &name)))
            }
            ("DELETE", "/keys/{id}") => {
                let new = NewKey { role: Role::Read, owner: "guests".parse().unwrap(), ttl: None };
                none(path.replace("{id}", &self.registry.registry().keys().create(new).unwrap().0.id))
            }
            ("POST", "/keys") => body(json!({"role": "read", "owner": "guests"})),
            ("POST", "/things") => (path.to_owned(), TD, crate::support::anonymous_agent("A")),
            ("POST", "/things/batch") => {
                let line = serde_json::from_str::<Value>(&thing(&id)).unwrap();
                (path.to_owned(), "application/x-ndjson", format!("{line}\n"))
            }
            ("POST", "/records") => {
                let td = serde_json::from_str::<Value>(&thing(&id)).unwrap();
                let record = json!({"td": td, "created": "2026-01-01T00:00:00Z"});
                (path.to_owned(), "application/x-ndjson", format!("{record}\n"))
            }
            ("POST", "/v0.1/publish") => body(server(&name)),
            ("GET", path) if path.starts_with("/v0.1/servers/") => {
                none(path.replace("{serverName}", "agentdex%2Furn__roles__mcp-server").replace("{version}", "latest"))
            }
            ("PATCH", path) if path.starts_with("/v0.1/servers/") => {
                self.setup("POST", "/v0.1/publish", JSON, server(&name).to_string());
                let path = path.replace("{serverName}", &format!("com.example%2F{name}")).replace("{version}", "1.0.0");
                (path, JSON, json!({"status": "deprecated"}).to_string())
            }
            ("POST", "/mcp") => body(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "search_agents", "arguments": {"query": "weather"}}})),
            ("POST", "/a2a" | "/a2a/message:send") => {
                let params =
                    json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "weather"}]}});
                let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
                let body = if path == "/a2a" { rpc } else { params };
                (format!("{path}?A2A-Version=1.0"), JSON, body.to_string())
            }
            ("GET", "/a2a/tasks" | "/a2a/tasks/{id}") => none(format!("{path}?A2A-Version=1.0")),
            ("POST", "/validate" | "/convert") => (path.to_owned(), TD, thing(&id)),
            ("POST", "/import") => import(json!({"url": format!("{}?of={id}", self.page.url())})),
            ("POST", "/import/a2a") => import(card()),
            ("POST", "/import/aos" | "/import/lmos-capabilities" | "/import/mcp-server") => {
                let format = path.trim_start_matches("/import/");
                let (_, document) = documents().into_iter().find(|(known, _)| *known == format).unwrap();
                import(document)
            }
            ("GET", "/things/{id}/aos" | "/things/{id}/lmos-capabilities" | "/things/{id}/mcp-server") => {
                let format = path.trim_start_matches("/things/{id}/");
                none(path.replace("{id}", &format!("urn:roles:{format}")))
            }
            ("GET", "/things/{id}/connect") => none("/things/urn:roles:mcp-server/connect".to_owned()),
            ("POST", "/import/agent-spec") => body(json!({
                "component_type": "Agent", "agentspec_version": "25.4.1", "id": name, "name": "A", "metadata": {},
                "description": "Answers questions", "inputs": [], "outputs": [], "tools": [],
                "llm_config": {"component_type": "VllmConfig", "id": "llm", "name": "llm",
                    "url": "https://llm.example/v1", "model_id": "small"},
                "system_prompt": "Answer in one sentence.",
            })),
            ("POST", "/search/compatible") => body(json!({"have": {"type": "object"}})),
            ("POST", "/search/compose") => body(json!({"have": {"type": "object"}, "want": {"type": "object"}})),
            ("POST", "/search/sparql") => (path.to_owned(), "application/sparql-query", "ASK {?s ?p ?o}".to_owned()),
            ("GET", "/search/sparql") => none(format!("{path}?query=ASK%20%7B%3Fs%20%3Fp%20%3Fo%7D")),
            ("GET", "/search/jsonpath") => none(format!("{path}?query=%24%5B%2A%5D")),
            ("POST", "/aos") => {
                let (method, params) = crate::aos::calls().swap_remove(0);
                body(crate::aos::request(1, method, &params))
            }
            ("GET", "/queries/{name}" | "/queries/{name}/events") => {
                none(format!("{}?owner=us", path.replace("{name}", "known")))
            }
            _ => {
                let path = path.replace("{id}", "urn:roles:known").replace("{language}", "xpath");
                none(path.replace("{kind}", "thing_created"))
            }
        }
    }
}

/// A description with an action that has an input and an output.
fn thing(id: &str) -> String {
    let mut td: Value = serde_json::from_str(&agent(id, "A")).unwrap();
    let data = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
    td["description"] = json!("Knows the weather");
    let output = json!({"@type": "sacp:Response", "type": "object", "properties": {"data": data("forecast")}});
    td["actions"] = json!({"ask": {"input": data("place"), "output": output,
        "forms": [{"href": "https://agents.example/ask"}]}});
    td.to_string()
}

#[test]
fn each_caller_gets_what_the_documentation_says_by_each_set_of_rules() {
    let doors = Doors::open();
    let (mut wrong, mut cells) = (Vec::new(), 0);
    for (rules, url) in &doors.urls {
        for (method, path) in operations() {
            for who in ALL {
                let (request, media_type, body) = doors.request(&method, &path);
                // A stream answers HEAD as it answers GET, and ends.
                let asked = if path.contains("events") { "HEAD" } else { &method };
                let answer = doors.send(who, asked, &format!("{url}{request}"), media_type, body);
                let status = status(*rules, who, &method, &path);
                cells += 1;
                if answer.status != status {
                    let text: String = String::from_utf8_lossy(&answer.body).chars().take(200).collect();
                    wrong.push(format!(
                        "{method} {path} as {who:?} by {rules:?}: {}, not {status}: {text}",
                        answer.status
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cells > 1_800, "{cells} cells");
}
