//! Compatible and composed search over tools that others made. They aren't part of the project; without them these
//! tests are skipped, which they print.

use std::{collections::BTreeSet, fs, path::PathBuf};

use agentdex::{
    Error, Registry,
    registry::{CompatibleQuery, ComposeQuery},
};
use serde_json::{Map, Value, json};

use super::compose::load;
use crate::support::{TestRegistry, eventually, skipped};

fn shared(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join(name);
    if !folder.exists() {
        skipped(name, &folder.display().to_string());
        return None;
    }
    Some(folder)
}

/// The tools say what goes in, but not what comes out.
#[test]
fn tools_are_found_by_the_data_that_they_take() {
    let Some(folder) = shared("corpus/relevance/seal-tools") else { return };
    let registry = TestRegistry::start();
    let registry = registry.registry();
    let mut inputs = Vec::new();
    for line in fs::read_to_string(folder.join("agents.jsonl")).unwrap().lines() {
        let tool: Value = serde_json::from_str(line).unwrap();
        let members: Map<String, Value> = tool["parameters"]
            .as_object()
            .unwrap()
            .keys()
            .map(|name| (name.clone(), json!({"type": "string"})))
            .collect();
        let input = json!({"type": "object", "properties": members});
        let (id, title) = (format!("urn:tool:{}", tool["id"].as_str().unwrap()), tool["title"].as_str().unwrap());
        let thing = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": id, "title": title, "security": "open",
            "securityDefinitions": {"open": {"scheme": "nosec"}},
            "actions": {title: {"input": input, "forms": [{"href": "https://tools.example/"}]}},
        });
        registry.put(thing.to_string()).unwrap();
        inputs.push((id, input));
    }
    // A search waits five seconds for what was written; so many may take longer.
    eventually("the search among all", || {
        let query = CompatibleQuery { have: Some(json!({"type": "string"})), ..CompatibleQuery::default() };
        !matches!(registry.search_compatible(&query), Err(Error::ConsistencyTimeout { .. }))
    });
    let (mut pairs, mut own, mut asked) = (0, 0, 0);
    for (id, input) in inputs.iter().filter(|(_, input)| input["properties"] != json!({})).step_by(20) {
        let query = CompatibleQuery { have: Some(input.clone()), limit: 1000, ..CompatibleQuery::default() };
        let found = registry.search_compatible(&query).unwrap().found;
        let best = found.hits[0].fit;
        own += usize::from(found.hits.iter().any(|hit| hit.id == *id && hit.fit == best));
        pairs += found.total - 1;
        asked += 1;
        for hit in found.hits.iter().filter(|hit| hit.id != *id).take(1).filter(|_| asked % 20 == 0) {
            println!("{id} -> {} {}: {}", hit.id, hit.fit, hit.why);
        }
    }
    println!("{} tools; of {asked}, the inputs suffice for {pairs} others", inputs.len());
    assert_eq!(own, asked, "a tool fits its own inputs as well as any");
    assert!(pairs > asked, "{pairs} pairs of {asked} tools");
}

/// What an action of a Thing needs or gives.
fn side(registry: &Registry, id: &str, capability: &str, name: &str) -> Option<Value> {
    let thing: Value = serde_json::from_str(registry.find(id).unwrap()?.text()).unwrap();
    thing["actions"].get(capability)?.get(name).cloned()
}

/// Data that has the members of both.
fn both(one: &Value, two: &Value) -> Value {
    let members = |data: &Value| data["properties"].as_object().cloned().unwrap_or_default();
    let mut properties = members(one);
    properties.extend(members(two));
    json!({"type": "object", "properties": properties})
}

#[test]
fn configurations_are_linked_by_their_data_and_their_chains_are_flows() {
    let Some(folder) = shared("corpus/agent-spec") else { return };
    let server = TestRegistry::start();
    let mut imported = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("valid_") {
            let import = server
                .call("POST", "/import/agent-spec?profile=sdk&publish_prompts=true&base=https://agents.example/x");
            let answer = import.body("application/json", fs::read(entry.path()).unwrap()).send();
            if answer.status == 201 {
                let ids = answer.json()["ids"].as_array().unwrap().clone();
                imported.extend(ids.into_iter().map(|id| id.as_str().unwrap().to_owned()));
            }
        }
    }
    let registry = server.registry();
    let (mut pairs, mut near, mut capabilities) = (0, 0, 0);
    let mut sides: Vec<(Value, Value)> = Vec::new();
    for id in &imported {
        let Some(neighbors) = registry.compatible_with(id, false, 1000).unwrap() else { continue };
        for capability in &neighbors.capabilities {
            capabilities += 1;
            pairs += capability.takes_output.len();
            let have = side(registry, id, &capability.capability, "input").unwrap_or(json!({"properties": {}}));
            sides.extend(side(registry, id, &capability.capability, "output").map(|want| (have, want)));
        }
        let neighbors = registry.compatible_with(id, true, 1000).unwrap().unwrap();
        near += neighbors.capabilities.iter().map(|capability| capability.takes_output.len()).sum::<usize>();
    }
    // What one capability has and wants, and what two of them do together.
    let pairs_of = sides.windows(2).map(|two| (both(&two[0].0, &two[1].0), both(&two[0].1, &two[1].1)));
    let asked: Vec<(Value, Value)> = sides.iter().cloned().chain(pairs_of).collect();
    println!(
        "{} Things, {capabilities} capabilities, {pairs} pairs fit, {near} with one thing missing",
        imported.len()
    );
    let (mut flows, mut without, mut chains, mut incomplete) = (Vec::new(), Vec::new(), 0, 0);
    let mut unanswered = 0;
    for (have, want) in &asked {
        let query = ComposeQuery { have: have.clone(), want: want.clone(), query: None, max_steps: 3, limit: 3 };
        let answer = registry.compose(&query).unwrap();
        incomplete += usize::from(!answer.complete);
        unanswered += usize::from(answer.chains.is_empty());
        for chain in answer.chains {
            chains += 1;
            if chains % 10 == 1 {
                let steps = chain.steps.iter().map(|step| {
                    let links = step.input.iter().map(|link| format!("{:?}.{}>{}", link.step, link.from, link.to));
                    format!("{}({})", step.capability, links.collect::<Vec<_>>().join(" "))
                });
                println!(
                    "{} {:?} -> {:?}",
                    chain.fit,
                    steps.collect::<Vec<_>>(),
                    chain.output.iter().map(|link| &link.to).collect::<Vec<_>>()
                );
            }
            flows.extend(chain.flow);
            without.extend(chain.flow_problem);
        }
    }
    println!(
        "{chains} chains, {} flows, of {} searches {incomplete} incomplete, {unanswered} without a chain; without a flow: {without:#?}",
        flows.len(),
        asked.len()
    );
    assert!(flows.len() > sides.len() / 2, "{} flows", flows.len());
    for flow in &flows {
        server.call("POST", "/import/agent-spec").body("application/json", flow.to_string()).send().expect(201);
    }
    if let Some(failures) = load(&flows) {
        assert_eq!(failures, "", "of {}", flows.len());
        println!("the SDK loads all {} flows", flows.len());
    }
}
