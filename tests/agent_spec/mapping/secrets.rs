//! Secrets are nowhere in what a conversion gives: neither in descriptions nor in what is kept, warnings or
//! errors.

use std::fmt::Write;

use serde_json::Map;

use super::*;

const MARK: &str = "hunter2hunter2";

/// Fields that hold a secret, by the type of the component.
const SECRET_FIELDS: [(&[&str], &[&str]); 12] = [
    (&["OpenAiConfig", "LlmConfig", "GeminiAIStudioAuthConfig"], &["api_key"]),
    (&["OpenAiCompatibleConfig", "VllmConfig", "OllamaConfig"], &["api_key", "key_file", "cert_file", "ca_file"]),
    (&["GeminiVertexAIAuthConfig"], &["credentials"]),
    (&["OciClientConfigWithSecurityToken", "OciClientConfigWithApiKey"], &["auth_file_location"]),
    (&["OAuthClientConfig"], &["client_id", "client_secret", "client_id_metadata_url"]),
    (&["TlsOracleDatabaseConnectionConfig"], &["user", "password", "dsn"]),
    (&["MTlsOracleDatabaseConnectionConfig"], &["user", "password", "dsn", "wallet_location", "wallet_password"]),
    (&["TlsPostgresDatabaseConnectionConfig"], &["user", "password", "sslkey", "sslcert", "sslrootcert"]),
    (&["SSEmTLSTransport", "StreamableHTTPmTLSTransport"], &["key_file", "cert_file", "ca_file"]),
    (&["A2AConnectionConfig"], &["key_file", "cert_file", "ssl_ca_cert"]),
    (&["Agent"], &["system_prompt"]),
    (&["LlmNode"], &["prompt_template"]),
];
const SECRET_OBJECTS: [(&[&str], &[&str]); 3] = [
    (&["RemoteTool", "ApiNode"], &["headers", "sensitive_headers"]),
    (
        &["SSETransport", "SSEmTLSTransport", "StreamableHTTPTransport", "StreamableHTTPmTLSTransport"],
        &["headers", "sensitive_headers"],
    ),
    (&["A2AConnectionConfig"], &["headers"]),
];
const ADDRESSES: [&str; 9] = [
    "url",
    "agent_url",
    "api_spec_uri",
    "service_endpoint",
    "issuer",
    "redirect_uri",
    "resource",
    "registration_endpoint",
    "token_endpoint",
];

/// Fills all secrets of a document and returns how many there are.
fn fill(value: &mut Value) -> usize {
    match value {
        Value::Array(elements) => elements.iter_mut().map(fill).sum(),
        Value::Object(members) => fill_members(members) + members.values_mut().map(fill).sum::<usize>(),
        _ => 0,
    }
}

fn fill_members(members: &mut Map<String, Value>) -> usize {
    let mut count = 0;
    let type_name = members.get("component_type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let fields_of = |table: &'static [(&[&str], &[&str])]| -> Vec<&'static str> {
        let rows = table.iter().filter(|(types, _)| types.contains(&type_name.as_str()));
        rows.flat_map(|(_, fields)| fields.iter().copied()).collect()
    };
    let mut secret = || {
        count += 1;
        format!("{MARK}-{count}")
    };
    for field in fields_of(&SECRET_FIELDS) {
        let has_placeholders = members.get(field).and_then(Value::as_str).is_some_and(|text| text.contains("{{"));
        let withheld = members.get(field).is_some_and(Value::is_object);
        if members.contains_key(field) && !has_placeholders && !(withheld && field == "client_id") {
            members.insert(field.to_owned(), secret().into());
        }
    }
    for field in fields_of(&SECRET_OBJECTS) {
        let name = if field == "headers" { "X-API-Key" } else { "X-Plain" };
        match members.get_mut(field) {
            Some(Value::Object(headers)) if !headers.contains_key("$component_ref") => {
                headers.insert(name.to_owned(), secret().into());
            }
            Some(value) => *value = json!({name: secret()}),
            None => {}
        }
    }
    for address in ADDRESSES {
        if let Some(Value::String(url)) = members.get_mut(address)
            && let Some((scheme, rest)) = url.split_once("://")
        {
            let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
            *url = format!("{scheme}://{}:{}@{rest}?api_key={}&q=1", secret(), secret(), secret());
        }
    }
    match type_name.as_str() {
        "" => {}
        "StdioTransport" => {
            members.insert("env".to_owned(), json!({"API_KEY": secret()}));
            members.insert("args".to_owned(), json!(["--api-key", secret(), format!("--token={}", secret())]));
        }
        "RemoteTool" | "ApiNode" => {
            if let Some(Value::Object(parameters)) = members.get_mut("query_params") {
                parameters.insert("access_token".to_owned(), secret().into());
            }
        }
        _ => {}
    }
    if !type_name.is_empty() {
        let metadata = json!({
            "api_key": secret(), "nested": [{"Password": secret(), "env": {"DB_PASSWORD": secret()}}],
            "page": format!("https://joe:{}@host/", secret()), "token": [secret()], "note": format!("sk-{}-0123456789abcdef", secret()),
        });
        members.insert("metadata".to_owned(), metadata);
    }
    count
}

