//! Canonical forms of a card, in one of which it was signed.
//!
//! The SDKs deviate from the specification and from each other, so there are three forms, ordered by how closely they
//! follow the specification. Each applies RFC 8785 to the card as received, without its signatures. Two of the forms
//! omit members, which the signature then doesn't protect; `uncovered` finds omitted members that are significant.

use serde_json::Value;

use super::{presence::card_message, uncovered};
use crate::verification::Form;

impl Form {
    /// All forms, in the order in which they are tried.
    pub const ALL: [Form; 3] = [Form::Specification, Form::Stripped, Form::Plain];

    /// Returns the payload of a signature in this form, or `None` if the value has no canonical form.
    ///
    /// ```
    /// use agentdex_convert::signature::Form;
    ///
    /// let card = serde_json::json!({"skills": [], "name": "A", "capabilities": {"extensions": []}});
    /// assert_eq!(Form::Specification.payload(&card).unwrap(), r#"{"capabilities":{},"name":"A","skills":[]}"#);
    /// assert_eq!(Form::Stripped.payload(&card).unwrap(), r#"{"name":"A"}"#);
    /// ```
    pub fn payload(self, card: &Value) -> Option<String> {
        let mut signed = card.clone();
        if let Value::Object(members) = &mut signed {
            members.remove("signatures");
        }
        if self != Form::Plain {
            card_message(card).prune(&mut signed);
        }
        if self == Form::Stripped && !strip(&mut signed) {
            signed = Value::Object(serde_json::Map::new());
        }
        serde_json_canonicalizer::to_string(&signed).ok()
    }

    /// A JSON Pointer to the first place of a card that a signature in this form doesn't cover, although
    /// it says something.
    pub(super) fn uncovered(self, card: &Value) -> Option<String> {
        // Where nothing was left out, everything is covered.
        if self == Form::Plain || self.payload(card) == Form::Plain.payload(card) {
            return None;
        }
        uncovered::find(card, self == Form::Stripped)
    }
}

/// Takes everything empty away; false if nothing is left.
fn strip(value: &mut Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => {
            items.retain_mut(strip);
            !items.is_empty()
        }
        Value::Object(members) => {
            members.retain(|_, member| strip(member));
            !members.is_empty()
        }
        Value::Bool(_) | Value::Number(_) => true,
    }
}
