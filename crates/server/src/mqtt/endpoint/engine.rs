//! The protocol engine of one connection: bytes in, packets out, for MQTT 3.1.1 and 5 alike.
//!
//! Wraps `mqtt-protocol-core`, which checks what is received, numbers and tracks what is sent, and
//! counts against the Receive Maximum. Nothing but this and [`packets`] knows the packets of a version.

use std::time::Duration;

use mqtt_protocol_core::mqtt::{
    self, Version,
    common::Cursor,
    connection::{ConnectionOptions, GenericEvent, TimerKind},
    packet::{GenericPacketTrait, v3_1_1, v5_0},
    result_code::{
        ConnectReasonCode, ConnectReturnCode, DisconnectReasonCode, MqttError, PubackReasonCode, PubcompReasonCode,
        SubackReasonCode, SubackReturnCode, UnsubackReasonCode,
    },
    role,
};
use tokio::time::Instant;

use super::{
    framing::{Framing, Malformed},
    packets::{self, Granted, Incoming, Outgoing, Packet, Welcome},
    topic_alias,
};

/// The largest packet taken from a client: nothing that it may send needs more.
const MAX_PACKET_BYTES: u32 = 64 * 1024;
/// CONNACK of 3.1.1: unacceptable protocol version. For clients whose version isn't even known.
const UNACCEPTABLE_VERSION: [u8; 4] = [0x20, 2, 0, 1];
/// CONNACK of 5: malformed packet. For a CONNECT that the engine doesn't get.
const MALFORMED_CONNECT: [u8; 5] = [0x20, 3, 0, 0x81, 0];

type Event = GenericEvent<u16>;

/// Why a client isn't accepted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Refusal {
    InvalidClientId,
    UnsupportedAuthentication,
    /// The user name and password aren't those of a valid API key.
    InvalidCredentials,
    /// Credentials are needed.
    Unauthenticated,
    /// The will has a higher QoS than the endpoint has.
    UnsupportedQos,
    /// There is a will, which would have to be published.
    WillNotAllowed,
    /// Another connection has the session and doesn't let go.
    Busy,
    Full,
    /// Possibly stale data of a node that has not kept up with its cluster.
    CutOff,
}

/// Why the endpoint ends a connection. What a client did wrong is answered by the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DisconnectReason {
    ShuttingDown,
    TakenOver,
    NotAuthorized,
    MalformedPacket,
    ProtocolError,
    UnsupportedQos,
    Stalled,
    Failed,
    /// Possibly stale data of a node that has not kept up with its cluster.
    CutOff,
}

/// The result of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It needs no acknowledgement.
    Once,
    /// [`Engine::take_acknowledged`] will report this id.
    Awaiting(u16),
    /// It is larger than the client takes, or can't be a packet at all.
    Unsendable,
}

pub(super) struct Engine {
    connection: mqtt::Connection<role::Server>,
    framing: Framing,
    /// Bytes received so far of a CONNECT that isn't complete.
    connect: Vec<u8>,
    /// True if there was a CONNECT: it comes once (3.1.0-2).
    has_connect: bool,
    output: Vec<u8>,
    acknowledged: Vec<u16>,
    keep_alive: Option<Instant>,
    ended: bool,
}

impl Engine {
    pub fn new() -> Engine {
        let options = ConnectionOptions::new().maximum_packet_size_recv(MAX_PACKET_BYTES);
        let mut connection = mqtt::Connection::with_options(Version::Undetermined, options);
        connection.set_auto_ping_response(true);
        let framing = Framing::default();
        Engine {
            connection,
            framing,
            connect: Vec::new(),
            has_connect: false,
            output: Vec::new(),
            acknowledged: Vec::new(),
            keep_alive: None,
            ended: false,
        }
    }

    /// Takes at most one packet from `input`, which shrinks by what was read.
    pub fn receive(&mut self, input: &mut &[u8]) -> Option<Incoming> {
        while !input.is_empty() && !self.ended {
            let begins_connect = self.framing.is_at_start() && starts_connect(input);
            if begins_connect && std::mem::replace(&mut self.has_connect, true) {
                self.disconnect(DisconnectReason::ProtocolError);
                return None;
            }
            let is_connect = begins_connect || !self.connect.is_empty();
            let length = match self.framing.advance(input) {
                Ok(length) => length,
                Err(malformed) => {
                    self.refuse_malformed(malformed);
                    return None;
                }
            };
            let (packet, rest) = input.split_at_checked(length).unwrap_or_default();
            *input = rest;
            let events = if is_connect {
                self.connect.extend_from_slice(packet);
                if !self.framing.is_at_start() && self.connect.len() <= MAX_PACKET_BYTES as usize {
                    continue;
                }
                let mut connect = std::mem::take(&mut self.connect);
                topic_alias::raise_zero(&mut connect);
                self.connection.recv(&mut Cursor::new(&connect))
            } else {
                self.connection.recv(&mut Cursor::new(packet))
            };
            if let Some(packet) = self.apply(events) {
                let incoming = packets::read_packet(packet);
                if !incoming.contains_nul() {
                    return Some(incoming);
                }
                let is_connect_v5 = self.is_version_5() && matches!(incoming, Incoming::Connect(_));
                self.refuse_malformed(Malformed { is_connect_v5 });
            }
        }
        None
    }

