//! Descriptions as they were after a change, where the record is another one by now.

use std::collections::{HashMap, VecDeque};

use crate::{
    Result,
    change::{Change, Seq},
    store::Store,
    td::merge_patch,
};

/// Maximum size of the texts that are remembered, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The description that a Thing had after a change.
pub(super) struct Described {
    pub text: String,
    pub format: Option<String>,
}

/// Reads descriptions, and remembers those that the next change of the Thing patches.
#[derive(Default)]
pub(super) struct Descriptions {
    texts: HashMap<Box<str>, (Seq, Box<str>)>,
    /// The ids in the order in which they were remembered.
    order: VecDeque<(Seq, Box<str>)>,
    bytes: usize,
}

impl Descriptions {
    /// The description that a Thing had after a change. Where the record is another one by now, it is made of the changes;
    /// where these no longer reach back to its creation, the record stands for it.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn after(&mut self, store: &Store, change: &Change) -> Result<Option<Described>> {
        let record = store.find_unpurged(&change.id)?;
        let format = record.as_ref().and_then(|record| record.format.clone());
        let (text, seq) = record.map_or((None, None), |record| (Some(record.text), Some(record.seq)));
        if seq == Some(change.seq) {
            return Ok(text.map(|text| Described { text, format }));
        }
        let made = match &change.td {
            Some(td) => Some(td.get().to_owned()),
            None => match self.patched(store, change)? {
                Some(patched) => Some(patched),
                None => made_of_history(store, change)?,
            },
        };
        if let Some(made) = &made {
            self.remember(change, made);
        }
        Ok(made.or(text).map(|text| Described { text, format }))
    }

    /// The description that the change before made, if it is remembered, with the patch of this one.
    fn patched(&self, store: &Store, change: &Change) -> Result<Option<String>> {
        let (Some(patch), Some((seq, before))) = (&change.patch, self.texts.get(change.id.as_str())) else {
            return Ok(None);
        };
        let next = store.history(&change.id, *seq, 1)?;
        let is_next = next.first().is_some_and(|next| next.seq == change.seq);
        Ok(is_next.then(|| merge_patch::apply(before, patch.get())).transpose()?)
    }

    fn remember(&mut self, change: &Change, text: &str) {
        self.forget(change.id.as_str());
        self.bytes += text.len();
        self.texts.insert(change.id.as_str().into(), (change.seq, text.into()));
        self.order.push_back((change.seq, change.id.as_str().into()));
        while self.bytes > MAX_BYTES || self.order.len() > 2 * self.texts.len() + 16 {
            let Some((seq, id)) = self.order.pop_front() else { break };
            if self.texts.get(&id).is_some_and(|(known, _)| *known == seq) {
                self.forget(&id);
            }
        }
    }

    fn forget(&mut self, id: &str) {
        if let Some((_, text)) = self.texts.remove(id) {
            self.bytes -= text.len();
        }
    }
}

fn made_of_history(store: &Store, change: &Change) -> Result<Option<String>> {
    let mut described: Option<String> = None;
    for earlier in store.history(&change.id, Seq::ZERO, usize::MAX)? {
        if earlier.seq > change.seq {
            break;
        }
        described = match (&earlier.td, &earlier.patch, described) {
            (Some(td), ..) => Some(td.get().to_owned()),
            (_, Some(patch), Some(before)) => Some(merge_patch::apply(&before, patch.get())?),
            _ => None,
        };
    }
    Ok(described)
}
