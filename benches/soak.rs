//! Whether a server holds out: writers, readers, searchers and subscribers over SSE and MQTT, all authenticated and over
//! TLS, for as long as one likes.
//!
//! `cargo bench --bench soak` runs for ten minutes, `-- --seconds 60` for one; `--writes 8` sets how many writes a second
//! there are beside ten reads and a search for each, `--before 0` how many there are before anything is measured: as many
//! as fill the caches, unless one says otherwise. It prints latencies and memory. It fails if a request fails, or if a
//! subscriber loses an event or receives one out of order, including subscribers that read nothing, are cut off, and resume.
//! Growth of memory is a failure only in a release build that runs for at least ten minutes: shorter runs still fill caches.
//!
//! `-- --agents 100000` measures memory as well: idle with the examples, after a batch of that number of descriptions of 3 KB,
//! after the load, and after a restart. `--repeats 3` sends a batch of changed descriptions, and the load, three times.
//! With it, `--before` is 0 unless given: the batch fills the caches.

mod support;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use agentdex::{Seq, store::Gaps};
use reqwest::{Body, Client, Response};
use rumqttc::{
    TlsConfiguration, Transport,
    v5::{AsyncClient, Event, MqttOptions, mqttbytes::QoS, mqttbytes::v5::Packet},
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{interval, sleep, timeout},
};

use self::support::{document, rss_anon};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const WRITERS: usize = 16;
const READERS: usize = 64;
const SEARCHERS: usize = 32;
const SSE_SUBSCRIBERS: usize = 500;
const MQTT_SUBSCRIBERS: usize = 200;
/// Those that read nothing until the end.
const SLOW_SUBSCRIBERS: usize = 8;
/// The Things that each writer replaces again and again.
const THINGS: usize = 64;
/// How long subscribers have for the rest once nothing is written any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// Subscribers connect one after the other, as those elsewhere do.
const BETWEEN_CONNECTIONS: Duration = Duration::from_millis(10);
/// Idle time before the server's memory is measured.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// How much memory may grow from the third quarter of the time to the last, in per cent and in MB.
const MOST_GROWTH: (f64, f64) = (5.0, 8.0);
/// Duration from which growth of memory in a release build is a failure. A shorter run still fills caches.
const SECONDS_OF_A_PLATEAU: u64 = 600;

