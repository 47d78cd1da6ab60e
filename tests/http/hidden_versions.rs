//! Versions and originals that were stored when fewer saw their agent: publishing the agent publishes what is served, and nothing
//! comes to be public because something else is taken away.

use agentdex::access::Role;
use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry};

const ID: &str = "urn:example:agent";
/// Nobody but those who may reads a text with this word.
const SECRET: &str = "falcon";

/// A registry with owners and their keys, and somebody without one.
struct Office {
    registry: TestRegistry,
    keys: Vec<(&'static str, String)>,
}

impl Office {
    fn open() -> Office {
        let registry = TestRegistry::guarded();
        let owners =
            [("alice", Role::Register), ("bob", Role::Register), ("carol", Role::Register), ("ops", Role::Admin)];
        let keys = owners.map(|(owner, role)| (owner, registry.key(owner, role))).into();
        Office { registry, keys }
    }

    fn call(&self, who: &str, method: &str, path: &str, kind: &str, body: &str) -> Answer {
        let call = self.registry.call(method, path).header("prefer", "return=effect");
        let call = match self.keys.iter().find(|(owner, _)| *owner == who) {
            Some((_, key)) => call.header("authorization", &format!("Bearer {key}")),
            None => call,
        };
        let answer = if body.is_empty() { call.send() } else { call.body(kind, body).send() };
        assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        answer
    }

    fn get(&self, who: &str, path: &str) -> Answer {
        self.call(who, "GET", path, "", "")
    }

    fn json(&self, who: &str, method: &str, path: &str, body: &Value) -> Answer {
        self.call(who, method, path, "application/json", &body.to_string())
    }

    /// Puts a text, which is also its version where one is among the parameters.
    fn put(&self, who: &str, word: &str, parameters: &str) -> Answer {
        let answer =
            self.call(who, "PUT", &format!("/things/{ID}{parameters}"), "application/td+json", &text(ID, word));
        assert!(answer.status < 300, "{}", answer.text());
        answer
    }

    fn set(&self, who: &str, access: &Value, parameters: &str) -> Answer {
        self.json(who, "PUT", &format!("/things/{ID}/access{parameters}"), access).expect(200)
    }

    fn remove(&self, who: &str, version: &str) -> Answer {
        self.call(who, "DELETE", &format!("/things/{ID}?version={version}"), "", "")
    }

    /// The versions that somebody is shown, those that it may read without a mark.
    fn versions(&self, who: &str, id: &str) -> Vec<String> {
        let versions = self.get(who, &format!("/things/{id}/versions")).expect(200).json();
        let name = |one: &Value| {
            let name = one["version"].as_str().unwrap_or("-");
            format!("{name}{}", if one["readable"] == false { " unreadable" } else { "" })
        };
        versions.as_array().unwrap().iter().map(name).collect()
    }

    /// The ways by which somebody gets the secret of an agent.
    fn leaks(&self, who: &str, id: &str) -> Vec<String> {
        let mut paths = vec![
            "/things".to_owned(),
            "/changes?since=0&limit=1000".to_owned(),
            format!("/search?q={SECRET}&mode=lexical&consistent=true"),
            "/records".to_owned(),
        ];
        let ends =
            ["", "/versions", "/history", "/agent-card", "/mcp-server", "/agent-spec", "/lmos-capabilities", "/access"];
        paths.extend(ends.map(|end| format!("/things/{id}{end}")));
        paths.push(format!("/things/{id}/agent-card?edits=false"));
        for range in ["latest", "1.0.0", "2.0.0", "3.0.0", "%5E1", "%3E%3D0.0.0", "%2A"] {
            paths.push(format!("/things/{id}?version={range}"));
            paths.extend(["agent-card", "mcp-server"].map(|kind| format!("/things/{id}/{kind}?thing_version={range}")));
            paths.push(format!("/things/{id}/agent-card?edits=false&thing_version={range}"));
        }
        let repeats = format!("q={SECRET}");
        paths.retain(|path| {
            self.get(who, path).text().replace(&repeats, "").replace(&format!("\"{SECRET}\""), "").contains(SECRET)
        });
        paths
    }

    fn is_hidden_from(&self, who: &[&str], id: &str) {
        for who in who {
            assert_eq!(self.leaks(who, id), Vec::<String>::new(), "{who:?}");
        }
    }

