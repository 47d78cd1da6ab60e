//! What a call through the consumer costs beside the same request by reqwest alone, and what many conversations hold.
//!
//! `cargo bench --bench consumer` prints a table; nothing is asserted. The agent is a process of its own that reads a
//! request and answers with the same JSON each time; both sides keep their connections and take turns in rounds.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agentdex::{
    consumer::{Agent, Candidate, Consumer, Directory, Pending, Search, Settings},
    fetch::{AllowList, Options},
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ROUNDS: usize = 20;
const CALLS: usize = 500;
const CONVERSATIONS: usize = 1_000;
/// How long the agent takes for an answer while conversations are counted.
const SLOW: Duration = Duration::from_secs(3);

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.first().is_some_and(|first| first == "serve") {
        return runtime.block_on(serve());
    }
    let mut server = Command::new(std::env::current_exe()?).arg("serve").stdout(Stdio::piped()).spawn()?;
    let mut address = String::new();
    BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut address)?;
    // The first to connect installs it otherwise, and here reqwest alone is the first.
    let installed = rustls::crypto::ring::default_provider().install_default();
    let result = match installed {
        Ok(()) => runtime.block_on(measure(address.trim())),
        Err(_) => Err("another provider of cryptography is installed".into()),
    };
    server.kill()?;
    server.wait()?;
    result
}

async fn measure(address: &str) -> Outcome {
    println!("agentdex {}, load {}", env!("CARGO_PKG_VERSION"), fs::read_to_string("/proc/loadavg")?);
    let agent = agent(address)?;
    let http = reqwest::Client::builder().build()?;
    let url = format!("http://{address}/now");
    let (mut bare, mut called, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut times = Vec::new();
        for _ in 0..CALLS {
            let started = Instant::now();
            let answer: Value =
                http.post(&url).json(&json!({"question": "Will it rain?"})).send().await?.json().await?;
            times.push(started.elapsed());
            assert!(answer.get("answer").is_some());
        }
        bare.push(median(&mut times));
        for _ in 0..CALLS {
            let started = Instant::now();
            agent.call("now", json!({"question": "Will it rain?"})).await?;
            times.push(started.elapsed());
        }
        called.push(median(&mut times));
        for _ in 0..CALLS {
            let started = Instant::now();
            agent.ask("Will it rain?").await?;
            times.push(started.elapsed());
        }
        asked.push(median(&mut times));
    }
    println!("\n| p50 of {CALLS} calls, {ROUNDS} rounds | median | least | greatest |\n|---|---|---|---|");
    let [bare, called, asked] = [("reqwest alone", bare), ("agent.call", called), ("agent.ask", asked)].map(print);
    println!("\na call costs {:.0} µs more, a question {:.0} µs (goal 100 µs)", called - bare, asked - bare);

    let before = resident()?;
    let slow = agent.update(Settings::new().action("slow"));
    let mut conversations = std::pin::pin!(join_all((0..CONVERSATIONS).map(|_| slow.ask("Will it rain?"))));
    let during = tokio::select! {
        _ = &mut conversations => return Err("the agent was not slow".into()),
        () = tokio::time::sleep(SLOW / 2) => resident()?,
    };
    let answered = conversations.await.into_iter().filter(Result::is_ok).count();
    println!(
        "{CONVERSATIONS} conversations that wait for their answers: {:.1} MB more (goal 100 MB); {answered} answered",
        during.saturating_sub(before) as f64 / 1024.0
    );
    Ok(())
}

fn median(times: &mut Vec<Duration>) -> f64 {
    times.sort();
    let median = times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64) * 1e6;
    times.clear();
    median
}

fn print((name, mut rounds): (&str, Vec<f64>)) -> f64 {
    rounds.sort_by(f64::total_cmp);
    let at = |index: usize| rounds.get(index).copied().unwrap_or_default();
    println!("| {name} | {:.0} µs | {:.0} µs | {:.0} µs |", at(ROUNDS / 2), at(0), at(ROUNDS - 1));
    at(ROUNDS / 2)
}

/// The memory of this process in KiB.
fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// A directory of nothing: the agent is known.
#[derive(Debug)]
struct Nobody;

impl Directory for Nobody {
    fn search<'a>(&'a self, _: &'a Search) -> Pending<'a, Vec<Candidate>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn description<'a>(&'a self, _: &'a str) -> Pending<'a, Option<String>> {
        Box::pin(async { Ok(None) })
    }
}

fn agent(address: &str) -> Outcome<Agent> {
    let input = json!({"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]});
    let output = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let action = |name: &str| json!({"input": input, "output": output, "forms": [{"href": format!("http://{address}/{name}"), "contentType": "application/json"}]});
    let description = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:thing", "title": "Thing",
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
        "actions": {"now": action("now"), "slow": action("slow")},
    });
    let options = Options::default().allowed(AllowList::parse(["127.0.0.0/8"])?);
    let consumer = Consumer::with_options(Nobody, options)?;
    Ok(consumer.agent_of(&description.to_string())?.update(Settings::new().action("now")))
}

/// The agent: one answer for every request, at once or after a while.
async fn serve() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        // A connection that breaks is its client's end.
        tokio::spawn(async move { drop(converse(socket).await) });
    }
}

async fn converse(mut socket: TcpStream) -> Outcome {
    socket.set_nodelay(true)?;
    let mut received = Vec::new();
    loop {
        let head = loop {
            if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if socket.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        };
        let text = String::from_utf8_lossy(received.get(..head).unwrap_or_default()).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:")).map_or("0", str::trim);
        let end = head + length.parse::<usize>()?;
        while received.len() < end {
            if socket.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        }
        received.drain(..end);
        if text.starts_with("post /slow") {
            tokio::time::sleep(SLOW).await;
        }
        let body = r#"{"answer":"Take an umbrella."}"#;
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(answer.as_bytes()).await?;
    }
}
