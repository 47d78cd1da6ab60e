//! Values to be hidden: fields marked as secrets by the language or its SDK, the values they refer to, and prompts.
//!
//! Such a value is replaced by the reference `{"$component_ref": "<id>.<field>"}`, which the language uses for values
//! that aren't exported. They have to be supplied when the configuration is run.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::HashMap,
    ops::Range,
};

use serde_json::json;
use uuid::Uuid;

use super::{
    Profile,
    references::{DEFINITIONS, REFERENCE},
    sensitive_headers,
    types::{ComponentType, Field, Kind, Secrecy, secrecy_of},
};
use crate::redaction::{self, Mark, Marks, Node, Place, Rule, is_secret_value, without_credentials};

/// The most bytes of a name that what is within goes on with.
const LONGEST_NAME: usize = 256;
/// The most bytes of an id, or of the name of a member, in a name.
const LONGEST_PART: usize = 128;
/// Length in bytes of the suffix that replaces the end of a name that is too long: a tilde and a UUID.
const DIGEST_BYTES: usize = 33;

/// Marks of the documents of one configuration.
#[derive(Default)]
pub(super) struct SpecMarks {
    publish_prompts: bool,
    /// The ids of plain values that are hidden, since something secret refers to them.
    hidden: HashMap<String, Rule>,
    /// Names that were made of places, by the values there: they may be long, and much may be hidden within.
    names: RefCell<HashMap<usize, String>>,
    /// The object whose member was marked last, and what it is: its members come one after another.
    last: Cell<Option<(usize, Around)>>,
}

/// The kind of object that holds a member.
#[derive(Debug, Clone, Copy)]
enum Around {
    Plain,
    /// A component of this type, if that is known.
    Component(Option<&'static ComponentType>),
}

impl Around {
    fn of(object: &Node<'_>) -> Around {
        let Some(class) = object.get("component_type") else { return Around::Plain };
        let known = class.text().and_then(ComponentType::find);
        Around::Component(known.filter(|_| object.get("component_plugin_name").is_none()))
    }
}

impl SpecMarks {
    /// Marks of documents that may refer to each other's values.
    pub(super) fn of(documents: &[Node<'_>], publish_prompts: bool) -> SpecMarks {
        let mut plain = PlainValues::new();
        documents.iter().for_each(|document| collect_plain(document, &mut plain));
        let mut marks = SpecMarks { publish_prompts, ..SpecMarks::default() };
        if plain.is_empty() {
            return marks;
        }
        let mut found = Vec::new();
        for (name, values) in &plain {
            let field = name.rsplit('.').next().unwrap_or(name);
            if secrecy_of(field) == Secrecy::Secret || values.iter().any(|value| is_secret_value(field, value)) {
                found.push((*name, Rule::Field));
            }
        }
        documents.iter().for_each(|document| marks.collect(document, &plain, &mut found));
        while let Some((name, rule)) = found.pop() {
            let Some(values) = plain.get(name) else { continue };
            if marks.hidden.insert(name.to_owned(), rule).is_none() {
                values.iter().for_each(|value| references(value, &mut |id| found.push((id, rule))));
            }
        }
        marks
    }

    /// Finds the plain values that marked fields refer to, and those that are secrets by the name of what
    /// refers to them.
    fn collect<'n>(&self, value: &'n Node<'_>, plain: &PlainValues<'n>, found: &mut Vec<(&'n str, Rule)>) {
        value.elements().iter().for_each(|element| self.collect(element, plain, found));
        for (name, member) in value.members() {
            let marked = match field_of(value, name).map_or_else(|| secrecy_of(name), |field| field.secrecy) {
                Secrecy::Secret => Some(Rule::Field),
                Secrecy::Prompt if !self.publish_prompts => Some(Rule::Prompt),
                _ => None,
            };
            if let Some(rule) = marked {
                references(member, &mut |id| found.push((id, rule)));
            } else if let Some(id) = reference(member)
                && plain.get(id).is_some_and(|values| values.iter().any(|value| is_secret_value(name, value)))
            {
                found.push((id, Rule::Name));
            }
            self.collect(member, plain, found);
        }
    }

    /// The name of a reference in the place of a value: `<id>.<field>`, by the nearest component with an id.
    fn name_of(&self, place: &Place<'_, '_>) -> String {
        let address = std::ptr::from_ref(place.value) as usize;
        if let Some(name) = self.names.borrow().get(&address) {
            return name.clone();
        }
        let name = match (own_name(place), place.outer) {
            (Some(id), _) => component_name(id).into_owned(),
            (None, None) => place.value.get("component_type").and_then(Node::text).unwrap_or("component").to_owned(),
            (None, Some(outer)) => {
                let token: Cow<'_, str> = place.name.map_or_else(|| place.index.to_string().into(), component_name);
                format!("{}.{token}", shortened(self.name_of(outer).into(), LONGEST_NAME))
            }
        };
        self.names.borrow_mut().insert(address, name.clone());
        name
    }

    fn around(&self, object: &Node<'_>) -> Around {
        let address = std::ptr::from_ref(object) as usize;
        match self.last.get() {
            Some((last, around)) if last == address => around,
            _ => {
                let around = Around::of(object);
                self.last.set(Some((address, around)));
                around
            }
        }
    }

    fn refers_to_hidden(&self, value: &Node<'_>) -> bool {
        !self.hidden.is_empty() && reference(value).is_some_and(|id| self.hidden.contains_key(id))
    }
}

impl Marks for SpecMarks {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        let (Some(name), Some(around)) = (member.name, member.around()) else { return Mark::None };
        if member.outer.is_some_and(|outer| outer.name == Some(DEFINITIONS)) && !is_component(member.value) {
            return self.hidden.get(name).map_or(Mark::None, |rule| Mark::Removed(*rule));
        }
        let Around::Component(known) = self.around(around) else {
            return if self.refers_to_hidden(member.value) { Mark::RefersToHidden } else { Mark::None };
        };
        let field = known.and_then(|known| known.field(name));
        match field.map_or_else(|| secrecy_of(name), |field| field.secrecy) {
            Secrecy::Secret if field.is_some() || !is_component(member.value) => return Mark::Secret,
            Secrecy::Prompt if self.publish_prompts => {}
            Secrecy::Prompt => return Mark::Prompt,
            _ if self.refers_to_hidden(member.value) => return Mark::RefersToHidden,
            _ => {}
        }
        match field.map(|field| (field.secrecy, field.kind(Profile::Spec))) {
            Some((_, Kind::Properties | Kind::Entities | Kind::Schema)) => Mark::Described,
            // The names are those of branches and properties.
            Some((Secrecy::Public, Kind::TextMap | Kind::TextsMap | Kind::ChoiceMap(..))) => Mark::Described,
            None if matches!(name, "inputs" | "outputs") => Mark::Described,
            _ => Mark::None,
        }
    }

