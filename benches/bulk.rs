//! Many descriptions at once over HTTP, as a client sees it: `POST /things/batch` in one request, descriptions of
//! 3 KB. Prints the rate of each tenth, how far the search index is behind at the end, the memory of the server,
//! and how soon a restarted server is ready.
//!
//! `cargo bench --bench bulk` sends 100,000; `-- 1000000` a million, which
//! needs some 8 GB of disk. The vectors of searches by meaning are made as well, unless `-- --words`
//! says that words are enough. Nothing is asserted. The server is a process of its own.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use agentdex::{Registry, registry};
use agentdex_server::http;

mod support;

use support::{Outcome, document, rss_anon};

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words_only = arguments.iter().any(|argument| argument == "--words");
    if let [role, directory, ..] = arguments.as_slice()
        && role == "serve"
    {
        return serve(Path::new(directory), words_only);
    }
    let things = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    println!("load before: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    let server = Running::start(directory.path(), words_only)?;
    let started = Instant::now();
    let tenths = send(server.address, things)?;
    let took = started.elapsed();
    let behind = server.catch_up("search", started + took)?;
    let vectors_behind = server.catch_up("vectors", started + took)?;
    println!("{things} descriptions of {} bytes in {took:.1?}", document(0).1.len());
    println!("rate: {:.0}/s (goal 8,000/s)", things as f64 / took.as_secs_f64());
    println!("CPU time of the server: {:.0} µs a description", server.cpu_microseconds()? / things as f64);
    println!("search index behind at the end: {:.1?} (goal 2 s)", behind.unwrap_or_default());
    if let Some(behind) = vectors_behind {
        println!("vectors behind at the end: {behind:.1?}");
    }
    println!("written to disk: {} MB, the index included", server.written()? / 1_000_000);
    let rates: Vec<String> = tenths.iter().map(|rate| format!("{rate:.0}")).collect();
    println!("rate of each tenth: {}", rates.join(" "));
    let (first, last) = (tenths[0], tenths[tenths.len() - 1]);
    println!("last to first: {:.0} % (goal 70 %)", last / first * 100.0);
    println!("RssAnon: {} MB (goal 1,000 MB for a million)", rss_anon(server.process.id())?);
    server.stop()?;
    let restarted = Instant::now();
    let server = Running::start(directory.path(), words_only)?;
    while server.get("/health/ready")?.0 != 200 {
        thread::sleep(Duration::from_millis(10));
    }
    println!("restart to ready: {:.2?} (goal 2 s)", restarted.elapsed());
    println!("RssAnon after it: {} MB", rss_anon(server.process.id())?);
    server.stop()
}

fn serve(data: &Path, words_only: bool) -> Outcome {
    let options =
        registry::Options::default().model((!words_only).then_some(agentdex::search::semantic::Model::BuiltIn));
    let registry = Registry::builder(data).options(options).open()?;
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    println!("{}", server.local_addr());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Its parent closes its input.
    let over = async { drop(tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await) };
    runtime.block_on(server.run(over))?;
    registry.close();
    Ok(())
}

/// A server in a process of its own, ended when dropped.
struct Running {
    process: Child,
    address: SocketAddr,
}

impl Running {
    fn start(data: &Path, words_only: bool) -> Outcome<Running> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg(data).args(words_only.then_some("--words"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Running { process, address: line.trim().parse()? })
    }

    fn stop(mut self) -> Outcome {
        drop(self.process.stdin.take());
        self.process.wait()?;
        Ok(())
    }

    /// Status and body of a response.
    fn get(&self, path: &str) -> Outcome<(u16, String)> {
        let mut socket = TcpStream::connect(self.address)?;
        write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let answer = std::io::read_to_string(socket)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no response")?;
        Ok((head.split(' ').nth(1).ok_or("no status")?.parse()?, body.to_owned()))
    }

    /// How long after `start` a follower reaches the end of the log; none where there is no such follower.
    fn catch_up(&self, follower: &str, start: Instant) -> Outcome<Option<Duration>> {
        let name = format!("agentdex_follower_lag{{follower=\"{follower}\"}} ");
        loop {
            let metrics = self.get("/metrics")?.1;
            match metrics.lines().find_map(|line| line.strip_prefix(&name)) {
                None => return Ok(None),
                Some("0") => return Ok(Some(start.elapsed())),
                Some(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// The bytes that were written to the disk.
    fn written(&self) -> Outcome<u64> {
        let counted = fs::read_to_string(format!("/proc/{}/io", self.process.id()))?;
        let written = counted.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        Ok(written.ok_or("no write_bytes")?.parse()?)
    }

    /// The time that all threads have run.
    fn cpu_microseconds(&self) -> Outcome<f64> {
        let mut sum = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let run = fs::read_to_string(task?.path().join("schedstat"))?;
            sum += run.split(' ').next().ok_or("no schedstat")?.parse::<u64>()?;
        }
        Ok(sum as f64 / 1000.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends the descriptions in one request; the rate of each tenth, by the answers.
fn send(address: SocketAddr, things: usize) -> Outcome<Vec<f64>> {
    let mut socket = TcpStream::connect(address)?;
    let answers = BufReader::new(socket.try_clone()?);
    let sender = thread::spawn(move || {
        let head = "POST /things/batch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes())?;
        let mut chunk = String::new();
        for number in 0..things {
            chunk.push_str(&document(number).1);
            chunk.push('\n');
            if chunk.len() >= 64 * 1024 || number + 1 == things {
                socket.write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes())?;
                chunk.clear();
            }
        }
        socket.write_all(b"0\r\n\r\n")
    });
    let tenth = things.div_ceil(10);
    let (mut rates, mut answered, mut since) = (Vec::new(), 0, Instant::now());
    for line in answers.lines() {
        if !line?.contains("\"status\":201") {
            continue;
        }
        answered += 1;
        if answered % tenth == 0 || answered == things {
            let count = if answered % tenth == 0 { tenth } else { answered % tenth };
            rates.push(count as f64 / since.elapsed().as_secs_f64());
            since = Instant::now();
        }
    }
    sender.join().map_err(|_| "the sender panicked")??;
    if answered != things {
        return Err(format!("{answered} of {things} were registered").into());
    }
    Ok(rates)
}
