//! How fast agent cards of 2 KB are read, checked and mapped to Things in process: on one core and on
//! all, up to the description, and up to the description that is admitted to a registry; how fast
//! the Python SDK of A2A parses the same cards; and what the most costly export takes.
//!
//! `cargo bench --bench a2a`. The comparison needs a `python3` that has `a2a-sdk` (another one is named
//! by `AGENTDEX_PYTHON`). On Linux the rate in a second of processor time is told too, which depends
//! less on what else the machine does.

use std::{
    hint::black_box,
    io::Write,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use agentdex::{
    convert::a2a::{Card, Generation, Options, from_thing},
    td::{self, Identity, Strictness},
};
use serde_json::{Map, Value, json};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(400);
/// What is promised on two cores, in cards a second.
const PROMISED: f64 = 20_000.0;
/// What is promised of the processor time of an export that would cost most.
const PROMISED_EXPORT: Duration = Duration::from_millis(50);

/// What the other side runs: it parses all cards for some seconds and prints the rate.
const PYTHON: &str = r#"
import json, sys, time
from a2a.client.card_resolver import parse_agent_card
texts = json.loads(sys.stdin.readline())
start, count = time.perf_counter(), 0
while time.perf_counter() - start < 3:
    for text in texts:
        parse_agent_card(json.loads(text))
    count += len(texts)
print(count / (time.perf_counter() - start))
"#;

type Task = fn(&str);

const TASKS: [(&str, Task); 4] = [
    ("read and checked", |text| {
        black_box(card(text));
    }),
    ("read, checked, mapped", |text| {
        black_box(card(text).to_thing(&Options::default()).expect("the card gives a Thing"));
    }),
    ("read, checked, mapped, admitted as a TD", |text| {
        let mut conversion = card(text).to_thing(&Options::default()).expect("the card gives a Thing");
        let document = conversion.things.remove(0).description;
        black_box(td::admit(document, Identity::Own, Strictness::Strict).expect("it is valid"));
    }),
    ("read, checked, converted to 1.0", |text| {
        black_box(card(text).as_version(Generation::V1));
    }),
];

fn main() {
    let cards: Vec<String> = (0..64).map(agent).collect();
    let mean = cards.iter().map(String::len).sum::<usize>() / cards.len();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("64 cards of {mean} bytes in the mean, {ROUNDS} rounds, medians (lowest to highest), cards a second\n");
    println!("{:<40} {:>24} {:>24} {:>24}", "", "one core", format!("{cores} cores"), "of processor time");
    for (name, task) in TASKS {
        let one = sorted((0..ROUNDS).map(|_| rate(&cards, task, 1)));
        let all = sorted((0..ROUNDS).map(|_| rate(&cards, task, cores)));
        let busy = sorted((0..ROUNDS).filter_map(|_| rate_of_processor(&cards, task)));
        println!("{name:<40} {:>24} {:>24} {:>24}", spread(&one), spread(&all), spread(&busy));
        if name.ends_with("admitted as a TD") {
            println!("{:<40} {:>49}", "", format!("{:.2} × the promise of {PROMISED}", all[ROUNDS / 2] / PROMISED));
        }
    }
    match python(&cards) {
        Some(rate) => println!("{:<40} {rate:>24.0}", "Python a2a-sdk: loads, parse_agent_card"),
        None => println!("\nskipped: the comparison, since no python3 with a2a-sdk was found"),
    }
    println!();
    for (name, thing) in [("the same for all", costly_thing(false)), ("of their own", costly_thing(true))] {
        let bytes = thing.to_string().len() / 1000;
        let name = format!("export of {bytes} KB, 12,000 forms × 64 × 100 schemes, {name}");
        match costs(&thing) {
            Some(costs) => println!("{name:<80} {}", costs_of(&costs)),
            None => println!("{name:<80} unknown: the system doesn't tell"),
        }
    }
}

/// A Thing with as many forms as fit, each of which requires one of 64 combinations of 100 schemes.
fn costly_thing(is_each_different: bool) -> Value {
    let mut definitions: Map<String, Value> =
        (0..100).map(|n| (format!("k{n}"), json!({"scheme": "apikey", "name": format!("K{n}")}))).collect();
    let all: Vec<Value> = definitions.keys().map(|name| name.as_str().into()).collect();
    for n in 0..64 {
        let mut names = all.clone();
        names.rotate_left(n);
        definitions.insert(format!("all{n}"), json!({"scheme": "combo", "allOf": names}));
    }
    let any: Vec<String> = (0..64).map(|n| format!("all{n}")).collect();
    definitions.insert("any".to_owned(), json!({"scheme": "combo", "oneOf": any}));
    let security = |n: usize| match is_each_different {
        true => json!(["any", format!("k{}", n % 100), format!("all{}", n % 64)]),
        false => "any".into(),
    };
    let form = |n: usize| json!({"href": "/", "subprotocol": "a2a", "security": security(n / 12)});
    let action = |n: usize| (format!("a{n}"), json!({"forms": (0..12).map(|m| form(12 * n + m)).collect::<Vec<_>>()}));
    json!({
        "title": "x", "base": "https://x.example", "securityDefinitions": definitions, "security": "any",
        "actions": (0..1000).map(action).collect::<Map<_, _>>(),
    })
}

/// The processor time of exports in both generations, in ascending order; most are refused, which costs as much.
fn costs(thing: &Value) -> Option<Vec<Duration>> {
    let mut costs = Vec::new();
    for generation in [Generation::V0, Generation::V1].into_iter().cycle().take(2 * ROUNDS) {
        let start = processor_time()?;
        let _ = black_box(from_thing(thing, generation));
        costs.push(processor_time()? - start);
    }
    costs.sort();
    Some(costs)
}

fn costs_of(costs: &[Duration]) -> String {
    let milliseconds = |cost: Duration| cost.as_secs_f64() * 1000.0;
    let (Some(lowest), Some(highest)) = (costs.first(), costs.last()) else { return "unknown".to_owned() };
    let share = highest.as_secs_f64() / PROMISED_EXPORT.as_secs_f64();
    let [lowest, median, highest] = [*lowest, costs[costs.len() / 2], *highest].map(milliseconds);
    format!("{median:.1} ms ({lowest:.1}–{highest:.1}), {share:.2} × the bound of {PROMISED_EXPORT:?}")
}

fn card(text: &str) -> Card {
    Card::parse(text.as_bytes()).expect("the card is one")
}

fn rate(cards: &[String], task: Task, threads: usize) -> f64 {
    let count = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while start.elapsed() < ROUND {
                    cards.iter().for_each(|text| task(text));
                    count.fetch_add(cards.len(), Ordering::Relaxed);
                }
            });
        }
    });
    count.into_inner() as f64 / start.elapsed().as_secs_f64()
}

