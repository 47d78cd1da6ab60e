//! The LMOS protocol over WebSocket, with an agent on the package `ws` of Node.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use agentdex::consumer::{
    Affordance, Authorization, Binding, Call, Content, Continuation, Error, Event, Grant, Media, Message, Part, Place,
    Request, Secret, State, Trace, WebSocket,
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{Certified, answer, beside, block_on, call, description, events, invoke, network_trusting};
use crate::{
    consumer::{agent, thing},
    support::{closed_address, skipped, unreachable_url},
};

/// An agent that runs.
pub struct Agent {
    process: Child,
    port: u16,
    received: Receiver<Value>,
}

impl Agent {
    /// None where the package isn't there: the test is skipped.
    pub fn start(arguments: &[&str]) -> Option<Agent> {
        let Ok(folder) = env::var("AGENTDEX_WS_JS") else {
            skipped("ws", "AGENTDEX_WS_JS that names a folder with the package ws (.ci/run installs it)");
            return None;
        };
        let mut process = Command::new("node")
            .arg(beside("lmos_server.mjs"))
            .arg(folder)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.next().expect("the port of the agent").parse().unwrap();
        let (sender, received) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
            }
        });
        Some(Agent { process, port, received })
    }

    pub fn form(&self) -> Value {
        json!({"href": format!("ws://127.0.0.1:{}/", self.port), "subprotocol": "lmosprotocol"})
    }

    fn action(&self, name: &str, request: Request) -> Call {
        let transcript = json!({"contentMediaType": "audio/wav"});
        let action = json!({"output": transcript, "forms": [self.form()]});
        call(&description(json!({"actions": {name: action}})), Affordance::Action(name.into()), request)
    }

    fn property(&self, name: &str, request: Request) -> Call {
        let property = json!({"forms": [self.form()]});
        call(&description(json!({"properties": {name: property}})), Affordance::Property(name.into()), request)
    }

    fn event(&self, name: &str) -> Call {
        let event = json!({"forms": [self.form()]});
        let request = Request::Subscribe { input: None };
        call(&description(json!({"events": {name: event}})), Affordance::Event(name.into()), request)
    }

    fn thing(&self, request: Request) -> Call {
        call(&description(json!({"forms": [self.form()]})), Affordance::Thing, request)
    }

    /// The next message that came to the agent.
    fn received(&self) -> Value {
        self.received.recv_timeout(Duration::from_secs(60)).expect("a message for the agent")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn an_agent_is_spoken_to_over_tls_by_whom_the_caller_trusts() {
    let folder = tempfile::tempdir().unwrap();
    let Certified { certificate, key } = Certified::new(folder.path());
    let Some(agent) = Agent::start(&["tls", certificate.to_str().unwrap(), key.to_str().unwrap()]) else { return };
    let form = json!({"href": format!("wss://127.0.0.1:{}/", agent.port), "subprotocol": "lmosprotocol"});
    let description = description(json!({"actions": {"getWeather": {"forms": [form]}}}));
    let call = || call(&description, Affordance::Action("getWeather".into()), invoke(json!({"city": "Bonn"})));
    let trusting = Call { network: network_trusting(&certificate), ..call() };
    assert_eq!(block_on(answer(&WebSocket, trusting)).unwrap().text(), "Sunny in Bonn");
    let error = block_on(answer(&WebSocket, call())).unwrap_err();
    assert!(matches!(&error, Error::Unreachable { reason, .. } if reason.contains("certificate")), "{error:?}");
}

fn failed(agent: &Agent, action: &str) -> Error {
    block_on(answer(&WebSocket, agent.action(action, invoke(json!(5_000_000))))).unwrap_err()
}

fn is_uuid(value: &Value) -> bool {
    value.as_str().and_then(|text| uuid::Uuid::parse_str(text).ok()).is_some_and(|id| id.get_version_num() == 4)
}

#[test]
fn an_action_is_invoked_and_its_statuses_are_read() {
    let Some(agent) = Agent::start(&[]) else { return };
    let mut call = agent.action("getWeather", invoke(json!({"city": "Bonn"})));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    call.trace = Some(Trace { parent: parent.into(), state: Some("a=b".into()) });
    let events = block_on(events(&WebSocket, call)).unwrap();
    let [Event::Status(status), Event::Text(text), Event::Done(reply)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!((status.state, text.as_str(), reply.state), (State::Submitted, "Sunny in Bonn", State::Completed));
    assert_eq!(reply.message.text(), "Sunny in Bonn");
    let sent = agent.received();
    assert!(is_uuid(&sent["messageID"]) && is_uuid(&sent["correlationID"]), "{sent}");
    assert_eq!((&sent["messageType"], &sent["thingID"]), (&json!("invokeAction"), &json!("urn:example:agent")));
    assert_eq!((&sent["action"], &sent["input"]), (&json!("getWeather"), &json!({"city": "Bonn"})));
    assert_eq!((&sent["traceparent"], &sent["tracestate"]), (&json!(parent), &json!("a=b")));
}

#[test]
fn one_request_has_several_responses() {
    let Some(agent) = Agent::start(&[]) else { return };
    let events = block_on(events(&WebSocket, agent.action("count", invoke(json!(3))))).unwrap();
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["1", "2", "3"]);
    let Some(Event::Done(reply)) = events.last() else { panic!("{events:?}") };
    assert_eq!(reply.message.data(), Some(&json!({"count": 3})));
}

#[test]
fn sound_is_streamed_in_both_directions() {
    let Some(agent) = Agent::start(&[]) else { return };
    let wave = |bytes: &[u8]| Part::Audio(Media::bytes("audio/wav", bytes));
    let input = json!({"frames": 3});
    let parts = vec![wave(&[1, 2]), wave(&[3, 4, 5])];
    let request = Request::Invoke { input: Some(input), parts, continuation: Continuation::default(), stream: true };
    block_on(async {
        let mut exchange = WebSocket.start(agent.action("transcribe", request)).await.unwrap();
        let mut frames = Vec::new();
        while let Some(event) = exchange.events.next().await {
            match event.unwrap() {
                Event::Media(Part::Audio(Media { content: Content::Bytes(bytes), .. })) => {
                    frames.push(bytes);
                    if frames.len() == 2 {
                        // The third frame follows once two came back.
                        let further = Message::from(wave(&[6]));
                        exchange.control.as_ref().unwrap().send(further).await.unwrap();
                    }
                }
                Event::Done(reply) => assert_eq!(reply.message.data(), Some(&json!({"bytes": 6}))),
                Event::Data(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(frames, [vec![2, 1], vec![5, 4, 3], vec![6]]);
    });
}

#[test]
fn further_input_belongs_to_the_same_action() {
    let Some(agent) = Agent::start(&[]) else { return };
    block_on(async {
        let mut exchange = WebSocket.start(agent.action("collect", invoke(json!(1)))).await.unwrap();
        let control = exchange.control.clone().unwrap();
        control.send(Message::from(("two", json!({"three": 3})))).await.unwrap();
        let event = exchange.events.next().await.unwrap().unwrap();
        assert_eq!(event, Event::Data(json!([1, "two", {"three": 3}])));
    });
    let ids: Vec<Value> = (0..3).map(|_| agent.received()["correlationID"].clone()).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2], "{ids:?}");
}

#[test]
fn an_agent_that_needs_input_says_so() {
    let Some(agent) = Agent::start(&[]) else { return };
    let mut events = block_on(events(&WebSocket, agent.action("ask", invoke(json!({}))))).unwrap();
    let Some(Event::InputRequired(reply)) = events.pop() else { panic!("{events:?}") };
    assert_eq!((reply.message.text().as_str(), reply.state), ("Which Bonn?", State::InputRequired));
    assert!(reply.continuation.task.is_some());
}

#[test]
fn the_answer_to_a_question_continues_the_action_that_asked() {
    let Some(server) = Agent::start(&[]) else { return };
    let properties = json!({"question": {"type": "string"}, "days": {"type": "integer"}});
    let input = json!({"type": "object", "properties": properties, "required": ["question", "days"]});
    let which = agent(&thing(json!({"actions": {"which": {"input": input, "forms": [server.form()]}}})));
    block_on(async {
        let asking = which.ask(("Will it rain?", json!({"days": 2}))).await.unwrap();
        assert_eq!((asking.state(), asking.message().text().as_str()), (State::InputRequired, "Which city?"));
        let asking = which.restore_conversation(&asking.to_json()).unwrap();
        let answered = asking.ask("Bonn").await.unwrap();
        assert_eq!((answered.state(), answered.message().text().as_str()), (State::Completed, "Dry in Bonn."));
        // The action is over: the next message is an action of its own, and is told what was said.
        let next = answered.ask(("And tomorrow?", json!({"days": 1}))).await.unwrap();
        assert_eq!(next.state(), State::InputRequired);
    });
    let sent: [Value; 3] = std::array::from_fn(|_| server.received());
    assert_eq!((&sent[1]["correlationID"], &sent[1]["input"]), (&sent[0]["correlationID"], &json!("Bonn")));
    assert_ne!(sent[2]["correlationID"], sent[0]["correlationID"]);
    let told = sent[2]["input"]["question"].as_str().unwrap();
    assert!(told.contains("Dry in Bonn.") && told.ends_with("And tomorrow?"), "{told}");
}

#[test]
fn actions_are_asked_for_and_cancelled() {
    let Some(agent) = Agent::start(&[]) else { return };
    let task = Some("5afb752f-8be0-4a3c-8108-1327a6009cbd".to_owned());
    let asked = block_on(events(&WebSocket, agent.action("wait", Request::Query { task: task.clone() }))).unwrap();
    let Some(Event::Done(reply)) = asked.last() else { panic!("{asked:?}") };
    assert_eq!((reply.state, reply.message.text().as_str()), (State::Working, "half"));
    let sent = agent.received();
    assert_eq!((&sent["messageType"], &sent["correlationID"]), (&json!("queryAction"), &json!(task)));
    assert_ne!(sent["messageID"], sent["correlationID"]);
    let ended = block_on(events(&WebSocket, agent.action("wait", Request::Cancel { task }))).unwrap();
    assert!(matches!(ended.last(), Some(Event::Done(reply)) if reply.state == State::Cancelled), "{ended:?}");
    assert_eq!(agent.received()["messageType"], "cancelAction");
    // During the call.
    block_on(async {
        let mut exchange = WebSocket.start(agent.action("wait", invoke(json!({})))).await.unwrap();
        assert!(matches!(exchange.events.next().await, Some(Ok(Event::Status(_)))));
        exchange.control.as_ref().unwrap().cancel().await.unwrap();
        let ended = exchange.events.next().await;
        assert!(matches!(ended, Some(Err(Error::Failed { state: State::Cancelled, .. }))), "{ended:?}");
    });
}

#[test]
fn properties_are_read_written_and_observed() {
    let Some(agent) = Agent::start(&[]) else { return };
    let read = |name: &str| block_on(answer(&WebSocket, agent.property(name, Request::Read))).unwrap();
    assert_eq!(read("language").text(), "de");
    let written = block_on(answer(&WebSocket, agent.property("language", Request::Write(json!("en"))))).unwrap();
    assert_eq!((written.text().as_str(), read("language").text().as_str()), ("en", "en"));
    let several = agent.thing(Request::Write(json!({"language": "fr", "volume": 7})));
    let written = block_on(answer(&WebSocket, several)).unwrap();
    assert_eq!(written.data(), Some(&json!({"language": "fr", "volume": 7})));
    let observed = agent.property("volume", Request::Subscribe { input: None });
    assert_eq!(
        notifications(&observed_by(&agent, observed, 3)),
        [("volume", json!(1)), ("volume", json!(2)), ("volume", json!(3))]
    );
    assert_eq!(last_type(&agent), "unobserveProperty");
}

#[test]
fn events_are_received_until_the_subscription_ends() {
    let Some(agent) = Agent::start(&[]) else { return };
    let events = observed_by(&agent, agent.event("feedback"), 3);
    assert_eq!(
        notifications(&events),
        [("feedback", json!({"rating": 4})), ("feedback", Value::Null), ("feedback", json!({"rating": 5}))]
    );
    let Event::Notification(notification) = &events[1] else { panic!("{events:?}") };
    assert_eq!(notification.media.as_ref().map(|media| &media.content), Some(&Content::Bytes(vec![7, 8])));
    assert_eq!(last_type(&agent), "unsubscribeEvent");
    let all = observed_by(&agent, agent.thing(Request::Subscribe { input: None }), 2);
    assert_eq!(notifications(&all), [("one", json!(1)), ("two", json!(2))]);
    assert_eq!(last_type(&agent), "unsubscribeAllEvents");
}

/// The first events of a subscription, which is ended then.
fn observed_by(agent: &Agent, call: Call, count: usize) -> Vec<Event> {
    assert!(WebSocket.fit(&call.form, call.request.operation()).is_some());
    let _ = agent;
    block_on(async {
        let mut exchange = WebSocket.start(call).await.unwrap();
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(exchange.events.next().await.unwrap().unwrap());
        }
        exchange.control.as_ref().unwrap().cancel().await.unwrap();
        assert!(exchange.events.next().await.is_none());
        events
    })
}

fn notifications(events: &[Event]) -> Vec<(&str, Value)> {
    let notification = |event: &'_ Event| match event {
        Event::Notification(_) => true,
        other => panic!("{other:?}"),
    };
    assert!(events.iter().all(notification));
    events
        .iter()
        .filter_map(|event| match event {
            Event::Notification(notification) => Some((notification.name.as_str(), notification.data.clone())),
            _ => None,
        })
        .collect()
}

