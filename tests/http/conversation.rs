//! Conversations through the registry, with an agent that the SDK of A2A makes.

use agentdex::access::{NewKey, Role, Rules};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::{
    consumer::{
        agents::TestAgent,
        asking,
        server::{Said, Server},
    },
    support::{Answer, TestRegistry},
};

fn say(registry: &TestRegistry, id: &str, turn: Value) -> Answer {
    registry.call("POST", &format!("/things/{id}/conversation")).body("application/json", turn.to_string()).send()
}

/// Registers a description, and returns its id.
fn register(registry: &TestRegistry, description: &Value) -> String {
    let id = description["id"].as_str().unwrap();
    registry.put(&format!("/things/{id}"), description.to_string());
    id.to_owned()
}

fn offering() -> TestRegistry {
    TestRegistry::with_conversations(true, http::Options::default())
}

#[test]
fn conversation_goes_on_with_what_the_last_answer_had() {
    let Some(weather) = TestAgent::python_1_0() else { return };
    let registry = offering();
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let id = register(&registry, &weather.described(binding));
        let answer = say(&registry, &id, json!({"message": "Will it rain?"})).expect(200).json();
        assert_eq!((&answer["text"], &answer["state"]), (&json!("Yes, take an umbrella."), &json!("completed")));
        assert_eq!(answer["message"]["parts"][0], json!({"kind": "text", "text": "Yes, take an umbrella."}));
        // The agent asks back, and knows what the answer belongs to.
        let asked = say(&registry, &id, json!({"message": "which"})).expect(200).json();
        assert_eq!((&asked["text"], &asked["state"]), (&json!("Which city?"), &json!("input-required")));
        let turn = json!({"message": "Bonn", "conversation": asked["conversation"]});
        let answer = say(&registry, &id, turn).expect(200).json();
        assert_eq!(answer["text"], "It is dry in Bonn.");
        assert_eq!(answer["conversation"]["history"].as_array().unwrap().len(), 4);
        // What goes on by itself is waited for.
        let report = say(&registry, &id, json!({"message": "report"})).expect(200).json();
        assert!(report["conversation"].to_string().contains("Monday: sun"), "{report}");
        let failed = say(&registry, &id, json!({"message": "fail"})).problem(502, "agent-failed");
        assert!(failed["detail"].as_str().unwrap().contains("No station answers"), "{failed}");
    }
}

#[test]
fn nothing_is_called_where_that_is_not_offered() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let registry = TestRegistry::start();
    let id = register(&registry, &asking(&server.origin));
    let refused = say(&registry, &id, json!({"message": "one"})).problem(501, "conversations-not-offered");
    assert!(refused["detail"].as_str().unwrap().contains("--conversations"), "{refused}");
    assert!(registry.get("/").expect(200).json()["links"].get("conversation").is_none());
    let registry = offering();
    assert!(registry.get("/").expect(200).json()["links"]["conversation"].is_string());
    assert!(server.received().is_empty());
}

#[test]
fn agents_on_this_network_are_called_only_where_that_is_allowed() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let registry = TestRegistry::with_conversations(false, http::Options::default());
    let id = register(&registry, &asking(&server.origin));
    let refused = say(&registry, &id, json!({"message": "one"})).problem(422, "agent-not-callable");
    assert!(refused["detail"].as_str().unwrap().contains("127.0.0.1"), "{refused}");
    assert!(server.received().is_empty());
}

#[test]
fn what_can_not_be_said_is_told_from_what_the_agent_does_wrong() {
    let server = Server::start(|request| match request.json().as_str() {
        Some("broken") => Said::new("500 Internal Server Error", &[], "it is broken"),
        _ => Said::json(json!("answer")),
    });
    let registry = offering();
    let id = register(&registry, &asking(&server.origin));
    say(&registry, "urn:example:nobody", json!({"message": "one"})).problem(404, "not-found");
    say(&registry, &id, json!({"message": "broken"})).problem(502, "agent-failed");
    say(&registry, &id, json!({"message": "one", "action": "fly"})).problem(422, "agent-not-callable");
    say(&registry, &id, json!({"message": "one", "conversation": {"agent": 1}})).problem(400, "invalid-conversation");
    say(&registry, &id, json!({"messages": ["one"]})).problem(400, "invalid-query");
    registry.get(&format!("/things/{id}/conversation")).problem(405, "method-not-allowed");
    let mut silent = asking(&server.origin);
    silent["id"] = "urn:example:silent".into();
    silent.as_object_mut().unwrap().remove("actions");
    let silent = register(&registry, &silent);
    say(&registry, &silent, json!({"message": "one"})).problem(422, "agent-not-callable");
    assert_eq!(say(&registry, &id, json!({"message": "one"})).expect(200).json()["text"], "answer");
}

#[test]
fn whoever_may_not_see_an_agent_can_not_talk_with_it() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let access = Rules { authentication: true, ..Rules::default() };
    let registry = TestRegistry::with_conversations(true, http::Options { access, ..Default::default() });
    let key = |owner: &str, role| {
        let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
        registry.registry().keys().create(new).unwrap().1
    };
    let keys = [key("us", Role::Register), key("others", Role::Register), key("readers", Role::Read)];
    let call = |key: &str, method: &str, path: &str| {
        registry.call(method, path).header("authorization", &format!("Bearer {key}"))
    };
    let thing = asking(&server.origin);
    let path = format!("/things/{}", thing["id"].as_str().unwrap());
    let put = call(&keys[0], "PUT", &format!("{path}?visibility=private"));
    put.body("application/td+json", thing.to_string()).send().expect(201);
    let say = |key: &str| {
        let call = call(key, "POST", &format!("{path}/conversation"));
        call.body("application/json", json!({"message": "one"}).to_string()).send()
    };
    say(&keys[0]).expect(200);
    say(&keys[1]).problem(404, "not-found");
    say(&keys[2]).problem(403, "forbidden");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn action_that_requires_confirmation_is_not_called() {
    let server = Server::start(|_| Said::json(json!("done")));
    let registry = offering();
    let mut thing = asking(&server.origin);
    thing["actions"]["ask"]["agentspec:requiresConfirmation"] = json!(true);
    let id = register(&registry, &thing);
    say(&registry, &id, json!({"message": "Now?"})).problem(422, "agent-not-callable");
    assert_eq!(server.received().len(), 0);
}
