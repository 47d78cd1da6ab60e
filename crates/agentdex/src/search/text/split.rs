//! Word boundaries.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::td::internal::is_invisible;

/// Names with more parts than this have no whole.
const MOST_PARTS: usize = 8;

/// Reads a text name by name: runs of letters and digits, joined by single hyphens, underscores, slashes, and invisible
/// characters. Within a URL, slashes
/// join nothing: a path isn't a name.
pub(super) struct Names<'a> {
    text: &'a str,
    cursor: usize,
    /// True if the last run was within a URL.
    is_in_url: bool,
}

/// A name, taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Name {
    /// Smallest parts of the name, as ranges of the text.
    pub parts: Vec<Range<usize>>,
    /// Ranges of parts that form a word together, sorted by their first part, shorter ranges first: runs, parts
    /// joined by hyphens and underscores, and the whole name. `WhatsApp-Bot` has `WhatsApp` and `WhatsApp-Bot`.
    pub wholes: Vec<Range<usize>>,
}

impl Name {
    pub fn clear(&mut self) {
        self.parts.clear();
        self.wholes.clear();
    }
}

impl<'a> Names<'a> {
    pub fn new(text: &'a str) -> Names<'a> {
        Names { text, cursor: 0, is_in_url: false }
    }

    /// Reads the next name. Returns false at the end of the text.
    pub fn read(&mut self, name: &mut Name) -> bool {
        name.clear();
        // The first part of what hyphens and underscores join.
        let mut first = 0;
        while let Some(run) = self.next_run() {
            if self.is_contraction(&run) {
                continue;
            }
            let start = name.parts.len();
            split_run(self.text, run.clone(), &mut name.parts);
            self.add_pairs(start, name);
            self.add_whole(start, name);
            match self.joint(run.end) {
                Some('/') => {
                    self.add_whole(first, name);
                    first = name.parts.len();
                }
                Some(_) => {}
                None => break,
            }
        }
        self.add_whole(first, name);
        if !self.is_in_url {
            self.add_whole(0, name);
        }
        name.wholes.sort_by_key(|whole| whole.start);
        !name.parts.is_empty()
    }

    /// Adds the parts from `first` on as a compound, unless they are one already.
    fn add_whole(&self, first: usize, name: &mut Name) {
        let whole = first..name.parts.len();
        if !(2..=MOST_PARTS).contains(&whole.len()) || name.wholes.last() == Some(&whole) {
            return;
        }
        let is_ideograph = |part: &Range<usize>| self.text[part.clone()].contains(is_ideographic);
        if !name.parts.get(first).is_some_and(is_ideograph) {
            name.wholes.push(whole);
        }
    }

    /// Adds each two neighbors among the parts of a run from `start` on, which may be a name in it: the `GitHub` of
    /// `createGitHubIssue`.
    fn add_pairs(&self, start: usize, name: &mut Name) {
        if !(3..=MOST_PARTS).contains(&(name.parts.len() - start)) {
            return;
        }
        for (number, pair) in name.parts[start..].array_windows::<2>().enumerate() {
            let is_capitalized = |part: &Range<usize>| self.text[part.clone()].starts_with(char::is_uppercase);
            if pair.iter().all(is_capitalized) {
                name.wholes.push(start + number..start + number + 2);
            }
        }
    }

    fn next_run(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.cursor..)?;
        let start = self.cursor + rest.find(char::is_alphanumeric)?;
        let between = &self.text[self.cursor..start];
        let ends_url = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`' | '(' | ')');
        self.is_in_url = between == "://" || self.is_in_url && !between.contains(ends_url);
        let rest = self.text.get(start..)?;
        let end = start + rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        self.cursor = end;
        Some(start..end)
    }

    /// True if the run is the rest of a word after an apostrophe: the `s` of `user's`, the `ll` of `you'll`.
    fn is_contraction(&self, run: &Range<usize>) -> bool {
        if run.len() > 2 {
            return false;
        }
        let mut before = self.text[..run.start].chars().rev();
        matches!(before.next(), Some('\'' | '’')) && before.next().is_some_and(|c| c.is_alphabetic() || is_mark(c))
    }

    /// Returns the character that joins the run ending here with the next run.
    fn joint(&self, end: usize) -> Option<char> {
        let mut rest = self.text[end..].chars();
        let joint = rest.next().filter(|&c| c == '/' || is_hyphen(c) || is_invisible(c))?;
        rest.next().is_some_and(char::is_alphanumeric).then_some(joint)
    }
}

/// True for characters of words: letters, digits, and marks that combine with them.
pub(in crate::search) fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || is_mark(character)
}

/// True for a mark that combines with the letter before it, as in decomposed text.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && is_combining_mark(character)
}

/// True for a hyphen or underscore, which join words to a name.
pub(in crate::search) fn is_hyphen(character: char) -> bool {
    matches!(character, '_' | '-' | '\u{2010}' | '\u{2011}')
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
    for (offset, character) in word.char_indices().filter(|(_, character)| !is_mark(*character)) {
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
