//! Who can reach the server, and whether it authenticates them.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::bail;

use crate::{
    Registry,
    access::{Role, Rules},
    config::{MqttListener, Settings},
};

/// What holds for all clients.
pub(super) fn rules(settings: &Settings) -> Rules {
    Rules { authentication: settings.auth, public_read: settings.public_read, read_only: settings.read_only }
}

/// Refuses to serve other machines without authentication, and warns where that is forced or unencrypted.
pub(super) fn check_exposure(settings: &Settings, address: SocketAddr, loopback: &str) -> anyhow::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    if !settings.auth && !settings.insecure {
        bail!(
            "{address} is open to other machines, and every client could replace every agent there. Set one of these:\n  \
             --auth lets in only clients with an API key (`agentdex keys create` makes keys)\n  \
             {loopback} serves this machine alone\n  \
             --insecure lets everybody do everything, for networks whose machines are all trusted"
        );
    }
    let clients = if settings.auth { "has a key that was intercepted" } else { "reaches it" };
    tracing::warn!(
        "{address} is open to other machines without TLS; put a proxy in front that encrypts, or whoever {clients} can use it: \
         see SECURITY.md"
    );
    Ok(())
}

/// The same for the address of the MQTT endpoint, which serves as soon as it listens. Binding reports an address that
/// can't be resolved.
pub(super) fn check_mqtt_exposure(settings: &Settings) -> anyhow::Result<()> {
    let MqttListener::At(address) = &settings.mqtt else { return Ok(()) };
    for resolved in address.to_socket_addrs().into_iter().flatten() {
        check_exposure(settings, resolved, "--mqtt-listen 127.0.0.1:1883, or --no-mqtt,")?;
    }
    Ok(())
}

/// Says what is likely to be missing.
pub(super) fn report_access(settings: &Settings, registry: &Registry) {
    let keys = registry.keys().list();
    if settings.auth && !keys.iter().any(|key| key.role == Role::Admin) {
        tracing::warn!(
            "there is no API key with the role `admin` yet; while the server is stopped, this creates one: \
             agentdex keys create --role admin --owner NAME --data {}",
            settings.data.display()
        );
    }
    if !settings.auth && !keys.is_empty() {
        tracing::warn!("there are API keys, but clients are not authenticated; --auth switches that on");
    }
}
