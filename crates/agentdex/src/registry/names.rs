//! Names of Things, and the detection of confusable names.
//!
//! Names are compared by their skeleton (UTS 39, section 4) in lower case, with single spaces. A name is confusable
//! with the name of the first public Thing with the same skeleton if that Thing has another owner and its name is
//! spelled differently. A name of an unsigned Thing is also confusable with the name of an earlier public Thing of
//! another owner with a valid signature, if both names are equal or differ in a single character other than a digit.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
};

use serde_json::Value;
use unicode_security::confusable_detection::skeleton;

use crate::{
    change::Timestamp,
    convert::Format,
    numbered::{ByHash, ById, HasId, Number},
    td::{Flag, FlagKind},
};

/// Minimum length of names compared with a difference of one character; shorter names would match too many others.
const SHORTEST_ALIKE: usize = 6;
/// Maximum number of characters of a name that are compared.
const LONGEST: usize = 128;
/// Maximum number of names with the same skeleton or half that are compared: the first ones.
const MOST_COMPARED: usize = 64;

/// Properties of a Thing that determine its flags.
pub(super) struct Named<'a> {
    pub id: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    /// Target of the first form, if the id is derived from the name.
    pub address: Option<&'a str>,
    /// True if these are texts of an edit, and not of the imported description.
    pub is_edited: bool,
    pub owner: Option<&'a str>,
    pub created: Timestamp,
    pub is_public: bool,
    /// True if the description has a valid signature.
    pub is_signed: bool,
    /// Flags of the description's texts.
    pub flags: Vec<Flag>,
}

/// The names of all Things.
#[derive(Default)]
pub(super) struct Names {
    entries: ById<Entry>,
    /// Public Things by the skeleton of their names.
    looks: ByHash,
    /// Things by their addresses.
    addresses: ByHash,
    /// Public Things with a valid signature by the halves of the skeletons of their names.
    halves: HashMap<(Side, u64), Vec<Number>>,
    hasher: RandomState,
}

struct Entry {
    /// Id, skeleton of the name, and owner, in a single allocation.
    text: Box<str>,
    id_end: u32,
    skeleton_end: u32,
    /// The description, hashed; `None` if it is edited.
    description: Option<u32>,
    has_owner: bool,
    /// The name in small letters, hashed.
    title: u64,
    /// The address, hashed.
    address: Option<u64>,
    created: Timestamp,
    is_public: bool,
    is_signed: bool,
    flags: Box<[Flag]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Start,
    End,
}

impl Names {
    /// Adds a Thing, or replaces its entry.
    pub fn put(&mut self, named: Named<'_>) {
        self.remove(named.id);
        let title: String = named.title.unwrap_or_default().chars().take(LONGEST).collect();
        let skeleton = skeleton_of(&title);
        let entry = Entry {
            text: [named.id, &skeleton, named.owner.unwrap_or_default()].concat().into(),
            id_end: named.id.len() as u32,
            skeleton_end: (named.id.len() + skeleton.len()) as u32,
            description: (!named.is_edited).then(|| self.description_hash(named.description)),
            has_owner: named.owner.is_some(),
            title: self.hasher.hash_one(title.to_lowercase()),
            address: named.address.map(|address| self.hasher.hash_one(address)),
            created: named.created,
            is_public: named.is_public,
            is_signed: named.is_signed,
            flags: named.flags.into(),
        };
        let (is_compared, is_signed) = (entry.is_public && !skeleton.is_empty(), entry.is_signed);
        let address = entry.address;
        let number = self.entries.insert(entry);
        if let Some(address) = address {
            self.addresses.insert(address, number, MOST_COMPARED);
        }
        if is_compared {
            self.looks.insert(self.hasher.hash_one(skeleton.as_str()), number, MOST_COMPARED);
        }
        if is_compared && is_signed {
            for key in self.own_halves(&skeleton) {
                // Most halves are those of one Thing.
                let numbers = self.halves.entry(key).or_insert_with(|| Vec::with_capacity(1));
                if numbers.len() < MOST_COMPARED {
                    numbers.push(number);
                }
            }
        }
    }

    fn look_of(&self, entry: &Entry) -> u64 {
        self.hasher.hash_one(entry.skeleton())
    }

