//! Server Cards as sites publish them, configurations of clients, and answers of registries and servers.

use agentdex::convert::{Format, ImportOptions, Input, detect};
use serde_json::{Value, json};

use super::{parsed, rules, thing};

/// The Thing of a document that is detected, with the URL that it is from.
fn imported(document: &Value, base: Option<&str>) -> (Value, Vec<agentdex::td::Violation>) {
    let text = document.to_string();
    assert_eq!(detect(&text).unwrap_or_else(|error| panic!("{error}\n{text}")), Format::McpServer, "{text}");
    let mut options = ImportOptions::default();
    base.into_iter().for_each(|base| options.set(Format::McpServer, "base", base).unwrap());
    let import = Format::McpServer.import().unwrap();
    let conversion = import.to_things(&Input::json(text.as_bytes()), &options);
    let mut conversion = conversion.unwrap_or_else(|error| panic!("{error}\n{text}"));
    (conversion.things.remove(0).description.into_parts().0, conversion.warnings)
}

fn refusal(document: &Value) -> String {
    let import = Format::McpServer.import().unwrap();
    import.to_things(&Input::json(document.to_string().as_bytes()), &ImportOptions::default()).unwrap_err().to_string()
}

/// The name of a Thing, its actions, and where the first is called.
fn summary(thing: &Value) -> (String, Vec<String>, String, String) {
    let actions = thing["actions"].as_object().map(|actions| actions.keys().cloned().collect()).unwrap_or_default();
    let form = thing["actions"].as_object().and_then(|actions| actions.values().next()).map(|one| &one["forms"][0]);
    let text = |name: &str| form.and_then(|form| form[name].as_str()).unwrap_or_default().to_owned();
    (thing["title"].as_str().unwrap().to_owned(), actions, text("href"), text("mcp:transport"))
}

const MCP: &str = "https://locks.example/mcp";
const CARD: &str = "https://locks.example/.well-known/mcp/server-card.json";

#[test]
fn cards_of_every_shape_have_name_endpoint_and_tools() {
    let tools = json!([{"name": "open_lock", "description": "Opens a lock", "inputSchema": {"type": "object"}}]);
    let cases = [
        json!({"serverInfo": {"name": "keeper", "version": "1.2.0"}, "transport": {"type": "streamable-http", "endpoint": "/mcp"}, "tools": tools}),
        json!({"serverInfo": {"name": "keeper"}, "transport": {"type": "http", "url": MCP}, "tools": tools}),
        json!({"serverInfo": {"name": "keeper"}, "endpoint": MCP, "capabilities": {"tools": {}}, "tools": tools}),
        json!({"name": "keeper", "serverUrl": MCP, "transport": "http", "tools": tools}),
        json!({"name": "keeper", "url": MCP, "transport": "streamableHttp", "tools": tools}),
        json!({"name": "keeper", "endpoint": MCP, "transport": {"type": "streamable-http"}, "tools": tools}),
        json!({"name": "keeper", "mcp_endpoint": MCP, "transport": ["streamable-http", "stdio"], "tools": tools}),
        json!({"mcp_version": "2025-11-25", "server_name": "keeper", "endpoints": {"streamable_http": MCP}, "tools": tools}),
        json!({"server_name": "keeper", "endpoints": {"jsonrpc": "/mcp", "health": "/health"}, "tools": tools}),
        json!({"name": "keeper", "endpoints": [{"url": MCP, "transport": "streamable-http"}], "tools": tools}),
        json!({"name": "keeper", "transports": [{"type": "streamable-http", "url": "/mcp"}], "tools": tools}),
        json!({"name": "keeper", "transports": {"json-rpc": {"url": MCP, "method": "POST"}}, "tools": {"open_lock": "Opens"}}),
        json!({"name": "keeper", "transport": {"streamable_http": MCP}, "tools": ["open_lock"]}),
        json!({"name": "keeper", "url": MCP, "capabilities": {"tools": [{"name": "open_lock"}]}}),
        json!({"name": "keeper", "url": MCP, "tools": {"free": [{"name": "open_lock"}], "paid": []}}),
        json!({"name": "keeper", "remotes": [{"transport": "http", "url": "/mcp"}], "tools": tools}),
    ];
    for case in cases {
        let (thing, warnings) = imported(&case, Some(CARD));
        let expected =
            ("keeper".to_owned(), vec!["open_lock".to_owned()], MCP.to_owned(), "streamable-http".to_owned());
        assert_eq!(summary(&thing), expected, "{case}\n{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.rule == "member-spelling"), "{case}");
    }
}

#[test]
fn what_a_card_says_beside_is_kept() {
    let card = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/mcp-server-card/v1.json",
        "version": "1.0", "protocolVersion": "2025-06-18", "description": "Opens locks.", "homepage": "https://locks.example",
        "serverInfo": {"name": "keeper", "title": "Lock keeper", "version": "1.2.0", "vendor": "Locks"},
        "transport": {"type": "sse", "endpoint": "/sse"},
        "tools": [{"name": "open", "input_schema": {"type": "object", "required": ["lock"]}}, {"name": "close", "parameters": {"type": "object", "required": ["lock"]}}],
    });
    let (thing, warnings) = imported(&card, Some(CARD));
    assert_eq!(summary(&thing).3, "sse");
    assert_eq!((&thing["title"], &thing["version"]["instance"]), (&json!("Lock keeper"), &json!("1.2.0")));
    assert_eq!((&thing["mcp:vendor"], &thing["mcp:protocolVersion"]), (&json!("Locks"), &json!("2025-06-18")));
    assert_eq!(thing["links"][0]["href"], "https://locks.example");
    for action in ["open", "close"] {
        assert_eq!(thing["actions"][action]["input"]["required"], json!(["lock"]), "{thing}");
    }
    assert!(rules(&warnings).contains(&("member-spelling", "/serverInfo")), "{warnings:?}");
}

