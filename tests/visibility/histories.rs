//! Random histories: several writers at once, six readers by all ways, and an oracle that says what each may have. Who
//! resumes from a former position also has to know in the end what is there.
//!
//! `AGENTDEX_HISTORIES_SECONDS=600 cargo test --test main -- random_histories --ignored` goes on for ten minutes, with
//! another seed for each history; `AGENTDEX_HISTORIES_SEED` begins with one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    markers::Marker,
    oracle::{Moment, Part},
    readers::{self, AtBroker, Gathered, Live, Seen},
    server::{Server, Who, trim},
    world::{Random, World, id_of},
};
use crate::{
    mqtt::{broker::Broker, support::has_mosquitto},
    process::agentdex,
    support::{Event, eventually},
};

/// With it, documents with parts, namespaces and saved queries matter in the few rounds of a run.
const SEED: u64 = 14;
const ROUNDS: usize = 4;
/// How often it is read what a broker retains, until that is right.
const MOST_ATTEMPTS: usize = 20;

/// The ways that have to show somebody something that isn't public, or the test would find nothing there.
const WAYS: [&str; 13] = [
    "things",
    "versions",
    "history",
    "lists",
    "search",
    "changes",
    "resumed SSE",
    "resumed SSE of a query",
    "live SSE",
    "live SSE of a query",
    "resumed MQTT",
    "retained MQTT",
    "live MQTT",
];

#[test]
fn random_histories_show_nobody_what_it_may_not_see() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let until = Instant::now() + Duration::from_secs(number("AGENTDEX_HISTORIES_SECONDS").unwrap_or_default());
    let mut seed = number("AGENTDEX_HISTORIES_SEED").unwrap_or(SEED);
    let mut showing = BTreeSet::new();
    loop {
        let history = History::run(seed);
        let leaks = history.leaks();
        assert!(leaks.is_empty(), "{}", history.report(seed, &leaks));
        assert!(history.astray.is_empty(), "seed {seed}: {}", history.astray.join("\n"));
        showing.extend(history.ways_that_show_secrets());
        if Instant::now() >= until {
            break;
        }
        seed += 1;
    }
    let blind: Vec<&str> = WAYS.into_iter().filter(|way| !showing.contains(way)).collect();
    assert!(blind.is_empty(), "nobody gets anything that is not public by {blind:?}");
}

/// What has happened, and what everybody got of it.
struct History {
    world: World,
    seen: Vec<Seen>,
    /// Who reads at the broker that the server publishes to, if there is one.
    at_broker: Option<AtBroker>,
    /// Readers that resumed, and don't know then what is there.
    astray: Vec<String>,
}

/// Something that somebody got and may not have.
type Leak<'a> = (&'a Seen, Marker);

