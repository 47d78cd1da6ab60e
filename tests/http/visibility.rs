//! What a caller may not see doesn't exist for it: every operation of the OpenAPI document as each caller.

use std::collections::BTreeSet;

use agentdex::{
    access::{NewKey, Role, Rules, Visibility},
    registry,
};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, Call, EventStream, Reply, Site, TestRegistry, await_index, eventually, openapi};

/// What only those see who may: in titles, descriptions and names of capabilities.
const PRIVATE: &str = "zebraprivate";
const SHARED: &str = "zebrashared";
/// The same in ids, which responses about an id repeat.
const PRIVATE_ID: &str = "urn:example:one";
const SHARED_ID: &str = "urn:example:two";
const PUBLIC_ID: &str = "urn:example:three";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Anonymous,
    Other,
    Member,
    Owner,
    Admin,
}

use Who::{Admin, Anonymous, Member, Other, Owner};

const ALL: [Who; 5] = [Anonymous, Other, Member, Owner, Admin];

impl Who {
    fn sees_private(self) -> bool {
        matches!(self, Owner | Admin)
    }

    fn sees_shared(self) -> bool {
        matches!(self, Owner | Admin | Member)
    }
}

/// A server with a private Thing, one of a namespace, and a public one.
struct Zoo {
    registry: TestRegistry,
    keys: Vec<(Who, String)>,
}

impl Zoo {
    fn new() -> Zoo {
        let options = registry::Options::default().sparql(true);
        let rules = Rules { authentication: true, public_read: true, ..Rules::default() };
        let http_options = http::Options { access: rules, ..Default::default() };
        let registry = TestRegistry::start_with(options, http_options);
        let key = |who: Who, owner: &str, role| {
            let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
            (who, registry.registry().keys().create(new).unwrap().1)
        };
        let keys = vec![
            key(Other, "others", Role::Register),
            key(Member, "mates", Role::Register),
            key(Owner, "us", Role::Register),
            key(Admin, "root", Role::Admin),
        ];
        let zoo = Zoo { registry, keys };
        let members = json!({"members": ["mates"]}).to_string();
        zoo.call(Owner, "PUT", "/namespaces/zoo").body("application/json", members).send().expect(201);
        zoo.put(PRIVATE_ID, PRIVATE, "?visibility=private").expect(201);
        zoo.put(SHARED_ID, SHARED, "?visibility=namespace&namespace=zoo").expect(201);
        zoo.put(PUBLIC_ID, "zebrapublic", "").expect(201);
        // Scores count what the index has replaced until a merge: in each zoo that is the same.
        await_index(zoo.registry.registry());
        zoo.put(PRIVATE_ID, &format!("{PRIVATE}-again"), "").expect(204);
        await_index(zoo.registry.registry());
        let query = json!({"q": "zebra*"}).to_string();
        zoo.call(Owner, "PUT", "/queries/zebras?visibility=public").body("application/json", query).send().expect(201);
        zoo
    }

    fn call(&self, who: Who, method: &str, path: &str) -> Call {
        let call = self.registry.call(method, path);
        match self.keys.iter().find(|(known, _)| *known == who) {
            Some((_, key)) => call.header("authorization", &format!("Bearer {key}")),
            None => call,
        }
    }

    fn get(&self, who: Who, path: &str) -> Answer {
        self.call(who, "GET", path).send()
    }

    fn put(&self, id: &str, word: &str, parameters: &str) -> Answer {
        let call = self.call(Owner, "PUT", &format!("/things/{id}{parameters}"));
        call.body("application/td+json", thing(id, word).to_string()).send()
    }

    fn set_access(&self, who: Who, id: &str, access: Value) -> Answer {
        self.call(who, "PUT", &format!("/things/{id}/access")).body("application/json", access.to_string()).send()
    }

    /// The events that somebody gets from the beginning on, up to the creation of a Thing that everybody sees.
    fn events(&self, who: Who, path: &str, end: &str) -> String {
        let epoch = self.get(Admin, "/changes?limit=1").json()["epoch"].as_str().unwrap().to_owned();
        let call = self.call(who, "GET", path).header("last-event-id", &format!("{epoch}-0"));
        let mut stream = EventStream::open(call);
        let mut events = String::new();
        loop {
            let event = stream.next();
            events.push_str(&format!("{event:?}\n"));
            if events.contains(end) {
                return events;
            }
        }
    }
}

fn thing(id: &str, word: &str) -> Value {
    let data = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": id, "title": format!("Agent {word}"),
        "description": format!("Knows about {word}"), "tags": [word],
        "lmos:capabilities": [{"id": format!("{word}-lookup"), "name": format!("Look up {word}")}],
        "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
        "actions": {"ask": {
            "title": format!("Ask {word}"), "input": data("stripes"), "output": data("zoo"),
            "forms": [
                {"href": format!("https://agents.example/{word}"), "op": "invokeaction"},
                {"href": format!("https://agents.example/{word}/mcp"), "op": "invokeaction", "subprotocol": "mcp"},
            ],
        }},
    })
}

