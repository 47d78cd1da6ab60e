//! How well requests that people labelled find what answers them.

use std::{collections::HashMap, fs, path::PathBuf};

use agentdex::search::Search;
use serde_json::{Map, Value, json};

use super::{TestIndex, ids, shared};

fn lines(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A tool as an agent with one action.
fn agent(tool: &Value) -> Value {
    let parameters = tool["parameters"].as_object().expect("parameters");
    let members: Map<String, Value> =
        parameters.iter().map(|(name, text)| (name.clone(), json!({"type": "string", "description": text}))).collect();
    let title = tool["title"].as_str().expect("a title");
    json!({
        "id": format!("urn:tool:{}", tool["id"].as_str().expect("an id")),
        "@type": "lmos:Agent",
        "title": title,
        "description": tool["description"],
        "tags": tool["tags"],
        "actions": {title: {"description": tool["description"], "input": {"type": "object", "properties": members}}},
    })
}

/// The mean nDCG@10 of every so manieth request, with binary gains.
fn ndcg(folder: PathBuf, every: usize) -> f64 {
    let agents: Vec<Value> = lines(folder.join("agents.jsonl")).iter().map(agent).collect();
    let index = TestIndex::with(&agents);
    let queries: Vec<Value> = lines(folder.join("queries.jsonl")).into_iter().step_by(every).collect();
    let gains = queries.iter().map(|query| {
        let relevant: HashMap<String, ()> = query["relevant"]
            .as_array()
            .expect("ids")
            .iter()
            .map(|id| (format!("urn:tool:{}", id.as_str().expect("an id")), ()))
            .collect();
        let text = query["query"].as_str().expect("a query");
        let text = text.get(..text.floor_char_boundary(4096)).expect("a boundary");
        let found = ids(&index.search(&Search { query: Some(text.into()), limit: 10, ..Search::default() }));
        let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let gain: f64 =
            (0..).zip(&found).filter(|(_, id)| relevant.contains_key(*id)).map(|(rank, _)| discount(rank)).sum();
        let ideal: f64 = (0..relevant.len().min(10)).map(discount).sum();
        gain / ideal
    });
    gains.sum::<f64>() / queries.len() as f64
}

#[test]
fn metatool_requests_find_their_tool() {
    let Some(folder) = shared("corpus/relevance/metatool") else { return };
    let ndcg = ndcg(folder, 4);
    println!("MetaTool nDCG@10 = {ndcg:.4}");
    assert!(ndcg >= 0.54, "nDCG@10 is {ndcg}");
}

#[test]
fn seal_tools_requests_find_their_tools() {
    let Some(folder) = shared("corpus/relevance/seal-tools") else { return };
    let ndcg = ndcg(folder, 1);
    println!("Seal-Tools nDCG@10 = {ndcg:.4}");
    assert!(ndcg >= 0.89, "nDCG@10 is {ndcg}");
}
