//! The Things of parts of a document have its access: at its import, when it is imported again, and when its access changes.

use std::collections::BTreeMap;

use agentdex::{
    access::{AccessRequest, Role, Visibility},
    registry::Write,
};
use serde_json::{Value, json};

use crate::support::{Answer, Call, TestRegistry, agent};

const DESK: &str = "urn:agentspec:local:desk";

/// A Swarm with that many agents, `m0` and so on: each becomes a Thing.
fn desk(agents: usize) -> Value {
    let names: Vec<String> = (0..agents).map(|number| format!("m{number}")).collect();
    let reference = |name: &String| json!({"$component_ref": name});
    let agent = |name: &String| {
        json!({
            "component_type": "Agent", "id": name, "name": name, "description": "Answers questions", "metadata": {},
            "inputs": [], "outputs": [], "system_prompt": "Answer in one sentence.", "tools": [],
            "llm_config": {
                "component_type": "VllmConfig", "id": format!("{name}-llm"), "name": "llm",
                "url": "https://llm.example/v1", "model_id": "small",
            },
        })
    };
    let relationships: Vec<Value> =
        names.iter().skip(1).map(|name| json!([reference(&names[0]), reference(name)])).collect();
    let components: BTreeMap<&String, Value> = names.iter().map(|name| (name, agent(name))).collect();
    json!({
        "component_type": "Swarm", "agentspec_version": "26.1.0", "id": "desk", "name": "Desk", "inputs": [], "outputs": [],
        "first_agent": reference(&names[0]), "relationships": relationships, "$referenced_components": components,
    })
}

/// A server with two owners and an admin.
struct Office {
    registry: TestRegistry,
    alice: String,
    bob: String,
    admin: String,
}

impl Office {
    fn start() -> Office {
        let registry = TestRegistry::guarded();
        let key = |owner, role| registry.key(owner, role);
        let (alice, bob, admin) = (key("alice", Role::Register), key("bob", Role::Register), key("ops", Role::Admin));
        Office { registry, alice, bob, admin }
    }

    fn call(&self, key: &str, method: &str, path: &str) -> Call {
        self.registry.call(method, path).header("authorization", &format!("Bearer {key}"))
    }

    fn import(&self, key: &str, parameters: &str, agents: usize) -> Answer {
        let call = self.call(key, "POST", &format!("/import/agent-spec?nested=true{parameters}"));
        call.body("application/json", desk(agents).to_string()).send()
    }

    fn set_access(&self, key: &str, id: &str, access: Value) -> Answer {
        self.call(key, "PUT", &format!("/things/{id}/access")).body("application/json", access.to_string()).send()
    }

    /// Bob has an agent with the id of a member.
    fn register_m2_of_bob(&self, visibility: &str) {
        let id = "urn:agentspec:local:m2";
        let call = self.call(&self.bob, "PUT", &format!("/things/{id}?visibility={visibility}"));
        call.body("application/td+json", agent(id, "Bob's")).send().expect(201);
    }

    /// The Things that there are, each with owner, visibility and namespace.
    fn accesses(&self) -> BTreeMap<String, String> {
        let things = self.registry.registry().list().map(|thing| {
            let thing = thing.unwrap();
            let access = thing.access();
            let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            let owner = text(access.owner.as_ref().map(ToString::to_string));
            let namespace = text(access.namespace.as_ref().map(ToString::to_string));
            let name = thing.id().rsplit(':').next().unwrap().to_owned();
            (name, format!("{owner} {} {namespace}", access.visibility))
        });
        things.collect()
    }

    fn assert_all(&self, names: &[&str], access: &str) {
        let expected = names.iter().map(|name| ((*name).to_owned(), access.to_owned())).collect();
        assert_eq!(self.accesses(), expected);
    }
}

