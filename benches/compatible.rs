//! What compatible and composed search take, and how much saved queries slow registrations down.
//!
//! `cargo bench --bench compatible [-- AGENTS]`: 100,000 agents for compatible search, a tenth of them for composed
//! search, 10,000 saved queries.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use agentdex::{
    convert::Format,
    search::{
        Entry, Filters,
        compatible::{ComposeRequest, Data, Relevance, Request, ShapeIndex, shapes},
        saved::{Document, QueryIndex, SavedQuery},
    },
};
use serde_json::{Map, Value, json};

/// How often each search is made.
const REPEATED: usize = 50;
const QUERIES: usize = 10_000;

fn main() {
    let agents = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    compatible(agents);
    replacing(agents);
    compose(agents / 10);
    saved();
}

/// Numbers that look like chance and are the same every time.
fn number(seed: usize, below: usize) -> usize {
    let mixed = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 33) as usize % below
}

/// Data of some of `names` names; low numbers are frequent, as names of real data are.
fn data(seed: usize, members: usize, names: usize) -> Value {
    let member = |at: usize| {
        let name = number(seed * 31 + at, names).min(number(seed * 37 + at, names));
        let type_ = ["string", "string", "number", "integer", "boolean"][name % 5];
        (format!("field{name}"), json!({"type": type_}))
    };
    json!({"type": "object", "properties": (0..members).map(member).collect::<Map<_, _>>()})
}

fn thing(number_of: usize, names: usize) -> Value {
    let actions = (0..2).map(|action| {
        let seed = number_of * 2 + action;
        let (input, output) =
            (data(seed, 1 + number(seed, 4), names), data(seed + 7_777_777, 1 + number(seed, 3), names));
        (format!("action{action}"), json!({"title": "An action", "input": input, "output": output}))
    });
    json!({"title": format!("Agent {number_of}"), "description": "An agent", "actions": actions.collect::<Map<_, _>>()})
}

fn index(agents: usize, names: usize) -> ShapeIndex {
    let texts: Vec<String> = (0..agents).map(|number| thing(number, names).to_string()).collect();
    let started = Instant::now();
    let mut index = ShapeIndex::default();
    for (number, text) in texts.iter().enumerate() {
        index.put(&format!("urn:example:{number}"), shapes(text).expect("a description"));
    }
    println!(
        "{agents} agents, {} capabilities of {} shapes: {:.1} µs an agent",
        index.len(),
        index.distinct(),
        started.elapsed().as_secs_f64() * 1e6 / agents as f64
    );
    index
}

fn report(name: &str, mut times: Vec<Duration>, found: usize) {
    times.sort();
    let [p50, p99] = [times.len() / 2, times.len() * 99 / 100].map(|at| times[at].as_secs_f64() * 1e3);
    println!("{name}: p50 {p50:.2} ms, p99 {p99:.2} ms, {found} found in all");
}

fn compatible(agents: usize) {
    let index = index(agents, 400);
    let (relevance, hidden) = (Relevance::new(), HashSet::new());
    for (name, has_have, has_want, near_misses) in [
        ("have and want", true, true, false),
        ("have", true, false, false),
        ("want", false, true, false),
        ("have and want, near misses", true, true, true),
        ("have, near misses", true, false, true),
    ] {
        let (mut times, mut found) = (Vec::new(), 0);
        for round in 0..REPEATED {
            let have = Data::parse(&data(round + 5, 5, 400), "have").expect("a schema");
            let want = Data::parse(&data(round + 99, 1, 400), "want").expect("a schema");
            let started = Instant::now();
            let request = Request {
                have: has_have.then_some(&have),
                want: has_want.then_some(&want),
                relevance: &relevance,
                near_misses,
                hidden: &hidden,
                limit: 10,
                offset: 0,
                deadline: Instant::now() + Duration::from_secs(10),
            };
            found += index.find(&request).expect("an answer").total;
            times.push(started.elapsed());
        }
        report(&format!("compatible, {name}"), times, found);
    }
}

