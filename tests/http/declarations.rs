//! Documents that meet each other, and the edits of people: what was registered stays itself.

use agentdex::access::Role;
use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, agent as thing, eventually};

const JSON: &str = "application/json";

fn component(id: &str) -> Value {
    json!({
        "component_type": "Agent", "id": id, "name": id, "description": format!("Does {id}"), "metadata": {}, "inputs": [],
        "outputs": [], "system_prompt": "p", "tools": [], "llm_config": {
            "component_type": "OpenAiCompatibleConfig", "id": format!("llm-of-{id}"), "name": "m", "url": "https://m.example/v1", "model_id": "m",
        },
    })
}

fn agent(id: &str) -> Value {
    let mut agent = component(id);
    agent["agentspec_version"] = "25.4.2".into();
    agent
}

fn swarm(id: &str, members: &[&str]) -> Value {
    let reference = |id: &&str| json!({"$component_ref": id});
    let relationships: Vec<Value> =
        members[1..].iter().map(|member| json!([reference(&members[0]), reference(member)])).collect();
    let referenced: serde_json::Map<String, Value> =
        members.iter().map(|member| ((*member).to_owned(), component(member))).collect();
    json!({
        "component_type": "Swarm", "agentspec_version": "25.4.2", "id": id, "name": id, "inputs": [], "outputs": [],
        "first_agent": reference(&members[0]), "relationships": relationships, "$referenced_components": referenced,
    })
}

fn urn(id: &str) -> String {
    format!("urn:agentspec:local:{id}")
}

fn path(id: &str) -> String {
    format!("/things/{}", urn(id))
}

struct By<'r> {
    registry: &'r TestRegistry,
    key: Option<String>,
}

impl By<'_> {
    fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        let call = self.registry.call(method, path);
        let call = match &self.key {
            Some(key) => call.header("authorization", &format!("Bearer {key}")),
            None => call,
        };
        match body {
            Value::Null => call.send(),
            body if method == "PATCH" => call.body("application/merge-patch+json", body.to_string()).send(),
            body if method == "PUT" && path.starts_with("/things/") && !path.ends_with("/access") => {
                call.body("application/td+json", body.to_string()).send()
            }
            body => call.body(JSON, body.to_string()).send(),
        }
    }

    fn import(&self, document: &Value) -> Answer {
        self.call("POST", "/import/agent-spec?nested=true", document)
    }

    fn get(&self, id: &str) -> Value {
        self.call("GET", &path(id), &Value::Null).expect(200).json()
    }

    fn is_there(&self, id: &str) -> bool {
        self.call("GET", &path(id), &Value::Null).status == 200
    }

    fn part_of(&self, id: &str) -> Vec<String> {
        let thing = self.get(id);
        let documents = thing["registration"]["agentdex:partOf"].as_array().cloned().unwrap_or_default();
        documents.iter().map(|id| id.as_str().unwrap().rsplit(':').next().unwrap().to_owned()).collect()
    }
}

fn rules(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let own = body["warnings"].as_array().cloned().unwrap_or_default();
    own.iter().map(|warning| warning["rule"].as_str().unwrap().to_owned()).collect()
}

fn anybody(registry: &TestRegistry) -> By<'_> {
    By { registry, key: None }
}

#[test]
fn what_was_registered_by_itself_is_neither_replaced_nor_removed_by_a_document() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    me.import(&agent("solo")).expect(201);
    let mut by_hand: Value = serde_json::from_str(&thing(&urn("hand"), "By hand")).unwrap();
    by_hand["description"] = "mine".into();
    me.call("PUT", &path("hand"), &by_hand).expect(201);
    let answer = me.import(&swarm("team", &["solo", "hand", "other"])).expect(201);
    assert_eq!(rules(&answer).iter().filter(|rule| *rule == "part-exists").count(), 2, "{}", answer.text());
    assert_eq!((me.get("hand")["description"].clone(), me.part_of("solo")), (json!("mine"), Vec::<String>::new()));
    assert_eq!(me.part_of("other"), ["team"]);
    me.call("DELETE", &path("team"), &Value::Null).expect(204);
    assert_eq!(["solo", "hand", "other"].map(|id| me.is_there(id)), [true, true, false]);
    let original = me.call("GET", &format!("{}/agent-spec", path("solo")), &Value::Null).expect(200).json();
    assert_eq!(original["name"], "solo");
}

