//! Boundaries of words.

use std::ops::Range;

/// Reads a text name by name: runs of letters and digits, joined by single `_` and `-`.
pub(super) struct Names<'a> {
    text: &'a str,
    cursor: usize,
}

impl<'a> Names<'a> {
    pub fn new(text: &'a str) -> Names<'a> {
        Names { text, cursor: 0 }
    }

    /// Puts the parts of the next name in place of what `parts` has; false at the end.
    pub fn next_parts(&mut self, parts: &mut Vec<Range<usize>>) -> bool {
        parts.clear();
        while let Some(run) = self.next_run() {
            if self.is_contraction(&run) {
                continue;
            }
            split_run(self.text, run.clone(), parts);
            if !self.is_joined(run.end) {
                return true;
            }
        }
        !parts.is_empty()
    }

    fn next_run(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.cursor..)?;
        let start = self.cursor + rest.find(char::is_alphanumeric)?;
        let rest = self.text.get(start..)?;
        let end = start + rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        self.cursor = end;
        Some(start..end)
    }

    /// True if the run is what an apostrophe leaves of a word: the `s` of `user's`, the `ll` of `you'll`.
    fn is_contraction(&self, run: &Range<usize>) -> bool {
        if run.len() > 2 {
            return false;
        }
        let mut before = self.text[..run.start].chars().rev();
        matches!(before.next(), Some('\'' | '’')) && before.next().is_some_and(char::is_alphabetic)
    }

    fn is_joined(&self, end: usize) -> bool {
        let mut rest = self.text[end..].chars();
        matches!(rest.next(), Some('_' | '-')) && rest.next().is_some_and(char::is_alphanumeric)
    }
}

/// Scripts written without spaces: each character is a word, neighbours make phrases.
pub(in crate::search) fn is_ideographic(character: char) -> bool {
    matches!(
        u32::from(character),
        0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3134F
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Ideograph,
}

impl Class {
    fn of(character: char) -> Class {
        if character.is_numeric() {
            Class::Digit
        } else if character.is_uppercase() {
            Class::Upper
        } else if is_ideographic(character) {
            Class::Ideograph
        } else {
            Class::Lower
        }
    }
}

/// Takes a run apart at `aB`, `ABc` (before the `B`), `a1` and `1a`; a plural acronym (`APIs`) loses its `s`.
fn split_run(text: &str, run: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let word = &text[run.clone()];
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        parts.push(run);
        return;
    }
    let mut start = run.start;
    let mut previous: Option<(usize, Class)> = None;
    let mut uppers = 0;
    for (offset, character) in word.char_indices() {
        let (at, class) = (run.start + offset, Class::of(character));
        let boundary = match (previous.map(|(_, class)| class), class) {
            (None, _) => None,
            (Some(_), Class::Ideograph) | (Some(Class::Ideograph), _) | (Some(Class::Lower), Class::Upper) => Some(at),
            (Some(Class::Digit), Class::Upper | Class::Lower) | (Some(Class::Upper | Class::Lower), Class::Digit) => {
                Some(at)
            }
            (Some(Class::Upper), Class::Lower) if uppers > 1 && is_plural(&word[offset..]) => {
                parts.push(start..at);
                start = at + character.len_utf8();
                None
            }
            (Some(Class::Upper), Class::Lower) if uppers > 1 => previous.map(|(at, _)| at),
            _ => None,
        };
        if let Some(boundary) = boundary.filter(|&boundary| boundary > start) {
            parts.push(start..boundary);
            start = boundary;
        }
        uppers = if class == Class::Upper { uppers + 1 } else { 0 };
        previous = Some((at, class));
    }
    if start < run.end {
        parts.push(start..run.end);
    }
}

/// True if an acronym is followed by a plural `s` and no more of that word.
fn is_plural(rest: &str) -> bool {
    let mut rest = rest.chars();
    rest.next() == Some('s') && !rest.next().is_some_and(char::is_lowercase)
}