#[test]
fn relative_endpoint_needs_the_url_of_its_card() {
    let card =
        json!({"serverInfo": {"name": "keeper"}, "transport": {"type": "http", "endpoint": "/mcp"}, "tools": ["open"]});
    let (thing, warnings) = imported(&card, None);
    assert!(rules(&warnings).contains(&("url-relative", "/transport")), "{warnings:?}");
    assert_eq!(thing.get("actions"), None);
    assert_eq!(thing["lmos:capabilities"][0]["lmos:id"], "open");
}

#[test]
fn authentication_of_a_card_becomes_security() {
    let security = |authentication: Value| {
        let card = json!({"name": "keeper", "url": MCP, "transport": "http", "tools": ["open"], "authentication": authentication});
        let (thing, warnings) = imported(&card, None);
        let scheme = thing["security"].as_str().or(thing["security"][0].as_str()).unwrap_or_default().to_owned();
        let is_open = rules(&warnings).contains(&("authentication", "/authentication"));
        (thing["securityDefinitions"][&scheme].clone(), is_open)
    };
    let bearer = json!({"scheme": "bearer", "in": "header", "name": "Authorization"});
    for asked in [
        json!("bearer"),
        json!({"type": "oauth2"}),
        json!({"required": true, "schemes": ["bearer", "oauth2"]}),
        json!({"schemes": [{"type": "oauth2"}]}),
    ] {
        assert_eq!(security(asked.clone()), (bearer.clone(), false), "{asked}");
    }
    let key = json!({"scheme": "apikey", "in": "header", "name": "X-API-Key"});
    assert_eq!(security(json!({"type": "apikey", "header": "X-API-Key"})), (key, false));
    for open in [json!("none"), json!({"type": "none"}), json!({"required": false}), json!({"schemes": []})] {
        assert_eq!(security(open.clone()), (json!({"scheme": "auto"}), false), "{open}");
    }
    for unknown in [json!({"type": "api_key"}), json!({"type": "hmac"}), json!({"required": true})] {
        assert_eq!(security(unknown.clone()), (json!({"scheme": "auto"}), true), "{unknown}");
    }
    let (optional, _) = security(json!({"type": "oauth2", "required": false}));
    assert_eq!(optional["scheme"], "combo");
}

