//! Three ways to subscribe to changes: events over HTTP, MQTT, and the log by position, without any session.
//!
//! `cargo run --example subscribe` starts a registry to listen to, makes a change, and ends.

use std::time::Duration;

use agentdex::Registry;
use agentdex_client::{EventFilter, RegistryClient};
use agentdex_server::{http, mqtt};
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS};
use tokio::sync::oneshot;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let registry = Registry::builder(directory.path()).open()?;
    let endpoint = mqtt::Endpoint::bind("127.0.0.1:0", registry.clone(), mqtt::EndpointOptions::default())?;
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    let url = format!("http://{}", server.local_addr());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async { drop(stopped.await) }));

    // From here on a subscriber could be anywhere: it needs the URL and the MQTT port.
    let client = RegistryClient::new(&url)?;
    client.put("urn:example:weather", include_str!("agents/weather.json").replace("agents:weather", "weather")).await?;
    by_position(&client).await?;
    by_events(&client).await?;
    by_mqtt(endpoint.local_addr().port()).await?;

    // Each of the two tells its subscribers that it stops.
    let _ = stop.send(());
    serving.await??;
    tokio::task::spawn_blocking(move || {
        endpoint.stop();
        registry.close();
    })
    .await?;
    Ok(())
}

/// Read the state, remember the position, ask for what came after it: works after any interruption.
async fn by_position(client: &RegistryClient) -> Result<()> {
    let changes = client.changes(None, 100, Duration::from_secs(10)).await?;
    for change in &changes.changes {
        println!("log:    {} {} {}", change.seq, change.kind, change.id);
    }
    println!("log:    next time from {} on", changes.cursor());
    Ok(())
}

/// Server-sent events; the client reconnects by itself and goes on where it broke off.
async fn by_events(client: &RegistryClient) -> Result<()> {
    let start = client.changes(None, 1, Duration::ZERO).await?;
    let mut events = client.subscribe(EventFilter::default(), Some(format!("{}-0", start.epoch)));
    let event = events.next().await?;
    println!("events: {} {} {}", event.id, event.kind, event.data);
    Ok(())
}

/// Any MQTT client will do. The `things` topics are retained: who comes late gets the whole state.
async fn by_mqtt(port: u16) -> Result<()> {
    let mut options = MqttOptions::new("subscribe-example", "127.0.0.1", port);
    // The default of 10 KB is less than a description may have.
    options.set_max_packet_size(2 * 1024 * 1024, 10 * 1024);
    let (mqtt, mut connection) = AsyncClient::new(options, 10);
    mqtt.subscribe("agentdex/things/#", QoS::AtLeastOnce).await?;
    loop {
        if let Event::Incoming(Packet::Publish(message)) = connection.poll().await? {
            println!("mqtt:   {} ({} bytes, retained: {})", message.topic, message.payload.len(), message.retain);
            break;
        }
    }
    mqtt.disconnect().await?;
    Ok(())
}
