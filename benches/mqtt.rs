//! How fast changes reach MQTT subscribers of the built-in endpoint.
//!
//! `cargo bench --bench mqtt` prints a table; nothing is asserted. The clients are threads of the same
//! process that read, count and acknowledge: what they cost is in the figures. A change counts from
//! its acknowledgement; where a subscriber is faster than the writer's thread wakes, that is 0, which
//! is why the time from the call stands beside it. `-- --small` does a tenth, to see that it works.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{Arc, Barrier},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use agentdex::Registry;
use agentdex_server::mqtt::{Endpoint, EndpointOptions};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const SUBSCRIBERS: usize = 10;
const ROUNDS: usize = 5;
const WRITERS: usize = 64;
const HOSTILE_CLIENTS: usize = 20;
const HOSTILE_FILTERS: usize = 1000;
/// What is subscribed to: one message a change.
const FILTER: &str = "agentdex/events/#";

fn main() -> Outcome {
    let scale = if std::env::args().any(|argument| argument == "--small") { 10 } else { 1 };
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    let registry = Registry::builder(directory.path()).open()?;
    let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), EndpointOptions::default())?;
    let bench = Bench { address: endpoint.local_addr(), registry };
    println!("events of 3 KB descriptions at QoS 1, medians of {ROUNDS} rounds\n");
    println!("| what | figure | goal | |");
    println!("|---|---|---|---|");
    for (subscribers, goal) in [(1, 1.0), (SUBSCRIBERS, 1.5)] {
        bench.latency(subscribers, 1000 / scale, goal)?;
    }
    bench.hostile_filters(100 / scale)?;
    bench.fan_out(10_000 / scale)?;
    bench.retained(10_000 / scale)?;
    endpoint.stop();
    bench.registry.close();
    Ok(())
}

struct Bench {
    address: SocketAddr,
    registry: Registry,
}

impl Bench {
    /// One change after the other, each when the last has reached everybody.
    fn latency(&self, subscribers: usize, changes: usize, goal: f64) -> Outcome {
        let (mut commits, mut from_call, mut from_durable) = (Vec::new(), Vec::new(), Vec::new());
        let mut clients = Vec::new();
        for number in 0..subscribers {
            clients.push(Client::subscribe(self.address, &format!("latency-{number}"), true)?);
        }
        for number in 0..changes {
            let document = document(&format!("urn:latency:{}", number % 10), &format!("{subscribers}-{number}"));
            let waiting: Vec<JoinHandle<Outcome2>> = clients
                .drain(..)
                .map(|mut client| {
                    thread::spawn(move || {
                        client.take(1)?;
                        Ok((client, Instant::now()))
                    })
                })
                .collect();
            // The readers are to be waiting, as subscribers do.
            thread::sleep(Duration::from_millis(1));
            let called = Instant::now();
            self.registry.put(&document)?;
            let durable = Instant::now();
            commits.push(durable - called);
            for waiting in waiting {
                let (client, received) = waiting.join().map_err(|_| "a subscriber panicked")??;
                from_call.push(received - called);
                from_durable.push(received.saturating_duration_since(durable));
                clients.push(client);
            }
        }
        let name = format!("{subscribers} subscriber{}", if subscribers == 1 { "" } else { "s" });
        let (durable_p50, durable_p99) = percentiles(&mut from_durable);
        let (call_p50, call_p99) = percentiles(&mut from_call);
        let (commit_p50, _) = percentiles(&mut commits);
        row(&format!("acknowledged change → {name}, p50 (p99 {durable_p99:.2} ms)"), durable_p50, "ms", goal, false);
        println!(
            "| call → {name}, the commit of {commit_p50:.2} ms included, p50 (p99 {call_p99:.2} ms) | {call_p50:.2} ms | | |"
        );
        Ok(())
    }

