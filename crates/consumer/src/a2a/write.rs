//! Serialization of messages in both versions of the protocol.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    super::{Artifact, Content, Continuation, Media, Message, Part},
    endpoint::Endpoint,
};

/// Key in a message's metadata under which the JSON Schema for the answer is sent.
pub const SCHEMA_METADATA: &str = "urn:agentdex:response-schema";

/// The JSON form of messages and parts, by version and transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// 0.3 over JSON-RPC.
    Kinds,
    /// 0.3 over HTTP+JSON: the JSON form of its protocol buffers.
    OldProtocolBuffers,
    /// 1.0
    ProtocolBuffers,
}

/// Returns the parameters for sending a message.
pub(super) fn parameters(
    endpoint: &Endpoint,
    message: &Message,
    continuation: &Continuation,
    schema: Option<&Value>,
) -> Value {
    let spelling = match (endpoint.is_v1, endpoint.is_rpc) {
        (true, _) => Spelling::ProtocolBuffers,
        (false, true) => Spelling::Kinds,
        (false, false) => Spelling::OldProtocolBuffers,
    };
    let mut written = Map::new();
    let mut put = |name: &str, value: Value| written.insert(name.to_owned(), value);
    if spelling == Spelling::Kinds {
        put("kind", "message".into());
    }
    put("role", if spelling == Spelling::Kinds { "user" } else { "ROLE_USER" }.into());
    put("messageId", message.id.clone().unwrap_or_else(|| Uuid::new_v4().to_string()).into());
    let parts: Vec<Value> = message.parts.iter().flat_map(|part| written_part(part, spelling)).collect();
    put(if spelling == Spelling::OldProtocolBuffers { "content" } else { "parts" }, parts.into());
    for (name, id) in [("contextId", &continuation.context), ("taskId", &continuation.task)] {
        if let Some(id) = id {
            put(name, id.as_str().into());
        }
    }
    let mut configuration = Map::new();
    if let Some(schema) = schema {
        put("metadata", json!({SCHEMA_METADATA: schema}));
        configuration.insert("acceptedOutputModes".into(), json!(["application/json", "text/plain"]));
    }
    if !endpoint.is_v1 {
        // In 1.0 that is the default.
        configuration.insert("blocking".into(), true.into());
    }
    let mut parameters = json!({"message": written});
    if !configuration.is_empty() {
        parameters["configuration"] = configuration.into();
    }
    parameters
}

fn written_part(part: &Part, spelling: Spelling) -> Vec<Value> {
    let text = |text: &str| match spelling {
        Spelling::Kinds => json!({"kind": "text", "text": text}),
        _ => json!({"text": text}),
    };
    let data = |data: &Value| match spelling {
        Spelling::Kinds => json!({"kind": "data", "data": object(data)}),
        Spelling::OldProtocolBuffers => json!({"data": {"data": object(data)}}),
        Spelling::ProtocolBuffers => json!({"data": data}),
    };
    match part {
        Part::Text { text: own } | Part::SystemPrompt { text: own } | Part::Thinking { text: own } => vec![text(own)],
        Part::Data { data: own } => vec![data(own)],
        Part::ToolCall(call) => vec![data(&json!({"toolCall": call}))],
        Part::ToolResult(result) => vec![data(&json!({"toolResult": result}))],
        Part::Artifact(Artifact { parts, .. }) => parts.iter().flat_map(|part| written_part(part, spelling)).collect(),
        Part::Image(media) | Part::Audio(media) | Part::Document(media) | Part::Video(media) | Part::Binary(media) => {
            vec![file(media, spelling)]
        }
    }
}

/// Data of 0.3 are objects.
fn object(data: &Value) -> Value {
    if data.is_object() { data.clone() } else { json!({"value": data}) }
}

fn file(media: &Media, spelling: Spelling) -> Value {
    let (url, bytes, media_type, name) = match spelling {
        Spelling::Kinds => ("uri", "bytes", "mimeType", "name"),
        Spelling::OldProtocolBuffers => ("fileWithUri", "fileWithBytes", "mimeType", "name"),
        Spelling::ProtocolBuffers => ("url", "raw", "mediaType", "filename"),
    };
    let mut file = Map::new();
    match &media.content {
        Content::Url(own) => file.insert(url.into(), own.as_str().into()),
        Content::Bytes(own) => {
            let text = BASE64_STANDARD.encode(own);
            // The SDK of 0.3 puts the text of its own type into the bytes of the protocol buffer, whose JSON form
            // encodes them again, and refuses other bytes.
            let text = if spelling == Spelling::OldProtocolBuffers { BASE64_STANDARD.encode(text) } else { text };
            file.insert(bytes.into(), text.into())
        }
    };
    for (member, value) in [(media_type, &media.media_type), (name, &media.name)] {
        if let Some(value) = value {
            file.insert(member.into(), value.as_str().into());
        }
    }
    match spelling {
        Spelling::Kinds => json!({"kind": "file", "file": file}),
        Spelling::OldProtocolBuffers => json!({"file": file}),
        Spelling::ProtocolBuffers => file.into(),
    }
}
