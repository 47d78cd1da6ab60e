//! kill -9 at any moment loses no acknowledged write and leaves no half one.
//!
//! Round after round a real server is killed in the middle of concurrent writes, while others read and subscribe, in some
//! rounds also while it rebuilds its search index or can't reach its broker. Then what clients were told is compared with
//! what the next server has: in the records, in the log, in the search, and in what subscribers received that resumed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use agentdex::{Seq, store::Gaps, td::merge_patch};
use serde_json::{Value, json};

use crate::{
    process::ServerProcess,
    support::{Call, Event, EventStream, client, closed_address, directory_on_disk},
};

/// How often the server is killed, and how many write meanwhile: `AGENTDEX_CRASH_ROUNDS` and `AGENTDEX_CRASH_WRITERS`.
const ROUNDS: u64 = 20;
const WRITERS: u64 = 4;
const IDS_OF_A_WRITER: u64 = 6;
const READERS: usize = 2;
const SUBSCRIBERS: usize = 4;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[test]
fn killed_server_loses_no_acknowledged_write() {
    let rounds = number("AGENTDEX_CRASH_ROUNDS", ROUNDS);
    let directory = directory_on_disk();
    let mut clients: Vec<Client> =
        (0..number("AGENTDEX_CRASH_WRITERS", WRITERS)).map(|writer| Client { writer, ..Client::default() }).collect();
    let mut replica = Replica::default();
    let mut subscribers: Vec<Subscriber> = (0..SUBSCRIBERS).map(|_| Subscriber::default()).collect();
    for round in 0..rounds {
        if round % 5 == 4 {
            fs::remove_dir_all(directory.path().join("search")).unwrap();
        }
        let broker = format!("mqtt://{}", closed_address());
        let without_broker = ["--mqtt-url", &broker, "--no-mqtt"];
        let server = ServerProcess::start(directory.path(), if round % 2 == 1 { &without_broker } else { &[] });
        check(&server, &mut clients, &mut replica);
        // A new index is worked on while the writes below go on.
        if round % 5 != 4 {
            assert_eq!(found(&server), replica.versions(), "the search shows other records than there are");
        }
        let (url, acknowledged, subscribed) = (server.url().to_owned(), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            let writers: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(|| client.write_until_it_fails(&url, &acknowledged)))
                .collect();
            // At another number of writes each round, and somewhere within one.
            for _ in 0..READERS {
                scope.spawn(|| read_until_it_fails(&url));
            }
            for subscriber in &mut subscribers {
                scope.spawn(|| subscriber.follow_until_it_fails(&url, &subscribed));
            }
            let all = SUBSCRIBERS as u64;
            while acknowledged.load(Ordering::Relaxed) < 10 + round * 13 % 60
                || subscribed.load(Ordering::Relaxed) < all
            {
                assert!(!writers.iter().any(|writer| writer.is_finished()), "a writer failed: {}", server.log());
                thread::sleep(Duration::from_micros(200 + round * 370 % 1900));
            }
            server.kill();
        });
    }
    check_for_good(directory.path(), &mut clients, &mut replica, &mut subscribers);
}

#[test]
fn killed_server_loses_no_acknowledged_query() {
    let directory = directory_on_disk();
    let mut saved = Vec::new();
    for round in 0..4 {
        let server = ServerProcess::start(directory.path(), &[]);
        let listed = get(&server, "/queries");
        let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|query| query["name"].as_str()).collect();
        assert_eq!(names, saved, "round {round}");
        let call = |method: &str, name: &str| Call::new(method, &format!("{}/queries/{name}", server.url()));
        let name = format!("query-{round}");
        call("PUT", &name).body("application/json", r#"{"q": "weather"}"#).send().expect(201);
        saved.push(name);
        if round % 2 == 1 {
            call("DELETE", &saved.remove(0)).send().expect(204);
        }
        server.kill();
    }
}

/// The last time; then once more with everything read from the start.
fn check_for_good(directory: &Path, clients: &mut [Client], replica: &mut Replica, subscribers: &mut [Subscriber]) {
    let server = ServerProcess::start(directory, &[]);
    check(&server, clients, replica);
    assert_eq!(found(&server), replica.versions(), "the search shows other records than there are");
    for subscriber in subscribers {
        subscriber.catch_up(server.url(), replica.position);
        let first = *subscriber.events.keys().next().unwrap();
        let since = replica.kinds.split_off(&first);
        assert_eq!(subscriber.events, since, "a subscriber received other changes than there were");
        replica.kinds.extend(since);
    }
    let mut from_the_start = Replica::default();
    from_the_start.follow(&server);
    assert_eq!(from_the_start.things, replica.things);
}

