//! Readable messages for schema errors.
//!
//! If a keyword alone isn't helpful, the schema contains an additional `advice`.

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

/// Explains `error` in words; `schema` is the schema that it comes from.
pub(super) fn message(error: &ValidationError<'_>, schema: &Value) -> String {
    let found = quoted(error.instance());
    if let Some(advice) = find_advice(schema, error.schema_path().as_str()) {
        return match error.instance().as_ref() {
            Value::Object(_) | Value::Array(_) => advice.to_owned(),
            _ => format!("found {found}: {advice}"),
        };
    }
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = plain(property);
            let known =
                schema.pointer(parent(error.schema_path().as_str())).and_then(|beside| beside.get("properties"));
            match misspelled(&name, error.instance(), known) {
                Some(found) => format!("`{name}` is missing; there is `{found}`: did you mean `{name}`?"),
                None => format!("`{name}` is missing{}", remedy(&name)),
            }
        }
        ValidationErrorKind::Type { kind } => match error.instance().as_ref() {
            Value::Object(_) | Value::Array(_) | Value::Null => {
                format!("found {found}; expected {}", expected_types(kind))
            }
            scalar => format!("found {found}, which is {}; expected {}", type_of(scalar), expected_types(kind)),
        },
        ValidationErrorKind::Enum { options } => {
            let options: Vec<_> = options.as_array().into_iter().flatten().map(plain).collect();
            format!("{found} is not allowed here; choose one of {}", options.join(", "))
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("{found} is not allowed here; expected {expected_value}")
        }
        ValidationErrorKind::MinItems { limit } => format!("too few entries; at least {limit} needed"),
        ValidationErrorKind::MinProperties { limit } => format!("too few members; at least {limit} needed"),
        ValidationErrorKind::Minimum { limit } => format!("{found} is too small; at least {limit} needed"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("{found} is too small; more than {limit} needed"),
        ValidationErrorKind::UniqueItems => "some entries are equal; entries must be unique".to_owned(),
        _ => error.masked().to_string(),
    }
}

/// The members to add where few people know them by heart.
fn remedy(missing: &str) -> &'static str {
    match missing {
        "securityDefinitions" => "; for an agent that requires no credentials, add {\"none\": {\"scheme\": \"nosec\"}}",
        "security" => "; add the name of one of `securityDefinitions`, such as \"none\"",
        _ => "",
    }
}

/// Returns the member of an object whose name is a misspelling of `missing`, and isn't the name of another member that is
/// `known`.
fn misspelled<'v>(missing: &str, object: &'v Value, known: Option<&Value>) -> Option<&'v str> {
    const MOST_MEMBERS: usize = 1000;
    const LONGEST: usize = 64;
    let names = object.as_object()?.keys().map(String::as_str).take(MOST_MEMBERS);
    let is_name =
        |name: &&str| name.len() <= LONGEST && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'`');
    let unknown = names.filter(is_name).filter(|name| known.is_none_or(|known| known.get(name).is_none()));
    let spelling = |name: &str| name.to_ascii_lowercase();
    let near = unknown.map(|name| (strsim::damerau_levenshtein(&spelling(missing), &spelling(name)), name));
    near.filter(|(distance, _)| *distance <= 1 + missing.len() / 8).min().map(|(_, name)| name)
}

/// The path of the schema that has the keyword at `path`.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The `advice` beside the keyword at `path`, which is a JSON Pointer into the schema.
fn find_advice<'s>(schema: &'s Value, path: &str) -> Option<&'s str> {
    let (parent, _) = path.rsplit_once('/')?;
    let beside = schema.pointer(parent)?;
    // A `type` error says more by itself.
    if path.ends_with("/type") { None } else { beside.get("advice")?.as_str() }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value as far as a message quotes it.
fn quoted(value: &Value) -> String {
    const LONGEST: usize = 60;
    match value {
        Value::Object(_) | Value::Array(_) => type_of(value).to_owned(),
        Value::String(text) => match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{:?}…", &text[..end]),
            None => format!("{text:?}"),
        },
        other => other.to_string(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn expected_types(kind: &TypeKind) -> String {
    let with_article = |name: String| match name.as_str() {
        "array" | "object" | "integer" => format!("an {name}"),
        "null" => name,
        _ => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(one) => with_article(one.to_string()),
        TypeKind::Multiple(several) => {
            let names: Vec<_> = several.iter().map(|one| with_article(one.to_string())).collect();
            names.join(" or ")
        }
    }
}