    /// Removes a Thing.
    pub fn remove(&mut self, id: &str) {
        let Some((number, entry)) =
            self.entries.number(id).and_then(|number| Some((number, self.entries.take(number)?)))
        else {
            return;
        };
        self.looks.remove(self.look_of(&entry), number);
        if let Some(address) = entry.address {
            self.addresses.remove(address, number);
        }
        if entry.is_signed {
            for key in self.own_halves(entry.skeleton()) {
                if let Some(numbers) = self.halves.get_mut(&key) {
                    numbers.retain(|known| *known != number);
                    if numbers.is_empty() {
                        self.halves.remove(&key);
                    }
                }
            }
        }
    }

    /// Returns the current flags of a Thing: the flags of its texts, and a flag if its name is confusable.
    pub fn flags_of(&self, id: &str) -> Vec<Flag> {
        let Some(entry) = self.entries.number(id).and_then(|number| self.entries.get(number)) else {
            return Vec::new();
        };
        let mut flags = entry.flags.to_vec();
        if let Some(other) = self.confusable_with(entry) {
            flags.push(Flag { kind: FlagKind::ConfusableName, pointer: "/title".into(), found: other.into() });
        }
        flags
    }

    /// Returns the ids of the first public Things with the given title and description. Edits may have changed the
    /// description.
    pub fn find_by_texts(&self, title: &str, description: Option<&str>) -> Vec<String> {
        let description = self.description_hash(description);
        let title: String = title.chars().take(LONGEST).collect();
        let (look, title) = (self.hasher.hash_one(skeleton_of(&title)), self.hasher.hash_one(title.to_lowercase()));
        let alike = self.looks.of(look).filter_map(|number| self.entries.get(number));
        let alike = alike.filter(|entry| entry.title == title && entry.description.is_none_or(|it| it == description));
        alike.map(|entry| entry.id().to_owned()).collect()
    }

    /// Returns the ids of the first Things with the given address.
    pub fn find_by_address(&self, address: &str) -> Vec<String> {
        let numbers = self.addresses.of(self.hasher.hash_one(address));
        numbers.filter_map(|number| Some(self.entries.get(number)?.id().to_owned())).collect()
    }

    fn description_hash(&self, description: Option<&str>) -> u32 {
        self.hasher.hash_one(description) as u32
    }

    /// Returns the Thing whose name is confusable with this name.
    fn confusable_with(&self, entry: &Entry) -> Option<&str> {
        if entry.skeleton().is_empty() {
            return None;
        }
        let age = |entry: &&Entry| (entry.created, entry.id().to_owned());
        let own_age = age(&entry);
        let is_others =
            |other: &&Entry| (entry.owner().is_none() || entry.owner() != other.owner()) && age(other) < own_age;
        let alike = self.looks.of(self.look_of(entry)).filter_map(|number| self.entries.get(number));
        let first = alike.filter(|other| other.skeleton() == entry.skeleton()).min_by_key(age);
        let first = first.filter(is_others).filter(|first| first.title != entry.title);
        first.map(HasId::id).or_else(|| {
            let is_near = |other: &&Entry| is_others(other) && is_within_one(entry.skeleton(), other.skeleton());
            let keys = if entry.is_signed || self.halves.is_empty() {
                Vec::new()
            } else {
                self.possible_halves(entry.skeleton())
            };
            let known = keys.iter().filter_map(|key| self.halves.get(key)).flatten();
            known.filter_map(|number| self.entries.get(*number)).find(is_near).map(HasId::id)
        })
    }

    /// Returns the halves of a name. Two names that differ in one character share a half, if the halves are as long
    /// as those of the shorter name.
    fn own_halves(&self, skeleton: &str) -> [(Side, u64); 2] {
        self.halves_of(skeleton, skeleton.chars().count() / 2)
    }

    /// Returns the halves of names that differ in one character.
    fn possible_halves(&self, skeleton: &str) -> Vec<(Side, u64)> {
        let length = skeleton.chars().count();
        let lengths = [length.saturating_sub(1) / 2, length / 2, length.div_ceil(2)];
        let mut halves: Vec<(Side, u64)> = lengths.iter().flat_map(|half| self.halves_of(skeleton, *half)).collect();
        halves.dedup();
        halves
    }

