//! Table of component types: the types in the text of the specification, and additional types of its newest SDK.
//!
//! A type is defined in a few lines in one of the files here: its name, the type it extends, and its own fields.
//! Inherited fields are added once, when the table is assembled.

/// Fields, put together at compile time.
macro_rules! fields {
    ($($field:expr),* $(,)?) => {
        const { &[$($field),*] }
    };
}
mod agents;
mod base;
mod datastores;
mod definition;
mod field;
mod flows;
mod llms;
mod mcp;
mod names;
mod records;
mod tools;

use std::{collections::HashMap, sync::LazyLock};

use self::{definition::Definition, names::Names};
pub(super) use self::{
    definition::{Call, Io, Leaving, Outputs, Role},
    field::{Bound, Field, Kind, Record, Secrecy, Trigger},
};
use super::version::Version;

/// Maximum number of fields of a type, inherited ones included.
pub(super) const MAX_FIELDS: usize = 32;

/// A type with everything that it inherits.
#[derive(Debug)]
pub(super) struct ComponentType {
    /// Its name, the value of `component_type`.
    pub(super) name: &'static str,
    /// A family, which no component has as its type.
    pub(super) is_abstract: bool,
    /// The version that it came with.
    pub(super) since: Version,
    /// Role for the components around it.
    pub(super) role: Role,
    /// Origin of its inputs and outputs.
    pub(super) io: Io,
    /// Branches by which it is left as a node.
    pub(super) leaving: Leaving,
    /// Kind of call that it specifies itself.
    pub(super) call: Call,
    /// Itself and all that it extends, nearest first.
    lineage: Vec<&'static str>,
    /// All fields, inherited ones first.
    fields: Vec<&'static Field>,
    names: Names,
}

impl ComponentType {
    /// The type or family of this name.
    pub(super) fn find(name: &str) -> Option<&'static ComponentType> {
        TYPES.get(name)
    }

    /// The type whose name differs in upper and lower case only.
    pub(super) fn find_alike(name: &str) -> Option<&'static ComponentType> {
        TYPES.values().find(|known| !known.is_abstract && known.name.eq_ignore_ascii_case(name))
    }

    /// The agent, flow, or tool that the type of a plugin extends by its name, as `ExtendedAgent` extends `Agent`.
    pub(super) fn extended_by(name: &str) -> Option<&'static ComponentType> {
        let extended = TYPES.values().filter(|known| !known.is_abstract && known.role.is_thing());
        extended.filter(|known| name.ends_with(known.name)).max_by_key(|known| known.name.len())
    }

    /// All types and families.
    #[cfg(test)]
    pub(super) fn all() -> impl Iterator<Item = &'static ComponentType> {
        TYPES.values()
    }

    /// True if this is `family` or extends it.
    pub(super) fn is_a(&self, family: &str) -> bool {
        self.lineage.contains(&family)
    }

    /// The fields that a profile knows, inherited ones first.
    pub(super) fn fields(&self) -> &[&'static Field] {
        &self.fields
    }

    /// A field by its name, or by another name that it is read by.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.position(name).map(|position| self.fields[position])
    }

    /// Finds the index among the fields of the one of that name, other names included.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.names.find(name)
    }

    fn new(definition: &'static Definition) -> ComponentType {
        let mut ancestry = vec![definition];
        while let Some(parent) = definitions().find(|known| known.name == ancestry[ancestry.len() - 1].parent) {
            ancestry.push(parent);
        }
        let mut fields: Vec<&'static Field> = Vec::new();
        for field in ancestry.iter().rev().flat_map(|definition| definition.fields) {
            match fields.iter_mut().find(|inherited| inherited.name == field.name) {
                Some(inherited) => *inherited = field,
                None => fields.push(field),
            }
        }
        let mut names = Names::default();
        for (position, field) in fields.iter().enumerate() {
            field.names().for_each(|name| names.add(name, position));
        }
        ComponentType {
            name: definition.name,
            is_abstract: definition.is_abstract,
            since: definition.since,
            role: ancestry.iter().find_map(|definition| definition.role).unwrap_or(Role::None),
            io: ancestry.iter().find_map(|definition| definition.io).unwrap_or(Io::Declared),
            leaving: ancestry.iter().find_map(|definition| definition.leaving).unwrap_or(Leaving::Next),
            call: ancestry.iter().find_map(|definition| definition.call).unwrap_or(Call::Unsaid),
            lineage: ancestry.iter().map(|definition| definition.name).collect(),
            fields,
            names,
        }
    }
}