#[test]
fn a_shared_part_stays_until_the_last_document_drops_it() {
    for last in ["one", "two"] {
        let registry = TestRegistry::start();
        let me = anybody(&registry);
        me.import(&swarm("one", &["a", "shared"])).expect(201);
        me.import(&swarm("two", &["b", "shared"])).expect(201);
        assert_eq!(me.part_of("shared"), ["one", "two"]);
        let first = if last == "one" { "two" } else { "one" };
        me.import(&swarm(first, &["b", "d"])).expect(201);
        assert_eq!(me.part_of("shared"), [last]);
        me.call("DELETE", &path(last), &Value::Null).expect(204);
        assert!(!me.is_there("shared"));
    }
}

#[test]
fn no_part_is_orphaned_by_an_edit_of_its_document() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    me.import(&swarm("one", &["a", "b"])).expect(201);
    me.call("PATCH", &path("one"), &json!({"links": null})).expect(204);
    me.import(&swarm("one", &["a", "d"])).expect(201);
    assert_eq!(["a", "b", "d"].map(|id| me.is_there(id)), [true, false, true]);
    let plain: Value = serde_json::from_str(&thing(&urn("one"), "Something else")).unwrap();
    me.call("PUT", &format!("{}?replace=true", path("one")), &plain).expect(204);
    me.call("DELETE", &path("one"), &Value::Null).expect(204);
    assert_eq!(registry.get("/things").json(), json!([]));
}

#[test]
fn an_edit_of_a_part_stays_its_documents_and_survives_the_next_import() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    me.import(&swarm("one", &["a", "b"])).expect(201);
    me.call("PATCH", &path("b"), &json!({"support": "mailto:x@y.example", "description": "mine"})).expect(204);
    let mut again = swarm("one", &["a", "b"]);
    again["$referenced_components"]["b"]["description"] = "theirs".into();
    let answer = me.import(&again).expect(200);
    assert!(rules(&answer).contains(&"edits-kept".to_owned()), "{}", answer.text());
    assert!(answer.text().contains("/description"), "{}", answer.text());
    let part = me.get("b");
    assert_eq!((&part["support"], &part["description"]), (&json!("mailto:x@y.example"), &json!("mine")));
    assert_eq!(me.part_of("b"), ["one"]);
    me.call("DELETE", &path("one"), &Value::Null).expect(204);
    assert!(!me.is_there("b"));
}

#[test]
fn an_edit_is_said_to_be_served_only_where_it_is() {
    let registry = TestRegistry::start();
    let path = "/things/urn:agentdex:mcp:com.example%2Fw";
    let import = |version: &str, description: &str| {
        let server = json!({"name": "com.example/w", "description": description, "version": version});
        let answer = registry.call("POST", "/import/mcp-server").body(JSON, server.to_string()).send();
        (registry.get(path).json()["description"].clone(), rules(&answer))
    };
    let has = |rules: &[String], rule: &str| rules.iter().any(|one| one == rule);
    import("1.0.0", "theirs");
    let me = anybody(&registry);
    me.call("PATCH", path, &json!({"description": "mine"})).expect(204);
    let (served, found) = import("1.0.0", "theirs again");
    assert!(served == "mine" && has(&found, "edits-kept"), "{served} {found:?}");
    // A version below the one with the edit changes nothing of that.
    let (served, found) = import("0.9.0", "older");
    assert!(served == "mine" && !has(&found, "edits-kept") && has(&found, "not-served"), "{served} {found:?}");
    // Nor does one below a version that was put by hand.
    let mut by_hand = me.call("GET", path, &Value::Null).json();
    by_hand.as_object_mut().unwrap().remove("registration");
    by_hand["description"] = "by hand".into();
    me.call("PUT", &format!("{path}?version=2.0.0"), &by_hand).expect(204);
    let (served, found) = import("1.0.0", "theirs at last");
    assert!(served == "by hand" && !has(&found, "edits-kept"), "{served} {found:?}");
    // Above it, the edit is served again.
    let (served, found) = import("3.0.0", "newer");
    assert!(served == "mine" && has(&found, "edits-kept"), "{served} {found:?}");
}

