use agentdex::{
    convert::Syntax,
    sacp::{Chain, Notice, Outcome, Place, Response, State, Step, Task, read},
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

/// The places and names of what is due.
fn due(chain: &Chain, state: &State) -> Vec<(Place, String)> {
    chain.due(state).into_iter().map(|due| (due.place, due.name)).collect()
}

/// Takes the response of the only agent that is called.
fn next(chain: &Chain, state: &mut State, response: Response) -> Step {
    let place = chain.due(state).remove(0).place;
    assert!(chain.take(state, &place, response));
    state.step.clone()
}

#[test]
fn the_example_of_the_specification_runs() {
    let chain = chain(emails());
    let mut state = chain.start(json!("Find the email of the CEO"));
    assert_eq!(state.step, Step::Call { node: "researcher".into(), input: json!("Find the email of the CEO") });
    let guesses = json!(["john.doe@acme.example", "jdoe@acme.example"]);
    let second = next(&chain, &mut state, success(json!({"ceo_name": "John Doe", "guesses": guesses})));
    assert_eq!(second, Step::Call { node: "validator".into(), input: json!({"guesses": guesses}) });
    let valid = success(json!({"valid_email": "jdoe@acme.example"}));
    assert_eq!(next(&chain, &mut state, valid.clone()), Step::End(Outcome::Done(valid)));
}

#[test]
fn failures_take_the_error_edge_or_end_the_chain() {
    let chain = chain(emails());
    let mut state = chain.start(json!("x"));
    let step = next(&chain, &mut state, answer("failure", "no such company"));
    assert_eq!(step, Step::Call { node: "apologist".into(), input: json!("It failed: no such company") });
    let step = next(&chain, &mut state, answer("failure", "sorry"));
    assert_eq!(step, Step::End(Outcome::Failed { node: "apologist".into(), reason: "sorry".into() }));
}

#[test]
fn a_question_waits_for_the_user_and_goes_back_to_who_asked() {
    let chain = chain(emails());
    let mut state = chain.start(json!("x"));
    let step = next(&chain, &mut state, answer("clarification_needed", "Which Acme?"));
    assert_eq!(step, Step::NeedsInput { node: "researcher".into(), message: "Which Acme?".into() });
    // The state survives being stored.
    let stored = serde_json::to_string(&state).expect("JSON");
    let mut state = chain.restore(&stored).expect("a state");
    // What the user says takes none of the three steps that a chain of three nodes has.
    for _ in 0..5 {
        let place = chain.due(&state).remove(0).place;
        assert!(chain.answer(&mut state, &place, json!("The one in Bonn")));
        assert_eq!(state.step, Step::Call { node: "researcher".into(), input: json!("The one in Bonn") });
        assert!(!chain.answer(&mut state, &place, json!("once more")), "the place is not due any more");
        next(&chain, &mut state, answer("clarification_needed", "Which one?"));
    }
}

#[test]
fn an_input_that_cannot_be_made_is_a_failure() {
    let mut description = emails();
    description["edges"][0]["when"] = json!("response.status == 'success'");
    let chain = chain(description);
    let mut state = chain.start(json!("x"));
    let step = next(&chain, &mut state, success(json!({"guess": 1})));
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
    let mut state = chain.start(json!(1));
    next(&chain, &mut state, success(json!({})));
    next(&chain, &mut state, success(json!({})));
    let step = next(&chain, &mut state, success(json!({})));
    assert!(matches!(&step, Step::End(Outcome::Failed { reason, .. }) if reason.contains("3 steps")), "{step:?}");
}

#[test]
fn another_try_goes_back_to_the_agent_before() {
    let mut description = emails();
    description["max_steps"] = json!(6);
    let chain = chain(description);
    let mut state = chain.start(json!("x"));
    next(&chain, &mut state, success(json!({"guesses": []})));
    for instruction in ["Name at least one.", "Name two."] {
        let step = next(&chain, &mut state, answer("retry_with_instruction", instruction));
        assert_eq!(step, Step::Call { node: "researcher".into(), input: json!("x") }, "the same input");
        // The instruction survives being stored.
        state = chain.restore(&serde_json::to_string(&state).expect("JSON")).expect("a state");
        assert_eq!(chain.due(&state)[0].instruction, Some(instruction));
        next(&chain, &mut state, success(json!({"guesses": []})));
        assert_eq!(chain.due(&state)[0].instruction, None, "it is for one call");
    }
}

#[test]
fn an_error_edge_is_taken_with_what_there_is() {
    let description = json!({
        "start": "a",
        "nodes": {
            "a": {"agent": "urn:a"},
            "sorry": {
                "input": {"reason": "{{a.data.reason}}"},
                "answer": {"message": "Sorry.", "data": {
                    "why": "{{error.reason}}", "at": "{{error.node}}", "given": "{{given}}", "code": "{{a.data.code}}",
                }},
            },
        },
        "edges": [{"from": "a", "to": "sorry", "on_error": true}],
    });
    let chain = chain(description.clone());
    let mut state = chain.start(json!("x"));
    let end = next(&chain, &mut state, answer("failure", "no such city"));
    let Step::End(Outcome::Done(response)) = &end else { panic!("{end:?}") };
    let data = json!({"why": "no such city", "at": "a", "given": {"reason": null}, "code": null});
    assert_eq!((response.message.as_str(), json!(response.data)), ("Sorry.", data));
    let handled = Notice::ErrorHandled { node: "a".into(), to: "sorry".into(), reason: "no such city".into() };
    let said = Notice::Said { node: "sorry".into(), message: "Sorry.".into() };
    assert_eq!(state.notices, [handled, said]);
    // Elsewhere there is no failure to name.
    let mut wrong = description;
    wrong["edges"] = json!([{"from": "a", "to": "sorry"}]);
    let violations = Chain::new(wrong).expect_err("no error edge").violations;
    assert_eq!(violations[0].pointer, "/nodes/sorry/answer");
}

#[test]
fn a_condition_that_can_not_be_decided_takes_the_error_edge_with_the_reason() {
    let chain = chain(json!({
        "start": "a",
        "nodes": {
            "a": {"agent": "urn:a"},
            "sure": {"answer": {"message": "sure"}},
            "sorry": {"answer": {"message": "{{error.reason}}"}},
        },
        "edges": [{"from": "a", "to": "sure", "when": "response.data.score > 0.8"}, {"from": "a", "to": "sorry", "on_error": true}],
    }));
    for (score, expected) in [(json!("0.9"), "sure"), (json!("high"), "condition `response.data.score > 0.8`")] {
        let mut state = chain.start(json!("x"));
        let end = next(&chain, &mut state, success(json!({"score": score})));
        assert!(
            matches!(&end, Step::End(Outcome::Done(response)) if response.message.starts_with(expected)),
            "{end:?}"
        );
    }
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

/// A chain that translates texts side by side, counts what they cost, and chooses by that.
fn texts() -> Value {
    json!({
        "start": "all",
        "nodes": {
            "all": {
                "chain": "one", "each": {"over": ["text"], "parallel": 2, "reduce": {"cost": "sum"}},
                "outputs": {"translated": {}, "cost": {}}, "choose": {"by": "cost", "branches": {"6": "dear"}},
            },
            "dear": {"answer": {"message": "It took {{given.total}}."}, "input": {"total": 0}},
            "cheap": {"answer": {"message": "cheap"}},
        },
        "edges": [
            {"from": "all", "to": "dear", "branch": "dear"}, {"from": "all", "to": "cheap", "branch": "default"},
        ],
        "links": [
            {"from": "input", "output": "texts", "to": "all", "input": "text"},
            {"from": "input", "output": "to", "to": "all", "input": "language"},
            {"from": "all", "output": "cost", "to": "dear", "input": "total"},
        ],
        "chains": {"one": {"start": "translate", "nodes": {"translate": {"capability": "translate"}}}},
    })
}

#[test]
fn a_chain_is_run_for_each_element_of_a_list() {
    let chain = chain(texts());
    let mut state = chain.start(json!({"texts": ["a", "b", "c"], "to": "de"}));
    let first = due(&chain, &state);
    let names: Vec<&str> = first.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["all[0]/translate", "all[1]/translate"], "two at the same time");
    let Task::Call { input, node } = &chain.due(&state)[1].task else { panic!("a call") };
    assert_eq!((*input, node.capability.as_deref()), (&json!({"text": "b", "language": "de"}), Some("translate")));
    // The second is done first, and the third begins.
    assert!(chain.take(&mut state, &first[1].0, success(json!({"translated": "B", "cost": 2}))));
    assert!(!chain.take(&mut state, &first[1].0, success(json!({}))), "it has answered already");
    let stored = serde_json::to_string(&state).expect("JSON");
    let mut state = chain.restore(&stored).expect("a state");
    let names: Vec<String> = due(&chain, &state).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["all[0]/translate", "all[2]/translate"]);
    next(&chain, &mut state, success(json!({"translated": "A", "cost": 1})));
    let end = next(&chain, &mut state, success(json!({"translated": "C", "cost": 3})));
    assert_eq!(state.outputs["all"].data["translated"], json!(["A", "B", "C"]));
    assert!(matches!(&end, Step::End(Outcome::Done(response)) if response.message == "It took 6."), "{end:?}");
}

