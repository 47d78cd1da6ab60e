//! Conversations through the registry, with an agent that the SDK of A2A makes.

use std::time::Duration;

use agentdex::access::{NewKey, Role, Rules};
use agentdex_client::{
    RegistryClient,
    api::{Turn, TurnEvent},
};
use agentdex_server::http;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::{
    consumer::{
        agents::TestAgent,
        asking, run,
        server::{Said, Server},
        thing,
    },
    support::{Answer, Call, EventStream, TestRegistry, eventually},
};

fn say(registry: &TestRegistry, id: &str, turn: Value) -> Answer {
    registry.call("POST", &format!("/things/{id}/conversation")).body("application/json", turn.to_string()).send()
}

/// Registers a description, and returns its id.
fn register(registry: &TestRegistry, description: &Value) -> String {
    let id = description["id"].as_str().unwrap();
    registry.put(&format!("/things/{id}"), description.to_string());
    id.to_owned()
}

fn offering() -> TestRegistry {
    TestRegistry::with_conversations(true, http::Options::default())
}

#[test]
fn conversation_goes_on_with_what_the_last_answer_had() {
    let Some(weather) = TestAgent::python_1_0() else { return };
    let registry = offering();
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let id = register(&registry, &weather.described(binding));
        let answer = say(&registry, &id, json!({"message": "Will it rain?"})).expect(200).json();
        assert_eq!((&answer["text"], &answer["state"]), (&json!("Yes, take an umbrella."), &json!("completed")));
        assert_eq!(answer["message"]["parts"][0], json!({"kind": "text", "text": "Yes, take an umbrella."}));
        // The agent asks back, and knows what the answer belongs to.
        let asked = say(&registry, &id, json!({"message": "which"})).expect(200).json();
        assert_eq!((&asked["text"], &asked["state"]), (&json!("Which city?"), &json!("input-required")));
        let turn = json!({"message": "Bonn", "conversation": asked["conversation"]});
        let answer = say(&registry, &id, turn).expect(200).json();
        assert_eq!(answer["text"], "It is dry in Bonn.");
        assert_eq!(answer["conversation"]["history"].as_array().unwrap().len(), 4);
        // What goes on by itself is waited for.
        let report = say(&registry, &id, json!({"message": "report"})).expect(200).json();
        assert!(report["conversation"].to_string().contains("Monday: sun"), "{report}");
    }
}

#[test]
fn r47_failed_turn_is_answered_with_its_conversation_which_goes_on() {
    let server = Server::start(|request| {
        let (status, message) = match request.body.contains("again") {
            true => ("success", "Yes."),
            false => ("failure", "No station answers."),
        };
        Said::json(json!({"thought": "t", "status": status, "data": {"station": 7}, "message": message}))
    });
    let mut description = asking(&server.origin);
    description["actions"]["ask"]["output"] = json!({"@type": "sacp:Response", "type": "object"});
    let registry = offering();
    let id = register(&registry, &description);
    let failed = say(&registry, &id, json!({"message": "Will it rain?"})).expect(200).json();
    assert_eq!((&failed["state"], &failed["text"]), (&json!("failed"), &json!("No station answers.")));
    let data = json!({"kind": "data", "data": {"station": 7}});
    assert!(failed["message"]["parts"].as_array().unwrap().contains(&data), "{failed}");
    let next = json!({"message": "again", "conversation": failed["conversation"]});
    let answer = say(&registry, &id, next).expect(200).json();
    assert_eq!((&answer["state"], &answer["text"]), (&json!("completed"), &json!("Yes.")));
    assert_eq!(answer["conversation"]["history"].as_array().unwrap().len(), 4);

    let Some(weather) = TestAgent::python_1_0() else { return };
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let id = register(&registry, &weather.described(binding));
        let failed = say(&registry, &id, json!({"message": "fail"})).expect(200).json();
        assert_eq!((&failed["state"], &failed["text"]), (&json!("failed"), &json!("No station answers")));
        let next = json!({"message": "Will it rain?", "conversation": failed["conversation"]});
        assert_eq!(say(&registry, &id, next).expect(200).json()["text"], "Yes, take an umbrella.");
    }
}

/// A Thing whose action declares its input.
fn forecast(server: &Server) -> Value {
    let input = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]});
    let form = json!([{"href": server.origin}]);
    thing(json!({"actions": {"forecast": {"input": input, "forms": form}, "now": {"forms": form}}}))
}

