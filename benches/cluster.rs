//! How fast the nodes of a cluster register agents, compared with raw puts of the same texts into the same etcd.
//!
//! `cargo bench --bench cluster` prints the figures of an etcd with one member and of an etcd with three members;
//! nothing is asserted. `-- --small` does less, to see that it works. All loads take turns in short rounds, so that a
//! noisy machine is noisy for all of them. The members of etcd are processes of their own. Nodes run in this process, or,
//! for writes over HTTP, in processes of their own. Data is stored below `AGENTDEX_BENCH_DIR` or the current directory,
//! about 10 GB. If etcd isn't installed (Debian: `etcd-server`), nothing is measured. `AGENTDEX_ETCD` names another
//! program.

use std::{
    collections::BTreeSet,
    env,
    fmt::Display,
    fs,
    path::Path,
    process,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use agentdex::{Registry, registry::ClusterOptions};
use agentdex_etcd::{Client, KeyRange};
use tokio::runtime::{Builder, Runtime};

#[path = "support/connection.rs"]
mod connection;
#[path = "support/etcd.rs"]
mod etcd;
#[path = "support/served.rs"]
mod served;
mod support;

use etcd::{Etcd, etcd_command};
use served::Served;
use support::{Outcome, document, rss_anon};

/// Concurrent clients of etcd, and writers of a node.
const WRITERS: usize = 64;
/// Maximum time until all nodes have installed and indexed all changes.
const PATIENCE: Duration = Duration::from_secs(300);
/// Nodes that catch up, one after the other.
const LATE_NODES: usize = 3;

/// Number of the next text.
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// Number of failed writes.
static FAILURES: AtomicUsize = AtomicUsize::new(0);

/// Amount of work.
struct Plan {
    rounds: usize,
    /// Duration of a round.
    round: Duration,
    /// Number of changes that late nodes read.
    changes: usize,
}

fn main() -> Outcome {
    let plan = match env::args().any(|argument| argument == "--small") {
        true => Plan { rounds: 3, round: Duration::from_secs(1), changes: 10_000 },
        false => Plan { rounds: 5, round: Duration::from_secs(2), changes: 100_000 },
    };
    let Ok(version) = etcd_command().arg("--version").output() else {
        println!("skipped: etcd is missing: install etcd-server, or set AGENTDEX_ETCD to the program");
        return Ok(());
    };
    let version = String::from_utf8_lossy(&version.stdout);
    println!("{}, rounds of {:?}", version.lines().next().unwrap_or_default(), plan.round);
    println!("median of {} rounds (lowest … highest); p50 and p99 are those of all rounds", plan.rounds);
    let started = Instant::now();
    let bytes: usize = (0..1000).map(|_| next_document().1.len()).sum();
    let making = started.elapsed().as_secs_f64() * 1e3;
    println!("texts of {} bytes; making a text takes {making:.0} µs of the processor time of each write", bytes / 1000);
    let directory = tempfile::tempdir_in(env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for members in [1, 3] {
        let directory = directory.path().join(format!("members-{members}"));
        fs::create_dir(&directory)?;
        measure(&plan, &runtime, &directory, members)?;
        fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

/// Measures everything with an etcd of this number of members.
fn measure(plan: &Plan, runtime: &Runtime, directory: &Path, members: usize) -> Outcome {
    println!("\n# etcd with {members} member{}, load {}\n", if members == 1 { "" } else { "s" }, load_average()?);
    let etcd = Etcd::start(runtime, directory, members)?;
    let (near, distant) = (etcd.urls(), etcd.distant_urls(runtime)?);
    let solo = [Registry::open(directory.join("solo"))?];
    let alone = [open(directory, &near, "alone", 1)?];
    let far = [open(directory, &distant, "far", 1)?];
    let three =
        [open(directory, &near, "three", 1)?, open(directory, &near, "three", 2)?, open(directory, &near, "three", 3)?];
    let solo_served = [serve(directory, "solo-served", &[])?];
    let alone_served = [serve_node(directory, &near, "alone-served", 1)?];
    let mut three_served = Vec::new();
    for number in 1..=3 {
        three_served.push(serve_node(directory, &near, "three-served", number)?);
    }
    let bench = Bench { runtime, etcd: &etcd, client: etcd.client(runtime)?, round: plan.round };
    // The goals are for three members and three nodes.
    let goal = |share: f64| (members == 3).then_some(share);
    let mut sides = [
        Side::puts("raw puts, 1 client", 1),
        Side::new("no cluster, 1 writer", &solo, 1, 1, &[(0, None)]),
        Side::new("1 node, 1 writer", &alone, 1, 1, &[(0, None)]),
        Side::new("1 of 3 nodes, 1 writer", &three, 1, 1, &[(0, goal(0.45))]),
        Side::new("1 node 10 ms away, 1 writer", &far, 1, 1, &[(2, None)]),
        Side::puts("raw puts, 64 clients", WRITERS),
        Side::new("no cluster, 64 writers", &solo, 1, WRITERS, &[(5, None)]),
        Side::new("1 node, 64 writers", &alone, 1, WRITERS, &[(5, None)]),
        Side::new("1 of 3 nodes, 64 writers", &three, 1, WRITERS, &[(5, goal(0.90))]),
        Side::new("3 nodes, 64 writers each", &three, 3, WRITERS, &[(8, goal(0.80)), (7, None)]),
        Side::new("1 node 10 ms away, 64 writers", &far, 1, WRITERS, &[(7, None)]),
        Side::new("HTTP: no cluster, 64 clients", &solo_served, 1, WRITERS, &[(5, None)]),
        Side::new("HTTP: 1 node, 64 clients", &alone_served, 1, WRITERS, &[(5, None), (11, None)]),
        Side::new("HTTP: 1 of 3 nodes, 64 clients", &three_served, 1, WRITERS, &[(5, None)]),
        Side::new("HTTP: 3 nodes, 64 clients each", &three_served, 3, WRITERS, &[(13, None), (12, None)]),
    ];
    for _ in 0..plan.rounds {
        for side in &mut sides {
            side.rounds.push(bench.measure(&side.load)?);
        }
    }
    print(&sides);
    println!("\nload {}, anonymous memory of this process {} MB", load_average()?, rss_anon(process::id())?);
    solo.iter().chain(&alone).chain(&far).chain(&three).for_each(Registry::close);
    catch_up(directory, &near, plan.changes)?;
    println!("load {}", load_average()?);
    match FAILURES.swap(0, Ordering::Relaxed) {
        0 => {}
        failures => println!("{failures} writes failed, and are not counted"),
    }
    bench.client.close();
    Ok(())
}

/// Opens a node of a cluster with an empty directory. The first node founds the cluster.
fn open(directory: &Path, urls: &[String], cluster: &str, number: usize) -> Outcome<Registry> {
    let name = format!("node-{number}");
    let directory = directory.join(format!("{cluster}-{number}"));
    let options = ClusterOptions::new(urls.to_vec()).cluster_name(cluster).node(name).init(number == 1);
    let registry = Registry::builder(directory).cluster(options).open()?;
    // The first write waits until the node leads, or has compared its clock.
    registry.register(next_document().1)?;
    Ok(registry)
}

/// Starts a server with an empty directory.
fn serve(directory: &Path, name: &str, arguments: &[String]) -> Outcome<Served> {
    let served = Served::start(&directory.join(name), arguments)?;
    // As for `open`.
    let (id, text) = next_document();
    served::register(&mut served.connect()?, &id, &text)?;
    Ok(served)
}

/// Starts a server that is a node of a cluster. The first node founds the cluster.
fn serve_node(directory: &Path, urls: &[String], cluster: &str, number: usize) -> Outcome<Served> {
    let name = format!("node-{number}");
    let mut arguments =
        ["--cluster", &urls.join(","), "--cluster-name", cluster, "--cluster-node", &name].map(str::to_owned).to_vec();
    arguments.extend((number == 1).then(|| "--cluster-init".to_owned()));
    serve(directory, &format!("{cluster}-{number}"), &arguments)
}

/// Registers an agent with an id and a description.
type Writer<'a> = Box<dyn FnMut(&str, &str) -> Outcome + 'a>;

/// A registry with writers.
trait Node: Sync {
    fn writer(&self) -> Outcome<Writer<'_>>;

    /// Returns the process that pays for writes.
    fn process(&self) -> u32;

    /// Returns the position of the last change, and the number of changes that aren't indexed yet.
    fn progress(&self) -> Outcome<(u64, u64)>;
}

impl Node for Registry {
    fn writer(&self) -> Outcome<Writer<'_>> {
        Ok(Box::new(|_, text| {
            self.register(text)?;
            Ok(())
        }))
    }

    fn process(&self) -> u32 {
        process::id()
    }

    fn progress(&self) -> Outcome<(u64, u64)> {
        let last = self.last_seq().0;
        let status = self.status();
        let behind = status.followers.iter().map(|follower| last.saturating_sub(follower.seq.map_or(0, |seq| seq.0)));
        Ok((last, behind.sum()))
    }
}

impl Node for Served {
    fn writer(&self) -> Outcome<Writer<'_>> {
        let mut connection = self.connect()?;
        Ok(Box::new(move |id, text| served::register(&mut connection, id, text)))
    }

    fn process(&self) -> u32 {
        self.process()
    }

    fn progress(&self) -> Outcome<(u64, u64)> {
        let metrics = self.metrics()?;
        let last = served::metric(&metrics, "agentdex_log_seq").into_iter().max().ok_or("no position")?;
        Ok((last, served::metric(&metrics, "agentdex_follower_lag").into_iter().sum()))
    }
}

/// A load, which is measured in several rounds.
struct Side<'a> {
    name: &'static str,
    load: Load<'a>,
    /// Sides to compare with, and the ratios to reach, if any.
    comparisons: Vec<(usize, Option<f64>)>,
    rounds: Vec<Round>,
}

impl<'a> Side<'a> {
    fn puts(name: &'static str, clients: usize) -> Side<'a> {
        Side { name, load: Load::Puts(clients), comparisons: Vec::new(), rounds: Vec::new() }
    }

    /// Registers agents by `writers` at each of the first `writing` nodes.
    fn new(
        name: &'static str,
        nodes: &'a [impl Node],
        writing: usize,
        writers: usize,
        comparisons: &[(usize, Option<f64>)],
    ) -> Side<'a> {
        let nodes = nodes.iter().map(|node| node as &dyn Node).collect();
        let load = Load::Registrations { nodes, writing, writers };
        Side { name, load, comparisons: comparisons.to_vec(), rounds: Vec::new() }
    }

    fn figures(&self, figure: fn(&Round) -> f64) -> Spread {
        Spread::of(self.rounds.iter().map(figure))
    }
}

/// Writes of a round.
enum Load<'a> {
    /// Puts of texts into etcd, by this number of clients.
    Puts(usize),
    /// Registrations of new agents, by this number of writers at each of the first `writing` nodes.
    Registrations { nodes: Vec<&'a dyn Node>, writing: usize, writers: usize },
}

/// Figures of a round.
struct Round {
    /// Writes per second.
    rate: f64,
    /// Writes of the slowest node, relative to those of the fastest node.
    balance: f64,
    /// Duration of each write.
    times: Vec<Duration>,
    /// Processor time of the registries, or of the clients of etcd, in microseconds per write.
    own: f64,
    /// Processor time of all members of etcd in microseconds per write.
    etcd: f64,
}

struct Bench<'a> {
    runtime: &'a Runtime,
    etcd: &'a Etcd,
    client: Client,
    round: Duration,
}

