//! Tests of the warnings about what a document leaves out or changes.

use serde_json::json;

use super::{
    losses::{MOST, RULE},
    *,
};

#[test]
fn tools_of_agent_spec_express_the_actions_that_they_are_made_of() {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let action = |path: &str| json!({"input": city, "forms": [{"href": format!("https://a.example/{path}")}]});
    let mut thing = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x:desk", "title": "Desk",
        "description": "Tells the weather", "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
        "actions": {"forecast": action("forecast"), "alerts": action("alerts")},
    });
    let warned = |thing: &Value| -> Vec<String> {
        let made = Format::AgentSpec.export().unwrap().from_thing(thing, None).unwrap();
        made.warnings.into_iter().filter(|one| one.rule == RULE).map(|one| one.pointer).collect()
    };
    assert_eq!(warned(&thing), [""; 0]);
    thing["actions"]["alerts"]["forms"] = json!([{"href": "coap://a.example/alerts"}]);
    thing["actions"]["more"] = action("more");
    assert_eq!(warned(&thing), ["/actions/alerts"]);
}

/// The warnings about actions in the document that is made of a Thing with these.
fn warned(format: Format, actions: Value, security: Value) -> Vec<String> {
    let thing = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:agentdex:mcp:com.example/desk", "title": "Desk",
        "description": "Tells the weather", "security": "none",
        "securityDefinitions": security, "actions": actions,
    });
    let made = format.export().unwrap().from_thing(&thing, None).unwrap();
    let found = made.warnings.into_iter().filter(|one| one.rule == RULE).map(|one| one.pointer);
    found.filter(|pointer| pointer.starts_with("/actions")).collect()
}

fn open() -> Value {
    json!({"none": {"scheme": "nosec"}})
}

#[test]
fn tools_of_mcp_are_those_that_forms_name() {
    let form = |tool: &str| json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": tool});
    let nothing = json!({"type": "object", "additionalProperties": false});
    let action = |tool: &str, input: &Value| json!({"input": input, "forms": [form(tool)]});
    let exported = |actions: Value| warned(Format::AgentSpec, actions, open());
    assert_eq!(exported(json!({"weather": action("get_weather", &nothing)})), [""; 0]);
    // Whatever it takes, no input of the tool is for it.
    let any = json!({"type": "object"});
    assert_eq!(exported(json!({"weather": action("get_weather", &any)})), ["/actions/weather/input"]);
    let nameless = json!({"forms": [{"href": "https://a.example/mcp", "subprotocol": "mcp"}]});
    let both = json!({"any": nameless, "weather": action("get_weather", &nothing)});
    assert_eq!(exported(both), ["/actions/any"]);
    assert_eq!(exported(json!({"any": nameless})), [""; 0]);
}

#[test]
fn data_of_capabilities_models_and_variables_are_said() {
    let warned = |format: Format, further: Value| -> Vec<String> {
        let mut thing = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x:desk", "title": "Desk", "description": "Desk",
            "version": {"instance": "1.0.0"}, "securityDefinitions": open(), "security": "none",
        });
        thing.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        let made = format.export().unwrap().from_thing(&thing, None).unwrap();
        let found = made.warnings.into_iter().filter(|one| one.rule == RULE).map(|one| one.pointer);
        found.filter(|pointer| !["/title", "/description", "/version/instance"].contains(&pointer.as_str())).collect()
    };
    let text = json!({"type": "object", "properties": {"to": {"type": "string"}}});
    let capability = json!({"lmos:id": "find", "lmos:name": "find", "lmos:input": text, "lmos:output": text});
    let further = json!({"lmos:capabilities": [capability], "aos:model": {"aos:name": "Large"}});
    let lost = ["/aos:model/aos:name", "/lmos:capabilities/0/lmos:input", "/lmos:capabilities/0/lmos:output"];
    assert_eq!(warned(Format::LmosCapabilities, further), lost);
    let form = json!({"href": "https://a.example/find{?room,units}", "htv:methodName": "GET"});
    let further = json!({
        "uriVariables": {"room": {"type": "string"}},
        "actions": {"find": {"uriVariables": {"units": {"type": "string"}}, "forms": [form]}},
    });
    let lost = warned(Format::LmosCapabilities, further.clone());
    assert!(
        ["/uriVariables/room", "/actions/find/uriVariables/units"].iter().all(|one| lost.iter().any(|l| l == one)),
        "{lost:?}"
    );
    // A tool requires all of its inputs.
    let required = ["/uriVariables/room", "/actions/find/uriVariables/units"];
    assert_eq!(warned(Format::AgentSpec, further), required);
}

