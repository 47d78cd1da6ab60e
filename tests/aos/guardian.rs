//! The guardian in the library: decisions by what is registered, sessions, the trail.

use std::{sync::Arc, time::Duration};

use agentdex::{
    Registry,
    policy::{Decision, Policy, PolicyFile},
    registry::{
        self,
        guardian::{self, Retention},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{calls, context, message, request};
use crate::support::eventually;

const TRAVEL: &str = "urn:example:agents:travel";

fn open(directory: &TempDir, guardian: guardian::Options) -> Registry {
    let options = registry::Options::default().guardian(guardian);
    Registry::builder(directory.path()).options(options).open().unwrap()
}

/// Registers the agent of the fixture.
fn register(registry: &Registry) {
    register_version(registry, "1.4.0");
}

fn register_version(registry: &Registry, version: &str) {
    let mut agent = super::agent();
    agent["version"] = version.into();
    let document = agentdex::convert::aos::AgentDocument::parse(agent.to_string().as_bytes(), false).unwrap();
    let mut conversion = document.to_thing(&Default::default()).unwrap();
    let thing = conversion.things.remove(0);
    registry.put(thing.description.text()).unwrap();
    pollster::block_on(registry.catch_up_guardian()).unwrap();
}

fn policy(json: Value) -> Arc<Policy> {
    Arc::new(Policy::compile(serde_json::from_value::<PolicyFile>(json).unwrap()).unwrap())
}

fn result(registry: &Registry, request: &Value) -> Value {
    let answer = serde_json::to_value(registry.guardian().answer(request)).unwrap();
    assert_eq!(answer.get("error"), None, "{answer}");
    answer["result"].clone()
}

fn decision(registry: &Registry, request: &Value) -> String {
    result(registry, request)["decision"].as_str().unwrap().to_owned()
}

fn of_method(method: &str) -> Value {
    let (_, params) = calls().into_iter().find(|(name, _)| *name == method).unwrap();
    request(1, method, &params)
}

#[test]
fn every_method_in_order_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    register(&registry);
    for (method, params) in calls() {
        let result = result(&registry, &request(method, method, &params));
        if method == "ping" {
            assert_eq!(result["status"], "connected");
            continue;
        }
        assert_eq!(result, json!({"decision": "allow", "message": "nothing is wrong with the step"}), "{method}");
    }
}

#[test]
fn steps_of_agents_that_are_not_registered_are_denied_until_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    let step = of_method("steps/message");
    let denied = result(&registry, &step);
    assert_eq!((&denied["decision"], &denied["reasonCode"]), (&json!("deny"), &json!(["agent-registered"])));
    assert_eq!(denied["message"], format!("the agent {TRAVEL:?} is not registered"));
    register(&registry);
    assert_eq!(decision(&registry, &step), "allow");
    registry.remove(TRAVEL).unwrap();
    pollster::block_on(registry.catch_up_guardian()).unwrap();
    assert_eq!(decision(&registry, &step), "deny");
}

#[test]
fn changes_are_seen_without_waiting_for_them() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    register(&registry);
    assert_eq!(decision(&registry, &of_method("steps/message")), "allow");
    let text = registry.find(TRAVEL).unwrap().unwrap().text().replace("\"find_trains\"", "\"find_buses\"");
    registry.put(&text).unwrap();
    eventually("the change", || decision(&registry, &of_method("steps/toolCallRequest")) == "deny");
}

#[test]
fn an_expired_agent_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    register(&registry);
    let text = registry.find(TRAVEL).unwrap().unwrap().text().to_owned();
    let mut thing: Value = serde_json::from_str(&text).unwrap();
    thing["registration"] = json!({"ttl": 1});
    registry.put(thing.to_string()).unwrap();
    let step = of_method("steps/message");
    decision(&registry, &step);
    eventually("the end of its time", || result(&registry, &step)["reasonCode"] == json!(["agent-live"]));
}

#[test]
fn another_version_is_reported_and_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    register_version(&registry, "1.5.0");
    let allowed = result(&registry, &of_method("steps/message"));
    assert_eq!((&allowed["decision"], &allowed["reasonCode"]), (&json!("allow"), &json!(["agent-version"])));
    assert_eq!(allowed["data"]["findings"][0]["mode"], "warn");
}

#[test]
fn a_policy_that_is_tried_denies_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default().dry_run(true));
    let tried = result(&registry, &of_method("steps/message"));
    assert_eq!((&tried["decision"], &tried["data"]["wouldBe"]), (&json!("allow"), &json!("deny")));
    let entries = registry.guardian().decisions(None, Some(Decision::Allow), None, 0, 10).unwrap();
    assert_eq!(entries[0].would_be, Some(Decision::Deny));
}

