//! Edits of an export in another format: those that the Thing Description has a place for are made there, the others are named.

use serde_json::{Value, json};

use crate::support::TestRegistry;

const ID: &str = "urn:example:tides";
const PATH: &str = "/things/urn:example:tides";

/// A Thing with two actions and hardly anything else, called over HTTP or MCP.
fn described(protocol: &str, further: &Value) -> TestRegistry {
    let form = |tool: &str| match protocol {
        "mcp" => json!({"href": "https://tides.example/mcp", "subprotocol": "mcp", "mcp:tool": tool}),
        _ => json!({"href": format!("https://tides.example/{tool}"), "htv:methodName": "POST"}),
    };
    let action = |tool: &str, text: &str| {
        let input = json!({"type": "object", "properties": {"port": {"type": "string"}}});
        json!({"description": text, "input": input, "forms": [form(tool)]})
    };
    let mut thing = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": ID, "title": "Tides", "description": "Water",
        "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "actions": {"tide": action("tide", "When the water is high"), "level": action("level", "How high it is")},
    });
    thing.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    let registry = TestRegistry::start();
    registry.put(PATH, thing.to_string()).expect(201);
    registry
}

fn export(registry: &TestRegistry, format: &str) -> Value {
    let name = if format == "a2a" { "agent-card" } else { format };
    registry.get(&format!("{PATH}/{name}")).expect(200).json()
}

fn import(registry: &TestRegistry, format: &str, document: &Value) -> crate::support::Answer {
    registry.call("POST", &format!("/import/{format}")).body("application/json", document.to_string()).send()
}

/// Edits the export of a Thing, and imports it. Returns the description before and after, both without `registration`.
fn edited(protocol: &str, further: &Value, format: &str, edit: impl Fn(&mut Value)) -> (Value, Value) {
    let registry = described(protocol, further);
    let read = || {
        let mut thing = registry.get(PATH).expect(200).json();
        thing.as_object_mut().unwrap().remove("registration");
        thing
    };
    let (before, mut document) = (read(), export(&registry, format));
    edit(&mut document);
    let answer = import(&registry, format, &document).expect(200).json();
    assert_eq!(answer["updated"], json!([ID]), "{format}: {answer}");
    assert_eq!(export(&registry, format), document, "{format}");
    let after = (read(), registry.registry().last_seq());
    let again = import(&registry, format, &document).expect(200).json();
    assert_eq!((&again["ids"], &again["updated"]), (&json!([ID]), &json!([])), "{format}: {again}");
    assert_eq!((read(), registry.registry().last_seq()), after, "{format}");
    assert!(agentdex::td::Losses::between(&before, &after.0).is_empty(), "{format}: {}", after.0);
    (before, after.0)
}

/// Edits the export of a Thing, and imports it, which is refused. Returns the named edits.
fn refused(protocol: &str, further: &Value, format: &str, edit: impl Fn(&mut Value)) -> Value {
    let registry = described(protocol, further);
    let (before, mut document) = (registry.get(PATH).expect(200).json(), export(&registry, format));
    edit(&mut document);
    let problem = import(&registry, format, &document).problem(409, "lossy-import");
    let (detail, edits) = (problem["detail"].as_str().unwrap(), &problem["inexpressibleEdits"]);
    for pointer in edits.as_array().unwrap_or_else(|| panic!("{format}: {problem}")) {
        assert!(detail.contains(pointer.as_str().unwrap()), "{format}: {detail}");
    }
    for remedy in ["agentdex edit", "PATCH", "`--replace`"] {
        assert!(detail.contains(remedy), "{format}: {detail}");
    }
    let mut after = registry.get(PATH).expect(200).json();
    after["registration"]["retrieved"] = before["registration"]["retrieved"].clone();
    assert_eq!(after, before, "{format}");
    edits.clone()
}

fn nothing() -> Value {
    json!({})
}

fn version() -> Value {
    json!({"version": {"instance": "1.0.0"}})
}

