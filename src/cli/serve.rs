//! `agentdex serve`: the registry with its listeners, until it is asked to stop.

mod banner;
mod cluster;
mod descriptors;
mod exposure;
mod fetching;
mod guardian;
mod listeners;
mod logging;

use std::{
    env,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinHandle;

use self::exposure::{check_mqtt_exposure, report_access};
pub(super) use self::logging::start as start_logging;
use super::{
    examples, misuse,
    mqtt::{publisher_options, resync_on_request},
    stop,
};
use crate::settings::{EmbeddingModel, Flags, Settings, unknown_variables};
use agentdex::{
    Error, Registry,
    registry::{self, FollowerState},
    search::semantic::Model,
};
use agentdex_server::{http, mqtt};

/// Maximum time to wait for a rebuild of the search index before the server reports that it is ready.
const SHORT_REBUILD: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    flags: Flags,
    /// Print the addresses as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the server; `variables` are those of the other commands, which are known too.
pub(super) async fn run(arguments: Arguments, variables: &[String]) -> anyhow::Result<ExitCode> {
    let settings = arguments.flags.load(&|name| env::var_os(name)).map_err(misuse::of_settings)?;
    start_logging(settings.log_format, settings.log_level);
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    unknown_variables(names, variables).iter().for_each(|line| tracing::warn!("{line}"));
    let running = Running::start(settings, None, None).await?;
    running.wait_until_searchable().await?;
    let (http, mqtt) = running.addresses();
    match arguments.json {
        true => banner::print_json(&running.settings, http, mqtt),
        false => banner::print(&running.settings, http, mqtt),
    }
    running.serve().await?;
    Ok(ExitCode::SUCCESS)
}

/// A server that has started: its registry is open, its ports are taken, and HTTP is served from [`Running::serve`] on.
pub(super) struct Running {
    settings: Settings,
    registry: Registry,
    server: http::Server,
    endpoint: Option<Arc<mqtt::Endpoint>>,
    publisher: Option<Arc<mqtt::Publisher>>,
    exporting: Option<guardian::Exporting>,
    /// The tasks that go on beside it until it stops.
    tasks: Vec<JoinHandle<()>>,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Running {
    /// Starts a server by its settings, on a socket that listens already or where the settings say, with the agents of a
    /// demo if there are any.
    pub(super) async fn start(
        settings: Settings,
        socket: Option<TcpListener>,
        demo: Option<http::Demo>,
    ) -> anyhow::Result<Running> {
        descriptors::raise_limit();
        let stop = Box::pin(stop::signal().context("catching signals")?);
        // The port first, so that a start that can't succeed changes nothing in the data directory.
        let socket = socket.map_or_else(|| listeners::listen(&settings), Ok)?;
        check_mqtt_exposure(&settings)?;
        let tls = listeners::server_tls(&settings)?;
        let reloading = tls.clone().map(listeners::reload_on_request).transpose().context("catching signals")?;
        let mut tasks: Vec<_> = reloading.map(tokio::spawn).into_iter().collect();
        let exporter = guardian::exporter(&settings)?;
        let registry = open(&settings)?;
        report_access(&settings, &registry);
        tasks.push(tokio::spawn(show_rebuilding(registry.clone())));
        let endpoint = listeners::start_endpoint(&settings, tls.clone(), &registry)?.map(Arc::new);
        let publisher = start_publisher(&settings, &registry)?;
        let requests = publisher.clone().map(|publisher| resync_on_request(settings.data.clone(), publisher));
        tasks.extend(requests.map(tokio::spawn));
        let exporting = exporter.map(|exporter| guardian::export(exporter, &registry));
        let options = listeners::http_options(&settings, tls, endpoint.as_deref());
        let options = http::Options { conversations: fetching::conversations(&settings, &registry)?, demo, ..options };
        let server = http::Server::on_listener(socket, &registry, options)?;
        if settings.examples {
            examples::register(&registry).await?;
        }
        Ok(Running { settings, registry, server, endpoint, publisher, exporting, tasks, stop })
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The addresses of HTTP and MQTT.
    pub(super) fn addresses(&self) -> (SocketAddr, Option<SocketAddr>) {
        (self.server.local_addr(), self.endpoint.as_ref().map(|endpoint| endpoint.local_addr()))
    }

    /// Waits for the search index, unless its rebuild takes long.
    pub(super) async fn wait_until_searchable(&self) -> anyhow::Result<()> {
        wait_for_index(self.registry.clone()).await
    }

    /// Serves until the process is asked to stop, and closes the registry.
    pub(super) async fn serve(self) -> anyhow::Result<()> {
        let Running { registry, server, endpoint, publisher, exporting, tasks, stop, .. } = self;
        let leaving = endpoint.clone();
        let shutdown = async move {
            stop.await;
            // First MQTT: what it says to clients over WebSocket goes through HTTP.
            if let Some(endpoint) = leaving {
                let _ = tokio::task::spawn_blocking(move || endpoint.stop()).await;
            }
        };
        let served = server.run(shutdown).await;

        tracing::info!("stopping");
        tasks.iter().for_each(JoinHandle::abort);
        if let Some(exporting) = exporting {
            exporting.stop().await;
        }
        let close = move || {
            if let Some(publisher) = publisher {
                publisher.stop();
            }
            if let Some(endpoint) = endpoint {
                endpoint.stop();
            }
            registry.close();
        };
        tokio::task::spawn_blocking(close).await?;
        Ok(served?)
    }
}

fn open(settings: &Settings) -> anyhow::Result<Registry> {
    let model = match &settings.embedding_model {
        EmbeddingModel::BuiltIn => Some(Model::BuiltIn),
        EmbeddingModel::Directory(directory) => Some(Model::open(directory)?),
        EmbeddingModel::None => None,
    };
    let options = registry::Options::default()
        .strictness(settings.validation.into())
        .redaction(settings.redact.into())
        .default_ttl(settings.default_ttl)
        .min_ttl(settings.min_ttl)
        .max_ttl(settings.max_ttl)
        .sparql(settings.sparql)
        .guardian(guardian::options(settings)?)
        .model(model)
        .semantic_scale(settings.semantic_scale.map(|scale| scale as f32));
    let fetcher = fetching::fetcher(settings)?;
    let mut builder = Registry::builder(&settings.data).options(options);
    if let Some(issuer) = fetching::issuer(settings, &fetcher)? {
        builder = builder.issuer(issuer);
    }
    if let Some(cluster) = cluster::options(settings)? {
        builder = builder.cluster(cluster);
    }
    Ok(builder.tracking(fetching::tracking(settings, fetcher)?).open()?)
}

fn start_publisher(settings: &Settings, registry: &Registry) -> anyhow::Result<Option<Arc<mqtt::Publisher>>> {
    let Some(url) = &settings.mqtt_url else { return Ok(None) };
    Ok(Some(Arc::new(mqtt::Publisher::start(url, registry.clone(), publisher_options(settings))?)))
}

/// Waits for a rebuild that takes no time, so that the first search finds what is there. A longer one
/// goes on while everything else is served.
async fn wait_for_index(registry: Registry) -> anyhow::Result<()> {
    let deadline = Instant::now() + SHORT_REBUILD;
    while registry.status().searchable().is_none() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    match registry.refreshed().await {
        Ok(_) | Err(Error::IndexRebuilding { .. } | Error::ConsistencyTimeout { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A progress bar on a terminal while the search index is rebuilt; elsewhere the log tells.
async fn show_rebuilding(registry: Registry) {
    let mut bar: Option<ProgressBar> = None;
    let rebuilding = || {
        registry.status().followers.into_iter().find_map(|follower| match follower.state {
            FollowerState::Rebuilding { done, total } if follower.name == "search" => Some((done, total)),
            _ => None,
        })
    };
    while let Some((done, total)) = rebuilding() {
        let bar = bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("rebuilding the search index {bar:40} {pos}/{len} {eta} left");
            ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_length(total);
        bar.set_position(done);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}
