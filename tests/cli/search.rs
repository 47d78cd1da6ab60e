//! `agentdex search` by words, meaning, structure and data, and `agentdex watch` with a query.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{json_lines, run, run_with_input, stderr, stdout};
use crate::{
    process::{ServerProcess, agentdex},
    support::{Call, eventually},
};

const CITY: &str = r#"{"properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
const TEMPERATURE: &str = r#"{"properties": {"temperature": {"type": "number"}}}"#;

fn data(members: &[(&str, &str)]) -> Value {
    let properties = members.iter().map(|(name, of)| ((*name).to_owned(), json!({"type": of})));
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties.collect::<serde_json::Map<_, _>>(), "required": required})
}

fn agent(id: &str, title: &str, tag: &str, action: &str, does: &str, input: &Value, output: &Value) -> String {
    let agent = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": format!("urn:test:{id}"), "title": title, "tags": [tag],
        "security": "none", "securityDefinitions": {"none": {"scheme": "nosec"}},
        "actions": {action: {
            "description": does, "input": input, "output": output,
            "forms": [{"href": format!("https://{id}.example/{action}")}],
        }},
    });
    agent.to_string()
}

/// One that finds places, and one that knows the weather at a place.
fn server() -> (tempfile::TempDir, ServerProcess) {
    let data_directory = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data_directory.path(), &["--sparql"]);
    let place = data(&[("lat", "number"), ("lon", "number")]);
    for agent in [
        agent("geocoder", "Geocoder", "maps", "locate", "Finds towns on a map.", &data(&[("city", "string")]), &place),
        agent("weather", "Weather", "sky", "at", "Tells rain & wind.", &place, &data(&[("temperature", "number")])),
    ] {
        assert!(run_with_input(&["register", "-", "--url", server.url()], &agent).status.success());
    }
    (data_directory, server)
}

