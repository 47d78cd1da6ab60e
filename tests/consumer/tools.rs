//! Tools of Agent Spec, described and called: the server gets the request that the configuration describes.

use agentdex::{
    consumer::{self, Credential, Error, Settings},
    convert::{
        self, Syntax,
        agent_spec::{Configuration, Options},
    },
    sacp::{Chain, Outcome},
};
use serde_json::{Value, json};

use super::{
    TestAgent, agent, consumer, run,
    server::{Received, Said, Server},
};

/// A server that answers with what it got, as the outputs of the tools need it.
fn echo() -> Server {
    Server::start(|request: &Received| match request.line.contains("/plain") {
        true => Said::json("\"sunny\""),
        false => Said::json(json!({"result": "ok"})),
    })
}

fn input(name: &str, kind: &str) -> Value {
    json!({"title": name, "type": kind})
}

/// A RemoteTool with these members, at a path of the server.
fn tool(server: &Server, inputs: &[Value], members: Value) -> Value {
    let mut tool = json!({
        "component_type": "RemoteTool", "agentspec_version": "25.4.2", "id": "t", "name": "t", "description": "d",
        "inputs": inputs, "outputs": [], "url": format!("{}/t", server.origin), "http_method": "POST",
        "api_spec_uri": null, "data": {}, "query_params": {}, "headers": {},
    });
    tool.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    tool
}

fn described(tool: &Value) -> Value {
    let configuration = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
    let conversion = configuration.to_things(&Options::default()).unwrap();
    serde_json::from_str(conversion.things[0].description.text()).unwrap()
}

/// Method, target, body, and the headers that tests look at.
fn seen(request: &Received) -> (String, String, Vec<String>) {
    let headers = ["x-tenant", "x-id", "x-n", "authorization"].iter();
    let headers = headers.filter(|name| !request.header(name).is_empty());
    (
        request.line.clone(),
        request.body.clone(),
        headers.map(|name| format!("{name}: {}", request.header(name))).collect(),
    )
}

/// Inputs and members of a tool, the input of a call, and the request that has to arrive: line, body, headers.
type Shape = (Vec<Value>, Value, Value, &'static str, &'static str, &'static [&'static str]);

