//! The requests of strangers: every operation of the OpenAPI document, with many parameters.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    normal::Normal,
    operations,
    secrets::{Content, NEWS, PUBLIC, WORLDS, card, described, swarm},
    streams::positions,
    transcript::Transcript,
    world::{HIDDEN, STRANGERS, World},
};
use crate::visibility::server::Who;

/// Ids that nobody has, or everybody sees.
const OTHERS: [&str; 5] = ["urn:open:weather", "urn:open:travel", "urn:open:finance", "urn:news:3", "urn:not:there"];

/// What a Thing is asked for, below its path.
const OF_THING: [&str; 23] = [
    "",
    "?version=1.0.0",
    "?version=latest",
    "?version=%5E1",
    "/access",
    "/history",
    "/history?since=0&limit=1",
    "/history?since=7",
    "/versions",
    "/agent-card",
    "/agent-card?edits=false",
    "/agent-card?version=0.3&thing_version=1.0.0",
    "/agent-spec",
    "/agent-spec?edits=false",
    "/aos",
    "/lmos-capabilities",
    "/mcp-server",
    "/mcp-server?version=server-card",
    "/connect",
    "/compatible",
    "/compatible?near_misses=true&limit=50",
    "/actions/ask/sacp",
    "/actions/merger-desk/sacp",
];

/// Words that are hidden in one world or the other, that everybody sees, or nobody has.
const WORDS: [&str; 24] = [
    "merger",
    "merger with Acme",
    "mergr",
    "merg*",
    "salary",
    "roses",
    "who waters roses",
    "sourdough bread",
    "clok repair",
    "old pianos",
    "weather",
    "wether",
    "weather -storms",
    "storms",
    "companies",
    "+companies -merger",
    "\"takes over\"",
    "title:merger",
    "capability:rose-care",
    "trains OR roses",
    "teaches",
    "How do I get to Tokyo? Which plants need water?",
    "zzzz",
    "*",
];

/// Reads of which no parameter is an id.
const READS: [&str; 72] = [
    "/",
    "/.well-known/oauth-protected-resource",
    "/.well-known/wot",
    "/.well-known/agent-card.json",
    "/.well-known/mcp/server-card.json",
    "/mcp/server-card",
    "/llms.txt",
    "/connect",
    "/a2a/tasks/none?A2A-Version=1.0",
    "/aos/decisions",
    "/aos/decisions?agent=urn:hid:private",
    "/aos/decisions?decision=allow&limit=5",
    "/aos/sessions",
    "/aos/sessions?agent=urn:hid:private",
    "/aos/sessions/hidden-session",
    "/aos/sessions/missing-session",
    "/audit",
    "/audit?since=3",
    "/backup",
    "/cluster",
    "/changes",
    "/changes?since=0&limit=1",
    "/changes?since=0&limit=7",
    "/changes?since=0&limit=1000",
    "/changes?since=99999999",
    "/changes?since=EPOCH-0",
    "/events/unknown",
    "/events?threshold=7",
    "/aos/events?decision=none",
    "/health/live",
    "/health/ready",
    "/imports",
    "/imports?status=failing",
    "/keys",
    "/metrics",
    "/namespaces",
    "/openapi.json",
    "/queries",
    "/queries/common?owner=",
    "/queries/secret",
    "/queries/secret?owner=alice",
    "/queries/secret?owner=carol",
    "/queries/secret/events?owner=alice",
    "/queries/missing?owner=alice",
    "/queries/mine",
    "/queries/mine?owner=bob",
    "/records",
    "/records?after=urn:hid:private",
    "/search/xpath",
    "/things",
    "/things?limit=3",
    "/things?limit=3&offset=4",
    "/things?format=collection",
    "/things?format=ndjson",
    "/things?view=summary&limit=100",
    "/things?sort_by=title&limit=100",
    "/things?sort_by=modified&sort_order=desc&limit=100",
    "/things?sort_by=id&sort_order=desc&limit=100",
    "/things?source_format=a2a&consistent=true",
    "/things?not_source_format=a2a&consistent=true&limit=100",
    "/things?protocol=https&consistent=true&limit=100",
    "/things?security=nosec&consistent=true&limit=100",
    "/things?modified_from=2020-01-01T00:00:00Z&consistent=true&limit=100",
    "/things?created_before=2020-01-01T00:00:00Z&consistent=true",
    "/things?version=1.0.0&consistent=true",
    "/search?facets=tag,capability,type,protocol,security,format&limit=0&consistent=true",
    "/search?facets=vendor,tenant,channel,speaks,status,signature&limit=100&consistent=true",
    "/search?q=advises+on+plants&explain=true&limit=100&consistent=true&facets=tag",
    "/search?q=pla&typing=true&limit=100&consistent=true",
    "/search?sort_by=modified&sort_order=desc&limit=100&consistent=true",
    "/search?q=plants&sort_by=title&highlight=true&limit=2&offset=1&consistent=true",
    "/search?limit=0&facets=tag,capability,vendor&facet_query=a&consistent=true",
];

