use super::*;

fn server(document: Value) -> Server {
    Server::parse(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}\n{document}"))
}

fn remote(remote: Value) -> Value {
    json!({"name": "com.example/weather", "description": "Weather", "version": "1.0.0", "remotes": [remote]})
}

fn package(package: Value) -> Value {
    json!({"name": "com.example/weather", "description": "Weather", "version": "1.0.0", "packages": [package]})
}

fn configure_with(client: McpClient, document: &Value, values: &[(&str, &str)]) -> Result<Configuration> {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Configuration::of_server(client, &server(document.clone()), &ConfigurationOptions { name: None, values })
}

fn configure(client: McpClient, document: &Value) -> Result<Configuration> {
    configure_with(client, document, &[])
}

/// The texts for all clients, or the reasons why there are none.
fn texts(document: &Value) -> String {
    let text = |client| match configure(client, document) {
        Ok(configuration) => format!("{client}: {}", configuration.text()),
        Err(Error::NotExpressible { reason, .. }) => format!("{client}: {reason}\n"),
        Err(error) => panic!("{error}"),
    };
    McpClient::ALL.map(text).concat()
}

const URL: &str = "https://weather.example/mcp";

#[test]
fn secret_headers_are_variables() {
    let headers = json!([
        {"name": "Authorization", "value": "Bearer {token}", "isRequired": true, "variables": {"token": {"isSecret": true}}},
        {"name": "X-Region", "value": "eu"}, {"name": "X-Key", "isSecret": true}, {"name": "X-Note"},
    ]);
    let document = remote(json!({"type": "streamable-http", "url": URL, "headers": headers}));
    let entry = |client| configure(client, &document).unwrap();
    let claude = entry(McpClient::ClaudeCode);
    let expected = json!({"type": "http", "url": URL, "headers": {
        "Authorization": "Bearer ${MCP_WEATHER_TOKEN}", "X-Region": "eu", "X-Key": "${MCP_WEATHER_X_KEY}",
    }});
    assert_eq!(claude.entry, expected);
    assert_eq!(claude.notes, ["The optional header X-Note is left out."]);
    assert_eq!(entry(McpClient::Gemini).entry, expected);
    let cursor = entry(McpClient::Cursor).entry;
    assert_eq!((&cursor["headers"]["X-Key"], cursor.get("type")), (&json!("${env:MCP_WEATHER_X_KEY}"), None));
    let code = entry(McpClient::VsCode);
    assert_eq!(code.entry["headers"]["Authorization"], "Bearer ${input:weather-token}");
    assert_eq!(
        code.inputs[0],
        json!({"type": "promptString", "id": "weather-token", "description": "MCP_WEATHER_TOKEN", "password": true})
    );
    let codex = "[mcp_servers.weather]\nurl = \"https://weather.example/mcp\"\nbearer_token_env_var = \"MCP_WEATHER_TOKEN\"\n\
                 http_headers = { \"X-Region\" = \"eu\" }\nenv_http_headers = { \"X-Key\" = \"MCP_WEATHER_X_KEY\" }\n";
    assert_eq!(entry(McpClient::Codex).text(), codex);
    let desktop = configure(McpClient::ClaudeDesktop, &document).unwrap_err().to_string();
    assert!(desktop.contains("Connectors") && desktop.contains(URL), "{desktop}");
}

#[test]
fn literal_secrets_are_in_no_configuration() {
    for header in [
        json!({"name": "Authorization", "value": "Bearer abc123secret"}),
        json!({"name": "Authorization", "value": "abc123secret", "isSecret": true}),
        json!({"name": "X-Key", "value": "key {x}", "isSecret": true, "variables": {"x": {"value": "abc123secret"}}}),
        json!({"name": "X-Key", "isSecret": true, "default": "abc123secret"}),
    ] {
        let texts = texts(&remote(json!({"type": "sse", "url": URL, "headers": [header]})));
        assert!(!texts.contains("abc123secret") && texts.contains("${MCP_WEATHER_"), "{texts}");
    }
    for variable in [
        json!({"name": "API_KEY", "value": "abc123secret", "isSecret": true}),
        json!({"name": "API_KEY", "isSecret": true, "default": "abc123secret"}),
    ] {
        let texts = texts(&package(
            json!({"registryType": "npm", "identifier": "w", "version": "1.0.0", "environmentVariables": [variable]}),
        ));
        assert!(!texts.contains("abc123secret") && texts.contains("${API_KEY}"), "{texts}");
        assert!(texts.contains("${env:API_KEY}") && texts.contains("${input:weather-api-key}"), "{texts}");
        assert!(texts.contains("env_vars = [\"API_KEY\"]"), "{texts}");
    }
}

