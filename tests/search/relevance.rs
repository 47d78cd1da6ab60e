//! How well requests that people labelled find what answers them.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use agentdex::search::Search;
use serde_json::{Map, Value, json};

use super::{TestIndex, ids, shared};

pub(super) fn lines(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A tool of a labelled set, which becomes an agent with one action.
pub(super) struct Tool {
    pub id: String,
    pub title: String,
    labelled: Value,
}

impl Tool {
    pub fn new(labelled: &Value) -> Tool {
        let text = |member: &str| labelled[member].as_str().expect("a text").to_owned();
        Tool { id: id(&text("id")), title: text("title"), labelled: labelled.clone() }
    }

    /// All of a set.
    pub fn all(folder: &Path) -> Vec<Tool> {
        lines(folder.join("agents.jsonl")).iter().map(Tool::new).collect()
    }

    pub fn thing(&self) -> Value {
        let parameters = self.labelled["parameters"].as_object().into_iter().flatten();
        let members: Map<String, Value> =
            parameters.map(|(name, text)| (name.clone(), json!({"type": "string", "description": text}))).collect();
        let description = &self.labelled["description"];
        json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "id": self.id,
            "@type": "lmos:Agent",
            "title": self.title,
            "description": description,
            "tags": self.labelled["tags"].as_array().cloned().unwrap_or_default(),
            "securityDefinitions": {"none": {"scheme": "nosec"}},
            "security": "none",
            "actions": {&self.title: {
                "description": description,
                "input": {"type": "object", "properties": members},
                "forms": [{"href": "https://tools.example/"}],
            }},
        })
    }
}

/// The id of a tool as a URN.
pub(super) fn id(tool: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("urn:tool:{}", tool.bytes().map(escape).collect::<String>())
}

/// The mean nDCG@10 of every so manieth request, with binary gains.
fn ndcg(folder: PathBuf, every: usize) -> f64 {
    let agents: Vec<Value> = Tool::all(&folder).iter().map(Tool::thing).collect();
    let index = TestIndex::with(&agents);
    let queries: Vec<Value> = lines(folder.join("queries.jsonl")).into_iter().step_by(every).collect();
    let gains = queries.iter().map(|query| {
        let relevant: HashMap<String, ()> = query["relevant"]
            .as_array()
            .expect("ids")
            .iter()
            .map(|tool| (id(tool.as_str().expect("an id")), ()))
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