impl History {
    fn run(seed: u64) -> History {
        let broker = has_mosquitto().then(Broker::open);
        let url = broker.as_ref().map(Broker::url);
        let arguments = url.as_ref().map(|url| ["--mqtt-url", url]);
        let mut server = Server::with(arguments.as_ref().map_or(&[][..], |arguments| &arguments[..]));
        let mut random = Random(seed ^ 0xffff);
        server
            .json(Who::Carol, "PUT", "/queries/blue?visibility=public", &json!({"q": "blue", "mode": "lexical"}))
            .expect(201);
        readers::all(&mut Gathered::default(), |who, _| readers::leave(&server, who));
        let at_broker = broker.map(AtBroker::new);
        let mut history = History { world: World::new(seed), seen: Vec::new(), at_broker, astray: Vec::new() };
        history.world.read_log(&server);
        let (mut positions, mut log) = (vec![Moment::default()], String::new());
        for round in 0..ROUNDS {
            positions.push(history.world.now);
            history.write_and_watch(&server, &mut random);
            // Not all at once: what follows another read is judged by the present of that one.
            history.gather(&server, |end, gathered| {
                let since = random.one_of(&positions).0;
                readers::all(gathered, |who, gathered| {
                    readers::ask_all(&server, who, gathered);
                    readers::replay(&server, who, since, end, gathered);
                });
            });
            history.gather(&server, |end, gathered| {
                readers::all(gathered, |who, gathered| {
                    readers::resume(&server, who, end, gathered);
                    readers::read_retained(&server, who, end, gathered);
                });
            });
            match round {
                0 => log += &server.restart_after(|_| ()),
                2 => log += &restore(&mut server),
                _ => {}
            }
        }
        let ends = Mutex::new(Vec::new());
        let from = history.gather(&server, |end, gathered| {
            readers::all(gathered, |who, gathered| {
                for since in &positions {
                    let events = readers::replay(&server, who, since.0, end, gathered);
                    ends.lock().unwrap().push((who, *since, events));
                }
            });
        });
        history.find_astray(from, ends.into_inner().unwrap());
        // The log forgets how things began.
        let last = history.world.now.0;
        log += &server.restart_after(|data| trim(data, last / 3));
        history.gather(&server, |end, gathered| {
            let oldest = server.changes(Who::Admin, server.last())["oldest"].as_u64().unwrap().saturating_sub(1);
            readers::all(gathered, |who, gathered| {
                let _ = readers::replay(&server, who, oldest, end, gathered);
                readers::ask_all(&server, who, gathered);
                readers::read_retained(&server, who, end, gathered);
            });
        });
        log += &server.log();
        history.gather(&server, |_, gathered| {
            // What is sent to a broker is read there; its client logs the topics.
            let is_ours = |line: &&str| !line.contains(" rumqttc::");
            let shown = log.lines().filter(is_ours).filter(|line| line.contains("zqt") || line.contains("zqk"));
            shown.for_each(|line| gathered.add(Who::Nobody, "log lines", "", line));
        });
        history
    }

    /// Compares what is there with what readers know of who knew what there was, and got what came after that.
    fn find_astray(&mut self, from: Moment, ends: Vec<(Who, Moment, Vec<Event>)>) {
        let record = &self.world.record;
        for (who, since, events) in ends {
            let known = readers::known_after(record.seen_at(who, since), &events);
            let there = record.seen_at(who, self.world.now);
            // What is purged while they read, some of them hear of.
            let moments = record.moments(from, self.world.now);
            let is_right = |known: &BTreeSet<String>| moments.iter().any(|then| record.seen_at(who, *then) == *known);
            if !known.as_ref().is_ok_and(is_right) {
                self.astray.push(format!("{who}, from {since:?} on, knows of {known:?} where there is {there:?}"));
            }
        }
    }

    /// A round of writes, while everybody watches, polls and asks.
    fn write_and_watch(&mut self, server: &Server, random: &mut Random) {
        let from = self.world.now;
        let live: Vec<Live> = Who::ALL.into_iter().map(|who| Live::open(server, who)).collect();
        let asked: Vec<(Who, usize)> = (0..12).map(|_| (random.one_of(&Who::ALL), random.below(100))).collect();
        let mut gathered = Gathered::default();
        let responses = std::thread::scope(|scope| {
            let polls = Who::ALL.map(|who| {
                let path = format!("/changes?since={}&wait=5&limit=1000", from.0);
                scope.spawn(move || (who, server.get(who, &path), path))
            });
            let questions = scope.spawn(move || {
                let mut gathered = Gathered::default();
                asked.into_iter().for_each(|(who, number)| readers::ask_at_random(server, who, number, &mut gathered));
                gathered
            });
            let responses = self.world.go_on(server);
            let end = server.put_end();
            live.into_iter().for_each(|live| live.close(&end, &mut gathered));
            for poll in polls {
                let (who, answer, path) = poll.join().unwrap();
                gathered.add(who, "long polls", &path, answer.text());
            }
            (responses, questions.join().unwrap())
        });
        let (responses, questions) = responses;
        for response in responses {
            gathered.add(response.who, "responses to writes", &response.request, &response.text);
        }
        self.world.read_log(server);
        let to = self.world.now;
        self.seen.extend(gathered.between(from, to));
        self.seen.extend(questions.between(from, to));
        // What has a time to live of a second is gone in the next round, or isn't: both happens.
        if random.below(2) == 0 {
            let ids = World::ids();
            let expires = |id: &String| server.get(Who::Admin, &format!("/things/{id}")).text().contains("\"ttl\":1");
            if ids.iter().any(expires) {
                eventually("the expiry", || !ids.iter().any(expires));
                eventually("the purge", || {
                    self.world.read_log(server);
                    let is_alive = |id: &String| server.get(Who::Admin, &format!("/things/{id}")).status == 200;
                    ids.iter().all(|id| is_alive(id) == self.world.is_alive(id))
                });
            }
        }
    }