/// Times the replacement of an agent among few and among many: where all have the same data, and where all have a name in
/// common with something of their own beside it.
fn replacing(agents: usize) {
    let text = |number: Option<usize>| {
        let own = number.map(|number| (format!("own{number}"), json!({})));
        let members: Map<_, _> = [("query".to_owned(), json!({"type": "string"}))].into_iter().chain(own).collect();
        json!({"actions": {"a": {"input": {"type": "object", "properties": members}}}}).to_string()
    };
    let shapes = |number| shapes(&text(number)).expect("a description");
    for (name, own) in [("the same data", false), ("data of its own, a name of which all have", true)] {
        let few = (agents / 100).max(1);
        let [few_took, many_took] = [few, agents].map(|agents| {
            let own = |number: usize| own.then_some(number);
            let mut index = ShapeIndex::default();
            (0..agents).for_each(|number| index.put(&number.to_string(), shapes(own(number))));
            let replaced = (0..REPEATED * 20).map(|at| number(at, agents));
            let replaced: Vec<_> = replaced.map(|number| (number.to_string(), shapes(own(number)))).collect();
            let count = replaced.len();
            let started = Instant::now();
            replaced.into_iter().for_each(|(id, shapes)| index.put(&id, shapes));
            started.elapsed().as_secs_f64() * 1e6 / count as f64
        });
        let ratio = many_took / few_took;
        println!("replacing one with {name}: {few_took:.2} µs of {few}, {many_took:.2} µs of {agents}: {ratio:.1}");
    }
}

fn compose(agents: usize) {
    let index = index(agents, 400);
    let (relevance, hidden) = (Relevance::new(), HashSet::new());
    for max_steps in 1..=4 {
        let (mut times, mut found, mut incomplete) = (Vec::new(), 0, 0);
        for round in 0..REPEATED {
            let have = Data::parse(&data(round + 5, 3, 400), "have").expect("a schema");
            let want = Data::parse(&data(round + 99, 1, 400), "want").expect("a schema");
            let started = Instant::now();
            let request = ComposeRequest {
                have: &have,
                want: &want,
                relevance: &relevance,
                hidden: &hidden,
                max_steps,
                limit: 10,
                deadline: Instant::now() + Duration::from_secs(10),
            };
            let composed = index.compose(&request);
            found += composed.chains.len();
            incomplete += usize::from(!composed.complete);
            times.push(started.elapsed());
        }
        report(&format!("composed, {max_steps} steps ({incomplete} of {REPEATED} incomplete)"), times, found);
    }
}

fn saved() {
    let mut queries = QueryIndex::default();
    for n in 0..QUERIES {
        let (text, filters) = match n % 4 {
            0 => (format!("field{} agent{n}", n % 400), Filters::default()),
            1 => (format!("+field{} action", n % 400), Filters::default()),
            2 => (String::new(), Filters { capability: vec![format!("action{}", n / 400)], ..Filters::default() }),
            _ => (format!("\"an agent\" +topic{n}"), Filters::default()),
        };
        queries.insert(n as u32, Arc::new(SavedQuery::new(Some(&text), filters).expect("a query")));
    }
    let (mut times, mut found, mut asked) = (Vec::new(), 0, 0);
    for number in 0..REPEATED * 4 {
        let text = thing(number, 400).to_string();
        let started = Instant::now();
        let entry = Entry {
            id: "urn:example:a",
            text: &text,
            format: None,
            terms: Format::search_terms(),
            access: None,
            moments: None,
        };
        let document = Document::new(entry).expect("a document");
        let (matching, compared) = queries.matching(&document);
        times.push(started.elapsed());
        found += matching.len();
        asked += compared;
    }
    let per_change = asked as f64 / times.len() as f64;
    report(&format!("{QUERIES} saved queries, a change ({per_change:.1} asked)"), times, found);
}
