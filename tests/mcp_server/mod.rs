//! MCP servers: server.json and Server Cards, read, turned into Things, and back.

mod published;

use std::{fs, path::PathBuf};

use agentdex::{
    convert::{
        Error, Format,
        mcp_server::{DocumentKind, Options, Server, from_thing},
    },
    td::{self, Identity, Strictness, Violation},
};
use serde_json::{Map, Value, json};

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server");
    fs::read(folder.join(format!("{name}.json"))).unwrap()
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The Thing of a document, which is admitted as it is, and what was odd.
fn thing(document: &[u8]) -> (Value, Vec<Violation>) {
    let mut conversion = Server::parse(document).unwrap().to_thing(&Options::default()).unwrap();
    assert_eq!(conversion.things.len(), 1);
    let converted = conversion.things.remove(0);
    let text = converted.description.text().to_owned();
    let admission = td::admit(converted.description, Identity::Own, Strictness::Strict);
    let admission = admission.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(admission.thing.id(), converted.id);
    assert!(admission.warnings.is_empty(), "{:#?}\n{text}", admission.warnings);
    (admission.thing.value().clone(), conversion.warnings)
}

fn rules(warnings: &[Violation]) -> Vec<(&str, &str)> {
    warnings.iter().map(|warning| (warning.rule.as_ref(), warning.pointer.as_str())).collect()
}

fn exported(thing: &Value, kind: DocumentKind) -> Value {
    parsed(&from_thing(thing, kind).unwrap().bytes)
}

#[test]
fn each_tool_is_an_action_at_each_remote() {
    let (thing, warnings) = thing(&fixture("remote"));
    assert_eq!(rules(&warnings), []);
    assert_eq!(thing["id"], "urn:agentdex:mcp:com.example/timetable");
    assert_eq!(thing["@type"], json!(["lmos:Tool", "mcp:Server"]));
    assert_eq!((&thing["title"], &thing["version"]), (&json!("Timetable"), &json!({"instance": "2.1.0"})));
    let keys: Vec<_> = td::capabilities(&thing).iter().map(|capability| capability.key().to_owned()).collect();
    assert_eq!(keys, ["find_stop", "next_departures"]);
    let action = &thing["actions"]["next_departures"];
    assert_eq!((&action["safe"], &action["title"]), (&json!(true), &json!("Next departures")));
    let limit = json!({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]});
    assert_eq!(action["input"]["properties"]["limit"], limit);
    assert_eq!(
        action["forms"][0],
        json!({
            "op": "invokeaction", "href": "https://{region}.timetable.example/mcp", "subprotocol": "mcp",
            "contentType": "application/json", "htv:methodName": "POST", "mcp:transport": "streamable-http",
            "mcp:method": "tools/call", "mcp:tool": "next_departures", "security": ["Authorization"],
            "htv:headers": [{"htv:fieldName": "X-Language", "htv:fieldValue": "{language}"}],
        })
    );
    assert_eq!(action["forms"][1]["mcp:transport"], "sse");
    let region = json!({"type": "string", "description": "Where", "enum": ["eu", "us"], "default": "eu"});
    assert_eq!(action["uriVariables"]["region"], region);
    assert_eq!(action["uriVariables"]["language"]["default"], "en");
}

#[test]
fn secret_headers_are_security_schemes() {
    let (thing, _) = thing(&fixture("remote"));
    assert_eq!(
        thing["securityDefinitions"],
        json!({
            "Authorization": {"scheme": "bearer", "in": "header", "name": "Authorization", "description": "A token of yours"},
            "X-Api-Key": {"scheme": "apikey", "in": "header", "name": "X-Api-Key"},
            "auto_sc": {"scheme": "auto"},
        })
    );
    assert_eq!(thing["security"], "auto_sc");
}

#[test]
fn a_server_that_lists_no_tools_has_an_action_of_its_own_name() {
    let (thing, warnings) = thing(&fixture("card"));
    assert_eq!(rules(&warnings), []);
    let actions: Vec<_> = thing["actions"].as_object().unwrap().keys().collect();
    assert_eq!(actions, ["tides"]);
    assert_eq!(thing["actions"]["tides"]["input"]["required"], json!(["name"]));
    // Nobody says what it takes to be let in.
    assert_eq!(thing["securityDefinitions"], json!({"auto_sc": {"scheme": "auto"}}));
}

