//! `POST /import/a2a` with a card, and `GET /things/{id}/agent-card`.

use agentdex::convert::a2a::{Card, Generation};
use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, agent, run_python};

const PLAIN: &str = include_str!("../fixtures/a2a/plain_0_2.json");
const OLD: &str = include_str!("../fixtures/a2a/every_scheme_0_3.json");
const NEW: &str = include_str!("../fixtures/a2a/several_interfaces_1_0.json");
const EXTENDED: &str = include_str!("../fixtures/a2a/extensions_1_0.json");

fn import(registry: &TestRegistry, query: &str, card: &str) -> Answer {
    registry.call("POST", &format!("/import/a2a{query}")).body("application/json", card).send()
}

/// Imports a card as `urn:card`.
fn with_card(card: &str) -> TestRegistry {
    let registry = TestRegistry::start();
    import(&registry, "?id=urn:card", card).expect(201);
    registry
}

fn card(registry: &TestRegistry, query: &str) -> Answer {
    registry.get(&format!("/things/urn:card/agent-card{query}"))
}

fn changes(registry: &TestRegistry) -> u64 {
    registry.registry().last_seq().0
}

#[test]
fn card_with_another_name_names_the_agent_at_its_url() {
    let registry = TestRegistry::start();
    let card = |name: &str, description: &str| {
        json!({
            "name": name, "description": description, "version": "1", "url": "https://a.example/a2a", "protocolVersion": "0.3.0",
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
        })
    };
    let import = |query: &str, card: &Value| {
        let call = registry.call("POST", &format!("/import/a2a{query}"));
        call.body("application/json", card.to_string()).send()
    };
    let first = import("", &card("Travel", "Books")).expect(201).json();
    assert!(!first.to_string().contains("same-address"), "{first}");
    let id = first["ids"][0].as_str().unwrap().to_owned();
    crate::support::await_index(registry.registry());
    crate::support::eventually("flags have the agent", || {
        let answer = import("?dry_run=true", &card("Trips", "Plans")).json();
        let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
        let named = warnings.into_iter().find(|warning| warning["rule"] == "same-address");
        named.is_some_and(|warning| {
            let message = warning["message"].as_str().unwrap();
            message.contains(&id) && message.contains("`--id`")
        })
    });
    // With the id, the edit of the name is one.
    let answer = import(&format!("?id={id}"), &card("Trips", "Plans")).expect(200).json();
    assert_eq!(answer["updated"], json!([id]));
    assert!(!answer.to_string().contains("same-address"), "{answer}");
    assert_eq!(registry.get(&format!("/things/{id}")).json()["title"], "Trips");
    assert_eq!(registry.get("/things").json().as_array().unwrap().len(), 1);
}

#[test]
fn card_becomes_a_thing() {
    let registry = TestRegistry::start();
    let answer = import(&registry, "", NEW).expect(201);
    let body = answer.json();
    let id = body["ids"][0].as_str().unwrap();
    assert!(id.starts_with("urn:uuid:") && body["ids"].as_array().unwrap().len() == 1, "{body}");
    assert_eq!((&body["created"], &body["updated"]), (&body["ids"], &json!([])));
    assert_eq!(answer.header("agentdex-warnings"), body["warnings"].as_array().unwrap().len().to_string());
    assert_eq!(answer.header("location"), format!("/things/{id}"));
    let thing = registry.get(&answer.header("location")).expect(200);
    assert_eq!((thing.json()["title"].as_str(), thing.header("etag")), (Some("Ferry"), answer.header("etag")));
    assert_eq!(thing.json()["agentdex:signature"]["status"], "unsigned");
    let found = registry.get("/search?q=crossing&format=a2a&signature=unsigned&consistent=true").json();
    assert_eq!(found["hits"][0]["id"], id);
}

#[test]
fn same_card_again_changes_nothing_and_another_updates() {
    let registry = with_card(NEW);
    let (before, tag) = (changes(&registry), card(&registry, "").header("etag"));
    let again = import(&registry, "?id=urn:card", NEW).expect(200).json();
    assert_eq!((&again["created"], &again["updated"]), (&json!([]), &json!([])));
    assert_eq!((changes(&registry), card(&registry, "").header("etag")), (before, tag.clone()));
    let changed = import(&registry, "?id=urn:card", &NEW.replace("Plans", "Knows")).expect(200).json();
    assert_eq!(changed["updated"], json!(["urn:card"]));
    assert_ne!(card(&registry, "").header("etag"), tag);
    let refused = import(&registry, "?id=urn:card&if_exists=refuse", NEW);
    assert_eq!(refused.problem(409, "already-exists")["id"], "urn:card");
}

