//! Flows of the SDK of Agent Spec, run over HTTP tools and agents of A2A, and flows of composed searches.

use std::{collections::BTreeMap, sync::Arc};

use agentdex::{
    consumer::{Consumer, Run, RunEvent},
    convert::{
        Syntax,
        agent_spec::{Configuration, FlowChain, Options},
    },
    sacp::{Chain, Outcome},
};
use agentdex_client::RegistryClient;
use serde_json::{Value, json};

use super::{
    TestAgent, consumer, loopback, run,
    server::{Received, Said, Server},
};
use crate::support::{TestRegistry, run_agent_spec, unreachable_url};

/// Tools over HTTP: one that translates, one that counts, one that is broken.
pub fn tools() -> Server {
    Server::start(|request: &Received| match request.line.split_once(' ').unwrap_or_default() {
        ("POST", "/translate") => {
            let asked = request.json();
            assert_eq!(asked["by"], json!(["agentdex"]), "what is no placeholder is sent as it is");
            Said::json(
                json!({"translated": format!("{} ({})", asked["text"].as_str().unwrap(), asked["to"].as_str().unwrap())}),
            )
        }
        ("POST", "/translate.back") => Said::json(json!({"translated": "back"})),
        ("GET", target) if target.starts_with("/length/") => {
            let word = target.trim_start_matches("/length/").split('?').next().unwrap();
            assert!(target.ends_with("?unit=letters"), "{target}");
            Said::json(json!(word.replace("%20", " ").replace("%28", "(").replace("%29", ")").len()))
        }
        _ => Said::new("500 Internal Server Error", &["content-type: text/plain"], "out of order"),
    })
}

/// The flows of the SDK, by name; none without it.
pub fn flows(tools: &str, agent: &str) -> Option<BTreeMap<String, Value>> {
    let places = json!({"tools": tools, "agent": agent}).to_string();
    let printed = run_agent_spec(include_str!("flows.py"), &places, "")?;
    let flow = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["name"].as_str().unwrap().to_owned(), line["flow"].clone())
    };
    Some(printed.lines().map(flow).collect())
}

fn converted(flow: &Value) -> agentdex::convert::Result<FlowChain> {
    let configuration = Configuration::parse(flow.to_string().as_bytes(), Syntax::Json, &[])?;
    configuration.to_chain(&Options { publish_prompts: true, ..Options::default() })
}

fn chain(flow: &Value) -> Arc<Chain> {
    let converted = converted(flow).unwrap();
    Arc::new(Chain::new(converted.chain.clone()).unwrap_or_else(|error| panic!("{error}: {:#}", converted.chain)))
}

/// The data that a run ends with, or why it failed.
fn result(run: &Run) -> Result<Value, String> {
    match run.outcome() {
        Some(Outcome::Done(response)) => Ok(Value::Object(response.data.clone())),
        Some(Outcome::Failed { node, reason }) => Err(format!("{node}: {reason}")),
        None => Err(format!("waits for input: {:?}", run.question())),
    }
}

#[test]
fn flows_of_the_sdk_run_over_http_tools() {
    let server = tools();
    let Some(flows) = flows(&server.origin, &unreachable_url("/rpc")) else { return };
    let text = |language: &str| json!({"text": "rain", "language": language});
    let failed = "the failure is told";
    for (name, input, expected) in [
        ("linear", json!({"text": "rain"}), json!({"translated": "rain (de)", "length": 9})),
        ("one", text("fr"), json!({"translated": "rain (fr)"})),
        ("branching", text("de"), json!({"translated": "rain (de)", "language": "?"})),
        ("branching", text("fr"), json!({"translated": "back", "language": "?"})),
        ("branching", text("it"), json!({"translated": "nothing", "language": "it"})),
        ("nested", text("de"), json!({"translated": "rain (de)", "language": "-"})),
        ("nested", text("it"), json!({"translated": "-", "language": "it"})),
        ("mapped", json!({"texts": ["a", "bc"], "to": "de"}), json!({"all": ["a (de)", "bc (de)"], "total": 13})),
        ("mapped", json!({"texts": [], "to": "de"}), json!({"all": [], "total": 0})),
        ("parallel map", json!({"texts": ["a", "bc"], "to": "de"}), json!({"all": ["a (de)", "bc (de)"], "total": 13})),
        (
            "parallel",
            json!({"text": "rain", "language": "de", "word": "abc"}),
            json!({"translated": "rain (de)", "length": 3}),
        ),
        ("caught", text("de"), json!({"translated": "-", "why": failed})),
    ] {
        run(async {
            let mut run = consumer().run(chain(&flows[name]), input.clone());
            run.finish().await;
            let mut result = result(&run).unwrap_or_else(|error| panic!("{name} of {input}: {error}"));
            if result["why"].as_str().is_some_and(|why| why.contains("status 500")) {
                result["why"] = failed.into();
            }
            assert_eq!(result, expected, "{name} of {input}");
        });
    }
    // Inputs that are missing are told with their names.
    run(async {
        let mut run = consumer().run(chain(&flows["one"]), json!({"text": "rain"}));
        run.finish().await;
        assert_eq!(result(&run).unwrap_err(), "start: the input has no member \"language\"; its members: text");
    });
}