#[test]
fn every_form_and_what_it_requires_is_said() {
    let http =
        |path: &str, method: &str| json!({"href": format!("https://a.example/{path}"), "htv:methodName": method});
    let actions = json!({"set": {"forms": [http("set", "POST"), http("alt", "PUT"), http("set", "PUT")]}});
    let missing = ["/actions/set/forms/1", "/actions/set/forms/2"];
    assert_eq!(warned(Format::AgentSpec, actions, open()), missing);
    let mcp = |transport: &str, security: Value| json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "set", "mcp:transport": transport, "security": security});
    let none = || json!("none");
    let actions = json!({"set": {"forms": [mcp("streamable-http", none()), mcp("sse", none())]}});
    assert_eq!(warned(Format::AgentSpec, actions.clone(), open()), ["/actions/set/forms/1"]);
    assert_eq!(warned(Format::McpServer, actions, open()), [""; 0]);
    let security = json!({
        "none": {"scheme": "nosec"}, "token": {"scheme": "bearer"}, "key": {"scheme": "apikey", "in": "header", "name": "X-A"},
        "any": {"scheme": "combo", "oneOf": ["key", "token"]}, "all": {"scheme": "combo", "allOf": ["key", "token"]},
    });
    let required = |name: &str| {
        let forms = [mcp("streamable-http", json!(name)), mcp("sse", json!("token")), mcp("sse", json!("all"))];
        warned(Format::McpServer, json!({"set": {"forms": forms}}), security.clone())
    };
    assert_eq!(required("any"), ["/actions/set/forms/0/security"]);
    assert_eq!(required("all"), [""; 0]);
    assert_eq!(required("token"), [""; 0]);
}

#[test]
fn texts_of_a_part_do_not_express_those_of_the_thing() {
    for format in [Format::LmosCapabilities, Format::Aos, Format::A2a, Format::McpServer] {
        let vendor = json!({"lmos:vendor": {"lmos:name": "V", "lmos:url": "https://v.example"}});
        let form = match format {
            Format::McpServer => json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "weather"}),
            _ => json!({"href": "https://a.example/weather"}),
        };
        let thing = |title: &str, description: &str| {
            let action = json!({"title": "Forecast", "description": "Forecasts", "forms": [form]});
            let mut thing = json!({
                "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x:desk", "title": title, "lmos:metadata": vendor,
                "version": {"instance": "1.0.0"}, "securityDefinitions": open(), "security": "none",
                "actions": {"weather": action},
            });
            if !description.is_empty() {
                thing["description"] = description.into();
            }
            thing
        };
        let lost = |title: &str, description: &str| {
            let made = pointers(format, &thing(title, description));
            let own = made.into_iter().filter(|pointer| ["/title", "/description"].contains(&pointer.as_str()));
            own.collect::<Vec<String>>()
        };
        // What is lost of texts that no part has is lost of those that one has.
        let expected = lost("Desk", "Tells");
        for (title, description) in
            [("weather", "Tells"), ("Forecast", "Tells"), ("Desk", "Forecasts"), ("weather", "Forecasts")]
        {
            assert_eq!(lost(title, description), expected, "{format:?}: {title}, {description}");
        }
        assert_eq!(expected.is_empty(), format != Format::LmosCapabilities, "{format:?}: {expected:?}");
    }
}

