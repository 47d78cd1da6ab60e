//! What the registry itself says of a card in its Thing Description: `agentdex:signature`. No context
//! declares the prefix, so that to JSON-LD the name is an IRI as it stands.

use serde_json::{Map, Value};

use crate::{Result, signature::Verification, td::merge_patch};

/// The member with the result of a check.
pub(super) const SIGNATURE: &str = "agentdex:signature";

/// A description with the result of the check of its card. Where the one before says the same it is
/// kept with its moment, so that a check alone changes nothing.
pub(super) fn with_signature(description: &str, before: Option<&str>, found: &Verification) -> Result<String> {
    let kept = before.and_then(signature).filter(|before| is_same(before, found));
    let mark = serde_json::to_value(kept.as_ref().unwrap_or(found)).unwrap_or_default();
    let patch = Value::Object(Map::from_iter([(SIGNATURE.to_owned(), mark)]));
    merge_patch::apply(description, &patch.to_string())
}

/// What a description says of its card's signatures.
pub(super) fn signature(description: &str) -> Option<Verification> {
    let mut members: Map<String, Value> = serde_json::from_str(description).ok()?;
    serde_json::from_value(members.remove(SIGNATURE)?).ok()
}

/// Whether two checks came to the same, be it at different moments.
pub(super) fn is_same(one: &Verification, other: &Verification) -> bool {
    *one == Verification { checked_at: one.checked_at, ..other.clone() }
}
