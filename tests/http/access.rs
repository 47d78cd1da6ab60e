//! Who may do what: every operation of the OpenAPI document, and every route beside it, as each role.

use agentdex::access::{NewKey, Role, Rules};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, Call, EventStream, TestRegistry, agent, eventually, openapi};

/// What is expected of each operation: who may, with the least role. A route that isn't in here fails the test.
const EXPECTED: &[(&str, &str, Expected)] = &[
    ("GET", "/", Everybody),
    ("GET", "/.well-known/wot", Everybody),
    ("GET", "/.well-known/agent-card.json", Everybody),
    ("GET", "/mcp/server-card", Everybody),
    ("GET", "/llms.txt", Everybody),
    ("GET", "/.well-known/oauth-protected-resource", Everybody),
    ("GET", "/openapi.json", Everybody),
    ("GET", "/health/live", Everybody),
    ("GET", "/health/ready", Everybody),
    ("GET", "/metrics", AtLeast(Role::Read)),
    ("GET", "/backup", AtLeast(Role::Admin)),
    ("GET", "/records", AtLeast(Role::Admin)),
    ("POST", "/records", AtLeast(Role::Admin)),
    ("GET", "/audit", AtLeast(Role::Admin)),
    ("GET", "/cluster", AtLeast(Role::Admin)),
    ("POST", "/cluster/verification", AtLeast(Role::Admin)),
    ("POST", "/clock/accept", AtLeast(Role::Admin)),
    ("GET", "/keys", AtLeast(Role::Admin)),
    ("POST", "/keys", AtLeast(Role::Admin)),
    ("DELETE", "/keys/{id}", AtLeast(Role::Admin)),
    ("GET", "/things", AtLeast(Role::Read)),
    ("POST", "/things", AtLeast(Role::Register)),
    ("POST", "/things/batch", AtLeast(Role::Register)),
    ("GET", "/things/{id}", AtLeast(Role::Read)),
    ("PUT", "/things/{id}", AtLeast(Role::Register)),
    ("PATCH", "/things/{id}", AtLeast(Role::Register)),
    ("DELETE", "/things/{id}", AtLeast(Role::Register)),
    ("GET", "/things/{id}/history", AtLeast(Role::Read)),
    ("GET", "/things/{id}/versions", AtLeast(Role::Read)),
    ("GET", "/things/{id}/access", AtLeast(Role::Read)),
    ("PUT", "/things/{id}/access", AtLeast(Role::Register)),
    ("GET", "/namespaces", AtLeast(Role::Read)),
    ("PUT", "/namespaces/{name}", AtLeast(Role::Register)),
    ("DELETE", "/namespaces/{name}", AtLeast(Role::Register)),
    ("GET", "/things/{id}/compatible", AtLeast(Role::Read)),
    ("POST", "/things/{id}/conversation", AtLeast(Role::Register)),
    ("GET", "/things/{id}/properties/{name}/value", AtLeast(Role::Register)),
    ("PUT", "/things/{id}/properties/{name}/value", AtLeast(Role::Register)),
    ("GET", "/things/{id}/events/{name}/notifications", AtLeast(Role::Register)),
    ("POST", "/things/{id}/refresh", AtLeast(Role::Register)),
    ("GET", "/things/{id}/actions/{name}/sacp", AtLeast(Role::Read)),
    ("POST", "/things/{id}/actions/{name}/sacp", AtLeast(Role::Read)),
    ("GET", "/things/{id}/agent-card", AtLeast(Role::Read)),
    ("GET", "/things/{id}/agent-spec", AtLeast(Role::Read)),
    ("GET", "/things/{id}/mcp-server", AtLeast(Role::Read)),
    ("GET", "/things/{id}/aos", AtLeast(Role::Read)),
    ("GET", "/things/{id}/lmos-capabilities", AtLeast(Role::Read)),
    ("POST", "/convert", AtLeast(Role::Read)),
    ("POST", "/validate", AtLeast(Role::Read)),
    ("POST", "/mcp", AtLeast(Role::Read)),
    ("POST", "/a2a", AtLeast(Role::Read)),
    ("POST", "/a2a/message:send", AtLeast(Role::Read)),
    ("GET", "/a2a/tasks", AtLeast(Role::Read)),
    ("GET", "/a2a/tasks/{id}", AtLeast(Role::Read)),
    ("GET", "/v0.1/servers", AtLeast(Role::Read)),
    ("GET", "/v0.1/servers/{serverName}/versions", AtLeast(Role::Read)),
    ("GET", "/v0.1/servers/{serverName}/versions/{version}", AtLeast(Role::Read)),
    ("POST", "/v0.1/publish", AtLeast(Role::Register)),
    ("PATCH", "/v0.1/servers/{serverName}/versions/{version}/status", AtLeast(Role::Register)),
    ("PATCH", "/v0.1/servers/{serverName}/status", AtLeast(Role::Register)),
    ("GET", "/connect", AtLeast(Role::Read)),
    ("GET", "/things/{id}/connect", AtLeast(Role::Read)),
    ("POST", "/import", AtLeast(Role::Register)),
    ("GET", "/imports", AtLeast(Role::Read)),
    ("GET", "/imports/{id}", AtLeast(Role::Read)),
    ("DELETE", "/imports/{id}", AtLeast(Role::Register)),
    ("GET", "/search", AtLeast(Role::Read)),
    ("POST", "/search/compatible", AtLeast(Role::Read)),
    ("POST", "/search/compose", AtLeast(Role::Read)),
    ("GET", "/search/jsonpath", AtLeast(Role::Read)),
    ("GET", "/search/sparql", AtLeast(Role::Read)),
    ("POST", "/search/sparql", AtLeast(Role::Read)),
    ("GET", "/search/{language}", AtLeast(Role::Read)),
    ("POST", "/search/{language}", AtLeast(Role::Read)),
    ("GET", "/changes", AtLeast(Role::Read)),
    ("GET", "/events", AtLeast(Role::Read)),
    ("GET", "/events/{kind}", AtLeast(Role::Read)),
    ("GET", "/queries", AtLeast(Role::Read)),
    ("GET", "/queries/{name}", AtLeast(Role::Read)),
    ("PUT", "/queries/{name}", AtLeast(Role::Register)),
    ("DELETE", "/queries/{name}", AtLeast(Role::Register)),
    ("GET", "/queries/{name}/events", AtLeast(Role::Read)),
    ("POST", "/aos", AtLeast(Role::Register)),
    ("GET", "/aos/sessions", AtLeast(Role::Admin)),
    ("GET", "/aos/sessions/{id}", AtLeast(Role::Admin)),
    ("GET", "/aos/decisions", AtLeast(Role::Admin)),
    ("GET", "/aos/events", AtLeast(Role::Admin)),
];

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Everybody,
    AtLeast(Role),
}

