//! Members of a Thing Description reserved to the registry: `agentdex:signature` (result of verifying a card's
//! signature), `agentdex:status` (set if the source is stale), and `agentdex:partOf` (within `registration`). They
//! are removed from registered documents. No context declares the prefix, so JSON-LD reads the names as IRIs.

use serde_json::{Map, Value};

use crate::{
    Error, Result,
    convert::verification::{Status, Verification},
    td::{Document, Violation, merge_patch},
};

/// Member with the result of verifying the signature of a card.
pub(super) const SIGNATURE: &str = "agentdex:signature";
/// Member for a stale source.
pub(super) const STATUS: &str = "agentdex:status";

/// Member for the documents of a part, as found in descriptions of earlier versions.
const PART_OF: &str = "agentdex:partOf";

const ALL: [&str; 3] = [SIGNATURE, STATUS, PART_OF];

/// True if a description has one of them.
pub(super) fn are_in(thing: &Value) -> bool {
    ALL.iter().any(|member| thing.get(member).is_some())
}

/// True if a description that the registry wrote may have one of them: it escapes no letters.
pub(super) fn may_be_in(description: &str) -> bool {
    ALL.iter().any(|member| description.contains(member))
}

/// True if two descriptions have the same of them.
pub(super) fn are_same(one: &str, other: &str) -> bool {
    ALL.iter().all(|name| member(one, name) == member(other, name))
}

/// The description without them, and the warning that they are left out.
pub(super) fn leave_out(description: &str) -> Result<(String, Violation)> {
    let nothing = patch(ALL.map(|member| (member.to_owned(), Value::Null)));
    let message = format!("only the registry sets these members, so they are left out: `{}`", ALL.join("`, `"));
    Ok((merge_patch::apply(description, &nothing)?, Violation::new("", "registry-owned-member", message)))
}

/// Returns a description without these members, for exports: they are statements of this registry rather than of the
/// Thing.
pub(super) fn without(description: &str) -> Result<Document> {
    let document = Document::parse(description.as_bytes())?;
    match are_in(document.value()) {
        true => Ok(Document::parse(leave_out(description)?.0.as_bytes())?),
        false => Ok(document),
    }
}

/// Adds the status of a stale source to a description, if the previous description has it.
pub(super) fn with_status_of(before: &str, description: String) -> Result<String> {
    match member(before, STATUS) {
        Some(status) => Ok(merge_patch::apply(&description, &patch([(STATUS.to_owned(), status)]))?),
        None => Ok(description),
    }
}

/// A description with those of another.
pub(super) fn with_those_of(other: &str, description: &str) -> Result<String> {
    let members: Map<String, Value> =
        ALL.iter().filter_map(|name| Some(((*name).to_owned(), member(other, name)?))).collect();
    match members.is_empty() {
        true => Ok(description.to_owned()),
        false => Ok(merge_patch::apply(description, &Value::Object(members).to_string())?),
    }
}

fn member(description: &str, name: &str) -> Option<Value> {
    if !description.contains(name) {
        return None;
    }
    serde_json::from_str::<Map<String, Value>>(description).ok()?.remove(name)
}

/// Adds the result of verifying the card's signature. If the previous description has the same result, it is kept
/// with its time, so that a verification alone changes nothing.
pub(super) fn with_signature(description: &str, before: Option<&str>, found: &Verification) -> Result<String> {
    let same = before.and_then(signature).filter(|before| is_same(before, found));
    let member = serde_json::to_value(same.as_ref().unwrap_or(found)).map_err(|error| Error::Store {
        doing: "writing the result of a signature verification",
        source: error.into(),
    })?;
    // A patch alone would merge it into the existing member.
    let without = merge_patch::apply(description, &patch([(SIGNATURE.to_owned(), Value::Null)]))?;
    Ok(merge_patch::apply(&without, &patch([(SIGNATURE.to_owned(), member)]))?)
}

/// Returns a warning if the description loses its valid signature.
pub(super) fn lost(before: &str, after: &str) -> Option<Violation> {
    let valid = |description| signature(description).filter(|found| found.status == Status::Valid);
    let before = valid(before).filter(|_| valid(after).is_none())?;
    let signer = before.kid.map_or_else(String::new, |kid| format!(" by {kid:?}"));
    let message = format!("the previous description had a valid signature{signer}, but the new description doesn't");
    Some(Violation::new("", "signature-lost", message))
}

/// The result of the check of its card in a description.
pub(super) fn signature(description: &str) -> Option<Verification> {
    serde_json::from_value(member(description, SIGNATURE)?).ok()
}

/// True if two checks have the same result, possibly at different times.
fn is_same(one: &Verification, other: &Verification) -> bool {
    *one == Verification { checked_at: one.checked_at, ..other.clone() }
}

fn patch<const N: usize>(members: [(String, Value); N]) -> String {
    Value::Object(Map::from_iter(members)).to_string()
}