/// The security that a card's forms name, each definition by its members, and its warnings about authentication.
fn security_of(card: &Value) -> (Vec<Vec<Value>>, Vec<String>) {
    let (thing, warnings) = imported(card, None);
    let defined = |name: &Value| thing["securityDefinitions"][name.as_str().unwrap()].clone();
    let action = thing["actions"].as_object().unwrap().values().next().unwrap();
    let names = |owner: &Value| owner["security"].as_array().cloned().unwrap_or_default();
    let forms = action["forms"].as_array().unwrap().iter();
    let security = forms.map(|form| names(form).iter().map(defined).collect()).collect();
    let warnings = warnings.iter().filter(|warning| warning.rule == "authentication");
    (security, warnings.map(|warning| format!("{} {}", warning.rule, warning.pointer)).collect())
}

#[test]
fn authentication_holds_beside_headers_and_for_each_endpoint() {
    let bearer = json!({"scheme": "bearer", "in": "header", "name": "Authorization"});
    let asked = json!({"required": true, "schemes": ["bearer"]});
    for headers in [json!([]), json!([{"name": "X-Team", "value": "a"}])] {
        let remote = json!({"type": "streamable-http", "url": MCP, "headers": headers});
        let card = json!({"name": "keeper", "remotes": [remote], "tools": ["open"], "authentication": asked});
        assert_eq!(security_of(&card).0, [[bearer.clone()]], "{card}");
    }
    let key = json!({"name": "Authorization", "value": "Token {key}", "isSecret": true, "isRequired": true});
    let remote = json!({"type": "streamable-http", "url": MCP, "headers": [key]});
    let card = json!({"name": "keeper", "remotes": [remote], "tools": ["open"], "authentication": asked});
    let token = json!({"scheme": "apikey", "in": "header", "name": "Authorization", "mcp:value": "Token {key}"});
    assert_eq!(security_of(&card).0, [[token]]);
    for own in [
        json!({"transport": {"type": "http", "url": MCP, "authentication": asked}}),
        json!({"transport": {"streamable_http": MCP, "auth": "bearer"}}),
        json!({"remotes": [{"type": "http", "url": MCP, "authentication": asked}]}),
    ] {
        let mut card = own;
        card.as_object_mut().unwrap().extend([("name".into(), "keeper".into()), ("tools".into(), json!(["open"]))]);
        assert_eq!(security_of(&card).0, [[bearer.clone()]], "{card}");
    }
    let open = json!({"url": "https://locks.example/open", "auth": "none"});
    let card = json!({"name": "keeper", "endpoints": [{"url": MCP}, open], "tools": ["open"], "auth": "bearer"});
    assert_eq!(security_of(&card).0, [vec![bearer], vec![]]);
    let card = json!({"name": "keeper", "endpoints": [{"url": MCP, "auth": {"type": "hmac"}}], "tools": ["open"]});
    assert_eq!(security_of(&card).1, ["authentication /endpoints/0/auth"]);
}

#[test]
fn any_of_several_schemes_will_do() {
    let bearer = json!({"scheme": "bearer", "in": "header", "name": "Authorization"});
    let basic = json!({"scheme": "basic", "in": "header", "name": "Authorization"});
    let key = json!({"scheme": "apikey", "in": "header", "name": "X-Key"});
    let of = |asked: Value| {
        let card = json!({"name": "keeper", "url": MCP, "tools": ["open"], "authentication": asked});
        let (thing, warnings) = imported(&card, None);
        let security = &thing["actions"]["open"]["forms"][0]["security"];
        let [name] = security.as_array().unwrap().as_slice() else { panic!("{thing}") };
        let defined = |name: &Value| thing["securityDefinitions"][name.as_str().unwrap()].clone();
        let options: Vec<Value> = defined(name)["oneOf"].as_array().unwrap().iter().map(defined).collect();
        // Registered again in the shape of the schema, it asks for the same.
        let export = Format::McpServer.export().unwrap();
        let shaped = export.in_version(card.to_string().as_bytes(), "server-card").unwrap().unwrap();
        let (again, _) = imported(&parsed(&shaped.bytes), None);
        assert_eq!(again["securityDefinitions"], thing["securityDefinitions"], "{asked}");
        (options, rules(&warnings).contains(&("authentication", "/authentication")))
    };
    let nothing = json!({"scheme": "nosec"});
    assert_eq!(of(json!({"schemes": ["basic", "bearer"]})), (vec![basic.clone(), bearer.clone()], false));
    assert_eq!(of(json!(["basic", "oauth2"])), (vec![basic.clone(), bearer.clone()], false));
    let described =
        json!({"schemes": [{"type": "apiKey", "in": "header", "name": "X-Key"}, {"type": "http", "scheme": "bearer"}]});
    assert_eq!(of(described), (vec![key, bearer.clone()], false));
    let optional = json!({"required": false, "schemes": ["basic", "bearer"]});
    assert_eq!(of(optional), (vec![basic.clone(), bearer.clone(), nothing], false));
    assert_eq!(of(json!({"schemes": ["basic", "hmac", "bearer"]})), (vec![basic, bearer], true));
}

