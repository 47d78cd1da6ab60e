//! `Json`: the text of a document that is handed to the registry, whatever it was before.

use serde::Serialize;
use serde_json::Value;

use super::Description;
use crate::{Error, Result};

/// JSON text, from anything that has or is some.
///
/// What is text or bytes is taken for JSON as it is, and never quoted. What is [`Serialize`] is written by
/// [`Json::of`], so that a text stays a text: the two can't be confused.
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
    /// Writes a value as JSON.
    ///
    /// # Errors
    /// [`Error::NotSerializable`] where it has no form in JSON, such as a map whose keys aren't texts.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Json> {
        serde_json::to_vec(value).map(Json).map_err(|source| Error::NotSerializable { source: source.into() })
    }

    /// The text, as [`Json::as_bytes`] has it.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The text, in UTF-8 unless what it came from isn't.
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