    /// Gathers what readers get of what is there, and what is purged meanwhile; returns the moment when it begins.
    fn gather(&mut self, server: &Server, read: impl FnOnce(&str, &mut Gathered)) -> Moment {
        let before = self.world.now;
        let end = server.put_end();
        self.world.read_log(server);
        let (from, mut gathered) = (self.world.now, Gathered::default());
        read(&end, &mut gathered);
        self.world.read_log(server);
        self.seen.extend(gathered.between(from, self.world.now));
        self.read_at_broker(server, &end, before);
        from
    }

    /// Reads what the broker has got up to an end, which was put after a moment, and what it retains.
    fn read_at_broker(&mut self, server: &Server, end: &str, before: Moment) {
        let Some(at_broker) = &mut self.at_broker else { return };
        let (from, mut gathered) = (self.world.now, Gathered::default());
        let since = at_broker.read(end, before, &mut gathered);
        // Until it is right: after a restore everything is published again.
        for attempts in 1.. {
            let mut retained = Gathered::default();
            let ids = at_broker.read_retained(server, &mut retained);
            self.world.read_log(server);
            let (now, record) = (self.world.now, &self.world.record);
            let is_right = record.moments(from, now).iter().any(|then| record.seen_at(Who::Nobody, *then) == ids);
            if !is_right && attempts < MOST_ATTEMPTS {
                continue;
            }
            if !is_right {
                let there = record.seen_at(Who::Nobody, now);
                self.astray.push(format!("a broker retains {ids:?} at {now:?} where there is {there:?}"));
            }
            self.seen.extend(gathered.between(since, now));
            self.seen.extend(retained.between(from, now));
            return;
        }
    }

