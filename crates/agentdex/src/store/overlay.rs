//! `Overlay`: the keys that a commit is going to write, over what the tree has.

use std::collections::HashMap;

use sled::{Batch, IVec};

use super::{
    layout,
    sum::Sum,
    tree::{Before, reading},
    value::State,
};
use crate::Result;

/// Keys and values that are staged; none: removed.
pub(super) struct Overlay<'a> {
    tree: &'a sled::Tree,
    staged: HashMap<IVec, Option<IVec>>,
    /// Values that the tree has for the records, originals, metadata and expiries that are about to be overwritten, and
    /// for those that were read for it.
    before: HashMap<IVec, Option<IVec>>,
    /// Entries of `staged` that were replaced since the last [`Overlay::begin`]; none: the key wasn't staged.
    undo: Vec<(IVec, Option<Option<IVec>>)>,
}

impl<'a> Overlay<'a> {
    pub fn new(tree: &'a sled::Tree) -> Overlay<'a> {
        Overlay { tree, staged: HashMap::new(), before: HashMap::new(), undo: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Returns the value of a record, original, metadata or expiry: the staged one, else that of the tree.
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

    /// Returns the staged value, else that of the tree, of a key whose new value readers may see before it is durable.
    pub fn get_open(&self, key: &IVec) -> Result<Option<IVec>> {
        match self.staged.get(key) {
            Some(staged) => Ok(staged.clone()),
            None => self.tree.get(key).map_err(reading),
        }
    }

    /// Stages what [`Overlay::get`] was called for, or what readers may see before it is durable.
    pub fn set(&mut self, key: IVec, value: Option<IVec>) {
        let replaced = self.staged.insert(key.clone(), value);
        self.undo.push((key, replaced));
    }

    /// Stages a key of which it is known whether the tree has it, with an empty value.
    pub fn set_known(&mut self, key: IVec, is_there: bool, shall_be_there: bool) {
        let value = |there: bool| there.then(IVec::default);
        self.before.entry(key.clone()).or_insert(value(is_there));
        self.set(key, value(shall_be_there));
    }

    /// From here on it can be taken back.
    pub fn begin(&mut self) {
        self.undo.clear();
    }

    /// Takes back what was staged since [`Overlay::begin`].
    pub fn take_back(&mut self) {
        for (key, replaced) in self.undo.drain(..).rev() {
            match replaced {
                Some(value) => self.staged.insert(key, value),
                None => self.staged.remove(&key),
            };
        }
    }

    /// Makes a batch of it, and of the state of the store once that is written: the one way to the tree.
    pub fn seal(mut self, mut state: State) -> Result<Sealed> {
        let (mut batch, mut before) = (Batch::default(), Before::new());
        let mut keys = Vec::with_capacity(self.staged.len() + 1);
        let mut revokes = false;
        for (key, value) in self.staged {
            keys.push(key.clone());
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
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        state.commit += 1;
        batch.insert(layout::STATE_KEY, state.encode());
        keys.push(layout::STATE_KEY.into());
        Ok(Sealed { batch, keys, before, state, revokes })
    }
}

/// A batch that is ready to be written.
pub(super) struct Sealed {
    pub batch: Batch,
    /// The keys that it writes or removes.
    pub keys: Vec<IVec>,
    /// The former values, which readers are to see until it is durable.
    pub before: Before,
    /// The state of the store once it is written.
    pub state: State,
    /// True if it changes or removes a key or a namespace.
    pub revokes: bool,
}
