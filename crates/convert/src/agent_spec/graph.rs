//! Graph of the components of a configuration. Each component occurs once, however often it is referred to.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Profile,
    findings::Spot,
    places::{At, PlaceId, Places},
    references::{REFERENCE, as_reference, text_member},
    types::{ComponentType, Field, Kind, Role},
    version::Version,
};

/// All components of a configuration. What refers to itself is cut where the circle closes, so that
/// following parts always ends.
#[derive(Debug)]
pub(super) struct Graph<'d> {
    pub(super) profile: Profile,
    /// The version of the language that the configuration is written for.
    pub(super) version: Version,
    pub(super) root: Option<Key>,
    pub(super) components: Vec<Component<'d>>,
    pub(super) links: Links,
    pub(super) definitions: HashMap<&'d str, Definition<'d>>,
    pub(super) places: Places<'d>,
}

/// The value that an id stands for.
#[derive(Debug)]
pub(super) struct Definition<'d> {
    pub(super) value: &'d Value,
    pub(super) place: PlaceId,
    pub(super) state: State<'d>,
    /// Something refers to it.
    pub(super) is_used: bool,
    /// It came in a document beside the main one.
    pub(super) is_beside: bool,
}

/// Reading progress of a definition.
#[derive(Debug, Clone, Copy)]
pub(super) enum State<'d> {
    Unread,
    Reading,
    Read(Resolved<'d>),
}

/// The target of a reference.
#[derive(Debug, Clone, Copy)]
pub(super) enum Resolved<'d> {
    Component(Key),
    Plain(&'d Value),
    /// No target, as intended: the value is held back.
    Withheld,
    /// No target, which is reported already.
    Nothing,
}

/// A component of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(pub(super) u32);

impl Key {
    /// A number from 0 to below [`Graph::len`], for lists beside the graph.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Some of the components of a graph: a bit for each.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<u64>);

impl Keys {
    /// Adds one; true if it wasn't among them.
    pub(super) fn insert(&mut self, key: Key) -> bool {
        let (word, bit) = (key.index() / 64, 1 << (key.index() % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.0.get(key.index() / 64).is_some_and(|word| word >> (key.index() % 64) & 1 == 1)
    }
}

impl FromIterator<Key> for Keys {
    fn from_iter<I: IntoIterator<Item = Key>>(keys: I) -> Keys {
        let mut found = Keys::default();
        for key in keys {
            found.insert(key);
        }
        found
    }
}

/// A component as it is written, its references not resolved.
#[derive(Debug)]
pub(super) struct Component<'d> {
    pub(super) class: Class,
    pub(super) members: &'d Map<String, Value>,
    pub(super) place: PlaceId,
    /// The version that applies to it.
    pub(super) version: Version,
    /// Its groups in the links.
    pub(super) groups: std::ops::Range<u32>,
    /// Fields whose value was held back by whoever wrote the configuration.
    pub(super) withheld: Vec<&'static str>,
}

/// The type of a component, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    Known(&'static ComponentType),
    /// It comes from a plugin: nothing is known of its fields.
    Plugin,
}

/// From components to their parts.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The parts in one field of one component.
    pub(super) groups: Vec<(&'static str, std::ops::Range<u32>)>,
    pub(super) targets: Vec<Key>,
    /// Index of each target in the list of the field; entries that couldn't be read are counted.
    pub(super) positions: Vec<u32>,
}

impl<'d> Graph<'d> {
    /// A graph without components.
    pub(super) fn empty(profile: Profile) -> Graph<'d> {
        Graph {
            profile,
            version: Version::NEWEST,
            root: None,
            components: Vec::new(),
            links: Links::default(),
            definitions: HashMap::new(),
            places: Places::default(),
        }
    }

    /// The component that the configuration is about.
    pub(super) fn root(&self) -> Option<Key> {
        self.root
    }

    /// All components, parts before what they are part of.
    pub(super) fn keys(&self) -> impl DoubleEndedIterator<Item = Key> + use<> {
        (0..u32::try_from(self.components.len()).unwrap_or(u32::MAX)).map(Key)
    }

    /// Returns the number of components.
    pub(super) fn len(&self) -> usize {
        self.components.len()
    }

