//! The listeners of the server, and what they are set to.

use std::{io, net::TcpListener, time::Duration};

use anyhow::Context;

use super::{
    descriptors,
    exposure::{check_exposure, rules},
};
use crate::cli::misuse::misuse;
use crate::settings::{DEFAULT_MQTT_LISTEN, MqttListener, Settings};
use agentdex::{Error, Registry, access::RoleMapping};
use agentdex_server::{
    http, mqtt,
    tls::{self, ServerTls},
};

/// Reads the certificate that both listeners have.
pub(super) fn server_tls(settings: &Settings) -> anyhow::Result<Option<ServerTls>> {
    let (Some(certificate), Some(key)) = (&settings.tls_cert, &settings.tls_key) else { return Ok(None) };
    let roles = RoleMapping::parse(&settings.tls_client_role).map_err(anyhow::Error::msg);
    let options = tls::Options {
        certificate: certificate.clone(),
        key: key.clone(),
        client_ca: settings.tls_client_ca.clone(),
        client_roles: roles.context("tls_client_role")?,
    };
    Ok(Some(ServerTls::open(options)?))
}

/// Reads the certificate again at each SIGHUP, as long as it is polled.
#[cfg(unix)]
pub(super) fn reload_on_request(tls: ServerTls) -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut asked = signal(SignalKind::hangup())?;
    Ok(async move {
        while asked.recv().await.is_some() {
            let tls = tls.clone();
            // What is wrong is logged.
            let _ = tokio::task::spawn_blocking(move || tls.reload()).await;
        }
    })
}

/// There is no such signal.
#[cfg(not(unix))]
pub(super) fn reload_on_request(_: ServerTls) -> std::io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}

/// Returns the options of the REST API.
pub(super) fn http_options(
    settings: &Settings,
    tls: Option<ServerTls>,
    endpoint: Option<&mqtt::Endpoint>,
) -> http::Options {
    let defaults = http::Options::default();
    let listen_name = http::name_in_listen_address(&settings.listen).map(str::to_owned);
    http::Options {
        cors_origins: settings.cors_origin.clone(),
        allowed_hosts: settings.allowed_host.iter().cloned().chain(listen_name).collect(),
        limits: http::Limits {
            max_connections: settings.max_connections,
            max_connections_per_client: settings.max_connections_per_client,
            max_streams: settings.max_streams,
            requests_per_second: settings.rate_limit,
            head_timeout: Duration::from_secs(settings.head_timeout),
            body_timeout: Duration::from_secs(settings.body_timeout),
            write_timeout: Duration::from_secs(settings.write_timeout),
            ..http::Limits::default()
        },
        access: rules(settings),
        admin_stays_signed_in: settings.admin_stays_signed_in,
        tls,
        public_url: settings.public_url.clone(),
        mqtt: endpoint.map(mqtt::Endpoint::handle),
        log_lines_dropped: Some(super::logging::dropped_lines),
        ..defaults
    }
}

/// Takes the port of the REST API.
pub(super) fn listen(settings: &Settings) -> anyhow::Result<TcpListener> {
    let address = settings.listen.as_str();
    if !address.contains(':') {
        return Err(misuse(format!(
            "{address:?} is not an ADDRESS:PORT to listen on (--listen, AGENTDEX_LISTEN, or `listen` in \
             agentdex.toml); for example 127.0.0.1:8080"
        )));
    }
    let hint = "choose another address with --listen; port 0 selects a free port";
    let socket = TcpListener::bind(address).map_err(|error| match error.kind() {
        // Such as a port above 65535.
        io::ErrorKind::InvalidInput => misuse(format!("--listen {address}: {error}; for example 127.0.0.1:8080")),
        _ => anyhow::Error::new(error).context(format!("can't listen for HTTP on {address} ({hint})")),
    })?;
    socket.set_nonblocking(true)?;
    check_exposure(settings, socket.local_addr()?, "--listen 127.0.0.1:8080 serves this machine alone")?;
    Ok(socket)
}

/// Starts MQTT. A default port that is taken costs MQTT, one that was asked for costs the start.
pub(super) fn start_endpoint(
    settings: &Settings,
    tls: Option<ServerTls>,
    registry: &Registry,
) -> anyhow::Result<Option<mqtt::Endpoint>> {
    let defaults = mqtt::EndpointOptions::default();
    let max_connections = defaults.max_connections.min(descriptors::limit().map_or(usize::MAX, |limit| limit / 4));
    let default_session_expiry = Duration::from_secs(settings.mqtt_session_expiry);
    let options = mqtt::EndpointOptions {
        prefix: settings.mqtt_prefix.clone(),
        access: rules(settings),
        tls,
        max_connections,
        default_session_expiry,
        max_session_expiry: defaults.max_session_expiry.max(default_session_expiry),
        ..defaults
    };
    let hint = "choose another address with --mqtt-listen (port 0 selects a free port), or use --no-mqtt";
    let endpoint = match settings.mqtt() {
        MqttListener::Off => return Ok(None),
        MqttListener::At(address) if !address.contains(':') => {
            return Err(misuse(format!(
                "{address:?} is not an ADDRESS:PORT to listen on (--mqtt-listen, AGENTDEX_MQTT_LISTEN, or \
                 `mqtt_listen` in agentdex.toml); for example 127.0.0.1:1884"
            )));
        }
        MqttListener::At(address) => match mqtt::Endpoint::bind(address, registry.clone(), options) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidInput => {
                return Err(misuse(format!("--mqtt-listen {address}: {source}; for example 127.0.0.1:1884")));
            }
            bound => bound.with_context(|| format!("can't listen for MQTT on {address} ({hint})"))?,
        },
        MqttListener::Default => match mqtt::Endpoint::bind(DEFAULT_MQTT_LISTEN, registry.clone(), options) {
            Err(error @ Error::Io { .. }) => {
                tracing::warn!("running without MQTT: {error} ({hint})");
                return Ok(None);
            }
            bound => bound?,
        },
    };
    Ok(Some(endpoint))
}
