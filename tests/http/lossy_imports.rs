//! Imports in another format than that of the agent: they drop nothing unless they are meant to.

use std::{fs, path::Path, thread};

use agentdex::{
    Error,
    convert::{Format, ImportOptions, Input},
    registry::Import,
};
use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry};

/// A document of each format that is imported.
const DOCUMENTS: [(&str, &str); 5] = [
    ("a2a", "a2a/recipes.json"),
    ("agent-spec", "agent-spec/support.json"),
    ("mcp-server", "mcp/server.json"),
    ("lmos-capabilities", "lmos/capabilities.json"),
    ("aos", "aos/travel.json"),
];
const JSON: &str = "application/json";

fn example(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(path)).unwrap()
}

fn import(registry: &TestRegistry, format: &str, query: &str, document: &[u8]) -> Answer {
    registry.call("POST", &format!("/import/{format}{query}")).body(JSON, document).send()
}

/// An agent in one of the formats, or a description by hand; its id.
fn register(registry: &TestRegistry, format: &str) -> String {
    match DOCUMENTS.iter().find(|(name, _)| *name == format) {
        Some((_, path)) => {
            let body = import(registry, format, "", example(path).as_bytes()).expect(201).json();
            body["ids"][0].as_str().unwrap().to_owned()
        }
        None => {
            let description: Value = serde_json::from_str(&example("agents/smart-home.json")).unwrap();
            let id = description["id"].as_str().unwrap().to_owned();
            registry.put(&format!("/things/{id}"), description.to_string()).expect(201);
            id
        }
    }
}

fn path(id: &str) -> String {
    format!("/things/{}", id.replace('/', "%2F"))
}

fn export(registry: &TestRegistry, id: &str, format: &str) -> Answer {
    let name = if format == "a2a" { "agent-card" } else { format };
    registry.get(&format!("{}/{name}", path(id)))
}

/// All that is known of an agent: its description, versions, and documents in all formats.
fn state(registry: &TestRegistry, id: &str) -> Vec<String> {
    let read = |end: &str| registry.get(&format!("{}{end}", path(id))).expect(200);
    let mut thing = read("").json();
    thing["registration"].as_object_mut().unwrap().remove("retrieved");
    let own = [thing.to_string(), read("/versions").text().to_owned()];
    let documents = DOCUMENTS.iter().map(|(format, _)| export(registry, id, format).text().to_owned());
    own.into_iter().chain(documents).collect()
}

#[test]
fn no_format_drops_what_came_in_another() {
    let (mut pairs, mut returned, mut refused) = (0, 0, 0);
    for from in ["td", "a2a", "agent-spec", "mcp-server", "lmos-capabilities", "aos"] {
        for (to, document) in DOCUMENTS.iter().filter(|(to, _)| *to != from) {
            let registry = TestRegistry::start();
            let id = register(&registry, from);
            let exported = export(&registry, &id, to);
            let is_own = exported.status == 200;
            pairs += 1;
            let before = state(&registry, &id);
            let last = registry.registry().last_seq();
            if is_own {
                let answer = import(&registry, to, "", &exported.body).expect(200).json();
                assert_eq!(answer["ids"].as_array().map(Vec::len), Some(1), "{from} to {to}: {answer}");
                let same = (state(&registry, answer["ids"][0].as_str().unwrap()), registry.registry().last_seq());
                assert_eq!(same, (before.clone(), last), "{from} to {to}");
                returned += 1;
            }
            // Something else in that format.
            let document = example(document).into_bytes();
            // What the relation to the agent is has no say in it.
            let queries = ["&if_exists=replace", "&if_exists=replace&dry_run=true", "", "&if_exists=related"];
            for query in queries.into_iter().take(2) {
                let answer = import(&registry, to, &format!("?id={id}{query}"), &document);
                if answer.status == 200 {
                    // A lower version lies beside the original and isn't served.
                    let after = state(&registry, &id);
                    assert!(!lost(&before, &after), "{from} to {to}{query}");
                    assert!(
                        from == "td" || after[1].contains(&format!("\"format\":\"{from}\"")),
                        "{from} to {to}{query}: {}",
                        after[1]
                    );
                    continue;
                }
                refused += 1;
                let problem = answer.problem(409, "lossy-import");
                assert_eq!((&problem["id"], &problem["format"]), (&json!(id), &json!(to)), "{problem}");
                // A higher version leaves the original beside it, and serves less.
                let is_ended = problem["originalFormat"] == from;
                assert!(is_ended || problem["dropped"] != json!({}), "{from} to {to}: {problem}");
                let detail = problem["detail"].as_str().unwrap();
                assert!(["`replace=true`", "`--replace`"].iter().all(|remedy| detail.contains(remedy)), "{detail}");
                assert_eq!(
                    (state(&registry, &id), registry.registry().last_seq()),
                    (before.clone(), last),
                    "{from} to {to}{query}"
                );
            }
            import(&registry, to, &format!("?id={id}&if_exists=replace&replace=true"), &document).expect(200);
        }
    }
    println!("{pairs} pairs of formats, {returned} exports unchanged, {refused} imports refused");
    assert!(pairs == 25 && returned >= 8 && refused >= 25, "{pairs} pairs, {returned} returned, {refused} refused");
}

