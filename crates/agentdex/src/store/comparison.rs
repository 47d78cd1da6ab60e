//! Comparison of two stores that contain the same commits: their replicated keys and values, and their state in memory.
//! For tests.

use sled::IVec;

use super::{layout, logged::Logged, tree::reading, view::View};
use crate::{
    Result,
    access::Owner,
    change::{Change, Seq, Timestamp},
};

/// Number of log entries read at a time.
const ENTRIES_AT_ONCE: usize = 1000;

/// Returns the first difference between two stores, or `None` if they are equal.
pub(super) fn difference(one: &View, other: &View, now: Timestamp) -> Result<Option<String>> {
    let of_tree = first_difference(pairs(one)?, pairs(other)?);
    Ok(match of_tree {
        Some(difference) => Some(difference),
        None => first_difference(memory(one, now)?, memory(other, now)?),
    })
}

fn first_difference(one: Vec<String>, other: Vec<String>) -> Option<String> {
    let differing = one.iter().zip(&other).find(|(one, other)| one != other);
    let differing = differing.map(|(one, other)| format!("{one}\n{other}"));
    differing.or_else(|| (one.len() != other.len()).then(|| format!("{} and {} items", one.len(), other.len())))
}

/// Returns the replicated keys and values of a store, as text.
fn pairs(view: &View) -> Result<Vec<String>> {
    let shown = |bytes: &IVec| bytes.escape_ascii().to_string();
    let mut pairs = Vec::new();
    for pair in view.tree.db()?.iter() {
        let (key, value) = pair.map_err(reading)?;
        if layout::is_replicated(&key) {
            pairs.push(format!("{}: {}", shown(&key), shown(&value)));
        }
    }
    Ok(pairs)
}

/// Returns the state of a store in memory that follows from its commits, as text.
fn memory(view: &View, now: Timestamp) -> Result<Vec<String>> {
    let start = view.log.start();
    let mut memory = vec![
        format!("{:?} records", view.records),
        format!("log: {start:?} to {}", view.log.last()),
        format!("audit trail: {:?}", view.audit.last()),
    ];
    if view.expiries.grace.pending().is_none() {
        memory.push(format!("expired: {:?}", view.expiries.all_expired(now)?));
    }
    let mut restricted = view.restricted.ids();
    restricted.sort_unstable();
    memory.extend(restricted.iter().map(|id| format!("access to {id}: {:?}", view.restricted.access(id))));
    let past = view.past.since(Seq::ZERO).into_iter();
    memory.extend(past.map(|id| format!("{id} was restricted at {:?}", view.past.last(&id))));
    let (namespaces, owners) = namespaces(view);
    memory.extend(namespaces);
    for owner in owners {
        let grants = view.namespaces.grants_of(&owner);
        let mut unseen = view.restricted.unseen_ids(&grants);
        unseen.sort_unstable();
        memory.push(format!("{grants:?}, {} unseen: {unseen:?}", view.restricted.unseen(&grants)));
    }
    let mut since = start.trimmed_to;
    loop {
        let part = view.log.changes(since, ENTRIES_AT_ONCE)?;
        let Some(last) = part.entries.last() else { return Ok(memory) };
        since = last.seq();
        memory.extend(part.entries.iter().map(|entry| match entry {
            Logged::Change(change) => format!("{:?}", Change::clone(change)),
            entry => format!("{entry:?}"),
        }));
    }
}

/// Returns all namespaces as text, and the owners who are or were members.
fn namespaces(view: &View) -> (Vec<String>, Vec<Owner>) {
    let given_up = view.namespaces.given_up_before(Seq(u64::MAX)).into_iter();
    let given_up = given_up.filter_map(|number| Some((number, view.namespaces.get(number)?)));
    let all: Vec<_> = view.namespaces.list().into_iter().chain(given_up).collect();
    let mut owners: Vec<Owner> = all.iter().flat_map(|(_, record)| record.members.keys().cloned()).collect();
    owners.sort_unstable();
    owners.dedup();
    (all.iter().map(|namespace| format!("{namespace:?}")).collect(), owners)
}
