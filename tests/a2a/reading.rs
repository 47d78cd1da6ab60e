//! What is read, mended, reported and refused.

use agentdex::convert::{
    Error,
    a2a::{Card, Generation, Options},
};
use serde_json::{Value, json};

use super::{card, fixture, fixtures, found, json, refusal, thing, thing_with};

fn plain() -> Value {
    json(&fixture("plain_0_2"))
}

/// The plain card with other members; null takes one away.
fn with(changes: Value) -> Value {
    let mut card = plain();
    for (name, value) in changes.as_object().unwrap() {
        card[name] = value.clone();
        if value.is_null() {
            card.as_object_mut().unwrap().remove(name);
        }
    }
    card
}

#[test]
fn the_shape_decides_the_generation() {
    for (name, bytes) in fixtures() {
        let card = Card::parse(&bytes).unwrap();
        let is_old = name.ends_with("_0_2") || name.ends_with("_0_3");
        assert_eq!(card.generation() == Generation::V0, is_old, "{name}");
    }
}

#[test]
fn an_empty_list_of_interfaces_says_nothing_beside_a_url() {
    assert_eq!(card(&with(json!({"supportedInterfaces": []}))).generation(), Generation::V0);
    assert_eq!(card(&with(json!({"supportedInterfaces": [], "url": null}))).generation(), Generation::V1);
}

#[test]
fn cards_without_oddities_give_no_warning() {
    for (name, bytes) in fixtures() {
        let card = Card::parse(&bytes).unwrap();
        // "text" is what cards of that age say instead of a media type.
        let expected: &[(&str, &str)] = match name.as_str() {
            "plain_0_2" => &[("mode", "/defaultInputModes/0"), ("mode", "/defaultOutputModes/0")],
            _ => &[],
        };
        assert_eq!(found(card.warnings()), expected, "{name}");
    }
}

#[test]
fn a_version_that_disagrees_with_the_shape_is_a_warning() {
    let old = card(&with(json!({"protocolVersion": "1.0"})));
    assert_eq!(old.generation(), Generation::V0);
    assert!(found(old.warnings()).contains(&("version-mismatch", "/protocolVersion")));
    let mut new = json(&fixture("extensions_1_0"));
    new["protocolVersion"] = "0.3.0".into();
    assert_eq!(found(card(&new).warnings()), [("version-mismatch", "/protocolVersion")]);
    new["protocolVersion"] = "1.0".into();
    assert!(card(&new).warnings().is_empty());
}

#[test]
fn what_has_one_meaning_left_is_mended() {
    let odd = with(json!({
        "version": 2, "protocolVersion": 0.3, "description": null,
        "capabilities": {"streaming": "true", "push_notifications": true, "extensions": null},
        "defaultInputModes": "text/plain", "default_output_modes": ["text/plain"], "defaultOutputModes": null,
        "skills": [{"id": 7, "name": "Seven", "description": "", "tags": "lucky"}, "no skill", null],
        "provider": ["nobody"], "iconUrl": {},
    }));
    let card = card(&odd);
    let mut findings = found(card.warnings());
    findings.sort_unstable();
    assert_eq!(
        findings,
        [
            ("member-missing", ""),
            ("member-spelling", ""),
            ("member-spelling", "/capabilities"),
            ("member-type", "/capabilities/streaming"),
            ("member-type", "/defaultInputModes"),
            ("member-type", "/iconUrl"),
            ("member-type", "/protocolVersion"),
            ("member-type", "/provider"),
            ("member-type", "/skills/0/id"),
            ("member-type", "/skills/0/tags"),
            ("member-type", "/skills/1"),
            ("member-type", "/skills/2"),
            ("member-type", "/version"),
        ]
    );
    let thing = thing(&card);
    assert_eq!(thing["version"]["instance"], "2");
    assert_eq!(
        thing["lmos:capabilities"],
        json!([{"lmos:id": "7", "lmos:name": "Seven", "lmos:description": "", "lmos:tags": ["lucky"]}])
    );
    let flags = json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": false});
    assert_eq!(thing["a2a:capabilities"], flags);
    assert!(thing.get("events").is_some() && thing.get("lmos:metadata").is_none());
}

