//! What hostile and heavy clients do to others: how soon `/health/live` answers, on a connection of its own each
//! time, while 40 slow clients, 5,000 event streams, a batch in chunks of one byte and 20,000 simultaneous
//! expiries go on at once. A read of a Thing is measured beside it.
//!
//! `cargo bench --bench hostile` prints a table; nothing is asserted.
//! Server and subscribers are processes of their own. Needs some 7,000 file descriptors a process for all of it:
//! with fewer there are fewer subscribers. `-- --small` does a tenth.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use agentdex::{Registry, Timestamp};
use agentdex_server::http;
use tokio::{io::AsyncReadExt, io::AsyncWriteExt};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SLOW_CLIENTS: usize = 40;
const SUBSCRIBERS: usize = 5_000;
const EXPIRIES: usize = 20_000;
/// How long the server is left alone first.
const CALM: Duration = Duration::from_secs(3);
/// The longest that the attack goes on.
const ATTACK: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_millis(20);
/// How long after the start of the server everything expires.
const LIFE: Duration = Duration::from_secs(15);

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", directory, expiries, ..] => return serve(Path::new(directory), expiries.parse()?),
        ["subscribe", address, count, ..] => return subscribe(address.parse()?, count.parse()?),
        _ => {}
    }
    let scale = if words.contains(&"--small") { 10 } else { 1 };
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    let (server, line) = spawn(&["serve", &directory.path().display().to_string(), &(EXPIRIES / scale).to_string()])?;
    let started = Instant::now();
    let address: SocketAddr = line.parse()?;
    println!(
        "agentdex {}, load {}",
        env!("CARGO_PKG_VERSION"),
        fs::read_to_string("/proc/loadavg").unwrap_or_default()
    );

    let over = Arc::new(AtomicBool::new(false));
    report("nothing else", probe(address, "/health/live", CALM, &over)?, probe(address, THING, CALM, &over)?);

    let (subscribers, opened) = spawn(&["subscribe", &address.to_string(), &(SUBSCRIBERS / scale).to_string()])?;
    let mut clients: Vec<_> = (0..SLOW_CLIENTS).map(|_| attack(&over, move |over| slow_body(address, over))).collect();
    clients.push(attack(&over, move |over| batch_in_bytes(address, over)));
    // The purge begins in the midst of it.
    let ended = over.clone();
    let reads = thread::spawn(move || probe(address, THING, ATTACK, &ended));
    let ended = over.clone();
    // Each purge is a change.
    let purged = log_seq(address)? + (EXPIRIES / scale) as u64;
    let watch = thread::spawn(move || {
        let mut last = 0;
        while started.elapsed() < LIFE || last < purged && !ended.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(250));
            last = log_seq(address).unwrap_or(last);
        }
        let took = started.elapsed().saturating_sub(LIFE);
        thread::sleep(Duration::from_secs(1));
        ended.store(true, Ordering::Relaxed);
        (took, purged.saturating_sub(last))
    });
    let health = probe(address, "/health/live", ATTACK, &over)?;
    over.store(true, Ordering::Relaxed);
    let reads = reads.join().map_err(|_| "a client panicked")??;
    report("under attack", health, reads);
    let (took, left) = watch.join().map_err(|_| "a client panicked")?;
    println!(
        "\n{opened} event streams; {} expiries, {left} of them not purged {took:.1?} after they were due",
        EXPIRIES / scale
    );
    println!("(goal: /health/live within 50 ms)");
    drop((subscribers, server));
    Ok(())
}

const THING: &str = "/things/urn:example:stays";

/// A process of this program, ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts this program in another role, and reads its first line.
fn spawn(arguments: &[&str]) -> Outcome<(Running, String)> {
    let mut process = Command::new(std::env::current_exe()?).args(arguments).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok((Running(process), line.trim().to_owned()))
}

/// Runs a client until it is over.
fn attack<T: Send + 'static>(
    over: &Arc<AtomicBool>,
    client: impl Fn(&AtomicBool) -> Outcome<T> + Send + 'static,
) -> thread::JoinHandle<()> {
    let over = over.clone();
    thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let _ = client(&over);
        }
    })
}

