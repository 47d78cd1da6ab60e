//! What we claim about the speed of searches: ours beside the bare tantivy search of the same query.
//!
//! `cargo bench --bench search` measures 100,000 agents, `-- --million` 1,000,000 as well,
//! `-- --agents N` another number; `-- --open DIRECTORY` searches an index that was built before.
//! `-- --indexing` measures the CPU time that indexing takes, step by step.
//! Everything is synthetic and the same in each run. Searches are interleaved, each figure is the
//! median over all queries of the median over their repetitions.

use std::{
    fs,
    time::{Duration, Instant},
};

use agentdex::{
    Epoch, Position, Seq,
    convert::Format,
    search::{
        Entry, FacetField, Index, IndexWriter, Search,
        measure::{Measured, document_bytes, parse},
    },
};
use serde_json::{Map, Value, json};

const QUERIES: usize = 200;
const REPETITIONS: usize = 9;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let mut random = Random(42);
    let vocabulary = Vocabulary::new(&mut random);
    if arguments.iter().any(|argument| argument == "--indexing") {
        let number = value("--agents").and_then(|number| number.parse().ok()).unwrap_or(20_000);
        return indexing(number, &vocabulary, &mut random);
    }
    if let Some(home) = value("--open") {
        let (index, ..) = Index::open(home.as_ref()).expect("readable").expect("an index");
        return search(&index, &vocabulary, &mut random);
    }
    build_and_search(
        value("--agents").and_then(|number| number.parse().ok()).unwrap_or(100_000),
        &vocabulary,
        &mut random,
    );
    if arguments.iter().any(|argument| argument == "--million") {
        build_and_search(1_000_000, &vocabulary, &mut random);
    }
}

fn build_and_search(agents: usize, vocabulary: &Vocabulary, random: &mut Random) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (started, cpu) = (Instant::now(), cpu_time());
    let (index, writer, bytes) = build(home.path(), agents, vocabulary, random);
    let built = started.elapsed();
    let (rate, cpu) = (agents as f64 / built.as_secs_f64(), cpu_time() - cpu);
    println!(
        "\n{agents} agents of {} bytes indexed in {built:.1?} ({rate:.0}/s, {cpu:.1?} of CPU time)",
        bytes / agents
    );
    println!("memory: {}", memory());
    search(&index, vocabulary, random);
    drop(writer);
}

/// The CPU time of an agent in each step of indexing.
fn indexing(number: usize, vocabulary: &Vocabulary, random: &mut Random) {
    const ROUNDS: usize = 3;
    // As often as the follower commits in a burst.
    const COMMIT_EVERY: usize = 5_000;
    let agents: Vec<(String, String)> = (1..=number)
        .map(|number| agent(number, vocabulary, random))
        .map(|agent| (agent["id"].as_str().expect("an id").to_owned(), agent.to_string()))
        .collect();
    let bytes = agents.iter().map(|(_, text)| text.len()).sum::<usize>() / number;
    println!("\n{number} agents of {bytes} bytes; CPU time of each in µs, a commit every {COMMIT_EVERY}\n");
    println!("| | parse | make the document | queue and commit | write segments | merge | all |");
    println!("|---|---|---|---|---|---|---|");
    for (name, updates) in [("create", false), ("create and update", true)] {
        for _ in 0..ROUNDS {
            let home = tempfile::tempdir().expect("a temporary directory");
            let (_index, mut writer) = Index::create(home.path()).expect("a new index");
            let (whole, own) = (cpu_time(), own_cpu_time());
            let (mut parsing, mut making) = (Duration::ZERO, Duration::ZERO);
            let rounds = if updates { 2 } else { 1 };
            let mut number = 0;
            for agents in std::iter::repeat_n(&agents, rounds).flat_map(|agents| agents.chunks(COMMIT_EVERY)) {
                let before = own_cpu_time();
                for (_, text) in agents {
                    parse(text).expect("JSON");
                }
                let parsed = own_cpu_time();
                for (id, text) in agents {
                    std::hint::black_box(document_bytes(entry(id, text)).expect("a document"));
                }
                let made = own_cpu_time();
                parsing += parsed - before;
                making += made - parsed;
                for (id, text) in agents {
                    writer.put(entry(id, text)).expect("put");
                }
                number += agents.len();
                writer.commit(Position { epoch: Epoch(1), seq: Seq(number as u64) }).expect("a commit");
            }
            let (own, merging) = (own_cpu_time() - own, merging_time());
            let whole = cpu_time() - whole;
            let each = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6 / number as f64);
            // Descriptions are parsed three times here, and documents made twice.
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} |",
                each(parsing),
                each(making.saturating_sub(parsing)),
                each(own.saturating_sub(parsing + 2 * making)),
                each(whole.saturating_sub(own + merging)),
                each(merging),
                each(whole.saturating_sub(parsing + making)),
            );
        }
    }
}

/// The CPU time of merges, once there are no more.
fn merging_time() -> Duration {
    loop {
        let before = thread_time("merge_thread");
        std::thread::sleep(Duration::from_secs(1));
        if thread_time("merge_thread") == before {
            return before;
        }
    }
}

