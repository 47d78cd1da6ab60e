//! What goes wrong with agents has a typed error, and nothing hangs.

use std::time::{Duration, Instant};

use agentdex::{
    consumer::{Consumer, Error, Settings},
    fetch::Options,
};
use futures_util::StreamExt;
use serde_json::json;

use super::{
    Nobody, agent, asking, run,
    server::{Said, Server},
    thing,
};
use crate::support::{eventually_async, unreachable_url};

/// The error of asking an agent that answers like this.
fn error_of(said: Said, settings: Settings) -> Error {
    let server = Server::start(move |_| said.clone());
    let a2a =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    let description = thing(json!({"a2a:capabilities": {"streaming": true}, "actions": {"ask": {"forms": [a2a]}}}));
    run(async {
        let mut dialogue = agent(&description).update(settings).stream();
        dialogue.send("x");
        loop {
            if let Err(error) = dialogue.next().await.expect("an error, before the end") {
                return error;
            }
        }
    })
}

fn quick() -> Settings {
    Settings::new().timeout(Duration::from_millis(1500)).idle_timeout(Duration::from_millis(500))
}

#[test]
fn form_that_nothing_here_speaks_is_named_with_what_is_spoken() {
    let form = json!({"href": "http://127.0.0.1:9/", "subprotocol": "mcp", "mcp:transport": "pigeon"});
    let described = agent(&thing(json!({"actions": {"add": {"forms": [form]}}})));
    let settings = |name: &str| Settings::new().binding(name);
    for (settings, expected) in [
        (Settings::new(), ["http with the subprotocol mcp over pigeon; bindings: a2a, http", "invokeaction"]),
        (settings("a2a"), ["http with the subprotocol mcp over pigeon; bindings: a2a", "actions.add"]),
        (settings("pigeon"), ["there is no binding \"pigeon\"; available: a2a, http", ""]),
    ] {
        let error = run(described.update(settings).call("add", None)).unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn dead_agent_is_unreachable() {
    let error = run(agent(&asking(&unreachable_url(""))).ask("x")).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_transient(), "{error}");
}

#[test]
fn garbage_is_named_as_such() {
    let is_protocol = |said: Said| {
        let error = error_of(said, Settings::new());
        assert!(matches!(error, Error::Protocol { .. }), "{error}");
    };
    is_protocol(Said::json("not json"));
    is_protocol(Said::json(json!([1])));
    is_protocol(Said::json(json!({"jsonrpc": "2.0", "result": {"what": 1}})));
    is_protocol(Said::stream("text/event-stream", &["data: nonsense\n\n"]));
    is_protocol(Said::stream("text/event-stream", &[": nothing\n\n"]));
    let error = error_of(Said::raw("hello, who is there?\r\n\r\n"), Settings::new());
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let error = error_of(
        Said::json(json!({"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}})),
        Settings::new(),
    );
    assert!(matches!(&error, Error::Agent { code: -32601, message, .. } if message == "no such method"), "{error}");
    let error = error_of(
        Said::new("500 Internal Server Error", &["content-type: application/json"], r#"{"detail": "broken"}"#),
        Settings::new(),
    );
    assert!(matches!(&error, Error::Status { status: 500, detail: Some(detail), .. } if detail == "broken"), "{error}");
}

#[test]
fn answer_to_another_request_is_refused() {
    let message = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "not for you"}]}});
    let other = json!({"jsonrpc": "2.0", "id": "other", "result": message});
    for said in [Said::json(&other), Said::stream("text/event-stream", &[&format!("data: {other}\n\n")])] {
        let error = error_of(said, Settings::new());
        assert!(
            matches!(&error, Error::Protocol { reason, .. } if reason.contains("differs from the id of the request")),
            "{error}"
        );
    }
    // The id of a request that the agent couldn't read is null.
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}});
    assert!(matches!(error_of(Said::json(error), Settings::new()), Error::Agent { code: -32700, .. }));
}

#[test]
fn half_a_stream_is_an_interruption() {
    let task = r#"data: {"jsonrpc": "2.0", "result": {"task": {"id": "1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}}"#;
    for rest in ["\n\n", "\n\ndata: {\"jsonrpc\"", ""] {
        let error = error_of(Said::stream("text/event-stream", &[task, rest]), Settings::new());
        assert!(matches!(error, Error::Interrupted { .. }), "{rest:?}: {error}");
    }
    let cut = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{task}\n\n\r\n",
        task.len() + 2
    );
    let error = error_of(Said::raw(cut), Settings::new());
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
}

#[test]
fn large_answer_is_not_read() {
    let ten_megabytes = "x".repeat(10 * 1024 * 1024);
    let whole = Said::json(format!("{ten_megabytes:?}"));
    let unannounced = Said::stream("application/json", &[&ten_megabytes]);
    let event = Said::stream("text/event-stream", &["data: ", &ten_megabytes]);
    for said in [whole, unannounced, event] {
        let error = error_of(said, Settings::new());
        assert!(matches!(error, Error::AnswerTooLarge { .. }), "{error}");
    }
}

