//! Agents behind an MQTT broker: MQTT 5, with response topics and correlation data.
//!
//! The target of a form names the broker, `mqtt://broker:1883` or `mqtts://broker:8883`. The topic is given by
//! `mqv:topic` or `mqv:filter`, or else by the path of the target. If both are missing, the topics of LMOS are used:
//! `{thing}/actions/{name}`, `{thing}/events/{name}`, `{thing}/properties/{name}`.
//!
//! | request | implementation |
//! |---|---|
//! | invoke an action | publishes the input, with a response topic for this call and correlation data; each message on this topic with the same data is an answer |
//! | subscribe to an event, observe a property | subscribes to the topic; each message is a notification |
//! | read a property | subscribes to the topic; the first message, usually a retained message, is the value |
//! | write a property | publishes the value with QoS 1 |
//!
//! An answer ends the call, unless it is an LMOS message (`actionStatus`) with a status that isn't final. A request can
//! therefore have several responses. Each call has its own connection, with a session that ends with the connection.
//!
//! | pattern of LMOS | shown by (`tests/bindings/mqtt.rs`) |
//! |---|---|
//! | request-reply | `an_action_is_invoked_by_its_topic` |
//! | one request, several responses | `one_request_has_several_responses_and_bytes_are_sent` |
//! | notifications, publish-subscribe | `events_and_properties_are_topics` |
//! | request and response streams | responses; of a request, bytes in one message: `one_request_has_several_responses_and_bytes_are_sent` |

mod broker;
mod payload;

use std::collections::VecDeque;

use futures_util::stream;
use rumqttc::v5::{
    AsyncClient, Event as MqttEvent, EventLoop,
    mqttbytes::{
        QoS,
        v5::{Packet, PubAckReason, Publish, PublishProperties, SubscribeReasonCode},
    },
};
use uuid::Uuid;

use self::{broker::NAME, payload::Reader};
use super::{Affordance, Binding, Call, Error, Event, Exchange, Fit, Form, Operation, Pending, Reply, Request, Result};
use crate::fetch::shown;

/// Binding for MQTT 5, connected through a broker.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mqtt;

impl Binding for Mqtt {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
        let is_ours = matches!(form.scheme().as_str(), "mqtt" | "mqtts") && form.subprotocol().is_none();
        let packet = form.text("mqv:controlPacket").unwrap_or_default();
        let (can, needs) = match form.affordance {
            Affordance::Action(_) => (operation == Operation::InvokeAction, "publish"),
            Affordance::Event(_) => (operation == Operation::SubscribeEvent, "subscribe"),
            Affordance::Property(_) => match operation {
                Operation::WriteProperty => (true, "publish"),
                Operation::ReadProperty | Operation::ObserveProperty | Operation::SubscribeEvent => (true, "subscribe"),
                _ => (false, ""),
            },
            Affordance::Thing => (false, ""),
        };
        let is_fit = is_ours && can && (packet.is_empty() || packet == needs);
        is_fit.then_some(Fit { rank: 10, streams: true, ..Fit::default() })
    }

    fn start(&self, call: Call) -> Pending<'_, Exchange> {
        Box::pin(async move {
            let target = shown(&call.form.href);
            let topic = topic(&call)?;
            let quality = quality(&call.form);
            let (client, events) = broker::connect(&call).await?;
            let mut connection = Connection::new(client, events, target, call.limits.max_bytes);
            let reader = Reader::of(&call);
            match &call.request {
                Request::Invoke { .. } => {
                    let (payload, content_type) = payload::of(&call)?;
                    let correlation = Uuid::new_v4();
                    let responses = format!("responses/{correlation}");
                    connection.subscribe(&responses, QoS::AtLeastOnce).await?;
                    let properties = PublishProperties {
                        response_topic: Some(responses),
                        correlation_data: Some(correlation.as_bytes().to_vec().into()),
                        content_type: Some(content_type),
                        user_properties: trace_of(&call),
                        ..PublishProperties::default()
                    };
                    connection.publish(&topic, quality, payload, properties).await?;
                    let correlated = Some(correlation.as_bytes().to_vec());
                    Ok(Exchange::new(messages(Messages {
                        connection,
                        reader,
                        correlation: correlated,
                        left: VecDeque::new(),
                        is_over: false,
                    })))
                }
                Request::Subscribe { .. } | Request::Read => {
                    connection.subscribe(&topic, quality).await?;
                    Ok(Exchange::new(messages(Messages {
                        connection,
                        reader,
                        correlation: None,
                        left: VecDeque::new(),
                        is_over: false,
                    })))
                }
                Request::Write(_) => {
                    let (payload, content_type) = payload::of(&call)?;
                    let properties = PublishProperties {
                        content_type: Some(content_type),
                        user_properties: trace_of(&call),
                        ..PublishProperties::default()
                    };
                    connection.publish(&topic, QoS::AtLeastOnce, payload, properties).await?;
                    connection.close().await;
                    Ok(Exchange::reply(Reply::default()))
                }
                _ => Err(Error::Unsupported { what: "this operation over MQTT".into() }),
            }
        })
    }
}

