//! `POST /import/agent-spec` and `GET /things/{id}/agent-spec`.

use agentdex::convert::{
    Syntax,
    agent_spec::{Configuration, Profile},
};
use serde_json::{Value, json};

use crate::support::{Answer, Call, TestRegistry, agent as thing, eventually, number_of};

/// A small agent that the language and its SDK accept.
fn agent(id: &str, name: &str) -> Value {
    json!({
        "component_type": "Agent",
        "agentspec_version": "25.4.1",
        "id": id,
        "name": name,
        "description": "Answers questions",
        "metadata": {},
        "inputs": [],
        "outputs": [],
        "llm_config": {
            "component_type": "VllmConfig",
            "id": format!("{id}-llm"),
            "name": "llm",
            "url": "https://llm.example/v1",
            "model_id": "small",
        },
        "system_prompt": "Answer in one sentence.",
        "tools": [],
    })
}

/// The same in YAML.
fn agent_in_yaml(id: &str, name: &str) -> String {
    format!(
        "# who it is\ncomponent_type: Agent\nagentspec_version: 25.4.1\nid: {id}\nname: {name}\n\
         description: Answers questions\nmetadata: {{}}\ninputs: []\noutputs: []\nllm_config:\n  \
         component_type: VllmConfig\n  id: {id}-llm\n  name: llm\n  url: https://llm.example/v1\n  model_id: small\n\
         system_prompt: Answer in one sentence.\ntools: []\n"
    )
}

/// Two agents in one document: with `nested` both become Things.
fn swarm() -> Value {
    let (first, second) = (json!({"$component_ref": "first"}), json!({"$component_ref": "second"}));
    let nested = |id: &str, name: &str| {
        let mut agent = agent(id, name);
        agent.as_object_mut().unwrap().remove("agentspec_version");
        agent
    };
    json!({
        "component_type": "Swarm",
        "agentspec_version": "26.1.0",
        "id": "swarm",
        "name": "Swarm",
        "inputs": [],
        "outputs": [],
        "first_agent": first,
        "relationships": [[first, second]],
        "handoff": false,
        "$referenced_components": {"first": nested("first", "First"), "second": nested("second", "Second")},
    })
}

fn import(registry: &TestRegistry, query: &str, body: impl ToString) -> Answer {
    post(registry, query, "application/json", body.to_string())
}

fn post(registry: &TestRegistry, query: &str, media_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    registry.call("POST", &format!("/import/agent-spec{query}")).body(media_type, body).send()
}

fn original(registry: &TestRegistry, id: &str) -> Answer {
    registry.get(&format!("/things/{id}/agent-spec"))
}

/// How many changes there have been.
fn changes(registry: &TestRegistry) -> u64 {
    number_of(registry.registry().last_seq())
}

fn rules(problem: &Value) -> Vec<&str> {
    problem["validationErrors"].as_array().unwrap().iter().map(|error| error["rule"].as_str().unwrap()).collect()
}

#[test]
fn agent_becomes_a_thing() {
    let registry = TestRegistry::start();
    let answer = import(&registry, "", agent("weather", "Weather agent")).expect(201);
    let body = answer.json();
    assert_eq!(body["ids"], json!(["urn:agentspec:local:weather"]));
    assert_eq!((&body["created"], &body["updated"]), (&body["ids"], &json!([])));
    assert_eq!(answer.header("agentdex-warnings"), body["warnings"].as_array().unwrap().len().to_string());
    assert_eq!(answer.header("location"), "/things/urn:agentspec:local:weather");
    let read = registry.get(&answer.header("location")).expect(200);
    assert_eq!(read.json()["title"], "Weather agent");
    assert_eq!(read.header("etag"), answer.header("etag"));
    let found = registry.get("/search?q=weather&format=agent-spec&consistent=true").json();
    assert_eq!(found["hits"][0]["id"], "urn:agentspec:local:weather");
}

