//! Agents behind a broker: Mosquitto in between, and an agent on paho.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use agentdex::consumer::{
    Affordance, Authorization, Binding, Call, Content, Continuation, Error, Event, Grant, Media, Message, Mqtt,
    Operation, Part, Place, Request, Secret, State, Trace,
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{Certified, answer, beside, block_on, call, description, events, invoke, network_trusting};
use crate::{
    consumer::{agent, thing},
    support::{closed_address, eventually, skipped},
};

pub const THING: &str = "urn:example:agent";

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A broker, and an agent behind it where one is wanted.
pub struct Setting {
    pub port: u16,
    _broker: Process,
    _agent: Option<Process>,
}

impl Setting {
    /// A broker that these arguments make listen on a port.
    fn listening(port: u16, arguments: &[&str]) -> Option<Setting> {
        let broker = Command::new("mosquitto").args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(broker) = broker else {
            skipped("mosquitto", "the program mosquitto (Debian: mosquitto)");
            return None;
        };
        let broker = Process(broker);
        eventually("the start of mosquitto", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Setting { port, _broker: broker, _agent: None })
    }

    pub fn start() -> Option<Setting> {
        let port = free_port();
        Setting::with_agent(port, &["-p", &port.to_string()])
    }

    fn with_agent(port: u16, arguments: &[&str]) -> Option<Setting> {
        let Ok(python) = env::var("AGENTDEX_PAHO_PYTHON") else {
            skipped("paho-mqtt", "AGENTDEX_PAHO_PYTHON that names a Python with paho-mqtt (.ci/run installs one)");
            return None;
        };
        let mut setting = Setting::listening(port, arguments)?;
        let mut agent = Command::new(python)
            .arg(beside("mqtt_agent.py"))
            .args([&setting.port.to_string(), THING])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = BufReader::new(agent.stdout.take().unwrap()).lines().next();
        assert_eq!(line.unwrap().unwrap(), "ready");
        setting._agent = Some(Process(agent));
        Some(setting)
    }

    fn call(&self, affordance: Affordance, form: Value, request: Request) -> Call {
        let mut form = form;
        if form.get("href").is_none() {
            form["href"] = format!("mqtt://127.0.0.1:{}", self.port).into();
        }
        let list = match &affordance {
            Affordance::Action(_) => "actions",
            Affordance::Event(_) => "events",
            _ => "properties",
        };
        let name = affordance.name().to_owned();
        call(&description(json!({list: {name: {"forms": [form]}}})), affordance, request)
    }

    fn action(&self, name: &str, input: Value) -> Call {
        self.call(Affordance::Action(name.into()), json!({}), invoke(input))
    }
}

#[test]
fn an_action_is_invoked_by_its_topic() {
    let Some(setting) = Setting::start() else { return };
    let city = || json!({"city": "Bonn"});
    let asked = |call: Call| block_on(answer(&Mqtt, call)).unwrap().text();
    assert_eq!(asked(setting.action("weather", city())), "Sunny in Bonn");
    // As the form says: the path of the target, or a topic of its own.
    let path = format!("mqtt://127.0.0.1:{}/urn:example:agent/actions/weather", setting.port);
    let action = || Affordance::Action("other".into());
    assert_eq!(asked(setting.call(action(), json!({"href": path}), invoke(city()))), "Sunny in Bonn");
    for quality in [json!("0"), json!(1), json!("2")] {
        let form = json!({"mqv:topic": "urn:example:agent/actions/weather", "mqv:qos": quality});
        assert_eq!(asked(setting.call(action(), form, invoke(city()))), "Sunny in Bonn");
    }
    let mut traced = setting.action("trace", json!(1));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    traced.trace = Some(Trace { parent: parent.into(), state: None });
    assert_eq!(block_on(answer(&Mqtt, traced)).unwrap().data(), Some(&json!({"traceparent": parent})));
}

#[test]
fn a_broker_is_spoken_to_over_tls_by_whom_the_caller_trusts() {
    let folder = tempfile::tempdir().unwrap();
    let Certified { certificate, key } = Certified::new(folder.path());
    let (plain, secured) = (free_port(), free_port());
    let configuration = folder.path().join("mosquitto.conf");
    let lines = format!(
        "user root\nallow_anonymous true\nlistener {plain} 127.0.0.1\nlistener {secured} 127.0.0.1\ncertfile {}\nkeyfile {}\n",
        certificate.display(),
        key.display()
    );
    std::fs::write(&configuration, lines).unwrap();
    let Some(setting) = Setting::with_agent(plain, &["-c", configuration.to_str().unwrap()]) else { return };
    eventually("the secured listener", || TcpStream::connect(("127.0.0.1", secured)).is_ok());
    let call = || {
        let form = json!({"href": format!("mqtts://127.0.0.1:{secured}")});
        setting.call(Affordance::Action("weather".into()), form, invoke(json!({"city": "Bonn"})))
    };
    let trusting = Call { network: network_trusting(&certificate), ..call() };
    assert_eq!(block_on(answer(&Mqtt, trusting)).unwrap().text(), "Sunny in Bonn");
    let error = block_on(answer(&Mqtt, call())).unwrap_err();
    assert!(matches!(&error, Error::Unreachable { reason, .. } if reason.contains("certificate")), "{error:?}");
}

