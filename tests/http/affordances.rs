//! Properties and events of agents through the registry.

use agentdex::access::{NewKey, Role, Rules};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::{
    consumer::{
        server::{Said, Server},
        thing,
    },
    support::{EventStream, TestRegistry, agent, eventually},
};

const ID: &str = "urn:example:thing";
const UNIT: &str = "/things/urn:example:thing/properties/unit/value";
const ALARM: &str = "/things/urn:example:thing/events/alarm/notifications";

/// A Thing with properties and an event.
fn station() -> (Server, Value) {
    let server = Server::start(|request| match request.line.split(['?', ' ']).nth(1).unwrap_or_default() {
        "/unit" => Said::json(json!("C")),
        "/image" => Said::new("200 OK", &["content-type: image/png"], [1, 2, 3]),
        "/level" => Said::json(json!({"line": request.line})),
        "/alarm" => {
            Said::stream("text/event-stream", &["data: {\"level\": 1}\n\n", "data: two\ndata: lines\n\n"]).hanging()
        }
        "/degrees" => Said::json(json!("21")),
        "/words" => Said::json(json!("warm")),
        "/broken" => Said::new("500 Internal Server Error", &[], "it is broken"),
        _ => Said::new("404 Not Found", &[], ""),
    });
    let form = |path: &str| json!({"href": format!("{}{path}", server.origin)});
    let mut alarm = form("/alarm{?room}");
    alarm["subprotocol"] = "sse".into();
    let variables = json!({"room": {"type": "integer"}});
    let description = thing(json!({
        "properties": {
            "unit": {"type": "string", "forms": [form("/unit")]},
            "image": {"readOnly": true, "forms": [form("/image")]},
            "level/low": {"uriVariables": variables, "forms": [form("/level{?room}")]},
            "degrees": {"type": "integer", "forms": [form("/degrees")]},
            "words": {"type": "integer", "forms": [form("/words")]},
            "broken": {"forms": [form("/broken")]},
        },
        "events": {"alarm": {"uriVariables": variables, "forms": [alarm]}},
    }));
    (server, description)
}

fn offering(http_options: http::Options) -> TestRegistry {
    TestRegistry::with_conversations(true, http_options)
}

#[test]
fn properties_are_read_and_written_through_the_registry() {
    let (server, description) = station();
    let registry = offering(http::Options::default());
    registry.put("/things/urn:example:thing", description.to_string());
    let value = |path: &str| format!("/things/{ID}/properties/{path}/value");
    assert_eq!(registry.get(UNIT).expect(200).json(), json!({"value": "C"}));
    let image = registry.get(&value("image")).expect(200).json();
    assert_eq!(image, json!({"value": null, "media": {"bytes": "AQID", "mediaType": "image/png"}}));
    let level = format!("{}?variables=%7B%22room%22%3A7%7D", value("level%2Flow"));
    assert_eq!(registry.get(&level).expect(200).json(), json!({"value": {"line": "GET /level?room=7"}}));
    let write = |path: &str, body: Value| registry.call("PUT", path).body("application/json", body.to_string()).send();
    write(UNIT, json!({"value": "F"})).expect(204);
    let sent = server.received().pop().unwrap();
    assert_eq!((sent.line.as_str(), sent.json()), ("PUT /unit", json!("F")));

    let before = server.received().len();
    write(UNIT, json!({"value": 7})).problem(400, "invalid-input");
    write(UNIT, json!({"media": {}})).problem(400, "invalid-query");
    write(UNIT, json!("F")).problem(400, "invalid-query");
    write(&value("image"), json!({"value": 1})).problem(422, "agent-not-callable");
    registry.get(&value("size")).problem(422, "agent-not-callable");
    registry.get(&format!("{UNIT}?variables=%7B%22room%22%3A7%7D")).problem(400, "invalid-parameter");
    registry.get(&format!("{UNIT}?variables=7")).problem(400, "invalid-parameter");
    registry.get("/things/urn:example:nobody/properties/unit/value").problem(404, "not-found");
    registry.delete(UNIT).problem(405, "method-not-allowed");
    assert_eq!(server.received().len(), before, "nothing was sent");
    let broken = registry.get(&value("broken")).problem(502, "agent-failed");
    assert!(broken["detail"].as_str().unwrap().contains("500"), "{broken}");

    assert_eq!(registry.get(&value("degrees")).expect(200).json(), json!({"value": 21}));
    assert_eq!(registry.get(&value("words")).problem(502, "agent-failed")["answer"], json!("warm"));
}