/// The requests that might show what is hidden, of each operation that reads; none: the operation shows no Things, or is
/// for admins. An operation that isn't in here fails the test.
fn requests(method: &str, path: &str) -> Option<Vec<(String, Option<Value>)>> {
    let get = |paths: &[&str]| paths.iter().map(|path| ((*path).to_owned(), None)).collect::<Vec<_>>();
    let of_each = |end: &str| [PRIVATE_ID, SHARED_ID].map(|id| (format!("/things/{id}{end}"), None)).to_vec();
    let post = |body: Value| vec![(path.to_owned(), Some(body))];
    let has = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    Some(match (method, path) {
        (
            "GET",
            "/"
            | "/health/live"
            | "/health/ready"
            | "/metrics"
            | "/.well-known/wot"
            | "/.well-known/agent-card.json"
            | "/mcp/server-card"
            | "/llms.txt"
            | "/.well-known/oauth-protected-resource"
            | "/openapi.json"
            | "/connect",
        ) => get(&[path]),
        ("GET", "/things") => get(&[
            "/things",
            "/things?format=collection",
            "/things?format=ndjson",
            "/things?view=summary&limit=1",
            "/things?q=zebra*&consistent=true",
            "/things?sort_by=title&limit=10",
            "/things?tag=zebraprivate&tag=zebrashared&consistent=true",
        ]),
        ("GET", "/things/{id}") => of_each(""),
        ("GET", "/things/{id}/access") => of_each("/access"),
        ("GET", "/things/{id}/history") => of_each("/history"),
        ("GET", "/things/{id}/versions") => of_each("/versions"),
        ("GET", "/things/{id}/compatible") => {
            [of_each("/compatible"), get(&["/things/urn:example:three/compatible"])].concat()
        }
        ("GET", "/things/{id}/connect") => of_each("/connect"),
        ("GET", "/things/{id}/agent-card") => of_each("/agent-card"),
        ("GET", "/things/{id}/agent-spec") => of_each("/agent-spec"),
        ("GET", "/things/{id}/mcp-server") => of_each("/mcp-server"),
        ("GET", "/things/{id}/aos") => of_each("/aos"),
        ("GET", "/things/{id}/lmos-capabilities") => of_each("/lmos-capabilities"),
        ("GET", "/things/{id}/actions/{name}/sacp") => of_each("/actions/ask/sacp"),
        ("POST", "/things/{id}/actions/{name}/sacp") => {
            let answer = json!({"status": "success", "data": {}});
            [PRIVATE_ID, SHARED_ID].map(|id| (format!("/things/{id}/actions/ask/sacp"), Some(answer.clone()))).to_vec()
        }
        ("GET", "/search") => get(&[
            "/search?q=zebra*&consistent=true&facets=tag,capability,type",
            "/search?q=zebraprivat&consistent=true",
            "/search?q=zebrashared&mode=lexical&consistent=true",
            "/search?q=who+knows+stripes&mode=semantic&consistent=true",
            "/search?tag=zebraprivate&consistent=true",
            "/search?capability=zebrashared-lookup&consistent=true",
            "/search?q=zebra*&explain=true&tag=zebraprivate&facets=tag,capability&consistent=true",
            "/search?explain=true&limit=0&facets=tag,capability&not_tag=zebrapublic&consistent=true",
            "/search?q=agent+zebrap&typing=true&explain=true&facets=tag,capability&consistent=true",
            "/search?sort_by=title&highlight=true&limit=100&consistent=true",
            "/search?q=zebra*&sort_by=modified&sort_order=desc&highlight=true&limit=1&offset=1&consistent=true",
            "/search?q=zebra*&limit=0&facets=tag,capability&facet_query=zebra&consistent=true",
            "/search?q=zebra*&fields=title,highlight&limit=1&offset=9&consistent=true",
        ]),
        ("POST", "/search/compatible") => [
            post(json!({"have": has("stripes")})),
            post(json!({"want": has("zoo"), "query": "zebraprivate", "near_misses": true})),
        ]
        .concat(),
        ("POST", "/search/compose") => post(json!({"have": has("stripes"), "want": has("zoo")})),
        ("POST", "/mcp") => {
            let call = |(name, arguments): (&str, Value)| {
                let params = json!({"name": name, "arguments": arguments});
                post(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            };
            let of_each = [PRIVATE_ID, SHARED_ID].map(|id| ("get_agent", json!({"id": id})));
            let calls = [
                ("search_agents", json!({"query": "zebra*"})),
                ("search_agents", json!({"query": "zebraprivat", "limit": 1})),
                ("search_agents", json!({"query": "who knows stripes"})),
                ("search_agents", json!({"filters": {"tag": "zebrashared"}})),
                ("search_agents", json!({"filters": {"not_tag": ["zebrapublic"]}, "limit": 1})),
                ("get_agent", json!({"id": SHARED_ID, "format": "a2a"})),
                ("get_agent", json!({"id": PRIVATE_ID, "format": "agent-spec"})),
                ("explore", json!({"facets": ["tag", "capability", "type"]})),
                ("explore", json!({"facets": ["tag", "capability"], "contains": "zebra", "query": "agent"})),
                ("find_compatible", json!({"have": has("stripes")})),
                ("find_compatible", json!({"want": has("zoo"), "query": "zebraprivate", "near_misses": true})),
                ("validate_agent", json!({"document": {"id": PRIVATE_ID}})),
                ("remove_agent", json!({"id": "urn:example:none"})),
            ];
            let resources = [PRIVATE_ID, SHARED_ID].map(|id| {
                let params = json!({"uri": format!("agentdex://things/{id}")});
                post(json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params}))
            });
            of_each.into_iter().chain(calls).flat_map(call).chain(resources.into_iter().flatten()).collect()
        }
        ("POST", "/a2a" | "/a2a/message:send") => {
            let send = |data: Value| {
                let params = json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"data": data}]}});
                let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
                (format!("{path}?A2A-Version=1.0"), Some(if path == "/a2a" { rpc } else { params }))
            };
            let searches = [
                json!({"query": "zebra*"}),
                json!({"query": "who knows stripes"}),
                json!({"filters": {"not_tag": ["zebrapublic"]}, "limit": 1}),
            ];
            searches.map(send).to_vec()
        }
        ("GET", "/a2a/tasks") => get(&["/a2a/tasks?A2A-Version=1.0&includeArtifacts=true"]),
        // The ids of tasks are random: the tests of the agent read them as others.
        ("GET", "/a2a/tasks/{id}") => Vec::new(),
        ("GET", "/v0.1/servers") => get(&[
            "/v0.1/servers",
            "/v0.1/servers?limit=1",
            "/v0/servers?version=latest&limit=100",
            "/v0.1/servers?search=zebraprivate",
            "/v0.1/servers?search=zebra&version=latest&limit=1",
            "/v0.1/servers?updated_since=2026-01-01T00:00:00Z",
            "/v0.1/servers?version=0.0.0&include_deleted=true",
        ]),
        ("GET", "/v0.1/servers/{serverName}/versions") => [PRIVATE_ID, SHARED_ID]
            .map(|id| (format!("/v0.1/servers/agentdex%2F{}/versions", id.replace(':', "__")), None))
            .to_vec(),
        ("GET", "/v0.1/servers/{serverName}/versions/{version}") => [PRIVATE_ID, SHARED_ID]
            .map(|id| (format!("/v0.1/servers/agentdex/{}/versions/latest", id.replace(':', "__")), None))
            .to_vec(),
        ("GET", "/search/jsonpath") => get(&[
            "/search/jsonpath?query=%24%5B%2A%5D.title",
            "/search/jsonpath?query=%24%5B%3F%40.id%3D%3D%27urn%3Aexample%3Aone%27%5D",
            "/search/jsonpath?query=%24%5B%3F%40.title%3D%3D%27Agent%20zebrashared%27%5D",
        ]),
        ("GET", "/search/sparql") => {
            get(&["/search/sparql?query=SELECT%20%2A%20%7B%3Fs%20%3Fp%20%3Fo%7D&consistent=true"])
        }
        ("GET", "/changes") => get(&["/changes?since=0&limit=1000"]),
        ("GET", "/queries") => get(&["/queries"]),
        ("GET", "/queries/{name}") => get(&["/queries/zebras?owner=us"]),
        ("GET", "/imports") => {
            let by_id = [PRIVATE_ID, SHARED_ID].map(|id| (format!("/imports?id={id}"), None));
            get(&["/imports"]).into_iter().chain(by_id).collect()
        }
        ("GET", "/imports/{id}") => [PRIVATE_ID, SHARED_ID].map(|id| (format!("/imports/{id}"), None)).to_vec(),
        ("GET", "/namespaces") => get(&["/namespaces"]),
        // Streams, which have a test of their own.
        ("GET", "/events" | "/events/{kind}" | "/queries/{name}/events") => Vec::new(),
        // Other ways to say the same, and languages that aren't offered.
        ("POST", "/search/sparql") | ("GET" | "POST", "/search/{language}") => Vec::new(),
        // What documents become that the caller sends.
        ("POST", "/validate" | "/convert") => Vec::new(),
        // Has a test of its own, with agents.
        ("POST", "/things/{id}/conversation")
        | ("GET", "/things/{id}/properties/{name}/value" | "/things/{id}/events/{name}/notifications") => Vec::new(),
        // For admins.
        ("GET", "/keys" | "/backup" | "/audit" | "/records" | "/cluster")
        | ("POST", "/keys" | "/records" | "/clock/accept" | "/cluster/verification")
        | ("DELETE", "/keys/{id}") => Vec::new(),
        (_, path) if path.starts_with("/aos") => Vec::new(),
        // What changes something: see the test of owners.
        ("PUT" | "PATCH" | "DELETE", _) | ("POST", "/things" | "/things/batch" | "/things/{id}/refresh") => Vec::new(),
        ("POST", path) if path.starts_with("/import") => Vec::new(),
        ("POST", "/v0.1/publish") => Vec::new(),
        _ => return None,
    })
}

