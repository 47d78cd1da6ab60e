//! Conversion of values to booleans and numbers. The `spec` profile accepts only booleans and numbers; `sdk` also
//! accepts the values that the SDK's validation library converts.

use serde_json::Value;

use super::Profile;

/// Texts for false and true, in lower case.
const FALSE: [&str; 6] = ["0", "off", "f", "false", "n", "no"];
const TRUE: [&str; 6] = ["1", "on", "t", "true", "y", "yes"];

/// The boolean that a value is or counts as.
pub(super) fn as_boolean(value: &Value, profile: Profile) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        _ if profile == Profile::Spec => None,
        Value::Number(number) => match number.as_f64() {
            Some(0.0) => Some(false),
            Some(1.0) => Some(true),
            _ => None,
        },
        Value::String(text) => {
            let is = |texts: [&str; 6]| texts.iter().any(|known| text.eq_ignore_ascii_case(known));
            if is(TRUE) { Some(true) } else { is(FALSE).then_some(false) }
        }
        _ => None,
    }
}

/// The integer that a value is or counts as.
pub(super) fn as_integer(value: &Value, profile: Profile) -> Option<f64> {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().filter(|number| is_whole(*number, profile)),
        Value::Number(number) => number.as_f64(),
        _ if profile == Profile::Spec => None,
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::String(text) => integer_in(text),
        _ => None,
    }
}

/// True if a number with a decimal point or exponent is an integer; the SDK knows them up to 64 bits.
fn is_whole(number: f64, profile: Profile) -> bool {
    const ABOVE_64_BITS: f64 = 9_223_372_036_854_775_808.0;
    number.fract() == 0.0 && (profile == Profile::Spec || number.abs() < ABOVE_64_BITS)
}

/// The number that a value is or counts as.
pub(super) fn as_number(value: &Value, profile: Profile) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        _ if profile == Profile::Spec => None,
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::String(text) => number_in(text),
        _ => None,
    }
}

fn integer_in(text: &str) -> Option<f64> {
    let text = text.trim();
    let (integer, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = integer.strip_prefix(['+', '-']).unwrap_or(integer);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    if is_integer && is_whole { number_in(integer) } else { None }
}

fn number_in(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    if text.contains('_') { text.replace('_', "").parse().ok() } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_language_knows_no_coercions() {
        for value in [json!("5"), json!(true), json!("yes"), json!(null)] {
            assert_eq!(as_number(&value, Profile::Spec), None, "{value}");
            assert_eq!(as_integer(&value, Profile::Spec), None, "{value}");
        }
        assert_eq!(as_boolean(&json!("true"), Profile::Spec), None);
        assert_eq!(as_integer(&json!(5.0), Profile::Spec), Some(5.0));
        assert_eq!(as_integer(&json!(5.5), Profile::Spec), None);
    }

    #[test]
    fn the_sdk_reads_numbers_from_text() {
        let integers = ["5", " 5\n", "+5", "05", "5.0", "1_000", "5.00"];
        let numbers = ["5.", ".5", "5.5", "1e3", "1_0.0_0", "nan", "-Infinity", "1.5e1_0"];
        let neither = ["", " ", "- 5", "1__0", "_1", "1_", "0x10", "5\0", "1 0", "++5", "five", "\u{0665}"];
        for text in integers {
            assert!(as_integer(&json!(text), Profile::Sdk).is_some(), "{text}");
        }
        for text in numbers {
            assert!(as_integer(&json!(text), Profile::Sdk).is_none(), "{text}");
            assert!(as_number(&json!(text), Profile::Sdk).is_some(), "{text}");
        }
        for text in neither {
            assert!(as_number(&json!(text), Profile::Sdk).is_none(), "{text}");
        }
        assert_eq!(as_integer(&json!(true), Profile::Sdk), Some(1.0));
    }

    #[test]
    fn the_sdk_reads_booleans_from_words_and_from_zero_and_one() {
        for (value, expected) in [
            (json!("YES"), Some(true)),
            (json!("off"), Some(false)),
            (json!(1), Some(true)),
            (json!(0.0), Some(false)),
            (json!(2), None),
            (json!(" true"), None),
            (json!([]), None),
        ] {
            assert_eq!(as_boolean(&value, Profile::Sdk), expected, "{value}");
        }
    }
}