/// The CPU time of this thread, where the system tells.
fn own_cpu_time() -> Duration {
    scheduled("/proc/thread-self/schedstat")
}

/// The CPU time of all threads of this process that have this name.
fn thread_time(name: &str) -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
    let named = tasks.filter(|task| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.starts_with(name)));
    named.map(|task| scheduled(&task.join("schedstat").to_string_lossy())).sum()
}

fn scheduled(path: &str) -> Duration {
    let text = fs::read_to_string(path).unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or_default())
}

/// Measures each kind of query up to the ranked documents, then whole answers.
fn search(index: &Index, vocabulary: &Vocabulary, random: &mut Random) {
    println!(
        "\n| query | first | from text | compiled | bare | bare + count | compiled / bare | spread | from text / bare |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, kind) in KINDS {
        let queries: Vec<String> = (0..QUERIES).map(|_| kind(vocabulary, random)).collect();
        compare(index, name, &queries);
    }

    println!("\n| in-process search with hits and snippets | p50 | p99 |");
    println!("|---|---|---|");
    for (name, facets, limit) in [
        ("10 hits", vec![], 10),
        ("100 hits", vec![], 100),
        ("10 hits, facets vendor and tag", vec![FacetField::Vendor, FacetField::Tag], 10),
    ] {
        let requests = (0..QUERIES).map(|_| Search {
            query: Some(words(vocabulary, random, 2)),
            limit,
            facets: facets.clone(),
            ..Search::default()
        });
        let mut times: Vec<Duration> =
            requests.map(|request| time(|| index.search(&request, &[]).expect("an answer").total)).collect();
        times.sort_unstable();
        println!("| {name} | {} | {} |", micros(times[QUERIES / 2]), micros(times[QUERIES * 99 / 100]));
    }
    println!("memory: {}", memory());
}

type Kind = fn(&Vocabulary, &mut Random) -> String;

const KINDS: [(&str, Kind); 5] = [
    ("1 word", |vocabulary, random| words(vocabulary, random, 1)),
    ("2 words", |vocabulary, random| words(vocabulary, random, 2)),
    ("3 words", |vocabulary, random| words(vocabulary, random, 3)),
    ("phrase", |vocabulary, random| format!("\"{}\"", words(vocabulary, random, 2))),
    ("prefix", |vocabulary, random| {
        let word = vocabulary.searched(random);
        format!("{}*", &word[..word.len().min(5)])
    }),
];

fn words(vocabulary: &Vocabulary, random: &mut Random, count: usize) -> String {
    (0..count).map(|_| vocabulary.searched(random)).collect::<Vec<_>>().join(" ")
}

/// Measures queries of one kind, ours and the bare ones in turn. `first` is the first search of a
/// query from its text, before anything is kept for its words.
fn compare(index: &Index, name: &str, queries: &[String]) {
    let mut firsts = Vec::new();
    let mut medians: [Vec<Duration>; 4] = Default::default();
    for query in queries {
        let request = Search { query: Some(query.clone()), limit: 10, ..Search::default() };
        let measured = Measured::new(index, request).expect("a query");
        measured.bare().expect("an answer");
        firsts.push(time(|| measured.ours_from_text().expect("an answer").0));
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..REPETITIONS {
            times[0].push(time(|| measured.ours_from_text().expect("an answer").0));
            times[1].push(time(|| measured.ours().expect("an answer").0));
            times[2].push(time(|| measured.bare().expect("an answer") as u64));
            times[3].push(time(|| measured.bare_with_count().expect("an answer").0));
        }
        assert_eq!(measured.ours().expect("an answer"), measured.bare_with_count().expect("an answer"), "{query}");
        for (medians, times) in medians.iter_mut().zip(times) {
            medians.push(median(times));
        }
    }
    let ratio = |(our, bare): (&Duration, &Duration)| our.as_secs_f64() / bare.as_secs_f64();
    let mut ratios: Vec<f64> = medians[1].iter().zip(&medians[2]).map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let [text, compiled, bare, count] = medians.map(median);
    println!(
        "| {name} | {} | {} | {} | {} | {} | {:.2} | {:.2}–{:.2} | {:.2} |",
        micros(median(firsts)),
        micros(text),
        micros(compiled),
        micros(bare),
        micros(count),
        ratio((&compiled, &bare)),
        ratios[ratios.len() / 10],
        ratios[ratios.len() * 9 / 10],
        ratio((&text, &bare)),
    );
}