/// Searches, and what it prints.
fn search(server: &ServerProcess, arguments: &[&str]) -> String {
    let output = run(&[&["search", "--url", server.url()], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn words_and_meaning_find_agents_with_what_they_can_do() {
    let (_data, server) = server();
    let hit = search(&server, &["rain", "--lexical"]);
    let lines: Vec<&str> = hit.lines().collect();
    let [first, id, capability, footer] = lines.as_slice() else { panic!("{hit}") };
    assert!(first.ends_with("  Weather"), "{hit}");
    assert_eq!((*id, *capability), ("        urn:test:weather", "        at: Tells rain & wind."));
    assert_eq!(*footer, "1 to 1 of 1");
    let by_meaning = search(&server, &["where is this village", "--semantic"]);
    assert!(by_meaning.contains("urn:test:geocoder"), "{by_meaning}");
    assert_eq!(search(&server, &["village", "--lexical"]), "No agent matches.\n");
    let misspelled = search(&server, &["wether", "--lexical"]);
    assert!(
        misspelled.starts_with("Did you mean: weather?\nNo agent contains `wether`; searched for: weather\n"),
        "{misspelled}"
    );
    let beside_others = search(&server, &["+rain", "wether", "tag:x", "--lexical"]);
    assert!(!beside_others.contains("Did you mean"), "nothing was found: {beside_others}");
    let beside_others = search(&server, &["+rain", "wether", "--lexical"]);
    assert!(beside_others.starts_with("Did you mean: +rain weather?\n"), "{beside_others}");
}

#[test]
fn hit_shows_three_capabilities_and_the_number_of_the_others() {
    let (_data, server) = server();
    let capabilities: Vec<Value> = (0..7).map(|number| json!({"id": format!("skill-{number}")})).collect();
    let mut many: Value =
        serde_json::from_str(&agent("many", "Many", "x", "act", "Acts.", &data(&[]), &data(&[]))).unwrap();
    many["lmos:capabilities"] = capabilities.into();
    assert!(run_with_input(&["register", "-", "--url", server.url()], &many.to_string()).status.success());
    let found = search(&server, &["--tag", "x"]);
    assert_eq!(found.matches("skill-").count() + found.matches("act").count(), 3, "{found}");
    assert!(found.contains("        and 5 more\n"), "{found}");
    let json = json_lines(&run(&["search", "--tag", "x", "--json", "--url", server.url()])).remove(0);
    assert_eq!(
        (&json["hits"][0]["more_capabilities"], json["hits"][0]["capabilities"].as_array().map(Vec::len)),
        (&json!(3), Some(5))
    );
}

#[test]
fn facets_are_a_table() {
    let (_data, server) = server();
    let found = search(&server, &["--facets", "tag,protocol"]);
    let table: Vec<Vec<&str>> = found
        .lines()
        .skip_while(|line| !line.contains("Facet"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(table[0], ["Facet", "Value", "Agents"], "{found}");
    assert!(found.lines().all(|line| line == line.trim_end()), "{found:?}");
    for row in [["protocol", "http", "2"].as_slice(), &["tag", "maps", "1"], &["sky", "1"]] {
        assert!(table.iter().any(|found| found == row), "{row:?}: {found}");
    }
    let looked_up = search(&server, &["--limit", "0", "--facets", "tag", "--facet-query", "MA"]);
    assert!(looked_up.contains("maps") && !looked_up.contains("sky"), "{looked_up}");
    assert!(!found.contains(" of 2 values"), "{found}");
    let mut many: Value =
        serde_json::from_str(&agent("many", "Many", "x", "act", "Acts.", &data(&[]), &data(&[]))).unwrap();
    many["tags"] = (0..101).map(|number| format!("tag-{number}")).collect::<Vec<_>>().into();
    assert!(run_with_input(&["register", "-", "--url", server.url()], &many.to_string()).status.success());
    let cut = search(&server, &["--facets", "tag", "--limit", "0"]);
    assert!(cut.contains("tag: 100 of 103 values; `--facet-query TEXT`"), "{cut}");
}

#[test]
fn agents_are_sorted() {
    let (_data, server) = server();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let found: Value = serde_json::from_str(&search(&server, &[arguments, &["--json"]].concat())).unwrap();
        found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut sorted = ids(&["--sort-by", "id"]);
    assert!(sorted.len() > 1 && sorted.is_sorted(), "{sorted:?}");
    sorted.reverse();
    assert_eq!(ids(&["--sort-by", "id", "--desc"]), sorted);
    let newest = ids(&["--sort-by", "created", "--desc"]);
    assert!(newest.len() == sorted.len() && newest != ids(&["--sort-by", "created"]), "{newest:?}");
}

#[test]
fn structure_and_statements_are_searched() {
    let (_data, server) = server();
    let path = "$[?@.actions.at].title";
    assert_eq!(search(&server, &["--jsonpath", path]), "\"Weather\"\n");
    let named = "{ ?thing <https://www.w3.org/2019/wot/td#title> ?title . ?thing a <lmos:Agent> }";
    let select = search(&server, &["--sparql", &format!("SELECT ?title ?thing {named} ORDER BY ?title")]);
    let rows: Vec<Vec<&str>> = select.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        (rows[0].as_slice(), rows[2].as_slice()),
        (&["title", "thing"][..], &["Geocoder", "urn:test:geocoder"][..])
    );
    assert!(select.ends_with("2 results\n"), "{select}");
    let actions = "SELECT ?action { ?thing <https://www.w3.org/2019/wot/td#hasActionAffordance> ?action } LIMIT 1";
    assert!(search(&server, &["--sparql", actions]).contains("_:"), "a blank node");
    assert_eq!(search(&server, &["--sparql", &format!("ASK {named}")]), "true\n");
    let statements = search(&server, &["--sparql", &format!("CONSTRUCT {{ ?thing <urn:p> ?title }} {named}")]);
    assert!(statements.contains("\"Geocoder\""), "{statements}");
    let refused = run(&["search", "--url", server.url(), "--sparql", "SELECT"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("1:7") || stderr(&refused).contains("expected"), "{}", stderr(&refused));
    let refused = run(&["search", "--url", server.url(), "--jsonpath", "$[?@.title ==]"]);
    assert!(stderr(&refused).contains("character 11"), "{}", stderr(&refused));
}

#[test]
fn statements_come_back_after_a_restart() {
    let (data, first) = server();
    let query = "SELECT ?title { GRAPH <urn:test:weather> { ?thing <https://www.w3.org/2019/wot/td#title> ?title } }";
    let before = search(&first, &["--sparql", query, "--json"]);
    assert!(before.contains("Weather"), "{before}");
    assert_eq!(first.stop().code(), Some(0));
    let second = ServerProcess::start(data.path(), &["--sparql"]);
    let url = second.url().to_owned();
    eventually("the statements", || run(&["search", "--sparql", "ASK {}", "--url", &url]).status.success());
    assert_eq!(search(&second, &["--sparql", query, "--json"]), before);
    assert_eq!(second.stop().code(), Some(0));
    let third = ServerProcess::start(data.path(), &[]);
    let refused = run(&["search", "--sparql", query, "--url", third.url()]);
    assert!(stderr(&refused).contains("--sparql"), "{}", stderr(&refused));
}

#[test]
fn data_finds_capabilities_and_chains() {
    let (_data, server) = server();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), CITY).unwrap();
    let file = file.path().to_str().unwrap();
    for have in [CITY, file] {
        let found = search(&server, &["--have", have]);
        let expected = "        urn:test:geocoder\n        takes `city`\n1 to 1 of 1\n";
        assert!(found.contains("  locate of Geocoder\n") && found.ends_with(expected), "{found}");
    }
    let none = search(&server, &["--have", CITY, "--want", TEMPERATURE]);
    assert_eq!(none, "No agent fits. `--near-misses` shows agents for which one input or output is missing.\n");
    let near = r#"{"properties": {"lat": {"type": "number"}}}"#;
    let near = search(&server, &["--have", near, "--want", TEMPERATURE, "--near-misses"]);
    assert!(near.contains("  at of Weather\n") && near.contains("it needs `lon`"), "{near}");
    let chain = search(&server, &["--have", CITY, "--want", TEMPERATURE, "--compose"]);
    let expected = [
        "gives temperature of step 2",
        "   1) locate of Geocoder: takes city",
        "      urn:test:geocoder",
        "   2) at of Weather: takes lat of step 1, lon of step 1",
        "      urn:test:weather",
    ];
    assert!(expected.iter().zip(chain.lines()).all(|(end, line)| line.ends_with(end)), "{chain}");
    let answer = run(&["search", "--url", server.url(), "--have", CITY, "--want", TEMPERATURE, "--compose", "--json"]);
    assert_eq!(json_lines(&answer)[0]["chains"][0]["steps"].as_array().map(Vec::len), Some(2));
    let short = search(&server, &["--have", CITY, "--want", TEMPERATURE, "--compose", "--max-steps", "1"]);
    assert_eq!(short, "No chain of agents produces this data. `--max-steps 4` searches for longer chains.\n");
    let refused = run(&["search", "--url", server.url(), "--have", "no such file"]);
    assert!(stderr(&refused).contains("--have: \"no such file\" is not NAME or NAME: TYPE"), "{}", stderr(&refused));
}

#[test]
fn watch_with_a_query_prints_what_matches() {
    let (_data, server) = server();
    let mut command = agentdex();
    command
        .args(["watch", "weather", "forecast", "--lexical", "--url", server.url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut watch = command.spawn().unwrap();
    let metrics = || Call::new("GET", &format!("{}/metrics", server.url())).send();
    eventually("the event stream", || metrics().text().contains("agentdex_event_streams 1"));
    let put = |id: &str, title: &str| {
        let agent = agent(id, title, "x", "act", "Acts.", &data(&[]), &data(&[]));
        assert!(run_with_input(&["register", "-", "--url", server.url()], &agent).status.success());
    };
    put("billing", "Billing");
    put("rain", "Weather of tomorrow");
    put("billing", "Forecasts of bills");
    put("rain", "Rain");
    assert!(run(&["remove", "urn:test:geocoder", "urn:test:billing", "--url", server.url()]).status.success());
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines().take(4);
    // After the time, and without the reason of a deletion.
    let told = |line: String| {
        line.split(' ').skip(1).filter(|word| !word.starts_with('(')).take(2).collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = lines.map(|line| told(line.unwrap())).collect();
    let expected =
        ["created urn:test:rain", "matched urn:test:billing", "unmatched urn:test:rain", "removed urn:test:billing"];
    assert_eq!(lines, expected);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn filters_leave_out_and_scores_are_explained() {
    let (_data, server) = server();
    assert!(search(&server, &["--not", "tag=maps"]).contains("urn:test:weather\n"));
    assert_eq!(search(&server, &["--all", "tag=maps", "--all", "tag=sky"]), "No agent matches.\n");
    assert!(
        search(&server, &["--modified-from", "2020-01-01", "--not", "capability=at"]).contains("urn:test:geocoder\n")
    );
    let listed = stdout(&run(&["list", "--not", "format=a2a", "--not", "tag=sky", "--url", server.url()]));
    assert!(listed.contains("urn:test:geocoder") && !listed.contains("urn:test:weather"), "{listed}");
    let refused = run(&["search", "--not", "colour=red", "--url", server.url()]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("there is no field \"colour\""),
        "{}",
        stderr(&refused)
    );

    let counted = search(&server, &["--limit", "0", "--facets", "tag"]);
    assert!(counted.contains("maps") && counted.ends_with("2 agents match.\n"), "{counted}");
    let explained = search(&server, &["please rain", "--explain", "--lexical"]);
    let lines: Vec<&str> = explained.lines().map(str::trim_start).collect();
    let [score, _, word, best, ..] = lines.as_slice() else { panic!("{explained}") };
    let number = |line: &str| line.split(' ').next().unwrap().parse::<f32>().unwrap();
    assert!(word.ends_with("  word `rain`") && number(word) == number(score), "{explained}");
    assert!(best.contains("of the best possible score") && number(best) > 0.0 && number(best) < 1.0, "{explained}");
}