#[test]
fn endpoints_that_nothing_calls_are_warned_of() {
    let found = |member: &str, endpoints: Value| {
        let card = json!({"name": "keeper", "tools": ["open"], member: endpoints});
        let (thing, warnings) = imported(&card, Some(CARD));
        let unused = warnings.iter().filter(|warning| warning.rule == "endpoint-unused");
        let forms = thing["actions"]["open"]["forms"].as_array().cloned().unwrap_or_default();
        let called: Vec<_> = forms.iter().map(|form| form["mcp:transport"].as_str().unwrap().to_owned()).collect();
        (called, unused.map(|warning| warning.pointer.clone()).collect::<Vec<_>>())
    };
    let case = json!({"streamable": "/mcp", "websocket": "wss://locks.example/ws", "sse": "events"});
    let expected = ["/endpoints/sse", "/endpoints/websocket"].map(str::to_owned).to_vec();
    assert_eq!(found("endpoints", case), (vec!["streamable-http".to_owned()], expected));
    let case = json!([{"url": "wss://locks.example/ws"}, {"url": MCP}]);
    let expected = vec!["/endpoints/0/url".to_owned()];
    assert_eq!(found("endpoints", case), (vec!["streamable-http".to_owned()], expected));
    assert_eq!(found("url", json!("wss://locks.example/ws")), (vec![], vec!["/url".to_owned()]));
    // Two transports at one URL are two endpoints.
    let case = json!({"streamable": MCP, "sse": MCP});
    assert_eq!(found("endpoints", case).0, ["sse", "streamable-http"]);
    let case = json!({"type": "http", "url": MCP, "authentication": {"url": "https://login.example"}});
    assert_eq!(found("transport", case).1, [""; 0]);
}

#[test]
fn transports_in_other_spellings_are_read_with_a_warning() {
    for (member, written, read, is_warned) in [
        ("type", "sse", "sse", false),
        ("transport_type", "sse", "sse", true),
        ("transportType", "sse", "sse", true),
        ("type", "http", "streamable-http", true),
        ("type", "streamable_http", "streamable-http", true),
        ("type", "streamableHttp", "streamable-http", true),
        ("type", "websocket", "websocket", true),
    ] {
        let server = json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "remotes": [{member: written, "url": MCP}]});
        let (thing, warnings) = thing(server.to_string().as_bytes());
        assert_eq!(thing["actions"]["a"]["forms"][0]["mcp:transport"], read, "{member}: {written}");
        assert_eq!(!warnings.is_empty(), is_warned, "{member}: {written}: {warnings:?}");
    }
}

#[test]
fn variable_may_be_the_whole_origin() {
    let of_variable = |variable: Value| {
        json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "remotes": [
            {"type": "streamable-http", "url": "{base_url}/api/mcp", "variables": {"base_url": variable}}]})
    };
    let default = json!({"isRequired": true, "default": "https://a.example"});
    for (variable, expected) in [(json!({"isRequired": true}), &[("open-host", "/remotes/0/url")][..]), (default, &[])]
    {
        let (thing, warnings) = thing(of_variable(variable.clone()).to_string().as_bytes());
        assert_eq!(rules(&warnings), expected);
        let action = &thing["actions"]["a"];
        assert_eq!(
            (&action["forms"][0]["href"], &action["uriVariables"]["base_url"]["type"]),
            (&json!("{base_url}/api/mcp"), &json!("string"))
        );
        assert_eq!(action["uriVariables"]["base_url"].get("default"), variable.get("default"));
    }
}

