//! Open Agent Spec: reading, validating and mapping configurations.

mod beside;
mod calls;
mod corpus;
mod fields;
mod fixtures;
mod hostile;
mod mapping;
mod properties;
mod references;
mod rules;
mod sdk;
mod versions;

use agentdex::{
    convert::{
        Syntax,
        agent_spec::{Configuration, Profile},
    },
    td::{Report, Violation},
};
use serde_json::{Value, json};

/// What a profile says of a document.
fn judge(document: &Value, profile: Profile) -> Report {
    judge_with(document, &[], profile)
}

/// What a profile says of a document, with documents of components beside it.
fn judge_with(document: &Value, beside: &[&Value], profile: Profile) -> Report {
    let beside: Vec<String> = beside.iter().map(|document| document.to_string()).collect();
    let beside: Vec<_> = beside.iter().map(|text| (text.as_bytes(), Syntax::Json)).collect();
    let configuration = Configuration::parse(document.to_string().as_bytes(), Syntax::Json, &beside).unwrap();
    configuration.validate(profile)
}

/// Rules and pointers of the errors.
fn errors(document: &Value, profile: Profile) -> Vec<String> {
    brief(&judge(document, profile).violations)
}

/// Rules and pointers of the warnings.
fn warnings(document: &Value, profile: Profile) -> Vec<String> {
    brief(&judge(document, profile).warnings)
}

fn brief(findings: &[Violation]) -> Vec<String> {
    findings.iter().map(|found| format!("{} {}", found.rule, found.pointer)).collect()
}

/// An agent that both profiles accept without a word.
fn agent() -> Value {
    json!({
        "component_type": "Agent", "agentspec_version": "26.3.1", "id": "agent", "name": "weather",
        "system_prompt": "Be brief.", "llm_config": llm("llm"), "tools": [tool("clock")],
    })
}

fn llm(id: &str) -> Value {
    json!({"component_type": "VllmConfig", "id": id, "name": "small", "model_id": "m", "url": "http://llm.example"})
}

fn tool(id: &str) -> Value {
    json!({"component_type": "ServerTool", "id": id, "name": id})
}

/// The document with another value at a JSON Pointer, whose last member may be new.
fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    match document.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            document.pointer_mut(parent).unwrap()[name] = value;
        }
    }
    document
}

#[test]
fn plain_agent_is_accepted_without_a_word() {
    for profile in [Profile::Spec, Profile::Sdk] {
        assert_eq!(judge(&agent(), profile), Report::default());
    }
}
