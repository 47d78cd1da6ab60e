//! `may_have_secrets`: a quick check of the parsed values. Most documents contain no secrets, and their text need not
//! be scanned then.

use serde_json::Value;

use super::{
    may_be_secret_text,
    names::{is_named_secret, is_secret_word, secrecy_of},
    text::credentials,
};

/// Members whose value may be that of a name beside it or above it.
const VALUES: [&str; 3] = ["value", "default", "htv:fieldValue"];

/// False for a document in which nothing is to be hidden that no format marks. True for some others as well.
pub(crate) fn may_have_secrets(document: &Value) -> bool {
    match document {
        Value::String(text) => !credentials(text).is_empty(),
        Value::Array(elements) => elements.iter().any(|element| is_argument(element) || may_have_secrets(element)),
        Value::Object(members) => {
            let mut has_named_value = false;
            let has_secret = |(name, value): (&String, &Value)| {
                has_named_value |= VALUES.contains(&name.as_str());
                names_secret(name, value) || may_have_secrets(value) || !credentials(name).is_empty()
            };
            members.iter().any(has_secret) || has_named_value && members.values().any(is_name)
        }
        _ => false,
    }
}

/// True if a name and what it names may be a secret.
fn names_secret(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) if may_be_secret_text(text) => {
            secrecy_of(name).is_some_and(|secrecy| is_secret_word(text, secrecy) || is_named_secret(text))
        }
        Value::Array(elements) => !elements.is_empty() && secrecy_of(name).is_some(),
        Value::Object(members) => {
            secrecy_of(name).is_some() && VALUES.into_iter().any(|value| members.contains_key(value))
        }
        _ => false,
    }
}

/// True for a text that may name the value beside it.
fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|text| secrecy_of(text).is_some())
}

/// True for the name of an argument whose value may be the next element: `--api-key`.
fn is_argument(value: &Value) -> bool {
    let name = value.as_str().filter(|text| text.starts_with('-'));
    name.is_some_and(|name| secrecy_of(name.trim_start_matches('-')).is_some())
}