#[test]
fn what_must_not_be_shown_is_masked_in_the_modified_request() {
    let directory = tempfile::tempdir().unwrap();
    let policy = policy(json!({"rules": {"mask-secrets": "enforce", "mask-personal-data": "enforce"}}));
    let registry = open(&directory, guardian::Options::default().policy(policy).store_content(true));
    register(&registry);
    let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
    let text = format!("write to ada@example.org with {key}");
    let step = request("a", "steps/message", &json!({"context": context(), "message": message("user", &text)}));
    let modified = result(&registry, &step);
    assert_eq!(modified["decision"], "modify");
    assert_eq!(modified["reasonCode"], json!(["mask-secrets", "mask-personal-data"]));
    let mut expected = step.clone();
    expected["params"]["message"]["content"][0]["text"] = "write to [redacted] with [redacted]".into();
    assert_eq!(modified["modifiedRequest"], expected);
    // What goes to the trail is what the agent may go on with.
    let entry = registry.guardian().decisions(None, Some(Decision::Modify), None, 0, 10).unwrap().remove(0);
    assert_eq!(entry.content.unwrap()["message"], expected["params"]["message"]);
}

#[test]
fn contents_are_hashed_unless_they_are_stored() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    for text in ["one", "two", "one"] {
        let step = json!({"context": context(), "message": message("user", text)});
        decision(&registry, &request(1, "steps/message", &step));
    }
    let entries = registry.guardian().decisions(Some(TRAVEL), None, None, 0, 10).unwrap();
    let hashes: Vec<&str> = entries.iter().map(|entry| entry.hash.as_str()).collect();
    assert!(hashes[0] == hashes[2] && hashes[0] != hashes[1] && hashes[0].starts_with("sha256:"), "{hashes:?}");
    assert!(entries.iter().all(|entry| entry.content.is_none()));
    registry.close();
    let mut stored = String::new();
    for file in std::fs::read_dir(directory.path().join("guardian")).unwrap() {
        stored += &std::fs::read_to_string(file.unwrap().path()).unwrap();
    }
    assert_eq!(stored.lines().count(), 3);
    assert!(!stored.contains("one") && !stored.contains("Never book"), "{stored}");
}

#[test]
fn sessions_are_listed_and_their_steps_read_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    register(&registry);
    for method in ["steps/agentTrigger", "steps/toolCallRequest", "steps/toolCallResult", "steps/message"] {
        assert_eq!(decision(&registry, &of_method(method)), "allow", "{method}");
    }
    let mut other = of_method("steps/message");
    other["params"]["context"]["session"]["id"] = "s-2".into();
    decision(&registry, &other);
    let sessions = registry.guardian().sessions(Some(TRAVEL), 10);
    let listed: Vec<_> = sessions.iter().map(|one| (one.id.as_str(), one.steps, one.turns, one.tool_calls)).collect();
    assert!(listed.contains(&("s-1", 4, 1, 1)) && listed.contains(&("s-2", 1, 1, 0)), "{listed:?}");
    assert_eq!(registry.guardian().sessions(Some("urn:x:other"), 10), []);
    let methods = |registry: &Registry| -> Vec<String> {
        registry.guardian().steps("s-1", 0, 10).unwrap().into_iter().map(|entry| entry.method).collect()
    };
    let expected = ["steps/agentTrigger", "steps/toolCallRequest", "steps/toolCallResult", "steps/message"];
    assert_eq!(methods(&registry), expected);
    registry.close();
    drop(registry);
    let registry = open(&directory, guardian::Options::default());
    assert_eq!(methods(&registry), expected);
    decision(&registry, &of_method("steps/message"));
    let entries = registry.guardian().decisions(None, None, None, 0, 100).unwrap();
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=6).collect::<Vec<u64>>());
}

#[test]
fn half_a_line_at_the_end_of_the_trail_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    decision(&registry, &of_method("steps/message"));
    registry.close();
    drop(registry);
    let file = std::fs::read_dir(directory.path().join("guardian")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{whole}{{\"seq\":2,\"at\":\"20")).unwrap();
    let registry = open(&directory, guardian::Options::default());
    decision(&registry, &of_method("steps/message"));
    let entries = registry.guardian().decisions(None, None, None, 0, 100).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
}

