//! Every rule beyond single fields: what passes it, what breaks it, and what each profile makes of that.

use agentdex::convert::agent_spec::Profile;
use serde_json::{Value, json};

use super::fixtures::{
    Says::{Error, Nothing, Warning},
    agent, breaks, component, control, data, echo, flow, llm, passes, reference, remote_agent, text, tool, validate,
};

/// A fixture with a change.
fn changed(mut document: Value, change: impl FnOnce(&mut Value)) -> Value {
    change(&mut document);
    document
}

fn node<'v>(flow: &'v mut Value, id: &str) -> &'v mut Value {
    &mut flow["$referenced_components"][id]
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().unwrap()
}

#[test]
fn fixtures_pass() {
    passes(flow());
    passes(agent());
    passes(tool(json!([text("a")]), json!([text("b")])));
    passes(changed(flow(), |flow| flow["data_flow_connections"] = Value::Null));
}

#[test]
fn inputs_are_those_of_the_placeholders() {
    let both = [Error, Error];
    breaks(changed(agent(), |agent| agent["inputs"] = json!([])), "missing-property", "/inputs", both, &[]);
    let surplus = changed(agent(), |agent| list(&mut agent["inputs"]).push(text("year")));
    breaks(surplus, "surplus-property", "/inputs/1", both, &[]);
    passes(changed(agent(), |agent| drop(agent.as_object_mut().unwrap().remove("inputs"))));
    passes(changed(agent(), |agent| agent["inputs"][0]["type"] = "integer".into()));
    let list_of_cities = changed(agent(), |agent| agent["inputs"] = json!([{"title": "city", "type": "array"}]));
    breaks(list_of_cities, "placeholder-type", "/inputs/0", [Warning, Nothing], &[]);
}

#[test]
fn placeholders_of_requests_are_in_all_their_texts() {
    let inputs = ["a", "b", "c", "d", "e"].map(text);
    let fields = json!({
        "url": "https://api.example/{{a}}", "http_method": "{{ b }}", "data": {"x": ["{{c}}"]},
        "query_params": {"q": "{{d}}"}, "headers": {"h": "{{e}}"},
        "inputs": inputs,
    });
    let request = component("RemoteTool", "request", fields);
    passes(request.clone());
    let secret = changed(request.clone(), |request| request["sensitive_headers"] = json!({"s": "{{f}}"}));
    breaks(secret.clone(), "missing-property", "/inputs", [Error, Nothing], &[]);
    let declared = changed(secret, |request| list(&mut request["inputs"]).push(text("f")));
    breaks(declared, "surplus-property", "/inputs/5", [Nothing, Error], &[]);
    // To the SDK the name of a header is a template too; to the text it may be one.
    let name = changed(request, |request| request["headers"] = json!({"{{g}}": "{{e}}"}));
    breaks(name.clone(), "missing-property", "/inputs", [Nothing, Error], &[]);
    passes(changed(name, |request| list(&mut request["inputs"]).push(text("g"))));
}

#[test]
fn requests_described_elsewhere_may_take_more() {
    let fields =
        json!({"url": "u", "http_method": "GET", "api_spec_uri": "https://api.example", "inputs": [text("x")]});
    breaks(component("ApiNode", "request", fields), "surplus-property", "/inputs/0", [Nothing, Error], &[]);
}

#[test]
fn titles_differ() {
    let twice = json!([text("a"), {"title": "a", "type": "integer"}]);
    breaks(tool(twice.clone(), json!([])), "duplicate-title", "/inputs/1", [Error, Error], &[]);
    breaks(tool(json!([]), twice), "duplicate-title", "/outputs/1", [Error, Error], &[]);
}

#[test]
fn a_node_has_what_it_runs() {
    let node =
        component("ToolNode", "node", json!({"tool": tool(json!([{"title": "n", "type": "integer"}]), json!([]))}));
    passes(node.clone());
    let with = |inputs: Value| changed(node.clone(), |node| node["inputs"] = inputs);
    passes(with(json!([{"title": "n", "type": "number", "description": "how many"}])));
    breaks(with(json!([])), "missing-property", "/inputs", [Error, Error], &[]);
    breaks(with(json!([{"title": "n", "type": "array"}])), "property-not-castable", "/inputs/0", [Error, Nothing], &[]);
}

