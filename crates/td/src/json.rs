//! `Json`: the text of a document for the registry, converted from various types.

use serde::Serialize;
use serde_json::Value;

use super::Description;
use crate::{Error, Result};

/// JSON text.
///
/// Text and bytes are converted with `From`: they are JSON already, and never quoted. Other values are serialized with
/// [`Json::of`], so that a Rust string becomes a JSON string.
///
/// ```
/// use agentdex_td::Json;
/// use serde::Serialize;
///
/// #[derive(Serialize)]
/// struct Agent {
///     title: String,
/// }
///
/// let text = r#"{"title":"Weather agent"}"#;
/// assert_eq!(Json::from(text), Json::of(&Agent { title: "Weather agent".into() })?);
/// assert_eq!(Json::from(text), Json::from(serde_json::json!({"title": "Weather agent"})));
/// // The JSON string, which is no description.
/// assert_eq!(Json::of("Weather agent")?, Json::from("\"Weather agent\""));
/// # Ok::<(), agentdex_td::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Vec<u8>);

impl Json {
    /// Serializes a value to JSON.
    ///
    /// # Errors
    /// [`Error::NotSerializable`] for values that JSON can't represent, such as a map whose keys aren't strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Json> {
        serde_json::to_vec(value).map(Json).map_err(|source| Error::NotSerializable { source: source.into() })
    }

    /// Converts the text into bytes, like [`Json::as_bytes`].
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Returns the text as bytes. They are UTF-8, unless the text was created from other bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Json {
    fn from(bytes: Vec<u8>) -> Json {
        Json(bytes)
    }
}

impl From<&[u8]> for Json {
    fn from(bytes: &[u8]) -> Json {
        Json(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Json {
    fn from(bytes: &[u8; N]) -> Json {
        Json(bytes.to_vec())
    }
}

impl From<&Vec<u8>> for Json {
    fn from(bytes: &Vec<u8>) -> Json {
        Json(bytes.clone())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json(text.into_bytes())
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Json {
        Json(text.clone().into_bytes())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json(text.as_bytes().to_vec())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        Json(value.to_string().into_bytes())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json::from(&value)
    }
}

impl From<&Description> for Json {
    fn from(description: &Description) -> Json {
        Json::from(description.to_json())
    }
}

impl From<Description> for Json {
    fn from(description: Description) -> Json {
        Json::from(&description)
    }
}
