//! `agentdex ask`, `chat`, `call` and `run`, against an agent of a running registry.

use std::process::{Command, Output, Stdio};

use agentdex_server::http;
use serde_json::{Value, json};

use super::{
    program::{agentdex, agentdex_allowing},
    server::{Said, Server},
};
use crate::support::{TestRegistry, eventually, unreachable_url};

#[test]
fn variables_of_a_url_are_given_beside_the_input() {
    let server = Server::start(|request| Said::json(json!(format!("{} {}", request.line, request.body))));
    let registry = TestRegistry::start();
    let mut thing = super::thing(json!({"actions": {"inc": {
        "uriVariables": {"step": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "gr%C3%B6%C3%9Fe": {"type": "string"}},
        "input": {"type": "integer"}, "forms": [{"href": format!("{}/inc{{?step,gr%C3%B6%C3%9Fe}}", server.origin)}],
    }}}));
    thing["id"] = "urn:example:inc".into();
    registry.put("/things/urn:example:inc", thing.to_string()).expect(201);
    let call = |variables: &[&str]| {
        let given = variables.iter().flat_map(|variable| ["--variable", *variable]);
        let arguments: Vec<&str> =
            ["call", "urn:example:inc", "inc", "--input", "7"].into_iter().chain(given).collect();
        agentdex(&registry, &arguments, "")
    };
    let output = call(&["step=5", "größe=3"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("POST /inc?step=5&gr%C3%B6%C3%9Fe=3 7"),
        "{said} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    for (variable, expected) in
        [("stop=1", "has no URI variable \"stop\"; its variables: "), ("step", "is not NAME=VALUE")]
    {
        let output = call(&[variable]);
        assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains(expected), "{output:?}");
    }
}

#[test]
fn integers_that_would_be_rounded_are_not_sent() {
    let server = Server::start(|request| Said::json(json!(request.body)));
    let registry = TestRegistry::start();
    let mut thing = super::thing(json!({
        "actions": {"add": {"forms": [{"href": format!("{}/add", server.origin)}]}},
        "properties": {"level": {"type": "integer", "forms": [{"href": format!("{}/level", server.origin)}]}},
    }));
    thing["id"] = "urn:example:add".into();
    registry.put("/things/urn:example:add", thing.to_string()).expect(201);
    let large = "123456789012345678901234";
    for (arguments, place) in [
        (
            vec!["call", "urn:example:add", "add", "--input", r#"{"a": [123456789012345678901234]}"#],
            "--input: the integer at /a/0",
        ),
        (vec!["call", "urn:example:add", "add", "--input", large], "--input: the integer has more"),
        (vec!["write", "urn:example:add", "level", large], "the value: the integer has more"),
    ] {
        let output = agentdex(&registry, &arguments, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(place), "{arguments:?}: {output:?}");
    }
    let output =
        agentdex(&registry, &["call", "urn:example:add", "add", "--input", r#"{"a": 18446744073709551615}"#], "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("18446744073709551615"), "{output:?}");
}

/// A Thing with properties and events, registered as `urn:example:station`.
fn station(registry: &TestRegistry) -> Server {
    let server = Server::start(|request| match request.line.split(['?', ' ']).nth(1).unwrap_or_default() {
        "/unit" => Said::json(json!("C")),
        "/config" => Said::json(json!({"model": "m", "temperature": 0.5})),
        "/image" => Said::new("200 OK", &["content-type: image/png"], [1, 2, 3]),
        "/level" => Said::json(json!(if request.line.ends_with("?room=7") { 7.5 } else { 0.0 })),
        "/alarm" => {
            Said::stream("text/event-stream", &["data: {\"level\": 1}\n\n", "data: two\ndata: lines\n\n"]).hanging()
        }
        _ => Said::new("404 Not Found", &[], ""),
    });
    let form = |path: &str| json!({"href": format!("{}{path}", server.origin)});
    let stream = |op: &str| json!({"href": format!("{}/alarm", server.origin), "op": op, "subprotocol": "sse"});
    let mut level = form("/level{?room}");
    level["op"] = json!(["readproperty", "writeproperty"]);
    let mut thing = super::thing(json!({
        "properties": {
            "unit": {"type": "string", "forms": [form("/unit")]},
            "config": {"type": "object", "readOnly": true, "forms": [form("/config")]},
            "image": {"forms": [form("/image")]},
            "level": {
                "type": "number", "observable": true, "uriVariables": {"room": {"type": "integer"}},
                "forms": [level, stream("observeproperty")],
            },
        },
        "events": {"alarm": {"forms": [stream("subscribeevent")]}},
    }));
    thing["id"] = "urn:example:station".into();
    registry.put("/things/urn:example:station", thing.to_string()).expect(201);
    server
}

#[test]
fn properties_are_read_and_written() {
    let registry = TestRegistry::start();
    let server = station(&registry);
    let run = |arguments: &[&str], input: &str| {
        let output = agentdex(&registry, arguments, input);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let station = "urn:example:station";
    for (arguments, expected) in [
        (&["unit"][..], "C\n"),
        (&["unit", "--json"], "\"C\"\n"),
        (&["config"], "{\n  \"model\": \"m\",\n  \"temperature\": 0.5\n}\n"),
        (&["config", "--json"], "{\"model\":\"m\",\"temperature\":0.5}\n"),
        (&["image"], "[image/png of 3 bytes]\n"),
        (&["image", "--json"], "{\"bytes\":\"AQID\",\"mediaType\":\"image/png\"}\n"),
        (&["level", "--variable", "room=7"], "7.5\n"),
    ] {
        let (code, said, complaint) = run(&[&["read", station], arguments].concat(), "");
        assert_eq!((code, said.as_str()), (Some(0), expected), "{arguments:?}: {complaint}");
    }
    for (arguments, input, line, body) in [
        (&["unit", "F"][..], "", "PUT /unit", json!("F")),
        (&["unit", "\"7\""], "", "PUT /unit", json!("7")),
        (&["unit", "-"], "two words\n", "PUT /unit", json!("two words")),
        (&["level", "-5.5", "--variable", "room=7"], "", "PUT /level?room=7", json!(-5.5)),
    ] {
        let (code, said, complaint) = run(&[&["write", station], arguments].concat(), input);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{arguments:?}: {complaint}");
        let sent = server.received().pop().unwrap();
        assert_eq!((sent.line.as_str(), sent.json()), (line, body));
    }
    let before = server.received().len();
    for (arguments, status, expected) in [
        (&["read", station][..], 1, "specify a property of urn:example:station: config, image, level, unit"),
        (&["write", station], 1, "specify a property of urn:example:station: "),
        (&["read", station, "size"], 1, "it has no properties.size; available: config"),
        (&["write", station, "unit", "7"], 1, "the input of properties.unit is not valid"),
        (&["write", station, "level", "high"], 1, "the value is not JSON"),
        (&["write", station, "config", "{}"], 1, "properties.config is `readOnly`"),
        (&["read", station, "unit", "--variable", "room=7"], 2, "unit has no URI variable \"room\""),
    ] {
        let (code, _, complaint) = run(arguments, "");
        assert!(code == Some(status) && complaint.contains(expected), "{arguments:?}: {complaint}");
    }
    assert_eq!(server.received().len(), before, "nothing was sent");
    let refused = agentdex_allowing("", &registry, &["read", station, "unit"], "");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--allow-fetch 127.0.0.1"), "{refused:?}");
}

#[test]
fn events_are_printed_as_they_come() {
    let registry = TestRegistry::start();
    let server = station(&registry);
    let events = |arguments: &[&str]| {
        let output = agentdex(&registry, &[&["events", "urn:example:station"], arguments].concat(), "");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let both = "{\"level\":1}\ntwo\u{fffd}lines\n";
    for (arguments, code, expected, complaint) in [
        (&["alarm", "--count", "2"][..], 0, both, ""),
        (&["level", "--count", "1", "--json"], 0, "{\"data\":{\"level\":1},\"event\":\"level\"}\n", ""),
        (&["alarm", "--for", "1"], 0, both, ""),
        (&["alarm", "--count", "9", "--for", "1"], 1, both, "only 2 of 9 events arrived"),
        (&[], 1, "", "specify an event of urn:example:station: alarm"),
        (&["flood"], 1, "", "it has no events.flood; available: alarm"),
        (&["level", "--input", "1"], 1, "", "--input: \"level\" is a property"),
    ] {
        let (found, said, complained) = events(arguments);
        assert_eq!((found, said.as_str()), (Some(code), expected), "{arguments:?}: {complained}");
        assert!(complained.contains(complaint), "{arguments:?}: {complained}");
    }
    // Ctrl-C is how it ends where nothing else is said.
    let before = server.received().len();
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentdex"));
    command.args(["events", "urn:example:station", "alarm"]).env("AGENTDEX_URL", registry.url(""));
    let child = command.env("AGENTDEX_ALLOW_FETCH", "127.0.0.1").stdout(Stdio::piped()).spawn().unwrap();
    eventually("the subscription", || server.received().len() > before);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn action_that_requires_confirmation_is_called_with_yes_where_nobody_can_be_asked() {
    let server = Server::start(|_| Said::json(json!("done")));
    let registry = TestRegistry::start();
    let mut thing = super::asking(&server.origin);
    thing["actions"]["ask"]["agentspec:requiresConfirmation"] = json!(true);
    thing["id"] = "urn:example:dangerous".into();
    registry.put("/things/urn:example:dangerous", thing.to_string()).expect(201);
    let call =
        |more: &[&str]| agentdex(&registry, &[&["call", "urn:example:dangerous", "ask"], more].concat(), "yes\n");
    let output = call(&[]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("--yes"), "{output:?}");
    let output = agentdex(&registry, &["ask", "--agent", "urn:example:dangerous", "Now?"], "");
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("agentdex call"),
        "{output:?}"
    );
    assert_eq!(server.received().len(), 0);
    let output = call(&["--yes"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("done"), "{output:?}");
}

#[test]
fn agent_is_asked_talked_with_and_called() {
    let server = Server::start(|request| match request.body.as_str() {
        "" => Said::json(json!("nothing")),
        body => Said::json(json!(format!("You said {}", body.trim_matches('"')))),
    });
    let registry = TestRegistry::start();
    let agent = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:weather", "title": "Weather",
        "description": "Weather forecast", "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
        "actions": {"ask": {"input": {"type": "string"}, "forms": [{"href": &server.origin}]}},
    });
    registry.put("/things/urn:example:weather", agent.to_string()).expect(201);
    registry.get("/search?q=weather&consistent=true").expect(200);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();

    let found = agentdex(&registry, &["ask", "weather forecast", "Will it rain?", "--explain"], "");
    assert_eq!(text(&found.stdout), "You said Will it rain?\n", "{}", text(&found.stderr));
    let why = text(&found.stderr);
    assert!(
        why.contains("urn:example:weather") && why.contains("http, ") && why.contains("credentials: none"),
        "{why}"
    );

    let named = agentdex(&registry, &["ask", "--agent", "urn:example:weather", "Rain?", "--json"], "");
    let answer: Value = serde_json::from_slice(&named.stdout).unwrap();
    assert_eq!((&answer["state"], &answer["history"][0]["parts"][0]["text"]), (&json!("completed"), &json!("Rain?")));

    let told = agentdex(&registry, &["ask", "--agent", "urn:example:weather", "Rain?", "--sacp"], "");
    let told = text(&told.stdout);
    assert!(told.starts_with("You said ### SYSTEM PROTOCOL") && told.ends_with("Rain?\n"), "{told}");

    let streamed = agentdex(&registry, &["ask", "--agent", "urn:example:weather", "Rain?", "--stream"], "");
    assert_eq!(text(&streamed.stdout), "You said Rain?\n");

    let chat = agentdex(&registry, &["chat", "urn:example:weather"], "hello\n/history\n/quit\n");
    let lines = text(&chat.stdout);
    assert!(lines.starts_with("You said hello\n{\"agent\":\"urn:example:weather\""), "{lines} {}", text(&chat.stderr));

    // Standard input may be empty, as in a job.
    let silent = agentdex(&registry, &["chat", "urn:example:weather"], "");
    assert!(text(&silent.stderr).contains("nothing was sent"), "{}", text(&silent.stderr));

    let called = agentdex(&registry, &["call", "urn:example:weather", "ask", "--input", "\"x\""], "");
    assert_eq!(text(&called.stdout), "You said x\n");
    let wrong = agentdex(&registry, &["call", "urn:example:weather", "ask", "--input", "3"], "");
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("actions.ask"), "{}", text(&wrong.stderr));
    let refused = agentdex_allowing("", &registry, &["call", "urn:example:weather", "ask", "--input", "\"x\""], "");
    assert!(text(&refused.stderr).contains("--allow-fetch 127.0.0.1"), "{}", text(&refused.stderr));
    let nobody = agentdex(&registry, &["ask", "xylophone tuning", "Hello?"], "");
    assert!(!nobody.status.success() && text(&nobody.stderr).contains("no agent matches"), "{}", text(&nobody.stderr));
}

#[test]
fn chain_is_run_stored_and_resumed() {
    let server = Server::start(|request| match request.body.contains("where") && !request.body.contains("Cologne") {
        true => {
            Said::json(json!({"thought": "", "status": "clarification_needed", "data": {}, "message": "Which city?"}))
        }
        // An agent without conversations is sent what was said before, too.
        false => {
            let city = if request.body.contains("Cologne") { "Cologne" } else { "Bonn" };
            Said::json(json!(format!("It is dry in {city}.")))
        }
    });
    let registry = TestRegistry::start();
    let mut weather = super::asking(&server.origin);
    weather["id"] = "urn:example:weather".into();
    registry.put("/things/urn:example:weather", weather.to_string()).expect(201);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, state, input) = (at("chain.yaml"), at("run.json"), at("input.txt"));
    let chain = "\
start: ask
nodes:
  ask: {agent: 'urn:example:weather', input: '{{input}}'}
  end: {answer: {message: 'Weather: {{ask.message}}', data: {city: true}}}
edges: [{from: ask, to: end}]
";
    std::fs::write(&file, chain).unwrap();
    std::fs::write(&input, "where").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = |output: &Output| output.status.code();

    let whole = agentdex(&registry, &["run", &file, "--input", "Bonn", "--explain"], "");
    assert_eq!(text(&whole.stdout), "Weather: It is dry in Bonn.\n{\n  \"city\": true\n}\n", "{}", text(&whole.stderr));
    let why = text(&whole.stderr);
    assert!(why.contains("ask: asking Thing\n    urn:example:weather\n") && why.contains("by http, "), "{why}");

    let asks = agentdex(&registry, &["run", &file, "--input", &format!("@{input}"), "--state", &state], "");
    assert_eq!(code(&asks), Some(2), "{}", text(&asks.stderr));
    assert!(text(&asks.stderr).contains("ask: Which city?\n"), "{}", text(&asks.stderr));
    assert!(text(&asks.stderr).contains("continue with --state"), "{}", text(&asks.stderr));
    let twice = agentdex(&registry, &["run", &file, "--input", "x", "--state", &state], "");
    assert_eq!((code(&twice), text(&twice.stderr).contains("omit --input")), (Some(1), true));
    let goes_on = agentdex(&registry, &["run", &file, "--state", &state, "--answer", "Cologne", "--json"], "");
    let printed = text(&goes_on.stdout);
    let events: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((code(&goes_on), names[0], *names.last().unwrap()), (Some(0), "started", "ended"), "{printed}");
    assert_eq!(events.last().unwrap()["response"]["message"], "Weather: It is dry in Cologne.");
    assert_eq!(code(&agentdex(&registry, &["run", &file, "--state", &state], "")), Some(0), "it has ended already");

    let nowhere = agentdex(&registry, &["run", "chian.yaml"], "");
    assert!(code(&nowhere) == Some(1) && text(&nowhere.stderr).contains("no such file"), "{}", text(&nowhere.stderr));
    std::fs::write(&file, chain.replace("urn:example:weather", "urn:example:nobody")).unwrap();
    let failed = agentdex(&registry, &["run", &file, "--input", "Bonn"], "");
    assert_eq!(
        (code(&failed), text(&failed.stderr).contains("error: ask: ")),
        (Some(1), true),
        "{}",
        text(&failed.stderr)
    );
}

#[test]
fn answer_takes_its_place_in_the_input_of_an_agent_that_does_not_remember_it() {
    // Asks until the city is Cologne, or while the day is 3.
    let server = Server::start(|request| {
        let asks = |message: &str| {
            Said::json(json!({"thought": "", "status": "clarification_needed", "data": {}, "message": message}))
        };
        let input = request.json();
        match (input["city"].as_str(), input["day"].as_i64()) {
            (Some("Cologne"), Some(3)) => asks("Which day?"),
            (Some("Cologne"), _) => Said::json(json!("Dry.")),
            _ => asks("Which?"),
        }
    });
    let registry = TestRegistry::start();
    let properties = json!({"city": {"type": "string"}, "day": {"type": "integer", "default": 3}});
    let mut agent = super::asking(&server.origin);
    agent["id"] = "urn:example:city".into();
    agent["actions"]["ask"]["input"] = json!({"type": "object", "properties": properties, "required": ["city", "day"]});
    registry.put("/things/urn:example:city", agent.to_string()).expect(201);
    let text = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, state) = (at("chain.yaml"), at("run.json"));
    let chain = "start: a\nnodes: {a: {agent: 'urn:example:city', input: {city: Bonn, day: 3}}}\n";
    std::fs::write(&file, chain).unwrap();
    let asks = agentdex(&registry, &["run", &file, "--state", &state], "");
    assert!(asks.status.code() == Some(2) && text(&asks).contains("Which?"), "{}", text(&asks));
    let asks = agentdex(&registry, &["run", &file, "--state", &state, "--answer", "Cologne"], "");
    assert!(asks.status.code() == Some(2) && text(&asks).contains("Which day?"), "{}", text(&asks));
    let asks = agentdex(&registry, &["run", &file, "--state", &state, "--answer", "tomorrow"], "");
    let (code, said) = (asks.status.code(), text(&asks));
    assert!(code == Some(2) && said.contains("/day") && said.contains("Which day?"), "{said}");
    let answered = agentdex(&registry, &["run", &file, "--state", &state, "--answer", "4"], "");
    assert!(answered.status.success() && text(&answered).contains("Dry."), "{}", text(&answered));
    let chat = agentdex(&registry, &["chat", "urn:example:city"], "Bonn\nCologne\n4\n");
    assert!(text(&chat).contains("Dry."), "{}", text(&chat));
    let bodies: Vec<Value> = server.received().iter().map(|request| request.json()).collect();
    let inputs = ["Bonn", "Cologne", "Cologne"].into_iter().zip([3, 3, 4]);
    let inputs: Vec<Value> = inputs.map(|(city, day)| json!({"city": city, "day": day})).collect();
    assert_eq!(bodies, [inputs.clone(), inputs].concat());
}

#[test]
fn answer_that_breaks_what_is_declared_is_shown_with_the_reason() {
    let server = Server::start(|_| Said::json(json!("I could not find it.\u{1b}[31m")));
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    let mut agent = super::asking(&server.origin);
    agent["id"] = "urn:example:city".into();
    agent["actions"]["ask"]["output"] = json!({"type": "object", "required": ["city"]});
    registry.put("/things/urn:example:city", agent.to_string()).expect(201);
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for arguments in [
        &["ask", "--agent", "urn:example:city", "Bonn"] as &[&str],
        &["ask", "--agent", "urn:example:city", "Bonn", "--stream"],
        &["call", "urn:example:city", "ask", "--input", "\"Bonn\""],
        &["chat", "urn:example:city"],
    ] {
        let output = agentdex(&registry, arguments, "Bonn\n");
        let said = stderr(&output);
        assert!(output.status.code() == Some(1) && said.contains("I could not find it."), "{arguments:?} {said}");
    }
    let turn = json!({"message": "Bonn"}).to_string();
    let path = "/things/urn:example:city/conversation";
    let problem = registry.call("POST", path).body("application/json", turn).send().problem(502, "agent-failed");
    assert_eq!(problem["answer"], json!("I could not find it.\u{1b}[31m"));
}

#[test]
fn coerced_values_are_reported_by_runs_and_over_http() {
    let server = Server::start(|_| Said::json(json!({"mm": "3"})));
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    let mut agent = super::asking(&server.origin);
    agent["id"] = "urn:example:rain".into();
    agent["actions"]["ask"]["output"] = json!({"type": "object", "properties": {"mm": {"type": "integer"}}});
    registry.put("/things/urn:example:rain", agent.to_string()).expect(201);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.yaml").to_str().unwrap().to_owned();
    std::fs::write(&file, "start: a\nnodes: {a: {agent: 'urn:example:rain', input: Bonn}}\n").unwrap();
    let ran = agentdex(&registry, &["run", &file], "");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("\"3\" was read as 3"), "{said}");
    let turn = json!({"message": "Bonn"}).to_string();
    let path = "/things/urn:example:rain/conversation";
    let answer = registry.call("POST", path).body("application/json", turn).send().expect(200).json();
    assert_eq!(answer["repairs"][0]["pointer"], "/mm", "{answer}");
}

#[test]
fn images_of_an_answer_are_kept_in_a_run() {
    let server = Server::start(|request| {
        let parts = json!([{"raw": "AQID", "mediaType": "image/png"}]);
        let status = json!({"state": "TASK_STATE_COMPLETED"});
        let task =
            json!({"id": "1", "contextId": "c", "status": status, "artifacts": [{"artifactId": "a", "parts": parts}]});
        Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"task": task}}))
    });
    let form = json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC"});
    let agent = super::thing(json!({"id": "urn:example:painter", "actions": {"ask": {"forms": [form]}}}));
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:painter", agent.to_string()).expect(201);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.yaml").to_str().unwrap().to_owned();
    std::fs::write(&file, "start: a\nnodes: {a: {agent: 'urn:example:painter', input: A cat}}\n").unwrap();
    let ran = agentdex(&registry, &["run", &file], "");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "[image/png of 3 bytes]\n", "{ran:?}");
    let events = agentdex(&registry, &["run", &file, "--json"], "");
    assert!(String::from_utf8_lossy(&events.stdout).contains("image/png"), "{events:?}");
}

