//! References: what is defined under which id, what refers to it, and what was left out on purpose.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Profile,
    graph::{Key, text_member},
    places::{At, PlaceId},
    reader::Reader,
    types::{ComponentType, Secrecy},
    version::Version,
};

/// The member that makes an object a reference.
pub(super) const REFERENCE: &str = "$component_ref";
/// The member that holds what references lead to.
pub(super) const DEFINITIONS: &str = "$referenced_components";

/// What a reference may have beside it, as the whole of a document.
const MAY_STAND_BESIDE: [&str; 4] = [REFERENCE, DEFINITIONS, "agentspec_version", "air_version"];

/// The longest chain of components within components, references followed.
pub(super) const MAX_DEPTH: usize = 128;
/// The most values that are looked at again because another reference leads to them.
const MAX_REPEATED_VALUES: usize = 1_000_000;

/// The object that is a reference, if the value is one.
pub(super) fn as_reference(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|members| members.contains_key(REFERENCE))
}

/// What an id stands for.
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

/// How far a definition is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum State<'d> {
    Unread,
    Reading,
    Read(Resolved<'d>),
}

/// What a reference leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Resolved<'d> {
    Component(Key),
    Plain(&'d Value),
    /// To nothing, and meant so.
    Withheld,
    /// To nothing, which is reported already.
    Nothing,
}

/// A reference that was seen while a document was scanned.
pub(super) struct Use<'d> {
    id: &'d Value,
    place: PlaceId,
    /// The reference itself.
    value: &'d Value,
    may_be_withheld: bool,
}

/// The component around the values that are scanned.
#[derive(Clone, Copy)]
struct Around<'d> {
    members: &'d Map<String, Value>,
    /// The field of it that is scanned.
    field: &'d str,
    /// The value is the field's own, not one within it.
    is_field: bool,
}