#[test]
fn one_request_has_several_responses_and_bytes_are_sent() {
    let Some(setting) = Setting::start() else { return };
    let all = block_on(events(&Mqtt, setting.action("count", json!(3)))).unwrap();
    let texts: Vec<&Event> = all.iter().filter(|event| matches!(event, Event::Text(_))).collect();
    assert_eq!(texts, [&Event::Text("1".into()), &Event::Text("2".into()), &Event::Text("3".into())]);
    assert!(matches!(all.last(), Some(Event::Done(reply)) if reply.message.data() == Some(&json!({"done": true}))));
    let parts = vec![Part::Audio(Media::bytes("audio/wav", [1, 2, 3]))];
    let request = Request::Invoke { input: None, parts, continuation: Continuation::default(), stream: true };
    let call = setting.call(Affordance::Action("reverse".into()), json!({}), request);
    let Message { parts, .. } = block_on(answer(&Mqtt, call)).unwrap();
    assert_eq!(parts, [Part::Audio(Media::bytes("audio/wav", [3, 2, 1]))]);
}

#[test]
fn events_and_properties_are_topics() {
    let Some(setting) = Setting::start() else { return };
    block_on(async {
        let subscription = Request::Subscribe { input: None };
        let subscribed = setting.call(Affordance::Event("feedback".into()), json!({}), subscription.clone());
        let mut feedback = Mqtt.start(subscribed).await.unwrap();
        // What is subscribed to is acknowledged: nothing that is published from now on is missed.
        assert_eq!(answer(&Mqtt, setting.action("publish", json!(2))).await.unwrap().text(), "published");
        let mut received = Vec::new();
        while received.len() < 3 {
            let Some(Ok(Event::Notification(event))) = feedback.events.next().await else { panic!("{received:?}") };
            assert_eq!(event.name, "feedback");
            received.push((event.data, event.media.map(|media| media.content)));
        }
        let bytes = Some(Content::Bytes(vec![7, 8]));
        assert_eq!(received, [(json!({"rating": 0}), None), (json!({"rating": 1}), None), (Value::Null, bytes)]);
        let property = |request| setting.call(Affordance::Property("language".into()), json!({}), request);
        assert_eq!(answer(&Mqtt, property(Request::Read)).await.unwrap().text(), "de");
        let mut observed = Mqtt.start(property(subscription)).await.unwrap();
        assert!(matches!(observed.events.next().await, Some(Ok(Event::Notification(first))) if first.data == "de"));
        answer(&Mqtt, property(Request::Write(json!("en")))).await.unwrap();
        assert!(matches!(observed.events.next().await, Some(Ok(Event::Notification(next))) if next.data == "en"));
    });
}

#[test]
fn what_goes_wrong_is_told_apart() {
    let Some(setting) = Setting::start() else { return };
    let failed = |call: Call| block_on(answer(&Mqtt, call)).unwrap_err();
    let error = failed(setting.action("fail", json!({})));
    assert!(
        matches!(&error, Error::Failed { state: State::Failed, message, .. } if message == "no such city"),
        "{error:?}"
    );
    let error = failed(setting.action("garbage", json!({})));
    assert!(matches!(error, Error::Protocol { binding: "mqtt", .. }), "{error:?}");
    let error = failed(setting.call(
        Affordance::Action("gone".into()),
        json!({"mqv:topic": "urn:example:gone/actions/weather"}),
        invoke(json!({})),
    ));
    assert!(matches!(&error, Error::Unreachable { reason, .. } if reason.contains("no subscribers")), "{error:?}");
    let wildcard = setting.call(Affordance::Action("a".into()), json!({"mqv:topic": "a/+"}), invoke(json!({})));
    assert!(matches!(failed(wildcard), Error::NoForm { .. }));
    for (href, is_expected) in [
        (
            format!("mqtt://{}", closed_address()),
            (|error| matches!(error, Error::Unreachable { .. })) as fn(&Error) -> bool,
        ),
        ("mqtt://127.0.0.2:9".into(), |error| matches!(error, Error::Refused { .. })),
    ] {
        let error = failed(setting.call(Affordance::Action("a".into()), json!({"href": href}), invoke(json!({}))));
        assert!(is_expected(&error), "{href}: {error:?}");
    }
}