#[test]
fn same_document_again_changes_nothing() {
    let registry = TestRegistry::start();
    import(&registry, "", agent("a", "A")).expect(201);
    let (before, tag) = (changes(&registry), original(&registry, "urn:agentspec:local:a").header("etag"));
    let again = import(&registry, "", agent("a", "A")).expect(200);
    let body = again.json();
    assert_eq!((&body["created"], &body["updated"]), (&json!([]), &json!([])));
    assert_eq!(body["ids"], json!(["urn:agentspec:local:a"]));
    assert_eq!(changes(&registry), before);
    assert_eq!(original(&registry, "urn:agentspec:local:a").header("etag"), tag);
    let changed = import(&registry, "", agent("a", "B")).expect(200).json();
    assert_eq!((&changed["created"], &changed["updated"]), (&json!([]), &json!(["urn:agentspec:local:a"])));
    assert_eq!(changes(&registry), before + 1);
}

#[test]
fn yaml_and_json_give_the_same_thing() {
    let registry = TestRegistry::start();
    import(&registry, "?publisher=json", agent("a", "A")).expect(201);
    let in_json = registry.get("/things/urn:agentspec:json:a").text().replace("urn:agentspec:json:", "");
    for (publisher, media_type) in
        [("y1", "application/yaml"), ("y2", "text/yaml; charset=utf-8"), ("y3", "application/x-yaml")]
    {
        post(&registry, &format!("?publisher={publisher}"), media_type, agent_in_yaml("a", "A")).expect(201);
        let id = format!("urn:agentspec:{publisher}:a");
        let in_yaml = registry.get(&format!("/things/{id}")).text().replace(&format!("urn:agentspec:{publisher}:"), "");
        let comparable = |text: &str| {
            let mut thing: Value = serde_json::from_str(text).unwrap();
            thing.as_object_mut().unwrap().remove("registration");
            thing
        };
        assert_eq!(comparable(&in_yaml), comparable(&in_json));
    }
}

#[test]
fn another_original_of_the_same_description_is_reported_and_exported() {
    let registry = TestRegistry::start();
    let id = "urn:agentspec:local:a";
    post(&registry, "", "application/json", agent("a", "A").to_string()).expect(201);
    let before = registry.get(&format!("/things/{id}")).header("etag").to_owned();
    let changes = changes(&registry);
    // The same agent in another syntax, then the same document again, then with its prompts.
    for (query, document, expected, exported) in [
        ("?dry_run=true", agent_in_yaml("a", "A"), json!([id]), "application/json"),
        ("", agent_in_yaml("a", "A"), json!([id]), "application/yaml"),
        ("", agent_in_yaml("a", "A"), json!([]), "application/yaml"),
    ] {
        let answer = post(&registry, query, "application/yaml", document).expect(200).json();
        assert_eq!((&answer["originalUpdated"], &answer["updated"]), (&expected, &json!([])), "{answer}");
        assert_eq!(original(&registry, id).header("content-type"), exported);
    }
    assert_eq!(self::changes(&registry), changes);
    assert_eq!(registry.get(&format!("/things/{id}")).header("etag"), before);
}

#[test]
fn original_comes_back_in_its_own_format() {
    let registry = TestRegistry::start();
    let document = agent("a", "A");
    import(&registry, "?publish_prompts=true", &document).expect(201);
    let answer = original(&registry, "urn:agentspec:local:a").expect(200);
    assert_eq!((answer.header("content-type").as_str(), answer.json()), ("application/json", document));
    post(&registry, "?publish_prompts=true", "application/yaml", agent_in_yaml("b", "B")).expect(201);
    let answer = original(&registry, "urn:agentspec:local:b").expect(200);
    assert_eq!(answer.header("content-type"), "application/yaml");
    assert!(answer.text().contains("name: B") && !answer.text().contains("who it is"), "{}", answer.text());
}

