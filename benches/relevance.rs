//! How well requests in natural language find the agents that answer them.
//!
//! `cargo bench --bench relevance` registers the agents of each labelled set in a registry of its own, and those of
//! the large sets in one, searches for every request by words, by meaning and by both, and prints nDCG@10, MRR and recall
//! with the requests that fail worst by both. `-- --set NAME` takes one set (`mixed`: the requests of the large sets among
//! the agents of both; `languages`: requests in each language among those agents and the ones of `metatool`),
//! `-- --mode NAME` one mode, `-- --worst N` prints more or fewer failures, `-- --model DIR` takes
//! the sentence encoder of a directory in place of the built-in table. Times don't matter to it: `--profile dev` does. `-- --speed N` measures how long searches take
//! among N agents, each of them with the title and the parameters of one labelled agent and the description of
//! another; `--owners N` gives them to N owners in turn, every fifth of them private, and measures as well what it costs
//! that one owner searches and reads instead of somebody who sees everything. The sets lie in
//! `../shared/corpus/relevance`, or below the directory that `AGENTDEX_SHARED` names; without them there is
//! nothing to measure.

use std::{
    collections::HashSet,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use agentdex::{
    Registry,
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    registry::{Options, Write},
    search::{MAX_QUERY_BYTES, Mode, Search, semantic::Model},
};
use serde_json::{Map, Value, json};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// How many hits count.
const DEPTH: usize = 10;
/// The large sets.
const SETS: [&str; 2] = ["metatool", "seal-tools"];
/// The languages of the requests of `languages`.
const LANGUAGES: [&str; 3] = ["de", "zh", "en"];

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().collect();
    let value =
        |name: &str| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let worst = value("--worst").map_or(Ok(10), |number| number.parse())?;
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = env::var_os("AGENTDEX_SHARED").map_or(beside, PathBuf::from).join("corpus/relevance");
    if !folder.is_dir() {
        println!("nothing is measured: there is no {}", folder.display());
        return Ok(());
    }
    let model = value("--model").map_or(Ok(Model::BuiltIn), |directory| Model::open(Path::new(directory)))?;
    let is_chosen = |mode: &Mode| value("--mode").is_none_or(|wanted| wanted == mode.name());
    let modes: Vec<Mode> = Mode::ALL.into_iter().filter(is_chosen).collect();
    if let Some(agents) = value("--speed") {
        let owners = value("--owners").map_or(Ok(0), |number| number.parse())?;
        return speed(&folder, (agents.parse()?, owners), &model, &modes);
    }
    println!("| set | mode | requests | nDCG@10 | even / odd requests | MRR | recall@5 | recall@10 |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut failures = Vec::new();
    let alone = SETS.into_iter().chain(["mcp-bench"]).map(|set| Set::new(set.to_owned(), &[set], set));
    let mixed = SETS.map(|set| Set::new(format!("{set}, mixed"), &SETS, set));
    let languages = LANGUAGES.map(|language| Set {
        language: Some(language),
        ..Set::new(format!("languages, {language}"), &["languages", "metatool"], "languages")
    });
    let is_wanted = |set: &Set| value("--set").is_none_or(|wanted| set.name.contains(wanted.as_str()));
    for set in alone.chain(mixed).chain(languages).filter(is_wanted) {
        let registry = Registered::new(&folder, &set.agents, &model)?;
        for &mode in &modes {
            let mut judged = registry.judge(&folder, &set, mode)?;
            let halves = [0, 1].map(|half| mean(judged.iter().skip(half).step_by(2), |one| one.gain));
            println!(
                "| {} | {} | {} | {:.4} | {:.4} / {:.4} | {:.4} | {:.4} | {:.4} |",
                set.name,
                mode.name(),
                judged.len(),
                mean(&judged, |one| one.gain),
                halves[0],
                halves[1],
                mean(&judged, |one| one.reciprocal_rank),
                mean(&judged, |one| one.recall(5)),
                mean(&judged, |one| one.recall(DEPTH)),
            );
            judged.sort_by(|one, other| one.gain.total_cmp(&other.gain));
            judged.truncate(worst);
            if mode == Mode::Hybrid {
                failures.push((set.name.clone(), judged));
            }
        }
    }
    for (set, judged) in failures {
        println!("\nworst of {set}:");
        for one in judged {
            let found = one.found.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
            let wanted = one.relevant.into_iter().collect::<Vec<_>>().join(", ");
            println!("- {:.2} {:?}\n  wanted: {wanted}\n  found:  {found}", one.gain, one.query);
        }
    }
    Ok(())
}

/// Agents, and the labelled requests that are asked among them.
struct Set {
    name: String,
    agents: Vec<&'static str>,
    requests: &'static str,
    /// The language of the requests that count; none: all.
    language: Option<&'static str>,
}

impl Set {
    fn new(name: String, agents: &[&'static str], requests: &'static str) -> Set {
        Set { name, agents: agents.to_vec(), requests, language: None }
    }
}

/// How long searches take among many agents: every mode in turn, for one request after the other.
fn speed(folder: &Path, (agents, owners): (usize, usize), model: &Model, modes: &[Mode]) -> Outcome {
    let (mut tools, mut requests) = (Vec::new(), Vec::new());
    for set in SETS {
        tools.extend(lines(&folder.join(set).join("agents.jsonl"))?);
        requests.extend(lines(&folder.join(set).join("queries.jsonl"))?);
    }
    let directory = tempfile::tempdir()?;
    let options = Options::default().model(model.clone());
    let registry = Registry::builder(directory.path()).options(options).open()?;
    let documents = (0..agents).map(|number| {
        let mut tool = tools[number % tools.len()].clone();
        tool["description"] = tools[(number * 7 + number / tools.len()) % tools.len()]["description"].clone();
        tool["id"] = format!("{number}").into();
        Ok(agent(&tool)?.to_string())
    });
    let documents = documents.collect::<Outcome<Vec<_>>>()?;
    let started = Instant::now();
    let put = |(number, document): &(usize, String)| {
        let write = Write::put(document.as_str());
        let Some(owner) = number.checked_rem(owners) else { return registry.write_blocking(write) };
        let visibility = (number % 5 == 0).then_some(Visibility::Private);
        let access = AccessRequest { visibility, ..AccessRequest::default() };
        registry.as_caller(owner_of(owner)).write_blocking(write.with_access(access))
    };
    let documents: Vec<(usize, String)> = documents.into_iter().enumerate().collect();
    std::thread::scope(|scope| {
        for documents in documents.chunks(agents.div_ceil(64)) {
            scope.spawn(move || documents.iter().for_each(|document| drop(put(document))));
        }
    });
    while registry.search(Search::words("anything").consistent()).is_err_and(|error| is_late(&error)) {}
    println!("{} agents, registered and indexed in {:.1?}; load {}", registry.len(), started.elapsed(), load());
    let mut times = vec![Vec::new(); modes.len()];
    for round in 0..3 {
        for request in requests.iter().step_by(requests.len().div_ceil(200)) {
            let query = text(request, "query")?;
            let query = query.get(..query.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
            for (mode, times) in modes.iter().zip(&mut times) {
                let search = Search { limit: DEPTH, mode: *mode, ..Search::words(query) };
                let started = Instant::now();
                registry.search_as_indexed(&search)?;
                if round > 0 {
                    times.push(started.elapsed());
                }
            }
        }
    }
    println!("| mode | searches | p50 | p90 | p99 |");
    println!("|---|---|---|---|---|");
    for (mode, mut times) in modes.iter().zip(times) {
        times.sort();
        let at = |percent: usize| times[times.len() * percent / 100];
        println!("| {} | {} | {:.2?} | {:.2?} | {:.2?} |", mode.name(), times.len(), at(50), at(90), at(99));
    }
    if owners > 0 {
        compare_callers(&registry, &registry.as_caller(owner_of(7)), &requests)?;
    }
    registry.close();
    Ok(())
}

fn owner_of(number: usize) -> Caller {
    let owner = format!("team-{number}").parse().expect("the name of an owner");
    Caller::Principal(Arc::new(Principal { owner, role: Role::Register, key: String::new(), expires: None }))
}

/// What it costs that somebody doesn't see everything: searches and reads of both in turn, as medians of their ratios.
fn compare_callers(all: &Registry, one: &Registry, requests: &[Value]) -> Outcome {
    let (mut searches, mut reads) = (Vec::new(), Vec::new());
    for (number, request) in requests.iter().step_by(requests.len().div_ceil(400)).enumerate() {
        let query = text(request, "query")?;
        let query = query.get(..query.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
        let search = Search { limit: DEPTH, mode: Mode::Lexical, ..Search::words(query) };
        let id = id(&number.to_string());
        let time = |work: &dyn Fn() -> agentdex::Result<()>| {
            let started = Instant::now();
            work().map(|()| started.elapsed().as_secs_f64())
        };
        let searched = |registry: &Registry| time(&|| registry.search_as_indexed(&search).map(drop));
        let read = |registry: &Registry| time(&|| (0..200).try_for_each(|_| registry.find(&id).map(drop)));
        for round in 0..5 {
            let (searched_all, searched_one) = (searched(all)?, searched(one)?);
            let (read_all, read_one) = (read(all)?, read(one)?);
            if round > 0 {
                searches.push(searched_one / searched_all);
                reads.push(read_one / read_all);
            }
        }
    }
    for (name, mut ratios) in [("search", searches), ("read", reads)] {
        ratios.sort_by(f64::total_cmp);
        let at = |percent: usize| 100.0 * (ratios[ratios.len() * percent / 100] - 1.0);
        println!("a {name} by one owner takes {:+.1} % (quartiles {:+.1} and {:+.1} %)", at(50), at(25), at(75));
    }
    Ok(())
}

/// What the system says of its load; nothing where it doesn't.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// A request and what was found for it.
struct Judged {
    query: String,
    relevant: HashSet<String>,
    found: Vec<String>,
    /// nDCG@10, relevant or not.
    gain: f64,
    reciprocal_rank: f64,
}

impl Judged {
    fn new(query: String, relevant: HashSet<String>, found: Vec<String>) -> Judged {
        let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let ranks: Vec<usize> =
            (0..DEPTH).filter(|&rank| found.get(rank).is_some_and(|id| relevant.contains(id))).collect();
        let ideal: f64 = (0..relevant.len().min(DEPTH)).map(discount).sum();
        let gain = ranks.iter().copied().map(discount).fold(0.0, |sum, gain| sum + gain) / ideal;
        let reciprocal_rank = ranks.first().map_or(0.0, |&rank| 1.0 / (rank as f64 + 1.0));
        Judged { query, relevant, found, gain, reciprocal_rank }
    }

    fn recall(&self, depth: usize) -> f64 {
        let found = self.found.iter().take(depth).filter(|id| self.relevant.contains(*id)).count();
        found as f64 / self.relevant.len() as f64
    }
}

fn mean<'j>(judged: impl IntoIterator<Item = &'j Judged>, figure: impl Fn(&Judged) -> f64) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for one in judged {
        sum += figure(one);
        number += 1.0;
    }
    sum / number
}

/// A registry with the agents of some sets.
struct Registered {
    registry: Registry,
    _directory: tempfile::TempDir,
}

impl Registered {
    fn new(folder: &Path, sets: &[&str], model: &Model) -> Outcome<Registered> {
        let directory = tempfile::tempdir()?;
        let options = Options::default().model(model.clone());
        let registry = Registry::builder(directory.path()).options(options).open()?;
        for set in sets {
            for tool in lines(&folder.join(set).join("agents.jsonl"))? {
                registry.put(agent(&tool)?.to_string())?;
            }
        }
        while registry.search(Search::words("anything").consistent()).is_err_and(|error| is_late(&error)) {}
        Ok(Registered { registry, _directory: directory })
    }

    /// Searches for all requests of a set.
    fn judge(&self, folder: &Path, set: &Set, mode: Mode) -> Outcome<Vec<Judged>> {
        let mut judged = Vec::new();
        let requests = lines(&folder.join(set.requests).join("queries.jsonl"))?;
        let counts = |request: &&Value| set.language.is_none_or(|language| request["language"] == language);
        for labelled in requests.iter().filter(counts) {
            let query = text(labelled, "query")?;
            let query = query.get(..query.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default().to_owned();
            let relevant = labelled["relevant"].as_array().into_iter().flatten();
            let relevant = relevant.filter_map(Value::as_str).map(id).collect();
            let request = Search { limit: DEPTH, mode, ..Search::words(query.clone()) };
            let hits = self.registry.search_as_indexed(&request)?.hits;
            judged.push(Judged::new(query, relevant, hits.into_iter().map(|hit| hit.id).collect()));
        }
        Ok(judged)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.registry.close();
    }
}

/// Whether an encoder has not made all vectors yet.
fn is_late(error: &agentdex::Error) -> bool {
    matches!(error, agentdex::Error::ConsistencyTimeout { .. })
}

/// A tool as an agent with one action.
fn agent(tool: &Value) -> Outcome<Value> {
    let title = text(tool, "title")?;
    let parameters = tool["parameters"].as_object().into_iter().flatten();
    let members: Map<String, Value> =
        parameters.map(|(name, text)| (name.clone(), json!({"type": "string", "description": text}))).collect();
    Ok(json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1#"}],
        "@type": "lmos:Agent",
        "id": id(text(tool, "id")?),
        "title": title,
        "description": tool["description"],
        "tags": tool["tags"],
        "securityDefinitions": {"none": {"scheme": "nosec"}},
        "security": "none",
        "actions": {title: {
            "description": tool["description"],
            "input": {"type": "object", "properties": members},
            "forms": [{"href": "https://tools.example/"}],
        }},
    }))
}

fn id(tool: &str) -> String {
    format!(
        "urn:tool:{}",
        tool.bytes()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect::<String>()
    )
}

fn text<'v>(value: &'v Value, member: &str) -> Outcome<&'v str> {
    value[member].as_str().ok_or_else(|| format!("{member} is missing in {value}").into())
}

fn lines(path: &Path) -> Outcome<Vec<Value>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}