/// A Thing with an action for each of these forms, and what the document that is made of it leaves out.
fn exported(format: Format, thing: &Value) -> (Value, Vec<(String, String)>) {
    let made = format.export().unwrap().from_thing(thing, None).unwrap();
    let found = made.warnings.into_iter().filter(|one| one.rule == RULE);
    (serde_json::from_slice(&made.bytes).unwrap(), found.map(|one| (one.pointer, one.message)).collect())
}

fn pointers(format: Format, thing: &Value) -> Vec<String> {
    exported(format, thing).1.into_iter().map(|(pointer, _)| pointer).collect()
}

fn thing(further: &Value) -> Value {
    let mut thing = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:agentdex:mcp:com.example/desk", "title": "Desk",
        "description": "Desk", "version": {"instance": "1.0.0"}, "securityDefinitions": open(), "security": "none",
    });
    thing.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    thing
}

#[test]
fn consent_to_calls_is_kept_and_warned_of() {
    const FLAG: &str = "agentspec:requiresConfirmation";
    let http = json!({"href": "https://a.example/set"});
    let mcp = json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "set"});
    let a2a = json!({"href": "https://a.example/a2a", "subprotocol": "a2a"});
    let toolbox = json!({"href": "https://a.example/mcp", "subprotocol": "mcp"});
    for (format, form, is_kept) in [
        (Format::A2a, &http, true),
        (Format::A2a, &a2a, false),
        (Format::McpServer, &mcp, true),
        (Format::McpServer, &toolbox, false),
        (Format::AgentSpec, &http, true),
        (Format::AgentSpec, &mcp, true),
        (Format::LmosCapabilities, &http, false),
    ] {
        let thing = thing(&json!({"actions": {"set": {FLAG: true, "title": "set", "forms": [form]}}}));
        let (document, warned) = exported(format, &thing);
        let lost = format!("/actions/set/{FLAG}");
        let is_warned = warned.iter().any(|(pointer, _)| [lost.as_str(), "/actions/set"].contains(&pointer.as_str()));
        // Clients of these formats don't know the member.
        assert_eq!(is_warned, format != Format::AgentSpec, "{format:?} {form} {warned:?}");
        let (text, options) = (document.to_string(), ImportOptions::default());
        let read = format.import().unwrap().to_things(&Input::json(text.as_bytes()), &options).unwrap();
        let read = read.things[0].description.value();
        let flags = affordances(read, "actions").values().filter(|action| action.get(FLAG) == Some(&Value::Bool(true)));
        assert_eq!(flags.count() == 1, is_kept, "{format:?} {form} {read}");
        if is_kept && format != Format::AgentSpec {
            assert!(read["@context"].to_string().contains("\"agentspec\""), "{}", read["@context"]);
        }
    }
    // What a program offers of its own can't be called by this registry.
    let capability = json!({"lmos:id": "set", "lmos:name": "set", FLAG: true});
    let thing = thing(&json!({"lmos:capabilities": [capability]}));
    assert_eq!(pointers(Format::LmosCapabilities, &thing), [format!("/lmos:capabilities/0/{FLAG}")]);
}