    fn stand_in(&self, place: &Place<'_, '_>, rule: Rule) -> String {
        let is_told = place.name.is_some() && may_be_reference(place, rule);
        match is_told {
            true => json!({REFERENCE: self.name_of(place)}).to_string(),
            false => redaction::stand_in(),
        }
    }

    fn kept(&self, hidden: &Place<'_, '_>) -> Option<(Range<usize>, String)> {
        sensitive_headers::kept_names(hidden)
    }

    fn is_harmless(&self, value: &Node<'_>) -> bool {
        let is_alone = value.members().count() == 1;
        is_alone
            && reference(value)
                .is_some_and(|id| !self.hidden.contains_key(id) && matches!(without_credentials(id), Cow::Borrowed(_)))
    }
}

/// True if a reference may stand where the language has a text or something else.
fn may_be_reference(place: &Place<'_, '_>, rule: Rule) -> bool {
    let mut within = place;
    loop {
        let Some(outer) = within.outer else { return true };
        if is_component(outer.value) || outer.value.members().any(|(name, _)| name == "component_type") {
            let field = within.name.and_then(|name| field_of(outer.value, name));
            let is_field = std::ptr::eq(within, place);
            return field.is_none_or(|field| match field.secrecy {
                Secrecy::Secret | Secrecy::Prompt => true,
                _ if is_field => matches!(rule, Rule::Field) && field.secrecy != Secrecy::Public,
                _ => matches!(field.kind(Profile::Spec), Kind::Object | Kind::Any),
            });
        }
        within = outer;
    }
}

/// The id of a component, or that under which something else is defined.
fn own_name<'p>(place: &Place<'p, '_>) -> Option<&'p str> {
    let value: &'p Node<'_> = place.value;
    let id = value.get("id").and_then(Node::text).filter(|_| is_component(value));
    let is_definition = place.outer.is_some_and(|outer| outer.name == Some(DEFINITIONS));
    id.or_else(|| place.name.filter(|_| is_definition))
}

/// Returns the start of references to hidden values in the component of that id: the id without credentials, shortened
/// if it is too long.
pub(super) fn component_name(id: &str) -> Cow<'_, str> {
    // Half of a credential wouldn't be known for one.
    shortened(without_credentials(id), LONGEST_PART)
}

/// A text that isn't longer than it may be, and yet another one for every text: one long id must not come
/// back with everything that is hidden in its component.
fn shortened(text: Cow<'_, str>, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return text;
    }
    let start = &text[..text.floor_char_boundary(longest - DIGEST_BYTES)];
    format!("{start}~{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).simple()).into()
}

/// Finds the definition of a member in the table of types, if the object around it is a component of a known type.
fn field_of(around: &Node<'_>, name: &str) -> Option<&'static Field> {
    match Around::of(around) {
        Around::Component(known) => known?.field(name),
        Around::Plain => None,
    }
}

fn is_component(value: &Node<'_>) -> bool {
    value.get("component_type").is_some_and(|class| class.text().is_some())
}

fn reference<'n>(value: &'n Node<'_>) -> Option<&'n str> {
    value.get(REFERENCE)?.text()
}

/// All ids that a value refers to.
fn references<'n>(value: &'n Node<'_>, found: &mut impl FnMut(&'n str)) {
    reference(value).into_iter().for_each(&mut *found);
    value.elements().iter().for_each(|element| references(element, found));
    value.members().for_each(|(_, member)| references(member, found));
}

/// Values under `$referenced_components` that are no components, by their ids.
type PlainValues<'n> = HashMap<&'n str, Vec<&'n Node<'n>>>;

fn collect_plain<'n>(value: &'n Node<'n>, plain: &mut PlainValues<'n>) {
    value.elements().iter().for_each(|element| collect_plain(element, plain));
    for (name, member) in value.members() {
        if name == DEFINITIONS {
            let values = member.members().filter(|(_, value)| !is_component(value));
            values.for_each(|(id, value)| plain.entry(id).or_default().push(value));
        }
        collect_plain(member, plain);
    }
}