#[test]
fn r42_input_is_checked_against_the_schema_of_the_action() {
    let server = Server::start(|_| Said::json(json!("It rains.")));
    let registry = offering();
    let id = register(&registry, &forecast(&server));
    let forecast = |input: Value| say(&registry, &id, json!({"input": input, "action": "forecast"}));
    let answer = forecast(json!({"city": "Bonn", "days": 2})).expect(200).json();
    assert_eq!(server.only().json(), json!({"city": "Bonn", "days": 2}));
    let data = json!([{"kind": "data", "data": {"city": "Bonn", "days": 2}}]);
    assert_eq!(answer["conversation"]["history"][0]["parts"], data);
    for (input, pointer) in
        [(json!({"city": "Bonn", "days": "two"}), "/days"), (json!({"city": "Bonn"}), ""), (json!(3), "")]
    {
        let refused = forecast(input).problem(400, "invalid-input");
        assert_eq!(refused["validationErrors"][0]["pointer"], pointer, "{refused}");
    }
    // A text beside it has to have a place, too.
    let beside = |action: &str, input: Value| json!({"message": "Rain?", "input": input, "action": action});
    let refused =
        say(&registry, &id, beside("forecast", json!({"city": "Bonn", "days": 2}))).problem(400, "invalid-input");
    assert_eq!(refused["validationErrors"][0]["rule"], "input-text", "{refused}");
    assert_eq!(server.received().len(), 1);
    say(&registry, &id, beside("forecast", json!({"days": 2}))).expect(200);
    assert_eq!(server.received()[1].json(), json!({"city": "Rain?", "days": 2}));
    // An action that takes nothing.
    for input in [json!({}), Value::Null] {
        say(&registry, &id, json!({"input": input, "action": "now"})).expect(200);
        assert_eq!(server.received().last().unwrap().body, "");
    }
    assert_eq!(server.received().len(), 4);
}

#[test]
fn r42_parts_go_to_the_agent_after_the_text() {
    let Some(weather) = TestAgent::python_1_0() else { return };
    let registry = offering();
    let mut description = weather.described("JSONRPC");
    // An agent that reads text is sent data as text.
    description["a2a:defaultInputModes"] = json!(["application/json"]);
    let id = register(&registry, &description);
    let parts = json!([
        {"kind": "image", "url": "https://example.com/logo.png", "mediaType": "image/png", "name": "logo.png"},
        {"kind": "document", "bytes": "AP8=", "mediaType": "application/pdf"},
        {"kind": "data", "data": {"a": "b"}},
        {"kind": "text", "text": "as it is"},
    ]);
    let answer = say(&registry, &id, json!({"message": "echo", "parts": parts})).expect(200).json();
    let said = answer["message"]["parts"][0]["data"]["parts"].as_array().unwrap();
    assert_eq!(said.len(), 5, "{said:?}");
    assert_eq!((&said[0]["text"], &said[4]["text"]), (&json!("echo"), &json!("as it is")));
    assert_eq!((&said[1]["url"], &said[2]["raw"]), (&json!("https://example.com/logo.png"), &json!("AP8=")));
    assert_eq!(said[3]["data"], json!({"a": "b"}));
    let parts = json!([{"kind": "text", "text": "echo"}, {"kind": "binary", "bytes": ""}]);
    let answer = say(&registry, &id, json!({"input": {"b": "c"}, "parts": parts})).expect(200).json();
    let said = answer["message"]["parts"][0]["data"]["parts"].as_array().unwrap();
    assert_eq!((&said[0]["data"], &said[1]["text"], said.len()), (&json!({"b": "c"}), &json!("echo"), 3));
}

