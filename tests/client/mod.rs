//! The client for the REST API: what it repeats, and what it reads as a stream.

mod routes;

use std::{pin::pin, sync::Mutex, time::Duration};

use agentdex_client::{Event, EventFilter, RegistryClient};
use futures_util::{StreamExt, TryStreamExt};
use serde_json::json;

use crate::{
    consumer::{
        run,
        server::{Said, Server},
    },
    support::{TestRegistry, agent},
};

/// A server that answers with these, one after another, and the last of them from then on.
fn answering(mut answers: Vec<Said>) -> Server {
    let last = answers.pop().unwrap();
    let answers = Mutex::new(answers.into_iter());
    Server::start(move |_| answers.lock().unwrap().next().unwrap_or_else(|| last.clone()))
}

fn busy() -> Said {
    Said::new("503 Service Unavailable", &["retry-after: 0"], "")
}

fn found() -> Said {
    Said::json(json!({"total": 0, "hits": []}))
}

#[test]
fn busy_registry_is_asked_again() {
    let server = answering(vec![busy(), Said::new("429 Too Many Requests", &["retry-after: 0"], ""), found()]);
    let client = RegistryClient::new(&server.origin).unwrap();
    run(client.search(&[])).unwrap();
    assert_eq!(server.received().len(), 3);

    // It has not begun, so that what changes something may be repeated too.
    let server = answering(vec![busy(), Said::new("201 Created", &["location: /things/urn:a"], "")]);
    let written = run(RegistryClient::new(&server.origin).unwrap().register("{}")).unwrap();
    assert_eq!((written.id.as_str(), server.received().len()), ("urn:a", 2));
    assert!(server.received().iter().all(|request| request.body == "{}"));

    let server = answering(vec![busy()]);
    let error = run(RegistryClient::new(&server.origin).unwrap().attempts(2).search(&[])).unwrap_err();
    assert_eq!((error.problem().unwrap().status, server.received().len()), (503, 2));

    let server = answering(vec![Said::new("400 Bad Request", &[], "")]);
    run(RegistryClient::new(&server.origin).unwrap().search(&[])).unwrap_err();
    assert_eq!(server.received().len(), 1);
}

#[test]
fn request_whose_connection_broke_is_repeated_where_that_changes_nothing() {
    let broken = Said::default();
    let server = answering(vec![broken.clone(), found()]);
    run(RegistryClient::new(&server.origin).unwrap().search(&[])).unwrap();
    assert_eq!(server.received().len(), 2);

    let server = answering(vec![broken, Said::new("201 Created", &["location: /things/urn:a"], "")]);
    let error = run(RegistryClient::new(&server.origin).unwrap().register("{}")).unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn all_pages_are_one_stream() {
    let registry = TestRegistry::start();
    for id in ["urn:a", "urn:b", "urn:c"] {
        registry.put(&format!("/things/{id}"), agent(id, "Weather")).expect(201);
    }
    let client = RegistryClient::new(&registry.url("")).unwrap();
    for parameters in [&[][..], &[("limit", "2")]] {
        let summaries: Vec<String> =
            run(client.all_summaries(parameters).map_ok(|summary| summary.id).try_collect()).unwrap();
        assert_eq!(summaries, ["urn:a", "urn:b", "urn:c"], "{parameters:?}");
    }
}

#[test]
fn subscription_resumes_after_the_last_event() {
    let event = |number: u32| format!("id: e-{number}\nevent: thing_created\ndata: {{\"id\": \"urn:{number}\"}}\n\n");
    let server = Server::start(move |request| match request.header("last-event-id") {
        "" => Said::stream("text/event-stream", &[&event(1)]),
        "e-1" => Said::stream("text/event-stream", &[&event(2)]).hanging(),
        other => panic!("{other}"),
    });
    let client = RegistryClient::new(&server.origin).unwrap();
    let events: Vec<Event> = run(async {
        let events = pin!(client.subscribe(EventFilter::default(), None).stream());
        tokio::time::timeout(Duration::from_secs(60), events.take(2).try_collect()).await.unwrap().unwrap()
    });
    let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["e-1", "e-2"]);
}
