//! Messages and their parts (sections 3.3 to 3.5), and the sources cited in them (section 3.7).

use serde::Serialize;
use serde_json::{Map, Value};

use super::strict::{Strict, mismatch, object, words};
use crate::{shape::Findings, td::internal::Path};

object! {
    /// A message (section 3.3).
    Message = "a Message object" {
        /// Id of the message, unique within its session.
        id: String = "id",
        /// Role of the sender.
        role: Role = "role",
        /// Parts of the message.
        content: Content = "content",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

words! {
    /// The sender of a message (section 3.3).
    Role {
        /// The user.
        User = "user",
        /// The agent.
        Agent = "agent",
        /// The system, such as its guardrails.
        System = "system",
    }
}

/// The content of a message: one or more parts (sections 3.3 and 3.6).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Content(Vec<Part>);

impl Content {
    /// Returns the parts.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Returns the text of all text parts, each on a separate line.
    pub fn text(&self) -> String {
        let texts = self.0.iter().filter_map(|part| match part {
            Part::Text(part) => Some(part.text.as_str()),
            Part::File(_) | Part::Data(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Strict for Content {
    const NOUN: &'static str = "an array with at least one part";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Content> {
        let parts = Vec::read_at(value, at, faults)?;
        if parts.is_empty() {
            faults.add(at, "member-value", || format!("the message has no parts; expected {}", Self::NOUN));
            return None;
        }
        Some(Content(parts))
    }
}

/// A part of a message (section 3.4).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// Text.
    Text(TextPart),
    /// A file.
    File(FilePart),
    /// Data.
    Data(DataPart),
}

words! {
    /// The kind of a part of a message (section 3.4).
    PartKind {
        /// Text.
        Text = "text",
        /// A file.
        File = "file",
        /// Data.
        Data = "data",
    }
}

impl Strict for Part {
    const NOUN: &'static str = "a TextPart, FilePart or DataPart object";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Part> {
        match kind_of(value, Self::NOUN, at, faults)? {
            PartKind::Text => TextPart::read_at(value, at, faults).map(Part::Text),
            PartKind::File => FilePart::read_at(value, at, faults).map(Part::File),
            PartKind::Data => DataPart::read_at(value, at, faults).map(Part::Data),
        }
    }
}

/// Reads the `kind` of a member of a union.
fn kind_of<K: Strict>(value: &Value, noun: &str, at: &Path<'_>, faults: &mut Findings) -> Option<K> {
    let Some(object) = value.as_object() else {
        mismatch(value, noun, at, faults);
        return None;
    };
    super::strict::member(object, "kind", at, faults)
}

words! {
    /// The `kind` of a [`TextPart`].
    TextKind {
        /// The only value.
        Text = "text",
    }
}

words! {
    /// The `kind` of a [`FilePart`] and of a [`FileSource`].
    FileKind {
        /// The only value.
        File = "file",
    }
}

words! {
    /// The `kind` of a [`DataPart`].
    DataKind {
        /// The only value.
        Data = "data",
    }
}

words! {
    /// The `kind` of a [`SiteSource`].
    SiteKind {
        /// The only value.
        Site = "site",
    }
}

object! {
    /// Text (section 3.4.1).
    TextPart = "a TextPart object" {
        /// Always `text`.
        kind: TextKind = "kind",
        /// The text.
        text: String = "text",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A file (section 3.4.2).
    FilePart = "a FilePart object" {
        /// Always `file`.
        kind: FileKind = "kind",
        /// The file.
        file: File = "file",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// Data (section 3.4.3).
    DataPart = "a DataPart object" {
        /// Always `data`.
        kind: DataKind = "kind",
        /// The data.
        data: Data = "data",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

/// The data of a [`DataPart`]: an object or an array.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Data(Value);

impl Data {
    /// Returns the data.
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl Strict for Data {
    const NOUN: &'static str = "an object or an array";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Data> {
        if matches!(value, Value::Object(_) | Value::Array(_)) {
            return Some(Data(value.clone()));
        }
        mismatch(value, Self::NOUN, at, faults);
        None
    }
}

/// A file: its bytes, or its location (section 3.5).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum File {
    /// The file's bytes.
    Bytes(FileWithBytes),
    /// The file's URI.
    Uri(FileWithUri),
}

impl Strict for File {
    const NOUN: &'static str = "an object with `bytes` or `uri`";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<File> {
        let has = |name: &str| value.get(name).is_some_and(|value| !value.is_null());
        match (has("bytes"), has("uri")) {
            (true, true) => {
                faults.add(at, "member-value", || "both `bytes` and `uri` are given; remove one of them".into());
                None
            }
            (true, false) => FileWithBytes::read_at(value, at, faults).map(File::Bytes),
            (false, true) => FileWithUri::read_at(value, at, faults).map(File::Uri),
            (false, false) if value.is_object() => {
                faults.add(at, "member-missing", || "`bytes` or `uri` is missing; add one of them".into());
                None
            }
            (false, false) => {
                mismatch(value, Self::NOUN, at, faults);
                None
            }
        }
    }
}

object! {
    /// A file with its bytes (section 3.5.1).
    FileWithBytes = "a FileWithBytes object" {
        /// Name of the file.
        name: Option<String> = "name",
        /// Media type of the file.
        mime_type: Option<String> = "mimeType",
        /// Content of the file.
        bytes: Base64 = "bytes",
    }
}

object! {
    /// A file referenced by its URI (section 3.5.2).
    FileWithUri = "a FileWithUri object" {
        /// Name of the file.
        name: Option<String> = "name",
        /// Media type of the file.
        mime_type: Option<String> = "mimeType",
        /// URI of the file.
        uri: String = "uri",
    }
}

/// Bytes in Base64, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Base64(String);

impl Base64 {
    /// Returns the Base64 text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Strict for Base64 {
    const NOUN: &'static str = "bytes in base64";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Base64> {
        let Some(text) = value.as_str() else {
            mismatch(value, Self::NOUN, at, faults);
            return None;
        };
        let digits = text.trim_end_matches('=');
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
        // Padding fills groups of four, or is left out.
        let is_whole = if digits.len() == text.len() { digits.len() % 4 != 1 } else { text.len().is_multiple_of(4) };
        if text.len() - digits.len() <= 2 && is_whole && digits.bytes().all(is_digit) {
            return Some(Base64(text.to_owned()));
        }
        faults.add(at, "member-value", || format!("the text is not base64; expected {}", Self::NOUN));
        None
    }
}

/// A source cited in an answer (section 3.7).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Source {
    /// A file.
    File(FileSource),
    /// A website.
    Site(SiteSource),
}

words! {
    /// The kind of a source (section 3.7).
    SourceKind {
        /// A file.
        File = "file",
        /// A website.
        Site = "site",
    }
}

impl Strict for Source {
    const NOUN: &'static str = "a FileSource or SiteSource object";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Source> {
        match kind_of(value, Self::NOUN, at, faults)? {
            SourceKind::File => FileSource::read_at(value, at, faults).map(Source::File),
            SourceKind::Site => SiteSource::read_at(value, at, faults).map(Source::Site),
        }
    }
}

object! {
    /// A file cited in an answer (section 3.7.1).
    FileSource = "a FileSource object" {
        /// Always `file`.
        kind: FileKind = "kind",
        /// Id of the file. For a resource of the agent, it is the id of that resource.
        id: String = "id",
        /// Name of the file.
        name: String = "name",
        /// URL of the file.
        url: Option<String> = "url",
    }
}

object! {
    /// A website cited in an answer (section 3.7.2).
    SiteSource = "a SiteSource object" {
        /// Always `site`.
        kind: SiteKind = "kind",
        /// URL of the website.
        url: String = "url",
    }
}