#[test]
fn a_list_of_capabilities_is_flags_that_are_set() {
    let card = card(&with(json!({"capabilities": ["streaming", "governance"]})));
    let flags = json!({"streaming": true, "governance": true, "extendedAgentCard": false});
    assert_eq!(thing(&card)["a2a:capabilities"], flags);
}

#[test]
fn a_repeated_member_is_a_warning_and_the_last_is_read() {
    let text = plain().to_string().replacen('{', r#"{"url": "https://first.example", "#, 1);
    let card = Card::parse(text.as_bytes()).unwrap();
    assert!(found(card.warnings()).contains(&("duplicate-member", "/url")));
    assert_eq!(thing(&card)["a2a:supportedInterfaces"][0]["url"], "http://localhost:9999/");
    assert_eq!(card.bytes(), text.as_bytes());
}

#[test]
fn a_byte_order_mark_is_skipped_and_kept() {
    let bytes = [b"\xef\xbb\xbf".as_slice(), &fixture("plain_0_2")].concat();
    assert_eq!(Card::parse(&bytes).unwrap().as_version(Generation::V0).bytes, bytes);
}

#[test]
fn secrets_are_never_kept() {
    let odd = with(json!({
        "url": "https://me:hunter2@echo.example/a2a",
        "capabilities": {"extensions": [{"uri": "urn:x", "params": {"api_key": "hunter3hunter3"}}]},
    }));
    let card = card(&odd);
    let rules = found(card.warnings());
    assert!(rules.contains(&("user-info", "/url")), "{rules:?}");
    assert!(rules.contains(&("secret-name", "/capabilities/extensions/0/params/api_key")), "{rules:?}");
    let conversion = card.to_thing(&Options::default()).unwrap();
    let (description, kept) = (conversion.things[0].description.text(), &conversion.things[0].source.bytes);
    assert!(!description.contains("hunter") && !String::from_utf8_lossy(kept).contains("hunter"));
    assert_eq!(json(kept)["url"], "https://echo.example/a2a");
    let other = with(json!({"url": "https://echo.example/a2a?session=1"}));
    assert_eq!(super::card(&other).to_thing(&Options::default()).unwrap().things[0].id, conversion.things[0].id);
}

#[test]
fn what_is_no_card_is_told_what_it_looks_like() {
    let organization = json!({"@context": "https://schema.org", "@type": "Organization", "name": "Acme", "url": "https://acme.example"});
    let cases = [
        (json!({"hello": 1}), "not an A2A card: it has no `skills` and no `url`/`supportedInterfaces`"),
        (
            organization,
            "not an A2A card: it has a URL, but no `skills`, `capabilities`, or `defaultInputModes`; it looks like a schema.org Organization",
        ),
        (json!({"url": "https://x", "capabilities": [{"name": "a"}]}), "not an A2A card: it has no `skills`"),
        (json!([1]), "not an A2A card: a card is an object, but the document is a list"),
        (
            json!({"name": "x", "skills": []}),
            "not an A2A card: it has no `url`/`supportedInterfaces`, `capabilities`, or `defaultInputModes`",
        ),
    ];
    for (document, message) in cases {
        assert_eq!(refusal(document.to_string().as_bytes()), message);
    }
    let lookalikes = [
        (
            json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "x", "url": "https://x", "skills": []}),
            "Thing Description",
        ),
        (json!({"component_type": "Agent", "name": "x"}), "Open Agent Spec"),
        (json!({"openapi": "3.1.0", "info": {}}), "OpenAPI"),
        (
            json!({"$schema": "https://static.modelcontextprotocol.io/schemas/server.json", "name": "x", "version": "1"}),
            "MCP",
        ),
        (json!({"schema_version": "v1", "name_for_model": "x", "api": {}}), "plugin manifest"),
        (json!({"supportedTenants": [], "capabilities": [{"name": "x", "version": "1"}]}), "LMOS capability file"),
        (json!({"jsonrpc": "2.0", "result": {"skills": []}}), "response"),
        (json!({"issuer": "https://x", "token_endpoint": "https://x"}), "OAuth"),
        (json!({"keys": []}), "JWKS"),
        (json!({"agents": [plain()]}), "list of agent cards"),
        (json!({"name": "x", "short_name": "x", "icons": [], "start_url": "/"}), "web application"),
        (json!({"error": "not found"}), "error"),
        (json!({"detail": "Not Found"}), "error"),
        (json!({"message": "Not Found", "statusCode": 404}), "error"),
        (json!({"name": "p", "version": "1.0.0", "dependencies": {}}), "package.json"),
        (json!({"agentCard": plain()}), "card in `agentCard`"),
        (json!({"card": plain(), "ok": true}), "card in `card`"),
        (json!({"data": plain()}), "card in `data`"),
        (
            json!({"name": "x", "url": "https://x.example/mcp", "transport": "streamable-http",
                "tools": [{"name": "t"}], "capabilities": {"tools": true}}),
            "MCP server",
        ),
    ];
    for (document, name) in lookalikes {
        let message = refusal(document.to_string().as_bytes());
        assert!(message.contains("it looks like") && message.contains(name), "{message}");
    }
    let Err(Error::InvalidSource { report, .. }) = Card::parse(b"{}") else { panic!("read") };
    assert_eq!(found(&report.violations)[0], ("not-a-card", ""));
    assert_eq!(report.violations.len(), 5);
    assert!(matches!(Card::parse(b"{"), Err(Error::MalformedJson { .. })));
}

