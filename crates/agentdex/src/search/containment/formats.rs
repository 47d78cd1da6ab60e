//! Formats, and which formats imply others.

/// The relation of the values of a format to another format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// Every value of the format satisfies the other.
    Within,
    /// No value of the format satisfies the other.
    Apart,
    /// Some values of the format may satisfy the other.
    Open,
}

/// Formats, and those that have all their values.
const WITHIN: [(&str, &[&str]); 12] = [
    ("uri", &["uri-reference", "iri", "iri-reference", "uri-template"]),
    ("iri", &["iri-reference"]),
    ("uri-reference", &["iri-reference"]),
    ("email", &["idn-email"]),
    ("hostname", &["idn-hostname"]),
    ("int8", &["int16", "int32", "int64", "float", "double"]),
    ("uint8", &["int16", "int32", "int64", "uint16", "uint32", "uint64", "float", "double"]),
    ("int16", &["int32", "int64", "float", "double"]),
    ("uint16", &["int32", "int64", "uint32", "uint64", "float", "double"]),
    ("int32", &["int64", "double"]),
    ("uint32", &["int64", "uint64", "double"]),
    ("float", &["double"]),
];

/// Mutually exclusive formats, except for those in `WITHIN`.
const APART: [&str; 12] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "uri",
    "iri",
    "ipv4",
    "ipv6",
    "uuid",
    "json-pointer",
];

/// Formats of numbers.
const NUMERIC: [&str; 11] =
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float", "double", "decimal"];

/// Formats that only say how to show a value.
const SHOWN: [&str; 5] = ["password", "textarea", "text", "string", "multiline"];

/// True if a format is one of numbers.
pub(super) fn is_numeric(format: &str) -> bool {
    NUMERIC.contains(&format)
}

/// True if a format says something about values.
pub(super) fn is_telling(format: &str) -> bool {
    !SHOWN.contains(&format)
}

/// Returns the canonical name of a format.
fn canonical(format: &str) -> &str {
    match format {
        "url" => "uri",
        "datetime" => "date-time",
        "guid" => "uuid",
        "ip-address" => "ipv4",
        "host-name" => "hostname",
        other => other,
    }
}

pub(super) fn relation(from: &str, to: &str) -> Relation {
    let (from, to) = (canonical(from), canonical(to));
    let contains = |one: &str, other: &str| WITHIN.iter().any(|(name, all)| *name == one && all.contains(&other));
    match from == to || contains(from, to) {
        true => Relation::Within,
        false if contains(to, from) => Relation::Open,
        false if APART.contains(&from) && APART.contains(&to) => Relation::Apart,
        false => Relation::Open,
    }
}