#[test]
fn r42_message_that_can_not_be_sent_is_refused() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let registry = offering();
    let id = register(&registry, &asking(&server.origin));
    let refused =
        |turn: Value| say(&registry, &id, turn).problem(400, "invalid-query")["detail"].as_str().unwrap().to_owned();
    for (turn, expected) in [
        (json!({}), "give a `message`, the `input`"),
        (json!({"message": null, "parts": []}), "give a `message`, the `input`"),
    ] {
        assert!(refused(turn.clone()).contains(expected), "{turn}");
    }
    let taken = "text, data, image, audio, document, video, binary";
    let tool = json!({"kind": "tool-call", "id": "1", "name": "x", "arguments": {}});
    for (part, expected) in [
        (json!({"kind": "system-prompt", "text": "Obey."}), taken),
        (tool, taken),
        (json!({"kind": "tool-result", "id": "1", "result": 1}), taken),
        (json!({"kind": "thinking", "text": "Hm."}), taken),
        (json!({"kind": "artifact", "id": "1", "parts": []}), taken),
        (json!({"kind": "Text", "text": "one"}), taken),
        (json!({"text": "one"}), taken),
        (json!("one"), taken),
        (json!({"kind": "text"}), "missing field `text`"),
        (json!({"kind": "text", "text": "one", "mediaType": "text/html"}), r#"can't have the member "mediaType""#),
        (json!({"kind": "data"}), "missing field `data`"),
        (json!({"kind": "image"}), "exactly one of `url` and `bytes`"),
        (json!({"kind": "image", "uri": "https://example.com/a.png"}), "url, bytes, mediaType, name"),
        (
            json!({"kind": "image", "url": "https://example.com/a.png", "bytes": "AP8="}),
            "exactly one of `url` and `bytes`",
        ),
        (json!({"kind": "audio", "bytes": "AP8"}), "/parts/1: "),
    ] {
        let detail = refused(json!({"message": "one", "parts": [{"kind": "text", "text": "two"}, part]}));
        assert!(detail.contains(expected) && detail.contains("/parts/1: "), "{part}: {detail}");
    }
    assert!(server.received().is_empty());
}

#[test]
fn r42_content_that_a_request_has_no_place_for_is_refused() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let registry = offering();
    let form = |form: Value| json!({"forms": [form]});
    let description = thing(json!({"actions": {
        "plain": form(json!({"href": server.origin})),
        "sound": form(json!({"href": server.origin, "contentType": "audio/wav"})),
        "tool": form(json!({"href": server.origin, "subprotocol": "mcp", "mcp:tool": "find"})),
    }}));
    let id = register(&registry, &description);
    let sound = json!({"kind": "audio", "bytes": "AP8=", "mediaType": "audio/wav"});
    for (action, parts) in [
        ("plain", json!([{"kind": "text", "text": "one"}, sound])),
        ("sound", json!([sound, sound])),
        ("sound", json!([{"kind": "audio", "url": "https://example.com/a.wav"}])),
        ("tool", json!([{"kind": "text", "text": "one"}, sound])),
    ] {
        let turn = json!({"parts": parts, "action": action});
        let refused = say(&registry, &id, turn).problem(422, "agent-not-callable");
        assert!(refused["detail"].as_str().unwrap().contains("doesn't support"), "{action}: {refused}");
    }
    let parts = json!([{"kind": "data", "data": {"a": 2}}]);
    say(&registry, &id, json!({"input": {"a": 1}, "parts": parts, "action": "plain"})).problem(400, "invalid-input");
    assert!(server.received().is_empty());
    say(&registry, &id, json!({"parts": [sound], "action": "sound"})).expect(200);
    assert_eq!(server.only().header("content-type"), "audio/wav");
}

#[test]
fn nothing_is_called_where_that_is_not_offered() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let registry = TestRegistry::start();
    let id = register(&registry, &asking(&server.origin));
    let refused = say(&registry, &id, json!({"message": "one"})).problem(501, "conversations-not-offered");
    assert!(refused["detail"].as_str().unwrap().contains("--conversations"), "{refused}");
    assert!(registry.get("/").expect(200).json()["links"].get("conversation").is_none());
    let registry = offering();
    assert!(registry.get("/").expect(200).json()["links"]["conversation"].is_string());
    assert!(server.received().is_empty());
}

#[test]
fn agents_on_this_network_are_called_only_where_that_is_allowed() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let registry = TestRegistry::with_conversations(false, http::Options::default());
    let id = register(&registry, &asking(&server.origin));
    let refused = say(&registry, &id, json!({"message": "one"})).problem(422, "agent-not-callable");
    assert!(refused["detail"].as_str().unwrap().contains("127.0.0.1"), "{refused}");
    assert!(server.received().is_empty());
}