fn check(server: &ServerProcess, clients: &mut [Client], replica: &mut Replica) {
    let things = things(server);
    for client in &mut *clients {
        client.settle(&things);
    }
    let known: BTreeSet<&String> = clients.iter().flat_map(|client| client.fates.keys()).collect();
    let unknown: Vec<&String> = things.keys().filter(|id| !known.contains(id)).collect();
    assert!(unknown.is_empty(), "nobody wrote {unknown:?}");

    replica.follow(server);
    assert_eq!(replica.versions(), things, "the log leads to other records than there are");
    for (seq, id, version) in clients.iter_mut().flat_map(|client| client.told.drain(..)) {
        let logged = replica.versions_by_seq.get(&seq);
        assert_eq!(logged, Some(&(id, version)), "change {seq} is another one than was acknowledged");
    }
}

/// Reads and searches as long as the server lives, and finds whole documents only.
fn read_until_it_fails(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = client();
    let get = async |path: &str| -> reqwest::Result<Value> {
        let request = http.get(format!("{url}{path}")).timeout(Duration::from_secs(30));
        request.send().await?.error_for_status()?.json().await
    };
    runtime.block_on(async {
        while let Ok(things) = get("/things").await {
            let whole = things.as_array().unwrap().iter().filter(|thing| version_of(thing) > 0).count();
            assert!(whole <= 1000);
            // An index that is rebuilt doesn't answer yet.
            let _ = get("/search?q=survivor").await;
        }
    });
}

/// A subscriber that resumes where it was, and remembers what it received.
#[derive(Default)]
struct Subscriber {
    last_id: Option<String>,
    /// The kind of each change by its seq.
    events: BTreeMap<u64, String>,
}

impl Subscriber {
    fn open(&self, url: &str) -> EventStream {
        let call = Call::new("GET", &format!("{url}/events"));
        EventStream::open(match &self.last_id {
            Some(id) => call.header("last-event-id", id),
            None => call,
        })
    }

    fn follow_until_it_fails(&mut self, url: &str, subscribed: &AtomicU64) {
        let mut stream = self.open(url);
        subscribed.fetch_add(1, Ordering::Relaxed);
        while let Some(event) = stream.next() {
            self.take(&event);
        }
        self.last_id = Some(stream.last_id);
    }

    fn catch_up(&mut self, url: &str, last: u64) {
        let mut stream = self.open(url);
        while self.events.keys().next_back().is_none_or(|seq| *seq < last) {
            self.take(&stream.next().unwrap());
        }
    }

    fn take(&mut self, event: &Event) {
        let seq = event.id.rsplit('-').next().unwrap().parse().unwrap();
        if let Some((before, _)) = self.events.last_key_value() {
            assert_eq!(Seq(seq), Gaps::default().after(Seq(*before)), "an event is missing");
        }
        self.events.insert(seq, event.kind.clone());
    }
}

/// A client that remembers what it was told.
#[derive(Default)]
struct Client {
    writer: u64,
    version: u64,
    fates: BTreeMap<String, Fate>,
    /// Seq, id and version of acknowledged puts.
    told: Vec<(u64, String, u64)>,
}

/// What may be there of a Thing; no version: nothing.
#[derive(Default)]
struct Fate {
    acknowledged: Option<u64>,
    in_flight: Option<Option<u64>>,
}

