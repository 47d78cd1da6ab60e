//! Tools of a server that the official Python SDK makes, over streamable HTTP, Server-Sent Events, and stdio.

use std::{
    env,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use agentdex::{
    consumer::{
        Affordance, Agent, Authorization, Binding, Call, Consumer, Content, Description, Error, Event, Grant, Mcp,
        Message, Operation, Part, Place, Program, Secret, Settings, Trace,
    },
    convert::{Format, ImportOptions, Input},
    search::Search,
};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};

use super::{answer, beside, block_on, call, description, events, invoke, until};
use crate::{
    consumer::{
        consumer, loopback,
        server::{Said, Server as TestServer},
        thing,
    },
    process::{ServerProcess, agentdex},
    support::{TestRegistry, eventually, skipped, unreachable_url},
};

/// The Python of an environment with the SDK; none: the tests are skipped.
pub fn python() -> Option<String> {
    let python = env::var("AGENTDEX_MCP_PYTHON").ok();
    if python.is_none() {
        skipped("mcp", "AGENTDEX_MCP_PYTHON that names a Python with the SDK of MCP (.ci/run installs one)");
    }
    python
}

/// A server over HTTP.
pub struct Server {
    pub(super) port: u16,
    process: Child,
}

impl Server {
    fn start(python: &str, arguments: &[&str]) -> Server {
        Server::of("mcp_server.py", python, arguments)
    }

