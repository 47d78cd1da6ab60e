//! Tables of the members of documents in other formats, and correction of values with an unexpected type.
//!
//! The working copy of a document is corrected in place, so that all other code finds values of the expected type or
//! none at all. A number is converted to a string, a single value to a list with one element, `null` to an absent
//! member, and a snake_case name to camelCase, as in the JSON mapping of protocol buffers. Values that can't be
//! corrected are removed from the working copy. Each correction causes a warning. Unknown members are kept.

use serde_json::{Map, Value};

use crate::{
    redaction::WrittenNumbers,
    td::{Violation, internal::Path},
};

type Object = Map<String, Value>;

/// A member of an object.
pub(super) struct Member {
    name: &'static str,
    kind: Expected,
    need: Need,
}

/// The degree to which a member is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// It is missed where it isn't.
    Read,
    /// It isn't missed, but readers of what we write want it.
    Written,
    None,
}

/// The kind of value that a member should have.
pub(super) enum Expected {
    Text,
    /// True or false.
    Flag,
    /// A list of texts.
    Texts,
    /// Media types.
    Modes,
    /// An object with these members, among others.
    Object(&'static [Member]),
    /// An object with flags; a list of names stands for flags that are set.
    Flags(&'static [Member]),
    /// A list of objects.
    Objects(&'static [Member]),
    /// An object of objects under names of the author's choice.
    Named(&'static [Member]),
    /// Texts under names of the author's choice; a list of names stands for names without a text.
    Described,
    /// Anything.
    Free,
}

impl Member {
    /// A member that every such object has.
    pub(super) const fn required(name: &'static str, kind: Expected) -> Member {
        Member { name, kind, need: Need::Read }
    }

    /// A member that may be missing, but that strict readers expect.
    pub(super) const fn written(name: &'static str, kind: Expected) -> Member {
        Member { name, kind, need: Need::Written }
    }

    /// A member that may be missing.
    pub(super) const fn optional(name: &'static str, kind: Expected) -> Member {
        Member { name, kind, need: Need::None }
    }
}

/// True if a table has a member of that name.
pub(super) fn knows(members: &[Member], name: &str) -> bool {
    members.iter().any(|member| member.name == name)
}

/// Gives members that are written in snake_case the name that they have in a card.
pub(super) fn respell(object: &mut Object, members: &[Member], path: &Path<'_>, findings: &mut Findings) {
    if !object.keys().any(|name| name.contains('_')) {
        return;
    }
    for member in members {
        if !object.contains_key(member.name) {
            respell_member(object, member, path, findings);
        }
    }
}

/// True if the member is there in snake_case.
fn respell_member(object: &mut Object, member: &Member, path: &Path<'_>, findings: &mut Findings) -> bool {
    let snake = snake_case(member.name);
    let value = if snake == member.name { None } else { object.remove(&snake) };
    let Some(value) = value else { return false };
    findings.add(path, "member-spelling", || format!("`{snake}` is read as `{}`", member.name));
    object.insert(member.name.to_owned(), value);
    true
}

/// Returns the snake_case name of a member, which readers of protocol buffers accept too.
pub(super) fn snake_case(name: &str) -> String {
    // A word that Python keeps for itself.
    if name == "in" {
        return "in_".into();
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// Compares an object with its members and fixes it.
pub(super) fn fix(object: &mut Object, members: &[Member], path: &Path<'_>, findings: &mut Findings) {
    respell(object, members, path, findings);
    let has_snake_case = object.keys().any(|name| name.contains('_'));
    for member in members {
        let mut outcome = fix_member(object, member, path, findings);
        // What is of no use in one spelling may be in the other.
        if has_snake_case && outcome != Outcome::Usable && respell_member(object, member, path, findings) {
            outcome = fix_member(object, member, path, findings);
        }
        if outcome == Outcome::Missing && member.need == Need::Read {
            findings.add(path, "member-missing", || format!("`{}` is missing", member.name));
        }
    }
}

fn fix_member(object: &mut Object, member: &Member, path: &Path<'_>, findings: &mut Findings) -> Outcome {
    let outcome = match object.get_mut(member.name) {
        None | Some(Value::Null) => Outcome::Missing,
        Some(value) => fix_value(value, &member.kind, &path.member(member.name), findings),
    };
    if outcome != Outcome::Usable {
        object.remove(member.name);
    }
    outcome
}

/// Adds what must be there, empty, to an object that was fixed.
pub(super) fn complete(object: &mut Object, members: &[Member]) {
    for member in members {
        match object.get_mut(member.name) {
            Some(value) => complete_value(value, &member.kind),
            None if member.need == Need::None => {}
            None => drop(object.insert(member.name.to_owned(), member.kind.empty())),
        }
    }
}

fn complete_value(value: &mut Value, kind: &Expected) {
    match (kind, value) {
        (Expected::Object(members) | Expected::Flags(members), Value::Object(object)) => complete(object, members),
        (Expected::Objects(members), Value::Array(elements)) => {
            elements.iter_mut().filter_map(Value::as_object_mut).for_each(|object| complete(object, members));
        }
        (Expected::Named(members), Value::Object(named)) => {
            named.values_mut().filter_map(Value::as_object_mut).for_each(|object| complete(object, members));
        }
        _ => {}
    }
}

impl Expected {
    /// The least that a value of this kind is.
    fn empty(&self) -> Value {
        match self {
            Expected::Text => "".into(),
            Expected::Flag => false.into(),
            Expected::Texts | Expected::Modes | Expected::Objects(_) => Value::Array(Vec::new()),
            Expected::Object(_) | Expected::Flags(_) | Expected::Named(_) | Expected::Described => Object::new().into(),
            Expected::Free => Value::Null,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Usable,
    Missing,
    Unusable,
}

fn fix_value(value: &mut Value, kind: &Expected, path: &Path<'_>, findings: &mut Findings) -> Outcome {
    match kind {
        Expected::Free => Outcome::Usable,
        Expected::Text => fix_text(value, path, findings),
        Expected::Flag => fix_flag(value, path, findings),
        Expected::Texts => fix_list(value, path, findings, fix_text),
        Expected::Modes => fix_list(value, path, findings, |mode, path, findings| {
            let outcome = fix_text(mode, path, findings);
            if let Value::String(mode) = mode
                && !mode.contains('/')
            {
                findings.add(path, "mode", || format!("{mode:?} is not a media type, such as text/plain"));
            }
            outcome
        }),
        Expected::Object(members) => fix_object(value, members, path, findings),
        Expected::Flags(members) => {
            if let Value::Array(names) = value
                && names.iter().all(Value::is_string)
            {
                findings.add(path, "member-type", || "a list of names is read as flags that are all true".into());
                let flags = names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), Value::Bool(true)));
                *value = flags.collect::<Object>().into();
            }
            fix_object(value, members, path, findings)
        }
        Expected::Objects(members) => {
            fix_list(value, path, findings, |element, path, findings| fix_object(element, members, path, findings))
        }
        Expected::Named(members) => fix_named(value, members, path, findings),
        Expected::Described => fix_described(value, path, findings),
    }
}

fn fix_object(value: &mut Value, members: &[Member], path: &Path<'_>, findings: &mut Findings) -> Outcome {
    let Value::Object(object) = value else {
        return findings.unusable(value, "an object", path);
    };
    fix(object, members, path, findings);
    Outcome::Usable
}

fn fix_named(value: &mut Value, members: &[Member], path: &Path<'_>, findings: &mut Findings) -> Outcome {
    let Value::Object(named) = value else {
        return findings.unusable(value, "an object", path);
    };
    let mut unusable = Vec::new();
    for (name, value) in named.iter_mut() {
        if fix_object(value, members, &path.member(name), findings) != Outcome::Usable {
            unusable.push(name.clone());
        }
    }
    for name in unusable {
        named.remove(&name);
    }
    Outcome::Usable
}

fn fix_described(value: &mut Value, path: &Path<'_>, findings: &mut Findings) -> Outcome {
    if let Value::Array(names) = value
        && names.iter().all(Value::is_string)
    {
        findings.add(path, "member-type", || "a list of names is read as names without descriptions".into());
        let described = names.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), "".into()));
        *value = described.collect::<Object>().into();
    }
    match value {
        Value::Object(described) => {
            for (name, text) in described.iter_mut() {
                if fix_text(text, &path.member(name), findings) != Outcome::Usable {
                    *text = "".into();
                }
            }
            Outcome::Usable
        }
        _ => findings.unusable(value, "an object", path),
    }
}

fn fix_text(value: &mut Value, path: &Path<'_>, findings: &mut Findings) -> Outcome {
    let text = match value {
        Value::String(_) => return Outcome::Usable,
        Value::Number(number) => {
            findings.numbers.find(|| path.to_pointer(), number).unwrap_or_else(|| number.to_string())
        }
        Value::Bool(flag) => flag.to_string(),
        _ => return findings.unusable(value, "a string", path),
    };
    findings.add(path, "member-type", || format!("{text} is read as a string"));
    *value = Value::String(text);
    Outcome::Usable
}

fn fix_flag(value: &mut Value, path: &Path<'_>, findings: &mut Findings) -> Outcome {
    let flag = match value {
        Value::Bool(_) => return Outcome::Usable,
        Value::String(text) if text.eq_ignore_ascii_case("true") => true,
        Value::String(text) if text.eq_ignore_ascii_case("false") => false,
        _ => return findings.unusable(value, "true or false", path),
    };
    findings.add(path, "member-type", || format!("{value} is read as {flag}"));
    *value = Value::Bool(flag);
    Outcome::Usable
}

fn fix_list(
    value: &mut Value,
    path: &Path<'_>,
    findings: &mut Findings,
    fix_element: impl Fn(&mut Value, &Path<'_>, &mut Findings) -> Outcome,
) -> Outcome {
    if !value.is_array() {
        let Outcome::Usable = fix_element(value, path, findings) else {
            return Outcome::Unusable;
        };
        findings.add(path, "member-type", || "a single value is read as a list with one element".into());
        *value = Value::Array(vec![value.take()]);
        return Outcome::Usable;
    }
    let Value::Array(elements) = value else { return Outcome::Unusable };
    let mut index = 0;
    elements.retain_mut(|element| {
        let outcome = fix_element(element, &path.index(index), findings);
        index += 1;
        outcome == Outcome::Usable
    });
    Outcome::Usable
}

/// More than anybody reads of one document.
const MOST_FINDINGS: usize = 1000;
/// The same for the bytes of their pointers, which repeat names, and messages.
const MOST_FINDING_BYTES: usize = 256 * 1024;

/// The warnings about a document, up to a limit of their number and size.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Violation>,
    bytes: usize,
    /// Numbers of the document.
    numbers: WrittenNumbers,
}

impl Findings {
    /// Warnings about a document with these numbers.
    pub(super) fn with_numbers(numbers: WrittenNumbers) -> Findings {
        Findings { numbers, ..Findings::default() }
    }

    pub(super) fn add(&mut self, path: &Path<'_>, rule: &'static str, message: impl FnOnce() -> String) {
        self.push(|| Violation::new(path.to_pointer(), rule, message()));
    }

    /// Adds what is made, if there is room for it.
    pub(super) fn push(&mut self, make: impl FnOnce() -> Violation) {
        if self.list.len() < MOST_FINDINGS && self.bytes < MOST_FINDING_BYTES {
            let finding = make();
            self.bytes += finding.pointer.len() + finding.message.len();
            self.list.push(finding);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_list(self) -> Vec<Violation> {
        self.list
    }

    fn unusable(&mut self, value: &Value, expected: &str, path: &Path<'_>) -> Outcome {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.add(path, "member-type", || format!("found {found} instead of {expected}; the value is ignored"));
        Outcome::Unusable
    }
}