#[test]
fn variable_may_be_the_scheme() {
    let of_url = |variables: Value| {
        let remote = json!({"type": "streamable-http", "url": "{protocol}://a.example/mcp", "variables": variables});
        let server = json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "remotes": [remote],
            "packages": [{"registryType": "npm", "identifier": "a", "version": "1.0.0", "transport": {"type": "stdio"}}]});
        let (thing, warnings) = thing(server.to_string().as_bytes());
        (
            thing["actions"]["a"]["forms"][0]["href"].clone(),
            rules(&warnings).contains(&("url-broken", "/remotes/0/url")),
        )
    };
    assert_eq!(of_url(json!({"protocol": {"default": "https"}})), (json!("https://a.example/mcp"), false));
    assert!(of_url(json!({"protocol": {"default": "ftp"}})).1 && of_url(json!({})).1);
}

#[test]
fn range_as_the_version_of_a_package_is_warned_of() {
    let package = |version: &str| {
        let package =
            json!({"registryType": "npm", "identifier": "a", "version": version, "transport": {"type": "stdio"}});
        let server = json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "packages": [package]});
        let (_, warnings) = thing(server.to_string().as_bytes());
        rules(&warnings).contains(&("version", "/packages/0/version"))
    };
    assert_eq!(["^1.2.0", "latest", "1.x || 2.*", "1.2.0"].map(package), [true, true, true, false]);
}

#[test]
fn card_is_exported_in_the_shape_of_its_schema_when_asked() {
    let card = json!({"serverInfo": {"name": "keeper", "version": "1.0.0"}, "transport": {"type": "http", "url": MCP}, "tools": ["open"]});
    let text = card.to_string();
    let export = Format::McpServer.export().unwrap();
    let rendition = export.in_version(text.as_bytes(), "server-card").unwrap().unwrap();
    let card = parsed(&rendition.bytes);
    assert_eq!((&card["name"], &card["remotes"][0]["url"]), (&json!("keeper"), &json!(MCP)));
    assert_eq!(card.get("transport"), None);
}

#[test]
fn server_of_a_client_configuration_is_read() {
    let remote = json!({"mcpServers": {"keeper": {"type": "http", "url": MCP, "headers": {"Authorization": "Bearer abc", "X-Key": "${input:key}"}}}});
    let (thing, warnings) = imported(&remote, None);
    assert_eq!(summary(&thing), ("keeper".into(), vec!["keeper".into()], MCP.into(), "streamable-http".into()));
    assert!(rules(&warnings).contains(&("secret-field", "/mcpServers/keeper/headers/Authorization")), "{warnings:?}");
    assert_eq!(thing["security"], json!(["Authorization", "X-Key"]));
    let command = |server: Value| imported(&json!({"servers": {"keeper": server}}), None).0["mcp:packages"][0].clone();
    let package = command(
        json!({"command": "npx", "args": ["-y", "@locks/mcp@1.2.0", "--all"], "env": {"LOCKS_TOKEN": "hunter2"}}),
    );
    assert_eq!(package["mcp:command"], json!(["npx", "-y", "@locks/mcp@1.2.0", "--all"]));
    assert_eq!((&package["mcp:identifier"], &package["mcp:version"]), (&json!("@locks/mcp"), &json!("1.2.0")));
    assert_eq!(package["mcp:environmentVariables"][0]["mcp:name"], "LOCKS_TOKEN");
    assert!(!package.to_string().contains("hunter2"));
    let package = command(json!({"command": "uv", "args": ["--directory", "/srv", "run", "server.py"]}));
    assert_eq!(package["mcp:command"], json!(["uv", "--directory", "/srv", "run", "server.py"]));
}