/// True if the description lacks an affordance, form or security definition of before.
fn lost(before: &[String], after: &[String]) -> bool {
    let parse = |state: &[String]| serde_json::from_str::<Value>(&state[0]).unwrap();
    !agentdex::td::Losses::between(&parse(before), &parse(after)).is_empty()
}

#[test]
fn server_made_of_a_description_comes_back_as_that_description() {
    let registry = TestRegistry::start();
    let id = "urn:example:tides";
    let thing = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"mcp": "urn:agentdex:mcp:"}], "id": id, "title": "Tides",
        "description": "When the water is high", "version": {"instance": "1.0.0"}, "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "actions": {"tide": {"forms": [{"href": "https://tides.example/mcp", "subprotocol": "mcp", "mcp:tool": "tide"}]}},
    });
    registry.put(&path(id), thing.to_string()).expect(201);
    let before = state(&registry, id);
    for version in ["server.json", "server-card"] {
        let file = registry.get(&format!("{}/mcp-server?version={version}", path(id))).expect(200).body;
        let answer = import(&registry, "mcp-server", "", &file).expect(200).json();
        assert_eq!(answer["ids"], json!([id]), "{answer}");
        assert_eq!(state(&registry, id), before, "{version}");
        let edited = String::from_utf8(file.clone()).unwrap().replacen("water is high", "sea is high", 1);
        let answer = import(&registry, "mcp-server", "?dry_run=true", edited.as_bytes()).expect(200).json();
        assert_eq!(answer["updated"], json!([id]), "{answer}");
        // Whoever serves a document decides nothing about the Things of others.
        let fetched = "?dry_run=true&base=https://elsewhere.example/server-card";
        let answer = import(&registry, "mcp-server", fetched, &file).expect(200).json();
        assert_eq!(answer["created"], json!(["urn:agentdex:mcp:example.tides/tides"]), "{answer}");
    }
}

#[test]
fn export_has_nothing_that_only_the_registry_says() {
    let registry = TestRegistry::start();
    let id = register(&registry, "a2a");
    let before = state(&registry, &id);
    assert!(before[0].contains("agentdex:signature"), "{}", before[0]);
    let file = export(&registry, &id, "agent-spec").expect(200).text().to_owned();
    assert!(!file.contains("agentdex:signature"), "{file}");
    for (registry, status) in [(&registry, 200), (&TestRegistry::start(), 201)] {
        let answer = import(registry, "agent-spec", "", file.as_bytes()).expect(status).json();
        assert!(!answer.to_string().contains("registry-owned-member"), "{answer}");
    }
    assert_eq!(state(&registry, &id), before);
}

#[test]
fn edit_of_an_export_is_an_edit_of_the_import() {
    for (from, to, was, is) in [
        ("a2a", "lmos-capabilities", "Proposes recipes", "Proposes good recipes"),
        ("a2a", "agent-spec", "Finds recipes", "Finds good recipes"),
        ("mcp-server", "lmos-capabilities", "The next departures", "The very next departures"),
        ("td", "lmos-capabilities", "Heats, cools and charges", "Heats and charges"),
    ] {
        let registry = TestRegistry::start();
        let id = register(&registry, from);
        let before = state(&registry, &id);
        let file = export(&registry, &id, to).expect(200).text().to_owned();
        let edited = file.replacen(was, is, 1);
        assert_ne!(edited, file, "{from} to {to}: {file}");
        let answer = import(&registry, to, "", edited.as_bytes()).expect(200).json();
        assert_eq!(answer["updated"], json!([id]), "{from} to {to}: {answer}");
        let after = state(&registry, &id);
        assert!(!lost(&before, &after) && after[0].contains(is), "{from} to {to}: {}", after[0]);
        if from != "td" {
            let own = export(&registry, &id, from).expect(200).text().to_owned();
            assert!(own.contains(is) && after[1].contains(&format!("\"format\":\"{from}\"")), "{from} to {to}: {own}");
        }
    }
}

