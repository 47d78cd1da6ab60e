//! What only the registry says in a Thing Description: `agentdex:signature`, what the check of a card
//! came to, and `agentdex:status`, that its source is stale. No context declares the prefix, so that to
//! JSON-LD the names are IRIs as they stand. Who registers a description by hand can't say it.

use serde_json::{Map, Value};

#[cfg(feature = "signature")]
use crate::{
    Error,
    signature::{Status, Verification},
};
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

/// Whether there may be a mark in a description as the registry writes it: it escapes no letters.
pub(super) fn may_be_in(description: &str) -> bool {
    [SIGNATURE, STATUS].iter().any(|mark| description.contains(mark))
}

/// The description without marks, and the warning that they are left out.
pub(super) fn leave_out(description: &str) -> Result<(String, Violation)> {
    let nothing = patch([SIGNATURE, STATUS].map(|mark| (mark.to_owned(), Value::Null)));
    let message = format!("`{SIGNATURE}` and `{STATUS}` are said by the registry alone, of what it imported: left out");
    Ok((merge_patch::apply(description, &nothing)?, Violation::new("", "registry-owned-member", message)))
}

/// A description with the result of the check of its card, instead of what it says of that. Where the
/// one before says the same it is kept with its moment, so that a check alone changes nothing.
#[cfg(feature = "signature")]
pub(super) fn with_signature(description: &str, before: Option<&str>, found: &Verification) -> Result<String> {
    let kept = before.and_then(signature).filter(|before| is_same(before, found));
    let mark = serde_json::to_value(kept.as_ref().unwrap_or(found))
        .map_err(|error| Error::Store { doing: "writing what a check came to", source: error.into() })?;
    // A patch alone would merge it into the mark that is there.
    let without = merge_patch::apply(description, &patch([(SIGNATURE.to_owned(), Value::Null)]))?;
    merge_patch::apply(&without, &patch([(SIGNATURE.to_owned(), mark)]))
}

/// What a patch of a description must have in it for the result of a check that came to something else
/// than before. One that isn't certain counts for what it says of the status alone.
#[cfg(all(feature = "signature", feature = "fetch"))]
pub(super) fn signature_patch(description: &str, found: &Verification, is_certain: bool) -> Result<Map<String, Value>> {
    let before = signature(description);
    if !is_certain && before.is_some_and(|before| before.status == found.status) {
        return Ok(Map::new());
    }
    let after = with_signature(description, Some(description), found)?;
    let Some(difference) = merge_patch::diff(description, &after) else { return Ok(Map::new()) };
    let unreadable = |error: serde_json::Error| Error::Store { doing: "comparing checks", source: error.into() };
    serde_json::from_str(&difference).map_err(unreadable)
}

/// The warning where a description loses the mark of a valid signature.
#[cfg(feature = "signature")]
pub(super) fn lost(before: &str, after: &str) -> Option<Violation> {
    let valid = |description| signature(description).filter(|found| found.status == Status::Valid);
    let before = valid(before).filter(|_| valid(after).is_none())?;
    let signer = before.kid.map_or_else(String::new, |kid| format!(" by {kid:?}"));
    let message = format!("what was registered before was signed{signer}, and this isn't");
    Some(Violation::new("", "signature-lost", message))
}

/// What a description says of its card's signatures.
#[cfg(feature = "signature")]
fn signature(description: &str) -> Option<Verification> {
    if !description.contains(SIGNATURE) {
        return None;
    }
    let mut members: Map<String, Value> = serde_json::from_str(description).ok()?;
    serde_json::from_value(members.remove(SIGNATURE)?).ok()
}

/// Whether two checks came to the same, be it at different moments.
#[cfg(feature = "signature")]
fn is_same(one: &Verification, other: &Verification) -> bool {
    *one == Verification { checked_at: one.checked_at, ..other.clone() }
}

fn patch<const N: usize>(members: [(String, Value); N]) -> String {
    Value::Object(Map::from_iter(members)).to_string()
}
