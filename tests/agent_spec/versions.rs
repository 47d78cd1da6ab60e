//! Versions of the language, and what needs which.

use agentdex::convert::agent_spec::Profile::{Sdk, Spec};
use serde_json::{Value, json};

use super::{agent, errors, llm, warnings, with};

fn versioned(version: Value) -> Value {
    with(agent(), "/agentspec_version", version)
}

#[test]
fn version_may_be_missing_or_go_by_its_old_name() {
    let mut document = agent();
    document.as_object_mut().unwrap().remove("agentspec_version");
    for profile in [Spec, Sdk] {
        assert_eq!(errors(&document, profile), [""; 0]);
        assert_eq!(warnings(&document, profile), ["missing-version "]);
        let renamed = with(document.clone(), "/air_version", json!("25.4.1"));
        assert_eq!(errors(&renamed, profile), [""; 0]);
        let both = with(renamed, "/agentspec_version", json!("none"));
        assert_eq!(errors(&both, profile), ["malformed-version /agentspec_version"]);
    }
}

#[test]
fn malformed_versions_are_refused() {
    for version in [json!("foo"), json!(null), json!(25.4), json!(["25.4.1"]), json!("25.4"), json!("26.5.1")] {
        for profile in [Spec, Sdk] {
            assert_eq!(
                errors(&versioned(version.clone()), profile),
                ["malformed-version /agentspec_version"],
                "{version}"
            );
        }
    }
}

#[test]
fn unknown_newer_version_is_a_warning_by_the_text_alone() {
    for version in ["26.2.0", "26.3.2", "31.1.0"] {
        let document = versioned(json!(version));
        assert_eq!(errors(&document, Spec), [""; 0]);
        assert_eq!(warnings(&document, Spec), ["unknown-version /agentspec_version"]);
        assert_eq!(errors(&document, Sdk), ["unknown-version /agentspec_version"]);
    }
    for profile in [Spec, Sdk] {
        assert!(
            errors(&versioned(json!("25.1.0")), profile).contains(&"unknown-version /agentspec_version".to_owned())
        );
    }
}

#[test]
fn drafts_are_read_as_the_first_release() {
    for version in ["25.3.0", "25.3.1", "25.4.0"] {
        assert_eq!(errors(&versioned(json!(version)), Spec), [""; 0]);
        assert_eq!(warnings(&versioned(json!(version)), Spec), ["draft-version /agentspec_version"]);
    }
    assert_eq!(errors(&versioned(json!("25.4.0")), Sdk), [""; 0]);
    assert!(errors(&versioned(json!("25.3.1")), Sdk).contains(&"version-too-low ".to_owned()));
}

#[test]
fn what_is_used_must_be_known_to_the_version() {
    let retries = json!({"max_attempts": 3});
    let cases = [
        ("/llm_config/api_key", json!("k"), "25.4.2"),
        ("/llm_config/api_type", json!("responses"), "25.4.2"),
        ("/llm_config/retry_policy", retries, "26.1.2"),
        ("/human_in_the_loop", json!(false), "25.4.2"),
        ("/tools/0/requires_confirmation", json!(true), "25.4.2"),
    ];
    for (pointer, value, since) in cases {
        for profile in [Spec, Sdk] {
            let used = with(versioned(json!("25.4.1")), pointer, value.clone());
            assert_eq!(errors(&used, profile), [format!("version-too-low {pointer}")]);
            assert_eq!(errors(&with(used.clone(), "/agentspec_version", json!(since)), profile), [""; 0]);
        }
    }
    let unused = [
        ("/llm_config/api_key", json!(null)),
        ("/llm_config/api_type", json!("chat_completions")),
        ("/human_in_the_loop", json!(true)),
        ("/toolboxes", json!([])),
    ];
    for (pointer, value) in unused {
        assert_eq!(errors(&with(versioned(json!("25.4.1")), pointer, value), Spec), [""; 0], "{pointer}");
    }
}

#[test]
fn component_type_must_be_known_to_the_version() {
    let gemini = json!({"component_type": "GeminiConfig", "id": "llm", "name": "g", "model_id": "m", "auth": {"component_type": "GeminiAIStudioAuthConfig", "id": "auth", "name": "a"}});
    for profile in [Spec, Sdk] {
        let document = with(versioned(json!("25.4.2")), "/llm_config", gemini.clone());
        assert_eq!(errors(&document, profile), ["version-too-low /llm_config/auth", "version-too-low /llm_config"]);
    }
}

#[test]
fn version_below_the_top_is_warned_of() {
    let document = with(agent(), "/llm_config", with(llm("llm"), "/agentspec_version", json!("99")));
    for profile in [Spec, Sdk] {
        assert_eq!(errors(&document, profile), [""; 0]);
        assert_eq!(warnings(&document, profile), ["nested-version /llm_config/agentspec_version"]);
    }
}