fn operations() -> Vec<(String, String)> {
    let document: Value = openapi();
    let of_path = |(path, item): (&String, &Value)| {
        let methods: Vec<String> = item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        methods.into_iter().map(|method| (method, path.clone())).collect::<Vec<_>>()
    };
    document["paths"].as_object().unwrap().iter().flat_map(of_path).collect()
}

/// Whether a response shows something; of an id only where the request doesn't name it.
fn shows(answer: &Answer, request: &str, word: &str, id: &str) -> bool {
    let headers = format!("{:?}", answer.headers);
    let text = String::from_utf8_lossy(&answer.body);
    let has = |word: &str| !request.contains(word) && (text.contains(word) || headers.contains(word));
    // What was searched for is in no answer that finds nothing.
    has(word) || has(id)
}

#[test]
fn no_operation_shows_what_its_caller_may_not_see() {
    let zoo = Zoo::new();
    let mut shown_to_owner = BTreeSet::new();
    for (method, path) in operations() {
        let requests = requests(&method, &path);
        let requests = requests.unwrap_or_else(|| panic!("{method} {path} isn't in the table of this test"));
        for (request, body) in requests {
            for who in ALL {
                let call = zoo.call(who, &method, &request);
                let answer = match &body {
                    Some(body) => call.body("application/json", body.to_string()).send(),
                    None => call.send(),
                };
                let spoken = body.as_ref().map(Value::to_string).unwrap_or_default() + &request;
                for (word, id, may) in
                    [(PRIVATE, PRIVATE_ID, who.sees_private()), (SHARED, SHARED_ID, who.sees_shared())]
                {
                    let is_shown = shows(&answer, &spoken, word, id);
                    assert!(may || !is_shown, "{method} {request} shows {word} to {who:?}: {}", answer.text());
                    if is_shown && who == Owner {
                        shown_to_owner.insert((path.clone(), word));
                    }
                }
                if request.starts_with(&format!("/things/{PRIVATE_ID}")) && !who.sees_private() {
                    let is_history = request.ends_with("/history");
                    assert!(answer.status == 404 || is_history, "{method} {request} as {who:?}: {}", answer.status);
                }
            }
        }
    }
    // The test would find nothing where nothing is shown at all.
    for path in [
        "/things",
        "/things/{id}",
        "/things/{id}/history",
        "/search",
        "/search/jsonpath",
        "/search/sparql",
        "/changes",
        "/mcp",
        "/a2a",
        "/a2a/message:send",
        "/v0.1/servers",
        "/v0.1/servers/{serverName}/versions",
        "/v0.1/servers/{serverName}/versions/{version}",
    ] {
        for word in [PRIVATE, SHARED] {
            assert!(shown_to_owner.contains(&(path.to_owned(), word)), "{path} doesn't show {word} to its owner");
        }
    }
}