#[test]
fn parts_live_as_long_as_a_document_that_has_them() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    me.call("POST", "/import/agent-spec?nested=true&ttl=3600", &swarm("one", &["a", "b"])).expect(201);
    let expires = |id: &str| me.get(id)["registration"]["expires"].clone();
    let before = expires("b");
    me.call("PATCH", &path("one"), &json!({"registration": {"ttl": 7200}})).expect(204);
    assert!(expires("b").as_str() > before.as_str());
    assert_eq!(expires("b"), expires("one"));
    // A part renews itself in vain.
    me.call("PATCH", &path("a"), &json!({})).expect(204);
    assert_eq!(expires("a"), expires("one"));
    me.import(&swarm("two", &["c", "b"])).expect(201);
    assert_eq!(expires("b"), Value::Null, "two has no end");
    me.call("PATCH", &path("one"), &json!({"registration": {"ttl": 1}})).expect(204);
    eventually("the parts that it alone had are gone", || !me.is_there("a"));
    eventually("it is purged", || me.part_of("b") == ["two"]);
}

#[test]
fn nothing_is_registered_to_expire_at_once() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    for parameters in ["?nested=true&ttl=0", "?nested=true&ttl=0&dry_run=true", "?ttl=0"] {
        let answer = me.call("POST", &format!("/import/agent-spec{parameters}"), &swarm("one", &["a", "b"]));
        assert_eq!(answer.problem(400, "invalid-parameter")["parameter"], "ttl", "{parameters}");
    }
    assert_eq!(registry.get("/things").json(), json!([]));
}

#[test]
fn owners_keep_what_is_theirs() {
    let registry = TestRegistry::guarded();
    let by = |name: &str, role: Role| By { registry: &registry, key: Some(registry.key(name, role)) };
    let (alice, bob, root) = (by("alice", Role::Register), by("bob", Role::Register), by("root", Role::Admin));
    alice.import(&swarm("one", &["a", "b"])).expect(201);
    // A document of another owner refers to the same part.
    let answer = bob.import(&swarm("two", &["b", "c"])).expect(201);
    assert!(rules(&answer).contains(&"part-exists".to_owned()), "{}", answer.text());
    assert_eq!(root.part_of("b"), ["one"]);
    let refused = root.call("PUT", &format!("{}/access", path("a")), &json!({"owner": "bob"}));
    let problem = refused.problem(409, "part-of-document");
    assert_eq!(problem["documents"], json!([urn("one")]));
    // The owner of a document that is given away takes along what it alone declares.
    alice.import(&swarm("three", &["b", "e"])).expect(201);
    root.call("PUT", &format!("{}/access", path("three")), &json!({"owner": "bob"})).expect(204);
    let owner = |id: &str| root.call("GET", &format!("{}/access", path(id)), &Value::Null).json()["owner"].clone();
    assert_eq!((owner("e"), owner("b")), (json!("bob"), json!("alice")));
    assert_eq!((root.part_of("e"), root.part_of("b")), (vec!["three".to_owned()], vec!["one".to_owned()]));
    alice.import(&swarm("one", &["b", "d"])).expect(201);
    alice.call("DELETE", &path("one"), &Value::Null).expect(204);
    assert_eq!(["a", "b", "c", "d", "e"].map(|id| root.is_there(id)), [false, false, true, false, true]);
}

#[test]
fn a_part_is_seen_by_who_sees_one_of_its_documents() {
    let registry = TestRegistry::guarded();
    let alice = By { registry: &registry, key: Some(registry.key("alice", Role::Register)) };
    let stranger = By { registry: &registry, key: Some(registry.key("carol", Role::Register)) };
    alice.call("POST", "/import/agent-spec?nested=true&visibility=private", &swarm("one", &["a", "b"])).expect(201);
    alice.call("PATCH", &path("b"), &json!({"support": "urn:secret"})).expect(204);
    assert!(!stranger.is_there("b"));
    alice.import(&swarm("two", &["c", "b"])).expect(201);
    assert_eq!(stranger.part_of("b"), ["two"], "the private document isn't named");
    assert_eq!(stranger.get("b")["support"], Value::Null, "an edit isn't served to more than saw it");
    let versions = stranger.call("GET", &format!("{}/versions", path("b")), &Value::Null).expect(200);
    assert!(!versions.text().contains(&urn("one")), "{}", versions.text());
    assert_eq!(alice.part_of("b"), ["one", "two"]);
    alice.call("DELETE", &path("two"), &Value::Null).expect(204);
    assert!(!stranger.is_there("b"));
    assert_eq!(alice.get("b")["support"], "urn:secret");
    alice.call("PUT", &format!("{}/access", path("one")), &json!({"visibility": "public"})).expect(204);
    assert_eq!(stranger.part_of("a"), ["one"]);
}