#[test]
fn branches_are_those_of_the_node() {
    let choose = |branches: Value| {
        let fields = json!({"inputs": [text("k")], "mapping": {"a": "x", "b": "x"}, "branches": branches});
        component("BranchingNode", "choose", fields)
    };
    passes(choose(json!(["default", "x"])));
    passes(choose(json!([])));
    breaks(choose(json!(["x"])), "branches-mismatch", "/branches", [Error, Error], &[]);
    breaks(choose(json!(["x", "default", "x"])), "branches-repeated", "/branches", [Error, Error], &[]);
    let end = component("EndNode", "end", json!({"branches": ["next"]}));
    breaks(end, "branches-mismatch", "/branches", [Error, Error], &[]);
    let talk = component("AgentNode", "talk", json!({"agent": agent(), "branches": ["bye"]}));
    breaks(talk, "branches-mismatch", "/branches", [Error, Nothing], &[]);
}

#[test]
fn a_flow_node_has_the_branches_of_its_end_nodes() {
    let run = |branches: Value| component("FlowNode", "run", json!({"subflow": flow(), "branches": branches}));
    passes(run(json!(["next", "done"])));
    breaks(run(json!(["next"])), "branches-mismatch", "/branches", [Error, Error], &[]);
    let end = changed(flow(), |flow| {
        drop(node(flow, "rest").as_object_mut().unwrap().insert("branch_name".into(), "done".into()))
    });
    passes(component("FlowNode", "run", json!({"subflow": end, "branches": ["done"]})));
}

#[test]
fn start_and_end_nodes_have_one_list() {
    let fields = |inputs: Value, outputs: Value| json!({"inputs": inputs, "outputs": outputs});
    passes(component("StartNode", "start", fields(json!([text("a")]), json!([text("a")]))));
    let differing = fields(json!([text("a")]), json!([{"title": "a", "type": "string", "description": "b"}]));
    breaks(component("EndNode", "end", differing), "inputs-outputs-differ", "/outputs", [Error, Error], &[]);
    let half = component("EndNode", "end", fields(json!([]), json!([text("a")])));
    breaks(half, "missing-property", "/inputs", [Error, Error], &[]);
}

#[test]
fn a_flow_starts_once() {
    let both = [Error, Error];
    let two = changed(flow(), |flow| {
        list(&mut flow["nodes"]).push(reference("other"));
        *node(flow, "other") = component("StartNode", "other", json!({}));
    });
    breaks(two, "flow-start-node", "/nodes", both, &[]);
    let unlisted = changed(flow(), |flow| {
        *node(flow, "start") =
            component("OutputMessageNode", "start", json!({"message": "{{topic}}", "inputs": [text("topic")]}))
    });
    let unlisted = changed(unlisted, |flow| {
        flow["data_flow_connections"] = json!([
            data("ask", "answer", "choose", "answer"),
            data("ask", "answer", "done", "answer"),
            data("ask", "answer", "rest", "answer"),
            data("ask", "answer", "ask", "topic"),
            data("ask", "answer", "start", "topic")
        ])
    });
    breaks(unlisted, "flow-start-node", "/start_node", both, &["input-before-source"]);
}

#[test]
fn a_flow_ends() {
    let both = [Error, Error];
    let endless = changed(flow(), |flow| {
        flow["outputs"] = json!([]);
        flow["nodes"] = ["start", "ask"].map(reference).into_iter().collect();
        flow["control_flow_connections"] = json!([control("start", None, "ask"), control("ask", None, "ask")]);
        flow["data_flow_connections"] = json!([data("start", "topic", "ask", "topic")]);
    });
    breaks(endless, "flow-end-node-missing", "/nodes", both, &[]);
    let lonely = changed(flow(), |flow| {
        list(&mut flow["nodes"]).push(reference("lonely"));
        *node(flow, "lonely") =
            component("EndNode", "lonely", json!({"outputs": [{"title": "answer", "type": "string", "default": ""}]}));
    });
    breaks(lonely, "flow-end-node-not-entered", "/nodes/5", both, &[]);
}

