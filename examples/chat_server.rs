//! A chat over HTTP with an agent of a registry: `POST /chat` starts one as a stream of server-sent events, `POST
//! /push/{chat}` sends a message into it.
//!
//! Run it with `cargo run --example chat_server`: it registers a small agent of its own, talks with it, and ends.

use std::{collections::HashMap, sync::Mutex};

use actix_web::{
    App, HttpResponse, HttpServer,
    web::{Bytes, Data, Json, Path},
};
use agentdex::{
    Registry,
    consumer::{Agent, Consumer, Event, Writer},
    fetch::{AllowList, Options},
    registry::Write,
};
use futures_util::{StreamExt, stream};
use serde_json::json;

/// The agent, and the writers of the chats that are open.
struct Chats {
    agent: Agent,
    writers: Mutex<HashMap<String, Writer>>,
}

async fn start(message: String, chats: Data<Chats>) -> HttpResponse {
    let mut dialogue = chats.agent.stream();
    let writer = dialogue.writer();
    let id = format!("chat-{}", chats.writers.lock().unwrap().len() + 1);
    chats.writers.lock().unwrap().insert(id.clone(), writer.clone());
    if writer.send(message).await.is_err() {
        return HttpResponse::InternalServerError().finish();
    }
    let first = stream::once(async move { format!("event: chat\ndata: {id}\n\n") });
    let events = dialogue.events().filter_map(|event| async move {
        match event {
            Ok(Event::Text(text)) => Some(format!("event: text\ndata: {}\n\n", json!(text))),
            Ok(Event::InputRequired(reply)) => Some(format!("event: input\ndata: {}\n\n", json!(reply.message))),
            Ok(Event::Done(_)) => Some("event: done\ndata: {}\n\n".to_owned()),
            Ok(_) => None,
            Err(error) => Some(format!("event: error\ndata: {}\n\n", json!(error.to_string()))),
        }
    });
    let body = first.chain(events).map(|text| Ok::<_, actix_web::Error>(Bytes::from(text)));
    HttpResponse::Ok().content_type("text/event-stream").streaming(body)
}

async fn push(chat: Path<String>, message: String, chats: Data<Chats>) -> HttpResponse {
    let writer = chats.writers.lock().unwrap().get(&*chat).cloned();
    match writer {
        Some(writer) if writer.send(message).await.is_ok() => HttpResponse::Accepted().finish(),
        // Whoever read the chat has gone.
        Some(_) => HttpResponse::Gone().finish(),
        None => HttpResponse::NotFound().finish(),
    }
}

/// The agent of this example: it repeats what it receives.
async fn parrot(said: Json<String>) -> HttpResponse {
    HttpResponse::Ok().json(format!("You said: {}", said.into_inner()))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let origin = format!("http://{}", listener.local_addr()?);
    let directory = tempfile::tempdir()?;
    let registry = Registry::builder(directory.path()).open()?;
    let description = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:parrot", "title": "Parrot",
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
        "actions": {"ask": {"input": {"type": "string"}, "output": {"type": "string"}, "forms": [{"href": format!("{origin}/parrot")}]}},
    });
    registry.write(Write::put(description.to_string())).await?;
    let allowed = AllowList::parse(["127.0.0.1"])?;
    let consumer = Consumer::with_options(registry.clone(), Options::default().allowed(allowed))?;
    let agent = consumer.agent("urn:example:parrot").await?;
    let chats = Data::new(Chats { agent, writers: Mutex::default() });
    let app = move || {
        App::new()
            .app_data(chats.clone())
            .route("/chat", actix_web::web::post().to(start))
            .route("/push/{chat}", actix_web::web::post().to(push))
            .route("/parrot", actix_web::web::post().to(parrot))
    };
    let server = HttpServer::new(app).workers(1).listen(listener)?.run();
    let handle = server.handle();
    actix_web::rt::spawn(server);

    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut chat = client.post(format!("{origin}/chat")).body("hello").send().await?.bytes_stream();
    let mut read = String::new();
    let mut pushed = false;
    while let Some(piece) = chat.next().await {
        read.push_str(std::str::from_utf8(&piece?)?);
        if !pushed && read.contains("event: done") {
            pushed = true;
            client.post(format!("{origin}/push/chat-1")).body("and good-bye").send().await?.error_for_status()?;
        }
        if read.matches("event: done").count() == 2 {
            break;
        }
    }
    print!("{read}");
    assert!(read.contains("You said: hello") && read.contains("and good-bye"));
    drop(chat);
    handle.stop(false).await;
    registry.close();
    Ok(())
}