const JSON_PATHS: [&str; 8] = [
    "$[*].title",
    "$[?@.title=='prepares the merger with Acme']",
    "$[?@.title=='waters roses'].id",
    "$[?@.id=='urn:hid:private']",
    "$[?search(@.description,'merger|roses')]",
    "$[?@.tags[0]=='merger-desk' || @.tags[0]=='rose-care']",
    "$[0,1,2]",
    "$..href",
];

const STATEMENTS: [&str; 5] = [
    "SELECT * {?s ?p ?o}",
    "SELECT (COUNT(*) AS ?n) {?s ?p ?o}",
    "ASK {?s ?p 'prepares the merger with Acme'}",
    "SELECT ?p ?o {<urn:hid:private> ?p ?o}",
    "SELECT DISTINCT ?p {?s ?p ?o} ORDER BY ?p",
];

/// Sends requests, each of which is an operation, and writes down the answers.
struct Asking<'w> {
    world: &'w World,
    normal: Normal,
    asked: BTreeSet<String>,
    transcript: &'w mut Transcript,
}

impl<'w> Asking<'w> {
    fn new(world: &'w World, transcript: &'w mut Transcript) -> Asking<'w> {
        Asking { world, normal: Normal::of(&world.server), asked: BTreeSet::new(), transcript }
    }

    fn send(&mut self, who: Who, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        self.asked.extend(operations::of(method, path));
        let answer = self.world.server.send(who, method, &path.replace("EPOCH", self.normal.epoch()), headers, body);
        let request = format!("{who} {method} {path} {headers:?} {}", body.chars().take(200).collect::<String>());
        self.transcript.push((request, self.normal.answer(path, &answer)));
    }

    fn get(&mut self, who: Who, path: &str) {
        self.send(who, "GET", path, &[], "");
    }

    fn json(&mut self, who: Who, method: &str, path: &str, body: &Value) {
        self.send(who, method, path, &[("content-type", "application/json")], &body.to_string());
    }
}

/// Reads everything as these; returns the operations that the requests are.
pub fn read_all(world: &World, strangers: &[Who], transcript: &mut Transcript) -> BTreeSet<String> {
    world.await_followers();
    let mut asking = Asking::new(world, transcript);
    for who in strangers.iter().copied() {
        READS.iter().for_each(|path| asking.get(who, path));
        for id in HIDDEN.iter().chain(&OTHERS) {
            OF_THING.iter().for_each(|end| asking.get(who, &format!("/things/{id}{end}")));
            asking.get(who, &format!("/imports/{id}"));
            asking.get(who, &format!("/imports?id={id}"));
            asking.get(who, &format!("/aos/decisions?agent={id}"));
        }
        ask_for_servers(&mut asking, who);
        ask_for_words(&mut asking, who);
        ask_structures(&mut asking, who);
        call_tools(&mut asking, who);
        send_messages(&mut asking, who);
        for position in positions(&world.server, world, 25) {
            asking.get(who, &format!("/changes?since=EPOCH-{position}&limit=25"));
            asking.get(who, &format!("/things/urn:hid:retracted/history?since=EPOCH-{position}"));
        }
    }
    asking.asked
}