#[test]
fn every_member_that_is_left_out_is_warned_of() {
    let http = json!({"href": "https://a.example/set"});
    let mcp = json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "set"});
    let action = |form: &Value, further: Value| {
        let mut action = json!({"title": "set", "description": "Sets", "forms": [form]});
        action.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        json!({"actions": {"set": action}})
    };
    let with = |mut thing: Value, further: Value| {
        thing.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        thing
    };
    let form = |further: Value| with(mcp.clone(), further);
    let skill = |further: Value| json!([with(json!({"lmos:id": "set", "lmos:name": "set"}), further)]);
    let literal = |value: Value| json!({"@type": "@json", "@value": value});
    let nothing = json!({});
    for (formats, further, lost) in [
        (vec![Format::AgentSpec, Format::McpServer], json!({"created": "2026-01-02T00:00:00Z"}), "/created"),
        (vec![Format::AgentSpec, Format::McpServer], json!({"x:own": {"x:depth": 7}}), "/x:own/x:depth"),
        (vec![Format::AgentSpec, Format::McpServer], json!({"x:flag": true}), "/x:flag"),
        (
            vec![Format::AgentSpec],
            json!({"mcp:repository": {"mcp:url": "https://git.example/desk"}}),
            "/mcp:repository/mcp:url",
        ),
        (vec![Format::AgentSpec], json!({"a2a:defaultInputModes": ["text/plain"]}), "/a2a:defaultInputModes"),
        (
            vec![Format::AgentSpec],
            json!({"a2a:capabilities": {"a2a:pushNotifications": true}}),
            "/a2a:capabilities/a2a:pushNotifications",
        ),
        (vec![Format::McpServer], json!({"version": {"instance": "1.0.0", "model": "4.5.6"}}), "/version/model"),
        (vec![Format::McpServer], json!({"titles": {"de": "Tisch"}}), "/titles/de"),
        (vec![Format::AgentSpec], json!({"version": {"instance": ""}}), "/version/instance"),
        (
            vec![Format::AgentSpec, Format::McpServer],
            json!({"lmos:capabilities": skill(json!({"lmos:tags": ["set"]}))}),
            "/lmos:capabilities/0/lmos:tags",
        ),
        (
            vec![Format::AgentSpec, Format::McpServer],
            json!({"lmos:capabilities": skill(json!({"lmos:examples": ["Set it"]}))}),
            "/lmos:capabilities/0/lmos:examples",
        ),
        (vec![Format::AgentSpec], action(&mcp, json!({"safe": true})), "/actions/set/safe"),
        (vec![Format::McpServer], action(&mcp, json!({"x:cost": 3})), "/actions/set/x:cost"),
        (vec![Format::McpServer], action(&mcp, json!({"@type": ["x:Switch"]})), "/actions/set/@type"),
        (
            vec![Format::McpServer],
            action(
                &form(json!({"agentspec:sessionParameters": literal(json!({"read_timeout_seconds": 3}))})),
                nothing.clone(),
            ),
            "/actions/set/forms/0/agentspec:sessionParameters",
        ),
        (
            vec![Format::A2a],
            action(
                &with(http.clone(), json!({"agentspec:request": literal(json!({"data": {"a": "{{a}}"}}))})),
                nothing.clone(),
            ),
            "/actions/set/forms/0/agentspec:request",
        ),
        (
            vec![Format::A2a],
            action(&with(http.clone(), json!({"htv:methodName": "PUT"})), nothing.clone()),
            "/actions/set/forms/0/htv:methodName",
        ),
        (
            vec![Format::AgentSpec],
            action(&json!({"href": "https://a.example/a", "subprotocol": "a2a", "a2a:tenant": "t1"}), nothing.clone()),
            "/actions/set",
        ),
        (
            vec![Format::McpServer],
            json!({"links": [{"href": "https://a.example/help", "rel": "help", "hreflang": "en"}]}),
            "/links/0/hreflang",
        ),
        (
            vec![Format::McpServer],
            json!({
                "securityDefinitions": {"token": {"scheme": "bearer", "authorization": "https://a.example/login"}},
                "security": "token",
            }),
            "/securityDefinitions/token/authorization",
        ),
        (vec![Format::McpServer], json!({"x:a": {"x:b": "c", "x:d": ["e", "f"]}}), "/x:a"),
        (
            vec![Format::AgentSpec],
            json!({"mcp:tools": [{"mcp:name": "set", "mcp:annotations": {"mcp:destructiveHint": true}}]}),
            "/mcp:tools",
        ),
    ] {
        for format in formats {
            let form = if format == Format::McpServer || lost == "/actions/set/safe" { &mcp } else { &http };
            let made = thing(&with(action(form, nothing.clone()), further.clone()));
            let warned = pointers(format, &made);
            assert!(warned.iter().any(|pointer| pointer == lost), "{format:?} {lost} {warned:?}");
        }
    }
}

