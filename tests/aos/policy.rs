//! What a guardian decides: each rule in all three modes, policies, expressions.

use agentdex::policy::{
    Action, Arguments, Citation, Decision, Description, Edit, Edited, Given, Mode, Modes, Origin, Policy, PolicyFile,
    Rule, Session, Standing, Step, Tool, Tools, Verdict, Who, decide,
};
use serde_json::{Map, Value, json};

const SCHEMA: &str = r#"{"type": "object", "required": ["to"], "properties": {
    "to": {"type": "string"}, "changes": {"type": "integer"}, "any": {}, "when": {"type": ["string", "null"]}
}}"#;

fn description() -> Description {
    let mut tools = Tools::default();
    let mut arguments = Arguments::of_schema(&serde_json::from_str(SCHEMA).unwrap());
    arguments.identify("to", "a-to");
    tools.add(Tool { id: "find_trains".into(), name: "Find trains".into(), arguments });
    tools.add(Tool { id: "stop".into(), name: "Stop".into(), arguments: Arguments::none() });
    Description {
        id: "urn:x:travel".into(),
        title: "Travel".into(),
        version: Some("1.0.0".into()),
        standing: Standing::Live,
        vendor: Some("Example".into()),
        tags: vec!["beta".into()],
        tools,
        resources: ["policy".into()].into(),
        mcp_servers: [("com.example/timetable".into(), "2.1.0".into())].into(),
        modes: Modes::default(),
    }
}

fn origin() -> Origin<'static> {
    Origin {
        agent: "urn:x:travel",
        version: "1.0.0",
        session: "s",
        turn: "t",
        step: "p",
        resources: vec!["policy"],
        mcp_servers: vec![("com.example/timetable", "2.1.0")],
    }
}

fn step(method: &'static str, action: Action<'static>) -> Step<'static> {
    Step { method, origin: Some(origin()), reasoning: None, action, response: None }
}

fn object(value: Value) -> &'static Map<String, Value> {
    Box::leak(Box::new(value)).as_object().unwrap()
}

