//! How fast descriptions are registered, against what sled does with the same bytes on the same disk.
//!
//! `cargo bench --bench registration` prints a table; nothing is asserted. All
//! rows of a table take turns, so that a noisy machine is noisy for all of them; medians are compared.
//! `-- --small` does a tenth, to see that it works; `-- --memory` leaves the comparison out; `-- --queries` measures a
//! change with saved queries alone.

use std::{
    fs::File,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use agentdex::{
    Registry, Seq,
    registry::QueryParameters,
    search::{Filters, Mode, Search},
};

#[path = "support/everyday.rs"]
mod everyday;
mod support;

use everyday::Everyday;
use support::{Outcome, document, rss_anon, word};

const ROUNDS: usize = 9;
const WRITERS: usize = 64;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let scale = if asked("--small") { 10 } else { 1 };
    let directory = tempfile::tempdir_in(std::env::var_os("AGENTDEX_BENCH_DIR").unwrap_or(".".into()))?;
    if asked("--memory") {
        return memory(directory.path(), 100_000 / scale);
    }
    if asked("--queries") {
        return queries(directory.path(), scale);
    }
    compare(directory.path(), scale)?;
    // In a process of its own, which has held nothing else.
    for part in ["--memory", "--queries"] {
        Command::new(std::env::current_exe()?).args(&arguments).arg(part).status()?;
    }
    Ok(())
}

/// One writer and many, against sled alone.
fn compare(directory: &Path, scale: usize) -> Outcome {
    let raw = RawSled::open(&directory.join("raw"))?;
    let synced = RawSled::open(&directory.join("synced"))?;
    let doubled = RawSled::open(&directory.join("doubled"))?;
    let registry = Registry::builder(directory.join("registry")).open()?;
    let (single, grouped) = (500 / scale, 6400 / scale);
    let mut ids = Ids(0);
    let mut table = Table::new(&[
        "sled put + flush",
        "sled put + flush + fdatasync",
        "register, 1 writer",
        "sled batch of 64 + flush",
        "sled batch of 64 + flush + fdatasync",
        "register, 64 writers",
        "sled, every document twice, + fdatasync",
        "batch of 64, every document twice",
    ]);
    let mut lags = Vec::new();
    for _ in 0..ROUNDS {
        table.add(0, single, raw.put(&ids.documents(single), 1, false)?);
        table.add(1, single, synced.put(&ids.documents(single), 1, true)?);
        table.add(2, single, register(&registry, &ids.documents(single), 1)?);
        table.add(3, grouped, raw.put(&ids.documents(grouped), WRITERS, false)?);
        table.add(4, grouped, synced.put(&ids.documents(grouped), WRITERS, true)?);
        // What a log that held its own copy of every new description would cost.
        table.add(6, single, doubled.put_twice(&ids.documents(single), 1)?);
        table.add(7, grouped, doubled.put_twice(&ids.documents(grouped), WRITERS)?);
        catch_up(&registry);
        table.add(5, grouped, register(&registry, &ids.documents(grouped), WRITERS)?);
        lags.push(catch_up(&registry));
    }
    println!("durable registration, documents of {} bytes, validation included\n", ids.documents(1)[0].1.len());
    table.print();
    println!();
    ratio("1 writer / sled put + flush", table.median(2) / table.median(0), 0.60);
    ratio("1 writer / the same with fdatasync", table.median(2) / table.median(1), 0.75);
    ratio("64 writers / sled batches of 64", table.median(5) / table.median(3), 0.30);
    ratio("64 writers / the same with fdatasync", table.median(5) / table.median(4), 0.50);
    lags.sort_unstable();
    let (median, worst) = (lags[lags.len() / 2], lags[lags.len() - 1]);
    println!("search index behind the log after 64 writers: median {median:.0?}, worst {worst:.0?} (goal 1 s)");
    Ok(())
}

/// What a registry with many Things holds in memory.
fn memory(directory: &Path, things: usize) -> Outcome {
    let registry = Registry::builder(directory).open()?;
    let started = Instant::now();
    let mut ids = Ids(0);
    for _ in 0..things / 1000 {
        register(&registry, &ids.documents(1000), WRITERS)?;
    }
    let rate = things as f64 / started.elapsed().as_secs_f64();
    println!(
        "\n{things} Things registered by {WRITERS} writers at {rate:.0}/s, the index {:.0?} behind",
        catch_up(&registry)
    );
    println!("RssAnon after registering: {} MB", rss_anon(std::process::id())?);
    let started = Instant::now();
    for index in 0..1000 {
        registry.search(Search::words(format!("{} {}", word(index), word(index * 7 + 1))))?;
    }
    println!("1000 searches of two words in {:.1?}", started.elapsed());
    println!("RssAnon after 1000 searches: {} MB (goal 500 MB)", rss_anon(std::process::id())?);
    Ok(())
}

