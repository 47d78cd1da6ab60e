//! `/things/{id}` and `POST /things`: the life of one Thing.

use serde_json::{Value, json};

use crate::support::{TestRegistry, agent, anonymous_agent, eventually, nth};

/// The entity tag of a Thing whose last change is the one with that number.
fn tag(number: u64) -> String {
    format!("\"{}\"", nth(number))
}

#[test]
fn urns_whose_spelling_differs_only_in_the_case_of_their_start_are_one_agent() {
    let registry = TestRegistry::start();
    let described = |id: &str, title: &str| crate::support::agent(id, title);
    registry.put("/things/URN:Example:Clock", described("URN:Example:Clock", "Clock")).expect(201);
    for spelled in ["urn:example:Clock", "URN:EXAMPLE:Clock", "Urn:Example:Clock"] {
        let thing = registry.get(&format!("/things/{spelled}")).expect(200).json();
        assert_eq!(thing["id"], "urn:example:Clock", "{spelled}");
    }
    registry.put("/things/urn:example:Clock", described("urn:example:Clock", "Clock 2")).expect(204);
    // What follows is as it is written.
    registry.get("/things/urn:example:clock").expect(404);
    assert_eq!(registry.get("/things").json().as_array().unwrap().len(), 1);
    let file = json!({"id": "URN:Example:Bills", "capabilities": [{"name": "a", "version": "1.0.0"}]}).to_string();
    let import = |file: &str| registry.call("POST", "/import/lmos-capabilities").body("application/json", file).send();
    assert_eq!(import(&file).expect(201).json()["ids"], json!(["urn:example:Bills"]));
    import(&file.replace("URN:Example", "urn:example")).expect(200);
    registry.delete("/things/URN:Example:Bills").expect(204);
    assert_eq!(registry.get("/things").json().as_array().unwrap().len(), 1);
}

#[test]
fn put_creates_then_replaces() {
    let registry = TestRegistry::start();
    let created = registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    assert_eq!(created.header("location"), "/things/urn:example:a");
    assert_eq!(created.header("etag"), tag(1));
    assert_eq!(created.header("agentdex-warnings"), "0");
    assert_eq!(created.json(), json!({"id": "urn:example:a", "warnings": []}));

    let replaced = registry.put("/things/urn:example:a", agent("urn:example:a", "B")).expect(204);
    assert_eq!(replaced.header("etag"), tag(2));
    assert_eq!(replaced.text(), "");
    assert_eq!(registry.get("/things/urn:example:a").json()["title"], "B");
}

#[test]
fn what_is_handed_out_is_enriched_and_otherwise_as_it_came() {
    let registry = TestRegistry::start();
    let td = agent("urn:example:a", "A").replace("\"title\"", "\"vendor:price\": 1.50, \"title\"");
    registry.put("/things/urn:example:a", td).expect(201);
    let answer = registry.get("/things/urn:example:a").expect(200);
    assert_eq!(answer.header("content-type"), "application/td+json");
    assert!(answer.text().contains("1.50"), "{}", answer.text());
    let document = answer.json();
    let contexts = document["@context"].as_array().unwrap();
    assert!(contexts.contains(&json!("https://www.w3.org/2022/wot/discovery")), "{document}");
    for member in ["created", "modified", "retrieved"] {
        assert!(document["registration"][member].is_string(), "{document}");
    }
}