#[test]
fn the_trail_is_bounded_and_its_oldest_entries_go_first() {
    let directory = tempfile::tempdir().unwrap();
    let retention = Retention { max_bytes: 256 * 1024, max_age: Duration::from_secs(3600) };
    let options = guardian::Options::default().retention(retention).store_content(true);
    let registry = open(&directory, options);
    let text = "x".repeat(4000);
    let step = request(1, "steps/message", &json!({"context": context(), "message": message("user", &text)}));
    for _ in 0..200 {
        decision(&registry, &step);
    }
    let entries = registry.guardian().decisions(None, None, None, 0, 1000).unwrap();
    let (first, last) = (entries[0].seq, entries[entries.len() - 1].seq);
    assert!(first > 100 && last == 200, "{first} to {last}");
    assert_eq!(entries.len() as u64, last - first + 1);
    let after = registry.guardian().decisions(None, None, None, 198, 1000).unwrap();
    assert_eq!(after.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [199, 200]);
    let bytes: u64 = std::fs::read_dir(directory.path().join("guardian"))
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    // The file that is written comes on top.
    assert!(bytes <= 256 * 1024 + 64 * 1024 + 8192, "{bytes}");
}

#[test]
fn the_number_of_sessions_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default().max_sessions(32));
    for number in 0..500 {
        let mut step = of_method("steps/message");
        step["params"]["context"]["session"]["id"] = format!("s-{number}{}", "x".repeat(number)).into();
        decision(&registry, &step);
    }
    let sessions = registry.guardian().sessions(None, 1000);
    assert!(sessions.len() <= 32 && sessions.iter().all(|session| session.id.len() <= 256), "{}", sessions.len());
}

#[test]
fn decisions_are_received_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let ocsf = directory.path().join("events.ndjson");
    let options = guardian::Options::default().ocsf(ocsf.clone());
    let registry = open(&directory, options);
    let mut received = registry.guardian().subscribe();
    decision(&registry, &of_method("steps/toolCallRequest"));
    registry.guardian().answer(&json!({"jsonrpc": "2.0", "id": 1, "method": "steps/foo"}));
    let entry = received.try_recv().unwrap();
    assert_eq!((entry.tool.as_deref(), entry.decision), (Some("find_trains"), Decision::Deny));
    let value = |name: &str| registry.metrics().into_iter().find(|metric| metric.name == name).unwrap().value;
    assert_eq!(value("agentdex_guardian_denied_total"), 1);
    assert_eq!(value("agentdex_guardian_refused_total"), 1);
    assert_eq!(value("agentdex_guardian_sessions"), 1);
    registry.close();
    let events = std::fs::read_to_string(ocsf).unwrap();
    assert_eq!(events.lines().count(), 1);
    assert!(events.contains("\"action\":\"Denied\""), "{events}");
}

#[test]
fn own_rules_know_what_is_registered() {
    let directory = tempfile::tempdir().unwrap();
    let policy = policy(json!({"expression": [{
        "name": "no-large-groups", "message": "groups need a person", "methods": ["steps/toolCallRequest"],
        "denies": "agent.vendor == 'Example Travel' and 'beta' in agent.tags and step.inputs.to == 'Cologne'",
    }]}));
    let registry = open(&directory, guardian::Options::default().policy(policy));
    register(&registry);
    let step = of_method("steps/toolCallRequest");
    // `labels` of the metadata are no tags.
    assert_eq!(decision(&registry, &step), "allow");
    let text = registry.find(TRAVEL).unwrap().unwrap().text().to_owned();
    let mut thing: Value = serde_json::from_str(&text).unwrap();
    thing["lmos:tags"] = json!(["beta"]);
    registry.put(thing.to_string()).unwrap();
    pollster::block_on(registry.catch_up_guardian()).unwrap();
    assert_eq!(result(&registry, &step)["reasonCode"], json!(["no-large-groups"]));
}

