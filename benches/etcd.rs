//! Durable writes over HTTP against etcd: the same values of 3 KB, one client and 64, in one run.
//!
//! `cargo bench --bench etcd` prints a table; nothing is asserted.
//! etcd (Debian: `etcd-server`) is reached by its JSON gateway, which costs it much of its time: its
//! gRPC interface, which no client for is at hand here, is faster. Without etcd only our own figures are
//! printed. Both servers are processes of their own on the same disk and take turns. `-- --small` does a
//! tenth.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use agentdex::Registry;
use agentdex_server::http;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 5;
const CLIENTS: usize = 64;
const VALUE_BYTES: usize = 3000;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["serve-registry", directory, ..] = words.as_slice() {
        return serve_registry(Path::new(directory));
    }
    let scale = if words.contains(&"--small") { 10 } else { 1 };
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    let etcd = start_etcd(&directory.path().join("etcd"))?;
    if etcd.is_none() {
        println!("etcd is not installed (Debian: apt-get install etcd-server): our own figures alone\n");
    }
    let servers: Vec<Server> = etcd.into_iter().chain([start_agentdex(&directory.path().join("agentdex"))?]).collect();
    let loads = [("1 client", 1, 500 / scale), (&*format!("{CLIENTS} clients"), CLIENTS, 6400 / scale)];
    let mut next = 0;
    println!("durable writes over HTTP, values of {VALUE_BYTES} bytes; median of {ROUNDS} rounds (lowest … highest)\n");
    for (name, clients, writes) in loads {
        let mut results = vec![(Vec::new(), Vec::new()); servers.len()];
        for _ in 0..ROUNDS {
            for (server, (rates, costs)) in servers.iter().zip(&mut results) {
                let (rate, cost) = server.load(next, clients, writes)?;
                next += writes;
                rates.push(rate);
                costs.push(cost);
            }
        }
        for (server, (rates, costs)) in servers.iter().zip(&mut results) {
            rates.sort_by(f64::total_cmp);
            costs.sort_by(f64::total_cmp);
            let (lowest, median, highest) = (rates[0], rates[ROUNDS / 2], rates[ROUNDS - 1]);
            println!(
                "{:24} {name:>10}  {median:7.0}/s ({lowest:.0} … {highest:.0})  {:5.0} µs of CPU a write",
                server.name,
                costs[ROUNDS / 2]
            );
        }
        if let [etcd, ours] = results.as_slice() {
            println!("{:24} {name:>10}  {:7.2} times as many", "", ours.0[ROUNDS / 2] / etcd.0[ROUNDS / 2]);
        }
    }
    println!("\n(goal: 3 times as many with 1 client, 1.5 times as many with {CLIENTS})");
    Ok(())
}

/// A server in a process of its own.
struct Server {
    name: String,
    process: Child,
    address: SocketAddr,
    request: fn(usize) -> String,
}