fn vendor() -> Value {
    let vendor = json!({"lmos:name": "Harbor", "lmos:url": "https://harbor.example"});
    let context = json!(["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1#"}]);
    json!({"@context": context, "version": {"instance": "1.0.0"}, "lmos:metadata": {"lmos:vendor": vendor}})
}

#[test]
fn version_that_a_document_states_is_that_of_a_thing_without_one() {
    for (protocol, format) in [("http", "a2a"), ("mcp", "mcp-server")] {
        let (before, after) = edited(protocol, &nothing(), format, |document| document["version"] = "2.1.0".into());
        assert_eq!((before.get("version"), &after["version"]), (None, &json!({"instance": "2.1.0"})), "{format}");
    }
}

#[test]
fn provider_of_a_document_is_that_of_a_thing_without_one() {
    let provider = json!({"organization": "Harbor", "url": "https://harbor.example"});
    let (_, after) = edited("http", &version(), "a2a", |card| card["provider"] = provider.clone());
    let vendor = json!({"lmos:name": "Harbor", "lmos:url": "https://harbor.example"});
    assert_eq!(after["lmos:metadata"]["lmos:vendor"], vendor);
    assert_eq!(after["@context"][1]["lmos"], "https://eclipse.dev/lmos/protocol/v1", "{after}");
    let (_, after) = edited("http", &self::vendor(), "aos", |agent| {
        agent["provider"] = json!({"name": "Port", "url": "https://port.example"});
    });
    assert_eq!(after["lmos:metadata"]["lmos:vendor"]["lmos:name"], "Port");
}

#[test]
fn tags_and_names_of_skills_are_those_of_capabilities() {
    let (before, after) = edited("http", &version(), "a2a", |card| {
        card["skills"][1]["tags"] = json!(["sea", "ports"]);
        card["skills"][1]["name"] = "Water level".into();
    });
    // Each capability has a name now, which is the title of its action.
    let mut actions = after["actions"].clone();
    let mut titles = actions
        .as_object_mut()
        .unwrap()
        .iter_mut()
        .map(|(name, action)| (name.clone(), action.as_object_mut().unwrap().remove("title")));
    assert_eq!(titles.next_back(), Some(("tide".to_owned(), Some("Water level".into()))), "{after}");
    assert_eq!(titles.next(), Some(("level".to_owned(), Some("level".into()))), "{after}");
    drop(titles);
    assert_eq!(actions, before["actions"]);
    let entry = &after["lmos:capabilities"][1];
    assert_eq!((&entry["lmos:id"], &entry["lmos:tags"]), (&json!("tide"), &json!(["sea", "ports"])), "{after}");
    let entries = json!([{"lmos:id": "tide", "lmos:name": "Tide"}, {"lmos:id": "level", "lmos:name": "Level"}]);
    let mut further = vendor();
    further["lmos:capabilities"] = entries;
    for (format, list, member, value) in [
        ("a2a", "skills", "tags", json!(["sea"])),
        ("a2a", "skills", "examples", json!(["How high?"])),
        ("lmos-capabilities", "capabilities", "name", json!("Water level")),
        ("aos", "tools", "name", json!("Water level")),
    ] {
        let (_, after) = edited("http", &further, format, |document| document[list][1][member] = value.clone());
        assert_eq!(after["lmos:capabilities"][1][format!("lmos:{member}")], value, "{format}: {after}");
    }
}