#[test]
fn edges_lead_between_nodes_of_the_flow() {
    let foreign = |change: fn(&mut Value)| {
        changed(flow(), |flow| {
            *node(flow, "foreign") =
                component("ToolNode", "foreign", json!({"tool": tool(json!([text("topic")]), json!([]))}));
            node(flow, "foreign")["tool"]["id"] = "foreign-tool".into();
            change(flow);
        })
    };
    let control_edge =
        foreign(|flow| list(&mut flow["control_flow_connections"]).push(control("foreign", None, "ask")));
    breaks(control_edge, "control-edge-foreign-node", "/control_flow_connections/4", [Error, Error], &[]);
    let data_edge =
        foreign(|flow| list(&mut flow["data_flow_connections"]).push(data("start", "topic", "foreign", "topic")));
    breaks(data_edge, "data-edge-foreign-node", "/data_flow_connections/4", [Error, Error], &[]);
}

#[test]
fn control_edges_leave_and_enter_where_they_may() {
    let with = |edge: Value| changed(flow(), |flow| list(&mut flow["control_flow_connections"]).push(edge));
    breaks(
        with(control("done", None, "ask")),
        "control-edge-from-end",
        "/control_flow_connections/4",
        [Error, Error],
        &[],
    );
    let to_start =
        changed(flow(), |flow| flow["control_flow_connections"][2] = control("choose", Some("yes"), "start"));
    let to_start = changed(to_start, |flow| {
        list(&mut flow["control_flow_connections"])[3] = control("choose", Some("default"), "done");
        flow["nodes"] = ["start", "ask", "choose", "done"].map(reference).into_iter().collect();
        flow["data_flow_connections"].as_array_mut().unwrap().pop();
    });
    breaks(to_start, "control-edge-to-start", "/control_flow_connections/2", [Error, Error], &[]);
    let unknown = with(control("ask", Some("maybe"), "done"));
    let pointer = "/control_flow_connections/4/from_branch";
    breaks(unknown, "control-edge-unknown-branch", pointer, [Error, Warning], &[]);
    breaks(
        with(control("ask", None, "done")),
        "control-edge-repeated",
        "/control_flow_connections/4",
        [Error, Warning],
        &[],
    );
    breaks(
        with(control("start", None, "done")),
        "control-edge-repeated",
        "/control_flow_connections/4",
        [Error, Error],
        &[],
    );
    let other_branch = with(control("start", Some("x"), "done"));
    let pointer = "/control_flow_connections/4";
    breaks(other_branch, "control-edge-repeated", pointer, [Error, Error], &["control-edge-unknown-branch"]);
}

#[test]
fn branches_lead_on() {
    let dropped =
        changed(flow(), |flow| flow["control_flow_connections"][2] = control("choose", Some("default"), "done"));
    let dropped = changed(dropped, |flow| {
        list(&mut flow["control_flow_connections"]).truncate(3);
        flow["nodes"] = ["start", "ask", "choose", "done"].map(reference).into_iter().collect();
        flow["data_flow_connections"].as_array_mut().unwrap().pop();
    });
    breaks(dropped, "branch-unconnected", "/nodes/2", [Error, Warning], &[]);
    let unreachable = changed(flow(), |flow| {
        list(&mut flow["nodes"]).push(reference("island"));
        *node(flow, "island") = component("OutputMessageNode", "island", json!({"message": "Hi!"}));
        list(&mut flow["control_flow_connections"]).push(control("island", None, "done"));
    });
    breaks(unreachable, "flow-node-unreachable", "/nodes/5", [Error, Warning], &[]);
    let twice = changed(flow(), |flow| list(&mut flow["nodes"]).push(reference("ask")));
    breaks(twice, "flow-node-repeated", "/nodes/5", [Warning, Warning], &[]);
}