#[test]
fn options_of_a_connection_that_calls_do_not_use_are_warned_of() {
    let unused = |document: Value| -> Vec<String> {
        let (_, warnings) = imported(&document, None);
        let unused = warnings.into_iter().filter(|warning| warning.rule == "option-unused");
        unused.map(|warning| warning.pointer).collect()
    };
    for (name, value) in [
        ("verify", json!(false)),
        ("verifySsl", json!(false)),
        ("ssl_verify", json!(true)),
        ("insecureSkipVerify", json!(true)),
        ("rejectUnauthorized", json!(false)),
        ("timeout", json!(30)),
        ("tool_timeout_sec", json!(5)),
        ("sse_read_timeout", json!(300)),
        ("proxy", json!("http://p.example")),
        ("caCert", json!("/etc/ca.pem")),
        ("excludeTools", json!(["drop"])),
        ("headersHelper", json!("./token.sh")),
    ] {
        for server in [json!({"url": MCP}), json!({"command": "npx", "args": ["a"]})] {
            let mut server = server;
            server[name] = value.clone();
            assert_eq!(unused(json!({"mcpServers": {"k": server}})), [format!("/mcpServers/k/{name}")], "{server}");
            server["name"] = "k".into();
            assert_eq!(unused(json!({"servers": [server]})), [format!("/servers/0/{name}")], "{server}");
        }
    }
    for used in [
        json!({"type": "http", "url": MCP, "headers": {"X-A": "b"}, "auth": {"type": "bearer"}, "timeout": null}),
        json!({"command": "npx", "args": ["a"], "env": {"A": "b"}, "disabled": false, "autoApprove": [], "tools": ["*"]}),
    ] {
        assert_eq!(unused(json!({"mcpServers": {"k": used}})), [""; 0], "{used}");
    }
    let remote = json!({"type": "streamable-http", "url": MCP, "timeout": 5});
    let server = json!({"name": "com.example/k", "description": "d", "version": "1.0.0", "remotes": [remote]});
    assert_eq!(unused(server), ["/remotes/0/timeout"]);
    let card = json!({"name": "keeper", "transport": {"type": "http", "url": MCP, "verify": false}, "tools": ["open"]});
    assert_eq!(unused(card), ["/transport/verify"]);
    let card = json!({"name": "keeper", "url": MCP, "requestTimeout": 5, "tools": ["open"]});
    assert_eq!(unused(card), ["/requestTimeout"]);
}

#[test]
fn every_tool_that_a_client_allows_is_no_tool() {
    let (thing, _) = imported(&json!({"mcpServers": {"keeper": {"url": MCP, "tools": ["*"]}}}), None);
    assert_eq!(summary(&thing).1, ["keeper"]);
}

#[test]
fn configuration_without_a_server_says_so() {
    for (document, reason) in [
        (json!({"mcpServers": {}}), "it has no servers: `mcpServers` is empty"),
        (json!({"mcpServers": []}), "it has no servers: `mcpServers` is empty"),
        (json!({"mcpServers": null}), "it has no servers: `mcpServers` is empty"),
        (json!({"servers": {}, "inputs": []}), "it has no servers: `servers` is empty"),
        (json!({"servers": []}), "it has no servers: `servers` is empty"),
        (json!({"mcpServers": {"a": {"url": MCP}, "b": {}}}), "the server \"b\" in `mcpServers` has neither"),
        (
            json!({"servers": [{"name": "a", "url": MCP}, {"url": MCP}]}),
            "entry 1 of `servers` (counting from 0) lacks a `name`",
        ),
    ] {
        let refused = refusal(&document);
        assert!(refused.contains(reason), "{document}: {refused}");
        assert!(!refused.contains("`name` is missing"), "{document}: {refused}");
    }
}