#[test]
fn anonymous_things_are_found_by_both_readings_of_location() {
    let registry = TestRegistry::start();
    let created = registry.post("/things", anonymous_agent("A")).expect(201);
    let id = created.json()["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("urn:uuid:"), "{id}");
    let location = created.header("location");

    let resolved = registry.get(&location).expect(200).json();
    assert_eq!(resolved["id"], id.as_str());
    let escaped = location.replace('/', "%2F").replace(':', "%3A");
    for joined in [format!("/things/{location}"), format!("/things/{escaped}"), format!("/things/{id}")] {
        assert_eq!(registry.get(&joined).expect(200).json()["id"], id.as_str(), "{joined}");
    }
}

#[test]
fn ids_with_unsafe_characters_work_escaped_and_bare() {
    let registry = TestRegistry::start();
    let id = "http://example.org/agents/a?b#c%2F";
    let path = "/things/http%3A%2F%2Fexample.org%2Fagents%2Fa%3Fb%23c%252F";
    registry.put(path, agent(id, "A")).expect(201);
    assert_eq!(registry.get(path).expect(200).json()["id"], id);
    assert_eq!(registry.get("/things/http://example.org/agents/a%3Fb%23c%252F").expect(200).json()["id"], id);

    let mended = registry.put("/things/my%20agent", agent("my agent", "B")).expect(201);
    assert_eq!(mended.json()["id"], "urn:agentdex:my%20agent");
    assert_eq!(mended.header("agentdex-warnings"), "1");
    assert_eq!(registry.get("/things/my%20agent").expect(200).json()["title"], "B");
    assert_eq!(registry.get(&mended.header("location")).expect(200).json()["title"], "B");
}

#[test]
fn patch_changes_what_it_names() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    registry.patch("/things/urn:example:a", r#"{"title": "B", "description": null}"#).expect(204);
    let document = registry.get("/things/urn:example:a").json();
    assert_eq!((&document["title"], document.get("description")), (&json!("B"), None));
    registry.patch("/things/urn:example:a", r#"{"title": 5}"#).problem(400, "invalid-thing-description");
    registry.patch("/things/urn:example:b", "{}").problem(404, "not-found");
}

#[test]
fn an_empty_patch_renews_without_a_change() {
    let registry = TestRegistry::start();
    let td = agent("urn:example:a", "A").replacen('{', r#"{"registration": {"ttl": 600},"#, 1);
    registry.put("/things/urn:example:a", td).expect(201);
    let before = registry.get("/things/urn:example:a").json();
    let expires = |document: &Value| document["registration"]["expires"].as_str().unwrap().to_owned();
    eventually("a later expiry", || {
        let renewed = registry.patch("/things/urn:example:a", "{}").expect(204);
        assert_eq!(renewed.header("etag"), tag(1));
        expires(&registry.get("/things/urn:example:a").json()) > expires(&before)
    });
    assert_eq!(registry.get("/things/urn:example:a").json()["registration"]["ttl"], 600);
}

#[test]
fn deleted_thing_is_not_found() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let deleted = registry.delete("/things/urn:example:a").expect(204);
    assert_eq!(deleted.header("agentdex-warnings"), "0");
    registry.get("/things/urn:example:a").problem(404, "not-found");
    registry.delete("/things/urn:example:a").problem(404, "not-found");
}

#[test]
fn ids_must_fit_the_path_and_the_verb() {
    let registry = TestRegistry::start();
    registry.post("/things", agent("urn:example:a", "A")).problem(400, "unexpected-id");
    registry.put("/things/urn:example:b", agent("urn:example:a", "A")).problem(400, "id-mismatch");
    registry.put("/things/urn:example:b", anonymous_agent("A")).problem(400, "missing-id");
    let long = format!("urn:example:{}", "x".repeat(1024));
    registry.put(&format!("/things/{long}"), agent(&long, "A")).problem(400, "limit-exceeded");
    registry.get("/things/%FF").problem(400, "invalid-id");
    for path in ["/things/", "/things/?limit=1"] {
        let problem = registry.get(path).problem(404, "unknown-path");
        assert!(problem["detail"].as_str().unwrap().contains("/things, without a trailing slash"), "{problem}");
    }
}

#[test]
fn writes_obey_conditions() {
    let registry = TestRegistry::start();
    let put = |condition: (&str, &str)| {
        let td = agent("urn:example:a", &format!("{condition:?}").replace('"', "'").replace('\\', ""));
        registry
            .call("PUT", "/things/urn:example:a")
            .header(condition.0, condition.1)
            .body("application/td+json", td)
            .send()
    };
    put(("if-match", "*")).problem(412, "precondition-failed");
    put(("if-none-match", "*")).expect(201);
    let refused = put(("if-none-match", "*"));
    refused.problem(412, "precondition-failed");
    assert_eq!(refused.header("etag"), tag(1));
    put(("if-match", &tag(1))).expect(204);
    put(("if-match", &tag(1))).problem(412, "precondition-failed");
    put(("if-match", &format!("W/{}", tag(2)))).problem(412, "precondition-failed");
    put(("if-match", &format!("{}, {}", tag(7), tag(2)))).expect(204);
    put(("if-none-match", &tag(3))).problem(412, "precondition-failed");
    put(("if-match", "nonsense")).problem(412, "precondition-failed");
    put(("if-match", "")).problem(412, "precondition-failed");

    let delete = |id: &str, tag: &str| registry.call("DELETE", &format!("/things/{id}")).header("if-match", tag).send();
    delete("urn:example:a", &tag(1)).problem(412, "precondition-failed");
    delete("urn:example:none", &tag(1)).problem(404, "not-found");
    delete("urn:example:a", &tag(3)).expect(204);
}

#[test]
fn reads_obey_conditions() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let get = |name: &str, tag: &str| registry.call("GET", "/things/urn:example:a").header(name, tag).send();
    let unmodified = get("if-none-match", &format!("W/{}, {}", tag(1), tag(2))).expect(304);
    assert_eq!((unmodified.header("etag").as_str(), unmodified.text()), (tag(1).as_str(), ""));
    get("if-none-match", &tag(2)).expect(200);
    get("if-match", &tag(2)).problem(412, "precondition-failed");
    get("if-match", &tag(1)).expect(200);
}

#[test]
fn unquoted_and_empty_tags_are_read_as_proxies_read_them() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let get = |tag: &str| registry.call("GET", "/things/urn:example:a").header("if-none-match", tag).send();
    get(&nth(1).to_string()).expect(304);
    get("").expect(200);
    get("nonsense, \"").expect(200);
}