#[test]
fn numbers_count_what_the_caller_sees() {
    let zoo = Zoo::new();
    eventually("readiness", || zoo.get(Anonymous, "/health/ready").status == 200);
    for (who, number) in [(Anonymous, 1), (Other, 1), (Member, 2), (Owner, 3), (Admin, 3)] {
        assert_eq!(zoo.get(who, "/").json()["things"], number, "{who:?}");
        assert_eq!(zoo.get(who, "/health/ready").json()["things"], number, "{who:?}");
        assert_eq!(zoo.get(who, "/things?format=collection").json()["total"], number, "{who:?}");
        assert_eq!(zoo.get(who, "/things?format=collection&limit=1").json()["total"], number, "{who:?}");
        let found = zoo.get(who, "/search?q=agent&facets=tag&consistent=true").json();
        assert_eq!((&found["total"], found["facets"]["tag"].as_array().unwrap().len()), (&json!(number), number));
        let metrics = zoo.get(who, "/metrics");
        assert!(metrics.text().contains(&format!("agentdex_things {number}\n")), "{who:?}");
    }
    // What others see has other entity tags.
    let tag = |who| zoo.get(who, "/things").header("etag");
    assert_ne!(tag(Anonymous), tag(Owner));
    assert_ne!(tag(Member), tag(Owner));
    // A word of something hidden isn't suggested, nor what it begins with.
    for (who, is_suggested) in [(Other, false), (Owner, true)] {
        let misspelled = zoo.get(who, "/search?q=zebraprivete&mode=lexical&consistent=true").json();
        assert_eq!(misspelled.to_string().contains(PRIVATE), is_suggested, "{who:?}: {misspelled}");
    }
}

#[test]
fn scores_and_explanations_tell_nothing_of_words_that_the_caller_does_not_see() {
    let answers = || {
        ["giraffe", "antelope"].map(|hidden| {
            let zoo = Zoo::new();
            zoo.put("urn:example:four", hidden, "?visibility=private").expect(201);
            let of = |who, mode: &str| {
                let path = format!("/search?q=zebrapublic+giraffe&explain=true&mode={mode}&consistent=true");
                let mut page = zoo.get(who, &path).json();
                page["seq"] = Value::Null;
                for hit in page["hits"].as_array_mut().unwrap() {
                    (hit["created"], hit["modified"]) = (Value::Null, Value::Null);
                }
                page
            };
            let [others, owner] = [Other, Owner].map(|who| ["lexical", "hybrid"].map(|mode| of(who, mode)));
            assert!(others.iter().all(|page| page["total"] == 1), "{others:?}");
            (others, owner)
        })
    };
    // The index counts replaced texts until it drops them: scores are alike where it took the same writes together.
    let alike = (0..20).map(|_| answers()).find(|answers| answers[0].0 == answers[1].0);
    let answers = alike.expect("a stranger can't tell which word is hidden");
    assert_ne!(answers[0].1, answers[1].1, "its owner can");
}

