//! What becomes of the parts of a configuration.

use super::*;

#[test]
fn agent_without_an_endpoint_has_a_capability_and_a_warning() {
    let conversion = convert(&agent(), &options()).unwrap();
    let rules: Vec<_> = conversion.warnings.iter().map(|warning| warning.rule.as_ref()).collect();
    assert_eq!(rules, ["no-endpoint"]);
    assert!(conversion.warnings[0].message.contains("--base"));
    let thing = thing(&agent(), &options());
    assert_eq!(thing["@type"], json!(["lmos:Agent", "agentspec:Agent"]));
    assert_eq!((&thing["id"], &thing["agentspec:id"]), (&json!("urn:agentspec:local:weather"), &json!("weather")));
    assert_eq!((&thing["title"], &thing["description"]), (&json!("Weather agent"), &json!("Knows the weather.")));
    assert_eq!(thing["agentspec:specVersion"], "26.1.2");
    assert!(thing.get("actions").is_none() && thing.get("properties").is_none());
    let capability = &thing["lmos:capabilities"][0];
    assert_eq!((&capability["id"], &capability["name"]), (&json!("invoke"), &json!("Weather agent")));
    assert_eq!(capability["agentspec:input"]["required"], json!(["city"]));
    assert!(!conversion.things[0].description.text().contains("href\":\"http"), "a form was made up");
}

#[test]
fn base_gives_forms_and_the_configuration_of_the_model() {
    let thing = thing(&agent(), &with_base());
    let invoke = &thing["actions"]["invoke"];
    assert_eq!(invoke["forms"][0]["href"], "https://host/agents/weather/actions/invoke");
    let input = json!({
        "type": "object", "required": ["city"], "properties": {
            "city": {"title": "city", "type": "string"},
            "language": {"title": "language", "type": "string", "default": "en"},
        },
    });
    assert_eq!(invoke["input"], input);
    let report = &invoke["output"]["properties"]["report"];
    assert_eq!(*report, json!({"title": "report", "oneOf": [{"type": "string"}, {"type": "null"}]}));
    assert_eq!(
        thing["agentspec:model"],
        json!({"modelName": "gpt-4o", "provider": "openai", "temperature": 0.5, "maxTokens": 100})
    );
    let model = &thing["properties"]["modelConfiguration"];
    assert_eq!(model["forms"][0]["href"], "https://host/agents/weather/properties/modelConfiguration");
    assert_eq!(model["properties"]["maxTokens"], json!({"type": "integer", "const": 100}));
    assert_eq!(model["readOnly"], true);
}

#[test]
fn base_that_forms_cannot_stand_on_is_refused_without_being_quoted() {
    for base in ["host/x", "ftp://host/", "https://joe:hunter2@host/", "https://host/?key=hunter2"] {
        let report = refusal(&agent(), &Options { base: Some(base.into()), ..options() });
        assert_eq!(report.violations[0].rule, "invalid-base");
        assert!(!report.to_string().contains("hunter2"));
    }
}

#[test]
fn own_tools_are_listed_and_linked_but_no_actions() {
    let thing = thing(&agent(), &with_base());
    let tool = &thing["agentspec:tools"][0];
    assert_eq!((&tool["name"], &tool["description"]), (&json!("rain_radar"), &json!("Sees rain.")));
    assert_eq!(tool["inputs"]["properties"]["region"]["type"], "string");
    assert_eq!(tool["outputs"]["properties"]["picture"]["type"], "string");
    assert_eq!(thing["actions"].as_object().unwrap().len(), 1);
    let link = json!({"rel": "agentspec:tool", "href": "urn:agentspec:local:radar", "type": "application/td+json"});
    assert_eq!(thing["links"], json!([link]));
}

