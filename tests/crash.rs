//! kill -9 at any moment loses no acknowledged write and leaves no half one.
//!
//! Round after round a real server is killed in the middle of concurrent writes. Then what clients
//! were told is compared with what the next server has: in the records, in the log, in the search.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use agentdex::td::merge_patch;
use serde_json::{Value, json};

use crate::{
    process::ServerProcess,
    support::{Call, client},
};

/// How often the server is killed, and how many write meanwhile: `AGENTDEX_CRASH_ROUNDS` and `AGENTDEX_CRASH_WRITERS`.
const ROUNDS: u64 = 20;
const WRITERS: u64 = 4;
const IDS_OF_A_WRITER: u64 = 6;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[test]
fn killed_server_loses_no_acknowledged_write() {
    let rounds = number("AGENTDEX_CRASH_ROUNDS", ROUNDS);
    let directory = tempfile::tempdir().unwrap();
    let mut clients: Vec<Client> =
        (0..number("AGENTDEX_CRASH_WRITERS", WRITERS)).map(|writer| Client { writer, ..Client::default() }).collect();
    let mut replica = Replica::default();
    for round in 0..rounds {
        let server = ServerProcess::start(directory.path(), &[]);
        check(&server, &mut clients, &mut replica);
        let (url, acknowledged) = (server.url().to_owned(), AtomicU64::new(0));
        thread::scope(|scope| {
            let writers: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(|| client.write_until_it_fails(&url, &acknowledged)))
                .collect();
            // At another number of writes each round, and somewhere within one.
            while acknowledged.load(Ordering::Relaxed) < 10 + round * 13 % 60 {
                assert!(!writers.iter().any(|writer| writer.is_finished()), "a writer failed: {}", server.log());
                thread::sleep(Duration::from_micros(200 + round * 370 % 1900));
            }
            server.kill();
        });
    }
    check_for_good(directory.path(), &mut clients, &mut replica);
}

#[test]
fn killed_server_loses_no_acknowledged_query() {
    let directory = tempfile::tempdir().unwrap();
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
fn check_for_good(directory: &Path, clients: &mut [Client], replica: &mut Replica) {
    let server = ServerProcess::start(directory, &[]);
    check(&server, clients, replica);
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
    assert_eq!(found(server), things, "the search shows other records than there are");
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
        self.position += 1;
        assert_eq!(change["seq"], json!(self.position), "the log has a gap");
        let id = change["id"].as_str().unwrap().to_owned();
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
