//! Agents over plain HTTP.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::{Agent, check, kind::Kind, thing};
use crate::consumer::server::{Received, Said, Server};

fn response(status: &str, data: Value, message: &str) -> Value {
    json!({"thought": "hm", "status": status, "data": data, "message": message})
}

fn events(pieces: &[Value]) -> String {
    pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect()
}

/// The answer to a request, whose path is the name of its kind.
fn answer(request: &Received, polls: &Mutex<HashMap<String, u32>>) -> Said {
    let path = request.line.split_once(' ').map_or("", |(_, path)| path);
    let stream = |pieces: &[Value]| Said::stream("text/event-stream", &[&events(pieces)]);
    let text = |text: &str| Said::new("200 OK", &["content-type: text/plain"], text);
    let plan = [json!("# Plan\n"), json!("\n"), json!("- one\n"), json!("- two\n")];
    match path.trim_start_matches('/') {
        "text" => text("You said: x"),
        "lines" => text("# Plan\n\n- one\n- two"),
        "data" => Said::json(json!({"mm": 3})),
        "number" => Said::json(json!(3)),
        "status" => Said::json(json!({"status": "success", "rain": true})),
        "nothing" => Said::new("204 No Content", &[], ""),
        "sacp" => Said::json(response("success", json!({"city": "Bonn"}), "Found.")),
        "fence" => text(&format!("Here:\n```json\n{}\n```", response("success", json!({"city": "Bonn"}), "Found."))),
        "question" => Said::json(response("clarification_needed", json!({}), "Which city?")),
        "failure" => Said::json(response("failure", json!({"k": 1}), "Declined.")),
        "pieces" => stream(&plan),
        "lines_of_json" => {
            let lines: String = plan.iter().map(|piece| format!("{piece}\n")).collect();
            Said::stream("application/x-ndjson", &[&lines])
        }
        "objects" => stream(&[json!({"step": 1}), json!({"step": 2}), json!({"answer": "dry"})]),
        "sacp_in_pieces" => {
            let whole = response("success", json!({"city": "Bonn"}), "Found.").to_string();
            let pieces: Vec<Value> =
                whole.as_bytes().chunks(7).map(|piece| json!(String::from_utf8_lossy(piece))).collect();
            stream(&pieces)
        }
        "created" => Said::new("201 Created", &["location: /poll/1"], ""),
        "accepted" => Said::new(
            "202 Accepted",
            &["content-type: application/json"],
            json!({"status": "pending", "href": "/poll/2"}).to_string(),
        ),
        path if path.starts_with("poll/") => {
            let mut polls = polls.lock().unwrap();
            let count = polls.entry(path.to_owned()).or_default();
            *count += 1;
            match *count % 2 {
                1 => Said::json(json!({"status": "running"})),
                _ => Said::json(json!({"status": "completed", "output": {"rain": true}})),
            }
        }
        "error_event" => Said::stream(
            "text/event-stream",
            &["data: \"It \"\n\nevent: error\ndata: {\"message\": \"model overloaded\"}\n\n"],
        ),
        "busy" => Said::new("429 Too Many Requests", &["retry-after: 1"], ""),
        "problem" => {
            let problem = json!({"title": "Not Found", "detail": "No city Xyz."}).to_string();
            Said::new("404 Not Found", &["content-type: application/problem+json"], problem)
        }
        other => panic!("{other}"),
    }
}

fn kinds() -> Vec<Kind> {
    let plan = "# Plan\n\n- one\n- two";
    vec![
        Kind::result("text", "You said: x"),
        Kind::result("lines", plan),
        Kind::result("data", "").with(json!({"mm": 3})),
        Kind::result("number", "").with(json!(3)),
        Kind::result("status", "").with(json!({"status": "success", "rain": true})),
        Kind::result("nothing", ""),
        Kind::result("sacp", "Found.").with(json!({"city": "Bonn"})),
        Kind::result("fence", "Found.").with(json!({"city": "Bonn"})),
        Kind::question("question", "Which city?"),
        Kind::failure("failure", "Declined.").with(json!({"k": 1})),
        Kind::result("pieces", &format!("{plan}\n")),
        Kind::result("lines_of_json", &format!("{plan}\n")),
        Kind::result("objects", "").with(json!({"step": 1})).with(json!({"step": 2})).with(json!({"answer": "dry"})),
        Kind::result("sacp_in_pieces", "Found.").with(json!({"city": "Bonn"})),
        Kind::result("created", "").with(json!({"rain": true})),
        Kind::result("accepted", "").with(json!({"rain": true})),
        Kind::failure("error_event", "model overloaded").after("It "),
        Kind::error("busy", "429"),
        Kind::error("problem", "No city Xyz."),
    ]
}

#[test]
fn every_command_shows_every_answer_over_http() {
    let polls = Mutex::new(HashMap::new());
    let server = Server::start(move |request| answer(request, &polls));
    let kinds = kinds();
    let actions: Value = kinds
        .iter()
        .map(|kind| (kind.name.to_owned(), json!({"forms": [{"href": format!("{}/{}", server.origin, kind.name)}]})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    check(&Agent { protocol: "http", description: thing("http", json!({"actions": actions})), kinds, is_told: false });
}
