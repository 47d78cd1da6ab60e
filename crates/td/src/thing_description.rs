//! A valid Thing Description in its stored form.

use serde_json::Value;

/// A valid Thing Description in its stored form: compact, with an id, without `registration` and
/// without the discovery context. Made by [`admit`](super::admit).
#[derive(Debug, Clone)]
pub struct ThingDescription {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) value: Value,
}

impl ThingDescription {
    /// The id: an absolute URI of at most [`MAX_ID_BYTES`](super::MAX_ID_BYTES).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The stored form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The stored form as a value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Takes the stored form apart into what the store keeps.
    pub fn into_text(self) -> String {
        self.text
    }
}