#[test]
fn original_in_yaml_is_given_in_json_too() {
    let registry = TestRegistry::start();
    post(&registry, "?publish_prompts=true", "application/yaml", agent_in_yaml("a", "A")).expect(201);
    import(&registry, "?publish_prompts=true", agent("b", "B")).expect(201);
    let ask = |id: &str, accept: &str| {
        registry.call("GET", &format!("/things/urn:agentspec:local:{id}/agent-spec")).header("accept", accept)
    };
    let own = original(&registry, "urn:agentspec:local:a").expect(200);
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (accept, media_type) in [
        ("*/*", "application/yaml"),
        (browser, "application/yaml"),
        ("application/json;q=0.5, application/yaml", "application/yaml"),
        ("text/yaml", "text/yaml"),
    ] {
        let answer = ask("a", accept).send().expect(200);
        assert_eq!((answer.header("content-type").as_str(), answer.text()), (media_type, own.text()), "{accept}");
    }
    for media_type in ["application/json", "application/vnd.agentspec+json"] {
        let answer = ask("a", &format!("{media_type}, */*;q=0.1")).send().expect(200);
        assert_eq!(answer.header("content-type"), media_type);
        assert_ne!(answer.header("etag"), own.header("etag"));
        assert_eq!(answer.json()["name"], "A");
        let again = import(&registry, "?publish_prompts=true&dry_run=true", answer.json()).expect(200).json();
        assert_eq!((&again["updated"], &again["created"]), (&json!([]), &json!([])), "{again}");
    }
    let with_warnings = ask("a", "application/json").header("prefer", "return=effect").send().expect(200).json();
    assert_eq!(with_warnings["mediaType"], "application/json", "{with_warnings}");
    assert!(serde_json::from_str::<Value>(with_warnings["document"].as_str().unwrap()).is_ok());
    let problem = ask("a", "application/xml").send().problem(406, "not-acceptable");
    for offered in ["application/yaml", "application/json"] {
        assert!(problem["offered"].as_array().unwrap().contains(&json!(offered)), "{problem}");
    }
    let problem = ask("b", "application/yaml").send().problem(406, "not-acceptable");
    assert_eq!(problem["offered"], json!(["application/json", "application/vnd.agentspec+json"]));
}

#[test]
fn json_without_anything_to_hide_comes_back_byte_for_byte() {
    let registry = TestRegistry::start();
    let text = agent("a", "A")
        .to_string()
        .replace("\"tools\":[]", "\"tools\"  : [ ],\n  \"metadata\": {\"x\": 1.50, \"y\": 1e2}");
    let text = text.replacen("\"metadata\":{},", "", 1);
    import(&registry, "?publish_prompts=true", &text).expect(201);
    assert_eq!(original(&registry, "urn:agentspec:local:a").expect(200).text(), text);
}

#[test]
fn original_is_read_conditionally() {
    let registry = TestRegistry::start();
    import(&registry, "", agent("a", "A")).expect(201);
    let path = "/things/urn:agentspec:local:a/agent-spec";
    let tag = registry.get(path).header("etag");
    let read = |header: &str, tag: &str| registry.call("GET", path).header(header, tag).send();
    assert_eq!(read("if-none-match", &tag).expect(304).body, b"");
    read("if-none-match", "\"other\"").expect(200);
    read("if-match", "\"other\"").problem(412, "precondition-failed");
    assert_eq!(registry.head(path).expect(200).header("etag"), tag);
    import(&registry, "", agent("a", "B")).expect(200);
    assert_ne!(read("if-none-match", &tag).expect(200).header("etag"), tag);
    registry.call("DELETE", path).send().problem(405, "method-not-allowed");
}

#[test]
fn things_that_never_were_configurations_say_why_there_is_none() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:test:a", thing("urn:test:a", "A")).expect(201);
    let problem = original(&registry, "urn:test:a").problem(409, "not-expressible");
    assert!(problem["detail"].as_str().unwrap().contains("agent-spec"), "{problem}");
    original(&registry, "urn:test:none").problem(404, "not-found");
}