/// What a change costs where queries of each mode are saved, until it is known which of them it concerns: of two words,
/// as people write them, and of one word that must be there, beginnings and filters. Registries take turns.
fn queries(directory: &Path, scale: usize) -> Outcome {
    const THINGS: usize = 5000;
    const OF_EACH_MODE: usize = 1000;
    const CHANGES: usize = 100;
    let texts = Everyday::new()?;
    let kinds: [(&str, Kind); 2] = [("of two words", two_words), ("with `+word`, `word*` and filters", picky)];
    let mut cases = Vec::new();
    for (number, kind) in [None].into_iter().chain(kinds.map(Some)).enumerate() {
        let registry = Registry::builder(directory.join(format!("queries-{number}"))).open()?;
        let documents: Vec<_> = (0..THINGS / scale).map(|number| texts.document(number, 0)).collect();
        register(&registry, &documents, WRITERS)?;
        catch_up(&registry);
        for mode in Mode::ALL {
            let Some((_, make)) = kind else { continue };
            let (mut saved, mut queries) = (0, 0..);
            while let Some(number) = queries.next().filter(|_| saved < OF_EACH_MODE / scale) {
                let query = QueryParameters { mode: Some(mode), ..make(&texts, number) };
                match registry.save_query(&*format!("{}-{number}", mode.name()), query) {
                    Ok(_) => saved += 1,
                    // Words without a meaning.
                    Err(agentdex::Error::InvalidQuery { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let name = kind.map_or_else(|| "none".to_owned(), |(name, _)| name.to_owned());
        cases.push(Case { name, registry, events: Vec::new(), figures: Default::default() });
    }
    for round in 1..=ROUNDS {
        for case in &mut cases {
            case.change(&texts, round, CHANGES)?;
        }
    }
    println!(
        "\na change among {} agents, with saved queries; medians of {ROUNDS} rounds, the lowest and highest\n",
        THINGS / scale
    );
    println!(
        "| saved queries | events of a change | acknowledged p50 | p90 | its events known p50 | p90 (goal 5 ms) | processor time of that |"
    );
    println!("|---|---|---|---|---|---|---|");
    cases.iter().for_each(Case::print);
    Ok(())
}

/// Makes the query of a number.
type Kind = fn(&Everyday, usize) -> QueryParameters;

/// A registry with saved queries, and how long its changes took.
struct Case {
    name: String,
    registry: Registry,
    /// How many events changes were.
    events: Vec<usize>,
    /// In ms, of each round: until a change was durable, p50 and p90, until its events were known, and the mean
    /// processor time of finding them.
    figures: [Vec<f64>; 5],
}

impl Case {
    fn change(&mut self, texts: &Everyday, round: usize, changes: usize) -> Outcome {
        let (mut durable, mut known, mut finding) = (Vec::new(), Vec::new(), Duration::ZERO);
        let things = usize::try_from(self.registry.len())?;
        for number in 0..changes {
            let (_, document) = texts.document((round * changes + number) * 7 % things, round);
            let started = Instant::now();
            let written = self.registry.put(document)?;
            durable.push(started.elapsed());
            let before = own_cpu_time()?;
            for change in &self.registry.changes(Seq(written.seq.0 - 1), 1)?.changes {
                self.events.push(self.registry.saved_query_events(change)?.len());
            }
            known.push(started.elapsed());
            finding += own_cpu_time()? - before;
        }
        for (at, times) in [&mut durable, &mut known].into_iter().enumerate() {
            times.sort_unstable();
            for (percentile, percent) in [50, 90].into_iter().enumerate() {
                self.figures[2 * at + percentile].push(times[times.len() * percent / 100].as_secs_f64() * 1e3);
            }
        }
        self.figures[4].push(finding.as_secs_f64() * 1e3 / changes as f64);
        Ok(())
    }

    fn print(&self) {
        let Case { name, events, figures, .. } = self;
        let cells: Vec<String> = figures
            .iter()
            .map(|figures| {
                let mut sorted = figures.clone();
                sorted.sort_by(f64::total_cmp);
                format!("{:.2} ms ({:.2}–{:.2})", sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
            })
            .collect();
        let average = events.iter().sum::<usize>() / events.len().max(1);
        println!("| {name} | {average} | {} |", cells.join(" | "));
    }
}

/// The processor time of this thread, in a system that tells.
fn own_cpu_time() -> Outcome<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(Duration::from_nanos(text.split(' ').next().ok_or("no schedstat")?.parse()?))
}

/// A query as people write it.
fn two_words(texts: &Everyday, number: usize) -> QueryParameters {
    let q = format!("{} {}", texts.word(number, number), texts.word(number, number + 1));
    QueryParameters { q: Some(q), ..Default::default() }
}

/// A query with a word that must be there, one that is begun, a phrase or a filter.
fn picky(texts: &Everyday, number: usize) -> QueryParameters {
    let [word, other] = [number, number + 1].map(|at| texts.word(number, at));
    let q = match number % 4 {
        0 => format!("+{word} {other}"),
        1 => format!("{other} {}*", &word[..word.floor_char_boundary(4)]),
        2 => format!("\"{word} {other}\" {other}"),
        _ => word.to_owned(),
    };
    let tag = if number % 4 == 3 { vec![other.to_owned()] } else { Vec::new() };
    QueryParameters { q: Some(q), filters: Filters { tag, ..Filters::default() }, ..Default::default() }
}

struct RawSled {
    tree: sled::Db,
    file: File,
    logged: AtomicUsize,
}

impl RawSled {
    fn open(path: &Path) -> Outcome<RawSled> {
        let tree = sled::Config::new().path(path).cache_capacity(64 << 20).flush_every_ms(None).open()?;
        Ok(RawSled { tree, file: File::open(path.join("db"))?, logged: AtomicUsize::new(0) })
    }

    /// Under its id, and under a number in a log.
    fn put_twice(&self, documents: &[(String, String)], batch_size: usize) -> Outcome<Duration> {
        let started = Instant::now();
        for documents in documents.chunks(batch_size) {
            let mut batch = sled::Batch::default();
            for (id, document) in documents {
                let number = self.logged.fetch_add(1, Ordering::Relaxed) as u64;
                batch.insert(id.as_bytes(), document.as_bytes());
                batch.insert(&[b"l/".as_slice(), &number.to_be_bytes()].concat()[..], document.as_bytes());
            }
            self.tree.apply_batch(batch)?;
            self.tree.flush()?;
            self.file.sync_data()?;
        }
        Ok(started.elapsed())
    }

    fn put(&self, documents: &[(String, String)], batch_size: usize, synced: bool) -> Outcome<Duration> {
        let started = Instant::now();
        for documents in documents.chunks(batch_size) {
            let mut batch = sled::Batch::default();
            for (id, document) in documents {
                batch.insert(id.as_bytes(), document.as_bytes());
            }
            self.tree.apply_batch(batch)?;
            self.tree.flush()?;
            if synced {
                self.file.sync_data()?;
            }
        }
        Ok(started.elapsed())
    }
}

fn register(registry: &Registry, documents: &[(String, String)], writers: usize) -> Outcome<Duration> {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let write = || {
        while let Some((_, document)) = documents.get(next.fetch_add(1, Ordering::Relaxed)) {
            registry.register(document)?;
        }
        agentdex::Result::Ok(())
    };
    if writers == 1 {
        write()?;
        return Ok(started.elapsed());
    }
    thread::scope(|scope| {
        let handles: Vec<_> = (0..writers).map(|_| scope.spawn(write)).collect();
        handles.into_iter().try_for_each(|handle| handle.join().map_err(|_| "a writer panicked")?.map_err(Into::into))
    })
    .map(|()| started.elapsed())
}

/// How long the search index needs to reach the end of the log.
fn catch_up(registry: &Registry) -> Duration {
    let started = Instant::now();
    while registry.status().searchable().is_none_or(|seq| seq < registry.last_seq()) {
        thread::sleep(Duration::from_millis(1));
    }
    started.elapsed()
}

/// Makes descriptions of 3 KB that differ.
struct Ids(usize);

impl Ids {
    /// The next ones, each with its id.
    fn documents(&mut self, count: usize) -> Vec<(String, String)> {
        let first = self.0;
        self.0 += count;
        (first..self.0).map(document).collect()
    }
}

fn ratio(name: &str, ratio: f64, goal: f64) {
    let met = if ratio >= goal { "met" } else { "not met" };
    println!("{name}: {:.0} % (goal {:.0} %: {met})", ratio * 100.0, goal * 100.0);
}

/// Rates of each row, round by round.
struct Table {
    names: Vec<&'static str>,
    rates: Vec<Vec<f64>>,
}

impl Table {
    fn new(names: &[&'static str]) -> Table {
        Table { names: names.to_vec(), rates: vec![Vec::new(); names.len()] }
    }

    fn add(&mut self, row: usize, count: usize, took: Duration) {
        self.rates[row].push(count as f64 / took.as_secs_f64());
        self.rates[row].sort_by(f64::total_cmp);
    }

    fn median(&self, row: usize) -> f64 {
        self.rates[row][self.rates[row].len() / 2]
    }

    fn print(&self) {
        println!("| {:<38} | {:>10} | {:>19} |", "", "median /s", "lowest – highest");
        println!("|{:-<40}|{:-<12}|{:-<21}|", "", "", "");
        for (row, name) in self.names.iter().enumerate() {
            let (lowest, highest) = (self.rates[row][0], self.rates[row][self.rates[row].len() - 1]);
            println!("| {name:<38} | {:>10.0} | {:>19} |", self.median(row), format!("{lowest:.0} – {highest:.0}"));
        }
    }
}