impl Bench<'_> {
    /// Returns the processor time of all members of etcd.
    fn etcd_cpu_microseconds(&self) -> Outcome<f64> {
        self.etcd.processes().map(cpu_microseconds).sum()
    }

    /// Measures a load for a round. The processor time includes installing and indexing at all nodes.
    fn measure(&self, load: &Load<'_>) -> Outcome<Round> {
        let processes: BTreeSet<u32> = match load {
            Load::Puts(_) => [process::id()].into(),
            Load::Registrations { nodes, .. } => nodes.iter().map(|node| node.process()).collect(),
        };
        let own_cpu = || processes.iter().map(|process| cpu_microseconds(*process)).sum::<Outcome<f64>>();
        let (own, etcd) = (own_cpu()?, self.etcd_cpu_microseconds()?);
        let started = Instant::now();
        let end = started + self.round;
        let by_node = match load {
            Load::Puts(clients) => vec![self.runtime.block_on(put(&self.client, *clients, end))?],
            Load::Registrations { nodes, writing, writers } => {
                register(&nodes[..*writing], *writers, || Instant::now() < end)?
            }
        };
        let took = started.elapsed().as_secs_f64();
        if let Load::Registrations { nodes, .. } = load {
            wait_until_indexed(nodes)?;
        }
        let (own, etcd) = (own_cpu()? - own, self.etcd_cpu_microseconds()? - etcd);
        if let Load::Puts(_) = load {
            self.runtime.block_on(self.client.delete_range(KeyRange::prefix("raw/")))?;
        }
        let fastest = by_node.iter().map(Vec::len).max().unwrap_or(0);
        let slowest = by_node.iter().map(Vec::len).min().unwrap_or(0);
        if fastest == 0 {
            return Err("no write succeeded in a round".into());
        }
        let times: Vec<Duration> = by_node.concat();
        let writes = times.len() as f64;
        let balance = slowest as f64 / fastest as f64;
        Ok(Round { rate: writes / took, balance, times, own: own / writes, etcd: etcd / writes })
    }
}

