//! Agents as Things and back; what is private in them; the REST API.

use agentdex::{
    convert::{
        Error, Format,
        aos::{AgentDocument, Options, from_thing},
        detect,
    },
    td::{self, Identity, Strictness, Violation},
};
use serde_json::{Value, json};

use super::{agent, fixture};
use crate::support::TestRegistry;

/// The Thing of an agent, which is admitted as it is, and what was odd.
fn thing(document: &[u8], publish_prompts: bool) -> (Value, Vec<Violation>) {
    let document = AgentDocument::parse(document, publish_prompts).unwrap();
    let mut conversion = document.to_thing(&Options::default()).unwrap();
    let converted = conversion.things.remove(0);
    let text = converted.description.text().to_owned();
    let admission = td::admit(converted.description, Identity::Own, Strictness::Strict);
    let admission = admission.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(admission.warnings.is_empty(), "{:#?}\n{text}", admission.warnings);
    (admission.thing.value().clone(), conversion.warnings)
}

fn exported(thing: &Value) -> Value {
    serde_json::from_slice(&from_thing(thing).unwrap().bytes).unwrap()
}

fn rules(warnings: &[Violation]) -> Vec<(&str, &str)> {
    warnings.iter().map(|warning| (warning.rule.as_ref(), warning.pointer.as_str())).collect()
}

#[test]
fn an_agent_comes_back_from_its_thing() {
    let (thing, warnings) = thing(&fixture("travel"), true);
    assert_eq!(rules(&warnings), []);
    let rendition = from_thing(&thing).unwrap();
    assert_eq!(rules(&rendition.warnings), []);
    assert_eq!(serde_json::from_slice::<Value>(&rendition.bytes).unwrap(), agent());
}

#[test]
fn tools_are_capabilities_with_schemas() {
    let (thing, _) = thing(&fixture("travel"), false);
    assert_eq!(thing["@type"], json!(["lmos:Agent", "aos:Agent"]));
    let keys: Vec<_> = td::capabilities(&thing).iter().map(|capability| capability.key().to_owned()).collect();
    assert_eq!(keys, ["find_trains", "cancel_all"]);
    assert_eq!(
        thing["lmos:capabilities"][0]["lmos:input"],
        json!({
            "type": "object", "required": ["to", "from"],
            "properties": {
                "changes": {"type": "number"}, "from": {"type": "string", "contentMediaType": "text/plain"},
                "to": {"type": "string", "description": "Where to"},
            },
        })
    );
    assert_eq!(thing["lmos:capabilities"][1].get("lmos:input"), None);
    let vendor = &thing["lmos:metadata"]["lmos:vendor"];
    assert_eq!(
        (&vendor["lmos:name"], &vendor["lmos:url"]),
        (&json!("Example Travel"), &json!("https://travel.example"))
    );
    assert_eq!(
        thing["links"],
        json!([
            {"rel": "related", "href": "urn:agentdex:mcp:com.example/timetable", "type": "application/td+json"},
            {"rel": "item", "href": "https://travel.example/stations.csv", "type": "text/csv"},
        ])
    );
}

#[test]
fn what_is_private_is_not_stored_unless_it_is_published() {
    let (hidden, warnings) = thing(&fixture("travel"), false);
    assert_eq!(
        rules(&warnings),
        [
            ("hidden-prompt", "/instructions"),
            ("hidden-prompt", "/resources/0/content"),
            ("hidden-prompt", "/resources/1/content")
        ]
    );
    let stored = AgentDocument::parse(&fixture("travel"), false).unwrap();
    let texts = format!("{hidden}{}", String::from_utf8_lossy(stored.bytes()));
    assert!(!texts.contains("Never book") && !texts.contains("consent of a manager"), "{texts}");
    let rendition = from_thing(&hidden).unwrap();
    assert!(rendition.warnings.iter().all(|warning| warning.rule == "private") && rendition.warnings.len() == 3);
    let mut expected = agent();
    for private in ["/instructions", "/resources/0/content", "/resources/1/content"] {
        *expected.pointer_mut(private).unwrap() = "".into();
    }
    assert_eq!(exported(&hidden), expected);
}

#[test]
fn a_tool_that_was_changed_in_the_thing_is_changed_in_the_agent() {
    let (mut thing, _) = thing(&fixture("travel"), true);
    let entry = &mut thing["lmos:capabilities"][0];
    entry["lmos:name"] = "Find connections".into();
    entry["lmos:input"]["properties"] = json!({"station": {"type": "string"}});
    entry["lmos:input"]["required"] = json!([]);
    let agent = exported(&thing);
    assert_eq!(agent["tools"][0]["name"], "Find connections");
    assert_eq!(agent["tools"][0]["arguments"], json!([{"name": "station", "type": "string", "required": false}]));
    assert_eq!(agent["tools"][0]["outputs"], self::agent()["tools"][0]["outputs"]);
}