/// The export of an agent with parameters.
fn export_with(registry: &TestRegistry, id: &str, format: &str, query: &str) -> Vec<u8> {
    let name = if format == "a2a" { "agent-card" } else { format };
    registry.get(&format!("{}/{name}?{query}", path(id))).expect(200).body
}

/// The rules of the warnings of an import that changes nothing.
fn changes_nothing(registry: &TestRegistry, format: &str, id: &str, document: &[u8]) -> Vec<String> {
    let before = (state(registry, id), registry.registry().last_seq());
    let answer = import(registry, format, &format!("?id={id}"), document).expect(200).json();
    assert_eq!((state(registry, id), registry.registry().last_seq()), before, "{format}: {answer}");
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    let rules = warnings.map(|warning| warning["rule"].as_str().unwrap().to_owned());
    // Those of the conversion are none of the import.
    rules.filter(|rule| ["not-current", "options-kept", "edits-kept", "not-served"].contains(&rule.as_str())).collect()
}

/// A card with this version and description.
fn card(version: &str, description: &str) -> Vec<u8> {
    let mut card: Value = serde_json::from_str(&example("a2a/recipes.json")).unwrap();
    (card["version"], card["description"]) = (version.into(), description.into());
    card["skills"][1]["description"] = format!("{description} as a list").into();
    card.to_string().into_bytes()
}

const ID: &str = "urn:example:returned";

#[test]
fn export_of_what_is_not_served_changes_nothing() {
    for format in ["aos", "lmos-capabilities", "agent-spec"] {
        let registry = TestRegistry::start();
        let import_card = |version: &str, description: &str| {
            let document = card(version, description);
            import(&registry, "a2a", &format!("?id={ID}"), &document).json();
        };
        import_card("1.0.0", "The first one");
        let earlier = export(&registry, ID, format).body;
        import_card("2.0.0", "The second one");
        let older = export_with(&registry, ID, format, "thing_version=1.0.0");
        assert_eq!(changes_nothing(&registry, format, ID, &older), ["not-current"]);
        assert_eq!(changes_nothing(&registry, format, ID, &earlier), ["not-current"]);
        // Edited, it is an edit of what isn't served.
        let edited = String::from_utf8(older).unwrap().replace("The first one", "The first one, edited");
        import(&registry, format, &format!("?id={ID}"), edited.as_bytes()).problem(409, "lossy-import");
        registry.patch(&path(ID), r#"{"description": "By hand"}"#).expect(204);
        let unedited = export_with(&registry, ID, format, "edits=false");
        assert_eq!(changes_nothing(&registry, format, ID, &unedited), ["not-current"]);
        let edited = String::from_utf8(unedited).unwrap().replace("as a list", "as a table");
        import(&registry, format, &format!("?id={ID}"), edited.as_bytes()).problem(409, "lossy-import");
    }
}

#[test]
fn edit_of_a_skill_changes_all_that_the_description_says_of_it() {
    for format in ["aos", "lmos-capabilities"] {
        let registry = TestRegistry::start();
        import(&registry, "a2a", &format!("?id={ID}"), &card("1.0.0", "The first one")).expect(201);
        let document = String::from_utf8(export(&registry, ID, format).body).unwrap();
        let edited = document.replace("The first one as a list", "A list to shop by");
        import(&registry, format, &format!("?id={ID}"), edited.as_bytes()).expect(200);
        let thing = registry.get(&path(ID)).expect(200).text().to_owned();
        assert!(!thing.contains("The first one as a list"), "{format}: {thing}");
    }
}

#[test]
fn description_of_a_version_sent_back_keeps_its_original() {
    let registry = TestRegistry::start();
    for version in ["1.0.0", "2.0.0"] {
        import(&registry, "a2a", &format!("?id={ID}"), &card(version, version));
    }
    let versions = || registry.get(&format!("{}/versions", path(ID))).expect(200).text().to_owned();
    let before = (versions(), registry.registry().last_seq());
    for version in ["1.0.0", "2.0.0"] {
        let at = format!("{}?version={version}", path(ID));
        let description = registry.get(&at).expect(200).body;
        registry.put(&at, description).expect(204);
        assert_eq!((versions(), registry.registry().last_seq()), before, "{version}");
    }
}

#[test]
fn an_export_of_before_is_no_edit() {
    let registry = TestRegistry::start();
    let mut thing = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": ID, "title": "Clock", "description": "Tells the time",
        "version": {"instance": "1.0.0"}, "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "actions": {"time": {"description": "The time", "forms": [{"href": "https://clock.example"}]}},
    });
    registry.put(&path(ID), thing.to_string()).expect(201);
    let exports = ["lmos-capabilities", "agent-spec"].map(|format| (format, export(&registry, ID, format).body));
    thing["description"] = "Tells the time of day".into();
    registry.put(&path(ID), thing.to_string()).expect(204);
    for (format, before) in exports {
        assert_eq!(changes_nothing(&registry, format, ID, &before), ["not-current"], "{format}");
    }
}

