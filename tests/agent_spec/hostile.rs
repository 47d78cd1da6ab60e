//! Configurations that were written to do harm: refused or read in time that their size explains, with
//! bounded memory and reports. A test here that fails does so by never ending, or by a stack overflow.

use agentdex::{
    convert::{
        Conversion, Error, MAX_SOURCE_BYTES, Syntax,
        agent_spec::{
            Configuration, Options,
            Profile::{self, Sdk, Spec},
            from_thing,
        },
    },
    td::{MAX_DOCUMENT_BYTES, Report},
};
use serde_json::{Map, Value, json};

use super::{agent, brief, llm, with};

const BOTH: [Profile; 2] = [Spec, Sdk];

/// What a profile says of a document, of which Things are made as well.
fn judge(document: &Value, profile: Profile) -> Report {
    for options in [Options::default(), everything()] {
        if let Err(error) = things(document, &Options { profile, ..options }) {
            assert!(matches!(error, Error::InvalidSource { .. } | Error::LimitExceeded { .. }), "{error}");
        }
    }
    super::judge(document, profile)
}

/// The Things of a document, none of which is larger than it may be.
fn things(document: &Value, options: &Options) -> Result<Conversion, Error> {
    let configuration = Configuration::parse(document.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
    let conversion = configuration.to_things(options)?;
    let bytes: usize =
        conversion.things.iter().map(|thing| thing.description.text().len() + thing.source.bytes.len()).sum();
    assert!(bytes < 3 * MAX_SOURCE_BYTES, "{bytes} bytes");
    assert!(conversion.things.iter().all(|thing| thing.description.text().len() <= MAX_DOCUMENT_BYTES));
    let bytes: usize = conversion.warnings.iter().map(|found| found.message.len() + found.pointer.len()).sum();
    assert!(bytes < 1024 * 1024, "{bytes} bytes of warnings");
    Ok(conversion)
}

fn everything() -> Options {
    Options { nested: true, tools: true, publish_prompts: true, ..Options::default() }
}

/// What is exceeded.
fn limit<T: std::fmt::Debug>(made: Result<T, Error>) -> &'static str {
    match made {
        Err(Error::LimitExceeded { what, .. }) => what,
        other => panic!("{}", format!("{other:?}").chars().take(500).collect::<String>()),
    }
}

fn reference(id: impl std::fmt::Display) -> Value {
    json!({ "$component_ref": id.to_string() })
}