fn main() -> Outcome {
    let number = |name: &str, default: u64| {
        let given = env::args().skip_while(|argument| argument != name).nth(1);
        given.map_or(Ok(default), |given| given.parse())
    };
    let (seconds, writes, agents) = (number("--seconds", 600)?, number("--writes", 32)?, number("--agents", 0)?);
    let before = number("--before", if agents == 0 { 60_000 } else { 0 })?;
    let directory = tempfile::tempdir_in(env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    let server = Server::start(directory.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let soak = Arc::new(Soak {
        http: server.client(&server.reader)?,
        writer: server.client(&server.writer)?,
        url: server.url.clone(),
        last: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        subscribed: AtomicU64::new(0),
        events: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
        figures: Mutex::default(),
        failures: Mutex::default(),
    });
    let mut states = States::default();
    if agents > 0 {
        runtime.block_on(soak.register_examples())?;
        runtime.block_on(states.add("idle with the examples", &server))?;
    }
    let mut reported = Ok(());
    for repeat in 0..number("--repeats", 1)?.max(1) {
        if agents > 0 {
            runtime.block_on(soak.send_batch(agents as usize, repeat))?;
            runtime.block_on(states.add("after the batch", &server))?;
        }
        let load = soak.clone().run(&server, Duration::from_secs(seconds), (before, writes as f64));
        let memory = runtime.block_on(load)?;
        if agents > 0 {
            runtime.block_on(states.add("after the load", &server))?;
        }
        reported = reported.and(soak.report(&memory, seconds));
    }
    if agents > 0 {
        server.stop()?;
        runtime.block_on(states.add("after a restart", &Server::start(directory.path())?))?;
        states.print();
    }
    reported
}

/// Memory of the server in several states: its `RssAnon` in MB, and what it says of itself.
#[derive(Default)]
struct States(Vec<(&'static str, u64, String)>);

impl States {
    /// Adds a state, once all followers of the log are at its end and ten seconds have passed.
    async fn add(&mut self, state: &'static str, server: &Server) -> Outcome {
        let http = server.client(&server.reader)?;
        let metrics = || async {
            let answer = http.get(format!("{}/metrics", server.url)).send().await?.error_for_status()?;
            Outcome::Ok(answer.text().await?)
        };
        let is_behind = |line: &str| line.starts_with("agentdex_follower_lag{") && !line.ends_with(" 0");
        while metrics().await?.lines().any(is_behind) {
            sleep(Duration::from_millis(100)).await;
        }
        sleep(IDLE_TIME).await;
        let memory = rss_anon(server.process.id()).map_err(|error| error.to_string())?;
        let metrics = metrics().await?;
        let own = metrics.lines().filter_map(|line| line.strip_prefix("agentdex_memory_bytes{kind="));
        self.0.push((state, memory, own.collect::<Vec<_>>().join(", ").replace(['"', '}'], "")));
        Ok(())
    }

    fn print(&self) {
        println!("\n| state | RssAnon | agentdex_memory_bytes |\n|---|---|---|");
        for (state, memory, own) in &self.0 {
            println!("| {state} | {memory} MB | {own} |");
        }
    }
}

/// The server in a process of its own, with keys and a certificate.
struct Server {
    process: Child,
    url: String,
    mqtt: u16,
    ca: Vec<u8>,
    writer: Key,
    reader: Key,
}

struct Key {
    id: String,
    text: String,
}

impl Server {
    fn start(directory: &Path) -> Outcome<Server> {
        let program = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_agentdex"));
            for (name, _) in env::vars().filter(|(name, _)| name.starts_with("AGENTDEX_")) {
                command.env_remove(name);
            }
            command.current_dir(directory);
            command
        };
        let key = |role: &str| -> Outcome<Key> {
            let made =
                program().args(["keys", "create", "--role", role, "--owner", "soak", "--data", "data"]).output()?;
            let text = String::from_utf8(made.stdout)?.trim().to_owned();
            let id = text.split('_').nth(1).ok_or_else(|| String::from_utf8_lossy(&made.stderr).into_owned())?;
            Ok(Key { id: id.to_owned(), text: text.clone() })
        };
        let (writer, reader) = (key("register")?, key("read")?);
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        fs::write(directory.join("server.pem"), made.cert.pem())?;
        fs::write(directory.join("server.key"), made.signing_key.serialize_pem())?;
        let arguments =
            ["serve", "--data", "data", "--listen", "127.0.0.1:0", "--mqtt-listen", "127.0.0.1:0", "--auth"];
        let mut process = program()
            .args(arguments)
            .args(["--tls-cert", "server.pem", "--tls-key", "server.key"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        let (mut url, mut mqtt) = (None, None);
        for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            url = url.or(line.strip_prefix("HTTP on ").map(str::to_owned));
            mqtt = mqtt.or(line.strip_prefix("MQTT on mqtts://127.0.0.1:").and_then(|port| port.parse().ok()));
        }
        std::thread::spawn(move || lines.for_each(drop));
        let (url, mqtt) = url.zip(mqtt).ok_or("the server didn't start")?;
        Ok(Server { process, url, mqtt, ca: made.cert.pem().into_bytes(), writer, reader })
    }

    fn client(&self, key: &Key) -> Outcome<Client> {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert(reqwest::header::AUTHORIZATION, format!("Bearer {}", key.text).parse()?);
        Ok(Client::builder().http1_only().default_headers(headers).tls_backend_preconfigured(self.tls()?).build()?)
    }

    fn stop(mut self) -> Outcome {
        let pid = self.process.id().to_string();
        let signalled = Command::new("kill").arg(pid).status()?.success();
        let status = self.process.wait()?;
        if signalled && status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }

    /// TLS that trusts its certificate.
    fn tls(&self) -> Outcome<rustls::ClientConfig> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&self.ca) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Soak {
    http: Client,
    writer: Client,
    url: String,
    /// The last change that was acknowledged.
    last: AtomicU64,
    /// Nothing is requested any more.
    stop: AtomicBool,
    subscribed: AtomicU64,
    events: AtomicU64,
    resumed: AtomicU64,
    /// How long requests took, in microseconds, by what they were.
    figures: Mutex<BTreeMap<&'static str, Vec<u32>>>,
    failures: Mutex<Vec<String>>,
}

impl Soak {
    /// Runs everything, and returns the memory of the server second by second.
    async fn run(self: Arc<Self>, server: &Server, time: Duration, (before, writes): (u64, f64)) -> Outcome<Vec<u64>> {
        self.stop.store(false, Relaxed);
        self.subscribed.store(0, Relaxed);
        self.events.store(0, Relaxed);
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.clone().fill(before).await?;
        let mut subscribers = JoinSet::new();
        for number in 0..SSE_SUBSCRIBERS {
            let soak = self.clone();
            subscribers.spawn(async move { soak.check("SSE", soak.follow(number).await) });
        }
        for number in 0..SLOW_SUBSCRIBERS {
            let soak = self.clone();
            subscribers.spawn(async move { soak.check("slow SSE", soak.follow_slowly(number).await) });
        }
        for number in 0..MQTT_SUBSCRIBERS {
            let (soak, options) = (self.clone(), self.mqtt_options(server, number)?);
            subscribers.spawn(async move { soak.check("MQTT", soak.subscribe(number, options).await) });
        }
        let all = (SSE_SUBSCRIBERS + SLOW_SUBSCRIBERS + MQTT_SUBSCRIBERS) as u64;
        let began = Instant::now();
        while self.subscribed.load(Relaxed) < all && began.elapsed() < PATIENCE {
            sleep(Duration::from_millis(50)).await;
        }
        println!("{} subscribers after {:.1} s", self.subscribed.load(Relaxed), began.elapsed().as_secs_f64());

        let mut clients = JoinSet::new();
        let pause = |clients: usize, a_second: f64| Duration::from_secs_f64(clients as f64 / a_second);
        for number in 0..WRITERS {
            clients.spawn(self.clone().repeat("write", number, pause(WRITERS, writes)));
        }
        for number in 0..READERS {
            clients.spawn(self.clone().repeat("read", number, pause(READERS, writes * 10.0)));
        }
        for number in 0..SEARCHERS {
            clients.spawn(self.clone().repeat("search", number, pause(SEARCHERS, writes)));
        }
        let mut memory = Vec::new();
        let mut tick = interval(Duration::from_secs(1));
        let began = Instant::now();
        while began.elapsed() < time {
            tick.tick().await;
            memory.push(rss_anon(server.process.id()).map_err(|error| error.to_string())?);
        }
        self.stop.store(true, Relaxed);
        while clients.join_next().await.is_some() {}
        let stopped = Instant::now();
        let rest = async { while subscribers.join_next().await.is_some() {} };
        if timeout(PATIENCE, rest).await.is_err() {
            self.fail(format!("{} subscribers never reached the last change", subscribers.len()));
        }
        println!("the last event came {:.2} s after the last write\n", stopped.elapsed().as_secs_f64());
        Ok(memory)
    }

    /// Registers what is then read and replaced, again and again until there were so many changes.
    async fn fill(self: Arc<Self>, changes: u64) -> Outcome {
        let (began, rounds) = (Instant::now(), (changes / (WRITERS * THINGS) as u64).max(1));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let soak = self.clone();
            writers.spawn(async move {
                for version in 0..rounds {
                    for number in writer * THINGS..(writer + 1) * THINGS {
                        soak.put(number, version).await?;
                    }
                }
                Outcome::Ok(())
            });
        }
        while let Some(written) = writers.join_next().await {
            written??;
        }
        println!("{} changes in {:.1} s", rounds * (WRITERS * THINGS) as u64, began.elapsed().as_secs_f64());
        Ok(())
    }

    /// Registers the agents of `examples/agents`.
    async fn register_examples(&self) -> Outcome {
        for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/agents"))? {
            let document: Value = serde_json::from_slice(&fs::read(file?.path())?)?;
            let id = document["id"].as_str().ok_or("an example without an id")?;
            let request = self.writer.put(format!("{}/things/{id}", self.url)).body(document.to_string());
            request.header("content-type", "application/td+json").send().await?.error_for_status()?;
        }
        Ok(())
    }

    /// Registers many agents, or replaces them, in one request.
    async fn send_batch(&self, agents: usize, version: u64) -> Outcome {
        let began = Instant::now();
        let lines = (0..agents).map(move |number| Ok::<_, Infallible>(version_of(number, version).1 + "\n"));
        let request = self.writer.post(format!("{}/things/batch", self.url));
        let request = request.header("content-type", "application/x-ndjson");
        let body = Body::wrap_stream(futures_util::stream::iter(lines));
        let mut answer = request.body(body).send().await?.error_for_status()?;
        let mut text = String::new();
        let (mut written, mut refused) = (0, None);
        while let Some(chunk) = answer.chunk().await? {
            text.push_str(&String::from_utf8_lossy(&chunk));
            while let Some(end) = text.find('\n') {
                let line: String = text.drain(..=end).collect();
                match line.contains("\"status\":20") {
                    true => written += 1,
                    false => refused = refused.or(Some(line)),
                }
            }
        }
        if written != agents {
            return Err(format!("{written} of {agents} were written, one not: {refused:?}").into());
        }
        let seconds = began.elapsed().as_secs_f64();
        println!("a batch of {agents} in {seconds:.1} s, {:.0}/s", agents as f64 / seconds);
        Ok(())
    }

    async fn put(&self, number: usize, version: u64) -> Outcome {
        let (id, document) = version_of(number, version);
        let request = self.writer.put(format!("{}/things/{id}", self.url)).body(document);
        let answer = request.header("content-type", "application/td+json").send().await?.error_for_status()?;
        let seq = answer.headers().get("etag").and_then(|seq| seq.to_str().ok()?.trim_matches('"').parse().ok());
        self.last.fetch_max(seq.ok_or("an answer without its seq")?, Relaxed);
        Ok(())
    }

    /// Does one thing after the other at a pace.
    async fn repeat(self: Arc<Self>, what: &'static str, client: usize, pause: Duration) {
        // Not all at once.
        sleep(pause.mul_f64(client as f64 / 64.0 % 1.0)).await;
        let mut tick = interval(pause);
        let mut times = Vec::new();
        let mut version = 0;
        while !self.stop.load(Relaxed) {
            tick.tick().await;
            version += 1;
            let began = Instant::now();
            let number = (client * THINGS + version as usize % THINGS) % (WRITERS * THINGS);
            let done = match what {
                "write" => self.put(number, version).await,
                "read" => self.get(&format!("/things/{}", document(number).0)).await,
                _ => self.get(&format!("/search?q={}", support::word(number))).await,
            };
            times.push(began.elapsed().as_micros() as u32);
            self.check(what, done);
        }
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default().extend(times);
    }

    async fn get(&self, path: &str) -> Outcome {
        self.http.get(format!("{}{path}", self.url)).send().await?.error_for_status()?.bytes().await?;
        Ok(())
    }

    /// Whether everything has been received up to a change.
    fn has_all(&self, seq: u64) -> bool {
        self.stop.load(Relaxed) && seq >= self.last.load(Relaxed)
    }

    /// Reads events of all changes to the end, and checks that none is missing.
    async fn follow(&self, number: usize) -> Outcome {
        sleep(BETWEEN_CONNECTIONS * number as u32).await;
        let mut stream = Stream::open(self, None).await?;
        self.subscribed.fetch_add(1, Relaxed);
        while !self.has_all(stream.seq) {
            stream.next(self).await?;
        }
        Ok(())
    }

    /// Reads nothing until the end, or until it is cut off, and then everything from where it was.
    async fn follow_slowly(&self, number: usize) -> Outcome {
        sleep(BETWEEN_CONNECTIONS * number as u32).await;
        let mut stream = Stream::open(self, None).await?;
        self.subscribed.fetch_add(1, Relaxed);
        while !self.stop.load(Relaxed) {
            sleep(Duration::from_millis(100)).await;
        }
        while !self.has_all(stream.seq) {
            if stream.next(self).await.is_err() {
                self.resumed.fetch_add(1, Relaxed);
                let last = format!("{}-{}", stream.epoch, stream.seq);
                stream = Stream::open(self, Some(&last)).await?;
            }
        }
        Ok(())
    }

    fn mqtt_options(&self, server: &Server, number: usize) -> Outcome<MqttOptions> {
        let mut options = MqttOptions::new(format!("soak-{number}"), "localhost", server.mqtt);
        options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(Arc::new(server.tls()?))));
        options.set_credentials(&server.reader.id, &server.reader.text);
        options.set_keep_alive(Duration::from_secs(30));
        options.set_connection_timeout(30);
        Ok(options)
    }

    /// The same over MQTT, at QoS 1.
    async fn subscribe(&self, number: usize, options: MqttOptions) -> Outcome {
        sleep(BETWEEN_CONNECTIONS * number as u32).await;
        let (client, mut events) = AsyncClient::new(options, 16);
        client.subscribe("agentdex/events/#", QoS::AtLeastOnce).await?;
        let mut last = 0;
        loop {
            let event = timeout(Duration::from_secs(1), events.poll()).await;
            match event {
                Ok(Err(error)) => return Err(error.into()),
                Ok(Ok(Event::Incoming(Packet::SubAck(_)))) => drop(self.subscribed.fetch_add(1, Relaxed)),
                Ok(Ok(Event::Incoming(Packet::Publish(message)))) => {
                    let event: Value = serde_json::from_slice(&message.payload)?;
                    let seq = event["id"].as_str().and_then(|id| id.rsplit('-').next()?.parse().ok());
                    last = self.follows(last, seq.ok_or("a message without its seq")?)?;
                }
                Ok(Ok(_)) | Err(_) => {}
            }
            if self.has_all(last) {
                return Ok(());
            }
        }
    }

    /// Takes an event whose change must be the next one.
    fn follows(&self, last: u64, seq: u64) -> Outcome<u64> {
        self.events.fetch_add(1, Relaxed);
        match last {
            0 => Ok(seq),
            _ if Seq(seq) == Gaps::default().after(Seq(last)) => Ok(seq),
            _ => Err(format!("change {seq} came after {last}").into()),
        }
    }

    fn check(&self, what: &str, result: Outcome) {
        if let Err(error) = result {
            self.fail(format!("{what}: {error}"));
        }
    }

    fn fail(&self, failure: String) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    }

    fn report(&self, memory: &[u64], seconds: u64) -> Outcome {
        println!("| what | number | p50 | p99 | most |\n|---|---|---|---|---|");
        for (what, times) in &mut *self.figures.lock().unwrap_or_else(PoisonError::into_inner) {
            times.sort_unstable();
            let at = |part: f64| f64::from(times[((times.len() - 1) as f64 * part) as usize]) / 1000.0;
            println!("| {what} | {} | {:.2} ms | {:.2} ms | {:.1} ms |", times.len(), at(0.5), at(0.99), at(1.0));
        }
        println!(
            "| events | {} | {:.0}/s | | {} resumed |",
            self.events.load(Relaxed),
            self.events.load(Relaxed) as f64 / seconds as f64,
            self.resumed.load(Relaxed)
        );
        let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
        let quarter = memory.len() / 4;
        let (third, fourth) = (mean(&memory[2 * quarter..3 * quarter]), mean(&memory[3 * quarter..]));
        println!("| memory | {} s | {third:.0} MB in the third quarter | {fourth:.0} MB in the last | |", memory.len());
        let minutes: Vec<String> = memory.chunks(60).map(|minute| format!("{:.0}", mean(minute))).collect();
        println!("\nmemory, minute by minute, in MB: {}", minutes.join(" "));
        let growth = fourth - third;
        if growth > MOST_GROWTH.1 && growth > third * MOST_GROWTH.0 / 100.0 {
            let growth = format!("memory still grew by {growth:.0} MB in the second half");
            match seconds >= SECONDS_OF_A_PLATEAU && !cfg!(debug_assertions) {
                true => self.fail(growth),
                false => println!("\n{growth} of {seconds} s: not judged"),
            }
        }
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if !failures.is_empty() {
            let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
            return Err(format!("{} failures:\n{}", failures.len(), shown.join("\n")).into());
        }
        println!("\nno error, no event lost or out of order");
        Ok(())
    }
}

