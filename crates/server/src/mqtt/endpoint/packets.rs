//! Packets of both versions as the endpoint sees them: what is received, and the larger ones that are sent.

use std::sync::Arc;

use mqtt_protocol_core::mqtt::{
    packet::{self, GenericPacket, Property, Qos, RetainHandling, SubEntry, SubscriptionIdentifier, v3_1_1, v5_0},
    result_code::{ConnectReasonCode, MqttError},
};

pub(super) type Packet = GenericPacket<u16>;

/// A packet that a client sent.
pub(super) enum Incoming {
    Connect(Connect),
    Subscribe { packet_id: u16, requests: Vec<FilterRequest>, identifier: Option<u32> },
    Unsubscribe { packet_id: u16, filters: Vec<String> },
    Publish { qos: u8, packet_id: u16 },
    PubRel { packet_id: u16 },
    Disconnect { session_expiry: Option<u32> },
    Other,
}

impl Incoming {
    /// True if a string contains NUL, which no packet may (5.0, section 1.5.4).
    pub fn contains_nul(&self) -> bool {
        match self {
            Incoming::Connect(connect) => connect.client_id.contains('\0'),
            Incoming::Subscribe { requests, .. } => requests.iter().any(|request| request.filter.contains('\0')),
            Incoming::Unsubscribe { filters, .. } => filters.iter().any(|filter| filter.contains('\0')),
            _ => false,
        }
    }
}

/// The request of a client that connects.
pub(super) struct Connect {
    pub client_id: String,
    pub is_version_3: bool,
    pub clean: bool,
    /// Seconds that the session outlives the connection; none: version 3.1.1 with a session, which can't say.
    pub session_expiry: Option<u32>,
    /// The QoS of the will, if there is one.
    pub will_qos: Option<u8>,
    pub keep_alive: u16,
    pub extended_authentication: bool,
    pub user_name: Option<String>,
    pub password: Option<Vec<u8>>,
}

/// One filter of a SUBSCRIBE.
#[derive(Debug)]
pub(super) struct FilterRequest {
    pub filter: String,
    pub at_least_once: bool,
    pub no_local: bool,
    pub retain_as_published: bool,
    pub retained: Retained,
}

/// When retained messages are sent on SUBSCRIBE (5.0, section 3.8.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retained {
    Always,
    IfNew,
    Never,
}

/// The answer to one filter of a SUBSCRIBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Granted {
    AtMostOnce,
    AtLeastOnce,
    InvalidFilter,
    NotAuthorized,
    QuotaExceeded,
}

/// The content of a CONNACK. A client of version 3.1.1 gets only `session_present`.
#[derive(Debug, Default)]
pub(super) struct Welcome {
    pub session_present: bool,
    pub assigned_client_id: Option<String>,
    pub keep_alive: Option<u16>,
    pub session_expiry: Option<u32>,
}

/// A message to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub topic: &'a str,
    pub payload: &'a Arc<[u8]>,
    pub media_type: &'a str,
    pub at_least_once: bool,
    pub retain: bool,
    pub identifiers: &'a [u32],
    /// The packet id of a message that is sent again.
    pub packet_id_again: Option<u16>,
}

pub(super) fn connack(welcome: Welcome) -> Result<v5_0::Connack, MqttError> {
    let mut properties = vec![packet::MaximumQos::new(1)?.into()];
    if let Some(client_id) = welcome.assigned_client_id {
        properties.push(packet::AssignedClientIdentifier::new(client_id)?.into());
    }
    if let Some(seconds) = welcome.keep_alive {
        properties.push(packet::ServerKeepAlive::new(seconds)?.into());
    }
    if let Some(seconds) = welcome.session_expiry {
        properties.push(packet::SessionExpiryInterval::new(seconds)?.into());
    }
    let builder = v5_0::Connack::builder().session_present(welcome.session_present);
    builder.reason_code(ConnectReasonCode::Success).props(properties).build()
}

pub(super) fn publish_v5(message: &Outgoing<'_>, packet_id: Option<u16>) -> Result<v5_0::Publish, MqttError> {
    let mut properties = Vec::with_capacity(1 + message.identifiers.len());
    if !message.payload.is_empty() {
        properties.push(packet::ContentType::new(message.media_type)?.into());
    }
    for &identifier in message.identifiers {
        properties.push(SubscriptionIdentifier::new(identifier)?.into());
    }
    v5_0::Publish::builder()
        .topic_name(message.topic)?
        .qos(if message.at_least_once { Qos::AtLeastOnce } else { Qos::AtMostOnce })
        .retain(message.retain)
        .packet_id(packet_id)
        .dup(message.packet_id_again.is_some())
        .props(properties)
        .payload(message.payload.clone())
        .build()
}

