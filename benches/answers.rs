//! What reading an answer costs, beside what `serde_json` takes to parse the same text: a valid answer of 2 KB, one in a
//! fence, one that needs repair, and hostile texts of 1 MiB.
//!
//! `cargo bench --bench answers` prints a table; nothing is asserted. What is promised stands in the table: at most three
//! times the time of `serde_json` for a valid answer.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use agentdex::sacp::{Expected, Given, Sacp, read_answer};
use serde_json::{Map, Value, json};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(200);
/// What is promised for a valid answer, in times of `serde_json`.
const PROMISED: f64 = 3.0;

/// The time of one call: the best of several rounds.
fn time(task: impl Fn()) -> Duration {
    let round = || {
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < ROUND {
            task();
            count += 1;
        }
        start.elapsed() / count
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

/// A response of about 2 KB, as an agent writes it.
fn response() -> Value {
    let stations: Vec<Value> = (0..20)
        .map(|number| json!({"id": format!("DE-{number:05}"), "name": "Köln Hauptbahnhof", "mm": 3.5, "open": true, "lines": [1, 5, 18]}))
        .collect();
    json!({
        "thought": "The user asks for stations near the cathedral. I looked them up, and sorted them by distance.",
        "status": "success",
        "data": {"stations": stations, "unit": "mm", "source": "https://weather.example/stations?near=Köln"},
        "message": "I found twenty stations. The nearest is \"Köln Hauptbahnhof\": it rains a little.",
    })
}

fn main() {
    let (value, text) = (response(), response().to_string());
    let declared = json!({"output": {"@type": "sacp:Response", "properties": {"data": {
        "type": "object", "required": ["stations"], "properties": {"stations": {"type": "array"}, "unit": {"type": "string"}},
    }}}});
    let declared = Expected::of_action(&declared, Sacp::Allowed).expect("a schema");
    let (required, allowed) = (Expected::response(None), Expected::any(Sacp::Allowed));
    let parse = time(|| drop(black_box(serde_json::from_str::<Map<String, Value>>(black_box(&text)))));
    println!("{:<52} {:>12}", format!("serde_json, {} bytes", text.len()), format!("{parse:.1?}"));
    let fenced = format!("Here you are:\n\n```json\n{text}\n```\nAnything else?");
    let single = text.replace('\'', "").replace('"', "'").replace("\\'", "\"");
    let prose = "It rains in Cologne, and it will go on until the evening. ".repeat(35);
    let texts = [
        ("valid", &text, &required),
        ("valid, nothing declared", &text, &allowed),
        ("valid, with a schema of its data", &text, &declared),
        ("in a fence, with words around it", &fenced, &required),
        ("in single quotes", &single, &required),
        ("prose, nothing declared", &prose, &allowed),
    ];
    for (name, text, expected) in texts {
        report(name, time(|| drop(black_box(read_answer(&Given::text(black_box(text)), expected)))), parse);
    }
    let data = time(|| drop(black_box(read_answer(&Given::data(black_box(&value)), &required))));
    report("valid, as data that was parsed before", data, parse);
    println!("promised for a valid answer: {PROMISED} times\n");

    let hostile: [(&str, &str); 6] = [
        ("{", "opening braces"),
        ("{} ", "objects"),
        ("{\"a\":", "nested objects"),
        ("\" ", "quotes"),
        ("```\n{\n", "fences"),
        ("<think>{'a", "thoughts"),
    ];
    for (piece, name) in hostile {
        let text = piece.repeat((1 << 20) / piece.len());
        let start = Instant::now();
        black_box(read_answer(&Given::text(&text), &required));
        println!("{:<52} {:>12}", format!("1 MiB of {name}"), format!("{:.1?}", start.elapsed()));
    }
}

fn report(name: &str, taken: Duration, parse: Duration) {
    let times = taken.as_secs_f64() / parse.as_secs_f64();
    println!("{name:<52} {:>12} {times:>8.2} times", format!("{taken:.1?}"));
}