#[test]
fn own_export_with_edits_or_in_another_version_keeps_the_original() {
    for (format, _) in DOCUMENTS {
        let registry = TestRegistry::start();
        let id = register(&registry, format);
        for version in ["", "version=1.0", "version=0.3"].into_iter().take(if format == "a2a" { 3 } else { 1 }) {
            let document = export_with(&registry, &id, format, version);
            assert_eq!(changes_nothing(&registry, format, &id, &document), [""; 0], "{format} {version}");
        }
        registry.patch(&path(&id), r#"{"description": "By hand"}"#).expect(204);
        let document = export_with(&registry, &id, format, "");
        assert_eq!(changes_nothing(&registry, format, &id, &document), [""; 0], "{format}");
        assert!(!export_with(&registry, &id, format, "edits=false").windows(7).any(|text| text == b"By hand"));
    }
}

#[test]
fn the_original_again_ends_no_option_that_it_was_imported_with() {
    let registry = TestRegistry::start();
    let document = example("agent-spec/support.json");
    let query = "?base=https://agents.example/support&security=bearer";
    let answer = import(&registry, "agent-spec", query, document.as_bytes()).expect(201).json();
    let id = answer["ids"][0].as_str().unwrap();
    let before = registry.get(&path(id)).expect(200).json();
    import(&registry, "agent-spec", "", document.as_bytes()).expect(200);
    let after = registry.get(&path(id)).expect(200).json();
    assert_eq!(
        (&after["actions"], &after["securityDefinitions"]),
        (&before["actions"], &before["securityDefinitions"])
    );
    assert_eq!(changes_nothing(&registry, "agent-spec", id, document.as_bytes()), ["options-kept"]);
    import(&registry, "agent-spec", "?replace=true&if_exists=replace", document.as_bytes()).expect(200);
    assert_ne!(registry.get(&path(id)).expect(200).json()["securityDefinitions"], before["securityDefinitions"]);
}

#[test]
fn a_document_that_was_given_an_id_is_known_without_it() {
    for (format, document) in DOCUMENTS {
        let registry = TestRegistry::start();
        let import = |query: &str, document: &[u8]| import(&registry, format, query, document);
        import(&format!("?id={ID}"), example(document).as_bytes()).expect(201);
        registry.registry().flags_position(registry.registry().last_seq());
        let before = (state(&registry, ID), registry.registry().last_seq());
        let file = export(&registry, ID, format).body;
        let answer = import("", &file).expect(200).json();
        assert_eq!(
            (&answer["ids"], answer["created"].as_array().map_or(0, Vec::len)),
            (&json!([ID]), 0),
            "{format}: {answer}"
        );
        assert!(answer["warnings"].to_string().contains("options-kept"), "{answer}");
        assert_eq!((state(&registry, ID), registry.registry().last_seq()), before, "{format}");
        // Who asks for another agent gets one.
        let other = import("?id=urn:example:another", &file).expect(201).json();
        assert_eq!(other["created"], json!(["urn:example:another"]));
    }
}

/// The Thing of an id without what changes with every read.
fn thing(registry: &TestRegistry, id: &str) -> Value {
    let mut thing = registry.get(&path(id)).expect(200).json();
    thing.as_object_mut().unwrap().remove("registration");
    thing
}

#[test]
fn options_of_an_import_hold_for_edits_of_its_export() {
    let card = json!({
        "serverInfo": {"name": "lock-keeper", "version": "1.2.0"}, "description": "Opens canal locks",
        "transport": {"type": "streamable-http", "endpoint": "/mcp"}, "tools": [{"name": "open_lock"}],
    });
    let solo = json!({
        "component_type": "Agent", "agentspec_version": "25.4.2", "id": "solo", "name": "solo", "description": "Does it alone",
        "inputs": [], "outputs": [], "system_prompt": "p",
        "llm_config": {"component_type": "OllamaConfig", "id": "llm", "name": "m", "url": "https://m.example", "model_id": "m"},
    });
    let agent = "base=https://agents.example/solo&security=bearer&protocol=a2a";
    for (format, document, query, was) in [
        ("agent-spec", &solo, agent, "Does it alone"),
        ("mcp-server", &card, "base=https://locks.example/.well-known/mcp/card.json", "Opens canal locks"),
    ] {
        let registry = TestRegistry::start();
        let answer =
            import(&registry, format, &format!("?{query}"), document.to_string().as_bytes()).expect(201).json();
        let id = answer["ids"][0].as_str().unwrap();
        let before = thing(&registry, id);
        let file = export(&registry, id, format).expect(200).text().to_owned();
        assert_eq!(changes_nothing(&registry, format, id, file.as_bytes()), ["options-kept"]);
        let edited = file.replace(was, "Edited");
        let answer = import(&registry, format, "", edited.as_bytes()).expect(200).json();
        assert!(answer["warnings"].to_string().contains("options-kept"), "{answer}");
        let mut after = thing(&registry, id);
        assert_eq!(after["description"], "Edited");
        after["description"] = was.into();
        let described = |thing: &Value| thing.to_string().replace(was, "Edited");
        assert_eq!(described(&after), described(&before), "{format}");
        // Again, and what is named wins.
        import(&registry, format, "", edited.replace("Edited", "Again").as_bytes()).expect(200);
        import(&registry, format, "?base=https://b.example/x", edited.as_bytes()).expect(200);
        assert!(thing(&registry, id).to_string().contains("https://b.example/"), "{format}");
        import(&registry, format, "?replace=true", edited.as_bytes()).expect(200);
        assert!(!thing(&registry, id).to_string().contains("b.example"), "{format}");
    }
}

#[test]
fn parts_and_their_security_hold_for_the_export_of_their_document() {
    let tool = json!({
        "component_type": "RemoteTool", "id": "sens", "name": "sens", "description": "d", "url": "https://t.example/x",
        "http_method": "POST", "data": {}, "query_params": {}, "headers": {}, "sensitive_headers": {"X-Api-Key": "k1"},
        "inputs": [], "outputs": [],
    });
    let agent = json!({
        "component_type": "Agent", "agentspec_version": "25.4.2", "id": "belt", "name": "belt", "description": "Has a tool",
        "inputs": [], "outputs": [], "system_prompt": "p", "tools": [tool],
        "llm_config": {"component_type": "OllamaConfig", "id": "llm", "name": "m", "url": "https://m.example", "model_id": "m"},
    });
    let registry = TestRegistry::start();
    import(&registry, "agent-spec", "?tools=true", agent.to_string().as_bytes()).expect(201);
    let (belt, sens) = ("urn:agentspec:local:belt", "urn:agentspec:local:sens");
    let before = thing(&registry, sens);
    assert_eq!(before["securityDefinitions"]["apikey_sc"]["name"], "X-Api-Key");
    let file = export(&registry, belt, "agent-spec").expect(200).text().to_owned();
    for (query, document) in
        [("?tools=true", file.clone()), ("", file.clone()), ("", file.replace("Has a tool", "Has tools"))]
    {
        let answer = import(&registry, "agent-spec", query, document.as_bytes()).expect(200).json();
        assert_eq!((&answer["removed"], thing(&registry, sens)), (&json!([]), before.clone()), "{query}: {answer}");
    }
    assert_eq!(thing(&registry, belt)["description"], "Has tools");
}

#[test]
fn edit_that_a_card_has_no_counterpart_for_names_what_it_would_drop() {
    let registry = TestRegistry::start();
    let description = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"htv": "http://www.w3.org/2011/http#"}], "id": ID, "title": "Desk",
        "description": "Weather for cities", "version": {"instance": "1.2.3"}, "support": "mailto:a@b.example",
        "base": "https://desk.example/w/", "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "links": [{"rel": "license", "href": "https://desk.example/license"}],
        "uriVariables": {"room": {"type": "string", "enum": ["a", "b"]}},
        "actions": {"forecast": {"description": "Gets it", "input": {"type": "object", "properties": {"city": {"type": "string"}}},
            "forms": [{"href": "forecast{?room}", "htv:methodName": "PUT"}]}},
    });
    registry.put(&path(ID), description.to_string()).expect(201);
    let before = state(&registry, ID);
    let mut card = export(&registry, ID, "a2a").expect(200).json();
    let listed = &card["capabilities"]["extensions"][0]["params"]["actions"]["forecast"];
    assert_eq!(listed["uriVariables"]["room"]["enum"], json!(["a", "b"]));
    card["skills"][0]["inputModes"] = json!(["audio/wav"]);
    let problem = import(&registry, "a2a", "", card.to_string().as_bytes()).problem(409, "lossy-import");
    let dropped = json!({"members": ["support", "uriVariables", "links to https://desk.example/license"]});
    let edits = json!(["/skills/0/inputModes"]);
    assert_eq!((&problem["dropped"], &problem["inexpressibleEdits"]), (&dropped, &edits), "{problem}");
    assert_eq!(state(&registry, ID), before);
    import(&registry, "a2a", "?replace=true", card.to_string().as_bytes()).expect(200);
}