/// All that a conversion says, errors included.
fn everything(result: &Result<Conversion, Error>) -> String {
    let mut text = String::new();
    match result {
        Ok(conversion) => {
            for thing in &conversion.things {
                writeln!(
                    text,
                    "{}\n{}\n{}",
                    thing.id,
                    thing.description.text(),
                    String::from_utf8_lossy(&thing.source.bytes)
                )
                .unwrap();
            }
            writeln!(text, "{:?}", conversion.warnings).unwrap();
        }
        Err(error) => writeln!(text, "{error} {error:?}").unwrap(),
    }
    text
}

fn assert_unmarked(file: &str, said: &str) {
    if let Some(at) = said.find(MARK) {
        panic!(
            "{file}: …{}…",
            &said[said.floor_char_boundary(at.saturating_sub(200))..said.ceil_char_boundary((at + 80).min(said.len()))]
        );
    }
}

#[test]
fn marked_secrets_of_a_collection_are_nowhere() {
    let mut total = 0;
    let collection = collection();
    for (file, document) in &collection {
        let mut marked = document.clone();
        total += fill(&mut marked);
        for options in
            [Options { nested: true, ..with_base() }, Options { profile: Profile::Sdk, tools: true, ..options() }]
        {
            let result = convert(&marked, &options);
            if let Err(Error::InvalidSource { report, .. }) = &result
                && convert(document, &options).is_ok()
            {
                panic!("{file}: {report}");
            }
            assert_unmarked(file, &everything(&result));
        }
        assert_unmarked(file, &everything(&convert_text(&marked.to_string(), Syntax::Yaml, &options())));
    }
    assert!(collection.is_empty() || total > 8000, "only {total} secrets");
}

#[test]
fn kept_configurations_are_read_again() {
    for (file, document) in &collection() {
        let mut marked = document.clone();
        fill(&mut marked);
        let Ok(first) = convert(&marked, &options()) else { continue };
        let kept = String::from_utf8(first.things[0].source.bytes.clone()).unwrap();
        let second =
            convert_text(&kept, Syntax::Json, &options()).unwrap_or_else(|error| panic!("{file}: {error}\n{kept}"));
        if document.get("id").is_some() {
            assert_eq!(second.things[0].id, first.things[0].id, "{file}");
        }
        assert_eq!(String::from_utf8_lossy(&second.things[0].source.bytes), kept, "{file}");
    }
}

#[test]
fn marked_secrets_of_the_wrong_kind_are_nowhere_in_errors() {
    fn spoil(value: &mut Value, step: usize, count: &mut usize) {
        match value {
            Value::Array(elements) => elements.iter_mut().for_each(|element| spoil(element, step, count)),
            Value::Object(members) => members.values_mut().for_each(|member| spoil(member, step, count)),
            Value::String(text) if text.contains(MARK) => {
                *count += 1;
                *value = match (*count + step) % 3 {
                    0 => json!([text]),
                    1 => json!({"value": text, "$component_ref": 5}),
                    _ => json!({"value": {"value": text}}),
                };
            }
            _ => {}
        }
    }
    for (file, document) in collection().iter().step_by(10) {
        let mut marked = document.clone();
        fill(&mut marked);
        for step in 0..3 {
            let mut spoilt = marked.clone();
            spoil(&mut spoilt, step, &mut 0);
            for profile in [Profile::Spec, Profile::Sdk] {
                let said = everything(&convert(&spoilt, &Options { profile, ..options() }));
                assert_unmarked(file, &said);
            }
        }
    }
}

