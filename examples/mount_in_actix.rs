//! The registry's API inside of an actix-web application of yours, beside its own routes.
//!
//! `cargo run --example mount_in_actix` starts it, asks it something and ends; with `-- --stay` it
//! stays on <http://127.0.0.1:8081/registry/things>.

use actix_web::{App, HttpServer, get, web};
use agentdex::Registry;
use agentdex_client::RegistryClient;
use agentdex_server::http;

#[get("/")]
async fn home() -> &'static str {
    "An application with a registry under /registry\n"
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stay = std::env::args().any(|argument| argument == "--stay");
    let directory = tempfile::tempdir()?;
    let registry = Registry::open(directory.path())?;
    registry.put(include_str!("agents/weather.json"))?;

    let api = http::configure(&registry, http::Options::default());
    let application = move || App::new().service(home).service(web::scope("/registry").configure(api.clone()));
    let server = HttpServer::new(application).workers(1).bind(("127.0.0.1", if stay { 8081 } else { 0 }))?;
    let address = server.addrs().first().copied().ok_or("no address")?;
    println!("serving http://{address}/registry/things");

    let server = server.run();
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    if !stay {
        let client = RegistryClient::new(&format!("http://{address}/registry"))?;
        for summary in client.summaries(&[]).await? {
            println!("{}: {}", summary.id, summary.title.unwrap_or_default());
        }
        handle.stop(true).await;
    }
    running.await??;
    registry.close();
    Ok(())
}
