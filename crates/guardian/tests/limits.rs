//! The cost of a step: many and long names take neither time nor memory beyond their own size.

use std::time::{Duration, Instant};

use agentdex_guardian::{
    Action, Arguments, Decision, Description, Given, Modes, Origin, Policy, Rule, Session, Standing, Step, Tool, Tools,
    Verdict, decide,
};
use serde_json::{Map, Value, json};

/// Far more than a linear comparison takes, far less than a quadratic one does.
const SHORT: Duration = Duration::from_secs(3);
const MANY: usize = 30_000;

fn description(tools: Tools) -> Description {
    Description {
        id: "urn:x:a".into(),
        title: "A".into(),
        version: None,
        standing: Standing::Live,
        vendor: None,
        tags: Vec::new(),
        tools,
        resources: (0..MANY).map(|number| format!("resource-{number:06}")).collect(),
        mcp_servers: (0..MANY).map(|number| (format!("server-{number:06}"), "1".to_owned())).collect(),
        modes: Modes::default(),
    }
}

fn step<'s>(turn: &'s str, action: Action<'s>) -> Step<'s> {
    let origin = Origin {
        agent: "urn:x:a",
        version: "1",
        session: "s",
        turn,
        step: "p",
        resources: Vec::new(),
        mcp_servers: Vec::new(),
    };
    Step { method: "steps/x", origin: Some(origin), reasoning: None, action, response: None }
}

fn judged(step: &Step<'_>, description: &Description, session: Option<&Session>) -> Verdict {
    decide(step, Some(description), session, &Policy::default(), &|_| None)
}

fn findings(verdict: &Verdict, rule: Rule) -> usize {
    verdict.findings.iter().filter(|finding| finding.rule == rule.name()).count()
}

#[test]
fn findings_of_a_rule_are_bounded() {
    let names: Vec<String> = (0..1000).map(|number| format!("other-{number}")).collect();
    let mut step = step("t", Action::Other(Value::Null));
    if let Some(origin) = &mut step.origin {
        origin.resources = names.iter().map(String::as_str).collect();
        origin.mcp_servers = names.iter().map(|name| (name.as_str(), "1")).collect();
    }
    let verdict = judged(&step, &description(Tools::default()), None);
    assert_eq!((findings(&verdict, Rule::ResourceDeclared), findings(&verdict, Rule::McpServerDeclared)), (20, 20));
}

#[test]
fn long_names_are_shortened_in_findings() {
    let long = "x".repeat(100_000);
    let mut tools = Tools::default();
    let schema = json!({"properties": {&long: {"type": "string"}}, "required": [&long]});
    tools.add(Tool { id: long.clone(), name: "A tool".into(), arguments: Arguments::of_schema(&schema) });
    let known = Description { version: Some(long.clone()), ..description(tools) };
    let value = Value::Null;
    for (tool, name) in [("other", "x"), ("A tool", "x"), ("A tool", &long)] {
        let inputs = vec![Given { name, id: None, value: &value }];
        let verdict = judged(&step("t", Action::ToolCall { execution: "e", tool, inputs }), &known, None);
        assert!(verdict.findings.len() >= 2, "{verdict:?}");
        assert!(verdict.findings.iter().all(|finding| finding.message.len() < 2000));
    }
}

#[test]
fn many_declared_names_are_compared_quickly() {
    let known = description(Tools::default());
    let last = format!("resource-{:06}", MANY - 1);
    let server = format!("server-{:06}", MANY - 1);
    let mut step = step("t", Action::Knowledge { query: None, sources: vec![&last; MANY] });
    if let Some(origin) = &mut step.origin {
        origin.resources = vec![&last; MANY];
        origin.mcp_servers = vec![(&server, "1"); MANY];
    }
    let started = Instant::now();
    let verdict = judged(&step, &known, None);
    assert_eq!((verdict.decision, verdict.findings.len()), (Decision::Allow, 0));
    assert!(started.elapsed() < SHORT, "{:?}", started.elapsed());
}

#[test]
fn many_arguments_are_read_and_compared_quickly() {
    let names: Vec<String> = (0..MANY).map(|number| format!("argument-{number:06}")).collect();
    let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let started = Instant::now();
    let mut arguments = Arguments::of_schema(&json!({"properties": properties, "required": names}));
    names.iter().for_each(|name| arguments.identify(name, &format!("id of {name}")));
    let (value, other) = (json!("text"), json!(7));
    let given = |value| names.iter().map(move |name| Given { name, id: None, value });
    assert_eq!(arguments.check(given(&value)), Vec::<String>::new());
    let ids: Vec<String> = names.iter().map(|name| format!("id of {name}")).collect();
    assert_eq!(arguments.check(ids.iter().map(|id| Given { name: "", id: Some(id), value: &value })).len(), 0);
    // No more is listed than a finding shows.
    assert_eq!(arguments.check(given(&other)).len(), 20);
    assert_eq!(arguments.check(std::iter::empty()).len(), 20);
    assert!(started.elapsed() < SHORT, "{:?}", started.elapsed());
}

#[test]
fn a_session_takes_little_memory_however_long_the_ids_of_its_turns_are() {
    let turn = "t".repeat(1_000_000);
    let mut tools = Tools::default();
    tools.add(Tool { id: "tool".into(), name: "tool".into(), arguments: Arguments::open() });
    let known = description(tools);
    let call = step(&turn, Action::ToolCall { execution: "e", tool: "tool", inputs: Vec::new() });
    let mut session = Session::default();
    session.take_in(&call, &judged(&call, &known, Some(&session)));
    assert!(session.heap_bytes() < 1000, "{}", session.heap_bytes());
    let result = |turn| step(turn, Action::ToolResult { execution: "e", is_error: false, text: String::new() });
    assert_eq!(judged(&result(&turn), &known, Some(&session)).decision, Decision::Allow);
    assert_eq!(judged(&result("another"), &known, Some(&session)).decision, Decision::Deny);
}