fn call(tool: &'static str, inputs: Value) -> Step<'static> {
    let inputs = object(inputs).iter().map(|(name, value)| Given { name, id: None, value }).collect();
    step("steps/toolCallRequest", Action::ToolCall { execution: "x", tool, inputs })
}

fn message(citations: Vec<Citation<'static>>) -> Step<'static> {
    step("steps/message", Action::Message { role: "agent", text: "Hello".into(), citations })
}

fn mcp(message: Value) -> Step<'static> {
    step("protocols/MCP", Action::Mcp(object(message)))
}

fn result(execution: &'static str) -> Step<'static> {
    step("steps/toolCallResult", Action::ToolResult { execution, is_error: false, text: String::new() })
}

fn nothing_to_edit(_: Edit) -> Option<Edited> {
    None
}

fn edited(edit: Edit) -> Option<Edited> {
    let places = |is_on: bool| if is_on { vec!["/params/message".to_owned()] } else { Vec::new() };
    let step = json!({"secrets": edit.secrets, "personalData": edit.personal_data, "failed": edit.fail_response});
    Some(Edited {
        step,
        secrets: places(edit.secrets),
        personal_data: places(edit.personal_data),
        has_failed_response: edit.fail_response,
    })
}

/// What is decided where one rule has this mode, and all others are off.
fn judged(rule: Rule, mode: Mode, step: &Step<'_>, known: Option<Description>, session: &Session) -> Verdict {
    let file = format!(
        "{{\"rules\": {{{}}}}}",
        Rule::ALL
            .iter()
            .map(|one| format!("{:?}: {:?}", one.name(), if *one == rule { word(mode) } else { "off" }))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let file: PolicyFile = serde_json::from_str(&file).unwrap();
    let policy = Policy::compile(file).unwrap();
    let known = known.map(|known| Description { modes: policy.modes_for(&Who::default()), ..known });
    let is_mask = [Rule::MaskSecrets, Rule::MaskPersonalData].contains(&rule);
    let edit: &dyn Fn(Edit) -> Option<Edited> = if is_mask { &edited } else { &nothing_to_edit };
    decide(step, known.as_ref(), Some(session), &policy, edit)
}

fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off",
        Mode::Warn => "warn",
        Mode::Enforce => "enforce",
    }
}

/// For each rule a step that it finds fault with, what is known of the agent, and a part of the message.
fn faulty() -> Vec<(Rule, Step<'static>, Option<Description>, &'static str)> {
    let known = || Some(description());
    let standing = |standing| Some(Description { standing, ..description() });
    let other_origin = |change: fn(&mut Origin<'static>)| {
        let mut step = message(Vec::new());
        change(step.origin.as_mut().unwrap());
        step
    };
    let a2a = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {}});
    vec![
        (Rule::AgentRegistered, message(Vec::new()), None, "\"urn:x:travel\" is not registered"),
        (Rule::AgentLive, message(Vec::new()), standing(Standing::Expired), "has expired"),
        (Rule::AgentCurrent, message(Vec::new()), standing(Standing::Stale), "registration is no longer confirmed"),
        (
            Rule::AgentVersion,
            other_origin(|origin| origin.version = "2.0.0"),
            known(),
            "but version \"1.0.0\" is registered",
        ),
        (Rule::ToolDeclared, call("refund", json!({})), known(), "declared tools: find_trains, stop"),
        (
            Rule::ToolDeclared,
            mcp(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund"}})),
            known(),
            "\"refund\" is not declared",
        ),
        (Rule::ToolArguments, call("find_trains", json!({})), known(), "`to` is missing"),
        (
            Rule::ToolArguments,
            call("find_trains", json!({"to": 1})),
            known(),
            "`to` is a number; its type must be string",
        ),
        (
            Rule::ToolArguments,
            call("Find trains", json!({"to": "a", "changes": 1.5})),
            known(),
            "`changes` is a number; its type must be integer",
        ),
        (
            Rule::ToolArguments,
            call("find_trains", json!({"to": "a", "x": 1})),
            known(),
            "`x` is not one of its arguments",
        ),
        (Rule::ToolArguments, call("stop", json!({"x": 1})), known(), "it has no arguments"),
        (
            Rule::ToolArguments,
            mcp(json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "find_trains", "arguments": {"to": null}},
            })),
            known(),
            "`to` is null; its type must be string",
        ),
        (Rule::ToolResult, result("y"), known(), "no pending call with the executionId \"y\""),
        (Rule::ToolResult, mcp(json!({"jsonrpc": "2.0", "id": 9, "result": {}})), known(), "with the id 9"),
        (
            Rule::SourceDeclared,
            step("steps/knowledgeRetrieval", Action::Knowledge { query: None, sources: vec!["policy", "wiki"] }),
            known(),
            "\"wiki\" is not a declared resource",
        ),
        (Rule::SourceDeclared, message(vec![Citation::File("wiki")]), known(), "\"wiki\" is not a declared resource"),
        (
            Rule::ResourceDeclared,
            other_origin(|origin| origin.resources = vec!["wiki"]),
            known(),
            "\"wiki\" is not declared",
        ),
        (
            Rule::ResourceDeclared,
            mcp(json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc"}})),
            known(),
            "\"file:///etc\" is not declared",
        ),
        (
            Rule::McpServerDeclared,
            other_origin(|origin| origin.mcp_servers = vec![("com.evil/x", "1")]),
            known(),
            "\"com.evil/x\" is not declared",
        ),
        (
            Rule::McpServerDeclared,
            mcp(json!({"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {
                "name": "com.example/timetable", "version": "9",
            }}})),
            known(),
            "but with a version other than \"9\"",
        ),
        (Rule::A2aMessage, step("tasks/get", Action::A2a(object(a2a.clone()))), known(), "/params/id"),
        (Rule::A2aMessage, step("tasks/cancel", Action::A2a(object(a2a))), known(), "; expected tasks/cancel"),
        (Rule::McpMessage, mcp(json!({"jsonrpc": "1.0", "method": "ping"})), known(), "/jsonrpc"),
        (Rule::McpMessage, mcp(json!({"jsonrpc": "2.0", "id": 1})), known(), "or /id and either"),
        (Rule::MaskSecrets, message(Vec::new()), known(), "it contains a secret"),
        (Rule::MaskPersonalData, message(Vec::new()), known(), "it contains personal data"),
    ]
}

