//! Requests as people say them, in words that the titles don't have: which share finds its agent first, or among the
//! first five; and the examples of the page, of README and of docs/.

use std::{fs, path::Path};

use agentdex::{
    Registry,
    search::{Mode, Search},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::relevance::lines;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A registry with the agents of the examples.
struct Examples {
    registry: Registry,
    _directory: TempDir,
}

impl Examples {
    fn new() -> Examples {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).open().unwrap();
        let examples = Examples { registry, _directory: directory };
        for entry in fs::read_dir(Path::new(ROOT).join("examples/agents")).unwrap() {
            examples.put(&fs::read_to_string(entry.unwrap().path()).unwrap());
        }
        examples
    }

    /// The same, and forty more.
    fn with_others() -> Examples {
        let examples = Examples::new();
        for line in lines(Path::new(ROOT).join("tests/fixtures/everyday/agents.jsonl")) {
            let agent = json!({
                "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
                "@type": "lmos:Agent", "id": line["id"], "title": line["title"], "description": line["description"],
                "lmos:capabilities": line["capabilities"],
                "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
            });
            examples.put(&agent.to_string());
        }
        examples
    }

    fn put(&self, agent: &str) {
        self.registry.put(agent).unwrap();
    }

    /// The ids of the first hits.
    fn found(&self, query: &str, mode: Mode, limit: usize) -> Vec<String> {
        let answer = self.registry.search(Search::words(query).mode(mode).limit(limit).consistent()).unwrap();
        answer.hits.into_iter().map(|hit| hit.id).collect()
    }

    /// The title of the first hit.
    fn first(&self, query: &str) -> String {
        let answer = self.registry.search(Search::words(query).limit(1).consistent()).unwrap();
        answer.hits.into_iter().next().and_then(|hit| hit.title).unwrap_or_default()
    }
}

fn requests() -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let request = |line: Value| (text(&line["query"]), line["relevant"].as_array().unwrap().iter().map(text).collect());
    lines(Path::new(ROOT).join("tests/fixtures/everyday/requests.jsonl")).into_iter().map(request).collect()
}

#[test]
fn everyday_requests_find_their_agents() {
    let examples = Examples::with_others();
    let requests = requests();
    assert_eq!(requests.len(), 100);
    let mut figures = Vec::new();
    for mode in [Mode::Lexical, Mode::Semantic, Mode::Hybrid] {
        let (mut first, mut first_five, mut missed) = (0, 0, Vec::new());
        for (query, relevant) in &requests {
            let found = examples.found(query, mode, 5);
            let is_right = |id: &String| relevant.contains(id);
            first += usize::from(found.first().is_some_and(is_right));
            match found.iter().any(is_right) {
                true => first_five += 1,
                false => missed.push(query.as_str()),
            }
        }
        println!("{}: first {first}, among the first five {first_five} of 100", mode.name());
        println!("  not found: {}", missed.join("; "));
        figures.push((mode, first, first_five));
    }
    // A little less than what they are, so that a change of the ranking that harms them is noticed.
    for ((mode, first, first_five), floor) in figures.into_iter().zip([(20, 40), (56, 80), (55, 81)]) {
        assert!(first >= floor.0 && first_five >= floor.1, "{}: {first} first, {first_five} of five", mode.name());
    }
}

#[test]
fn requests_avoid_the_words_of_titles() {
    let examples = Examples::with_others();
    for (query, relevant) in requests() {
        for id in relevant {
            let thing: Value = serde_json::from_str(examples.registry.find(&id).unwrap().unwrap().text()).unwrap();
            let title = thing["title"].as_str().unwrap().to_lowercase();
            let words = |text: &str| -> Vec<String> {
                let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
                words.map(|word| word.chars().take(5).collect()).collect()
            };
            assert!(words(&query).iter().all(|word| !words(&title).contains(word)), "{query}: {title}");
        }
    }
}

#[test]
fn examples_of_the_page_find_their_agents_first() {
    let examples = Examples::new();
    let page = fs::read_to_string(Path::new(ROOT).join("crates/server/src/http/page/find.js")).unwrap();
    let (_, list) = page.split_once("const EXAMPLES = [\n").unwrap();
    let (list, _) = list.split_once("\n];").unwrap();
    let query = |line: &str| -> String {
        let line = line.trim().strip_prefix('[').unwrap();
        let quote = line.chars().next().unwrap();
        line[1..].split(quote).next().unwrap().to_owned()
    };
    let queries: Vec<String> = list.lines().map(query).collect();
    let found: Vec<(&str, String)> = queries.iter().map(|query| (query.as_str(), examples.first(query))).collect();
    let expected = [
        ("weather forecast", "Weather agent"),
        ("\"severe weather\"", "Weather agent"),
        ("+translate -music", "Polyglot translator"),
        ("title:weather", "Weather agent"),
        ("capability:translate-text", "Polyglot translator"),
        ("transl*", "Polyglot translator"),
        ("turn down the heat", "Home energy agent"),
    ];
    assert_eq!(found, expected.map(|(query, title)| (query, title.to_owned())));
}

#[test]
fn examples_of_the_texts_find_their_agents_first() {
    let examples = Examples::new();
    examples.put(&fs::read_to_string(Path::new(ROOT).join("examples/agent.json")).unwrap());
    for name in ["bus-stop", "clock", "dice"] {
        examples.put(&fs::read_to_string(Path::new(ROOT).join(format!("examples/demo/{name}.json"))).unwrap());
    }
    for (text, query, title) in [
        ("README.md", "turn down the heat", "Home energy agent"),
        ("README.md", "high tide", "Tide agent"),
        ("README.md", "weather forecast", "Weather agent"),
        ("docs/guide/search.md", "somebody who reserves hotels", "Travel planner"),
        ("docs/tutorial.md", "when is high water", "Tide agent"),
        ("docs/tutorial.md", "how late is it in Tokyo", "World clock"),
    ] {
        assert!(
            fs::read_to_string(Path::new(ROOT).join(text)).unwrap().contains(query),
            "{text} no longer has {query}"
        );
        assert_eq!(examples.first(query), title, "{query}");
    }
}

#[test]
fn words_that_are_only_spelled_alike_add_no_hits_to_plain_requests() {
    let examples = Examples::with_others();
    let corrected = |query: &str| {
        let answer = examples.registry.search(Search::words(query).consistent()).unwrap();
        answer.corrections.into_iter().map(|correction| correction.word).collect::<Vec<_>>()
    };
    // Words of the language that no description has aren't misspelled.
    let requests = requests();
    let replaced = requests.iter().flat_map(|(query, _)| corrected(query).into_iter().map(move |word| (word, query)));
    // Another spelling of a word that descriptions have.
    let replaced = replaced.filter(|(word, _)| word != "practise");
    let replaced: Vec<String> = replaced.map(|(word, query)| format!("{word} in {query:?}")).collect();
    assert_eq!(replaced, [""; 0]);
    // What is none is corrected, also beside those.
    assert_eq!(corrected("wether tonight"), ["wether"]);
    assert_eq!(corrected("invioce"), ["invioce"]);
    assert_eq!(corrected("translaet this lettre"), ["translaet"]);
}
