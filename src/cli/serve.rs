//! `agentdex serve`: the registry with its listeners, until it is asked to stop.

mod banner;
mod descriptors;
mod exposure;
mod fetching;
mod guardian;
mod listeners;
mod logging;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use self::exposure::{check_mqtt_exposure, report_access};
use super::{
    examples,
    mqtt::{publisher_options, resync_on_request},
    stop,
};
use crate::config::{EmbeddingModel, Layer, LogFormat, LogLevel, Settings, Validation};
use agentdex::{
    Error, Registry, http, mqtt,
    registry::{self, FollowerState},
    search::semantic::Model,
};

/// How long a rebuild of the search index is waited for before the server says that it is there.
const SHORT_REBUILD: Duration = Duration::from_secs(1);

const ABOUT_SETTINGS: &str = "Each of these can also be set by a variable (--mqtt-listen is AGENTDEX_MQTT_LISTEN) and, but for \
    --config, in agentdex.toml (mqtt_listen = \"127.0.0.1:1884\"). Flags come before variables, variables before the file.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT_SETTINGS)]
pub(super) struct Arguments {
    /// Data directory of the registry [default: ./agentdex-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where to serve the REST API; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Where to serve MQTT; port 0 takes a free one [default: 127.0.0.1:1883, unless it is taken]
    #[arg(long, value_name = "ADDRESS:PORT")]
    mqtt_listen: Option<String>,
    /// Serve no MQTT
    #[arg(long, conflicts_with = "mqtt_listen")]
    no_mqtt: bool,
    /// Also publish to this MQTT 5 broker: mqtt://HOST:PORT or mqtts://HOST:PORT
    #[arg(long, value_name = "URL")]
    mqtt_url: Option<String>,
    /// PEM file with the certificates that an mqtts broker is trusted by [default: those of the system]
    #[arg(long, value_name = "FILE")]
    mqtt_ca: Option<PathBuf>,
    /// First level of all MQTT topics [default: agentdex]
    #[arg(long, value_name = "PREFIX")]
    mqtt_prefix: Option<String>,
    /// How long an MQTT session waits for a client that requests no interval, as clients of 3.1.1 do [default: 86400]
    #[arg(long, value_name = "SECONDS")]
    mqtt_session_expiry: Option<u64>,
    /// Register a few example agents
    #[arg(long)]
    examples: bool,
    /// What to do with descriptions that need a fix: lenient fixes them, strict refuses them [default: lenient]
    #[arg(long, value_name = "lenient|strict")]
    validation: Option<Validation>,
    /// Time to live of agents that request none [default: for ever]
    #[arg(long, value_name = "SECONDS")]
    default_ttl: Option<u64>,
    /// Shortest time to live; a shorter one is raised
    #[arg(long, value_name = "SECONDS")]
    min_ttl: Option<u64>,
    /// Longest time to live; a longer one is lowered
    #[arg(long, value_name = "SECONDS")]
    max_ttl: Option<u64>,
    /// Directory of a sentence encoder (model.safetensors, config.json, vocab.txt or tokenizer.json) that searches
    /// compare meaning by; built-in for the table that is part of the program, none to search by words alone
    /// [default: built-in]
    #[arg(long, value_name = "DIR|built-in|none")]
    embedding_model: Option<EmbeddingModel>,
    /// What a cosine of 1 counts beside the score of the words (BM25), from 0 to 1000 [default: 40, with a directory 60]
    #[arg(long, value_name = "NUMBER")]
    semantic_scale: Option<u32>,
    /// Let only clients with an API key in; `agentdex keys create` makes keys
    #[arg(long)]
    auth: bool,
    /// With --auth, let everybody read
    #[arg(long)]
    public_read: bool,
    /// Let no client register, change or remove anything
    #[arg(long)]
    read_only: bool,
    /// Let clients with the role register talk with agents through the server, which calls them: also on the web page
    #[arg(long)]
    conversations: bool,
    /// Listen on an address that isn't loopback without --auth or without TLS
    #[arg(long)]
    insecure: bool,
    /// Encrypt HTTP and MQTT: PEM file with the certificate of the server and those between it and a root; read again
    /// when it changes, and on SIGHUP
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the key of that certificate
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// With --auth, also let in clients with a certificate of these authorities (PEM): the owner is its first DNS name,
    /// else its URI, else its common name
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,
    /// Role of clients with a certificate, or of those with that name in it; can be repeated [default: read]
    #[arg(long, value_name = "[NAME=]ROLE")]
    tls_client_role: Vec<String>,
    /// With --auth, also let in clients with access tokens of this authorization server (OpenID Connect, OAuth 2.0)
    #[arg(long, value_name = "URL")]
    oidc_issuer: Option<String>,
    /// What tokens for this server have as audience
    #[arg(long, value_name = "NAME")]
    oidc_audience: Option<String>,
    /// Where the keys of the issuer are (JWKS) [default: where its metadata says]
    #[arg(long, value_name = "URL")]
    oidc_jwks: Option<String>,
    /// Claim that is the owner, by name or JSON Pointer [default: sub]
    #[arg(long, value_name = "CLAIM")]
    oidc_owner_claim: Option<String>,
    /// Claim with the names that roles go by, such as /realm_access/roles [default: scope]
    #[arg(long, value_name = "CLAIM")]
    oidc_role_claim: Option<String>,
    /// Role of tokens, or of those with that name in the claim; can be repeated [default: read=read, register=register,
    /// admin=admin]
    #[arg(long, value_name = "[NAME=]ROLE")]
    oidc_role: Vec<String>,
    /// Client that the web page signs people in as at the issuer: a public one, with the URL of the page as redirect URI
    #[arg(long, value_name = "ID")]
    oidc_client_id: Option<String>,
    /// Scope that the page asks for, several with spaces between them [default: openid]
    #[arg(long, value_name = "SCOPE")]
    oidc_scope: Option<String>,
    /// Web origin whose pages may call the API, * for all; can be repeated
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Name that clients reach the server by, beside localhost and addresses; * for every name; can be repeated
    #[arg(long, value_name = "HOST")]
    allowed_host: Vec<String>,
    /// Maximum number of HTTP connections [default: half of the file descriptors, at most 16384]
    #[arg(long, value_name = "NUMBER")]
    max_connections: Option<usize>,
    /// Maximum number of HTTP connections from one address that isn't loopback [default: half of all]
    #[arg(long, value_name = "NUMBER")]
    max_connections_per_client: Option<usize>,
    /// Maximum number of event streams, long polls and WebSockets [default: three quarters of all connections]
    #[arg(long, value_name = "NUMBER")]
    max_streams: Option<usize>,
    /// Maximum number of requests a second of one client: the holder of a key, or else an address [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    rate_limit: Option<u32>,
    /// How long a client may take to send the head of a request [default: 10]
    #[arg(long, value_name = "SECONDS")]
    head_timeout: Option<u64>,
    /// How long a client may send nothing of a body [default: 30]
    #[arg(long, value_name = "SECONDS")]
    body_timeout: Option<u64>,
    /// How long a client may read nothing of a response [default: 60]
    #[arg(long, value_name = "SECONDS")]
    write_timeout: Option<u64>,
    /// How log lines look on standard error [default: text]
    #[arg(long, value_name = "text|json")]
    log_format: Option<LogFormat>,
    /// How much is logged: error, warn, info, debug (each request) or trace [default: what RUST_LOG says, else info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    /// URL that clients reach the REST API by, if it isn't the address above
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Network, address or host to fetch from although it isn't public, such as 10.1.0.0/16 or cards.internal:8080; can
    /// be repeated
    #[arg(long, value_name = "CIDR|HOST[:PORT]")]
    allow_fetch: Vec<String>,
    /// HTTP proxy to fetch through: http://HOST:PORT [default: none, whatever the environment says]
    #[arg(long, value_name = "URL")]
    fetch_proxy: Option<String>,
    /// PEM file with certificates to trust in fetching, beside those of the system
    #[arg(long, value_name = "FILE")]
    fetch_ca: Option<PathBuf>,
    /// How long fetching a document may take [default: 15]
    #[arg(long, value_name = "SECONDS")]
    fetch_timeout: Option<u64>,
    /// File, or folder with *.json and *.jwks files, with public keys (JSON Web Key Sets) that signatures of agent cards
    /// are trusted by
    #[arg(long, value_name = "PATH")]
    trusted_keys: Option<PathBuf>,
    /// Refuse agent cards without a valid signature
    #[arg(long)]
    require_signature: bool,
    /// Seconds between two polls of a tracked source [default: 3600]
    #[arg(long, value_name = "SECONDS")]
    refresh_interval: Option<u64>,
    /// How many failed polls in a row make an agent stale [default: 5]
    #[arg(long, value_name = "NUMBER")]
    stale_after: Option<u32>,
    /// Answer SPARQL queries at /search/sparql: the statements of all descriptions are held in memory, 10 to 20 KB each
    #[arg(long)]
    sparql: bool,
    /// File with the policy that the guardian decides by, in TOML [default: a built-in one]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Allow every step of agents, and only report what the policy would deny or modify
    #[arg(long)]
    dry_run_policy: bool,
    /// Store what agents exchange in the guardian's trail, instead of hashes of it
    #[arg(long)]
    store_content: bool,
    /// Maximum size of the guardian's trail [default: 268435456]
    #[arg(long, value_name = "BYTES")]
    max_trail_bytes: Option<u64>,
    /// How long the guardian's trail is kept [default: 2592000]
    #[arg(long, value_name = "SECONDS")]
    trail_retention: Option<u64>,
    /// File that each decision of the guardian is appended to as an event of OCSF
    #[arg(long, value_name = "FILE")]
    ocsf_file: Option<PathBuf>,
    /// URL of an OpenTelemetry collector (OTLP over HTTP) that the guardian's decisions are sent to as spans, such as
    /// http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    otlp_url: Option<String>,
    /// File with settings [default: agentdex.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Arguments {
    fn into_layer(self) -> Layer {
        Layer {
            data: self.data,
            listen: self.listen,
            mqtt_listen: self.mqtt_listen,
            no_mqtt: self.no_mqtt.then_some(true),
            mqtt_url: self.mqtt_url,
            mqtt_ca: self.mqtt_ca,
            mqtt_prefix: self.mqtt_prefix,
            mqtt_session_expiry: self.mqtt_session_expiry,
            examples: self.examples.then_some(true),
            validation: self.validation,
            default_ttl: self.default_ttl,
            min_ttl: self.min_ttl,
            max_ttl: self.max_ttl,
            embedding_model: self.embedding_model,
            semantic_scale: self.semantic_scale,
            auth: self.auth.then_some(true),
            public_read: self.public_read.then_some(true),
            read_only: self.read_only.then_some(true),
            conversations: self.conversations.then_some(true),
            insecure: self.insecure.then_some(true),
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            tls_client_ca: self.tls_client_ca,
            tls_client_role: Some(self.tls_client_role).filter(|roles| !roles.is_empty()),
            oidc_issuer: self.oidc_issuer,
            oidc_audience: self.oidc_audience,
            oidc_jwks: self.oidc_jwks,
            oidc_owner_claim: self.oidc_owner_claim,
            oidc_role_claim: self.oidc_role_claim,
            oidc_client_id: self.oidc_client_id,
            oidc_scope: self.oidc_scope,
            oidc_role: Some(self.oidc_role).filter(|roles| !roles.is_empty()),
            cors_origin: Some(self.cors_origin).filter(|origins| !origins.is_empty()),
            allowed_host: Some(self.allowed_host).filter(|hosts| !hosts.is_empty()),
            max_connections: self.max_connections,
            max_connections_per_client: self.max_connections_per_client,
            max_streams: self.max_streams,
            rate_limit: self.rate_limit,
            head_timeout: self.head_timeout,
            body_timeout: self.body_timeout,
            write_timeout: self.write_timeout,
            log_format: self.log_format,
            log_level: self.log_level,
            public_url: self.public_url,
            allow_fetch: Some(self.allow_fetch).filter(|entries| !entries.is_empty()),
            fetch_proxy: self.fetch_proxy,
            fetch_ca: self.fetch_ca,
            fetch_timeout: self.fetch_timeout,
            trusted_keys: self.trusted_keys,
            require_signature: self.require_signature.then_some(true),
            refresh_interval: self.refresh_interval,
            stale_after: self.stale_after,
            sparql: self.sparql.then_some(true),
            policy: self.policy,
            dry_run_policy: self.dry_run_policy.then_some(true),
            store_content: self.store_content.then_some(true),
            max_trail_bytes: self.max_trail_bytes,
            trail_retention: self.trail_retention,
            ocsf_file: self.ocsf_file,
            otlp_url: self.otlp_url,
        }
    }
}

pub(super) async fn run(mut arguments: Arguments) -> anyhow::Result<ExitCode> {
    let file = arguments.config.take();
    let settings = Settings::load(arguments.into_layer(), file.as_deref(), &|name| std::env::var(name).ok())?;
    logging::start(settings.log_format, settings.log_level);
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
    let options = registry::Options {
        strictness: settings.validation.into(),
        default_ttl: settings.default_ttl,
        min_ttl: settings.min_ttl,
        max_ttl: settings.max_ttl,
        sparql: settings.sparql,
        guardian: guardian::options(settings)?,
        model: match &settings.embedding_model {
            EmbeddingModel::BuiltIn => Some(Model::BuiltIn),
            EmbeddingModel::Directory(directory) => Some(Model::open(directory)?),
            EmbeddingModel::None => None,
        },
        semantic_scale: settings.semantic_scale.map(|scale| scale as f32),
        ..registry::Options::default()
    };
    let fetcher = fetching::fetcher(settings)?;
    let mut builder = Registry::builder(&settings.data).options(options);
    if let Some(issuer) = fetching::issuer(settings, &fetcher) {
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