#[test]
fn a_server_that_nothing_reaches_and_nothing_runs_is_warned_of() {
    let (_, warnings) = thing(br#"{"name": "com.example/x", "description": "x", "version": "1.0.0", "remotes": []}"#);
    assert_eq!(rules(&warnings), [("no-endpoint", "")]);
}

#[test]
fn the_schema_of_2025_07_09_is_read_with_warnings() {
    let (thing, warnings) = thing(&fixture("packages_2025_07_09"));
    let rules = rules(&warnings);
    assert!(rules.contains(&("schema-version", "/$schema")), "{rules:?}");
    assert!(rules.iter().any(|(rule, _)| *rule == "member-spelling"), "{rules:?}");
    let [npm, oci] = thing["mcp:packages"].as_array().unwrap().as_slice() else { panic!("{thing}") };
    assert_eq!(npm["mcp:command"], json!(["npx", "-y", "@example/files@1.0.2", "<folder>", "--mode", "read"]));
    assert_eq!(oci["mcp:command"], json!(["docker", "run", "-p", "8080:8080", "ghcr.io/example/files:1.0.2"]));
    assert_eq!(npm["mcp:transport"]["mcp:type"], "stdio");
    assert_eq!(thing["lmos:capabilities"], json!([{"lmos:id": "files"}]));
    assert!(thing.get("actions").is_none());
}

#[test]
fn documents_come_back_from_their_things() {
    for (name, kind) in [("remote", DocumentKind::ServerJson), ("card", DocumentKind::ServerCard)] {
        let bytes = fixture(name);
        let server = Server::parse(&bytes).unwrap();
        assert_eq!((server.kind(), server.bytes()), (kind, bytes.as_slice()));
        let (thing, _) = thing(&bytes);
        let (mut again, mut expected) = (exported(&thing, kind), parsed(&bytes));
        // The sizes of icons have no place in a link.
        for document in [&mut again, &mut expected] {
            if let Some(icon) = document["icons"].get_mut(0).and_then(Value::as_object_mut) {
                icon.remove("sizes");
            }
            document.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        }
        assert_eq!(again, expected, "{name}");
    }
    let (thing, _) = thing(&fixture("packages_2025_07_09"));
    let again = exported(&thing, DocumentKind::ServerJson);
    assert_eq!(again["packages"][0]["identifier"], "@example/files");
    assert!(again["packages"][0].get("command").is_none());
}

#[test]
fn card_of_a_server_with_packages_says_that_they_are_left_out() {
    let (packaged, _) = thing(&fixture("packages_2025_07_09"));
    let export = Format::McpServer.export().unwrap();
    for refused in [
        from_thing(&packaged, DocumentKind::ServerCard).map(Some),
        export.in_version(&fixture("packages_2025_07_09"), "server-card"),
    ] {
        match refused {
            Err(Error::NotExpressible { format: "mcp-server", reason }) => {
                assert!(reason.contains("packages"), "{reason}")
            }
            other => panic!("{other:?}"),
        }
    }
    let mut document = server_with(json!([]));
    document["packages"] =
        json!([{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}]);
    let (both, _) = thing(document.to_string().as_bytes());
    let made = from_thing(&both, DocumentKind::ServerCard).unwrap();
    assert_eq!(rules(&made.warnings), [("packages-left-out", "/mcp:packages")]);
    let shaped = export.in_version(document.to_string().as_bytes(), "server-card").unwrap().unwrap();
    assert_eq!(rules(&shaped.warnings), [("packages-left-out", "/packages")]);
    for card in [made, shaped] {
        let card = parsed(&card.bytes);
        assert_eq!((card.get("packages"), &card["remotes"][0]["url"]), (None, &json!("https://a.example/mcp")));
    }
}

#[test]
fn forms_at_one_url_keep_what_each_requires() {
    let form = |security: &str| json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": security, "security": security});
    let action = |security: &str| json!({"forms": [form(security)]});
    let thing = json!({
        "title": "A", "id": "urn:agentdex:mcp:com.example/a", "version": {"instance": "1.0.0"}, "description": "d",
        "securityDefinitions": {
            "token": {"scheme": "bearer"}, "key": {"scheme": "apikey", "in": "header", "name": "X-A"},
            "any": {"scheme": "combo", "oneOf": ["key", "token"]}, "all": {"scheme": "combo", "allOf": ["key", "token"]},
            "deep": {"scheme": "combo", "allOf": ["all", "key"]}, "cycle": {"scheme": "combo", "allOf": ["cycle"]},
        },
        "security": "token",
        "actions": {"1": action("any"), "2": action("token"), "3": action("all"), "4": action("deep"), "5": action("token"), "6": action("cycle")},
    });
    let made = from_thing(&thing, DocumentKind::ServerJson).unwrap();
    let server = parsed(&made.bytes);
    let headers = |remote: &Value| -> Vec<(String, bool)> {
        let listed = remote["headers"].as_array().into_iter().flatten();
        listed.map(|header| (header["name"].as_str().unwrap().to_owned(), header["isRequired"] == true)).collect()
    };
    let found: Vec<_> = server["remotes"].as_array().unwrap().iter().map(headers).collect();
    let [key, token] = ["X-A", "Authorization"].map(str::to_owned);
    let both = vec![(key.clone(), true), (token.clone(), true)];
    assert_eq!(found, [vec![(key, false), (token.clone(), false)], vec![(token, true)], both.clone(), both, vec![]]);
    assert_eq!(rules(&made.warnings), [("too-many-remotes", "/actions")]);
}

#[test]
fn what_was_changed_in_the_thing_is_changed_in_the_document() {
    let (mut thing, _) = thing(&fixture("remote"));
    thing["title"] = "Trains".into();
    thing["description"] = "x".repeat(150).into();
    for form in ["next_departures", "find_stop"] {
        thing["actions"][form]["forms"] = json!([{"href": "https://new.example/mcp", "subprotocol": "mcp"}]);
    }
    thing["security"] = "X-Api-Key".into();
    let rendition = from_thing(&thing, DocumentKind::ServerJson).unwrap();
    assert_eq!(rules(&rendition.warnings), [("description-length", "/description")]);
    let server = parsed(&rendition.bytes);
    assert_eq!(server["title"], "Trains");
    assert_eq!(server["description"].as_str().unwrap().chars().count(), 100);
    let header = json!({"name": "X-Api-Key", "isRequired": true, "isSecret": true});
    let remote = json!({"type": "streamable-http", "url": "https://new.example/mcp", "headers": [header]});
    assert_eq!(server["remotes"], json!([remote]));
    assert!(Server::parse(&rendition.bytes).unwrap().warnings().is_empty());
}

#[test]
fn things_that_never_were_servers_are_told_what_is_missing() {
    let plain = json!({"title": "Lamp", "actions": {"on": {"forms": [{"href": "https://lamp.example"}]}}});
    match from_thing(&plain, DocumentKind::ServerJson) {
        Err(Error::NotExpressible { format: "mcp-server", reason }) => assert!(reason.contains("subprotocol mcp")),
        other => panic!("{other:?}"),
    }
    let mut server = plain;
    server["actions"]["on"]["forms"][0]["subprotocol"] = "mcp".into();
    let rendition = from_thing(&server, DocumentKind::ServerJson).unwrap();
    assert_eq!(parsed(&rendition.bytes)["name"], "example.lamp/lamp");
    assert_eq!(rules(&rendition.warnings), [("server-name", ""), ("version", "/version")]);
}

/// The rules of the schema of 2025-12-11 that what is written in a Thing can break.
fn assert_registries_take(server: &Value, case: &str) {
    let length = |name: &str| server[name].as_str().map_or(0, |text| text.chars().count());
    let (space, own) = server["name"].as_str().unwrap().split_once('/').unwrap_or_else(|| panic!("{case}: {server}"));
    let is_plain = |half: &str, more: &str| half.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    assert!(!space.is_empty() && is_plain(space, ".-") && !own.is_empty() && is_plain(own, "._-"), "{case}: {server}");
    assert!((3..=200).contains(&length("name")) && (1..=100).contains(&length("description")), "{case}: {server}");
    assert!(server.get("title").is_none() || (1..=100).contains(&length("title")), "{case}: {server}");
    assert!(server.get("websiteUrl").is_none_or(|url| url.as_str().unwrap().contains("://")), "{case}: {server}");
    for icon in server["icons"].as_array().into_iter().flatten() {
        assert!(icon["src"].as_str().unwrap().contains(':') && icon["src"].as_str().unwrap().len() <= 255, "{case}");
        assert!(icon.get("mimeType").is_none_or(|name| name == "image/png"), "{case}: {icon}");
    }
    for variable in server["remotes"][0]["variables"].as_object().into_iter().flatten().map(|(_, variable)| variable) {
        let choices = variable["choices"].as_array().into_iter().flatten();
        assert!(choices.chain(variable.get("default")).all(Value::is_string), "{case}: {variable}");
    }
}

#[test]
fn what_is_made_of_any_thing_is_what_registries_take() {
    let thing = |title: &str, href: &str| {
        json!({
            "id": "urn:example:a", "title": title, "version": {"instance": "1.0.0"},
            "actions": {"ask": {"forms": [{"href": href, "subprotocol": "mcp"}]}},
        })
    };
    let with = |more: Value| {
        let mut thing = thing("Trains", "https://trains.example/{n}/mcp");
        thing.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        thing
    };
    let export = |thing: &Value, case: &str| {
        let rendition = from_thing(thing, DocumentKind::ServerJson).unwrap();
        let server = parsed(&rendition.bytes);
        assert_registries_take(&server, case);
        (server, rendition.warnings)
    };
    let (server, warnings) = export(&thing(&"x".repeat(300), "https://trains.example/mcp"), "a long title");
    assert_eq!(server["title"].as_str().unwrap().chars().count(), 100);
    assert!(rules(&warnings).contains(&("title-length", "/title")), "{warnings:?}");
    for (href, name) in [
        ("http://[2001:db8::1]:80/mcp", "2001-db8--1/trains"),
        ("https://me:secret@trains.example:8443/mcp", "example.trains/trains"),
        ("https://my_trains.example/mcp", "example.my-trains/trains"),
        ("https://züge.example/mcp", "example.z-ge/trains"),
        (&format!("https://{}.example/mcp", "a".repeat(250)), &format!("example.{}/trains", "a".repeat(92))),
    ] {
        assert_eq!(export(&thing("Trains", href), href).0["name"], name);
    }
    assert_eq!(export(&thing("", "https://trains.example/mcp"), "no title").0["name"], "example.trains/server");
    for (id, name) in
        [("com.example/a", "com.example/a"), ("a", "example.trains/trains"), ("a/b/c", "example.trains/trains")]
    {
        assert_eq!(export(&with(json!({"id": format!("urn:agentdex:mcp:{id}")})), id).0["name"], name);
    }
    let links = json!([
        {"rel": "service-doc", "href": "/docs"},
        {"rel": "service-doc", "href": "https://trains.example/docs"},
        {"rel": "icon", "href": "https://trains.example/favicon.ico", "type": "image/x-icon"},
        {"rel": "icon", "href": "https://trains.example/i.png", "type": "image/png"},
        {"rel": "icon", "href": "/i.png"},
        {"rel": "icon", "href": format!("data:image/png;base64,{}", "A".repeat(300))},
    ]);
    let (server, _) = export(&with(json!({"links": links})), "links");
    assert_eq!(server["websiteUrl"], "https://trains.example/docs");
    let [ico, png] = ["favicon.ico", "i.png"].map(|name| format!("https://trains.example/{name}"));
    assert_eq!(server["icons"], json!([{"src": ico}, {"src": png, "mimeType": "image/png"}]));

    // A document with such an input, whose remotes are others since.
    let mut document = parsed(&fixture("remote"));
    let variables = json!({
        "n": {"format": "number", "default": "1.5", "choices": ["1.5", "2"], "description": "Times"},
        "b": {"format": "boolean", "default": "true"},
    });
    document["remotes"] = json!([{"type": "sse", "url": "https://trains.example/{n}/{b}/sse", "variables": variables}]);
    document.as_object_mut().unwrap().remove("tools");
    let (mut imported, _) = self::thing(document.to_string().as_bytes());
    for (_, action) in imported["actions"].as_object_mut().unwrap() {
        action["forms"][0]["href"] = "https://new.example/{n}/{b}/sse".into();
    }
    let (server, _) = export(&imported, "inputs");
    assert_eq!(
        server["remotes"],
        json!([{"type": "sse", "url": "https://new.example/{n}/{b}/sse", "variables": variables}])
    );
}

#[test]
fn values_of_secret_inputs_are_not_kept() {
    let mut document = parsed(&fixture("remote"));
    document["remotes"][1]["headers"][0]["value"] = "hunter2".into();
    document["remotes"][0]["headers"][0]["variables"]["token"]["default"] = "hunter3".into();
    let server = Server::parse(document.to_string().as_bytes()).unwrap();
    let found = rules(server.warnings());
    assert!(found.contains(&("secret-field", "/remotes/1/headers/0/value")), "{found:?}");
    assert!(found.contains(&("secret-field", "/remotes/0/headers/0/variables/token/default")), "{found:?}");
    let conversion = server.to_thing(&Options::default()).unwrap();
    let kept = String::from_utf8_lossy(&conversion.things[0].source.bytes).into_owned();
    assert!(!kept.contains("hunter") && !conversion.things[0].description.text().contains("hunter"));
}

#[test]
fn credentials_are_hidden_wherever_they_are() {
    let mut document = parsed(&fixture("remote"));
    let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
    document["description"] = format!("Weather; our key is {key}").into();
    document["websiteUrl"] = "https://joe:hunter2@weather.example".into();
    document["remotes"][1]["headers"][0] = json!({"name": "Authorization", "value": "Bearer 0a1B2c3D4e5F6g7H8i9J0k"});
    let server = Server::parse(document.to_string().as_bytes()).unwrap();
    let found = rules(server.warnings());
    for (rule, at) in [("secret-value", "/description"), ("user-info", "/websiteUrl")] {
        assert!(found.contains(&(rule, at)), "{found:?}");
    }
    let conversion = server.to_thing(&Options::default()).unwrap();
    let texts = format!("{}{}", String::from_utf8_lossy(server.bytes()), conversion.things[0].description.text());
    assert!(!texts.contains(&key) && !texts.contains("hunter2") && !texts.contains("0a1B2c3D"), "{texts}");
}

#[test]
fn the_server_in_the_answer_of_a_registry_is_read() {
    let text = String::from_utf8(fixture("remote")).unwrap();
    let official = r#""_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}"#;
    let answer = format!(r#"{{ "server": {}, {official} }}"#, text.trim());
    assert_eq!(agentdex::convert::detect(&answer).unwrap(), Format::McpServer);
    let server = Server::parse(answer.as_bytes()).unwrap();
    assert_eq!(rules(server.warnings())[0], ("registry-answer", ""));
    assert_eq!(server.bytes(), text.trim().as_bytes());
    let (thing, _) = thing(answer.as_bytes());
    assert_eq!(thing["id"], self::thing(text.as_bytes()).0["id"]);
    let noted = &thing["mcp:_meta"]["mcp:io.modelcontextprotocol.registry/official"];
    assert_eq!(noted["mcp:status"], "active");
    let hidden = format!(r#"{{"server": {{"websiteUrl": "https://joe:hunter2@w.example", {}}}"#, &text.trim()[1..]);
    let server = Server::parse(hidden.as_bytes()).unwrap();
    assert!(rules(server.warnings()).contains(&("user-info", "/websiteUrl")), "{:?}", server.warnings());
}

#[test]
fn documents_of_other_kinds_are_refused_by_their_name() {
    for (document, words) in [
        (json!([]), "not an object"),
        (json!({"remotes": []}), "`name` is missing"),
        (json!({"name": "a", "url": "https://a.example", "skills": [{"id": "a"}]}), "an A2A agent card"),
        (json!({"component_type": "Agent", "name": "a"}), "an Open Agent Spec configuration"),
    ] {
        let refusal = Server::parse(document.to_string().as_bytes()).unwrap_err().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn odd_members_are_reported() {
    let odd = json!({
        "name": "timetable", "description": "x".repeat(101), "version": "latest",
        "remotes": [{"type": "sse", "url": "javascript:alert(1)"}, {"type": "sse", "url": "https://u:p@a.example/"}],
    });
    let (thing, warnings) = thing(odd.to_string().as_bytes());
    let mut found = rules(&warnings);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("description-length", "/description"),
            ("server-name", "/name"),
            ("url-broken", "/remotes/0/url"),
            ("url-broken", "/remotes/1/url"),
            ("version", "/version"),
        ]
    );
    assert!(thing.get("actions").is_none());
}

#[test]
fn they_are_detected() {
    for name in ["remote", "card", "packages_2025_07_09"] {
        let text = String::from_utf8(fixture(name)).unwrap();
        assert_eq!(agentdex::convert::detect(&text).unwrap(), Format::McpServer, "{name}");
    }
}

#[test]
fn what_is_made_of_many_forms_is_bounded() {
    let schemes: Map<String, Value> = (0..2000)
        .map(|n| (format!("k{n}"), json!({"scheme": "apikey", "in": "header", "name": format!("K{n}")})))
        .collect();
    let any: Vec<&String> = schemes.keys().collect();
    let mut definitions = schemes.clone();
    definitions.insert("any".into(), json!({"scheme": "combo", "oneOf": any}));
    let form = |n: usize| json!({"href": format!("https://x.example/{n}{}", "{v}".repeat(50)), "subprotocol": "mcp"});
    let values: Vec<String> = (0..5000).map(|n| format!("value {n}")).collect();
    let forms: Vec<Value> = (0..1000).map(form).collect();
    let thing = json!({
        "title": "x", "securityDefinitions": definitions, "security": "any",
        "actions": {"a": {"forms": forms, "uriVariables": {"v": {"enum": values}}}},
    });
    let rendition = from_thing(&thing, DocumentKind::ServerJson).unwrap();
    assert!(rendition.bytes.len() < 1 << 20, "{} bytes", rendition.bytes.len());
    assert!(rules(&rendition.warnings).contains(&("too-many-remotes", "/actions")));
    let remotes = parsed(&rendition.bytes)["remotes"].as_array().unwrap().len();
    assert_eq!(remotes, 100);
}

/// The action of a tool with this input.
fn action_of(input: &Value) -> (Value, Vec<Violation>) {
    let tool = json!({"name": "t", "inputSchema": input});
    let (thing, warnings) = thing(server_with(json!([tool])).to_string().as_bytes());
    (thing["actions"]["t"].clone(), warnings)
}

fn server_with(tools: Value) -> Value {
    let remotes = json!([{"type": "streamable-http", "url": "https://a.example/mcp"}]);
    let meta = json!({"io.modelcontextprotocol.registry/publisher-provided": {"tools": tools}});
    json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "remotes": remotes, "_meta": meta})
}

#[test]
fn unions_references_and_what_is_required_stay() {
    // As pydantic writes it.
    let input = json!({
        "$defs": {"Item": {"type": "object", "title": "Item", "required": ["name"], "properties": {
            "name": {"type": "string"}, "price": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
        }}},
        "type": "object", "required": ["item"], "additionalProperties": false,
        "properties": {
            "item": {"$ref": "#/$defs/Item"},
            "days": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
            "all": {"allOf": [{"$ref": "#/$defs/Item"}, {"required": ["price"]}]},
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    });
    let item = &input["$defs"]["Item"];
    let (action, warnings) = action_of(&input);
    assert_eq!(rules(&warnings), []);
    let data = &action["input"];
    assert_eq!((&data["required"], &data["additionalProperties"]), (&json!(["item"]), &json!(false)));
    assert_eq!(data["properties"]["item"], *item);
    assert_eq!(data["properties"]["days"], input["properties"]["days"]);
    assert_eq!(data["properties"]["all"]["allOf"], json!([item, {"required": ["price"]}]));
    assert_eq!(data["properties"]["tags"], input["properties"]["tags"]);
    assert_eq!(data.get("mcp:jsonSchema"), None);
    let old = json!({"type": "object", "properties": {"a": {"$ref": "#/definitions/A"}}, "definitions": {"A": {"type": "string"}}});
    assert_eq!(action_of(&old).0["input"]["properties"]["a"], json!({"type": "string"}));
}

#[test]
fn schemas_that_contain_themselves_end_with_a_warning() {
    let tree = json!({"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}});
    let input = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}});
    let (action, warnings) = action_of(&input);
    assert_eq!(rules(&warnings), [("schema-cut", "/tools")]);
    assert!(warnings[0].message.contains("\"t\""), "{}", warnings[0].message);
    assert_eq!(action["input"]["properties"]["tree"]["properties"]["name"], json!({"type": "string"}));
    assert_eq!(action["input"]["mcp:jsonSchema"]["@value"], input);
    let definition =
        |n: usize| (format!("d{n}"), json!({"anyOf": vec![json!({"$ref": format!("#/$defs/d{}", n + 1)}); 3]}));
    let definitions: Map<String, Value> = (0..60).map(definition).collect();
    let (action, warnings) =
        action_of(&json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}));
    assert_eq!(rules(&warnings), [("schema-cut", "/tools")]);
    assert!(action.to_string().len() < 100_000, "{}", action.to_string().len());
}

