//! Search by meaning: what is found without a common word, what it is restricted by, and what is counted.

use std::collections::BTreeSet;

use agentdex::{
    Registry,
    registry::Options,
    search::{Answer, Confidence, FacetField, Filters, Mode, Search},
};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Agents {
    registry: Registry,
    directory: TempDir,
}

impl Agents {
    fn new() -> Agents {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).open().unwrap();
        let agents = Agents { registry, directory };
        agents.put("hotel", "Hotel booking", "Reserves rooms in hotels in all cities.", "travel");
        agents.put("invoice", "Invoices", "Writes and sends invoices to customers.", "finance");
        agents.put("weather", "Weather forecast", "Tells temperature and rain of the next days.", "travel");
        agents.put("recipes", "Recipes", "Suggests dishes to cook for dinner.", "kitchen");
        agents
    }

    fn put(&self, id: &str, title: &str, description: &str, tag: &str) {
        self.put_with(id, title, description, tag, json!({}));
    }

    fn put_with(&self, id: &str, title: &str, description: &str, tag: &str, actions: Value) {
        let agent = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1#"}],
            "@type": "lmos:Agent",
            "id": format!("urn:{id}"),
            "title": title,
            "description": description,
            "tags": [tag],
            "securityDefinitions": {"none": {"scheme": "nosec"}},
            "security": "none",
            "actions": actions,
        });
        self.registry.put(agent.to_string()).unwrap();
    }

    fn search(&self, request: &Search) -> Answer {
        self.registry.search(request.clone().consistent()).unwrap()
    }

    fn found(&self, query: &str, mode: Mode) -> Vec<String> {
        ids(&self.search(&Search { mode, ..Search::words(query) }))
    }
}

fn ids(response: &Answer) -> Vec<String> {
    response.hits.iter().map(|hit| hit.id.clone()).collect()
}

/// What a cosine of 1 counts with the built-in table.
const SCALE: f32 = 40.0;
/// A request that shares no word with the agent it is for.
const LODGING: &str = "accommodation for tourists";

#[test]
fn a_request_in_a_language_that_the_table_does_not_know_counts_by_its_words() {
    let agents = Agents::new();
    let dutch = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"@language": "nl"}],
        "id": "urn:weer",
        "title": "Weerdienst",
        "description": "Voorspelt het weer aan zee voor morgen.",
        "securityDefinitions": {"none": {"scheme": "nosec"}},
        "security": "none",
    });
    agents.registry.put(dutch.to_string()).unwrap();
    agents.put("war", "War museum", "What a soldier sees before he dies.", "history");
    // To the table, "was" and "is" are English, and "de" is Spanish.
    let request = "Hoe was het weer aan zee en wat is de voorspelling?";
    assert_eq!(agents.found(request, Mode::Hybrid), agents.found(request, Mode::Lexical));
    assert_eq!(agents.found(request, Mode::Hybrid).first().map(String::as_str), Some("urn:weer"));
    assert_eq!(agents.found("who was in the war", Mode::Hybrid), ["urn:war"], "that is English");
}

#[test]
fn what_shares_no_word_is_found_by_its_meaning() {
    let agents = Agents::new();
    for mode in [Mode::Hybrid, Mode::Semantic] {
        assert_eq!(agents.found(LODGING, mode).first().map(String::as_str), Some("urn:hotel"), "{mode:?}");
    }
    let hit = &agents.search(&Search::words(LODGING)).hits[0];
    let cosine = hit.cosine.unwrap();
    assert_eq!(hit.bm25, 0.0);
    assert!((0.2..=1.0).contains(&cosine), "{cosine}");
    assert!((hit.score - SCALE * cosine).abs() < 0.1, "{hit:?}");
}

#[test]
fn by_words_alone_nothing_else_is_found() {
    let agents = Agents::new();
    let response = agents.search(&Search { mode: Mode::Lexical, ..Search::words("rain") });
    assert_eq!(
        (ids(&response), response.hits[0].cosine, response.confidence),
        (vec!["urn:weather".into()], None, None)
    );
    assert_eq!(response.hits[0].score, response.hits[0].bm25);
}

#[test]
fn words_and_meaning_count_together() {
    let agents = Agents::new();
    let response = agents.search(&Search::words("rain"));
    let first = &response.hits[0];
    assert_eq!(first.id, "urn:weather");
    let cosine = first.cosine.unwrap();
    let together = (0.5 + cosine).min(1.0) * first.bm25 + SCALE * cosine;
    assert!(first.bm25 > 0.0 && (first.score - together).abs() < 0.1, "{first:?}");
}

