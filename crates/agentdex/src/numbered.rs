//! Values addressed by four-byte numbers, which other structures store instead of ids, so that each id is in memory
//! only once.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// The number of a value. Once that is taken out, another may get it.
pub(crate) type Number = u32;

/// Numbered values.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<Number>,
}

/// A value with an id.
pub(crate) trait HasId {
    fn id(&self) -> &str;
}

/// Numbered values that are found by their ids. The ids are those in the values.
#[derive(Debug)]
pub(crate) struct ById<T> {
    values: Slots<T>,
    numbers: HashTable<Number>,
    hasher: RandomState,
}

/// Numbers by a hash, which several may have.
#[derive(Debug, Default)]
pub(crate) struct ByHash(HashTable<(PackedHash, Number)>);

/// A hash in two parts: with a number it takes 12 bytes instead of 16.
type PackedHash = [u32; 2];

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub fn insert(&mut self, value: T) -> Number {
        if let Some(number) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(number as usize)
        {
            *slot = Some(value);
            return number;
        }
        self.slots.push(Some(value));
        (self.slots.len() - 1) as Number
    }

    pub fn take(&mut self, number: Number) -> Option<T> {
        let taken = self.slots.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(taken)
    }

    pub fn get(&self, number: Number) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, number: Number) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    /// Returns an exclusive upper bound of the numbers in use.
    pub fn end(&self) -> Number {
        self.slots.len() as Number
    }
}

impl<T> Default for ById<T> {
    fn default() -> ById<T> {
        ById { values: Slots::default(), numbers: HashTable::new(), hasher: RandomState::new() }
    }
}

impl<T: HasId> ById<T> {
    pub fn number(&self, id: &str) -> Option<Number> {
        let is_it = |number: &Number| self.values.get(*number).is_some_and(|value| value.id() == id);
        self.numbers.find(self.hasher.hash_one(id), is_it).copied()
    }

    pub fn get(&self, number: Number) -> Option<&T> {
        self.values.get(number)
    }

    /// Returns a mutable reference to a value. The id of the value must not be changed.
    pub fn get_mut(&mut self, number: Number) -> Option<&mut T> {
        self.values.get_mut(number)
    }

    /// Inserts a value. No other value may have the same id.
    pub fn insert(&mut self, value: T) -> Number {
        let hash = self.hasher.hash_one(value.id());
        let number = self.values.insert(value);
        let ById { values, numbers, hasher } = self;
        numbers.insert_unique(hash, number, |other| {
            values.get(*other).map(|value| hasher.hash_one(value.id())).unwrap_or_default()
        });
        number
    }

    pub fn take(&mut self, number: Number) -> Option<T> {
        let value = self.values.take(number)?;
        if let Ok(found) = self.numbers.find_entry(self.hasher.hash_one(value.id()), |other| *other == number) {
            found.remove();
        }
        Some(value)
    }
}

impl ByHash {
    /// Adds a number, unless `most` numbers already have its hash.
    pub fn insert(&mut self, hash: u64, number: Number, most: usize) {
        if self.of(hash).take(most).count() < most {
            self.0.insert_unique(hash, (packed(hash), number), |(hash, _)| unpacked(*hash));
        }
    }

    pub fn remove(&mut self, hash: u64, number: Number) {
        if let Ok(found) = self.0.find_entry(hash, |other| *other == (packed(hash), number)) {
            found.remove();
        }
    }

    /// Returns the numbers with the given hash, in no particular order.
    pub fn of(&self, hash: u64) -> impl Iterator<Item = Number> {
        self.0.iter_hash(hash).filter(move |(of, _)| *of == packed(hash)).map(|(_, number)| *number)
    }
}

fn packed(hash: u64) -> PackedHash {
    [hash as u32, (hash >> 32) as u32]
}

fn unpacked([low, high]: PackedHash) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    impl HasId for (String, u32) {
        fn id(&self) -> &str {
            &self.0
        }
    }

    proptest! {
        #[test]
        fn values_are_those_of_a_map(steps in prop::collection::vec((0..200u32, prop::option::of(any::<u32>())), 0..600)) {
            let (mut values, mut expected) = (ById::<(String, u32)>::default(), HashMap::new());
            for (id, value) in steps {
                let id = id.to_string();
                let taken = values.number(&id).and_then(|number| values.take(number));
                prop_assert_eq!(taken.map(|(_, value)| value), expected.remove(&id));
                if let Some(value) = value {
                    values.insert((id.clone(), value));
                    expected.insert(id, value);
                }
            }
            for id in (0..200).map(|id: u32| id.to_string()) {
                let found = values.number(&id).and_then(|number| values.get(number)).map(|(_, value)| *value);
                prop_assert_eq!(found, expected.get(&id).copied());
            }
            prop_assert!(values.values.end() as usize <= 200, "numbers are used again");
        }
    }

    #[test]
    fn several_numbers_have_a_hash_up_to_a_maximum() {
        let mut numbers = ByHash::default();
        for number in 0..9 {
            numbers.insert(u64::MAX - 7, number, 3);
            numbers.insert(u64::from(number) << 40, number, 3);
        }
        let of = |numbers: &ByHash, hash| {
            let mut found: Vec<_> = numbers.of(hash).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(
            (of(&numbers, u64::MAX - 7), of(&numbers, 5 << 40), of(&numbers, 1)),
            (vec![0, 1, 2], vec![5], vec![])
        );
        numbers.remove(u64::MAX - 7, 1);
        numbers.remove(u64::MAX - 7, 8);
        assert_eq!(of(&numbers, u64::MAX - 7), [0, 2]);
    }
}