    fn leaks(&self) -> Vec<Leak<'_>> {
        let mut leaks = Vec::new();
        for seen in &self.seen {
            let moments = self.world.record.moments(seen.from, seen.to);
            let forbidden = seen.markers.iter().filter(|marker| !self.may_have(seen, **marker, &moments));
            leaks.extend(forbidden.map(|marker| (seen, *marker)));
        }
        leaks
    }

    fn may_have(&self, seen: &Seen, marker: Marker, moments: &[Moment]) -> bool {
        let record = &self.world.record;
        match marker {
            Marker::Text(text, part) => {
                let part = if self.world.is_imported(text) { Part::Key } else { part };
                let is_live = seen.is_live && record.saw_between(seen.who, text, seen.from, seen.to);
                let may = |now: &Moment| match seen.way {
                    "versions" => record.may_have_version(seen.who, text, *now),
                    _ => record.may_have(seen.who, text, part, *now),
                };
                // A broker gets again what it has confirmed shortly before the server ended.
                is_live || (!seen.is_live || seen.way.ends_with("broker")) && moments.iter().any(may)
            }
            Marker::Id(number) => {
                let id = id_of(number);
                // The id of an agent that the reporter doesn't see is a word of the reporter.
                let reporter = Who::ALL.into_iter().find(|who| who.owner() == seen.request);
                let reporter = reporter.filter(|_| seen.way == readers::DECISIONS);
                let is_a_word = |now| reporter.is_some_and(|who| !record.seen_at(who, now).contains(&id));
                let knows = moments.iter().any(|now| is_a_word(*now) || record.may_know(seen.who, &id, *now));
                knows && (!seen.is_of_query || self.knows_blue(seen, &id, moments))
            }
        }
    }

    /// True if somebody may know that a saved query has matched a text of an agent.
    fn knows_blue(&self, seen: &Seen, id: &str, moments: &[Moment]) -> bool {
        let record = &self.world.record;
        let steps = record.lives.iter().filter(|life| life.id == id).flat_map(|life| &life.steps);
        let texts: BTreeSet<u32> = steps.map(|step| step.text).filter(|text| self.world.is_blue(*text)).collect();
        texts.into_iter().any(|text| {
            record.saw_between(seen.who, text, Moment::default(), seen.to)
                || moments.iter().any(|now| record.may_have(seen.who, text, Part::Key, *now))
        })
    }

    /// The ways by which somebody got a text that was never public.
    fn ways_that_show_secrets(&self) -> BTreeSet<&'static str> {
        let record = &self.world.record;
        let is_secret = |text: u32| !record.saw_between(Who::Nobody, text, Moment::default(), self.world.now);
        let secrets: BTreeSet<u32> = self.world.texts().filter(|text| is_secret(*text)).collect();
        let shows = |seen: &&Seen| {
            let mut texts = seen.markers.iter().filter_map(|marker| marker.text());
            seen.who != Who::Admin && texts.any(|text| secrets.contains(&text))
        };
        self.seen.iter().filter(shows).map(|seen| seen.way).collect()
    }

    /// How many leaks there are by which ways, and of each way the first with all that has happened to its id.
    fn report(&self, seed: u64, leaks: &[Leak<'_>]) -> String {
        let mut by_way: BTreeMap<(&str, &str), Vec<&Leak<'_>>> = BTreeMap::new();
        for leak in leaks {
            let kind = match leak.1 {
                Marker::Text(_, Part::Body) => "text",
                Marker::Text(_, Part::Key) => "key of a capability",
                Marker::Id(_) => "id",
            };
            by_way.entry((leak.0.way, kind)).or_default().push(leak);
        }
        let of_way = |((way, kind), leaks): (&(&str, &str), &Vec<&Leak<'_>>)| {
            let (seen, marker) = leaks[0];
            let about = match marker {
                Marker::Id(number) => vec![id_of(*number)],
                Marker::Text(text, _) => {
                    let has = |life: &&super::oracle::Life| life.steps.iter().any(|step| step.text == *text);
                    self.world.record.lives.iter().filter(has).map(|life| life.id.clone()).collect()
                }
            };
            let histories: Vec<String> = about.iter().map(|id| format!("{id}\n{}", self.world.history(id))).collect();
            format!(
                "{way}: {} times a {kind}; first {marker:?} to {} between {:?} and {:?} by {}\n{}",
                leaks.len(),
                seen.who,
                seen.from,
                seen.to,
                seen.request.chars().take(100).collect::<String>(),
                histories.join("\n")
            )
        };
        let lines: Vec<String> = by_way.iter().map(of_way).collect();
        format!(
            "seed {seed}: {} times somebody gets what it may not have\n{}\n{} readers don't know what is there\n{}\n\
             AGENTDEX_HISTORIES_SEED={seed} repeats it",
            leaks.len(),
            lines.join("\n"),
            self.astray.len(),
            self.astray.join("\n")
        )
    }
}

/// Puts a backup in the place of the data, as after the loss of a disk; returns what was logged before.
fn restore(server: &mut Server) -> String {
    let backup = server.get(Who::Admin, "/backup").expect(200).body;
    let file = server.directory.path().join("backup");
    std::fs::write(&file, backup).unwrap();
    server.restart_after(|data| {
        std::fs::remove_dir_all(data).unwrap();
        let restored = agentdex().arg("restore").arg(&file).arg("--data").arg(data).output().unwrap();
        assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    })
}