/// The rate in a second of the thread's processor time; none where the system doesn't tell.
fn rate_of_processor(cards: &[String], task: Task) -> Option<f64> {
    let (started, start, mut count) = (processor_time()?, Instant::now(), 0);
    while start.elapsed() < ROUND {
        cards.iter().for_each(|text| task(text));
        count += cards.len();
    }
    Some(count as f64 / (processor_time()? - started).as_secs_f64())
}

/// The time that this thread has been running.
fn processor_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn sorted(rates: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates
}

fn spread(rates: &[f64]) -> String {
    match rates {
        [lowest, .., highest] => format!("{:.0} ({lowest:.0}–{highest:.0})", rates[rates.len() / 2]),
        _ => "unknown".to_owned(),
    }
}

fn python(cards: &[String]) -> Option<f64> {
    let program = std::env::var_os("AGENTDEX_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(program);
    command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let sent = writeln!(child.stdin.take()?, "{}", json!(cards));
    let output = child.wait_with_output().ok()?;
    sent.ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// A card as real ones are: two skills, a scheme, all metadata; every second one of 1.0.
fn agent(number: usize) -> String {
    let description = "Answers questions about weather, traffic and timetables in the city, and says where it looked.";
    let skill = |name: &str| {
        json!({
            "id": format!("{name}-{number}"), "name": format!("{name} in city {number}"),
            "description": format!("{description} This one is for {name}."),
            "tags": ["city", "weather", "traffic", name],
            "examples": [format!("What is the {name} in city {number}?"), "And tomorrow?", "Is there anything I should know?"],
            "inputModes": ["text/plain", "application/json"], "outputModes": ["text/plain"],
        })
    };
    let url = format!("https://city-{number}.example/a2a");
    let mut card = json!({
        "name": format!("City guide {number}"), "description": description, "version": "1.4.2",
        "provider": {"organization": "City Guides Ltd", "url": "https://guides.example"},
        "documentationUrl": "https://guides.example/manual", "iconUrl": "https://guides.example/icon.png",
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [skill("forecast"), skill("traffic")],
        "homepage": "https://guides.example", "license": "Apache-2.0",
        "pricing": {"model": "freemium", "details": "Free for a hundred questions a day, then a cent each."},
    });
    let more = match number % 2 {
        0 => json!({
            "protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC",
            "additionalInterfaces": [{"url": format!("{url}/rest"), "transport": "HTTP+JSON"}],
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
            "security": [{"key": []}],
        }),
        _ => json!({
            "supportedInterfaces": [
                {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": format!("{url}/rest"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            ],
            "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Api-Key"}}},
            "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        }),
    };
    if let (Some(card), Some(more)) = (card.as_object_mut(), more.as_object()) {
        card.extend(more.clone());
    }
    card.to_string()
}