#[test]
fn only_owners_and_admins_change_things() {
    let zoo = Zoo::new();
    let patch = |who, id: &str| {
        let call = zoo.call(who, "PATCH", &format!("/things/{id}"));
        call.body("application/merge-patch+json", r#"{"description": "changed"}"#).send()
    };
    let put = |who, id: &str, parameters: &str| {
        let call = zoo.call(who, "PUT", &format!("/things/{id}{parameters}"));
        call.body("application/td+json", thing(id, "replaced").to_string()).send()
    };
    for dry_run in ["", "?dry_run=true"] {
        put(Other, PUBLIC_ID, dry_run).problem(403, "not-owner");
        put(Member, SHARED_ID, dry_run).problem(403, "not-owner");
        zoo.call(Other, "DELETE", &format!("/things/{PUBLIC_ID}{dry_run}")).send().problem(403, "not-owner");
    }
    patch(Other, PUBLIC_ID).problem(403, "not-owner");
    // What it doesn't see isn't there.
    patch(Other, PRIVATE_ID).problem(404, "not-found");
    zoo.call(Other, "DELETE", &format!("/things/{PRIVATE_ID}")).send().problem(404, "not-found");
    zoo.set_access(Other, PRIVATE_ID, json!({"visibility": "public"})).problem(404, "not-found");
    zoo.set_access(Other, PUBLIC_ID, json!({"visibility": "private"})).problem(403, "not-owner");
    zoo.set_access(Owner, PUBLIC_ID, json!({"owner": "others"})).problem(403, "access-refused");
    zoo.set_access(Owner, PUBLIC_ID, json!({"namespace": "elsewhere"})).problem(403, "access-refused");

    // A batch says so line by line, and writes the others.
    let lines =
        [thing(PUBLIC_ID, "replaced"), thing("urn:example:four", "new")].map(|line| line.to_string()).join("\n");
    let results = zoo.call(Other, "POST", "/things/batch").body("application/x-ndjson", lines).send().expect(200);
    let results: Vec<Value> = results.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&results[0]["status"], &results[1]["status"]), (&json!(403), &json!(201)));
    assert_eq!(zoo.get(Owner, "/things/urn:example:four/access").json()["owner"], "others");

    patch(Owner, PUBLIC_ID).expect(204);
    patch(Admin, PRIVATE_ID).expect(204);
    // It stays whose it was.
    assert_eq!(zoo.get(Owner, &format!("/things/{PRIVATE_ID}/access")).json()["owner"], "us");
    zoo.set_access(Admin, PUBLIC_ID, json!({"owner": "others"})).expect(204);
    patch(Other, PUBLIC_ID).expect(204);
    patch(Owner, PUBLIC_ID).problem(403, "not-owner");

    // What was registered by the program itself is the admins'.
    zoo.registry.registry().put(thing("urn:example:five", "ours").to_string()).unwrap();
    patch(Owner, "urn:example:five").problem(403, "not-owner");
    patch(Admin, "urn:example:five").expect(204);
}

#[test]
fn what_is_imported_belongs_to_who_imports_it() {
    let zoo = Zoo::new();
    let card = json!({
        "name": "Rhymer", "description": "Rhymes.", "version": "1.0.0", "url": "https://rhymes.example/a2a",
        "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "rhyme", "name": "Rhyme", "description": "Rhymes two lines", "tags": ["verse"]}],
    });
    let import = |who| {
        let call = zoo.call(who, "POST", "/import/a2a?id=urn:example:rhymer&visibility=private");
        call.body("application/json", card.to_string()).send()
    };
    import(Owner).expect(201);
    assert_eq!(
        zoo.get(Owner, "/things/urn:example:rhymer/access").json(),
        json!({"owner": "us", "visibility": "private"})
    );
    zoo.get(Other, "/things/urn:example:rhymer").problem(404, "not-found");
    zoo.get(Other, "/things/urn:example:rhymer/agent-card").problem(404, "not-found");
    import(Other).problem(403, "not-owner");
    // A change of who sees it leaves the card and its bytes.
    let before = zoo.get(Owner, "/things/urn:example:rhymer/agent-card").expect(200).body;
    zoo.set_access(Owner, "urn:example:rhymer", json!({"visibility": "public"})).expect(204);
    assert_eq!(zoo.get(Other, "/things/urn:example:rhymer/agent-card").expect(200).body, before);
    zoo.get(Other, "/search?q=rhymes&consistent=true").expect(200);
    let found = zoo.get(Other, "/search?q=rhymes&consistent=true").json();
    assert_eq!(found["hits"][0]["id"], "urn:example:rhymer");
}