#[test]
fn edits_of_an_exported_configuration_are_made_warned_of_or_refused() {
    let registry = TestRegistry::start();
    let action = |path: &str| json!({"description": path, "forms": [{"href": path, "htv:methodName": "POST"}]});
    let description = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"htv": "http://www.w3.org/2011/http#"}], "id": ID, "title": "Desk",
        "description": "Weather", "base": "https://desk.example/w/",
        "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "actions": {"forecast": action("forecast"), "now": action("now")},
    });
    registry.put(&path(ID), description.to_string()).expect(201);
    let before = state(&registry, ID);
    let file = export(&registry, ID, "agent-spec").expect(200).json();
    let mut moved = file.clone();
    moved["additional_tools"][0]["url"] = "https://desk.example/other".into();
    for call in ["/import/agent-spec", "/import/agent-spec?dry_run=true"] {
        let answer = registry.call("POST", call).body(JSON, moved.to_string()).send();
        let problem = answer.problem(400, "invalid-document");
        assert_eq!(problem["validationErrors"][0]["pointer"], "/additional_tools/0/url", "{call}: {problem}");
    }
    let converted = registry.call("POST", "/convert").body(JSON, moved.to_string()).send().expect(200).json();
    assert_eq!(converted["violations"][0]["pointer"], "/additional_tools/0/url", "{converted}");
    let mut confirmed = file;
    confirmed["additional_tools"][0]["requires_confirmation"] = true.into();
    confirmed["additional_tools"][0]["outputs"] = json!([{"title": "x", "type": "string"}]);
    for call in ["/import/agent-spec", "/import/agent-spec?dry_run=true"] {
        let answer = registry.call("POST", call).body(JSON, confirmed.to_string()).send().expect(200).json();
        assert!(answer["warnings"].to_string().contains("not-in-description"), "{call}: {answer}");
    }
    let validated = |document: &Value| {
        let import = Format::AgentSpec.import().unwrap();
        import.validate(&Input::json(document.to_string().as_bytes()), &ImportOptions::default()).unwrap()
    };
    assert!(validated(&confirmed).warnings.iter().any(|warning| warning.rule == "not-in-description"));
    assert_eq!(validated(&moved).violations[0].pointer, "/additional_tools/0/url");
    assert_eq!(state(&registry, ID), before);
}

