//! What only the registry says in a Thing Description: `agentdex:signature`, what the check of a card
//! came to, and `agentdex:status`, that its source is stale. No context declares the prefix, so that to
//! JSON-LD the names are IRIs as they stand. Who registers a description by hand can't say it.

use serde_json::{Map, Value};

#[cfg(feature = "signature")]
use crate::signature::Verification;
use crate::{
    Result,
    td::{Violation, merge_patch},
};

/// The member with the result of a check.
pub(super) const SIGNATURE: &str = "agentdex:signature";
/// The member that says that the source is stale.
pub(super) const STATUS: &str = "agentdex:status";

/// Whether there is a mark in a description.
pub(super) fn are_in(thing: &Value) -> bool {
    [SIGNATURE, STATUS].iter().any(|mark| thing.get(mark).is_some())
}

/// The description without marks, and the warning that they are left out.
pub(super) fn leave_out(description: &str) -> Result<(String, Violation)> {
    let nothing = [SIGNATURE, STATUS].map(|mark| (mark.to_owned(), Value::Null));
    let patch = Value::Object(Map::from_iter(nothing)).to_string();
    let message = format!("`{SIGNATURE}` and `{STATUS}` are said by the registry alone, of what it imported: left out");
    Ok((merge_patch::apply(description, &patch)?, Violation::new("", "registry-mark", message)))
}

/// A description with the result of the check of its card. Where the one before says the same it is
/// kept with its moment, so that a check alone changes nothing.
#[cfg(feature = "signature")]
pub(super) fn with_signature(description: &str, before: Option<&str>, found: &Verification) -> Result<String> {
    let kept = before.and_then(signature).filter(|before| is_same(before, found));
    let mark = serde_json::to_value(kept.as_ref().unwrap_or(found)).unwrap_or_default();
    let patch = Value::Object(Map::from_iter([(SIGNATURE.to_owned(), mark)]));
    merge_patch::apply(description, &patch.to_string())
}

/// What a description says of its card's signatures.
#[cfg(feature = "signature")]
pub(super) fn signature(description: &str) -> Option<Verification> {
    let mut members: Map<String, Value> = serde_json::from_str(description).ok()?;
    serde_json::from_value(members.remove(SIGNATURE)?).ok()
}

/// Whether two checks came to the same, be it at different moments.
#[cfg(feature = "signature")]
pub(super) fn is_same(one: &Verification, other: &Verification) -> bool {
    *one == Verification { checked_at: one.checked_at, ..other.clone() }
}
