//! Definitions of ids, and resolution of references to them.

use serde_json::{Map, Value};

use super::{
    super::{
        Profile,
        graph::{Definition, Resolved, State},
        places::At,
        references::{DEFINITIONS, REFERENCE, text_member},
    },
    reader::Reader,
};

/// Members that a reference may have. All but the first belong to a document that is a reference as a whole.
const MAY_STAND_BESIDE: [&str; 4] = [REFERENCE, DEFINITIONS, "agentspec_version", "air_version"];

/// The most values that are read again because another reference leads to them.
const MAX_REPEATED_VALUES: usize = 250_000;
/// So much of a text is as much to read as another value.
const BYTES_OF_A_VALUE: usize = 256;

impl<'d> Reader<'d, '_> {
    /// Takes an id as defined from here on.
    pub(super) fn define(&mut self, id: &'d str, value: &'d Value, at: &At<'_, 'd>) {
        if let Some(earlier) = self.graph.definitions.get(id) {
            // A value that is handed to the SDK goes before one of the same id in the document.
            if self.profile == Profile::Spec || !earlier.is_beside {
                let first = self.graph.places.spot_of(earlier.place).pointer;
                self.error(at, "duplicate-reference", || format!("`{id}` is already defined at {first:?}"));
            }
            return;
        }
        let place = self.graph.places.remember(at);
        let definition = Definition { value, place, state: State::Unread, is_used: false, is_beside: self.is_beside };
        self.graph.definitions.insert(id, definition);
        self.defined.push(id);
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
            self.warning(at, "reference-members", || format!("members besides `{REFERENCE}` are ignored"));
        }
        let Some(definition) = self.graph.definitions.get(id) else {
            return self.follow_nowhere(value, id, at);
        };
        match definition.state {
            State::Read(resolved) => resolved,
            State::Reading => {
                self.error(at, "circular-reference", || format!("`{id}` contains itself"));
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
                format!("`{id}` is defined in a part of the configuration that the SDK reads after this reference")
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
                format!("the component has the id {own:?}, but is defined as `{id}`; use the same id in both places")
            });
        }
        resolved
    }

    fn read_plain(&mut self, value: &'d Value, at: &At<'_, 'd>) -> Resolved<'d> {
        if self.profile == Profile::Sdk {
            self.error(at, "plain-reference", || "the SDK accepts only components here, not plain values");
            return Resolved::Nothing;
        }
        Resolved::Plain(value)
    }

    /// True if a plain value may be read once more: what many references lead to must not make a
    /// small document a lot of work.
    pub(super) fn may_repeat(&mut self, value: &'d Value, at: &At<'_, 'd>) -> bool {
        if self.repeated_values <= MAX_REPEATED_VALUES {
            self.repeated_values += count_values(value, MAX_REPEATED_VALUES);
        }
        let may = self.repeated_values <= MAX_REPEATED_VALUES;
        if !may && !std::mem::replace(&mut self.is_exhausted, true) {
            self.error(at, "too-many-repetitions", || {
                format!(
                    "references repeat more than {MAX_REPEATED_VALUES} values (a string counts once per \
                     {BYTES_OF_A_VALUE} bytes); use components for large values that are used often"
                )
            });
        }
        may
    }
}

/// Counts the values within a value, and itself, up to one more than `maximum`; long texts count as several.
fn count_values(value: &Value, maximum: usize) -> usize {
    let (mut count, mut rest) = (0, vec![value]);
    while let Some(next) = rest.pop() {
        count += 1;
        match next {
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => {
                count += members.keys().map(|name| name.len() / BYTES_OF_A_VALUE).sum::<usize>();
                rest.extend(members.values());
            }
            Value::String(text) => count += text.len() / BYTES_OF_A_VALUE,
            _ => {}
        }
        if count + rest.len() > maximum {
            return maximum + 1;
        }
    }
    count
}