#[test]
fn responses_in_sacp_are_shown_in_the_trail() {
    let response = |status: &str, thought: &str| json!({"thought": thought, "status": status, "data": {"n": 1}, "message": "m", "next_step_hint": "rest"});
    let said = |role: &str, text: &str| json!({"context": context(), "message": message(role, text)});
    let fenced = format!("Here you are:\n```json\n{}\n```", response("success", "I looked"));
    let mut data = said("agent", "-");
    data["message"]["content"][0] = json!({"kind": "data", "data": response("failure", "")});
    let result = json!({"context": context(), "executionId": "x-1", "result": {
        "outputs": [{"kind": "text", "text": response("completed", "").to_string()}], "isError": false,
    }});
    let parts = json!([{"kind": "text", "text": response("clarification_needed", "").to_string()}]);
    let task = json!({"id": "t", "status": {"state": "input-required", "message": {"parts": parts}}});
    let a2a = json!({"payload": {"jsonrpc": "2.0", "id": 1, "result": task}});
    let cases = [
        ("steps/message", said("agent", &fenced), Some("success")),
        ("steps/message", said("user", &fenced), None),
        ("steps/message", said("agent", r#"{"status": "success"}"#), None),
        ("steps/message", said("agent", "The status is success."), None),
        ("steps/message", data, Some("failure")),
        ("steps/toolCallResult", result, Some("completed")),
        ("tasks/get", a2a, Some("clarification_needed")),
    ];
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default());
    for (number, (method, params, expected)) in cases.into_iter().enumerate() {
        result_of(&registry, method, &params);
        let entry = registry.guardian().decisions(None, None, None, number as u64, 1).unwrap().remove(0);
        assert_eq!(entry.sacp.as_ref().map(|sacp| sacp.status.as_str()), expected, "{params}");
        assert!(entry.sacp.is_none_or(|sacp| sacp.thought.is_none() && sacp.violations.is_empty()));
    }
    let partial = said("agent", r#"{"thought": "", "status": "success", "data": {}}"#);
    result_of(&registry, "steps/message", &partial);
    let last = registry.guardian().decisions(None, None, None, 7, 1).unwrap().remove(0);
    assert!(last.sacp.unwrap().violations[0].starts_with("/message: "));
    // What the agent thought is content: it is stored where contents are, without secrets.
    let directory = tempfile::tempdir().unwrap();
    let registry = open(&directory, guardian::Options::default().store_content(true));
    let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
    let thoughtful = response("success", &format!("I take {key}")).to_string();
    result_of(&registry, "steps/message", &said("agent", &thoughtful));
    let sacp = registry.guardian().decisions(None, None, None, 0, 1).unwrap().remove(0).sacp.unwrap();
    assert_eq!(sacp.thought.as_deref(), Some("I take [redacted]"));
    assert_eq!(sacp.next_step_hint.as_deref(), Some("rest"));
}

#[test]
fn a_guardrail_makes_a_response_a_failure_before_the_next_agent_receives_it() {
    let directory = tempfile::tempdir().unwrap();
    let policy = policy(json!({"expression": [{
        "name": "no-promises", "message": "nothing is guaranteed", "then": "fail-response",
        "denies": "step.text.contains('guarantee') or step.response.message.contains('guarantee')",
    }], "rules": {"mask-secrets": "enforce"}}));
    let registry = open(&directory, guardian::Options::default().policy(policy));
    register(&registry);
    let response = |message: &str| json!({"thought": "t", "status": "success", "data": {"n": 1}, "message": message});
    let said = |content: Value| {
        let mut params = json!({"context": context(), "message": message("agent", "-")});
        params["message"]["content"][0] = content;
        request(1, "steps/message", &params)
    };
    let fenced = format!("Here:\n```json\n{}\n```", response("I guarantee it."));
    let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
    for (content, place) in [
        (json!({"kind": "text", "text": fenced}), "/params/message/content/0/text"),
        (
            json!({"kind": "text", "text": response(&format!("I guarantee {key}")).to_string()}),
            "/params/message/content/0/text",
        ),
        (json!({"kind": "data", "data": response("I guarantee it.")}), "/params/message/content/0/data"),
    ] {
        let decided = result(&registry, &said(content));
        assert_eq!(decided["decision"], "modify", "{decided}");
        assert!(decided["reasonCode"].as_array().unwrap().contains(&json!("no-promises")), "{decided}");
        let part = decided["modifiedRequest"].pointer(place).unwrap();
        let part = part.as_str().map_or_else(|| part.clone(), |text| serde_json::from_str(text).unwrap());
        assert_eq!((&part["status"], &part["data"]), (&json!("failure"), &json!({"n": 1})), "{part}");
        assert!(!part.to_string().contains(&key), "{part}");
    }
    let last = registry.guardian().decisions(None, None, None, 2, 1).unwrap().remove(0);
    assert_eq!(last.sacp.unwrap().status, "failure");
    // Without a promise it stays a success; without a response there is nothing to change.
    assert_eq!(decision(&registry, &said(json!({"kind": "data", "data": response("Perhaps.")}))), "allow");
    let denied = result(&registry, &said(json!({"kind": "text", "text": "I guarantee it."})));
    assert_eq!((&denied["decision"], &denied["message"]), (&json!("deny"), &json!("nothing is guaranteed")));
}

fn result_of(registry: &Registry, method: &str, params: &Value) {
    result(registry, &request(1, method, params));
}
