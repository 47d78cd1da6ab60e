//! Decisions as spans of OpenTelemetry, at a collector.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
};

use agentdex::Registry;
use agentdex_server::otlp::Exporter;
use serde_json::{Value, json};

use super::{context, message, request};

/// A collector that fails once, and what it receives: the path and the body.
fn collector() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut lines, mut length) = (Vec::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let status = if number == 0 { "503 Service Unavailable" } else { "200 OK" };
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            if number > 0 && sender.send((lines[0].clone(), serde_json::from_slice(&body).unwrap())).is_err() {
                return;
            }
        }
    });
    (url, received)
}

#[test]
fn steps_are_spans_of_the_trace_of_their_session() {
    let (url, received) = collector();
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::builder(directory.path()).open().unwrap();
    let entries = registry.guardian().subscribe();
    for session in ["s-1", "s-1", "s-2"] {
        let mut step = json!({"context": context(), "message": message("user", "Hello")});
        step["context"]["session"]["id"] = session.into();
        registry.guardian().answer(&request(1, "steps/message", &step));
    }
    let exporter = Exporter::new(&url).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(exporter.run(entries, async {}));
    let (line, body) = received.recv().unwrap();
    assert!(line.starts_with("POST /v1/traces "), "{line}");
    let resource = &body["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0],
        json!({"key": "service.name", "value": {"stringValue": "agentdex"}})
    );
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 3);
    assert!(spans[0]["traceId"] == spans[1]["traceId"] && spans[0]["traceId"] != spans[2]["traceId"]);
    assert_ne!(spans[0]["spanId"], spans[1]["spanId"]);
    for span in spans {
        let length = |name: &str| span[name].as_str().unwrap().len();
        assert_eq!((length("traceId"), length("spanId")), (32, 16));
        assert_eq!((&span["name"], &span["status"]["code"]), (&json!("steps/message"), &json!(2)));
        let nanoseconds = |name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
        assert!(nanoseconds("endTimeUnixNano") >= nanoseconds("startTimeUnixNano"));
        let decision = json!({"key": "aos.decision", "value": {"stringValue": "deny"}});
        assert!(span["attributes"].as_array().unwrap().contains(&decision), "{span}");
        assert_eq!(span["events"][0]["attributes"][0]["value"]["stringValue"], "agent-registered");
    }
}

#[test]
fn what_is_not_a_collector_is_refused() {
    for url in ["", "collector:4318", "ftp://a.example"] {
        let error = Exporter::new(url).unwrap_err().to_string();
        assert!(error.contains("http://127.0.0.1:4318"), "{error}");
    }
}