#[test]
fn an_edit_for_one_namespace_is_not_served_to_another() {
    let registry = TestRegistry::guarded();
    let by = |name: &str| By { registry: &registry, key: Some(registry.key(name, Role::Register)) };
    let (alice, bob) = (by("alice"), by("bob"));
    alice.call("PUT", "/namespaces/first", &json!({"members": []})).expect(201);
    alice.call("PUT", "/namespaces/second", &json!({"members": ["bob"]})).expect(201);
    let import = |namespace: &str, document: &Value| {
        let parameters = format!("?nested=true&visibility=namespace&namespace={namespace}");
        alice.call("POST", &format!("/import/agent-spec{parameters}"), document).expect(201)
    };
    import("first", &swarm("one", &["a", "b"]));
    alice.call("PATCH", &path("b"), &json!({"support": "urn:secret"})).expect(204);
    assert!(!bob.is_there("b"));
    import("second", &swarm("two", &["c", "b"]));
    assert_eq!(bob.get("b")["support"], Value::Null);
    alice.call("DELETE", &path("two"), &Value::Null).expect(204);
    assert!(!bob.is_there("b"));
    assert_eq!(alice.get("b")["support"], "urn:secret");
}

#[test]
fn original_and_tracking_stay_with_an_edit() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    me.import(&agent("e")).expect(201);
    me.call("PATCH", &path("e"), &json!({"support": "mailto:me@example.org", "description": "Edited"})).expect(204);
    let export = |more: &str| me.call("GET", &format!("{}/agent-spec{more}", path("e")), &Value::Null).expect(200);
    let exported = export("").json();
    assert_eq!(
        (&exported["description"], &exported["system_prompt"]["$component_ref"]),
        (&json!("Edited"), &json!("e.system_prompt"))
    );
    assert_eq!(exported["llm_config"]["url"], "https://m.example/v1");
    assert_eq!(export("?edits=false").json()["description"], "Does e");
    me.import(&agent("e")).expect(200);
    assert_eq!(me.get("e")["support"], "mailto:me@example.org");
    // What was registered takes the edit back.
    let unedited = me.call("GET", &format!("{}?version=latest", path("e")), &Value::Null).expect(200).json();
    me.call("PUT", &path("e"), &unedited).expect(204);
    assert_eq!((&me.get("e")["support"], &me.get("e")["description"]), (&Value::Null, &json!("Does e")));
    assert_eq!(export("").json()["description"], "Does e");
    // A plain description that replaces it ends all of that.
    let plain: Value = serde_json::from_str(&thing(&urn("e"), "Something else")).unwrap();
    let answer = registry.call("PUT", &format!("{}?replace=true", path("e"))).header("prefer", "return=effect");
    let answer = answer.body("application/td+json", plain.to_string()).send().expect(200);
    assert!(rules(&answer).contains(&"declarations-ended".to_owned()), "{}", answer.text());
    assert_eq!(me.get("e")["support"], Value::Null);
}

#[test]
fn an_id_that_is_taken_by_something_else_is_refused() {
    let registry = TestRegistry::start();
    let me = anybody(&registry);
    let named = |name: &str, does: &str| {
        let mut agent = agent("helper");
        (agent["name"], agent["description"]) = (name.into(), does.into());
        agent
    };
    me.import(&named("Payroll", "Pays salaries")).expect(201);
    let problem = me.import(&named("Garden", "Waters plants")).problem(409, "unrelated");
    assert_eq!(problem["existingTitle"], "Payroll");
    me.import(&named("Payroll", "Pays wages")).expect(200);
    me.call("POST", "/import/agent-spec?if_exists=replace", &named("Garden", "Waters plants")).expect(200);
    let other: Value = serde_json::from_str(&thing(&urn("helper"), "Third")).unwrap();
    me.call("PUT", &format!("{}?if_exists=related", path("helper")), &other).problem(409, "unrelated");
    me.call("PUT", &path("helper"), &other).expect(204);
}

