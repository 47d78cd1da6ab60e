//! What the HTTP API costs: a read against bare actix handlers, with the pattern of the API and with
//! one fixed path, how soon a change is heard of, and how soon the page lists what is typed.
//!
//! `cargo bench --bench http` prints a table; nothing is
//! asserted. The servers are processes of their own, pinned to one core with `taskset` where that
//! is there; what counts is their CPU time, so that the load's own doesn't. They take turns, so that
//! a noisy machine is noisy for both; medians are compared. `-- --small` does a tenth, `-- --page` the page alone, which needs
//! node and Chromium as the tests of the page do.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use actix_web::{App, HttpResponse, HttpServer, web};
use agentdex::{Registry, search::Search};
use agentdex_server::http;

#[path = "support/connection.rs"]
mod connection;
#[path = "support/everyday.rs"]
mod everyday;

use connection::Connection;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 15;
const REQUESTS: usize = 20_000;
const CONNECTIONS: usize = 32;
const PAGE_ROUNDS: usize = 5;
const PATH: &str = "/things/urn:example:bench";
/// Types in the page.
const TYPING: &str = concat!(include_str!("../tests/page/browser.mjs"), include_str!("support/typing.mjs"));

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve-registry", directory, ..] => return serve_registry(Path::new(directory)),
        ["serve-bare", file, route, ..] => return serve_bare(Path::new(file), route),
        _ => {}
    }
    let scale = if words.contains(&"--small") { 10 } else { 1 };
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    if !words.contains(&"--page") {
        compare_reads(directory.path(), REQUESTS / scale)?;
        event_latency(&directory.path().join("events"), 1000 / scale)?;
    }
    page_latency(&directory.path().join("page"), 5000 / scale)
}

/// `GET /things/{id}`, and the same bytes from memory.
fn compare_reads(directory: &Path, requests: usize) -> Outcome {
    let data = directory.join("registry");
    let registry = Registry::builder(&data).open()?;
    registry.put(description(3000))?;
    let body = registry.find("urn:example:bench")?.map(|thing| thing.enriched()).unwrap_or_default();
    registry.close();
    drop(registry);
    let file = directory.join("body.json");
    fs::write(&file, &body)?;

    let servers = [
        Server::start("bare handler, fixed path", "serve-bare", &file, PATH)?,
        Server::start("bare handler, pattern", "serve-bare", &file, "/things/{id}")?,
        Server::start("GET /things/{id}", "serve-registry", &data, "")?,
    ];
    let mut costs = [Vec::new(), Vec::new(), Vec::new()];
    for server in &servers {
        server.load(requests)?;
    }
    for _ in 0..ROUNDS {
        for (server, costs) in servers.iter().zip(&mut costs) {
            costs.push(server.load(requests)?);
        }
    }
    println!("CPU time a request, {} bytes, {CONNECTIONS} connections, {requests} requests a round\n", body.len());
    for (server, costs) in servers.iter().zip(&costs) {
        print_row(server.name, "µs", costs.clone());
    }
    let [fixed, pattern, read] = &costs;
    for (name, bare) in [("ratio to the fixed path", fixed), ("ratio to the pattern", pattern)] {
        print_row(name, "", bare.iter().zip(read).map(|(bare, read)| read / bare).collect());
    }
    println!("(goal: ratio at most 1.40)\n");
    Ok(())
}

/// From an acknowledged write to the event that a subscriber has read.
fn event_latency(data: &Path, changes: usize) -> Outcome {
    let registry = Registry::builder(data).open()?;
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    let address = server.local_addr();
    let serving = Serving::start(server);
    let events = listen(address)?;
    let (mut since_call, mut since_durable) = (Vec::new(), Vec::new());
    for number in 0..changes {
        thread::sleep(Duration::from_millis(3));
        let td = description(3000).replace("\"A\"", &format!("\"A {number}\""));
        let called = Instant::now();
        registry.put(&td)?;
        let durable = Instant::now();
        let received = events.recv_timeout(Duration::from_secs(5))?;
        since_call.push((received - called).as_secs_f64() * 1000.0);
        // The event can be there before the writer has woken up.
        since_durable.push(received.saturating_duration_since(durable).as_secs_f64() * 1000.0);
    }
    println!("a change to one SSE subscriber, {changes} changes\n");
    for (name, times) in [("from the call", since_call), ("from the acknowledgement", since_durable)] {
        let times = sorted(times);
        let late = times[times.len() * 99 / 100];
        println!("{name:24} {:6.3} ms p50  {late:.3} ms p99", median(&times));
    }
    println!("(goal: durable change to SSE, p50 at most 1 ms)");
    serving.stop()?;
    registry.close();
    Ok(())
}

