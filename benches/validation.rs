//! How fast Thing Descriptions of 3 KB are validated, from text, with schema and semantic checks; and
//! how fast the Python package `jsonschema-rs` validates the same documents by the same schema.
//!
//! `cargo bench --bench validation`. The comparison needs a `python3` that has `jsonschema_rs` (another
//! one is named by `AGENTDEX_PYTHON`); rounds of both are interleaved and the medians are printed.

#[path = "support/against_python.rs"]
mod against_python;

use std::{hint::black_box, time::Duration};

use agentdex::Timestamp;
use agentdex::td::{self, Document, Identity, Layers, Registration, Strictness};

use self::against_python::{Python, Rates, Task};

const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(200);

const PYTHON_TEXT: &str = "Python jsonschema-rs: text and schema";
const PYTHON_VALUES: &str = "Python jsonschema-rs: schema alone, of values";

/// What the other side runs: a rate for each line that it is sent.
const PYTHON: &str = r#"
import json, sys, time
import jsonschema_rs
schema, documents = json.loads(sys.stdin.readline()), json.loads(sys.stdin.readline())
validator = jsonschema_rs.Draft202012Validator(schema)
values = [json.loads(text) for text in documents]
tasks = {
    "values": lambda: [validator.is_valid(value) for value in values],
    "text": lambda: [validator.is_valid(json.loads(text)) for text in documents],
}
assert all(tasks["values"]())
print("ready", flush=True)
for line in sys.stdin:
    task, seconds = line.split()
    task, seconds = tasks[task], float(seconds)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        task()
        count += len(documents)
    print(count / (time.perf_counter() - start), flush=True)
"#;

fn main() {
    let documents: Vec<String> = (0..64).map(agent).collect();
    let mean = documents.iter().map(String::len).sum::<usize>() / documents.len();
    println!("64 documents of {mean} bytes in the mean, {ROUNDS} rounds, medians\n");
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../schemas/td-1.1.json")).expect("the schema is JSON");
    let texts = serde_json::to_string(&documents).expect("texts are JSON");
    let mut python = Python::start(PYTHON, &[schema.to_string(), texts]);
    let mut rates = Rates::default();
    for _ in 0..ROUNDS {
        for (name, task) in TASKS {
            rates.measure(name, &documents, *task, ROUND);
        }
        if let Some(python) = &mut python {
            rates.add(PYTHON_VALUES, python.rate("values", ROUND));
            rates.add(PYTHON_TEXT, python.rate("text", ROUND));
        }
    }
    rates.print();
    match (rates.median(TASKS[0].0), rates.median(PYTHON_TEXT)) {
        (Some(ours), Some(theirs)) => {
            println!("\nfrom text, agentdex is {:.2} × as fast as jsonschema-rs", ours / theirs)
        }
        _ => println!("\nskipped: the comparison, since no python3 with jsonschema_rs was found"),
    }
}

const TASKS: &[(&str, Task)] = &[
    ("agentdex: text, schema and semantics", |text| {
        let document = Document::parse(text.as_bytes()).expect("the document is JSON");
        assert!(td::validate(&document, Layers::All).is_valid());
    }),
    ("agentdex: text and schema", |text| {
        let document = Document::parse(text.as_bytes()).expect("the document is JSON");
        assert!(td::validate(&document, Layers::Schema).is_valid());
    }),
    ("agentdex: text alone", |text| {
        black_box(Document::parse(text.as_bytes()).expect("the document is JSON"));
    }),
    ("serde_json: text to Value", |text| {
        black_box(serde_json::from_str::<serde_json::Value>(text).expect("the document is JSON"));
    }),
    ("agentdex: admission", |text| {
        let document = Document::parse(text.as_bytes()).expect("the document is JSON");
        black_box(td::admit(document, Identity::Own, Strictness::Strict).expect("the document is valid"));
    }),
    ("agentdex: enrich", |text| {
        let moment = Timestamp(1_700_000_000_000);
        let registration =
            Registration { created: moment, modified: moment, expires: None, ttl: None, retrieved: Some(moment) };
        black_box(td::enrich(text, &registration, td::Notes::default()));
    }),
];

/// An LMOS agent of about 3 KB.
fn agent(number: usize) -> String {
    let topics = ["weather", "billing", "travel", "news", "music", "maps", "health", "law"];
    let topic = topics[number % topics.len()];
    let base = format!("https://agents.example.com/{topic}/{number}");
    let form = |op: &str, path: &str| serde_json::json!([{"op": op, "href": format!("{base}/{path}"), "contentType": "application/json"}]);
    let answer = serde_json::json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The answer in natural language."},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "sources": {"type": "array", "items": {"type": "string"}, "maxItems": 20}
        },
        "required": ["text"]
    });
    let document = serde_json::json!({
        "@context": [
            "https://www.w3.org/2022/wot/td/v1.1",
            {"lmos": "https://eclipse.dev/lmos/protocol/v1", "htv": "http://www.w3.org/2011/http#"}
        ],
        "@type": "lmos:Agent",
        "id": format!("urn:example:agent:{topic}:{number}"),
        "title": format!("The {topic} agent {number}"),
        "titles": {"en": format!("The {topic} agent {number}"), "de": format!("Der {topic}-Agent {number}")},
        "description": format!("Answers questions about {topic}, remembers what was asked before, and tells when something changes."),
        "version": {"instance": "1.4.2"},
        "created": "2025-03-01T12:00:00Z",
        "lmos:metadata": {"lmos:vendor": {"lmos:name": "Example Agents Ltd", "lmos:url": "https://agents.example.com"}},
        "lmos:capabilities": [
            {"id": format!("urn:example:capability:{topic}:answer"), "name": format!("{topic}-answer"), "version": "1.0.0", "description": format!("Answers a question about {topic}."), "examples": [format!("What is new in {topic}?")]},
            {"id": format!("urn:example:capability:{topic}:summarise"), "name": format!("{topic}-summary"), "version": "1.1.0", "description": format!("Sums up the last days in {topic}.")}
        ],
        "links": [{"rel": "service-doc", "href": format!("{base}/manual.pdf"), "type": "application/pdf", "hreflang": "en"}],
        "securityDefinitions": {"bearer_sc": {"scheme": "bearer", "in": "header", "format": "jwt", "alg": "ES256"}},
        "security": "bearer_sc",
        "properties": {
            "model": {
                "type": "object", "readOnly": true, "description": "The language model that is used.",
                "properties": {"name": {"type": "string"}, "temperature": {"type": "number", "minimum": 0, "maximum": 2}},
                "forms": form("readproperty", "properties/model")
            }
        },
        "actions": {
            "ask": {
                "description": "Asks a question.", "safe": true, "idempotent": false,
                "input": {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string", "maxLength": 4000},
                        "language": {"type": "string", "enum": ["en", "de", "fr", "es"]}
                    },
                    "required": ["question"]
                },
                "output": answer, "forms": form("invokeaction", "actions/ask")
            },
            "summarise": {
                "description": "Sums up the last days.", "safe": true,
                "input": {"type": "object", "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 30}}},
                "output": {"type": "string"}, "forms": form("invokeaction", "actions/summarise")
            }
        },
        "events": {
            "changed": {
                "description": "Something worth knowing has changed.",
                "data": {"type": "object", "properties": {"what": {"type": "string"}, "at": {"type": "string", "format": "date-time"}}},
                "forms": form("subscribeevent", "events/changed")
            }
        }
    });
    document.to_string()
}
