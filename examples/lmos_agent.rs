//! An agent that speaks the LMOS protocol over WebSocket, in actix-web, and a consumer that finds and calls it.
//!
//! `cargo run --example lmos_agent` starts both, asks the agent and ends; with `-- --stay` the agent stays.

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use actix_ws::Message;
use agentdex::{
    Registry,
    consumer::{Consumer, Event},
    fetch::{AllowList, Options},
};
use futures_util::StreamExt;
use serde_json::{Value, json};

/// Answers messages of the LMOS protocol.
async fn agent(request: HttpRequest, body: web::Payload) -> actix_web::Result<HttpResponse> {
    let (response, mut session, mut messages) = actix_ws::handle_with_protocols(&request, body, &["lmosprotocol"])?;
    actix_web::rt::spawn(async move {
        while let Some(Ok(Message::Text(text))) = messages.next().await {
            let Ok(request) = serde_json::from_str::<Value>(&text) else { break };
            for answer in answers(&request) {
                if session.text(answer.to_string()).await.is_err() {
                    return;
                }
            }
        }
        let _ = session.close(None).await;
    });
    Ok(response)
}

/// A status for each word of the forecast, and the forecast.
fn answers(request: &Value) -> Vec<Value> {
    let answer = |members: Value| {
        let mut answer = json!({
            "thingID": request["thingID"], "correlationID": request["correlationID"],
            "messageID": uuid::Uuid::new_v4().to_string(),
        });
        answer.as_object_mut().into_iter().for_each(|all| all.extend(members.as_object().cloned().unwrap_or_default()));
        answer
    };
    if request["messageType"] != "invokeAction" || request["action"] != "getWeather" {
        let refusal = json!({
            "messageType": "error", "type": "about:blank", "title": "Not here", "status": "404",
            "detail": "this agent has the action getWeather alone", "instance": request["messageID"],
        });
        return vec![answer(refusal)];
    }
    let forecast = format!("Sunny in {}.", request["input"]["city"].as_str().unwrap_or("Bonn"));
    let status = |status: &str, output: &str| {
        answer(json!({"messageType": "actionStatus", "action": "getWeather", "status": status, "output": output}))
    };
    let mut answers: Vec<Value> = forecast.split_inclusive(' ').map(|word| status("running", word)).collect();
    answers.push(status("completed", &forecast));
    answers
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stay = std::env::args().any(|argument| argument == "--stay");
    let server = HttpServer::new(|| App::new().route("/agent", web::get().to(agent)));
    let server = server.workers(1).bind(("127.0.0.1", if stay { 8082 } else { 0 }))?;
    let address = server.addrs().first().copied().ok_or("no address")?;
    let server = server.run();
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    println!("the agent is at ws://{address}/agent");

    let form = json!({"op": "invokeaction", "href": format!("ws://{address}/agent"), "subprotocol": "lmosprotocol"});
    let input = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let description = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": "urn:example:weather", "title": "Weather",
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
        "actions": {"getWeather": {"input": input, "output": {"type": "string"}, "forms": [form]}},
    });
    let directory = tempfile::tempdir()?;
    let registry = Registry::builder(directory.path()).open()?;
    registry.put(description.to_string())?;

    // Private addresses are called only where they are allowed.
    let options = Options::default().allowed(AllowList::parse(["127.0.0.1"])?);
    let weather = Consumer::with_options(registry, options)?.agent("urn:example:weather").await?;
    println!("called by {}", weather.explain().await?.binding);
    let mut events = weather.call_streaming("getWeather", json!({"city": "Bonn"})).await?.events;
    while let Some(event) = events.next().await {
        match event? {
            Event::Text(text) => println!("  {text}"),
            Event::Done(reply) => println!("{}", reply.message),
            _ => {}
        }
    }
    if stay {
        running.await??;
    }
    handle.stop(true).await;
    Ok(())
}
