//! Event streams and MQTT: what strangers get of the past, and of what happens while they are connected.

use super::{
    normal::Normal,
    secrets::{Content, WORLDS},
    transcript::Transcript,
    world::{END_QUERY, STRANGERS, World},
};
use crate::{
    mqtt::wire::Client,
    support::{Event, EventStream},
    visibility::server::{
        Server,
        Who::{self, Admin, Bob},
        disconnect, messages_up_to, query_messages_up_to,
    },
};

/// The agent whose deletion ends each stream.
const END: &str = "urn:zz:finish";

/// Queries of event streams, and the text that matches each.
const QUERIES: [(&str, &str); 9] = [
    ("q=merger&mode=semantic", "merger"),
    ("q=business+news&mode=semantic", "business news"),
    ("q=prepares+the+merger+with+Acme", "prepares the merger with Acme"),
    ("q=wages&mode=hybrid", "wages"),
    ("q=storms&mode=semantic", "storms"),
    ("q=flights+to+Tokyo", "flights to Tokyo"),
    ("q=roses&mode=semantic", "roses"),
    ("q=companies&mode=lexical", "companies"),
    ("q=bread&mode=semantic&not_tag=board", "bread"),
];

/// Streams that go on while things happen.
pub struct Streams {
    streams: Vec<(Who, String, EventStream)>,
    clients: Vec<(Who, Client)>,
}

/// The streams of a caller.
fn paths(who: Who) -> Vec<String> {
    let mut paths = vec!["/events?diff=true".to_owned(), "/events/thing_deleted".to_owned()];
    for secrets in WORLDS {
        let (_, key) = secrets.contents[0];
        paths.push(format!("/events?capability={key}&diff=true"));
        paths.push(format!("/events?tag={key}"));
    }
    paths.extend(QUERIES.iter().map(|(query, _)| format!("/events?{query}&diff=true")));
    paths.push(format!("/events/thing_matched?{}", QUERIES[0].0));
    paths.push(format!("/events/thing_unmatched?{}&unnamed=true", QUERIES[1].0));
    paths.push("/queries/common/events?diff=true&owner=".to_owned());
    if who == Bob {
        paths.push("/queries/mine/events?diff=true".to_owned());
    }
    paths
}

/// The agents that end streams, so that each of them matches some.
fn ends() -> Vec<Content> {
    let keys = WORLDS.map(|secrets| ("the end", secrets.contents[0].1));
    let queries = QUERIES.map(|(_, text)| (text, "end"));
    let saved = [("news about companies", "end"), ("storm warning", "end")];
    keys.into_iter().chain(queries).chain(saved).collect()
}

/// Ends all streams: agents that match them come, change, cease to match, match again, and go.
fn end_streams(world: &World) {
    for (number, content) in ends().into_iter().enumerate() {
        let id = format!("{END}:{number}");
        for content in [content, (content.0, "again"), ("zq", "zq"), content] {
            world.put(Admin, &id, content, "");
        }
        world.server.remove(Admin, &id).expect(204);
    }
}

/// The number of the agent that ends a stream, and the kind of its last event there.
fn last_event(path: &str) -> (usize, &'static str) {
    let keys = WORLDS.map(|secrets| secrets.contents[0].1);
    let queries = QUERIES.map(|(query, _)| query);
    let of_key = keys.iter().position(|key| path.contains(&format!("={key}")));
    let of_query = queries.iter().position(|query| path.contains(query)).map(|at| keys.len() + at);
    let of_saved = ["/queries/common", "/queries/mine"].iter().position(|query| path.starts_with(query));
    let of_saved = of_saved.map(|at| keys.len() + queries.len() + at);
    let number = of_saved.or(of_query).or(of_key).unwrap_or(ends().len() - 1);
    let kinds = ["thing_matched", "thing_unmatched"];
    let kind = kinds.into_iter().find(|kind| path.contains(&format!("/{kind}")));
    (number, kind.unwrap_or("thing_deleted"))
}

/// The events of a stream up to the last of the agent that ends it.
fn read(stream: &mut EventStream, path: &str) -> Vec<Event> {
    let (number, kind) = last_event(path);
    let id = format!("\"{END}:{number}\"");
    let mut events = Vec::new();
    loop {
        let event = stream.next().unwrap_or_else(|| panic!("{path} ended after {events:?}"));
        let is_unnamed = path.contains("unnamed");
        let is_last = event.data.contains(&id) && (event.kind == kind || is_unnamed);
        events.push(event);
        if is_last {
            return events;
        }
    }
}

