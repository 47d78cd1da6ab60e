//! Messages of the LMOS protocol.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    Affordance, Call, Error, Event, Media, Notification, Part, Reply, Request, Result, Trace,
    action_status::{self, Asked, Pieces},
};

/// The name of the binding.
pub(super) const NAME: &str = "lmos-websocket";
/// Maximum number of messages of a call whose ids are remembered.
const MOST_IDS: usize = 256;

/// Messages sent by a call about an affordance.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    thing: String,
    correlation: String,
    /// The ids of the last messages, each of which an answer may refer to.
    sent: Arc<Mutex<VecDeque<String>>>,
    affordance: Affordance,
    trace: Option<Trace>,
    /// Type of the request, and its content.
    kind: &'static str,
    members: Map<String, Value>,
}

impl Outgoing {
    /// The request of a call.
    pub(super) fn of(call: &Call) -> Result<Outgoing> {
        let name = call.form.affordance.name();
        let unsupported = |what: &str| Err(Error::Unsupported { what: format!("{what} over WebSocket") });
        let (kind, members) = match (&call.request, &call.form.affordance) {
            (Request::Invoke { input, .. }, Affordance::Action(_)) => {
                let mut members = json!({"action": name});
                if let Some(input) = input {
                    members["input"] = input.clone();
                }
                ("invokeAction", members)
            }
            (Request::Query { .. }, Affordance::Action(_)) => ("queryAction", json!({"action": name})),
            (Request::Cancel { .. }, Affordance::Action(_)) => ("cancelAction", json!({"action": name})),
            (Request::Read, Affordance::Property(_)) => ("readProperty", json!({"name": name})),
            (Request::Write(data), Affordance::Property(_)) => ("writeProperty", json!({"name": name, "data": data})),
            (Request::Write(data), Affordance::Thing) => ("writeMultipleProperties", json!({"data": data})),
            (Request::Subscribe { .. }, Affordance::Property(_)) => ("observeProperty", json!({"name": name})),
            (Request::Subscribe { .. }, Affordance::Event(_)) => ("subscribeEvent", json!({"event": name})),
            (Request::Subscribe { .. }, Affordance::Thing) => ("subscribeAllEvents", json!({})),
            (Request::Tasks { .. }, _) => return unsupported("listing tasks"),
            (Request::Resume { .. }, _) => return unsupported("resuming the event stream of a task"),
            _ => return unsupported("this"),
        };
        let task = match &call.request {
            Request::Query { task } | Request::Cancel { task } => task.clone(),
            Request::Invoke { continuation, .. } => continuation.task.clone(),
            _ => None,
        };
        Ok(Outgoing {
            thing: call.description.id().to_owned(),
            correlation: task.unwrap_or_else(|| Uuid::new_v4().to_string()),
            sent: Arc::default(),
            affordance: call.form.affordance.clone(),
            trace: call.trace.clone(),
            kind,
            members: members.as_object().cloned().unwrap_or_default(),
        })
    }

    /// The request.
    pub(super) fn request(&self) -> Value {
        self.message(self.kind, self.members.clone())
    }

    /// Further input of the action.
    pub(super) fn further(&self, input: &Value) -> Option<Value> {
        let members = json!({"action": self.affordance.name(), "input": input});
        (self.kind == "invokeAction").then(|| self.message(self.kind, members.as_object().cloned().unwrap_or_default()))
    }

    /// Returns the message that cancels an action or ends a subscription, or `None` for other requests.
    pub(super) fn end(&self) -> Option<Value> {
        let (kind, member) = match self.kind {
            "invokeAction" => ("cancelAction", "action"),
            "subscribeEvent" => ("unsubscribeEvent", "event"),
            "subscribeAllEvents" => ("unsubscribeAllEvents", ""),
            "observeProperty" => ("unobserveProperty", "name"),
            _ => return None,
        };
        let mut members = Map::new();
        if !member.is_empty() {
            members.insert(member.to_owned(), self.affordance.name().into());
        }
        Some(self.message(kind, members))
    }

    pub(super) fn is_subscription(&self) -> bool {
        matches!(self.kind, "subscribeEvent" | "subscribeAllEvents" | "observeProperty")
    }

    /// True if an answer that refers to this id belongs to one of our messages.
    fn is_referred_to(&self, id: &str) -> bool {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        id == self.correlation || sent.iter().any(|sent| sent == id)
    }

