//! Detection of personal data within a text, by its form.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

/// Replacement for personal data.
const REDACTED: &str = "[redacted]";

/// A form of personal data, and what a match must satisfy in addition.
struct Form {
    expression: LazyLock<Regex>,
    is_one: fn(&str) -> bool,
}

static FORMS: [Form; 5] = [
    // E-mail addresses.
    Form {
        expression: LazyLock::new(|| expression(r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,24}\b")),
        is_one: |_| true,
    },
    // International bank account numbers.
    Form { expression: LazyLock::new(|| expression(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b")), is_one: is_account },
    // Payment cards.
    Form { expression: LazyLock::new(|| expression(r"\b\d(?:[ -]?\d){12,18}\b")), is_one: is_card },
    // Telephone numbers with the code of a country.
    Form {
        expression: LazyLock::new(|| expression(r"\+\d[\d ()/.-]{6,20}\d\b")),
        is_one: |text| (8..=15).contains(&digits(text).count()),
    },
    // Social security numbers of the USA.
    Form { expression: LazyLock::new(|| expression(r"\b\d{3}-\d{2}-\d{4}\b")), is_one: |_| true },
];

fn expression(pattern: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are constants that a test compiles")]
    Regex::new(pattern).expect("a pattern of personal data")
}

/// A text without personal data; none if there are none.
pub(super) fn without_personal_data(text: &str) -> Option<String> {
    // Each form has digits or an `@`.
    if !text.bytes().any(|byte| byte.is_ascii_digit() || byte == b'@') {
        return None;
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    for form in &FORMS {
        let matches = form.expression.find_iter(text).filter(|found| (form.is_one)(found.as_str()));
        found.extend(matches.map(|found| found.range()));
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        if range.start >= end {
            clean.push_str(&text[end..range.start]);
            clean.push_str(REDACTED);
        }
        end = end.max(range.end);
    }
    clean.push_str(&text[end..]);
    Some(clean)
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    text.chars().filter_map(|character| character.to_digit(10))
}

/// True if the check digit of a card is right (ISO/IEC 7812-1).
fn is_card(text: &str) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 =
        digits(text).rev().enumerate().map(|(i, digit)| if i % 2 == 1 { doubled(digit) } else { digit }).sum();
    sum > 0 && sum.is_multiple_of(10)
}

/// True if the check digits of an account are right (ISO 13616).
fn is_account(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|character| *character != ' ').collect();
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let values = plain.iter().cycle().skip(4).take(plain.len()).filter_map(|character| character.to_digit(36));
    values.fold(0, |rest, value| (rest * if value > 9 { 100 } else { 10 } + value) % 97) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personal_data_are_masked() {
        for (text, expected) in [
            ("write to ada.lovelace+x@mail.example.org.", "write to [redacted]."),
            ("card 4111 1111 1111 1111, please", "card [redacted], please"),
            ("4111-1111-1111-1111", "[redacted]"),
            ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [redacted]"),
            ("GB82WEST12345698765432", "[redacted]"),
            ("call +49 (228) 9999-1234 or a@b.de", "call [redacted] or [redacted]"),
            ("ssn 078-05-1120", "ssn [redacted]"),
        ] {
            assert_eq!(without_personal_data(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn other_numbers_stay() {
        for text in [
            "",
            "Bonn",
            "at 10:30 on 2026-11-22",
            "order 4111 1111 1111 1112",
            "DE89 3704 0044 0532 0130 02",
            "v1.2.3",
            "@home",
            "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
            "a +1 for it",
            "0000 0000 0000 0000",
            "1795341600000",
        ] {
            assert_eq!(without_personal_data(text), None, "{text}");
        }
    }
}