impl Server {
    /// Writes by several clients at once: their rate per second, and the CPU time of each in microseconds.
    fn load(&self, first: usize, clients: usize, writes: usize) -> Outcome<(f64, f64)> {
        let (before, next) = (cpu_microseconds(self.process.id())?, AtomicUsize::new(first));
        let client = || -> Result<(), String> {
            let mut connection = Connection::open(self.address).map_err(|error| error.to_string())?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= first + writes {
                    return Ok(());
                }
                connection.send(&(self.request)(number)).map_err(|error| error.to_string())?;
            }
        };
        let started = Instant::now();
        thread::scope(|scope| {
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked".to_owned())?)
        })?;
        let rate = writes as f64 / started.elapsed().as_secs_f64();
        Ok((rate, (cpu_microseconds(self.process.id())? - before) / writes as f64))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn start_etcd(directory: &Path) -> Outcome<Option<Server>> {
    let Ok(version) = Command::new("etcd").arg("--version").output() else { return Ok(None) };
    let version = String::from_utf8_lossy(&version.stdout);
    let name =
        version.lines().next().unwrap_or_default().replace("etcd Version:", "etcd").to_owned() + ", JSON gateway";
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let (address, peer) = (free()?, free()?);
    let process = Command::new("etcd")
        .arg("--data-dir")
        .arg(directory)
        .args(["--listen-client-urls", &format!("http://{address}")])
        .args(["--advertise-client-urls", &format!("http://{address}")])
        .args(["--listen-peer-urls", &format!("http://{peer}")])
        .args(["--initial-advertise-peer-urls", &format!("http://{peer}")])
        .args(["--initial-cluster", &format!("default=http://{peer}"), "--log-level", "error"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let server = Server { name, process, address, request: etcd_request };
    let deadline = Instant::now() + Duration::from_secs(60);
    while Connection::open(address).and_then(|mut connection| connection.send(&etcd_request(0))).is_err() {
        if Instant::now() > deadline {
            return Err("etcd doesn't answer".into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(Some(server))
}

fn start_agentdex(directory: &Path) -> Outcome<Server> {
    let mut process =
        Command::new(std::env::current_exe()?).arg("serve-registry").arg(directory).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok(Server { name: "agentdex".into(), process, address: line.trim().parse()?, request: agentdex_request })
}

fn serve_registry(data: &Path) -> Outcome {
    let registry = Registry::builder(data).open()?;
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    println!("{}", server.local_addr());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(server.run(std::future::pending()))?)
}

struct Connection {
    socket: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Outcome<Connection> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Connection { socket, answer: Vec::new() })
    }

    /// Sends a request and reads the answer.
    fn send(&mut self, request: &str) -> Outcome {
        self.socket.write_all(request.as_bytes())?;
        self.answer.clear();
        let mut buffer = [0; 16 * 1024];
        loop {
            let read = self.socket.read(&mut buffer)?;
            if read == 0 {
                return Err("the connection ended".into());
            }
            self.answer.extend_from_slice(&buffer[..read]);
            let Some(end) = self.answer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.answer[..end])?.to_ascii_lowercase();
            if !head.starts_with("http/1.1 20") {
                return Err(String::from_utf8_lossy(&self.answer).into_owned().into());
            }
            let length = head.split("content-length: ").nth(1).map_or("0", |rest| rest.lines().next().unwrap_or("0"));
            if self.answer.len() >= end + 4 + length.trim().parse::<usize>()? {
                return Ok(());
            }
        }
    }
}

fn id(number: usize) -> String {
    format!("urn:example:agent:{:016x}", (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn agentdex_request(number: usize) -> String {
    let body = description(number);
    format!(
        "PUT /things/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/td+json\r\nContent-Length: {}\r\n\r\n{body}",
        id(number),
        body.len()
    )
}

fn etcd_request(number: usize) -> String {
    let (key, value) = (base64(id(number).as_bytes()), base64(description(number).as_bytes()));
    let body = format!(r#"{{"key":"{key}","value":"{value}"}}"#);
    format!("POST /v3/kv/put HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A description of [`VALUE_BYTES`].
fn description(number: usize) -> String {
    let start = format!(
        r#"{{"@context":["https://www.w3.org/2022/wot/td/v1.1",{{"lmos":"https://eclipse.dev/lmos/protocol/v1"}}],"@type":"lmos:Agent","id":"{}","title":"Agent {number}","securityDefinitions":{{"nosec_sc":{{"scheme":"nosec"}}}},"security":"nosec_sc","lmos:capabilities":[{{"id":"forecast","name":"Forecast"}}],"description":""#,
        id(number)
    );
    let words = (number..).map(|index| format!("w{:x} ", index.wrapping_mul(0x9e37_79b9) & 0xfff));
    let mut text = String::with_capacity(VALUE_BYTES);
    text.push_str(&start);
    words
        .take_while(|word| {
            text.push_str(word);
            text.len() < VALUE_BYTES
        })
        .for_each(drop);
    text.truncate(VALUE_BYTES - 2);
    text + "\"}"
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().enumerate().fold(0_u32, |bits, (index, byte)| bits | u32::from(*byte) << (16 - 8 * index));
        for index in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// User and system time of a process, threads that have ended included; to 10 ms.
fn cpu_microseconds(process: u32) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(") ").ok_or("no stat")?.1.split(' ').collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) * 10_000.0)
}
