//! What an embedder meets: opening and closing, documents of every kind, subscriptions.

use std::{
    collections::HashMap,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use agentdex::{
    ChangeKind, Epoch, Error, Position, Registry, Seq, Timestamp,
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    registry::{Event, Options, Since, Write},
    search::{FacetField, FilterField, Mode, Search},
    store::{self, Store},
    td::{Description, Json, Strictness},
};
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::nth;

/// How long something may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn agent(id: &str) -> Description {
    Description::new("Weather agent").id(id).capability("forecast")
}

fn id_of(event: Option<agentdex::Result<Event>>) -> String {
    match event.expect("the subscription goes on").expect("it can be read") {
        Event::Change(change) => change.id.clone(),
        Event::Resync(position) => panic!("a resync at {position}"),
    }
}

#[test]
fn close_releases_the_directory_at_once_whoever_else_holds_the_registry() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    registry.put(agent("urn:a")).unwrap();
    let (clone, listed) = (registry.clone(), registry.list());
    registry.close();
    let reopened = Registry::open(directory.path()).expect("the directory is free");
    assert_eq!(reopened.len(), 1);
    assert!(matches!(clone.find("urn:a"), Err(Error::ShuttingDown)));
    assert!(matches!(clone.put(agent("urn:b")), Err(Error::ShuttingDown)));
    assert!(listed.take(1).any(|thing| matches!(thing, Err(Error::ShuttingDown))));
    // Closing again, and dropping what is closed, leaves the other one alone.
    clone.close();
    drop((registry, clone));
    reopened.put(agent("urn:b")).unwrap();
    assert_eq!(reopened.len(), 2);
}

#[test]
fn a_directory_that_this_process_has_open_says_so() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let refused = Registry::open(directory.path().join(".")).unwrap_err();
    assert!(matches!(refused, Error::StoreInUse { by_this_process: true, .. }), "{refused:?}");
    assert!(refused.to_string().ends_with("this process; clone the open Registry, or close it first"));
    registry.close();
    Registry::open(directory.path()).expect("the directory is free");
}

#[test]
fn strict_and_options_go_together_in_either_order() {
    let options = || Options::default().default_ttl(60);
    for order in [
        |builder: agentdex::Builder, options| builder.strict().options(options),
        |builder: agentdex::Builder, options| builder.options(options).strict(),
    ] {
        let directory = TempDir::new().unwrap();
        let registry = order(Registry::builder(directory.path()), options()).open().unwrap();
        assert_eq!((registry.options().strictness, registry.options().default_ttl), (Strictness::Strict, Some(60)));
        let without_security = r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:a", "title": "A"}"#;
        assert!(matches!(registry.put(without_security), Err(Error::Invalid(_))));
    }
}

#[test]
fn documents_are_text_bytes_values_and_whatever_is_serialized() {
    #[derive(Serialize)]
    struct Agent<'a> {
        #[serde(rename = "@context")]
        context: &'a str,
        title: &'a str,
        id: &'a str,
        security: &'a str,
        #[serde(rename = "securityDefinitions")]
        definitions: Value,
    }
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let context = "https://www.w3.org/2022/wot/td/v1.1";
    let definitions = json!({"open": {"scheme": "nosec"}});
    let value = |id: &str| json!({"@context": context, "title": "A", "id": id, "security": "open", "securityDefinitions": definitions});
    registry.put(value("urn:value")).unwrap();
    registry.put(value("urn:reference")).unwrap();
    registry.put(value("urn:text").to_string()).unwrap();
    registry.put(value("urn:str").to_string().as_str()).unwrap();
    registry.put(value("urn:bytes").to_string().as_bytes()).unwrap();
    registry.put(agent("urn:builder")).unwrap();
    let serialized =
        Agent { context, title: "A", id: "urn:serialized", security: "open", definitions: definitions.clone() };
    registry.put(Json::of(&serialized).unwrap()).unwrap();
    assert_eq!(registry.len(), 7);
    registry.patch("urn:text", json!({"title": "B"})).unwrap();
    assert!(registry.find("urn:text").unwrap().unwrap().text().contains("\"B\""));
    // A text that is serialized is a JSON string, which is no description.
    assert!(registry.put(Json::of(&value("urn:quoted").to_string()).unwrap()).is_err());
    assert!(matches!(Json::of(&HashMap::from([((1, 2), 3)])), Err(agentdex::td::Error::NotSerializable { .. })));
}

#[test]
fn errors_of_the_library_do_not_speak_of_requests() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::builder(directory.path()).strict().open().unwrap();
    let anonymous = registry.put(Description::new("A")).unwrap_err().to_string();
    let write = agentdex::registry::Write::create(agent("urn:a"));
    let unexpected = registry.write_blocking(write).unwrap_err().to_string();
    for message in [&anonymous, &unexpected] {
        for word in ["POST", "PUT", "/things", "HTTP"] {
            assert!(!message.contains(word), "{message}");
        }
    }
    assert!(anonymous.contains("has no `id`") && unexpected.contains("urn:a"), "{anonymous}; {unexpected}");
}

#[test]
fn a_search_is_a_text_or_what_is_built_of_one() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    for (id, tag) in [("urn:a", "beta"), ("urn:b", "stable"), ("urn:c", "stable")] {
        registry.put(agent(id).tag(tag)).unwrap();
    }
    let search = Search::words("forecast").filter(FilterField::Tag, "stable").facet(FacetField::Tag).limit(1);
    let answer = registry.search(search.consistent()).unwrap();
    assert_eq!((answer.total, answer.hits.len(), answer.seq), (2, 1, nth(3)));
    assert_eq!(answer.facets[&FacetField::Tag][0].count, 2);
    assert_eq!(registry.search("forecast").unwrap().total, 3);
    assert_eq!(registry.search(Search::all().offset(1)).unwrap().hits.len(), 2);
}