/// Returns the topic of a call: `mqv:topic` or `mqv:filter` of its form, else the path of the target, else that of
/// LMOS.
fn topic(call: &Call) -> Result<String> {
    let form = &call.form;
    let declared = form.text("mqv:topic").or_else(|| form.text("mqv:filter"));
    let path = form.href.splitn(4, '/').nth(3).map(|path| path.split(['?', '#']).next().unwrap_or_default());
    let topic = match (declared, path.filter(|path| !path.is_empty())) {
        (Some(declared), _) => declared.to_owned(),
        (None, Some(path)) => percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned(),
        (None, None) => {
            let (list, name) = match &form.affordance {
                Affordance::Action(name) => ("actions", name),
                Affordance::Event(name) => ("events", name),
                Affordance::Property(name) => ("properties", name),
                Affordance::Thing => {
                    return Err(Error::Unsupported { what: "operations on the whole Thing over MQTT".into() });
                }
            };
            format!("{}/{list}/{name}", call.description.id())
        }
    };
    let is_sent = !matches!(call.request, Request::Subscribe { .. });
    if topic.contains('\0') || (is_sent && topic.contains(['+', '#'])) {
        return Err(Error::NoForm {
            id: call.description.id().to_owned(),
            reason: format!("the topic {topic:?} contains a wildcard (+ or #) or a null character"),
        });
    }
    Ok(topic)
}

/// Returns the quality of service requested by a form; at least once by default.
fn quality(form: &Form) -> QoS {
    let level = form.members.get("mqv:qos");
    let level = level.and_then(|level| level.as_u64().or_else(|| level.as_str()?.parse().ok()));
    match level {
        Some(0) => QoS::AtMostOnce,
        Some(2) => QoS::ExactlyOnce,
        _ => QoS::AtLeastOnce,
    }
}

fn trace_of(call: &Call) -> Vec<(String, String)> {
    let Some(trace) = &call.trace else { return Vec::new() };
    let state = trace.state.iter().map(|state| ("tracestate".to_owned(), state.clone()));
    std::iter::once(("traceparent".to_owned(), trace.parent.clone())).chain(state).collect()
}

/// A connection to the broker. Nothing moves unless somebody waits for the next packet.
struct Connection {
    client: AsyncClient,
    events: EventLoop,
    target: String,
    /// Messages received while waiting for other packets, with their size in bytes and its maximum.
    received: VecDeque<Publish>,
    held: usize,
    max_bytes: usize,
}

impl Connection {
    fn new(client: AsyncClient, events: EventLoop, target: String, max_bytes: usize) -> Connection {
        // One message that is as large as it may be is not too much.
        let max_bytes = max_bytes + broker::PACKET_OVERHEAD;
        Connection { client, events, target, received: VecDeque::new(), held: 0, max_bytes }
    }

    /// Stores a message until it is asked for.
    fn store(&mut self, message: Publish) -> Result<()> {
        self.held += size_of_message(&message);
        if self.held > self.max_bytes {
            return Err(Error::AnswerTooLarge { url: self.target.clone(), limit: self.max_bytes });
        }
        self.received.push_back(message);
        Ok(())
    }

    async fn packet(&mut self) -> Result<MqttEvent> {
        self.events.poll().await.map_err(|error| broker::failure(&self.target, error))
    }

