//! Owners who write faster than searches follow, while others wait for theirs: they are slowed, and nothing else is.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use agentdex::{
    access::{Caller, Principal, Role, Rules},
    fetch::{self, AllowList, Fetcher},
    registry::tracked_sources::Tracking,
};
use agentdex_server::http::{Limits, Options};

use crate::support::{TestRegistry, agent, eventually};

const HOUR: Duration = Duration::from_secs(3600);

/// A server whose index lags, with an owner for each of some requests, all of whom are slowed.
struct Slowed {
    registry: TestRegistry,
    keys: Vec<String>,
    /// The key of an owner who isn't.
    bob: String,
}

impl Slowed {
    fn start(owners: usize) -> Slowed {
        let access = Rules { authentication: true, ..Rules::default() };
        // Bodies and fetches may stop for longer than a test takes.
        let limits = Limits { body_timeout: HOUR, stop_timeout: Duration::ZERO, ..Limits::default() };
        let options = fetch::Options::default().allowed(AllowList::parse(["127.0.0.0/8"]).unwrap());
        let fetcher = Fetcher::new(options.timeout(HOUR).phase_timeout(HOUR)).unwrap();
        let tracking = |_| Tracking::new(fetcher).in_background(false);
        let registry = TestRegistry::tracking_with(tracking, Options { access, limits, ..Options::default() });
        let names: Vec<String> = (0..owners).map(|number| format!("eve-{number}")).collect();
        let keys = names.iter().map(|name| registry.key(name, Role::Register)).collect();
        let slowed = Slowed { bob: registry.key("bob", Role::Register), registry, keys };
        slowed.registry.registry().hold_index(true);
        // All of them write the same number of bytes, which is more than Bob writes.
        for (name, key) in names.iter().zip(&slowed.keys) {
            assert_eq!(slowed.put(key, &format!("urn:{name}"), &"x".repeat(10_000)), 201);
        }
        assert_eq!(slowed.put(&slowed.bob, "urn:bob", "x"), 201);
        for name in names {
            let owner = name.parse().unwrap();
            let caller = Principal { owner, role: Role::Register, key: String::new(), expires: None };
            let registry = slowed.registry.registry().as_caller(Caller::Principal(Arc::new(caller)));
            eventually("an owner is slowed", || registry.holds_up_searches());
        }
        slowed
    }

    fn put(&self, key: &str, id: &str, title: &str) -> u16 {
        let call =
            self.registry.call("PUT", &format!("/things/{id}")).header("authorization", &format!("Bearer {key}"));
        call.body("application/td+json", agent(id, title)).send().status
    }

    /// Sends a request, perhaps without all of its body.
    fn send(&self, key: &str, line: &str, headers: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.registry.address()).unwrap();
        let head =
            format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{headers}\r\n\r\n{body}");
        socket.write_all(head.as_bytes()).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }
}

/// True if a request has its answer, or none any more. That of a batch begins before the first of its lines.
fn is_over(mut socket: &TcpStream) -> bool {
    let mut beginning = [0; 12];
    match socket.read(&mut beginning) {
        Err(error) => error.kind() != ErrorKind::WouldBlock,
        Ok(length) => length == 0 || !b"HTTP/1.1 200".starts_with(&beginning[..length]),
    }
}

#[test]
fn stalled_request_of_a_slowed_owner_holds_up_none_of_its_others() {
    // Whoever fetches from here waits.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(r#"{{"url": "http://{}/card.json"}}"#, silent.local_addr().unwrap());
    let td = "Content-Type: application/td+json\r\nContent-Length: 1000";
    let patch = "Content-Type: application/merge-patch+json\r\nContent-Length: 1000";
    let lines = "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked";
    let card = format!("Content-Type: application/json\r\nContent-Length: {}", url.len());
    let requests = [
        ("PUT /things/urn:stalled", td, ""),
        ("PATCH /things/urn:eve-1", patch, ""),
        ("POST /things", td, ""),
        ("POST /things/batch", lines, ""),
        ("POST /import/a2a", "Content-Type: application/json\r\nContent-Length: 1000", ""),
        ("POST /import/a2a", &card, &url),
    ];
    let slowed = Slowed::start(requests.len());
    let sockets: Vec<TcpStream> = requests
        .iter()
        .zip(&slowed.keys)
        .map(|((line, headers, body), key)| slowed.send(key, line, headers, body))
        .collect();
    // They are in line now, or soon.
    thread::sleep(Duration::from_millis(200));
    thread::scope(|scope| {
        let writes = slowed.keys.iter().enumerate().map(|(number, key)| {
            let slowed = &slowed;
            scope.spawn(move || slowed.put(key, &format!("urn:later:{number}"), "Later"))
        });
        let writes: Vec<_> = writes.collect();
        assert_eq!(slowed.put(&slowed.bob, "urn:bob:later", "Others write meanwhile"), 201);
        thread::sleep(Duration::from_millis(200));
        assert!(writes.iter().all(|write| !write.is_finished()), "they are slowed");
        slowed.registry.registry().hold_index(false);
        for (write, (line, ..)) in writes.into_iter().zip(&requests) {
            eventually(line, || write.is_finished());
            assert_eq!(write.join().unwrap(), 201, "{line}");
        }
    });
    for (socket, (line, ..)) in sockets.iter().zip(&requests) {
        assert!(!is_over(socket), "{line} is not to end before the others");
    }
}