    pub(super) fn component(&self, key: Key) -> &Component<'d> {
        &self.components[key.index()]
    }

    /// The value of `component_type`.
    pub(super) fn type_name(&self, key: Key) -> &'d str {
        let component = self.component(key);
        match component.class {
            Class::Known(known) => known.name,
            Class::Plugin => text_member(component.members, "component_type").unwrap_or_default(),
        }
    }

    /// Its type; of a plugin's component nothing is known.
    pub(super) fn known(&self, key: Key) -> Option<&'static ComponentType> {
        match self.component(key).class {
            Class::Known(known) => Some(known),
            Class::Plugin => None,
        }
    }

    /// True if its type is `family` or extends it; of a plugin's component nobody knows.
    pub(super) fn is_a(&self, key: Key, family: &str) -> bool {
        self.known(key).is_some_and(|known| known.is_a(family))
    }

    /// Returns its role for the components around it; [`Role::None`] if it comes from a plugin.
    pub(super) fn role(&self, key: Key) -> Role {
        self.known(key).map_or(Role::None, |known| known.role)
    }

    /// True if it comes from a plugin.
    pub(super) fn is_plugin(&self, key: Key) -> bool {
        matches!(self.component(key).class, Class::Plugin)
    }

    /// Its id, if it has one.
    pub(super) fn id(&self, key: Key) -> Option<&'d str> {
        text_member(self.component(key).members, "id")
    }

    /// Finds the definition of one of its fields in the table of types; none if it comes from a plugin.
    pub(super) fn field_type(&self, key: Key, name: &str) -> Option<&'static Field> {
        self.known(key)?.field(name)
    }

    /// A field's value, also under another name that the field is read by. A reference to a plain value
    /// is that value; one that leads nowhere is nothing, see [`Graph::is_withheld`]; one to a component is
    /// itself, see [`Graph::part`].
    pub(super) fn field(&self, key: Key, name: &str) -> Option<&'d Value> {
        self.resolve(self.written(key, name)?)
    }

    /// A field's value as it is written, also under another name that the field is read by.
    pub(super) fn written(&self, key: Key, name: &str) -> Option<&'d Value> {
        let members = self.component(key).members;
        members.get(name).or_else(|| {
            let alias = self.field_type(key, name)?.alias().filter(|_| self.profile == Profile::Spec)?;
            members.get(alias)
        })
    }

    /// A field that is a string.
    pub(super) fn text(&self, key: Key, name: &str) -> Option<&'d str> {
        self.field(key, name)?.as_str()
    }

    /// A value within a field, where it is a reference to a plain value that value.
    pub(super) fn resolve(&self, value: &'d Value) -> Option<&'d Value> {
        let Some(reference) = as_reference(value) else { return Some(value) };
        match self.definitions.get(text_member(reference, REFERENCE)?)?.state {
            State::Read(Resolved::Plain(plain)) => Some(plain),
            State::Read(Resolved::Component(_)) => Some(value),
            _ => None,
        }
    }

    /// True if the value of a field, or a part of it, was held back: it is a reference like
    /// `<id>.<field>` that leads nowhere, and meant so.
    pub(super) fn is_withheld(&self, key: Key, field: &str) -> bool {
        self.component(key).withheld.contains(&field)
    }

    /// The component in a field; nothing if it is missing, `null`, or not what should be there, which is
    /// reported already.
    pub(super) fn part(&self, key: Key, field: &str) -> Option<Key> {
        self.parts(key, field).first().copied()
    }

    /// The components in a field, without those that couldn't be read.
    pub(super) fn parts(&self, key: Key, field: &str) -> &[Key] {
        self.group(key, field).map_or(&[], |range| &self.links.targets[range])
    }

    /// The pairs of components in a field.
    pub(super) fn pairs(&self, key: Key, field: &str) -> impl Iterator<Item = (Key, Key)> + use<'_, 'd> {
        self.parts(key, field).chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// All parts of a component, field by field.
    pub(super) fn all_parts(&self, key: Key) -> impl Iterator<Item = (&'static str, &[Key])> {
        let groups = &self.component(key).groups;
        let groups = &self.links.groups[groups.start as usize..groups.end as usize];
        groups.iter().map(|(field, range)| (*field, &self.links.targets[range.start as usize..range.end as usize]))
    }

    /// Returns the place at which a component is written.
    pub(super) fn at(&self, key: Key) -> Spot {
        self.places.spot_of(self.component(key).place)
    }

    /// Returns the place where the field mentions the `n`th of [`Graph::parts`]; in pairs, `n` counts both members.
    pub(super) fn at_part(&self, key: Key, field: &str, n: usize) -> Spot {
        let spot = self.at(key).member(field);
        let Some(range) = self.group(key, field) else { return spot };
        let Some(position) = self.links.positions[range].get(n) else { return spot };
        let position = *position as usize;
        match self.field_type(key, field).map(|field| field.kind(self.profile)) {
            Some(Kind::Part(_)) => spot,
            Some(Kind::Pairs(_)) => spot.index(position).index(n % 2),
            _ => spot.index(position),
        }
    }

    /// The JSON Pointer of a component.
    pub(super) fn pointer(&self, key: Key) -> String {
        self.at(key).pointer
    }

    fn group(&self, key: Key, field: &str) -> Option<std::ops::Range<usize>> {
        let groups = &self.component(key).groups;
        let groups = &self.links.groups[groups.start as usize..groups.end as usize];
        let (_, range) = groups.iter().find(|(name, _)| *name == field)?;
        Some(range.start as usize..range.end as usize)
    }

    /// Returns the document and JSON Pointer of a walk's position.
    pub(super) fn spot(&self, at: &At<'_, 'd>) -> Spot {
        self.places.spot(at)
    }
}