#[test]
fn things_come_into_sight_and_leave_it() {
    let zoo = Zoo::new();
    let since = zoo.get(Admin, "/changes?since=0&limit=1000").json()["last"].as_u64().unwrap();
    zoo.set_access(Owner, PUBLIC_ID, json!({"visibility": "private"})).expect(204);
    zoo.get(Other, &format!("/things/{PUBLIC_ID}")).problem(404, "not-found");
    assert_eq!(zoo.get(Other, "/search?q=zebrapublic&consistent=true").json()["total"], 0);
    zoo.set_access(Owner, PRIVATE_ID, json!({"visibility": "public"})).expect(204);
    zoo.set_access(Owner, PRIVATE_ID, json!({"visibility": "public"})).expect(204);
    let path = format!("/changes?since={since}");
    let kinds = |who| {
        let changes = zoo.get(who, &path).json()["changes"].as_array().unwrap().clone();
        let kind = |change: &Value| format!("{} {}", change["kind"].as_str().unwrap(), change["id"].as_str().unwrap());
        changes.iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Other), [format!("thing_deleted {PUBLIC_ID}"), format!("thing_created {PRIVATE_ID}")]);
    assert_eq!(kinds(Owner), [format!("thing_updated {PUBLIC_ID}"), format!("thing_updated {PRIVATE_ID}")]);
    let created = &zoo.get(Other, &path).json()["changes"][1];
    assert!(created["td"]["title"].as_str().unwrap().contains(PRIVATE), "{created}");
    let history =
        zoo.get(Other, &format!("/things/{PRIVATE_ID}/history")).json()["changes"].as_array().unwrap().clone();
    assert_eq!(history.len(), 1, "what happened before it came into sight isn't told: {history:?}");
    assert_eq!(zoo.get(Other, "/search?q=zebraprivate&consistent=true").json()["total"], 1);

    // A namespace that is given up shows nothing to those who were its members.
    zoo.get(Member, &format!("/things/{SHARED_ID}")).expect(200);
    zoo.call(Member, "DELETE", "/namespaces/zoo").send().problem(403, "access-refused");
    zoo.call(Other, "DELETE", "/namespaces/zoo").send().problem(404, "no-such-namespace");
    zoo.call(Owner, "DELETE", "/namespaces/zoo").send().expect(204);
    zoo.get(Member, &format!("/things/{SHARED_ID}")).problem(404, "not-found");
    zoo.get(Owner, &format!("/things/{SHARED_ID}")).expect(200);
}

#[test]
fn event_streams_show_what_the_client_sees() {
    let zoo = Zoo::new();
    zoo.set_access(Owner, PUBLIC_ID, json!({"visibility": "private"})).expect(204);
    zoo.put("urn:example:last", "zebralast", "").expect(201);
    for who in ALL {
        for path in ["/events?diff=true", "/events/thing_created?diff=true"] {
            let events = zoo.events(who, path, "urn:example:last");
            assert_eq!(events.contains(PRIVATE), who.sees_private(), "{path} to {who:?}: {events}");
            assert_eq!(events.contains(PRIVATE_ID), who.sees_private(), "{path} to {who:?}: {events}");
            assert_eq!(events.contains(SHARED), who.sees_shared(), "{path} to {who:?}: {events}");
            let deleted = events.contains("thing_deleted");
            assert_eq!(deleted, path == "/events?diff=true" && !who.sees_private(), "{path} to {who:?}: {events}");
        }
    }
    // Of a query too, from where it is known.
    let mut streams: Vec<(Who, EventStream)> = ALL
        .map(|who| (who, EventStream::open(zoo.call(who, "GET", "/queries/zebras/events?diff=true&owner=us"))))
        .into();
    zoo.put("urn:example:hidden", "zebrahidden", "?visibility=private").expect(201);
    zoo.set_access(Owner, PRIVATE_ID, json!({"visibility": "public"})).expect(204);
    zoo.put("urn:example:end", "zebraend", "").expect(201);
    for (who, stream) in &mut streams {
        let mut events = String::new();
        while !events.contains("urn:example:end") {
            events.push_str(&format!("{:?}\n", stream.next()));
        }
        assert_eq!(events.contains("zebrahidden"), who.sees_private(), "to {who:?}: {events}");
        assert!(events.contains(PRIVATE_ID), "to {who:?}: {events}");
        assert_eq!(events.contains("thing_updated"), who.sees_private(), "to {who:?}: {events}");
    }
}

#[test]
fn who_sees_what_survives_a_restart_and_a_backup() {
    let zoo = Zoo::new();
    let backup = zoo.registry.registry().backup().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let restored = directory.path().join("restored");
    registry::restore(backup, &restored).unwrap();
    for _ in 0..2 {
        let registry = agentdex::Registry::open(&restored).unwrap();
        let thing = registry.find(PRIVATE_ID).unwrap().unwrap();
        assert_eq!(
            (thing.access().visibility, thing.access().owner.as_ref().unwrap().as_str()),
            (Visibility::Private, "us")
        );
        assert_eq!(registry.namespaces().list()[0].name.as_str(), "zoo");
        // To the program itself nothing is hidden.
        assert_eq!(registry.len(), 3);
        registry.close();
    }
}

