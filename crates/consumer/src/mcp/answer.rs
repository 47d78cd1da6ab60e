//! Conversion of tool results to replies, and of MCP failures to errors.

use std::{error::Error as StdError, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ResourceContents},
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::{AuthRequiredError, HttpStatusError, StreamableHttpError},
};
use serde_json::{Map, Value};

use super::super::{Error, Media, Message, Part, Reply, Result, State, error::NoConnection};
use crate::{fetch, td::BoxError};

/// The name of the binding, and the subprotocol of its forms.
pub(super) const NAME: &str = "mcp";

/// Converts the result of a tool to a reply. `output` is the name of the tool's only output in the description;
/// servers wrap a value other than an object in a member `result`.
pub(super) fn reply(result: CallToolResult, output: Option<&str>) -> Result<Reply> {
    // Structured content stands in the text as well, for clients that don't know it.
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let repeated =
        result.structured_content.as_ref().and_then(|structured| repeated(structured, &texts.collect::<Vec<_>>()));
    let is_repeated = repeated.is_some();
    // What a tool without a schema of its output returns, servers send as its JSON text.
    let is_only = result.content.len() == 1 && result.structured_content.is_none() && result.is_error != Some(true);
    let mut parts = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(_) if is_repeated => {}
            ContentBlock::Text(text) if is_only => parts.push(object(text.text)),
            ContentBlock::Text(text) => parts.push(Part::text(text.text)),
            ContentBlock::Image(image) => parts.push(Part::Image(bytes(&image.mime_type, &image.data)?)),
            ContentBlock::Audio(audio) => parts.push(Part::Audio(bytes(&audio.mime_type, &audio.data)?)),
            ContentBlock::Resource(embedded) => parts.push(resource(embedded.resource)?),
            ContentBlock::ResourceLink(link) => {
                let media = Media::url(link.uri.clone());
                let media_type = link.mime_type.clone().or(media.media_type.clone());
                parts.push(Part::of_media(Media { media_type, ..media }));
            }
            // Of a later version of the protocol.
            other => parts.extend(serde_json::to_value(other).ok().map(|data| Part::Data { data })),
        }
    }
    if result.is_error == Some(true) {
        let message = Message::agent(parts).text();
        let data = result.structured_content.filter(|_| repeated.is_none()).map(Box::new);
        return Err(Error::Failed { state: State::Failed, message, data });
    }
    parts.extend(match repeated {
        Some(Value::String(text)) => Some(Part::text(text)),
        Some(data) => Some(Part::Data { data }),
        None => result.structured_content.map(|data| Part::Data { data: named(data, output) }),
    });
    Ok(Reply::message(Message::agent(parts)))
}

/// Returns the value of structured content whose text only repeats it: the content itself, or its only member
/// `result`, in which servers wrap values other than objects.
fn repeated(structured: &Value, texts: &[&str]) -> Option<Value> {
    let is_text_of = |text: &str, value: &Value| match value {
        Value::String(known) => known == text,
        value => serde_json::from_str::<Value>(text).is_ok_and(|read| is_same(&read, value)),
    };
    if let [text] = texts
        && is_text_of(text, structured)
    {
        return Some(structured.clone());
    }
    let members = structured.as_object().filter(|members| members.len() == 1)?;
    let value = members.get("result")?;
    let is_repeated = match (texts, value) {
        ([], Value::Null) => true,
        ([text], value) if is_text_of(text, value) => true,
        (texts, Value::Array(elements)) if elements.len() == texts.len() => {
            texts.iter().zip(elements).all(|(text, element)| is_text_of(text, element))
        }
        _ => false,
    };
    is_repeated.then(|| value.clone())
}

/// True if two values are equal, `3` and `3.0` included.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

/// Converts a text with a JSON object to data.
fn object(text: String) -> Part {
    match text.trim_start().starts_with('{').then(|| serde_json::from_str(&text)) {
        Some(Ok(data)) => Part::Data { data },
        _ => Part::text(text),
    }
}

fn named(data: Value, output: Option<&str>) -> Value {
    match (data, output) {
        (Value::Object(mut members), Some(output)) if members.len() == 1 => match members.remove("result") {
            Some(value) => Map::from_iter([(output.to_owned(), value)]).into(),
            None => members.into(),
        },
        (data, _) => data,
    }
}

fn resource(contents: ResourceContents) -> Result<Part> {
    Ok(match contents {
        ResourceContents::TextResourceContents { mime_type, text, .. } => {
            Part::Document(Media::bytes(mime_type.unwrap_or_else(|| "text/plain".to_owned()), text))
        }
        ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
            Part::of_media(bytes(mime_type.as_deref().unwrap_or("application/octet-stream"), &blob)?)
        }
        other => Part::Data { data: serde_json::to_value(other).unwrap_or_default() },
    })
}