#[test]
fn withdrawn_server_stays_withdrawn() {
    let registry = TestRegistry::start();
    let server: Value = serde_json::from_str(&example("mcp/server.json")).unwrap();
    let listed =
        json!({"server": server, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deprecated"}}});
    let answer = import(&registry, "mcp-server", "", listed.to_string().as_bytes()).expect(201).json();
    let id = answer["ids"][0].as_str().unwrap();
    let document = export(&registry, id, "mcp-server").body;
    assert_eq!(changes_nothing(&registry, "mcp-server", id, &document), ["options-kept"]);
}

#[test]
fn very_many_edits_of_an_export_are_not_looked_for() {
    let registry = TestRegistry::start();
    let tags: Vec<String> = (0..20_000).map(|number| format!("tag {number}")).collect();
    let thing = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": "urn:example:tags", "title": "Tags", "version": {"instance": "1.0.0"},
        "lmos:capabilities": [{"lmos:id": "tag", "lmos:name": "tag", "lmos:tags": tags}],
    });
    registry.put("/things/urn:example:tags", thing.to_string()).expect(201);
    let file = export(&registry, "urn:example:tags", "lmos-capabilities").expect(200).text().replace("tag ", "other ");
    // An import like any other then, which drops the title.
    import(&registry, "lmos-capabilities", "", file.as_bytes()).expect(200);
}