#[test]
fn tools_without_a_name_or_with_one_that_is_taken_are_warned_of() {
    let tools = json!([{"name": "t", "title": "First"}, {"title": "Nameless"}, {"name": "t", "title": "Second"}]);
    let (thing, warnings) = thing(server_with(tools).to_string().as_bytes());
    let list = "/_meta/io.modelcontextprotocol.registry~1publisher-provided/tools";
    let expected = [("tool-name", format!("{list}/1")), ("tool-repeated", format!("{list}/2"))];
    assert_eq!(rules(&warnings), expected.each_ref().map(|(rule, pointer)| (*rule, pointer.as_str())));
    assert_eq!(thing["actions"]["t"]["title"], "First");
}

#[test]
fn every_spelling_of_a_transport_is_that_transport() {
    for (written, transport) in [
        ("sse", "sse"),
        ("SSE", "sse"),
        ("http", "streamable-http"),
        ("streamable_http", "streamable-http"),
        ("streamableHttp", "streamable-http"),
    ] {
        let mut server = server_with(json!([]));
        server["remotes"][0]["type"] = written.into();
        let (thing, _) = thing(server.to_string().as_bytes());
        assert_eq!(thing["actions"]["a"]["forms"][0]["mcp:transport"], transport, "{written}");
        assert_eq!(exported(&thing, DocumentKind::ServerJson)["remotes"][0]["type"], transport, "{written}");
    }
    let mut server = server_with(json!([]));
    server["remotes"][0]["type"] = "carrier-pigeon".into();
    let (_, warnings) = thing(server.to_string().as_bytes());
    assert_eq!(rules(&warnings), [("transport-unknown", "/remotes/0/type")]);
}

