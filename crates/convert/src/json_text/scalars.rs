//! Plain scalars of YAML, with their original notation: numbers keep their digits, and in YAML 1.1 scalars are
//! interpreted as by PyYAML.

use serde_json::{Number, Value};

/// Version of YAML that decides what a plain scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schema {
    /// The core schema of YAML 1.2.
    Core,
    /// The types of YAML 1.1, as PyYAML reads them: `no` is false, `010` is eight, and `1e3` is text.
    Yaml11,
}

/// True if this JSON is the text.
fn is_text(json: &str, text: &str) -> bool {
    serde_json::from_str::<Value>(json).is_ok_and(|value| value == text)
}

impl Schema {
    /// The JSON of a plain scalar that was read as `read`; `None` if that is right.
    pub(crate) fn json(self, written: &str, read: &str) -> Option<String> {
        match self {
            Schema::Core => number(written).filter(|_| is_number(read)),
            // Of a text in quotes the quotes are written too.
            Schema::Yaml11 if read.starts_with('"') && !is_text(read, written) => None,
            Schema::Yaml11 => Some(yaml_1_1(written)),
        }
        .filter(|json| json != read)
    }
}

fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// A number with all its digits, if JSON writes it in the same way.
fn number(written: &str) -> Option<String> {
    (is_number(written) && serde_json::from_str::<Number>(written).is_ok()).then(|| written.to_owned())
}

fn yaml_1_1(written: &str) -> String {
    match written {
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => "true".to_owned(),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => "false".to_owned(),
        _ => integer(written).or_else(|| float(written)).unwrap_or_else(|| Value::from(written).to_string()),
    }
}

/// An integer of YAML 1.1: binary, octal, decimal, hexadecimal, or to the base 60.
fn integer(written: &str) -> Option<String> {
    let (is_negative, digits) = match written.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, written.strip_prefix('+').unwrap_or(written)),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let digits = digits.replace('_', "");
    let radix = |digits: &str, radix: u32| {
        let is_number = digits.chars().all(|digit| digit.is_digit(radix));
        u128::from_str_radix(digits, radix).ok().filter(|_| is_number).map(|number| number.to_string())
    };
    let magnitude = match digits.as_str() {
        "0" => Some(digits),
        text if text.starts_with("0b") => radix(&text[2..], 2),
        text if text.starts_with("0x") => radix(&text[2..], 16),
        text if text.starts_with('0') => radix(&text[1..], 8),
        text if text.contains(':') => sexagesimal(text),
        text => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.to_owned()),
    }?;
    Some(if is_negative && magnitude != "0" { format!("-{magnitude}") } else { magnitude })
}

fn sexagesimal(digits: &str) -> Option<String> {
    digits
        .split(':')
        .enumerate()
        .try_fold(0_u128, |sum, (index, part)| {
            let is_part = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let part = part.parse::<u128>().ok().filter(|part| is_part && (index == 0 || *part < 60))?;
            sum.checked_mul(60)?.checked_add(part)
        })
        .map(|sum| sum.to_string())
}

/// A number of YAML 1.1 with a point; an exponent has a sign.
fn float(written: &str) -> Option<String> {
    let unsigned = written.strip_prefix(['-', '+']).unwrap_or(written);
    let is_started = unsigned.starts_with(|first: char| first.is_ascii_digit())
        || (unsigned.len() == written.len() && unsigned.starts_with('.'));
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let (whole, fraction) = mantissa.split_once('.')?;
    let has_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let is_signed = |exponent: &str| {
        exponent
            .strip_prefix(['-', '+'])
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !is_started || !has_digit || !is_digits(whole) || !is_digits(fraction) || !exponent.is_none_or(is_signed) {
        return None;
    }
    let plain = written.replace('_', "");
    let plain = plain.strip_prefix('+').unwrap_or(&plain);
    number(plain).or_else(|| Number::from_f64(plain.parse().ok()?).map(|number| number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_what_pyyaml_takes_them_for() {
        for (written, json) in [
            ("no", "false"),
            ("ON", "true"),
            ("y", "\"y\""),
            ("007", "7"),
            ("010", "8"),
            ("08", "\"08\""),
            ("0x1F", "31"),
            ("0b11", "3"),
            ("1_000", "1000"),
            ("1:30", "90"),
            ("1:70", "\"1:70\""),
            ("+5", "5"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1.10", "1.10"),
            (".5", "0.5"),
            ("1.", "1.0"),
            ("1e3", "\"1e3\""),
            ("1.5e3", "\"1.5e3\""),
            ("1.5e+3", "1.5e+3"),
            ("2026-01-01", "\"2026-01-01\""),
            ("25.4.1", "\"25.4.1\""),
            ("~", "null"),
            ("a\"b", "\"a\\\"b\""),
        ] {
            let read = Value::from(written).to_string();
            assert_eq!(Schema::Yaml11.json(written, &read).unwrap_or(read), json, "{written}");
        }
        assert_eq!(Schema::Yaml11.json("'no'", "\"no\""), None);
    }

    #[test]
    fn numbers_of_the_core_schema_keep_their_digits() {
        for (written, read, json) in [
            ("1.10", "1.1", Some("1.10")),
            ("123456789012345678901234567890", "1.2345678901234568e29", Some("123456789012345678901234567890")),
            ("0x1F", "31", None),
            ("1", "1", None),
            ("1.10", "\"1.10\"", None),
        ] {
            assert_eq!(Schema::Core.json(written, read).as_deref(), json, "{written}");
        }
    }
}
