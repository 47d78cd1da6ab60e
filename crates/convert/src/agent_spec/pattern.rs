//! Syntax check of regular expressions.
//!
//! The `pattern` of a schema is written in the dialect of ECMA-262, but the reference SDK compiles it with Python's.
//! Only mistakes in every dialect are refused here: unclosed groups and classes, quantifiers without an operand, and
//! trailing backslashes.

use std::{iter::Peekable, str::Chars};

/// Checks that `pattern` can be a regular expression; the error says in words why it can't.
pub(super) fn check(pattern: &str) -> Result<(), &'static str> {
    let mut rest = pattern.chars().peekable();
    let mut open_groups = 0_usize;
    let mut repeatable = false;
    while let Some(character) = rest.next() {
        repeatable = match character {
            '\\' => rest.next().map(|_| true).ok_or("the pattern ends with a backslash")?,
            '[' => class(&mut rest).map(|()| true)?,
            '(' => {
                open_groups += 1;
                group_kind(&mut rest).map(|()| false)?
            }
            ')' => {
                open_groups = open_groups.checked_sub(1).ok_or("unmatched `)`")?;
                true
            }
            '|' | '^' | '$' => false,
            '*' | '+' | '?' if repeatable => lazy(&mut rest),
            '*' | '+' | '?' => return Err("a quantifier has nothing to repeat"),
            '{' => match bounds(&rest) {
                Some(_) if !repeatable => return Err("a quantifier has nothing to repeat"),
                Some((length, in_order)) => {
                    rest.by_ref().take(length).for_each(drop);
                    in_order
                        .then(|| lazy(&mut rest))
                        .ok_or("the lower bound of a repetition exceeds the upper bound")?
                }
                None => true,
            },
            _ => true,
        };
    }
    if open_groups == 0 { Ok(()) } else { Err("a group isn't closed") }
}

/// Skips what makes a repetition lazy or possessive; what was repeated can't be repeated again.
fn lazy(rest: &mut Peekable<Chars<'_>>) -> bool {
    rest.next_if(|&mark| mark == '?' || mark == '+');
    false
}

fn group_kind(rest: &mut Peekable<Chars<'_>>) -> Result<(), &'static str> {
    if rest.next_if_eq(&'?').is_none() {
        return Ok(());
    }
    match rest.next() {
        Some(':' | '=' | '!' | '<' | '>' | 'P' | '#' | '(' | '-') => Ok(()),
        Some(flag) if flag.is_ascii_lowercase() => Ok(()),
        _ => Err("unknown kind of group after `(?`"),
    }
}

fn class(rest: &mut Peekable<Chars<'_>>) -> Result<(), &'static str> {
    const OPEN: &str = "a character class `[` isn't closed";
    rest.next_if_eq(&'^');
    let mut from = None;
    loop {
        match rest.next().ok_or(OPEN)? {
            ']' => return Ok(()),
            '\\' => {
                rest.next().ok_or(OPEN)?;
                from = None;
            }
            '-' => {
                let to = rest.next_if(|&to| to != ']' && to != '\\');
                if from.zip(to).is_some_and(|(from, to)| from > to) {
                    return Err("the start of a range is greater than its end");
                }
                from = None;
            }
            character => from = Some(character),
        }
    }
}

/// The length of `{2}`, `{2,}`, `{,2}` or `{2,3}` after the brace, and whether its bounds are in order;
/// nothing if the brace is an ordinary character.
fn bounds(rest: &Peekable<Chars<'_>>) -> Option<(usize, bool)> {
    const LONGEST: usize = 20;
    let text: String = rest.clone().take(LONGEST).take_while(|&character| character != '}').collect();
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (least, most) = text.split_once(',').unwrap_or((&text, &text));
    if text.len() == LONGEST || text.len() < 2 && !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let numbers = (is_number(least) && is_number(most)).then(|| (least.parse::<u64>(), most.parse::<u64>()))?;
    let in_order = matches!(numbers, (Ok(least), Ok(most)) if least <= most) || least.is_empty() || most.is_empty();
    Some((text.len() + 1, in_order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_pass() {
        let valid = [
            "",
            "a*b+?c??",
            "(a|b)*",
            "[a-z_-]+",
            "[^]a]",
            r"\[\(",
            "a{2}b{2,}c{2,3}?",
            "{x}",
            "a{",
            "}",
            "(?:a)(?=b)(?!c)",
            "(?<=a)(?<n>b)(?P<m>c)",
            r"[\]-a]",
            r"\d{4}-\d\d",
            "(?i)a",
            "x{,3}",
            "a|",
            "^$",
        ];
        for pattern in valid {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for pattern in
            ["(", ")", "a)", "[", "[a", "*", "a**", "(*a)", "a|+", "\\", "[a\\", "[z-a]", "a{3,2}", "{2}", "(?"]
        {
            assert!(check(pattern).is_err(), "{pattern}");
        }
    }
}
