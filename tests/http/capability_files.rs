//! `POST /import/lmos-capabilities` and `GET /things/{id}/lmos-capabilities`.

use serde_json::{Value, json};

use crate::support::{Answer, Page, TestRegistry, agent, nth};

fn file() -> Value {
    json!({
        "id": "urn:example:billing",
        "supportedTenants": ["de"],
        "supportedChannels": ["web"],
        "capabilities": [{"id": "view", "name": "view-bill", "version": "1.2.0", "description": "Shows the last bill"}],
    })
}

fn nameless() -> Value {
    let mut file = file();
    file.as_object_mut().unwrap().remove("id");
    file
}

fn import(registry: &TestRegistry, query: &str, body: impl ToString) -> Answer {
    let call = registry.call("POST", &format!("/import/lmos-capabilities{query}"));
    call.body("application/json", body.to_string()).send()
}

#[test]
fn capability_file_becomes_a_thing_and_comes_back() {
    let registry = TestRegistry::start();
    let text = format!("{:#}\n", file());
    let answer = import(&registry, "", &text).expect(201);
    assert_eq!(answer.json()["created"], json!(["urn:example:billing"]));
    assert_eq!(answer.header("location"), "/things/urn:example:billing");
    let thing = registry.get("/things/urn:example:billing").expect(200);
    assert_eq!(thing.header("etag"), answer.header("etag"));
    assert_eq!(thing.json()["lmos:capabilities"][0]["lmos:name"], "view-bill");
    assert_eq!(thing.json().get("agentdex:signature"), None);
    let found = |query: &str| registry.get(&format!("/search?consistent=true&{query}")).json()["total"].clone();
    assert_eq!(found("tenant=de&channel=web&capability=view-bill@%5E1"), 1);
    assert_eq!(found("tenant=de&channel=web&capability=view-bill@2"), 0);

    let path = "/things/urn:example:billing/lmos-capabilities";
    let read = registry.get(path).expect(200);
    assert_eq!((read.text(), read.header("content-type").as_str()), (text.as_str(), "application/json"));
    assert_eq!(read.header("cache-control"), "max-age=60");
    registry.call("GET", path).header("if-none-match", &read.header("etag")).send().expect(304);
    assert_eq!(registry.head(path).expect(200).header("etag"), read.header("etag"));
    registry.delete(path).problem(405, "method-not-allowed");
    import(&registry, "", &text).expect(200);
    assert_eq!(registry.registry().last_seq(), nth(1));
    import(&registry, "?if_exists=refuse", &text).problem(409, "already-exists");
}

#[test]
fn file_without_an_id_is_given_one() {
    let registry = TestRegistry::start();
    let problem = import(&registry, "", nameless()).problem(400, "invalid-document");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("`id`") && detail.contains("`base`"), "{detail}");
    assert_eq!(problem["validationErrors"][0]["rule"], "no-identity");
    assert_eq!(import(&registry, "?id=urn:mine", nameless()).expect(201).json()["ids"], json!(["urn:mine"]));
    let base = "?base=https://billing.example/.well-known/capabilities.json";
    let body = import(&registry, base, nameless()).expect(201).json();
    let id = body["ids"][0].as_str().unwrap();
    assert!(id.starts_with("urn:uuid:"), "{id}");
    let links = registry.get(&format!("/things/{id}")).json()["links"].clone();
    assert_eq!(links[0]["href"], "https://billing.example/.well-known/capabilities.json");
    for base in ["billing", "/capabilities.json", "file:///etc/passwd", "https://user:secret@billing.example/"] {
        let problem = import(&registry, &format!("?base={base}"), nameless()).problem(400, "invalid-parameter");
        assert!(problem["parameter"] == "base" && !problem.to_string().contains("secret"), "{problem}");
    }
}

#[test]
fn file_is_fetched_from_its_agent_and_tracked() {
    let page = Page::start(&nameless());
    let registry = TestRegistry::tracking();
    let url = |path: &str| json!({"url": page.site.url(path)});
    let body = import(&registry, "", url("")).expect(201).json();
    let id = body["ids"][0].as_str().unwrap();
    let tracked = registry.get(&format!("/imports/{id}")).expect(200).json();
    assert_eq!(tracked["format"], "lmos-capabilities");
    assert_eq!(tracked["source"], page.site.url("/.well-known/capabilities.json"));
    assert_eq!(import(&registry, "?id=urn:mine", url("/c.json")).expect(201).json()["ids"], json!(["urn:mine"]));
    let problem = import(&registry, "?base=https://a.example", url("")).problem(400, "invalid-parameter");
    assert_eq!(problem["parameter"], "base");
    page.serve(&json!({"name": "card", "url": "https://a.example", "skills": []}));
    let problem = import(&registry, "", url("/c.json")).problem(422, "invalid-document");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("the document at the URL is an A2A agent card; POST its URL to /import/a2a; "),
        "{problem}"
    );
    assert_eq!(problem["format"], "a2a");
    assert!(detail.contains("looks like an A2A agent card"), "{problem}");
    for (other, what_to_do) in [
        (
            json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "t"}),
            "POST the document itself to /things; ",
        ),
        (json!({"component_type": "Agent", "name": "a"}), "POST the document itself to /import/agent-spec; "),
    ] {
        page.serve(&other);
        let problem = import(&registry, "", url("/c.json")).problem(422, "invalid-document");
        assert!(problem["detail"].as_str().unwrap().contains(what_to_do), "{problem}");
    }
}

#[test]
fn what_is_no_capability_file_is_refused() {
    let registry = TestRegistry::start();
    for (body, code) in [("{\"skills\": []}", "invalid-document"), ("[]", "invalid-document"), ("{", "malformed-json")]
    {
        import(&registry, "?id=urn:a", body).problem(400, code);
    }
    let card = registry.call("POST", "/import/lmos-capabilities").body("application/a2a+json", "{}").send();
    card.problem(415, "unsupported-media-type");
    registry.get("/import/lmos-capabilities").problem(405, "method-not-allowed");
    assert!(registry.registry().is_empty());
}

#[test]
fn files_are_made_of_what_things_can_do() {
    let registry = TestRegistry::start();
    let mut thing: Value = serde_json::from_str(&agent("urn:a", "Weather")).unwrap();
    registry.put("/things/urn:a", thing.to_string()).expect(201);
    let path = "/things/urn:a/lmos-capabilities";
    let problem = registry.get(path).problem(409, "not-expressible");
    assert!(problem["detail"].as_str().unwrap().contains("version"), "{problem}");
    thing["version"] = json!({"instance": "1.4.0"});
    registry.put("/things/urn:a", thing.to_string()).expect(204);
    let made = registry.get(path).expect(200).json();
    assert_eq!((&made["id"], &made["capabilities"][0]["version"]), (&json!("urn:a"), &json!("1.4.0")));
    assert_eq!(made["capabilities"][0]["name"], "Weather forecast");
    registry.get("/things/urn:none/lmos-capabilities").problem(404, "not-found");
}
