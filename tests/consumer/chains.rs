//! Chains of agents, run.

use std::time::Duration;

use agentdex::{
    consumer::{Consumer, Error, Event, Run, RunEvent, Settings, State},
    sacp::{Chain, Outcome, Response},
};
use serde_json::{Value, json};

use super::{
    TestAgent, asking, consumer, loopback, run,
    server::{Said, Server},
    thing,
};
use crate::support::{TestRegistry, eventually_async};

fn chain(description: Value) -> Chain {
    Chain::new(description).unwrap()
}

fn done(run: &Run) -> &Response {
    match run.outcome() {
        Some(Outcome::Done(response)) => response,
        other => panic!("{other:?}"),
    }
}

fn reason(run: &Run) -> &str {
    match run.outcome() {
        Some(Outcome::Failed { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// The names of the events, with their nodes.
async fn events(run: &mut Run) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(event) = run.next().await {
        let value = event.to_value();
        names.push(format!("{} {}", value["event"].as_str().unwrap(), value["node"].as_str().unwrap_or_default()));
    }
    names
}

#[test]
fn agents_of_several_protocols_are_a_chain() {
    let (Some(new), Some(old)) = (TestAgent::python_1_0(), TestAgent::python_0_3()) else { return };
    let server = Server::start(|request| Said::json(json!({"rain": request.body.contains("umbrella"), "score": 0.9})));
    let registry = TestRegistry::start();
    let mut judge = thing(json!({"actions": {"judge": {"forms": [{"href": &server.origin}]}}}));
    judge["lmos:capabilities"] = json!([{"name": "judge"}]);
    let (mut first, mut second) = (new.described("JSONRPC"), old.described("HTTP+JSON"));
    (first["id"], second["id"]) = (json!("urn:t:new"), json!("urn:t:old"));
    for description in [&judge, &first, &second] {
        let id = description["id"].as_str().unwrap();
        registry.put(&format!("/things/{id}"), description.to_string()).expect(201);
    }
    registry.get("/search?q=judge&consistent=true").expect(200);
    let consumer = Consumer::with_options(registry.registry().clone(), loopback()).unwrap();
    let description = json!({
        "start": "ask",
        "nodes": {
            "ask": {"agent": "urn:t:new", "input": "{{input.question}}"},
            "judge": {"capability": "judge", "input": {"text": "{{ask.message}}"}},
            "report": {"agent": "urn:t:old", "input": "a report, since it is {{judge.data.rain}}"},
            "sorry": {"answer": {"message": "sorry"}},
        },
        "edges": [
            {"from": "ask", "to": "judge"}, {"from": "ask", "to": "sorry", "on_error": true},
            {"from": "judge", "to": "report", "when": "response.data.rain and response.data.score > 0.8"},
        ],
    });
    run(async {
        let mut run = consumer.run(chain(description), json!({"question": "Will it rain?"}));
        let mut started = Vec::new();
        let (mut statuses, mut answered) = (0, 0);
        while let Some(event) = run.next().await {
            match event {
                RunEvent::Started { node, agent, binding, why, .. } => started.push((node, agent, binding, why)),
                RunEvent::Agent { event: Event::Status(_), .. } => statuses += 1,
                RunEvent::Answered { .. } => answered += 1,
                _ => {}
            }
        }
        let names: Vec<_> =
            started.iter().map(|(node, agent, binding, _)| (node.as_str(), agent.as_str(), *binding)).collect();
        assert_eq!(
            names,
            [("ask", "urn:t:new", "a2a"), ("judge", "urn:example:thing", "http"), ("report", "urn:t:old", "a2a")]
        );
        assert!(started[1].3.iter().any(|why| why.contains("judge")), "{started:?}");
        assert!(statuses > 0 && answered == 3, "{statuses} {answered}");
        assert!(done(&run).message.contains("Here is the report."), "{:?}", run.state());
        // The router has looked whether somebody is there.
        let asked: Vec<_> = server.received().into_iter().filter(|request| !request.line.is_empty()).collect();
        assert_eq!((asked.len(), asked[0].json()), (1, json!({"text": "Yes, take an umbrella."})));
    });
}

#[test]
fn a_question_is_answered_by_another_process() {
    for peer in [TestAgent::python_1_0(), TestAgent::python_0_3()].into_iter().flatten() {
        let description = json!({
            "start": "ask",
            "nodes": {
                "ask": {"thing": peer.described("JSONRPC")},
                "end": {"answer": {"message": "The agent says: {{ask.message}}"}},
            },
            "edges": [{"from": "ask", "to": "end"}],
        });
        run(async {
            let mut first = consumer().run(chain(description.clone()), "which?");
            let names = events(&mut first).await;
            assert_eq!(names.last().unwrap(), "needs-input ask", "{names:?}");
            assert_eq!((first.question(), first.outcome()), (Some("Which city?"), None));
            let stored = first.to_json();
            drop(first);
            // The question is reported again, and the answer belongs to the same task of the agent.
            let mut second = consumer().resume(chain(description.clone()), &stored).unwrap();
            assert_eq!(events(&mut second).await, ["needs-input ask"]);
            assert!(second.answer("Bonn") && !second.answer("Cologne"));
            let names = events(&mut second).await;
            assert_eq!(names.last().unwrap(), "ended ", "{names:?}");
            assert_eq!(done(&second).message, "The agent says: It is dry in Bonn.");
            let other = chain(json!({"start": "x", "nodes": {"x": {"agent": "urn:x"}}}));
            let error = consumer().resume(other, &stored).unwrap_err();
            assert!(matches!(error, Error::InvalidHistory { .. }), "{error}");
        });
    }
}

#[test]
fn a_run_goes_on_after_a_crash_where_it_was() {
    let server = Server::start(|request| Said::json(json!(format!("{}!", request.body.trim_matches('"')))));
    let node = |input: &str| json!({"thing": asking(&server.origin), "input": input});
    let description = json!({
        "start": "a",
        "nodes": {"a": node("{{input}}"), "b": node("{{a.message}}"), "c": node("{{b.message}}")},
        "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}],
    });
    run(async {
        let mut first = consumer().run(chain(description.clone()), "x");
        let mut stored = String::new();
        while let Some(event) = first.next().await {
            // What a process that ends here has stored last.
            if matches!(&event, RunEvent::Answered { node, .. } if node == "a") {
                stored = first.to_json();
                break;
            }
        }
        drop(first);
        let mut second = consumer().resume(chain(description.clone()), &stored).unwrap();
        let names = events(&mut second).await;
        assert_eq!(names[0], "started b", "{names:?}");
        assert_eq!(done(&second).message, "x!!!");
        let sent: Vec<String> = server.received().into_iter().map(|request| request.body).collect();
        assert_eq!(sent, ["\"x\"", "\"x!\"", "\"x!!\""]);
    });
}

#[test]
fn failures_and_bounds_end_a_run_or_take_its_error_edge() {
    let broken = Server::start(|_| Said::new("500 Internal Server Error", &[], ""));
    let silent = Server::start(|_| Said::raw("").hanging());
    let alone = |origin: &str| json!({"start": "a", "nodes": {"a": {"thing": asking(origin)}}});
    let mut handled = alone(&broken.origin);
    handled["nodes"]["sorry"] = json!({"answer": {"message": "It failed: {{a.message}}"}});
    handled["edges"] = json!([{"from": "a", "to": "sorry", "on_error": true}]);
    let mut endless = alone(&Server::start(|_| Said::json(json!("again"))).origin);
    endless["max_steps"] = json!(10_000);
    endless["edges"] = json!([{"from": "a", "to": "a"}]);
    run(async {
        let mut run = consumer().run(chain(handled), "x");
        run.finish().await;
        assert!(done(&run).message.contains("status 500"), "{:?}", done(&run));
        let mut run = consumer().run(chain(alone(&broken.origin)), "x");
        run.finish().await;
        assert!(reason(&run).contains("status 500"), "{}", reason(&run));
        let mut run = consumer().run(chain(alone(&silent.origin)), "x").timeout(Duration::from_millis(300));
        run.finish().await;
        assert!(reason(&run).contains("took longer"), "{}", reason(&run));
        let patient = consumer().with_settings(Settings::new().timeout(Duration::from_millis(300)));
        let mut run = patient.run(chain(alone(&silent.origin)), "x");
        run.finish().await;
        assert!(reason(&run).contains("did not answer in time"), "{}", reason(&run));
        let mut run = consumer().run(chain(endless), "x").max_calls(5);
        let mut last = None;
        while let Some(event) = run.next().await {
            last = Some(event);
        }
        assert!(matches!(last, Some(RunEvent::Ended(Outcome::Failed { .. }))), "{last:?}");
        assert!(reason(&run).contains("limit of 5 calls"), "{}", reason(&run));
        let nobody = json!({"start": "a", "nodes": {"a": {"agent": "urn:example:nobody"}}});
        let mut run = consumer().run(chain(nobody), "x");
        run.finish().await;
        assert!(reason(&run).contains("urn:example:nobody"), "{}", reason(&run));
    });
}

#[test]
fn cancelling_a_run_cancels_the_tasks_of_its_agents() {
    for peer in [TestAgent::python_1_0(), TestAgent::python_0_3()].into_iter().flatten() {
        let thing = peer.described("JSONRPC");
        let one = json!({"start": "x", "nodes": {"x": {"thing": &thing}}});
        let description = json!({
            "start": "both", "nodes": {"both": {"chains": ["a", "b"]}}, "chains": {"a": &one, "b": &one},
        });
        run(async {
            let mut run = consumer().run(chain(description), "slow");
            let mut working = 0;
            while working < 2 {
                if let RunEvent::Agent { event: Event::Status(status), .. } = run.next().await.unwrap() {
                    working += usize::from(status.state == State::Working);
                }
            }
            run.cancel().await;
            assert_eq!(reason(&run), "the run was canceled");
            assert_eq!(events(&mut run).await, ["ended both"]);
            let agent = consumer().agent_of(&thing.to_string()).unwrap();
            let both = async || agent.ask("cancelled").await.unwrap().message().text() == "2";
            eventually_async("the end of both tasks", both).await;
        });
    }
}

#[test]
fn credentials_are_for_agents_that_the_caller_names() {
    let server = Server::start(|_| Said::json(json!("ok")));
    let mut description = asking(&server.origin);
    description["securityDefinitions"] = json!({"key": {"scheme": "bearer"}});
    description["security"] = json!("key");
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:thing", description.to_string()).expect(201);
    let settings = |variables: Vec<(&str, String)>| Settings::new().environment(variables);
    let key = ("AGENTDEX_CREDENTIAL_KEY", "t0ken".to_owned());
    let origin = ("AGENTDEX_CREDENTIAL_KEY_ORIGIN", server.origin.clone());
    let named = json!({"start": "a", "nodes": {"a": {"agent": "urn:example:thing"}}});
    let inline = json!({"start": "a", "nodes": {"a": {"thing": description}}});
    let of = |variables| {
        Consumer::with_options(registry.registry().clone(), loopback()).unwrap().with_settings(settings(variables))
    };
    run(async {
        let mut run = of(vec![key.clone()]).run(chain(named.clone()), "x");
        run.finish().await;
        assert_eq!(done(&run).message, "ok");
        // A chain that somebody else wrote, and a description in a chain, could be anybody's.
        for (description, is_of_others) in [(&named, true), (&inline, false)] {
            let mut run = of(vec![key.clone()]).run(chain(description.clone()), "x");
            if is_of_others {
                run = run.of_others();
            }
            run.finish().await;
            let whose = if is_of_others {
                "it is named by another owner's chain"
            } else {
                "its description is part of the chain"
            };
            assert!(reason(&run).contains("is not sent to"), "{}", reason(&run));
            assert!(reason(&run).contains(&format!("didn't name this agent yourself ({whose})")), "{}", reason(&run));
        }
        let mut run = of(vec![key, origin]).run(chain(inline), "x");
        run.finish().await;
        assert_eq!(done(&run).message, "ok");
    });
    assert_eq!(server.received().len(), 2);
}

#[test]
fn another_try_has_the_input_and_the_instruction() {
    let server = Server::start(|request| match request.line.contains("/judge") {
        true if request.body.contains("German") => Said::json(json!("Good.")),
        true => Said::json(
            json!({"thought": "", "status": "retry_with_instruction", "data": {}, "message": "Say it in German."}),
        ),
        false => Said::json(&request.body),
    });
    let text = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let hello = json!({"text": "hello"});
    let appended = "hello\n\nSay it in German.";
    for (schema, input, expected) in [
        (Some(object(json!({"text": text, "unit": text}))), hello.clone(), Ok(json!({"text": appended}))),
        (
            Some(object(json!({"text": text, "instruction": text}))),
            hello.clone(),
            Ok(json!({"text": "hello", "instruction": "Say it in German."})),
        ),
        (
            Some(object(json!({"city": text, "prompt": text}))),
            json!({"city": "Bonn"}),
            Ok(json!({"city": "Bonn", "prompt": "Say it in German."})),
        ),
        (Some(text.clone()), json!("hello"), Ok(json!(appended))),
        (None, hello.clone(), Ok(json!({"input": hello, "instruction": "Say it in German."}))),
        (
            Some(object(json!({"city": text, "days": {"type": "integer"}}))),
            json!({"city": "Bonn"}),
            Err(
                "the input (expected an object with city (string), days (integer)) has no free-text member for the retry instruction of a later agent in the chain (\"Say it in German.\")",
            ),
        ),
    ] {
        let mut writer = asking(&format!("{}/writer", server.origin));
        if let Some(schema) = schema {
            writer["actions"]["ask"]["input"] = schema;
        }
        let judge = asking(&format!("{}/judge", server.origin));
        let description = json!({
            "start": "writer", "max_steps": 6,
            "nodes": {"writer": {"thing": writer, "input": input}, "judge": {"thing": judge, "input": {"text": "{{writer.data}} {{writer.message}}"}}},
            "edges": [{"from": "writer", "to": "judge"}],
        });
        let before = server.received().len();
        run(async {
            let mut run = consumer().run(chain(description), "x");
            run.finish().await;
            let received = server.received();
            let sent = received[before..].iter().filter(|request| request.line.contains("/writer"));
            let sent: Vec<Value> = sent.map(|request| request.json()).collect();
            assert_eq!(sent[0], input);
            match expected {
                Ok(expected) => assert_eq!((done(&run).message.as_str(), &sent[1..]), ("Good.", &[expected][..])),
                Err(expected) => assert!(reason(&run).contains(expected), "{}", reason(&run)),
            }
        });
    }
}

#[test]
fn another_try_is_a_text_beside_the_data_of_a_message() {
    let server = Server::start(|request| match request.json().get("jsonrpc") {
        Some(_) => {
            let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": format!("I was sent {}", request.body)}]});
            Said::json(json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {"message": message}}))
        }
        None if request.body.contains("German") => Said::json(json!("Good.")),
        None => Said::json(
            json!({"thought": "", "status": "retry_with_instruction", "data": {}, "message": "Say it in German."}),
        ),
    });
    let form =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    let writer = thing(json!({"actions": {"ask": {"forms": [form]}}}));
    let description = json!({
        "start": "writer", "max_steps": 6,
        "nodes": {"writer": {"thing": writer, "input": {"city": "Bonn", "days": 2}}, "judge": {"thing": asking(&server.origin), "input": {"text": "{{writer.message}}"}}},
        "edges": [{"from": "writer", "to": "judge"}],
    });
    run(async {
        let mut run = consumer().run(chain(description), "x");
        run.finish().await;
        assert_eq!(done(&run).message, "Good.");
        let parts = &server.received()[2].json()["params"]["message"]["parts"];
        assert_eq!(parts[1]["data"], json!({"city": "Bonn", "days": 2}), "{parts}");
        assert_eq!(parts[2]["text"], "Say it in German.", "{parts}");
    });
}

#[test]
fn agents_that_are_configured_for_sacp_are_told_so() {
    let server = Server::start(|_| Said::json(json!("It is far.")));
    let mut thing = asking(&server.origin);
    thing["actions"]["ask"]["output"] = json!({"@type": "sacp:Response", "type": "object", "properties": {"data": {"properties": {"miles": {"type": "number"}}}}});
    let plain = asking(&server.origin);
    let mut typed = plain.clone();
    typed["actions"]["ask"]["input"] = json!({"type": "object", "properties": {"km": {"type": "number"}}});
    let of = |thing: &Value, name: &str, input: Value| {
        chain(json!({"start": "a", "nodes": {"a": {"thing": thing, name: true, "input": input}}}))
    };
    let asked = || server.received().last().unwrap().json().as_str().unwrap().to_owned();
    run(async {
        let mut told = consumer().run(of(&thing, "sacp", json!("How far?")), "x");
        told.finish().await;
        assert!(asked().starts_with("### SYSTEM PROTOCOL") && asked().ends_with("\n\nHow far?"), "{}", asked());
        assert!(asked().contains("- data.miles (number, optional)"), "{}", asked());
        // What isn't a response is a failure, also of an action that declares none.
        let own = consumer().with_settings(Settings::new().system_prompt("You measure."));
        let mut told = own.run(of(&plain, "use_standard_protocol", json!("How far?")), "x");
        told.finish().await;
        assert!(reason(&told).contains("invalid response format"), "{}", reason(&told));
        assert!(asked().starts_with("You measure.\n\n### SYSTEM PROTOCOL"), "{}", asked());
        // Instructions that reach nobody are no instructions.
        let before = server.received().len();
        for (thing, input) in [(&typed, json!({"km": 42})), (&plain, json!({"km": 42}))] {
            let mut told = consumer().run(of(thing, "sacp", input), "x");
            told.finish().await;
            assert!(reason(&told).contains("no free-text member for the system prompt"), "{}", reason(&told));
        }
        assert_eq!(server.received().len(), before);
    });
    let own = json!({"start": "a", "nodes": {"a": {"answer": "x", "sacp": true}}});
    assert_eq!(Chain::new(own).unwrap_err().violations[0].pointer, "/nodes/a/sacp");
}