#[test]
fn headers_and_variables_of_a_configuration_are_templates_constants_or_secrets() {
    let remote = |headers: Value| {
        let configuration = json!({"mcpServers": {"keeper": {"type": "http", "url": MCP, "headers": headers}}});
        imported(&configuration, None)
    };
    for (name, value, scheme, template) in [
        ("Authorization", "Bearer ${GH_PAT}", "bearer", Value::Null),
        ("Authorization", "Bearer ${input:gh_pat}", "bearer", Value::Null),
        ("Authorization", "Token ${env:T}", "apikey", json!("Token {T}")),
        ("X-Api-Key", "${env:KEY}", "apikey", Value::Null),
    ] {
        let (thing, warnings) = remote(json!({name: value}));
        let definition = &thing["securityDefinitions"][name];
        assert_eq!(
            (&definition["scheme"], &definition["mcp:value"]),
            (&json!(scheme), &template),
            "{value}: {warnings:?}"
        );
    }
    let (thing, warnings) = remote(json!({"X-Region": "eu", "X-Trace": "a-${TRACE}", "X-Tok": "abc123def456"}));
    let form = &thing["actions"]["keeper"]["forms"][0];
    let sent = json!([
        {"htv:fieldName": "X-Region", "htv:fieldValue": "eu"}, {"htv:fieldName": "X-Trace", "htv:fieldValue": "a-{TRACE}"},
    ]);
    assert_eq!((&form["htv:headers"], &thing["security"]), (&sent, &json!(["X-Tok"])));
    assert_eq!(thing["actions"]["keeper"]["uriVariables"]["TRACE"]["type"], "string");
    let hidden: Vec<_> = warnings.iter().filter(|one| one.rule == "secret-field").collect();
    assert_eq!(hidden.len(), 1, "{warnings:?}");
    assert!(!hidden[0].message.contains("specification"), "{}", hidden[0].message);
    let local = json!({"mcpServers": {"keeper": {"command": "keep", "env": {"MODE": "fast", "LOCKS_TOKEN": "hunter2", "DIR": "/srv/${NAME}"}}}});
    let variables = imported(&local, None).0["mcp:packages"][0]["mcp:environmentVariables"].clone();
    let of = |name: &str| variables.as_array().unwrap().iter().find(|one| one["mcp:name"] == name).unwrap().clone();
    assert_eq!((&of("MODE")["mcp:value"], &of("DIR")["mcp:value"]), (&json!("fast"), &json!("/srv/{NAME}")));
    assert_eq!((of("LOCKS_TOKEN").get("mcp:value"), &of("LOCKS_TOKEN")["mcp:isSecret"]), (None, &json!(true)));
}

#[test]
fn transport_and_access_of_a_configuration_are_read_in_every_spelling() {
    for member in ["type", "transport", "transportType", "transport_type"] {
        let (thing, _) = imported(&json!({"mcpServers": {"keeper": {member: "sse", "url": MCP}}}), None);
        assert_eq!(summary(&thing).3, "sse", "{member}");
    }
    for (access, name, scheme) in [
        (json!({"http_headers": {"X-Api-Key": "abc123def456"}}), "X-Api-Key", "apikey"),
        (json!({"requestInit": {"headers": {"X-Api-Key": "abc123def456"}}}), "X-Api-Key", "apikey"),
        (json!({"env_http_headers": {"X-Api-Key": "LOCKS_KEY"}}), "X-Api-Key", "apikey"),
        (json!({"bearerToken": "abc123def456"}), "Authorization", "bearer"),
        (json!({"bearer_token_env_var": "LOCKS_TOKEN"}), "Authorization", "bearer"),
    ] {
        let mut server = json!({"url": MCP});
        server.as_object_mut().unwrap().extend(access.as_object().unwrap().clone());
        let configuration = json!({"mcpServers": {"keeper": server}});
        let (thing, _) = imported(&configuration, None);
        assert_eq!(thing["securityDefinitions"][name]["scheme"], scheme, "{access}: {thing}");
        let import = Format::McpServer.import().unwrap();
        let input = configuration.to_string();
        let kept = import.to_things(&Input::json(input.as_bytes()), &ImportOptions::default()).unwrap();
        assert!(!String::from_utf8_lossy(&kept.things[0].source.bytes).contains("abc123"), "{access}");
        assert!(!thing.to_string().contains("abc123"), "{thing}");
    }
    let (_, warnings) = imported(&json!({"mcpServers": {"keeper": {"url": MCP, "disabled": true}}}), None);
    assert!(rules(&warnings).contains(&("disabled-server", "/mcpServers/keeper")), "{warnings:?}");
    let (_, warnings) = imported(&json!({"mcpServers": {"keeper": {"url": MCP, "enabled": false}}}), None);
    assert!(rules(&warnings).contains(&("disabled-server", "/mcpServers/keeper")), "{warnings:?}");
}

