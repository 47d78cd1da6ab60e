//! Tools of a server that the official Python SDK makes, over streamable HTTP and over stdio.

use std::{
    env,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use agentdex::{
    consumer::{
        Affordance, Authorization, Binding, Call, Consumer, Content, Description, Error, Event, Grant, Mcp, Message,
        Operation, Part, Place, Program, Secret, Trace,
    },
    search::Search,
};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};

use super::{answer, beside, block_on, call, description, events, invoke, until};
use crate::{
    consumer::{loopback, thing},
    support::{TestRegistry, eventually, skipped, unreachable_url},
};

/// The Python of an environment with the SDK; none: the tests are skipped.
fn python() -> Option<String> {
    let python = env::var("AGENTDEX_MCP_PYTHON").ok();
    if python.is_none() {
        skipped("mcp", "AGENTDEX_MCP_PYTHON that names a Python with the SDK of MCP (.ci/run installs one)");
    }
    python
}

/// A server over HTTP.
struct Server {
    port: u16,
    process: Child,
}

impl Server {
    fn start(python: &str, arguments: &[&str]) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(python)
            .arg(beside("mcp_server.py"))
            .arg(port.to_string())
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { port, process };
        eventually("the start of the MCP server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A description with an action for a tool, or for any tool.
fn tool(href: &str, tool: Option<&str>) -> Arc<Description> {
    let mut form = json!({"href": href, "subprotocol": "mcp", "op": "invokeaction", "mcp:method": "tools/call"});
    if let Some(tool) = tool {
        form["mcp:tool"] = tool.into();
    }
    description(json!({"actions": {"call": {"forms": [form]}}}))
}

fn call_of(href: &str, name: &str, input: Value) -> Call {
    call(&tool(href, Some(name)), Affordance::Action("call".into()), invoke(input))
}

/// What every server does, however it is reached.
async fn check_tools(mcp: &Mcp, href: &str, has_progress: bool) {
    let message = answer(mcp, call_of(href, "find", json!({"to": "Cologne"}))).await.unwrap();
    assert_eq!(message.parts, [Part::data(json!({"to": "Cologne", "train": "ICE 123"}))]);
    let sum = answer(mcp, call_of(href, "add", json!({"a": 2, "b": 3}))).await.unwrap();
    assert_eq!(sum.data().unwrap()["result"], 5);
    // A form without a tool takes its name.
    let any = call(
        &tool(href, None),
        Affordance::Action("call".into()),
        invoke(json!({"name": "add", "arguments": {"a": 1, "b": 1}})),
    );
    assert_eq!(answer(mcp, any).await.unwrap().data().unwrap()["result"], 2);
    let picture = answer(mcp, call_of(href, "picture", json!({}))).await.unwrap();
    let [Part::Image(media)] = picture.parts.as_slice() else { panic!("{picture:?}") };
    assert_eq!((&media.content, media.media_type.as_deref()), (&Content::Bytes(b"\x89PNG".into()), Some("image/png")));
    let error = answer(mcp, call_of(href, "fail", json!({}))).await.unwrap_err();
    assert!(matches!(&error, Error::Failed { message, .. } if message.contains("fail")), "{error:?}");
    let error = answer(mcp, call_of(href, "nothing", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error:?}");
    let events = events(mcp, call_of(href, "steps", json!({"count": 3}))).await.unwrap();
    let progress: Vec<(f64, String)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Status(status) => Some((status.progress?, status.message.as_ref().map(Message::text)?)),
            _ => None,
        })
        .collect();
    let expected =
        if has_progress { vec![(1.0 / 3.0, "step 1"), (2.0 / 3.0, "step 2"), (1.0, "step 3")] } else { vec![] };
    let progress: Vec<(f64, &str)> = progress.iter().map(|(share, text)| (*share, text.as_str())).collect();
    assert!(progress == expected && events.contains(&Event::Text("done".into())), "{events:?}");
}

#[test]
fn tools_are_called_over_http() {
    let Some(python) = python() else { return };
    // A server that answers in JSON has no stream to notify of progress on.
    for (arguments, has_progress) in [(&[][..], true), (&["json"], false)] {
        let server = Server::start(&python, arguments);
        block_on(check_tools(&Mcp::default(), &server.url(), has_progress));
    }
}

#[test]
fn tools_are_called_in_a_program_that_the_caller_allows() {
    let Some(python) = python() else { return };
    let program = Program::new(python).argument(beside("mcp_server.py")).variable("PYTHONUNBUFFERED", "1");
    let mcp = Mcp::default().program("timetable", program);
    block_on(check_tools(&mcp, "stdio:timetable", true));
    // The description names a program, and never which one that is.
    for href in ["stdio:other", "stdio:/bin/sh", "stdio:"] {
        let call = call_of(href, "add", json!({}));
        assert_eq!(mcp.fit(&call.form, Operation::InvokeAction), None, "{href}");
        assert_eq!(Mcp::default().fit(&call.form, Operation::InvokeAction), None, "{href}");
    }
    let gone = Mcp::default().program("gone", Program::new("/nowhere/agentdex-no-such-program"));
    let error = block_on(answer(&gone, call_of("stdio:gone", "add", json!({})))).unwrap_err();
    assert!(matches!(&error, Error::Unreachable { reason, .. } if reason.contains("can't be started")), "{error:?}");
    // One that says nothing of the protocol.
    let silent = Mcp::default().program("true", Program::new("true"));
    let error = block_on(answer(&silent, call_of("stdio:true", "add", json!({})))).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. } | Error::Interrupted { .. }), "{error:?}");
}