#[test]
fn words_of_an_agent_that_is_about_something_else_count_less() {
    let agents = Agents::new();
    let chess = "Teaches openings, tactics and endgames, corrects moves and rates players; rooms on request.";
    agents.put("chess", "Chess trainer", chess, "games");
    let both = agents.search(&Search::words("rooms in a city hotel").explain());
    let by_words = agents.search(&Search::words("rooms in a city hotel").mode(Mode::Lexical).explain());
    assert!(by_words.hits.iter().all(|hit| hit.score == hit.bm25), "{by_words:?}");
    let share = |id: &str| {
        let hit = both.hits.iter().find(|hit| hit.id == id).unwrap();
        let meaning = hit.explanation.as_ref().unwrap().meaning.as_ref().unwrap();
        // The model knows all words of the request.
        let expected = 0.5 + hit.cosine.unwrap().clamp(0.0, 0.5);
        assert!((meaning.words_share - expected).abs() < 0.01, "{hit:?}");
        let title = hit.explanation.as_ref().unwrap().title.as_ref().map_or(0.0, |title| title.score);
        assert!((hit.score - meaning.words_share * hit.bm25 - meaning.score - title).abs() < 0.05, "{hit:?}");
        meaning.words_share
    };
    assert!(share("urn:chess") < 0.9 && share("urn:chess") < share("urn:hotel"), "{both:?}");
}

#[test]
fn what_is_found_by_meaning_satisfies_what_restricts() {
    let agents = Agents::new();
    let tagged = |tag: &str| Filters { tag: vec![tag.to_owned()], ..Filters::default() };
    for mode in [Mode::Hybrid, Mode::Semantic] {
        let filtered = |tag| agents.search(&Search { mode, filters: tagged(tag), ..Search::words(LODGING) });
        assert_eq!(ids(&filtered("travel"))[0], "urn:hotel");
        assert!(!ids(&filtered("finance")).contains(&"urn:hotel".to_owned()));
        for query in ["tag:finance", "-tag:travel", "+invoices", "-rooms", "id:urn:invoice"] {
            let found = agents.found(&format!("{query} {LODGING}"), mode);
            assert!(!found.contains(&"urn:hotel".to_owned()), "{query}: {found:?}");
        }
    }
}

#[test]
fn what_is_deleted_is_not_found_by_its_meaning() {
    let agents = Agents::new();
    assert_eq!(agents.found(LODGING, Mode::Semantic)[0], "urn:hotel");
    agents.registry.remove("urn:hotel").unwrap();
    let found = agents.registry.search_as_indexed(&Search::words(LODGING)).unwrap();
    assert!(!ids(&found).contains(&"urn:hotel".to_owned()), "{found:?}");
    assert!(!agents.found(LODGING, Mode::Semantic).contains(&"urn:hotel".to_owned()));
}

#[test]
fn totals_facets_and_pages_count_what_is_found_by_meaning() {
    let agents = Agents::new();
    for number in 0..60 {
        agents.put(&format!("inn{number:02}"), "Guest house", "A place where tourists sleep.", "lodging");
        agents.put(&format!("bed{number:02}"), "Hostel", "Beds for backpackers.", "lodging");
    }
    for mode in [Mode::Hybrid, Mode::Semantic] {
        let request =
            |offset, limit| Search { mode, offset, limit, facets: vec![FacetField::Tag], ..Search::words(LODGING) };
        let all = agents.search(&request(0, 1000));
        assert_eq!(all.total as usize, all.hits.len(), "{mode:?}");
        assert!(all.total >= 60, "{mode:?}: {}", all.total);
        let counted: u64 = all.facets[&FacetField::Tag].iter().map(|count| count.count).sum();
        assert_eq!(counted, all.total, "{mode:?}: each has one tag");
        let mut paged = Vec::new();
        for offset in (0..all.hits.len()).step_by(7) {
            let page = agents.search(&request(offset, 7));
            assert_eq!((page.total, &page.facets), (all.total, &all.facets));
            paged.extend(ids(&page));
        }
        assert_eq!(paged, ids(&all), "{mode:?}");
        assert_eq!(paged.iter().collect::<BTreeSet<_>>().len(), paged.len());
        assert!(all.hits.is_sorted_by(|one, other| one.score >= other.score - 0.01));
    }
}

