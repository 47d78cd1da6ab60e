//! Configurations that were written to do harm: refused or read in time that their size explains, with
//! bounded memory and reports. A test here that fails does so by never ending, or by a stack overflow.

use agentdex::{
    Error,
    convert::{
        Syntax,
        agent_spec::{
            Configuration,
            Profile::{self, Sdk, Spec},
        },
    },
};
use serde_json::{Map, Value, json};

use super::{agent, brief, judge, llm, with};

const BOTH: [Profile; 2] = [Spec, Sdk];

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

#[test]
fn references_that_multiply_are_read_once() {
    // Each swarm has two of the next: 2 to the power of 100 agents, were they written out.
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
    let document =
        json!({"$component_ref": "s0", "agentspec_version": "26.3.1", "$referenced_components": definitions});
    for profile in BOTH {
        assert_eq!(brief(&judge(&document, profile).violations), [""; 0]);
    }
}

#[test]
fn flows_that_multiply_are_read_once() {
    // Each flow runs the next twice: its properties and branches must be told without counting to 2^40.
    let mut definitions = Map::new();
    for level in 0..40 {
        definitions.insert(format!("f{level}"), flow_that_runs(level, (level < 39).then_some(level + 1)));
    }
    let document =
        json!({"$component_ref": "f0", "agentspec_version": "26.3.1", "$referenced_components": definitions});
    for profile in BOTH {
        assert_eq!(brief(&judge(&document, profile).violations), [""; 0]);
    }
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