#[test]
fn title_and_url_of_a_server_with_a_made_up_name_are_edited() {
    for kind in ["server.json", "server-card"] {
        let registry = described("mcp", &version());
        let document = registry.get(&format!("{PATH}/mcp-server?version={kind}")).expect(200).json();
        let name = document["name"].clone();
        for (edit, is_made) in [
            (json!({"title": "Tides and levels"}), "/title"),
            (
                json!({"remotes": [{"type": "streamable-http", "url": "https://port.example/mcp"}]}),
                "/actions/tide/forms/0/href",
            ),
            (json!({"name": "example.harbor/tides"}), "/mcp:name"),
        ] {
            let registry = described("mcp", &version());
            let mut document = document.clone();
            document.as_object_mut().unwrap().extend(edit.as_object().unwrap().clone());
            let answer = import(&registry, "mcp-server", &document).expect(200).json();
            assert_eq!(answer["updated"], json!([ID]), "{edit}: {answer}");
            let exported = registry.get(&format!("{PATH}/mcp-server?version={kind}")).expect(200).json();
            assert_eq!(exported, document, "{edit}");
            let thing = registry.get(PATH).expect(200).json();
            let expected = edit.as_object().unwrap().values().next().unwrap();
            let expected = expected.get(0).map_or(expected, |remote| &remote["url"]);
            assert_eq!(thing.pointer(is_made), Some(expected), "{edit}: {thing}");
            let stated = edit.get("name").unwrap_or(&name);
            assert_eq!(
                (&thing["mcp:name"], &thing["@context"][1]["mcp"]),
                (stated, &json!("urn:agentdex:mcp:")),
                "{thing}"
            );
        }
    }
}

#[test]
fn tools_of_a_document_are_edited_and_added() {
    let tools = "/_meta/io.modelcontextprotocol.registry~1publisher-provided/tools";
    let (_, after) = edited("mcp", &version(), "mcp-server", |server| {
        server.pointer_mut(&format!("{tools}/0/inputSchema/properties")).unwrap()["day"] = json!({"type": "string"});
    });
    let has_day = |action: &Value| action["input"]["properties"].get("day").is_some();
    assert_eq!(after["actions"].as_object().unwrap().values().filter(|action| has_day(action)).count(), 1, "{after}");
    let (before, after) = edited("http", &vendor(), "aos", |agent| {
        let tool = json!({"id": "warn", "name": "warn", "type": "function_call", "description": "Warns of floods", "arguments": null, "outputs": null});
        agent["tools"].as_array_mut().unwrap().push(tool);
    });
    assert_eq!(after["actions"], before["actions"]);
    let entries = after["lmos:capabilities"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["lmos:id"] == "warn"), "{after}");
}

#[test]
fn edit_without_a_counterpart_is_named() {
    // Callers know an action by its name.
    let rename = |file: &mut Value| file["capabilities"][0]["name"] = "ebb".into();
    assert_eq!(refused("http", &version(), "lmos-capabilities", rename), json!(["/capabilities/0/name"]));
    for (edit, pointer) in
        [(json!({"id": "ebb"}), "/skills/0/id"), (json!({"inputModes": ["audio/wav"]}), "/skills/0/inputModes")]
    {
        let change = |card: &mut Value| {
            card["skills"][0].as_object_mut().unwrap().extend(edit.as_object().unwrap().clone());
        };
        assert_eq!(refused("http", &kept(), "a2a", change), json!([pointer]));
    }
    let unknown = |card: &mut Value| card["x-own"] = 1.into();
    assert_eq!(refused("http", &kept(), "a2a", unknown), json!(["/x-own"]));
}

/// Members that a card doesn't have.
fn kept() -> Value {
    json!({"version": {"instance": "1.0.0"}, "support": "mailto:a@a.example"})
}

#[test]
fn links_of_a_document_are_added_to_those_of_the_thing() {
    let license = json!({"rel": "license", "href": "https://tides.example/license"});
    let further = json!({"version": {"instance": "1.0.0"}, "links": [license]});
    let docs = "https://tides.example/docs";
    for (protocol, format, member) in [("http", "a2a", "documentationUrl"), ("mcp", "mcp-server", "websiteUrl")] {
        let (_, after) = edited(protocol, &further, format, |document| document[member] = docs.into());
        assert_eq!((&after["links"][0], &after["links"][1]["href"]), (&license, &json!(docs)), "{format}: {after}");
    }
}