#[test]
fn close_wakes_who_waits_for_changes() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let (ended, end) = mpsc::channel();
    for _ in 0..3 {
        let (subscription, ended) = (registry.subscribe(Since::Now), ended.clone());
        thread::spawn(move || ended.send(subscription.count()));
    }
    let asynchronous = registry.subscribe(Since::Now);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        ended.send(runtime.block_on(asynchronous.into_stream().map(Result::unwrap).collect::<Vec<_>>()).len())
    });
    registry.put(agent("urn:a")).unwrap();
    registry.close();
    let seen: Vec<usize> = (0..4).map(|_| end.recv_timeout(PATIENCE).expect("it was woken")).collect();
    assert_eq!(seen, [1; 4], "what was durable is delivered");
}

#[test]
fn the_last_clone_ends_subscriptions_too() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let mut subscription = registry.subscribe(Since::Now);
    drop(registry);
    assert!(subscription.next().is_none());
    Registry::open(directory.path()).expect("the subscription doesn't hold the directory");
}

#[test]
fn subscriptions_resume_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let mut subscription = registry.subscribe(Since::Oldest);
    registry.put(agent("urn:a")).unwrap();
    assert_eq!(id_of(subscription.next()), "urn:a");
    let position = subscription.resume_position();
    registry.put(agent("urn:b")).unwrap();
    registry.close();

    let registry = Registry::open(directory.path()).unwrap();
    registry.remove("urn:a").unwrap();
    let mut resumed = registry.subscribe(position);
    assert_eq!(id_of(resumed.next()), "urn:b");
    let Some(Ok(Event::Change(removal))) = resumed.next() else { panic!("a change") };
    assert_eq!((removal.kind, removal.id.as_str()), (ChangeKind::Deleted, "urn:a"));
    let from_the_start: Vec<_> = registry.subscribe(Since::Oldest).take(3).map(|event| id_of(Some(event))).collect();
    assert_eq!(from_the_start, ["urn:a", "urn:b", "urn:a"]);
    assert_eq!(Since::from(None), Since::Now);
}

#[test]
fn a_position_that_is_gone_or_foreign_is_a_resync() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let first = registry.subscribe(Since::Now).resume_position();
    for number in 0..20 {
        registry.put(agent(&format!("urn:{number}"))).unwrap();
    }
    registry.close();
    let retained = store::Options::default().retained_changes(5);
    let store = Store::open(directory.path(), retained).unwrap();
    store.trim_log(Timestamp::now()).unwrap();
    store.close();

    let registry = Registry::open(directory.path()).unwrap();
    let gone = first;
    let foreign = Position { epoch: Epoch(first.epoch.0 ^ 1), ..first };
    let beyond = Position { seq: Seq(1000), ..first };
    for lost in [gone, foreign, beyond] {
        let end = registry.last_seq();
        let mut subscription = registry.subscribe(lost);
        let Some(Ok(Event::Resync(position))) = subscription.next() else { panic!("a resync of {lost}") };
        assert_eq!((position.epoch, position.seq), (first.epoch, end));
        // It goes on by itself.
        let id = format!("urn:after:{end}");
        registry.put(agent(&id)).unwrap();
        assert_eq!(id_of(subscription.next()), id);
    }
    assert_eq!(id_of(registry.subscribe(Since::Oldest).next()), "urn:15");
}

#[test]
fn a_subscription_yields_what_its_caller_sees() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let principal =
        Principal { owner: "team".parse().unwrap(), role: Role::Register, key: String::new(), expires: None };
    let team = registry.as_caller(Caller::Principal(Arc::new(principal)));
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    // More than are read at once.
    for number in 0..200 {
        let description = Description::new("Hidden").id(format!("urn:example:{number}"));
        team.write_blocking(Write::put(description).with_access(private.clone())).unwrap();
    }
    team.put(Description::new("Seen").id("urn:example:seen")).unwrap();
    let first = |registry: &Registry| match registry.subscribe(Since::Oldest).next().unwrap().unwrap() {
        Event::Change(change) => change.id.clone(),
        Event::Resync(_) => panic!("nothing is lost"),
    };
    assert_eq!(first(&registry.as_caller(Caller::Anonymous)), "urn:example:seen");
    assert_eq!(first(&team), "urn:example:0");
    assert_eq!(first(&registry), "urn:example:0");
    let others = registry.as_caller(Caller::Anonymous).subscribe(Since::Oldest);
    registry.close();
    let yielded: Vec<_> = others.take(3).map(|event| format!("{event:?}")).collect();
    assert!(yielded.len() <= 1, "{yielded:?}");
}

/// A library without the feature `semantic` has no model either.
#[test]
fn an_answer_says_that_meaning_does_not_count() {
    let search = |options: Options, search: Search| {
        let directory = TempDir::new().unwrap();
        let registry = Registry::builder(directory.path()).options(options).open().unwrap();
        registry.put(agent("urn:a")).unwrap();
        let answer = registry.search(search.consistent()).unwrap();
        registry.close();
        (answer.mode, answer.total, answer.hints.len())
    };
    let without = || Options::default().model(None);
    assert_eq!(search(without(), Search::words("umbrella tomorrow")), (Mode::Lexical, 0, 1));
    assert_eq!(search(without(), Search::words("forecast")), (Mode::Lexical, 1, 0));
    assert_eq!(search(without(), Search::all()), (Mode::Lexical, 1, 0));
    assert_eq!(search(without(), Search::words("umbrella").mode(Mode::Lexical)), (Mode::Lexical, 0, 0));
    assert_eq!(search(Options::default(), Search::words("umbrella")).0, Mode::Hybrid);
}