#[test]
fn credentials_headers_and_the_trace_are_sent() {
    let Some(python) = python() else { return };
    let server = Server::start(&python, &[]);
    let sent = |name: &str, prepare: fn(&mut Call)| {
        let mut call = call_of(&server.url(), "headers", json!({"name": name}));
        prepare(&mut call);
        block_on(answer(&Mcp::default(), call)).unwrap().data().unwrap()["result"].as_str().unwrap().to_owned()
    };
    let bearer = |call: &mut Call| {
        let grant = Grant::Bearer { token: Secret::new("t0ken"), place: Place::Header("Authorization".into()) };
        call.authorization.push(Authorization { scheme: "bearer_sc".into(), grant });
    };
    assert_eq!(sent("authorization", bearer), "Bearer t0ken");
    let key = |call: &mut Call| {
        let grant = Grant::ApiKey { key: Secret::new("k3y"), place: Place::Header("X-Key".into()) };
        call.authorization.push(Authorization { scheme: "key_sc".into(), grant });
    };
    assert_eq!(sent("x-key", key), "k3y");
    let cookies = |call: &mut Call| {
        call.authorization.extend(["a", "b"].map(|name| Authorization {
            scheme: name.into(),
            grant: Grant::ApiKey { key: Secret::new("x;y"), place: Place::Cookie(name.into()) },
        }));
    };
    assert_eq!(sent("cookie", cookies), "a=x%3By; b=x%3By");
    assert_eq!(sent("x-team", |call| call.headers.push(("X-Team".into(), "weather".into()))), "weather");
    let declared = |call: &mut Call| {
        let headers = json!([{"htv:fieldName": "X-Region", "htv:fieldValue": "at {region}"}]);
        call.form.members.insert("htv:headers".into(), headers);
        call.variables = Map::from_iter([("region".to_owned(), json!("Bonn"))]);
    };
    assert_eq!(sent("x-region", declared), "at Bonn");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(
        sent("traceparent", |call| {
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned();
            call.trace = Some(Trace { parent, state: None });
        }),
        trace
    );
}