#[test]
fn registered_flow_is_run_and_what_it_needs_is_told() {
    let server = super::flows::tools();
    let Some(flows) = super::flows::flows(&server.origin, &unreachable_url("/rpc")) else { return };
    let registry = TestRegistry::start();
    let import = registry.call("POST", "/import/agent-spec").body("application/json", flows["one"].to_string()).send();
    let id = format!("urn:uuid:{}", flows["one"]["id"].as_str().unwrap());
    assert!(import.text().contains(&id), "{}", import.text());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let input = r#"{"text": "rain", "language": "de"}"#;
    let run = agentdex(&registry, &["run", &id, "--input", input], "");
    assert_eq!(text(&run.stdout), "{\n  \"translated\": \"rain (de)\"\n}\n", "{}", text(&run.stderr));
    let needs = agentdex(&registry, &["run", "-"], &flows["thinking"].to_string());
    let said = text(&needs.stderr);
    assert!(
        !needs.status.success() && said.contains("\"think\" (LlmNode)") && said.contains("register an agent as"),
        "{said}"
    );
}

#[test]
fn server_that_callers_run_tells_its_command() {
    let registry = TestRegistry::start();
    let package = json!({
        "registryType": "npm", "identifier": "@x/y", "version": "1.0.0", "transport": {"type": "stdio"},
        "environmentVariables": [{"name": "Y_KEY", "isRequired": true, "isSecret": true}],
    });
    let server = json!({"name": "com.example/stdio", "description": "d", "version": "1.0.0", "packages": [package]});
    let tool = json!({
        "component_type": "MCPTool", "agentspec_version": "25.4.1", "id": "s", "name": "add", "inputs": [], "outputs": [],
        "client_transport": {"component_type": "StdioTransport", "id": "t", "name": "t", "command": "uvx", "args": ["a b"]},
    });
    for (format, document, id, action, command) in [
        (
            "mcp-server",
            server,
            "urn:agentdex:mcp:com.example/stdio",
            "stdio",
            "start `npx -y @x/y@1.0.0` with Y_KEY set",
        ),
        ("agent-spec", tool, "urn:agentspec:local:s", "add", "start `uvx 'a b'`"),
    ] {
        let import = registry.call("POST", &format!("/import/{format}"));
        import.body("application/json", document.to_string()).send().expect(201);
        for arguments in [&["call", id, action][..], &["call", id], &["ask", "--agent", id, "hi"]] {
            let told = agentdex(&registry, arguments, "");
            let told = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(told.contains(command) && told.contains("standard input and output"), "{arguments:?}: {told}");
        }
    }
}