#[test]
fn the_audit_trail_has_who_changed_what_and_what_was_denied() {
    let zoo = Zoo::new();
    let patch = |who| {
        let call = zoo.call(who, "PATCH", &format!("/things/{PUBLIC_ID}"));
        call.body("application/merge-patch+json", r#"{"description": "changed"}"#).send()
    };
    patch(Other).problem(403, "not-owner");
    patch(Owner).expect(204);
    zoo.call(Owner, "DELETE", &format!("/things/{PUBLIC_ID}")).send().expect(204);
    zoo.get(Other, "/audit").problem(403, "forbidden");
    zoo.call(Anonymous, "POST", "/things").send().problem(401, "unauthenticated");
    zoo.put("urn:example:last", "zebralast", "").expect(201);

    let audited = || zoo.get(Admin, "/audit?limit=1000").expect(200).json();
    let entries: Vec<Value> = loop {
        // What is no change of a Thing is written a moment later.
        let entries = audited()["entries"].as_array().unwrap().clone();
        if entries.iter().any(|entry| entry["target"] == "POST /things") {
            break entries;
        }
    };
    let numbers: Vec<u64> = entries.iter().map(|entry| entry["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let of_public: Vec<&Value> = entries.iter().filter(|entry| entry["target"] == PUBLIC_ID).collect();
    let actions: Vec<&Value> = of_public.iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["thing_created", "thing_updated", "thing_deleted"]);
    for entry in &of_public {
        assert_eq!((&entry["owner"], &entry["address"]), (&json!("us"), &json!("127.0.0.1")), "{entry}");
        assert!(entry["key"].is_string() && entry["at"].is_string() && entry["seq"].is_u64(), "{entry}");
    }
    // Each state is what the one before led to.
    assert_eq!(of_public[0]["before"], Value::Null);
    assert_eq!(of_public[0]["after"], of_public[1]["before"]);
    assert_ne!(of_public[1]["after"], of_public[1]["before"]);
    assert_eq!(of_public[1]["after"], of_public[2]["before"]);
    assert_eq!(of_public[2]["after"], Value::Null);
    let denied: Vec<String> = entries
        .iter()
        .filter(|entry| entry["action"] == "denied")
        .map(|entry| format!("{} {} {}", entry["owner"], entry["status"], entry["target"].as_str().unwrap()))
        .collect();
    assert!(denied.contains(&format!("\"others\" 403 PATCH /things/{PUBLIC_ID}")), "{denied:?}");
    assert!(denied.contains(&"\"others\" 403 GET /audit".to_owned()), "{denied:?}");
    assert!(denied.contains(&"null 401 POST /things".to_owned()), "{denied:?}");
    assert!(entries.iter().any(|entry| entry["action"] == "PUT" && entry["target"] == "/namespaces/zoo"));

    let page = zoo.get(Admin, "/audit?limit=2").expect(200);
    assert!(page.header("link").contains("/audit?since=2&limit=2"), "{}", page.header("link"));
    let lines =
        zoo.call(Admin, "GET", "/audit?since=2&limit=3").header("accept", "application/x-ndjson").send().expect(200);
    let lines: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, entries[2..5]);
}

fn sha256(text: &[u8]) -> String {
    ring::digest::digest(&ring::digest::SHA256, text).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_audit_trail_says_who_what_from_and_to() {
    let zoo = Zoo::new();
    let json = |who, method: &str, path: &str, body: Value| {
        zoo.call(who, method, path).body("application/json", body.to_string()).send()
    };
    json(Owner, "PUT", &format!("/things/{PUBLIC_ID}/access"), json!({"visibility": "private"})).expect(204);
    let created = json(Admin, "POST", "/keys", json!({"role": "register", "owner": "newcomers"})).expect(201).json();
    let key = created["id"].as_str().unwrap();
    zoo.call(Admin, "DELETE", &format!("/keys/{key}")).send().expect(204);
    json(Owner, "PUT", "/namespaces/pond", json!({"members": ["frogs"]})).expect(201);
    json(Owner, "PUT", "/namespaces/pond", json!({"members": ["newts"]})).expect(200);
    zoo.call(Owner, "DELETE", "/namespaces/pond").send().expect(204);
    let line = json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": PRIVATE_ID, "title": "T",
        "security": "n", "securityDefinitions": {"n": {"scheme": "nosec"}}});
    let refused =
        zoo.call(Other, "POST", "/things/batch").body("application/x-ndjson", line.to_string()).send().expect(200);
    assert_eq!(refused.json()["status"], 403);
    let single = zoo.call(Other, "PUT", &format!("/things/{PRIVATE_ID}")).body("application/td+json", line.to_string());
    single.send().problem(403, "not-owner");

    let denied = format!("PUT /things/{PRIVATE_ID}");
    let is_denied = |entry: &Value| entry["action"] == "denied" && entry["target"] == *denied;
    let entries: Vec<Value> = loop {
        let entries = zoo.get(Admin, "/audit?limit=1000").expect(200).json()["entries"].as_array().unwrap().clone();
        // Denials are written a moment later.
        if entries.iter().filter(|entry| is_denied(entry)).count() >= 2 {
            break entries;
        }
    };
    let about = |target: &str, chain: &str| {
        let about = entries.iter().filter(|entry| entry["target"] == *target && entry["chain"] == *chain);
        let told = |entry: &Value| {
            assert!(entry["key"].is_string() && entry["previous"].is_string() && entry["at"].is_string(), "{entry}");
            json!([
                entry["owner"],
                entry["role"],
                entry["action"],
                entry["from"],
                entry["to"],
                entry["joined"],
                entry["left"]
            ])
        };
        about.map(told).collect::<Vec<_>>()
    };
    let us = |visibility: &str| json!({"owner": "us", "visibility": visibility});
    assert_eq!(
        about(PUBLIC_ID, "decisions"),
        [json!(["us", "register", "thing_updated", us("public"), us("private"), null, null])]
    );
    let of_key = json!({"owner": "newcomers", "role": "register"});
    assert_eq!(
        about(&format!("/keys/{key}"), "administration"),
        [
            json!(["root", "admin", "POST", null, of_key, null, null]),
            json!(["root", "admin", "DELETE", of_key, null, null, null]),
        ]
    );
    let ours = json!({"owner": "us"});
    assert_eq!(
        about("/namespaces/pond", "decisions"),
        [
            json!(["us", "register", "PUT", null, ours, ["frogs", "us"], null]),
            json!(["us", "register", "PUT", ours, ours, ["newts"], ["frogs"]]),
            json!(["us", "register", "DELETE", ours, null, null, ["newts", "us"]]),
        ]
    );
    let denials: Vec<&Value> = entries.iter().filter(|entry| is_denied(entry)).collect();
    assert_eq!(denials.len(), 2, "{denials:?}");
    for denial in denials {
        assert_eq!(
            (&denial["owner"], &denial["role"], &denial["status"], &denial["chain"]),
            (&json!("others"), &json!("register"), &json!(403), &json!("denials"))
        );
    }
    // Each entry as it is exported has the hash of the one before in its chain.
    let lines = zoo.call(Admin, "GET", "/audit?limit=1000").header("accept", "application/x-ndjson").send().expect(200);
    let mut ends = std::collections::BTreeMap::new();
    for line in lines.text().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let before = ends.insert(entry["chain"].to_string(), sha256(line.as_bytes()));
        assert_eq!(entry["previous"], before.unwrap_or_else(|| sha256(b"")), "{entry}");
    }
    assert_eq!(ends.len(), 4, "{ends:?}");
}