/// From a key that is pressed in the page to the list that answers it.
fn page_latency(data: &Path, agents: usize) -> Outcome {
    let Some(folder) = std::env::var_os("AGENTDEX_BROWSER") else {
        println!("\nthe page isn't measured: AGENTDEX_BROWSER names no folder with puppeteer-core");
        return Ok(());
    };
    let registry = Registry::builder(data).open()?;
    let texts = everyday::Everyday::new()?;
    thread::scope(|scope| {
        for first in 0..CONNECTIONS {
            let (registry, texts) = (&registry, &texts);
            scope.spawn(move || {
                (first..agents)
                    .step_by(CONNECTIONS)
                    .try_for_each(|number| registry.put(texts.document(number, 0).1).map(drop))
            });
        }
    });
    registry.search(Search::words("anything").consistent())?;
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    let input = format!(r#"{{"url": "http://{}"}}"#, server.local_addr());
    let serving = Serving::start(server);
    println!(
        "\nfrom a key to the list of the page, {} agents, 76 keys a round, in ms: p50 / p90 (goal: 50, pauses included)\n",
        registry.len()
    );
    for _ in 0..PAGE_ROUNDS {
        let mut node = Command::new("node");
        node.args(["--input-type=module", "--eval", TYPING]).current_dir(&folder);
        let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        node.stdin.take().ok_or("no input")?.write_all(input.as_bytes())?;
        let printed = node.wait_with_output()?;
        println!("{}", String::from_utf8_lossy(&printed.stdout).trim());
    }
    serving.stop()?;
    registry.close();
    Ok(())
}

/// A server in a thread of its own.
struct Serving {
    stop: tokio::sync::oneshot::Sender<()>,
    thread: thread::JoinHandle<std::io::Result<()>>,
}

impl Serving {
    fn start(server: http::Server) -> Serving {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(server.run(async { drop(stopped.await) })).map_err(std::io::Error::other)
        });
        Serving { stop, thread }
    }

    fn stop(self) -> Outcome {
        let _ = self.stop.send(());
        Ok(self.thread.join().map_err(|_| "the server panicked")??)
    }
}

/// The moments at which events arrive.
fn listen(address: SocketAddr) -> Outcome<Receiver<Instant>> {
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut lines = BufReader::new(socket).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.starts_with(": alive")) {}
    let (sender, events) = channel();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if line.starts_with("data: ") && sender.send(Instant::now()).is_err() {
                return;
            }
        }
    });
    Ok(events)
}

/// A server in a process of its own.
struct Server {
    name: &'static str,
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(name: &'static str, role: &str, argument: &Path, route: &str) -> Outcome<Server> {
        let program = std::env::current_exe()?;
        let pinned = Command::new("taskset").args(["-c", "0", "true"]).status().is_ok_and(|status| status.success());
        let mut command = match pinned {
            true => Command::new("taskset"),
            false => Command::new(&program),
        };
        if pinned {
            command.args(["-c", "0"]).arg(&program);
        }
        let mut process = command.arg(role).arg(argument).arg(route).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Server { name, process, address: line.trim().parse()? })
    }

    /// Sends requests over many connections; gives the CPU time of each in microseconds.
    fn load(&self, requests: usize) -> Outcome<f64> {
        let before = cpu_nanoseconds(self.process.id())?;
        let address = self.address;
        let each = requests / CONNECTIONS;
        let clients: Vec<_> = (0..CONNECTIONS).map(|_| thread::spawn(move || request(address, each).is_ok())).collect();
        for client in clients {
            if !client.join().is_ok_and(|done| done) {
                return Err("a client failed".into());
            }
        }
        let spent = cpu_nanoseconds(self.process.id())? - before;
        Ok(spent as f64 / 1000.0 / (each * CONNECTIONS) as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends requests one after the other over one connection.
fn request(address: SocketAddr, count: usize) -> Outcome {
    let mut connection = Connection::open(address)?;
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n");
    for _ in 0..count {
        connection.send(request.as_bytes())?;
    }
    Ok(())
}

/// The time that all threads of a process have run.
fn cpu_nanoseconds(process: u32) -> Outcome<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let run = fs::read_to_string(task?.path().join("schedstat"))?;
        sum += run.split(' ').next().ok_or("no schedstat")?.parse::<u64>()?;
    }
    Ok(sum)
}

fn serve_registry(data: &Path) -> Outcome {
    let registry = Registry::builder(data).open()?;
    let options = http::Options { workers: Some(1), ..Default::default() };
    let server = http::Server::bind("127.0.0.1:0", &registry, options)?;
    println!("{}", server.local_addr());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(server.run(std::future::pending()))?)
}

fn serve_bare(file: &Path, route: &str) -> Outcome {
    let body = web::Bytes::from(fs::read(file)?);
    let handler = move || {
        let body = body.clone();
        async move { HttpResponse::Ok().content_type("application/td+json").body(body) }
    };
    let route = route.to_owned();
    let factory = move || App::new().route(&route, web::get().to(handler.clone()));
    let server = HttpServer::new(factory).workers(1).tcp_nodelay(true).bind("127.0.0.1:0")?;
    println!("{}", server.addrs()[0]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(server.run())?)
}

/// A description of about so many bytes.
fn description(bytes: usize) -> String {
    let capability = |number| {
        format!(
            r#"{{"id": "capability-{number}", "name": "Capability {number}", "description": "{}"}}"#,
            "Answers questions about the weather of the coming days. ".repeat(3)
        )
    };
    let capabilities: Vec<_> = (0..bytes / 260).map(capability).collect();
    format!(
        r#"{{"@context": ["https://www.w3.org/2022/wot/td/v1.1", {{"lmos": "https://eclipse.dev/lmos/protocol/v1"}}],
        "@type": "lmos:Agent", "id": "urn:example:bench", "title": "A",
        "securityDefinitions": {{"nosec_sc": {{"scheme": "nosec"}}}}, "security": ["nosec_sc"],
        "lmos:capabilities": [{}]}}"#,
        capabilities.join(", ")
    )
}

fn print_row(name: &str, unit: &str, values: Vec<f64>) {
    let values = sorted(values);
    println!("{name:24} {:6.2} {unit:2}  ({:.2} … {:.2})", median(&values), values[0], values[values.len() - 1]);
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
