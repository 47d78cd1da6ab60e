//! What we claim about searches by structure: JSONPath and SPARQL over Things of 3.6 KB, and how fast descriptions are
//! read as RDF, by all processors.
//!
//! `cargo bench --bench structure` measures 10,000 Things, `-- --things N` another number. Everything is synthetic and
//! the same in each run; each figure is the median of 9 runs after one that isn't counted, with the least and the
//! greatest.

use std::{
    fs,
    time::{Duration, Instant},
};

use agentdex::{
    Registry,
    registry::Options,
    search::{jsonpath, sparql},
    td::json_ld::Expander,
};
use serde_json::{Value, json};

const REPETITIONS: usize = 9;
/// Writers share one sync to disk.
const WRITERS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.iter().position(|argument| argument == "--things").and_then(|at| arguments.get(at + 1));
    let things = value.and_then(|number| number.parse().ok()).unwrap_or(10_000);
    expansion();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let plain = open(&directory, false);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for first in 0..WRITERS {
            let plain = &plain;
            scope.spawn(move || {
                (first..things).step_by(WRITERS).for_each(|number| drop(plain.put(thing(number)).expect("a write")))
            });
        }
    });
    plain.refresh().expect("an index");
    println!("\n{things} Things of {} bytes, registered in {:.1?}", thing(77).len(), started.elapsed());
    println!("\n| JSONPath | found | median | least | greatest |\n|---|---|---|---|---|");
    for text in [
        "$[?@.title=='Agent 77']",
        "$[?@.properties.p3.unit=='percent' && @.title=='Agent 77'].id",
        "$[*].title",
        "$[?@.actions.a1.safe==true].id",
        "$..href",
        "$[?search(@.description, 'number 77[0-9] ')].id",
    ] {
        let query = jsonpath::Query::parse(text).expect("a query");
        let mut found = String::new();
        let times = times(|| {
            found = match plain.search_by_path(&query) {
                Ok(results) => results.len().to_string(),
                Err(error) => error.to_string(),
            }
        });
        println!("| `{text}` | {found} | {times} |");
    }
    println!("memory: {}", memory());
    plain.close();
    drop(plain);
    queries(&directory, things);
}

fn queries(directory: &tempfile::TempDir, things: usize) {
    let before = resident();
    let started = Instant::now();
    let registry = open(directory, true);
    while pollster::block_on(registry.ready_for_sparql(true)).is_err() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let read = started.elapsed();
    println!("\nstatements of {things} Things read in {read:.1?} ({:.0}/s)", things as f64 / read.as_secs_f64());
    println!("memory: {}, {:.1} KB more a Thing", memory(), resident().saturating_sub(before) as f64 / things as f64);
    println!("\n| SPARQL | bytes | median | least | greatest |\n|---|---|---|---|---|");
    const PREFIXES: &str =
        "PREFIX td: <https://www.w3.org/2019/wot/td#> PREFIX hctl: <https://www.w3.org/2019/wot/hypermedia#> ";
    for text in [
        "SELECT ?s { ?s td:title 'Agent 77' }",
        "SELECT ?s ?h { ?s td:title 'Agent 77' ; td:hasActionAffordance/td:hasForm/hctl:hasTarget ?h }",
        "SELECT ?s ?t { ?s td:title ?t } ORDER BY ?t LIMIT 100",
        "SELECT ?op (COUNT(*) AS ?n) { ?f hctl:hasOperationType ?op } GROUP BY ?op",
        "SELECT ?s { ?s td:description ?d FILTER(CONTAINS(?d, 'number 777 ')) }",
        "DESCRIBE <urn:example:thing:77>",
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    ] {
        let query = sparql::Query::parse(&format!("{PREFIXES}{text}")).expect("a query");
        let format = sparql::Format::all_for(query.kind()).next().expect("a format").0;
        let mut found = String::new();
        let times = times(|| {
            found = match registry.query_sparql(&query, format) {
                Ok(results) => results.len().to_string(),
                Err(error) => error.to_string(),
            }
        });
        println!("| `{text}` | {found} | {times} |");
    }
}