#[test]
fn versions_of_a_server_lie_side_by_side() {
    let registry = TestRegistry::start();
    let import = |version: &str| {
        let server = json!({
            "name": "com.example/w", "description": "d", "version": version,
            "remotes": [{"type": "streamable-http", "url": format!("https://w.example/{version}")}],
        });
        registry.call("POST", "/import/mcp-server").body(JSON, server.to_string()).send()
    };
    let path = "/things/urn:agentdex:mcp:com.example%2Fw";
    import("2.0.0").expect(201);
    let etag = registry.get(path).header("etag");
    let answer = import("1.0.0").expect(200);
    assert!(rules(&answer).contains(&"not-served".to_owned()), "{}", answer.text());
    assert_eq!(registry.get(path).header("etag"), etag, "what is served is what it was");
    let instance = |path: &str| registry.get(path).expect(200).json()["version"]["instance"].clone();
    assert_eq!(instance(path), "2.0.0");
    let versions = registry.get(&format!("{path}/versions")).expect(200).json();
    let listed: Vec<_> = versions.as_array().unwrap().iter().map(|one| (&one["version"], &one["served"])).collect();
    assert_eq!(listed, [(&json!("2.0.0"), &json!(true)), (&json!("1.0.0"), &json!(false))]);
    for (asked, found) in [("1.0.0", "1.0.0"), ("%5E1", "1.0.0"), ("latest", "2.0.0"), (">=1", "2.0.0")] {
        assert_eq!(instance(&format!("{path}?version={asked}")), found, "{asked}");
    }
    let old = registry.get(&format!("{path}?version=1.0.0")).expect(200);
    assert_eq!(format!("{}", versions[1]["etag"].as_str().unwrap()), old.header("etag"));
    for none in ["9.9.9", "%5E7", "3%C2%BD"] {
        registry.get(&format!("{path}?version={none}")).problem(404, "no-such-version");
    }
    let document = registry.get(&format!("{path}/mcp-server?thing_version=1.0.0")).expect(200).json();
    assert_eq!(document["version"], "1.0.0");
    let seen = registry.get("/changes?since=0").json()["changes"].as_array().unwrap().len();
    assert_eq!(seen, 1, "who subscribes is told of what is served alone");
    import("3.0.0").expect(200);
    assert_eq!(instance(path), "3.0.0");
    let wrong = registry.call("DELETE", &format!("{path}?version=3.0.0")).header("if-match", &old.header("etag"));
    wrong.send().problem(412, "precondition-failed");
    registry.delete(&format!("{path}?version=3.0.0")).expect(204);
    assert_eq!(instance(path), "2.0.0");
    registry.delete(path).expect(204);
    registry.get(&format!("{path}/versions")).problem(404, "not-found");
}

#[test]
fn versions_of_a_description_are_put_under_conditions() {
    let registry = TestRegistry::start();
    let description = |version: &str| {
        let mut thing: Value = serde_json::from_str(&thing("urn:a", "A")).unwrap();
        thing["version"] = json!({"instance": version});
        thing.to_string()
    };
    let put = |version: &str, header: Option<(&str, &str)>| {
        let call = registry.call("PUT", &format!("/things/urn:a?version={version}"));
        let call = match header {
            Some((name, value)) => call.header(name, value),
            None => call,
        };
        call.body("application/td+json", description(version)).send()
    };
    put("1.0.0", None).expect(201);
    put("2.0.0", Some(("if-none-match", "*"))).expect(204);
    put("2.0.0", Some(("if-none-match", "*"))).problem(412, "precondition-failed");
    let etag = registry.get("/things/urn:a?version=1.0.0").header("etag");
    put("2.0.0", Some(("if-match", &etag))).problem(412, "precondition-failed");
    put("1.0.0", Some(("if-match", &etag))).expect(204);
    assert_eq!(registry.get("/things/urn:a").json()["version"]["instance"], "2.0.0");
}

