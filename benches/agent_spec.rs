//! How fast Agent Spec configurations are read, validated and made Things of: an agent of 3 KB with six
//! tools, and how fast the language's SDK reads the same (its `from_json`); and whether a flow of twice
//! the nodes takes twice the time.
//!
//! `cargo bench --bench agent_spec`. The comparison needs a `python3` that has `pyagentspec` (another one
//! is named by `AGENTDEX_PYTHON`); rounds of both are interleaved and the medians are printed.

#[path = "support/against_python.rs"]
mod against_python;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use agentdex::convert::{
    Syntax,
    agent_spec::{Configuration, Options, Profile},
};
use serde_json::{Value, json};

use self::against_python::{Python, Rates, Task, median};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 11;
const ROUND: Duration = Duration::from_millis(500);

/// What we have to show: that many times the rate of the SDK, and that little more than twice the time.
const LEAST_RATIO: f64 = 150.0;
const MOST_GROWTH: f64 = 2.2;

const SDK: &str = "pyagentspec: from_json";

/// What the other side runs: a rate for each line that it is sent.
const PYTHON: &str = r#"
import json, sys, time, warnings
warnings.simplefilter("ignore")
from pyagentspec.serialization import AgentSpecDeserializer
documents = json.loads(sys.stdin.readline())
deserializer = AgentSpecDeserializer()
def task():
    for text in documents:
        deserializer.from_json(text)
task()
print("ready", flush=True)
for line in sys.stdin:
    seconds = float(line.split()[1])
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        task()
        count += len(documents)
    print(count / (time.perf_counter() - start), flush=True)
"#;

fn main() {
    compare_with_the_sdk();
    compare_sizes();
}

fn compare_with_the_sdk() {
    let documents: Vec<String> = (0..16).map(|number| agent(number).to_string()).collect();
    let mean = documents.iter().map(String::len).sum::<usize>() / documents.len();
    println!("agents with 6 tools, {mean} bytes in the mean, {ROUNDS} rounds, medians\n");
    let texts = serde_json::to_string(&documents).expect("texts are JSON");
    let mut python = Python::start(PYTHON, &[texts]);
    let mut rates = Rates::default();
    for _ in 0..ROUNDS {
        for (name, task) in TASKS {
            rates.measure(name, &documents, *task, ROUND);
        }
        if let Some(python) = &mut python {
            rates.add(SDK, python.rate("read", ROUND));
        }
    }
    rates.print();
    match (rates.median(TASKS[0].0), rates.median(SDK)) {
        (Some(ours), Some(theirs)) => {
            println!("\nagentdex is {:.0} × as fast as from_json (to be at least {LEAST_RATIO})\n", ours / theirs);
        }
        _ => println!("\nskipped: the comparison, since no python3 with pyagentspec was found\n"),
    }
}

