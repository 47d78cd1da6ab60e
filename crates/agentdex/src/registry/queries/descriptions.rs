//! Descriptions as of a past change, for records that have changed since.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    Result,
    change::{Change, Seq},
    store::Store,
    td::merge_patch,
};

/// Maximum size of the texts that are remembered, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of changes that are read of a Thing's history at once.
const CHANGES_AT_ONCE: usize = 64;

/// Description of a Thing after a change.
pub(super) struct Described {
    pub text: String,
    pub format: Option<String>,
}

/// A Thing, and the position of the change after which it had a description.
type Key = (Box<str>, Seq);

/// Reads descriptions, and caches those that are patched by later changes. Readers at different positions of a
/// Thing's history have separate cache entries.
#[derive(Default)]
pub(super) struct Descriptions {
    texts: BTreeMap<Key, Box<str>>,
    /// In the order in which they were remembered.
    order: VecDeque<Key>,
    bytes: usize,
    /// Number of changes read of histories.
    #[cfg(test)]
    read: usize,
}

impl Descriptions {
    /// Returns the description of a Thing after a change. If the record has changed since, the description is
    /// reconstructed from the changes, or approximated by the record if they no longer reach back to its creation.
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
            None => self.made_of_history(store, change)?,
        };
        if let Some(made) = &made {
            self.remember(change, made);
        }
        Ok(made.or(text).map(|text| Described { text, format }))
    }

    /// Reconstructs the description from the nearest cached one and the changes since, or returns `None` if these
    /// don't suffice.
    fn made_of_history(&mut self, store: &Store, change: &Change) -> Result<Option<String>> {
        let id = change.id.as_str();
        let before = self.texts.range((id.into(), Seq::ZERO)..(id.into(), change.seq)).next_back();
        let (mut position, mut described) =
            before.map_or((Seq::ZERO, None), |((_, seq), text)| (*seq, Some(text.to_string())));
        // As a rule the next change is the one.
        let mut limit = 1;
        loop {
            let part = store.history(id, position, limit)?;
            #[cfg(test)]
            (self.read += part.len());
            let Some(last) = part.last() else { return Ok(described) };
            position = last.seq;
            for earlier in part.into_iter().take_while(|earlier| earlier.seq <= change.seq) {
                described = match (earlier.td, earlier.patch, described) {
                    (Some(td), ..) => Some(td.get().to_owned()),
                    (_, Some(patch), Some(before)) => Some(merge_patch::apply(&before, patch.get())?),
                    _ => None,
                };
            }
            if position >= change.seq {
                return Ok(described);
            }
            limit = CHANGES_AT_ONCE;
        }
    }

    fn remember(&mut self, change: &Change, text: &str) {
        let key: Key = (change.id.as_str().into(), change.seq);
        if self.texts.insert(key.clone(), text.into()).is_none() {
            self.bytes += size(&key, text);
            self.order.push_back(key);
        }
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.texts.remove(&oldest).map_or(0, |text| size(&oldest, &text));
        }
    }
}

fn size((id, _): &Key, text: &str) -> usize {
    text.len() + 2 * (id.len() + size_of::<Key>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Registry, td::Description};

    #[test]
    fn readers_at_different_positions_read_each_change_once() {
        const CHANGES: usize = 200;
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        registry.put(Description::new("Agent").id("urn:a")).unwrap();
        for number in 0..CHANGES {
            registry.patch("urn:a", format!(r#"{{"description": "number {number}"}}"#)).unwrap();
        }
        let store = &registry.0.store;
        let changes = store.history("urn:a", Seq::ZERO, usize::MAX).unwrap();
        let mut descriptions = Descriptions::default();
        let mut assert_described = |index: usize| {
            let described = descriptions.after(store, &changes[index]).unwrap().unwrap();
            assert!(described.text.contains(&format!("\"number {}\"", index - 1)), "{index}: {}", described.text);
        };
        for index in 1..CHANGES / 2 {
            assert_described(index);
            assert_described(index + CHANGES / 2);
        }
        assert!(descriptions.read < 2 * CHANGES, "{} changes were read", descriptions.read);
    }

    #[test]
    fn texts_beyond_the_limit_are_forgotten_and_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let long = "x".repeat(MAX_BYTES / 20);
        for number in 0..30 {
            registry.put(Description::new(format!("Agent {number}")).id("urn:a").description(&long)).unwrap();
        }
        let store = &registry.0.store;
        let changes = store.history("urn:a", Seq::ZERO, usize::MAX).unwrap();
        let mut descriptions = Descriptions::default();
        for number in (0..30).chain(0..30) {
            let described = descriptions.after(store, &changes[number]).unwrap().unwrap();
            assert!(described.text.contains(&format!("\"Agent {number}\"")), "{number}");
            assert!(descriptions.bytes <= MAX_BYTES && descriptions.order.len() == descriptions.texts.len());
        }
    }
}
