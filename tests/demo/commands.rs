//! The commands that a demo prints do what it says, as they are printed.

use std::io::{BufRead, BufReader};

use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use serde_json::{Value, json};

use super::process::DemoProcess;

fn stdout(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn every_printed_command_works_as_it_is_printed() {
    let demo = DemoProcess::start();
    let ask = demo.run("Ask one", "");
    let first_answer =
        format!("the first answer of an agent came {:.1} s after the start\n", demo.started.elapsed().as_secs_f64());
    // `.ci/run` prints it.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/first-answer"), first_answer).unwrap();
    assert_eq!(stdout(&ask), "42 km are 26.1 miles.\n", "{}", stderr(&ask));
    let address = demo.url().trim_start_matches("http://").to_owned();
    let why = format!("allowing calls to {address}: the registry there is a demo on this machine\n");
    let asking = format!("{why}asking Unit converter (52.9)\n");
    assert_eq!((ask.status.code(), stderr(&ask)), (Some(0), asking));

    // It prints changes until it is ended.
    let mut watching = demo.shell(&format!("exec {}", demo.command("Watch"))).spawn().unwrap();
    let mut changes = BufReader::new(watching.stdout.take().unwrap()).lines().map_while(Result::ok);

    let search = demo.run("Find an agent", "");
    let found = stdout(&search);
    assert!(search.status.success() && found.contains("World clock"), "{found}{}", stderr(&search));
    let before = |title: &str| found.find(title).unwrap_or(usize::MAX);
    assert!(before("World clock") < before("Hours until midnight").min(before("Bus stop")), "{found}");

    let chat = demo.run("Chat: Convert 42, then km", "Convert 42\nkm\n");
    let said = stdout(&chat);
    assert!(said.contains("42 of which unit?") && said.ends_with("42 km are 26.1 miles.\n"), "{said}{}", stderr(&chat));
    assert!(stderr(&chat).starts_with(&why), "{}", stderr(&chat));

    let call = demo.run("Call an action", "");
    let rolled: Value = serde_json::from_str(&stdout(&call)).unwrap_or_else(|_| panic!("{}", stderr(&call)));
    let dice: Vec<u64> = serde_json::from_value(rolled["rolled"].clone()).unwrap();
    assert!(dice.len() == 2 && dice.iter().all(|die| (1..=6).contains(die)), "{rolled}");
    assert_eq!(rolled["sum"], json!(dice.iter().sum::<u64>()));

    let run = demo.run("Run a Flow", "");
    let result: Value = serde_json::from_str(&stdout(&run)).unwrap_or_else(|_| panic!("{}", stderr(&run)));
    let (time, answer) = (result["time"].as_str().unwrap(), result["answer"].as_str().unwrap());
    assert!(time.ends_with("+09:00"), "{time}");
    assert!(answer.ends_with(" hours.") || answer.ends_with(" hour."), "{answer}");

    let updated = changes.find(|line| line.contains("updated urn:demo:bus-stop"));
    assert!(updated.is_some_and(|line| line.contains("Bus stop")));
    watching.kill().unwrap();
    watching.wait().unwrap();

    for line in [
        r#"searched "how late is it in Tokyo" → World clock"#,
        r#"asked    Unit converter: "How many miles are 42 km?" → "42 km are 26.1 miles.""#,
        r#"called   Dice: roll {"dice":2} → {"rolled":["#,
        r#"called   World clock: time {"city":"Tokyo"} → {"city":"Tokyo","#,
        "updated  Bus stop: Line 7 to the harbor: next departure ",
    ] {
        demo.wait_for_line(line);
    }
    let (status, printed) = demo.end("-TERM");
    assert!(status.success());
    // `ask` searches as well; the Flow calls two agents, the chat asks twice.
    let last = printed.last().unwrap();
    assert!(last.starts_with("13 agents, 2 searches, 6 calls. Nothing was kept."), "{printed:#?}");
}

#[test]
fn what_is_missing_is_said_with_what_to_add() {
    let demo = DemoProcess::start();
    let complaint = |arguments: &[&str]| {
        let output = crate::process::agentdex().args(arguments).args(["--url", &demo.url()]).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}: {}", stdout(&output));
        stderr(&output)
    };
    for (arguments, expected) in [
        (&["call", "Dice"][..], "specify an action of urn:demo:dice: roll, shuffle"),
        (
            &["call", "World clock", "time"],
            "expected an object with city (string); pass a valid input as JSON with --input",
        ),
        (&["ask", "roll dice", "roll two"], "use `agentdex call urn:demo:dice ACTION --input JSON`"),
        (&["ask", "roll dice"], "Dice ("),
    ] {
        let complaint = complaint(arguments);
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}

#[test]
fn the_flow_of_the_examples_runs_from_its_file() {
    let demo = DemoProcess::start();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/flow.yaml");
    let arguments = ["run", file, "--input", r#"{"city": "Bonn"}"#, "--url", &demo.url()];
    let output = crate::process::agentdex().args(arguments).output().unwrap();
    let result: Value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert!(result["answer"].as_str().unwrap().contains(" minute"), "{result}");
}

#[test]
fn the_page_and_mqtt_work_at_once() {
    let demo = DemoProcess::start();
    let about = demo.get("/").expect(200).json();
    assert_eq!((&about["demo"], &about["things"]), (&json!(true), &json!(13)));
    // The page asks through the registry.
    let asked = demo.post("/things/urn:demo:units/conversation", r#"{"message": "Convert 42"}"#).expect(200).json();
    assert_eq!(
        (&asked["state"], &asked["text"]),
        (&json!("input-required"), &json!("42 of which unit? For example km, pounds or °C."))
    );
    let next = json!({"message": "km", "conversation": asked["conversation"]}).to_string();
    let answered = demo.post("/things/urn:demo:units/conversation", &next).expect(200).json();
    assert_eq!((&answered["state"], &answered["text"]), (&json!("completed"), &json!("42 km are 26.1 miles.")));
    let page = crate::support::Call::new("GET", &demo.url()).header("accept", "text/html").send().expect(200);
    let files =
        page.text().split('"').filter(|part| part.ends_with("access.js")).map(str::to_owned).collect::<Vec<_>>();
    assert!(demo.get(&format!("/{}", files[0])).expect(200).text().contains("Demo: nothing is kept"));

    let mqtt = demo.mqtt();
    let (host, port) = mqtt.split_once(':').unwrap();
    let (client, mut connection) = Client::new(MqttOptions::new("demo-test", host, port.parse().unwrap()), 10);
    client.subscribe("agentdex/things/urn:demo:clock", QoS::AtLeastOnce).unwrap();
    let retained = connection.iter().find_map(|event| match event.unwrap() {
        Event::Incoming(Packet::Publish(publish)) => Some(publish.payload),
        _ => None,
    });
    let thing: Value = serde_json::from_slice(&retained.unwrap()).unwrap();
    assert_eq!(thing["title"], "World clock");
}

#[test]
fn a_demo_calls_its_own_agents_and_nothing_else_on_the_machine() {
    let demo = DemoProcess::start();
    let other = crate::consumer::server::Server::start(|_| crate::consumer::server::Said::json("true"));
    let mut thing = crate::consumer::asking(&other.origin);
    thing["id"] = "urn:x:other".into();
    crate::support::Call::new("PUT", &format!("{}/things/urn:x:other", demo.url()))
        .body("application/td+json", thing.to_string())
        .send()
        .expect(201);
    let refused = demo.post("/things/urn:x:other/conversation", r#"{"message": "x"}"#);
    assert_ne!(refused.status, 200, "{}", refused.text());
    let url = demo.url();
    let by_command = demo.shell(&format!("{} ask --agent urn:x:other x --url {url}", env!("CARGO_BIN_EXE_agentdex")));
    let output = { by_command }.output().unwrap();
    assert!(!output.status.success(), "{}", stdout(&output));
    assert!(other.received().is_empty());
}