#[test]
fn nothing_is_warned_of_that_comes_back() {
    let form = json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "set", "mcp:transport": "streamable-http"});
    let whole = thing(&json!({
        "@type": ["lmos:Tool", "mcp:Server"], "id": "urn:agentdex:mcp:com.example/desk", "mcp:name": "com.example/desk",
        "mcp:repository": {"mcp:url": "https://git.example/desk", "mcp:source": "git"},
        "registration": {"created": "2026-01-02T00:00:00Z"}, "agentdex:status": "live",
        "links": [{"rel": "service-doc", "href": "https://a.example/help"}],
        "actions": {"set": {"title": "Set", "description": "Sets", "safe": true, "input": {"type": "object"}, "forms": [form]}},
    }));
    assert_eq!(pointers(Format::McpServer, &whole), [""; 0]);
    let form = json!({"op": "invokeaction", "href": "https://a.example/a2a", "subprotocol": "a2a"});
    let whole = thing(&json!({
        "@type": "lmos:Agent", "a2a:defaultInputModes": ["text/plain"], "a2a:defaultOutputModes": ["image/png"],
        "lmos:capabilities": [{"lmos:id": "set", "lmos:name": "set", "lmos:description": "Sets", "lmos:tags": ["x"], "lmos:examples": ["Set it"]}],
        "actions": {"set": {"title": "set", "description": "Sets", "input": {"type": "object"}, "forms": [form]}},
    }));
    assert_eq!(pointers(Format::A2a, &whole), [""; 0]);
}

#[test]
fn tools_are_warned_of_once() {
    let tool = |further: Value| {
        let mut tool =
            json!({"mcp:name": "set", "mcp:description": "Sets", "mcp:annotations": {"mcp:readOnlyHint": true}});
        tool.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        json!([tool])
    };
    let form = json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "set"});
    for (further, lost) in [(json!({}), [0, 0]), (json!({"mcp:icons": [{"mcp:src": "https://a.example/i"}]}), [1, 1])] {
        let thing = thing(&json!({
            "mcp:tools": tool(further.clone()), "mcp:_meta": {"mcp:x": {"mcp:tools": tool(further)}},
            "actions": {"set": {"title": "set", "forms": [form]}},
        }));
        let warned = pointers(Format::AgentSpec, &thing);
        let found = ["/mcp:tools", "/mcp:_meta"].map(|name| warned.iter().filter(|one| one.starts_with(name)).count());
        assert_eq!(found, lost, "{warned:?}");
    }
}

#[test]
fn warnings_beyond_the_most_are_counted() {
    let members: Map<String, Value> = (0..MOST + 20).map(|number| (format!("x:{number}"), true.into())).collect();
    let (_, warned) = exported(Format::LmosCapabilities, &{
        let mut thing = thing(&json!({"lmos:capabilities": [{"lmos:id": "set", "lmos:name": "set"}]}));
        thing.as_object_mut().unwrap().extend(members);
        thing
    });
    let last = warned.last().unwrap();
    assert_eq!((warned.len(), last.0.as_str()), (MOST, ""));
    assert!(last.1.contains("21"), "{}", last.1);
}

#[test]
fn long_names_of_many_values_take_little_room() {
    let (name, values) = ("n".repeat(100_000), vec![1; 100_000]);
    let thing = thing(&json!({"lmos:capabilities": [{"lmos:id": "set", "lmos:name": "set"}], "x:a": {name: values}}));
    let warned = pointers(Format::LmosCapabilities, &thing);
    assert_eq!(warned.len(), 1, "{}", warned.len());
}