#[test]
fn packages_are_commands() {
    let of = |kind: &str, identifier: &str| json!({"registryType": kind, "identifier": identifier, "version": "1.2.0", "transport": {"type": "stdio"}});
    for (kind, identifier, words) in [
        ("npm", "@a/x", "npx -y @a/x@1.2.0"),
        ("pypi", "x", "uvx x==1.2.0"),
        ("oci", "ghcr.io/a/x", "docker run -i --rm ghcr.io/a/x:1.2.0"),
        ("nuget", "X", "dnx X@1.2.0"),
    ] {
        for client in McpClient::ALL {
            let configuration = configure(client, &package(of(kind, identifier))).unwrap();
            assert_eq!(configuration.command.as_deref(), Some(words), "{client}");
            let args: Vec<&str> =
                configuration.entry["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(format!("{} {}", configuration.entry["command"].as_str().unwrap(), args.join(" ")), words);
        }
    }
    for kind in ["mcpb", "cargo"] {
        assert!(texts(&package(of(kind, "x"))).contains("no command is known"), "{kind}");
    }
    let open = package(json!({"registryType": "npm", "identifier": "x"}));
    assert!(configure(McpClient::Cursor, &open).unwrap().notes[0].contains("isn't fixed"));
}

#[test]
fn values_of_the_user_are_literal() {
    let arguments = json!([
        {"type": "named", "name": "--city", "isRequired": true}, {"type": "positional", "valueHint": "folder"},
        {"type": "named", "name": "--url", "value": "https://{host}/x", "variables": {"host": {"isRequired": true}}},
    ]);
    let variables = json!([{"name": "KEY", "isSecret": true, "isRequired": true}, {"name": "LOG"}]);
    let document = package(json!({
        "registryType": "oci", "identifier": "a/x", "version": "1", "packageArguments": arguments, "environmentVariables": variables,
    }));
    let given = [("city", "Oslo it's"), ("folder", "/tmp"), ("host", "a.example"), ("LOG", "1")];
    let codex = configure_with(McpClient::Codex, &document, &given).unwrap();
    let command =
        "LOG=1 docker run -i --rm -e KEY -e LOG=1 a/x:1 --city 'Oslo it'\\''s' /tmp --url https://a.example/x";
    assert_eq!(codex.command.as_deref(), Some(command));
    assert_eq!(codex.entry["env_vars"], json!(["KEY"]));
    let authorization = json!([{"name": "AUTH", "value": "Bearer {key}", "variables": {"key": {"isSecret": true}}}]);
    let part = package(
        json!({"registryType": "npm", "identifier": "w", "version": "1", "environmentVariables": authorization}),
    );
    let codex = configure(McpClient::Codex, &part).unwrap();
    assert_eq!((&codex.entry["env_vars"], codex.variables[0].name.as_str()), (&json!(["AUTH"]), "AUTH"));
    assert_eq!(codex.notes, ["AUTH must contain the complete value: Bearer …"]);
    let gemini = configure_with(McpClient::Gemini, &document, &[("city", "Oslo")]).unwrap();
    let words = json!([
        "run",
        "-i",
        "--rm",
        "-e",
        "KEY",
        "a/x:1",
        "--city",
        "Oslo",
        "${MCP_WEATHER_FOLDER}",
        "--url",
        "https://${MCP_WEATHER_HOST}/x"
    ]);
    assert_eq!(gemini.entry["args"], words);
    for (values, reason) in [
        (&[("KEY", "abc")][..], "is a secret"),
        (&[("city", "a"), ("folder", "b"), ("host", "c"), ("town", "d")], "no variable \"town\""),
        (&[("city", "Oslo")], "MCP_WEATHER_FOLDER needs a value"),
    ] {
        let error = configure_with(McpClient::Codex, &document, values).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn variables_of_urls_are_filled() {
    let document = remote(json!({
        "type": "streamable-http", "url": "https://{region}.weather.example/{tenant}/mcp",
        "variables": {"region": {"default": "eu"}, "tenant": {"isRequired": true}},
    }));
    let url = |client| configure(client, &document).map(|configuration| configuration.entry["url"].clone());
    assert_eq!(url(McpClient::ClaudeCode).unwrap(), "https://eu.weather.example/${MCP_WEATHER_TENANT}/mcp");
    assert!(url(McpClient::Codex).unwrap_err().to_string().contains("MCP_WEATHER_TENANT needs a value"));
    let given = configure_with(McpClient::Codex, &document, &[("tenant", "acme"), ("region", "us")]).unwrap();
    assert_eq!(given.entry["url"], "https://us.weather.example/acme/mcp");
}

#[test]
fn streamable_http_comes_before_sse_and_packages() {
    let document = json!({
        "name": "com.example/weather", "description": "Weather", "version": "1.0.0",
        "remotes": [{"type": "sse", "url": "https://a.example/sse"}, {"type": "streamable-http", "url": URL}],
        "packages": [{"registryType": "npm", "identifier": "w", "version": "1.0.0", "transport": {"type": "stdio"}}],
    });
    assert_eq!(configure(McpClient::VsCode, &document).unwrap().entry["url"], URL);
    assert_eq!(configure(McpClient::ClaudeDesktop, &document).unwrap().entry["command"], "npx");
    let sse = remote(json!({"type": "sse", "url": "https://a.example/sse"}));
    assert_eq!(configure(McpClient::VsCode, &sse).unwrap().entry["type"], "sse");
    assert!(configure(McpClient::Codex, &sse).unwrap_err().to_string().contains("SSE"));
}

#[test]
fn text_that_a_client_would_expand_is_refused() {
    for value in ["${AWS_SECRET_ACCESS_KEY}", "a${env:HOME}b", "${input:other}", "${X:-y}"] {
        let header =
            remote(json!({"type": "streamable-http", "url": URL, "headers": [{"name": "X-A", "value": value}]}));
        let url = remote(
            json!({"type": "streamable-http", "url": format!("{URL}?x=$%7B"), "headers": [{"name": "X-A", "value": value}]}),
        );
        let argument = package(
            json!({"registryType": "npm", "identifier": "w", "version": "1", "packageArguments": [{"type": "positional", "value": value}]}),
        );
        let hint = package(json!({"registryType": "npm", "identifier": value, "version": "1"}));
        let variable = package(
            json!({"registryType": "npm", "identifier": "w", "version": "1", "environmentVariables": [{"name": "A", "value": value}]}),
        );
        for document in [header, url, argument, hint, variable] {
            for client in [McpClient::ClaudeCode, McpClient::Cursor, McpClient::VsCode, McpClient::Gemini] {
                let refused = configure(client, &document).map(|configuration| configuration.text());
                assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("would expand")), "{refused:?}");
            }
        }
    }
    let plain = remote(
        json!({"type": "streamable-http", "url": URL, "headers": [{"name": "X-A", "value": "$HOME costs $5 $"}]}),
    );
    assert!(configure(McpClient::Gemini, &plain).is_err());
    assert_eq!(configure(McpClient::Cursor, &plain).unwrap().entry["headers"]["X-A"], "$HOME costs $5 $");
}

#[test]
fn harmful_documents_have_no_configuration() {
    let with = |member: &str, value: Value| {
        let mut one = json!({"registryType": "npm", "identifier": "w", "version": "1.0.0"});
        one[member] = value;
        package(one)
    };
    for document in [
        remote(json!({"type": "streamable-http", "url": "http://weather.example/mcp"})),
        remote(json!({"type": "streamable-http", "url": "file:///etc/passwd"})),
        remote(json!({"type": "streamable-http", "url": "{base}/mcp"})),
        remote(json!({"type": "streamable-http", "url": URL, "headers": [{"name": "X-A: b\r\nX-B", "value": "c"}]})),
        remote(json!({"type": "streamable-http", "url": URL, "headers": [{"name": "X-A", "value": "a\r\nX-B: c"}]})),
        remote(json!({"type": "streamable-http", "url": URL, "headers": [{"name": "X-A", "value": "a\u{202e}b"}]})),
        remote(
            json!({"type": "streamable-http", "url": URL, "headers": [{"name": "X-A", "value": "x".repeat(20_000)}]}),
        ),
        with("identifier", json!("--registry=https://evil.example")),
        with("identifier", json!("w\u{1}0\u{2}")),
        with("runtimeHint", json!("npx\u{200b}")),
        with("runtimeHint", json!("--registry=https://evil.example")),
        with("packageArguments", json!([{"type": "positional", "value": "a\nb"}])),
        with("environmentVariables", json!([{"name": "A=B", "value": "c"}])),
        with("environmentVariables", json!([{"name": "A\u{7f}", "value": "c"}])),
    ] {
        for client in McpClient::ALL {
            let refused = configure(client, &document).map(|configuration| configuration.text());
            assert!(refused.is_err(), "{client}: {refused:?}\n{document}");
        }
    }
    let credentials = remote(json!({"type": "streamable-http", "url": "https://user:pass1234@weather.example/mcp"}));
    assert!(!texts(&credentials).contains("pass1234"));
    let local = remote(json!({"type": "streamable-http", "url": "http://127.0.0.1:9000/mcp"}));
    assert!(configure(McpClient::Cursor, &local).is_ok());
}

#[test]
fn names_are_those_that_every_client_accepts() {
    for (own, expected) in [
        ("com.example/weather", "weather"),
        ("com.example/Weather_2.0", "Weather_2-0"),
        ("com.example/__proto__", "proto"),
        ("com.example/9lives", "lives"),
        ("com.example/…", "mcp-server"),
        ("com.example/\"]\n[evil", "evil"),
        ("com.example/a-very-long-name-of-a-server-that-goes-on", "a-very-long-name-of-a-server-tha"),
    ] {
        assert_eq!(configured_name(own), expected);
        assert!(is_configured_name(expected), "{expected}");
    }
    for name in ["", "1a", "a.b", "a b", "-a", "ä", &"a".repeat(33)] {
        assert!(!is_configured_name(name), "{name}");
    }
}

#[test]
fn variables_cannot_be_chosen() {
    let document = json!({
        "name": "x/aws-secret", "description": "x", "version": "1",
        "remotes": [{"type": "streamable-http", "url": URL, "headers": [{"name": "Access-Key", "isSecret": true}]}],
    });
    let configuration = configure(McpClient::ClaudeCode, &document).unwrap();
    assert_eq!(configuration.entry["headers"]["Access-Key"], "${MCP_AWS_SECRET_ACCESS_KEY}");
    // VS Code has one list of inputs for all servers.
    let variables = json!([{"name": "GITHUB_TOKEN", "isSecret": true}]);
    let document =
        package(json!({"registryType": "npm", "identifier": "w", "version": "1", "environmentVariables": variables}));
    assert_eq!(configure(McpClient::VsCode, &document).unwrap().inputs[0]["id"], "weather-github-token");
}

#[test]
fn values_have_variables_of_their_own() {
    let headers = json!([
        {"name": "X-Key", "isSecret": true}, {"name": "X_Key", "isSecret": true}, {"name": "x-key", "isSecret": true},
        {"name": "X-City", "value": "{城市} {天气} {token}", "isSecret": true},
        {"name": "Authorization", "value": "Bearer {token}", "isSecret": true},
    ]);
    let document = remote(json!({"type": "streamable-http", "url": URL, "headers": headers}));
    let configuration = configure(McpClient::ClaudeCode, &document).unwrap();
    assert_eq!(
        configuration.entry["headers"],
        json!({
            "X-Key": "${MCP_WEATHER_X_KEY}", "X_Key": "${MCP_WEATHER_X_KEY_2}", "x-key": "${MCP_WEATHER_X_KEY}",
            "X-City": "${MCP_WEATHER_VALUE} ${MCP_WEATHER_VALUE_2} ${MCP_WEATHER_TOKEN}",
            "Authorization": "Bearer ${MCP_WEATHER_TOKEN}",
        })
    );
    let inputs = configure(McpClient::VsCode, &document).unwrap().inputs;
    let ids: std::collections::BTreeSet<&str> = inputs.iter().filter_map(|input| input["id"].as_str()).collect();
    assert_eq!((ids.len(), inputs.len()), (5, 5), "{inputs:?}");
}

#[test]
fn registries_are_connected_by_url_or_program() {
    let address =
        RegistryAddress { url: "https://registry.example/x", needs_key: true, program: "agentdex", context: None };
    let of = |client, address| Configuration::of_registry(client, address, None).unwrap();
    assert_eq!(
        of(McpClient::ClaudeCode, address).entry,
        json!({"type": "http", "url": "https://registry.example/x/mcp", "headers": {"Authorization": "Bearer ${AGENTDEX_API_KEY}"}})
    );
    assert_eq!(of(McpClient::VsCode, address).inputs[0]["id"], "agentdex-api-key");
    let desktop = of(McpClient::ClaudeDesktop, address);
    assert_eq!(
        desktop.entry,
        json!({"command": "agentdex", "args": ["mcp"], "env": {"AGENTDEX_URL": "https://registry.example/x"}})
    );
    assert_eq!((desktop.notes.len(), desktop.command), (1, None));
    let stored = of(McpClient::ClaudeDesktop, RegistryAddress { context: Some("prod"), ..address });
    assert_eq!(stored.entry, json!({"command": "agentdex", "args": ["mcp", "--context", "prod"]}));
    let open = RegistryAddress { url: "http://127.0.0.1:8080", needs_key: false, ..address };
    assert_eq!(of(McpClient::Gemini, open).entry, json!({"type": "http", "url": "http://127.0.0.1:8080/mcp"}));
    for url in [
        "https://u:p@registry.example",
        "ftp://registry.example",
        "https://a\nb",
        "https://registry.example/?x=1",
        "https://registry.example/#x",
    ] {
        let refused = Configuration::of_registry(McpClient::Codex, RegistryAddress { url, ..address }, None);
        assert!(refused.is_err(), "{url}");
    }
}