#[test]
fn lists_of_different_lengths_and_of_nothing_are_told_apart() {
    let mut description = texts();
    description["nodes"]["all"]["each"]["over"] = json!(["text", "language"]);
    let outcome = chain(description).start(json!({"texts": ["a"], "to": ["de", "fr"]})).step;
    assert!(matches!(&outcome, Step::End(Outcome::Failed { reason, .. }) if reason.contains("different lengths")));
    let state = chain(texts()).start(json!({"texts": [], "to": "de"}));
    assert_eq!(state.outputs["all"].data, *json!({"translated": [], "cost": 0}).as_object().expect("an object"));
    assert!(matches!(state.outcome(), Some(Outcome::Done(response)) if response.message == "cheap"));
}

#[test]
fn chains_side_by_side_give_their_data_together_and_fail_together() {
    let part = |capability: &str| json!({"start": "x", "nodes": {"x": {"capability": capability}}});
    let description = json!({
        "start": "both",
        "nodes": {
            "both": {"chains": ["a", "b"], "otherwise": {"branch": "broken", "data": {"why": "{{given.failure}}"}}},
            "well": {"answer": {"message": "{{both.data.a}}{{both.data.b}}"}}, "broken": {"answer": {"message": "{{both.data.why}}"}},
        },
        "edges": [{"from": "both", "to": "broken", "branch": "broken"}, {"from": "both", "to": "well"}],
        "chains": {"a": part("a"), "b": part("b")},
    });
    let chain = chain(description);
    let message = |state: &State| match state.outcome() {
        Some(Outcome::Done(response)) => response.message.clone(),
        other => panic!("{other:?}"),
    };
    let mut state = chain.start(json!({}));
    let both = due(&chain, &state);
    assert_eq!(both.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["both/a/x", "both/b/x"]);
    for (index, (place, _)) in both.iter().enumerate().rev() {
        let name = if index == 0 { "a" } else { "b" };
        assert!(chain.take(&mut state, place, success(json!({name: index}))));
    }
    assert_eq!(message(&state), "01");
    let mut state = chain.start(json!({}));
    let both = due(&chain, &state);
    assert!(chain.take(&mut state, &both[1].0, answer("failure", "no")));
    assert_eq!(message(&state), "x: no", "the other is not waited for");
}