#[test]
fn each_of_several_capabilities_is_found() {
    let agents = Agents::new();
    let actions = json!({
        "translateText": {"description": "Translates a text from German into English.", "forms": [{"href": "https://a.example/"}]},
        "playChess": {"description": "Plays a game of chess.", "forms": [{"href": "https://a.example/"}]},
        "tellJoke": {"description": "Tells something funny.", "forms": [{"href": "https://a.example/"}]},
    });
    agents.put_with("butler", "Butler", "Does many things in the house.", "home", actions);
    for query in ["foreign language interpreter", "board games and puzzles", "amusing stories"] {
        assert_eq!(agents.found(query, Mode::Semantic).first().map(String::as_str), Some("urn:butler"), "{query}");
    }
}

#[test]
fn what_nothing_is_like_is_said_to_be_unsure_or_not_found() {
    let agents = Agents::new();
    let sure = agents.search(&Search::words("hotel booking"));
    assert_eq!((sure.confidence, sure.hits[0].id.as_str()), (None, "urn:hotel"));
    let unsure = agents.search(&Search::words("submarine torpedo maintenance sends"));
    assert_eq!(unsure.confidence, Some(Confidence::Low), "{:?}", unsure.hits);
    let nothing = agents.search(&Search::words("zxqvkj"));
    assert!(nothing.hits.is_empty() || nothing.confidence == Some(Confidence::Low), "{nothing:?}");
}

#[test]
fn quoted_requests_are_taken_to_the_letter_unless_nothing_matches() {
    let agents = Agents::new();
    assert_eq!(agents.found("\"rooms in hotels\"", Mode::Hybrid), ["urn:hotel"]);
    assert_eq!(agents.found(&format!("\"{LODGING}\""), Mode::Hybrid)[0], "urn:hotel");
    assert_eq!(agents.found("title:invoices", Mode::Hybrid), ["urn:invoice"]);
}

#[test]
fn without_words_all_modes_list_what_passes_the_filters() {
    let agents = Agents::new();
    for mode in Mode::ALL {
        let filters = Filters { tag: vec!["travel".into()], ..Filters::default() };
        let response = agents.search(&Search { mode, filters, limit: 10, ..Search::default() });
        assert_eq!(ids(&response), ["urn:hotel", "urn:weather"], "{mode:?}");
    }
}

#[test]
fn vectors_follow_the_log_and_survive_a_restart() {
    let agents = Agents::new();
    agents.put("hotel", "Chess", "Plays a game of chess.", "games");
    assert!(!agents.found(LODGING, Mode::Semantic).contains(&"urn:hotel".to_owned()));
    assert_eq!(agents.found("board games", Mode::Semantic)[0], "urn:hotel");
    let Agents { registry, directory } = agents;
    let before = registry.last_seq();
    registry.close();
    drop(registry);
    let agents = Agents { registry: Registry::builder(directory.path()).open().unwrap(), directory };
    let status = agents.registry.status();
    let vectors = status.followers.iter().find(|follower| follower.name == "vectors").unwrap();
    assert_eq!((vectors.seq, vectors.rebuilds), (Some(before), 0));
    assert_eq!(agents.found("board games", Mode::Semantic)[0], "urn:hotel");
}

#[test]
fn without_a_model_only_words_count() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::default().model(None);
    let registry = Registry::builder(directory.path()).options(options).open().unwrap();
    let agents = Agents { registry, directory };
    agents.put("hotel", "Hotel booking", "Reserves rooms in hotels in all cities.", "travel");
    assert!(agents.found(LODGING, Mode::Hybrid).is_empty());
    assert_eq!(agents.found("hotel", Mode::Hybrid), ["urn:hotel"]);
    let request = Search { mode: Mode::Semantic, ..Search::words("hotel") };
    let error = agents.registry.search(request.consistent()).unwrap_err();
    assert!(error.to_string().contains("no vectors"), "{error}");
}

#[test]
fn how_much_meaning_counts_can_be_set() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::default().semantic_scale(7.0);
    let registry = Registry::builder(directory.path()).options(options).open().unwrap();
    let agents = Agents { registry, directory };
    agents.put("hotel", "Hotel booking", "Reserves rooms in hotels in all cities.", "travel");
    let hit = &agents.search(&Search::words(LODGING)).hits[0];
    assert!((hit.score - 7.0 * hit.cosine.unwrap()).abs() < 0.05, "{hit:?}");
}