#[test]
fn refusal_names_what_would_be_dropped() {
    let registry = TestRegistry::start();
    let id = register(&registry, "a2a");
    let mut file = export(&registry, &id, "lmos-capabilities").expect(200).json();
    file["capabilities"].as_array_mut().unwrap().pop();
    let problem = import(&registry, "lmos-capabilities", "", file.to_string().as_bytes()).problem(409, "lossy-import");
    let thing = registry.get(&path(&id)).json();
    let names = |member: &str| -> Vec<&String> { thing[member].as_object().unwrap().keys().collect() };
    assert_eq!(problem["dropped"]["actions"], json!(names("actions")));
    assert_eq!(problem["dropped"]["securityDefinitions"], json!(names("securityDefinitions")));
    let detail = problem["detail"].as_str().unwrap();
    for word in ["format a2a", "format lmos-capabilities", names("actions")[0], names("securityDefinitions")[0]] {
        assert!(detail.contains(word), "{detail} doesn't say {word}");
    }
}

#[test]
fn same_format_replaces_as_before() {
    let registry = TestRegistry::start();
    let id = register(&registry, "a2a");
    let mut card: Value = serde_json::from_str(&example("a2a/recipes.json")).unwrap();
    card["skills"].as_array_mut().unwrap().pop();
    let answer = import(&registry, "a2a", "", card.to_string().as_bytes()).expect(200).json();
    assert_eq!(answer["updated"], json!([id]));
}

#[test]
fn description_by_hand_keeps_its_actions_unless_the_document_has_them() {
    let registry = TestRegistry::start();
    let card: Value = serde_json::from_str(&example("a2a/recipes.json")).unwrap();
    let converted = registry.call("POST", "/convert").body(JSON, card.to_string()).send().expect(200).json();
    let mut by_hand = converted["things"][0].clone();
    let id = by_hand["id"].as_str().unwrap().to_owned();
    registry.put(&path(&id), by_hand.to_string()).expect(201);
    // The document has all of it.
    import(&registry, "a2a", "", card.to_string().as_bytes()).expect(200);
    registry.delete(&path(&id)).expect(204);
    by_hand["actions"]["extra"] = json!({"forms": [{"href": "https://recipes.example/extra"}]});
    registry.put(&path(&id), by_hand.to_string()).expect(201);
    // Nor does its own export drop what it doesn't say.
    import(&registry, "a2a", "", card.to_string().as_bytes()).expect(200);
    assert_eq!(registry.get(&path(&id)).json()["actions"]["extra"], by_hand["actions"]["extra"]);
    let mut card = card;
    card["skills"].as_array_mut().unwrap().pop();
    let problem = import(&registry, "a2a", "", card.to_string().as_bytes()).problem(409, "lossy-import");
    let dropped = json!({"actions": ["extra", "shopping-list"]});
    assert_eq!((&problem["dropped"], &problem["originalFormat"]), (&dropped, &Value::Null));
}

#[test]
fn part_of_documents_is_not_taken_from_them_by_another_format() {
    let registry = TestRegistry::start();
    let agent = |id: &str| {
        json!({
            "component_type": "Agent", "id": id, "name": id, "description": "Does it", "inputs": [], "outputs": [],
            "system_prompt": "p", "llm_config": {"component_type": "OllamaConfig", "id": format!("llm-{id}"), "name": "m",
                "url": "https://m.example", "model_id": "m"},
        })
    };
    let team = |id: &str| {
        json!({
            "component_type": "Swarm", "agentspec_version": "25.4.2", "id": id, "name": id, "inputs": [], "outputs": [],
            "first_agent": {"$component_ref": "solo"},
            "relationships": [[{"$component_ref": "solo"}, {"$component_ref": "other"}]],
            "$referenced_components": {"solo": agent("solo"), "other": agent("other")},
        })
    };
    for id in ["one", "two"] {
        import(&registry, "agent-spec", "?nested=true", team(id).to_string().as_bytes()).expect(201);
    }
    for id in ["urn:agentspec:local:solo", "urn:agentspec:local:one"] {
        let before = state(&registry, id);
        let file = json!({"id": id, "capabilities": [{"name": "x", "version": "1.0.0"}]}).to_string();
        let problem =
            import(&registry, "lmos-capabilities", "?if_exists=replace", file.as_bytes()).problem(409, "lossy-import");
        assert_eq!(problem["originalFormat"], "agent-spec");
        assert_eq!(state(&registry, id), before);
        assert_eq!(registry.get("/things").json().as_array().unwrap().len(), 4);
    }
}

