//! Integers of more than 64 bits: as values, they are floating-point numbers with fewer digits.

use serde_json::Value;

use super::{
    redaction::Node,
    td::{
        Violation,
        internal::{Path, push_token},
    },
};

/// The rule of warnings about them.
pub(super) const RULE: &str = "rounded-integer";
/// The fewest digits of an integer of more than 64 bits.
const LONG_NUMBER: usize = 19;
/// Maximum number of integers reported per document.
const MOST: usize = 100;

/// Returns the JSON Pointers of integers that have more than 64 bits in a JSON document, at most 100. Reading them as
/// [`serde_json::Value`] rounds them.
pub fn rounded_integers(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    if has_long_number(json) {
        collect(&Node::parse(json), &mut String::new(), &mut found);
    }
    found
}

/// Warns of such integers in a converted document.
pub(super) fn warnings(json: &str) -> impl Iterator<Item = Violation> + use<> {
    let message = "the integer has more than 64 bits, and is rounded; write it as a string to keep its digits";
    rounded_integers(json).into_iter().map(move |pointer| Violation::new(pointer, RULE, message))
}

/// Warns of numbers in a Thing that may be such integers.
pub(super) fn warnings_of_value(thing: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    collect_values(thing, &Path::ROOT, &mut found);
    found
}

fn collect_values(value: &Value, at: &Path<'_>, found: &mut Vec<Violation>) {
    match value {
        _ if found.len() == MOST => {}
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| collect_values(element, &at.index(index), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| collect_values(member, &at.member(name), found));
        }
        Value::Number(number) => {
            // Smaller integers are exact, and -2^63 is no floating-point number where it is written as an integer.
            let is_large = |number: f64| number.fract() == 0.0 && (number <= -I64_RANGE || number >= 2.0 * I64_RANGE);
            if number.is_f64() && number.as_f64().is_some_and(is_large) {
                let message = format!("the number is stored as {number}; an integer of more than 64 bits is rounded");
                found.push(Violation::new(at.to_pointer(), RULE, message));
            }
        }
        _ => {}
    }
}

/// 2 to the power of 63.
const I64_RANGE: f64 = 9_223_372_036_854_775_808.0;

/// True if so many digits follow each other that they may be an integer of more than 64 bits.
fn has_long_number(json: &str) -> bool {
    let bytes = json.as_bytes();
    let is_long = |at: usize| {
        let (before, behind) = bytes.split_at(at);
        let digits = before.iter().rev().take(LONG_NUMBER).take_while(|byte| byte.is_ascii_digit()).count();
        digits + behind.iter().take(LONG_NUMBER).take_while(|byte| byte.is_ascii_digit()).count() >= LONG_NUMBER
    };
    // One of them is at each of these distances.
    (0..bytes.len()).step_by(LONG_NUMBER).any(|at| bytes[at].is_ascii_digit() && is_long(at))
}

fn collect(value: &Node<'_>, pointer: &mut String, found: &mut Vec<String>) {
    if found.len() == MOST {
        return;
    }
    if value.is_cut_integer() {
        found.push(pointer.clone());
    }
    let length = pointer.len();
    for (name, member) in value.members() {
        push_token(pointer, name);
        collect(member, pointer, found);
        pointer.truncate(length);
    }
    for (index, element) in value.elements().iter().enumerate() {
        push_token(pointer, &index.to_string());
        collect(element, pointer, found);
        pointer.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_lose_digits_are_found() {
        for (number, is_cut) in [
            ("18446744073709551615", false),
            ("18446744073709551616", true),
            ("-9223372036854775808", false),
            ("-9223372036854775809", true),
            ("123456789012345678901234567890", true),
            ("1.8446744073709551616", false),
            ("1e30", false),
            ("\"18446744073709551616\"", false),
        ] {
            for indent in 0..LONG_NUMBER {
                let json = format!("{{\"a/b\": [0, {}{number}]}}", " ".repeat(indent));
                let expected = if is_cut { vec!["/a~1b/1".to_owned()] } else { Vec::new() };
                assert_eq!(rounded_integers(&json), expected, "{json}");
            }
            let read: Value = serde_json::from_str(&format!("[{number}]")).unwrap();
            assert_eq!(warnings_of_value(&read).len(), usize::from(is_cut || number == "1e30"), "{number}");
        }
    }
}