#[test]
fn things_that_never_were_configurations_become_valid_ones() {
    let registry = TestRegistry::start();
    let path = "/things/urn:example:agents:weather";
    registry.put(path, include_str!("../../examples/agents/weather.json")).expect(201);
    let answer = registry.get(&format!("{path}/agent-spec")).expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let configuration = Configuration::parse(&answer.body, Syntax::Json, &[]).unwrap();
    for profile in [Profile::Spec, Profile::Sdk] {
        let report = configuration.validate(profile);
        assert!(report.is_valid(), "{profile:?}: {report}");
    }
    let tag = answer.header("etag");
    registry.patch(path, r#"{"title": "Another"}"#).expect(204);
    assert_ne!(registry.get(&format!("{path}/agent-spec")).expect(200).header("etag"), tag);
}

#[test]
fn export_of_what_was_changed_by_hand_has_the_change() {
    let registry = TestRegistry::start();
    import(&registry, "", agent("a", "A")).expect(201);
    let path = "/things/urn:agentspec:local:a";
    registry.patch(path, r#"{"registration": {"ttl": 1000}}"#).expect(204);
    original(&registry, "urn:agentspec:local:a").expect(200);
    registry.patch(path, r#"{"title": "Another"}"#).expect(204);
    let answer = original(&registry, "urn:agentspec:local:a");
    assert_eq!(answer.expect(200).json()["name"], "Another");
}

#[test]
fn nested_agents_come_with_the_document_or_not_at_all() {
    let registry = TestRegistry::start();
    import(&registry, "", swarm()).expect(201);
    assert_eq!(registry.get("/things").json().as_array().unwrap().len(), 1);
    let body = import(&registry, "?nested=true", swarm()).expect(201).json();
    let ids = ["urn:agentspec:local:swarm", "urn:agentspec:local:first", "urn:agentspec:local:second"];
    assert_eq!(body["ids"][0], ids[0]);
    assert_eq!(body["created"].as_array().unwrap().len(), 2);
    for id in ids {
        registry.get(&format!("/things/{id}")).expect(200);
    }
    registry.delete(&format!("/things/{}", ids[0])).expect(204);
    import(&registry, "", agent("second", "Second")).expect(201);
    let before = changes(&registry);
    let problem = import(&registry, "?nested=true&if_exists=refuse", swarm()).problem(409, "already-exists");
    assert_eq!(problem["id"], ids[2]);
    assert_eq!(changes(&registry), before);
    registry.get(&format!("/things/{}", ids[0])).problem(404, "not-found");
}

#[test]
fn id_is_that_of_the_thing_of_the_document() {
    let registry = TestRegistry::start();
    let mut anonymous = swarm();
    anonymous.as_object_mut().unwrap().remove("id");
    let (first, second) = (json!("urn:agentspec:local:first"), json!("urn:agentspec:local:second"));
    for document in [anonymous, swarm()] {
        let body = import(&registry, "?nested=true&id=urn:test:swarm", document).json();
        assert_eq!(body["ids"], json!(["urn:test:swarm", first, second]), "{body}");
    }
    for part in [&first, &second] {
        let part = registry.get(&format!("/things/{}", part.as_str().unwrap())).expect(200).json();
        assert_eq!(part["registration"]["agentdex:partOf"], json!(["urn:test:swarm"]));
    }
    assert_eq!(registry.registry().len(), 3);
    import(&registry, "?id=", agent("a", "A")).problem(400, "invalid-id");

    // What is exported of a description comes back as that description.
    let mut description: Value = serde_json::from_str(&thing("urn:test:by-hand", "By hand")).unwrap();
    description["actions"] = json!({"ask": {"forms": [{"href": "https://agents.example/ask"}]}});
    registry.put("/things/urn:test:by-hand", description.to_string()).expect(201);
    let exported = original(&registry, "urn:test:by-hand").expect(200).text().to_owned();
    import(&registry, "?id=urn:test:copy", exported).expect(201);
    let described = |id: &str| {
        let mut thing = registry.get(&format!("/things/{id}")).expect(200).json();
        for member in ["id", "registration"] {
            thing.as_object_mut().unwrap().remove(member);
        }
        thing
    };
    assert_eq!(described("urn:test:copy"), described("urn:test:by-hand"));
}

#[test]
fn parts_that_a_later_version_lacks_are_removed_with_it() {
    let registry = TestRegistry::start();
    let path = |id: &str| format!("/things/urn:agentspec:local:{id}");
    import(&registry, "?nested=true", swarm()).expect(201);
    let part_of = &registry.get(&path("second")).json()["registration"]["agentdex:partOf"];
    assert_eq!(*part_of, json!(["urn:agentspec:local:swarm"]));
    // What is registered in another way since belongs to nobody.
    import(&registry, "", agent("first", "First")).expect(200);
    let before = changes(&registry);
    let foreseen = import(&registry, "?nested=false&dry_run=true", swarm()).expect(200).json();
    assert_eq!(foreseen["removed"], json!(["urn:agentspec:local:second"]));
    assert_eq!(changes(&registry), before);
    let warned = |body: &Value| {
        let warnings = body["warnings"].as_array().unwrap().iter().filter(|warning| warning["rule"] == "parts-removed");
        warnings.map(|warning| warning["message"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let removed_by_import = warned(&foreseen);
    assert_eq!(removed_by_import.len(), 1, "{foreseen}");
    for words in ["urn:agentspec:local:second", "`nested`"] {
        assert!(removed_by_import[0].contains(words), "{removed_by_import:?}");
    }
    let body = import(&registry, "?nested=false", swarm()).expect(200).json();
    assert_eq!(warned(&body), removed_by_import);
    assert_eq!(
        (&body["ids"], &body["removed"]),
        (&json!(["urn:agentspec:local:swarm"]), &json!(["urn:agentspec:local:second"]))
    );
    registry.get(&path("second")).problem(404, "not-found");
    let changes = registry.get("/changes?since=0").expect(200).json();
    let deleted = changes["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "thing_deleted");
    assert_eq!(deleted.unwrap()["reason"], "source-gone");
    registry.get(&path("first")).expect(200);
    let again = import(&registry, "", swarm()).expect(200).json();
    assert_eq!((&again["removed"], warned(&again)), (&json!([]), Vec::new()));
}

#[test]
fn parts_go_with_the_thing_of_their_document() {
    let registry = TestRegistry::start();
    let path = |id: &str| format!("/things/urn:agentspec:local:{id}");
    import(&registry, "?nested=true", swarm()).expect(201);
    // What is registered in another way since belongs to nobody.
    import(&registry, "", agent("first", "First")).expect(200);
    let before = changes(&registry);
    let foreseen = registry.delete(&format!("{}?dry_run=true", path("swarm"))).expect(200).json();
    assert_eq!((&foreseen["dryRun"], &foreseen["effect"]), (&json!(true), &json!("removed")));
    assert_eq!(changes(&registry), before);
    let message =
        "these Things are removed, since no document declares them as parts any more: urn:agentspec:local:second";
    let parts_removed = json!([{"pointer": "", "rule": "parts-removed", "message": message}]);
    assert_eq!(foreseen["warnings"], parts_removed);
    let call = registry.call("DELETE", &path("swarm")).header("prefer", "return=representation");
    let removed = call.send().expect(200);
    assert_eq!(removed.header("agentdex-warnings"), "1");
    assert_eq!((&removed.json()["dryRun"], &removed.json()["warnings"]), (&json!(false), &parts_removed));
    registry.get(&path("second")).problem(404, "not-found");
    registry.get(&path("first")).expect(200);
    let reasons = |registry: &TestRegistry| -> Vec<(Value, Value)> {
        let changes = registry.get("/changes?since=0").expect(200).json();
        let deleted = changes["changes"].as_array().unwrap().iter().filter(|change| change["kind"] == "thing_deleted");
        deleted.map(|change| (change["id"].clone(), change["reason"].clone())).collect()
    };
    let (swarm_id, second_id) = (json!("urn:agentspec:local:swarm"), json!("urn:agentspec:local:second"));
    let expected = [(swarm_id, json!("removed")), (second_id, json!("source-gone"))];
    assert_eq!(reasons(&registry), expected);
    registry.delete(&path("first")).expect(204);
}

#[test]
fn removal_under_a_condition_that_fails_removes_no_part() {
    let registry = TestRegistry::start();
    import(&registry, "?nested=true", swarm()).expect(201);
    let before = changes(&registry);
    let call = registry.call("DELETE", "/things/urn:agentspec:local:swarm").header("if-match", "\"77\"");
    call.send().problem(412, "precondition-failed");
    assert_eq!(changes(&registry), before);
    registry.get("/things/urn:agentspec:local:second").expect(200);
}

#[test]
fn parts_expire_with_the_thing_of_their_document() {
    let registry = TestRegistry::start();
    let path = |id: &str| format!("/things/urn:agentspec:local:{id}");
    import(&registry, "?nested=true", swarm()).expect(201);
    registry
        .call("PATCH", &path("swarm"))
        .body("application/merge-patch+json", r#"{"registration": {"ttl": 1}}"#)
        .send();
    let reason = |id: &str| {
        let id = format!("urn:agentspec:local:{id}");
        let changes = registry.get("/changes?since=0").expect(200).json();
        let mut all = changes["changes"].as_array().unwrap().iter();
        Some(all.find(|change| change["kind"] == "thing_deleted" && change["id"] == json!(id))?["reason"].clone())
    };
    eventually("all are purged", || {
        ["swarm", "first", "second"].map(reason) == [(); 3].map(|()| Some(json!("expired")))
    });
}

#[test]
fn values_that_an_export_leaves_out_are_counted() {
    let registry = TestRegistry::start();
    let mut document = agent("a", "A");
    import(&registry, "", &document).expect(201);
    let exported = original(&registry, "urn:agentspec:local:a");
    assert!(exported.text().contains("$component_ref"), "the prompt is hidden");
    assert_eq!(exported.header("agentdex-warnings"), "1");
    document["llm_config"]["api_key"] = json!("a key that nobody may see");
    document["agentspec_version"] = json!("25.4.2");
    import(&registry, "", &document).expect(200);
    assert_eq!(original(&registry, "urn:agentspec:local:a").header("agentdex-warnings"), "2");
    import(&registry, "?publish_prompts=true", agent("b", "B")).expect(201);
    assert_eq!(original(&registry, "urn:agentspec:local:b").header("agentdex-warnings"), "");
}

#[test]
fn dry_run_tells_what_would_be() {
    let registry = TestRegistry::start();
    let foreseen = import(&registry, "?dry_run=true", agent("a", "A")).expect(200);
    assert_eq!(foreseen.json()["dryRun"], true);
    assert_eq!(foreseen.json()["created"], json!(["urn:agentspec:local:a"]));
    assert_eq!(foreseen.header("location"), "");
    assert_eq!(changes(&registry), 0);
    import(&registry, "", agent("a", "A")).expect(201);
    let foreseen = import(&registry, "?dry_run=true", agent("a", "B")).expect(200).json();
    assert_eq!((&foreseen["created"], &foreseen["updated"]), (&json!([]), &json!(["urn:agentspec:local:a"])));
    import(&registry, "?dry_run=true&if_exists=refuse", agent("a", "A")).problem(409, "already-exists");
    assert_eq!(changes(&registry), 1);
}

#[test]
fn time_to_live_is_asked_for() {
    let registry = TestRegistry::start();
    import(&registry, "?ttl=1000", agent("a", "A")).expect(201);
    assert_eq!(registry.get("/things/urn:agentspec:local:a").json()["registration"]["ttl"], 1000);
}

#[test]
fn all_that_is_wrong_is_told_with_its_place() {
    let registry = TestRegistry::start();
    let mut document = agent("a", "A");
    document.as_object_mut().unwrap().remove("name");
    document["llm_config"]["model_id"] = json!(7);
    document["system_prompt"] = json!([]);
    let problem = import(&registry, "", &document).problem(400, "invalid-document");
    let errors = problem["validationErrors"].as_array().unwrap();
    assert!(errors.len() >= 3, "{problem}");
    for error in errors {
        assert!(error["pointer"].as_str().is_some() && error["rule"].as_str().is_some_and(|rule| !rule.is_empty()));
        assert!(error["description"].as_str().is_some_and(|words| !words.is_empty()), "{problem}");
    }
    let pointers: Vec<_> = errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert!(pointers.iter().any(|pointer| pointer.starts_with("/llm_config")), "{pointers:?}");
    assert_eq!(changes(&registry), 0);
}

#[test]
fn root_that_is_no_agent_gives_no_thing() {
    let registry = TestRegistry::start();
    let mut llm = agent("a", "A")["llm_config"].take();
    llm["agentspec_version"] = json!("25.4.1");
    let problem = import(&registry, "", &llm).problem(400, "invalid-document");
    assert_eq!(rules(&problem), ["no-thing"]);
}

#[test]
fn parameters_are_read_strictly() {
    let registry = TestRegistry::start();
    for (query, name) in [
        ("?bases=https://a.example", "bases"),
        ("?if_exists=maybe", "if_exists"),
        ("?profile=strict", "profile"),
        ("?nested=2", "nested"),
        ("?ttl=soon", "ttl"),
        ("?dry_run=true&dry_run=true", "dry_run"),
    ] {
        let problem = import(&registry, query, agent("a", "A")).problem(400, "invalid-parameter");
        assert_eq!(problem["parameter"], name);
    }
    assert_eq!(changes(&registry), 0);
}

#[test]
fn forms_are_made_of_the_base() {
    let registry = TestRegistry::start();
    import(&registry, "?base=https://host.example/agents/a", agent("a", "A")).expect(201);
    let thing = registry.get("/things/urn:agentspec:local:a").json();
    assert_eq!(thing["actions"]["A"]["forms"][0]["href"], "https://host.example/agents/a");
    let problem = import(&registry, "?base=https://host.example/{x}", agent("b", "B")).problem(400, "invalid-document");
    assert!(problem.to_string().contains("{id} and {name}"), "{problem}");
}

#[test]
fn bodies_that_are_no_configurations_are_refused() {
    let registry = TestRegistry::start();
    let document = agent("a", "A").to_string();
    post(&registry, "", "text/plain", document.clone()).problem(415, "unsupported-media-type");
    let bare = registry.call("POST", "/import/agent-spec").bare_body(document.clone()).send();
    let problem = bare.problem(415, "unsupported-media-type");
    assert!(problem["detail"].as_str().unwrap().contains("application/yaml"), "{problem}");
    import(&registry, "", "{\n\"component_type\": }").problem(400, "malformed-json");
    let problem = post(&registry, "", "application/yaml", "a: 1\nb: [secret\n").problem(400, "malformed-yaml");
    assert!(problem["line"].is_u64() && !problem.to_string().contains("secret"), "{problem}");
    registry.get("/import/agent-spec").problem(405, "method-not-allowed");
    assert_eq!(changes(&registry), 0);
}

#[test]
fn hostile_bodies_are_refused_quickly() {
    let registry = TestRegistry::start();
    let started = std::time::Instant::now();
    let mut bomb = String::from("component_type: Agent\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..10 {
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(","));
    }
    post(&registry, "", "application/yaml", bomb).problem(400, "limit-exceeded");
    for deep in ["[".repeat(10_000), format!("{{\"component_type\":{}", "{\"a\":".repeat(10_000))] {
        let problem = import(&registry, "", &deep);
        assert_eq!(problem.status, 400, "{}", problem.text());
        assert_eq!(post(&registry, "", "application/yaml", deep).status, 400);
    }
    import(&registry, "", " ".repeat(50_000_000)).problem(413, "body-too-large");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    registry.get("/health/live").expect(200);
}

/// A part of a multi-part body.
fn part(disposition: &str, text: &str) -> String {
    format!("--limit\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{text}\r\n")
}

fn multipart(registry: &TestRegistry, parts: &[String]) -> Call {
    let body = format!("{}--limit--\r\n", parts.concat());
    registry.call("POST", "/import/agent-spec").body("multipart/form-data; boundary=limit", body)
}

#[test]
fn components_come_as_further_parts() {
    let registry = TestRegistry::start();
    let mut document = agent("a", "A");
    let llm = document["llm_config"].take();
    document["llm_config"] = json!({"$component_ref": "a-llm"});
    import(&registry, "", &document).problem(400, "invalid-document");
    let component = json!({"$referenced_components": {"a-llm": llm}}).to_string();
    let parts = [
        part("name=\"component\"; filename=\"llm.json\"", &component),
        part("name=\"document\"; filename=\"agent.json\"", &document.to_string()),
    ];
    let answer = multipart(&registry, &parts).send().expect(201);
    assert_eq!(answer.json()["ids"], json!(["urn:agentspec:local:a"]));
    let in_yaml = "$referenced_components:\n  a-llm: {component_type: VllmConfig, id: a-llm, name: llm, url: 'https://llm.example/v1', model_id: small}\n";
    let parts =
        [part("name=\"document\"", &document.to_string()), part("name=\"component\"; filename=\"llm.yaml\"", in_yaml)];
    multipart(&registry, &parts).send().expect(200);
    multipart(&registry, &parts[1..]).send().problem(400, "malformed-multipart");
}

#[test]
fn forms_of_foreign_pages_are_refused() {
    let registry = TestRegistry::start();
    let parts = [part("name=\"document\"", &agent("a", "A").to_string())];
    for foreign in ["https://evil.example", "null", "http://127.0.0.1", ""] {
        multipart(&registry, &parts).header("origin", foreign).send().problem(403, "foreign-origin");
    }
    assert_eq!(changes(&registry), 0);
    multipart(&registry, &parts).header("origin", &registry.url("")).send().expect(201);
}
