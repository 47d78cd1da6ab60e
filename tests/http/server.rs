//! The server around the resources: compression, CORS, mounting, stopping.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use actix_web::{App, HttpServer, test as actix, web};
use agentdex::Registry;
use agentdex_server::http;

use crate::{
    process::ServerProcess,
    support::{TestRegistry, agent, client, eventually, nth},
};

#[test]
fn answers_are_compressed_for_those_who_accept_it() {
    let registry = TestRegistry::start();
    for number in 0..50 {
        registry.registry().put(agent(&format!("urn:example:{number}"), "A")).unwrap();
    }
    let plain = registry.get("/things");
    assert_eq!(plain.header("content-encoding"), "");
    for coding in ["gzip", "deflate"] {
        let coded = registry.call("GET", "/things").header("accept-encoding", coding).send().expect(200);
        assert_eq!(coded.header("content-encoding"), coding);
        assert!(coded.body.len() * 5 < plain.body.len(), "{} of {}", coded.body.len(), plain.body.len());
        assert_eq!(coded.header("etag"), format!("\"{}-{coding}\"", nth(50)));
    }
    for path in ["/things", "/things/urn:example:1", "/search?q=a", "/changes", "/.well-known/wot", "/nowhere"] {
        for (method, coding) in [("GET", "gzip"), ("HEAD", "gzip"), ("GET", "identity")] {
            let answer = registry.call(method, path).header("accept-encoding", coding).send();
            assert!(answer.header("vary").contains("accept-encoding"), "{method} {path} {coding}: {answer:?}");
        }
    }
}

#[test]
fn pages_of_allowed_origins_may_call() {
    let options = http::Options { cors_origins: vec!["https://example.org".into()], ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    let from = |origin: &str| registry.call("GET", "/things").header("origin", origin).send();
    let allowed = from("https://example.org").expect(200);
    assert_eq!(allowed.header("access-control-allow-origin"), "https://example.org");
    assert!(allowed.header("access-control-expose-headers").contains("agentdex-seq"));
    assert_eq!(from("https://evil.example").header("access-control-allow-origin"), "");
    let preflight = registry
        .call("OPTIONS", "/things/urn:example:a")
        .header("origin", "https://example.org")
        .header("access-control-request-method", "PUT")
        .header("access-control-request-headers", "content-type, if-match")
        .send()
        .expect(200);
    let methods = preflight.header("access-control-allow-methods");
    assert!(methods.contains("PUT") && !methods.contains("TRACE"), "{methods}");

    let closed = TestRegistry::start();
    let plain = closed.call("GET", "/things").header("origin", "https://example.org").send().expect(200);
    assert_eq!(plain.header("access-control-allow-origin"), "");
}

#[actix_web::test]
async fn mounted_in_a_scope_it_knows_its_prefix() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::builder(directory.path()).open().unwrap();
    let api = http::configure(&registry, http::Options::default());
    let own = web::resource("/own").to(|| async { "own" });
    let app = actix::init_service(App::new().service(web::scope("/registry").configure(api)).service(own)).await;

    let put = actix::TestRequest::put()
        .uri("/registry/things/urn:example:a%2Fb")
        .insert_header(("content-type", "application/td+json"))
        .set_payload(agent("urn:example:a/b", "A"))
        .to_request();
    let created = actix::call_service(&app, put).await;
    assert_eq!(created.status(), 201);
    let location: String = created.headers().get("location").unwrap().to_str().unwrap().to_owned();
    assert_eq!(location, "/registry/things/urn:example:a%2Fb");
    for path in [location.clone(), format!("/registry/things/{location}")] {
        let get = actix::TestRequest::get().uri(&path).to_request();
        assert_eq!(actix::call_service(&app, get).await.status(), 200, "{path}");
    }
    let own = actix::TestRequest::get().uri("/own").to_request();
    assert_eq!(actix::call_and_read_body(&app, own).await, "own");
    registry.close();
}

#[actix_web::test]
async fn streams_end_when_the_server_of_an_application_stops() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let api = http::configure(&registry, http::Options::default());
    let application = move || App::new().service(web::scope("/registry").configure(api.clone()));
    // Long enough to tell a stream that ends from one that is cut off.
    let server = HttpServer::new(application).workers(1).shutdown_timeout(600).disable_signals();
    let server = server.bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/registry", server.addrs()[0]);
    let server = server.run();
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    let mut stream = client().get(format!("{url}/events")).send().await.unwrap();
    let poll = tokio::spawn(client().get(format!("{url}/changes?since=0&wait=300")).send());
    registry.put(agent("urn:example:a", "A")).unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let stopping = tokio::time::timeout(Duration::from_secs(60), handle.stop(true));
    stopping.await.expect("nothing holds it up");
    while stream.chunk().await.unwrap().is_some() {}
    drop(poll.await);
    running.await.unwrap().unwrap();
    registry.close();
}