    async fn subscribe(&mut self, topic: &str, quality: QoS) -> Result<()> {
        self.client.try_subscribe(topic, quality).map_err(|error| broker::refused(&self.target, &error.to_string()))?;
        loop {
            match self.packet().await? {
                MqttEvent::Incoming(Packet::SubAck(answer)) => {
                    return match answer.return_codes.first() {
                        Some(SubscribeReasonCode::Success(_)) => Ok(()),
                        other => {
                            let code = other.map_or_else(|| "no reason code".to_owned(), |code| format!("{code:?}"));
                            let reason = format!("the broker refuses a subscription to {topic:?} ({code})");
                            Err(broker::refused(&self.target, &reason))
                        }
                    };
                }
                MqttEvent::Incoming(Packet::Publish(message)) => self.store(message)?,
                _ => {}
            }
        }
    }

    /// Publishes, and waits until the broker has it.
    async fn publish(
        &mut self,
        topic: &str,
        quality: QoS,
        payload: Vec<u8>,
        properties: PublishProperties,
    ) -> Result<()> {
        let sent = self.client.try_publish_with_properties(topic, quality, false, payload, properties);
        sent.map_err(|error| broker::refused(&self.target, &error.to_string()))?;
        loop {
            match self.packet().await? {
                MqttEvent::Incoming(Packet::PubAck(answer)) => {
                    return match answer.reason {
                        PubAckReason::Success => Ok(()),
                        PubAckReason::NoMatchingSubscribers => {
                            let reason = "the topic has no subscribers: the agent is not connected".to_owned();
                            Err(Error::Unreachable { url: self.target.clone(), reason, source: None })
                        }
                        reason => {
                            let reason = format!("the broker refuses messages for {topic:?} ({reason:?})");
                            Err(broker::refused(&self.target, &reason))
                        }
                    };
                }
                MqttEvent::Incoming(Packet::PubComp(_)) => return Ok(()),
                MqttEvent::Incoming(Packet::Publish(message)) => self.store(message)?,
                MqttEvent::Outgoing(rumqttc::Outgoing::Publish(_)) if quality == QoS::AtMostOnce => return Ok(()),
                _ => {}
            }
        }
    }

    async fn message(&mut self) -> Result<Publish> {
        loop {
            if let Some(message) = self.received.pop_front() {
                self.held -= size_of_message(&message);
                return Ok(message);
            }
            if let MqttEvent::Incoming(Packet::Publish(message)) = self.packet().await? {
                return Ok(message);
            }
        }
    }

    /// Says that it ends; the broker would find out anyway.
    async fn close(&mut self) {
        if self.client.try_disconnect().is_ok() {
            while let Ok(event) = self.events.poll().await {
                if matches!(event, MqttEvent::Outgoing(rumqttc::Outgoing::Disconnect)) {
                    break;
                }
            }
        }
    }
}

/// Returns the approximate memory size of a message in bytes.
fn size_of_message(message: &Publish) -> usize {
    let properties = message.properties.iter().flat_map(|properties| &properties.user_properties);
    let properties = properties.map(|(name, value)| size_of::<(String, String)>() + name.len() + value.len());
    size_of::<Publish>() + message.topic.len() + message.payload.len() + properties.sum::<usize>()
}

/// The messages of a call. Dropping them closes the connection.
struct Messages {
    connection: Connection,
    reader: Reader,
    /// Correlation data required in answers, or `None` for a subscription or a read.
    correlation: Option<Vec<u8>>,
    left: VecDeque<Event>,
    is_over: bool,
}

fn messages(messages: Messages) -> impl futures_util::Stream<Item = Result<Event>> + Send {
    stream::try_unfold(
        messages,
        |mut messages| async move { Ok(messages.next().await?.map(|event| (event, messages))) },
    )
}

impl Messages {
    async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.left.pop_front() {
                self.is_over |= event.is_last();
                return Ok(Some(event));
            }
            if self.is_over {
                self.connection.close().await;
                return Ok(None);
            }
            let message = self.connection.message().await?;
            let carried = message.properties.as_ref().and_then(|properties| properties.correlation_data.as_ref());
            if self.correlation.is_some() && carried.map(|data| data.to_vec()) != self.correlation {
                // Of another call, or of somebody who guesses topics.
                continue;
            }
            self.left = self.reader.read(&message, &self.connection.target)?.into();
        }
    }
}