#[test]
fn each_rule_is_off_warns_or_is_enforced() {
    let faulty = faulty();
    for rule in Rule::ALL {
        assert!(faulty.iter().any(|(covered, ..)| covered == rule), "{rule:?} has no case");
    }
    for (rule, step, known, words) in faulty {
        let of = |mode| judged(rule, mode, &step, known.clone(), &Session::default());
        let off = of(Mode::Off);
        assert_eq!((off.decision, off.findings.len()), (Decision::Allow, 0), "{rule:?}");
        let warned = of(Mode::Warn);
        assert_eq!((warned.decision, warned.modified.clone()), (Decision::Allow, None), "{rule:?}");
        let found: Vec<_> = warned.findings.iter().map(|one| (one.rule.as_ref(), one.mode)).collect();
        assert_eq!(found, [(rule.name(), Mode::Warn)], "{rule:?}: {:?}", warned.findings);
        assert!(warned.findings[0].message.contains(words), "{rule:?}: {}", warned.findings[0].message);
        let enforced = of(Mode::Enforce);
        let is_mask = [Rule::MaskSecrets, Rule::MaskPersonalData].contains(&rule);
        let expected = if is_mask { Decision::Modify } else { Decision::Deny };
        assert_eq!((enforced.decision, enforced.reason_codes()), (expected, vec![rule.name()]), "{rule:?}");
        assert_eq!(enforced.modified.is_some(), is_mask, "{rule:?}");
        assert!(enforced.message().contains(words), "{rule:?}: {}", enforced.message());
    }
}

#[test]
fn what_is_declared_is_allowed_without_remarks() {
    let none = Map::new();
    let bonn: &'static Value = Box::leak(Box::new("Bonn".into()));
    let by_id = vec![Given { name: "other name", id: Some("a-to"), value: bonn }];
    let steps = [
        call("find_trains", json!({"to": "Bonn", "changes": 2, "any": [], "when": null})),
        call("Find trains", json!({"to": "Bonn"})),
        call("stop", none.into()),
        step("steps/toolCallRequest", Action::ToolCall { execution: "x", tool: "find_trains", inputs: by_id }),
        message(vec![Citation::File("policy"), Citation::Site("https://a.example")]),
        mcp(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        step("steps/memoryStore", Action::Memory { texts: vec!["a"] }),
    ];
    for step in steps {
        let verdict = decide(&step, Some(&description()), None, &Policy::default(), &nothing_to_edit);
        assert_eq!(
            (verdict.decision, verdict.findings.len()),
            (Decision::Allow, 0),
            "{step:?}: {:?}",
            verdict.findings
        );
    }
}

#[test]
fn a_result_is_that_of_a_call_of_its_turn_once() {
    let mut session = Session::default();
    let known = description();
    let policy = Policy::default();
    let mut take = |step: &Step<'_>| {
        let verdict = decide(step, Some(&known), Some(&session), &policy, &nothing_to_edit);
        session.take_in(step, &verdict);
        verdict.decision
    };
    assert_eq!(take(&call("find_trains", json!({"to": "a"}))), Decision::Allow);
    assert_eq!(take(&result("x")), Decision::Allow);
    assert_eq!(take(&result("x")), Decision::Deny);
    // What was denied wasn't called.
    assert_eq!(take(&call("refund", json!({}))), Decision::Deny);
    assert_eq!(take(&result("x")), Decision::Deny);
    assert_eq!(take(&call("find_trains", json!({"to": "a"}))), Decision::Allow);
    let mut next = result("x");
    next.origin.as_mut().unwrap().turn = "t2";
    assert_eq!(take(&next), Decision::Deny);
    assert_eq!((session.steps, session.turns, session.denied, session.tool_calls), (7, 2, 4, 2));
}

#[test]
fn messages_of_mcp_belong_to_requests_of_the_turn() {
    let (known, policy, mut session) = (description(), Policy::default(), Session::default());
    let request = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
    let answer = json!({"jsonrpc": "2.0", "id": "a", "result": {"tools": []}});
    for (message, expected) in [(&answer, Decision::Deny), (&request, Decision::Allow), (&answer, Decision::Allow)] {
        let step = mcp(message.clone());
        let verdict = decide(&step, Some(&known), Some(&session), &policy, &nothing_to_edit);
        session.take_in(&step, &verdict);
        assert_eq!(verdict.decision, expected, "{message}");
    }
    // Without a session nobody knows.
    let step = mcp(answer);
    assert_eq!(decide(&step, Some(&known), None, &policy, &nothing_to_edit).decision, Decision::Allow);
}