/// A text as a part of a URL.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The name of a Thing among the MCP servers.
fn server_name(id: &str) -> String {
    format!("agentdex%2F{}", id.replace(':', "__"))
}

fn ask_for_servers(asking: &mut Asking<'_>, who: Who) {
    for parameters in [
        "limit=100",
        "limit=3",
        "version=latest&limit=100",
        "version=1.0.0",
        "updated_since=2020-01-01T00:00:00Z&limit=7",
    ] {
        asking.get(who, &format!("/v0.1/servers?{parameters}"));
    }
    for word in WORDS {
        asking.get(who, &format!("/v0.1/servers?search={}&limit=100", encoded(word)));
    }
    for id in HIDDEN.iter().chain(&OTHERS) {
        for version in ["", "/latest", "/1.0.0", "/0.0.0?include_deleted=true"] {
            asking.get(who, &format!("/v0.1/servers/{}/versions{version}", server_name(id)));
        }
    }
}

fn ask_for_words(asking: &mut Asking<'_>, who: Who) {
    for word in WORDS {
        let word = encoded(word);
        for parameters in [
            "limit=100",
            "mode=lexical&limit=100&explain=true&facets=tag",
            "mode=semantic&limit=100",
            "mode=semantic&threshold=0.1&limit=100&facets=capability",
            "typing=true&limit=100",
            "sort_by=title&highlight=true&limit=100",
            "limit=0&facets=tag,capability",
        ] {
            asking.get(who, &format!("/search?q={word}&{parameters}&consistent=true"));
        }
        asking.get(who, &format!("/things?q={word}&limit=100&consistent=true"));
    }
    for (_, key) in WORLDS.iter().flat_map(|secrets| secrets.contents) {
        for filter in ["tag", "capability", "not_tag", "all_capability", "type"] {
            asking.get(who, &format!("/search?{filter}={key}&limit=100&consistent=true"));
        }
        asking.get(who, &format!("/things?capability={key}&limit=100&consistent=true"));
    }
}

fn ask_structures(asking: &mut Asking<'_>, who: Who) {
    for path in JSON_PATHS {
        let path = encoded(path);
        asking.get(who, &format!("/search/jsonpath?query={path}"));
    }
    for statement in STATEMENTS {
        let headers = [("content-type", "application/sparql-query")];
        asking.send(who, "POST", "/search/sparql?consistent=true", &headers, statement);
        let statement = encoded(statement);
        asking.get(who, &format!("/search/sparql?consistent=true&query={statement}"));
    }
    asking.json(who, "POST", "/search/xpath", &json!({}));
    let has = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    for name in ["merger-desk", "rose-care", "weather-forecast", "nothing"] {
        for body in [
            json!({"have": has(name)}),
            json!({"have": has(name), "near_misses": true}),
            json!({"want": has(name), "query": "merger roses"}),
        ] {
            asking.json(who, "POST", "/search/compatible", &body);
        }
        asking.json(who, "POST", "/search/compose", &json!({"have": has(name), "want": has("journey-plan")}));
    }
}