#[test]
fn answers_are_bounded_and_private_addresses_refused() {
    let Some(python) = python() else { return };
    for arguments in [&[][..], &["json"]] {
        let server = Server::start(&python, arguments);
        let large =
            |size: usize| block_on(answer(&Mcp::default(), call_of(&server.url(), "large", json!({"size": size}))));
        assert!(large(10_000).is_ok());
        let error = large(3 * 1024 * 1024).unwrap_err();
        assert!(matches!(error, Error::AnswerTooLarge { .. }), "{arguments:?}: {error:?}");
    }
    let error = block_on(answer(&Mcp::default(), call_of("http://127.0.0.2:9/mcp", "add", json!({})))).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    let error = block_on(answer(&Mcp::default(), call_of(&unreachable_url("/mcp"), "add", json!({})))).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

/// A call that never ends, once the server has begun it.
async fn begun(mcp: &Mcp, href: &str, marker: &Path) -> agentdex::consumer::Exchange {
    let call = call_of(href, "forever", json!({"marker": marker}));
    let exchange = mcp.start(call).await.unwrap();
    let file = marker.with_extension("begun");
    until("the beginning of the call", || file.exists()).await;
    exchange
}

#[test]
fn a_cancelled_call_ends_at_the_server_too() {
    let Some(python) = python() else { return };
    let server = Server::start(&python, &[]);
    let directory = tempfile::tempdir().unwrap();
    let program = Program::new(python).argument(beside("mcp_server.py"));
    let mcp = Mcp::default().program("timetable", program);
    for (number, href) in [server.url(), "stdio:timetable".to_owned()].iter().enumerate() {
        let marker = directory.path().join(format!("cancelled-{number}"));
        block_on(async {
            let mut exchange = begun(&mcp, href, &marker).await;
            exchange.control.as_ref().unwrap().cancel().await.unwrap();
            let ended = exchange.events.next().await;
            assert!(matches!(ended, Some(Err(Error::Cancelled))), "{ended:?}");
            until("the end of the call at the server", || marker.exists()).await;
        });
        // Dropping the events gives up, too.
        let marker = directory.path().join(format!("dropped-{number}"));
        block_on(async { drop(begun(&mcp, href, &marker).await) });
    }
}

#[test]
fn other_forms_are_left_to_other_bindings() {
    let fits = |form: Value, operation: Operation| {
        let description = description(json!({"actions": {"call": {"forms": [form]}}}));
        Mcp::default().fit(&description.forms(&Affordance::Action("call".into()))[0], operation).is_some()
    };
    let href = "https://mcp.example/mcp";
    assert!(fits(json!({"href": href, "subprotocol": "mcp"}), Operation::InvokeAction));
    assert!(fits(
        json!({"href": href, "subprotocol": "mcp", "mcp:transport": "streamable-http"}),
        Operation::InvokeAction
    ));
    for form in [
        json!({"href": href}),
        json!({"href": href, "subprotocol": "sse"}),
        json!({"href": href, "subprotocol": "mcp", "mcp:transport": "sse"}),
        json!({"href": href, "subprotocol": "mcp", "mcp:method": "resources/read"}),
        json!({"href": "mqtt://mcp.example", "subprotocol": "mcp"}),
    ] {
        assert!(!fits(form.clone(), Operation::InvokeAction), "{form}");
    }
    assert!(!fits(json!({"href": href, "subprotocol": "mcp"}), Operation::QueryAction));
}

#[test]
fn a_registered_server_is_found_and_called() {
    let Some(python) = python() else { return };
    let server = Server::start(&python, &[]);
    let input = json!({"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}});
    let form = json!({"href": server.url(), "subprotocol": "mcp", "op": "invokeaction", "mcp:tool": "find"});
    let action = json!({"title": "Find trains", "input": input, "output": {"type": "object"}, "forms": [form]});
    let described = thing(json!({"id": "urn:example:timetable", "title": "Timetable", "actions": {"find": action}}));
    let registry = TestRegistry::start();
    registry.registry().put(described.to_string()).unwrap();
    // A search by the consumer may be a tenth of a second behind.
    registry.registry().search(Search::words("find trains").consistent()).unwrap();
    let consumer = Consumer::with_options(registry.registry().clone(), loopback()).unwrap();
    block_on(async {
        let agent = consumer.find("find trains").await.unwrap();
        assert_eq!(agent.explain().await.unwrap().binding, "mcp");
        let reply = agent.call("find", json!({"to": "Bonn"})).await.unwrap();
        assert_eq!(reply.message.data(), Some(&json!({"to": "Bonn", "train": "ICE 123"})));
    });
}