#[test]
fn remote_tool_is_called_by_its_url() {
    let thing = thing(&remote_tool(), &options());
    assert_eq!(thing["@type"], json!(["lmos:Tool", "agentspec:RemoteTool"]));
    let invoke = &thing["actions"]["invoke"];
    let form = json!({
        "op": "invokeaction", "href": "https://weather.example/{city}?days={days}&lang=en", "contentType": "application/json",
        "htv:methodName": "POST", "agentspec:data": {"text": "{{note}}"},
    });
    assert_eq!(invoke["forms"], json!([form]));
    assert_eq!(invoke["uriVariables"]["days"], json!({"title": "days", "type": "integer", "default": 3}));
    assert_eq!(invoke["input"]["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["note"]);
    assert_eq!(thing["securityDefinitions"], json!({"nosec_sc": {"scheme": "nosec"}}));
}

#[test]
fn url_that_is_no_address_makes_no_form() {
    for url in ["weather.example/{{city}}", "{{city}}:x/ y", ""] {
        let mut tool = remote_tool();
        tool["url"] = url.into();
        tool["inputs"] = json!([{"title": "city", "type": "string"}, {"title": "days", "type": "integer"}, {"title": "note", "type": "string"}]);
        if !url.contains("city") {
            tool["data"] = json!({"text": "{{note}} {{city}}"});
        }
        let described = thing(&tool, &options());
        let is_template = url.starts_with('{');
        assert_eq!(described.get("actions").is_some(), is_template, "{url}: {described}");
    }
}

#[test]
fn remote_agents_and_mcp_servers_have_forms_of_their_protocol() {
    let agent = thing(&a2a_agent(), &options());
    assert_eq!(agent["id"], "urn:uuid:9f8a3a7a-1f97-4e6b-b45f-f3c2e1c84c77");
    let form = &agent["actions"]["invoke"]["forms"][0];
    assert_eq!((&form["href"], &form["subprotocol"]), (&json!("https://agents.example/a2a"), &json!("a2a")));
    let tool = thing(&mcp_tool(json!({})), &options());
    let form = &tool["actions"]["invoke"]["forms"][0];
    assert_eq!((&form["href"], &form["subprotocol"]), (&json!("https://mcp.example/mcp"), &json!("mcp")));
    let mut toolbox = mcp_tool(json!({}));
    toolbox["component_type"] = "MCPToolBox".into();
    toolbox["tool_filter"] = json!(["add", {
        "component_type": "MCPToolSpec", "id": "s", "name": "sub", "description": "Subtracts.",
        "inputs": [{"title": "a", "type": "number"}],
    }]);
    for name in ["inputs", "outputs"] {
        toolbox.as_object_mut().unwrap().remove(name);
    }
    let toolbox = thing(&toolbox, &options());
    let input = &toolbox["actions"]["invoke"]["input"]["properties"];
    assert_eq!(input["name"], json!({"type": "string", "enum": ["add", "sub"]}));
    assert_eq!(toolbox["agentspec:tools"][1]["inputs"]["properties"]["a"]["type"], "number");
}

#[test]
fn security_is_that_of_the_connection() {
    let of = |transport: Value| {
        let thing = thing(&mcp_tool(transport), &options());
        (thing["securityDefinitions"].clone(), thing["security"].clone())
    };
    let bearer = of(json!({"headers": {"authorization": "Bearer {{query}}"}}));
    assert_eq!(bearer, (json!({"bearer_sc": {"scheme": "bearer", "in": "header"}}), json!("bearer_sc")));
    let key = of(json!({"headers": {"Accept": "x", "X-API-Key": "k"}, "sensitive_headers": {"Tenant": "t"}}));
    assert_eq!(key.0["apikey_sc"], json!({"scheme": "apikey", "in": "header", "name": "X-API-Key"}));
    assert_eq!(key.0["apikey2_sc"]["name"], "Tenant");
    assert_eq!(key.1, json!(["apikey_sc", "apikey2_sc"]));
    let url = of(json!({"url": "https://joe:pw@mcp.example/mcp?api_key=k"}));
    assert_eq!(url.0["basic_sc"], json!({"scheme": "basic", "in": "header"}));
    assert_eq!(url.0["apikey_sc"], json!({"scheme": "apikey", "in": "query", "name": "api_key"}));
    let withheld = of(json!({"sensitive_headers": {"$component_ref": "transport.sensitive_headers"}}));
    assert_eq!(withheld.0, json!({"auto_sc": {"scheme": "auto"}}));
    let certificate = of(json!({
        "component_type": "SSEmTLSTransport", "key_file": "k", "cert_file": "c", "ca_file": "a",
    }));
    assert_eq!(certificate.0, json!({"mutualTLS_sc": {"scheme": "agentspec:mutualTLS"}}));
    let oauth = of(json!({"auth": {
        "component_type": "OAuthConfig", "id": "o", "name": "o", "redirect_uri": "https://h/back", "scopes": "read write",
        "endpoints": {"authorization_endpoint": "https://h/auth", "token_endpoint": "https://h/token"},
        "client": {"component_type": "OAuthClientConfig", "id": "c", "name": "c", "type": "dynamic_registration"},
    }}));
    let scheme = json!({
        "scheme": "oauth2", "flow": "code", "authorization": "https://h/auth", "token": "https://h/token",
        "scopes": ["read", "write"],
    });
    assert_eq!(oauth.0, json!({"oauth2_sc": scheme}));
    let discovered = of(json!({"auth": {
        "component_type": "OAuthConfig", "id": "o", "name": "o", "redirect_uri": "https://h/back", "scopes": "read",
        "issuer": "https://h", "client": {"component_type": "OAuthClientConfig", "id": "c", "name": "c", "type": "dynamic_registration"},
    }}));
    let scheme = json!({"scheme": "agentspec:oauth2", "scopes": ["read"], "agentspec:issuer": "https://h"});
    assert_eq!(discovered.0, json!({"oauth2_sc": scheme}));
}

#[test]
fn client_of_oci_is_a_scheme_of_its_own() {
    let agent = json!({
        "component_type": "OciAgent", "agentspec_version": "25.4.2", "id": "o", "name": "o", "agent_endpoint_id": "ocid1",
        "client_config": {
            "component_type": "OciClientConfigWithApiKey", "id": "c", "name": "c", "service_endpoint": "https://oci.example",
            "auth_type": "API_KEY", "auth_profile": "DEFAULT", "auth_file_location": "~/.oci/config",
        },
    });
    let thing = thing(&agent, &options());
    assert_eq!(
        thing["securityDefinitions"]["oci_sc"],
        json!({"scheme": "agentspec:oci", "agentspec:authType": "API_KEY"})
    );
}

#[test]
fn parts_are_links_and_become_things_on_demand() {
    let mut specialised = json!({
        "component_type": "SpecializedAgent", "id": "special", "name": "special", "agent": agent(),
        "agent_specialization_parameters": {
            "component_type": "AgentSpecializationParameters", "id": "p", "name": "p",
            "additional_tools": [remote_tool(), {"component_type": "ServerTool", "id": "clock", "name": "clock"}],
        },
    });
    for pointer in ["/agent", "/agent_specialization_parameters/additional_tools/0"] {
        specialised.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove("agentspec_version");
    }
    let document = json!({
        "component_type": "Swarm", "agentspec_version": "26.1.2", "id": "swarm", "name": "swarm",
        "first_agent": specialised, "relationships": [[{"$component_ref": "other"}, {"$component_ref": "remote"}]],
        "$referenced_components": {"other": {
            "component_type": "A2AAgent", "id": "other", "name": "other", "agent_url": "https://h/a",
            "connection_config": {"component_type": "A2AConnectionConfig", "id": "c", "name": "c"},
        }, "remote": {
            "component_type": "A2AAgent", "id": "remote", "name": "remote", "agent_url": "https://h/b",
            "connection_config": {"$component_ref": "c2"},
        }, "c2": {"component_type": "A2AConnectionConfig", "id": "c2", "name": "c2"}},
    });
    let links = |thing: &Value| -> Vec<String> {
        let links = thing["links"].as_array().unwrap().iter();
        links
            .map(|link| {
                format!(
                    "{} {}",
                    link["rel"].as_str().unwrap(),
                    link["href"].as_str().unwrap().rsplit(':').next().unwrap()
                )
            })
            .collect()
    };
    let swarm = thing(&document, &options());
    assert_eq!(links(&swarm), ["agentspec:firstAgent special", "agentspec:member other", "agentspec:member remote"]);
    let things_of = |options: Options| -> Vec<String> {
        let conversion = convert(&document, &options).unwrap();
        check(&conversion);
        conversion.things.iter().map(|thing| thing.id.rsplit(':').next().unwrap().to_owned()).collect()
    };
    assert_eq!(things_of(options()), ["swarm"]);
    assert_eq!(things_of(Options { tools: true, ..options() }), ["swarm", "forecast"]);
    let nested = Options { nested: true, ..with_base() };
    assert_eq!(things_of(nested.clone()), ["swarm", "special", "other", "remote", "weather", "forecast"]);
    let conversion = convert(&document, &nested).unwrap();
    let special: Value = serde_json::from_str(conversion.things[1].description.text()).unwrap();
    assert_eq!(links(&special), ["agentspec:agent weather", "agentspec:tool forecast", "agentspec:tool clock"]);
    let names: Vec<_> = special["agentspec:tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["rain_radar", "forecast", "clock"]);
    assert!(special.get("actions").is_none(), "the base is that of the whole");
    assert_eq!(special["agentspec:model"]["modelName"], "gpt-4o");
}

#[test]
fn component_without_an_id_has_one_of_its_content_without_secrets_and_prompts() {
    let id_of = |change: &dyn Fn(&mut Value)| {
        let mut document = agent();
        document.as_object_mut().unwrap().remove("id");
        change(&mut document);
        thing(&document, &options())["id"].as_str().unwrap().to_owned()
    };
    let id = id_of(&|_| {});
    assert!(id.starts_with("urn:uuid:") && id.as_bytes()[23] == b'5', "{id}");
    assert_eq!(
        id_of(&|document| document["llm_config"]["api_key"] = "hunter2".into()),
        id_of(&|document| document["llm_config"]["api_key"] = "other".into())
    );
    assert_eq!(id_of(&|document| document["system_prompt"] = "{{city}}, {{language}}!".into()), id);
    assert_ne!(id_of(&|document| document["name"] = "Other".into()), id);
}

#[test]
fn root_without_a_thing_is_refused_as_such() {
    for mut document in [agent()["llm_config"].clone(), agent()["tools"][0].clone()] {
        document["agentspec_version"] = "26.1.2".into();
        let report = refusal(&document, &options());
        assert_eq!(report.violations.len(), 1, "{report}");
        assert_eq!(report.violations[0].rule, "no-thing");
    }
    let stdio = json!({"component_type": "StdioTransport", "command": "uvx"});
    let mut tool = mcp_tool(stdio);
    tool["client_transport"].as_object_mut().unwrap().remove("url");
    assert_eq!(refusal(&tool, &with_base()).violations[0].rule, "no-thing");
}

#[test]
fn thing_model_needs_no_endpoint() {
    let options = Options { thing_model: true, ..options() };
    let conversion = convert(&agent(), &options).unwrap();
    assert!(conversion.warnings.is_empty(), "{:?}", conversion.warnings);
    let model: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    assert_eq!(model["@type"], json!(["tm:ThingModel", "lmos:Agent", "agentspec:Agent"]));
    assert_eq!(model["actions"]["invoke"]["input"]["required"], json!(["city"]));
    assert!(model["actions"]["invoke"].get("forms").is_none());
    assert_eq!(model["properties"]["modelConfiguration"]["properties"]["modelName"]["const"], "gpt-4o");
    assert!(thing(&a2a_agent(), &options)["actions"]["invoke"].get("forms").is_some());
}

#[test]
fn description_beyond_the_limits_is_refused() {
    let mut document = agent();
    document["description"] = "x".repeat(agentdex::td::MAX_DOCUMENT_BYTES).into();
    assert!(matches!(convert(&document, &options()), Err(Error::LimitExceeded { .. })));
    let mut deep = json!({"type": "string"});
    for _ in 0..25 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    deep["title"] = "report".into();
    document = agent();
    document["outputs"] = json!([deep]);
    let thing = thing(&document, &with_base());
    let output = &thing["actions"]["invoke"]["output"]["properties"]["report"];
    assert!(output.get("agentspec:jsonSchema").is_none() && output["properties"]["x"]["type"] == "object");
    document["id"] = "é".repeat(400).into();
    assert!(matches!(
        convert(&document, &options()),
        Err(Error::LimitExceeded { what: "length of the id in bytes", .. })
    ));
}

#[test]
fn what_a_data_schema_lacks_is_kept_exactly() {
    let mut document = agent();
    let schema = json!({"title": "report", "type": "object", "additionalProperties": {"type": "string"}});
    document["outputs"] = json!([schema]);
    let report = &thing(&document, &with_base())["actions"]["invoke"]["output"]["properties"]["report"];
    assert_eq!((&report["type"], &report["agentspec:jsonSchema"]), (&json!("object"), &schema));
}

#[test]
fn parts_with_one_id_are_one_thing_with_a_warning() {
    let uuid = "6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77";
    let [tool, same] = [uuid.to_owned(), format!("urn:uuid:{uuid}")].map(
        |id| json!({"component_type": "RemoteTool", "id": id, "name": "t", "url": "https://h/x", "http_method": "GET"}),
    );
    let agent = json!({
        "component_type": "Agent", "agentspec_version": "26.3.1", "id": "a", "name": "a", "system_prompt": "",
        "llm_config": {"component_type": "VllmConfig", "id": "l", "name": "l", "model_id": "m", "url": "http://h"},
        "tools": [tool, same],
    });
    let conversion = convert(&agent, &Options { tools: true, ..Options::default() }).unwrap();
    assert_eq!(conversion.things.len(), 2);
    let warning = conversion.warnings.iter().find(|warning| warning.rule == "thing-id-repeated").unwrap();
    assert_eq!(warning.pointer, "/tools/1");
}

#[test]
fn headers_that_are_not_shown_are_told() {
    let tool = json!({
        "component_type": "RemoteTool", "agentspec_version": "26.3.1", "id": "t", "name": "t", "url": "https://h/x",
        "http_method": "GET", "headers": {"X-All": "{{all}}", "X-Plain": "v1", "X-Some": "v1-{{some}}"},
    });
    let conversion = convert(&tool, &Options::default()).unwrap();
    let found: Vec<_> = conversion.warnings.iter().filter(|warning| warning.rule == "header-not-shown").collect();
    assert_eq!(found.iter().map(|warning| warning.pointer.as_str()).collect::<Vec<_>>(), ["/headers/X-Some"]);
    let thing: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    assert_eq!(thing["actions"]["invoke"]["forms"][0]["agentspec:headers"], json!({"X-All": "{{all}}"}));
}
