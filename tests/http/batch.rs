//! `POST /things/batch`: lines in, results out.

use std::io::{Read, Write};

use serde_json::{Map, Value, json};

use crate::support::{Answer, TestRegistry, agent, anonymous_agent, nth};

const MEBIBYTE: usize = 1024 * 1024;

fn line(td: &str) -> String {
    td.replace('\n', " ") + "\n"
}

fn post(registry: &TestRegistry, query: &str, lines: String) -> Answer {
    registry.call("POST", &format!("/things/batch{query}")).body("application/x-ndjson", lines).send()
}

fn results(answer: &Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_line_has_a_result_in_order() {
    let registry = TestRegistry::start();
    let lines: String = (0..300).map(|number| line(&agent(&format!("urn:example:{number}"), "A"))).collect();
    let answer = post(&registry, "", lines).expect(200);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let results = results(&answer);
    assert_eq!(results.len(), 300);
    for (result, number) in results.iter().zip(0..) {
        assert_eq!((&result["line"], &result["status"]), (&Value::from(number + 1), &Value::from(201)));
        assert_eq!(result["id"], format!("urn:example:{number}"));
    }
    assert_eq!(registry.registry().len(), 300);
}

#[test]
fn bad_lines_spoil_nothing_but_themselves() {
    let registry = TestRegistry::start();
    let too_long = line(&agent("urn:example:long", &"x".repeat(1024 * 1024)));
    let lines = [
        line(&agent("urn:example:a", "A")),
        "{\"id\": \n".to_owned(),
        "\n".to_owned(),
        too_long,
        line(&anonymous_agent("B")),
        line(&agent("urn:example:a", "C")),
        line("{}"),
        line(&agent("urn:example:last", "D")).trim_end().to_owned(),
    ];
    let results = results(&post(&registry, "", lines.concat()).expect(200));
    let told: Vec<_> = results.iter().map(|result| (result["line"].as_u64(), result["status"].as_u64())).collect();
    let wanted = [(1, 201), (2, 400), (4, 413), (5, 201), (6, 204), (7, 400), (8, 201)];
    assert_eq!(told, wanted.map(|(line, status)| (Some(line), Some(status))));
    assert_eq!(results[1]["problem"]["code"], "malformed-json");
    assert!(results[3]["id"].as_str().unwrap().starts_with("urn:uuid:"));
    assert_eq!(registry.get("/things/urn:example:a").json()["title"], "C");
    assert_eq!(registry.registry().len(), 3);
}

#[test]
fn dry_batch_writes_nothing() {
    let registry = TestRegistry::start();
    let results = results(&post(&registry, "?dry_run=true", line(&agent("urn:example:a", "A"))).expect(200));
    let expected = json!({
        "line": 1, "status": 200, "dryRun": true, "id": "urn:example:a", "effect": "created", "warnings": [],
    });
    assert_eq!(results, [expected]);
    assert!(registry.registry().is_empty());
}

#[test]
fn results_come_while_lines_are_sent() {
    let registry = TestRegistry::start();
    let mut socket = std::net::TcpStream::connect(registry.address()).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let head = "POST /things/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut received = String::new();
    let mut buffer = [0; 4096];
    for number in 1..=3 {
        let line = line(&agent(&format!("urn:example:{number}"), "A"));
        socket.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).unwrap();
        while !received.contains(&format!("\"line\":{number},")) {
            let read = socket.read(&mut buffer).unwrap();
            assert_ne!(read, 0, "the answer ended");
            received.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
    }
}

fn gzipped(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    parts.into_iter().for_each(|part| encoder.write_all(&part).unwrap());
    encoder.finish().unwrap()
}

/// The results of a compressed batch.
fn post_gzipped(registry: &TestRegistry, path: &str, lines: impl IntoIterator<Item = Vec<u8>>) -> Vec<Value> {
    let call = registry.call("POST", path).header("content-encoding", "gzip");
    results(&call.body("application/x-ndjson", gzipped(lines)).send().expect(200))
}

#[test]
fn batch_ends_after_a_thousand_failures_in_a_row() {
    let registry = TestRegistry::start();
    for path in ["/things/batch", "/things/batch?dry_run=true", "/records"] {
        let results = post_gzipped(&registry, path, (0..100).map(|_| b"{}\n".repeat(1000)));
        assert_eq!(results.len(), 1001, "{path}");
        let lines: Vec<_> = results.iter().map(|result| result["line"].as_u64().unwrap()).collect();
        assert_eq!(lines, (1..=1001).collect::<Vec<_>>(), "{path}");
        let last = results.last().unwrap();
        assert_eq!((&last["status"], &last["problem"]["code"]), (&json!(400), &json!("too-many-failures")), "{path}");
        assert!(results[..1000].iter().all(|result| result["problem"]["code"] != "too-many-failures"), "{path}");
    }
}

#[test]
fn batch_goes_on_where_a_line_is_written_between_failures() {
    let registry = TestRegistry::start();
    let good = |number: usize| line(&agent(&format!("urn:example:{number}"), "A"));
    // Failures end groups, begin them, and fill them.
    let lines = "{}\n".repeat(999) + &good(1) + &"{}\n".repeat(1000) + "\n\n";
    let results = results(&post(&registry, "", lines));
    let statuses: Vec<_> = results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!((statuses.len(), statuses[999]), (2000, 201), "the last thousand may fail: nothing follows");
    assert!(statuses.iter().filter(|status| **status == 400).count() == 1999);
    // Nothing beyond the last line that has a result is written.
    let lines = good(2) + &"{}\n".repeat(1000) + &good(3) + &good(4);
    let results = self::results(&post(&registry, "", lines));
    assert_eq!((results.len(), &results[1001]["problem"]["code"]), (1002, &json!("too-many-failures")));
    assert_eq!((&results[0]["status"], &results[1001]["line"]), (&json!(201), &json!(1002)));
    registry.get("/things/urn:example:2").expect(200);
    for number in [3, 4] {
        registry.get(&format!("/things/urn:example:{number}")).problem(404, "not-found");
    }
}

#[test]
fn batch_ends_where_it_expands_too_much() {
    let registry = TestRegistry::start();
    let written = line(&agent("urn:example:a", "A")).into_bytes();
    // Blank lines have no result, and fail neither.
    let blank = " ".repeat(64 * 1024 - 1) + "\n";
    let mebibytes = |count: usize| blank.repeat(16).repeat(count);
    for path in ["/things/batch", "/records"] {
        let lines = std::iter::once(written.clone()).chain(std::iter::repeat_n(mebibytes(1).into_bytes(), 66));
        let results = post_gzipped(&registry, path, lines);
        assert_eq!(results.len(), 2, "{path}");
        let last = &results[1];
        assert_eq!(
            (&last["status"], &last["problem"]["code"]),
            (&json!(413), &json!("excessive-compression")),
            "{path}"
        );
    }
    registry.get("/things/urn:example:a").expect(200);
    // What is not compressed is taken as long as it comes.
    let answer = post(&registry, "", String::from_utf8(written).unwrap() + &mebibytes(66));
    assert_eq!(results(&answer).len(), 1);
}

#[test]
fn batch_ends_where_its_results_exceed_what_was_received() {
    let registry = TestRegistry::start();
    // Its result names each of its mistakes.
    let mistakes: Map<String, Value> = (0..300).map(|number| (format!("a{number}"), Value::from(1))).collect();
    let failing = format!("{}\n", json!({"title": "A", "actions": mistakes}));
    let lines = failing.repeat(99) + &line(&agent("urn:example:a", "A"));
    let answered = |times| {
        let body = gzipped(std::iter::repeat_n(lines.clone().into_bytes(), times));
        let call = registry.call("POST", "/things/batch?dry_run=true").header("content-encoding", "gzip");
        call.body("application/x-ndjson", body).send().expect(200)
    };
    let length = answered(1).body.len() / 100;
    // At most so many lines are under way where the bound is exceeded.
    let under_way = 5 * 128;
    let times = (64 * MEBIBYTE / length + 2 * under_way) / 100;
    let answer = answered(times);
    let (before, last) = answer.text().trim_end().rsplit_once('\n').unwrap();
    let (results, last): (usize, Value) = (before.lines().count(), serde_json::from_str(last).unwrap());
    assert_eq!((&last["status"], &last["problem"]["code"]), (&json!(413), &json!("excessive-results")));
    assert_eq!(last["line"], results + 1);
    let most = 64 * MEBIBYTE + under_way * length;
    assert!((64 * MEBIBYTE..most).contains(&before.len()), "{results} lines, {} bytes", before.len());
}

#[test]
fn other_types_are_refused() {
    let registry = TestRegistry::start();
    registry.post("/things/batch", "{}").problem(415, "unsupported-media-type");
}

#[test]
fn lines_about_one_thing_are_written_in_their_order() {
    let registry = TestRegistry::start();
    let lines: String = (0..2_000).map(|number| line(&agent("urn:example:a", &format!("A {number}")))).collect();
    for (result, number) in results(&post(&registry, "", lines).expect(200)).iter().zip(1..) {
        assert_eq!(result["etag"], format!("\"{}\"", nth(number)));
    }
    assert_eq!(registry.get("/things/urn:example:a").expect(200).json()["title"], "A 1999");
}
