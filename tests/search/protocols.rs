//! Searches over REST, MCP, and A2A find the same in the same order.

use std::{collections::HashSet, path::Path};

use serde_json::{Value, json};

use super::{
    relevance::{Tool, id, lines},
    shared,
};
use crate::support::{TestRegistry, await_index};

/// The smallest of the labelled sets.
const SET: &str = "corpus/relevance/languages";

fn ids(hits: &Value) -> Vec<String> {
    hits.as_array().expect("hits").iter().map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect()
}

/// The ids that a query finds, by protocol.
fn found(registry: &TestRegistry, query: &str) -> [Vec<String>; 3] {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let rest = registry.get(&format!("/search?q={encoded}&limit=10")).expect(200).json();
    let post = |path: &str, body: Value| registry.call("POST", path).body("application/json", body.to_string()).send();
    let tool = json!({"name": "search_agents", "arguments": {"query": query, "limit": 10}});
    let mcp =
        post("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool})).expect(200).json();
    let parts = json!([{"text": query}, {"data": {"limit": 10}}]);
    let message = json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": parts}});
    let a2a = post("/a2a/message:send?A2A-Version=1.0", message).expect(200).json();
    let data = &a2a["task"]["artifacts"][0]["parts"][1]["data"];
    [ids(&rest["hits"]), ids(&mcp["result"]["structuredContent"]["hits"]), ids(&data["hits"])]
}

/// The nDCG@10 of what was found, with binary gains.
fn gain(found: &[String], relevant: &HashSet<String>) -> f64 {
    let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let gain: f64 = (0..).zip(found).filter(|(_, id)| relevant.contains(*id)).map(|(rank, _)| discount(rank)).sum();
    gain / (0..relevant.len().min(10)).map(discount).sum::<f64>()
}

/// The mean nDCG@10 of a set, by protocol.
fn judge(folder: &Path) -> [f64; 3] {
    let registry = TestRegistry::start();
    for tool in Tool::all(folder) {
        registry.registry().put(tool.thing().to_string()).expect("the agent is registered");
    }
    registry.registry().refresh().expect("everything is indexed");
    await_index(registry.registry());
    let queries = lines(folder.join("queries.jsonl"));
    let mut means = [0.0; 3];
    for query in &queries {
        let text = query["query"].as_str().expect("a query");
        let text = text.get(..text.floor_char_boundary(4096)).expect("a boundary");
        let relevant = query["relevant"].as_array().expect("ids").iter();
        let relevant = relevant.map(|tool| id(tool.as_str().expect("an id"))).collect();
        let found = found(&registry, text);
        assert!(found.iter().all(|other| *other == found[0]), "{text}: {found:?}");
        for (mean, found) in means.iter_mut().zip(&found) {
            *mean += gain(found, &relevant) / queries.len() as f64;
        }
    }
    means
}

#[test]
fn labelled_requests_find_the_same_over_all_protocols() {
    let Some(folder) = shared(SET) else { return };
    let [rest, mcp, a2a] = judge(&folder);
    println!("nDCG@10 = {rest:.4} over REST, {mcp:.4} over MCP, {a2a:.4} over A2A");
    assert_eq!((mcp, a2a), (rest, rest));
    assert!(rest > 0.9, "{rest}");
}
