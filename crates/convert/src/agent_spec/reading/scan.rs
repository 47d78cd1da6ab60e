//! First pass over a document: collects the defined ids, and checks that every reference has a target.

use serde_json::{Map, Value};

use super::{
    super::{
        Profile,
        marks::component_name,
        places::At,
        references::{DEFINITIONS, REFERENCE, text_member},
        types::{ComponentType, Secrecy},
    },
    reader::{Reader, Use},
};
use crate::td::MAX_ID_BYTES;

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

    /// Checks that the references of the documents scanned so far lead somewhere.
    pub(super) fn check_uses(&mut self) {
        for Use { id, place, value, may_be_withheld } in std::mem::take(&mut self.uses) {
            let at = At::Place(place);
            let Value::String(id) = id else {
                self.error(&at, "malformed-reference", || format!("`{REFERENCE}` must be a component id, as a string"));
                continue;
            };
            if let Some(definition) = self.graph.definitions.get_mut(id.as_str()) {
                definition.is_used = true;
                continue;
            }
            if self.known_ids.contains(id.as_str()) {
                continue;
            }
            if may_be_withheld {
                self.withheld.insert(std::ptr::from_ref(value));
                continue;
            }
            self.error(&at, "unresolved-reference", || {
                format!("`{id}` is not defined; add it to `{DEFINITIONS}`, or pass the document that defines it")
            });
        }
    }
}

impl Around<'_> {
    /// True if the id is one that whoever exports a configuration puts in the place of a value that must
    /// not be seen: `<id>.<field>`.
    fn may_withhold(self, id: &Value) -> bool {
        let Value::String(id) = id else { return false };
        let own = text_member(self.members, "id");
        // Names of what is hidden begin with no more of an id than is good for them.
        let names_field = own.and_then(|own| {
            let rest = match id.strip_prefix(own) {
                None if own.len() <= MAX_ID_BYTES => id.strip_prefix(component_name(own).as_ref()),
                rest => rest,
            };
            rest?.strip_prefix('.')
        });
        let known = text_member(self.members, "component_type").and_then(ComponentType::find);
        let Some(known) = known else { return names_field.is_some() };
        let names_this = match own {
            Some(_) => names_field
                .and_then(|rest| rest.strip_prefix(self.field))
                .is_some_and(|rest| if self.is_field { rest.is_empty() } else { ends_name(rest) }),
            // A component without an id is named by those around it.
            None => id
                .match_indices(self.field)
                .any(|(start, _)| id[..start].ends_with('.') && ends_name(&id[start + self.field.len()..])),
        };
        // The id of the component may have been changed or dropped since.
        let names_secret = || id.strip_suffix(self.field).is_some_and(|rest| rest.ends_with('.'));
        match known.field(self.field).map(|field| field.secrecy) {
            Some(Secrecy::Secret) => names_this || (self.is_field && names_secret()),
            // Something within a free-form value may have been a secret.
            Some(Secrecy::Public) => names_this && !self.is_field,
            Some(Secrecy::Address | Secrecy::MayHoldSecrets | Secrecy::Prompt) | None => names_this,
        }
    }
}

/// True if a name ends where `rest` begins, or goes on with that of something within.
fn ends_name(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('.')
}