#[test]
fn version_in_another_format_lies_beside_what_is_there() {
    let registry = TestRegistry::start();
    let server = |version: &str| {
        json!({
            "name": "com.example/w", "description": "d", "version": version,
            "remotes": [{"type": "streamable-http", "url": "https://w.example/mcp"}],
        })
    };
    let id = "urn:agentdex:mcp:com.example%2Fw";
    import(&registry, "mcp-server", "", server("2.0.0").to_string().as_bytes()).expect(201);
    let agent = |version: &str| {
        let provider = json!({"name": "x", "url": "https://x.example"});
        json!({"id": "urn:agentdex:mcp:com.example/w", "name": "com.example/w", "version": version, "instructions": "", "provider": provider})
    };
    // Nothing is dropped by a lower version, which isn't served.
    let import_agent = |version: &str| {
        let query = format!("?if_exists=replace&id={id}");
        import(&registry, "aos", &query, agent(version).to_string().as_bytes())
    };
    import_agent("1.0.0").expect(200);
    assert_eq!(registry.get(&path(id)).json()["version"]["instance"], "2.0.0");
    let problem = import_agent("3.0.0").problem(409, "lossy-import");
    assert_eq!(
        (&problem["originalFormat"], problem["dropped"]["actions"].is_array()),
        (&Value::Null, true),
        "{problem}"
    );
    // The same version would end the original.
    assert_eq!(import_agent("2.0.0").problem(409, "lossy-import")["originalFormat"], "mcp-server");
    assert_eq!(registry.get(&format!("{}/versions", path(id))).json().as_array().unwrap().len(), 2);
}

#[test]
fn removal_that_brings_back_a_lesser_document_says_what_is_lost() {
    let registry = TestRegistry::start();
    let id = "urn:agentdex:mcp:com.example%2Fw";
    let server = |version: &str, url: &str| {
        json!({
            "name": "com.example/w", "description": "d", "version": version,
            "remotes": [{"type": "streamable-http", "url": url}],
        })
    };
    let provider = json!({"name": "x", "url": "https://x.example"});
    let agent = json!({"id": "urn:agentdex:mcp:com.example/w", "name": "com.example/w", "version": "1.0.0", "instructions": "", "provider": provider});
    for version in ["2.0.0", "3.0.0"] {
        import(
            &registry,
            "mcp-server",
            "",
            server(version, &format!("https://{version}.example/mcp")).to_string().as_bytes(),
        );
    }
    import(&registry, "aos", &format!("?if_exists=replace&id={id}"), agent.to_string().as_bytes()).expect(200);
    let remove = |version: &str| {
        let call =
            registry.call("DELETE", &format!("{}?version={version}", path(id))).header("prefer", "return=effect");
        let answer = call.send().expect(200).json();
        let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
        let lost = warnings.into_iter().find(|warning| warning["rule"] == "lossy-import");
        lost.map_or_else(String::new, |warning| warning["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(remove("3.0.0"), "", "what is served has the same format");
    let actions = registry.get(&path(id)).json()["actions"].as_object().unwrap().clone();
    let message = remove("2.0.0");
    for word in ["1.0.0", "aos", actions.keys().next().unwrap()] {
        assert!(message.contains(word), "{message:?} doesn't say {word}");
    }
    assert_eq!(remove("1.0.0"), "", "nothing is left");
}

#[test]
fn of_two_formats_at_once_none_drops_the_other() {
    let registry = TestRegistry::start();
    let card = example("a2a/recipes.json");
    let importing = |format: Format, document: &[u8], id: &str| {
        let mut options = ImportOptions::default();
        options.set(format, "id", id).unwrap();
        Import::new(format.import().unwrap().to_things(&Input::json(document), &options).unwrap())
    };
    for round in 0..20 {
        let id = format!("urn:example:{round}");
        let file = json!({"capabilities": [{"name": "recipes", "version": "1.0.0"}]}).to_string();
        let imports =
            [importing(Format::A2a, card.as_bytes(), &id), importing(Format::LmosCapabilities, file.as_bytes(), &id)];
        let outcomes: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> = imports
                .map(|import| {
                    let registry = registry.registry();
                    let import = import.if_exists(agentdex::registry::IfExists::Replace);
                    scope.spawn(move || registry.import_blocking(import))
                })
                .into_iter()
                .collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // The file comes first and lies below the card, or it is refused since it lacks what the card has.
        let refused = outcomes.iter().filter(|one| matches!(one, Err(Error::LossyImport { .. }))).count();
        let done = outcomes.iter().filter(|one| one.is_ok()).count();
        assert_eq!(done + refused, 2, "{outcomes:?}");
        assert!(outcomes[0].is_ok(), "{outcomes:?}");
        assert_eq!(registry.registry().original(&id).unwrap().unwrap().format, "a2a", "{outcomes:?}");
    }
}
