//! Several agents that can do the same, over an embedded registry and over a client alike.

use agentdex::consumer::{Candidate, Consumer, Directory, Error, FirstThatAnswers, Pending, Router, Search};
use agentdex_client::RegistryClient;
use serde_json::{Value, json};

use super::{
    loopback, run,
    server::{Said, Server},
    thing,
};
use crate::support::{TestRegistry, unreachable_url};

fn translator(id: &str, origin: &str) -> Value {
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": id, "title": id, "description": "Translates texts",
        "lmos:capabilities": [{"id": "translate", "name": "Translation"}],
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
        "actions": {"translate": {"input": {"type": "string"}, "forms": [{"href": origin}]}},
    })
}

/// A directory of these descriptions, the best match first.
#[derive(Debug)]
struct Ranked(Vec<Value>);

impl Directory for Ranked {
    fn search<'a>(&'a self, search: &'a Search) -> Pending<'a, Vec<Candidate>> {
        assert_eq!(search.capability.as_deref(), Some("translate"));
        let candidate = |(index, description): (usize, &Value)| Candidate {
            id: description["id"].as_str().unwrap().into(),
            score: 10.0 - index as f32,
            ..Candidate::default()
        };
        Box::pin(async move { Ok(self.0.iter().enumerate().map(candidate).collect()) })
    }

    fn description<'a>(&'a self, id: &'a str) -> Pending<'a, Option<String>> {
        Box::pin(async move { Ok(self.0.iter().find(|found| found["id"] == id).map(Value::to_string)) })
    }
}

#[test]
fn router_takes_the_live_then_the_verified_then_the_current_then_the_best_match() {
    let alive = Server::start(|_| Said::json(json!("hallo")));
    let dead = unreachable_url("");
    let of = |id: &str, origin: &str, is_verified: bool, is_stale: bool| {
        let mut description = translator(id, origin);
        if is_verified {
            description["agentdex:signature"] = json!({"status": "valid"});
        }
        if is_stale {
            description["agentdex:status"] = json!("stale");
        }
        description
    };
    let live = alive.origin.as_str();
    let uncallable = translator("urn:t:none", "ftp://127.0.0.1/");
    for (agents, expected, reason) in [
        (vec![of("urn:t:a", live, false, false), of("urn:t:b", live, false, false)], "urn:t:a", "of 2"),
        (vec![of("urn:t:a", live, false, true), of("urn:t:b", live, false, false)], "urn:t:b", "current"),
        (vec![of("urn:t:a", live, false, false), of("urn:t:b", live, true, true)], "urn:t:b", "valid signature"),
        (vec![of("urn:t:a", &dead, true, false), of("urn:t:b", live, false, true)], "urn:t:b", "can't be reached: 1"),
        (vec![uncallable, of("urn:t:b", live, false, false)], "urn:t:b", "of 2"),
    ] {
        let consumer = Consumer::with_options(Ranked(agents), loopback()).unwrap();
        let best = run(Router::by_capability("translate").choose(&consumer)).unwrap();
        assert_eq!(best.id(), expected);
        assert!(best.why().iter().any(|why| why.contains(reason)), "{:?}", best.why());
    }
    let unverified = Ranked(vec![of("urn:t:a", live, false, false)]);
    let consumer = Consumer::with_options(unverified, loopback()).unwrap();
    let error = run(Router::by_capability("translate").verified_only().choose(&consumer)).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}

/// Twenty registries, each asked as soon as it has acknowledged the agent.
#[test]
fn what_was_just_registered_is_found() {
    for round in 0..20 {
        let registry = TestRegistry::start();
        let client = RegistryClient::new(&registry.url("")).unwrap();
        let embedded = Consumer::with_options(registry.registry().clone(), loopback()).unwrap();
        let remote = Consumer::with_options(client, loopback()).unwrap();
        // The index is committed, so that a search has no reason to wait.
        let weather =
            thing(json!({"id": "urn:example:weather", "title": "Weather agent", "description": "Says if it rains."}));
        registry.registry().put(weather.to_string()).unwrap();
        registry.registry().refresh().unwrap();
        for (consumer, name) in [(&embedded, "embedded"), (&remote, "remote")] {
            let rain = thing(json!({
                "id": format!("urn:example:rain:{name}"),
                "title": format!("Rain agent {name}"),
                "description": "Says whether it rains.",
            }));
            registry.registry().put(rain.to_string()).unwrap();
            let found = run(consumer.find_all(&format!("rain {name}"))).unwrap();
            assert_eq!(
                found.first().map(|agent| agent.id().to_owned()),
                Some(format!("urn:example:rain:{name}")),
                "{round}"
            );
        }
    }
}

#[test]
fn first_that_answers_and_best_that_is_live() {
    let alive = Server::start(|_| Said::json(json!("hallo")));
    let broken = Server::start(|_| Said::new("500 Internal Server Error", &[], ""));
    let dead = unreachable_url("");
    let registry = TestRegistry::start();
    for (id, origin) in [("urn:t:alive", &alive.origin), ("urn:t:broken", &broken.origin), ("urn:t:dead", &dead)] {
        registry.put(&format!("/things/{id}"), translator(id, origin).to_string()).expect(201);
    }
    registry.get("/search?q=translates&consistent=true").expect(200);
    let embedded = Consumer::with_options(registry.registry().clone(), loopback()).unwrap();
    let client = RegistryClient::new(&registry.url("")).unwrap();
    let remote = Consumer::with_options(client, loopback()).unwrap();
    for consumer in [embedded, remote] {
        run(async {
            let bad = [consumer.agent("urn:t:dead").await.unwrap(), consumer.agent("urn:t:broken").await.unwrap()];
            let error = FirstThatAnswers::of(bad.clone()).ask("hello").await.unwrap_err();
            let Error::AllFailed { failures } = &error else { panic!("{error}") };
            assert_eq!(failures.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["urn:t:dead", "urn:t:broken"]);
            let answer = FirstThatAnswers::of(bad).or_found_by("translates").ask("hello").await.unwrap();
            assert_eq!((answer.agent().id(), answer.message().text().as_str()), ("urn:t:alive", "hallo"));
            let best = Router::by_capability("translate").choose(&consumer).await.unwrap();
            assert_ne!(best.id(), "urn:t:dead");
            assert!(best.why().iter().any(|why| why.contains("translate")), "{:?}", best.why());
            let error = Router::by_capability("translate").verified_only().choose(&consumer).await.unwrap_err();
            assert!(matches!(error, Error::NotFound { .. }), "{error}");
            let error = consumer.find("xylophone").await.unwrap_err();
            assert!(matches!(error, Error::NotFound { .. }), "{error}");
            let found = consumer.find("translates").await.unwrap();
            assert!(found.explain().await.unwrap().affordance.contains("translate"));
        });
    }
}