#[test]
fn data_edges_name_what_is_there() {
    let with = |edge: Value| changed(flow(), |flow| list(&mut flow["data_flow_connections"]).push(edge));
    let pointer = "/data_flow_connections/4/source_output";
    breaks(with(data("ask", "reply", "done", "answer")), "data-edge-unknown-output", pointer, [Error, Error], &[]);
    let pointer = "/data_flow_connections/4/destination_input";
    breaks(with(data("ask", "answer", "done", "reply")), "data-edge-unknown-input", pointer, [Error, Error], &[]);
    let incompatible = changed(flow(), |flow| {
        node(flow, "ask")["tool"]["inputs"][0]["type"] = "integer".into();
    });
    breaks(incompatible, "data-edge-incompatible", "/data_flow_connections/0", [Error, Error], &[]);
}

#[test]
fn inputs_have_a_source_or_a_default() {
    let unfed = changed(flow(), |flow| drop(list(&mut flow["data_flow_connections"]).remove(0)));
    breaks(unfed.clone(), "input-without-source", "/nodes/1", [Error, Warning], &[]);
    passes(changed(unfed, |flow| node(flow, "ask")["tool"]["inputs"][0]["default"] = "tea".into()));
    let unnamed = changed(flow(), |flow| {
        flow["data_flow_connections"] = Value::Null;
        node(flow, "ask")["tool"]["inputs"][0]["title"] = "subject".into();
    });
    breaks(unnamed, "input-without-source", "/nodes/1", [Error, Warning], &[]);
}

/// `topic` → `first` → `second` → the end, each of which hands a text on.
fn chain(data_edges: Value) -> Value {
    let step = |id: &str, input: &str, output: &str| {
        let mut node = component("ToolNode", id, json!({"tool": tool(json!([text(input)]), json!([text(output)]))}));
        node["tool"]["id"] = format!("{id}-tool").into();
        node
    };
    let mut flow = echo("chain", text("topic"), text("answer"));
    for (id, input, output) in [("first", "topic", "draft"), ("second", "draft", "answer")] {
        list(&mut flow["nodes"]).push(reference(id));
        *node(&mut flow, id) = step(id, input, output);
    }
    flow["control_flow_connections"] = json!([
        control("chain-start", None, "first"),
        control("first", None, "second"),
        control("second", None, "chain-end")
    ]);
    flow["data_flow_connections"] = data_edges;
    flow
}

#[test]
fn inputs_have_their_value_when_the_node_runs() {
    let edges = json!([
        data("chain-start", "topic", "first", "topic"),
        data("first", "draft", "second", "draft"),
        data("second", "answer", "chain-end", "answer"),
    ]);
    for edges in [edges, Value::Null] {
        passes(chain(edges.clone()));
        let backwards = changed(chain(edges), |flow| {
            flow["control_flow_connections"] = json!([
                control("chain-start", None, "second"),
                control("second", None, "first"),
                control("first", None, "chain-end"),
            ]);
        });
        breaks(backwards.clone(), "input-before-source", "/nodes/3", [Error, Warning], &[]);
        passes(changed(backwards, |flow| node(flow, "second")["tool"]["inputs"][0]["default"] = "".into()));
    }
    let itself = changed(flow(), |flow| flow["data_flow_connections"][0] = data("ask", "answer", "ask", "topic"));
    breaks(itself.clone(), "input-before-source", "/nodes/1", [Error, Warning], &[]);
    let again = changed(itself, |flow| {
        flow["control_flow_connections"][3] = control("choose", Some("default"), "ask");
        flow["nodes"] = ["start", "ask", "choose", "done"].map(reference).into_iter().collect();
        list(&mut flow["data_flow_connections"]).pop();
        flow["$referenced_components"].as_object_mut().unwrap().remove("rest");
    });
    // In a loop the node may have run, though not the first time.
    passes(again);
}