fn compare_sizes() {
    let (small, large) = (flow(2_000).to_string(), flow(4_000).to_string());
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (text, times) in [&small, &large].into_iter().zip(&mut times) {
            let start = Instant::now();
            everything(text);
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let [small, large] = times.map(|mut times| median(&mut times));
    println!("flow of 2,000 nodes {:>8.1} ms", small * 1e3);
    println!("flow of 4,000 nodes {:>8.1} ms", large * 1e3);
    println!("\nthat is {:.2} × the time (to be at most {MOST_GROWTH})", large / small);
}

const TASKS: &[(&str, Task)] = &[
    ("agentdex: text, validation and Things", everything),
    ("agentdex: text and validation", |text| {
        assert!(parse(text).validate(Profile::Spec).is_valid());
    }),
    ("agentdex: text and validation as the SDK does it", |text| {
        assert!(parse(text).validate(Profile::Sdk).is_valid());
    }),
    ("agentdex: text alone", |text| {
        black_box(parse(text));
    }),
    ("serde_json: text to Value", |text| {
        black_box(serde_json::from_str::<Value>(text).expect("the document is JSON"));
    }),
];

fn parse(text: &str) -> Configuration {
    Configuration::parse(text.as_bytes(), Syntax::Json, &[]).expect("the document is JSON")
}

fn everything(text: &str) {
    let conversion = parse(text).to_things(&Options::default()).expect("the configuration is valid");
    assert_eq!(black_box(conversion).things.len(), 1);
}

/// An agent of about 3 KB with six tools of three kinds.
fn agent(number: usize) -> Value {
    let topics = ["weather", "billing", "travel", "news", "music", "maps", "health", "law"];
    let topic = topics[number % topics.len()];
    let text = |title: &str, description: &str| json!({"title": title, "type": "string", "description": description});
    let plain = |tool: &str, purpose: &str| {
        json!({
            "component_type": "ServerTool", "id": format!("{topic}-{number}-{tool}"), "name": tool, "description": purpose,
            "inputs": [text("subject", "What it is about."), {"title": "limit", "type": "integer", "default": 10}],
            "outputs": [{"title": "entries", "type": "array", "items": {"type": "string"}}],
        })
    };
    let remote = |tool: &str, purpose: &str| {
        json!({
            "component_type": "RemoteTool", "id": format!("{topic}-{number}-{tool}"), "name": tool, "description": purpose,
            "url": format!("https://{topic}.example.com/{tool}/{{{{place}}}}"), "http_method": "GET",
            "query_params": {"language": "{{language}}"}, "headers": {"Accept": "application/json"},
            "inputs": [text("place", "Where."), text("language", "As a BCP 47 tag.")],
            "outputs": [{"title": "report", "type": "object", "properties": {"text": {"type": "string"}, "level": {"type": "number"}}}],
        })
    };
    json!({
        "component_type": "Agent", "agentspec_version": "26.1.2", "id": format!("{topic}-{number}"),
        "name": format!("The {topic} agent"), "description": format!("Answers questions about {topic}."),
        "metadata": {"owner": "Example Agents Ltd", "stage": "production"},
        "inputs": [text("customer", "Whom it talks to.")],
        "outputs": [text("answer", "In natural language."), {"title": "confidence", "type": "number", "default": 0.5}],
        "system_prompt": format!("You know all about {topic}. Be kind to {{{{customer}}}}, answer briefly, and name your sources."),
        "llm_config": {
            "component_type": "VllmConfig", "id": format!("{topic}-{number}-llm"), "name": "small", "model_id": "meta-llama/Llama-3.1-8B-Instruct",
            "url": "http://llm.example.com/v1",
            "default_generation_parameters": {"max_tokens": 500, "temperature": 0.2},
        },
        "tools": [
            plain("find", "Finds entries in the archive."),
            plain("latest", "Lists what is new."),
            plain("related", "Lists what has to do with something."),
            remote("forecast", "Tells what is to be expected."),
            remote("history", "Tells what has been."),
            {
                "component_type": "ClientTool", "id": format!("{topic}-{number}-confirm"), "name": "confirm", "requires_confirmation": true,
                "description": "Asks the customer for a decision.", "inputs": [text("question", "What is to be decided.")],
                "outputs": [{"title": "agreed", "type": "boolean"}],
            },
        ],
    })
}

/// A flow of so many nodes, each of which hands a text on to the next.
fn flow(count: usize) -> Value {
    let id = |number: usize| format!("node-{number}");
    let reference = |number: usize| json!({ "$component_ref": id(number) });
    let draft = json!([{"title": "draft", "type": "string"}]);
    let node = |number: usize| match number {
        0 => json!({"component_type": "StartNode", "id": id(number), "name": "start", "inputs": draft}),
        _ if number == count - 1 => {
            json!({"component_type": "EndNode", "id": id(number), "name": "end", "outputs": draft})
        }
        _ => json!({
            "component_type": "LlmNode", "id": id(number), "name": "step", "prompt_template": "Improve: {{draft}}",
            "llm_config": {"$component_ref": "llm"}, "outputs": draft,
        }),
    };
    let mut definitions: serde_json::Map<String, Value> = (0..count).map(|number| (id(number), node(number))).collect();
    let llm = json!({"component_type": "VllmConfig", "id": "llm", "name": "small", "model_id": "m", "url": "http://llm.example.com"});
    definitions.insert("llm".into(), llm);
    let control = |number: usize| {
        json!({
            "component_type": "ControlFlowEdge", "id": format!("then-{number}"), "name": "then",
            "from_node": reference(number), "to_node": reference(number + 1),
        })
    };
    let data = |number: usize| {
        json!({
            "component_type": "DataFlowEdge", "id": format!("draft-{number}"), "name": "draft", "source_node": reference(number),
            "source_output": "draft", "destination_node": reference(number + 1), "destination_input": "draft",
        })
    };
    json!({
        "component_type": "Flow", "agentspec_version": "26.1.2", "id": "flow", "name": "polish", "start_node": reference(0),
        "nodes": (0..count).map(reference).collect::<Vec<_>>(),
        "control_flow_connections": (0..count - 1).map(control).collect::<Vec<_>>(),
        "data_flow_connections": (0..count - 1).map(data).collect::<Vec<_>>(),
        "$referenced_components": definitions,
    })
}
