//! Context of an endpoint, shared by all of its connections.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use tokio::sync::watch;

use super::{super::EndpointOptions, counters::Counters, index::SubscriptionIndex, sessions::Sessions};
use crate::registry::{Metric, MetricSource};

/// State that all connections of an endpoint share.
pub(super) struct Context {
    pub index: Arc<SubscriptionIndex>,
    pub sessions: Arc<Sessions>,
    pub options: EndpointOptions,
    /// Turns true when the endpoint stops.
    pub stop: watch::Receiver<bool>,
    pub counters: Arc<Counters>,
}

impl MetricSource for Context {
    fn metrics(&self) -> Vec<Metric> {
        let metric = |name, help, value| Metric { name, help, value };
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let Counters { connections, refused, messages, sent_bytes, received_bytes } = &*self.counters;
        let open = number(connections.load(Relaxed));
        vec![
            metric("agentdex_mqtt_connections", "Open MQTT connections.", open),
            metric("agentdex_mqtt_connections_refused_total", "Refused MQTT connections.", refused.load(Relaxed)),
            metric(
                "agentdex_mqtt_sessions",
                "MQTT sessions, including those of disconnected clients.",
                number(self.sessions.len()),
            ),
            metric(
                "agentdex_mqtt_messages_sent_total",
                "MQTT messages sent, including redeliveries.",
                messages.load(Relaxed),
            ),
            metric("agentdex_mqtt_sent_bytes_total", "Bytes sent to MQTT clients.", sent_bytes.load(Relaxed)),
            metric(
                "agentdex_mqtt_received_bytes_total",
                "Bytes received from MQTT clients.",
                received_bytes.load(Relaxed),
            ),
        ]
    }
}