    /// The server of a file beside this one.
    pub(super) fn of(file: &str, python: &str, arguments: &[&str]) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Server::at(port, file, python, arguments)
    }

    /// The same at a port.
    pub(super) fn at(port: u16, file: &str, python: &str, arguments: &[&str]) -> Server {
        Server::program(port, &beside(file), python, arguments)
    }

    /// The server of another file, over streamable HTTP.
    pub fn run(file: &Path, python: &str) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Server::program(port, file, python, &[])
    }

    fn program(port: u16, file: &Path, python: &str, arguments: &[&str]) -> Server {
        let process = Command::new(python)
            .arg(file)
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

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The address of the stream of a server that was started with `sse`.
    pub(super) fn stream(&self) -> String {
        format!("http://127.0.0.1:{}/sse", self.port)
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
    if href.ends_with("/sse") {
        form["mcp:transport"] = "sse".into();
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
    assert_eq!(sum.parts, [Part::data(5)]);
    // A form without a tool takes its name.
    let any = call(
        &tool(href, None),
        Affordance::Action("call".into()),
        invoke(json!({"name": "add", "arguments": {"a": 1, "b": 1}})),
    );
    assert_eq!(answer(mcp, any).await.unwrap().data(), Some(&json!(2)));
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
fn tools_are_called_over_server_sent_events() {
    let Some(python) = python() else { return };
    let server = Server::start(&python, &["sse"]);
    block_on(check_tools(&Mcp::default(), &server.stream(), true));
}

#[test]
fn server_without_a_card_is_registered_by_its_url() {
    let Some(python) = python() else { return };
    let data = tempfile::tempdir().unwrap();
    let registry = ServerProcess::start(data.path(), &["--allow-fetch", "127.0.0.1"]);
    for arguments in [&[][..], &["json"]] {
        let server = Server::start(&python, arguments);
        for format in [&[][..], &["--format", "mcp-server"]] {
            let url = server.url();
            let register = ["register", "--url-of-agent", &url, "--url", registry.url(), "--replace"];
            let output = agentdex().args(register).args(format).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let got = ["get", "urn:agentdex:mcp:timetable", "--url", registry.url()];
            let thing: Value = serde_json::from_slice(&agentdex().args(got).output().unwrap().stdout).unwrap();
            assert_eq!((&thing["title"], &thing["version"]["instance"]), (&json!("timetable"), &json!("2.1.0")));
            let find = &thing["actions"]["find"];
            assert_eq!((&find["input"]["required"], &find["forms"][0]["href"]), (&json!(["to"]), &json!(url)));
            let refresh = ["refresh", "urn:agentdex:mcp:timetable", "--url", registry.url()];
            let refreshed = agentdex().args(refresh).output().unwrap();
            assert!(refreshed.status.success(), "{}", String::from_utf8_lossy(&refreshed.stderr));
        }
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
    let (http, sse) = (Server::start(&python, &[]), Server::start(&python, &["sse"]));
    check_headers(&http.url());
    check_headers(&sse.stream());
}

/// What each request has in its headers.
fn check_headers(href: &str) {
    let sent = |name: &str, prepare: fn(&mut Call)| {
        let mut call = call_of(href, "headers", json!({"name": name}));
        prepare(&mut call);
        block_on(answer(&Mcp::default(), call)).unwrap().text()
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
    for arguments in [&[][..], &["json"], &["sse"]] {
        let server = Server::start(&python, arguments);
        let href = if arguments == ["sse"] { server.stream() } else { server.url() };
        let large = |size: usize| block_on(answer(&Mcp::default(), call_of(&href, "large", json!({"size": size}))));
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
    let program = Program::new(python.clone()).argument(beside("mcp_server.py"));
    let mcp = Mcp::default().program("timetable", program);
    let sse = Server::start(&python, &["sse"]);
    for (number, href) in [server.url(), "stdio:timetable".to_owned(), sse.stream()].iter().enumerate() {
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
    for transport in ["streamable-http", "http", "streamable_http", "streamableHttp", "sse", "SSE"] {
        let form = json!({"href": href, "subprotocol": "mcp", "mcp:transport": transport});
        assert!(fits(form, Operation::InvokeAction), "{transport}");
    }
    for form in [
        json!({"href": href}),
        json!({"href": href, "subprotocol": "sse"}),
        json!({"href": href, "subprotocol": "mcp", "mcp:transport": "websocket"}),
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

/// The agent of a document, with these settings.
fn imported(format: Format, document: &Value, settings: Settings) -> Agent {
    let import = format.import().unwrap();
    let text = document.to_string();
    let conversion = import.to_things(&Input::json(text.as_bytes()), &ImportOptions::default()).unwrap();
    consumer().agent_of(conversion.things[0].description.text()).unwrap().update(settings)
}

/// `server.json` of a server with these remotes and tools.
fn server_json(remotes: Value, tools: Value) -> Value {
    json!({
        "name": "com.example/shapes", "description": "d", "version": "1.0.0", "remotes": remotes,
        "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"tools": tools}},
    })
}

#[test]
fn values_that_the_schemas_of_the_sdk_allow_are_sent_and_no_others() {
    let Some(python) = python() else { return };
    let server = Server::start(&python, &[]);
    let listed = Command::new(&python).arg(beside("mcp_server.py")).arg("tools").output().unwrap();
    let tools: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let document = server_json(json!([{"type": "http", "url": server.url()}]), tools);
    let agent = imported(Format::McpServer, &document, Settings::new());
    block_on(async {
        for (tool, input, answer) in [
            ("number", json!({"x": 5}), "5"),
            ("number", json!({"x": 2.5}), "2.5"),
            ("stop", json!({"at": {"name": "Bonn"}}), "Bonn None"),
            ("stop", json!({"at": {"name": "Bonn", "platform": 3}}), "Bonn 3"),
            ("stop", json!({"at": {"name": "Bonn", "platform": null}}), "Bonn None"),
        ] {
            let reply = agent.call(tool, input.clone()).await.unwrap_or_else(|error| panic!("{input}: {error}"));
            assert_eq!((reply.message.text().as_str(), reply.message.data()), (answer, None), "{input}");
        }
        for (tool, input) in [
            ("number", json!({"x": "5"})),
            ("number", json!({})),
            ("stop", json!({"at": {}})),
            ("stop", json!({"at": {"name": 7}})),
            ("stop", json!({"at": {"name": "Bonn", "platform": "3"}})),
            ("stop", json!({"at": "Bonn"})),
        ] {
            let error = agent.call(tool, input.clone()).await.unwrap_err();
            assert!(matches!(error, Error::InvalidInput { .. }), "{input}: {error:?}");
        }
    });
}

#[test]
fn headers_of_documents_are_sent() {
    let Some(python) = python() else { return };
    let (http, sse) = (Server::start(&python, &[]), Server::start(&python, &["sse"]));
    let pat = json!({
        "name": "Authorization", "value": "token {pat}", "isRequired": true, "isSecret": true,
        "variables": {"pat": {"isSecret": true, "isRequired": true}},
    });
    let of_org = json!({
        "name": "X-Org-Key", "value": "{org}/{key}", "variables": {"org": {"default": "acme"}, "key": {"isSecret": true}},
    });
    let tenant = json!({"name": "X-Tenant", "value": "acme"});
    let tool = json!([{"name": "headers", "inputSchema": {"type": "object"}}]);
    for (transport, url) in [("streamable-http", http.url()), ("sse", sse.stream())] {
        let remotes = json!([{"type": transport, "url": url, "headers": [pat, of_org, tenant]}]);
        let document = server_json(remotes, tool.clone());
        let settings = || {
            Settings::new()
                .environment([("AGENTDEX_CREDENTIAL_AUTHORIZATION", "PAT1"), ("AGENTDEX_CREDENTIAL_X_ORG_KEY", "K1")])
        };
        let component = match transport {
            "sse" => "SSETransport",
            _ => "StreamableHTTPTransport",
        };
        let of_agent_spec = json!({
            "component_type": "MCPTool", "agentspec_version": "25.4.1", "id": "s", "name": "headers", "description": "d",
            "inputs": [{"title": "name", "type": "string"}], "outputs": [{"title": "value", "type": "string"}],
            "client_transport": {"component_type": component, "id": "t", "name": "t", "url": url, "headers": {"X-Tenant": "acme"}},
        });
        let server = imported(Format::McpServer, &document, settings());
        let tool = imported(Format::AgentSpec, &of_agent_spec, Settings::new());
        let sent =
            |agent: &Agent, name: &str| block_on(agent.call("headers", json!({"name": name}))).unwrap().message.text();
        assert_eq!(sent(&server, "authorization"), "token PAT1", "{transport}");
        assert_eq!(sent(&server, "x-org-key"), "acme/K1", "{transport}");
        assert_eq!(sent(&server, "x-tenant"), "acme", "{transport}");
        assert_eq!(sent(&tool, "x-tenant"), "acme", "{transport}");
        // An optional secret may be missing, one that is required may not.
        let server = imported(
            Format::McpServer,
            &document,
            Settings::new().environment([("AGENTDEX_CREDENTIAL_AUTHORIZATION", "PAT1")]),
        );
        assert_eq!(sent(&server, "x-org-key"), "", "{transport}");
        let server = imported(
            Format::McpServer,
            &document,
            Settings::new().environment([("AGENTDEX_CREDENTIAL_X_ORG_KEY", "K1")]),
        );
        let error = block_on(server.call("headers", json!({"name": "x"}))).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error:?}");
    }
}

#[test]
fn streams_of_events_that_are_not_those_of_a_server_end_the_call() {
    let called = |stream: Said| {
        let server = TestServer::start(move |request| match request.line.starts_with("GET") {
            true => stream.clone(),
            false => Said::new("202 Accepted", &[], ""),
        });
        let href = format!("{}/sse", server.origin);
        let mut call = call_of(&href, "add", json!({}));
        call.limits.max_bytes = 10_000;
        (block_on(answer(&Mcp::default(), call)).unwrap_err(), server.received().len())
    };
    let endpoint = "event: endpoint\ndata: /messages?session=1\n\n";
    let stream = |pieces: &[&str]| Said::stream("text/event-stream", pieces);
    // Messages go to the origin of the stream alone.
    for elsewhere in ["http://127.0.0.1:9/messages", "//127.0.0.2/messages", "https://x.example/messages"] {
        let (error, requests) = called(stream(&[&format!("event: endpoint\ndata: {elsewhere}\n\n")]).hanging());
        assert!(matches!(&error, Error::Refused { .. }), "{elsewhere}: {error:?}");
        assert_eq!(requests, 1);
    }
    let (error, _) = called(stream(&["event: message\ndata: {}\n\n"]).hanging());
    assert!(matches!(&error, Error::Protocol { .. }), "{error:?}");
    let (error, _) = called(Said::json(json!({})));
    assert!(matches!(&error, Error::Protocol { .. }), "{error:?}");
    let (error, _) = called(stream(&[]));
    assert!(matches!(&error, Error::Interrupted { .. }), "{error:?}");
    let (error, _) = called(stream(&[endpoint]));
    assert!(matches!(&error, Error::Unreachable { .. } | Error::Interrupted { .. }), "{error:?}");
    let (error, _) = called(stream(&[endpoint, "data: no JSON\n\n"]).hanging());
    assert!(matches!(&error, Error::Protocol { .. }), "{error:?}");
    let long = format!("data: {}\n\n", "x".repeat(20_000));
    let (error, _) = called(stream(&[endpoint, &long]).hanging());
    assert!(matches!(&error, Error::AnswerTooLarge { .. }), "{error:?}");
    // Comments without end.
    let (error, _) = called(stream(&[endpoint, ": still here\n\n"]).again(5_000).hanging());
    assert!(matches!(&error, Error::AnswerTooLarge { .. }), "{error:?}");
    let (error, _) = called(Said::new("401 Unauthorized", &[], ""));
    assert!(matches!(&error, Error::Status { status: 401, .. }), "{error:?}");
}

#[test]
fn requests_of_a_server_that_are_not_answered_hold_up_its_stream() {
    let start =
        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    let start = json!({"jsonrpc": "2.0", "id": 0, "result": start});
    let pings = (0..2_000).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    let messages: String = [start].into_iter().chain(pings).map(|message| format!("data: {message}\n\n")).collect();
    let server = TestServer::start(move |request| match request.line.starts_with("GET") {
        true => Said::stream("text/event-stream", &["event: endpoint\ndata: /m\n\n", &messages]).hanging(),
        // Nothing that is posted is answered, but for what a connection begins with.
        false if request.body.contains("initialize") => Said::new("202 Accepted", &[], ""),
        false => Said::raw("").hanging(),
    });
    let call = call_of(&format!("{}/sse", server.origin), "add", json!({}));
    let mcp = Mcp::default();
    let answered = block_on(async { tokio::time::timeout(Duration::from_secs(1), answer(&mcp, call)).await });
    assert!(answered.is_err(), "{answered:?}");
    let pongs = server.received().iter().filter(|request| request.body.contains("\"result\"")).count();
    assert!((1..=16).contains(&pongs), "{pongs} answers");
}

#[test]
fn headers_that_can_not_be_filled_in_are_named() {
    let remote =
        |headers: Value| json!([{"type": "streamable-http", "url": unreachable_url("/mcp"), "headers": headers}]);
    let tool = json!([{"name": "headers", "inputSchema": {"type": "object"}}]);
    let required = json!({"name": "X-Tenant", "isRequired": true});
    let region =
        json!({"name": "X-Region", "value": "eu-{r}", "isRequired": true, "variables": {"r": {"isRequired": true}}});
    for (header, variable) in [(required, "X-Tenant"), (region, "r")] {
        let document = server_json(remote(json!([header])), tool.clone());
        let agent = imported(Format::McpServer, &document, Settings::new());
        let error = block_on(agent.call("headers", json!({"name": "x"}))).unwrap_err();
        assert!(
            matches!(&error, Error::Setting { setting, .. } if *setting == format!("variables.{variable}")),
            "{error:?}"
        );
    }
    let line_break = |call: &mut Call| call.headers.push(("X-Line".into(), "a\nb".into()));
    let unnamable = |call: &mut Call| call.headers.push(("X-Ü".into(), "1".into()));
    let declared = |call: &mut Call| {
        let headers = json!([{"htv:fieldName": "X-Ü", "htv:fieldValue": "1"}]);
        call.form.members.insert("htv:headers".into(), headers);
    };
    let key = |call: &mut Call| {
        let grant = Grant::Bearer { token: Secret::new("t0ken\n"), place: Place::Header("Authorization".into()) };
        call.authorization.push(Authorization { scheme: "key".into(), grant });
    };
    let in_body = |call: &mut Call| {
        let grant = Grant::ApiKey { key: Secret::new("k"), place: Place::Body("key".into()) };
        call.authorization.push(Authorization { scheme: "key".into(), grant });
    };
    for path in ["/mcp", "/sse"] {
        for (prepare, named) in [
            (&line_break as &dyn Fn(&mut Call), "headers.X-Line"),
            (&unnamable, "headers.X-Ü"),
            (&declared, "headers.X-Ü"),
            (&key, "credentials.key"),
            (&in_body, "credentials.key"),
        ] {
            let mut call = call_of(&unreachable_url(path), "headers", json!({}));
            prepare(&mut call);
            let error = block_on(answer(&Mcp::default(), call)).unwrap_err();
            assert!(matches!(&error, Error::Setting { setting, .. } if setting == named), "{path} {named}: {error:?}");
        }
    }
}

#[test]
fn headers_are_sent_as_they_are_declared() {
    let Some(python) = python() else { return };
    let (http, sse) = (Server::start(&python, &[]), Server::start(&python, &["sse"]));
    for (transport, component, url) in
        [("streamable-http", "StreamableHTTPTransport", http.url()), ("sse", "SSETransport", sse.stream())]
    {
        let headers = json!([
            {"name": "X-Tenant", "isRequired": true},
            {"name": "X-Region", "value": "eu-{r}", "isRequired": true, "variables": {"r": {"isRequired": true}}},
            {"name": "X-Optional", "value": "{o}"},
            {"name": "Mcp-Tenant", "value": "acme"},
        ]);
        let remotes = json!([{"type": transport, "url": url, "headers": headers}]);
        let tool = json!([{"name": "headers", "inputSchema": {"type": "object"}}]);
        let settings = Settings::new().variable("X-Tenant", "acme").variable("r", "west");
        let server = imported(Format::McpServer, &server_json(remotes, tool), settings);
        let of_agent_spec = json!({
            "component_type": "MCPTool", "agentspec_version": "25.4.1", "id": "s", "name": "headers", "description": "d",
            "inputs": [{"title": "name", "type": "string"}], "outputs": [{"title": "result", "type": "string"}],
            "client_transport": {
                "component_type": component, "id": "t", "name": "t", "url": url,
                "headers": {"X-Filter": "{\"a\":1}", "X-Name": "{name}"},
            },
        });
        let tool = imported(Format::AgentSpec, &of_agent_spec, Settings::new());
        let sent = |agent: &Agent, name: &str| {
            let reply = block_on(agent.call("headers", json!({"name": name}))).unwrap();
            // An empty text is no text beside the data.
            let data = reply.message.data().map(|data| data["result"].as_str().unwrap().to_owned());
            data.unwrap_or_else(|| reply.message.text())
        };
        for (agent, name, value) in [
            (&server, "x-tenant", "acme"),
            (&server, "x-region", "eu-west"),
            (&server, "x-optional", ""),
            (&server, "mcp-tenant", "acme"),
            (&tool, "x-filter", "{\"a\":1}"),
            (&tool, "x-name", "{name}"),
        ] {
            assert_eq!(sent(agent, name), value, "{transport} {name}");
        }
    }
}