#[test]
fn tag_covers_the_expiry_for_reads_and_not_for_writes() {
    let registry = TestRegistry::start();
    let td = agent("urn:example:a", "A").replacen('{', r#"{"registration": {"ttl": 600},"#, 1);
    registry.put("/things/urn:example:a", td).expect(201);
    let read = |tag: &str| registry.call("GET", "/things/urn:example:a").header("if-none-match", tag).send();
    let before = registry.get("/things/urn:example:a").header("etag");
    read(&before).expect(304);
    registry.patch("/things/urn:example:a", r#"{"registration": {"ttl": 900}}"#).expect(204);
    let after = read(&before).expect(200);
    assert_eq!(after.json()["registration"]["ttl"], 900);
    assert_ne!(after.header("etag"), before);
    // A keep-alive is no change that another writer could overwrite by mistake.
    let patch = registry.call("PATCH", "/things/urn:example:a").header("if-match", &before);
    patch.body("application/json", r#"{"title": "B"}"#).send().expect(204);
    let late = registry.call("DELETE", "/things/urn:example:a").header("if-match", &before).send();
    late.problem(412, "precondition-failed");
}

#[test]
fn each_content_coding_has_a_tag_of_its_own() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    for path in ["/things/urn:example:a", "/things", "/.well-known/wot"] {
        let read = |coding: &str, tag: &str| {
            let call = registry.call("GET", path).header("accept-encoding", coding);
            if tag.is_empty() { call.send() } else { call.header("if-none-match", tag).send() }
        };
        let tags = ["identity", "gzip", "deflate"].map(|coding| (coding, read(coding, "").expect(200).header("etag")));
        for (coding, tag) in &tags {
            for (other, other_tag) in &tags {
                let response = read(coding, other_tag);
                assert_eq!(response.status == 304, coding == other, "{path}: {other_tag} for {coding}");
                assert_eq!(&response.header("etag"), tag, "{path}: {other_tag} for {coding}");
                let vary = response.header("vary");
                assert!(vary.contains("accept,") && vary.contains("accept-encoding"), "{path}: {vary}");
            }
        }
    }
    let coded = registry.call("GET", "/things/urn:example:a").header("accept-encoding", "gzip").send().header("etag");
    let written = registry.call("DELETE", "/things/urn:example:a").header("if-match", &coded).send();
    written.expect(204);
}

#[test]
fn media_type_is_the_one_with_the_highest_weight() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    for (accept, expected) in [
        ("application/td+json;q=0.1, application/json;q=0.9", "application/json"),
        ("application/ld+json, */*;q=0.1", "application/ld+json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/td+json"),
    ] {
        let response = registry.call("GET", "/things/urn:example:a").header("accept", accept).send().expect(200);
        assert_eq!(response.header("content-type"), expected, "{accept}");
    }
}

#[test]
fn thing_is_found_by_its_absolute_url() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a%2Fb", agent("urn:example:a/b", "A")).expect(201);
    let url =
        registry.url(registry.get("/search?consistent=true").json()["hits"][0]["links"][0]["href"].as_str().unwrap());
    let encoded = url.replace('%', "%25").replace(':', "%3A").replace('/', "%2F");
    for path in [format!("/things/{url}"), format!("/things/{encoded}")] {
        assert_eq!(registry.get(&path).expect(200).json()["id"], "urn:example:a/b", "{path}");
        registry.head(&path).expect(200);
        registry.patch(&path, r#"{"title": "B"}"#).expect(204);
    }
    // A Thing whose id is that URL comes first.
    registry.put(&format!("/things/{encoded}"), agent(&url, "C")).expect(201);
    assert_eq!(registry.get(&format!("/things/{encoded}")).expect(200).json()["title"], "C");
    registry.get("/things/http://elsewhere.example/things/urn:example:a%2Fb").problem(404, "not-found");
}

#[test]
fn representation_is_returned_to_those_who_prefer_it() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let patched = registry
        .call("PATCH", "/things/urn:example:a")
        .header("prefer", "respond-async, return=representation")
        .body("application/json", r#"{"title": "B"}"#)
        .send()
        .expect(200);
    assert_eq!(patched.header("preference-applied"), "return=representation");
    assert_eq!(patched.header("etag"), tag(2));
    assert_eq!(patched.json()["title"], "B");
}

#[test]
fn effect_and_warnings_are_returned_to_those_who_prefer_them() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let patch = |patch: &str| {
        let call = registry.call("PATCH", "/things/urn:example:a").header("prefer", "return=effect");
        call.body("application/json", patch).send().expect(200)
    };
    let patched = patch(r#"{"security": null, "securityDefinitions": null, "title": "B"}"#);
    assert_eq!((patched.header("preference-applied"), patched.header("etag")), ("return=effect".into(), tag(2)));
    let effect = patched.json();
    assert_eq!((&effect["dryRun"], &effect["effect"]), (&json!(false), &json!("updated")), "{effect}");
    assert_eq!(effect["warnings"][0]["rule"], "security-missing", "{effect}");
    assert_eq!(effect["warnings"].as_array().unwrap().len().to_string(), patched.header("agentdex-warnings"));
    assert_eq!(patch(r#"{"title": "B"}"#).json()["effect"], "unchanged");
}

#[test]
fn dry_run_writes_nothing() {
    let registry = TestRegistry::start();
    let create = registry.put("/things/urn:example:a?dry_run=true", agent("urn:example:a", "A")).expect(200);
    assert_eq!(create.json()["effect"], "created");
    registry.put("/things/urn:example:a?dry_run=true", "{}").problem(400, "missing-id");
    assert_eq!(registry.registry().len(), 0);
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    for (method, effect) in [("DELETE", "removed"), ("PATCH", "updated")] {
        let call = registry.call(method, "/things/urn:example:a?dry_run=true");
        let answer = call.body("application/json", r#"{"title": "B"}"#).send().expect(200);
        assert_eq!(answer.json()["effect"], effect);
    }
    assert_eq!(registry.registry().last_seq(), nth(1));
}

#[test]
fn an_id_may_be_called_batch() {
    let registry = TestRegistry::start();
    registry.put("/things/batch", agent("batch", "A")).expect(201);
    assert_eq!(registry.get("/things/batch").expect(200).json()["id"], "urn:agentdex:batch");
    registry.delete("/things/batch").expect(204);
}

#[test]
fn expired_thing_is_not_found() {
    let registry = TestRegistry::start();
    let td = agent("urn:example:a", "A").replacen('{', r#"{"registration": {"expires": "2020-01-01T00:00:00Z"},"#, 1);
    registry.put("/things/urn:example:a", td).expect(201);
    registry.get("/things/urn:example:a").problem(404, "not-found");
    assert_eq!(registry.get("/things").json(), json!([]));
}

#[test]
fn history_tells_what_happened() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    registry.put("/things/urn:example:b", agent("urn:example:b", "B")).expect(201);
    registry.patch("/things/urn:example:a", r#"{"title": "C"}"#).expect(204);
    registry.delete("/things/urn:example:a").expect(204);
    let history = registry.get("/things/urn:example:a/history").expect(200).json();
    let kinds: Vec<_> = history["changes"].as_array().unwrap().iter().map(|change| &change["kind"]).collect();
    assert_eq!(kinds, ["thing_created", "thing_updated", "thing_deleted"]);
    assert_eq!(history["changes"][1]["patch"], json!({"title": "C"}));
    registry.get("/things/urn:example:none/history").problem(404, "not-found");
}

#[test]
fn history_keeps_what_was_written_as_it_was_written() {
    let registry = TestRegistry::start();
    let members = r#""z:price":1.50,"a:large":123456789012345678901234567890,"m:exponent":1e2"#;
    let td = agent("urn:example:a", "A").replace("\"title\"", &format!("{members}, \"title\""));
    registry.put("/things/urn:example:a", td).expect(201);
    registry.patch("/things/urn:example:a", r#"{"z:price": 999999999999999999999.0}"#).expect(204);
    let history = registry.get("/things/urn:example:a/history").expect(200);
    assert!(history.text().contains(members), "{}", history.text());
    assert!(history.text().contains("999999999999999999999.0"), "{}", history.text());
}

#[test]
fn history_comes_in_pages_that_are_bounded_in_size() {
    let registry = TestRegistry::start();
    for number in 0..20 {
        let large = format!(r#"{{"description": "{number}{}"}}"#, "x".repeat(900 * 1024));
        if number == 0 {
            registry.put("/things/urn:example:a%2Fb", agent("urn:example:a/b", "A")).expect(201);
        }
        registry.patch("/things/urn:example:a%2Fb", large).expect(204);
    }
    let (mut path, mut seqs) = ("/things/urn:example:a%2Fb/history?limit=50".to_owned(), Vec::new());
    while !path.is_empty() {
        let page = registry.get(&path).expect(200);
        assert!(page.body.len() < 24 * 1024 * 1024, "{}", page.body.len());
        let changes = page.json();
        seqs.extend(changes["changes"].as_array().unwrap().iter().map(|change| change["seq"].as_u64().unwrap()));
        let link = page.header("link");
        path = link.strip_prefix('<').and_then(|link| link.split_once('>')).unwrap_or_default().0.to_owned();
        assert!(!path.is_empty() || seqs.len() == 21, "{seqs:?}");
    }
    assert_eq!(seqs, (1..=21).map(|number| nth(number).0).collect::<Vec<_>>());
}