#[test]
fn a_parallel_map_calls_at_the_same_time() {
    use std::sync::{Barrier, mpsc};
    // Each of two calls is answered once the other has come.
    let barrier = Arc::new(Barrier::new(2));
    let server = Server::start(move |_| {
        let (sender, receiver) = mpsc::channel();
        let barrier = barrier.clone();
        std::thread::spawn(move || {
            barrier.wait();
            let _ = sender.send(());
        });
        match receiver.recv_timeout(std::time::Duration::from_secs(20)) {
            Ok(()) => Said::json(json!({"translated": "x"})),
            Err(_) => Said::new("500 Internal Server Error", &[], ""),
        }
    });
    let Some(flows) = flows(&server.origin, &unreachable_url("/rpc")) else { return };
    let mut flow = flows["parallel map"].clone();
    // Up to the translations alone: the counts would be asked for with other words.
    let text = flow.to_string().replace("/length/{{word}}", "/count/{{word}}");
    flow = serde_json::from_str(&text).unwrap();
    run(async {
        let mut run = consumer().run(chain(&flow), json!({"texts": ["a", "b"], "to": "de"}));
        let mut answered = Vec::new();
        while let Some(event) = run.next().await {
            if let RunEvent::Answered { node, response, .. } = event {
                answered.push((node, response.status.as_str()));
            }
        }
        answered.sort();
        assert_eq!(
            answered[..2],
            [("all[0]/translate".to_owned(), "success"), ("all[1]/translate".to_owned(), "success")]
        );
    });
}

#[test]
fn a_flow_asks_its_user_and_an_agent() {
    let Some(peer) = TestAgent::python_1_0() else { return };
    let Some(flows) = flows(&unreachable_url(""), &peer.url("/rpc")) else { return };
    run(async {
        let mut run = consumer().run(chain(&flows["asking"]), json!({"name": "Ada"}));
        let mut said = Vec::new();
        for answer in ["which city?", "Bonn"] {
            while let Some(event) = run.next().await {
                match event {
                    RunEvent::Said { message, .. } | RunEvent::NeedsInput { message, .. } => said.push(message),
                    _ => {}
                }
            }
            assert!(run.answer(answer), "{:?}", run.outcome());
        }
        run.finish().await;
        assert_eq!(said, ["Hello, Ada!", "What shall I ask, Ada?", "Which city?"]);
        assert_eq!(result(&run), Ok(json!({"answer": "It is dry in Bonn."})));
    });
}

#[test]
fn a_tool_that_needs_confirmation_is_called_once_the_user_agrees() {
    let server = tools();
    let Some(flows) = flows(&server.origin, &unreachable_url("/rpc")) else { return };
    for (answer, expected) in [("yes", Ok(json!({"translated": "rain (de)"}))), ("no", Err("was not confirmed"))] {
        run(async {
            let before = server.received().len();
            let mut run = consumer().run(chain(&flows["confirmed"]), json!({"text": "rain", "language": "de"}));
            assert!(run.finish().await.is_none());
            assert_eq!(server.received().len(), before, "nothing is called before");
            assert!(run.answer(answer));
            run.finish().await;
            match (result(&run), expected) {
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason}"),
                (result, expected) => assert_eq!(result, expected.map_err(str::to_owned)),
            }
        });
    }
}