    fn halves_of(&self, skeleton: &str, half: usize) -> [(Side, u64); 2] {
        let start: String = skeleton.chars().take(half).collect();
        let end: String = skeleton.chars().rev().take(half).collect();
        [(Side::Start, self.hasher.hash_one(start)), (Side::End, self.hasher.hash_one(end))]
    }
}

/// Returns the target of the first form of a Thing that was imported in a format. `None` if ids in this format don't depend on
/// names.
pub(super) fn address_of<'t>(format: &str, thing: &'t Value) -> Option<&'t str> {
    const OF_NAMES: [Format; 2] = [Format::A2a, Format::McpServer];
    let actions = thing.get("actions").and_then(Value::as_object)?;
    let form = actions.values().next()?.get("forms")?.get(0)?;
    OF_NAMES.iter().any(|known| known.name() == format).then(|| form.get("href")?.as_str()).flatten()
}

impl HasId for Entry {
    fn id(&self) -> &str {
        self.text.get(..self.id_end as usize).unwrap_or_default()
    }
}

impl Entry {
    fn skeleton(&self) -> &str {
        self.text.get(self.id_end as usize..self.skeleton_end as usize).unwrap_or_default()
    }

    fn owner(&self) -> Option<&str> {
        self.text.get(self.skeleton_end as usize..).filter(|_| self.has_owner)
    }
}

