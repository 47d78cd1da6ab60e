//! `agentdex serve`: the registry with its listeners, until it is asked to stop.

mod banner;
mod descriptors;
mod exposure;
mod fetching;
mod guardian;
mod listeners;
mod logging;

use std::{
    env,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use self::exposure::{check_mqtt_exposure, report_access};
use super::{
    examples,
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

/// How long a rebuild of the search index is waited for before the server says that it is there.
const SHORT_REBUILD: Duration = Duration::from_secs(1);

pub(super) async fn run(flags: Flags) -> anyhow::Result<ExitCode> {
    let settings = flags.load(&|name| env::var_os(name))?;
    logging::start(settings.log_format, settings.log_level);
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    unknown_variables(names, &super::variables()).iter().for_each(|line| tracing::warn!("{line}"));
    serve(settings).await?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(settings: Settings) -> anyhow::Result<()> {
    descriptors::raise_limit();
    let stop = stop::signal().context("catching signals")?;
    // The port first, so that a start that can't succeed changes nothing in the data directory.
    let socket = listeners::listen(&settings)?;
    check_mqtt_exposure(&settings)?;
    let tls = listeners::server_tls(&settings)?;
    let reloading = tls.clone().map(listeners::reload_on_request).transpose().context("catching signals")?;
    let reloading = reloading.map(tokio::spawn);
    let exporter = guardian::exporter(&settings)?;
    let registry = open(&settings)?;
    report_access(&settings, &registry);
    let progress = tokio::spawn(show_rebuilding(registry.clone()));
    let endpoint = listeners::start_endpoint(&settings, tls.clone(), &registry)?.map(Arc::new);
    let publisher = start_publisher(&settings, &registry)?;
    let requests = publisher.clone().map(|publisher| tokio::spawn(resync_on_request(settings.data.clone(), publisher)));
    let exporting = exporter.map(|exporter| guardian::export(exporter, &registry));
    let options = listeners::http_options(&settings, tls, endpoint.as_deref());
    let options = http::Options { conversations: fetching::conversations(&settings, &registry)?, ..options };
    let server = http::Server::on_listener(socket, &registry, options)?;
    if settings.examples {
        examples::register(&registry).await?;
    }
    wait_for_index(registry.clone()).await?;
    banner::print(&settings, server.local_addr(), endpoint.as_ref().map(|endpoint| endpoint.local_addr()))?;
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
    progress.abort();
    if let Some(reloading) = reloading {
        reloading.abort();
    }
    if let Some(exporting) = exporting {
        exporting.stop().await;
    }
    if let Some(requests) = requests {
        requests.abort();
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

fn open(settings: &Settings) -> anyhow::Result<Registry> {
    let model = match &settings.embedding_model {
        EmbeddingModel::BuiltIn => Some(Model::BuiltIn),
        EmbeddingModel::Directory(directory) => Some(Model::open(directory)?),
        EmbeddingModel::None => None,
    };
    let options = registry::Options::default()
        .strictness(settings.validation.into())
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
