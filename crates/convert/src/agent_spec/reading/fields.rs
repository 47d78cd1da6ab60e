//! Checks of values against the kind of their field: strict in the `spec` profile, with the SDK's coercions in `sdk`.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    super::{
        Profile,
        coercion::{as_boolean, as_integer, as_number},
        places::At,
        references::as_reference,
        types::{Bound, Field, Kind, Record, Secrecy, Trigger},
        version::Version,
    },
    reader::{Reader, kind_of},
};

impl<'d> Reader<'d, '_> {
    /// Checks a value that is no component, nor a list of some.
    pub(super) fn read_value(&mut self, field: &'static Field, kind: Kind, value: &'d Value, at: &At<'_, 'd>) {
        if matches!(kind, Kind::Any) && as_reference(value).is_none() {
            return;
        }
        let Some(value) = self.plain(field, value, at) else { return };
        match (kind, value) {
            (Kind::Any, _) => {}
            (Kind::Texts | Kind::TextOrTexts, Value::Array(items)) => self.read_items(field, Kind::Text, items, at),
            (Kind::Properties, Value::Array(items)) => self.read_items(field, Kind::Schema, items, at),
            (Kind::TextMap, Value::Object(members)) => self.read_members(field, Kind::Text, members, at),
            (Kind::TextsMap, Value::Object(members)) => self.read_members(field, Kind::Texts, members, at),
            (Kind::Entities, Value::Object(members)) => self.read_members(field, Kind::Schema, members, at),
            (Kind::Object | Kind::TextOrObject, Value::Object(members)) => {
                self.read_members(field, Kind::Any, members, at);
            }
            (Kind::ChoiceMap(choices, others), Value::Object(members)) => {
                let choices = if self.profile == Profile::Spec { others } else { choices };
                self.read_members(field, Kind::Choice(choices), members, at);
            }
            (Kind::Record(record), Value::Object(members)) => self.read_record(record, members, at),
            (Kind::Record(record), _) if self.profile == Profile::Sdk && passes_for_record(value, record) => {}
            _ => {
                if let Err(misfit) = fits(kind, value, self.profile) {
                    self.error(at, misfit.rule(), || format!("`{}` {misfit}, not {}", field.name, shown(value, field)));
                }
            }
        }
    }

    fn read_items(&mut self, field: &'static Field, kind: Kind, items: &'d [Value], at: &At<'_, 'd>) {
        for (index, item) in items.iter().enumerate() {
            self.read_value(field, kind, item, &at.index(index));
        }
    }

    fn read_members(&mut self, field: &'static Field, kind: Kind, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        for (name, value) in members {
            self.read_value(field, kind, value, &at.member(name));
        }
    }

    fn read_record(&mut self, record: &'static Record, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        for field in record.fields {
            match members.get_key_value(field.name) {
                Some((_, Value::Null)) if field.takes_null(self.profile) => {}
                Some((name, Value::Null)) => {
                    self.error(&at.member(name), "wrong-type", || format!("`{name}` can't be null"));
                }
                Some((name, value)) => self.read_value(field, field.kind(self.profile), value, &at.member(name)),
                None if field.is_required(self.profile) => {
                    self.error(at, "missing-field", || format!("{} need `{}`", record.name, field.name));
                }
                None => {}
            }
        }
        for (name, value) in members {
            if record.fields.iter().all(|field| field.name != name) {
                if !record.is_open {
                    self.warning(&at.member(name), "unknown-field", || {
                        format!("{} have no `{name}`; the member is kept unchanged", record.name)
                    });
                } else if let Some(reference) = as_reference(value) {
                    self.follow(value, reference, &at.member(name));
                }
            }
        }
        self.check_order(record, members, at);
    }

    /// Checks that the one number of a record isn't above the other.
    fn check_order(&mut self, record: &'static Record, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        let Some([lower, upper]) = record.in_order else { return };
        let number = |(name, default): (&str, f64)| match members.get(name) {
            Some(value) => self.graph.resolve(value).and_then(|value| as_number(value, self.profile)),
            None => Some(default),
        };
        if let (Some(least), Some(most)) = (number(lower), number(upper))
            && least > most
        {
            self.error(at, "wrong-value", || {
                format!("`{}` ({most}) can't be less than `{}` ({least})", upper.0, lower.0)
            });
        }
    }

    /// Checks that the configuration's version knows what is used of a field.
    pub(super) fn check_field_version(
        &mut self,
        known: &'static str,
        field: &'static Field,
        value: &'d Value,
        at: &At<'_, 'd>,
    ) {
        for (since, trigger) in field.since {
            if self.graph.version < *since && self.triggers(*trigger, value) {
                self.check_version(*since, at, || format!("this use of `{}` in {known} was introduced", field.name));
            }
        }
    }

    fn triggers(&self, trigger: Trigger, value: &'d Value) -> bool {
        // What a reference leads to may be read later only; what isn't there was something once.
        let Some(value) = self.graph.resolve(value) else { return !matches!(trigger, Trigger::False | Trigger::Is(_)) };
        match trigger {
            Trigger::Present => !value.is_null(),
            Trigger::Truthy => is_truthy(value, self.profile),
            Trigger::False => as_boolean(value, self.profile) == Some(false),
            Trigger::OtherThan(text) => value.as_str().is_some_and(|value| value != text),
            Trigger::Is(text) => value.as_str() == Some(text),
            Trigger::NoObject => !value.is_object(),
        }
    }

    /// Checks that the configuration's version is `since` or newer.
    pub(super) fn check_version(&mut self, since: Version, at: &At<'_, 'd>, what: impl FnOnce() -> String) {
        let version = self.graph.version;
        if version < since {
            self.error(at, "version-too-low", || {
                format!("{} in version {since}, but the configuration declares version {version}", what())
            });
        }
    }
}

