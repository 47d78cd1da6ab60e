//! `Overlay`: the keys to be written by a commit, on top of the tree.

use std::collections::HashMap;

use sled::{Batch, IVec};

use super::{
    database::Database,
    layout,
    sum::Sum,
    tree::{Before, reading},
    value::State,
};
use crate::Result;

/// Keys and their new values; `None` removes a key.
pub(super) type Pairs = Vec<(IVec, Option<IVec>)>;

/// Staged keys and values; `None` removes a key.
pub(super) struct Overlay<'a> {
    tree: &'a Database,
    staged: HashMap<IVec, Option<IVec>>,
    /// Values in the tree of the records, originals, metadata, and expiries that are about to be overwritten or were
    /// read for that.
    before: HashMap<IVec, Option<IVec>>,
    /// Previous entries of `staged` since [`Overlay::begin`]; the outer `None` means the key wasn't staged.
    undo: Vec<(IVec, Option<Option<IVec>>)>,
}

impl<'a> Overlay<'a> {
    pub fn new(tree: &'a Database) -> Overlay<'a> {
        Overlay { tree, staged: HashMap::new(), before: HashMap::new(), undo: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Returns the value of a record, original, metadata, or expiry: the staged value, or else that of the tree.
    pub fn get(&mut self, key: &IVec) -> Result<Option<IVec>> {
        if let Some(staged) = self.staged.get(key) {
            return Ok(staged.clone());
        }
        if let Some(before) = self.before.get(key) {
            return Ok(before.clone());
        }
        let held = self.tree.get(key).map_err(reading)?;
        self.before.insert(key.clone(), held.clone());
        Ok(held)
    }

    /// Returns the staged value of a key, or else that of the tree. For keys whose new values may be visible before
    /// they are durable.
    pub fn get_open(&self, key: &IVec) -> Result<Option<IVec>> {
        match self.staged.get(key) {
            Some(staged) => Ok(staged.clone()),
            None => self.tree.get(key).map_err(reading),
        }
    }

    /// Stages a value. Requires a prior call of [`Overlay::get`] for the key, unless its new value may be visible
    /// before it is durable.
    pub fn set(&mut self, key: IVec, value: Option<IVec>) {
        let replaced = self.staged.insert(key.clone(), value);
        self.undo.push((key, replaced));
    }

    /// Stages the presence or absence of a key with an empty value. `is_there` is true if the tree contains the key.
    pub fn set_known(&mut self, key: IVec, is_there: bool, shall_be_there: bool) {
        let value = |there: bool| there.then(IVec::default);
        self.before.entry(key.clone()).or_insert(value(is_there));
        self.set(key, value(shall_be_there));
    }

    /// Sets a savepoint.
    pub fn begin(&mut self) {
        self.undo.clear();
    }

    /// Rolls back to the savepoint set by [`Overlay::begin`].
    pub fn take_back(&mut self) {
        for (key, replaced) in self.undo.drain(..).rev() {
            match replaced {
                Some(value) => self.staged.insert(key, value),
                None => self.staged.remove(&key),
            };
        }
    }

    /// Converts the staged values and the resulting state of the store to a commit.
    pub fn seal(mut self, mut state: State) -> Result<Sealed> {
        let mut pairs = Pairs::with_capacity(self.staged.len() + 1);
        let (mut before, mut revokes) = (Before::new(), false);
        for (key, value) in self.staged {
            let held = self.before.remove(&key);
            if Sum::counts(&key) {
                let held = match &held {
                    Some(held) => held.clone(),
                    None => self.tree.get(&key).map_err(reading)?,
                };
                state.sum.replace(&key, held.as_deref(), value.as_deref());
                revokes |= held.is_some() && layout::grants(&key);
            }
            if let Some(held) = held {
                before.insert(key.clone(), held);
            }
            pairs.push((key, value));
        }
        state.commit += 1;
        pairs.push((layout::STATE_KEY.into(), Some(state.encode())));
        pairs.sort_unstable();
        Ok(Sealed { pairs, before, state, revokes })
    }
}

/// A commit ready to be written.
pub(super) struct Sealed {
    /// Keys and values, ascending by key, with the state of the store after the commit.
    pub pairs: Pairs,
    /// Former values, shown to readers until the commit is durable.
    pub before: Before,
    /// State of the store after the commit.
    pub state: State,
    /// True if the commit changes or removes a key or a namespace.
    pub revokes: bool,
}

/// Creates the batch that writes pairs.
pub(super) fn batch_of(pairs: impl IntoIterator<Item = (IVec, Option<IVec>)>) -> Batch {
    let mut batch = Batch::default();
    for (key, value) in pairs {
        match value {
            Some(value) => batch.insert(key, value),
            None => batch.remove(key),
        }
    }
    batch
}