/// One byte of a body each second.
fn slow_body(address: SocketAddr, over: &AtomicBool) -> Outcome {
    let mut socket = TcpStream::connect(address)?;
    let head = "POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/td+json\r\nContent-Length: 100000\r\n\r\n";
    socket.write_all(head.as_bytes())?;
    while !over.load(Ordering::Relaxed) {
        socket.write_all(b" ")?;
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// A line of 400 KB in chunks of one byte.
fn batch_in_bytes(address: SocketAddr, _: &AtomicBool) -> Outcome {
    let mut socket = TcpStream::connect(address)?;
    let head = "POST /things/batch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes())?;
    let line = format!("{{\"title\": \"{}\"}}\n", "x".repeat(400_000));
    let chunks: Vec<u8> = line.bytes().flat_map(|byte| [b'1', b'\r', b'\n', byte, b'\r', b'\n']).collect();
    socket.write_all(&chunks)?;
    socket.write_all(b"0\r\n\r\n")?;
    socket.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// How long requests take, one after the other, each on a connection of its own.
fn probe(address: SocketAddr, path: &str, duration: Duration, over: &AtomicBool) -> Outcome<Vec<Duration>> {
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < duration && !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = get(address, path)?;
        times.push(asked.elapsed());
        if !answer.starts_with("HTTP/1.1 200 ") {
            return Err(answer.into());
        }
        thread::sleep(PAUSE);
    }
    Ok(times)
}

fn get(address: SocketAddr, path: &str) -> Outcome<String> {
    let mut socket = TcpStream::connect(address)?;
    let mut answer = String::new();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The end of the log.
fn log_seq(address: SocketAddr) -> Outcome<u64> {
    let metrics = get(address, "/metrics")?;
    let line = metrics.lines().find_map(|line| line.strip_prefix("agentdex_log_seq ")).ok_or("no metric")?;
    Ok(line.trim().parse()?)
}

fn report(what: &str, health: Vec<Duration>, reads: Vec<Duration>) {
    println!("\n{what}");
    for (name, mut times) in [("/health/live", health), ("GET /things/{id}", reads)] {
        times.sort();
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1000.0;
        println!(
            "{name:18} {:6} requests  p50 {:7.2} ms  p99 {:7.2} ms  max {:7.2} ms",
            times.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}

fn serve(directory: &Path, expiries: usize) -> Outcome {
    let registry = Registry::builder(directory).open()?;
    let due = Timestamp::now().plus_seconds(3600);
    let put = |id: usize, registration: &str| {
        let td = format!(
            r#"{{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:{id}", "title": "A", {registration}
            "securityDefinitions": {{"nosec_sc": {{"scheme": "nosec"}}}}, "security": ["nosec_sc"]}}"#
        );
        if id == usize::MAX { td.replace(&usize::MAX.to_string(), "stays") } else { td }
    };
    registry.put(put(usize::MAX, ""))?;
    let all = |registration: &str| -> Outcome {
        thread::scope(|scope| {
            let writers: Vec<_> = (0..64)
                .map(|writer| {
                    let (registry, put) = (&registry, &put);
                    scope.spawn(move || {
                        (writer..expiries).step_by(64).try_for_each(|id| registry.put(put(id, registration)).map(drop))
                    })
                })
                .collect();
            writers
                .into_iter()
                .try_for_each(|writer| writer.join().map_err(|_| "a writer panicked")?.map_err(Into::into))
        })
    };
    all(&format!(r#""registration": {{"expires": "{due}"}},"#))?;
    let due = Timestamp::now().plus_seconds(LIFE.as_secs());
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    // Only the expiry moves: no changes, and all of it at one moment.
    all(&format!(r#""registration": {{"expires": "{due}"}},"#))?;
    println!("{}", server.local_addr());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(server.run(std::future::pending()))?)
}

/// Opens event streams, says how many there are, and reads them all for ever.
fn subscribe(address: SocketAddr, count: usize) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..count {
            let mut socket = tokio::net::TcpStream::connect(address).await?;
            socket.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
            streams.push(socket);
        }
        let mut open = Vec::new();
        for mut socket in streams {
            let mut status = [0; 13];
            if socket.read_exact(&mut status).await.is_ok() && status == *b"HTTP/1.1 200 " {
                open.push(socket);
            }
        }
        println!("{}", open.len());
        for mut socket in open {
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 * 1024];
                while socket.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
            });
        }
        std::future::pending().await
    })
}