#[test]
fn the_open_calls_of_a_session_are_bounded() {
    let mut session = Session::default();
    let allow = Verdict { decision: Decision::Allow, findings: Vec::new(), modified: None };
    for number in 0..1000 {
        let execution: &'static str = format!("x{number}").leak();
        let step = step("steps/toolCallRequest", Action::ToolCall { execution, tool: "stop", inputs: Vec::new() });
        session.take_in(&step, &allow);
    }
    assert!(session.heap_bytes() < 8 * 1024, "{}", session.heap_bytes());
    let known = description();
    let is_known = |execution| {
        decide(&result(execution), Some(&known), Some(&session), &Policy::default(), &nothing_to_edit).decision
    };
    assert_eq!((is_known("x999"), is_known("x0")), (Decision::Allow, Decision::Deny));
}

#[test]
fn only_what_is_enforced_is_masked() {
    let policy = |json: Value| Policy::compile(serde_json::from_value(json).unwrap()).unwrap();
    let policy = policy(json!({"rules": {"mask-secrets": "warn", "mask-personal-data": "enforce"}}));
    let known = Description { modes: policy.modes_for(&Who::default()), ..description() };
    let verdict = decide(&message(Vec::new()), Some(&known), None, &policy, &edited);
    assert_eq!(verdict.modified, Some(json!({"secrets": false, "personalData": true, "failed": false})));
    assert_eq!(verdict.reason_codes(), ["mask-personal-data"]);
    // What is denied isn't modified.
    let denied = decide(&call("refund", json!({})), Some(&known), None, &policy, &edited);
    assert_eq!((denied.decision, denied.modified), (Decision::Deny, None));
}

#[test]
fn an_agent_counts_more_than_a_tag_and_a_tag_more_than_a_vendor() {
    let file = json!({
        "rules": {"tool-declared": "off"},
        "for": [
            {"agent": "urn:x:a", "rules": {"tool-declared": "enforce"}},
            {"tag": "Beta", "rules": {"tool-declared": "warn", "agent-version": "enforce"}},
            {"vendor": "example", "rules": {"tool-declared": "off", "agent-version": "off", "tool-result": "off"}},
        ],
    });
    let policy = Policy::compile(serde_json::from_value(file).unwrap()).unwrap();
    let tags = ["beta".to_owned()];
    let modes = |id, vendor| policy.modes_for(&Who { id, tags: &tags, vendor });
    let named = modes("urn:x:a", Some("Example"));
    assert_eq!((named.of(Rule::ToolDeclared), named.of(Rule::AgentVersion)), (Mode::Enforce, Mode::Enforce));
    assert_eq!(named.of(Rule::ToolResult), Mode::Off);
    let other = modes("urn:x:b", None);
    assert_eq!((other.of(Rule::ToolDeclared), other.of(Rule::ToolResult)), (Mode::Warn, Mode::Enforce));
    assert_eq!(policy.modes_for(&Who::default()).of(Rule::ToolDeclared), Mode::Off);
}

fn with_expressions(expressions: Value) -> Policy {
    Policy::compile(serde_json::from_value(json!({"expression": expressions})).unwrap()).unwrap()
}

#[test]
fn own_rules_are_expressions_over_step_agent_and_session() {
    for (denies, is_denied) in [
        ("step.tool == 'find_trains' and step.inputs.to == 'Bonn'", true),
        ("step.tool == 'find_trains' and step.inputs.changes > 3", false),
        ("step.inputs.missing == 1", false),
        ("not exists(step.reasoning)", true),
        ("agent.vendor == 'Example' && 'beta' in agent.tags", true),
        ("session.steps >= 1", false),
        ("session.id == 's' and agent.registered", true),
        ("step.method.startsWith('steps/')", true),
        // What can't be decided is denied.
        ("step.tool", true),
        ("step.tool > 3", true),
    ] {
        let policy = with_expressions(json!([{"name": "own", "denies": denies, "message": "not today"}]));
        let verdict = decide(
            &call("find_trains", json!({"to": "Bonn", "changes": 1})),
            Some(&description()),
            None,
            &policy,
            &nothing_to_edit,
        );
        assert_eq!(verdict.decision == Decision::Deny, is_denied, "{denies}: {:?}", verdict.findings);
        if is_denied {
            assert_eq!(verdict.reason_codes(), ["own"]);
        }
    }
}