#[test]
fn credentials_are_those_of_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let made =
        Command::new("mosquitto_passwd").args(["-b", "-c"]).arg(file("passwords")).args(["ada", "s3cret"]).status();
    if !made.is_ok_and(|status| status.success()) {
        skipped("mosquitto", "the program mosquitto_passwd (Debian: mosquitto)");
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let settings = format!(
        "user {}\nlistener {port} 127.0.0.1\nallow_anonymous false\npassword_file {}\n",
        user.trim(),
        file("passwords").display()
    );
    std::fs::write(file("mosquitto.conf"), settings).unwrap();
    let broker = Command::new("mosquitto").arg("-c").arg(file("mosquitto.conf")).stderr(Stdio::null()).spawn().unwrap();
    let setting = Setting { port, _broker: Process(broker), _agent: None };
    eventually("the start of mosquitto", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let write = |password: Option<&str>| {
        let mut call = setting.call(Affordance::Property("a".into()), json!({"mqv:qos": 0}), Request::Write(json!(1)));
        if let Some(password) = password {
            let place = Place::Header("authorization".into());
            let grant = Grant::Basic { user: "ada".into(), password: Secret::new(password), place };
            call.authorization.push(Authorization { scheme: "basic_sc".into(), grant });
        }
        block_on(events(&Mqtt, call))
    };
    for wrong in [None, Some("wrong")] {
        let error = write(wrong).unwrap_err();
        assert!(
            matches!(&error, Error::Protocol { reason, .. } if reason.contains("refuses the connection")),
            "{error:?}"
        );
    }
    let error = write(Some("s3cret"));
    // The broker has it, and tells that nobody listens.
    assert!(matches!(&error, Ok(_) | Err(Error::Unreachable { .. })), "{error:?}");
}

#[test]
fn forms_of_other_packets_do_not_fit() {
    let fits = |form: Value, operation: Operation| {
        let description = description(json!({"actions": {"a": {"forms": [form]}}}));
        Mqtt.fit(&description.forms(&Affordance::Action("a".into()))[0], operation).is_some()
    };
    let href = "mqtt://broker.example";
    assert!(fits(json!({"href": href}), Operation::InvokeAction));
    assert!(fits(json!({"href": href, "mqv:controlPacket": "publish"}), Operation::InvokeAction));
    for form in [
        json!({"href": href, "mqv:controlPacket": "subscribe"}),
        json!({"href": href, "subprotocol": "other"}),
        json!({"href": "https://broker.example"}),
    ] {
        assert!(!fits(form.clone(), Operation::InvokeAction), "{form}");
    }
    assert!(!fits(json!({"href": href}), Operation::QueryAction));
}

#[test]
fn a_consumer_calls_reads_and_subscribes() {
    let Some(setting) = Setting::start() else { return };
    let form = json!({"href": format!("mqtt://127.0.0.1:{}", setting.port)});
    let affordance = |members: Value| {
        let mut affordance = json!({"forms": [form]});
        affordance.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        affordance
    };
    let described = thing(json!({
        "id": THING,
        "actions": {"weather": affordance(json!({"output": {"type": "string"}})), "publish": affordance(json!({}))},
        "events": {"feedback": affordance(json!({}))},
        "properties": {"language": affordance(json!({"type": "string"}))},
    }));
    let agent = agent(&described);
    block_on(async {
        let reply = agent.call("weather", json!({"city": "Bonn"})).await.unwrap();
        assert_eq!(reply.message.text(), "Sunny in Bonn");
        assert_eq!(agent.read("language").await.unwrap(), "de");
        let mut feedback = agent.subscribe("feedback", None).await.unwrap();
        agent.call("publish", json!(1)).await.unwrap();
        let first = feedback.next().await;
        assert!(
            matches!(&first, Some(Ok(Event::Notification(first))) if first.data == json!({"rating": 0})),
            "{first:?}"
        );
    });
}

/// A broker that accepts a connection, and then sends messages without end rather than what it is asked for.
fn flooding_broker() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        // CONNACK: success, without properties.
        let _ = stream.write_all(&[0x20, 3, 0, 0, 0]);
        // PUBLISH: the topic, no properties, a payload.
        let message = [&[0x30, 14, 0, 1, b't', 0][..], b"0123456789"].concat();
        let messages = message.repeat(10_000);
        while stream.write_all(&messages).is_ok() {}
    });
    port
}

#[test]
fn messages_that_come_before_they_are_asked_for_are_bounded() {
    let form =
        json!({"href": format!("mqtt://127.0.0.1:{}", flooding_broker()), "mqv:topic": "t", "op": ["readproperty"]});
    let description = description(json!({"properties": {"state": {"forms": [form]}}}));
    let read = call(&description, Affordance::Property("state".into()), Request::Read);
    let error = block_on(events(&Mqtt, read)).unwrap_err();
    assert!(matches!(error, Error::AnswerTooLarge { limit, .. } if limit < 2 * 1024 * 1024), "{error}");
}

#[test]
fn key_that_a_payload_has_no_place_for_is_named() {
    let href = "mqtt://127.0.0.1:9/a";
    let thing = description(json!({"properties": {"a": {"forms": [{"href": href}]}}}));
    let mut call = call(&thing, Affordance::Property("a".into()), Request::Write(json!(1)));
    let grant = Grant::ApiKey { key: Secret::new("k"), place: Place::Body("key".into()) };
    call.authorization.push(Authorization { scheme: "key".into(), grant });
    let error = block_on(events(&Mqtt, call)).unwrap_err();
    assert!(matches!(&error, Error::Setting { setting, .. } if setting == "credentials.key"), "{error:?}");
}