#[test]
fn events_come_through_the_registry_while_the_agent_is_seen() {
    let (server, description) = station();
    let registry = offering(http::Options::default());
    registry.put("/things/urn:example:thing", description.to_string());
    let mut events = registry.events(&format!("{ALARM}?input=%7B%22room%22%3A7%7D"), None);
    let came: Vec<Value> = events.take(2).iter().map(|event| event.json()).collect();
    assert_eq!(
        came,
        [json!({"event": "alarm", "data": {"level": 1}}), json!({"event": "alarm", "data": "two\nlines"})]
    );
    assert_eq!(server.received()[0].line, "GET /alarm?room=7");
    registry.call("HEAD", ALARM).send().expect(200);
    registry.get(&format!("{ALARM}?input=room")).problem(400, "invalid-parameter");
    registry.get(&format!("/things/{ID}/events/flood/notifications")).problem(422, "agent-not-callable");
    registry.put(ALARM, "{}").problem(405, "method-not-allowed");

    // It ends with what makes the agent visible; a beat of the stream finds that out.
    let heartbeat = std::time::Duration::from_millis(100);
    let hasty = offering(http::Options { heartbeat, ..http::Options::default() });
    hasty.put("/things/urn:example:thing", description.to_string());
    let mut events = hasty.events(ALARM, None);
    assert_eq!(events.take(2).len(), 2);
    hasty.delete("/things/urn:example:thing").expect(204);
    assert!(events.next().is_none());
}

#[test]
fn affordances_are_called_where_that_is_offered_for_clients_that_may() {
    let (server, description) = station();
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:thing", description.to_string());
    registry.get(UNIT).problem(501, "conversations-not-offered");
    registry.get(ALARM).problem(501, "conversations-not-offered");
    let body = json!({"value": "F"}).to_string();
    registry.call("PUT", UNIT).body("application/json", body.as_str()).send().problem(501, "conversations-not-offered");
    let elsewhere = TestRegistry::with_conversations(false, http::Options::default());
    elsewhere.put("/things/urn:example:thing", description.to_string());
    elsewhere.get(UNIT).problem(422, "agent-not-callable");
    elsewhere.get(ALARM).problem(422, "agent-not-callable");

    let access = Rules { authentication: true, public_read: true, ..Rules::default() };
    let registry = offering(http::Options { access, ..Default::default() });
    let key = |owner: &str, role| {
        let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
        registry.registry().keys().create(new).unwrap().1
    };
    let keys = [key("us", Role::Register), key("others", Role::Register), key("readers", Role::Read)];
    let call = |key: &str, method: &str, path: &str| {
        registry.call(method, path).header("authorization", &format!("Bearer {key}"))
    };
    let put = call(&keys[0], "PUT", &format!("/things/{ID}?visibility=private"));
    put.body("application/td+json", description.to_string()).send().expect(201);
    for path in [UNIT, ALARM] {
        call(&keys[1], "GET", path).send().problem(404, "not-found");
        call(&keys[2], "GET", path).send().problem(403, "forbidden");
        registry.get(path).problem(401, "unauthenticated");
    }
    call(&keys[1], "PUT", UNIT).body("application/json", body.as_str()).send().problem(404, "not-found");
    assert!(server.received().is_empty(), "nobody was called for");
    call(&keys[0], "GET", UNIT).send().expect(200);
    let mut events = EventStream::open(call(&keys[0], "GET", ALARM));
    assert_eq!(events.take(1).len(), 1);
    // What is revoked ends what is open.
    let known = registry.registry().keys().list();
    let own = known.into_iter().find(|key| key.owner.to_string() == "us").unwrap();
    registry.registry().keys().revoke(&own.id).unwrap();
    eventually("the end of the stream", || events.next().is_none());
}

#[test]
fn an_id_that_ends_like_a_value_is_that_of_a_thing_where_its_slash_is_escaped() {
    let registry = TestRegistry::start();
    let id = "http://example.org/properties/unit/value";
    registry.put("/things/http:%2F%2Fexample.org%2Fproperties%2Funit%2Fvalue", agent(id, "A")).expect(201);
    registry.get("/things/http:%2F%2Fexample.org%2Fproperties%2Funit%2Fvalue").expect(200);
}