/// Why a value isn't what a field takes.
enum Misfit {
    Type(&'static str),
    Choice(&'static [&'static str]),
    Bound(Bound),
    Empty,
}

impl Misfit {
    fn rule(&self) -> &'static str {
        match self {
            Misfit::Type(_) => "wrong-type",
            Misfit::Choice(_) | Misfit::Bound(_) | Misfit::Empty => "wrong-value",
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Type(expected) => write!(f, "must be {expected}"),
            Misfit::Choice([only]) => write!(f, "can only be `{only}`"),
            Misfit::Choice(choices) => write!(f, "must be one of `{}`", choices.join("`, `")),
            Misfit::Bound(Bound::Positive) => f.write_str("must be greater than 0"),
            Misfit::Bound(_) => f.write_str("must be 0 or more"),
            Misfit::Empty => f.write_str("must be a non-empty string"),
        }
    }
}

/// Checks that a plain value, without parts of its own, is one that a kind takes.
fn fits(kind: Kind, value: &Value, profile: Profile) -> Result<(), Misfit> {
    let all = |fits: bool, expected: &'static str| if fits { Ok(()) } else { Err(Misfit::Type(expected)) };
    match kind {
        Kind::Any => Ok(()),
        Kind::Text => all(value.is_string(), "a string"),
        Kind::FullText => match value.as_str() {
            Some("") => Err(Misfit::Empty),
            text => all(text.is_some(), "a string"),
        },
        Kind::Flag => all(as_boolean(value, profile).is_some(), "true or false"),
        Kind::Integer(bound) => in_bounds(as_integer(value, profile), bound, "an integer"),
        Kind::ComparedInteger(_) if value.is_string() => Err(Misfit::Type("an integer")),
        Kind::ComparedInteger(bound) => in_bounds(as_integer(value, profile), bound, "an integer"),
        Kind::Number(bound) => in_bounds(as_number(value, profile), bound, "a number"),
        Kind::Choice(choices) => among(choices, value),
        Kind::ChoiceOrFlag(choices) => match as_boolean(value, profile) {
            Some(_) => Ok(()),
            None => among(choices, value),
        },
        Kind::KnownVersion => match value.as_str().and_then(Version::parse) {
            Some(version) if version.is_known() => Ok(()),
            _ => Err(Misfit::Type("a known version of Open Agent Spec")),
        },
        Kind::Texts | Kind::Properties | Kind::Parts(_) | Kind::Pairs(_) | Kind::PartsOrTexts(_) => {
            Err(Misfit::Type("a list"))
        }
        Kind::TextOrTexts => all(value.is_string(), "a string or a list of strings"),
        Kind::TextOrObject => all(value.is_string(), "a string or an object"),
        Kind::Schema => all(value.is_object(), "a property (a JSON Schema with a title)"),
        Kind::Object
        | Kind::TextMap
        | Kind::TextsMap
        | Kind::ChoiceMap(..)
        | Kind::Entities
        | Kind::Record(_)
        | Kind::Part(_) => Err(Misfit::Type("an object")),
    }
}

fn in_bounds(number: Option<f64>, bound: Bound, expected: &'static str) -> Result<(), Misfit> {
    let Some(number) = number else { return Err(Misfit::Type(expected)) };
    let fits = match bound {
        Bound::None => true,
        Bound::NotNegative => number >= 0.0,
        Bound::Positive => number > 0.0,
    };
    if fits { Ok(()) } else { Err(Misfit::Bound(bound)) }
}

fn among(choices: &'static [&'static str], value: &Value) -> Result<(), Misfit> {
    let found = value.as_str().is_some_and(|text| choices.contains(&text));
    if found { Ok(()) } else { Err(Misfit::Choice(choices)) }
}

/// The SDK looks for the fields of a record before it looks whether it has one: a string or list in
/// which it finds none becomes a record of defaults.
fn passes_for_record(value: &Value, record: &Record) -> bool {
    let has_defaults = !record.is_open && record.fields.iter().all(|field| !field.is_required(Profile::Sdk));
    has_defaults
        && match value {
            Value::String(text) => record.fields.iter().all(|field| !text.contains(field.name)),
            Value::Array(items) => record.fields.iter().all(|field| items.iter().all(|item| item != field.name)),
            _ => false,
        }
}

fn is_truthy(value: &Value, profile: Profile) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => as_boolean(value, profile) != Some(false),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// A value as a message shows it: short ones themselves, if everybody may see them.
fn shown(value: &Value, field: &Field) -> String {
    match value {
        Value::String(text) if text.len() > 40 => "this string".to_owned(),
        Value::Number(_) | Value::String(_) | Value::Bool(_) if field.secrecy == Secrecy::Public => value.to_string(),
        _ => kind_of(value).to_owned(),
    }
}
