//! The Things of parts of a document, which belong to the Thing of the document itself: they have its access, and go with
//! it. Parts that somebody else owns now are that owner's: they stay as they are.

use std::collections::HashSet;

use super::own_members::{is_part_of, linked_things};
use crate::{
    Result,
    change::{DeletionReason, Precondition},
    store::{Operation, Record, Store, Write},
    td::Violation,
};

/// The most ids that a warning names.
const MOST_NAMED: usize = 20;

/// The removals of the Things of parts that a document had, but those that stay.
pub(super) fn removals(store: &Store, document: &Record, stays: impl Fn(&str) -> bool) -> Result<Vec<Write>> {
    let parts = parts(store, document)?.into_iter().filter(|part| !stays(&part.id));
    Ok(parts.map(|part| write(part, Operation::Remove(DeletionReason::SourceGone))).collect())
}

/// The writes that give the parts of a document the access that is asked for.
pub(super) fn changes_of_access(store: &Store, document: &Record) -> Result<Vec<Write>> {
    Ok(parts(store, document)?.into_iter().map(|part| write(part, Operation::Access)).collect())
}

fn write(part: Record, operation: Operation) -> Write {
    Write { id: part.id, precondition: Precondition::Seq(part.seq), operation, actor: None }
}

/// The Things of parts of a document that have its owner, in order of their ids: what its Thing links to, directly or by
/// others of its parts. What was registered in another way since is no part of it. That costs nothing where it links to
/// no Thing.
fn parts(store: &Store, document: &Record) -> Result<Vec<Record>> {
    let (mut parts, mut known) = (Vec::new(), HashSet::from([document.id.clone()]));
    let mut linked = linked_things(&document.text);
    while let Some(id) = linked.pop() {
        if !known.insert(id.clone()) {
            continue;
        }
        let is_part =
            |part: &Record| part.access.owner == document.access.owner && is_part_of(&part.text, &document.id);
        let Some(part) = store.find(&id)?.filter(is_part) else { continue };
        linked.extend(linked_things(&part.text));
        parts.push(part);
    }
    parts.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(parts)
}

/// The warning of a removal that removes parts too.
pub(super) fn removed_with_owner(removals: &[Write]) -> Option<Violation> {
    let ids: Vec<&str> = removals.iter().map(|removal| removal.id.as_str()).collect();
    let message = format!("the Things of parts of its document are removed with it: {}", named(&ids));
    (!ids.is_empty()).then(|| Violation::new("", "parts-removed", message))
}

/// The warning of an import that removes Things of parts, of which it has none. Who may change a document sees its parts,
/// which have its owner.
pub(super) fn removed_by_import(ids: &[&str]) -> Option<Violation> {
    let message = format!(
        "the Things of parts of which this import made none are removed: {}; if the document still has them, import it with \
         the options that it was imported with before (`nested` and `tools`, `--nested` and `--tools`)",
        named(ids)
    );
    (!ids.is_empty()).then(|| Violation::new("", "parts-removed", message))
}

/// The first of the ids, and how many more there are.
fn named(ids: &[&str]) -> String {
    let (first, more) = ids.split_at(ids.len().min(MOST_NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", first.join(", "))
}