#[test]
fn parts_have_the_access_of_their_document_at_each_step() {
    let office = Office::start();
    let members = json!({"members": ["bob"]}).to_string();
    office.call(&office.alice, "PUT", "/namespaces/crew").body("application/json", members).send().expect(201);
    office.import(&office.alice, "&visibility=private", 2).expect(201);
    office.assert_all(&["desk", "m0", "m1"], "alice private -");
    // One more, without a word of access, also by an admin.
    office.import(&office.alice, "", 3).expect(201);
    office.assert_all(&["desk", "m0", "m1", "m2"], "alice private -");
    office.import(&office.admin, "", 4).expect(201);
    office.assert_all(&["desk", "m0", "m1", "m2", "m3"], "alice private -");
    for id in ["desk", "m0", "m2", "m3"] {
        office.call(&office.bob, "GET", &format!("/things/urn:agentspec:local:{id}")).send().expect(404);
    }
    let before = office.registry.get("/changes").json()["last"].clone();
    office
        .call(&office.alice, "PUT", &format!("/things/{DESK}/access?dry_run=true"))
        .body("application/json", r#"{"visibility": "public"}"#)
        .send()
        .expect(200);
    assert_eq!(office.registry.get("/changes").json()["last"], before);

    office.set_access(&office.alice, DESK, json!({"visibility": "public"})).expect(204);
    office.assert_all(&["desk", "m0", "m1", "m2", "m3"], "alice public -");
    office.set_access(&office.alice, DESK, json!({"visibility": "namespace", "namespace": "crew"})).expect(204);
    office.assert_all(&["desk", "m0", "m1", "m2", "m3"], "alice namespace crew");
    office.import(&office.alice, "", 2).expect(200);
    office.assert_all(&["desk", "m0", "m1"], "alice namespace crew");
    office.import(&office.alice, "", 3).expect(201);
    office.assert_all(&["desk", "m0", "m1", "m2"], "alice namespace crew");
    office.set_access(&office.alice, DESK, json!({"visibility": "private", "namespace": null})).expect(204);
    office.assert_all(&["desk", "m0", "m1", "m2"], "alice private -");

    // An admin gives it to Bob, who changes and removes all of it.
    office.set_access(&office.admin, DESK, json!({"owner": "bob"})).expect(204);
    office.assert_all(&["desk", "m0", "m1", "m2"], "bob private -");
    office.import(&office.alice, "", 3).expect(403);
    office.import(&office.bob, "", 4).expect(201);
    office.assert_all(&["desk", "m0", "m1", "m2", "m3"], "bob private -");
    office.call(&office.bob, "DELETE", &format!("/things/{DESK}")).send().expect(204);
    office.assert_all(&[], "");
}

#[test]
fn put_that_asks_for_an_access_moves_the_parts_too() {
    let office = Office::start();
    let members = json!({"members": ["bob"]}).to_string();
    office.call(&office.alice, "PUT", "/namespaces/crew").body("application/json", members).send().expect(201);
    office.register_m2_of_bob("public");
    office.import(&office.alice, "", 3).expect(201);
    let path = format!("/things/{DESK}");
    let mut description = office.call(&office.alice, "GET", &path).send().expect(200).json();
    description.as_object_mut().unwrap().remove("registration");
    let mut put = |key: &str, title: &str, parameters: &str| {
        description["title"] = title.into();
        let call = office.call(key, "PUT", &format!("{path}{parameters}"));
        call.body("application/td+json", description.to_string())
    };
    let accesses =
        || office.accesses().into_iter().map(|(name, access)| format!("{name} {access}")).collect::<Vec<_>>();
    let bobs = "m2 bob public -";
    let public = ["desk alice public -", "m0 alice public -", "m1 alice public -", bobs];
    let last = || office.registry.get("/changes").json()["last"].as_u64().unwrap();

    // Nothing of what isn't done.
    put(&office.alice, "A", "?visibility=private&dry_run=true").send().expect(200);
    put(&office.bob, "B", "?visibility=private").send().expect(403);
    put(&office.alice, "C", "?visibility=private").header("if-match", "\"77\"").send().expect(412);
    assert_eq!(accesses(), public);

    // The text of the document with the access of all of it.
    let before = last();
    put(&office.alice, "D", "?visibility=private").send().expect(204);
    assert_eq!(accesses(), ["desk alice private -", "m0 alice private -", "m1 alice private -", bobs]);
    // One change each, the parts right after the document, as those of one transaction are.
    let changes = office.registry.get("/changes?limit=1000").json()["changes"].as_array().unwrap().clone();
    assert_eq!(changes.iter().filter(|change| change["seq"].as_u64() > Some(before)).count(), 3);
    for id in ["desk", "m0", "m1"] {
        office.call(&office.bob, "GET", &format!("/things/urn:agentspec:local:{id}")).send().expect(404);
    }
    assert_eq!(office.call(&office.alice, "GET", &path).send().expect(200).json()["title"], "D");
    // By an admin, and without a word of access.
    put(&office.admin, "E", "?visibility=namespace&namespace=crew").send().expect(204);
    let crew = ["desk alice namespace crew", "m0 alice namespace crew", "m1 alice namespace crew", bobs];
    assert_eq!(accesses(), crew);
    put(&office.alice, "F", "").send().expect(204);
    assert_eq!(accesses(), crew);
    office.call(&office.bob, "GET", "/things/urn:agentspec:local:m0").send().expect(200);
    // The same text again: the access alone changes.
    put(&office.alice, "F", "?visibility=public").send().expect(204);
    let public = ["desk alice public crew", "m0 alice public crew", "m1 alice public crew", bobs];
    assert_eq!(accesses(), public);
    // A patch of a program.
    let access = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    let patch = Write::patch(DESK, r#"{"title": "G"}"#).with_access(access);
    office.registry.registry().write_blocking(patch).unwrap();
    assert!(accesses()[..3].iter().all(|access| access.contains("alice private")), "{:?}", accesses());
}

#[test]
fn parts_of_another_owner_are_neither_changed_nor_named() {
    let office = Office::start();
    office.register_m2_of_bob("private");
    office.import(&office.alice, "&visibility=private", 4).expect(201);
    let access = office.set_access(&office.admin, "urn:agentspec:local:m3", json!({"owner": "bob"}));
    assert_eq!(access.problem(409, "part-of-document")["documents"], json!([DESK]));
    office.set_access(&office.alice, DESK, json!({"visibility": "public"})).expect(204);
    let accesses = office.accesses();
    assert_eq!((accesses["m3"].as_str(), accesses["m2"].as_str()), ("alice public -", "bob private -"));
    // It is no part that goes with the document.
    let removed = office.import(&office.alice, "", 2).expect(200).json()["removed"].clone();
    assert_eq!(removed, json!(["urn:agentspec:local:m3"]));
    let removal = office.call(&office.alice, "DELETE", &format!("/things/{DESK}"));
    let removed = removal.header("prefer", "return=representation").send().expect(200);
    assert!(removed.text().contains("m1") && !removed.text().contains("m2"), "{}", removed.text());
    office.assert_all(&["m2"], "bob private -");
}

#[test]
fn access_under_a_condition_that_fails_changes_no_part() {
    let office = Office::start();
    office.import(&office.alice, "&visibility=private", 2).expect(201);
    let call = office.call(&office.alice, "PUT", &format!("/things/{DESK}/access")).header("if-match", "\"77\"");
    call.body("application/json", r#"{"visibility": "public"}"#).send().problem(412, "precondition-failed");
    office.set_access(&office.bob, DESK, json!({"visibility": "public"})).expect(404);
    office.assert_all(&["desk", "m0", "m1"], "alice private -");
}