#[test]
fn secrets_in_templates_come_back() {
    let headers = json!([
        {"name": "Authorization", "value": "token {pat}", "isRequired": true, "isSecret": true},
        {"name": "X-Org-Key", "value": "{org}/{key}", "isSecret": true,
         "variables": {"org": {"default": "acme"}, "key": {"isSecret": true, "isRequired": true}}},
    ]);
    let mut server = server_with(json!([]));
    let url = "https://a.example/{token}/mcp";
    let variables = json!({"token": {"isSecret": true, "isRequired": true}});
    server["remotes"][0] = json!({"type": "sse", "url": url, "variables": variables, "headers": headers});
    let (mut thing, _) = thing(server.to_string().as_bytes());
    let definitions = &thing["securityDefinitions"];
    assert_eq!(definitions["Authorization"]["mcp:value"], "token {pat}");
    // One is required, the other may be missing.
    assert_eq!(thing["security"], json!(["token", "Authorization", "optional_X-Org-Key"]));
    assert_eq!(definitions["optional_X-Org-Key"]["oneOf"], json!(["X-Org-Key", "nosec_sc"]));
    assert_eq!(thing["actions"]["a"]["uriVariables"], json!({"org": {"type": "string", "default": "acme"}}));
    thing.as_object_mut().unwrap().remove("mcp:remotes");
    let again = &exported(&thing, DocumentKind::ServerJson)["remotes"][0];
    assert_eq!((&again["type"], &again["url"], &again["variables"]), (&json!("sse"), &json!(url), &variables));
    assert_eq!(again["headers"], headers);
}