#[test]
fn records_bring_parts_edits_and_versions_in_any_order() {
    let from = TestRegistry::start();
    let me = anybody(&from);
    me.import(&swarm("one", &["a", "b"])).expect(201);
    me.import(&swarm("two", &["c", "b"])).expect(201);
    me.call("PATCH", &path("b"), &json!({"support": "urn:edit"})).expect(204);
    for version in ["1.0.0", "2.0.0", "1.5.0"] {
        let server = json!({"name": "com.example/w", "description": "d", "version": version});
        from.call("POST", "/import/mcp-server").body(JSON, server.to_string()).send();
    }
    let records = from.get("/records").expect(200).text().to_owned();
    let mut lines: Vec<&str> = records.lines().collect();
    for _ in 0..2 {
        lines.reverse();
        let to = TestRegistry::start();
        let other = anybody(&to);
        let sent = to.call("POST", "/records").body("application/x-ndjson", lines.join("\n"));
        let answer = sent.send().expect(200);
        assert!(!answer.text().contains("\"error\""), "{}", answer.text());
        assert_eq!(to.get("/things").json().as_array().unwrap().len(), lines.len());
        assert_eq!(["a", "b", "c"].map(|id| other.part_of(id)), [vec!["one"], vec!["one", "two"], vec!["two"]]);
        assert_eq!(other.get("b")["support"], "urn:edit");
        let export = |registry: &By<'_>, more: &str| {
            registry.call("GET", &format!("{}/agent-spec{more}", path("b")), &Value::Null).expect(200).json()
        };
        assert_eq!(export(&other, "?edits=false"), export(&me, "?edits=false"));
        let versions = |registry: &TestRegistry| -> Vec<(Value, Value)> {
            let versions = registry.get("/things/urn:agentdex:mcp:com.example%2Fw/versions").expect(200).json();
            versions.as_array().unwrap().iter().map(|one| (one["version"].clone(), one["served"].clone())).collect()
        };
        assert_eq!(versions(&to), versions(&from));
        assert!(to.registry().check().unwrap().faults.is_empty());
        // They go on as what they are.
        other.import(&swarm("one", &["a", "d"])).expect(201);
        assert_eq!(other.part_of("b"), ["two"]);
        other.call("DELETE", &path("two"), &Value::Null).expect(204);
        assert!(!other.is_there("b") && other.is_there("a"));
    }
}

/// Three documents that share their parts, one of which was edited, and the records of all.
fn shared_parts() -> Vec<Value> {
    let from = TestRegistry::guarded();
    let alice = By { registry: &from, key: Some(from.key("alice", Role::Register)) };
    alice.import(&swarm("one", &["a", "b"])).expect(201);
    let import = "/import/agent-spec?nested=true&visibility=private&ttl=100000";
    for (id, members) in [("two", ["b", "c"]), ("three", ["c", "a"])] {
        alice.call("POST", import, &swarm(id, &members)).expect(201);
    }
    alice.call("PATCH", &path("b"), &json!({"support": "urn:edit"})).expect(204);
    let records = records(&from);
    assert_eq!(records.len(), 6);
    records
}