#[test]
fn prompts_are_published_only_on_demand() {
    let document = agent();
    let hidden = everything(&convert(&document, &options()));
    assert!(!hidden.contains("Answer for"), "{hidden}");
    let published = convert(&document, &Options { publish_prompts: true, ..options() });
    let thing: Value = serde_json::from_str(published.as_ref().unwrap().things[0].description.text()).unwrap();
    let prompts =
        json!([{"agentspec:field": "system_prompt", "agentspec:text": "Answer for {{city}} in {{language}}."}]);
    assert_eq!(thing["agentspec:prompts"], prompts);
    assert_eq!(published.unwrap().things[0].source.bytes, document.to_string().as_bytes());
}

#[test]
fn values_that_secret_fields_refer_to_are_hidden_with_them() {
    let document = json!({
        "component_type": "Agent", "agentspec_version": "26.1.2", "id": "a", "name": "a",
        "system_prompt": {"$component_ref": "prompt"}, "description": {"$component_ref": "prompt"},
        "llm_config": {
            "component_type": "VllmConfig", "id": "l", "name": "l", "model_id": {"$component_ref": "model"},
            "url": {"$component_ref": "address"}, "api_key": {"$component_ref": "key"},
        },
        "$referenced_components": {
            "prompt": format!("Say {MARK}."), "key": MARK, "model": "m", "address": format!("https://joe:{MARK}@h/"),
        },
    });
    let conversion = convert(&document, &options()).unwrap();
    assert_unmarked("", &everything(&Ok(conversion.clone())));
    let kept: Value = serde_json::from_slice(&conversion.things[0].source.bytes).unwrap();
    assert_eq!(kept["$referenced_components"], json!({"model": "m", "address": "https://h/"}));
    assert_eq!(kept["llm_config"]["api_key"], json!({"$component_ref": "l.api_key"}));
    assert_eq!(kept["llm_config"]["url"], json!({"$component_ref": "address"}));
    assert_eq!(kept["description"], "[redacted]");
    assert_eq!(kept["system_prompt"], json!({"$component_ref": "a.system_prompt"}));
}

#[test]
fn schemas_change_for_what_is_a_credential_by_itself_alone() {
    let mut document = remote_tool();
    document["url"] = "https://h/{{city}}/{{token}}/{{pin}}".into();
    let token = json!({"title": "token", "type": "string", "enum": ["ETH-mainnet-1", "BTC-mainnet-1"], "default": "ETH-mainnet-1"});
    let pin = json!({"title": "pin", "type": "integer", "default": 4});
    let key = json!({"title": "api_key", "type": "string", "default": format!("https://joe:{MARK}@h/")});
    document["data"]["key"] = "{{api_key}}".into();
    document["inputs"].as_array_mut().unwrap().extend([token.clone(), pin.clone(), key]);
    let result = convert(&document, &options());
    assert_unmarked("", &everything(&result));
    let thing = thing(&document, &options());
    let variables = &thing["actions"]["forecast"]["uriVariables"];
    assert_eq!((&variables["token"], &variables["pin"]), (&token, &pin));
    let kept = kept_value(&result.unwrap(), 0);
    let inputs = kept["inputs"].as_array().unwrap();
    assert_eq!((&inputs[3], &inputs[4], &inputs[5]["default"]), (&token, &pin, &json!("https://h/")));
    assert!(convert(&kept, &options()).is_ok(), "{kept}");
}

#[test]
fn components_of_plugins_show_no_secrets() {
    let mut document = agent();
    document["tools"] = json!([{
        "component_type": "Odd", "component_plugin_name": "p", "component_plugin_version": "1", "id": "odd", "name": "odd",
        "apiToken": MARK, "system_prompt": MARK, "sensitive_headers": {"X": MARK}, "deep": [{"x": {"client_secret": MARK, "env": {"PASSWORD": MARK}}}],
        "address": format!("amqp://joe:{MARK}@h"), "harmless": "stays",
    }]);
    let result = convert(&document, &options());
    let said = everything(&result);
    assert_unmarked("", &said);
    assert!(said.contains("stays"), "{said}");
    let kept: Value = serde_json::from_slice(&result.unwrap().things[0].source.bytes).unwrap();
    assert_eq!(
        kept["tools"][0]["deep"][0]["x"]["client_secret"],
        json!({"$component_ref": "odd.deep.0.x.client_secret"})
    );
}