#[test]
fn calls_that_a_tool_of_agent_spec_makes_otherwise_are_warned_of() {
    let http = |further: Value| {
        let mut form = json!({"href": "https://a.example/set"});
        form.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        form
    };
    let warned = |action: Value| {
        let mut action = action;
        action["description"] = "Sets".into();
        let found = pointers(Format::AgentSpec, &thing(&json!({"actions": {"set": action}})));
        let found = found.into_iter().filter_map(|pointer| Some(pointer.strip_prefix("/actions/set/")?.to_owned()));
        found.collect::<Vec<String>>()
    };
    let body = |members: Value, required: Value| json!({"input": {"type": "object", "properties": members, "required": required}, "forms": [http(json!({}))]});
    let text = json!({"type": "string"});
    // What is absent would be sent as `null`.
    assert_eq!(warned(body(json!({"a": text, "b": text}), json!(["a"]))), ["input/properties/b"]);
    assert_eq!(warned(body(json!({"a": text, "b": {"type": "string", "default": "x"}}), json!(["a"]))), [""; 0]);
    for (schema, is_changed) in [
        (json!({"const": 3}), true),
        (json!({"enum": [1, 2]}), true),
        (json!({"enum": ["a", null]}), true),
        (json!({}), true),
        (json!({"allOf": [{"type": "integer"}]}), true),
        (json!({"oneOf": [{"type": "string"}, {"type": "boolean"}]}), true),
        (json!({"const": "a"}), false),
        (json!({"enum": ["a", "b"]}), false),
        (json!({"anyOf": [{"const": "a"}, {"type": "string"}]}), false),
    ] {
        let found = warned(body(json!({"m": schema}), json!(["m"])));
        assert_eq!(found.iter().any(|one| one == "input/properties/m"), is_changed, "{schema} {found:?}");
    }
    // Whole bodies are sent with the media type of the form.
    for (schema, further, is_changed) in [
        (json!({"type": "integer"}), json!({}), false),
        (json!({"type": "array", "items": {"type": "integer"}}), json!({}), false),
        (json!({"type": "array"}), json!({"contentType": "application/ld+json"}), false),
        (text.clone(), json!({"contentType": "text/plain"}), false),
        (text.clone(), json!({}), true),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), json!({}), true),
    ] {
        let action = json!({"input": schema, "forms": [http(further)]});
        let (document, found) = exported(Format::AgentSpec, &thing(&json!({"actions": {"set": action}})));
        let found: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(found.contains(&"/actions/set/input"), is_changed, "{schema} {found:?}");
        assert!(!found.iter().any(|one| one.contains("contentType")), "{schema} {found:?} {document}");
    }
    let variables = |href: &str, schema: &Value| {
        let form = json!({"href": format!("https://a.example/{href}"), "htv:methodName": "GET"});
        warned(json!({"uriVariables": {"v": schema}, "safe": true, "idempotent": true, "forms": [form]}))
    };
    for (href, schema, is_changed) in [
        ("{v}", &text, false),
        ("{v}", &json!({"type": "array", "items": {"type": "string"}}), true),
        ("{v*}", &json!({"type": "object"}), true),
        ("{v:3}", &text, true),
        ("{+v}", &text, true),
        ("{#v}", &text, true),
        ("{?v}", &text, true),
        ("x?n=1{&v}", &text, true),
        ("{/v}", &text, true),
        ("{;v}", &text, true),
        ("{?v}", &json!({"type": "string", "default": "x"}), false),
    ] {
        assert_eq!(
            variables(href, schema) == ["uriVariables/v"],
            is_changed,
            "{href} {schema} {:?}",
            variables(href, schema)
        );
    }
    let form = json!({"href": "https://a.example/{?v}", "htv:methodName": "GET"});
    let action = json!({"safe": true, "idempotent": true, "forms": [form]});
    assert_eq!(warned(action), ["forms/0/href"]);
}

