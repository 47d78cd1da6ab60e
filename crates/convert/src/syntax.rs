//! `Syntax`: JSON or YAML.

use std::borrow::Cow;

use super::{MAX_SOURCE_BYTES, signs, yaml};
use crate::{Error, Result, td};

/// The syntax of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2, as far as it has a JSON form.
    Yaml,
}

impl Syntax {
    /// Returns the syntax for a file name extension, regardless of case: `.json`, `.yaml`, or `.yml`.
    pub fn of_file_name(name: &str) -> Option<Syntax> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "json" => Some(Syntax::Json),
            "yaml" | "yml" => Some(Syntax::Yaml),
            _ => None,
        }
    }

    /// Returns the media type of exported documents in this syntax.
    pub fn media_type(self) -> &'static str {
        match self {
            Syntax::Json => "application/json",
            Syntax::Yaml => "application/yaml",
        }
    }

    /// Converts a document to JSON text. JSON is returned unchanged except for a byte order mark; it isn't checked, and
    /// may be malformed. Converted YAML is always well-formed.
    ///
    /// ```
    /// # if !cfg!(feature = "yaml") { return Ok(()); }
    /// use agentdex_convert::Syntax;
    ///
    /// assert_eq!(Syntax::Yaml.to_json(b"name: Weather\ntools: []\n")?, r#"{"name":"Weather","tools":[]}"#);
    /// assert_eq!(Syntax::Json.to_json(b"{\"a\": 1.50}")?, "{\"a\": 1.50}");
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DocumentTooLarge`] beyond [`MAX_SOURCE_BYTES`], [`Error::MalformedJson`] or [`Error::MalformedYaml`];
    /// for YAML also [`Error::LimitExceeded`], for nesting, the number of values, and expanded aliases. Messages don't
    /// quote the document.
    pub fn to_json(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        self.transcribe(bytes, yaml::to_json)
    }

    /// [`Syntax::to_json`] with the plain scalars of YAML as PyYAML reads them: by YAML 1.1 `no` is false and `010` eight.
    ///
    /// # Errors
    /// As [`Syntax::to_json`].
    pub(super) fn to_json_as_pyyaml(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        self.transcribe(bytes, yaml::to_json_1_1)
    }

    fn transcribe(self, bytes: &[u8], to_json: fn(&str) -> Result<String>) -> Result<Cow<'_, str>> {
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(Error::DocumentTooLarge { maximum: MAX_SOURCE_BYTES });
        }
        let text = td::internal::text_of(bytes).map_err(Error::from);
        match self {
            Syntax::Json => text.map(Cow::Borrowed),
            Syntax::Yaml => {
                let text = text.map_err(|error| match error {
                    Error::MalformedJson { line, column, message } => Error::MalformedYaml { line, column, message },
                    error => error,
                })?;
                if text.trim().is_empty() {
                    let message = "the document is empty".to_owned();
                    return Err(Error::MalformedYaml { line: 1, column: 1, message });
                }
                to_json(text).map(Cow::Owned).map_err(|error| signs::explain_yaml(error, text))
            }
        }
    }
}
