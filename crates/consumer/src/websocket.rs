//! The LMOS protocol over WebSocket: forms with the subprotocol `lmosprotocol`.
//!
//! Each call has its own connection. All of its messages have the same `correlationID`; answers refer to it, or to
//! the `messageID` of the request. Binary frames carry media in both directions: the bytes of a request follow its
//! message, and bytes from the agent become [`Event::Media`] between the statuses of the action. The answer to a
//! question (`input-required`) has the `correlationID` of the action that asked.
//!
//! | request | sent | answered by |
//! |---|---|---|
//! | invoke, query, cancel an action | `invokeAction`, `queryAction`, `cancelAction` | `actionStatus` |
//! | read, write a property | `readProperty`, `writeProperty`; `writeMultipleProperties` of the Thing | `propertyReading`, `propertyReadings` |
//! | subscribe to an event; to all of the Thing | `subscribeEvent`, `subscribeAllEvents` | `event` |
//! | observe a property | `observeProperty` | `propertyReading` |
//! | end a subscription | `unsubscribeEvent`, `unsubscribeAllEvents`, `unobserveProperty` | |
//!
//! | pattern of LMOS | shown by (`tests/bindings/websocket.rs`) |
//! |---|---|
//! | request-reply | `an_action_is_invoked_and_its_statuses_are_read`, `properties_are_read_written_and_observed`, `actions_are_asked_for_and_cancelled` |
//! | one request, several responses | `one_request_has_several_responses` |
//! | notifications, publish-subscribe | `events_are_received_until_the_subscription_ends`, `properties_are_read_written_and_observed` |
//! | request and response streams | `sound_is_streamed_in_both_directions`, `further_input_belongs_to_the_same_action`, `the_answer_to_a_question_continues_the_action_that_asked` |

mod connection;
mod message;

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt, stream};
use serde_json::Value;
use tokio::sync::{Mutex, Notify};
use tokio_tungstenite::tungstenite::Message as Frame;

use self::{
    connection::{Receiver, SUBPROTOCOL, Sender},
    message::{Incoming, NAME, Outgoing},
};
use super::{
    Affordance, Binding, Call, Content, Control, Error, Event, Exchange, Fit, Form, Message, Operation, Part, Pending,
    Request, Result,
};

/// Binding for the LMOS protocol over WebSocket.
#[derive(Debug, Clone, Copy, Default)]
pub struct WebSocket;

impl Binding for WebSocket {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
        let is_ours = matches!(form.scheme().as_str(), "ws" | "wss") && form.subprotocol() == Some(SUBPROTOCOL);
        let can = match form.affordance {
            Affordance::Action(_) => {
                matches!(operation, Operation::InvokeAction | Operation::QueryAction | Operation::CancelAction)
            }
            Affordance::Property(_) => matches!(
                operation,
                Operation::ReadProperty
                    | Operation::WriteProperty
                    | Operation::ObserveProperty
                    | Operation::SubscribeEvent
            ),
            Affordance::Event(_) => operation == Operation::SubscribeEvent,
            Affordance::Thing => matches!(
                operation,
                Operation::WriteMultipleProperties
                    | Operation::WriteProperty
                    | Operation::SubscribeAllEvents
                    | Operation::SubscribeEvent
            ),
        };
        (is_ours && can).then_some(Fit { rank: 20, continues: true, streams: true, ..Fit::default() })
    }

    fn start(&self, call: Call) -> Pending<'_, Exchange> {
        Box::pin(async move {
            let outgoing = Outgoing::of(&call)?;
            let frames = binary_frames(&call.request)?;
            let (sender, receiver) = connection::open(&call).await?;
            let sender = Arc::new(Mutex::new(sender));
            let target = crate::fetch::shown(&call.form.href);
            send(&sender, &target, Frame::text(outgoing.request().to_string())).await?;
            for frame in frames {
                send(&sender, &target, frame).await?;
            }
            let ended = Arc::new(Notify::new());
            let control = Speaking {
                outgoing: outgoing.clone(),
                sender: sender.clone(),
                target: target.clone(),
                ended: ended.clone(),
            };
            let incoming = Incoming::new(&call, outgoing);
            let running = Running { receiver, sender, incoming, target, ended, left: Vec::new(), is_over: false };
            let events = stream::try_unfold(running, |mut running| async move {
                Ok(running.next().await?.map(|event| (event, running)))
            });
            Ok(Exchange::new(events).with_control(control))
        })
    }
}

