//! README and docs/: their length, links, commands and code.

mod commands;
mod embed;
mod errors;
mod guide;
mod links;
mod made;
mod markdown;
mod reader;

use self::markdown::Document;
pub use self::markdown::chapters;
use crate::{process::ServerProcess, support::Call};

#[test]
fn readme_is_short() {
    let lines = Document::read("README.md").text().lines().count();
    assert!(lines <= 180, "README has {lines} lines; what is longer goes into docs/");
}

#[test]
fn changelog_is_that_of_a_first_release() {
    let length = Document::read("CHANGELOG.md").text().len();
    assert!(length <= 12 * 1024, "the changelog has {length} bytes; what nobody has had needs no history");
}

#[test]
fn description_in_the_texts_is_that_of_the_file() {
    let file = Document::read("examples/agent.json");
    for name in ["README.md", "docs/guide/describe.md"] {
        let blocks = Document::read(name).blocks();
        let shown: Vec<_> = blocks.iter().filter(|block| block.language == "json").collect();
        assert!(shown.len() == 1 && shown[0].text == file.text(), "{name}");
    }
}

#[test]
fn queries_in_the_texts_find_agents_of_the_examples() {
    let queries = Document::read("docs/guide/search.md").first_column("| in a query | finds |");
    assert_eq!(queries.len(), 6, "{queries:?}");
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--examples"]);
    let search = |query: &str| {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        Call::new("GET", &format!("{}/search?consistent=true&q={encoded}", server.url())).send().expect(200).json()
    };
    for query in queries {
        let found = search(&query);
        assert!(found["total"].as_u64() > Some(0) && found["fuzzy"] != true, "{query}: {found}");
    }
    let promised = "turn down the heat";
    assert!(Document::read("README.md").text().contains(&format!("\"{promised}\" finds the home energy agent")));
    assert_eq!(search(promised)["hits"][0]["title"], "Home energy agent");
}

#[test]
fn smallest_description_in_the_guide_is_registered_as_it_is() {
    let blocks = Document::read("docs/guide/describe.md").blocks();
    let smallest = blocks.iter().find(|block| block.language == "text").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let registry = agentdex::Registry::open(directory.path()).unwrap();
    registry.register(smallest.text.as_str()).unwrap();
    assert_eq!(registry.len(), 1);
    registry.close();
}