/// Returns the skeleton of a name (UTS 39, section 4) in small letters, with single spaces.
fn skeleton_of(title: &str) -> String {
    // Twice: some capitals look like other small letters, and some small letters like several.
    let letters: String = skeleton(title).collect::<String>().to_lowercase();
    let letters: String = skeleton(&letters).collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if two names are equal or differ in one character other than a digit.
fn is_within_one(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().min(other.len()) < SHORTEST_ALIKE || one.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let start = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let longest_end = one.len().min(other.len()) - start;
    let end =
        one.iter().rev().zip(other.iter().rev()).take(longest_end).take_while(|(one, other)| one == other).count();
    let differing = |name: &[char]| name.get(start..name.len() - end).unwrap_or_default().to_vec();
    let (left, right) = (differing(&one), differing(&other));
    left.len() <= 1 && right.len() <= 1 && !left.iter().chain(&right).any(|differing| differing.is_numeric())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn named<'a>(id: &'a str, title: &'a str, owner: &'a str, created: i64) -> Named<'a> {
        Named {
            id,
            title: Some(title),
            description: None,
            address: None,
            is_edited: false,
            owner: Some(owner).filter(|owner| !owner.is_empty()),
            created: Timestamp(created),
            is_public: true,
            is_signed: false,
            flags: Vec::new(),
        }
    }

    fn found(names: &Names, id: &str) -> Option<String> {
        names.flags_of(id).into_iter().find(|flag| flag.kind == FlagKind::ConfusableName).map(|flag| flag.found)
    }

    #[test]
    fn later_names_that_look_like_another_are_confusable() {
        let mut names = Names::default();
        names.put(named("urn:a", "PayPal Agent", "pay", 1));
        // Cyrillic letters, a digit for a letter, another space.
        for (id, title) in [("urn:b", "РayРal Agent"), ("urn:c", "PayPa1 Agent"), ("urn:d", "PayPaI\u{a0}Agent")] {
            names.put(named(id, title, "evil", 2));
            assert_eq!(found(&names, id).as_deref(), Some("urn:a"), "{title}");
        }
        assert_eq!(found(&names, "urn:a"), None);
        for (id, title, owner) in
            [("urn:e", "PayPal Agent", "evil"), ("urn:f", "PayPa1 Agent", "pay"), ("urn:g", "Weather", "evil")]
        {
            names.put(named(id, title, owner, 3));
            assert_eq!(found(&names, id), None, "{title} of {owner}");
        }
        // Without owners nobody knows whose they are.
        names.put(named("urn:h", "PayPa1 Agent", "", 4));
        assert_eq!(found(&names, "urn:h").as_deref(), Some("urn:a"));
        // The next one is the first then, and is written as this is.
        names.remove("urn:a");
        assert_eq!(found(&names, "urn:b"), None);
    }

    #[test]
    fn names_near_that_of_a_signed_agent_are_confusable() {
        let mut names = Names::default();
        names.put(Named { is_signed: true, ..named("urn:a", "Acme Weather", "acme", 1) });
        for title in ["Acme Weather", "Acme Weathers", "Acne Weather", "cme Weather", "Acme  Weather", "ACME WEATHER"] {
            names.put(named("urn:b", title, "evil", 2));
            assert_eq!(found(&names, "urn:b").as_deref(), Some("urn:a"), "{title}");
        }
        for title in ["Acme Weather 2", "Acme Weather2", "Acme", "Weather", "Acme Wether s", ""] {
            names.put(named("urn:b", title, "evil", 2));
            assert_eq!(found(&names, "urn:b"), None, "{title}");
        }
        names.put(Named { is_signed: true, ..named("urn:b", "Acme Weathers", "evil", 2) });
        assert_eq!(found(&names, "urn:b"), None);
        names.put(named("urn:a", "Acme Weather", "acme", 1));
        names.put(named("urn:b", "Acme Weathers", "evil", 2));
        assert_eq!(found(&names, "urn:b"), None);
    }

    #[test]
    fn things_are_found_by_both_texts_unless_edited() {
        let mut names = Names::default();
        let (first, second) = (Some("Tells the time"), Some("Rings"));
        names.put(Named { description: first, ..named("urn:a", "Clock", "", 1) });
        names.put(Named { description: second, is_edited: true, ..named("urn:b", "Clock", "", 2) });
        names.put(named("urn:c", "Clock", "", 3));
        let found = |description| {
            let mut ids = names.find_by_texts("CLOCK", description);
            ids.sort();
            ids
        };
        assert_eq!(found(first), ["urn:a", "urn:b"]);
        assert_eq!(found(second), ["urn:b"]);
        assert_eq!(found(None), ["urn:b", "urn:c"]);
    }

    #[test]
    fn what_is_not_public_is_compared_with_nothing() {
        let mut names = Names::default();
        names.put(Named { is_public: false, is_signed: true, ..named("urn:a", "Acme Weather", "acme", 1) });
        names.put(named("urn:b", "Acme Weather", "evil", 2));
        names.put(named("urn:c", "Аcme Weather", "other", 3));
        assert_eq!(found(&names, "urn:b"), None);
        assert_eq!(found(&names, "urn:c").as_deref(), Some("urn:b"));
    }

    /// Whatever the character and its place, both halves or one of them lead to the signed name.
    #[test]
    fn every_name_at_distance_one_is_found() {
        let mut names = Names::default();
        let name = "abcdefghij";
        names.put(Named { is_signed: true, ..named("urn:a", name, "acme", 1) });
        for place in 0..=name.len() {
            let mut variants = vec![format!("{}x{}", &name[..place], &name[place..])];
            if place < name.len() {
                variants.push(format!("{}x{}", &name[..place], &name[place + 1..]));
                variants.push(format!("{}{}", &name[..place], &name[place + 1..]));
            }
            for variant in variants {
                names.put(named("urn:b", &variant, "evil", 2));
                assert_eq!(found(&names, "urn:b").as_deref(), Some("urn:a"), "{variant}");
            }
        }
    }

    proptest! {
        /// Whatever came and went before, flags are those of the Things that there are.
        #[test]
        fn flags_are_those_of_names_built_again(
            steps in prop::collection::vec((0..9u8, prop::option::of((0..5usize, 0..3u8, any::<bool>(), 0..4i64))), 0..60),
        ) {
            const TITLES: [&str; 5] = ["Acme Weather", "Acme Weathers", "Аcme Weather", "acme weather", ""];
            let put = |names: &mut Names, id: &str, (title, owner, is_signed, created): (usize, u8, bool, i64)| {
                let owner = ["", "acme", "evil"][usize::from(owner)];
                names.put(Named { is_signed, ..named(id, TITLES[title], owner, created) });
            };
            let (mut names, mut expected) = (Names::default(), BTreeMap::new());
            for (id, of) in steps {
                let id = id.to_string();
                match of {
                    Some(of) => {
                        put(&mut names, &id, of);
                        expected.insert(id, of);
                    }
                    None => {
                        names.remove(&id);
                        expected.remove(&id);
                    }
                }
            }
            let mut again = Names::default();
            expected.iter().for_each(|(id, of)| put(&mut again, id, *of));
            for id in (0..9).map(|id: u8| id.to_string()) {
                prop_assert_eq!(found(&names, &id).is_some(), found(&again, &id).is_some(), "{}", id);
            }
        }
    }
}