use Expected::{AtLeast, Everybody};

/// A server that authenticates, and a key of each role.
struct Guarded {
    registry: TestRegistry,
    keys: [String; 3],
}

fn guarded(rules: Rules) -> Guarded {
    let options = http::Options { access: Rules { authentication: true, ..rules }, ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    let key = |role| registry.registry().keys().create(new_key(role)).unwrap().1;
    let keys = Role::ALL.map(key);
    Guarded { registry, keys }
}

fn new_key(role: Role) -> NewKey {
    NewKey { role, owner: "team".parse().unwrap(), ttl: None }
}

impl Guarded {
    fn key(&self, role: Role) -> &str {
        &self.keys[Role::ALL.iter().position(|known| *known == role).unwrap()]
    }

    fn call(&self, role: Option<Role>, method: &str, path: &str) -> Call {
        let call = self.registry.call(method, path);
        match role {
            Some(role) => call.header("authorization", &format!("Bearer {}", self.key(role))),
            None => call,
        }
    }

    fn send(&self, role: Option<Role>, method: &str, path: &str) -> Answer {
        self.call(role, method, path).send()
    }
}

/// The operations of the OpenAPI document.
pub(super) fn operations() -> Vec<(String, String)> {
    let document: Value = openapi();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|method| *method != "parameters");
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    operations.collect()
}

pub(super) fn expected(method: &str, path: &str) -> Option<Expected> {
    // One line for all formats: they are in a table of their own.
    if path.starts_with("/import/") && method == "POST" {
        return Some(AtLeast(Role::Register));
    }
    EXPECTED.iter().find(|(known, at, _)| *known == method && *at == path).map(|(.., expected)| *expected)
}

