//! The guardian and its callers: an agent that a caller doesn't see is not registered for it, and its sessions are its own.

use agentdex::{
    access::{Caller, Principal, Role},
    registry,
};
use serde_json::{Value, json};

use super::{calls, fixture, request};
use crate::support::{Answer, TestRegistry};

const TRAVEL: &str = "urn:example:agents:travel";
const UNKNOWN: &str = "urn:example:agents:trovel";

/// A server, and the keys of its callers.
struct Callers {
    registry: TestRegistry,
    alice: String,
    bob: String,
    admin: String,
}

impl Callers {
    /// Alice's agent, with that access.
    fn start(access: &str) -> Callers {
        let registry = TestRegistry::guarded();
        let key = |owner, role| registry.key(owner, role);
        let (alice, bob, admin) = (key("alice", Role::Register), key("bob", Role::Register), key("root", Role::Admin));
        let callers = Callers { registry, alice, bob, admin };
        callers.put(&callers.alice, "/namespaces/crew", json!({"members": ["bob"]})).expect(201);
        let import = callers.registry.call("POST", &format!("/import/aos?{access}"));
        let import = import.header("authorization", &format!("Bearer {}", callers.alice));
        import.body("application/json", fixture("travel")).send().expect(201);
        callers
    }

    fn put(&self, key: &str, path: &str, body: Value) -> Answer {
        let call = self.registry.call("PUT", path).header("authorization", &format!("Bearer {key}"));
        call.body("application/json", body.to_string()).send()
    }

    fn report(&self, key: &str, body: &Value) -> Answer {
        let call = self.registry.call("POST", "/aos?consistent=true").header("authorization", &format!("Bearer {key}"));
        call.body("application/json", body.to_string()).send()
    }

    fn get(&self, key: &str, path: &str) -> Answer {
        self.registry.call("GET", path).header("authorization", &format!("Bearer {key}")).send()
    }

    fn decision(&self, key: &str, body: &Value) -> Value {
        self.report(key, body).expect(200).json()["result"]["decision"].clone()
    }
}

fn step(method: &str) -> Value {
    let (_, params) = calls().into_iter().find(|(name, _)| *name == method).unwrap();
    request(1, method, &params)
}

/// The same step of an agent of another id.
fn of(step: &Value, id: &str) -> Value {
    serde_json::from_str(&step.to_string().replace(TRAVEL, id)).unwrap()
}

/// Every step in order, and those that would tell of what is declared.
fn steps() -> Vec<Value> {
    // The answer to `ping` has the time in it.
    let calls = calls();
    let calls = calls.iter().filter(|(method, _)| *method != "ping");
    let mut steps: Vec<Value> = calls.map(|(method, params)| request(1, method, params)).collect();
    let mut call = step("steps/toolCallRequest");
    call["params"]["toolCallRequest"]["toolId"] = "nope".into();
    steps.push(call.clone());
    call["params"]["toolCallRequest"]["toolId"] = "find_trains".into();
    call["params"]["toolCallRequest"]["inputs"] = json!([{"name": "odd", "value": 1}]);
    steps.push(call);
    let mut message = step("steps/message");
    message["params"]["context"]["agent"]["version"] = "0.0.1".into();
    message["params"]["context"]["agent"]["resources"] = json!([]);
    steps.push(message);
    steps
}

#[test]
fn an_agent_that_is_not_seen_is_answered_about_as_an_unknown_one() {
    let callers = Callers::start("visibility=private");
    // It is in memory, since its owner reports steps.
    assert_eq!(callers.decision(&callers.alice, &step("steps/message")), "allow");
    let mut told = 0;
    for step in steps() {
        let private = callers.report(&callers.bob, &step).expect(200);
        let unknown = callers.report(&callers.bob, &of(&step, UNKNOWN)).expect(200);
        assert_eq!(private.text().replace(TRAVEL, UNKNOWN), unknown.text(), "{step}");
        told += usize::from(private.text().contains("is not registered"));
        // Its owner is told what is wrong.
        assert!(!callers.report(&callers.alice, &step).expect(200).text().contains("is not registered"), "{step}");
    }
    assert!(told >= 8, "{told} answers name the agent");
    // A batch, also one that is too large to be read where it arrives.
    for padding in [0, 100_000] {
        let mut message = step("steps/message");
        message["params"]["message"]["content"][0]["text"] = "x".repeat(padding).into();
        let answers = |id| callers.report(&callers.bob, &json!([of(&message, id), of(&message, id)])).expect(200);
        assert_eq!(answers(TRAVEL).text().replace(TRAVEL, UNKNOWN), answers(UNKNOWN).text());
    }
    // Once it is public it is told who reports its steps, and once it is private again it is unknown again.
    for (visibility, status) in [("public", 403), ("private", 200)] {
        callers.put(&callers.alice, &format!("/things/{TRAVEL}/access"), json!({"visibility": visibility})).expect(204);
        let answer = callers.report(&callers.bob, &step("steps/message")).expect(status);
        assert_eq!(answer.text().contains("is not registered"), status == 200, "{}", answer.text());
    }
}