/// The type of the message that ends a subscription.
fn last_type(agent: &Agent) -> String {
    loop {
        let kind = agent.received()["messageType"].as_str().unwrap().to_owned();
        if kind.starts_with("un") {
            return kind;
        }
    }
}

#[test]
fn credentials_and_headers_go_with_the_handshake() {
    let Some(agent) = Agent::start(&[]) else { return };
    let sent = |header: &str, grant: Grant| {
        let mut call = agent.action("headers", invoke(json!(header)));
        call.headers.push(("X-Team".into(), "weather".into()));
        call.authorization.push(Authorization { scheme: "sc".into(), grant });
        block_on(answer(&WebSocket, call)).unwrap().text()
    };
    let secret = || Secret::new("s3cret");
    let header = |name: &str| Place::Header(name.into());
    let bearer = |place| Grant::Bearer { token: secret(), place };
    assert_eq!(sent("authorization", bearer(header("Authorization"))), "Bearer s3cret");
    assert_eq!(sent("x-key", Grant::ApiKey { key: secret(), place: header("X-Key") }), "s3cret");
    let basic = Grant::Basic { user: "ada".into(), password: secret(), place: header("Authorization") };
    assert_eq!(sent("authorization", basic), "Basic YWRhOnMzY3JldA==");
    assert_eq!(sent("cookie", bearer(Place::Cookie("session".into()))), "session=s3cret");
    let cookie = |name: &str| Authorization {
        scheme: name.into(),
        grant: Grant::ApiKey { key: Secret::new("x;y"), place: Place::Cookie(name.into()) },
    };
    let mut call = agent.action("headers", invoke(json!("cookie")));
    call.authorization.extend([cookie("a"), cookie("b")]);
    assert_eq!(block_on(answer(&WebSocket, call)).unwrap().text(), "a=x%3By; b=x%3By");
    assert_eq!(sent("", bearer(Place::Query("key".into()))), "/?key=s3cret");
    assert_eq!(sent("x-team", bearer(header("Authorization"))), "weather");
    let mut call = agent.action("headers", invoke(json!("")));
    call.authorization.push(Authorization { scheme: "sc".into(), grant: bearer(Place::Body("key".into())) });
    let error = block_on(answer(&WebSocket, call)).unwrap_err();
    assert!(matches!(&error, Error::Setting { setting, .. } if setting == "credentials.sc"), "{error:?}");
}