#[test]
fn compressed_bodies_are_read() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let coded = registry.call("GET", "/things/urn:example:a").header("accept-encoding", "gzip").send();
    assert_eq!(coded.header("content-encoding"), "gzip");
    let call = registry.call("PUT", "/things/urn:example:a").header("content-encoding", "gzip");
    call.body("application/td+json", coded.body).send().expect(204);
    let call = registry.call("PUT", "/things/urn:example:a").header("content-encoding", "gzip");
    call.body("application/td+json", "not gzip").send().problem(400, "broken-body");
}

/// In a process of its own: in this one the other tests decide what is logged.
#[test]
fn log_lines_carry_request_and_trace_ids() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--log-format", "json", "--log-level", "debug"]);
    let body = agent("urn:example:a", "A");
    let mut socket = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    let head = format!(
        "PUT /things/urn:example:a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/td+json\r\nContent-Length: {}\r\n\
         X-Request-Id: mine\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");

    let lines: Vec<serde_json::Value> = server.log().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["target"] == "agentdex::access").unwrap();
    assert_eq!((&line["request_id"], &line["method"]), (&"mine".into(), &"PUT".into()));
    assert_eq!(line["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(line["status"], 201);
}

#[test]
fn requests_in_flight_finish_when_the_server_stops() {
    let mut registry = TestRegistry::start();
    let body = agent("urn:example:a", "A");
    let mut socket = TcpStream::connect(registry.address()).unwrap();
    let head = format!(
        "PUT /things/urn:example:a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/td+json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    // The server says that it has read the head.
    let mut proceed = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    socket.read_exact(&mut proceed).unwrap();
    assert_eq!(&proceed, b"HTTP/1.1 100 Continue\r\n\r\n");
    let (first, second) = body.split_at(10);
    socket.write_all(first.as_bytes()).unwrap();
    let (address, second) = (registry.address(), second.to_owned());
    let calling = std::thread::spawn(move || {
        eventually("the beginning of the end", || TcpStream::connect(address).is_err());
        socket.write_all(second.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    });
    registry.stop();
    assert!(calling.join().unwrap().starts_with("HTTP/1.1 201 "));
    assert_eq!(registry.registry().len(), 1);
}

#[test]
fn idle_connections_and_open_streams_do_not_hold_up_the_end() {
    let limits = http::Limits { stop_timeout: Duration::from_secs(60), ..Default::default() };
    let options = http::Options { limits, ..Default::default() };
    let mut registry = TestRegistry::start_with(Default::default(), options);
    let mut idle = TcpStream::connect(registry.address()).unwrap();
    idle.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_ne!(idle.read(&mut [0; 4096]).unwrap(), 0);
    let _events = registry.events("/events", None);
    let poll = registry.call("GET", "/changes?wait=60");
    let poll = std::thread::spawn(move || poll.send());
    eventually("the long poll", || registry.get("/metrics").expect(200).text().contains("\nagentdex_long_polls 1\n"));
    let started = Instant::now();
    registry.stop();
    assert!(started.elapsed() < Duration::from_secs(60), "they were waited for: {:?}", started.elapsed());
    poll.join().unwrap().expect(200);
}

#[test]
fn origins_and_hosts_that_can_not_be_right_are_refused_at_the_start() {
    let registry = TestRegistry::start();
    let origins = http::Options { cors_origins: vec!["https://a.example".into(), "".into()], ..Default::default() };
    let hosts = http::Options { allowed_hosts: vec!["https://a.example".into()], ..Default::default() };
    for options in [origins, hosts] {
        let refused = http::Server::bind("127.0.0.1:0", registry.registry(), options);
        assert!(matches!(refused, Err(agentdex::Error::InvalidSetting { .. })), "{refused:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let registry = TestRegistry::start();
    let refused = http::Server::bind(registry.address(), registry.registry(), http::Options::default());
    assert!(matches!(refused, Err(agentdex::Error::Io { .. })), "{refused:?}");
}