#[test]
fn steps_of_an_owned_agent_are_reported_by_its_owner_its_namespace_and_admins() {
    let callers = Callers::start("visibility=public");
    let message = step("steps/message");
    let refused = callers.report(&callers.bob, &message).expect(403);
    assert_eq!(refused.header("content-type"), "application/json");
    assert_eq!((&refused.json()["error"]["code"], &refused.json()["id"]), (&json!(-32003), &json!(1)));
    assert!(refused.text().contains("belongs to another owner"), "{}", refused.text());
    // One of a batch is an error of its own, and a notification is answered by nothing.
    let batch = json!([of(&message, UNKNOWN), message]);
    let answers = callers.report(&callers.bob, &batch).expect(200).json();
    assert_eq!((&answers[0]["result"]["decision"], &answers[1]["error"]["code"]), (&json!("deny"), &json!(-32003)));
    let mut notification = message.clone();
    notification.as_object_mut().unwrap().remove("id");
    callers.report(&callers.bob, &notification).expect(204);
    for key in [&callers.alice, &callers.admin] {
        assert_eq!(callers.decision(key, &message), "allow");
    }
    callers.put(&callers.alice, &format!("/things/{TRAVEL}/access"), json!({"namespace": "crew"})).expect(204);
    assert_eq!(callers.decision(&callers.bob, &message), "allow");
    callers.put(&callers.alice, "/namespaces/crew", json!({"members": []})).expect(200);
    callers.report(&callers.bob, &message).expect(403);
    // What was refused is no step: neither the trail nor a session has it.
    let decisions = callers.get(&callers.admin, "/aos/decisions").expect(200).json();
    let reporters: Vec<&Value> = decisions.as_array().unwrap().iter().map(|entry| &entry["reporter"]).collect();
    assert_eq!(reporters, ["bob", "alice", "root", "bob"]);
}

#[test]
fn results_of_one_reporter_end_no_calls_of_another() {
    for access in ["visibility=private", "visibility=public", "visibility=namespace&namespace=crew"] {
        let callers = Callers::start(access);
        let (call, result) = (step("steps/toolCallRequest"), step("steps/toolCallResult"));
        assert_eq!(callers.decision(&callers.alice, &call), "allow", "{access}");
        let answer = callers.report(&callers.bob, &result);
        assert_ne!(answer.json()["result"]["decision"], "allow", "{access}: {}", answer.text());
        assert_eq!(callers.decision(&callers.alice, &result), "allow", "{access}");
        let sessions = callers.get(&callers.admin, &format!("/aos/sessions?agent={TRAVEL}")).expect(200).json();
        let of = |reporter: &str| sessions.as_array().unwrap().iter().find(|session| session["reporter"] == reporter);
        assert_eq!(of("alice").unwrap()["steps"], 2, "{access}: {sessions}");
        assert_eq!(of("bob").is_some(), !access.contains("public"), "{access}: {sessions}");
    }
}

#[test]
fn an_agent_of_nobody_is_reported_by_everybody_each_in_sessions_of_its_own() {
    let callers = Callers::start("visibility=public");
    let text = callers.registry.registry().find(TRAVEL).unwrap().unwrap().text().replace(TRAVEL, "urn:x:nobodys");
    callers.registry.registry().put(text.as_str()).unwrap();
    let (call, result) =
        (of(&step("steps/toolCallRequest"), "urn:x:nobodys"), of(&step("steps/toolCallResult"), "urn:x:nobodys"));
    assert_eq!(callers.decision(&callers.alice, &call), "allow");
    assert_eq!(callers.decision(&callers.bob, &result), "deny");
    assert_eq!(callers.decision(&callers.bob, &call), "allow");
    assert_eq!(callers.decision(&callers.bob, &result), "allow");
    assert_eq!(callers.decision(&callers.alice, &result), "allow");
}

#[test]
fn trail_and_sessions_are_shown_to_their_reporter_and_to_who_sees_everything() {
    let callers = Callers::start("visibility=private");
    let message = step("steps/message");
    callers.decision(&callers.alice, &message);
    callers.decision(&callers.bob, &message);
    let registry = callers.registry.registry();
    let caller = |owner: &str| {
        let owner = owner.parse().unwrap();
        let principal = Principal { owner, role: Role::Register, key: String::new(), expires: None };
        registry.as_caller(Caller::Principal(principal.into()))
    };
    let shown = |registry: &agentdex::Registry| {
        let guardian = registry.guardian();
        let of = |entries: Vec<registry::guardian::Entry>| {
            entries.into_iter().map(|entry| entry.reporter.unwrap().to_string()).collect::<Vec<_>>().join(" ")
        };
        let sessions = guardian.sessions(None, 10).len();
        (sessions, of(guardian.steps("s-1", 0, 10).unwrap()), of(guardian.decisions(None, None, None, 0, 10).unwrap()))
    };
    assert_eq!(shown(registry), (2, "alice bob".to_owned(), "alice bob".to_owned()));
    for owner in ["alice", "bob"] {
        assert_eq!(shown(&caller(owner)), (1, owner.to_owned(), owner.to_owned()));
    }
    for registry in [caller("carol"), registry.as_caller(Caller::Anonymous)] {
        assert_eq!(shown(&registry), (0, String::new(), String::new()));
    }
    callers.get(&callers.bob, "/aos/decisions").problem(403, "forbidden");
}

#[test]
fn decisions_about_an_agent_reach_those_alone_who_saw_it() {
    let callers = Callers::start("visibility=private");
    let registry = callers.registry.registry();
    let message = step("steps/message");
    let mut received =
        [registry.clone(), registry.as_caller(Caller::Anonymous)].map(|registry| registry.guardian().subscribe());
    callers.decision(&callers.alice, &message);
    callers.put(&callers.alice, &format!("/things/{TRAVEL}/access"), json!({"visibility": "public"})).expect(204);
    callers.decision(&callers.alice, &message);
    callers.decision(&callers.bob, &of(&message, UNKNOWN));
    let seqs = |entries: &mut registry::guardian::Entries| {
        std::iter::from_fn(|| entries.try_recv().ok().map(|entry| entry.seq)).collect::<Vec<_>>()
    };
    assert_eq!(received.each_mut().map(seqs), [vec![1, 2, 3], vec![2, 3]]);
}