#[test]
fn what_can_not_be_said_is_told_from_what_the_agent_does_wrong() {
    let server = Server::start(|request| match request.json().as_str() {
        Some("broken") => Said::new("500 Internal Server Error", &[], "it is broken"),
        _ => Said::json(json!("answer")),
    });
    let registry = offering();
    let id = register(&registry, &asking(&server.origin));
    say(&registry, "urn:example:nobody", json!({"message": "one"})).problem(404, "not-found");
    say(&registry, &id, json!({"message": "broken"})).problem(502, "agent-failed");
    say(&registry, &id, json!({"message": "one", "action": "fly"})).problem(422, "agent-not-callable");
    say(&registry, &id, json!({"message": "one", "conversation": {"agent": 1}})).problem(400, "invalid-conversation");
    say(&registry, &id, json!({"messages": ["one"]})).problem(400, "invalid-query");
    registry.get(&format!("/things/{id}/conversation")).problem(405, "method-not-allowed");
    let mut silent = asking(&server.origin);
    silent["id"] = "urn:example:silent".into();
    silent.as_object_mut().unwrap().remove("actions");
    let silent = register(&registry, &silent);
    say(&registry, &silent, json!({"message": "one"})).problem(422, "agent-not-callable");
    assert_eq!(say(&registry, &id, json!({"message": "one"})).expect(200).json()["text"], "answer");
}

#[test]
fn whoever_may_not_see_an_agent_can_not_talk_with_it() {
    let server = Server::start(|_| Said::json(json!("answer")));
    let access = Rules { authentication: true, ..Rules::default() };
    let registry = TestRegistry::with_conversations(true, http::Options { access, ..Default::default() });
    let key = |owner: &str, role| {
        let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
        registry.registry().keys().create(new).unwrap().1
    };
    let keys = [key("us", Role::Register), key("others", Role::Register), key("readers", Role::Read)];
    let call = |key: &str, method: &str, path: &str| {
        registry.call(method, path).header("authorization", &format!("Bearer {key}"))
    };
    let thing = asking(&server.origin);
    let path = format!("/things/{}", thing["id"].as_str().unwrap());
    let put = call(&keys[0], "PUT", &format!("{path}?visibility=private"));
    put.body("application/td+json", thing.to_string()).send().expect(201);
    let say = |key: &str| {
        let call = call(key, "POST", &format!("{path}/conversation"));
        call.body("application/json", json!({"message": "one"}).to_string()).send()
    };
    say(&keys[0]).expect(200);
    say(&keys[1]).problem(404, "not-found");
    say(&keys[2]).problem(403, "forbidden");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn action_that_requires_confirmation_is_not_called() {
    let server = Server::start(|_| Said::json(json!("done")));
    let registry = offering();
    let mut thing = asking(&server.origin);
    thing["actions"]["ask"]["agentspec:requiresConfirmation"] = json!(true);
    let id = register(&registry, &thing);
    say(&registry, &id, json!({"message": "Now?"})).problem(422, "agent-not-callable");
    assert_eq!(server.received().len(), 0);
}

/// An answer that is streamed.
fn say_streaming(registry: &TestRegistry, id: &str, turn: &Value) -> EventStream {
    EventStream::open(streaming(registry, id, turn))
}

fn streaming(registry: &TestRegistry, id: &str, turn: &Value) -> Call {
    let call = registry.call("POST", &format!("/things/{id}/conversation")).header("accept", "text/event-stream");
    call.body("application/json", turn.to_string())
}

/// The events of a stream to its end, by name and data.
fn events_of(mut stream: EventStream) -> Vec<(String, Value)> {
    std::iter::from_fn(|| stream.next()).map(|event| (event.kind.clone(), event.json())).collect()
}

#[test]
fn r42_answer_is_streamed() {
    let registry = offering();
    let sent = "data: \"It \"\n\ndata: \"rains.\"\n\ndata: {\"mm\": 3}\n\n";
    let server = Server::start(move |_| Said::stream("text/event-stream", &[&sent[..7], &sent[7..]]));
    let id = register(&registry, &asking(&server.origin));
    let mut events = events_of(say_streaming(&registry, &id, &json!({"message": "Will it rain?"})));
    let (name, done) = events.pop().unwrap();
    let text = |text: &str| ("text".to_owned(), json!({"kind": "text", "text": text}));
    assert_eq!(events, [text("It "), text("rains."), ("data".to_owned(), json!({"kind": "data", "data": {"mm": 3}}))]);
    assert_eq!((name.as_str(), &done["state"], &done["text"]), ("done", &json!("completed"), &json!("It rains.")));
    assert_eq!(done["conversation"]["history"].as_array().unwrap().len(), 2);
    // The same object as in JSON.
    let whole = say(&registry, &id, json!({"message": "Will it rain?"})).expect(200).json();
    let names = |answer: &Value| answer.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((names(&done), &done["message"]), (names(&whole), &whole["message"]));

    let Some(weather) = TestAgent::python_1_0() else { return };
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let id = register(&registry, &weather.described(binding));
        let events = events_of(say_streaming(&registry, &id, &json!({"message": "report"})));
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["status", "status", "artifact", "artifact", "text", "done"], "{events:?}");
        assert_eq!(events[1].1["state"], "working");
        assert_eq!(events[3].1["parts"], json!([{"kind": "text", "text": "sun"}]));
        let events = events_of(say_streaming(&registry, &id, &json!({"message": "which"})));
        let (name, question) = events.last().unwrap();
        assert_eq!((name.as_str(), &question["text"]), ("question", &json!("Which city?")));
        let next = json!({"message": "Bonn", "conversation": question["conversation"]});
        let events = events_of(say_streaming(&registry, &id, &next));
        let (name, done) = events.last().unwrap();
        assert_eq!((name.as_str(), &done["text"]), ("done", &json!("It is dry in Bonn.")));
        let events = events_of(say_streaming(&registry, &id, &json!({"message": "fail"})));
        let (name, failed) = events.last().unwrap();
        assert_eq!((name.as_str(), &failed["state"]), ("done", &json!("failed")), "{events:?}");
        assert!(failed["text"].as_str().unwrap().contains("No station answers"), "{failed}");
    }
}