#[test]
fn what_agents_do_wrong_is_told_apart() {
    let Some(agent) = Agent::start(&[]) else { return };
    let error = failed(&agent, "fail");
    assert!(
        matches!(&error, Error::Failed { state: State::Failed, message, .. } if message == "no such city"),
        "{error:?}"
    );
    let error = failed(&agent, "refuse");
    assert!(matches!(&error, Error::Agent { code: 403, message, .. } if message == "Refused: not today"), "{error:?}");
    for action in ["garbage", "untyped", "odd"] {
        let error = failed(&agent, action);
        assert!(matches!(error, Error::Protocol { binding: "lmos-websocket", .. }), "{action}: {error:?}");
    }
    let error = failed(&agent, "large");
    assert!(matches!(error, Error::AnswerTooLarge { limit: 1_048_576, .. }), "{error:?}");
    let error = failed(&agent, "close");
    assert!(matches!(&error, Error::Interrupted { reason, .. } if reason.contains("going away")), "{error:?}");
    let error = failed(&agent, "cut");
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
}

#[test]
fn what_is_no_agent_is_told_apart() {
    let dead = closed_address();
    let to = |href: String| {
        let form = json!({"href": href, "subprotocol": "lmosprotocol"});
        let description = description(json!({"actions": {"a": {"forms": [form]}}}));
        block_on(answer(&WebSocket, call(&description, Affordance::Action("a".into()), invoke(json!({}))))).unwrap_err()
    };
    let error = to(format!("ws://{dead}/"));
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let error = to("ws://127.0.0.2:9/".into());
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    let registry = crate::support::TestRegistry::start();
    let error = to(registry.url("/things").replace("http:", "ws:"));
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    let error = to(registry.url("/nothing").replace("http:", "ws:"));
    assert!(matches!(error, Error::Status { status: 404, .. }), "{error:?}");
    let Some(agent) = Agent::start(&["other"]) else { return };
    let error = failed(&agent, "getWeather");
    assert!(matches!(&error, Error::Protocol { reason, .. } if reason.contains("lmosprotocol")), "{error:?}");
}