#[test]
fn placeholders_are_no_secrets() {
    let mut document = remote_tool();
    document["headers"] = json!({"Authorization": "Bearer {{note}}"});
    document["data"] = json!({"password": "{{note}}"});
    let conversion = convert(&document, &options()).unwrap();
    assert_eq!(conversion.things[0].source.bytes, document.to_string().as_bytes());
}

/// Converts a document with marks in it, which it must be valid with, and looks for them.
fn assert_hidden(document: &Value, options: &Options) -> Conversion {
    let result = convert(document, options);
    assert_unmarked(&document.to_string()[..80], &everything(&result));
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn kept_value(conversion: &Conversion, index: usize) -> Value {
    serde_json::from_slice(&conversion.things[index].source.bytes).unwrap()
}

#[test]
fn values_hidden_in_the_whole_are_hidden_in_its_parts() {
    let mut inner = agent();
    inner["llm_config"]["api_key"] = json!({"$component_ref": "llm.api_key"});
    let mut other = agent();
    other["id"] = "other".into();
    other["llm_config"]["id"] = "other-llm".into();
    other["tools"] = json!([]);
    let document = json!({
        "component_type": "ManagerWorkers", "agentspec_version": "26.1.2", "id": "s", "name": "s",
        "group_manager": inner, "workers": [other], "$referenced_components": {"llm.api_key": MARK},
    });
    let conversion = assert_hidden(&document, &Options { nested: true, ..options() });
    assert_eq!(kept_value(&conversion, 1)["llm_config"]["api_key"], json!({"$component_ref": "llm.api_key"}));
    assert!(kept_value(&conversion, 1).get("$referenced_components").is_none());
}

#[test]
fn secret_parameters_of_a_query_are_hidden() {
    let mut document = remote_tool();
    document["query_params"] = json!({
        "key": MARK, "token": [MARK], "auth": {"$component_ref": "login"}, "lang": "en", "session": "{{note}}", "days": "{{days}}",
        "next": format!("https://joe:{MARK}@idp/"), "filter": format!("password={MARK}"),
    });
    document["$referenced_components"] = json!({"login": MARK});
    let conversion = assert_hidden(&document, &options());
    let parameters = &kept_value(&conversion, 0)["query_params"];
    assert_eq!(parameters["key"], json!({"$component_ref": "forecast.query_params.key"}));
    assert_eq!((&parameters["lang"], &parameters["session"]), (&json!("en"), &json!("{{note}}")));
    document["query_params"] = json!({"$component_ref": "parameters"});
    document["$referenced_components"] = json!({"parameters": {"key": MARK, "days": "{{days}}"}});
    assert_hidden(&document, &options());
}

#[test]
fn secrets_that_look_like_components_are_hidden() {
    let disguises = [
        json!({"$component_ref": "headers", "X-Foo": MARK}),
        json!({"component_type": "x", "X-Foo": MARK}),
        json!({"component_type": "Agent", "X-Foo": MARK}),
        json!({"$referenced_components": {}, "X-Foo": MARK}),
    ];
    for disguise in &disguises {
        let mut document = remote_tool();
        document["sensitive_headers"] = disguise.clone();
        if disguise["$component_ref"] == "headers" {
            document["$referenced_components"] = json!({"headers": {"X-Bar": MARK}});
        }
        assert_hidden(&document, &options());
        let transport = json!({"sensitive_headers": disguise});
        assert_unmarked("sensitive_headers", &everything(&convert(&mcp_tool(transport), &options())));
    }
    let mut document = agent();
    document["system_prompt"] = json!({"$component_ref": "weather.system_prompt", "text": MARK});
    assert_hidden(&document, &options());
}

#[test]
fn names_of_fields_say_nothing_in_unknown_components() {
    let mut document = agent();
    document["mapping"] = json!({"password": MARK});
    document["tools"] = json!([{
        "component_type": "Odd", "component_plugin_name": "p", "component_plugin_version": "1", "id": "odd", "name": "odd",
        "mapping": {"password": MARK}, "reducers": {"token": MARK}, "datastore_schema": {"api_key": MARK},
        "auth_token": {"component_type": "x", "value": MARK},
    }]);
    document["metadata"] = json!({"component_type": "Odd", "id": {"password": MARK}, "name": {"password": MARK},
        "agentspec_version": {"password": MARK}, "access_tokens": [MARK],
        "extra_headers": {"x-api-key": MARK}, "Env": [{"name": "API_KEY", "value": MARK}],
        (format!("https://joe:{MARK}@git/")): 1});
    assert_hidden(&document, &options());
}

#[test]
fn things_show_nothing_that_their_originals_hide() {
    let mut document = remote_tool();
    document["sensitive_headers"] = json!({"$component_ref": "creds"});
    document["query_params"] = json!({"$component_ref": "creds"});
    document["metadata"] = json!({"$component_ref": "creds"});
    document["$referenced_components"] = json!({"creds": {"X-Tenant": MARK, "days": "{{days}}"}});
    assert_hidden(&document, &options());
    let definitions = document.as_object_mut().unwrap().remove("$referenced_components").unwrap();
    document["description"] = json!({"$component_ref": "db_password"});
    let mut definitions = json!({"$referenced_components": definitions});
    definitions["$referenced_components"]["db_password"] = MARK.into();
    let (document, beside) = (document.to_string(), definitions.to_string());
    let configuration =
        Configuration::parse(document.as_bytes(), Syntax::Json, &[(beside.as_bytes(), Syntax::Json)]).unwrap();
    let result = configuration.to_things(&options());
    assert_unmarked("", &everything(&result));
    assert!(result.is_ok());
}

#[test]
fn everything_hidden_is_a_warning_that_does_not_repeat_it() {
    let mut document = agent();
    document["llm_config"]["api_key"] = MARK.into();
    document["description"] = format!("Ask https://joe:{MARK}@h/ for it.").into();
    document["metadata"] = json!({"password": MARK, "cost_per_token": 0.00002, "eos_token": "<|end_of_text|>",
        "note": format!("Authorization: Bearer {MARK}9876"), "credentials_provider": "aws-secrets-manager"});
    let conversion = assert_hidden(&document, &options());
    let found: Vec<_> =
        conversion.warnings.iter().map(|warning| (warning.pointer.as_str(), warning.rule.as_ref())).collect();
    assert_eq!(
        found,
        [
            ("/description", "user-info"),
            ("/llm_config/api_key", "secret-field"),
            ("/metadata/note", "secret-value"),
            ("/metadata/password", "secret-name"),
            ("/system_prompt", "hidden-prompt"),
            ("", "no-endpoint"),
        ]
    );
    let metadata = &thing(&document, &options())["agentspec:metadata"]["@value"];
    assert_eq!(metadata["note"], "Authorization: Bearer [redacted]");
    for name in ["cost_per_token", "eos_token", "credentials_provider"] {
        assert_eq!(metadata[name], document["metadata"][name]);
    }
}

#[test]
fn ids_of_contents_are_those_of_what_was_sent() {
    let id = |key: &str| {
        let mut document = agent();
        document.as_object_mut().unwrap().remove("id");
        document["llm_config"]["api_key"] = json!({"$component_ref": "k"});
        document["$referenced_components"] = json!({"k": key});
        assert_hidden(&document, &options()).things[0].id.clone()
    };
    assert_eq!(id(MARK), id(MARK));
    assert_ne!(id(MARK), id(&format!("{MARK}-2")));
}

#[test]
fn long_ids_do_not_multiply_what_is_kept() {
    let mut document = agent();
    let secrets = |name: &str| vec![json!({ name: MARK }); 2000];
    document["llm_config"]["id"] = "a".repeat(100_000).into();
    document["llm_config"]["metadata"] = json!({"l": secrets("pwd"), ("m".repeat(100_000)): secrets("pwd")});
    let conversion = assert_hidden(&document, &options());
    let most = document.to_string().len() + 4000 * 450;
    assert!(conversion.things[0].source.bytes.len() < most, "{}", conversion.things[0].source.bytes.len());
    let kept = kept_value(&conversion, 0);
    assert_ne!(kept["llm_config"]["metadata"]["l"][0], kept["llm_config"]["metadata"]["l"][1]);
}

#[test]
fn what_was_hidden_under_a_long_id_is_read_as_held_back() {
    let mut document = remote_tool();
    document["id"] = "long-".repeat(60).into();
    document["sensitive_headers"] = json!({"X-Foo": MARK});
    let conversion = assert_hidden(&document, &options());
    let kept = kept_value(&conversion, 0);
    assert!(kept["sensitive_headers"]["$component_ref"].as_str().unwrap().starts_with("long-"));
    assert_eq!(kept_value(&convert(&kept, &options()).unwrap(), 0), kept);
}
