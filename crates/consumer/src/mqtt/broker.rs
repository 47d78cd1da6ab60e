//! The connection to a broker.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use percent_encoding::percent_decode_str;
use rumqttc::{
    NetworkOptions, TlsConfiguration, Transport,
    v5::{AsyncClient, ConnectionError, EventLoop, MqttOptions},
};
use uuid::Uuid;

use super::super::{Authorization, Call, Error, Grant, Place, Result, credential::parts, headers::check_no_body};
use crate::fetch::shown;

/// The name of the binding.
pub(super) const NAME: &str = "mqtt";
/// Capacity of the queue of requests to send. A call needs a subscription and a request at once.
const REQUESTS: usize = 8;
/// The longest time without a packet.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Maximum size of a packet beside its payload, in bytes.
pub(super) const PACKET_OVERHEAD: usize = 64 * 1024;

/// Returns a client of the form's broker. It connects when the first packet is awaited.
pub(super) async fn connect(call: &Call) -> Result<(AsyncClient, EventLoop)> {
    check_no_body(&call.authorization, "MQTT")?;
    let (secured, host, port) = address(&call.form.href)?;
    // Names are looked up and checked here. A certificate is one for the name, so that TLS connects by it.
    let addresses = call.network.addresses(&host, port).await?;
    let checked = addresses.first().map_or_else(|| host.clone(), |address| address.ip().to_string());
    let mut options =
        MqttOptions::new(format!("agentdex-{}", Uuid::new_v4()), if secured { host } else { checked }, port);
    let packet = u32::try_from(call.limits.max_bytes + PACKET_OVERHEAD).unwrap_or(u32::MAX);
    options.set_keep_alive(KEEP_ALIVE).set_clean_start(true).set_max_packet_size(Some(packet));
    let mut network = NetworkOptions::new();
    network.set_tcp_nodelay(true);
    options.set_network_options(network);
    // What is in the target is sent.
    let own: Vec<_> = call.authorization.iter().filter(|one| !matches!(parts(&one.grant).1, Place::Uri(_))).collect();
    match own.as_slice() {
        [] => {}
        [Authorization { grant: Grant::Basic { user, password, .. }, .. }] => {
            options.set_credentials(user, password.reveal());
        }
        // As brokers take tokens: in the place of the password.
        [Authorization { scheme, grant: Grant::Bearer { token: secret, .. } | Grant::ApiKey { key: secret, .. } }] => {
            options.set_credentials(scheme, secret.reveal());
        }
        [first, ..] => {
            let reason =
                "MQTT supports only one user and password, but the form requires several credentials".to_owned();
            return Err(Error::Setting { setting: format!("credentials.{}", first.scheme), reason });
        }
    }
    if secured {
        let tls = Arc::new(call.network.tls());
        options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(tls)));
    }
    Ok(AsyncClient::new(options, REQUESTS))
}

/// Parses the address of a broker: true if the connection is secured, the host, and the port.
fn address(href: &str) -> Result<(bool, String, u16)> {
    let wrong = |reason: &str| Error::Refused { url: shown(href), reason: reason.to_owned() };
    let (scheme, rest) =
        href.split_once("://").ok_or_else(|| wrong("it names no broker; for example mqtt://broker:1883"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(wrong("it contains credentials, which belong in a security definition"));
    }
    let secured = scheme.eq_ignore_ascii_case("mqtts");
    let default = if secured { 8883 } else { 1883 };
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => (host, port.parse().map_err(|_| wrong("its port is not a number up to 65535"))?),
        None => (authority, default),
    };
    let host = percent_decode_str(host.trim_matches(['[', ']'])).decode_utf8_lossy().into_owned();
    if host.is_empty() {
        return Err(wrong("it names no host"));
    }
    Ok((secured, host, port))
}

/// Maps a failure of the connection to the error of the call.
pub(super) fn failure(target: &str, error: ConnectionError) -> Error {
    let url = target.to_owned();
    match error {
        ConnectionError::ConnectionRefused(code) => {
            refused(target, &format!("the broker refuses the connection: {code:?}"))
        }
        ConnectionError::MqttState(state) => Error::Interrupted { url, reason: state.to_string() },
        error => Error::Unreachable { url, reason: innermost(&error), source: None },
    }
}

/// Returns the error for a connection or request that the broker refuses.
pub(super) fn refused(target: &str, reason: &str) -> Error {
    Error::Protocol { url: target.to_owned(), binding: NAME, reason: reason.to_owned() }
}

fn innermost(error: &dyn StdError) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_names_host_and_port() {
        for (href, expected) in [
            ("mqtt://broker.example", (false, "broker.example", 1883)),
            ("mqtts://broker.example/a/b", (true, "broker.example", 8883)),
            ("mqtt://127.0.0.1:1999?x", (false, "127.0.0.1", 1999)),
            ("mqtt://[::1]:1999/a", (false, "::1", 1999)),
            ("mqtt://[::1]", (false, "::1", 1883)),
        ] {
            let (secured, host, port) = address(href).unwrap();
            assert_eq!((secured, host.as_str(), port), expected, "{href}");
        }
        for href in ["mqtt:broker", "mqtt://", "mqtt:///a", "mqtt://h:99999", "mqtt://u:p@h"] {
            assert!(matches!(address(href), Err(Error::Refused { .. })), "{href}");
        }
    }
}