/// Whether an answer is that of the check of roles.
fn is_refused(answer: &Answer) -> bool {
    let code = || answer.json()["code"].as_str().unwrap_or_default().to_owned();
    match answer.status {
        401 => true,
        403 => ["forbidden", "read-only"].contains(&code().as_str()),
        _ => false,
    }
}

/// Asks without reading a body that doesn't end.
fn is_refused_to(guarded: &Guarded, role: Option<Role>, method: &str, path: &str) -> (bool, u16) {
    // A stream answers HEAD as it answers GET, and ends.
    let method = if method == "GET" && path.contains("events") { "HEAD" } else { method };
    let answer = guarded.send(role, method, path);
    let is_refused = match method {
        "HEAD" => matches!(answer.status, 401 | 403),
        _ => is_refused(&answer),
    };
    (is_refused, answer.status)
}

#[test]
fn every_operation_is_for_the_roles_in_the_table() {
    let guarded = guarded(Rules::default());
    let operations = operations();
    let unlisted: Vec<_> = operations.iter().filter(|(method, path)| expected(method, path).is_none()).collect();
    assert!(unlisted.is_empty(), "operations without a line in EXPECTED: {unlisted:?}");
    let is_operation =
        |method: &str, path: &str| operations.iter().any(|known| (&*known.0, &*known.1) == (method, path));
    let gone: Vec<_> = EXPECTED.iter().filter(|(method, path, _)| !is_operation(method, path)).collect();
    assert!(gone.is_empty(), "lines of EXPECTED without an operation: {gone:?}");
    for (method, path) in &operations {
        let concrete = path
            .replace("{id}", "urn:example:none")
            .replace("{name}", "none")
            .replace("{kind}", "thing_created")
            .replace("{language}", "sparql");
        for role in [None].into_iter().chain(Role::ALL.map(Some)) {
            let may = match expected(method, path).unwrap() {
                Everybody => true,
                AtLeast(needed) => role.is_some_and(|role| role >= needed),
            };
            let (is_refused, status) = is_refused_to(&guarded, role, method, &concrete);
            assert_eq!(is_refused, !may, "{method} {path} as {role:?}: {status}");
            if !may {
                assert_eq!(status, if role.is_none() { 401 } else { 403 }, "{method} {path} as {role:?}");
            }
        }
    }
}

#[test]
fn the_openapi_document_declares_the_key_and_the_role_of_each_operation() {
    let key = |role: Role| json!({"apiKey": [role.as_str()]});
    let documents = [
        (openapi(), [true; 3]),
        (TestRegistry::start().get("/openapi.json").expect(200).json(), [true; 3]),
        (guarded(Rules::default()).registry.get("/openapi.json").expect(200).json(), [false; 3]),
        (
            guarded(Rules { public_read: true, ..Rules::default() }).registry.get("/openapi.json").expect(200).json(),
            [true, false, false],
        ),
    ];
    for (document, is_optional) in documents {
        let schemes = document["components"]["securitySchemes"].as_object().unwrap();
        assert_eq!(schemes.keys().collect::<Vec<_>>(), ["apiKey"]);
        assert_eq!((&schemes["apiKey"]["type"], &schemes["apiKey"]["scheme"]), (&json!("http"), &json!("bearer")));
        for (method, path) in operations() {
            let security = &document["paths"][&path][method.to_lowercase()]["security"];
            let needed = match expected(&method, &path).unwrap() {
                Everybody => json!([]),
                AtLeast(role) if is_optional[role as usize] => json!([{}, key(role)]),
                AtLeast(role) => json!([key(role)]),
            };
            assert_eq!(*security, needed, "{method} {path}");
        }
    }
}

#[test]
fn paths_beside_the_documented_ones_are_open_or_refused() {
    let guarded = guarded(Rules::default());
    for path in ["/docs/", "/docs", "/docs/guide", "/docs/guide/tutorial", "/mqtt", "/page/x/y", "/nothing"] {
        assert!(!is_refused(&guarded.send(None, "GET", path)), "{path}");
    }
    for (method, path) in [("BREW", "/things"), ("POST", "/search"), ("DELETE", "/things"), ("PUT", "/things/batch")] {
        assert_eq!(guarded.send(None, method, path).status, 401, "{method} {path}");
        assert_eq!(guarded.send(Some(Role::Read), method, path).status, 403, "{method} {path}");
    }
    // Whatever an id looks like, its path is that of a Thing.
    for path in ["/things/urn:example:a/refresh", "/things/keys", "/things/http:%2F%2Fa%2Fhealth%2Flive"] {
        assert_eq!(guarded.send(None, "GET", path).status, 401, "{path}");
    }
}

