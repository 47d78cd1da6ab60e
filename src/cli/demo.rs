//! `agentdex demo`: a registry with agents that answer, until it is asked to stop; nothing of it is kept.

mod activity;
mod agents;
mod banner;
mod bus_stop;
mod directory;
mod printer;

use std::{
    env,
    ffi::OsString,
    io,
    net::{Ipv4Addr, TcpListener},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use tokio::sync::mpsc;

use self::{
    activity::{ActivityLog, Shown, Totals},
    banner::Addresses,
    directory::TemporaryDirectory,
    printer::Printer,
};
use super::{
    misuse::misuse,
    output::print_json,
    serve::{Running, start_logging},
};
use crate::settings::{LogFormat, LogLevel, Settings, number};
use agentdex::registry::Since;
use agentdex_server::http;

/// The most activities that wait to be printed; others are counted alone.
const BACKLOG: usize = 1000;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Port for the web page and the REST API; if it is in use, a free port is chosen
    #[arg(long, env = "AGENTDEX_DEMO_PORT", hide_env_values = true, value_name = "PORT", default_value_t = 8080, value_parser = number::<u16>(0..=65535))]
    port: u16,
    /// Port for MQTT; if it is in use, a free port is chosen
    #[arg(long, env = "AGENTDEX_DEMO_MQTT_PORT", hide_env_values = true, value_name = "PORT", default_value_t = 1883, value_parser = number::<u16>(0..=65535))]
    mqtt_port: u16,
    // Refused with a sentence.
    #[arg(long, hide = true, num_args = 0..=1)]
    data: Option<Option<OsString>>,
    #[arg(long, hide = true)]
    auth: bool,
    #[arg(long, hide = true, num_args = 0..=1)]
    listen: Option<Option<OsString>>,
    /// Print only the addresses, as JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Refuses what a demo doesn't do.
    fn check(&self) -> anyhow::Result<()> {
        if self.data.is_some() {
            return Err(misuse(
                "--data: a demo keeps nothing; `agentdex serve --data DIR` runs a registry that keeps its agents",
            ));
        }
        if self.auth {
            return Err(misuse(
                "--auth: a demo is open to everyone on this machine; `agentdex serve --auth` runs a registry with keys",
            ));
        }
        if self.listen.is_some() {
            return Err(misuse(
                "--listen: a demo serves only this machine, at --port; `agentdex serve --listen ADDRESS:PORT` serves \
                 other machines",
            ));
        }
        Ok(())
    }
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.check()?;
    start_logging(LogFormat::Text, env::var_os("RUST_LOG").is_none().then_some(LogLevel::Warn));
    let directory = TemporaryDirectory::create().context("creating a temporary directory")?;
    let socket = listen("--port", arguments.port)?;
    socket.set_nonblocking(true)?;
    let http = socket.local_addr()?;
    let mqtt = listen("--mqtt-port", arguments.mqtt_port)?.local_addr()?;
    let origin = format!("http://{http}");
    let settings = Settings {
        data: directory.path().join("data"),
        listen: http.to_string(),
        mqtt_listen: Some(mqtt.to_string()),
        examples: true,
        conversations: true,
        // Its own agents, and nothing else on this machine.
        allow_fetch: vec![http.to_string()],
        ..Settings::defaults()?
    };

    let totals = Arc::new(Totals::default());
    let (sender, activities) = mpsc::channel(BACKLOG);
    let counted = totals.clone();
    let demo = http::Demo::new(agents::card(&origin), move |activity| {
        counted.count(&activity);
        if let Some(shown) = Shown::of(activity) {
            // What doesn't fit isn't shown.
            let _ = sender.try_send(shown);
        }
    });
    let running = Running::start(settings, Some(socket), Some(demo)).await?;
    let registry = running.registry().clone();
    agents::register(&registry, &origin).await?;
    running.wait_until_searchable().await?;
    let (http, mqtt) = running.addresses();
    if arguments.json {
        let mqtt = mqtt.map(|address| format!("mqtt://{address}"));
        print_json(&json!({"http": format!("http://{http}"), "mqtt": mqtt}))?;
        running.serve().await?;
        return Ok(ExitCode::SUCCESS);
    }
    banner::print(&Addresses { http, mqtt, is_default: http.port() == 8080 }, registry.len());
    let changes = registry.subscribe(Since::Now);
    let printer = Printer::start().context("starting a thread")?;
    let showing = tokio::spawn(ActivityLog::new(registry.clone(), activities, changes, printer.clone()).show());
    let served = running.serve().await;
    showing.abort();
    // No line of it comes after the last one.
    let _ = showing.await;
    let agents = registry.len();
    drop(registry);
    drop(directory);
    served?;
    printer.end(totals.sentence(agents)).await;
    Ok(ExitCode::SUCCESS)
}

/// Listens on the port that a flag names, or a free one if it is taken.
fn listen(flag: &str, port: u16) -> anyhow::Result<TcpListener> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let socket = match bind(port) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => bind(0),
        result => result,
    };
    socket.with_context(|| format!("{flag} {port}: can't listen on 127.0.0.1:{port}"))
}