/// The bytes of a request, each a frame.
fn binary_frames(request: &Request) -> Result<Vec<Frame>> {
    let Request::Invoke { parts, .. } = request else { return Ok(Vec::new()) };
    parts.iter().map(frame_of).collect()
}

fn frame_of(part: &Part) -> Result<Frame> {
    match part.media().map(|media| &media.content) {
        Some(Content::Bytes(bytes)) => Ok(Frame::binary(bytes.clone())),
        Some(Content::Url(_)) => Err(Error::Unsupported { what: "binary content referenced by URL".into() }),
        None => Err(Error::Unsupported { what: "a part without bytes as a binary frame".into() }),
    }
}

async fn send(sender: &Mutex<Sender>, target: &str, frame: Frame) -> Result<()> {
    let sent = sender.lock().await.send(frame).await;
    sent.map_err(|error| connection::failure(target, error))
}

/// A call under way. Dropping it closes the connection.
struct Running {
    receiver: Receiver,
    /// Held, so that answers to pings are sent.
    sender: Arc<Mutex<Sender>>,
    incoming: Incoming,
    target: String,
    ended: Arc<Notify>,
    /// Pending events of a message, in reverse order.
    left: Vec<Event>,
    is_over: bool,
}

impl Running {
    async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.left.pop() {
                self.is_over |= event.is_last();
                return Ok(Some(event));
            }
            if self.is_over {
                // The agent is notified of the end, where it listens.
                let _ = self.sender.lock().await.close().await;
                return Ok(None);
            }
            let received = tokio::select! {
                received = self.receiver.next() => received,
                () = self.ended.notified() => {
                    self.is_over = true;
                    continue;
                }
            };
            let frame = match received {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Err(connection::failure(&self.target, error)),
                None => Frame::Close(None),
            };
            self.left = match frame {
                Frame::Text(text) => self.incoming.read(&text, &self.target)?,
                Frame::Binary(bytes) => vec![self.incoming.media(bytes.to_vec())],
                Frame::Close(_) if self.incoming.is_subscription() => {
                    self.is_over = true;
                    continue;
                }
                Frame::Close(reason) => {
                    let said = reason.map(|reason| format!(": {}", reason.reason)).unwrap_or_default();
                    let reason = format!("the agent closed the connection before the end of the action{said}");
                    return Err(Error::Interrupted { url: self.target.clone(), reason });
                }
                _ => Vec::new(),
            };
            self.left.reverse();
        }
    }
}

/// Control of a call: further input, and its end.
struct Speaking {
    outgoing: Outgoing,
    sender: Arc<Mutex<Sender>>,
    target: String,
    ended: Arc<Notify>,
}

impl Control for Speaking {
    /// Bytes are binary frames, and all else is further input of the action.
    fn send(&self, message: Message) -> Pending<'_, ()> {
        Box::pin(async move {
            for part in &message.parts {
                let frame = match part {
                    Part::Text { text } => self.further(&Value::from(text.as_str()))?,
                    Part::Data { data } => self.further(data)?,
                    media => frame_of(media)?,
                };
                send(&self.sender, &self.target, frame).await?;
            }
            Ok(())
        })
    }

    /// Of a subscription, its end; of an action, the request to cancel it, which its status answers.
    fn cancel(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            let Some(end) = self.outgoing.end() else {
                return Err(Error::Unsupported { what: "canceling a property request".into() });
            };
            send(&self.sender, &self.target, Frame::text(end.to_string())).await?;
            if self.outgoing.is_subscription() {
                self.ended.notify_one();
            }
            Ok(())
        })
    }
}

impl Speaking {
    fn further(&self, input: &Value) -> Result<Frame> {
        let further = self.outgoing.further(input);
        let further = further
            .ok_or_else(|| Error::Unsupported { what: "further input for operations other than actions".into() })?;
        Ok(Frame::text(further.to_string()))
    }
}

impl std::fmt::Debug for Speaking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Speaking").field("target", &self.target).finish_non_exhaustive()
    }
}