#[test]
fn private_addresses_are_called_only_where_that_is_allowed() {
    let server = Server::start(|_| Said::json("1"));
    let strict = Consumer::with_options(Nobody, Options::default()).unwrap();
    for href in [
        server.origin.clone(),
        server.origin.replace("127.0.0.1", "localhost"),
        "http://169.254.169.254/".into(),
        "file:///etc/passwd".into(),
    ] {
        let error = run(strict.agent_of(&asking(&href).to_string()).unwrap().ask("x")).unwrap_err();
        assert!(matches!(error, Error::Refused { .. } | Error::NoForm { .. }), "{href}: {error}");
    }
    assert!(server.received().is_empty());
    // A redirect leads to no other origin, private or not.
    for location in ["http://10.0.0.1/", "http://169.254.169.254/latest", "https://example.org/"] {
        let redirect =
            Server::start(move |_| Said::new("307 Temporary Redirect", &[&format!("location: {location}")], ""));
        let error = run(agent(&asking(&redirect.origin)).ask("x")).unwrap_err();
        assert!(matches!(&error, Error::Refused { .. }), "{error}");
    }
    let within = Server::start(|request| match request.line.as_str() {
        "POST /" => Said::new("308 Permanent Redirect", &["location: /there"], ""),
        _ => Said::json(json!("moved")),
    });
    assert_eq!(run(agent(&asking(&within.origin)).ask("x")).unwrap().message().text(), "moved");
    assert_eq!(within.received()[1].body, "\"x\"");
}

#[test]
fn nothing_is_waited_for_beyond_its_time() {
    let silent = Said::default().hanging();
    let head = Said::stream("text/event-stream", &[]).hanging();
    // A byte now and then: never silent for long, and never done.
    let drip = Said::stream("text/event-stream", &["d"; 100]).every(Duration::from_millis(100));
    for (name, said) in [("silent", silent), ("head", head), ("drip", drip)] {
        let started = Instant::now();
        let error = error_of(said, quick());
        assert!(matches!(error, Error::TimedOut { .. }) && error.is_transient(), "{name}: {error}");
        assert!(started.elapsed() < Duration::from_secs(30), "{name}");
    }
    // Plain HTTP, with a body that drips.
    let server = Server::start(|_| Said::stream("application/json", &["1"; 100]).every(Duration::from_millis(100)));
    let error = run(agent(&asking(&server.origin)).update(quick()).ask("x")).unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
}

#[test]
fn answer_that_contradicts_the_description_is_refused() {
    let server = Server::start(|_| Said::json(json!({"temperature": "warm"})));
    let output = json!({"type": "object", "properties": {"temperature": {"type": "number"}}});
    let description = thing(json!({"actions": {"ask": {"output": output, "forms": [{"href": &server.origin}]}}}));
    let error = run(agent(&description).call("ask", None)).unwrap_err();
    let Error::InvalidAnswer { violations, answer, .. } = &error else { panic!("{error}") };
    assert_eq!((violations[0].pointer.as_str(), &**answer), ("/temperature", &json!({"temperature": "warm"})));
    // A schema that is none.
    let broken = thing(json!({"actions": {"ask": {"input": {"type": 3}, "forms": [{"href": &server.origin}]}}}));
    let error = run(agent(&broken).call("ask", json!(1))).unwrap_err();
    assert!(matches!(error, Error::InvalidDescription { .. }), "{error}");
}

#[test]
fn request_is_dropped_with_its_call() {
    let server = Server::start(|_| Said::default().hanging());
    run(async {
        let asking = agent(&asking(&server.origin));
        let call = tokio::spawn(async move { asking.ask("x").await });
        eventually_async("the request", async || !server.received().is_empty()).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    });
    let description =
        thing(json!({"events": {"storm": {"forms": [{"href": &server.origin, "subprotocol": "longpoll"}]}}}));
    run(async {
        // Nothing happens for longer than a call may take: a subscription waits.
        let settings = Settings::new().timeout(Duration::from_millis(200)).idle_timeout(Duration::from_millis(100));
        let mut events = agent(&description).update(settings.clone()).subscribe("storm", None).await.unwrap();
        let impatient = agent(&asking(&server.origin)).update(settings);
        let calls = async {
            for _ in 0..3 {
                let error = impatient.ask("x").await.unwrap_err();
                assert!(matches!(error, Error::TimedOut { .. }), "{error}");
            }
        };
        tokio::select! {
            biased;
            event = events.next() => panic!("{event:?}"),
            () = calls => {}
        }
    });
}

#[test]
fn second_form_is_used_where_the_first_has_no_connection() {
    let server = Server::start(|_| Said::json(json!({"ok": true})));
    let with_first = |href: &str| {
        thing(json!({"actions": {"ask": {"forms": [{"href": href}, {"href": format!("{}/second", server.origin)}]}}}))
    };
    for href in [unreachable_url("/first"), "http://no-such-host.invalid/first".to_owned()] {
        let reply = run(agent(&with_first(&href)).call("ask", json!({}))).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(reply.message.data(), Some(&json!({"ok": true})), "{href}");
    }
    assert!(server.received().iter().all(|request| request.line == "POST /second"));
    // What has been sent may have had its effect.
    let first = Server::start(|_| Said::raw(""));
    let error = run(agent(&with_first(&first.origin)).call("ask", json!({}))).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. } | Error::Interrupted { .. }), "{error:?}");
    assert_eq!((first.received().len(), server.received().len()), (1, 2));
}

#[test]
fn headers_that_the_form_of_an_agent_declares_are_sent() {
    let server = Server::start(|_| Said::json(json!({})));
    let form = json!({
        "href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "0.3",
        "htv:headers": [{"htv:fieldName": "X-Tenant", "htv:fieldValue": "acme"}],
    });
    let _ = run(agent(&thing(json!({"actions": {"ask": {"forms": [form]}}}))).ask("hi"));
    assert_eq!(server.only().header("x-tenant"), "acme");
}
