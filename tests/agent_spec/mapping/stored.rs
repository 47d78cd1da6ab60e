//! What is stored of a configuration.

use super::*;

/// The document as it is kept.
fn kept(text: &str, syntax: Syntax) -> String {
    let conversion = convert_text(text, syntax, &options()).unwrap();
    String::from_utf8(conversion.things[0].source.bytes.clone()).unwrap()
}

#[test]
fn json_without_anything_to_hide_is_kept_byte_for_byte() {
    let text = "\u{feff} { \"name\":\"T\\u0065st\" ,\n\t\"x\" : 1.50, \"component_type\": \"A2AAgent\", \"id\": \"a\",
        \"agentspec_version\": \"25.4.2\", \"agent_url\": \"https://h/a\", \"connection_config\":
        {\"component_type\": \"A2AConnectionConfig\", \"id\": \"c\", \"name\": \"c\", \"key_file\": null, \"headers\": {}} } \n";
    assert_eq!(kept(text, Syntax::Json), text);
}

#[test]
fn only_what_is_hidden_changes_in_json() {
    let text = r#"{"component_type":"Agent", "id":"a", "name": "n", "agentspec_version": "26.1.2",
        "system_prompt" : "Be \"brief\".", "metadata": {"x": 1.50},
        "llm_config": {"id": "l", "name": "l", "component_type": "OpenAiConfig", "model_id": "m", "api_key":"sk"} }"#;
    let expected = text
        .replace(r#""Be \"brief\".""#, r#"{"$component_ref":"a.system_prompt"}"#)
        .replace(r#""sk""#, r#"{"$component_ref":"l.api_key"}"#);
    assert_eq!(kept(text, Syntax::Json), expected);
}

#[test]
fn yaml_is_kept_as_yaml_without_its_comments() {
    let yaml = "\
# a secret: hunter2
component_type: A2AAgent
id: a # hunter2
name: |
  two
  lines
agentspec_version: 25.4.2
agent_url: 'https://h/a'
connection_config: {component_type: A2AConnectionConfig, id: c, name: c, key_file: hunter2}
";
    let expected = "\
component_type: A2AAgent
id: a
name: |
  two
  lines
agentspec_version: \"25.4.2\"
agent_url: https://h/a
connection_config:
  component_type: A2AConnectionConfig
  id: c
  name: c
  key_file:
    $component_ref: c.key_file
";
    assert_eq!(kept(yaml, Syntax::Yaml).replace("\"$component_ref\"", "$component_ref"), expected);
}

#[test]
fn parts_are_kept_with_what_they_refer_to() {
    let tool = json!({"component_type": "ServerTool", "id": "clock", "name": "clock"});
    let inner = |id: &str| {
        let mut agent = agent();
        agent["id"] = id.into();
        agent["llm_config"]["id"] = format!("{id}-llm").into();
        agent["tools"] = json!([{"$component_ref": "clock"}]);
        agent.as_object_mut().unwrap().remove("agentspec_version");
        agent
    };
    let document = json!({
        "component_type": "ManagerWorkers", "agentspec_version": "26.1.2", "id": "team", "name": "team",
        "group_manager": inner("one"), "workers": [{"$component_ref": "two"}],
        "$referenced_components": {"two": inner("two"), "clock": tool},
    });
    let conversion = convert(&document, &Options { nested: true, ..options() }).unwrap();
    check(&conversion);
    let ids: Vec<_> = conversion.things.iter().map(|thing| thing.id.rsplit(':').next().unwrap()).collect();
    assert_eq!(ids, ["team", "one", "two"]);
    for thing in &conversion.things[1..] {
        let source = &thing.source;
        let read = Configuration::parse(&source.bytes, Syntax::Json, &[]).unwrap();
        for profile in [Profile::Spec, Profile::Sdk] {
            let report = read.validate(profile);
            assert!(report.is_valid(), "{profile:?}: {report}");
        }
        let source: Value = serde_json::from_slice(&source.bytes).unwrap();
        assert_eq!(source["$referenced_components"], json!({"clock": tool}));
        assert_eq!(source["agentspec_version"], "26.1.2");
    }
}

#[test]
fn documents_beside_the_configuration_are_not_stored_with_a_warning() {
    let document = json!({
        "component_type": "Agent", "agentspec_version": "26.1.2", "id": "a", "name": "a", "system_prompt": "",
        "llm_config": {"$component_ref": "llm"},
    });
    let beside = json!({"$referenced_components": {"llm": {
        "component_type": "OpenAiConfig", "id": "llm", "name": "llm", "model_id": "m", "api_key": "hunter2",
    }}});
    let (document, beside) = (document.to_string(), beside.to_string());
    let configuration =
        Configuration::parse(document.as_bytes(), Syntax::Json, &[(beside.as_bytes(), Syntax::Json)]).unwrap();
    let conversion = configuration.to_things(&options()).unwrap();
    assert_eq!(conversion.things[0].source.bytes, document.as_bytes());
    assert!(conversion.things[0].description.text().contains(r#""agentspec:modelName":"m""#));
    assert!(conversion.warnings.iter().any(|warning| warning.rule == "components-not-stored"));
}

#[test]
fn repeated_members_show_no_secrets() {
    let text = r#"{"component_type": "A2AAgent", "id": "a", "name": "a", "agentspec_version": "25.4.2",
        "agent_url": "https://h/a", "metadata": {"api_key": "hunter2hunter2"}, "metadata": {},
        "connection_config": {"component_type": "A2AConnectionConfig", "id": "c", "name": "c"}}"#;
    let options = Options { profile: Profile::Sdk, ..options() };
    let conversion = convert_text(text, Syntax::Json, &options).unwrap();
    let kept = String::from_utf8(conversion.things[0].source.bytes.clone()).unwrap();
    assert!(!kept.contains("hunter2") && kept.contains(r#""metadata": {}"#), "{kept}");
    assert!(!conversion.warnings.is_empty());
}

#[test]
fn inputs_that_a_hidden_prompt_asked_for_may_be_used_by_others() {
    let mut inner = agent();
    for name in ["inputs", "agentspec_version"] {
        inner.as_object_mut().unwrap().remove(name);
    }
    let document = json!({
        "component_type": "SpecializedAgent", "agentspec_version": "26.1.2", "id": "special", "name": "special",
        "inputs": [{"title": "city", "type": "string"}, {"title": "language", "type": "string"}], "agent": inner,
        "agent_specialization_parameters": {"component_type": "AgentSpecializationParameters", "id": "p", "name": "p"},
    });
    for profile in [Profile::Spec, Profile::Sdk] {
        let options = Options { profile, ..options() };
        let first = convert(&document, &options).unwrap();
        let kept = String::from_utf8(first.things[0].source.bytes.clone()).unwrap();
        assert!(kept.contains("weather.system_prompt"), "{kept}");
        let second = convert_text(&kept, Syntax::Json, &options).unwrap();
        assert_eq!(second.things[0].description.text(), first.things[0].description.text());
    }
}
