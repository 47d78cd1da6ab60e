//! Clients that mean no good, or no longer anything: foreign names, tiny chunks, pauses, crowds.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use agentdex_server::http::{Limits, Options};
use serde_json::Value;

use crate::{
    process::ServerProcess,
    support::{Call, TestRegistry, agent, eventually},
};

/// So long that no test waits for it to pass.
const LONG: Duration = Duration::from_secs(600);
/// So short that tests wait for it.
const SHORT: Duration = Duration::from_secs(1);

/// How long an answer may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

fn with_limits(limits: Limits) -> TestRegistry {
    TestRegistry::start_with(Default::default(), Options { limits, ..Options::default() })
}

fn patient() -> Limits {
    Limits { head_timeout: LONG, body_timeout: LONG, write_timeout: LONG, ..Limits::default() }
}

/// A connection on which bytes are sent as they are.
fn connect(registry: &TestRegistry) -> TcpStream {
    let socket = TcpStream::connect(registry.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

/// All that comes until the server closes.
fn rest(mut socket: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is an end as well.
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The status, and the document if it is a problem.
fn problem(answer: &str) -> (&str, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    assert!(head.to_lowercase().contains("content-type: application/problem+json"), "{answer:?}");
    (head.split(' ').nth(1).unwrap_or_default(), serde_json::from_str(body).unwrap_or_default())
}

/// Sends a request whose body comes in chunks of one byte, and reads the answer.
fn in_bytes(registry: &TestRegistry, head: &str, body: &[u8]) -> String {
    let mut socket = connect(registry);
    let head = format!("{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    let chunks: Vec<u8> = body.iter().flat_map(|byte| [b'1', b'\r', b'\n', *byte, b'\r', b'\n']).collect();
    socket.write_all(&chunks).unwrap();
    socket.write_all(b"0\r\n\r\n").unwrap();
    rest(socket)
}

#[test]
fn names_that_others_can_point_here_are_refused() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let with = |method: &str, path: &str, host: &str| {
        let call = registry.call(method, path).header("host", host).header("origin", &format!("http://{host}"));
        call.body("application/td+json", agent("urn:example:b", "B")).send()
    };
    for host in
        ["attacker.example:8080", "attacker.example", "127.0.0.1.attacker.example", "localhost.attacker.example"]
    {
        for (method, path) in [
            ("PUT", "/things/urn:example:b"),
            ("GET", "/things"),
            ("GET", "/mqtt"),
            ("GET", "/nowhere"),
            ("GET", "/health/live"),
        ] {
            with(method, path, host).problem(421, "host-not-allowed");
        }
    }
    assert_eq!(registry.registry().len(), 1);
    for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "192.0.2.1:80"] {
        with("GET", "/things", host).expect(200);
        assert!(matches!(with("PUT", "/things/urn:example:b", host).status, 201 | 204), "{host}");
    }
}

#[test]
fn hosts_are_allowed_by_name() {
    let options = Options {
        allowed_hosts: vec!["registry.internal".into()],
        public_url: Some("https://agents.example/registry".into()),
        ..Options::default()
    };
    let registry = TestRegistry::start_with(Default::default(), options);
    let with = |host: &str| registry.call("GET", "/things").header("host", host).send();
    for host in ["registry.internal:8080", "agents.example", "localhost"] {
        with(host).expect(200);
    }
    with("other.internal").problem(421, "host-not-allowed");
    let any = Options { allowed_hosts: vec!["*".into()], ..Options::default() };
    let registry = TestRegistry::start_with(Default::default(), any);
    let call = |method: &str| {
        let call = registry.call(method, "/things").header("host", "x.example").header("origin", "http://x.example");
        call.body("application/td+json", agent("urn:example:a", "A")).send()
    };
    call("GET").expect(200);
    call("POST").problem(403, "foreign-origin");
}

#[test]
fn pages_of_other_origins_start_no_search_stream_or_backup() {
    let page = "https://pages.example";
    let options = Options { cors_origins: vec![page.into()], ..Options::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    let costly = [
        "/search?q=a",
        "/search/jsonpath?query=%24..*",
        "/search/sparql?query=ASK%20%7B%7D",
        "/things/urn:example:a/compatible",
        "/things/urn:example:a/properties/level/value",
        "/things/urn:example:a/events/alarm/notifications",
        "/changes",
        "/backup",
        "/records",
    ];
    let streams = ["/events", "/events/thing_created", "/queries/a/events", "/aos/events"];
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    for site in ["cross-site", "same-site"] {
        let get = |path: &str| registry.call("GET", path).header("sec-fetch-site", site);
        for path in costly.into_iter().chain(streams) {
            let refused = get(path).header("sec-fetch-mode", "no-cors").send().problem(403, "foreign-origin");
            assert!(refused["detail"].as_str().unwrap().contains("--cors-origin"), "{refused}");
            get(path).header("origin", "https://attacker.example").send().problem(403, "foreign-origin");
        }
        for path in costly {
            assert_ne!(get(path).header("origin", page).send().status, 403, "{path}");
            let link = get(path).header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document");
            assert_ne!(link.header("sec-fetch-user", "?1").send().status, 403, "{path}");
        }
        for path in ["/", "/.well-known/wot", "/openapi.json", "/health/live", "/things", "/things/urn:example:a"] {
            get(path).header("sec-fetch-mode", "no-cors").send().expect(200);
        }
    }
    registry.call("GET", "/search?q=a").header("sec-fetch-site", "same-origin").send().expect(200);
    // A browser without `Sec-Fetch-Site` says with `Origin` that a page of another origin asks to read.
    let of = |origin: &str, path: &str| registry.call("GET", path).header("origin", origin);
    for path in costly.into_iter().chain(streams) {
        for origin in ["https://attacker.example", "null"] {
            of(origin, path).send().problem(403, "foreign-origin");
        }
    }
    for origin in [page, &registry.url("")] {
        of(origin, "/search?q=a").send().expect(200);
    }
    of("https://attacker.example", "/things").send().expect(200);
}

#[test]
fn bodies_in_chunks_of_one_byte_are_read() {
    let registry = with_limits(patient());
    let long = agent("urn:example:long", &"x".repeat(400_000)).replace('\n', " ") + "\n";
    let answer =
        in_bytes(&registry, "POST /things/batch HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nX:", long.as_bytes());
    assert!(answer.contains("\"status\":201"), "{answer}");
    let thing = agent("urn:example:a", &"x".repeat(100_000));
    let answer = in_bytes(
        &registry,
        "PUT /things/urn:example:a HTTP/1.1\r\nContent-Type: application/json\r\nX:",
        thing.as_bytes(),
    );
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let form = format!(
        "--limit\r\nContent-Disposition: form-data; name=\"document\"\r\nContent-Type: application/json\r\n\r\n{}\r\n--limit--\r\n",
        r#"{"component_type": "Agent", "agentspec_version": "25.4.1"}"#.to_owned() + &" ".repeat(50_000)
    );
    let head = "POST /import/agent-spec HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=limit\r\nX:";
    // It is read to its end, and then isn't complete.
    assert_eq!(problem(&in_bytes(&registry, head, form.as_bytes())).1["code"], "invalid-document");
}

#[test]
fn compressed_bodies_in_chunks_of_one_byte_are_read() {
    let registry = with_limits(patient());
    let thing = agent("urn:example:a", &"x".repeat(200_000));
    registry.put("/things/urn:example:a", thing).expect(201);
    let coded = registry.call("GET", "/things/urn:example:a").header("accept-encoding", "gzip").send().expect(200);
    let head = "PUT /things/urn:example:a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nX:";
    let answer = in_bytes(&registry, head, &coded.body);
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
}

#[test]
fn bodies_that_do_not_go_on_are_given_up() {
    let registry = with_limits(Limits { body_timeout: SHORT, ..patient() });
    for (path, kind) in [
        ("/things", "application/td+json"),
        ("/validate", "application/td+json"),
        ("/import/a2a", "application/json"),
        ("/import/agent-spec", "multipart/form-data; boundary=limit"),
    ] {
        let mut socket = connect(&registry);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: 100000\r\n\r\n{{"
        );
        socket.write_all(head.as_bytes()).unwrap();
        let answer = rest(socket);
        let (status, document) = problem(&answer);
        assert_eq!((status, &document["code"]), ("408", &"body-timeout".into()), "{path}: {answer}");
    }
    let mut socket = connect(&registry);
    let head = "POST /things/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 9\r\n\r\n{";
    socket.write_all(head.as_bytes()).unwrap();
    let answer = rest(socket);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"code\":\"body-timeout\""), "{answer}");
}

#[test]
fn bodies_that_go_on_are_read_however_long_they_take() {
    let registry = with_limits(Limits { body_timeout: Duration::from_secs(3), ..patient() });
    let thing = agent("urn:example:a", &"x".repeat(5 * 1024));
    let mut socket = connect(&registry);
    let head = format!(
        "PUT /things/urn:example:a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/td+json\r\n\
         Content-Length: {}\r\n\r\n",
        thing.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    let started = std::time::Instant::now();
    for part in thing.as_bytes().chunks(400) {
        socket.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(started.elapsed() > Duration::from_secs(3), "longer than the pause that is allowed");
    assert!(rest(socket).starts_with("HTTP/1.1 201 "));
}

#[test]
fn a_head_that_cannot_be_read_is_answered_with_a_problem() {
    let registry = with_limits(patient());
    let long = format!("GET /things HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n", "x".repeat(200_000));
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (head, expected) in [
        (get("/search?q=Straße"), ("400", "malformed-request")),
        (get("/search/jsonpath?query=$[?@.title==\"x\"]"), ("400", "malformed-request")),
        (get("/search/jsonpath?query=$[?@.version.instance>'1']"), ("400", "malformed-request")),
        (get("/search?q=a<b"), ("400", "malformed-request")),
        (get("/things/urn:example:ü"), ("400", "malformed-request")),
        (get("/search?q=a b"), ("400", "malformed-request")),
        (get("/health/live?q=ü"), ("400", "malformed-request")),
        ("GET /things HTTP/1.1\r\n\r\n".to_owned(), ("400", "malformed-request")),
        (long, ("431", "head-too-large")),
    ] {
        for is_first in [true, false] {
            let mut socket = connect(&registry);
            if !is_first {
                socket.write_all(get("/things").as_bytes()).unwrap();
                let mut answer = String::new();
                while !answer.ends_with("\r\n0\r\n\r\n") {
                    let mut byte = [0];
                    socket.read_exact(&mut byte).unwrap_or_else(|error| panic!("{answer}: {error}"));
                    answer.push(char::from(byte[0]));
                }
            }
            // The rest of a long head needn't be taken.
            let _ = socket.write_all(head.as_bytes());
            let answer = rest(socket);
            let (status, document) = problem(&answer);
            assert_eq!((status, document["code"].as_str().unwrap()), expected, "{answer}");
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            assert!(answer.contains(&format!("content-length: {}\r\n", body.len())), "{answer}");
        }
    }
    // Of requests that come together, those that can be read have their responses.
    let mut socket = connect(&registry);
    socket.write_all((get("/things").repeat(3) + &get("/things?\"")).as_bytes()).unwrap();
    let answer = rest(socket);
    let statuses: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).filter_map(|one| one.get(..3)).collect();
    assert_eq!(statuses, ["200", "200", "200", "400"], "{answer}");
}

#[test]
fn silent_connections_are_closed() {
    let registry = with_limits(Limits { head_timeout: SHORT, ..patient() });
    let answer = rest(connect(&registry));
    let (status, document) = problem(&answer);
    assert_eq!((status, &document["code"]), ("408", &"request-timeout".into()));
    let mut halfway = connect(&registry);
    halfway.write_all(b"GET /things HTTP/1.1\r\nHost: loc").unwrap();
    assert_eq!(problem(&rest(halfway)).1["code"], "request-timeout");
    // The second request of a connection.
    let mut again = connect(&registry);
    again.write_all(b"GET /things HTTP/1.1\r\nHost: localhost\r\n\r\nGET /things HTTP/1.1\r\nHost: loc").unwrap();
    let answer = rest(again);
    assert!(answer.starts_with("HTTP/1.1 200 ") && !answer.contains("HTTP/1.1 4"), "{answer}");
}

#[test]
fn readers_that_take_nothing_are_cut() {
    let registry = with_limits(Limits { write_timeout: SHORT, ..patient() });
    let large = agent("urn:example:a", &"x".repeat(900_000));
    for number in 0..14 {
        registry.registry().put(large.replace("urn:example:a", &format!("urn:example:{number}"))).unwrap();
    }
    let mut stalled = connect(&registry);
    stalled.write_all(b"GET /things HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stalled.peek(&mut [0]).unwrap();
    // That of the question itself is open too.
    eventually("the end of the connection", || gauge(&registry, "agentdex_http_connections") == 1);
    let mut taken = Vec::new();
    let _ = stalled.read_to_end(&mut taken);
    assert!(taken.len() < 14 * 900_000, "all of it was sent");
}

fn gauge(registry: &TestRegistry, name: &str) -> usize {
    let metrics = registry.get("/metrics").expect(200);
    let line = metrics.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
    line.parse().unwrap()
}

#[test]
fn connections_beyond_the_limit_are_refused_and_health_is_answered() {
    let registry = with_limits(Limits { max_connections: Some(3), max_streams: Some(3), ..patient() });
    let mut streams: Vec<_> = (0..3).map(|_| registry.events("/events", None)).collect();
    let refused = registry.get("/things");
    refused.problem(503, "too-many-clients");
    assert!(!refused.header("retry-after").is_empty());
    registry.get("/health/live").expect(200);
    eventually("readiness", || registry.get("/health/ready").status == 200);
    assert_eq!(gauge(&registry, "agentdex_http_connections_limit"), 3);
    assert!(gauge(&registry, "agentdex_http_connections_refused_total") >= 1);
    // Silent ones take up what is left for health, and lose it to those who ask.
    let silent: Vec<_> = (0..100).map(|_| connect(&registry)).collect();
    registry.get("/health/live").expect(200);
    drop((silent, streams.pop()));
    eventually("a place", || registry.get("/things").status == 200);
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let registry = with_limits(Limits { max_streams: Some(2), ..patient() });
    let streams: Vec<_> = (0..2).map(|_| registry.events("/events", None)).collect();
    for path in ["/events", "/events/thing_created", "/changes?wait=60"] {
        let refused = registry.get(path);
        refused.problem(503, "too-many-clients");
        assert!(!refused.header("retry-after").is_empty(), "{path}");
    }
    registry.get("/changes").expect(200);
    registry.get("/things").expect(200);
    drop(streams);
    eventually("a place", || registry.get("/changes?wait=1").status == 200);
}

/// In a process of its own, which has few descriptors.
#[cfg(unix)]
#[test]
fn crowds_of_subscribers_leave_descriptors_for_everything_else() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start_with_descriptors(data.path(), &[], 256);
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut crowd = Vec::new();
    for _ in 0..300 {
        let mut socket = TcpStream::connect(&address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        crowd.push(socket);
    }
    let mut taken = 0;
    for socket in &mut crowd {
        let mut status = [0; 13];
        if socket.read_exact(&mut status).is_ok() && status == *b"HTTP/1.1 200 " {
            taken += 1;
        }
    }
    assert!((50..128).contains(&taken), "{taken} streams");
    let url = |path: &str| format!("{}{path}", server.url());
    for number in 0..30 {
        let (path, td) = (format!("/things/urn:example:{number}"), agent(&format!("urn:example:{number}"), "A"));
        eventually("a place for a write", || {
            let put = Call::new("PUT", &url(&path)).body("application/td+json", td.clone());
            put.try_send().is_ok_and(|answer| answer.status == 201)
        });
    }
    for (path, expected) in [("/search?q=weather&consistent=true", r#""total":30"#), ("/health/ready", "ready")] {
        eventually("a place for a read", || {
            let get = Call::new("GET", &url(path)).try_send();
            get.is_ok_and(|answer| answer.status == 200 && answer.text().contains(expected))
        });
    }
    assert!(!server.log().contains("Too many open files"), "{}", server.log());
}