#[test]
fn tools_of_things_are_in_the_document() {
    let form = |tool: &str| json!([{"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": tool}]);
    let input = json!({"type": "object", "properties": {"x": {"anyOf": [{"type": "integer"}, {"type": "number"}]}}, "required": ["x"]});
    let thing = json!({
        "title": "A", "id": "urn:agentdex:mcp:com.example/a", "version": {"instance": "1.0.0"}, "description": "d",
        "actions": {
            "number": {"title": "Number", "description": "A number", "safe": true, "input": input, "output": {"type": "object"}, "forms": form("number")},
            "say": {"input": {"type": "string"}, "output": {"type": "string"}, "forms": form("say")},
        },
    });
    for kind in [DocumentKind::ServerJson, DocumentKind::ServerCard] {
        let rendition = from_thing(&thing, kind).unwrap();
        assert_eq!(rules(&rendition.warnings), [("output-not-object", "/actions/say")]);
        let server = parsed(&rendition.bytes);
        let tools = &server["_meta"]["io.modelcontextprotocol.registry/publisher-provided"]["tools"];
        let said = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
        assert_eq!(
            *tools,
            json!([
                {"name": "number", "title": "Number", "description": "A number", "inputSchema": input,
                 "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
                {"name": "say", "inputSchema": said},
            ])
        );
        let (again, _) = self::thing(&rendition.bytes);
        assert_eq!(again["actions"]["number"]["input"], input);
        assert_eq!(again["actions"]["number"]["safe"], true);
    }
}

#[test]
fn a_tool_that_was_edited_is_edited_where_it_was() {
    let (mut thing, _) = thing(&fixture("remote"));
    let before = exported(&thing, DocumentKind::ServerJson);
    let place = "/_meta/io.modelcontextprotocol.registry~1publisher-provided/tools";
    thing["actions"]["find_stop"]["description"] = "Another".into();
    let after = exported(&thing, DocumentKind::ServerJson);
    let (before, after) = (before.pointer(place).unwrap(), after.pointer(place).unwrap());
    assert_eq!(before[0], after[0]);
    assert_eq!((&after[1]["name"], &after[1]["description"]), (&json!("find_stop"), &json!("Another")));
    // A server that is only run where it is installed keeps what it lists.
    let mut packaged = server_with(json!([{"name": "t"}]));
    packaged["remotes"] = json!([]);
    packaged["packages"] =
        json!([{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}}]);
    let (thing, _) = self::thing(packaged.to_string().as_bytes());
    assert_eq!(exported(&thing, DocumentKind::ServerJson).pointer(place), Some(&json!([{"name": "t"}])));
}