#[test]
fn what_a_flow_needs_and_what_no_chain_can_be_is_told_with_the_node() {
    let Some(flows) = flows(&unreachable_url(""), &unreachable_url("/rpc")) else { return };
    let thinking = converted(&flows["thinking"]).unwrap().needed;
    let [needed] = thinking.as_slice() else { panic!("{thinking:?}") };
    assert_eq!((needed.node.as_str(), needed.component_type.as_str()), ("think", "LlmNode"));
    assert!(needed.id.is_some());
    let supplied = converted(&flows["supplied"]).unwrap().needed;
    assert_eq!(supplied[0].capability.as_deref(), Some("forecast"));
    assert!(converted(&flows["linear"]).unwrap().needed.is_empty());
    let scalar = flows["mapped"].to_string().replace("iterated_text\"", "iterated_language\"");
    assert!(converted(&serde_json::from_str(&scalar).unwrap()).is_err());
    let tool = json!({"component_type": "ServerTool", "name": "clock", "agentspec_version": "25.4.1"});
    let error = converted(&tool).unwrap_err().to_string();
    assert!(error.contains("doesn't define a Flow"), "{error}");
}

#[test]
fn an_agent_is_registered_for_a_node_that_does_not_say_how_it_is_called() {
    let server = Server::start(|request| Said::json(json!(format!("I thought: {}", request.body.trim_matches('"')))));
    let Some(flows) = flows(&unreachable_url(""), &unreachable_url("/rpc")) else { return };
    let registry = TestRegistry::start();
    let id = converted(&flows["thinking"]).unwrap().needed.remove(0).id.unwrap();
    let mut agent = super::asking(&server.origin);
    agent["id"] = id.as_str().into();
    registry.registry().put(agent.to_string()).unwrap();
    let mut forecast = super::thing(json!({"actions": {"forecast": {
        "input": {"type": "object", "properties": {"question": {"type": "string"}}}, "forms": [{"href": &server.origin}],
    }}}));
    forecast["id"] = "urn:example:forecast".into();
    registry.registry().put(forecast.to_string()).unwrap();
    registry.get("/search?q=forecast&consistent=true").expect(200);
    let consumer = Consumer::with_options(registry.registry().clone(), loopback()).unwrap();
    run(async {
        let mut run = consumer.run(chain(&flows["thinking"]), json!({"topic": "rain"}));
        run.finish().await;
        assert_eq!(result(&run), Ok(json!({"generated_text": "I thought: Of rain"})));
        let mut run = consumer.run(chain(&flows["supplied"]), json!({"question": "Rain?"}));
        run.finish().await;
        let answer = result(&run).unwrap();
        assert!(answer["answer"].as_str().unwrap().contains("Rain?"), "{answer}");
    });
}

#[test]
fn flows_of_composed_searches_run() {
    let server = Server::start(|request| match request.line.split_once(' ').unwrap_or_default().1 {
        "/locate" => Said::json(json!({"lat": 50.7, "lon": request.json()["city"].as_str().unwrap().len()})),
        "/at" => Said::json(
            json!({"temperature": request.json()["lat"].as_f64().unwrap() + request.json()["lon"].as_f64().unwrap()}),
        ),
        other => panic!("{other}"),
    });
    let registry = TestRegistry::start();
    let data = |members: &[(&str, &str)]| {
        let schemas = members.iter().map(|(name, kind)| ((*name).to_owned(), json!({"type": kind})));
        let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        json!({"type": "object", "properties": schemas.collect::<serde_json::Map<_, _>>(), "required": required})
    };
    let place = [("lat", "number"), ("lon", "number")];
    for (id, action, input, output) in [
        ("urn:t:geocoder", "locate", data(&[("city", "string")]), data(&place)),
        ("urn:t:weather", "at", data(&place), data(&[("temperature", "number")])),
    ] {
        let form = json!([{"href": format!("{}/{action}", server.origin)}]);
        let mut thing = super::thing(json!({"actions": {action: {"input": input, "output": output, "forms": form}}}));
        thing["id"] = id.into();
        registry.registry().put(thing.to_string()).unwrap();
    }
    let asked = json!({"have": data(&[("city", "string")]), "want": data(&[("temperature", "number")])});
    let answer =
        registry.call("POST", "/search/compose").body("application/json", asked.to_string()).send().expect(200);
    let flow = answer.json()["chains"][0]["flow"].clone();
    let client = RegistryClient::new(&registry.url("")).unwrap();
    let consumer = Consumer::with_options(client, loopback()).unwrap();
    run(async {
        let mut run = consumer.run(chain(&flow), json!({"city": "Bonn"}));
        let mut agents = Vec::new();
        while let Some(event) = run.next().await {
            if let RunEvent::Started { agent, .. } = event {
                agents.push(agent);
            }
        }
        assert_eq!(result(&run), Ok(json!({"temperature": 54.7})));
        assert_eq!(agents, ["urn:t:geocoder", "urn:t:weather"], "the registered ones, with their security");
    });
}