/// Calls the tools of the MCP server that read, and those that write to what is hidden.
fn call_tools(asking: &mut Asking<'_>, who: Who) {
    let mut call = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        asking.json(who, "POST", "/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    };
    for word in WORDS {
        call("search_agents", json!({"query": word, "limit": 100}));
        call("explore", json!({"facets": ["tag", "capability", "protocol"], "query": word}));
    }
    for (_, key) in WORLDS.iter().flat_map(|secrets| secrets.contents) {
        call("search_agents", json!({"filters": {"tag": key}, "limit": 100}));
        call("search_agents", json!({"filters": {"not_capability": [key]}, "limit": 100}));
    }
    call(
        "explore",
        json!({"facets": ["tag", "capability", "type", "vendor", "security", "format", "status"], "limit": 100}),
    );
    call("explore", json!({"facets": ["capability", "tag"], "contains": "a"}));
    let has = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    for name in ["merger-desk", "rose-care", "weather-forecast", "nothing"] {
        call("find_compatible", json!({"have": has(name)}));
        call("find_compatible", json!({"want": has(name), "query": "merger roses", "near_misses": true}));
    }
    for id in HIDDEN.iter().chain(&OTHERS) {
        for format in ["td", "a2a", "agent-spec", "mcp-server", "aos", "lmos-capabilities"] {
            call("get_agent", json!({"id": id, "format": format}));
        }
        call("ask_agent", json!({"id": id, "message": "Hello"}));
    }
    call("validate_agent", json!({"document": described(HIDDEN[0], NEWS[0])}));
    for id in HIDDEN.iter().chain(&OTHERS) {
        let params = json!({"uri": format!("agentdex://things/{id}")});
        let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
        asking.json(who, "POST", "/mcp", &read);
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    asking.json(who, "POST", "/mcp", &list);
}

/// Sends messages to the A2A agent, and reads the tasks.
fn send_messages(asking: &mut Asking<'_>, who: Who) {
    let message = |data: Value| json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"data": data}]}});
    for word in WORDS {
        let params = message(json!({"query": word, "limit": 100}));
        asking.json(who, "POST", "/a2a/message:send?A2A-Version=1.0", &params);
    }
    for (_, key) in WORLDS.iter().flat_map(|secrets| secrets.contents) {
        let params = message(json!({"filters": {"not_tag": [key]}, "limit": 100}));
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        asking.json(who, "POST", "/a2a?A2A-Version=1.0", &request);
    }
    asking.get(who, "/a2a/tasks?A2A-Version=1.0&includeArtifacts=true&pageSize=10");
}

/// The conditions of requests: none, any, and tags, among them those of what is hidden.
fn conditions() -> Vec<Vec<(&'static str, String)>> {
    let mut all = vec![Vec::new()];
    for name in ["if-match", "if-none-match"] {
        for value in ["*", "\"999\"", "W/\"999\", \"12\"", "\"12.18c.60\"", ""] {
            all.push(vec![(name, value.to_owned())]);
        }
    }
    all.push(vec![("if-match", "\"12\"".to_owned()), ("if-none-match", "*".to_owned())]);
    // Some of these are the tags of what is hidden.
    let tags: Vec<String> = (1..120).map(|seq| format!("\"{seq}\"")).collect();
    all.push(vec![("if-none-match", tags.join(", "))]);
    all.push(vec![("if-match", tags.join(", "))]);
    all
}

/// Writes as all strangers, and reads what has conditions; returns the operations that these requests are.
pub fn write_all(world: &World, transcript: &mut Transcript) -> BTreeSet<String> {
    let mut asking = Asking::new(world, transcript);
    for who in STRANGERS {
        write_with_conditions(&mut asking, who);
        write_queries(&mut asking, who);
        import(&mut asking, who);
        write_others(&mut asking, who);
    }
    asking.asked
}