#[test]
fn id_and_time_to_live_are_asked_for() {
    let registry = TestRegistry::start();
    let foreseen = import(&registry, "?id=urn:mine&ttl=600&dry_run=true", NEW).expect(200).json();
    assert_eq!((&foreseen["created"], &foreseen["dryRun"]), (&json!(["urn:mine"]), &json!(true)));
    assert_eq!(changes(&registry), 0);
    import(&registry, "?id=urn:mine&ttl=600", NEW).expect(201);
    assert_eq!(registry.get("/things/urn:mine").json()["registration"]["ttl"], 600);
    import(&registry, "?id=", NEW).problem(400, "invalid-id");
    assert_eq!(import(&registry, "?base=/card.json", NEW).problem(400, "invalid-parameter")["parameter"], "base");
}

#[test]
fn what_is_no_card_is_told_what_it_looks_like() {
    let registry = TestRegistry::start();
    let organization = r#"{"@context": "https://schema.org", "@type": "Organization", "name": "Harbour Office"}"#;
    let problem = import(&registry, "", organization).problem(400, "invalid-document");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("not an A2A") && detail.contains("`skills`"), "{detail}");
    assert!(problem["validationErrors"][0]["rule"].is_string(), "{problem}");
    import(&registry, "", "{\"name\": ").problem(400, "malformed-json");
    import(&registry, "", "[]").problem(400, "invalid-document");
    assert_eq!(changes(&registry), 0);
}

#[test]
fn bodies_of_other_types_and_sizes_are_refused() {
    let registry = TestRegistry::start();
    let post = |media_type: &str, body: String| registry.call("POST", "/import/a2a").body(media_type, body).send();
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let problem = post(media_type, NEW.into()).problem(415, "unsupported-media-type");
        assert!(problem["detail"].as_str().unwrap().contains("application/a2a+json"), "{problem}");
    }
    registry.call("POST", "/import/a2a").bare_body(NEW).send().problem(415, "unsupported-media-type");
    post("application/json", " ".repeat(1024 * 1024 + 1)).problem(413, "body-too-large");
    let deep = format!("{{\"name\": \"a\", \"skills\": {}{}}}", "[".repeat(65), "]".repeat(65));
    assert_eq!(post("application/json", deep).problem(400, "limit-exceeded")["maximum"], 64);
    registry.get("/import/a2a").problem(405, "method-not-allowed");
    assert_eq!(changes(&registry), 0);
    post("Application/A2A+JSON; charset=utf-8", NEW.into()).expect(201);
}

#[test]
fn card_comes_back_byte_for_byte() {
    for (text, version) in [(OLD, "0.3"), (NEW, "1.0"), (EXTENDED, "1.0")] {
        let registry = with_card(text);
        for query in ["", &format!("?version={version}"), &format!("?version={version}.0")] {
            let answer = card(&registry, query).expect(200);
            assert_eq!((answer.text(), answer.header("content-type").as_str()), (text, "application/json"));
            assert_eq!(answer.header("agentdex-warnings"), "");
        }
    }
}

#[test]
fn card_is_converted_to_the_version_that_is_asked_for() {
    for (text, version, generation) in [(OLD, "1.0", Generation::V1), (NEW, "0.3", Generation::V0)] {
        let registry = with_card(text);
        let answer = card(&registry, &format!("?version={version}")).expect(200);
        let converted = Card::parse(&answer.body).unwrap();
        assert_eq!(converted.generation(), generation);
        let rendition = Card::parse(text.as_bytes()).unwrap().as_version(generation);
        assert_eq!(answer.body, rendition.bytes);
        assert_eq!(answer.header("agentdex-warnings"), rendition.warnings.len().to_string());
        assert_ne!(answer.header("etag"), card(&registry, "").header("etag"));
    }
    let registry = with_card(OLD);
    for version in ["2.0", "", "latest", "0.1"] {
        let problem = card(&registry, &format!("?version={version}")).problem(400, "invalid-parameter");
        assert!(problem["detail"].as_str().unwrap().contains("supported versions are 1.0, 0.3"), "{problem}");
    }
}

