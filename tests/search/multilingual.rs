//! Requests in German, French, Spanish, Chinese and Japanese find English agents, and English requests find agents in these
//! languages, with the built-in table alone.

use std::{path::Path, sync::LazyLock};

use agentdex::{
    Registry,
    search::{Mode, Search, semantic::table::Part, semantic::table::Table},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    relevance::{Tool, id, lines},
    shared,
};

const LANGUAGES: [&str; 5] = ["de", "fr", "es", "zh", "ja"];

/// 20 agents with a title, a description and a request in each language.
static AGENTS: LazyLock<Vec<Value>> =
    LazyLock::new(|| lines(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/relevance/languages.jsonl")));

/// A request and the id of the agent that answers it.
type Request = (String, String);

/// The requests of the fixture in a language.
fn requests(language: &str) -> Vec<Request> {
    let request = |agent: &Value| (text(&agent["requests"][language]), id(&text(&agent["id"])));
    AGENTS.iter().map(request).collect()
}

/// The agents of the fixture in a language.
fn agents(language: &str) -> Vec<Value> {
    let agent = |agent: &Value| {
        let labelled = json!({"id": agent["id"], "title": agent["titles"][language],
            "description": agent["descriptions"][language], "tags": [], "parameters": {}});
        let mut thing = Tool::new(&labelled).thing();
        thing["actions"] = json!({});
        thing
    };
    AGENTS.iter().map(agent).collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

struct Registered {
    registry: Registry,
    _directory: TempDir,
}

impl Registered {
    fn new(agents: impl IntoIterator<Item = Value>) -> Registered {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let registry = Registry::builder(directory.path()).open().expect("a registry");
        for agent in agents {
            registry.put(agent.to_string()).expect("the agent is registered");
        }
        registry.search(Search::words("anything").consistent()).expect("everything is indexed");
        Registered { registry, _directory: directory }
    }

    fn found(&self, request: &str, mode: Mode) -> Vec<String> {
        let request = Search { mode, limit: 10, ..Search::words(request) };
        let hits = self.registry.search_as_indexed(&request).expect("hits").hits;
        hits.into_iter().map(|hit| hit.id).collect()
    }

    /// How many requests have their agent in the first five, and the mean nDCG@10; by words, by meaning and by both.
    fn judge(&self, name: &str, requests: &[Request]) -> [(usize, f64); 3] {
        let judged = [Mode::Lexical, Mode::Semantic, Mode::Hybrid].map(|mode| {
            let ranks = requests.iter().map(|(request, id)| self.found(request, mode).iter().position(|it| it == id));
            let ranks: Vec<Option<usize>> = ranks.collect();
            let first_five = ranks.iter().flatten().filter(|rank| **rank < 5).count();
            let gains = ranks.iter().flatten().map(|rank| 1.0 / (*rank as f64 + 2.0).log2());
            (first_five, gains.sum::<f64>() / requests.len() as f64)
        });
        let [words, meaning, both] = judged.map(|(first, gain)| format!("{first} {gain:.3}"));
        println!("| {name} | {words} | {meaning} | {both} |");
        judged
    }
}

/// The English agents beside which others have to be found.
fn english_agents() -> Option<Vec<Value>> {
    let folder = shared("corpus/relevance/metatool")?;
    Some(Tool::all(&folder).iter().map(Tool::thing).collect())
}

#[test]
fn requests_in_five_languages_find_english_agents() {
    let (Some(others), Some(folder)) = (english_agents(), shared("corpus/relevance/languages")) else { return };
    let registered = Registered::new(Tool::all(&folder).iter().map(Tool::thing).chain(others));
    let labelled = lines(folder.join("queries.jsonl"));
    let of = |language: &str| -> Vec<Request> {
        let in_language = labelled.iter().filter(|request| request["language"] == language);
        in_language.map(|request| (text(&request["query"]), id(&text(&request["relevant"][0])))).collect()
    };
    for (language, fewest) in [("de", 16), ("zh", 17), ("en", 20)] {
        let [words, _, both] = registered.judge(&format!("{language} labelled"), &of(language));
        assert!(both.0 >= fewest, "{language}: {both:?}");
        assert!(both.1 >= words.1 - 0.001, "{language}: {both:?}, by words {words:?}");
    }
    for (language, fewest) in LANGUAGES.into_iter().zip([15, 16, 16, 16, 16]) {
        let [words, _, both] = registered.judge(language, &requests(language));
        assert!(both.0 >= fewest, "{language}: {both:?}");
        assert!(both.1 >= words.1, "{language}: {both:?}, by words {words:?}");
    }
    let found = registered.found("Regnet es morgen in Hamburg?", Mode::Hybrid);
    assert_eq!(found.first(), Some(&id("weather-forecast")));
}

#[test]
fn requests_find_agents_in_five_languages_among_english_ones() {
    let Some(others) = english_agents() else { return };
    let mut reverse = [0, 0];
    for language in LANGUAGES {
        let registered = Registered::new(agents(language).into_iter().chain(others.clone()));
        let [words, meaning, both] = registered.judge(&format!("en for {language}"), &requests("en"));
        for (sum, judged) in reverse.iter_mut().zip([meaning, both]) {
            *sum += judged.0;
        }
        assert!(both.1 >= words.1, "{language}: {both:?}, by words {words:?}");
        let [words, _, both] = registered.judge(&format!("{language} for {language}"), &requests(language));
        assert!(both.1 >= words.1 - 0.001, "{language}: {both:?}, by words {words:?}");
    }
    // The words of English requests find English agents too, which come before others.
    println!("English requests with their agent in the first five, of 100: {reverse:?}");
    assert!(reverse[0] >= 78 && reverse[1] >= 77, "{reverse:?}");
}

#[test]
fn requests_find_agents_in_any_other_of_the_languages() {
    for (language, other) in [("de", "zh"), ("fr", "de"), ("es", "ja"), ("zh", "fr"), ("ja", "es"), ("en", "de")] {
        let registered = Registered::new(agents(other));
        let [words, _, both] = registered.judge(&format!("{language} for {other}"), &requests(language));
        assert!(both.0 >= 14, "{language} for {other}: {both:?}");
        assert!(both.1 > words.1, "{language} for {other}: {both:?}, by words {words:?}");
    }
}

/// The numbers of words of English and of pieces that a text is read as.
fn read(text: &str) -> (usize, usize) {
    let (mut words, mut pieces) = (0, 0);
    Table::built_in().for_each_part(text, |part| match part {
        Part::Word(_) => words += 1,
        Part::Piece(_) => pieces += 1,
    });
    (words, pieces)
}

#[test]
fn words_of_several_languages_are_read_as_those_of_the_request() {
    for english in ["war stories", "who was my son", "the gift shop", "chat with my friends", "the cheapest flight"] {
        assert_eq!(read(english).1, 0, "{english}");
    }
    for foreign in ["wie war das Wetter", "wer war mein Vater"] {
        assert_eq!(read(foreign).0, 0, "{foreign}");
    }
}