#[test]
fn the_link_of_the_node_that_was_run_last_counts() {
    let description = json!({
        "start": "first", "max_steps": 10,
        "nodes": {"first": {"agent": "urn:a"}, "again": {"agent": "urn:b", "input": {"n": 0, "x": "default"}}},
        "edges": [{"from": "first", "to": "again"}, {"from": "again", "to": "again", "when": "response.data.n < 3"}],
        "links": [
            {"from": "again", "output": "n", "to": "again", "input": "n"},
            {"from": "first", "output": "n", "to": "again", "input": "n"},
            {"from": "first", "output": "unsaid", "to": "again", "input": "x"},
        ],
    });
    let chain = chain(description);
    let mut state = chain.start(json!({}));
    for n in 1..=3 {
        let step = next(&chain, &mut state, success(json!({"n": n})));
        let is_last = n == 3 && matches!(step, Step::End(_));
        assert!(
            is_last || step == Step::Call { node: "again".into(), input: json!({"n": n, "x": "default"}) },
            "{step:?}"
        );
    }
}

#[test]
fn outputs_are_what_counts_of_an_answer() {
    let description = |outputs: Value| json!({"start": "a", "nodes": {"a": {"agent": "urn:a", "outputs": outputs}}});
    let text = read(r#"{"thought": "", "status": "success", "data": {}, "message": "It rains."}"#).response;
    for (outputs, response, expected) in [
        (json!({"x": {}}), success(json!({"x": 1, "y": 2})), Ok(json!({"x": 1}))),
        (json!({"x": {}}), success(json!({"y": 2})), Ok(json!({"x": {"y": 2}}))),
        (json!({"x": {}}), success(json!({"result": [2]})), Ok(json!({"x": [2]}))),
        (json!({"x": {}}), text.clone(), Ok(json!({"x": "It rains."}))),
        (json!({"x": {}, "y": {"default": null}}), success(json!({"x": 1})), Ok(json!({"x": 1, "y": null}))),
        (json!({"x": {}, "y": {}}), success(json!({"x": 1})), Err("no member \"y\"; its members: x")),
    ] {
        let chain = chain(description(outputs));
        let mut state = chain.start(json!({}));
        match (next(&chain, &mut state, response), expected) {
            (Step::End(Outcome::Done(response)), Ok(expected)) => assert_eq!(Value::Object(response.data), expected),
            (Step::End(Outcome::Failed { reason, .. }), Err(expected)) => {
                assert!(reason.contains(expected), "{reason}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_node_asks_the_user_itself() {
    let description = json!({
        "start": "ask",
        "nodes": {
            "ask": {"ask": "Where, {{input.name}}?", "outputs": {"city": {}}},
            "end": {"answer": {"message": "{{ask.data.city}}"}},
        },
        "edges": [{"from": "ask", "to": "end"}],
    });
    let chain = chain(description);
    let mut state = chain.start(json!({"name": "Ada"}));
    assert_eq!(state.step, Step::NeedsInput { node: "ask".into(), message: "Where, Ada?".into() });
    let place = chain.due(&state).remove(0).place;
    assert!(chain.answer(&mut state, &place, json!("Bonn")));
    assert!(matches!(state.outcome(), Some(Outcome::Done(response)) if response.message == "Bonn"));
}

#[test]
fn states_of_other_chains_and_chains_within_themselves_are_refused() {
    let stored = serde_json::to_string(&chain(texts()).start(json!({"texts": ["a"], "to": "de"}))).expect("JSON");
    let error = chain(emails()).restore(&stored).expect_err("of another chain");
    assert!(error.to_string().contains("belongs to another chain"), "{error}");
    assert!(chain(emails()).restore("{}").is_err());
    let mut description = texts();
    description["chains"]["one"]["nodes"]["translate"] = json!({"chain": "one"});
    let error = Chain::new(description.clone()).expect_err("it contains itself");
    assert_eq!((error.violations[0].pointer.as_str(), &*error.violations[0].rule), ("/chains", "chain/depth"));
    description["chains"]["one"]["nodes"]["translate"] = json!({"chain": "none", "agent": "urn:x"});
    let error = Chain::new(description).expect_err("two kinds of node, and no such chain");
    let rules: Vec<&str> = error.violations.iter().map(|found| &*found.rule).collect();
    assert_eq!(rules, ["chain/agent", "chain/unknown-chain"]);
}
