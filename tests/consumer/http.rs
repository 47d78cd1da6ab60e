//! Plain HTTP as forms describe it, against a server that remembers what it was sent.

use agentdex::{
    consumer::{Error, Event, Media, Message, Part, Settings, State},
    convert::{
        Syntax,
        agent_spec::{Configuration, Options},
    },
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    agent, asking, run,
    server::{Said, Server},
    thing,
};
use crate::support::unreachable_url;

#[test]
fn form_says_method_headers_and_content() {
    let server = Server::start(|_| Said::json(json!({"ok": true})));
    let origin = &server.origin;
    let description = thing(json!({"base": format!("{origin}/base/"), "actions": {
        "put": {"forms": [{"href": "put", "htv:methodName": "PUT", "htv:headers": [{"htv:fieldName": "X-A", "htv:fieldValue": "b"}]}]},
        "form": {"forms": [{"href": "form", "contentType": "application/x-www-form-urlencoded"}]},
        "plain": {"forms": [{"href": "plain", "contentType": "text/plain"}]},
        "sound": {"forms": [{"href": "sound", "contentType": "audio/wav"}]},
        "find": {"safe": true, "uriVariables": {"q": {"type": "string"}, "n": {"type": "integer", "default": 5}},
            "forms": [{"href": "find/{q}{?n}", "htv:methodName": "GET"}]},
    }}));
    let agent = agent(&description).update(Settings::new().header("X-Team", "weather"));
    run(async {
        agent.call("put", json!({"a": 1})).await.unwrap();
        agent.call("form", json!({"a": "x y", "b": 2})).await.unwrap();
        agent.call("plain", json!("text")).await.unwrap();
        let sound = Message::from(Part::Audio(Media::bytes("audio/wav", *b"RIFF")));
        agent.update(Settings::new().action("sound")).ask(sound).await.unwrap();
        agent.call("find", json!({"q": "New York"})).await.unwrap();
    });
    let received = server.received();
    let lines: Vec<&str> = received.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(
        lines,
        ["PUT /base/put", "POST /base/form", "POST /base/plain", "POST /base/sound", "GET /base/find/New%20York?n=5"]
    );
    let bodies: Vec<&str> = received.iter().map(|request| request.body.as_str()).collect();
    assert_eq!(bodies, [r#"{"a":1}"#, "a=x%20y&b=2", "text", "RIFF", ""]);
    assert_eq!((received[0].header("x-a"), received[3].header("content-type")), ("b", "audio/wav"));
    assert!(received.iter().all(|request| request.header("x-team") == "weather"));
}

#[test]
fn tools_of_agent_spec_are_called_by_their_forms() {
    let server = Server::start(|_| Said::json(json!({"result": "sunny"})));
    let tool = json!({
        "component_type": "RemoteTool", "agentspec_version": "25.4.2", "id": "weather", "name": "weather",
        "url": format!("{}/w/{{{{city}}}}", server.origin), "http_method": "POST",
        "headers": {"X-Version": "2", "X-Trace": "{{trace}}"}, "query_params": {"days": "{{days}}", "lang": "en"},
        "data": {"note": "{{note}}", "fixed": 3},
        "inputs": [{"title": "city", "type": "string"}, {"title": "days", "type": "integer"}, {"title": "note", "type": "string"}, {"title": "trace", "type": "string"}],
        "outputs": [{"title": "result", "type": "string"}],
    });
    let configuration = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
    let conversion = configuration.to_things(&Options::default()).unwrap();
    let description: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
    let agent = agent(&description).update(Settings::new().variable("trace", "t1"));
    let answer = run(agent.call("weather", json!({"city": "New York", "days": 3, "note": "hi", "fixed": 3}))).unwrap();
    assert_eq!(answer.message.data(), Some(&json!({"result": "sunny"})));
    let request = server.only();
    assert_eq!(request.line, "POST /w/New%20York?days=3&lang=en");
    assert_eq!((request.header("x-version"), request.header("x-trace")), ("2", "t1"));
    assert_eq!(request.json(), json!({"note": "hi", "fixed": 3}));
}

#[test]
fn one_request_has_several_responses() {
    for (media_type, body) in [
        ("text/event-stream", "data: \"It \"\n\ndata: \"rains\"\n\ndata: {\"mm\": 3}\n\n"),
        ("application/x-ndjson", "\"It \"\n\"rains\"\n{\"mm\": 3}\n"),
    ] {
        let server = Server::start(move |_| Said::stream(media_type, &[&body[..7], &body[7..]]));
        run(async {
            let mut exchange = agent(&asking(&server.origin)).call_streaming("ask", None).await.unwrap();
            let mut events = Vec::new();
            while let Some(event) = exchange.events.next().await {
                events.push(event.unwrap());
            }
            let Some(Event::Done(reply)) = events.pop() else { panic!("{events:?}") };
            assert_eq!(events, [Event::Text("It ".into()), Event::Text("rains".into()), Event::Data(json!({"mm": 3}))]);
            assert_eq!(reply.message.text(), "It rains", "what was forwarded is kept while it is short: {reply:?}");
            let whole = agent(&asking(&server.origin)).call("ask", None).await.unwrap().message;
            assert_eq!((whole.text().as_str(), whole.data()), ("It rains", Some(&json!({"mm": 3}))));
        });
    }
}

#[test]
fn error_in_a_stream_of_server_sent_events_is_a_failure() {
    for (data, said) in [
        (r#"{"message": "model overloaded"}"#, "model overloaded"),
        (r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#, "Overloaded"),
        ("too long", "too long"),
    ] {
        let body = format!("data: \"It \"\n\nevent: error\ndata: {data}\n\n");
        let server = Server::start(move |_| Said::stream("text/event-stream", &[body.as_str()]));
        let error = run(agent(&asking(&server.origin)).call("ask", None)).unwrap_err();
        assert!(matches!(&error, Error::Failed { state: State::Failed, message, .. } if message == said), "{error:?}");
    }
}

#[test]
fn binary_answer_comes_in_frames() {
    let server =
        Server::start(|_| Said::stream("audio/wav", &["RI", "FF"]).every(std::time::Duration::from_millis(50)));
    run(async {
        let mut exchange = agent(&asking(&server.origin)).call_streaming("ask", None).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(event) = exchange.events.next().await {
            match event.unwrap() {
                Event::Media(Part::Audio(Media { content: agentdex::consumer::Content::Bytes(piece), .. })) => {
                    bytes.extend(piece)
                }
                Event::Done(_) => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bytes, b"RIFF");
    });
}

#[test]
fn action_under_way_is_asked_about_until_it_is_done() {
    let server = Server::start(|request| match request.line.as_str() {
        "POST /" => Said::new(
            "201 Created",
            &["content-type: application/json", "location: /status/1"],
            r#"{"status": "pending", "href": "/status/1"}"#,
        ),
        "DELETE /status/1" => Said::new("204 No Content", &[], ""),
        _ => {
            static ASKED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
            match ASKED.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => Said::json(json!({"status": "running"})),
                _ => Said::json(json!({"status": "completed", "output": "done"})),
            }
        }
    });
    let agent = agent(&asking(&server.origin));
    run(async {
        let asked = agent.ask("go").await.unwrap();
        assert_eq!(asked.state(), State::Submitted);
        let task = asked.continuation().task.clone();
        assert!(task.as_ref().is_some_and(|task| task.ends_with("/status/1")));
        agent.cancel("ask", task).await.unwrap();
        let done = agent.process("go").await.unwrap();
        assert_eq!((done.state(), done.message().text().as_str()), (State::Completed, "done"));
        // The place of a status is on the same server.
        let error = agent.query("ask", Some(unreachable_url("/x"))).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
    });
}

#[test]
fn subscription_by_server_sent_events_goes_on_after_the_last_event() {
    let server = Server::start(|request| match request.header("last-event-id") {
        "" => Said::stream("text/event-stream", &["id: 1\ndata: {\"n\": 1}\n\n"]),
        "1" => Said::stream("text/event-stream", &["id: 2\ndata: {\"n\": 2}\n\n"]).hanging(),
        other => panic!("{other}"),
    });
    let form = json!({"href": &server.origin, "subprotocol": "sse"});
    let agent = agent(&thing(json!({"events": {"storm": {"forms": [form]}}})));
    run(async {
        let events = agent.subscribe("storm", None).await.unwrap();
        let numbers: Vec<Value> = events
            .take(2)
            .map(|event| match event.unwrap() {
                Event::Notification(notification) => notification.data["n"].clone(),
                other => panic!("{other:?}"),
            })
            .collect()
            .await;
        assert_eq!(numbers, [json!(1), json!(2)]);
    });
}

#[test]
fn target_that_is_a_variable_is_resolved_against_the_base() {
    let server = Server::start(|_| Said::json(json!({})));
    let of_base = |base: &str, href: &str| {
        let mut description = asking(href);
        description["base"] = base.into();
        description["actions"]["ask"]["uriVariables"] = json!({"q": {"type": "string"}});
        run(agent(&description).call("ask", json!({"q": "x"})))
    };
    let base = format!("{}/things/x/", server.origin);
    for (href, line) in [
        ("{?q}", "/things/x/?q=x"),
        ("{/q}", "/x"),
        ("{q}", "/things/x/x"),
        ("{+q}/y{?q}", "/things/x/x/y?q=x"),
        ("{;q}", "/things/x/;q=x"),
        ("y{?q}", "/things/x/y?q=x"),
    ] {
        of_base(&base, href).unwrap_or_else(|error| panic!("{href}: {error}"));
        assert_eq!(server.received().last().unwrap().line, format!("POST {line}"), "{href}");
    }
    let error = of_base("http://{host}/", "ask").unwrap_err().to_string();
    assert!(error.contains("`base`") && error.contains("\"host\""), "{error}");
}