fn write_with_conditions(asking: &mut Asking<'_>, who: Who) {
    let ids = ["urn:hid:private", "urn:hid:retracted", "urn:hid:card"];
    let td = |id: &str| described(id, NEWS[0]).to_string();
    for (id, conditions) in ids.iter().flat_map(|id| conditions().into_iter().map(move |one| (*id, one))) {
        let conditions: Vec<(&str, &str)> = conditions.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let with = |media_type: &'static str| [&[("content-type", media_type)][..], &conditions].concat();
        for (path, media_type) in [("", "application/td+json"), ("&version=1.0.0", "application/td+json")] {
            let path = format!("/things/{id}?dry_run=false{path}");
            asking.send(who, "PUT", &path, &with(media_type), &td(id));
            asking.send(who, "DELETE", &path, &conditions, "");
        }
        let patch = json!({"title": "Mine"}).to_string();
        asking.send(who, "PATCH", &format!("/things/{id}"), &with("application/merge-patch+json"), &patch);
        let access = json!({"visibility": "public"}).to_string();
        asking.send(who, "PUT", &format!("/things/{id}/access"), &with("application/json"), &access);
        for end in ["", "/agent-card", "/mcp-server", "/agent-spec", "/aos", "/lmos-capabilities"] {
            asking.send(who, "GET", &format!("/things/{id}{end}"), &conditions, "");
        }
        let query = json!({"q": "merger"}).to_string();
        asking.send(who, "PUT", "/queries/secret?owner=alice", &with("application/json"), &query);
    }
}

fn write_queries(asking: &mut Asking<'_>, who: Who) {
    let words = WORDS.iter().filter(|word| **word != "*");
    for (number, word) in words.enumerate() {
        for (mode, filter) in
            [("hybrid", json!({})), ("semantic", json!({})), ("semantic", json!({"tag": ["merger-desk"]}))]
        {
            let mut query = json!({"q": word, "mode": mode});
            query.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
            let visibility = ["private", "public"][number % 2];
            asking.json(who, "PUT", &format!("/queries/q{number}-{mode}?visibility={visibility}"), &query);
        }
    }
    asking.get(who, "/queries");
    asking.send(who, "DELETE", "/queries/q0-hybrid", &[], "");
    asking.send(who, "DELETE", "/queries/secret?owner=alice", &[], "");
}