impl Client {
    fn write_until_it_fails(&mut self, url: &str, acknowledged: &AtomicU64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let http = client();
        runtime.block_on(async {
            while self.write(&http, url).await.is_ok() {
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    async fn write(&mut self, http: &reqwest::Client, url: &str) -> reqwest::Result<()> {
        self.version += 1;
        let version = self.version;
        let id = format!("urn:crash:{}:{}", self.writer, version * version % IDS_OF_A_WRITER);
        let fate = self.fates.entry(id.clone()).or_default();
        let removes = version.is_multiple_of(4) && fate.acknowledged.is_some();
        let after = (!removes).then_some(version);
        fate.in_flight = Some(after);
        let address = format!("{url}/things/{id}");
        let request = if removes {
            http.delete(address)
        } else {
            http.put(address).header("content-type", "application/td+json").body(document(&id, version).to_string())
        };
        let response = request.timeout(Duration::from_secs(30)).send().await?.error_for_status()?;
        *fate = Fate { acknowledged: after, in_flight: None };
        if !removes {
            let etag = response.headers()["etag"].to_str().unwrap();
            self.told.push((etag.trim_matches('"').parse().unwrap(), id, version));
        }
        Ok(())
    }

    /// Compares with what is there; what was in flight may have happened or not.
    fn settle(&mut self, things: &BTreeMap<String, u64>) {
        for (id, fate) in &mut self.fates {
            let there = things.get(id).copied();
            assert!(
                there == fate.acknowledged || Some(there) == fate.in_flight,
                "{id}: version {there:?} is there, {:?} was acknowledged, {:?} was in flight",
                fate.acknowledged,
                fate.in_flight
            );
            *fate = Fate { acknowledged: there, in_flight: None };
        }
    }
}

/// What a follower makes of the log.
#[derive(Default)]
struct Replica {
    position: u64,
    things: BTreeMap<String, String>,
    versions_by_seq: BTreeMap<u64, (String, u64)>,
    kinds: BTreeMap<u64, String>,
}

impl Replica {
    fn follow(&mut self, server: &ServerProcess) {
        loop {
            let page = get(server, &format!("/changes?since={}&limit=500", self.position));
            assert_eq!(page["truncated"], json!(false));
            let changes = page["changes"].as_array().unwrap();
            if changes.is_empty() {
                assert_eq!(page["last"], json!(self.position));
                return;
            }
            for change in changes {
                self.apply(change);
            }
        }
    }

    fn apply(&mut self, change: &Value) {
        assert_eq!(change["previous"], json!(self.position), "a change is missing");
        self.position = change["seq"].as_u64().unwrap();
        let id = change["id"].as_str().unwrap().to_owned();
        self.kinds.insert(self.position, change["kind"].as_str().unwrap().to_owned());
        let before = self.things.remove(&id);
        let after = match (change["kind"].as_str().unwrap(), before) {
            ("thing_created", None) => change["td"].to_string(),
            ("thing_updated", Some(before)) => merge_patch::apply(&before, &change["patch"].to_string()).unwrap(),
            ("thing_deleted", Some(_)) => return,
            (kind, before) => panic!("{kind} of {id}, which was {before:?}"),
        };
        let version = version_of(&serde_json::from_str(&after).unwrap());
        self.versions_by_seq.insert(self.position, (id.clone(), version));
        self.things.insert(id, after);
    }

    fn versions(&self) -> BTreeMap<String, u64> {
        let version = |text: &String| version_of(&serde_json::from_str(text).unwrap());
        self.things.iter().map(|(id, text)| (id.clone(), version(text))).collect()
    }
}

/// The version of each record.
fn things(server: &ServerProcess) -> BTreeMap<String, u64> {
    let things = get(server, "/things");
    things.as_array().unwrap().iter().map(|thing| (thing["id"].as_str().unwrap().into(), version_of(thing))).collect()
}

/// The version of each hit.
fn found(server: &ServerProcess) -> BTreeMap<String, u64> {
    let answer = get(server, "/search?capability=survival&limit=1000&consistent=true");
    let hits = answer["hits"].as_array().unwrap();
    let version = |hit: &Value| hit["title"].as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    hits.iter().map(|hit| (hit["id"].as_str().unwrap().into(), version(hit))).collect()
}

fn get(server: &ServerProcess, path: &str) -> Value {
    Call::new("GET", &format!("{}{path}", server.url())).send().expect(200).json()
}

/// Some 3 KB, in which every part tells the version.
fn document(id: &str, version: u64) -> Value {
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent",
        "id": id,
        "title": format!("Survivor {version}"),
        "description": format!("{version} ").repeat(2500 / (version.to_string().len() + 1)),
        "lmos:capabilities": [{"id": "survival", "name": "Survival", "description": format!("Version {version}")}],
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}},
        "security": ["nosec_sc"],
    })
}

/// The version of a document that is whole.
fn version_of(thing: &Value) -> u64 {
    let version = thing["title"].as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    let whole = document(thing["id"].as_str().unwrap(), version);
    for member in ["title", "description", "lmos:capabilities", "securityDefinitions", "security", "@type"] {
        assert_eq!(thing[member], whole[member], "half a document: {thing}");
    }
    version
}
