//! `agentdex mqtt`: maintains the topics on an existing broker.
//!
//! A data directory belongs to one process. Where a server has it open, that server is asked to do
//! what is to be done, by a file in the directory: whoever may write there may ask.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, Subcommand};
use serde_json::json;

use super::misuse;
use super::output::{complain, counted, print_json};
use super::terminal::stdout;
use crate::settings::{Flags, Settings, add_flags};
use agentdex::{Error, Registry};
use agentdex_server::mqtt::{self, Publisher, PublisherOptions, Resynced};

/// The file that asks a server to resync; it removes the file when it begins.
const REQUEST: &str = "mqtt-resync.request";
/// Interval at which a server checks for the file.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time for a server to notice the file.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Republish all agents to a broker that lost its retained messages.
    #[command(
        after_help = "If a server is using the data directory, that server republishes the agents. The retained \
            messages of removed agents are cleared."
    )]
    Resync(Resync),
}

/// The flag that asks for JSON.
const JSON: &str = "json";

/// The settings of the server that a resync has flags for.
const RESYNC_FLAGS: [&str; 5] = ["data", "mqtt_url", "mqtt_ca", "mqtt_prefix", "config"];

struct Resync {
    flags: Flags,
    json: bool,
}

impl FromArgMatches for Resync {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Resync, clap::Error> {
        Ok(Resync { flags: Flags::from_arg_matches(matches)?, json: matches.get_flag(JSON) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Resync::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Resync {
    fn augment_args(command: clap::Command) -> clap::Command {
        let help = "MQTT 5 broker: mqtt://HOST:PORT or mqtts://HOST:PORT";
        add_flags(command, |setting| RESYNC_FLAGS.contains(&setting))
            .mut_args(|arg| arg.help_heading(None))
            .mut_arg("mqtt_url", |arg| arg.help(help))
            .arg(Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("Print the result as JSON"))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Resync::augment_args(command)
    }
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Command::Resync(Resync { flags, json }) = arguments.command;
    let settings = flags.load(&|name| std::env::var_os(name)).map_err(misuse::of_settings)?;
    // An empty registry would clear everything that the broker retains.
    if !settings.data.exists() {
        bail!(
            "{}: there is no such directory; set --data to the data directory of a registry",
            settings.data.display()
        );
    }
    let resynced = match Registry::builder(&settings.data).open() {
        Ok(registry) => Some(tokio::task::spawn_blocking(move || resync(&settings, &registry)).await??),
        Err(Error::StoreInUse { .. }) => {
            ask_server(&settings.data)?;
            None
        }
        Err(error) => return Err(error.into()),
    };
    match (resynced, json) {
        (Some(Resynced { published, cleared }), true) => {
            print_json(&json!({"published": published, "cleared": cleared}))?
        }
        (Some(Resynced { published, cleared }), false) => {
            let published = counted(published, "description", "descriptions");
            writeln!(stdout(), "{published} published, {cleared} cleared")?;
        }
        (None, true) => print_json(&json!({"requested": true}))?,
        (None, false) => {
            writeln!(stdout(), "the running server was asked to resync; its log says when the resync is done")?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the options of a publisher by these settings.
pub(super) fn publisher_options(settings: &Settings) -> PublisherOptions {
    PublisherOptions {
        prefix: settings.mqtt_prefix.clone(),
        trusted_certificates: settings.mqtt_ca.clone(),
        ..PublisherOptions::default()
    }
}

fn resync(settings: &Settings, registry: &Registry) -> anyhow::Result<Resynced> {
    let url = settings.mqtt_url.as_deref().context("no broker given; add --mqtt-url mqtt://HOST:PORT")?;
    let resynced = mqtt::resync(url, registry.clone(), publisher_options(settings))?;
    registry.close();
    Ok(resynced)
}

fn ask_server(data: &Path) -> anyhow::Result<()> {
    let request = data.join(REQUEST);
    complain(&format!("asking the server that uses {} to resync", data.display()));
    fs::write(&request, "").with_context(|| format!("writing the request {}", request.display()))?;
    let asked = Instant::now();
    while request.exists() {
        if asked.elapsed() > PATIENCE {
            // Nobody is to find it tomorrow.
            let _ = fs::remove_file(&request);
            bail!(
                "the server using {} doesn't publish to a broker; restart the server with --mqtt-url",
                data.display()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Does what is asked for by [`REQUEST`], for as long as a server runs.
pub(super) async fn resync_on_request(data: PathBuf, publisher: Arc<Publisher>) {
    let request = data.join(REQUEST);
    loop {
        if fs::remove_file(&request).is_ok() {
            tracing::info!("a resync of the MQTT broker was requested");
            publisher.resync();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