#[test]
fn outputs_that_are_found_by_name_fit_the_input() {
    let mixed = changed(chain(Value::Null), |flow| {
        node(flow, "second")["tool"]["inputs"][0]["type"] = "integer".into();
    });
    breaks(mixed.clone(), "input-source-type", "/nodes/3", [Error, Warning], &[]);
    passes(changed(mixed, |flow| node(flow, "first")["tool"]["outputs"][0]["type"] = "boolean".into()));
}

#[test]
fn outputs_of_a_flow_are_in_every_end_node_or_have_a_default() {
    let both = [Error, Error];
    let missing = changed(flow(), |flow| {
        node(flow, "rest")["outputs"] = json!([]);
        list(&mut flow["data_flow_connections"]).pop();
    });
    breaks(missing.clone(), "flow-output-without-default", "/outputs/0", both, &[]);
    passes(changed(missing.clone(), |flow| flow["outputs"][0]["default"] = "none".into()));
    passes(changed(missing, |flow| drop(flow.as_object_mut().unwrap().remove("outputs"))));
    let conflict = changed(flow(), |flow| node(flow, "rest")["outputs"][0]["type"] = json!(["string", "null"]));
    let conflict = changed(conflict, |flow| flow["outputs"][0]["default"] = "".into());
    breaks(conflict, "end-outputs-conflict", "/$referenced_components/rest/outputs/0", both, &[]);
    let converted = changed(flow(), |flow| flow["outputs"][0]["type"] = json!(["string", "null"]));
    breaks(converted, "flow-output-type", "/outputs/0", [Nothing, Error], &[]);
    let other = changed(flow(), |flow| flow["outputs"][0]["type"] = "integer".into());
    breaks(other, "flow-output-type", "/outputs/0", both, &[]);
    let surplus =
        changed(flow(), |flow| list(&mut flow["outputs"]).push(json!({"title": "n", "type": "null", "default": null})));
    breaks(surplus, "flow-output-unknown", "/outputs/1", [Warning, Nothing], &[]);
}

#[test]
fn the_sdk_needs_titles_where_it_looks_them_up() {
    let untitled = changed(flow(), |flow| {
        node(flow, "rest")["outputs"] = json!([text("answer"), {"type": "string", "default": ""}]);
    });
    breaks(untitled, "property-title-missing", "/$referenced_components/rest/outputs/1", [Error, Error], &[]);
    let untitled = tool(json!([{"type": "string"}]), json!([]));
    breaks(untitled, "property-title-missing", "/inputs/0", [Error, Warning], &[]);
}

#[test]
fn mapped_properties_are_renamed() {
    let map = |kind: &str, fields: Value| {
        let mut node = component(kind, "map", json!({"subflow": flow()}));
        node.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        node
    };
    for kind in ["MapNode", "ParallelMapNode"] {
        let one_or_many = json!({"title": "iterated_topic", "anyOf": [{"type": "string"}, {"type": "array"}]});
        let strings = json!({"title": "collected_answer", "type": "array", "items": {"type": "string"}});
        passes(map(kind, json!({"inputs": [one_or_many], "outputs": [strings]})));
        let chosen = [json!({"type": "string"}), json!({"type": "array", "items": {"type": "string"}})];
        for mut input in chosen {
            input["title"] = "iterated_topic".into();
            passes(map(kind, json!({"inputs": [input]})));
        }
        let other = json!({"title": "iterated_topic", "type": "array", "items": {"type": "integer"}});
        breaks(map(kind, json!({"inputs": [other]})), "property-not-castable", "/inputs/0", [Error, Nothing], &[]);
        breaks(
            map(kind, json!({"inputs": [text("topic")]})),
            "missing-property",
            "/inputs",
            [Error, Error],
            &["surplus-property"],
        );
    }
}