#[test]
fn r42_reasoning_is_not_streamed_and_content_is() {
    let thought = json!({"text": "Hm.", "metadata": {"thought": true}});
    let image = json!({"url": "https://example.com/map.png", "mediaType": "image/png"});
    let artifact = json!({"artifactId": "a", "parts": [thought, {"text": "It rains."}]});
    let working = json!({"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [thought, image]}});
    let completed = json!({"state": "TASK_STATE_COMPLETED", "message": {"messageId": "n", "role": "ROLE_AGENT", "parts": [thought, image]}});
    let updates = [
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": working}}),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}}),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": completed}}),
    ];
    let server = Server::start(move |request| {
        let id = &request.json()["id"];
        let sent = updates
            .each_ref()
            .map(|update| format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": id, "result": update})));
        Said::stream("text/event-stream", &sent.each_ref().map(String::as_str))
    });
    let form =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    let description = thing(json!({"a2a:capabilities": {"streaming": true}, "actions": {"ask": {"forms": [form]}}}));
    let registry = offering();
    let id = register(&registry, &description);
    let mut events = events_of(say_streaming(&registry, &id, &json!({"message": "Will it rain?"})));
    let (name, done) = events.pop().unwrap();
    assert_eq!((name.as_str(), &done["state"]), ("done", &json!("completed")));
    assert!(events.iter().all(|(_, data)| !data.to_string().contains("thinking")), "{events:?}");
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["status", "artifact", "media"], "{events:?}");
    assert_eq!(events[2].1["url"], "https://example.com/map.png");
}

#[test]
fn r42_failure_is_a_problem_before_a_stream_and_an_event_in_it() {
    let registry = offering();
    let server = Server::start(|request| match request.json().as_str() {
        Some("broken") => Said::new("500 Internal Server Error", &[], "it is broken"),
        _ => Said::raw(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: \"It \"\n\n",
        ),
    });
    let id = register(&registry, &asking(&server.origin));
    let ask = |turn: Value| streaming(&registry, &id, &turn).send();
    ask(json!({"message": "broken"})).problem(502, "agent-failed");
    ask(json!({"message": "one", "action": "fly"})).problem(422, "agent-not-callable");
    ask(json!({})).problem(400, "invalid-query");
    ask(json!({"message": "one", "conversation": {"agent": 1}})).problem(400, "invalid-conversation");
    let events = events_of(say_streaming(&registry, &id, &json!({"message": "one"})));
    assert_eq!(events[0], ("text".to_owned(), json!({"kind": "text", "text": "It "})));
    let (name, problem) = &events[1];
    assert_eq!((name.as_str(), &problem["status"], &problem["code"]), ("error", &json!(502), &json!("agent-failed")));
    assert_eq!(events.len(), 2, "{events:?}");

    let call = |accept: &str| {
        let call = registry.call("POST", &format!("/things/{id}/conversation")).header("accept", accept);
        call.body("application/json", json!({"message": "broken"}).to_string()).send()
    };
    let refused = call("text/html").problem(406, "not-acceptable");
    assert_eq!(refused["offered"], json!(["application/json", "text/event-stream"]));
    call("application/json, text/event-stream").problem(502, "agent-failed");
}