/// Every shape that a request can have.
fn shapes(server: &Server) -> Vec<Shape> {
    let url = |path: &str| format!("{}{path}", server.origin);
    vec![
        (
            vec![input("a", "string")],
            json!({"data": {"a": "{{a}}"}}),
            json!({"a": "x"}),
            "POST /t",
            r#"{"a":"x"}"#,
            &[],
        ),
        (
            vec![input("city", "string"), input("n", "integer")],
            json!({"query_params": {"q": "{{city}}"}, "data": {"c": "{{city}}", "n": "{{n}}"}}),
            json!({"city": "Ulm", "n": 3}),
            "POST /t?q=Ulm",
            r#"{"c":"Ulm","n":"3"}"#,
            &[],
        ),
        (
            vec![json!({"title": "l", "type": "array", "items": {"type": "integer"}})],
            json!({"data": {"l": "{{l}}", "deep": [{"in": "{{l}}"}]}}),
            json!({"l": [1, 2]}),
            "POST /t",
            r#"{"deep":[{"in":"[1,2]"}],"l":"[1,2]"}"#,
            &[],
        ),
        (
            vec![input("a", "string")],
            json!({"data": {"a": "{{a}}", "source": "agent", "n": 3, "none": null}}),
            json!({"a": "1"}),
            "POST /t",
            r#"{"a":"1","n":3,"none":null,"source":"agent"}"#,
            &[],
        ),
        (vec![], json!({"data": {"source": "agent"}}), Value::Null, "POST /t", r#"{"source":"agent"}"#, &[]),
        (
            vec![input("a", "string")],
            json!({"data": {"text": "for {{ a }}!"}}),
            json!({"a": "bob"}),
            "POST /t",
            r#"{"text":"for bob!"}"#,
            &[],
        ),
        (vec![input("a", "string")], json!({"data": "Say {{a}}"}), json!({"a": "hi"}), "POST /t", "Say hi", &[]),
        (
            vec![input("city", "string")],
            json!({"data": "{\"city\": \"{{city}}\"}", "headers": {"Content-Type": "application/json"}}),
            json!({"city": "Bonn"}),
            "POST /t",
            r#"{"city": "Bonn"}"#,
            &[],
        ),
        (
            vec![input("id", "string")],
            json!({"http_method": "GET", "data": {"id": "{{id}}"}}),
            json!({"id": "e1"}),
            "GET /t",
            r#"{"id":"e1"}"#,
            &[],
        ),
        (vec![], json!({"http_method": "GET"}), Value::Null, "GET /t", "", &[]),
        (
            vec![input("tenant", "string"), input("n", "integer")],
            json!({"headers": {"X-Tenant": "t-{{tenant}}", "X-N": "{{n}}", "X-Id": 7}}),
            json!({"tenant": "acme", "n": 2}),
            "POST /t",
            "",
            &["x-tenant: t-acme", "x-id: 7", "x-n: 2"],
        ),
        (
            vec![input("a", "string")],
            json!({"data": {"{{a}}": 1, "x-{{a}}": {"{{a}}": true}}}),
            json!({"a": "bob"}),
            "POST /t",
            r#"{"bob":1,"x-bob":{"bob":true}}"#,
            &[],
        ),
        (vec![input("m", "string")], json!({"http_method": "{{m}}"}), json!({"m": "put"}), "PUT /t", "", &[]),
        (
            vec![input("a", "string")],
            json!({"url": url("/t/{{a}}"), "data": {"a": "{{a}}"}, "headers": {"X-Id": "{{a}}"}}),
            json!({"a": "x y"}),
            "POST /t/x%20y",
            r#"{"a":"x y"}"#,
            &["x-id: x y"],
        ),
        (
            vec![input("größe", "integer"), json!({"title": "l", "type": "array", "items": {"type": "string"}})],
            json!({"http_method": "GET", "url": url("/t/{{größe}}"), "query_params": {"l": "{{l}}", "{{größe}}": "fix"}}),
            json!({"größe": 5, "l": ["a"]}),
            "GET /t/5?l=%5B%22a%22%5D&5=fix",
            "",
            &[],
        ),
        (
            vec![input("q", "string"), json!({"title": "lang", "type": "string", "default": "de"})],
            json!({"data": {"q": "{{q}}", "lang": "{{lang}}"}, "headers": {"Content-Type": "application/x-www-form-urlencoded"}}),
            json!({"q": "a b&c"}),
            "POST /t",
            "lang=de&q=a%20b%26c",
            &[],
        ),
        (
            vec![input("x", "string")],
            json!({"data": "<a>{{x}}</a>", "headers": {"Content-Type": "application/xml"}}),
            json!({"x": "1"}),
            "POST /t",
            "<a>1</a>",
            &[],
        ),
        (
            vec![input("token", "string"), input("a", "string")],
            json!({"headers": {"Authorization": "Bearer {{token}}"}, "data": {"a": "{{a}}"}}),
            json!({"token": "t0k", "a": "x"}),
            "POST /t",
            r#"{"a":"x"}"#,
            &["authorization: Bearer t0k"],
        ),
    ]
}

#[test]
fn every_shape_of_a_tool_is_called_with_the_inputs_of_the_tool() {
    for index in 0..shapes(&echo()).len() {
        let server = echo();
        let (inputs, members, given, line, body, headers) = shapes(&server).swap_remove(index);
        let thing = described(&tool(&server, &inputs, members.clone()));
        let properties = thing["actions"]["t"]["input"]["properties"].as_object().cloned().unwrap_or_default();
        let named: Vec<&str> = inputs.iter().map(|input| input["title"].as_str().unwrap()).collect();
        assert!(named.iter().all(|name| properties.contains_key(*name)), "{members}: {properties:?}");
        let called = run(agent(&thing).call("t", (!given.is_null()).then_some(given)));
        called.unwrap_or_else(|error| panic!("{members}: {error}"));
        let (got_line, got_body, got_headers) = seen(&server.only());
        assert_eq!(
            (got_line.as_str(), got_body.as_str(), got_headers),
            (line, body, headers.iter().map(|h| (*h).to_owned()).collect()),
            "{members}"
        );
    }
}

#[test]
fn every_shape_of_a_node_of_a_flow_is_called() {
    for index in 0..shapes(&echo()).len() {
        let server = echo();
        let (inputs, members, given, line, body, headers) = shapes(&server).swap_remove(index);
        let flow = flow_with(&server, &inputs, &members);
        let configuration = Configuration::parse(flow.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        let chain = configuration.to_chain(&Options::default()).unwrap_or_else(|error| panic!("{members}: {error}"));
        let chain = Chain::new(chain.chain).unwrap();
        run(async {
            let mut run = consumer().run(chain, if given.is_null() { json!({}) } else { given });
            run.finish().await;
            match run.outcome() {
                Some(Outcome::Done(response)) => assert_eq!(response.data["result"], "ok", "{members}"),
                other => panic!("{members}: {other:?}"),
            }
        });
        let (got_line, got_body, got_headers) = seen(&server.only());
        assert_eq!(
            (got_line.as_str(), got_body.as_str(), got_headers),
            (line, body, headers.iter().map(|h| (*h).to_owned()).collect()),
            "{members}"
        );
    }
}

#[test]
fn a_tool_whose_headers_are_held_back_is_not_called_without_them() {
    let server = echo();
    let members = json!({"sensitive_headers": {"$component_ref": "t.sensitive_headers"}});
    let thing = described(&tool(&server, &[], members));
    let error = run(agent(&thing).call("t", json!({}))).unwrap_err();
    assert!(error.to_string().contains("sensitive_headers"), "{error}");
    assert!(server.received().is_empty());
}

#[test]
fn an_input_selects_no_other_path() {
    let server = echo();
    let inputs = [json!({"title": "a", "type": "string"})];
    let url = format!("{}/rate/{{{{a}}}}/of", server.origin);
    let thing = described(&tool(&server, &inputs, json!({"url": url, "http_method": "GET"})));
    for value in ["..", "."] {
        let error = run(agent(&thing).call("t", json!({"a": value}))).unwrap_err();
        assert!(
            matches!(&error, consumer::Error::Refused { reason, .. } if reason.contains("another path")),
            "{error}"
        );
    }
    run(agent(&thing).call("t", json!({"a": "a/../b"}))).unwrap();
    assert_eq!(server.only().line, "GET /rate/a%2F..%2Fb/of");
}

/// A Flow of one ApiNode with these inputs and members.
fn flow_with(server: &Server, inputs: &[Value], members: &Value) -> Value {
    let node = |kind: &str, id: &str, more: Value| {
        let mut node = json!({"component_type": kind, "id": id, "name": id});
        node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        node
    };
    let outputs = json!([{"title": "result", "type": "string"}]);
    let mut api = tool(server, inputs, members.clone());
    api.as_object_mut().unwrap().remove("agentspec_version");
    (api["component_type"], api["id"], api["name"], api["outputs"]) =
        ("ApiNode".into(), "api".into(), "api".into(), outputs.clone());
    let reference = |id: &str| json!({"$component_ref": id});
    let control = [("s", "api"), ("api", "e")].map(|(from, to)| {
        node(
            "ControlFlowEdge",
            &format!("c-{from}"),
            json!({"from_node": reference(from), "from_branch": null, "to_node": reference(to)}),
        )
    });
    let edge = |from: &str, to: &str, name: &str| {
        node(
            "DataFlowEdge",
            &format!("d-{from}-{name}"),
            json!({
                "source_node": reference(from), "source_output": name, "destination_node": reference(to), "destination_input": name,
            }),
        )
    };
    let mut data: Vec<Value> = inputs.iter().map(|input| edge("s", "api", input["title"].as_str().unwrap())).collect();
    data.push(edge("api", "e", "result"));
    let nodes = json!({
        "s": node("StartNode", "s", json!({"inputs": inputs, "outputs": inputs})), "api": api,
        "e": node("EndNode", "e", json!({"inputs": outputs, "outputs": outputs, "branch_name": "next"})),
    });
    node(
        "Flow",
        "f",
        json!({
            "inputs": inputs, "outputs": outputs, "start_node": reference("s"),
            "nodes": [reference("s"), reference("api"), reference("e")], "control_flow_connections": control,
            "data_flow_connections": data, "$referenced_components": nodes, "agentspec_version": "25.4.2",
        }),
    )
}

#[test]
fn one_output_may_be_the_whole_answer() {
    let server = echo();
    let outputs = json!([{"title": "weather", "type": "string"}]);
    let members =
        |path: &str| json!({"http_method": "GET", "url": format!("{}{path}", server.origin), "outputs": outputs});
    let plain = described(&tool(&server, &[], members("/plain")));
    let reply = run(agent(&plain).call("t", None)).unwrap();
    assert_eq!(reply.message.text(), "sunny");
    let other = described(&tool(&server, &[], members("/object")));
    let error = run(agent(&other).call("t", None)).unwrap_err();
    assert!(error.to_string().contains("\"weather\" is a required property"), "{error}");
}

#[test]
fn what_can_not_be_filled_in_is_refused_before_anything_is_sent() {
    let server = echo();
    let open = tool(&server, &[input("host", "string")], json!({"url": "http://{{host}}/x"}));
    let broken = tool(&server, &[input("a", "string")], json!({"headers": {"X-Tenant": "{{a}}"}}));
    let twice = tool(&server, &[input("a", "string")], json!({"data": {"{{a}}": 1, "b": 2}}));
    let listed = tool(&server, &[input("a", "string")], json!({"data": {"a": "{{a}}"}}));
    for (tool, given, expected) in [
        (&open, json!({"host": server.origin.trim_start_matches("http://")}), "\"host\" would select the server"),
        (&broken, json!({"a": "x\r\nEvil: 1"}), "headers/X-Tenant"),
        (&twice, json!({"a": "b"}), "create a second member \"b\""),
        (&listed, json!({"a": 1}), "/a: 1 is not of type \"string\""),
        (&listed, json!({}), "\"a\" is a required property"),
    ] {
        let error = run(agent(&described(tool)).call("t", Some(given))).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(server.received().len(), 0);
}

#[test]
fn a_placeholder_without_an_input_is_an_error_at_import() {
    let server = echo();
    for members in [
        json!({"data": {"a": "{{b}}"}}),
        json!({"data": "{{b}}"}),
        json!({"headers": {"X-A": "x {{b}}"}}),
        json!({"query_params": {"q": "{{b}}"}}),
        json!({"http_method": "{{b}}"}),
        json!({"url": format!("{}/{{{{b}}}}", server.origin)}),
    ] {
        let tool = tool(&server, &[input("a", "string")], members.clone());
        let configuration = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        match configuration.to_things(&Options::default()) {
            Err(convert::Error::InvalidSource { report, .. }) => {
                assert!(report.to_string().contains('b'), "{members}: {report}")
            }
            other => panic!("{members}: {:?}", other.map(|conversion| conversion.warnings)),
        }
    }
}

#[test]
fn a_credential_takes_the_place_of_a_header_that_grants_access() {
    let server = echo();
    let members = json!({"headers": {"Authorization": "Bearer {{token}}"}, "data": {"a": "{{a}}"}});
    let thing = described(&tool(&server, &[input("token", "string"), input("a", "string")], members));
    assert_eq!(thing["actions"]["t"]["input"]["required"], json!(["a"]));
    let settings = Settings::new().credential("bearer_sc", Credential::new("s3cret"));
    run(agent(&thing).update(settings).call("t", Some(json!({"a": "x"})))).unwrap();
    assert_eq!(server.only().header("authorization"), "Bearer s3cret");
    let error = run(agent(&thing).call("t", Some(json!({"a": "x"})))).unwrap_err();
    assert!(error.to_string().contains("AGENTDEX_CREDENTIAL_BEARER_SC"), "{error}");
    assert!(error.to_string().contains("or a value for the input token"), "{error}");
    let given = Settings::new().variable("token", "t0ken");
    assert_eq!(run(agent(&thing).update(given).explain()).unwrap().credentials, [""; 0]);
    let error = run(agent(&thing).explain()).unwrap_err();
    assert!(error.to_string().contains("or a value for the input token"), "{error}");
}

#[test]
fn credential_that_was_hidden_in_the_body_is_one_of_the_caller() {
    let server = echo();
    let secret = "sk-proj-Zq8Lw2Xv9Rt4Ym7Kp3Nd6Hs1";
    let data = json!({
        "auth": {"api_key": secret, "user": "u"}, "a": "{{a}}", "list": [{"token": secret}, 1],
        "callback": format!("https://b.example/?token={secret}"),
    });
    let thing = described(&tool(&server, &[input("a", "string")], json!({"data": data})));
    assert!(!thing.to_string().contains("redacted") && !thing.to_string().contains("component_ref"), "{thing}");
    let places: Vec<&Value> =
        thing["securityDefinitions"].as_object().unwrap().values().map(|scheme| &scheme["name"]).collect();
    assert_eq!(places, ["/callback", "/list/0/token", "/auth/api_key"]);
    let error = run(agent(&thing).call("t", Some(json!({"a": "x"})))).unwrap_err();
    assert!(error.to_string().contains("AGENTDEX_CREDENTIAL_APIKEY_SC"), "{error}");
    let names = thing["securityDefinitions"].as_object().unwrap().keys();
    let settings = names.fold(Settings::new(), |settings, name| settings.credential(name, Credential::new("s3cret")));
    run(agent(&thing).update(settings).call("t", Some(json!({"a": "x"})))).unwrap();
    let expected = json!({
        "auth": {"api_key": "s3cret", "user": "u"}, "a": "x", "list": [{"token": "s3cret"}, 1], "callback": "s3cret",
    });
    assert_eq!(server.only().json(), expected);
    // Beside an input no credential of the caller can take its place.
    for (data, place) in [
        (json!({"note": format!("{{{{a}}}} {secret}")}), "data/note"),
        (json!({"u": format!("https://b.example/{{{{a}}}}?token={secret}")}), "data/u"),
        (json!(format!("key {secret}")), "data of"),
    ] {
        let thing =
            described(&tool(&server, &[input("a", "string")], json!({"data": data, "headers": {"X-Id": "{{a}}"}})));
        let error = run(agent(&thing).call("t", Some(json!({"a": "x"})))).unwrap_err();
        assert!(error.to_string().contains(place), "{data}: {error}");
    }
    assert_eq!(server.received().len(), 1);
}

#[test]
fn default_of_an_input_takes_no_credentials_place() {
    let server = echo();
    let inputs = [json!({"title": "key", "type": "string", "default": ""})];
    let thing = described(&tool(&server, &inputs, json!({"headers": {"X-Api-Key": "{{key}}"}})));
    let settings = Settings::new().credential("apikey_sc", Credential::new("s3cret"));
    run(agent(&thing).update(settings.clone()).call("t", None)).unwrap();
    run(agent(&thing).update(settings).call("t", Some(json!({"key": "given"})))).unwrap();
    let keys: Vec<_> = server.received().iter().map(|one| one.header("x-api-key").to_owned()).collect();
    assert_eq!(keys, ["s3cret", "given"]);
}

#[test]
fn headers_of_a_tool_are_sent_once_and_select_no_server() {
    let server = echo();
    let xml = described(&tool(&server, &[], json!({"headers": {"Accept": "application/xml"}})));
    run(agent(&xml).call("t", None)).unwrap();
    let accepted: Vec<_> =
        server.only().headers.into_iter().filter(|(name, _)| name.eq_ignore_ascii_case("accept")).collect();
    assert_eq!(accepted.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["application/xml"]);
    let named = described(&tool(&server, &[input("name", "string")], json!({"headers": {"{{name}}": "evil.example"}})));
    let error = run(agent(&named).call("t", Some(json!({"name": "Host"})))).unwrap_err();
    assert!(error.to_string().contains("\"Host\""), "{error}");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn key_that_a_text_has_no_place_for_is_named() {
    let server = echo();
    let mut thing = described(&tool(&server, &[input("a", "string")], json!({"data": "Say {{a}}"})));
    thing["securityDefinitions"] = json!({"key": {"scheme": "apikey", "in": "body", "name": "key"}});
    thing["security"] = "key".into();
    let settings = Settings::new().credential("key", Credential::new("s3cret"));
    let error = run(agent(&thing).update(settings).call("t", Some(json!({"a": "x"})))).unwrap_err();
    assert!(error.to_string().contains("key"), "{error}");
    assert_eq!(server.received().len(), 0);
}

#[test]
fn known_members_and_variables_of_a_thing_need_not_be_given() {
    let server = echo();
    let thing = super::thing(json!({
        "uriVariables": {"room": {"type": "string"}, "floor": {"type": "integer", "default": 2}},
        "actions": {
            "go": {
                "input": {"type": "object", "required": ["a", "source", "meta"], "properties": {
                    "a": {"type": "string"}, "source": {"const": "agent"},
                    "meta": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "default": 3}}},
                }},
                "forms": [{"href": format!("{}/go{{?room,floor}}", server.origin)}],
            },
            "inc": {
                "uriVariables": {"step": {"type": "integer"}}, "input": {"type": "integer"},
                "forms": [{"href": format!("{}/inc{{?step}}", server.origin)}],
            },
            "find": {
                "input": {"type": "object"},
                "forms": [{"href": format!("{}/find", server.origin), "htv:methodName": "GET"}],
            },
        },
    }));
    run(agent(&thing).call("go", Some(json!({"a": "x", "room": "kitchen"})))).unwrap();
    let step = Settings::new().variable("step", 5);
    run(agent(&thing).update(step).call("inc", Some(json!(7)))).unwrap();
    run(agent(&thing).call("find", Some(json!({"q": "x"})))).unwrap();
    let received = server.received();
    assert_eq!(received[0].line, "POST /go?room=kitchen&floor=2");
    assert_eq!(received[0].json(), json!({"a": "x", "source": "agent", "meta": {"n": 3}}));
    assert_eq!((received[1].line.as_str(), received[1].body.as_str()), ("POST /inc?step=5", "7"));
    assert_eq!((received[2].line.as_str(), received[2].body.as_str()), ("GET /find", r#"{"q":"x"}"#));
    let error = run(agent(&thing).call("go", Some(json!({"a": "x", "room": 3})))).unwrap_err();
    assert!(error.to_string().contains("/room: 3 is not of type"), "{error}");
}

/// A remote agent of Agent Spec at a URL.
fn a2a_agent(url: &str) -> Value {
    described(&json!({
        "component_type": "A2AAgent", "agentspec_version": "25.4.2", "id": "r", "name": "r", "agent_url": url,
        "connection_config": {"component_type": "A2AConnectionConfig", "id": "c", "name": "c"},
    }))
}

#[test]
fn a_remote_agent_is_called_by_its_card() {
    let servers = [TestAgent::python_1_0(), TestAgent::python_0_3()];
    for server in servers.iter().flatten() {
        for path in ["", "/", "/rpc", "/.well-known/agent-card.json"] {
            let answer = run(agent(&a2a_agent(&server.url(path))).ask("Will it rain?"));
            let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(answer.message().text().contains("umbrella"), "{path}: {answer:?}");
        }
    }
}

#[test]
fn card_of_the_site_is_not_that_of_another_agent() {
    let server = Server::start(|request: &Received| match request.line.as_str() {
        "GET /.well-known/agent-card.json" => Said::json(json!({
            "name": "Other", "supportedInterfaces": [{"url": "/agents/other", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        })),
        "POST /agents/x" => Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {
            "kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "It is x."}],
        }})),
        _ => Said::new("404 Not Found", &[], ""),
    });
    let answer = run(agent(&a2a_agent(&format!("{}/agents/x", server.origin))).ask("hello")).unwrap();
    assert_eq!(answer.message().text(), "It is x.");
    assert!(server.received().iter().all(|request| request.line != "POST /agents/other"));
}

#[test]
fn a_card_that_names_another_server_is_not_followed() {
    let other = echo();
    let card = json!({"name": "A", "supportedInterfaces": [{"url": &other.origin, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let server = Server::start(move |_| Said::json(&card));
    let error = run(agent(&a2a_agent(&server.origin)).ask("hello")).unwrap_err();
    assert!(error.to_string().contains("whose origin differs"), "{error}");
    assert_eq!(other.received().len(), 0);
}

/// A server with a card, whose agent answers each message with "ok".
fn carded(card: impl Fn() -> Value + Send + Sync + 'static) -> Server {
    Server::start(move |request: &Received| {
        let message = json!({
            "kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "ok"}],
        });
        let message_1 = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "ok"}]}});
        match (request.line.as_str(), request.header("a2a-version")) {
            ("GET /.well-known/agent-card.json", _) => Said::json(card()),
            (line, _) if line.starts_with("GET") => Said::new("404 Not Found", &[], ""),
            (line, _) if line.contains("message:send") => Said::json(message_1),
            (_, "") => Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": message})),
            _ => Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": message_1})),
        }
    })
}

/// Cards of both generations with a scheme called `k` that is required, as each writes it.
fn secured_cards(scheme: &Value) -> [Value; 2] {
    let [own, wrapped] = [scheme["0.3"].clone(), scheme["1.0"].clone()];
    [
        json!({
            "name": "A", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": "/rpc", "skills": [],
            "capabilities": {}, "securitySchemes": {"k": own}, "security": [{"k": []}],
        }),
        json!({
            "name": "A", "description": "d", "version": "1", "skills": [], "capabilities": {},
            "supportedInterfaces": [{"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "securitySchemes": {"k": wrapped}, "securityRequirements": [{"schemes": {"k": {"list": []}}}],
        }),
    ]
}

fn with_variables(agent: &agentdex::consumer::Agent, variables: &[(&str, &str)]) -> agentdex::consumer::Agent {
    agent.update(Settings::new().environment(variables.iter().copied()))
}

/// The value of a header in the request for the card and in the message.
fn in_card_and_message(server: &Server, name: &str) -> [String; 2] {
    let received = server.received();
    let of = |method: &str| {
        let found = received.iter().rev().find(|request| request.line.starts_with(method));
        found.map_or("none".to_owned(), |request| request.header(name).to_owned())
    };
    [of("GET"), of("POST")]
}

#[test]
fn a_remote_agent_is_sent_the_credential_that_its_card_requires() {
    let api_key = json!({
        "0.3": {"type": "apiKey", "in": "header", "name": "X-K"},
        "1.0": {"apiKeySecurityScheme": {"location": "header", "name": "X-K"}},
    });
    for card in secured_cards(&api_key) {
        let server = carded(move || card.clone());
        let remote = agent(&a2a_agent(&server.origin));
        let error = run(remote.ask("hello")).unwrap_err();
        assert!(error.to_string().contains("AGENTDEX_CREDENTIAL_K:"), "{error}");
        assert!(server.received().iter().all(|request| request.line.starts_with("GET")), "nothing is sent without it");
        // The description itself only says that a credential may be needed.
        for variable in ["AGENTDEX_CREDENTIAL_K", "AGENTDEX_CREDENTIAL_AUTO_SC"] {
            run(with_variables(&remote, &[(variable, "kk")]).ask("hello")).unwrap();
            assert_eq!(in_card_and_message(&server, "x-k"), ["", "kk"], "{variable}");
            assert_eq!(in_card_and_message(&server, "authorization"), ["", ""], "{variable}");
        }
    }
    let bearer = json!({
        "0.3": {"type": "http", "scheme": "Bearer"}, "1.0": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    });
    for card in secured_cards(&bearer) {
        let server = carded(move || card.clone());
        let remote = agent(&a2a_agent(&server.origin));
        run(with_variables(&remote, &[("AGENTDEX_CREDENTIAL_K", "t0k")]).ask("hello")).unwrap();
        assert_eq!(in_card_and_message(&server, "authorization"), ["", "Bearer t0k"]);
    }
}

#[test]
fn a_remote_agent_whose_card_requires_what_can_not_be_sent_is_not_called() {
    let mutual_tls = json!({"0.3": {"type": "mutualTLS"}, "1.0": {"mtlsSecurityScheme": {}}});
    for card in secured_cards(&mutual_tls) {
        let server = carded(move || card.clone());
        let remote = with_variables(&agent(&a2a_agent(&server.origin)), &[("AGENTDEX_CREDENTIAL_K", "kk")]);
        let error = run(remote.ask("hello")).unwrap_err();
        assert!(error.to_string().starts_with("credentials.k: "), "{error}");
        assert!(server.received().iter().all(|request| request.line.starts_with("GET")));
    }
}

#[test]
fn a_remote_agent_is_sent_its_own_credential_where_its_card_requires_none() {
    let open = json!({
        "name": "A", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": "/rpc", "skills": [],
        "capabilities": {},
    });
    let card = open.clone();
    let server = carded(move || card.clone());
    let remote = agent(&a2a_agent(&server.origin));
    run(with_variables(&remote, &[("AGENTDEX_CREDENTIAL_AUTO_SC", "t0k")]).ask("hello")).unwrap();
    assert_eq!(in_card_and_message(&server, "authorization"), ["", "Bearer t0k"]);
    // What the configuration sends goes with every request, and beside what the card requires.
    let [card, _] = secured_cards(&json!({"0.3": {"type": "apiKey", "in": "header", "name": "X-K"}, "1.0": {}}));
    let server = carded(move || card.clone());
    let configured = described(&json!({
        "component_type": "A2AAgent", "agentspec_version": "25.4.2", "id": "r", "name": "r", "agent_url": server.origin,
        "connection_config": {
            "component_type": "A2AConnectionConfig", "id": "c", "name": "c",
            "headers": {"Authorization": "Bearer x", "X-Filter": "{\"a\":1}"},
        },
    }));
    let both = [("AGENTDEX_CREDENTIAL_BEARER_SC", "t0k"), ("AGENTDEX_CREDENTIAL_K", "kk")];
    run(with_variables(&agent(&configured), &both).ask("hello")).unwrap();
    assert_eq!(in_card_and_message(&server, "authorization"), ["Bearer t0k", "Bearer t0k"]);
    assert_eq!(in_card_and_message(&server, "x-k"), ["", "kk"]);
    assert_eq!(in_card_and_message(&server, "x-filter"), ["{\"a\":1}", "{\"a\":1}"]);
}

#[test]
fn the_tenant_of_an_interface_is_in_the_url() {
    let server = carded(|| {
        json!({
            "name": "A", "description": "d", "version": "1", "skills": [], "capabilities": {},
            "supportedInterfaces": [
                {"url": "/ag/v1", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "tenant": "acme"},
            ],
        })
    });
    run(agent(&a2a_agent(&server.origin)).ask("hello")).unwrap();
    assert_eq!(server.received().last().unwrap().line, "POST /ag/v1/acme/message:send");
}

#[test]
fn key_that_messages_have_no_place_for_is_named() {
    let server = carded(|| json!({}));
    let mut thing = a2a_agent(&server.origin);
    thing["securityDefinitions"] = json!({"key": {"scheme": "apikey", "in": "body", "name": "key"}});
    thing["security"] = "key".into();
    let settings = Settings::new().credential("key", Credential::new("s3cret"));
    let error = run(agent(&thing).update(settings).ask("hello")).unwrap_err();
    assert!(error.to_string().starts_with("credentials.key: "), "{error}");
    assert_eq!(server.received().len(), 0);
}

#[test]
fn only_urls_that_the_tool_allows_are_called() {
    let server = echo();
    let allowing = |entries: Value| {
        let members = json!({
            "agentspec_version": "26.1.2", "url": format!("{}/orders/{{{{id}}}}", server.origin), "url_allow_list": entries,
        });
        let tool = tool(&server, &[input("id", "string")], members);
        run(agent(&described(&tool)).call("t", Some(json!({"id": "1?x"}))))
    };
    let of = |path: &str| json!([format!("{}{path}", server.origin)]);
    for entries in
        [Value::Null, of(""), of("/"), of("/orders/"), of("/ord"), of("/orders/?ignored"), of("/x/../orders")]
    {
        allowing(entries.clone()).unwrap_or_else(|error| panic!("{entries}: {error}"));
    }
    let called = server.received().len();
    for entries in [
        json!([]),
        of("/customers/"),
        of("/orders/2"),
        json!(["https://127.0.0.1/orders/"]),
        json!([format!("{}0/orders/", server.origin)]),
        json!(["orders"]),
    ] {
        let error = allowing(entries.clone()).unwrap_err();
        assert!(error.to_string().contains("url_allow_list"), "{entries}: {error}");
    }
    assert_eq!(server.received().len(), called);
}

#[test]
fn a_tool_that_requires_confirmation_is_called_once_the_user_agrees() {
    let server = echo();
    let thing =
        described(&tool(&server, &[input("a", "string")], json!({"requires_confirmation": true, "data": "{{a}}"})));
    let input = || Some(json!({"a": "x"}));
    for agent in [agent(&thing), agent(&thing).update(Settings::new().confirmed(false))] {
        let error = run(agent.call("t", input())).unwrap_err();
        assert!(matches!(error, Error::Unconfirmed { .. }) && error.is_before_sending(), "{error}");
        assert!(run(agent.ask("x")).is_err());
    }
    assert_eq!(server.received().len(), 0);
    run(agent(&thing).update(Settings::new().confirmed(true)).call("t", input())).unwrap();
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_toolbox_that_requires_confirmation_does_for_each_of_its_tools() {
    let toolbox = |members: Value| {
        let mut toolbox = json!({
            "component_type": "MCPToolBox", "agentspec_version": "26.1.2", "id": "b", "name": "box",
            "client_transport": {
                "component_type": "StreamableHTTPTransport", "id": "t", "name": "t", "url": "https://mcp.example/mcp",
            },
            "tool_filter": ["plain", {
                "component_type": "MCPToolSpec", "id": "s", "name": "own", "description": "d", "inputs": [], "outputs": [],
                "requires_confirmation": true,
            }],
        });
        toolbox.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let thing = described(&toolbox);
        let flag = |action: &Value| action.get("agentspec:requiresConfirmation") == Some(&json!(true));
        let actions = thing["actions"].as_object().unwrap();
        actions.iter().filter(|(_, action)| flag(action)).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(toolbox(json!({})), ["own"]);
    assert_eq!(toolbox(json!({"requires_confirmation": true})), ["own", "plain"]);
    assert_eq!(toolbox(json!({"requires_confirmation": true, "tool_filter": null})).len(), 1);
}
