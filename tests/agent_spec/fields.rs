//! Fields: which there are, and what they take.

use agentdex::convert::{
    Syntax,
    agent_spec::{
        Configuration, Options,
        Profile::{Sdk, Spec},
    },
};
use serde_json::{Value, json};

use super::{agent, brief, errors, tool, warnings, with};

#[test]
fn the_text_takes_exactly_what_it_says_and_the_sdk_coerces() {
    let loose = [
        ("/human_in_the_loop", json!("yes")),
        ("/human_in_the_loop", json!(0)),
        ("/llm_config/retry_policy", json!({"max_attempts": "5"})),
        ("/llm_config/retry_policy", json!({"request_timeout": true})),
    ];
    for (pointer, value) in loose {
        let document = with(agent(), pointer, value);
        assert_eq!(errors(&document, Sdk), [""; 0], "{pointer}");
        assert_eq!(errors(&document, Spec).len(), 1, "{pointer}");
    }
    let wrong = [
        ("/human_in_the_loop", json!("maybe")),
        ("/name", json!(5)),
        ("/id", json!(["a"])),
        ("/metadata", json!([1])),
        ("/llm_config/url", json!(null)),
        ("/tools/0", json!("clock")),
    ];
    for (pointer, value) in wrong {
        for profile in [Spec, Sdk] {
            assert_eq!(errors(&with(agent(), pointer, value.clone()), profile), [format!("wrong-type {pointer}")]);
        }
    }
}

#[test]
fn choices_and_bounds_are_checked() {
    let cases = [
        ("/llm_config/api_type", json!("chat"), "/llm_config/api_type"),
        ("/llm_config/api_provider", json!("ollama"), "/llm_config/api_provider"),
        ("/llm_config/retry_policy", json!({"max_attempts": -1}), "/llm_config/retry_policy/max_attempts"),
        ("/llm_config/retry_policy", json!({"backoff_factor": 0}), "/llm_config/retry_policy/backoff_factor"),
        ("/llm_config/retry_policy", json!({"initial_retry_delay": 9}), "/llm_config/retry_policy"),
    ];
    for (pointer, value, place) in cases {
        for profile in [Spec, Sdk] {
            assert_eq!(errors(&with(agent(), pointer, value.clone()), profile), [format!("wrong-value {place}")]);
        }
    }
}

#[test]
fn all_that_is_missing_or_wrong_is_listed_at_once() {
    let document = json!({
        "component_type": "Agent", "agentspec_version": "26.3.1", "id": 1, "system_prompt": null,
        "llm_config": {"component_type": "OciGenAiConfig", "name": "l"}, "tools": [{"component_type": "ServerTool"}, 5],
    });
    let found = errors(&document, Spec);
    for expected in [
        "wrong-type /id",
        "missing-field ",
        "missing-field /llm_config",
        "wrong-type /system_prompt",
        "missing-field /tools/0",
        "wrong-type /tools/1",
    ] {
        assert!(found.contains(&expected.to_owned()), "{expected} isn't in {found:?}");
    }
    assert_eq!(found.iter().filter(|found| *found == "missing-field /llm_config").count(), 3);
}

#[test]
fn contradictions_of_the_text_are_settled() {
    // Both names of the LLM are read, the first is written.
    let mut document = agent();
    let llm = document.as_object_mut().unwrap().remove("llm_config").unwrap();
    let renamed = with(document, "/llm_configuration", llm.clone());
    assert_eq!(errors(&renamed, Spec), [""; 0]);
    assert_eq!(errors(&renamed, Sdk), ["missing-field "]);
    // Of both, the name that is written counts.
    let both = with(agent(), "/llm_configuration", tool("t"));
    assert_eq!(errors(&both, Spec), [""; 0]);
    // Session parameters are free, and may be null.
    let transport = |parameters: Value| json!({"component_type": "StdioTransport", "agentspec_version": "26.3.1", "id": "t", "name": "t", "command": "run", "session_parameters": parameters});
    for parameters in [json!({"anything": [1]}), json!(null), json!({"read_timeout_seconds": "soon"})] {
        assert_eq!(errors(&transport(parameters), Spec), [""; 0]);
    }
    assert_eq!(errors(&transport(json!(null)), Sdk), ["wrong-type /session_parameters"]);
    assert_eq!(
        errors(&transport(json!({"read_timeout_seconds": "soon"})), Sdk),
        ["wrong-type /session_parameters/read_timeout_seconds"]
    );
}

