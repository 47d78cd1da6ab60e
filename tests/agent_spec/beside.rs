//! Documents of components beside the main one.

use agentdex::convert::agent_spec::Profile::{Sdk, Spec};
use serde_json::{Value, json};

use super::{agent, brief, judge_with, llm, tool, with};

fn referring() -> Value {
    with(agent(), "/llm_config", json!({"$component_ref": "llm"}))
}

fn errors(document: &Value, beside: &[&Value], profile: agentdex::convert::agent_spec::Profile) -> Vec<String> {
    brief(&judge_with(document, beside, profile).violations)
}

#[test]
fn components_may_come_in_documents_of_their_own() {
    let beside = json!({"$referenced_components": {"llm": llm("llm")}});
    for profile in [Spec, Sdk] {
        assert_eq!(errors(&referring(), &[&beside], profile), [""; 0]);
        assert_eq!(errors(&referring(), &[], profile), ["unresolved-reference /llm_config"]);
    }
}

#[test]
fn values_may_come_in_documents_of_their_own() {
    let beside = json!({"$referenced_components": {"url": "http://llm.example", "key": "s3cret"}});
    let document = with(agent(), "/llm_config/url", json!({"$component_ref": "url"}));
    let document = with(document, "/llm_config/api_key", json!({"$component_ref": "key"}));
    assert_eq!(errors(&document, &[&beside], Spec), [""; 0]);
    assert_eq!(errors(&document, &[&beside], Sdk).len(), 2);
}

#[test]
fn message_says_which_document_is_wrong() {
    let first = json!({"$referenced_components": {"clock": tool("clock2")}});
    let second = json!({"$referenced_components": {"llm": with(llm("llm"), "/model_id", json!(5))}});
    let report = judge_with(&referring(), &[&first, &second], Spec);
    let wrong = report.violations.iter().find(|found| found.rule == "wrong-type").unwrap();
    assert_eq!(wrong.pointer, "/$referenced_components/llm/model_id");
    assert!(wrong.message.ends_with("(in component document 2)"), "{}", wrong.message);
}

#[test]
fn such_a_document_has_components_and_nothing_else() {
    for profile in [Spec, Sdk] {
        let with_root = json!({"component_type": "ServerTool", "$referenced_components": {"llm": llm("llm")}});
        assert_eq!(errors(&referring(), &[&with_root], profile), ["more-than-definitions /component_type"]);
        assert_eq!(errors(&agent(), &[&json!([])], profile), ["no-definitions "]);
        let alone = json!({"$referenced_components": {"llm": llm("llm")}});
        assert_eq!(errors(&alone, &[], profile), ["no-root "]);
    }
    let versioned = json!({"agentspec_version": "26.3.1", "$referenced_components": {"llm": llm("llm")}});
    assert_eq!(errors(&referring(), &[&versioned], Spec), [""; 0]);
    assert_eq!(errors(&referring(), &[&versioned], Sdk), ["more-than-definitions /agentspec_version"]);
}

#[test]
fn an_id_is_defined_in_one_document() {
    let beside = json!({"$referenced_components": {"llm": llm("llm")}});
    let document = with(referring(), "/$referenced_components", json!({"llm": llm("llm")}));
    let found = errors(&document, &[&beside], Spec);
    assert!(found.contains(&"duplicate-reference /$referenced_components/llm".to_owned()), "{found:?}");
    // What the SDK is handed goes first.
    assert_eq!(errors(&document, &[&beside], Sdk), [""; 0]);
}

#[test]
fn the_sdk_reads_each_component_on_its_own() {
    let pair = json!({"$referenced_components": {
        "clock": tool("clock"),
        "params": {"component_type": "AgentSpecializationParameters", "id": "params", "name": "p", "additional_tools": [{"$component_ref": "clock"}]},
    }});
    assert_eq!(
        errors(&agent(), &[&pair], Sdk),
        ["unresolved-reference /$referenced_components/params/additional_tools/0"]
    );
    let clock = json!({"$referenced_components": {"clock": tool("clock")}});
    let params = json!({"$referenced_components": {"params": pair["$referenced_components"]["params"]}});
    assert_eq!(errors(&agent(), &[&clock, &params], Sdk), [""; 0]);
    // It also reads each as the newest version, and then the whole needs that.
    let older = with(referring(), "/agentspec_version", json!("25.4.2"));
    let beside = json!({"$referenced_components": {"llm": llm("llm")}});
    assert_eq!(errors(&older, &[&beside], Sdk), ["version-too-low /llm_config"]);
    assert_eq!(errors(&older, &[&beside], Spec), [""; 0]);
}
