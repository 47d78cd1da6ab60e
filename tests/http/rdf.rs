//! `GET /things/{id}` as RDF.

use serde_json::json;

use crate::support::{Answer, TestRegistry, agent};

fn registry() -> TestRegistry {
    let registry = TestRegistry::start();
    registry.registry().put(agent("urn:example:a", "Weather")).unwrap();
    registry
}

fn call(registry: &TestRegistry, method: &str, headers: &[(&str, &str)]) -> Answer {
    let call = registry.call(method, "/things/urn:example:a");
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send()
}

#[test]
fn a_thing_is_given_in_the_syntax_that_is_preferred() {
    let registry = registry();
    for (accept, media_type) in [
        ("application/n-quads", "application/n-quads"),
        ("text/turtle", "text/turtle"),
        ("text/turtle;q=0.5, application/n-quads;q=0.6, application/json;q=0.1", "application/n-quads"),
        ("application/ld+json", "application/ld+json"),
        ("*/*", "application/td+json"),
        ("application/td+json;q=0.9, text/*;q=0.3", "application/td+json"),
        ("text/*", "text/turtle"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/td+json"),
        ("application/*", "application/td+json"),
    ] {
        let answer = call(&registry, "GET", &[("accept", accept)]).expect(200);
        assert_eq!(answer.header("content-type"), media_type, "{accept}");
        assert_eq!(answer.header("vary"), "accept, accept-encoding", "{accept}");
    }
    let answer = call(&registry, "GET", &[("accept", "application/n-quads")]);
    let quads = answer.text();
    let title = "<urn:example:a> <https://www.w3.org/2019/wot/td#title> \"Weather\" .";
    assert!(quads.lines().any(|line| line == title), "{quads}");
    assert!(quads.contains("<https://www.w3.org/2022/wot/discovery-ontology#dateCreated>"), "{quads}");
    let answer = call(&registry, "GET", &[("accept", "text/turtle")]);
    let turtle = answer.text();
    assert!(turtle.contains("@prefix td: <https://www.w3.org/2019/wot/td#>"), "{turtle}");
    assert!(turtle.contains("td:title \"Weather\""), "{turtle}");
}

#[test]
fn what_is_not_offered_is_refused_with_what_is() {
    let registry = registry();
    for accept in ["application/rdf+xml", "application/trig", "application/n-triples", "text/html", "*/*;q=0"] {
        let problem = call(&registry, "GET", &[("accept", accept)]).problem(406, "not-acceptable");
        let offered =
            ["application/td+json", "application/ld+json", "application/json", "application/n-quads", "text/turtle"];
        assert_eq!(problem["offered"], json!(offered), "{accept}");
        assert!(problem["detail"].as_str().unwrap().contains(&offered.join(", ")), "{problem}");
    }
    let absent = registry.call("GET", "/things/urn:example:none").header("accept", "application/trig").send();
    absent.problem(404, "not-found");
    // What was written isn't refused for the sake of the answer.
    let patch = registry.call("PATCH", "/things/urn:example:a").header("accept", "text/html");
    let patch =
        patch.header("prefer", "return=representation").body("application/json", r#"{"title": "Rain"}"#.to_owned());
    patch.send().expect(200);
    for path in ["/", "/things", "/things?format=array", "/.well-known/wot"] {
        let ask = |accept: &str| registry.call("GET", path).header("accept", accept).send();
        assert!(ask("application/trig").problem(406, "not-acceptable")["offered"].is_array(), "{path}");
        for accept in ["*/*", "application/json", "application/*;q=0.1", "application/trig, application/json;q=0.2"] {
            ask(accept).expect(200);
        }
    }
    registry.call("GET", "/things?format=ndjson").header("accept", "application/json").send().expect(200);
    for (accept, media_type) in [
        ("application/x-ndjson, application/json;q=0.9", "application/x-ndjson"),
        ("application/x-ndjson;q=0.5, application/json", "application/json"),
    ] {
        let answer = registry.call("GET", "/things").header("accept", accept).send().expect(200);
        assert_eq!(answer.header("content-type"), media_type, "{accept}");
    }
}

#[test]
fn each_syntax_has_an_entity_tag_of_its_own() {
    let registry = registry();
    let tags = ["application/td+json", "application/n-quads", "text/turtle"].map(|accept| {
        let answer = call(&registry, "GET", &[("accept", accept)]).expect(200);
        let tag = answer.header("etag");
        let again = [("accept", accept), ("if-none-match", tag.as_str())];
        assert_eq!(call(&registry, "GET", &again).expect(304).header("etag"), tag);
        let other = [("accept", accept), ("if-none-match", "\"0\"")];
        call(&registry, "HEAD", &other).expect(200);
        tag
    });
    assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
    let failed = [("accept", "text/turtle"), ("if-match", tags[0].as_str())];
    call(&registry, "GET", &failed).expect(412);
    // A write compares what was changed last, in whichever syntax it was read.
    call(&registry, "DELETE", &[("if-match", tags[2].as_str())]).expect(204);
    call(&registry, "GET", &[("accept", "text/turtle")]).expect(404);
}

#[test]
fn ignored_contexts_are_counted() {
    let registry = TestRegistry::start();
    let mut thing: serde_json::Value = serde_json::from_str(&agent("urn:example:a", "Weather")).unwrap();
    thing["@context"].as_array_mut().unwrap().push(json!("https://nowhere.invalid/context"));
    let written = registry.registry().put(thing.to_string()).unwrap();
    let warnings: Vec<_> = written.warnings.iter().filter(|warning| warning.rule == "unknown-context").collect();
    assert_eq!(warnings.len(), 1, "{:?}", written.warnings);
    assert!(warnings[0].message.contains("https://nowhere.invalid/context"), "{}", warnings[0].message);
    let answer = call(&registry, "GET", &[("accept", "text/turtle")]).expect(200);
    assert_eq!(answer.header("agentdex-warnings"), "1");
    let original = call(&registry, "GET", &[]).expect(200).json();
    assert!(original["@context"].to_string().contains("https://nowhere.invalid/context"));
}
