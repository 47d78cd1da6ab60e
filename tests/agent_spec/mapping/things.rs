//! What becomes of the parts of a configuration.

use agentdex::convert::{
    agent_spec,
    mcp_server::{DocumentKind, from_thing},
};

use super::*;

#[test]
fn agent_without_an_endpoint_has_a_capability_and_a_warning() {
    let conversion = convert(&agent(), &options()).unwrap();
    let rules: Vec<_> = conversion.warnings.iter().map(|warning| warning.rule.as_ref()).collect();
    assert_eq!(rules, ["hidden-prompt", "no-endpoint"]);
    assert!(conversion.warnings[1].message.contains("--base"));
    let thing = thing(&agent(), &options());
    assert_eq!(thing["@type"], json!(["lmos:Agent", "agentspec:Agent"]));
    assert_eq!((&thing["id"], &thing["agentspec:id"]), (&json!("urn:agentspec:local:weather"), &json!("weather")));
    assert_eq!((&thing["title"], &thing["description"]), (&json!("Weather agent"), &json!("Knows the weather.")));
    assert_eq!(thing["agentspec:specVersion"], "26.1.2");
    assert!(thing.get("actions").is_none() && thing.get("properties").is_none());
    let capability = &thing["lmos:capabilities"][0];
    assert_eq!((&capability["lmos:id"], &capability["lmos:name"]), (&json!("weather-agent"), &json!("Weather agent")));
    assert_eq!(capability["agentspec:input"]["required"], json!(["city"]));
    assert!(!conversion.things[0].description.text().contains("href\":\"http"), "a form was made up");
}

#[test]
fn base_is_the_address_of_the_agent() {
    let thing = thing(&agent(), &with_base());
    let action = &thing["actions"]["weather-agent"];
    let form = json!({
        "op": "invokeaction", "href": "https://host/agents/weather", "contentType": "application/json", "htv:methodName": "POST",
    });
    assert_eq!(action["forms"], json!([form]));
    let input = json!({
        "type": "object", "required": ["city"], "properties": {
            "city": {"title": "city", "type": "string"},
            "language": {"title": "language", "type": "string", "default": "en"},
        },
    });
    assert_eq!(action["input"], input);
    let report = &action["output"]["properties"]["report"];
    assert_eq!(*report, json!({"title": "report", "oneOf": [{"type": "string"}, {"type": "null"}]}));
    let model = json!({
        "agentspec:modelName": "gpt-4o", "agentspec:provider": "openai", "agentspec:temperature": 0.5, "agentspec:maxTokens": 100,
    });
    assert_eq!(thing["agentspec:model"], model);
    assert!(thing.get("properties").is_none());
    assert_eq!(thing["securityDefinitions"], json!({"auto_sc": {"scheme": "auto"}}));
}

#[test]
fn base_may_be_that_of_an_a2a_agent() {
    let thing = thing(&agent(), &Options { protocol: Protocol::A2a, ..with_base() });
    let form = json!({
        "op": "invokeaction", "href": "https://host/agents/weather", "contentType": "application/json", "subprotocol": "a2a",
        "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0", "a2a:method": "SendMessage", "htv:methodName": "POST",
        "htv:headers": [{"htv:fieldName": "A2A-Version", "htv:fieldValue": "1.0"}],
    });
    assert_eq!(thing["actions"]["weather-agent"]["forms"], json!([form]));
}