fn time(work: impl FnOnce() -> u64) -> Duration {
    let started = Instant::now();
    std::hint::black_box(work());
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

/// The CPU time of all threads of this process, where the system tells; in hundredths of a second.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Duration::from_millis(ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}

/// Anonymous and file-backed resident memory of this process, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("RssAnon") || line.starts_with("RssFile"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}

fn build(
    home: &std::path::Path,
    agents: usize,
    vocabulary: &Vocabulary,
    random: &mut Random,
) -> (Index, IndexWriter, usize) {
    const COMMIT_EVERY: usize = 5_000;
    let (index, mut writer) = Index::create(home).expect("a new index");
    let mut bytes = 0;
    for number in 1..=agents {
        let agent = agent(number, vocabulary, random);
        if number % 100 == 0 {
            bytes += agent.to_string().len() * 100;
        }
        let id = agent["id"].as_str().expect("an id");
        writer.put(entry(id, &agent.to_string())).expect("put");
        if number % COMMIT_EVERY == 0 || number == agents {
            writer.commit(Position { epoch: Epoch(1), seq: Seq(number as u64) }).expect("a commit");
        }
    }
    (index, writer, bytes)
}

fn entry<'a>(id: &'a str, text: &'a str) -> Entry<'a> {
    Entry { id, text, format: None, terms: Format::search_terms(), access: None, moments: None }
}

/// An agent of about 4.1 KB.
fn agent(number: usize, vocabulary: &Vocabulary, random: &mut Random) -> Value {
    let mut actions = Map::new();
    for _ in 0..3 + random.below(3) {
        let name = format!("{}{}", vocabulary.written(random), capitalized(vocabulary.written(random)));
        let inputs: Map<String, Value> = (0..3)
            .map(|_| {
                (
                    vocabulary.written(random).to_owned(),
                    json!({"type": "string", "description": vocabulary.sentence(random, 8)}),
                )
            })
            .collect();
        actions.insert(
            name.clone(),
            json!({
                "title": vocabulary.sentence(random, 3),
                "description": vocabulary.sentence(random, 18),
                "input": {"type": "object", "properties": inputs},
                "output": {"type": "string", "description": vocabulary.sentence(random, 8)},
                "forms": [{"op": "invokeaction", "href": format!("https://agents.example/{number}/actions/{name}"), "contentType": "application/json"}]
            }),
        );
    }
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent",
        "id": format!("urn:uuid:{:08x}-{:04x}-4000-8000-{:012x}", random.next() as u32, random.next() as u16, number),
        "title": format!("{} agent", vocabulary.sentence(random, 2)),
        "description": vocabulary.sentence(random, 30),
        "tags": [vocabulary.tag(random), vocabulary.tag(random)],
        "lmos:metadata": {"lmos:vendor": {"lmos:name": format!("Vendor {}", random.below(500))}},
        "securityDefinitions": {"bearer": {"scheme": "bearer"}},
        "security": "bearer",
        "actions": actions,
    })
}

fn capitalized(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// A small generator, so that each run measures the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 11) as usize) % limit
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Words by rank, written as often as words are: the one of rank r about once in r.
struct Vocabulary {
    words: Vec<String>,
    /// How often the words up to a rank are written, out of one.
    cumulated: Vec<f64>,
}

impl Vocabulary {
    const WORDS: usize = 40_000;

    fn new(random: &mut Random) -> Vocabulary {
        const KNOWN: &str = "weather forecast travel flight hotel booking invoice payment billing order customer contract support \
            ticket device sensor temperature humidity energy light camera motion alarm door vehicle battery charging route map traffic \
            translation language document summary email calendar meeting reminder task report analysis data table chart image video audio \
            speech recipe health patient doctor medicine insurance claim policy risk finance account balance transfer market price stock \
            product catalog warehouse delivery shipment supplier recruitment candidate course student lesson code review test deployment";
        const SYLLABLES: [&str; 24] = [
            "ka", "to", "mi", "ren", "sol", "va", "der", "lin", "po", "gra", "ne", "tu", "bel", "cor", "shi", "pra",
            "dol", "fen", "zu", "har", "qui", "ster", "mon", "wex",
        ];
        let mut words: Vec<String> = KNOWN.split_whitespace().map(str::to_owned).collect();
        while words.len() < Self::WORDS {
            let syllables = 2 + random.below(3);
            words.push((0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect());
        }
        let mut sum = 0.0;
        let mut cumulated: Vec<f64> = (0..words.len())
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 10.0);
                sum
            })
            .collect();
        cumulated.iter_mut().for_each(|cumulated| *cumulated /= sum);
        Vocabulary { words, cumulated }
    }

    /// A word as often as it is written.
    fn written(&self, random: &mut Random) -> &str {
        let at = random.unit();
        &self.words[self.cumulated.partition_point(|&cumulated| cumulated < at).min(self.words.len() - 1)]
    }

    /// A word that people search for: neither one that everything is about nor one of the rarest.
    fn searched(&self, random: &mut Random) -> &str {
        &self.words[50 + random.below(3_000)]
    }

    /// One of the words that things are tagged with.
    fn tag(&self, random: &mut Random) -> &str {
        let tags = 500.0;
        &self.words[(tags * random.unit() * random.unit()) as usize]
    }

    fn sentence(&self, random: &mut Random, words: usize) -> String {
        (0..words).map(|_| self.written(random)).collect::<Vec<_>>().join(" ")
    }
}