#[test]
fn metrics_are_the_same_with_and_without_what_is_hidden() {
    let rules = Rules { authentication: true, public_read: true, ..Rules::default() };
    let registry =
        TestRegistry::tracking_with(|tracking| tracking, http::Options { access: rules, ..Default::default() });
    let key = |owner: &str, role| {
        let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
        Some(registry.registry().keys().create(new).unwrap().1)
    };
    let (ours, theirs, admins) = (key("us", Role::Register), key("others", Role::Read), key("root", Role::Admin));
    let call = |key: &Option<String>, method: &str, path: &str| {
        let call = registry.call(method, path);
        let header = key.as_ref().map(|key| format!("Bearer {key}"));
        header.iter().fold(call, |call, header| call.header("authorization", header))
    };
    // What the process and its clients do, and the end of the log, are nobody's.
    let told = |key: &Option<String>| {
        let text = call(key, "GET", "/metrics").send().expect(200).text().to_owned();
        let others = ["process_", "agentdex_memory_", "agentdex_http_", "agentdex_log_seq", "agentdex_follower_"];
        let lines = text.lines().filter(|line| {
            let name = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")).unwrap_or(line);
            others.iter().all(|other| !name.starts_with(other))
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = [told(&None), told(&theirs)];
    let for_admins = told(&admins);

    let card = json!({
        "name": "Hidden", "description": "Says the weather", "version": "1.0.0", "url": "https://hidden.example/a2a",
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "forecast", "name": "Forecast", "description": "Says the weather", "tags": []}],
    });
    let site = Site::start(move |_| Reply::json(&card.to_string()));
    let import = call(&ours, "POST", "/import/a2a?id=urn:example:tracked&visibility=private");
    import.body("application/json", json!({"url": site.url("/card.json")}).to_string()).send().expect(201);
    for (id, registration) in [(PRIVATE_ID, json!({})), ("urn:example:gone", json!({"ttl": 1}))] {
        let mut thing = thing(id, PRIVATE);
        thing["registration"] = registration;
        let put = call(&ours, "PUT", &format!("/things/{id}?visibility=private"));
        put.body("application/td+json", thing.to_string()).send().expect(201);
    }
    let step = json!({
        "jsonrpc": "2.0", "id": 1, "method": "steps/message",
        "params": {
            "context": {
                "agent": {"id": PRIVATE_ID, "name": "a", "version": "1", "provider": {"name": "p"}, "instructions": "-"},
                "session": {"id": "s"}, "turnId": "t", "stepId": "p", "timestamp": "2026-11-22T10:00:00Z",
            },
            "message": {"id": "m", "role": "user", "content": [{"kind": "text", "text": "Hello"}]}, "citation": [], "reasoning": "-",
        },
    });
    call(&ours, "POST", "/aos").body("application/json", step.to_string()).send().expect(200);

    let value = |key: &Option<String>, name: &str| {
        told(key).iter().find_map(|line| line.strip_prefix(&format!("{name} "))?.parse::<u64>().ok())
    };
    eventually("the purge", || value(&admins, "agentdex_expired_things_total") == Some(1));
    assert_eq!([told(&None), told(&theirs)], before);
    assert_ne!(told(&admins), for_admins);
    // Its owner counts what it sees.
    let tracked = |key| value(key, "agentdex_tracked_sources");
    assert_eq!(
        [tracked(&None), tracked(&theirs), tracked(&ours), tracked(&admins)],
        [Some(0), Some(0), Some(1), Some(1)]
    );
    assert_eq!((value(&admins, "agentdex_damaged_records"), value(&ours, "agentdex_damaged_records")), (Some(0), None));
}