#[test]
fn agents_that_share_a_call_need_addresses_of_their_own() {
    let mut worker = agent();
    worker.as_object_mut().unwrap().remove("agentspec_version");
    let mut other = worker.clone();
    (other["id"], other["llm_config"]["id"], other["tools"]) = ("other".into(), "llm2".into(), json!([]));
    let team = json!({
        "component_type": "ManagerWorkers", "agentspec_version": "26.1.2", "id": "team", "name": "The team",
        "group_manager": worker, "workers": [other],
    });
    let nested = Options { nested: true, ..with_base() };
    assert_eq!(refusal(&team, &nested).violations[0].rule, "invalid-base");
    let nested = Options { base: Some("https://host/agents/{id}?".trim_end_matches('?').into()), ..nested };
    let conversion = convert(&team, &nested).unwrap();
    let hrefs: Vec<String> = conversion
        .things
        .iter()
        .map(|thing| {
            let thing: Value = serde_json::from_str(thing.description.text()).unwrap();
            let (_, action) = thing["actions"].as_object().unwrap().iter().next().unwrap();
            action["forms"][0]["href"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(hrefs, ["https://host/agents/team", "https://host/agents/weather", "https://host/agents/other"]);
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
fn own_tools_are_capabilities_and_nothing_dangles() {
    let thing = thing(&agent(), &with_base());
    let tool = json!({
        "lmos:id": "rain_radar", "lmos:name": "rain_radar", "lmos:description": "Sees rain.",
        "agentspec:componentType": "ServerTool",
        "agentspec:input": {"type": "object", "properties": {"region": {"title": "region", "type": "string"}}, "required": ["region"]},
        "agentspec:output": {"type": "object", "properties": {"picture": {"title": "picture", "type": "string"}}, "required": ["picture"]},
    });
    assert_eq!(thing["lmos:capabilities"], json!([tool]));
    assert_eq!(thing["actions"].as_object().unwrap().len(), 1);
    assert!(thing.get("links").is_none());
    let keys: Vec<_> = agentdex::td::capabilities(&thing).iter().map(|found| found.key().to_owned()).collect();
    assert_eq!(keys, ["rain_radar", "weather-agent"]);
}

#[test]
fn members_and_steps_are_capabilities_with_who_has_them() {
    let mut worker = agent();
    worker.as_object_mut().unwrap().remove("agentspec_version");
    let mut billing = worker.clone();
    (billing["id"], billing["name"], billing["llm_config"]["id"]) =
        ("billing".into(), "Billing desk".into(), "llm2".into());
    billing["tools"] = json!([{"component_type": "ServerTool", "id": "refund", "name": "refund_order"}]);
    let team = json!({
        "component_type": "Swarm", "agentspec_version": "26.1.2", "id": "team", "name": "Support desk",
        "first_agent": {"$component_ref": "weather"}, "relationships": [[{"$component_ref": "weather"}, billing]],
        "$referenced_components": {"weather": worker},
    });
    let team = thing(&team, &options());
    let found = team["lmos:capabilities"].as_array().unwrap().iter();
    let found: Vec<_> =
        found.map(|entry| (entry["lmos:id"].as_str().unwrap(), entry["agentspec:via"].as_str())).collect();
    assert_eq!(
        found,
        [
            ("support-desk", None),
            ("weather-agent", Some("weather")),
            ("rain_radar", Some("weather")),
            ("billing-desk", Some("billing")),
            ("refund_order", Some("billing")),
        ]
    );
}

#[test]
fn remote_tool_is_called_by_its_url() {
    let thing = thing(&remote_tool(), &options());
    assert_eq!(thing["@type"], json!(["lmos:Tool", "agentspec:RemoteTool"]));
    let action = &thing["actions"]["forecast"];
    let form = json!({
        "op": "invokeaction", "href": "https://weather.example/{city}?days={days}&lang=en", "contentType": "application/json",
        "htv:methodName": "POST", "agentspec:request": {"@type": "@json", "@value": {"data": {"text": "{{note}}"}}},
    });
    assert_eq!(action["forms"], json!([form]));
    assert_eq!(action["uriVariables"]["days"], json!({"title": "days", "type": "integer", "default": 3}));
    let input = json!({
        "type": "object", "required": ["city", "note"], "properties": {
            "city": {"title": "city", "type": "string"}, "days": {"title": "days", "type": "integer", "default": 3},
            "note": {"title": "note", "type": "string"},
        },
    });
    assert_eq!(action["input"], input);
    assert_eq!(thing["securityDefinitions"], json!({"auto_sc": {"scheme": "auto"}}));
}

#[test]
fn template_of_a_request_is_kept_with_the_form() {
    let mut tool = remote_tool();
    tool["data"] =
        json!({"n": "{{days}}", "fixed": 3, "text": "for {{city}}", "list": ["{{note}}", true], "{{city}}": 1});
    let before = thing(&remote_tool(), &options());
    let action = &thing(&tool, &options())["actions"]["forecast"];
    assert_eq!(action["forms"][0]["agentspec:request"]["@value"]["data"], tool["data"]);
    assert_eq!(action["input"], before["actions"]["forecast"]["input"], "the inputs are those of the tool");
    tool["data"] = "Say {{note}}".into();
    let action = &thing(&tool, &options())["actions"]["forecast"];
    assert_eq!(action["forms"][0]["contentType"], "text/plain");
    tool["http_method"] = "{{note}}".into();
    let action = &thing(&tool, &options())["actions"]["forecast"];
    assert_eq!(action["forms"][0]["agentspec:request"]["@value"]["http_method"], "{{note}}");
    assert!(action["forms"][0].get("htv:methodName").is_none() && action.get("idempotent").is_none(), "{action}");
    for method in ["GET", "head"] {
        tool["http_method"] = method.into();
        let action = &thing(&tool, &options())["actions"]["forecast"];
        assert_eq!((&action["safe"], &action["idempotent"]), (&json!(true), &json!(true)));
        assert_eq!(action["forms"][0]["agentspec:request"]["@value"]["data"], tool["data"]);
    }
}

#[test]
fn headers_are_said_or_grant_access() {
    let mut tool = remote_tool();
    tool["headers"] = json!({
        "Authorization": "Bearer {{note}}", "X-Api-Key": "{{note}}", "Accept": "text/plain", "X-Tenant": "{{note}}",
        "Content-Type": "application/x-www-form-urlencoded",
    });
    tool["data"] = json!({"q": "{{city}}"});
    let thing = thing(&tool, &options());
    let form = &thing["actions"]["forecast"]["forms"][0];
    assert_eq!(form["htv:headers"], json!([{"htv:fieldName": "Accept", "htv:fieldValue": "text/plain"}]));
    let open = json!({"Authorization": "Bearer {{note}}", "X-Api-Key": "{{note}}", "X-Tenant": "{{note}}"});
    assert_eq!(form["agentspec:request"]["@value"]["headers"], open);
    assert_eq!(form["contentType"], "application/x-www-form-urlencoded");
    let schemes = json!({
        "bearer_sc": {"scheme": "bearer", "in": "header"}, "apikey_sc": {"scheme": "apikey", "in": "header", "name": "X-Api-Key"},
    });
    assert_eq!(thing["securityDefinitions"], schemes);
    assert_eq!(thing["actions"]["forecast"]["input"]["required"], json!(["city", "note"]), "X-Tenant needs it");
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
    let form = json!({
        "op": "invokeaction", "href": "https://agents.example/a2a", "contentType": "application/json", "subprotocol": "a2a",
        "a2a:binding": "JSONRPC", "a2a:protocolVersion": "0.3", "a2a:method": "message/send", "htv:methodName": "POST",
        "a2a:agentCard": "https://agents.example/a2a",
    });
    assert_eq!(agent["actions"]["Remote"]["forms"], json!([form]));
    let tool = thing(&mcp_tool(json!({})), &options());
    let form = &tool["actions"]["search"]["forms"][0];
    assert_eq!((&form["href"], &form["subprotocol"]), (&json!("https://mcp.example/mcp"), &json!("mcp")));
    assert_eq!((&form["mcp:method"], &form["mcp:tool"]), (&json!("tools/call"), &json!("search")));
    let mut toolbox = mcp_tool(json!({}));
    toolbox["component_type"] = "MCPToolBox".into();
    for name in ["inputs", "outputs"] {
        toolbox.as_object_mut().unwrap().remove(name);
    }
    let any = thing(&toolbox, &options());
    assert_eq!(any["actions"]["search"]["input"]["required"], json!(["name"]));
    assert_eq!(any["actions"]["search"]["forms"][0]["mcp:method"], "tools/call");
    toolbox["tool_filter"] = json!(["add", {
        "component_type": "MCPToolSpec", "id": "s", "name": "sub", "description": "Subtracts.",
        "inputs": [{"title": "a", "type": "number"}],
    }]);
    let actions = &thing(&toolbox, &options())["actions"];
    assert_eq!(actions["add"]["forms"][0]["mcp:tool"], "add");
    assert_eq!(actions["sub"]["input"]["properties"]["a"]["type"], "number");
    assert_eq!(actions.as_object().unwrap().len(), 2);
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
    let url = of(json!({"url": "https://joe:pw@mcp.example/mcp?api_key=k1k2k3k4k5"}));
    assert_eq!(url.0["basic_sc"], json!({"scheme": "basic", "in": "header"}));
    assert_eq!(url.0["apikey_sc"], json!({"scheme": "apikey", "in": "query", "name": "api_key"}));
    let withheld = of(json!({"sensitive_headers": {"$component_ref": "transport.sensitive_headers"}}));
    assert_eq!(withheld.0, json!({"sensitiveHeaders_sc": {"scheme": "agentspec:sensitiveHeaders"}}));
    let transport = json!({"sensitive_headers": {"$component_ref": "transport.sensitive_headers"}});
    let asked =
        thing(&mcp_tool(transport), &agent_spec::Options { security: agent_spec::Security::Bearer, ..options() });
    assert_eq!(asked["securityDefinitions"], json!({"bearer_sc": {"scheme": "bearer", "in": "header"}}));
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
fn names_of_sensitive_headers_stay_in_the_own_export() {
    let headers = json!({"Authorization": "Bearer abc", "X-Tenant": "t1"});
    let mut tool = remote_tool();
    tool["sensitive_headers"] = headers.clone();
    tool["metadata"] = json!({"team": "weather"});
    for document in [tool, mcp_tool(json!({"sensitive_headers": headers}))] {
        let conversion = convert(&document, &options()).unwrap();
        let (sent, kept) = (conversion.things[0].description.value(), conversion.things[0].source.bytes.clone());
        let kept = String::from_utf8(kept).unwrap();
        assert!(!kept.contains("abc") && !kept.contains("t1"), "{kept}");
        let again = convert_text(&kept.replace("forecast\"", "prognosis\""), Syntax::Json, &options()).unwrap();
        let read = again.things[0].description.value();
        assert_eq!(read["securityDefinitions"], sent["securityDefinitions"], "{kept}");
        let names: Vec<_> = read["securityDefinitions"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["apikey_sc", "bearer_sc"]);
        assert_eq!(sent.get("agentspec:metadata").is_some(), document.get("metadata").is_some());
        assert!(!sent.to_string().contains("sensitiveHeaders"), "{sent}");
        // What is supplied again is what counts.
        let mut supplied: Value = serde_json::from_str(&kept).unwrap();
        let place = if supplied.get("client_transport").is_some() { "/client_transport" } else { "" };
        supplied.pointer_mut(place).unwrap()["sensitive_headers"] = json!({"X-Other": "k"});
        let thing = thing(&supplied, &options());
        assert_eq!(
            thing["securityDefinitions"],
            json!({"apikey_sc": {"scheme": "apikey", "in": "header", "name": "X-Other"}})
        );
    }
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
    assert!(thing(&document, &options()).get("links").is_none(), "none of the others is there");
    let things_of = |options: Options| -> Vec<String> {
        let conversion = convert(&document, &options).unwrap();
        check(&conversion);
        conversion.things.iter().map(|thing| thing.id.rsplit(':').next().unwrap().to_owned()).collect()
    };
    assert_eq!(things_of(options()), ["swarm"]);
    assert_eq!(things_of(Options { tools: true, ..options() }), ["swarm", "forecast"]);
    let nested = Options { nested: true, base: Some("https://host/{name}".into()), ..options() };
    assert_eq!(things_of(nested.clone()), ["swarm", "special", "other", "remote", "weather", "forecast"]);
    let conversion = convert(&document, &nested).unwrap();
    let special: Value = serde_json::from_str(conversion.things[1].description.text()).unwrap();
    assert_eq!(links(&special), ["agentspec:agent weather", "agentspec:tool forecast"]);
    let names: Vec<_> = special["lmos:capabilities"].as_array().unwrap().iter().map(|tool| &tool["lmos:id"]).collect();
    assert_eq!(names, ["rain_radar", "forecast", "clock"]);
    assert_eq!(special["actions"]["special"]["forms"][0]["href"], "https://host/special");
    let swarm: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    assert_eq!(links(&swarm), ["agentspec:firstAgent special", "agentspec:member other", "agentspec:member remote"]);
    assert_eq!(special["agentspec:model"]["agentspec:modelName"], "gpt-4o");
}

#[test]
fn component_without_an_id_has_one_of_what_was_sent() {
    let id_of = |change: &dyn Fn(&mut Value)| {
        let mut document = agent();
        document.as_object_mut().unwrap().remove("id");
        change(&mut document);
        thing(&document, &options())["id"].as_str().unwrap().to_owned()
    };
    let id = id_of(&|_| {});
    assert!(id.starts_with("urn:uuid:") && id.as_bytes()[23] == b'5', "{id}");
    assert_eq!(id_of(&|_| {}), id);
    assert_ne!(id_of(&|document| document["llm_config"]["api_key"] = "hunter2".into()), id);
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
}

#[test]
fn tool_in_a_program_is_a_capability_with_its_command() {
    let stdio = json!({
        "component_type": "StdioTransport", "command": "uvx", "args": ["search-server", "--token", "sk-0123456789abcdefghijklmn"],
        "env": {"API_KEY": "hunter2"}, "cwd": "/srv",
    });
    let mut tool = mcp_tool(stdio);
    tool["client_transport"].as_object_mut().unwrap().remove("url");
    let conversion = convert(&tool, &options()).unwrap();
    assert!(!conversion.warnings.iter().any(|warning| warning.rule == "no-endpoint"), "{:?}", conversion.warnings);
    let thing = thing(&tool, &options());
    assert_eq!(thing["@type"], json!(["lmos:Tool", "agentspec:MCPTool"]));
    assert_eq!(thing["lmos:capabilities"][0]["lmos:id"], "search");
    let command = json!(["uvx", "search-server", "--token", "<secret>"]);
    let variables = json!([{"mcp:name": "API_KEY", "mcp:isRequired": true}]);
    assert_eq!(
        thing["mcp:packages"],
        json!([{
            "mcp:transport": {"mcp:type": "stdio"}, "mcp:command": command, "mcp:environmentVariables": variables,
            "agentspec:workingDirectory": "/srv",
        }])
    );
    // It is no package of a registry.
    assert!(from_thing(&thing, DocumentKind::ServerJson).is_err());
}

#[test]
fn certificates_that_need_not_be_verified_are_warned_of() {
    for (verify, expected) in [(true, 0), (false, 1)] {
        let agent = json!({
            "component_type": "A2AAgent", "agentspec_version": "26.1.0", "id": "a", "name": "a", "description": "d",
            "inputs": [], "outputs": [], "agent_url": "https://a.example",
            "connection_config": {"component_type": "A2AConnectionConfig", "id": "c", "name": "c", "verify": verify},
        });
        let configuration = Configuration::parse(agent.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        let warnings = configuration.to_things(&options()).unwrap().warnings;
        let unused = warnings.iter().filter(|warning| warning.rule == "option-unused");
        let unused: Vec<&str> = unused.map(|warning| warning.pointer.as_str()).collect();
        assert_eq!(unused, vec!["/connection_config/verify"; expected], "{warnings:?}");
    }
}

#[test]
fn transports_headers_and_times_are_kept_in_both_directions() {
    for (component, transport) in [
        ("SSETransport", "sse"),
        ("SSEmTLSTransport", "sse"),
        ("StreamableHTTPTransport", "streamable-http"),
        ("StreamableHTTPmTLSTransport", "streamable-http"),
    ] {
        let mut tool = mcp_tool(json!({
            "component_type": component, "headers": {"X-Tenant": "acme", "X-Key": "sk-0123456789abcdefghijklmn"},
            "session_parameters": {"read_timeout_seconds": 5.0},
        }));
        if component.contains("mTLS") {
            let files = json!({"key_file": "k.pem", "cert_file": "c.pem", "ca_file": "a.pem"});
            tool["client_transport"].as_object_mut().unwrap().extend(files.as_object().unwrap().clone());
        }
        let thing = thing(&tool, &options());
        let form = &thing["actions"]["search"]["forms"][0];
        assert_eq!(form["mcp:transport"], transport, "{component}");
        assert_eq!(form["htv:headers"], json!([{"htv:fieldName": "X-Tenant", "htv:fieldValue": "acme"}]));
        // What was held back is asked for.
        let key = json!({"scheme": "apikey", "in": "header", "name": "X-Key"});
        let definitions = thing["securityDefinitions"].as_object().unwrap();
        assert!(definitions.values().any(|definition| *definition == key), "{definitions:?}");
        let again = agent_spec::from_thing(&thing).unwrap();
        let again = &again["client_transport"];
        assert_eq!(again["component_type"], component);
        assert_eq!(
            (&again["headers"], &again["url"]),
            (&json!({"X-Tenant": "acme"}), &tool["client_transport"]["url"])
        );
        assert_eq!(again["session_parameters"], json!({"read_timeout_seconds": 5.0}));
        let configuration = agent_spec::from_thing(&thing).unwrap();
        let read = Configuration::parse(configuration.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        for profile in [Profile::Spec, Profile::Sdk] {
            assert!(read.validate(profile).is_valid(), "{profile:?}: {}", read.validate(profile));
        }
        let server = from_thing(&thing, DocumentKind::ServerJson).unwrap();
        let server: Value = serde_json::from_slice(&server.bytes).unwrap();
        let remote = &server["remotes"][0];
        assert_eq!(
            (&remote["type"], &remote["headers"][0]),
            (&json!(transport), &json!({"name": "X-Tenant", "value": "acme"}))
        );
        let tools = &server["_meta"]["io.modelcontextprotocol.registry/publisher-provided"]["tools"];
        assert_eq!(tools[0]["name"], "search");
        assert_eq!(tools[0]["inputSchema"]["properties"]["query"]["type"], "string");
    }
    let mut agent = a2a_agent();
    let connection = agent["connection_config"].as_object_mut().unwrap();
    connection.extend(json!({"headers": {"X-Tenant": "acme"}, "timeout": 7.0}).as_object().unwrap().clone());
    let thing = thing(&agent, &options());
    let form = &thing["actions"]["Remote"]["forms"][0];
    assert_eq!(form["htv:headers"], json!([{"htv:fieldName": "X-Tenant", "htv:fieldValue": "acme"}]));
    let again = agent_spec::from_thing(&thing).unwrap();
    let connection = &again["connection_config"];
    assert_eq!((&connection["headers"], &connection["timeout"]), (&json!({"X-Tenant": "acme"}), &json!(7.0)));
}

#[test]
fn unions_stay_unions() {
    let nullable =
        json!({"title": "days", "anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}], "default": null});
    let mut tool = mcp_tool(json!({}));
    tool["inputs"] = json!([nullable]);
    let input = thing(&tool, &options())["actions"]["search"]["input"].clone();
    assert_eq!(input["properties"]["days"], nullable);
    assert_eq!(input.get("required"), None);
}

#[test]
fn thing_model_needs_no_endpoint() {
    let options = Options { thing_model: true, ..options() };
    let conversion = convert(&agent(), &options).unwrap();
    assert!(!conversion.warnings.iter().any(|warning| warning.rule == "no-endpoint"), "{:?}", conversion.warnings);
    let model: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    assert_eq!(model["@type"], json!(["lmos:Agent", "agentspec:Agent", "tm:ThingModel"]));
    assert_eq!(model["actions"]["weather-agent"]["input"]["required"], json!(["city"]));
    assert!(model["actions"]["weather-agent"].get("forms").is_none());
    assert!(thing(&a2a_agent(), &options)["actions"]["Remote"].get("forms").is_some());
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
    let output = &thing["actions"]["weather-agent"]["output"]["properties"]["report"];
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
    let schema = json!({"title": "report", "type": "object", "patternProperties": {"^x": {"type": "string"}}});
    document["outputs"] = json!([schema]);
    let report = &thing(&document, &with_base())["actions"]["weather-agent"]["output"]["properties"]["report"];
    assert_eq!((&report["type"], &report["agentspec:jsonSchema"]["@value"]), (&json!("object"), &schema));
}

#[test]
fn two_components_of_one_id_are_refused() {
    let uuid = "6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77";
    let [tool, same] = [uuid.to_owned(), format!("urn:uuid:{uuid}")].map(
        |id| json!({"component_type": "RemoteTool", "id": id, "name": "t", "url": "https://h/x", "http_method": "GET"}),
    );
    let agent = json!({
        "component_type": "Agent", "agentspec_version": "26.3.1", "id": "a", "name": "a", "system_prompt": "",
        "llm_config": {"component_type": "VllmConfig", "id": "l", "name": "l", "model_id": "m", "url": "http://h"},
        "tools": [tool, same],
    });
    let report = refusal(&agent, &Options { tools: true, ..Options::default() });
    assert_eq!(
        (report.violations[0].rule.as_ref(), report.violations[0].pointer.as_str()),
        ("repeated-id", "/tools/1")
    );
}

#[test]
fn what_of_a_request_can_not_be_sent_is_told() {
    let tool = json!({
        "component_type": "RemoteTool", "agentspec_version": "26.3.1", "id": "t", "name": "t", "url": "https://{{h}}/x",
        "http_method": "GET",
        "headers": {"X-All": "{{all}}", "X-List": [1], "X-Plain": 1, "X-Some": "v1-{{some}}", "X-{{all}}": 3},
        "query_params": {"o": {"x": "{{all}}"}, "n": null, "m": [["a"]], "l": ["a", 1]},
    });
    let conversion = convert(&tool, &Options::default()).unwrap();
    let told = |rule: &str| -> Vec<String> {
        let found = conversion.warnings.iter().filter(|warning| warning.rule == rule);
        found.map(|warning| warning.pointer.clone()).collect()
    };
    assert_eq!(
        (told("header-not-sent"), told("open-host")),
        (vec!["/headers/X-List".to_owned()], vec!["/url".to_owned()])
    );
    assert_eq!(told("parameter-not-sent"), ["m", "n", "o"].map(|name| format!("/query_params/{name}")));
    let thing: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    let form = &thing["actions"]["t"]["forms"][0];
    assert_eq!(form["href"], "https://{h}/x?l=a&l=1");
    assert_eq!(thing["securityDefinitions"], json!({"auto_sc": {"scheme": "auto"}}));
    let open = json!({"X-All": "{{all}}", "X-Some": "v1-{{some}}", "X-{{all}}": "3"});
    assert_eq!(form["agentspec:request"]["@value"]["headers"], open);
    assert_eq!(form["htv:headers"], json!([{"htv:fieldName": "X-Plain", "htv:fieldValue": "1"}]));
}

#[test]
fn exported_things_come_back_the_same() {
    let action =
        |href: &str| json!({"forms": [{"op": "invokeaction", "href": href, "contentType": "application/json"}]});
    let actions = [
        json!({"ask": action("https://h/ask")}),
        json!({"ask": action("https://h/ask"), "tell": action("https://h/tell")}),
    ];
    for actions in actions {
        let td = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:two", "title": "Both ways",
            "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc", "actions": actions,
        });
        let configuration = agentdex::convert::agent_spec::from_thing(&td).unwrap();
        for profile in [Profile::Spec, Profile::Sdk] {
            assert_eq!(thing(&configuration, &Options { profile, ..options() }), td);
        }
    }
}

#[test]
fn refusals_of_the_text_alone_name_the_way_out() {
    let start = json!({"component_type": "StartNode", "id": "s", "name": "s"});
    let end = json!({"component_type": "EndNode", "id": "e", "name": "e"});
    let mut flow = json!({
        "component_type": "Flow", "agentspec_version": "25.4.1", "id": "f", "name": "f", "start_node": start, "nodes": [start, end],
        "control_flow_connections": [{"component_type": "ControlFlowEdge", "id": "c", "name": "c", "from_node": start, "to_node": end}],
    });
    flow["inputs"] = json!([{"title": "x", "type": "string"}]);
    flow["start_node"]["inputs"] = flow["inputs"].clone();
    let sdk = Options { profile: Profile::Sdk, ..options() };
    for document in [&flow] {
        let Err(Error::InvalidSource { report, .. }) = convert(document, &options()) else { continue };
        let names_it = report.to_string().contains("--profile sdk");
        assert_eq!(names_it, convert(document, &sdk).is_ok(), "{report}");
    }
    let mut tool = remote_tool();
    tool["http_method"] = 3.into();
    let report = refusal(&tool, &options());
    assert_eq!(report.to_string().contains("--profile sdk"), convert(&tool, &sdk).is_ok(), "{report}");
}