#[test]
fn own_rules_have_modes_methods_and_agents() {
    let policy = with_expressions(json!([
        {"name": "off", "denies": "true", "mode": "off"},
        {"name": "warns", "denies": "true", "mode": "warn", "methods": ["steps/message"]},
        {"name": "other-method", "denies": "true", "methods": ["ping"]},
        {"name": "other-agent", "denies": "true", "agent": "urn:x:other"},
        {"name": "other-tag", "denies": "true", "tag": "stable"},
        {"name": "other-vendor", "denies": "true", "vendor": "Acme"},
    ]));
    let verdict = decide(&message(Vec::new()), Some(&description()), None, &policy, &nothing_to_edit);
    assert_eq!((verdict.decision, verdict.reason_codes()), (Decision::Allow, vec!["warns"]));
}

#[test]
fn a_rule_may_fail_a_response_instead_of_denying_its_step() {
    let promise = json!({"name": "promise", "denies": "step.response.status == 'success'", "then": "fail-response"});
    let with_mode = |mode: &str| {
        let mut rule = promise.clone();
        rule["mode"] = mode.into();
        with_expressions(json!([rule]))
    };
    let said = |status: &str| Step { response: Some(json!({"status": status})), ..message(Vec::new()) };
    let decide = |policy: &Policy, step: &Step<'_>, edit: &dyn Fn(Edit) -> Option<Edited>| {
        decide(step, Some(&description()), None, policy, edit)
    };
    let enforced = with_mode("enforce");
    assert!(enforced.reads_response_of("steps/message"));
    let failed = decide(&enforced, &said("success"), &edited);
    assert_eq!((failed.decision, failed.reason_codes()), (Decision::Modify, vec!["promise"]));
    assert_eq!(failed.modified.unwrap()["failed"], true);
    // A step whose response can't be changed is denied.
    assert_eq!(decide(&enforced, &said("success"), &nothing_to_edit).decision, Decision::Deny);
    assert_eq!(decide(&enforced, &said("failure"), &edited).decision, Decision::Allow);
    assert_eq!(decide(&with_mode("warn"), &said("success"), &edited).decision, Decision::Allow);
    // Another rule denies it all the same.
    let both = with_expressions(json!([promise, {"name": "no", "denies": "true"}]));
    let denied = decide(&both, &said("success"), &edited);
    assert_eq!((denied.decision, denied.modified), (Decision::Deny, None));
    let silent = with_expressions(json!([{"name": "no", "denies": "step.text == 'x'"}]));
    assert!(!silent.reads_response_of("steps/message"));
}

#[test]
fn what_takes_too_long_is_not_allowed() {
    let list: Vec<u32> = (0..20_000).collect();
    let policy = with_expressions(json!([
        {"name": "slow", "denies": "step.inputs.any.exists(x, !(x in step.inputs.any))"},
        {"name": "next", "denies": "false"},
    ]));
    let step = call("find_trains", json!({"to": "Bonn", "any": list}));
    let verdict = decide(&step, Some(&description()), None, &policy, &nothing_to_edit);
    assert_eq!((verdict.decision, verdict.reason_codes()), (Decision::Deny, vec!["slow", "next"]));
    assert!(verdict.findings.iter().all(|finding| finding.message.contains("took too long")), "{:?}", verdict.findings);
    let many = call("find_trains", json!({"to": "Bonn", "any": vec![0; agentdex::expression::MAX_VALUES]}));
    let verdict = decide(&many, Some(&description()), None, &policy, &nothing_to_edit);
    assert!(verdict.findings[0].message.contains("exceeds this limit"), "{:?}", verdict.findings);
}

