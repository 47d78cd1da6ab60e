//! Agents that are asked for by name, as people write names.

use agentdex::{
    Registry,
    search::{Mode, Search},
};
use serde_json::json;
use tempfile::TempDir;

use super::{relevance::Tool, shared};

/// A registry with agents that have nothing but a title, a description and one action.
pub(super) struct Named {
    pub registry: Registry,
    _directory: TempDir,
}

impl Named {
    pub fn with<'t>(tools: impl IntoIterator<Item = &'t Tool>) -> Named {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).open().unwrap();
        for tool in tools {
            registry.put(tool.thing().to_string()).unwrap();
        }
        registry.search(Search::words("anything").consistent()).unwrap();
        Named { registry, _directory: directory }
    }

    fn of(titles: &[(&str, &str)]) -> Named {
        let tools: Vec<Tool> = titles
            .iter()
            .map(|(title, description)| Tool::new(&json!({"id": title, "title": title, "description": description})))
            .collect();
        Named::with(&tools)
    }

    pub fn found(&self, query: &str, mode: Mode, limit: usize) -> Vec<String> {
        let search = Search::words(query).mode(mode).limit(limit);
        self.registry.search(search).unwrap().hits.into_iter().map(|hit| hit.id).collect()
    }

    fn first(&self, query: &str, mode: Mode) -> Option<String> {
        let search = Search::words(query).mode(mode).limit(1);
        self.registry.search(search).unwrap().hits.pop().and_then(|hit| hit.title)
    }
}

const BY_WORDS: [Mode; 2] = [Mode::Lexical, Mode::Hybrid];

#[test]
fn a_name_that_the_table_has_never_met_is_found_beside_a_word_that_it_has() {
    let agents = Named::of(&[
        ("Weather agent", "Tells the weather forecast for a city"),
        ("Zaptrix 9000", "Runs macros"),
        ("Kalendar AI", "Books meetings for a sales agent"),
    ]);
    for query in ["zaptrix agent", "I need the Zaptrix 9000 agent please", "Zaptrix agent"] {
        for mode in BY_WORDS {
            assert_eq!(agents.first(query, mode).as_deref(), Some("Zaptrix 9000"), "{query} {mode:?}");
        }
    }
}

/// A way to ask for a title.
type Asked = fn(&str) -> String;

#[test]
fn agents_of_metatool_are_found_by_name() {
    let Some(folder) = shared("corpus/relevance/metatool") else { return };
    let tools = Tool::all(&folder);
    let agents = Named::with(&tools);
    let rows: [(&str, Asked); 5] = [
        ("title", str::to_owned),
        ("title agent", |title| format!("{title} agent")),
        ("I need the title agent please", |title| format!("I need the {title} agent please")),
        ("lower case agent", |title| format!("{} agent", title.to_lowercase())),
        ("lower case", str::to_lowercase),
    ];
    for (row, asked) in rows {
        for mode in BY_WORDS {
            let is_missed = |tool: &&Tool| !agents.found(&asked(&tool.title), mode, 5).contains(&tool.id);
            let missed: Vec<&str> = tools.iter().filter(is_missed).map(|tool| tool.title.as_str()).collect();
            println!("{row}, {}: {} of {}", mode.name(), tools.len() - missed.len(), tools.len());
            assert!(missed.len() <= 2, "{row}, {}: {missed:?}", mode.name());
        }
    }
}