fn next_document() -> (String, String) {
    document(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Counts a failed write, and prints the first errors.
fn note_failure(error: &dyn Display) {
    if FAILURES.fetch_add(1, Ordering::Relaxed) < 3 {
        eprintln!("a write failed: {error}");
    }
}

/// Puts texts into etcd by several clients, and returns the duration of each put. The clients share a connection, like
/// the writers of a node.
async fn put(client: &Client, clients: usize, end: Instant) -> Outcome<Vec<Duration>> {
    let tasks: Vec<_> = (0..clients).map(|_| tokio::spawn(put_until(client.clone(), end))).collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await?);
    }
    Ok(times)
}

async fn put_until(client: Client, end: Instant) -> Vec<Duration> {
    let mut times = Vec::new();
    while Instant::now() < end {
        let (id, text) = next_document();
        let started = Instant::now();
        match client.put(format!("raw/{id}"), text, 0).await {
            Ok(_) => times.push(started.elapsed()),
            Err(error) => note_failure(&error),
        }
    }
    times
}

/// Registers agents by several writers at each node as long as `goes_on`. Returns the duration of each write, by node.
fn register(nodes: &[&dyn Node], writers: usize, goes_on: impl Fn() -> bool + Sync) -> Outcome<Vec<Vec<Duration>>> {
    let goes_on = &goes_on;
    let write = move |node: &dyn Node| {
        let mut times = Vec::new();
        let mut writer = node.writer().unwrap();
        while goes_on() {
            let (id, text) = next_document();
            let started = Instant::now();
            match writer(&id, &text) {
                Ok(()) => times.push(started.elapsed()),
                Err(error) => note_failure(&error),
            }
        }
        times
    };
    thread::scope(|scope| -> Outcome<Vec<Vec<Duration>>> {
        let mut threads = Vec::new();
        for node in nodes {
            let of_node: Vec<_> = (0..writers).map(|_| scope.spawn(move || write(*node))).collect();
            threads.push(of_node);
        }
        let mut by_node = Vec::new();
        for of_node in threads {
            let mut times = Vec::new();
            for thread in of_node {
                times.extend(thread.join().map_err(|_| "a writer panicked")?);
            }
            by_node.push(times);
        }
        Ok(by_node)
    })
}

