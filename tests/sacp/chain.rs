use agentdex::{
    convert::Syntax,
    sacp::{Chain, Outcome, Response, State, Step, read},
};
use serde_json::{Value, json};

use super::success;

/// The example of section 6, with an error handler.
fn emails() -> Value {
    json!({
        "start": "researcher",
        "nodes": {
            "researcher": {"capability": "find-contact"},
            "validator": {"agent": "urn:example:validator", "input": {"guesses": "{{researcher.data.guesses}}"}},
            "apologist": {"agent": "urn:example:apologist", "input": "It failed: {{researcher.message}}"},
        },
        "edges": [
            {"from": "researcher", "to": "validator", "when": "response.status == 'success' and exists(response.data.guesses)"},
            {"from": "researcher", "to": "apologist", "on_error": true},
        ],
    })
}

fn chain(description: Value) -> Chain {
    Chain::new(description).expect("a valid chain")
}

fn answer(status: &str, message: &str) -> Response {
    read(&json!({"thought": "", "status": status, "data": {}, "message": message}).to_string()).response
}

#[test]
fn the_example_of_the_specification_runs() {
    let chain = chain(emails());
    let (mut state, first) = chain.start(json!("Find the email of the CEO"));
    assert_eq!(first, Step::Call { node: "researcher".into(), input: json!("Find the email of the CEO") });
    let guesses = json!(["john.doe@acme.example", "jdoe@acme.example"]);
    let second = chain.next(&mut state, success(json!({"ceo_name": "John Doe", "guesses": guesses})));
    assert_eq!(second, Step::Call { node: "validator".into(), input: json!({"guesses": guesses}) });
    let valid = success(json!({"valid_email": "jdoe@acme.example"}));
    assert_eq!(chain.next(&mut state, valid.clone()), Step::End(Outcome::Done(valid)));
}

#[test]
fn failures_take_the_error_edge_or_end_the_chain() {
    let chain = chain(emails());
    let (mut state, _) = chain.start(json!("x"));
    let step = chain.next(&mut state, answer("failure", "no such company"));
    assert_eq!(step, Step::Call { node: "apologist".into(), input: json!("It failed: no such company") });
    let step = chain.next(&mut state, answer("failure", "sorry"));
    assert_eq!(step, Step::End(Outcome::Failed { node: "apologist".into(), reason: "sorry".into() }));
}

#[test]
fn a_question_waits_for_the_user_and_goes_back_to_who_asked() {
    let chain = chain(emails());
    let (mut state, _) = chain.start(json!("x"));
    let step = chain.next(&mut state, answer("clarification_needed", "Which Acme?"));
    assert_eq!(step, Step::NeedsInput { node: "researcher".into(), message: "Which Acme?".into() });
    // The state survives being stored.
    let stored = serde_json::to_string(&state).expect("JSON");
    let mut state: State = serde_json::from_str(&stored).expect("a state");
    // Three nodes and no cycle: three calls at most, of which this is the second.
    let step = chain.answer(&mut state, json!("The one in Bonn"));
    assert_eq!(step, Step::Call { node: "researcher".into(), input: json!("The one in Bonn") });
}

#[test]
fn an_input_that_cannot_be_made_is_a_failure() {
    let mut description = emails();
    description["edges"][0]["when"] = json!("response.status == 'success'");
    let chain = chain(description);
    let (mut state, _) = chain.start(json!("x"));
    let step = chain.next(&mut state, success(json!({"guess": 1})));
    assert_eq!(step, Step::Call { node: "apologist".into(), input: json!("It failed: m") });
}

#[test]
fn cycles_need_a_limit_and_end_there() {
    let mut description = json!({
        "start": "a",
        "nodes": {"a": {"agent": "urn:a"}, "b": {"agent": "urn:b"}},
        "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}],
    });
    let error = Chain::new(description.clone()).expect_err("a cycle");
    assert_eq!(error.violations[0].pointer, "/max_steps");
    description["max_steps"] = json!(3);
    let chain = chain(description);
    let (mut state, _) = chain.start(json!(1));
    chain.next(&mut state, success(json!({})));
    chain.next(&mut state, success(json!({})));
    let step = chain.next(&mut state, success(json!({})));
    assert!(matches!(&step, Step::End(Outcome::Failed { reason, .. }) if reason.contains("3 steps")), "{step:?}");
}

#[test]
fn another_try_goes_back_to_the_agent_before() {
    let mut description = emails();
    description["max_steps"] = json!(5);
    let chain = chain(description);
    let (mut state, _) = chain.start(json!("x"));
    chain.next(&mut state, success(json!({"guesses": []})));
    let step = chain.next(&mut state, answer("retry_with_instruction", "Name at least one."));
    let input = json!({"input": "x", "instruction": "Name at least one."});
    assert_eq!(step, Step::Call { node: "researcher".into(), input });
}

#[test]
fn invalid_chains_are_refused_with_places() {
    let wrong = json!({
        "start": "nobody",
        "nodes": {
            "input": {"agent": "urn:x"},
            "both": {"agent": "urn:x", "capability": "y", "input": "{{ghost.data}}"},
        },
        "edges": [{"from": "both", "to": "gone", "when": "1 +"}, {"from": "both", "to": "input", "when": "true", "on_error": true}],
    });
    let violations = Chain::new(wrong).expect_err("a wrong chain").violations;
    let pointers: Vec<_> = violations.iter().map(|found| found.pointer.as_str()).collect();
    for pointer in
        ["/start", "/nodes/input", "/nodes/both", "/nodes/both/input", "/edges/0/to", "/edges/0/when", "/edges/1"]
    {
        assert!(pointers.contains(&pointer), "{pointer} is missing in {pointers:?}");
    }
    assert_eq!(Chain::new(json!({"start": 1})).expect_err("no chain").violations[0].rule, "chain/shape");
}

#[test]
fn a_chain_in_yaml_is_that_in_json() {
    let yaml = "\
start: researcher
nodes:
  researcher: {capability: find-contact}
  validator:
    agent: urn:example:validator
    input: {guesses: '{{researcher.data.guesses}}'}
  apologist:
    agent: urn:example:apologist
    input: 'It failed: {{researcher.message}}'
edges:
  - from: researcher
    to: validator
    when: response.status == 'success' and exists(response.data.guesses)
  - {from: researcher, to: apologist, on_error: true}
";
    let json = Syntax::Yaml.to_json(yaml.as_bytes()).expect("YAML");
    let value: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value, emails());
    chain(value);
}