#[test]
fn readers_may_keep_a_card_and_ask_whether_it_changed() {
    let registry = with_card(NEW);
    let path = "/things/urn:card/agent-card";
    let first = registry.get(path).expect(200);
    let tag = first.header("etag");
    assert!(tag.starts_with('"') && first.header("cache-control") == "max-age=60", "{:?}", first.headers);
    assert!(first.header("vary").contains("accept"), "{:?}", first.headers);
    let ask = |name: &str, tag: &str| registry.call("GET", path).header(name, tag).send();
    let same = ask("if-none-match", &tag).expect(304);
    assert_eq!((same.header("etag"), same.header("cache-control").as_str()), (tag.clone(), "max-age=60"));
    assert!(same.body.is_empty());
    ask("if-match", "\"other\"").problem(412, "precondition-failed");
    let head = registry.head(path).expect(200);
    assert_eq!((head.header("etag"), head.body.len()), (tag.clone(), 0));
    import(&registry, "?id=urn:card", &format!("{NEW} ")).expect(200);
    assert_ne!(ask("if-none-match", &tag).expect(200).header("etag"), tag);
    let problem = registry.post(path, "{}").problem(405, "method-not-allowed");
    assert!(problem["detail"].as_str().unwrap().contains("GET, HEAD"), "{problem}");
}

#[test]
fn media_type_of_the_protocol_is_for_those_who_ask() {
    let registry = with_card(NEW);
    let ask =
        |accept: &str| registry.call("GET", "/things/urn:card/agent-card").header("accept", accept).send().expect(200);
    let other = ask("application/a2a+json, application/json;q=0.9");
    assert_eq!(other.header("content-type"), "application/a2a+json");
    let plain = ask("*/*");
    assert_eq!((plain.header("content-type").as_str(), plain.text()), ("application/json", NEW));
    assert_ne!(other.header("etag"), plain.header("etag"));
    let refused = registry.call("GET", "/things/urn:card/agent-card").header("accept", "text/turtle").send();
    let problem = refused.problem(406, "not-acceptable");
    assert_eq!(problem["offered"], json!(["application/json", "application/a2a+json"]));
}

#[test]
fn number_that_stands_for_a_text_is_read_as_it_is_written() {
    let registry = TestRegistry::start();
    let yaml = "name: Weather\ndescription: d\nversion: 1.10\nurl: https://w.example/a2a\ncapabilities: {}\n\
        defaultInputModes: [text/plain]\ndefaultOutputModes: [text/plain]\nskills:\n- {id: s, name: 2.50, description: d, tags: []}\n";
    let card = NEW.replacen("\"version\": \"", "\"version\": 1.10, \"x\": \"", 1);
    assert_ne!(card, NEW);
    for (id, media_type, document) in [("yaml", "application/yaml", yaml), ("json", "application/json", &card)] {
        let call = registry.call("POST", &format!("/import/a2a?id=urn:{id}")).body(media_type, document);
        let answer = call.send().expect(201).json();
        assert!(answer.to_string().contains("1.10 is read as a string"), "{answer}");
        assert_eq!(registry.get(&format!("/things/urn:{id}")).json()["version"]["instance"], "1.10");
    }
    assert_eq!(registry.get("/things/urn:yaml").json()["actions"]["s"]["title"], "2.50");
}

#[test]
fn things_that_never_were_cards_become_honest_ones_or_say_why_not() {
    let registry = TestRegistry::start();
    let mut thing: Value = serde_json::from_str(&agent("urn:card", "Weather")).unwrap();
    registry.put("/things/urn:card", thing.to_string()).expect(201);
    let problem = card(&registry, "").problem(409, "not-expressible");
    assert!(problem["detail"].as_str().unwrap().contains("as a2a"), "{problem}");
    thing["actions"] = json!({"forecast": {"forms": [{"href": "https://weather.example/forecast"}]}});
    registry.put("/things/urn:card", thing.to_string()).expect(204);
    let made = card(&registry, "").expect(200);
    assert_eq!(Card::parse(&made.body).unwrap().generation(), Generation::V1);
    assert_eq!((made.json()["name"].as_str(), made.header("cache-control").as_str()), (Some("Weather"), "max-age=60"));
    let problem = card(&registry, "?version=0.3").problem(409, "not-expressible");
    assert!(problem["detail"].as_str().unwrap().contains("1.0"), "{problem}");
    thing["actions"]["forecast"]["forms"][0]["subprotocol"] = "a2a".into();
    registry.put("/things/urn:card", thing.to_string()).expect(204);
    let old = card(&registry, "?version=0.3").expect(200).json();
    assert_eq!(old["url"], "https://weather.example/forecast");
    registry.get("/things/urn:none/agent-card").problem(404, "not-found");
}