/// Waits until these nodes have installed and indexed all changes.
fn wait_until_indexed(nodes: &[&dyn Node]) -> Outcome {
    let started = Instant::now();
    loop {
        let progress = nodes.iter().map(|node| node.progress()).collect::<Outcome<Vec<_>>>()?;
        let last = progress.iter().map(|(seq, _)| *seq).max();
        if progress.iter().all(|(seq, behind)| Some(*seq) == last && *behind == 0) {
            return Ok(());
        }
        if started.elapsed() > PATIENCE {
            return Err(format!("nodes lag behind after {PATIENCE:?}: {progress:?}").into());
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Measures how fast new nodes read a log with this number of changes.
fn catch_up(directory: &Path, urls: &[String], changes: usize) -> Outcome {
    let writer = [open(directory, urls, "late", 1)?];
    let begun = AtomicUsize::new(0);
    let nodes: [&dyn Node; 1] = [&writer[0]];
    register(&nodes, WRITERS, || begun.fetch_add(1, Ordering::Relaxed) < changes)?;
    wait_until_indexed(&nodes)?;
    let (changes, last) = (writer[0].len() as f64, writer[0].last_seq());
    let (mut rates, mut costs) = (Vec::new(), Vec::new());
    for number in 2..2 + LATE_NODES {
        let (started, cpu) = (Instant::now(), cpu_microseconds(process::id())?);
        let node = open(directory, urls, "late", number)?;
        while node.last_seq() < last {
            if started.elapsed() > PATIENCE {
                return Err(format!("a new node lags behind {last:?} after {PATIENCE:?}: {node:?}").into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        rates.push(changes / started.elapsed().as_secs_f64());
        costs.push((cpu_microseconds(process::id())? - cpu) / changes);
        node.close();
    }
    writer[0].close();
    let (rates, costs) = (Spread::of(rates.into_iter()), Spread::of(costs.into_iter()));
    println!("\na new node reads {changes} changes: {} per second (goal 10000)", rates.show(1.0));
    println!("processor time of this process: {} µs per change (goal 80)", costs.show(1.0));
    Ok(())
}

fn print(sides: &[Side<'_>]) {
    println!("{:30} {:>24} {:>16} {:>26}", "", "writes per second", "p50; p99 in ms", "CPU per write: own; etcd");
    for side in sides {
        let mut times: Vec<Duration> = side.rounds.iter().flat_map(|round| round.times.iter().copied()).collect();
        times.sort_unstable();
        let percentile = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e3;
        let latency = format!("{:.1}; {:.1}", percentile(50), percentile(99));
        let (own, etcd) = (side.figures(|round| round.own).median, side.figures(|round| round.etcd).median);
        let rate = side.figures(|round| round.rate).show(1.0);
        println!("{:30} {rate:>24} {latency:>16} {:>26}", side.name, format!("{own:.0}; {etcd:.0} µs"));
        for (other, goal) in &side.comparisons {
            let other = &sides[*other];
            let ratios = Spread::of(side.rounds.iter().zip(&other.rounds).map(|(own, other)| own.rate / other.rate));
            let met = |goal: f64| if ratios.median >= goal { "met" } else { "not met" };
            let goal = goal.map(|goal| format!(" (goal {:.0} %: {})", goal * 100.0, met(goal))).unwrap_or_default();
            println!("    {} % of {}{goal}", ratios.show(100.0), other.name);
        }
        if let Load::Registrations { writing: 2.., .. } = side.load {
            let balance = side.figures(|round| round.balance).show(100.0);
            println!("    slowest node: {balance} % of the fastest (goal 50 %)");
        }
    }
}

/// Median, lowest, and highest value of several rounds.
struct Spread {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Spread { median: values[values.len() / 2], lowest: values[0], highest: values[values.len() - 1] }
    }

    /// Formats the values times a factor.
    fn show(&self, factor: f64) -> String {
        let [median, lowest, highest] = [self.median, self.lowest, self.highest].map(|value| value * factor);
        format!("{median:.0} ({lowest:.0} … {highest:.0})")
    }
}

/// User and system time of a process in microseconds, with a resolution of 10 ms. Includes threads that have ended.
fn cpu_microseconds(process: u32) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(") ").ok_or("no stat")?.1.split(' ').collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) * 10_000.0)
}

fn load_average() -> Outcome<String> {
    Ok(fs::read_to_string("/proc/loadavg")?.trim().to_owned())
}