#[test]
fn what_only_has_some_members_of_cards_is_none() {
    for (document, message) in [
        (json!({"name": "J", "url": "https://j.example", "skills": ["js", "py"]}), "its `skills` are not objects"),
        (json!({"name": "x", "url": "https://x.example", "capabilities": ["a"]}), "it has no `skills`"),
        (json!({"name": "x", "url": "https://x.example", "protocolVersion": "2025-06-18"}), "it has a URL, but no"),
    ] {
        let refusal = refusal(document.to_string().as_bytes());
        assert!(refusal.starts_with(&format!("not an A2A card: {message}")), "{refusal}");
    }
    let known = json!({"name": "x", "url": "https://x.example", "protocolVersion": "0.3.0"});
    for typical in [json!({"capabilities": {"streaming": true}}), json!({"defaultInputModes": ["text/plain"]})] {
        let mut document = known.clone();
        document.as_object_mut().unwrap().extend(typical.as_object().unwrap().clone());
        card(&document);
    }
}

#[test]
fn a_card_may_say_where_its_openapi_document_is_and_have_a_context_of_schema_org() {
    card(&with(json!({"openapi": "https://echo.example/openapi.json"})));
    card(&with(json!({"@context": "https://schema.org"})));
}

#[test]
fn what_is_no_json_is_told_what_it_looks_like() {
    for (text, name) in [
        ("<!doctype html><html></html>", "a web page (HTML)"),
        ("\n <HTML>", "a web page (HTML)"),
        ("", "empty"),
        (" \n", "empty"),
        ("<feed/>", "XML"),
        ("# agent\nname: x\nurl: https://x.example", "YAML"),
        ("// a card\n{}", "comment"),
    ] {
        let Err(Error::MalformedJson { message, .. }) = Card::parse(text.as_bytes()) else { panic!("read") };
        assert!(message.contains(name), "{text:?}: {message}");
    }
    let Err(Error::MalformedJson { message, .. }) = Card::parse(br#"{"name": "x",}"#) else { panic!("read") };
    assert!(!message.contains("the document"), "{message}");
}

#[test]
fn a_card_without_a_url_needs_an_id() {
    let card = card(&with(json!({"url": null})));
    let Err(Error::InvalidSource { report, .. }) = card.to_thing(&Options::default()) else { panic!("accepted") };
    assert_eq!(found(&report.violations), [("no-identity", "")]);
    let (thing, warnings) = thing_with(&card, &Options { id: Some("urn:example:echo".into()), base: None });
    assert_eq!(thing["id"], "urn:example:echo");
    assert!(thing.get("actions").is_none());
    assert_eq!(thing["lmos:capabilities"][0]["lmos:id"], "echo");
    assert!(found(&warnings).contains(&("no-interface", "")));
}