impl<'d> Reader<'d, '_> {
    /// Finds all references and definitions of a document, wherever they are. In the `spec` profile
    /// definitions hold for the whole configuration, in `sdk` from where they are read on.
    pub(super) fn scan(&mut self, document: &'d Value, at: &At<'_, 'd>) {
        self.scan_value(document, at, None);
    }

    fn scan_value(&mut self, value: &'d Value, at: &At<'_, 'd>, around: Option<Around<'d>>) {
        match value {
            Value::Array(items) => {
                let around = around.map(|around| Around { is_field: false, ..around });
                for (index, item) in items.iter().enumerate() {
                    if item.is_object() || item.is_array() {
                        self.scan_value(item, &at.index(index), around);
                    }
                }
            }
            Value::Object(members) => self.scan_object(value, members, at, around),
            _ => {}
        }
    }

    fn scan_object(
        &mut self,
        value: &'d Value,
        members: &'d Map<String, Value>,
        at: &At<'_, 'd>,
        around: Option<Around<'d>>,
    ) {
        let is_component = members.contains_key("component_type");
        for (name, member) in members {
            match name.as_str() {
                REFERENCE => {
                    let may_be_withheld = around.is_some_and(|around| around.may_withhold(member));
                    let place = self.graph.places.remember(at);
                    self.uses.push(Use { id: member, place, value, may_be_withheld });
                }
                DEFINITIONS => self.scan_definitions(member, &at.member(name)),
                // What anybody wrote there is no business of the language.
                "metadata" if self.profile == Profile::Spec => {}
                _ if member.is_object() || member.is_array() => {
                    let within = if is_component {
                        Some(Around { members, field: name, is_field: true })
                    } else {
                        around.map(|around| Around { is_field: false, ..around })
                    };
                    self.scan_value(member, &at.member(name), within);
                }
                _ => {}
            }
        }
    }

    fn scan_definitions(&mut self, definitions: &'d Value, at: &At<'_, 'd>) {
        let Value::Object(members) = definitions else {
            self.error(at, "wrong-type", || format!("`{DEFINITIONS}` must be an object that maps ids to components"));
            return;
        };
        for (id, value) in members {
            let at = at.member(id);
            match self.profile {
                Profile::Spec => self.define(id, value, &at),
                Profile::Sdk => _ = self.known_ids.insert(id),
            }
            self.scan_value(value, &at, None);
        }
    }

    /// Takes an id as defined from here on.
    pub(super) fn define(&mut self, id: &'d str, value: &'d Value, at: &At<'_, 'd>) {
        if let Some(earlier) = self.graph.definitions.get(id) {
            // A value that is handed to the SDK goes before one of the same id in the document.
            if self.profile == Profile::Spec || !earlier.is_beside {
                let first = self.graph.places.spot_of(earlier.place).pointer;
                self.error(at, "duplicate-reference", || format!("`{id}` is defined at {first:?} already"));
            }
            return;
        }
        let place = self.graph.places.remember(at);
        let definition = Definition { value, place, state: State::Unread, is_used: false, is_beside: self.is_beside };
        self.graph.definitions.insert(id, definition);
        self.defined.push(id);
    }

    /// Checks that the references of the documents scanned so far lead somewhere.
    pub(super) fn check_uses(&mut self) {
        for Use { id, place, value, may_be_withheld } in std::mem::take(&mut self.uses) {
            let at = At::Place(place);
            let Value::String(id) = id else {
                self.error(&at, "malformed-reference", || {
                    format!("`{REFERENCE}` must be the id of a component as a string")
                });
                continue;
            };
            if self.graph.definitions.contains_key(id.as_str()) || self.known_ids.contains(id.as_str()) {
                continue;
            }
            if may_be_withheld {
                self.withheld.insert(std::ptr::from_ref(value));
                continue;
            }
            self.error(&at, "unresolved-reference", || {
                format!("nothing with the id `{id}` is defined; add it to `{DEFINITIONS}`, or give the document that defines it")
            });
        }
    }

    /// Follows a reference, which reads what it leads to if nobody did before.
    pub(super) fn follow(
        &mut self,
        value: &'d Value,
        reference: &'d Map<String, Value>,
        at: &At<'_, 'd>,
    ) -> Resolved<'d> {
        let Some(id) = text_member(reference, REFERENCE) else { return Resolved::Nothing };
        if self.profile == Profile::Spec && reference.keys().any(|name| !MAY_STAND_BESIDE.contains(&name.as_str())) {
            self.warning(at, "reference-members", || format!("members beside `{REFERENCE}` mean nothing"));
        }
        let Some(definition) = self.graph.definitions.get_mut(id) else {
            return self.follow_nowhere(value, id, at);
        };
        definition.is_used = true;
        match definition.state {
            State::Read(resolved) => resolved,
            State::Reading => {
                self.error(at, "circular-reference", || format!("`{id}` is part of itself"));
                Resolved::Nothing
            }
            State::Unread => self.read_definition(id),
        }
    }

    fn follow_nowhere(&mut self, value: &'d Value, id: &str, at: &At<'_, 'd>) -> Resolved<'d> {
        if self.withheld.contains(&std::ptr::from_ref(value)) {
            return Resolved::Withheld;
        }
        if self.known_ids.contains(id) {
            self.error(at, "unresolved-reference", || {
                format!("`{id}` is defined in a part of the configuration that the SDK reads later")
            });
        }
        Resolved::Nothing
    }

    /// Reads what an id stands for.
    pub(super) fn read_definition(&mut self, id: &'d str) -> Resolved<'d> {
        let Some(definition) = self.graph.definitions.get_mut(id) else { return Resolved::Nothing };
        definition.state = State::Reading;
        let (value, at) = (definition.value, At::Place(definition.place));
        let resolved = self.read_defined(id, value, &at);
        if let Some(definition) = self.graph.definitions.get_mut(id) {
            definition.state = State::Read(resolved);
        }
        resolved
    }

    fn read_defined(&mut self, id: &'d str, value: &'d Value, at: &At<'_, 'd>) -> Resolved<'d> {
        let Value::Object(members) = value else { return self.read_plain(value, at) };
        if !members.contains_key("component_type") && !members.contains_key(REFERENCE) && self.profile == Profile::Spec
        {
            return self.read_plain(value, at);
        }
        let resolved = self.read_object(value, members, at);
        if self.profile == Profile::Spec
            && let Some(own) = text_member(members, "id")
            && own != id
        {
            self.error(&at.member("id"), "reference-id-differs", || {
                format!("the component has the id {own:?}, but is defined as `{id}`; references go by the latter")
            });
        }
        resolved
    }

    fn read_plain(&mut self, value: &'d Value, at: &At<'_, 'd>) -> Resolved<'d> {
        if self.profile == Profile::Sdk {
            self.error(at, "plain-reference", || "the SDK reads components only from here, no plain values");
            return Resolved::Nothing;
        }
        Resolved::Plain(value)
    }

    /// Whether a plain value may be looked at once more: what many references lead to must not make a
    /// small document a lot of work.
    pub(super) fn may_repeat(&mut self, value: &'d Value, at: &At<'_, 'd>) -> bool {
        if self.repeated_values <= MAX_REPEATED_VALUES {
            self.repeated_values += count_values(value, MAX_REPEATED_VALUES);
        }
        let may = self.repeated_values <= MAX_REPEATED_VALUES;
        if !may && !std::mem::replace(&mut self.is_exhausted, true) {
            self.error(at, "too-many-repetitions", || {
                format!("references repeat more than {MAX_REPEATED_VALUES} values; use components for what is large and used often")
            });
        }
        may
    }
}

impl Around<'_> {
    /// Whether the id is one that whoever exports a configuration puts in the place of a value that must
    /// not be seen: `<id>.<field>`.
    fn may_withhold(self, id: &Value) -> bool {
        let Value::String(id) = id else { return false };
        let own = text_member(self.members, "id").unwrap_or_default();
        let names_field = id.strip_prefix(own).and_then(|rest| rest.strip_prefix('.'));
        let known = text_member(self.members, "component_type").and_then(ComponentType::find);
        let Some(known) = known else { return names_field.is_some() };
        let Some(field) = known.field(self.field) else { return false };
        let names_this = names_field
            .and_then(|rest| rest.strip_prefix(self.field))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        // The id of the component may have been changed or dropped since.
        let names_secret = || id.strip_suffix(self.field).is_some_and(|rest| rest.ends_with('.'));
        match field.secrecy {
            Secrecy::Public => false,
            Secrecy::Secret => names_this || (self.is_field && names_secret()),
            Secrecy::Address | Secrecy::MayHoldSecrets | Secrecy::Prompt => names_this,
        }
    }
}

/// How many values a value is made of, as far as it matters.
fn count_values(value: &Value, maximum: usize) -> usize {
    let (mut count, mut rest) = (0, vec![value]);
    while let Some(next) = rest.pop() {
        count += 1;
        match next {
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => rest.extend(members.values()),
            _ => {}
        }
        if count + rest.len() > maximum {
            return maximum + 1;
        }
    }
    count
}

/// The ids that a document defines anywhere, for the SDK's first look at it.
pub(super) type KnownIds<'d> = HashSet<&'d str>;

/// The version of a component that comes in a document beside the main one.
pub(super) fn own_version(value: &Value) -> Option<Version> {
    let members = value.as_object()?;
    Version::parse(text_member(members, "agentspec_version").or_else(|| text_member(members, "air_version"))?)
}
