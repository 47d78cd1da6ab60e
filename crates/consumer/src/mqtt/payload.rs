//! Payloads of published requests and of received messages.

use rumqttc::v5::mqttbytes::v5::Publish;
use serde_json::Value;

use super::{
    super::{
        Affordance, Call, Content, Error, Event, Media, Notification, Part, Reply, Request, Result,
        action_status::{self, Asked, Pieces},
        charset::charset,
    },
    broker::NAME,
};

/// The payload of a request, and its media type.
pub(super) fn of(call: &Call) -> Result<(Vec<u8>, String)> {
    if let Request::Invoke { parts, .. } = &call.request
        && let [part] = parts.as_slice()
        && let Some(Media { content: Content::Bytes(bytes), media_type, .. }) = part.media()
    {
        let media_type = media_type.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
        return Ok((bytes.clone(), media_type));
    }
    if matches!(&call.request, Request::Invoke { parts, .. } if !parts.is_empty()) {
        return Err(Error::Unsupported {
            what: "several binary parts, or a part referenced by URL, in one MQTT message".into(),
        });
    }
    let content_type = call.form.content_type().to_owned();
    let payload = match call.request.data() {
        None => Vec::new(),
        Some(Value::String(text)) if content_type.starts_with("text/") => text.clone().into_bytes(),
        Some(data) => data.to_string().into_bytes(),
    };
    Ok((payload, content_type))
}

/// Reads the messages of a call.
pub(super) struct Reader {
    name: String,
    is_subscription: bool,
    is_action: bool,
    /// Media type of messages without a declared type.
    content_type: String,
    pieces: Pieces,
}

impl Reader {
    pub(super) fn of(call: &Call) -> Reader {
        let response = call.form.members.get("response").and_then(|response| response.get("contentType")?.as_str());
        Reader {
            name: call.form.affordance.name().to_owned(),
            is_subscription: matches!(call.request, Request::Subscribe { .. }),
            is_action: matches!(call.form.affordance, Affordance::Action(_)),
            content_type: response.unwrap_or_else(|| call.form.content_type()).to_owned(),
            pieces: Pieces::default(),
        }
    }

    /// The events of a message.
    pub(super) fn read(&mut self, message: &Publish, target: &str) -> Result<Vec<Event>> {
        let said = message.properties.as_ref().and_then(|properties| properties.content_type.as_deref());
        let content = self.content(said.unwrap_or(&self.content_type), &message.payload, target)?;
        if self.is_subscription {
            let (data, media) = match content {
                Ok(data) => (data, None),
                Err(media) => (Value::Null, Some(media)),
            };
            return Ok(vec![Event::Notification(Notification { name: self.name.clone(), data, media })]);
        }
        Ok(match content {
            Ok(status) if self.is_action && status.get("messageType").is_some_and(|kind| kind == "actionStatus") => {
                let asked = Asked { binding: NAME, target, task: None, is_status: false };
                action_status::events(&status, &asked, &mut self.pieces)?
            }
            Ok(data) => Reply::data(data).events(),
            Err(media) => {
                let message = super::super::Message::agent([Part::of_media(media)]);
                Reply::message(message).events()
            }
        })
    }

    /// JSON or text as data, anything else as media.
    fn content(&self, content_type: &str, payload: &[u8], target: &str) -> Result<std::result::Result<Value, Media>> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let wrong = |reason: String| Error::Protocol { url: target.to_owned(), binding: NAME, reason };
        if payload.is_empty() {
            return Ok(Ok(Value::Null));
        }
        if media_type == "application/json" || media_type.ends_with("+json") {
            let data = serde_json::from_slice(payload);
            return data
                .map(Ok)
                .map_err(|error| wrong(format!("a message is declared as JSON, but is not valid JSON: {error}")));
        }
        if let Some(charset) = charset(content_type).filter(|_| media_type.starts_with("text/")) {
            return Ok(Ok(charset.decode(payload).0.into()));
        }
        if media_type.starts_with("text/") {
            let text = std::str::from_utf8(payload);
            return text
                .map(|text| Ok(text.into()))
                .map_err(|_| wrong("a message is declared as text, but is not valid UTF-8".to_owned()));
        }
        Ok(Err(Media::bytes(media_type, payload)))
    }
}