#[test]
fn what_is_wrong_with_a_policy_is_named() {
    let deep = format!("{}true{}", "(".repeat(40), ")".repeat(40));
    let rule = |name: &str, denies: &str| json!({"name": name, "denies": denies});
    for (file, words) in [
        (json!({"expression": [rule("a", "step.tool ==")]}), "expression 1 (a)"),
        (
            json!({"expression": [rule("a", "request.tool == 1")]}),
            "`request` is unknown; expressions can refer to `step`",
        ),
        (json!({"expression": [rule("a", &deep)]}), "levels deep"),
        (json!({"expression": [rule("a", "true"), rule("a", "true")]}), "expression 2 (a): the name is already used"),
        (json!({"expression": [rule("tool-declared", "true")]}), "the name of a built-in rule"),
        (json!({"for": [{"rules": {}}]}), "entry 1 of `for`: it names no agents"),
    ] {
        let error = Policy::compile(serde_json::from_value(file).unwrap()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let nothing_denied = serde_json::from_value::<PolicyFile>(json!({"expression": [{"name": "a"}]})).unwrap_err();
    assert!(nothing_denied.to_string().contains("missing field `denies`"), "{nothing_denied}");
    let in_rego = json!({"expression": [{"name": "a", "denies": "true", "rego": "package a"}]});
    for odd in
        [in_rego, json!({"rules": {"tools": "warn"}}), json!({"rules": {"tool-declared": "on"}}), json!({"rule": {}})]
    {
        let error = serde_json::from_value::<PolicyFile>(odd.clone()).unwrap_err().to_string();
        assert!(error.contains("unknown"), "{odd}: {error}");
    }
}

#[test]
fn messages_of_a2a_are_judged_by_their_method() {
    let parts = json!([{"kind": "text", "text": "a"}]);
    let message = json!({"messageId": "m", "role": "user", "parts": parts});
    let task = json!({"id": "t", "status": {"state": "working"}});
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let response = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no such task"}});
    let hook = json!({"taskId": "t", "pushNotificationConfig": {"url": "https://a.example"}});
    let good = [
        ("message/send", request("message/send", json!({"message": message}))),
        ("message/stream", request("message/stream", json!({"message": message}))),
        ("message/send", response(message.clone())),
        ("message/send", response(task.clone())),
        ("message/stream", response(json!({"kind": "status-update", "taskId": "t"}))),
        ("tasks/get", request("tasks/get", json!({"id": "t"}))),
        ("tasks/get", response(task.clone())),
        ("tasks/cancel", response(task)),
        ("tasks/resubscribe", request("tasks/resubscribe", json!({"id": "t"}))),
        ("tasks/pushNotificationConfig/set", request("tasks/pushNotificationConfig/set", hook.clone())),
        ("tasks/pushNotificationConfig/set", response(hook)),
        ("tasks/pushNotificationConfig/get", response(Value::Null)),
        ("tasks/pushNotificationConfig/get", error),
    ];
    let bad = [
        ("message/send", request("message/send", json!({}))),
        ("message/send", request("message/send", json!({"message": {"messageId": "m", "role": "user", "parts": []}}))),
        ("message/send", request("message/send", json!({"message": {"role": "user", "parts": parts}}))),
        ("message/send", request("message/stream", json!({"message": message}))),
        ("message/send", response(json!("x"))),
        ("message/send", json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}})),
        ("tasks/get", response(json!({"id": "t"}))),
        ("tasks/get", json!({"jsonrpc": "2.0", "id": 1, "error": "no"})),
        ("tasks/get", json!({"id": 1, "method": "tasks/get", "params": {"id": "t"}})),
        ("tasks/get", json!({"jsonrpc": "2.0", "method": "tasks/get", "params": {"id": "t"}})),
        ("tasks/pushNotificationConfig/set", request("tasks/pushNotificationConfig/set", json!({"taskId": "t"}))),
        ("tasks/get", json!({})),
    ];
    let cases = good.into_iter().map(|case| (case, true)).chain(bad.into_iter().map(|case| (case, false)));
    for ((method, message), is_good) in cases {
        let step = Step {
            method,
            origin: None,
            reasoning: None,
            action: Action::A2a(object(message.clone())),
            response: None,
        };
        let verdict = decide(&step, None, None, &Policy::default(), &nothing_to_edit);
        assert_eq!(verdict.decision == Decision::Allow, is_good, "{method} {message}: {:?}", verdict.findings);
    }
}