#[test]
fn refusals_say_what_is_needed() {
    let guarded = guarded(Rules::default());
    let answer = guarded.send(None, "GET", "/things");
    answer.problem(401, "unauthenticated");
    assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"agentdex\"");
    let answer = guarded.call(Some(Role::Read), "PUT", "/things/urn:example:a").send();
    assert_eq!(answer.problem(403, "forbidden")["role"], "register");
    let challenge = "Bearer realm=\"agentdex\", error=\"insufficient_scope\", scope=\"register\"";
    assert_eq!(answer.header("www-authenticate"), challenge);
    for credentials in
        ["Bearer x", "Bearer ", "Basic eDp5", "x", &format!("Bearer adx_0123456789ab_{}", "0".repeat(64))]
    {
        let answer = guarded.registry.call("GET", "/things").header("authorization", credentials).send();
        answer.problem(401, "invalid-credentials");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"agentdex\", error=\"invalid_token\"");
    }
    // Monitoring works whatever it sends.
    guarded.registry.call("GET", "/health/live").header("authorization", "Basic eDp5").send().expect(200);
}

#[test]
fn who_may_not_read_learns_nothing_from_what_is_open() {
    let guarded = guarded(Rules::default());
    guarded.registry.registry().put(agent("urn:example:a", "A")).unwrap();
    for path in ["/", "/health/ready"] {
        assert_eq!(guarded.send(None, "GET", path).expect(200).json()["things"], Value::Null, "{path}");
        assert_eq!(guarded.send(Some(Role::Read), "GET", path).expect(200).json()["things"], 1, "{path}");
    }
    let security = &guarded.send(None, "GET", "/.well-known/wot").json()["securityDefinitions"];
    assert_eq!(security["registry_sc"]["scheme"], "bearer");
}

#[test]
fn with_public_read_everybody_reads_and_nobody_else_writes() {
    let guarded = guarded(Rules { public_read: true, ..Rules::default() });
    guarded.send(None, "GET", "/things").expect(200);
    guarded.registry.put("/things/urn:example:a", agent("urn:example:a", "A")).problem(401, "unauthenticated");
    guarded.send(None, "GET", "/keys").problem(401, "unauthenticated");
    // A key that isn't valid doesn't pass for none.
    guarded
        .registry
        .call("GET", "/things")
        .header("authorization", "Bearer x")
        .send()
        .problem(401, "invalid-credentials");
    let put = guarded.call(Some(Role::Register), "PUT", "/things/urn:example:a");
    put.body("application/td+json", agent("urn:example:a", "A")).send().expect(201);
}

/// The operations that change nothing though they aren't GET.
pub(super) const READING_POSTS: [&str; 10] = [
    "/a2a",
    "/a2a/message:send",
    "/convert",
    "/mcp",
    "/validate",
    "/search/compatible",
    "/search/compose",
    "/search/sparql",
    "/search/{language}",
    "/things/{id}/actions/{name}/sacp",
];

#[test]
fn a_read_only_server_takes_no_changes() {
    let read_only = Rules { read_only: true, ..Rules::default() };
    let open = TestRegistry::start_with(Default::default(), http::Options { access: read_only, ..Default::default() });
    let guarded = guarded(read_only);
    let mut refused = 0;
    for (method, path) in operations() {
        let writes = method != "GET" && !(method == "POST" && READING_POSTS.contains(&path.as_str()));
        if !writes {
            let (is_refused, status) = is_refused_to(&guarded, Some(Role::Admin), &method, &path);
            assert!(!is_refused, "{method} {path}: {status}");
            continue;
        }
        refused += 1;
        open.call(&method, &path).send().problem(403, "read-only");
        guarded.send(Some(Role::Admin), &method, &path).problem(403, "read-only");
        // Who may not write anyway isn't told more.
        guarded.send(Some(Role::Read), &method, &path).problem(403, "forbidden");
        guarded.send(None, &method, &path).problem(401, "unauthenticated");
    }
    assert!(refused > 20, "{refused} operations");
    let record = json!({"td": serde_json::from_str::<Value>(&agent("urn:example:r", "R")).unwrap(), "created": "2026-01-01T00:00:00Z"});
    open.call("POST", "/records").body("application/x-ndjson", format!("{record}\n")).send().problem(403, "read-only");
    open.get("/things/urn:example:r").expect(404);
    open.post("/validate", agent("urn:example:a", "A")).expect(200);
}

