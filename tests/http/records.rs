//! Records: all that is stored of each Thing, out of one registry and into another.

use agentdex::access::{NewKey, Role, Rules};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, Call, Page, TestRegistry, number_of};

/// A server whose clients are authenticated, with the keys of an owner and of an admin.
struct Secured {
    registry: TestRegistry,
    owner: String,
    admin: String,
}

impl Secured {
    fn start() -> Secured {
        let access = Rules { authentication: true, ..Rules::default() };
        let registry = TestRegistry::tracking_with(|tracking| tracking, http::Options { access, ..Default::default() });
        let key = |owner: &str, role| {
            let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
            registry.registry().keys().create(new).unwrap().1
        };
        let (owner, admin) = (key("weather-team", Role::Register), key("root", Role::Admin));
        Secured { registry, owner, admin }
    }

    fn call(&self, key: &str, method: &str, path: &str) -> Call {
        self.registry.call(method, path).header("authorization", &format!("Bearer {key}"))
    }

    fn put(&self, id: &str, parameters: &str) {
        let call = self.call(&self.owner, "PUT", &format!("/things/{id}{parameters}"));
        call.body("application/td+json", thing(id).to_string()).send().expect(201);
    }

    fn records(&self, parameters: &str) -> String {
        self.call(&self.admin, "GET", &format!("/records{parameters}")).send().expect(200).text().to_owned()
    }

    fn take(&self, records: &str) -> Vec<Value> {
        results(self.call(&self.admin, "POST", "/records").body("application/x-ndjson", records).send().expect(200))
    }
}

fn results(answer: Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn thing(id: &str) -> Value {
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": id, "title": "Forecast", "security": "none",
        "securityDefinitions": {"none": {"scheme": "nosec"}},
    })
}

fn card() -> Value {
    json!({
        "protocolVersion": "0.3.0", "name": "Card", "description": "Says what it does.", "version": "1.0.0",
        "url": "https://agents.example/a2a", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "say", "name": "Say", "description": "Says it.", "tags": ["words"]}],
    })
}

fn parsed(records: &str) -> Vec<Value> {
    records.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_registry_has_is_the_same_in_another() {
    let (from, to) = (Secured::start(), Secured::start());
    from.put("urn:example:private", "?visibility=private");
    from.put("urn:example:public", "");
    let expiring = json!({"registration": {"ttl": 3600}});
    let mut document = thing("urn:example:expiring");
    document.as_object_mut().unwrap().extend(expiring.as_object().unwrap().clone());
    from.call(&from.owner, "PUT", "/things/urn:example:expiring")
        .body("application/td+json", document.to_string())
        .send()
        .expect(201);
    from.call(&from.owner, "POST", "/import/a2a").body("application/json", card().to_string()).send().expect(201);
    let page = Page::start(&card());
    let url = json!({"url": page.url()});
    from.call(&from.owner, "POST", "/import/a2a?if_exists=replace")
        .body("application/json", url.to_string())
        .send()
        .expect(200);

    let records = from.records("");
    let sent = parsed(&records);
    assert_eq!(sent.len(), 4);
    let card_record = sent.iter().find(|record| record.get("original").is_some()).unwrap();
    assert_eq!(card_record["original"]["format"], "a2a");
    assert_eq!(serde_json::from_str::<Value>(card_record["original"]["text"].as_str().unwrap()).unwrap(), card());
    assert_eq!(card_record["source"]["source"], page.url());
    assert!(sent.iter().all(|record| record["owner"] == "weather-team"), "{sent:?}");

    // What a dry run foresees is what happens then, also of what is tracked.
    let dry_run = to.call(&to.admin, "POST", "/records?dry_run=true").body("application/x-ndjson", records.as_str());
    for result in results(dry_run.send().expect(200)) {
        assert_eq!(result["effect"], "created", "{result}");
    }
    for result in to.take(&records) {
        assert_eq!((&result["status"], &result["effect"]), (&json!(201), &json!("created")), "{result}");
    }
    assert_eq!(parsed(&to.records("")), sent);
    // It is the owner's there, hidden from others, exported as it came, and polled.
    let id = card_record["td"]["id"].as_str().unwrap();
    let exported = to.call(&to.owner, "GET", &format!("/things/{id}/agent-card")).send().expect(200).json();
    assert_eq!(exported["name"], "Card");
    let tracked = to.call(&to.owner, "GET", &format!("/imports/{id}")).send().expect(200).json();
    assert_eq!(tracked["source"], page.url());
    to.call(&to.owner, "GET", "/things/urn:example:private").send().expect(200);
    to.call(&to.owner, "DELETE", "/things/urn:example:private").send().expect(204);
    // Again: what is the same stays, what is gone comes back.
    let before = to.registry.registry().last_seq();
    let effects: Vec<String> =
        to.take(&records).iter().map(|result| result["effect"].as_str().unwrap().to_owned()).collect();
    assert_eq!(effects.iter().filter(|effect| *effect == "unchanged").count(), 3, "{effects:?}");
    assert_eq!(number_of(to.registry.registry().last_seq()), number_of(before) + 1);
}

#[test]
fn list_that_broke_off_goes_on_after_its_last_line() {
    let registry = Secured::start();
    let ids: Vec<String> = (0..5).map(|number| format!("urn:example:{number}")).collect();
    ids.iter().for_each(|id| registry.put(id, ""));
    let all = registry.records("");
    for (index, id) in ids.iter().enumerate() {
        let rest: Vec<&str> = all.lines().skip(index + 1).collect();
        assert_eq!(registry.records(&format!("?after={id}")).lines().collect::<Vec<_>>(), rest);
    }
    // An id that isn't there is a place as well.
    assert_eq!(registry.records("?after=urn:example:2x").lines().count(), 2);
}

#[test]
fn lines_that_are_no_records_are_refused_one_by_one() {
    let registry = Secured::start();
    let created = "2024-01-01T00:00:00.000Z";
    let of = |id: &str| json!({"td": thing(id), "created": created});
    let with = |name: &str, value: Value| {
        let mut record = of("urn:example:odd");
        record[name] = value;
        record
    };
    let no_source = with("source", json!({"a": 1}));
    let lines = [
        (of("urn:example:a"), 201),
        (json!({"td": thing("urn:example:b")}), 400),
        (thing("urn:example:c"), 400),
        (with("unknown", json!(1)), 400),
        (with("owner", json!("a b")), 400),
        (with("expires", json!("2024-01-02T00:00:00Z")), 400),
        (json!({"td": {"title": "no id"}, "created": created}), 400),
        (no_source, 400),
        (of("urn:example:z"), 201),
    ];
    let text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let results = registry.take(&text);
    let statuses: Vec<i64> = results.iter().map(|result| result["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses, lines.each_ref().map(|(_, status)| *status), "{results:?}");
    assert_eq!(registry.registry.registry().len(), 2);
    let read = registry.registry.registry().find("urn:example:a").unwrap().unwrap();
    assert_eq!((read.created().to_string(), read.access().owner.as_ref()), (created.to_owned(), None));
}

#[test]
fn records_are_for_admins() {
    let registry = Secured::start();
    registry.call(&registry.owner, "GET", "/records").send().problem(403, "forbidden");
    let call = registry.call(&registry.owner, "POST", "/records");
    call.body("application/x-ndjson", "{}\n").send().problem(403, "forbidden");
}
