//! What decisions of the guardian cost: in-process, over HTTP with keep-alive, and the memory of live sessions.
//!
//! `cargo bench --bench guardian` prints a table; nothing is asserted. `-- --small` does a tenth. The load of the HTTP
//! part runs in the same process, so that its numbers contain the cost of the client.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use agentdex::{
    Registry,
    policy::{Policy, PolicyFile},
    registry::{self, guardian},
};
use agentdex_server::http;
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const THREADS: usize = 2;
const DECISIONS: usize = 200_000;
const REQUESTS: usize = 100_000;
const CONNECTIONS: usize = 32;
const SESSIONS: usize = 10_000;
const AGENTS: usize = 100;

fn main() -> Outcome {
    let scale = if std::env::args().any(|argument| argument == "--small") { 10 } else { 1 };
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    println!("a step is a request of {} bytes\n", step(0, 0).to_string().len());
    let built_in = open(directory.path().join("built-in"), json!({}))?;
    in_process("in-process, built-in rules", &built_in, DECISIONS / scale)?;
    let masking = json!({"rules": {"mask-secrets": "enforce", "mask-personal-data": "enforce"}});
    in_process("in-process, with masking", &open(directory.path().join("masking"), masking)?, DECISIONS / scale)?;
    let own: Vec<Value> = (0..5)
        .map(|number| json!({"name": format!("own-{number}"), "denies": "step.tool == 'refund' and step.inputs.amount > 100"}))
        .collect();
    let own = json!({"expression": own});
    in_process("in-process, with 5 expressions", &open(directory.path().join("own"), own)?, DECISIONS / scale)?;
    over_http(&built_in, REQUESTS / scale)?;
    memory(directory.path().join("memory"), SESSIONS / scale)
}

fn agent(number: usize) -> Value {
    let tool = |tool: usize| {
        json!({
            "id": format!("tool_{tool}"), "name": format!("Tool {tool}"), "type": "function_call", "outputs": null,
            "description": "One of the tools that the agent of this bench may call",
            "arguments": [
                {"name": "city", "type": "string", "description": "Where", "required": true},
                {"name": "days", "type": "number", "description": "How long", "required": false},
            ],
        })
    };
    json!({
        "id": format!("urn:example:bench:{number}"), "name": "Bench", "version": "1.0.0",
        "instructions": "You are an agent in a bench. ".repeat(20),
        "provider": {"name": "Example", "url": "https://example.org"},
        "tools": (0..8).map(tool).collect::<Vec<_>>(),
    })
}

fn step(number: usize, session: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": number, "method": "steps/toolCallRequest", "params": {
        "context": {
            "agent": agent(session % AGENTS), "session": {"id": format!("session-{session}")},
            "turnId": format!("turn-{}", number / 10), "stepId": format!("step-{number}"),
            "timestamp": "2026-11-22T10:00:00Z",
        },
        "toolCallRequest": {"executionId": format!("x-{number}"), "toolId": "tool_3", "inputs": [
            {"name": "city", "value": "Cologne"}, {"name": "days", "value": 3},
        ]},
    }})
}

fn open(directory: PathBuf, policy: Value) -> Outcome<Registry> {
    let policy = Arc::new(Policy::compile(serde_json::from_value::<PolicyFile>(policy)?)?);
    let options = registry::Options::default().guardian(guardian::Options::default().policy(policy));
    let registry = Registry::builder(directory).options(options).open()?;
    for number in 0..AGENTS {
        let document = agentdex::convert::aos::AgentDocument::parse(agent(number).to_string().as_bytes(), false)?;
        registry.put(document.to_thing(&Default::default())?.things[0].description.text())?;
    }
    Ok(registry)
}

/// Decisions from the text of a request to the text of its answer.
fn in_process(name: &str, registry: &Registry, decisions: usize) -> Outcome {
    let decide = |text: &str| -> Outcome<usize> {
        let body: Value = serde_json::from_str(text)?;
        Ok(serde_json::to_vec(&registry.guardian().answer(&body))?.len())
    };
    let texts: Vec<String> = (0..1000).map(|number| step(number, number).to_string()).collect();
    for text in &texts {
        decide(text)?;
    }
    let barrier = Barrier::new(THREADS);
    let started = Instant::now();
    let mut times = thread::scope(|scope| {
        let running: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (barrier, texts, decide) = (&barrier, &texts, &decide);
                scope.spawn(move || {
                    let mut times = Vec::with_capacity(decisions / THREADS);
                    barrier.wait();
                    for number in 0..decisions / THREADS {
                        let started = Instant::now();
                        let text = &texts[(number * THREADS + thread) % texts.len()];
                        decide(text).unwrap_or_default();
                        times.push(started.elapsed());
                    }
                    times
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<Duration>>()
    });
    report(name, decisions, started.elapsed(), &mut times);
    Ok(())
}

fn over_http(registry: &Registry, requests: usize) -> Outcome {
    let server = http::Server::bind("127.0.0.1:0", registry, http::Options::default())?;
    let address = server.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = thread::spawn(move || -> Result<(), agentdex::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_or(Ok(()), |runtime| runtime.block_on(server.run(async { drop(stopped.await) })))
    });
    let started = Instant::now();
    let clients: Vec<_> =
        (0..CONNECTIONS).map(|client| thread::spawn(move || load(address, client, requests / CONNECTIONS))).collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.join().map_err(|_| "a client panicked")?.map_err(|error| error.to_string())?);
    }
    report("over HTTP, keep-alive, client included", times.len(), started.elapsed(), &mut times);
    let _ = stop.send(());
    serving.join().map_err(|_| "the server panicked")??;
    Ok(())
}

fn load(address: SocketAddr, client: usize, requests: usize) -> std::io::Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut times = Vec::with_capacity(requests);
    let mut body = Vec::new();
    for number in 0..requests {
        let text = step(number, client).to_string();
        let head = format!(
            "POST /aos HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        let started = Instant::now();
        stream.write_all((head + &text).as_bytes())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or_default();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        times.push(started.elapsed());
    }
    Ok(times)
}

/// What live sessions take, each with a turn of ten open calls.
fn memory(directory: PathBuf, sessions: usize) -> Outcome {
    let registry = open(directory, json!({}))?;
    registry.guardian().answer(&step(0, 0));
    let before = resident()?;
    for session in 0..sessions {
        for number in 0..10 {
            registry.guardian().answer(&step(number, session));
        }
    }
    let grown = resident()?.saturating_sub(before);
    println!(
        "{:42} {:>8.1} MB ({} live)",
        format!("{sessions} live sessions"),
        grown as f64 / 1024.0,
        registry.guardian().sessions(None, usize::MAX).len()
    );
    Ok(())
}

/// Resident memory in KiB.
fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

fn report(name: &str, count: usize, took: Duration, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    let each = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "{name:42} {:>8.0} a second; median {:>6.1} µs, p99 {:>6.1} µs, longest {:>8.1} µs",
        count as f64 / took.as_secs_f64(),
        each(at(0.5)),
        each(at(0.99)),
        each(times.last().copied().unwrap_or_default()),
    );
}