    fn is_shown_to(&self, who: &[&str], path: &str) {
        for who in who {
            let answer = self.get(who, path);
            assert!(answer.status == 200 && answer.text().contains(SECRET), "{who:?} {path}: {}", answer.text());
        }
    }
}

fn text(id: &str, word: &str) -> String {
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": id, "title": format!("Agent {word}"), "description": format!("Knows {word}"),
        "lmos:capabilities": [{"id": format!("{word}-desk"), "name": format!("Desk of {word}")}],
        "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
        "actions": {"ask": {"forms": [{"href": format!("https://a.example/{word}"), "op": "invokeaction"}]}},
    })
    .to_string()
}

fn rules(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let warnings = body["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning["rule"].as_str().unwrap().to_owned()).collect()
}

fn hidden(answer: &Answer) -> String {
    let body = answer.json();
    let warnings = body["warnings"].as_array().cloned().unwrap_or_default();
    let found = warnings.iter().find(|warning| warning["rule"] == "versions-hidden");
    found.map_or_else(String::new, |warning| warning["message"].as_str().unwrap().to_owned())
}

fn visibility(visibility: &str) -> Value {
    json!({ "visibility": visibility })
}

const VERSION_1: &str = "/things/urn:example:agent?version=1.0.0";

#[test]
fn publishing_an_agent_by_any_way_leaves_its_private_versions_private() {
    for way in ["access", "version", "plain", "patched"] {
        let office = Office::open();
        office.put("alice", SECRET, "?version=1.0.0&visibility=private");
        let answer = match way {
            "access" => {
                office.put("alice", "open", "?version=2.0.0");
                office.set("alice", &visibility("public"), "")
            }
            "version" => office.put("alice", "open", "?version=2.0.0&visibility=public"),
            "plain" => {
                office.put("alice", "still", "?version=2.0.0");
                office.put("alice", "open", "?visibility=public")
            }
            _ => {
                office.put("alice", "still", "?version=2.0.0");
                office.call(
                    "alice",
                    "PATCH",
                    &format!("/things/{ID}"),
                    "application/merge-patch+json",
                    r#"{"title":"open"}"#,
                );
                office.set("alice", &visibility("public"), "")
            }
        };
        assert!(hidden(&answer).contains("1.0.0"), "{way}: {}", answer.text());
        office.is_hidden_from(&["", "bob"], ID);
        office.is_shown_to(&["alice", "ops"], VERSION_1);
        assert_eq!(office.versions("bob", ID).len(), 1, "{way}");
        let listed = office.get("alice", &format!("/things/{ID}/versions")).json();
        assert_eq!((&listed[1]["version"], &listed[1]["visibility"]), (&json!("1.0.0"), &json!("private")), "{way}");
        let refused = office.get("bob", VERSION_1);
        refused.problem(404, "no-such-version");
        // It isn't told apart from a version that isn't there, also where it is written.
        let put = |version: &str| {
            office.call("bob", "PUT", &format!("/things/{ID}?version={version}"), "application/td+json", &text(ID, "b"))
        };
        assert_eq!(put("1.0.0").json()["code"], put("7.0.0").json()["code"]);
        // Asked again, it says so again; then all are published.
        assert!(hidden(&office.set("alice", &visibility("public"), "")).contains("1.0.0"), "{way}");
        let dry = office.set("alice", &visibility("public"), "?versions=all&dry_run=true");
        assert_eq!((hidden(&dry), dry.json()["effect"].clone()), (String::new(), json!("updated")), "{way}");
        office.is_hidden_from(&["", "bob"], ID);
        assert_eq!(hidden(&office.set("alice", &visibility("public"), "?versions=all")), "", "{way}");
        office.is_shown_to(&["", "bob", "alice"], VERSION_1);
        assert_eq!(office.registry.registry().check().unwrap().faults, [], "{way}");
    }
}

#[test]
fn all_versions_are_published_together_with_what_is_put() {
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    let answer = office.put("alice", "open", "?version=2.0.0&visibility=public&versions=all");
    assert_eq!(hidden(&answer), "");
    office.is_shown_to(&["", "bob"], VERSION_1);
    office
        .call("alice", "PUT", &format!("/things/{ID}?versions=some"), "application/td+json", &text(ID, "x"))
        .problem(400, "invalid-parameter");
}

#[test]
fn version_below_the_served_one_is_not_stored_with_an_access_that_publishes_that() {
    let office = Office::open();
    office.json("alice", "PUT", "/namespaces/north", &json!({"members": ["bob"]})).expect(201);
    office.put("alice", SECRET, "?version=2.0.0&visibility=private");
    let path = |parameters: &str| format!("/things/{ID}?version=1.0.0&{parameters}");
    let put =
        |parameters: &str| office.call("alice", "PUT", &path(parameters), "application/td+json", &text(ID, "open"));
    for wider in ["visibility=public", "visibility=public&dry_run=true", "visibility=namespace&namespace=north"] {
        let problem = put(wider).problem(409, "version-not-served");
        assert_eq!((&problem["id"], &problem["served"]), (&json!(ID), &json!("2.0.0")), "{problem}");
        office.is_hidden_from(&["", "bob"], ID);
        assert_eq!(office.versions("alice", ID), ["2.0.0"]);
    }
    // It is stored with the access that the agent has, or with one that is given to both on purpose.
    put("visibility=private").expect(200);
    office.is_hidden_from(&["", "bob"], ID);
    put("visibility=public&versions=all").expect(200);
    office.is_shown_to(&["", "bob"], &format!("/things/{ID}"));
    // Less is no harm, nor is what comes to be served.
    put("visibility=private").expect(200);
    office.is_hidden_from(&["", "bob"], ID);
    office.put("alice", "open", "?version=3.0.0&visibility=public");
    office.is_hidden_from(&["", "bob"], ID);
}

#[test]
fn import_below_the_served_version_publishes_nothing_either() {
    let office = Office::open();
    let import = |version: &str, visibility: &str| {
        let server = json!({"name": "com.example/w", "description": "A desk", "version": version, "title": SECRET});
        let path = format!("/import/mcp-server?visibility={visibility}");
        office.json("alice", "POST", &path, &server)
    };
    let id = import("2.0.0", "private").expect(201).json()["ids"][0].as_str().unwrap().replace('/', "%2F");
    import("1.0.0", "public").problem(409, "version-not-served");
    office.is_hidden_from(&["", "bob"], &id);
    import("1.0.0", "private").expect(200);
    import("3.0.0", "public").expect(200);
}

#[test]
fn versions_that_are_left_when_all_are_published_are_named() {
    for is_public in [false, true] {
        let office = Office::open();
        office.put("alice", SECRET, "?version=1.0.0&visibility=private");
        office.put("alice", "open", "?version=3.0.0");
        office.set("ops", &json!({"owner": "bob"}), "");
        office.put("bob", "bobs", "?version=2.0.0");
        if is_public {
            let told = hidden(&office.set("bob", &visibility("public"), ""));
            assert!(told.contains("1.0.0") && told.contains("2.0.0"), "{told}");
        }
        // Its new owner isn't shown the first one, and so can't publish it.
        let told = hidden(&office.set("bob", &visibility("public"), "?versions=all"));
        assert!(told.contains("1.0.0") && !told.contains("2.0.0"), "{is_public}: {told}");
        assert_eq!(office.versions("", ID), ["3.0.0", "2.0.0"]);
        let told = hidden(&office.put("bob", "opened", "?versions=all"));
        assert!(told.contains("1.0.0"), "{is_public}: {told}");
        office.is_hidden_from(&["", "bob"], ID);
    }
}

#[test]
fn what_is_private_for_a_moment_stays_what_nobody_else_reads() {
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0");
    office.put("alice", "open", "?version=2.0.0");
    office.is_shown_to(&["", "bob"], VERSION_1);
    // Making it private is a retraction of all that isn't published again.
    office.set("alice", &visibility("private"), "");
    let answer = office.set("alice", &visibility("public"), "");
    assert!(hidden(&answer).contains("1.0.0"), "{}", answer.text());
    for path in [VERSION_1, "/things/urn:example:agent/versions"] {
        assert!(!office.get("bob", path).text().contains("1.0.0\",\"served"), "{path}");
    }
    office.get("bob", VERSION_1).problem(404, "no-such-version");
}

/// A card with a skill that its owner takes out before it publishes it.
fn card(version: &str, skills: &[&str]) -> String {
    let skill = |id: &&str| json!({"id": id, "name": id, "description": format!("Skill {id}"), "tags": ["t"]});
    // Its own bytes, which no conversion makes.
    let card = json!({
        "name": "Desk", "description": "A desk", "version": version,
        "supportedInterfaces": [{"url": "https://desk.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": skills.iter().map(skill).collect::<Vec<_>>(),
    });
    format!("{card}\n")
}

/// Imports a card privately and takes its secret skill out by hand; the id of the agent.
fn import_and_clean(office: &Office) -> String {
    let document = card("1.0.0", &["open", SECRET]);
    let imported = office.call("alice", "POST", "/import/a2a?visibility=private", "application/json", &document);
    let id = imported.expect(201).json()["ids"][0].as_str().unwrap().to_owned();
    let thing = office.get("alice", &format!("/things/{id}")).json();
    let capabilities = thing["lmos:capabilities"].as_array().unwrap().clone();
    let clean: Vec<Value> = capabilities.into_iter().filter(|one| !one.to_string().contains(SECRET)).collect();
    let mut patch = json!({"lmos:capabilities": clean, "actions": {}});
    for name in
        thing["actions"].as_object().into_iter().flatten().map(|(name, _)| name).filter(|name| name.contains(SECRET))
    {
        patch["actions"][name] = Value::Null;
    }
    let patched =
        office.call("alice", "PATCH", &format!("/things/{id}"), "application/merge-patch+json", &patch.to_string());
    patched.expect(200);
    assert!(!office.get("alice", &format!("/things/{id}")).text().contains(SECRET));
    id
}

fn set_of(office: &Office, who: &str, id: &str, access: &Value, parameters: &str) -> Answer {
    office.json(who, "PUT", &format!("/things/{id}/access{parameters}"), access).expect(200)
}

#[test]
fn original_stays_private_under_an_edit() {
    let office = Office::open();
    let id = import_and_clean(&office);
    let answer = set_of(&office, "alice", &id, &visibility("public"), "");
    assert!(hidden(&answer).contains("the original document"), "{}", answer.text());
    office.is_hidden_from(&["", "bob"], &id);
    // Others have what is served, also as a card.
    for path in ["?version=latest", "/agent-card", "/agent-card?edits=false", "/agent-card?thing_version=latest"] {
        let answer = office.get("bob", &format!("/things/{id}{path}")).expect(200);
        assert!(answer.text().contains("open"), "{path}");
    }
    for who in ["alice", "ops"] {
        office.is_shown_to(&[who], &format!("/things/{id}/agent-card?edits=false"));
        office.is_shown_to(&[who], &format!("/things/{id}?version=latest"));
    }
    set_of(&office, "alice", &id, &visibility("public"), "?versions=all");
    office.is_shown_to(&["", "bob"], &format!("/things/{id}/agent-card?edits=false"));
}

#[test]
fn original_stays_private_when_the_document_comes_again_or_the_edit_is_taken_back() {
    let office = Office::open();
    let id = import_and_clean(&office);
    set_of(&office, "alice", &id, &visibility("public"), "");
    for (version, skills) in [("1.0.0", ["open", SECRET]), ("1.0.1", ["opened", SECRET])] {
        let document = card(version, &skills);
        let path = format!("/import/a2a?id={id}&if_exists=replace");
        office.call("alice", "POST", &path, "application/json", &document).expect(200);
        office.is_hidden_from(&["", "bob"], &id);
    }
    // What is put by hand is published as it was sent, and no more of the document.
    let mut unedited = office.get("alice", &format!("/things/{id}?version=latest")).json();
    let body = unedited.as_object_mut().unwrap();
    body.remove("registration");
    let put = office.call("alice", "PUT", &format!("/things/{id}"), "application/td+json", &unedited.to_string());
    put.expect(200);
    assert!(office.get("bob", &format!("/things/{id}")).text().contains(SECRET), "it was put there");
    let original = card("1.0.1", &["opened", SECRET]);
    for path in ["agent-card?edits=false", "agent-card?thing_version=latest"] {
        // With the effect, which every request of these tests prefers.
        let document =
            |who: &str| office.get(who, &format!("/things/{id}/{path}")).expect(200).json()["document"].clone();
        assert_eq!(document("alice"), original, "{path}");
        assert_ne!(document("bob"), original, "{path}");
    }
}

#[test]
fn removal_of_what_is_served_publishes_nothing() {
    let office = Office::open();
    office.put("alice", "first", "?version=1.0.0");
    office.set("alice", &visibility("private"), "");
    office.put("alice", SECRET, "?version=2.0.0");
    office.put("alice", "open", "?version=3.0.0");
    office.set("alice", &visibility("public"), "");
    // What all may read goes before what is higher.
    office.put("alice", "open", "?version=1.5.0");
    let removed = office.remove("alice", "3.0.0").expect(200);
    assert!(hidden(&removed).contains("2.0.0"), "{}", removed.text());
    office.is_hidden_from(&["", "bob"], ID);
    let served = office.get("bob", &format!("/things/{ID}")).expect(200).json();
    assert_eq!(served["title"], "Agent open");
    // Without anything that all may read it is seen by fewer.
    let dry = office.remove("alice", "1.5.0&dry_run=true").expect(200);
    let removed = office.remove("alice", "1.5.0").expect(200);
    assert_eq!(rules(&dry), ["access-narrowed"], "{}", dry.text());
    assert_eq!(rules(&removed), ["access-narrowed"], "{}", removed.text());
    office.get("bob", &format!("/things/{ID}")).expect(404);
    office.is_hidden_from(&["", "bob"], ID);
    assert_eq!(office.get("alice", &format!("/things/{ID}")).json()["title"], format!("Agent {SECRET}"));
    // Now it is served, and so it is published.
    office.set("alice", &visibility("public"), "");
    office.is_shown_to(&["", "bob"], &format!("/things/{ID}"));
    assert_eq!(office.registry.registry().check().unwrap().faults, []);
}

#[test]
fn new_owner_removes_the_versions_of_the_former_one_and_reads_none_of_them() {
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    office.put("alice", "open", "?version=2.0.0");
    office.set("ops", &json!({"owner": "bob"}), "");
    assert_eq!(office.versions("bob", ID), ["2.0.0", "1.0.0 unreadable"]);
    office.is_hidden_from(&["", "bob", "alice"], ID);
    office.is_shown_to(&["ops"], VERSION_1);
    // It publishes what is its own.
    let answer = office.set("bob", &visibility("public"), "?versions=all");
    assert!(hidden(&answer).contains("1.0.0"), "{}", answer.text());
    office.is_hidden_from(&["", "bob"], ID);
    // Who stored it still reads it.
    office.is_shown_to(&["alice", "ops"], VERSION_1);
    // It isn't served instead of what its owner removes.
    office.remove("bob", "2.0.0").problem(409, "hidden-versions");
    office.put("bob", "later", "?version=0.5.0");
    office.remove("bob", "2.0.0").expect(200);
    assert_eq!(office.get("bob", &format!("/things/{ID}")).json()["title"], "Agent later");
    office.is_hidden_from(&["", "bob"], ID);
    office.remove("bob", "1.0.0").expect(200);
    assert_eq!(office.versions("bob", ID), ["0.5.0"]);
    // What comes back is its former owner's again.
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    office.put("alice", "open", "?version=2.0.0");
    office.set("ops", &json!({"owner": "bob"}), "");
    office.set("ops", &json!({"owner": "alice"}), "");
    office.is_shown_to(&["alice"], VERSION_1);
    office.is_hidden_from(&["", "bob"], ID);
}

#[test]
fn original_of_a_former_owner_is_not_the_new_one_s() {
    let office = Office::open();
    let id = import_and_clean(&office);
    set_of(&office, "ops", &id, &json!({"owner": "bob"}), "");
    office.is_hidden_from(&["", "bob"], &id);
    set_of(&office, "bob", &id, &visibility("public"), "?versions=all");
    office.is_hidden_from(&["", "bob"], &id);
    office.is_shown_to(&["alice", "ops"], &format!("/things/{id}/agent-card?edits=false"));
}

#[test]
fn members_are_shown_what_was_stored_for_their_namespace_alone() {
    let office = Office::open();
    office.json("alice", "PUT", "/namespaces/north", &json!({"members": ["bob"]})).expect(201);
    office.json("alice", "PUT", "/namespaces/south", &json!({"members": ["carol"]})).expect(201);
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    office.put("alice", "open", "?version=2.0.0");
    let in_namespace = |name: &str| json!({"visibility": "namespace", "namespace": name});
    assert!(hidden(&office.set("alice", &in_namespace("north"), "")).contains("1.0.0"));
    office.is_hidden_from(&["", "bob", "carol"], ID);
    office.put("alice", SECRET, "?version=1.5.0");
    let path = format!("/things/{ID}?version=1.5.0");
    office.is_shown_to(&["bob", "alice"], &path);
    // Published, it stays with the namespace; and so it does in another one.
    assert!(hidden(&office.set("alice", &visibility("public"), "")).contains("1.5.0"));
    office.is_shown_to(&["bob"], &path);
    office.is_hidden_from(&["", "carol"], ID);
    office.set("alice", &in_namespace("south"), "");
    office.is_hidden_from(&["", "carol", "bob"], ID);
    office.set("alice", &in_namespace("north"), "");
    office.is_hidden_from(&["", "carol", "bob"], ID);
    // Memberships are those of now.
    office.json("alice", "PUT", "/namespaces/south", &json!({"members": ["bob"]})).expect(200);
    office.is_shown_to(&["bob"], &path);
    office.json("alice", "PUT", "/namespaces/north", &json!({"members": []})).expect(200);
    office.is_hidden_from(&["", "carol", "bob"], ID);
}

#[test]
fn records_carry_the_access_of_versions_and_publish_none() {
    let from = Office::open();
    from.put("alice", SECRET, "?version=1.0.0&visibility=private");
    from.put("alice", "open", "?version=2.0.0&visibility=public");
    let id = import_and_clean(&from);
    set_of(&from, "alice", &id, &visibility("public"), "");
    let records = from.get("ops", "/records").expect(200);
    for _ in 0..2 {
        let to = Office::open();
        for number in 0..2 {
            let taken = to.call("ops", "POST", "/records", "application/x-ndjson", records.text()).expect(200);
            assert!(!taken.text().contains("\"problem\""), "{}", taken.text());
            let effects = taken.text().matches("unchanged").count();
            assert_eq!(effects, 2 * number, "{}", taken.text());
            for id in [ID, &id] {
                to.is_hidden_from(&["", "bob"], id);
            }
            to.is_shown_to(&["alice", "ops"], VERSION_1);
            to.is_shown_to(&["alice", "ops"], &format!("/things/{id}/agent-card?edits=false"));
        }
        assert_eq!(to.get("ops", "/records").text(), records.text());
        assert_eq!(to.registry.registry().check().unwrap().faults, []);
    }
}

#[test]
fn record_that_makes_an_agent_public_publishes_what_it_has() {
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    office.put("alice", "open", "?version=2.0.0");
    let mut record = office.get("ops", "/records").expect(200).json();
    record["visibility"] = json!("public");
    record["otherVersions"] = json!([]);
    let taken = office.call("ops", "POST", "/records", "application/x-ndjson", &record.to_string()).expect(200);
    assert!(taken.text().contains("versions-hidden"), "{}", taken.text());
    office.is_hidden_from(&["", "bob"], ID);
    office.is_shown_to(&["alice"], VERSION_1);
}

#[test]
fn backup_has_the_access_of_versions() {
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    office.put("alice", "open", "?version=2.0.0&visibility=public");
    let backup = office.get("ops", "/backup").expect(200).body;
    let directory = tempfile::tempdir().unwrap();
    agentdex::registry::restore(&backup[..], directory.path()).unwrap();
    let restored = agentdex::Registry::open(directory.path()).unwrap();
    assert_eq!(restored.as_caller(agentdex::access::Caller::Anonymous).versions(ID).unwrap().len(), 1);
    assert_eq!(restored.versions(ID).unwrap().len(), 2);
    restored.close();
}

#[test]
fn batch_publishes_what_it_puts() {
    let office = Office::open();
    office.put("alice", SECRET, "?version=1.0.0&visibility=private");
    office.put("alice", "still", "?version=2.0.0");
    let line = text(ID, "open");
    let answer =
        office.call("alice", "POST", "/things/batch?visibility=public", "application/x-ndjson", &line).expect(200);
    assert!(answer.text().contains("versions-hidden"), "{}", answer.text());
    office.is_hidden_from(&["", "bob"], ID);
}