static TYPES: LazyLock<HashMap<&'static str, ComponentType>> =
    LazyLock::new(|| definitions().map(|definition| (definition.name, ComponentType::new(definition))).collect());

/// Names of fields that are secrets or prompts in some type.
static SECRECIES: LazyLock<HashMap<&'static str, Secrecy>> = LazyLock::new(|| {
    let fields = definitions().flat_map(|definition| definition.fields);
    let fields = fields.filter(|field| matches!(field.secrecy, Secrecy::Secret | Secrecy::Prompt));
    fields.flat_map(|field| field.names().map(|name| (name, field.secrecy))).collect()
});

/// Returns the secrecy of a field of a type that isn't in the table: secret or a prompt if a field of that name is one
/// in another type.
pub(super) fn secrecy_of(name: &str) -> Secrecy {
    SECRECIES.get(name).copied().unwrap_or(Secrecy::Public)
}

fn definitions() -> impl Iterator<Item = &'static Definition> {
    [base::TYPES, agents::TYPES, tools::TYPES, mcp::TYPES, llms::TYPES, flows::TYPES, datastores::TYPES]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::{super::Profile, *};

    #[test]
    fn every_parent_and_every_family_of_a_part_is_in_the_table() {
        for definition in definitions() {
            assert!(definition.parent.is_empty() || ComponentType::find(definition.parent).is_some());
            for field in definition.fields {
                for profile in [Profile::Spec, Profile::Sdk] {
                    if let Some(family) = field.kind(profile).family() {
                        assert!(ComponentType::find(family).is_some(), "{}.{}", definition.name, field.name);
                    }
                }
            }
        }
        assert_eq!(ComponentType::all().count(), definitions().count(), "a name is there twice");
    }

    #[test]
    fn types_inherit_fields_and_families() {
        let found = ComponentType::find("SSEmTLSTransport").unwrap();
        assert!(found.is_a("RemoteTransport") && found.is_a("Component") && !found.is_a("Tool"));
        assert_eq!(found.fields()[0].name, "id");
        assert!(
            found.field("sensitive_headers").is_some() && found.field("key_file").unwrap().is_required(Profile::Spec)
        );
        assert!(found.fields().len() <= MAX_FIELDS);
    }

    #[test]
    fn names_of_secrets_are_secrets_in_unknown_types_too() {
        for name in ["api_key", "sensitive_headers", "wallet_password", "sslcrl"] {
            assert_eq!(secrecy_of(name), Secrecy::Secret, "{name}");
        }
        assert_eq!(secrecy_of("prompt_template"), Secrecy::Prompt);
        assert_eq!(secrecy_of("url"), Secrecy::Public);
    }

    #[test]
    fn fields_are_found_by_all_of_their_names() {
        for known in ComponentType::all() {
            for (position, field) in known.fields().iter().enumerate() {
                assert!(
                    field.names().all(|name| known.position(name) == Some(position)),
                    "{}.{}",
                    known.name,
                    field.name
                );
            }
            assert!(["", "x", "component_type", "names"].into_iter().all(|name| known.position(name).is_none()));
        }
        let agent = ComponentType::find("Agent").unwrap();
        assert_eq!(agent.position("llm_configuration"), agent.position("llm_config"));
    }

    #[test]
    fn sixty_one_types_are_concrete() {
        assert_eq!(ComponentType::all().filter(|known| !known.is_abstract).count(), 61);
        assert!(ComponentType::all().all(|known| known.fields().len() <= MAX_FIELDS));
    }
}