fn bytes(media_type: &str, base64: &str) -> Result<Media> {
    let decoded = BASE64_STANDARD.decode(base64);
    let decoded =
        decoded.map_err(|error| protocol("the server", format!("its {media_type} content is not Base64: {error}")))?;
    Ok(Media::bytes(media_type, decoded))
}

/// Why a call failed.
pub(super) fn failure(target: &str, error: ServiceError) -> Error {
    match error {
        ServiceError::McpError(error) => refused(error),
        ServiceError::TransportSend(error) => unsent(target, error.error),
        ServiceError::TransportClosed => Error::Interrupted {
            url: fetch::shown(target),
            reason: "the connection was closed before the result arrived".into(),
        },
        error => protocol(target, error.to_string()),
    }
}

/// Why there is no connection.
pub(super) fn refusal(target: &str, error: ClientInitializeError) -> Error {
    match error {
        ClientInitializeError::JsonRpcError(error) => refused(error),
        ClientInitializeError::TransportError { error, .. } => unsent(target, error.error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refusal(target, *fallback),
        ClientInitializeError::ConnectionClosed(reason) => {
            Error::Unreachable { url: fetch::shown(target), reason, source: None }
        }
        error => protocol(target, error.to_string()),
    }
}

fn refused(error: ErrorData) -> Error {
    Error::Agent { code: error.code.0.into(), message: error.message.into_owned(), data: error.data.map(Box::new) }
}

pub(super) fn protocol(target: &str, reason: String) -> Error {
    let reason: String = reason.chars().filter(|character| !character.is_control()).take(300).collect();
    Error::Protocol { url: fetch::shown(target), binding: NAME, reason }
}

/// Determines from the source of the error why a request was not sent or not answered.
fn unsent(target: &str, error: BoxError) -> Error {
    let error = match error.downcast() {
        Ok(own) => return *own,
        Err(error) => error,
    };
    let url = fetch::shown(target);
    let mut next: Option<&(dyn StdError + 'static)> = Some(error.as_ref());
    while let Some(error) = next {
        if let Some(StreamableHttpError::<reqwest::Error>::ResponseBodyTooLarge { max_size }) = error.downcast_ref() {
            return Error::AnswerTooLarge { url, limit: *max_size };
        }
        if let Some(failed) = error.downcast_ref::<HttpStatusError>() {
            let retry_after = failed.retry_after.as_deref().and_then(|text| text.trim().parse().ok());
            let retry_after = retry_after.map(Duration::from_secs);
            return Error::Status { url, status: failed.status, detail: None, retry_after };
        }
        if error.downcast_ref::<AuthRequiredError>().is_some() {
            return Error::Status { url, status: 401, detail: None, retry_after: None };
        }
        if let Some(failed) = error.downcast_ref::<std::io::Error>() {
            return Error::Interrupted { url, reason: failed.to_string() };
        }
        let client = match error.downcast_ref() {
            Some(StreamableHttpError::<reqwest::Error>::Client(failed)) => Some(failed),
            _ => error.downcast_ref::<reqwest::Error>(),
        };
        if let Some(failed) = client {
            if let Some(reason) = fetch::refusal(failed) {
                return Error::Refused { url, reason };
            }
            if let Some(status) = failed.status() {
                return Error::Status { url, status: status.as_u16(), detail: None, retry_after: None };
            }
            let source = failed.is_connect().then(|| NoConnection.into());
            return Error::Unreachable { url, reason: innermost(failed), source };
        }
        next = error.source();
    }
    protocol(target, error.to_string())
}

fn innermost(error: &dyn StdError) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use rmcp::model::ContentBlock;
    use serde_json::json;

    use super::*;

    fn parts(texts: &[&str], structured: Value, output: Option<&str>) -> Vec<Part> {
        let content = texts.iter().map(|text| ContentBlock::text(*text)).collect();
        let mut result = CallToolResult::success(content);
        result.structured_content = Some(structured);
        reply(result, output).unwrap().message.parts
    }

    #[test]
    fn structured_content_that_repeats_the_text_is_one_value() {
        for (texts, structured, expected) in [
            (&["You said: x"][..], json!({"result": "You said: x"}), Part::text("You said: x")),
            (&["3"], json!({"result": 3}), Part::data(3)),
            (&["3.0"], json!({"result": 3}), Part::data(3)),
            (&["Ada", "Bob"], json!({"result": ["Ada", "Bob"]}), Part::data(json!(["Ada", "Bob"]))),
            (&["[\"Ada\"]"], json!({"result": ["Ada"]}), Part::data(json!(["Ada"]))),
            (&["{\n  \"a\": 1\n}"], json!({"a": 1}), Part::data(json!({"a": 1}))),
        ] {
            assert_eq!(parts(texts, structured, Some("answer")), [expected]);
        }
        assert_eq!(
            parts(&["A picture."], json!({"result": 3}), Some("answer")),
            [Part::text("A picture."), Part::data(json!({"answer": 3}))]
        );
    }
}