fn import(asking: &mut Asking<'_>, who: Who) {
    let content: Content = ("plans dinners", "merger-desks");
    let other = ("plans dinners", "rose-cares");
    for parameters in ["", "&if_exists=refuse", "&dry_run=true", "&visibility=private"] {
        for id in ["urn:hid:private", "urn:hid:card", "urn:new:card"] {
            asking.json(who, "POST", &format!("/import/a2a?id={id}{parameters}"), &card(content));
        }
        asking.json(who, "POST", &format!("/import/agent-spec?nested=true{parameters}"), &swarm(content, other));
    }
    for name in ["com.example/tides", "agentdex/urn__hid__private"] {
        let server = json!({"name": name, "description": "High and low water", "version": "1.0.0",
            "remotes": [{"type": "streamable-http", "url": "https://tides.example/mcp"}]});
        asking.json(who, "POST", "/v0.1/publish", &server);
    }
    for (id, update) in ["urn:hid:private", "urn:hid:card", "urn:open:weather", "urn:not:there"]
        .into_iter()
        .flat_map(|id| ["deprecated", "active"].map(|status| (id, json!({"status": status}))))
    {
        let server = format!("/v0.1/servers/{}", server_name(id));
        asking.json(who, "PATCH", &format!("{server}/status"), &update);
        asking.json(who, "PATCH", &format!("{server}/versions/1.0.0/status"), &update);
    }
    let file = json!({"id": "urn:hid:vault", "supportedTenants": ["de"], "supportedChannels": ["web"],
        "capabilities": [{"id": "view", "name": "merger-desks", "version": "1.0.0", "description": "x"}]});
    asking.json(who, "POST", "/import/lmos-capabilities", &file);
    let server = json!({"name": "com.example/tides", "description": "High and low water", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://tides.example/mcp"}]});
    asking.json(who, "POST", "/import/mcp-server?id=urn:hid:card", &server);
    asking.json(who, "POST", "/import/aos?id=urn:hid:private", &json!({"agent": {"name": "x"}}));
    asking.json(who, "POST", "/import", &json!({"url": "http://127.0.0.1:9/card.json"}));
}

fn write_others(asking: &mut Asking<'_>, who: Who) {
    let td = "application/td+json";
    for (number, (_, key)) in WORLDS.iter().flat_map(|secrets| secrets.contents).enumerate() {
        // Its capability is spelled like one that is hidden.
        let td = described(&format!("urn:new:{number}"), ("Says hello", key))
            .to_string()
            .replace(key, &key.replace('-', "_"));
        let path = format!("/things/urn:new:{number}?dry_run={}", number % 2 == 0);
        asking.send(who, "PUT", &path, &[("content-type", "application/td+json"), ("prefer", "return=effect")], &td);
        asking.send(who, "POST", "/validate", &[("content-type", "application/td+json")], &td);
    }
    let (open, news) = (PUBLIC[1].0, described(PUBLIC[1].0, NEWS[5]).to_string());
    asking.send(who, "PUT", &format!("/things/{open}?if_exists=related"), &[("content-type", td)], &news);
    asking.send(who, "POST", "/things", &[("content-type", td)], &described("urn:hid:private", NEWS[0]).to_string());
    let lines: Vec<String> = HIDDEN.iter().map(|id| described(id, NEWS[6]).to_string()).collect();
    for dry_run in ["true", "false"] {
        let path = format!("/things/batch?dry_run={dry_run}");
        asking.send(who, "POST", &path, &[("content-type", "application/x-ndjson")], &lines.join("\n"));
    }
    asking.json(who, "POST", "/convert", &card(NEWS[1]));
    for id in ["urn:hid:private", "urn:hid:card", "urn:not:there"] {
        let conversation = format!("/things/{id}/conversation");
        asking.json(who, "POST", &conversation, &json!({"message": "hello"}));
        let input =
            json!({"input": {"desk": 1}, "action": "merger-desk", "parts": [{"kind": "text", "text": "hello"}]});
        let streamed = [("content-type", "application/json"), ("accept", "text/event-stream")];
        asking.send(who, "POST", &conversation, &streamed, &input.to_string());
        asking.json(who, "PUT", &format!("/things/{id}/properties/merger-desk/value"), &json!({"value": 1}));
        asking.send(who, "GET", &format!("/things/{id}/properties/merger-desk/value"), &[], "");
        asking.send(who, "GET", &format!("/things/{id}/events/merger-desk/notifications"), &[], "");
        asking.send(who, "POST", &format!("/things/{id}/refresh"), &[], "");
        asking.send(who, "DELETE", &format!("/imports/{id}"), &[], "");
        let answer = json!({"status": "success", "data": {}});
        asking.json(who, "POST", &format!("/things/{id}/actions/merger-desk/sacp"), &answer);
        tell_the_guardian(asking, who, id);
    }
    for name in ["vault", "guild", "mine"] {
        asking.json(who, "PUT", &format!("/namespaces/{name}"), &json!({"members": ["dana"]}));
        asking.send(who, "DELETE", &format!("/namespaces/{name}"), &[], "");
    }
    asking.json(who, "POST", "/keys", &json!({"role": "read", "owner": "x"}));
    asking.send(who, "DELETE", "/keys/unknown", &[], "");
    asking.send(who, "POST", "/records", &[("content-type", "application/x-ndjson")], "{}");
    asking.send(who, "POST", "/clock/accept", &[], "");
    asking.send(who, "POST", "/cluster/verification", &[], "");
}

/// Reports a step of an agent that may be hidden, in a session that somebody else has.
fn tell_the_guardian(asking: &mut Asking<'_>, who: Who, id: &str) {
    for (method, mut params) in crate::aos::calls() {
        params["context"]["agent"]["id"] = json!(id);
        params["context"]["session"]["id"] = json!("hidden-session");
        let body = crate::aos::request(1, method, &params);
        asking.json(who, "POST", "/aos?consistent=true", &body);
    }
}