#[test]
fn unknown_fields_are_kept_with_a_warning() {
    let document = with(agent(), "/colour", json!("red"));
    for profile in [Spec, Sdk] {
        assert_eq!(errors(&document, profile), [""; 0]);
        assert_eq!(warnings(&document, profile), ["unknown-field /colour"]);
        // The SDK writes these into whatever it has read.
        let bounded = with(agent(), "/min_agentspec_version", json!("25.4.1"));
        assert_eq!(warnings(&bounded, profile), [""; 0]);
    }
}

#[test]
fn component_says_what_it_is() {
    let cases = [
        (json!("FooTool"), "unknown-component-type /tools/0/component_type"),
        (json!("servertool"), "unknown-component-type /tools/0/component_type"),
        (json!("Tool"), "abstract-component-type /tools/0/component_type"),
        (json!(null), "wrong-type /tools/0/component_type"),
    ];
    for (name, expected) in cases {
        for profile in [Spec, Sdk] {
            assert_eq!(errors(&with(agent(), "/tools/0/component_type", name.clone()), profile), [expected]);
        }
    }
    let report = super::judge(&with(agent(), "/tools/0", json!({"type": "ServerTool", "name": "t"})), Spec);
    assert_eq!(brief(&report.violations), ["missing-component-type /tools/0"]);
    assert!(report.violations[0].message.contains("not `type`"));
}

#[test]
fn component_of_a_plugin_is_kept_with_a_warning() {
    let plugin = json!({"component_type": "Oracle", "id": "o", "name": 5, "component_plugin_name": "Delphi", "component_plugin_version": "1"});
    for profile in [Spec, Sdk] {
        let document = with(agent(), "/tools/0", plugin.clone());
        assert_eq!(errors(&document, profile), [""; 0]);
        assert_eq!(warnings(&document, profile), ["plugin-component /tools/0"]);
        // A type of the language stays one.
        let document = with(with(agent(), "/component_plugin_name", json!("P")), "/name", json!(5));
        assert_eq!(errors(&document, profile), ["wrong-type /name"]);
    }
}

#[test]
fn component_of_a_plugin_is_read_as_the_agent_that_it_extends() {
    let plugin = |type_: &str| {
        let document = with(agent(), "/component_type", json!(type_));
        with(with(document, "/component_plugin_name", json!("AgentPlugin")), "/component_plugin_version", json!("1"))
    };
    for name in ["ExtendedAgent", "PlannerAgent"] {
        let document = plugin(name);
        assert_eq!(warnings(&document, Spec), ["plugin-component /component_type"]);
        let configuration = Configuration::parse(document.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        let thing = configuration.to_things(&Options::default()).unwrap().things.remove(0).description;
        let written = Configuration::parse(agent().to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        let expected = written.to_things(&Options::default()).unwrap().things.remove(0).description;
        let keys = |thing: &Value| {
            agentdex::td::capabilities(thing).iter().map(|one| one.key().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(keys(thing.value()), keys(expected.value()));
    }
}

#[test]
fn repeated_member_is_refused_by_the_text() {
    let text = agent().to_string().replacen("\"name\"", "\"name\":\"first\",\"name\"", 1);
    let configuration = Configuration::parse(text.as_bytes(), Syntax::Json, &[]).unwrap();
    let report = configuration.validate(Spec);
    assert_eq!(report.violations.len(), 1);
    assert_eq!(report.violations[0].rule, "duplicate-member");
    assert!(configuration.validate(Sdk).is_valid());
}

#[test]
fn yaml_says_the_same_as_json() {
    let yaml =
        "component_type: ServerTool\nname: clock\nid: t\nagentspec_version: 25.4.1\nrequires_confirmation: maybe\n";
    let configuration = Configuration::parse(yaml.as_bytes(), Syntax::Yaml, &[]).unwrap();
    let json = json!({"component_type": "ServerTool", "name": "clock", "id": "t", "agentspec_version": "25.4.1", "requires_confirmation": "maybe"});
    for profile in [Spec, Sdk] {
        assert_eq!(configuration.validate(profile), super::judge(&json, profile));
    }
}

#[test]
fn messages_show_no_values_that_may_be_secret() {
    let document =
        with(with(agent(), "/llm_config/api_key", json!(123_454_321)), "/system_prompt", json!(["hush-hush"]));
    let report = super::judge(&document, Spec);
    assert_eq!(report.violations.len(), 2);
    for found in &report.violations {
        assert!(!found.message.contains("12345") && !found.message.contains("hush"), "{}", found.message);
    }
}