#[test]
fn access_to_a_card_is_read_as_open_api_says_it() {
    let card = |further: Value| {
        let mut card = json!({"serverInfo": {"name": "keeper"}, "url": MCP, "tools": ["open"]});
        card.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        let (thing, warnings) = imported(&card, None);
        (thing["security"].clone(), warnings.iter().any(|warning| warning.rule == "authentication"))
    };
    let schemes = json!({"bearerAuth": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}});
    let of = |security: Value| card(json!({"securitySchemes": schemes, "security": security}));
    assert_eq!(of(json!([{"bearerAuth": []}])), (json!(["Authorization"]), false));
    assert_eq!(of(json!([{"bearerAuth": []}, {"key": []}])), (json!(["any_sc"]), false));
    assert_eq!(of(json!([{}, {"key": []}])), (json!(["optional_X-Key"]), false));
    assert!(of(json!([{"bearerAuth": [], "key": []}])).1);
    assert!(!of(json!([])).1);
    for member in ["requiresAuth", "requires_auth", "authRequired"] {
        assert_eq!(card(json!({member: true})), (json!("auto_sc"), true), "{member}");
        assert!(!card(json!({member: false})).1, "{member}");
    }
    let relative = json!({"serverInfo": {"name": "keeper"}, "url": "../mcp", "tools": ["open"]});
    assert!(rules(&imported(&relative, None).1).contains(&("url-relative", "/url")));
    assert_eq!(summary(&imported(&relative, Some(CARD)).0).2, "https://locks.example/.well-known/mcp");
}

#[test]
fn references_in_the_url_of_a_configuration_are_variables() {
    for (url, href, variables, security) in [
        ("http://${H}:8080/mcp", "http://{H}:8080/mcp", json!({"H": {"type": "string"}}), json!("auto_sc")),
        (
            "${env:BASE:-http://a.example}/mcp",
            "{BASE}/mcp",
            json!({"BASE": {"type": "string", "default": "http://a.example"}}),
            json!("auto_sc"),
        ),
        ("https://a.example/${input:API_KEY}/$", "https://a.example/{API_KEY}/$", Value::Null, json!(["API_KEY"])),
    ] {
        let (thing, _) = imported(&json!({"mcpServers": {"keeper": {"type": "http", "url": url}}}), None);
        let action = &thing["actions"]["keeper"];
        let found = (&action["forms"][0]["href"], &action["uriVariables"], &thing["security"]);
        assert_eq!(found, (&json!(href), &variables, &security), "{url}");
    }
}

#[test]
fn several_servers_are_named_with_what_to_do() {
    let server = json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "remotes": [{"type": "sse", "url": MCP}]});
    let refused = refusal(&json!({"mcpServers": {"a": {"url": MCP}, "b": {"command": "npx"}}}));
    assert!(refused.contains("client configuration with 2 servers (a, b)") && refused.contains("jq -c"), "{refused}");
    let list = json!({"servers": [{"server": server, "_meta": {}}, {"server": server}], "metadata": {"count": 2}});
    let refused = refusal(&list);
    assert!(refused.contains("list of 2 servers from a registry") && refused.contains("jq -c"), "{refused}");
    let (thing, _) = imported(&json!({"servers": [{"server": server, "_meta": {}}]}), None);
    assert_eq!(thing["id"], "urn:agentdex:mcp:com.example/a");
}

#[test]
fn answer_of_a_server_to_initialize_is_read() {
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "keeper", "version": "1.0.0"}});
    for answer in [json!({"jsonrpc": "2.0", "id": 1, "result": result}), result] {
        let (thing, warnings) = imported(&answer, None);
        assert_eq!(thing["title"], "keeper");
        assert!(rules(&warnings).contains(&("no-endpoint", "")), "{warnings:?}");
    }
    let refused = refusal(&json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "open"}]}}));
    assert!(refused.contains("tools/list"), "{refused}");
}

#[test]
fn servers_that_a_registry_withdrew_are_marked() {
    let server = json!({"name": "com.example/a", "description": "d", "version": "1.0.0", "remotes": [{"type": "sse", "url": MCP}]});
    for status in ["deprecated", "deleted"] {
        let official = json!({"io.modelcontextprotocol.registry/official": {"status": status}});
        let mut own = server.clone();
        own["status"] = status.into();
        for answer in [json!({"server": server, "_meta": official}), own] {
            let (thing, warnings) = imported(&answer, None);
            assert_eq!(thing["mcp:withdrawn"], status);
            assert!(warnings.iter().any(|warning| warning.rule == "server-status"), "{warnings:?}");
        }
    }
}
