//! Messages between callers and agents, consisting of parts.

use std::{borrow::Cow, fmt, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

/// A message from the caller or the agent, consisting of parts.
///
/// ```
/// use agentdex_consumer::{Media, Message, Part};
///
/// let plain = Message::from("Will it rain in Bonn?");
/// let logo = Media::url("https://example.com/logo.png");
/// let several = Message::from(("What company is this logo from?", Part::Image(logo)));
/// assert_eq!((plain.parts.len(), several.parts.len()), (1, 2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Sender of the message.
    #[serde(default)]
    pub role: Role,
    /// Parts, in order.
    pub parts: Vec<Part>,
    /// Id of the message, if the protocol assigns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Sender of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The caller.
    #[default]
    User,
    /// The agent.
    Agent,
}

/// Part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image(Media),
    /// An audio recording.
    Audio(Media),
    /// A document.
    Document(Media),
    /// A video.
    Video(Media),
    /// Content of any other type.
    Binary(Media),
    /// Structured data.
    Data {
        /// The JSON value.
        data: Value,
    },
    /// Instructions for the agent's behavior, sent by the caller along with a message.
    SystemPrompt {
        /// The text.
        text: String,
    },
    /// A tool call by the agent.
    ToolCall(ToolCall),
    /// Result of a tool, sent by the caller along with a message, or reported by the agent.
    ToolResult(ToolResult),
    /// The agent's reasoning before its answer.
    Thinking {
        /// The text.
        text: String,
    },
    /// A separate result of the agent.
    Artifact(Artifact),
}

/// Content, given by its URL or as bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// URL or bytes of the content.
    #[serde(flatten)]
    pub content: Content,
    /// Media type of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// File name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// URL or bytes of some content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// URL from which the recipient fetches the content.
    Url(String),
    /// The bytes; Base64-encoded in JSON.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    Bytes(Vec<u8>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Url(url) => f.debug_tuple("Url").field(url).finish(),
            Content::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id of the call, repeated in the tool's result.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Input of the tool.
    #[serde(default)]
    pub arguments: Value,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the tool call.
    pub id: String,
    /// Name of the tool, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Output of the tool.
    #[serde(default)]
    pub result: Value,
}

/// Result of an agent, such as a document, an image, or a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// Id of the artifact.
    pub id: String,
    /// Name of the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Content, in order.
    pub parts: Vec<Part>,
    /// In a stream, true if the parts are appended to the previous parts of the artifact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
}

impl Message {
    /// Creates a message from the caller.
    pub fn user(parts: impl IntoIterator<Item = Part>) -> Message {
        Message { role: Role::User, parts: parts.into_iter().collect(), id: None }
    }

    /// Creates a message from an agent.
    pub fn agent(parts: impl IntoIterator<Item = Part>) -> Message {
        Message { role: Role::Agent, ..Message::user(parts) }
    }

    /// Returns the text of the text parts and artifacts, each on a separate line. The text parts of an artifact are
    /// concatenated, so that streamed and complete artifacts have the same text.
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.parts.iter().filter_map(text_of).collect();
        texts.join("\n")
    }

    /// Returns the first structured data, including data in artifacts.
    pub fn data(&self) -> Option<&Value> {
        self.all_data().next()
    }

    /// Returns all structured data in order, including data in artifacts.
    pub fn all_data(&self) -> impl Iterator<Item = &Value> {
        let mut found = Vec::new();
        collect_data(&self.parts, &mut found);
        found.into_iter()
    }

    /// True if it has no parts.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl fmt::Display for Message {
    /// The text; of a message without text, its data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        match self.data() {
            Some(data) if text.is_empty() => write!(f, "{data}"),
            _ => f.write_str(&text),
        }
    }
}

/// Returns the text of a part, or `None` if it contains no text.
fn text_of(part: &Part) -> Option<Cow<'_, str>> {
    match part {
        Part::Text { text } => Some(text.into()),
        Part::Artifact(artifact) => {
            let texts: Vec<_> = artifact.parts.iter().filter_map(text_of).collect();
            (!texts.is_empty()).then(|| texts.concat().into())
        }
        _ => None,
    }
}

fn collect_data<'p>(parts: &'p [Part], found: &mut Vec<&'p Value>) {
    for part in parts {
        match part {
            Part::Data { data } => found.push(data),
            Part::Artifact(artifact) => collect_data(&artifact.parts, found),
            _ => {}
        }
    }
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Part {
        Part::Text { text: text.into() }
    }

    /// Creates a part with instructions for the agent's behavior.
    pub fn system(text: impl Into<String>) -> Part {
        Part::SystemPrompt { text: text.into() }
    }

    /// Creates a part with structured data.
    pub fn data(data: impl Into<Value>) -> Part {
        Part::Data { data: data.into() }
    }

    /// Creates a part from content: an image, audio, a video, a document, or binary content, depending on the media
    /// type.
    pub fn of_media(media: Media) -> Part {
        let kind = media.media_type.as_deref().unwrap_or_default();
        match kind.split('/').next().unwrap_or_default() {
            "image" => Part::Image(media),
            "audio" => Part::Audio(media),
            "video" => Part::Video(media),
            "text" => Part::Document(media),
            _ if kind == "application/pdf" || kind.contains("document") => Part::Document(media),
            _ => Part::Binary(media),
        }
    }

    /// Returns the content of an image, audio, video, document, or binary part.
    pub fn media(&self) -> Option<&Media> {
        match self {
            Part::Image(media)
            | Part::Audio(media)
            | Part::Document(media)
            | Part::Video(media)
            | Part::Binary(media) => Some(media),
            _ => None,
        }
    }
}