#[test]
fn keys_are_created_listed_and_revoked() {
    let guarded = guarded(Rules::default());
    let create = |body: Value| {
        guarded.call(Some(Role::Admin), "POST", "/keys").body("application/json", body.to_string()).send()
    };
    let created = create(json!({"role": "read", "owner": "weather-team", "ttl": 3600})).expect(201);
    assert_eq!(created.header("cache-control"), "no-store");
    let location = created.header("location");
    let created = created.json();
    let key = created["key"].as_str().unwrap().to_owned();
    assert_eq!(location, format!("/keys/{}", created["id"].as_str().unwrap()));
    let read = || guarded.registry.call("GET", "/things").header("authorization", &format!("bearer {key}")).send();
    read().expect(200);

    let listed = guarded.send(Some(Role::Admin), "GET", "/keys").expect(200);
    assert!(!listed.text().contains(key.rsplit('_').next().unwrap()));
    let listed = listed.json();
    let listed = listed.as_array().unwrap().iter().find(|listed| listed["id"] == created["id"]).unwrap();
    assert_eq!((&listed["owner"], &listed["role"]), (&json!("weather-team"), &json!("read")));
    assert!(listed["lastUsed"].is_string() && listed["expires"].is_string() && listed["created"].is_string());

    guarded.send(Some(Role::Admin), "DELETE", &location).expect(204);
    guarded.send(Some(Role::Admin), "DELETE", &location).problem(404, "no-such-key");
    read().problem(401, "invalid-credentials");
    for body in [
        json!({}),
        json!({"role": "root", "owner": "a"}),
        json!({"role": "read", "owner": "a b"}),
        json!({"role": "read", "owner": "a", "admin": true}),
    ] {
        assert_eq!(create(body.clone()).status, 400, "{body}");
    }
}

#[test]
fn without_authentication_nobody_manages_keys() {
    let registry = TestRegistry::start();
    let body = json!({"role": "admin", "owner": "mallory"}).to_string();
    registry.call("POST", "/keys").body("application/json", body).send().problem(403, "authentication-off");
    registry.get("/keys").problem(403, "authentication-off");
    assert!(registry.registry().keys().list().is_empty());
}

#[test]
fn a_client_beyond_its_rate_is_refused_and_others_are_not() {
    let rules = Rules { authentication: true, public_read: true, ..Rules::default() };
    let limits = http::Limits { requests_per_second: Some(5), ..Default::default() };
    let options = http::Options { access: rules, limits, ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    let key = registry.registry().keys().create(new_key(Role::Read)).unwrap().1;
    let anonymous = || registry.call("GET", "/things").send();
    let refused = loop {
        let answer = anonymous();
        if answer.status != 200 {
            break answer;
        }
    };
    refused.problem(429, "rate-limited");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    // The holder of a key has a rate of its own, and monitoring goes on.
    registry.call("GET", "/things").header("authorization", &format!("Bearer {key}")).send().expect(200);
    registry.get("/health/live").expect(200);
    // Who waits is let in again.
    eventually("the client is let in again", || anonymous().status == 200);
}

#[test]
fn revoked_keys_end_what_is_open() {
    let guarded = guarded(Rules::default());
    let registry = &guarded.registry;
    let (key, text) = registry.registry().keys().create(new_key(Role::Admin)).unwrap();
    let call = |path: &str| registry.call("GET", path).header("authorization", &format!("Bearer {text}"));
    registry.registry().register(agent("urn:example:a", "A")).unwrap();
    let mut streams = ["/events", "/events/thing_created", "/aos/events"].map(|path| EventStream::open(call(path)));
    let seq = registry.registry().last_seq().0;
    let poll = call(&format!("/changes?since={seq}&wait=30"));
    let polling = std::thread::spawn(move || poll.send());
    eventually("the long poll waits", || {
        guarded.send(Some(Role::Admin), "GET", "/metrics").text().contains("agentdex_long_polls 1")
    });
    registry.registry().keys().revoke(&key.id).unwrap();
    for stream in &mut streams {
        assert_eq!(stream.next(), None);
    }
    polling.join().unwrap().problem(401, "invalid-credentials");
}