/// A description that differs from that of another version.
fn version_of(number: usize, version: u64) -> (String, String) {
    let (id, document) = document(number);
    (id, document.replacen("\"description\":\"", &format!("\"description\":\"version {version} "), 1))
}

/// An event stream, and where it is.
struct Stream {
    response: Response,
    text: String,
    epoch: String,
    seq: u64,
}

impl Stream {
    async fn open(soak: &Soak, last: Option<&str>) -> Outcome<Stream> {
        let mut request = soak.http.get(format!("{}/events", soak.url)).header("accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await?.error_for_status()?;
        let start = response.headers().get("last-event-id").and_then(|id| id.to_str().ok());
        let (epoch, seq) = start.and_then(|id| id.rsplit_once('-')).ok_or("a stream without its position")?;
        let (epoch, seq) = (epoch.to_owned(), seq.parse()?);
        Ok(Stream { response, text: String::new(), epoch, seq })
    }

    /// Reads what comes next, for a second at most.
    async fn next(&mut self, soak: &Soak) -> Outcome {
        match timeout(Duration::from_secs(1), self.response.chunk()).await {
            Err(_) => return Ok(()),
            Ok(chunk) => self.text.push_str(&String::from_utf8_lossy(&chunk?.ok_or("the stream has ended")?)),
        }
        while let Some(end) = self.text.find("\n\n") {
            let block: String = self.text.drain(..end + 2).collect();
            let is_event = block.lines().any(|line| line.starts_with("data:"));
            let id = block.lines().find_map(|line| line.strip_prefix("id: ")?.rsplit_once('-')?.1.parse().ok());
            if let Some(seq) = id.filter(|_| is_event) {
                self.seq = soak.follows(self.seq, seq)?;
            }
        }
        Ok(())
    }
}