    fn refuse_malformed(&mut self, malformed: Malformed) {
        if malformed.is_connect_v5 {
            self.output.extend_from_slice(&MALFORMED_CONNECT);
        }
        self.disconnect(DisconnectReason::MalformedPacket);
    }

    /// Returns the bytes to write; the caller removes them.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// The messages that the client has acknowledged since this was last asked.
    pub fn take_acknowledged(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.acknowledged)
    }

    /// True if nothing more is to be read: the output is all that is left to do.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// When the client must have sent something (3.1.2.10).
    pub fn keep_alive_deadline(&self) -> Option<Instant> {
        self.keep_alive
    }

    /// The client has sent nothing in time.
    pub fn keep_alive_expired(&mut self) {
        let events = self.connection.notify_timer_fired(TimerKind::PingreqRecv);
        self.apply(events);
        self.ended = true;
    }

    /// Returns the number of further messages that the client accepts unacknowledged; none if it sets no limit.
    pub fn vacancy(&self) -> Option<usize> {
        self.connection.get_receive_maximum_vacancy_for_send().map(usize::from)
    }

    pub fn welcome(&mut self, welcome: Welcome) {
        let events = if self.is_version_5() {
            match packets::connack(welcome) {
                Ok(packet) => self.connection.checked_send(packet),
                Err(error) => vec![Event::NotifyError(error)],
            }
        } else {
            let builder = v3_1_1::Connack::builder().return_code(ConnectReturnCode::Accepted);
            self.send(builder.session_present(welcome.session_present).build())
        };
        self.apply(events);
    }

    pub fn refuse(&mut self, refusal: Refusal) {
        let (code, reason) = match refusal {
            Refusal::InvalidClientId => {
                (ConnectReturnCode::IdentifierRejected, ConnectReasonCode::ClientIdentifierNotValid)
            }
            Refusal::UnsupportedAuthentication => {
                (ConnectReturnCode::NotAuthorized, ConnectReasonCode::BadAuthenticationMethod)
            }
            Refusal::InvalidCredentials => {
                (ConnectReturnCode::BadUserNameOrPassword, ConnectReasonCode::BadUserNameOrPassword)
            }
            Refusal::Unauthenticated | Refusal::WillNotAllowed => {
                (ConnectReturnCode::NotAuthorized, ConnectReasonCode::NotAuthorized)
            }
            // Version 3.1.1 has no maximum.
            Refusal::UnsupportedQos => (ConnectReturnCode::NotAuthorized, ConnectReasonCode::QosNotSupported),
            Refusal::Busy => (ConnectReturnCode::ServerUnavailable, ConnectReasonCode::ServerBusy),
            Refusal::CutOff => (ConnectReturnCode::ServerUnavailable, ConnectReasonCode::UseAnotherServer),
            Refusal::Full => (ConnectReturnCode::ServerUnavailable, ConnectReasonCode::QuotaExceeded),
        };
        let events = if self.is_version_5() {
            self.send(v5_0::Connack::builder().session_present(false).reason_code(reason).build())
        } else {
            self.send(v3_1_1::Connack::builder().session_present(false).return_code(code).build())
        };
        self.apply(events);
        self.ended = true;
    }

    pub fn subscribed(&mut self, packet_id: u16, granted: &[Granted]) {
        let events = if self.is_version_5() {
            let codes = granted.iter().map(|granted| match granted {
                Granted::AtMostOnce => SubackReasonCode::GrantedQos0,
                Granted::AtLeastOnce => SubackReasonCode::GrantedQos1,
                Granted::InvalidFilter => SubackReasonCode::TopicFilterInvalid,
                Granted::NotAuthorized => SubackReasonCode::NotAuthorized,
                Granted::QuotaExceeded => SubackReasonCode::QuotaExceeded,
            });
            self.send(v5_0::Suback::builder().packet_id(packet_id).reason_codes(codes.collect()).build())
        } else {
            let codes = granted.iter().map(|granted| match granted {
                Granted::AtMostOnce => SubackReturnCode::SuccessMaximumQos0,
                Granted::AtLeastOnce => SubackReturnCode::SuccessMaximumQos1,
                Granted::InvalidFilter | Granted::NotAuthorized | Granted::QuotaExceeded => SubackReturnCode::Failure,
            });
            self.send(v3_1_1::Suback::builder().packet_id(packet_id).return_codes(codes.collect()).build())
        };
        self.apply(events);
    }

    /// Answers an UNSUBSCRIBE: for each filter whether there was such a subscription.
    pub fn unsubscribed(&mut self, packet_id: u16, existed: &[bool]) {
        let events = if self.is_version_5() {
            let codes = existed.iter().map(|existed| match existed {
                true => UnsubackReasonCode::Success,
                false => UnsubackReasonCode::NoSubscriptionExisted,
            });
            self.send(v5_0::Unsuback::builder().packet_id(packet_id).reason_codes(codes.collect()).build())
        } else {
            self.send(v3_1_1::Unsuback::builder().packet_id(packet_id).build())
        };
        self.apply(events);
    }

    /// Refuses a message: version 5 has a reason code where there is an acknowledgement, else the
    /// connection ends (5.0, section 3.3.5; 3.1.1, section 3.3.5). QoS 2 is over the maximum that
    /// CONNACK has stated (5.0, section 3.2.2.3.4).
    pub fn refuse_publish(&mut self, qos: u8, packet_id: u16) {
        match (self.is_version_5(), qos) {
            (true, 1) => {
                let reason = PubackReasonCode::NotAuthorized;
                let events = self.send(v5_0::Puback::builder().packet_id(packet_id).reason_code(reason).build());
                self.apply(events);
            }
            (true, 2) => self.disconnect(DisconnectReason::UnsupportedQos),
            _ => self.disconnect(DisconnectReason::NotAuthorized),
        }
    }

    /// Answers a PUBREL, which belongs to nothing since no message is accepted.
    pub fn answer_pubrel(&mut self, packet_id: u16) {
        let events = if self.is_version_5() {
            let reason = PubcompReasonCode::PacketIdentifierNotFound;
            self.send(v5_0::Pubcomp::builder().packet_id(packet_id).reason_code(reason).build())
        } else {
            self.send(v3_1_1::Pubcomp::builder().packet_id(packet_id).build())
        };
        self.apply(events);
    }

    /// Sends a message. The caller has seen to it that the Receive Maximum allows it.
    pub fn publish(&mut self, message: &Outgoing<'_>) -> Sent {
        let packet_id = match (message.at_least_once, message.packet_id_again) {
            (false, _) => Ok(None),
            (true, None) => self.connection.acquire_packet_id().map(Some),
            (true, Some(packet_id)) => self.connection.register_packet_id(packet_id).map(|()| Some(packet_id)),
        };
        let Ok(packet_id) = packet_id else { return Sent::Unsendable };
        let events = match self.is_version_5() {
            true => packets::publish_v5(message, packet_id).map(|packet| self.connection.checked_send(packet)),
            false => packets::publish_v3(message, packet_id).map(|packet| self.connection.checked_send(packet)),
        };
        let events = events.unwrap_or_else(|error| vec![Event::NotifyError(error)]);
        if let Some(Event::NotifyError(_)) = events.first() {
            if let Some(packet_id) = packet_id {
                self.connection.release_packet_id(packet_id);
            }
            return Sent::Unsendable;
        }
        self.apply(events);
        packet_id.map_or(Sent::Once, Sent::Awaiting)
    }

    /// Ends the connection; clients of version 5 receive the reason.
    pub fn disconnect(&mut self, reason: DisconnectReason) {
        if self.ended {
            return;
        }
        if self.is_version_5() {
            let reason = match reason {
                DisconnectReason::ShuttingDown => DisconnectReasonCode::ServerShuttingDown,
                DisconnectReason::TakenOver => DisconnectReasonCode::SessionTakenOver,
                DisconnectReason::NotAuthorized => DisconnectReasonCode::NotAuthorized,
                DisconnectReason::MalformedPacket => DisconnectReasonCode::MalformedPacket,
                DisconnectReason::ProtocolError => DisconnectReasonCode::ProtocolError,
                DisconnectReason::UnsupportedQos => DisconnectReasonCode::QosNotSupported,
                DisconnectReason::Stalled => DisconnectReasonCode::QuotaExceeded,
                DisconnectReason::CutOff => DisconnectReasonCode::UseAnotherServer,
                DisconnectReason::Failed => DisconnectReasonCode::UnspecifiedError,
            };
            let events = self.send(v5_0::Disconnect::builder().reason_code(reason).build());
            self.apply(events);
        }
        self.ended = true;
    }

    /// The client has disconnected: nothing more is read or answered.
    pub fn close(&mut self) {
        self.ended = true;
    }

    fn is_version_5(&self) -> bool {
        self.connection.get_protocol_version() == Version::V5_0
    }

    fn send<T>(&mut self, packet: Result<T, MqttError>) -> Vec<Event>
    where
        T: Into<Packet>,
    {
        match packet {
            Ok(packet) => self.connection.send(packet.into()),
            Err(error) => vec![Event::NotifyError(error)],
        }
    }

    /// Does what the engine asks for; returns the packet that was received, if one was.
    fn apply(&mut self, events: Vec<Event>) -> Option<Packet> {
        let mut received = None;
        for event in events {
            match event {
                Event::NotifyPacketReceived(packet) => received = Some(packet),
                Event::RequestSendPacket { packet, .. } => {
                    for slice in packet.to_buffers() {
                        self.output.extend_from_slice(&slice);
                    }
                }
                Event::NotifyPacketIdReleased(packet_id) => self.acknowledged.push(packet_id),
                Event::RequestTimerReset { kind: TimerKind::PingreqRecv, duration_ms } => {
                    self.keep_alive = Some(Instant::now() + Duration::from_millis(duration_ms));
                }
                Event::RequestTimerCancel(TimerKind::PingreqRecv) => self.keep_alive = None,
                Event::RequestTimerReset { .. } | Event::RequestTimerCancel(_) => {}
                Event::NotifyError(error) => {
                    if error == MqttError::UnsupportedProtocolVersion && self.output.is_empty() {
                        self.output.extend_from_slice(&UNACCEPTABLE_VERSION);
                    }
                    self.ended = true;
                }
                Event::RequestClose => self.ended = true,
            }
        }
        received
    }
}