#[test]
fn reducers_fit_the_outputs_of_the_subflow() {
    let map = |reducers: Value| component("MapNode", "map", json!({"subflow": flow(), "reducers": reducers}));
    passes(map(json!({"answer": "append"})));
    breaks(map(json!({"answer": "sum"})), "reducer-type", "/reducers/answer", [Error, Warning], &[]);
    breaks(map(json!({"reply": "append"})), "reducer-unknown-output", "/reducers/reply", [Error, Warning], &[]);
    let numeric = changed(map(json!({"answer": "max"})), |map| {
        for id in ["done", "rest"] {
            node(&mut map["subflow"], id)["outputs"][0]["type"] = "number".into();
        }
        let ask = node(&mut map["subflow"], "ask");
        ask["tool"]["outputs"][0]["type"] = "number".into();
        map["subflow"]["outputs"][0]["type"] = "number".into();
    });
    passes(numeric);
}

#[test]
fn exceptions_need_defaults_and_names_of_their_own() {
    let catch = |subflow: Value| component("CatchExceptionNode", "catch", json!({"subflow": subflow}));
    breaks(catch(flow()), "catch-output-without-default", "", [Error, Error], &[]);
    let mut safe = catch(flow());
    safe["outputs"] = json!([
        {"title": "answer", "type": "string", "default": ""},
        {"title": "caught_exception_info", "anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    ]);
    passes(safe.clone());
    passes(changed(safe.clone(), |catch| catch["branches"] = json!(["next", "caught_exception_branch", "done"])));
    let taken = changed(safe.clone(), |catch| {
        node(&mut catch["subflow"], "rest")["branch_name"] = "caught_exception_branch".into();
    });
    breaks(taken, "catch-branch-conflict", "/subflow", [Error, Error], &[]);
    let output = json!({"title": "caught_exception_info", "type": "string", "default": ""});
    let taken = changed(safe, |catch| list(&mut catch["subflow"]["outputs"]).push(output));
    breaks(taken, "catch-output-conflict", "/subflow", [Error, Error], &[]);
}

#[test]
fn flows_in_parallel_share_inputs_but_no_outputs() {
    let parallel = |one: Value, two: Value| component("ParallelFlowNode", "both", json!({"subflows": [one, two]}));
    let one = || echo("one", text("topic"), text("a"));
    passes(parallel(one(), echo("two", text("topic"), text("b"))));
    let number = json!({"title": "topic", "type": "number"});
    let inputs = parallel(one(), echo("two", number, text("b")));
    breaks(inputs, "parallel-input-conflict", "/subflows", [Error, Error], &[]);
    let outputs = parallel(one(), echo("two", text("topic"), text("a")));
    breaks(outputs, "parallel-output-conflict", "/subflows", [Error, Error], &[]);
    let declared = changed(parallel(one(), echo("two", text("topic"), text("b"))), |node| {
        node["inputs"] = json!([text("subject")]);
    });
    breaks(declared, "missing-property", "/inputs", [Error, Nothing], &["surplus-property"]);
}

#[test]
fn a_node_that_waits_for_its_user_gives_one_string() {
    let wait = |outputs: Value| component("InputMessageNode", "wait", json!({"message": "Well?", "outputs": outputs}));
    passes(wait(json!([text("said")])));
    let no_string = wait(json!([{"title": "said", "type": "integer"}]));
    breaks(no_string, "input-message-output", "/outputs", [Error, Error], &[]);
    breaks(wait(json!([])), "input-message-output", "/outputs", [Error, Error], &["missing-property"]);
    let listed = wait(json!([{"title": "said", "type": ["string"]}]));
    breaks(listed, "input-message-output", "/outputs", [Nothing, Error], &[]);
}

#[test]
fn a_model_gives_text_unless_more_is_asked_for() {
    let ask = |outputs: Value| {
        component("LlmNode", "ask", json!({"llm_config": llm(), "prompt_template": "Hi!", "outputs": outputs}))
    };
    passes(ask(json!([text("a"), {"title": "b", "type": "object"}])));
    passes(ask(Value::Null));
    for (outputs, fits) in [
        (json!([text("a")]), true),
        (json!([text("a"), text("b")]), false),
        (json!([{"title": "a", "type": "null"}]), false),
    ] {
        let mut old = ask(outputs);
        old["agentspec_version"] = "25.4.1".into();
        for profile in [Profile::Spec, Profile::Sdk] {
            let report = validate(&old, profile);
            let rules: Vec<_> = report.violations.iter().map(|found| &*found.rule).collect();
            assert_eq!(rules, if fits { vec![] } else { vec!["version-too-low"] });
        }
    }
    breaks(ask(json!([])), "missing-property", "/outputs", [Error, Error], &[]);
}

fn specialised(general: Value, special: Value) -> Value {
    let mut agent = agent();
    agent["inputs"] = json!([general]);
    let fields = json!({"additional_instructions": "Be brief about {{city}}.", "inputs": [special]});
    let parameters = component("AgentSpecializationParameters", "brief", fields);
    component("SpecializedAgent", "special", json!({"agent": agent, "agent_specialization_parameters": parameters}))
}

#[test]
fn an_agent_and_its_specialization_agree_on_types() {
    let declared = changed(specialised(text("city"), text("city")), |agent| agent["inputs"] = json!([text("city")]));
    passes(declared);
    let conflict = specialised(text("city"), json!({"title": "city", "type": "integer"}));
    let declared = changed(conflict, |agent| agent["inputs"] = json!([text("city")]));
    let pointer = "/agent_specialization_parameters";
    breaks(declared, "specialised-property-conflict", pointer, [Error, Warning], &[]);
}

#[test]
fn the_sdk_compares_no_combined_schemas() {
    let combined = json!({"title": "city", "oneOf": [{"type": "string"}]});
    let pointer = "/agent_specialization_parameters";
    breaks(specialised(combined.clone(), combined), "schema-unsupported", pointer, [Nothing, Error], &[]);
}

#[test]
fn groups_have_members() {
    let both = [Error, Error];
    let agents = || ["a", "b"].map(remote_agent);
    let swarm = |relationships: Value| {
        let [a, b] = agents();
        let mut swarm =
            component("Swarm", "swarm", json!({"first_agent": reference("a"), "relationships": relationships}));
        swarm["$referenced_components"] = json!({"a": a, "b": b});
        swarm
    };
    passes(swarm(json!([[reference("a"), reference("b")]])));
    breaks(swarm(json!([])), "swarm-no-relationships", "/relationships", both, &[]);
    let to_itself = swarm(json!([[reference("a"), reference("b")], [reference("b"), reference("b")]]));
    breaks(to_itself, "swarm-self-relationship", "/relationships/1/0", [Warning, Warning], &[]);
    let group = |workers: Value| {
        let [a, b] = agents();
        let mut group =
            component("ManagerWorkers", "group", json!({"group_manager": reference("a"), "workers": workers}));
        group["$referenced_components"] = json!({"a": a, "b": b});
        group
    };
    passes(group(json!([reference("b")])));
    breaks(group(json!([])), "manager-without-workers", "/workers", both, &[]);
    breaks(group(json!([reference("b"), reference("a")])), "manager-is-worker", "/workers/1", both, &[]);
}

#[test]
fn tools_of_an_agent_have_different_names() {
    let second = changed(tool(json!([]), json!([])), |tool| tool["id"] = "second".into());
    let agent = changed(agent(), |agent| agent["tools"] = json!([tool(json!([]), json!([])), second]));
    breaks(agent, "tool-name-repeated", "/tools/1", [Warning, Warning], &[]);
}

#[test]
fn a_tool_of_an_mcp_server_gives_one_string() {
    let offered = |outputs: Value| component("MCPToolSpec", "offered", json!({"outputs": outputs}));
    passes(offered(json!([text("a")])));
    passes(offered(json!([])));
    for wrong in [json!([text("a"), text("b")]), json!([{"title": "a", "type": "object"}])] {
        breaks(offered(wrong), "mcp-tool-spec-outputs", "/outputs", [Error, Warning], &[]);
    }
}

#[test]
fn plain_and_sensitive_headers_differ() {
    let transport = |sensitive: &str| {
        let fields =
            json!({"url": "https://mcp.example", "headers": {"X-Key": "a"}, "sensitive_headers": {sensitive: "b"}});
        component("SSETransport", "transport", fields)
    };
    passes(transport("Authorization"));
    breaks(transport("X-Key"), "headers-overlap", "/sensitive_headers/X-Key", [Error, Error], &[]);
    breaks(transport("x-key"), "headers-overlap", "/sensitive_headers/x-key", [Warning, Warning], &[]);
}

#[test]
fn a_database_calls_a_model_with_a_credential_or_locally() {
    let both = [Error, Error];
    let model = |fields: Value| {
        let mut model = json!({"model_id": "m", "provider": "cohere", "url": "https://llm.example"});
        model.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        component("DbmsVectorChainLlmConfig", "model", model)
    };
    passes(model(json!({"credential_name": "C"})));
    passes(model(json!({"host": "local", "provider": "ollama"})));
    breaks(model(json!({})), "llm-credential", "", both, &[]);
    breaks(model(json!({"host": "local"})), "llm-credential", "", both, &[]);
    breaks(model(json!({"host": "local", "credential_name": "C"})), "llm-credential", "", both, &[]);
    breaks(model(json!({"credential_name": "C", "api_key": "k"})), "llm-credential", "/api_key", both, &[]);
}

#[test]
fn a_conversation_is_summarized_from_one_threshold_on() {
    let both = [Error, Error];
    let transform = |mut fields: Value| {
        fields["llm"] = llm();
        component("ConversationSummarizationTransform", "transform", fields)
    };
    passes(transform(json!({})));
    passes(transform(json!({"max_num_messages": null, "max_num_characters": 9000})));
    let rule = "transform-thresholds";
    breaks(transform(json!({"max_num_characters": 9000})), rule, "", both, &[]);
    breaks(transform(json!({"max_num_messages": null})), rule, "", both, &[]);
    breaks(transform(json!({"max_num_messages": 10})), rule, "", both, &[]);
    breaks(transform(json!({"min_num_messages": "50"})), rule, "", [Nothing, Error], &["wrong-type"]);
}

#[test]
fn a_cache_has_its_collection_and_columns() {
    let transform = |collection: &str, columns: Value| {
        let entity = json!({"type": "object", "properties": columns});
        let store =
            component("InMemoryCollectionDatastore", "store", json!({"datastore_schema": {collection: entity}}));
        let fields = json!({"llm": llm(), "datastore": store, "cache_collection_name": "cache"});
        component("MessageSummarizationTransform", "transform", fields)
    };
    let column = |kind: &str| json!({"type": kind});
    let columns = json!({
        "cache_key": column("string"), "cache_content": {}, "created_at": column("integer"), "last_used_at": column("string"),
    });
    passes(transform("cache", columns.clone()));
    breaks(transform("other", columns.clone()), "transform-datastore", "/datastore", [Warning, Error], &[]);
    let text_only = changed(columns, |columns| columns["cache_key"] = column("integer"));
    breaks(transform("cache", text_only), "transform-datastore", "/datastore", [Warning, Error], &[]);
}

#[test]
fn what_a_plugin_adds_may_have_anything() {
    let mut plugin =
        component("MagicNode", "ask", json!({"component_plugin_name": "magic", "component_plugin_version": "1"}));
    plugin["outputs"] = json!([{"title": "answer"}]);
    let with_plugin = changed(flow(), |flow| {
        *node(flow, "ask") = plugin;
        list(&mut flow["control_flow_connections"])[1] = control("ask", Some("whatever"), "choose");
    });
    let report = validate(&super::fixtures::document(with_plugin), Profile::Spec);
    assert!(
        report
            .violations
            .iter()
            .all(|found| found.rule == "property-type-missing" || found.rule == "data-edge-incompatible"),
        "{report:#?}"
    );
}
