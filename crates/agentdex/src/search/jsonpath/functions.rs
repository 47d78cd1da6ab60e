//! The functions `match` and `search` (RFC 9535, sections 2.4.6 and 2.4.7). Patterns are compiled once per thread
//! instead of once per node.

use std::{cell::RefCell, collections::HashMap};

use regex::{Regex, RegexBuilder};
use serde_json::Value;
use serde_json_path::functions::{LogicalType, ValueType};

/// The largest compiled pattern in bytes.
const MAX_COMPILED_BYTES: usize = 512 * 1024;

/// Maximum number of compiled patterns cached per thread.
const MAX_PATTERNS: usize = 16;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// Compiles a pattern of RFC 9485, in which a dot is any character but the ends of a line.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).crlf(true).size_limit(MAX_COMPILED_BYTES).build()
}

#[serde_json_path::function(name = "match")]
fn matches(value: ValueType, pattern: ValueType) -> LogicalType {
    is_match(&value, &pattern, |pattern| format!("^(?:{pattern})$"))
}

#[serde_json_path::function(name = "search")]
fn contains(value: ValueType, pattern: ValueType) -> LogicalType {
    is_match(&value, &pattern, str::to_owned)
}

fn is_match(value: &ValueType, pattern: &ValueType, full: fn(&str) -> String) -> LogicalType {
    let (Some(Value::String(text)), Some(Value::String(pattern))) = (value.as_value(), pattern.as_value()) else {
        return LogicalType::False;
    };
    let pattern = full(pattern);
    COMPILED.with_borrow_mut(|compiled| {
        if !compiled.contains_key(&pattern) {
            if compiled.len() >= MAX_PATTERNS {
                compiled.clear();
            }
            compiled.insert(pattern.clone(), compile(&pattern).ok());
        }
        let is_match = compiled.get(&pattern).and_then(Option::as_ref).is_some_and(|regex| regex.is_match(text));
        is_match.into()
    })
}