#[test]
fn card_changed_by_hand_is_made_of_the_description() {
    let registry = with_card(NEW);
    registry.patch("/things/urn:card", r#"{"title": "Ferries"}"#).expect(204);
    let made = card(&registry, "").expect(200).json();
    assert_eq!((&made["name"], made["supportedInterfaces"].as_array().map(Vec::len)), (&json!("Ferries"), Some(6)));
    assert_eq!(card(&registry, "?version=0.3").expect(200).json()["name"], "Ferries");
}

#[test]
fn ids_in_paths_are_percent_encoded() {
    let registry = TestRegistry::start();
    let id = "https:%2F%2Fagents.example%2Fagent-card%3Fa=1";
    let answer = import(&registry, &format!("?id={id}"), NEW).expect(201);
    assert_eq!(answer.json()["ids"], json!(["https://agents.example/agent-card?a=1"]));
    assert_eq!(registry.get(&format!("/things/{id}/agent-card")).expect(200).text(), NEW);
    assert_eq!(registry.get(&format!("{}/agent-card", answer.header("location"))).expect(200).text(), NEW);
}

/// Resolves the cards of Things, as a client of the protocol does that is given their URLs.
const RESOLVER: &str = r#"
import asyncio, sys, httpx
from a2a.client import A2ACardResolver
async def main():
    async with httpx.AsyncClient(trust_env=False) as client:
        for line in sys.stdin:
            base, path = line.split()
            card = await A2ACardResolver(client, base).get_agent_card(relative_card_path=path)
            print(card.name, len(card.supported_interfaces), len(card.skills))
asyncio.run(main())
"#;

#[test]
fn python_sdk_resolves_cards_from_the_registry() {
    let registry = TestRegistry::start();
    for (id, card) in [("plain", PLAIN), ("old", OLD), ("new", NEW)] {
        import(&registry, &format!("?id=urn:{id}"), card).expect(201);
    }
    // The SDK can't read several flows in one scheme of 0.3; as 1.0 they are several schemes.
    let paths = ["plain/agent-card", "new/agent-card", "old/agent-card?version=1.0", "new/agent-card?version=0.3"];
    let lines: String = paths.iter().map(|path| format!("{} /things/urn:{path}\n", registry.url(""))).collect();
    let Some(read) = run_python(RESOLVER, &lines) else { return };
    assert_eq!(read, "Echo 1 1\nFerry 6 2\nVault 3 1\nFerry 2 2\n");
}

#[test]
fn export_has_nothing_that_an_edit_took_out() {
    let skill = |id: &str, text: &str| json!({"id": id, "name": text, "description": format!("{text} at length"), "tags": [text]});
    let of = |skills: Value| {
        json!({
            "name": "Desk", "description": "Answers", "version": "1.0.0", "url": "https://desk.example/a2a",
            "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"], "skills": skills,
        })
    };
    let registry = with_card(&of(json!([skill("falcon", "Falcon")])).to_string());
    registry.patch("/things/urn:card", r#"{"actions": null, "lmos:capabilities": null}"#).expect(204);
    for version in ["", "?version=0.3", "?version=1.0"] {
        let problem = card(&registry, version).problem(409, "not-expressible");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("edits=false") && !detail.to_lowercase().contains("falcon"), "{detail}");
    }
    card(&registry, "?edits=false").expect(200);

    let registry = with_card(&of(json!([skill("faq", "Questions"), skill("falcon", "Falcon")])).to_string());
    let mut edited = registry.get("/things/urn:card").json();
    edited["actions"].as_object_mut().unwrap().remove("falcon");
    edited["lmos:capabilities"].as_array_mut().unwrap().pop();
    registry.put("/things/urn:card", edited.to_string()).expect(204);
    let exported = card(&registry, "").expect(200);
    assert!(!exported.text().to_lowercase().contains("falcon"), "{}", exported.text());
    assert_eq!(exported.json()["skills"], json!([skill("faq", "Questions")]));
}