fn starts_connect(input: &[u8]) -> bool {
    input.first().is_some_and(|first| first >> 4 == 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONNECT: &[u8] = b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00";

    fn feed(engine: &mut Engine, bytes: &[u8]) -> usize {
        let (mut input, mut packets) = (bytes, 0);
        while let Some(incoming) = engine.receive(&mut input) {
            packets += 1;
            if let Incoming::Connect(_) = incoming {
                engine.welcome(Welcome::default());
            }
        }
        packets
    }

    #[test]
    fn packets_are_understood_however_they_are_cut() {
        let subscribe = b"\x82\x07\x00\x01\x00\x00\x01#\x01";
        let mut engine = Engine::new();
        let packets: usize = [CONNECT, subscribe].concat().iter().map(|byte| feed(&mut engine, &[*byte])).sum();
        assert_eq!(packets, 2);
        assert!(!engine.has_ended());
    }

    #[test]
    fn a_client_may_say_that_it_takes_no_topic_aliases() {
        let connect = b"\x10\x10\x00\x04MQTT\x05\x02\x00\x00\x03\x22\x00\x00\x00\x00";
        for size in 1..=connect.len() {
            let mut engine = Engine::new();
            let packets: usize = connect.chunks(size).map(|part| feed(&mut engine, part)).sum();
            assert_eq!((packets, engine.has_ended()), (1, false), "in parts of {size}");
        }
    }

    #[test]
    fn second_connect_ends_the_connection_and_is_not_answered() {
        let connect_3 = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a";
        // As version 5 too, well-formed and not.
        let others: [&[u8]; 3] =
            [connect_3, b"\x10\x0e\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x01a", b"\x10\x05\x00\x04MQT"];
        for other in others {
            let mut engine = Engine::new();
            assert_eq!(feed(&mut engine, connect_3), 1);
            engine.output().clear();
            assert_eq!((feed(&mut engine, other), engine.has_ended()), (0, true), "{other:?}");
            assert!(engine.output().is_empty(), "{:?}", engine.output());
        }
    }

    #[test]
    fn every_packet_moves_the_keep_alive_deadline() {
        let mut engine = Engine::new();
        let mut connect = CONNECT.to_vec();
        connect[11] = 60;
        feed(&mut engine, &connect);
        let deadline = engine.keep_alive_deadline().unwrap();
        assert!(deadline > Instant::now() + Duration::from_secs(60));
        feed(&mut engine, b"\xc0\x00");
        assert!(engine.keep_alive_deadline().unwrap() > deadline);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200), connected: bool) {
            let mut engine = Engine::new();
            if connected {
                feed(&mut engine, CONNECT);
            }
            feed(&mut engine, &bytes);
        }

        #[test]
        fn no_packet_is_too_odd(kind in 1u8..16, flags in 0u8..16, body in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut engine = Engine::new();
            feed(&mut engine, CONNECT);
            let mut bytes = vec![kind << 4 | flags, body.len() as u8];
            bytes.extend_from_slice(&body);
            feed(&mut engine, &bytes);
        }
    }
}