pub(super) fn publish_v3(message: &Outgoing<'_>, packet_id: Option<u16>) -> Result<v3_1_1::Publish, MqttError> {
    v3_1_1::Publish::builder()
        .topic_name(message.topic)?
        .qos(if message.at_least_once { Qos::AtLeastOnce } else { Qos::AtMostOnce })
        .retain(message.retain)
        .packet_id(packet_id)
        .dup(message.packet_id_again.is_some())
        .payload(message.payload.clone())
        .build()
}

/// Reads a packet.
pub(super) fn read_packet(packet: Packet) -> Incoming {
    match packet {
        Packet::V3_1_1Connect(connect) => Incoming::Connect(Connect {
            client_id: connect.client_id().into(),
            is_version_3: true,
            clean: connect.clean_session(),
            session_expiry: connect.clean_session().then_some(0),
            will_qos: connect.will_flag().then_some(connect.will_qos() as u8),
            keep_alive: connect.keep_alive(),
            extended_authentication: false,
            user_name: connect.user_name().map(Into::into),
            password: connect.password().map(Into::into),
        }),
        Packet::V5_0Connect(connect) => Incoming::Connect(Connect {
            client_id: connect.client_id().into(),
            is_version_3: false,
            clean: connect.clean_start(),
            session_expiry: Some(session_expiry(connect.props()).unwrap_or(0)),
            will_qos: connect.will_flag().then_some(connect.will_qos() as u8),
            keep_alive: connect.keep_alive(),
            extended_authentication: connect
                .props()
                .iter()
                .any(|property| matches!(property, Property::AuthenticationMethod(_))),
            user_name: connect.user_name().map(Into::into),
            password: connect.password().map(Into::into),
        }),
        Packet::V3_1_1Subscribe(subscribe) => Incoming::Subscribe {
            packet_id: subscribe.packet_id(),
            requests: subscribe.entries().iter().map(read_request).collect(),
            identifier: None,
        },
        Packet::V5_0Subscribe(subscribe) => Incoming::Subscribe {
            packet_id: subscribe.packet_id(),
            requests: subscribe.entries().iter().map(read_request).collect(),
            identifier: subscribe.props().iter().find_map(|property| match property {
                Property::SubscriptionIdentifier(identifier) => Some(identifier.val()),
                _ => None,
            }),
        },
        Packet::V3_1_1Unsubscribe(unsubscribe) => Incoming::Unsubscribe {
            packet_id: unsubscribe.packet_id(),
            filters: unsubscribe.entries().iter().map(|filter| filter.as_str().into()).collect(),
        },
        Packet::V5_0Unsubscribe(unsubscribe) => Incoming::Unsubscribe {
            packet_id: unsubscribe.packet_id(),
            filters: unsubscribe.entries().iter().map(|filter| filter.as_str().into()).collect(),
        },
        Packet::V3_1_1Publish(publish) => {
            Incoming::Publish { qos: publish.qos() as u8, packet_id: publish.packet_id().unwrap_or_default() }
        }
        Packet::V5_0Publish(publish) => {
            Incoming::Publish { qos: publish.qos() as u8, packet_id: publish.packet_id().unwrap_or_default() }
        }
        Packet::V3_1_1Pubrel(pubrel) => Incoming::PubRel { packet_id: pubrel.packet_id() },
        Packet::V5_0Pubrel(pubrel) => Incoming::PubRel { packet_id: pubrel.packet_id() },
        Packet::V3_1_1Disconnect(_) => Incoming::Disconnect { session_expiry: None },
        Packet::V5_0Disconnect(disconnect) => Incoming::Disconnect {
            session_expiry: disconnect.props().as_ref().and_then(|properties| session_expiry(properties)),
        },
        _ => Incoming::Other,
    }
}

fn session_expiry(properties: &[Property]) -> Option<u32> {
    properties.iter().find_map(|property| match property {
        Property::SessionExpiryInterval(seconds) => Some(seconds.val()),
        _ => None,
    })
}

fn read_request(entry: &SubEntry) -> FilterRequest {
    let options = entry.sub_opts();
    FilterRequest {
        filter: entry.topic_filter().into(),
        at_least_once: options.qos() != Qos::AtMostOnce,
        no_local: options.nl(),
        retain_as_published: options.rap(),
        retained: match options.rh() {
            RetainHandling::SendRetained => Retained::Always,
            RetainHandling::SendRetainedIfNotExists => Retained::IfNew,
            RetainHandling::DoNotSendRetained => Retained::Never,
        },
    }
}