    fn message(&self, kind: &str, members: Map<String, Value>) -> Value {
        let id = Uuid::new_v4().to_string();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.len() == MOST_IDS {
            sent.pop_front();
        }
        sent.push_back(id.clone());
        let mut message = Map::from_iter([
            ("thingID".to_owned(), self.thing.as_str().into()),
            ("messageID".to_owned(), id.into()),
            ("messageType".to_owned(), kind.into()),
            ("correlationID".to_owned(), self.correlation.as_str().into()),
        ]);
        if let Some(trace) = &self.trace {
            message.insert("traceparent".to_owned(), trace.parent.as_str().into());
            message.extend(trace.state.iter().map(|state| ("tracestate".to_owned(), state.as_str().into())));
        }
        message.extend(members);
        message.into()
    }
}

/// Reader of incoming messages.
pub(super) struct Incoming {
    outgoing: Outgoing,
    /// The media type of binary frames.
    media_type: String,
    pieces: Pieces,
}

impl Incoming {
    pub(super) fn new(call: &Call, outgoing: Outgoing) -> Incoming {
        let declared = call.description.find(&call.form.affordance);
        let schema =
            declared.and_then(|declared| declared.get("output").or_else(|| declared.get("data")).or(Some(declared)));
        let of_schema = schema.and_then(|schema| schema.get("contentMediaType")?.as_str());
        let of_response = call.form.members.get("response").and_then(|response| response.get("contentType")?.as_str());
        let media_type = of_response.or(of_schema).filter(|media_type| !media_type.contains("json"));
        let media_type = media_type.unwrap_or("application/octet-stream").to_owned();
        Incoming { outgoing, media_type, pieces: Pieces::default() }
    }

    pub(super) fn is_subscription(&self) -> bool {
        self.outgoing.is_subscription()
    }

    /// A binary frame.
    pub(super) fn media(&self, bytes: Vec<u8>) -> Event {
        let media = Media::bytes(self.media_type.as_str(), bytes);
        if self.is_subscription() {
            let name = self.outgoing.affordance.name().to_owned();
            return Event::Notification(Notification { name, data: Value::Null, media: Some(media) });
        }
        Event::Media(Part::of_media(media))
    }

    /// Returns the events of a message. Empty if the message doesn't belong to this call.
    pub(super) fn read(&mut self, text: &str, target: &str) -> Result<Vec<Event>> {
        let wrong = |reason: String| Error::Protocol { url: target.to_owned(), binding: NAME, reason };
        let message: Value =
            serde_json::from_str(text).map_err(|error| wrong(format!("a message is not JSON: {error}")))?;
        // Documents of the protocol write both.
        let member = |names: [&str; 2]| names.iter().find_map(|name| message.get(*name)?.as_str());
        let kind = message.get("messageType").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| wrong("a message has no messageType".to_owned()))?;
        let is_ours = member(["correlationID", "correlationId"]).is_none_or(|id| self.outgoing.is_referred_to(id))
            && member(["thingID", "thingId"]).is_none_or(|thing| thing == self.outgoing.thing);
        if !is_ours {
            return Ok(Vec::new());
        }
        let data = |name: &str| message.get(name).cloned().unwrap_or_default();
        let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind {
            "actionStatus" => {
                let is_status = matches!(self.outgoing.kind, "queryAction" | "cancelAction");
                let task = Some(self.outgoing.correlation.as_str());
                action_status::events(&message, &Asked { binding: NAME, target, task, is_status }, &mut self.pieces)
            }
            "propertyReading" => Ok(self.reading(text("name"), data("value"))),
            "propertyReadings" => {
                let readings = data("data");
                let own = readings.get(self.outgoing.affordance.name()).cloned();
                Ok(self.reading(self.outgoing.affordance.name().to_owned(), own.unwrap_or(readings)))
            }
            "event" => {
                Ok(vec![Event::Notification(Notification { name: text("event"), data: data("data"), media: None })])
            }
            "error" => Err(refusal(&message)),
            // Requests of the other side, and what later versions may add.
            _ => Ok(Vec::new()),
        }
    }

    fn reading(&self, name: String, value: Value) -> Vec<Event> {
        match self.is_subscription() {
            true => vec![Event::Notification(Notification { name, data: value, media: None })],
            false => Reply::data(value).events(),
        }
    }
}

/// An error of the agent, whose members are those of a problem document.
fn refusal(message: &Value) -> Error {
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    let code = message.get("status").and_then(|status| status.as_i64().or_else(|| status.as_str()?.parse().ok()));
    let said: Vec<&str> = [text("title"), text("detail")].into_iter().flatten().collect();
    Error::Agent { code: code.unwrap_or_default(), message: said.join(": "), data: Some(Box::new(message.clone())) }
}
