//! `Listeners`: parts of a registry with API keys, saved queries, or metadata in memory. They are notified of the
//! changes of these data in each commit, including commits of other stores.

use std::sync::{Arc, RwLock};

use super::{
    layout,
    named_write::query_of_key,
    overlay::Pairs,
    tree::{read, write},
};
use crate::access::Owner;

/// A listener. It is called for each commit with changes of keys, queries, or metadata, in order, before readers see
/// the commit. It must be quick, and must neither write to a store nor drop its last clone.
pub(crate) type Listener = Arc<dyn Fn(&[Named]) + Send + Sync>;

/// A change of a key, query, or metadata. The value `None` removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// An API key.
    Key { id: String, value: Option<Vec<u8>> },
    /// A saved query.
    Query { owner: Option<Owner>, name: String, value: Option<Vec<u8>> },
    /// Metadata of a Thing.
    Metadata { id: String },
}

/// The listeners of a store.
#[derive(Default)]
pub(super) struct Listeners(RwLock<Vec<Listener>>);

impl Listeners {
    pub fn add(&self, listener: Listener) {
        write(&self.0).push(listener);
    }

    /// Notifies the listeners of a commit.
    pub fn tell(&self, pairs: &Pairs) {
        let listeners = read(&self.0);
        if listeners.is_empty() {
            return;
        }
        let named = named_in(pairs);
        if !named.is_empty() {
            listeners.iter().for_each(|listener| listener(&named));
        }
    }
}

/// Returns the changes in a commit. The pairs ascend by key.
fn named_in(pairs: &Pairs) -> Vec<Named> {
    let value_of = |value: &Option<sled::IVec>| value.as_ref().map(|value| value.to_vec());
    let keys = named_with(pairs, layout::KEYS, |id, value| Some(Named::Key { id, value: value_of(value) }));
    let queries = named_with(pairs, layout::QUERIES, |key, value| {
        let (owner, name) = query_of_key(&key).ok()?;
        Some(Named::Query { owner, name: name.to_owned(), value: value_of(value) })
    });
    let metadata = named_with(pairs, layout::METADATA, |id, _| Some(Named::Metadata { id }));
    keys.chain(queries).chain(metadata).collect()
}

fn named_with(
    pairs: &Pairs,
    prefix: &'static [u8],
    named: impl Fn(String, &Option<sled::IVec>) -> Option<Named>,
) -> impl Iterator<Item = Named> {
    let start = pairs.partition_point(|(key, _)| **key < *prefix);
    let found = pairs.iter().skip(start).take_while(move |(key, _)| key.starts_with(prefix));
    found.filter_map(move |(key, value)| named(layout::name_of(key, prefix).ok()?, value))
}
