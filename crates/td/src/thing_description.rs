//! A valid Thing Description in its stored form.

use serde_json::Value;

/// A valid Thing Description in its stored form: compact, with an id, and without `registration` and the discovery
/// context. Created by [`admit`](super::admit).
#[derive(Debug, Clone)]
pub struct ThingDescription {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) value: Value,
}

impl ThingDescription {
    /// Returns the id, an absolute URI of at most [`MAX_ID_BYTES`](super::MAX_ID_BYTES).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the stored form as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the stored form as a value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Converts the description into the text of its stored form.
    pub fn into_text(self) -> String {
        self.text
    }
}