#[test]
fn things_that_never_were_agents_of_aos_are_exported_with_warnings() {
    let input = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let lamp = json!({
        "id": "urn:x:lamp", "title": "Lamp", "version": {"instance": "1.0.0"},
        "lmos:metadata": {"lmos:vendor": {"lmos:name": "Example", "lmos:url": "https://example.org"}},
        "lmos:capabilities": [{"id": "light"}, {"id": "switch-off"}],
        "actions": {
            "dim": {"title": "Dim", "description": "Less light", "input": input, "output": {"type": "string"}},
            "switchOff": {"title": "How `switch-off` is invoked"},
        },
    });
    let rendition = from_thing(&lamp).unwrap();
    assert_eq!(rules(&rendition.warnings), [("private", "/aos:instructions")]);
    let agent = exported(&lamp);
    assert_eq!(
        agent["tools"],
        json!([
            {"id": "light", "name": "light", "type": "function_call", "arguments": null, "outputs": null},
            {"id": "switch-off", "name": "switch-off", "type": "function_call", "arguments": null, "outputs": null},
            {
                "id": "dim", "name": "Dim", "type": "api_request", "description": "Less light",
                "arguments": [{"name": "n", "type": "number", "required": true}],
                "outputs": [{"name": "output", "type": "string"}],
            },
        ])
    );
    AgentDocument::parse(agent.to_string().as_bytes(), false).unwrap();
    let mut wrong = lamp.clone();
    wrong["aos:model"] = "large".into();
    assert!(matches!(from_thing(&wrong), Err(Error::NotExpressible { format: "aos", .. })));
    // Nothing is invented.
    for missing in ["version", "lmos:metadata"] {
        let mut incomplete = lamp.clone();
        incomplete.as_object_mut().unwrap().remove(missing);
        let refused = from_thing(&incomplete).unwrap_err().to_string();
        assert!(refused.contains("version") && refused.contains("lmos:vendor"), "{refused}");
    }
}

#[test]
fn other_documents_are_refused_with_everything_that_is_wrong() {
    let mut wrong = agent();
    wrong["provider"] = json!({"name": 1});
    match AgentDocument::parse(wrong.to_string().as_bytes(), false) {
        Err(Error::InvalidSource { format: "aos", report }) => assert_eq!(
            rules(&report.violations),
            [("member-type", "/provider/name"), ("member-missing", "/provider/url")]
        ),
        other => panic!("{other:?}"),
    }
    for (document, words) in [
        (json!([]), "it is not an object"),
        (json!({"component_type": "Agent", "name": "a"}), "an Open Agent Spec configuration"),
        (json!({}), "`instructions` is missing"),
    ] {
        let refusal = AgentDocument::parse(document.to_string().as_bytes(), false).unwrap_err();
        let Error::InvalidSource { report, .. } = refusal else { panic!("{refusal:?}") };
        assert!(report.violations.iter().any(|one| one.message.contains(words)), "{report}");
    }
    assert_eq!(detect(&agent().to_string()).unwrap(), Format::Aos);
}

#[test]
fn credentials_are_hidden_and_odd_members_reported() {
    let mut document = agent();
    let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
    document["metadata"]["note"] = format!("the key is {key}").into();
    document["provider"]["url"] = "javascript:alert(1)".into();
    document["tools"][1]["id"] = "find_trains".into();
    let (thing, warnings) = thing(document.to_string().as_bytes(), true);
    let mut found = rules(&warnings);
    found.sort_unstable();
    assert_eq!(
        found,
        [("duplicate-id", "/tools/1/id"), ("secret-value", "/metadata/note"), ("url-broken", "/provider/url")]
    );
    assert!(!thing.to_string().contains(&key));
    assert_eq!(exported(&thing)["provider"]["url"], "javascript:alert(1)");
}

#[test]
fn agents_are_imported_found_and_exported_over_http() {
    let registry = TestRegistry::start();
    let import =
        |query: &str| registry.call("POST", &format!("/import/aos{query}")).body("application/json", fixture("travel"));
    let answer = import("").send().expect(201);
    assert_eq!(answer.json()["created"], json!(["urn:example:agents:travel"]));
    let path = "/things/urn:example:agents:travel/aos";
    let read = registry.get(path).expect(200).json();
    assert_eq!(read["instructions"], "[redacted]");
    assert_eq!(read["tools"], agent()["tools"]);
    let found = |words: &str| registry.get(&format!("/search?consistent=true&q={words}")).expect(200).json();
    assert_eq!(found("connections")["hits"][0]["id"], "urn:example:agents:travel");
    assert_eq!(found("capability:find_trains")["hits"][0]["id"], "urn:example:agents:travel");
    assert_eq!(found("%22consent+of+a+manager%22&mode=lexical")["hits"], json!([]));
    let filtered = registry.get("/search?consistent=true&format=aos&vendor=Example+Travel").expect(200).json();
    assert_eq!(filtered["hits"][0]["id"], "urn:example:agents:travel");
    import("?publish_prompts=true").send().expect(200);
    assert_eq!(registry.get(path).expect(200).text().as_bytes(), fixture("travel"));
    assert_eq!(found("%22consent+of+a+manager%22&mode=lexical")["hits"][0]["id"], "urn:example:agents:travel");
    let refusal = registry.call("POST", "/import/aos").body("application/json", r#"{"id": "a"}"#).send();
    refusal.problem(400, "invalid-document");
}
