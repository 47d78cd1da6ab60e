//! `POST /convert`: what a document is, and what it would be registered as.

use serde_json::{Map, Value, json};

use crate::support::{Answer, TestRegistry, agent};

fn convert(registry: &TestRegistry, query: &str, media_type: &str, document: impl Into<Vec<u8>>) -> Answer {
    registry.call("POST", &format!("/convert{query}")).body(media_type, document).send()
}

fn card() -> Value {
    json!({
        "name": "Rhymer", "description": "Rhymes.", "version": "1.0.0", "url": "https://rhymes.example/a2a",
        "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "rhyme", "name": "Rhyme", "description": "Rhymes two lines", "tags": ["verse"]}],
    })
}

#[test]
fn integers_of_more_than_64_bits_are_warned_of_wherever_they_are() {
    const LARGE: &str = "123456789012345678901234";
    let registry = TestRegistry::start();
    let card = r#"{"name": "A", "description": "d", "version": "1", "url": "https://a.example", "protocolVersion": "0.3.0",
        "capabilities": {"extensions": [{"uri": "urn:x", "params": {"n": LARGE}}]}, "skills": [], "defaultInputModes": [], "defaultOutputModes": []}"#;
    let server = r#"{"name": "com.example/a", "description": "d", "version": "1.0.0", "_meta": {"n": LARGE},
        "remotes": [{"type": "sse", "url": "https://a.example"}]}"#;
    let file = r#"{"id": "urn:x:f", "capabilities": [{"name": "a", "version": "1.0.0", "n": [LARGE]}]}"#;
    let agent = r#"{"id": "urn:x:o", "name": "A", "version": "1.0.0", "instructions": "", "metadata": {"n": LARGE},
        "provider": {"name": "x", "url": "https://x.example"}}"#;
    let tool = r#"{"component_type": "RemoteTool", "agentspec_version": "25.4.1", "id": "t", "name": "t", "url": "https://a.example",
        "http_method": "POST", "data": {"n": LARGE}, "query_params": {}, "headers": {}, "inputs": [], "outputs": []}"#;
    for (format, document, pointer) in [
        ("a2a", card, "/capabilities/extensions/0/params/n"),
        ("mcp-server", server, "/_meta/n"),
        ("lmos-capabilities", file, "/capabilities/0/n/0"),
        ("aos", agent, "/metadata/n"),
        ("agent-spec", tool, "/data/n"),
    ] {
        let document = document.replace("LARGE", LARGE);
        let answer = registry
            .call("POST", &format!("/import/{format}"))
            .body("application/json", document)
            .send()
            .expect(201)
            .json();
        let rounded = |answer: &serde_json::Value| -> Vec<String> {
            let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
            let rounded = warnings.into_iter().filter(|warning| warning["rule"] == "rounded-integer");
            rounded.map(|warning| warning["pointer"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(rounded(&answer), [pointer], "{format}: {answer}");
        let id = answer["ids"][0].as_str().unwrap().replace('/', "%2F");
        // The document itself keeps its digits.
        let name = if format == "a2a" { "agent-card" } else { format };
        let original = registry.get(&format!("/things/{id}/{name}")).expect(200);
        assert!(original.text().contains(LARGE), "{format}: {}", original.text());
        if format == "a2a" {
            let other =
                registry.call("GET", &format!("/things/{id}/{name}?version=1.0")).header("prefer", "return=effect");
            assert_eq!(rounded(&other.send().expect(200).json()), [pointer]);
        }
    }
    // So does a description; an export of it in another format doesn't.
    let thing = r#"{"@context": ["https://www.w3.org/2022/wot/td/v1.1", {"a2a": "urn:agentdex:a2a:"}], "id": "urn:x:t", "title": "T",
        "version": {"instance": "1"}, "securityDefinitions": {"n": {"scheme": "nosec"}}, "security": "n", "a2a:n": LARGE,
        "actions": {"a": {"forms": [{"href": "https://a.example", "subprotocol": "a2a"}]}}}"#;
    registry.put("/things/urn:x:t", thing.replace("LARGE", LARGE)).expect(201);
    assert!(registry.get("/things/urn:x:t").text().contains(LARGE));
    let made =
        registry.call("GET", "/things/urn:x:t/agent-card").header("prefer", "return=effect").send().expect(200).json();
    let warnings = made["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning["rule"] == "rounded-integer" && warning["pointer"] == "/a2a:n"),
        "{made}"
    );
}

#[test]
fn documents_of_every_format_are_shown_as_things() {
    let registry = TestRegistry::start();
    let lmos = include_str!("../../examples/lmos/capabilities.json");
    let spec = include_str!("../../examples/agent-spec/weather.yaml");
    let json = "application/json";
    for (document, media_type, format, register) in [
        (agent("urn:example:a", "A"), json, "td", "/things"),
        (card().to_string(), json, "a2a", "/import/a2a"),
        (spec.to_owned(), "application/yaml", "agent-spec", "/import/agent-spec"),
        (lmos.to_owned(), json, "lmos-capabilities", "/import/lmos-capabilities"),
        (include_str!("../../examples/mcp/server.json").to_owned(), json, "mcp-server", "/import/mcp-server"),
        (include_str!("../../examples/aos/travel.json").to_owned(), json, "aos", "/import/aos"),
    ] {
        let query = if format == "lmos-capabilities" { "?id=urn:example:tariffs" } else { "" };
        let converted = convert(&registry, query, media_type, document.clone()).expect(200).json();
        assert_eq!((&converted["format"], &converted["register"]), (&json!(format), &json!(register)), "{converted}");
        assert_eq!((&converted["valid"], &converted["violations"]), (&json!(true), &json!([])), "{converted}");
        let thing = converted["things"][0].to_string();
        assert!(registry.registry().is_empty(), "it is stored");
        // What is shown is a description that is registered as it is.
        let checked = registry.post("/validate", thing).expect(200).json();
        assert_eq!(checked["valid"], true, "{format}: {checked}");
    }
}

/// The members of an object in JSON as lines of YAML, in which what is within them may stay JSON.
fn in_yaml(json: &str) -> String {
    let members: Map<String, Value> = serde_json::from_str(json).unwrap();
    members.iter().map(|(name, value)| format!("{name:?}: {value}\n")).collect()
}

#[test]
fn what_is_valid_in_yaml_is_imported_in_yaml() {
    let registry = TestRegistry::start();
    for (document, format) in [
        (card().to_string(), "a2a"),
        (include_str!("../../examples/agent-spec/support.json").to_owned(), "agent-spec"),
        (include_str!("../../examples/lmos/capabilities.json").to_owned(), "lmos-capabilities"),
        (include_str!("../../examples/mcp/server.json").to_owned(), "mcp-server"),
        (include_str!("../../examples/aos/travel.json").to_owned(), "aos"),
    ] {
        let yaml = in_yaml(&document);
        let query = if format == "lmos-capabilities" { "?id=urn:example:tariffs" } else { "" };
        for media_type in ["application/yaml", "text/yaml"] {
            let converted = convert(&registry, query, media_type, yaml.clone()).expect(200).json();
            assert_eq!((&converted["format"], &converted["valid"]), (&json!(format), &json!(true)), "{converted}");
            let path = format!("{}{query}", converted["register"].as_str().unwrap());
            let imported = registry.call("POST", &path).body(media_type, yaml.clone()).send();
            let ids = imported.json()["ids"].clone();
            assert!(imported.status < 300 && ids[0] == converted["things"][0]["id"], "{format}: {}", imported.text());
            // Who exports it reads JSON, as ever; Agent Spec alone has a YAML of its own.
            let exports = registry.get("/").json()["formats"].clone();
            let export =
                exports.as_array().unwrap().iter().find(|one| one["name"] == format).unwrap()["export"].clone();
            let exported =
                registry.get(&export.as_str().unwrap().replace("{id}", ids[0].as_str().unwrap())).expect(200);
            let expected = if format == "agent-spec" { "application/yaml" } else { "application/json" };
            assert_eq!(exported.header("content-type"), expected, "{format}");
        }
    }
    let refused = registry.call("POST", "/import/a2a").body("application/yaml", "a: [").send();
    refused.problem(400, "malformed-yaml");
}

#[test]
fn parameters_of_the_format_count_and_those_of_others_do_not() {
    let registry = TestRegistry::start();
    let spec = include_str!("../../examples/agent-spec/support.json");
    let made = |query: &str| convert(&registry, query, "application/json", spec).expect(200).json();
    assert!(!made("").to_string().contains("https://agents.example"));
    let based = made("?base=https://agents.example/support&protocol=a2a&publisher=");
    assert!(based["things"].to_string().contains("https://agents.example/support"), "{based}");
    let problem = convert(&registry, "?protocol=smoke", "application/json", spec).problem(400, "invalid-parameter");
    assert_eq!(problem["parameter"], "protocol");
    let card =
        convert(&registry, "?protocol=smoke&base=https://rhymes.example/", "application/json", card().to_string());
    assert_eq!(card.expect(200).json()["valid"], true);

    // The table of formats says which there are.
    let formats = registry.get("/").expect(200).json()["formats"].clone();
    let of =
        |name: &str| formats.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["parameters"].clone();
    assert_eq!(of("td"), json!([]));
    let kinds: Vec<_> =
        of("a2a").as_array().unwrap().iter().map(|one| (one["name"].clone(), one["kind"].clone())).collect();
    assert_eq!(kinds, [(json!("id"), json!("id")), (json!("base"), json!("url"))]);
    let protocol = of("agent-spec").as_array().unwrap().iter().find(|one| one["name"] == "protocol").unwrap().clone();
    assert_eq!((&protocol["kind"], &protocol["choices"]), (&json!("choice"), &json!(["http", "a2a"])));
}

#[test]
fn what_is_wrong_is_listed_with_its_place() {
    let registry = TestRegistry::start();
    let wrong = r#"{"component_type": "Agent", "agentspec_version": "25.4.1", "name": 7}"#;
    let converted = convert(&registry, "", "application/json", wrong).expect(200).json();
    assert_eq!((&converted["format"], &converted["valid"]), (&json!("agent-spec"), &json!(false)), "{converted}");
    let violations = converted["violations"].as_array().unwrap();
    assert!(violations.iter().any(|one| one["pointer"] == "/name"), "{converted}");
    assert_eq!(converted["things"], json!([]));

    let undefined = agent("urn:example:a", "A").replace("[\"nosec_sc\"]", "[\"none\"]");
    let converted = convert(&registry, "", "application/td+json", undefined).expect(200).json();
    assert!(converted["violations"][0]["pointer"].as_str().unwrap().starts_with("/security"), "{converted}");
}

#[test]
fn thing_description_is_shown_as_it_would_be_stored() {
    let registry = TestRegistry::start();
    let named = agent("my agent", "A");
    let converted = convert(&registry, "", "application/json", named).expect(200).json();
    assert_eq!(converted["things"][0]["id"], "urn:agentdex:my%20agent");
    assert_eq!(converted["warnings"][0]["rule"], "id-not-uri", "{converted}");

    let anonymous = agent("urn:example:a", "A").replace("\"id\": \"urn:example:a\",", "");
    let converted = convert(&registry, "", "application/json", anonymous.clone()).expect(200).json();
    assert_eq!((&converted["valid"], &converted["things"][0]["id"]), (&json!(true), &Value::Null), "{converted}");
    let converted = convert(&registry, "?id=urn:example:b", "application/json", anonymous).expect(200).json();
    assert_eq!(converted["things"][0]["id"], "urn:example:b");
}

#[test]
fn what_is_no_such_document_is_refused() {
    let registry = TestRegistry::start();
    convert(&registry, "", "application/json", "{").problem(400, "malformed-json");
    convert(&registry, "", "application/json", "{}").problem(400, "unclear-format");
    convert(&registry, "", "application/yaml", "a: [").problem(400, "malformed-yaml");
    convert(&registry, "", "text/plain", "{}").problem(415, "unsupported-media-type");
    assert!(registry.registry().is_empty());
}