#[test]
fn variables_of_one_name_are_those_of_their_remote() {
    let remote = |host: &str, variables: Value| json!({"type": "sse", "url": format!("https://{host}.example/{{r}}/mcp"), "variables": variables});
    let choices = |choices: Value| json!({"r": {"description": "Where", "choices": choices}});
    let mut server = server_with(json!([]));
    server["remotes"] = json!([
        remote("a", choices(json!(["a"]))),
        remote("b", choices(json!(["b"]))),
        remote("c", choices(json!(["a"]))),
        remote("d", json!({"r": {"value": "eu"}})),
    ]);
    server["remotes"][1]["headers"] = json!([
        {"name": "X-R", "value": "{r}"}, {"name": "X-S", "value": "{r}", "variables": {"r": {"format": "number", "value": "1"}}},
        {"name": "X-Key", "value": "{r}:{key}", "variables": {"key": {"isSecret": true}, "r": {"choices": ["a"]}}, "isRequired": true},
    ]);
    let (thing, warnings) = thing(server.to_string().as_bytes());
    assert_eq!(rules(&warnings), []);
    let action = &thing["actions"]["a"];
    let targets: Vec<_> =
        action["forms"].as_array().unwrap().iter().map(|form| form["href"].as_str().unwrap()).collect();
    let [a, b, c, d] = [("a", "r"), ("b", "r_2"), ("c", "r"), ("d", "r_4")]
        .map(|(host, name)| format!("https://{host}.example/{{{name}}}/mcp"));
    assert_eq!(targets, [a, b, c, d]);
    let of = |name: &str| &action["uriVariables"][name];
    assert_eq!((&of("r")["enum"], &of("r_2")["enum"]), (&json!(["a"]), &json!(["b"])));
    assert_eq!((&of("r_3")["const"], &of("r_4")["const"], of("r_5")), (&json!(1), &json!("eu"), &Value::Null));
    let headers = &action["forms"][1]["htv:headers"];
    assert_eq!((&headers[0]["htv:fieldValue"], &headers[1]["htv:fieldValue"]), (&json!("{r_2}"), &json!("{r_3}")));
    assert_eq!(thing["securityDefinitions"]["X-Key"]["mcp:value"], "{r}:{key}");
    let mut edited = thing.clone();
    edited.as_object_mut().unwrap().remove("mcp:remotes");
    let again = &exported(&edited, DocumentKind::ServerJson)["remotes"];
    assert_eq!(again[1]["variables"], json!({"r_2": {"description": "Where", "choices": ["b"]}}));
    assert_eq!(again[3]["variables"], json!({"r_4": {"value": "eu"}}));
}