impl Streams {
    /// Opens all streams of all strangers.
    pub fn open(world: &World) -> Streams {
        let of = |who: Who| paths(who).into_iter().map(move |path| (who, path));
        let open = |(who, path): (Who, String)| {
            let stream = world.server.events(who, &path, None);
            (who, path, stream)
        };
        let streams = STRANGERS.into_iter().flat_map(of).map(open).collect();
        let connect = |who| {
            let mut client = world.server.connect_clean(who, "live");
            client.subscribe(&[("agentdex/#", 1)]);
            (who, client)
        };
        Streams { streams, clients: STRANGERS.map(connect).into() }
    }

    /// Reads them to their ends.
    pub fn read(self, world: &World, transcript: &mut Transcript) {
        let normal = Normal::of(&world.server);
        end_streams(world);
        for (who, path, mut stream) in self.streams {
            let events: Vec<String> = read(&mut stream, &path).iter().map(|event| normal.event(event)).collect();
            transcript.push((format!("{who} stream {path}"), events.join("\n")));
        }
        let end = world.server.put_end();
        for (who, client) in self.clients {
            read_messages(&normal, client, &end, &format!("{who} MQTT live"), transcript);
        }
    }
}

fn read_messages(normal: &Normal, mut client: Client, end: &str, request: &str, transcript: &mut Transcript) {
    let is_retained = request.ends_with("retained");
    let is_shared = request.ends_with("shared");
    let mut messages = match is_retained || is_shared {
        true => messages_up_to(&mut client, end),
        false => query_messages_up_to(&mut client, end, Some(END_QUERY)),
    };
    disconnect(client);
    // Which member of a group gets a message of a saved query depends on when the query was compared.
    messages.retain(|message| !is_shared || !message.topic.starts_with("agentdex/queries/"));
    // Messages of saved queries come in an order of their own: they wait for no others, and no others for them.
    messages.sort_by_key(|message| message.topic.starts_with("agentdex/queries/"));
    let line = |message| if is_retained { normal.retained(message) } else { normal.message(message) };
    transcript.push((request.to_owned(), messages.iter().map(line).collect::<Vec<_>>().join("\n")));
}

/// Reads what sessions missed that were away while all was written, and what is retained.
pub fn resume_sessions(world: &World, transcript: &mut Transcript) {
    let (normal, server) = (Normal::of(&world.server), &world.server);
    for who in STRANGERS {
        for session in ["early", "early-shared"] {
            let end = server.put_end();
            let (client, is_present) = server.connect(who, session);
            assert!(is_present, "the session of {who} is gone");
            read_messages(&normal, client, &end, &format!("{who} MQTT resumed {session}"), transcript);
        }
        let mut client = server.connect_clean(who, "retained");
        client.subscribe(&[("agentdex/things/#", 0)]);
        let end = server.put_end();
        read_messages(&normal, client, &end, &format!("{who} MQTT retained"), transcript);
    }
}

/// Reads event streams from former positions on.
pub fn resume(world: &World, transcript: &mut Transcript) {
    let (normal, server) = (Normal::of(&world.server), &world.server);
    let positions = positions(server, world, 3);
    end_streams(world);
    for who in STRANGERS {
        for position in &positions {
            let since = format!("{}-{position}", normal.epoch());
            for path in paths(who).into_iter().filter(|path| is_resumable(path)) {
                let mut stream = server.events(who, &path, Some(&since));
                let events: Vec<String> = read(&mut stream, &path).iter().map(|event| normal.event(event)).collect();
                transcript.push((format!("{who} resumes {path} at {position}"), events.join("\n")));
            }
        }
    }
}

/// True unless a stream has a query that is compared with changes only once somebody asks for it.
fn is_resumable(path: &str) -> bool {
    !path.contains("q=") && !path.contains("tag=")
}

/// Positions of the log at which strangers saw nothing that they don't see any more: `count` of them, with the beginning.
pub fn positions(server: &Server, world: &World, count: usize) -> Vec<u64> {
    let is_outside = |at: &u64| world.retracted.iter().all(|range| !range.contains(at));
    let all: Vec<u64> = (0..=server.last()).filter(is_outside).collect();
    all.iter().copied().step_by((all.len() / count).max(1)).collect()
}