#[test]
fn client_receives_an_answer_as_it_comes() {
    let server = Server::start(|request| match request.json().as_str() {
        Some("broken") => Said::raw(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: \"It \"\n\n",
        ),
        _ => Said::stream("text/event-stream", &["data: \"It \"\n\n", "data: \"rains.\"\n\n"]),
    });
    let registry = offering();
    let id = register(&registry, &asking(&server.origin));
    let client = RegistryClient::new(&registry.url("")).unwrap();
    let turn = |message: &str| Turn { message: Some(message.into()), ..Turn::default() };
    run(async {
        let events = client.ask_agent_streaming(&id, &turn("Will it rain?")).await.unwrap();
        let events: Vec<TurnEvent> = events.map(Result::unwrap).collect().await;
        let [TurnEvent::Part(first), TurnEvent::Part(_), TurnEvent::Done(done)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!((&first["text"], done.text.as_str()), (&json!("It "), "It rains."));
        let mut events = client.ask_agent_streaming(&id, &turn("broken")).await.unwrap();
        assert!(matches!(events.next().await, Some(Ok(TurnEvent::Part(_)))));
        let failed = events.next().await.unwrap().unwrap_err();
        assert_eq!(failed.problem().unwrap().code, "agent-failed");
        assert!(events.next().await.is_none());
        let nobody = client.ask_agent_streaming("urn:example:nobody", &turn("one")).await.err().unwrap();
        assert!(nobody.is_not_found());
    });
}

#[test]
fn r42_streamed_answer_is_bounded_and_cancelled_by_a_client_that_leaves() {
    let Some(weather) = TestAgent::python_1_0() else { return };
    let limits = http::Limits { max_streams: Some(1), ..http::Limits::default() };
    let heartbeat = Duration::from_millis(50);
    let registry =
        TestRegistry::with_conversations(true, http::Options { limits, heartbeat, ..http::Options::default() });
    let id = register(&registry, &weather.described("JSONRPC"));
    let cancelled = || say(&registry, &id, json!({"message": "cancelled?"}));
    assert_eq!(cancelled().expect(200).json()["text"], "0");
    let mut stream = say_streaming(&registry, &id, &json!({"message": "slow"}));
    stream.wait_for_text(": alive");
    cancelled().problem(503, "too-many-clients");
    streaming(&registry, &id, &json!({"message": "one"})).send().problem(503, "too-many-clients");
    drop(stream);
    eventually("the end of the task", || {
        let answer = cancelled();
        answer.status == 200 && answer.json()["text"] == "1"
    });
}

#[test]
fn r42_streamed_answer_ends_with_the_credentials_of_its_caller() {
    let server = Server::start(|_| Said::stream("text/event-stream", &["data: \"It \"\n\n"]).hanging());
    let access = Rules { authentication: true, ..Rules::default() };
    let registry = TestRegistry::with_conversations(true, http::Options { access, ..Default::default() });
    let key = registry.key("us", Role::Register);
    let bearer = format!("Bearer {key}");
    let description = asking(&server.origin);
    let id = description["id"].as_str().unwrap();
    let put = registry.call("PUT", &format!("/things/{id}")).header("authorization", &bearer);
    put.body("application/td+json", description.to_string()).send().expect(201);
    let turn = json!({"message": "one"});
    streaming(&registry, id, &turn).send().problem(401, "unauthenticated");
    let mut stream = EventStream::open(streaming(&registry, id, &turn).header("authorization", &bearer));
    assert_eq!(stream.next().unwrap().kind, "text");
    let known = registry.registry().keys().list();
    registry.registry().keys().revoke(&known[0].id).unwrap();
    eventually("the end of the stream", || stream.next().is_none());
}
