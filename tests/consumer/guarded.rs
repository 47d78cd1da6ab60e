//! Calls that are reported to the guardian of a registry.

use std::sync::Arc;

use agentdex::{
    consumer::{Error, ReportSteps},
    policy::{Policy, PolicyFile},
    registry::{self, guardian},
};
use agentdex_client::RegistryClient;
use agentdex_server::http;
use serde_json::{Value, json};

use super::{
    consumer, run,
    server::{Said, Server},
    thing,
};
use crate::support::{TestRegistry, unreachable_url};

#[test]
fn guardian_stops_and_changes_calls_and_answers() {
    let file: PolicyFile = serde_json::from_value(json!({"rules": {"mask-secrets": "enforce"}})).unwrap();
    let policy = Arc::new(Policy::compile(file).unwrap());
    let options = guardian::Options::default().policy(policy);
    let options = registry::Options::default().guardian(options);
    let registry = TestRegistry::start_with(options, http::Options::default());
    let travel: Value = serde_json::from_slice(include_bytes!("../fixtures/aos/travel.json")).unwrap();
    registry.call("POST", "/import/aos").body("application/json", travel.to_string()).send();
    pollster::block_on(registry.registry().catch_up_guardian()).unwrap();

    let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
    let answer = format!("ICE 123, paid with {key}");
    let server = Server::start(move |_| Said::json(json!(answer)));
    let form = json!([{"href": &server.origin}]);
    let description = thing(json!({"actions": {"find_trains": {"forms": &form}, "refund": {"forms": &form}}}));
    let guardian = RegistryClient::new(&registry.url("")).unwrap();
    let guarded = |guardian| {
        let consumer = consumer().with_middleware(ReportSteps::new(guardian, travel.clone(), "s-1"));
        consumer.agent_of(&description.to_string()).unwrap()
    };
    run(async {
        let agent = guarded(guardian);
        // Allowed; the key in the answer is masked.
        let reply = agent.call("find_trains", json!({"from": "Bonn", "to": "Cologne"})).await.unwrap();
        assert_eq!(reply.message.text(), "ICE 123, paid with [redacted]");
        // Modified: the key does not leave.
        agent.call("find_trains", json!({"from": "Bonn", "to": &key})).await.unwrap();
        let sent = server.received()[1].json();
        assert_eq!(sent, json!({"from": "Bonn", "to": "[redacted]"}));
        // Denied: nothing is sent.
        let error = agent.call("refund", json!({"order": "1"})).await.unwrap_err();
        assert!(matches!(&error, Error::Denied { .. }) && error.is_before_sending(), "{error}");
        assert_eq!(server.received().len(), 2);
    });
    let methods: Vec<String> = registry
        .get("/aos/sessions/s-1")
        .expect(200)
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["method"].as_str().unwrap().to_owned())
        .collect();
    let (request, result) = ("steps/toolCallRequest", "steps/toolCallResult");
    assert_eq!(methods, [request, result, request, result, request]);
    // A guardian that can't be asked lets nothing pass.
    let nobody = RegistryClient::new(&unreachable_url("")).unwrap();
    let error = run(guarded(nobody).call("find_trains", json!({"from": "a", "to": "b"}))).unwrap_err();
    assert!(matches!(&error, Error::Denied { .. }), "{error}");
    assert_eq!(server.received().len(), 2);
}
