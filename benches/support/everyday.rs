//! Descriptions in words that the built-in table knows: those of the agents that everyday requests are asked among.

use serde_json::{Value, json};

const AGENTS: &str = include_str!("../../tests/fixtures/everyday/agents.jsonl");

/// The words of everyday agents, and descriptions that are made of them.
pub struct Everyday {
    /// Of each agent.
    words: Vec<Vec<String>>,
}

impl Everyday {
    pub fn new() -> Result<Everyday, serde_json::Error> {
        let words = AGENTS.lines().map(|line| {
            let agent: Value = serde_json::from_str(line)?;
            let capabilities = agent["capabilities"].as_array().into_iter().flatten();
            let texts = [&agent["title"], &agent["description"]].into_iter();
            let texts =
                texts.chain(capabilities.map(|capability| &capability["description"])).filter_map(Value::as_str);
            let words = texts.flat_map(|text| text.split(|letter: char| !letter.is_alphabetic()));
            Ok(words.filter(|word| word.len() > 3).map(str::to_lowercase).collect())
        });
        Ok(Everyday { words: words.collect::<Result<_, _>>()? })
    }

    /// A word of the agent of that number, the same for the same two numbers.
    pub fn word(&self, agent: usize, number: usize) -> &str {
        let words = &self.words[agent % self.words.len()];
        &words[((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % words.len()]
    }

    /// A description of 3 KB of the words of two agents, with its id; of two others in another round.
    pub fn document(&self, number: usize, round: usize) -> (String, String) {
        let id = format!("urn:example:agent:{number}");
        let agents = [number + round, number / 7 + round * 5];
        let sentence = |first: usize, words: usize| {
            let words = (0..words).map(|index| self.word(agents[index % 2], number + first * 100 + index));
            words.collect::<Vec<_>>().join(" ")
        };
        let action = |index: usize| {
            let action = json!({
                "title": sentence(index, 3),
                "description": sentence(4 + index, 30),
                "input": {"type": "object", "properties": {sentence(8 + index, 1): {"type": "string", "description": sentence(12 + index, 12)}}},
                "forms": [{"href": format!("https://agents.example/{number}/actions/{index}"), "contentType": "application/json"}],
            });
            (format!("{}{index}", sentence(16 + index, 1)), action)
        };
        let document = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent",
            "id": id,
            "title": sentence(20, 3),
            "description": sentence(21, 50),
            "tags": [sentence(22, 1), sentence(23, 1)],
            "securityDefinitions": {"none": {"scheme": "nosec"}},
            "security": "none",
            "actions": (0..4).map(action).collect::<serde_json::Map<_, _>>(),
        });
        (id, document.to_string())
    }
}