    /// What a subscriber of one agent notices while others have filters that match nothing, and an agent
    /// with very many capabilities is updated without a pause.
    fn hostile_filters(&self, changes: usize) -> Outcome {
        let mut figures = Vec::new();
        for clients in [0, HOSTILE_CLIENTS] {
            let mut hostile = Vec::new();
            for number in 0..clients {
                let mut client = Client::connect(self.address, &format!("hostile-{number}"), true)?;
                for filter in 0..HOSTILE_FILTERS {
                    let levels = ["agentdex/capabilities/+/+/x", "+/+/+/thing_updated/x", "agentdex/+/+/x"];
                    let filter = format!("{}{number}-{filter}", levels[filter % levels.len()]);
                    client.request_subscription(&filter)?;
                    client.wait_for(9)?;
                }
                hostile.push(client);
            }
            let mut client = Client::connect(self.address, "innocent", true)?;
            client.request_subscription("agentdex/events/+/urn:innocent")?;
            client.wait_for(9)?;
            let stop = std::sync::atomic::AtomicBool::new(false);
            let times = thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    let mut number = 0;
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        self.registry.put(capable_document(990, number))?;
                        number += 1;
                    }
                    Ok::<_, agentdex::Error>(())
                });
                let times = (0..changes).map(|number| {
                    let called = Instant::now();
                    self.registry.put(document("urn:innocent", &format!("{clients}-{number}")))?;
                    client.take(1)?;
                    Ok(called.elapsed())
                });
                let times: Outcome<Vec<Duration>> = times.collect();
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
                writer.join().map_err(|_| "the writer panicked")??;
                times
            });
            figures.push(percentiles(&mut times?));
        }
        for (clients, (p50, p99)) in [0, HOSTILE_CLIENTS].iter().zip(figures) {
            println!(
                "| call → 1 subscriber, while an agent with 990 capabilities is updated and {clients} clients have \
                 {HOSTILE_FILTERS} filters each that match nothing, p50 (p99 {p99:.2} ms) | {p50:.2} ms | | |"
            );
        }
        Ok(())
    }

    /// Many changes to sessions that were away, and to subscribers that are there.
    fn fan_out(&self, changes: usize) -> Outcome {
        let mut away = Vec::new();
        let mut live = Vec::new();
        for round in 0..ROUNDS {
            let names: Vec<String> = (0..SUBSCRIBERS).map(|number| format!("fan-out-{number}")).collect();
            for name in &names {
                let mut client = Client::subscribe(self.address, name, false)?;
                client.leave()?;
            }
            self.write(changes, &format!("away-{round}"))?;
            let begun = Instant::now();
            let readers: Vec<_> = names.iter().map(|name| self.read(name.clone(), false, changes)).collect();
            join(readers)?;
            away.push(deliveries(changes, begun.elapsed()));

            let there = Arc::new(Barrier::new(SUBSCRIBERS + 1));
            let readers: Vec<_> = (0..SUBSCRIBERS)
                .map(|number| {
                    let (address, there) = (self.address, there.clone());
                    thread::spawn(move || {
                        let mut client = Client::subscribe(address, &format!("live-{number}"), true)?;
                        there.wait();
                        client.take(changes)
                    })
                })
                .collect();
            there.wait();
            let begun = Instant::now();
            self.write(changes, &format!("live-{round}"))?;
            join(readers)?;
            live.push(deliveries(changes, begun.elapsed()));
        }
        let name = format!("{changes} changes to {SUBSCRIBERS} subscribers that were away");
        row(&name, median(away), "deliveries/s", 100_000.0, true);
        let name = format!("the same while they are written, by {WRITERS} writers");
        row(&name, median(live), "deliveries/s", 100_000.0, true);
        Ok(())
    }

    /// The current state to a new subscriber, and to twenty at once.
    fn retained(&self, things: usize) -> Outcome {
        self.write(things, "retained")?;
        let things = usize::try_from(self.registry.len())?;
        for subscribers in [1, 20] {
            let begun = Instant::now();
            let readers = (0..subscribers).map(|number| {
                let address = self.address;
                thread::spawn(move || {
                    let mut client = Client::connect(address, &format!("retained-{number}"), true)?;
                    client.request_subscription("agentdex/things/#")?;
                    client.take(things)
                })
            });
            join(readers.collect())?;
            println!("| {things} descriptions to {subscribers} new | {:.0} ms | | |", milliseconds(begun.elapsed()));
        }
        println!("\nmemory of this process, clients included: {}", memory());
        Ok(())
    }

    fn read(&self, name: String, clean: bool, count: usize) -> JoinHandle<Outcome3> {
        let address = self.address;
        thread::spawn(move || Client::connect(address, &name, clean)?.take(count))
    }

    fn write(&self, changes: usize, title: &str) -> Outcome {
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    scope.spawn(move || {
                        for number in (writer..changes).step_by(WRITERS) {
                            self.registry.put(document(&format!("urn:agent:{number}"), title))?;
                        }
                        Ok::<_, agentdex::Error>(())
                    })
                })
                .collect();
            for writer in writers {
                writer.join().map_err(|_| "a writer panicked")??;
            }
            Ok(())
        })
    }
}

/// What threads return: their errors have to be sendable.
type Outcome2 = Result<(Client, Instant), std::io::Error>;
type Outcome3 = Result<(), std::io::Error>;

fn join(threads: Vec<JoinHandle<Outcome3>>) -> Outcome {
    for thread in threads {
        thread.join().map_err(|_| "a subscriber panicked")??;
    }
    Ok(())
}

/// An MQTT 3.1.1 client that counts and acknowledges.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Messages that came and weren't taken yet.
    messages: usize,
}