#[test]
fn a_document_that_calls_an_action_like_another_one_changes_it() {
    let mcp = |url: &str, tool: &str, more: Value| {
        let mut form = json!({"href": url, "subprotocol": "mcp", "mcp:tool": tool, "mcp:transport": "streamable-http"});
        form.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"input": {"type": "object", "additionalProperties": false}, "forms": [form]})
    };
    let region = |value: &str| json!({"htv:headers": [{"htv:fieldName": "X-Region", "htv:fieldValue": value}]});
    let (a, b) = ("https://a.example/mcp", "https://b.example/mcp");
    let security = json!({"none": {"scheme": "nosec"}, "token": {"scheme": "bearer"}});
    let both = ["/actions/alpha/forms", "/actions/beta/forms"];
    let warned =
        |alpha: Value, beta: Value| warned(Format::McpServer, json!({"alpha": alpha, "beta": beta}), security.clone());
    let found = warned(mcp(a, "alpha", json!({})), mcp(b, "beta", json!({})));
    assert!(both.iter().all(|at| found.iter().any(|one| one == at)), "{found:?}");
    let found = warned(mcp(a, "alpha", region("eu")), mcp(a, "beta", region("us")));
    assert!(found.iter().any(|one| one.starts_with(both[1])), "{found:?}");
    let found = warned(mcp(a, "alpha", json!({})), mcp(a, "beta", json!({"security": "token"})));
    assert!(found.iter().any(|one| one.starts_with(both[1])), "{found:?}");
    // The text is in the card, but not as this header.
    let mode = json!({"forms": [{"href": a, "subprotocol": "a2a", "htv:headers": [{"htv:fieldName": "X-Mode", "htv:fieldValue": "text/plain"}]}]});
    let found = self::warned(Format::A2a, json!({"alpha": mode}), open());
    assert_eq!(found, ["/actions/alpha/forms/0/htv:headers/0"]);
    let found = warned(mcp(a, "alpha", region("eu")), mcp(a, "beta", region("eu")));
    assert_eq!(found, [""; 0]);
    let a2a = |url: &str| json!({"forms": [{"href": url, "subprotocol": "a2a"}]});
    let found = self::warned(Format::A2a, json!({"alpha": a2a(a), "beta": a2a(b)}), open());
    assert!(both.iter().all(|at| found.iter().any(|one| one == at)), "{found:?}");
    let mut lost = a2a(b);
    lost["forms"][0]["htv:headers"] = region("eu")["htv:headers"].clone();
    let found = self::warned(Format::A2a, json!({"alpha": a2a(a), "beta": lost}), open());
    assert!(both.iter().all(|at| found.iter().any(|one| one == at)), "{found:?}");
    let found = self::warned(Format::A2a, json!({"alpha": a2a(a), "beta": a2a(a)}), open());
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_schema_that_contains_itself_is_not_expressed_by_a_part_of_it() {
    let node = json!({"type": "object", "properties": {"v": {"type": "integer"},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}}, "required": ["v"]});
    let tool = json!({"name": "walk", "inputSchema": {"type": "object", "properties": {"root": {"$ref": "#/$defs/N"}},
        "required": ["root"], "$defs": {"N": node}}});
    let document = json!({"serverInfo": {"name": "walker", "version": "1.0.0"}, "tools": [tool],
        "transport": {"type": "streamable-http", "endpoint": "https://a.example/mcp"}});
    let import = Format::McpServer.import().unwrap();
    let conversion =
        import.to_things(&Input::json(document.to_string().as_bytes()), &ImportOptions::default()).unwrap();
    let thing = conversion.things[0].description.value();
    let made = Format::AgentSpec.export().unwrap().from_thing(thing, None).unwrap();
    let is_named = |one: &Violation| one.rule == RULE && one.pointer.starts_with("/actions/walk/input");
    assert!(made.warnings.iter().any(is_named), "{:?}", made.warnings);
}

#[test]
fn the_address_of_an_agent_is_not_silently_that_of_its_card() {
    let forms = |more: Value| {
        let mut form = json!({"href": "https://a.example/a2a", "subprotocol": "a2a"});
        form.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"ask": {"input": {"type": "string"}, "output": {"type": "string"}, "forms": [form]}})
    };
    assert!(warned(Format::AgentSpec, forms(json!({})), open()).contains(&"/actions".to_owned()));
    let card = json!({"a2a:agentCard": "https://a.example/a2a"});
    assert!(!warned(Format::AgentSpec, forms(card), open()).contains(&"/actions".to_owned()));
}