fn records(registry: &TestRegistry) -> Vec<Value> {
    let admin = By { registry, key: Some(registry.key("root", Role::Admin)) };
    let records = admin.call("GET", "/records", &Value::Null).expect(200);
    records.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bring(registry: &TestRegistry, key: &str, record: &Value) {
    let call = registry.call("POST", "/records").header("authorization", &format!("Bearer {key}"));
    let answer = call.body("application/x-ndjson", record.to_string()).send().expect(200);
    let result: Value = serde_json::from_str(answer.text().trim()).unwrap();
    assert!(result["status"].as_u64().unwrap() < 300, "{result}");
}

#[test]
fn records_that_come_twice_in_any_order_join_the_same_documents() {
    let brought = shared_parts();
    for seed in 1..=12_u64 {
        let mut state = seed;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        let to = TestRegistry::guarded();
        let key = to.key("root", Role::Admin);
        let mut said = Vec::new();
        for _ in 0..2 {
            let mut left: Vec<&Value> = brought.iter().collect();
            while !left.is_empty() {
                let record = left.swap_remove(below(left.len()));
                bring(&to, &key, record);
                said.push(record["td"]["id"].as_str().unwrap());
                assert_eq!(to.registry().check().unwrap().faults, [], "{seed}: {said:?}");
            }
        }
        assert_eq!(records(&to), brought, "{seed}: {said:?}");
    }
}

#[test]
fn records_that_two_admins_bring_at_once_join_the_same_documents() {
    let brought = shared_parts();
    for round in 0..4 {
        let to = TestRegistry::guarded();
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for admin in 0..2 {
                let (to, start, mut lines) = (&to, &start, brought.clone());
                // Documents before parts, after them, and in other orders.
                lines.rotate_left(round * admin);
                if admin == 1 {
                    lines.reverse();
                }
                let key = to.key(&format!("admin-{admin}"), Role::Admin);
                scope.spawn(move || {
                    start.wait();
                    lines.iter().for_each(|record| bring(to, &key, record));
                });
            }
        });
        assert_eq!(to.registry().check().unwrap().faults, [], "{round}");
        assert_eq!(records(&to), brought, "{round}");
    }
}

/// A document of each format, and members of its Thing that have a place in it.
const EDITED: [(&str, &str, &[&str]); 5] = [
    ("a2a", "a2a/exchange.json", &["/title", "/description", "/lmos:capabilities/1/lmos:tags/0"]),
    ("agent-spec", "agent-spec/support.json", &["/title", "/description", "/lmos:capabilities/1/lmos:description"]),
    (
        "lmos-capabilities",
        "lmos/capabilities.json",
        &["/description", "/lmos:capabilities/0/lmos:description", "/lmos:capabilities/1/lmos:name"],
    ),
    ("mcp-server", "mcp/server.json", &["/title", "/description", "/links/0/href"]),
    ("aos", "aos/travel.json", &["/title", "/description", "/lmos:capabilities/0/lmos:description"]),
];

#[test]
fn edited_agents_of_every_format_are_the_same_where_their_exports_are_imported() {
    let (from, to) = (TestRegistry::start(), TestRegistry::start());
    assert_eq!(EDITED.len() + 1, agentdex::convert::Format::ALL.len(), "all but descriptions themselves");
    for (format, file, pointers) in EDITED {
        let document = std::fs::read(format!("{}/examples/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let import = |registry: &TestRegistry, id: &str, document: Vec<u8>| {
            let imported = registry.call("POST", &format!("/import/{format}{id}")).body(JSON, document);
            format!("/things/{}", imported.send().expect(201).json()["ids"][0].as_str().unwrap().replace('/', "%2F"))
        };
        let described = |registry: &TestRegistry, path: &str| {
            let mut thing = registry.get(path).expect(200).json();
            // What a registry says of it.
            for name in ["registration", "agentdex:signature"] {
                thing.as_object_mut().unwrap().remove(name);
            }
            thing
        };
        let path = import(&from, "", document);
        let export = format!("{path}/{}", if format == "a2a" { "agent-card" } else { format });
        let unedited = from.get(&export).expect(200);
        let (original, warnings) = (unedited.text(), unedited.header("agentdex-warnings"));
        let mut edited = described(&from, &path);
        for pointer in pointers {
            let place = edited.pointer_mut(pointer).unwrap_or_else(|| panic!("{format} {pointer}"));
            *place = format!("{}-edited", place.as_str().unwrap()).into();
        }
        let put = from.call("PUT", &path).body("application/td+json", edited.to_string());
        put.send().expect(204);
        let exported = from.get(&export).expect(200);
        assert_eq!(exported.header("agentdex-warnings"), warnings, "{format}: {}", exported.text());
        assert_ne!(exported.text(), original, "{format}");
        assert_eq!(from.get(&format!("{export}?edits=false")).expect(200).text(), original, "{format}");
        // Ids of cards are made of their names.
        let id = format!("?id={}", &path["/things/".len()..]);
        assert_eq!(import(&to, &id, exported.text().into()), path, "{format}");
        assert_eq!(described(&to, &path), edited, "{format}");
    }
}
