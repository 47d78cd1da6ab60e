//! Exposure of the server: the clients that can reach it, and their authentication.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::bail;

use crate::settings::{MqttListener, Settings};
use agentdex::{
    Registry,
    access::{Role, Rules},
};

/// Returns the access rules for all clients.
pub(super) fn rules(settings: &Settings) -> Rules {
    Rules { authentication: settings.auth, public_read: settings.public_read, read_only: settings.read_only }
}

/// Refuses to serve other machines without authentication and TLS, and warns where that is forced.
pub(super) fn check_exposure(settings: &Settings, address: SocketAddr, loopback: &str) -> anyhow::Result<()> {
    let (authenticates, encrypts) = (settings.auth, settings.encrypts());
    if address.ip().is_loopback() || (authenticates && encrypts) {
        return Ok(());
    }
    let risk = match (authenticates, encrypts) {
        (false, false) => {
            "any client could replace any agent, and anyone on the network could read and change all traffic"
        }
        (false, true) => "any client could replace any agent",
        _ => "anyone on the network could read keys and use them",
    };
    if settings.insecure {
        tracing::warn!("{address} is open to other machines: {risk}; see SECURITY.md");
        return Ok(());
    }
    let auth = "\n  --auth lets in only clients with an API key (`agentdex keys create` creates keys)";
    let tls = "\n  --tls-cert FILE --tls-key FILE encrypt all traffic";
    let missing = match (authenticates, encrypts) {
        (false, false) => format!("Set both of these:{auth}{tls}\nor one of these:"),
        (false, true) => format!("Set one of these:{auth}"),
        _ => format!("Set one of these:{tls}"),
    };
    bail!(
        "{address} is open to other machines: {risk}. {missing}\n  {loopback}\n  \
         --insecure starts the server anyway (for trusted networks, or behind an encrypting proxy)"
    )
}

/// The same for the address of the MQTT endpoint, which serves as soon as it listens. Binding reports an address that
/// can't be resolved.
pub(super) fn check_mqtt_exposure(settings: &Settings) -> anyhow::Result<()> {
    let MqttListener::At(address) = settings.mqtt() else { return Ok(()) };
    for resolved in address.to_socket_addrs().into_iter().flatten() {
        check_exposure(
            settings,
            resolved,
            "--mqtt-listen 127.0.0.1:1883 serves this machine alone\n  --no-mqtt disables MQTT",
        )?;
    }
    Ok(())
}

/// Says what is likely to be missing.
pub(super) fn report_access(settings: &Settings, registry: &Registry) {
    let keys = registry.keys().list();
    if settings.auth && !grants_admin(settings) && !keys.iter().any(|key| key.role == Role::Admin) {
        tracing::warn!(
            "there is no API key with the role `admin` yet; stop the server, and run: \
             agentdex keys create --role admin --owner NAME --data {}",
            settings.data.display()
        );
    }
    if !settings.auth && !keys.is_empty() {
        tracing::warn!("API keys exist, but clients are not authenticated; use --auth to require keys");
    }
}

/// True if an issuer's token or a client certificate can have the role admin.
fn grants_admin(settings: &Settings) -> bool {
    // By default, an issuer grants every role.
    let by_issuer = settings.oidc_issuer.is_some() && settings.oidc_role.is_empty();
    let mut roles = settings.oidc_role.iter().chain(&settings.tls_client_role);
    by_issuer || roles.any(|entry| entry.rsplit_once('=').map_or(entry.as_str(), |(_, role)| role) == "admin")
}