impl Client {
    fn connect(address: SocketAddr, name: &str, clean: bool) -> std::io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut client = Client { stream, buffer: Vec::new(), messages: 0 };
        let mut body = b"\x00\x04MQTT\x04".to_vec();
        body.extend_from_slice(&[u8::from(clean) << 1, 0, 0, 0, name.len() as u8]);
        body.extend_from_slice(name.as_bytes());
        client.send(0x10, &body)?;
        client.wait_for(2)?;
        Ok(client)
    }

    fn subscribe(address: SocketAddr, name: &str, clean: bool) -> std::io::Result<Client> {
        let mut client = Client::connect(address, name, clean)?;
        client.request_subscription(FILTER)?;
        client.wait_for(9)?;
        Ok(client)
    }

    fn request_subscription(&mut self, filter: &str) -> std::io::Result<()> {
        let mut body = vec![0, 1, 0, filter.len() as u8];
        body.extend_from_slice(filter.as_bytes());
        body.push(1);
        self.send(0x82, &body)
    }

    fn leave(&mut self) -> std::io::Result<()> {
        self.send(0xe0, &[])?;
        while self.stream.read(&mut [0; 64])? > 0 {}
        Ok(())
    }

    fn send(&mut self, first: u8, body: &[u8]) -> std::io::Result<()> {
        let mut bytes = vec![first, body.len() as u8];
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes)
    }

    fn wait_for(&mut self, kind: u8) -> std::io::Result<()> {
        while self.receive()?.iter().all(|received| *received != kind) {}
        Ok(())
    }

    /// Receives and acknowledges messages.
    fn take(&mut self, count: usize) -> std::io::Result<()> {
        while self.messages < count {
            self.receive()?;
        }
        self.messages -= count;
        Ok(())
    }

    /// Reads what is there, acknowledges the messages in it, and returns the kinds of its packets.
    fn receive(&mut self) -> std::io::Result<Vec<u8>> {
        let mut chunk = [0; 64 * 1024];
        let read = self.stream.read(&mut chunk)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&chunk[..read]);
        let (mut kinds, mut acknowledgements, mut start) = (Vec::new(), Vec::new(), 0);
        while let Some((header, length)) = frame(&self.buffer[start..]) {
            let body = &self.buffer[start + header..start + header + length];
            let kind = self.buffer[start] >> 4;
            if kind == 3 {
                self.messages += 1;
                let id = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
                acknowledgements.extend_from_slice(&[0x40, 2, body[id], body[id + 1]]);
            }
            kinds.push(kind);
            start += header + length;
        }
        self.buffer.drain(..start);
        self.stream.write_all(&acknowledgements)?;
        Ok(kinds)
    }
}

/// The lengths of the first packet's header and body, if it is complete.
fn frame(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0;
    for index in 1..5 {
        let byte = *bytes.get(index)?;
        length |= usize::from(byte & 0x7f) << (7 * (index - 1));
        if byte & 0x80 == 0 {
            return (bytes.len() > index + length).then_some((index + 1, length));
        }
    }
    None
}

/// A description of about 3 KB.
fn document(id: &str, title: &str) -> String {
    let description = "Answers questions about orders, invoices and returns. ".repeat(48);
    format!(
        r#"{{"@context":["https://www.w3.org/2022/wot/td/v1.1",{{"lmos":"https://eclipse.dev/lmos/protocol/v1"}}],"@type":"lmos:Agent","id":"{id}","title":"Agent {title}","description":"{description}","security":"none","securityDefinitions":{{"none":{{"scheme":"nosec"}}}},"lmos:capabilities":[{{"id":"orders","name":"Orders"}}],"actions":{{"chat":{{"forms":[{{"href":"https://example.org/{id}"}}]}}}}}}"#
    )
}

/// A description with many capabilities.
fn capable_document(capabilities: usize, version: usize) -> String {
    let capabilities: Vec<String> =
        (0..capabilities).map(|key| format!(r#"{{"id":"capability-{key}","name":"Capability {key}"}}"#)).collect();
    format!(
        r#"{{"@context":["https://www.w3.org/2022/wot/td/v1.1",{{"lmos":"https://eclipse.dev/lmos/protocol/v1"}}],"@type":"lmos:Agent","id":"urn:capable","title":"Agent {version}","security":"none","securityDefinitions":{{"none":{{"scheme":"nosec"}}}},"lmos:capabilities":[{}]}}"#,
        capabilities.join(",")
    )
}

fn row(what: &str, figure: f64, unit: &str, goal: f64, more_is_better: bool) {
    let met = if more_is_better { figure >= goal } else { figure <= goal };
    let (sign, verdict) = (if more_is_better { "≥" } else { "≤" }, if met { "met" } else { "MISSED" });
    let digits = if more_is_better { 0 } else { 2 };
    println!("| {what} | {figure:.digits$} {unit} | {sign} {goal} {unit} | {verdict} |");
}

fn deliveries(changes: usize, took: Duration) -> f64 {
    (changes * SUBSCRIBERS) as f64 / took.as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn percentiles(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    (milliseconds(times[times.len() / 2]), milliseconds(times[times.len() * 99 / 100]))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.map_or("unknown".into(), |line| line.trim().into())
}