#[test]
fn a_consumer_prefers_it_to_plain_http() {
    let Some(server) = Agent::start(&[]) else { return };
    let input = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let forms = json!([{"href": unreachable_url("/weather")}, server.form()]);
    let action = json!({"input": input, "output": {"type": "string"}, "forms": forms});
    let described = thing(json!({"id": "urn:example:agent", "actions": {"getWeather": action}}));
    let weather = agent(&described);
    block_on(async {
        assert_eq!(weather.explain().await.unwrap().binding, "lmos-websocket");
        let reply = weather.call("getWeather", json!({"city": "Bonn"})).await.unwrap();
        assert_eq!(reply.message.text(), "Sunny in Bonn");
        // What isn't valid isn't sent.
        let error = weather.call("getWeather", json!({"city": 7})).await.unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
    });
}

/// An agent that reports without end how an action goes.
async fn report(request: HttpRequest, body: web::Payload) -> actix_web::Result<HttpResponse> {
    let (response, mut session, messages) = actix_ws::handle_with_protocols(&request, body, &["lmosprotocol"])?;
    actix_web::rt::spawn(async move {
        let status = json!({"messageType": "actionStatus", "status": "running", "output": {"a": "hello"}}).to_string();
        while session.text(status.clone()).await.is_ok() {}
        drop(messages);
    });
    Ok(response)
}

#[test]
fn statuses_without_end_are_gathered_up_to_a_limit() {
    let (sender, port) = mpsc::channel();
    std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async {
            let server = HttpServer::new(|| App::new().route("/", web::get().to(report))).workers(1);
            let server = server.disable_signals().bind("127.0.0.1:0").unwrap();
            sender.send(server.addrs()[0].port()).unwrap();
            server.run().await
        })
    });
    let form = json!({"href": format!("ws://127.0.0.1:{}/", port.recv().unwrap()), "subprotocol": "lmosprotocol"});
    let agent = agent(&thing(json!({"actions": {"ask": {"forms": [form]}}})));
    let error = crate::consumer::run(agent.call("ask", None)).unwrap_err();
    assert!(matches!(error, Error::AnswerTooLarge { limit, .. } if limit == 4 * 1024 * 1024), "{error}");
}
