//! The Things of parts of a document, which belong to the Thing of the document itself: they go with it.

use std::collections::HashSet;

use super::own_members::{is_part_of, linked_things};
use crate::{
    Result,
    change::{DeletionReason, Precondition},
    store::{Operation, Store, Write},
    td::Violation,
};

/// The most ids that a warning names.
const MOST_NAMED: usize = 20;

/// The removals of the Things of parts that a document had, but those that stay: what its Thing links to, directly or
/// by others of its parts. What was registered in another way since is no part of it. `description` is that of the Thing
/// of the document, which costs nothing where it links to no Thing.
pub(super) fn removals(
    store: &Store,
    owner: &str,
    description: &str,
    stays: impl Fn(&str) -> bool,
) -> Result<Vec<Write>> {
    let (mut removals, mut known) = (Vec::new(), HashSet::from([owner.to_owned()]));
    let mut linked = linked_things(description);
    while let Some(id) = linked.pop() {
        if !known.insert(id.clone()) {
            continue;
        }
        let Some(part) = store.find(&id)?.filter(|part| is_part_of(&part.text, owner)) else { continue };
        linked.extend(linked_things(&part.text));
        if !stays(&id) {
            let operation = Operation::Remove(DeletionReason::SourceGone);
            removals.push(Write { id, precondition: Precondition::Seq(part.seq), operation, actor: None });
        }
    }
    removals.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(removals)
}

/// The warning of a removal that removes parts too.
pub(super) fn removed_with_owner(removals: &[Write]) -> Option<Violation> {
    let named: Vec<&str> = removals.iter().take(MOST_NAMED).map(|removal| removal.id.as_str()).collect();
    let more = removals.len() - named.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let message = format!("the Things of parts of its document are removed with it: {}{more}", named.join(", "));
    (!removals.is_empty()).then(|| Violation::new("", "parts-removed", message))
}
