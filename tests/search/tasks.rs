//! Requests that name several tasks.

use std::collections::HashSet;

use agentdex::search::Mode;
use serde_json::json;

use super::{
    names::Named,
    relevance::{Tool, id, lines},
    shared,
};

/// Ten agents for hotels, and one each for weather and taxis.
fn agents() -> Named {
    let mut tools: Vec<Tool> = (0..10)
        .map(|number| {
            Tool::new(&json!({
                "id": format!("hotel-{number}"),
                "title": format!("Hotel booking {number}"),
                "description": "Books a hotel room in a city, with breakfast.",
            }))
        })
        .collect();
    for (id, title, description) in
        [("weather", "Weather forecast", "Tells rain and wind."), ("taxi", "Taxi call", "Sends a car to an address.")]
    {
        tools.push(Tool::new(&json!({"id": id, "title": title, "description": description})));
    }
    Named::with(&tools)
}

#[test]
fn the_best_of_each_task_comes_before_the_rest() {
    let agents = agents();
    for query in [
        "Please book me a hotel room in a city. Will there be rain tomorrow? A taxi must be called.",
        "Book me a hotel room in the city, then tell me about rain, and then call a taxi",
    ] {
        let found = agents.found(query, Mode::Hybrid, 12);
        let place = |tool: &str| found.iter().position(|found| *found == id(tool)).expect("it is found");
        assert!(place("weather") < 4 && place("taxi") < 4, "{query}: {found:?}");
        let distinct: HashSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "{query}");
        let pages = [agents.page(query, 0, 5), agents.page(query, 5, 7)].concat();
        assert_eq!(pages, found, "pages fit together: {query}");
    }
}

/// Labelled requests, each of which finds its tool, joined, each as often as the others: the share of their tools among the
/// first ten.
#[test]
fn joined_requests_of_metatool_find_the_tools_of_all() {
    let Some(folder) = shared("corpus/relevance/metatool") else { return };
    let agents = Named::with(&Tool::all(&folder));
    let labelled = lines(folder.join("queries.jsonl"));
    let requests = labelled.iter().step_by(7).filter_map(|labelled| {
        let [tool] = labelled["relevant"].as_array()?.as_slice() else { return None };
        let (text, tool) = (labelled["query"].as_str()?, id(tool.as_str()?));
        agents.found(text, Mode::Hybrid, 10).contains(&tool).then_some((text.trim(), tool))
    });
    let requests: Vec<(&str, String)> = requests.collect();
    for (count, least) in [(2, 0.89), (3, 0.82)] {
        let (mut found, mut asked) = (0, 0);
        for at in 0..requests.len() {
            let other = |part: usize| &requests[(at + part * requests.len() / count) % requests.len()];
            let joined: Vec<&(&str, String)> = (0..count).map(other).collect();
            let tools: HashSet<&String> = joined.iter().map(|(_, tool)| tool).collect();
            let sentence =
                |text: &str| if text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") };
            let query: Vec<String> = joined.iter().map(|(text, _)| sentence(text)).collect();
            let hits = agents.found(&query.join(" "), Mode::Hybrid, 10);
            found += tools.iter().filter(|tool| hits.contains(tool)).count();
            asked += tools.len();
        }
        let recall = found as f64 / asked as f64;
        println!("{count} tasks: recall@10 = {recall:.3}");
        assert!(recall >= least, "{count} tasks: {recall}");
    }
}
