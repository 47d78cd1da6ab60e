//! Start message of the server: its addresses, and commands to try.

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use serde_json::json;

use crate::settings::Settings;

/// Prints the version, data directory and settings file; one line for each bound address, in a form that programs can
/// rely on; then commands to try where examples are registered, since they are about these.
pub(super) fn print(settings: &Settings, http: SocketAddr, mqtt: Option<SocketAddr>) {
    let version = env!("CARGO_PKG_VERSION");
    let file = settings.config.as_ref().map(|file| format!(", settings from {}", file.display())).unwrap_or_default();
    let secure = if settings.encrypts() { "s" } else { "" };
    let data = std::path::absolute(&settings.data).unwrap_or_else(|_| settings.data.clone());
    let mut lines =
        vec![format!("agentdex {version}, data in {}{file}", data.display()), format!("HTTP on http{secure}://{http}")];
    lines.extend(mqtt.map(|address| format!("MQTT on mqtt{secure}://{address}")));
    if http.ip().is_unspecified() {
        lines.push(format!("Page on http{secure}://{}", reachable(http)));
    }
    lines.push(String::new());
    if settings.examples {
        lines.extend(examples(settings, http, mqtt));
    }
    // A server whose standard output nobody reads, or whose disk is full, goes on all the same.
    let _ = writeln!(io::stdout(), "{}", lines.join("\n"));
}

/// Prints the data directory and the bound addresses as JSON.
pub(super) fn print_json(settings: &Settings, http: SocketAddr, mqtt: Option<SocketAddr>) {
    let secure = if settings.encrypts() { "s" } else { "" };
    let data = std::path::absolute(&settings.data).unwrap_or_else(|_| settings.data.clone());
    let addresses = json!({
        "data": data.to_string_lossy(), "http": format!("http{secure}://{http}"),
        "mqtt": mqtt.map(|address| format!("mqtt{secure}://{address}")),
    });
    let _ = writeln!(io::stdout(), "{addresses}");
}

fn examples(settings: &Settings, http: SocketAddr, mqtt: Option<SocketAddr>) -> Vec<String> {
    let (secure, ca) = if settings.encrypts() { ("s", " --cafile FILE") } else { ("", "") };
    let base = format!("http{secure}://{}", reachable(http));
    let mut lines = vec![
        "Try".to_owned(),
        format!("  curl '{base}/search?q=weather+forecast'"),
        format!("  curl '{base}/things?view=summary'"),
        format!("  curl -N {base}/events"),
    ];
    if let Some(address) = mqtt.map(reachable) {
        let (host, port, prefix) = (address.ip(), address.port(), &settings.mqtt_prefix);
        lines.push(format!("  mosquitto_sub -h {host} -p {port}{ca} -v -t '{prefix}/#'"));
    }
    lines.extend([format!("  {base} in a browser"), String::new()]);
    lines
}

/// An address that a client on this machine can connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        other => other.ip(),
    };
    SocketAddr::new(ip, address.port())
}