impl Media {
    /// Creates content from a URL. The file name and the media type are derived from the path of the URL.
    pub fn url(url: impl Into<String>) -> Media {
        let url = url.into();
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().filter(|name| name.contains('.')).map(str::to_owned);
        let media_type = name.as_deref().and_then(media_type_of).map(str::to_owned);
        Media { content: Content::Url(url), media_type, name }
    }

    /// Creates content from bytes and their media type.
    pub fn bytes(media_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Media {
        Media { content: Content::Bytes(bytes.into()), media_type: Some(media_type.into()), name: None }
    }

    /// Returns the content as text, if it is given as bytes of a textual media type.
    pub fn text(&self) -> Option<&str> {
        let Content::Bytes(bytes) = &self.content else { return None };
        let kind = self.media_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let is_text = kind.starts_with("text/")
            || ["json", "xml", "yaml"].iter().any(|syntax| {
                kind.strip_suffix(syntax).is_some_and(|start| start == "application/" || start.ends_with('+'))
            });
        str::from_utf8(bytes).ok().filter(|_| is_text)
    }

    /// Reads a file. The media type is derived from the file name extension.
    ///
    /// # Errors
    /// I/O errors of reading the file.
    pub fn read(path: &Path) -> std::io::Result<Media> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let media_type = name.as_deref().and_then(media_type_of).unwrap_or("application/octet-stream");
        Ok(Media { name: name.clone(), ..Media::bytes(media_type, std::fs::read(path)?) })
    }
}

/// The media type of a file by the ending of its name.
fn media_type_of(name: &str) -> Option<&'static str> {
    let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match ending.as_str() {
        "txt" | "md" | "log" => "text/plain",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" | "opus" => "audio/ogg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => return None,
    })
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::text(text)
    }
}

impl From<Value> for Part {
    fn from(data: Value) -> Part {
        Part::Data { data }
    }
}

impl From<ToolResult> for Part {
    fn from(result: ToolResult) -> Part {
        Part::ToolResult(result)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Message::user([Part::from(text)])
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::user([Part::from(text)])
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Message {
        Message::user([Part::from(text.as_str())])
    }
}

impl From<Value> for Message {
    fn from(data: Value) -> Message {
        Message::user([Part::from(data)])
    }
}

impl From<Part> for Message {
    fn from(part: Part) -> Message {
        Message::user([part])
    }
}

impl From<Vec<Part>> for Message {
    fn from(parts: Vec<Part>) -> Message {
        Message::user(parts)
    }
}

impl<A: Into<Part>, B: Into<Part>> From<(A, B)> for Message {
    fn from((first, second): (A, B)) -> Message {
        Message::user([first.into(), second.into()])
    }
}

impl<A: Into<Part>, B: Into<Part>, C: Into<Part>> From<(A, B, C)> for Message {
    fn from((first, second, third): (A, B, C)) -> Message {
        Message::user([first.into(), second.into(), third.into()])
    }
}

fn write_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    BASE64_STANDARD.decode(text).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_part_is_stored_and_restored() {
        let call = ToolCall { id: "1".into(), name: "search".into(), arguments: json!({"q": "x"}) };
        let result = ToolResult { id: "1".into(), name: None, result: json!([1]) };
        let parts = vec![
            Part::text("a"),
            Part::Image(Media::url("https://a.example/x.png?k=1")),
            Part::Audio(Media::bytes("audio/wav", [0, 255])),
            Part::data(json!({"a": 1})),
            Part::system("s"),
            Part::ToolCall(call),
            Part::ToolResult(result),
            Part::Thinking { text: "t".into() },
            Part::Artifact(Artifact { id: "i".into(), parts: vec![Part::text("b")], ..Artifact::default() }),
        ];
        let message = Message::user(parts);
        let stored = serde_json::to_value(&message).unwrap();
        assert_eq!(
            stored["parts"][1],
            json!({"kind": "image", "url": "https://a.example/x.png?k=1", "mediaType": "image/png", "name": "x.png"})
        );
        assert_eq!(stored["parts"][2]["bytes"], "AP8=");
        assert_eq!(serde_json::from_value::<Message>(stored).unwrap(), message);
        assert_eq!(message.text(), "a\nb");
    }
}
