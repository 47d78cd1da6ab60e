//! Limits of a broker, and the handling of messages that it refuses: one message must not hold up all later ones.
//!
//! A message that can never be published is *quarantined*: it is left out, with an error in the log and
//! in the count that [`super::Publisher::quarantined`] returns. The broker says which these are: by the
//! Maximum Packet Size in its CONNACK, and by the reason codes of PUBACK (MQTT 5.0, sections 3.2.2.3.6
//! and 3.4.2.1). Mosquitto has a second limit, `message_size_limit`, that it states nowhere and reports by
//! a PUBACK with the reason code 0x95, which PUBACK doesn't have; it is learned from such messages.

use rumqttc::v5::{
    ConnectionError, StateError,
    mqttbytes::{
        Error,
        v5::{ConnAck, DisconnectReasonCode, PubAckReason},
    },
};

/// The reason code of a packet that is too large.
const PACKET_TOO_LARGE: u8 = 0x95;

/// Limits of a broker, stated in its CONNACK or learned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub packet_bytes: usize,
    /// Maximum number of unacknowledged messages.
    pub receive_maximum: usize,
    pub has_retained: bool,
}

impl Limits {
    /// As CONNACK states them; `learned_bytes` is what was learned about its packets before.
    pub fn of(connack: &ConnAck, learned_bytes: usize) -> Limits {
        let properties = connack.properties.as_ref();
        let bytes = properties.and_then(|properties| properties.max_packet_size).unwrap_or(u32::MAX);
        let receive_maximum = properties.and_then(|properties| properties.receive_max).unwrap_or(u16::MAX);
        Limits {
            packet_bytes: usize::try_from(bytes).unwrap_or(usize::MAX).min(learned_bytes),
            receive_maximum: receive_maximum.into(),
            has_retained: properties.and_then(|properties| properties.retain_available) != Some(0),
        }
    }
}

/// Returns the size in bytes of a PUBLISH at QoS 1 that has a content type (5.0, section 3.3).
pub(super) fn packet_bytes(topic: &str, payload: &[u8], content_type: &str) -> usize {
    let properties = 3 + content_type.len();
    let length = 2 + topic.len() + 2 + variable_bytes(properties) + properties + payload.len();
    1 + variable_bytes(length) + length
}

/// Returns the size in bytes of a Variable Byte Integer (5.0, section 1.5.5).
fn variable_bytes(number: usize) -> usize {
    match number {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        _ => 4,
    }
}

/// The meaning of the reason code of a PUBACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    /// This message will never be accepted.
    Refused,
    /// The broker can't take it now.
    Later,
}

impl From<PubAckReason> for Verdict {
    fn from(reason: PubAckReason) -> Verdict {
        match reason {
            PubAckReason::Success | PubAckReason::NoMatchingSubscribers => Verdict::Accepted,
            PubAckReason::NotAuthorized | PubAckReason::TopicNameInvalid | PubAckReason::PayloadFormatInvalid => {
                Verdict::Refused
            }
            PubAckReason::UnspecifiedError
            | PubAckReason::ImplementationSpecificError
            | PubAckReason::PacketIdentifierInUse
            | PubAckReason::QuotaExceeded => Verdict::Later,
        }
    }
}

/// True if a connection ended because one of its messages was too large for the broker.
pub(super) fn is_too_large(error: &ConnectionError) -> bool {
    let ConnectionError::MqttState(error) = error else { return false };
    match error {
        // This is how rumqttc reads a PUBACK with a reason code that it shouldn't have.
        StateError::Deserialization(Error::InvalidConnectReturnCode(code)) => *code == PACKET_TOO_LARGE,
        StateError::ServerDisconnect { reason_code, .. } => *reason_code == DisconnectReasonCode::PacketTooLarge,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rumqttc::v5::mqttbytes::{
        QoS,
        v5::{Packet, Publish, PublishProperties},
    };

    use super::*;

    #[test]
    fn packet_takes_as_many_bytes_as_rumqttc_writes() {
        for length in [0, 1, 90, 100, 110, 200, 16_000, 16_400, 2_097_000, 2_098_000] {
            let properties =
                PublishProperties { content_type: Some("text/plain".into()), ..PublishProperties::default() };
            let payload = vec![0; length];
            let mut publish = Publish::new("a/topic", QoS::AtLeastOnce, payload.clone(), Some(properties));
            publish.pkid = 1;
            let size = Packet::Publish(publish).size();
            assert_eq!(packet_bytes("a/topic", &payload, "text/plain"), size);
        }
    }
}