#[test]
fn nesting_ten_thousand_deep_is_refused() {
    let json = format!("{}1{}", r#"{"a":["#.repeat(10_000), "]}".repeat(10_000));
    let yaml = (0..4_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<String>();
    for (text, syntax) in [(json.as_str(), Syntax::Json), (&yaml, Syntax::Yaml), (&"[".repeat(1_000_000), Syntax::Yaml)]
    {
        let error = Configuration::parse(text.as_bytes(), syntax, &[]).unwrap_err();
        assert!(matches!(error, Error::LimitExceeded { .. }), "{error}");
    }
}

#[test]
fn fifty_megabytes_are_refused() {
    let text = " ".repeat(50 * 1024 * 1024);
    for syntax in [Syntax::Json, Syntax::Yaml] {
        let error = Configuration::parse(text.as_bytes(), syntax, &[]).unwrap_err();
        assert!(matches!(error, Error::DocumentTooLarge { .. }), "{error}");
        let error = Configuration::parse(b"{}", syntax, &[(text.as_bytes(), syntax)]).unwrap_err();
        assert!(matches!(error, Error::DocumentTooLarge { .. }), "{error}");
    }
}

#[test]
fn yaml_aliases_that_explode_are_refused() {
    let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let error = Configuration::parse(yaml.as_bytes(), Syntax::Yaml, &[]).unwrap_err();
    assert!(matches!(error, Error::LimitExceeded { .. }), "{error}");
}

/// Swarms that each have the next several times: 4 to the power of 100 agents, were they written out.
fn swarms_that_multiply() -> Value {
    let mut definitions = Map::new();
    for level in 0..100 {
        let next = reference(format!("s{}", level + 1));
        let swarm = json!({
            "component_type": "Swarm", "id": format!("s{level}"), "name": "s", "first_agent": next,
            "relationships": [[next, next], [next, next]],
        });
        definitions.insert(format!("s{level}"), swarm);
    }
    definitions.insert("s100".into(), with(agent(), "/id", json!("s100")));
    json!({"$component_ref": "s0", "agentspec_version": "26.3.1", "$referenced_components": definitions})
}

/// Flows that each run the next twice: their properties and branches must be told without counting to 2^40.
fn flows_that_multiply() -> Value {
    let mut definitions = Map::new();
    for level in 0..40 {
        definitions.insert(format!("f{level}"), flow_that_runs(level, (level < 39).then_some(level + 1)));
    }
    json!({"$component_ref": "f0", "agentspec_version": "26.3.1", "$referenced_components": definitions})
}

#[test]
fn references_that_multiply_are_read_once() {
    for document in [swarms_that_multiply(), flows_that_multiply()] {
        for profile in BOTH {
            assert_eq!(brief(&judge(&document, profile).violations), [""; 0]);
        }
    }
}

#[test]
fn components_that_multiply_are_one_thing_each() {
    let options = Options { nested: true, tools: true, ..Options::default() };
    let things = |document: Value| {
        let configuration = Configuration::parse(document.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        configuration.to_things(&options).unwrap().things.len()
    };
    assert_eq!(things(swarms_that_multiply()), 101);
    assert!(things(flows_that_multiply()) <= 40);
}

/// A flow that runs another twice, after each other.
fn flow_that_runs(level: usize, next: Option<usize>) -> Value {
    let id = |name: &str| format!("{name}{level}");
    let node = |name: &str| match next {
        Some(next) => {
            json!({"component_type": "FlowNode", "id": id(name), "name": name, "subflow": reference(format!("f{next}"))})
        }
        None => {
            json!({"component_type": "ToolNode", "id": id(name), "name": name, "tool": {"component_type": "ServerTool", "id": id(&format!("{name}tool")), "name": "t"}})
        }
    };
    let edge = |from: &str, to: &str| json!({"component_type": "ControlFlowEdge", "id": id(&format!("{from}-{to}-")), "name": "e", "from_node": reference(id(from)), "to_node": reference(id(to))});
    json!({
        "component_type": "Flow", "id": id("f"), "name": "f", "start_node": reference(id("start")),
        "nodes": (["start", "one", "two", "end"].map(|name| reference(id(name)))),
        "control_flow_connections": [edge("start", "one"), edge("one", "two"), edge("two", "end")],
        "$referenced_components": {
            id("start"): {"component_type": "StartNode", "id": id("start"), "name": "start"},
            id("end"): {"component_type": "EndNode", "id": id("end"), "name": "end"},
            id("one"): node("one"),
            id("two"): node("two"),
        },
    })
}

#[test]
fn chain_of_references_is_cut() {
    let mut definitions: Map<String, Value> =
        (0..100_000).map(|step| (format!("r{step}"), reference(format!("r{}", step + 1)))).collect();
    definitions.insert("r100000".into(), llm("r100000"));
    let document =
        with(with(agent(), "/llm_config", reference("r0")), "/$referenced_components", Value::Object(definitions));
    for profile in BOTH {
        let found = brief(&judge(&document, profile).violations);
        assert!(found.iter().any(|found| found.starts_with("nested-too-deep")), "{:?}", &found[..found.len().min(5)]);
    }
}

#[test]
fn components_within_each_other_are_cut() {
    let mut definitions: Map<String, Value> = (0..50_000)
        .map(|step| {
            let id = format!("m{step}");
            let next = reference(format!("m{}", step + 1));
            (id.clone(), json!({"component_type": "ManagerWorkers", "id": id, "name": "m", "group_manager": next, "workers": [next]}))
        })
        .collect();
    definitions.insert("m50000".into(), with(agent(), "/id", json!("m50000")));
    let document =
        json!({"$component_ref": "m0", "agentspec_version": "26.3.1", "$referenced_components": definitions});
    for profile in BOTH {
        let found = brief(&judge(&document, profile).violations);
        assert!(found.iter().any(|found| found.starts_with("nested-too-deep")), "{:?}", &found[..found.len().min(5)]);
    }
}

#[test]
fn plain_value_that_everybody_refers_to_is_limited() {
    let properties: Vec<Value> = (0..2_000).map(|n| json!({"title": format!("p{n}"), "type": "string"})).collect();
    let tools: Vec<Value> = (0..2_000)
        .map(|n| json!({"component_type": "ServerTool", "id": format!("t{n}"), "name": format!("t{n}"), "inputs": reference("all")}))
        .collect();
    let document = with(with(agent(), "/tools", json!(tools)), "/$referenced_components", json!({ "all": properties }));
    let found = brief(&judge(&document, Spec).violations);
    assert_eq!(found.iter().filter(|found| found.starts_with("too-many-repetitions")).count(), 1);
}

#[test]
fn reports_stay_short() {
    let long = "x".repeat(50_000);
    let wrong: Vec<Value> = (0..50).map(|_| json!({"component_type": long, "$component_ref": long})).collect();
    let document = with(with(agent(), "/tools", json!(wrong)), "/id", json!(long));
    let wrong_fields: Map<String, Value> = (0..20_000).map(|n| (format!("{n}"), json!(n))).collect();
    let nested = with(agent(), "/llm_config", Value::Object(wrong_fields));
    for document in [document, nested] {
        for profile in BOTH {
            let report = judge(&document, profile);
            let findings = report.violations.iter().chain(&report.warnings);
            let bytes: usize = findings.map(|found| found.message.len() + found.pointer.len()).sum();
            assert!(!report.is_valid() && bytes < 1024 * 1024, "{bytes} bytes");
        }
    }
}

#[test]
fn definitions_within_definitions_are_read() {
    let mut document = llm("d60");
    for level in (0..20).rev() {
        document = json!({"component_type": "ServerTool", "id": format!("d{level}"), "name": "t", "$referenced_components": {format!("x{level}"): document}});
    }
    document["agentspec_version"] = json!("26.3.1");
    for profile in BOTH {
        let found = judge(&document, profile);
        // Their keys aren't their ids, which the text minds.
        assert_eq!(found.is_valid(), profile == Sdk, "{:?}", brief(&found.violations));
    }
}

/// An agent that works together with others, and what they refer to.
fn manager(workers: Vec<Value>, definitions: Value) -> Value {
    let mut definitions = definitions;
    definitions["llm"] = llm("llm");
    json!({
        "component_type": "ManagerWorkers", "agentspec_version": "26.3.1", "id": "manager", "name": "manager",
        "group_manager": worker("head"), "workers": workers, "$referenced_components": definitions,
    })
}

fn worker(id: &str) -> Value {
    json!({"component_type": "Agent", "id": id, "name": id, "system_prompt": "", "llm_config": reference("llm")})
}

#[test]
fn large_tool_that_many_agents_have_is_limited() {
    let types = json!(["array", "boolean", "null", "number", "object", "string"]);
    let inputs: Vec<Value> = (0..1000).map(|n| json!({"title": format!("p{n}"), "type": types})).collect();
    let tool = json!({"component_type": "ServerTool", "id": "t", "name": "t", "inputs": inputs});
    let workers = (0..100).map(|n| with(worker(&format!("a{n}")), "/tools", json!([reference("t")]))).collect();
    let made = things(&manager(workers, json!({ "t": tool })), &everything());
    assert!(limit(made).contains("converted Things"));
}

#[test]
fn tool_that_an_agent_has_many_times_is_described_once() {
    let tool = json!({"component_type": "ServerTool", "id": "t", "name": "t", "description": "x".repeat(500_000)});
    let tools = with(agent(), "/tools", json!(vec![reference("t"); 2000]));
    let conversion = things(&with(tools, "/$referenced_components", json!({ "t": tool })), &everything()).unwrap();
    let thing: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    assert_eq!(thing["lmos:capabilities"].as_array().unwrap().len(), 2);
}

#[test]
fn warnings_of_many_things_stay_short() {
    let key = "k".repeat(100_000);
    let without_id = |n: usize| {
        let mut worker = worker(&format!("a{n}"));
        worker.as_object_mut().unwrap().remove("id");
        worker
    };
    let mut team = manager((0..300).map(without_id).collect(), json!({}));
    let llm = team["$referenced_components"]["llm"].take();
    team = with(team, "/id", json!(key));
    team.as_object_mut().unwrap().retain(|name, _| name != "$referenced_components" && name != "agentspec_version");
    let document = json!({"$component_ref": key, "agentspec_version": "26.3.1", "$referenced_components": {key.clone(): team, "llm": llm}});
    // The id is too long for the Thing, but not for the parts if it is left out.
    assert!(limit(things(&document, &everything())).contains("id"));
    let mut document = document;
    document["$referenced_components"][&key].as_object_mut().unwrap().remove("id");
    let conversion = things(&document, &Options { profile: Sdk, ..everything() }).unwrap();
    assert!(conversion.things.len() > 300 && !conversion.warnings.is_empty());
}

#[test]
fn parts_that_many_agents_have_in_common_are_limited() {
    let parts: Vec<Value> =
        (0..3000).map(|n| json!({"component_type": "ServerTool", "id": format!("t{n}"), "name": "t"})).collect();
    let parameters =
        json!({"component_type": "AgentSpecializationParameters", "id": "p", "name": "p", "additional_tools": parts});
    let special = |n: usize| json!({"component_type": "SpecializedAgent", "id": format!("s{n}"), "name": "s", "agent": reference("a"), "agent_specialization_parameters": reference("p")});
    let document = manager((0..3000).map(special).collect(), json!({"p": parameters, "a": worker("a")}));
    assert!(limit(things(&document, &everything())).contains("steps"));
}

fn remote_tool(members: Value) -> Value {
    let mut tool = json!({
        "component_type": "RemoteTool", "agentspec_version": "26.3.1", "id": "t", "name": "t",
        "url": "https://h/x", "http_method": "GET",
    });
    tool.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    tool
}

#[test]
fn many_placeholders_in_a_url_are_variables() {
    let url = |count: usize| (0..count).fold("https://u:p@h/".to_owned(), |url, n| url + &format!("{{{{a{n}}}}}"));
    let conversion = things(&remote_tool(json!({ "url": url(10_000) })), &everything()).unwrap();
    let thing: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    assert_eq!(thing["actions"]["t"]["uriVariables"].as_object().unwrap().len(), 10_000);
    let made = things(&remote_tool(json!({ "url": url(100_000) })), &everything());
    assert!(limit(made).contains("Thing Description"));
}

#[test]
fn request_that_grows_is_limited() {
    let headers: Map<String, Value> = (0..80_000).map(|n| (format!("h{n}"), json!("x"))).collect();
    let made = things(&remote_tool(json!({ "sensitive_headers": headers })), &everything());
    assert!(limit(made).contains("security schemes"));
    let parameters = json!({"n".repeat(100_000): vec![json!(1); 100_000]});
    let made = things(&remote_tool(json!({ "query_params": parameters })), &everything());
    assert!(limit(made).contains("Thing Description"));
}

fn thing_with(actions: Value) -> Value {
    json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:x", "title": "x", "actions": actions})
}

#[test]
fn many_names_with_the_same_title_are_numbered() {
    let name = |n: usize| format!("{n:016b}").replace('0', "!").replace('1', "?");
    let names: Vec<String> = (0..60_000).map(name).collect();
    let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let input = json!({"type": "object", "properties": properties, "required": names});
    let forms = json!([{"href": "https://h/x"}]);
    let tool = from_thing(&thing_with(json!({"a": {"input": input, "forms": forms}}))).unwrap();
    let inputs = tool["inputs"].as_array().unwrap();
    assert_eq!(inputs.len(), 60_000);
    assert_eq!(inputs[59_999]["title"], format!("{}_60000", "_".repeat(16)));
}

#[test]
fn what_many_actions_share_is_limited() {
    let actions = |href: &str| -> Value {
        let action = json!({"forms": [{"href": href}]});
        (0..5000).map(|n| (format!("a{n}"), action.clone())).collect::<Map<_, _>>().into()
    };
    let mut described = thing_with(actions("https://h/{v}"));
    described["uriVariables"] = json!({"v": {"type": "string", "description": "x".repeat(300_000)}});
    assert!(limit(from_thing(&described)).contains("tools"));
    let mut long_base = thing_with(actions("x"));
    long_base["base"] = json!(format!("https://h/{}/", "x".repeat(300_000)));
    assert!(matches!(from_thing(&long_base), Err(Error::NotExpressible { .. })));
}

#[test]
fn schemas_that_take_too_much_are_told_roughly() {
    let mut choices: Vec<Value> = (0..1000).map(|n| json!({"type": "object", "title": format!("t{n}")})).collect();
    choices.push(json!({"type": "string"}));
    let schema = json!({"type": "array", "items": {"oneOf": choices}, "default": vec![json!("x"); 1000]});
    let properties: Map<String, Value> = (10..60).map(|n| (format!("p{n}"), schema.clone())).collect();
    let forms = json!([{"href": "https://h/x"}]);
    let input = json!({"type": "object", "properties": properties});
    let tool = from_thing(&thing_with(json!({"a": {"input": input, "forms": forms}}))).unwrap();
    assert_eq!(tool["inputs"][49]["title"], "p59");
    assert!(tool["inputs"][49].get("items").is_none() && tool["inputs"][49]["type"].is_array());
}