/// How many descriptions a second are read as RDF.
fn expansion() {
    const DOCUMENTS: usize = 4000;
    let documents: Vec<String> = (0..DOCUMENTS).map(thing).collect();
    let (expander, mut quads) = (Expander::new(), 0);
    for round in 0..4 {
        let started = Instant::now();
        quads = 0;
        for part in documents.chunks(200) {
            let pending: Vec<_> =
                part.iter().map(|text| expander.start(text.clone()).expect("a place in the queue")).collect();
            quads += pending.into_iter().map(|read| read.wait().expect("JSON-LD").quads.len()).sum::<usize>();
        }
        let seconds = started.elapsed().as_secs_f64();
        if round > 0 {
            println!(
                "{:.0} descriptions of {} bytes a second read as RDF",
                DOCUMENTS as f64 / seconds,
                documents[0].len()
            );
        }
    }
    println!("{} statements each", quads / DOCUMENTS);
}

fn open(directory: &tempfile::TempDir, sparql: bool) -> Registry {
    let options = Options::default().sparql(sparql);
    Registry::builder(directory.path()).options(options).open().expect("a registry")
}

/// A Thing of about 3.6 KB: six properties, two actions and an event.
fn thing(number: usize) -> String {
    let form = |path: &str, op: &str| json!([{"href": format!("https://agents.example/{number}/{path}"), "op": [op], "contentType": "application/json"}]);
    let property = |name: usize| {
        json!({
            "title": format!("Property {name}"), "description": format!("What is measured at place {name} of the agent"),
            "type": "number", "unit": if name == 3 { "percent" } else { "celsius" }, "minimum": 0, "maximum": 100.5,
            "readOnly": true, "observable": name.is_multiple_of(2), "forms": form(&format!("properties/p{name}"), "readproperty"),
        })
    };
    let action = |name: usize| {
        json!({
            "title": format!("Action {name}"), "description": "Does what it is asked to, and says what became of it",
            "safe": number % 10 == name, "idempotent": false,
            "input": {"type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "title": "Text", "maxLength": 2000}, "limit": {"type": "integer", "minimum": 1},
            }},
            "output": {"type": "array", "items": {"type": "string"}}, "forms": form(&format!("actions/a{name}"), "invokeaction"),
        })
    };
    let thing: Value = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"saref": "https://w3id.org/saref#", "@language": "en"}],
        "@type": ["Thing", "saref:Sensor"], "id": format!("urn:example:thing:{number}"), "title": format!("Agent {number}"),
        "description": format!("The agent with number {number} of a directory, which answers questions about places and their weather"),
        "created": "2026-01-01T00:00:00Z", "version": {"instance": "1.0.0"}, "support": "mailto:support@agents.example",
        "securityDefinitions": {"key": {"scheme": "apikey", "in": "header", "name": "X-Key"}}, "security": ["key"],
        "properties": {"p1": property(1), "p2": property(2), "p3": property(3), "p4": property(4), "p5": property(5), "p6": property(6)},
        "actions": {"a1": action(1), "a2": action(2)},
        "events": {"changed": {"title": "Changed", "data": {"type": "string"}, "forms": form("events/changed", "subscribeevent")}},
        "links": [{"rel": "service-doc", "href": "https://agents.example/docs", "type": "text/html"}],
    });
    thing.to_string()
}

fn times(mut run: impl FnMut()) -> String {
    run();
    let mut times: Vec<Duration> = (0..REPETITIONS)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    format!("{:.1?} | {:.1?} | {:.1?}", times[REPETITIONS / 2], times[0], times[REPETITIONS - 1])
}

/// Resident memory in KB.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or_default()
}

fn memory() -> String {
    format!("{} MB resident", resident() / 1024)
}
