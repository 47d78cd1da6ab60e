//! How text becomes words: the same in the index, in queries and in snippets.
//!
//! Words end where neither letter nor digit follows. Names are taken apart at `camelCase`, at
//! `_` and `-`, and between letters and digits; besides its parts, the whole of such a name is a
//! word too, at the position of its first part: `getWeather`, `get_weather` and `getweather` meet.
//! Then: lower case, ASCII folding, stop words (positions stay, so that phrases do), English stems.

use std::{ops::Range, sync::LazyLock};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RawTokenizer, RemoveLongFilter, Stemmer, StopWordFilter, TextAnalyzer,
    Token, TokenStream, Tokenizer, TokenizerManager,
};

/// The analyzer of prose.
pub(super) const PROSE: &str = "prose";
/// The analyzer of names and titles: stop words count ("The Who", "IT").
pub(super) const NAMES: &str = "names";

/// Longer words are no words, but encoded data.
const LONGEST_WORD: usize = 80;
/// Names with more parts than this have no whole.
const MOST_PARTS: usize = 8;

/// The analyzers by name.
pub(super) fn analyzers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(PROSE, prose());
    manager.register(NAMES, names());
    manager
}

/// The analyzer of prose.
pub(super) fn prose() -> TextAnalyzer {
    static PROSE: LazyLock<TextAnalyzer> = LazyLock::new(|| {
        let stop_words = StopWordFilter::new(Language::English).unwrap_or_else(|| StopWordFilter::remove([]));
        TextAnalyzer::builder(WordTokenizer::default())
            .filter(RemoveLongFilter::limit(LONGEST_WORD + 1))
            .filter(LowerCaser)
            .filter(AsciiFoldingFilter)
            .filter(stop_words)
            .filter(Stemmer::new(Language::English))
            .build()
    });
    PROSE.clone()
}

/// The analyzer of names.
pub(super) fn names() -> TextAnalyzer {
    static NAMES: LazyLock<TextAnalyzer> = LazyLock::new(|| {
        TextAnalyzer::builder(WordTokenizer::default())
            .filter(RemoveLongFilter::limit(LONGEST_WORD + 1))
            .filter(LowerCaser)
            .filter(AsciiFoldingFilter)
            .filter(Stemmer::new(Language::English))
            .build()
    });
    NAMES.clone()
}

/// A text in lower case and ASCII, not taken apart.
pub(super) fn normalized(text: &str) -> String {
    let mut analyzer =
        TextAnalyzer::builder(RawTokenizer::default()).filter(LowerCaser).filter(AsciiFoldingFilter).build();
    let mut stream = analyzer.token_stream(text);
    stream.next().map(|token| token.text.clone()).unwrap_or_default()
}

/// Splits text as the module says; the filters follow.
#[derive(Clone, Default)]
pub(super) struct WordTokenizer {
    token: Token,
    parts: Vec<Range<usize>>,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        self.parts.clear();
        WordStream { text, cursor: 0, position: 0, next_part: 0, state: State::Parts, tokenizer: self }
    }
}

/// The words of a text.
pub(super) struct WordStream<'a> {
    text: &'a str,
    cursor: usize,
    position: usize,
    next_part: usize,
    state: State,
    tokenizer: &'a mut WordTokenizer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The parts of a name, or the next name.
    Parts,
    /// The whole of the name whose first part was the last token.
    Whole,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        if self.state == State::Whole {
            self.state = State::Parts;
            self.emit_whole();
            return true;
        }
        if self.next_part == self.tokenizer.parts.len() && !self.read_name() {
            return false;
        }
        self.emit_part();
        true
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}

impl WordStream<'_> {
    fn emit_part(&mut self) {
        let Some(part) = self.tokenizer.parts.get(self.next_part).cloned() else { return };
        let token = &mut self.tokenizer.token;
        token.text.clear();
        token.text.push_str(self.text.get(part.clone()).unwrap_or_default());
        token.offset_from = part.start;
        token.offset_to = part.end;
        token.position = self.position;
        token.position_length = 1;
        let count = self.tokenizer.parts.len();
        if self.next_part == 0 && (2..=MOST_PARTS).contains(&count) && !self.text[part].chars().any(is_ideographic) {
            self.state = State::Whole;
        }
        self.next_part += 1;
        self.position += 1;
    }

    fn emit_whole(&mut self) {
        let WordTokenizer { token, parts } = &mut *self.tokenizer;
        token.text.clear();
        for part in parts.iter() {
            token.text.push_str(self.text.get(part.clone()).unwrap_or_default());
        }
        token.offset_from = parts.first().map_or(0, |part| part.start);
        token.offset_to = parts.last().map_or(0, |part| part.end);
        token.position_length = parts.len();
    }

    /// Reads the next run of letters and digits, joined by single `_` and `-`, into parts.
    fn read_name(&mut self) -> bool {
        self.tokenizer.parts.clear();
        self.next_part = 0;
        while let Some(run) = self.next_run() {
            if self.is_contraction(&run) {
                continue;
            }
            split_run(self.text, run.clone(), &mut self.tokenizer.parts);
            if !self.is_joined(run.end) {
                return true;
            }
        }
        !self.tokenizer.parts.is_empty()
    }

    fn next_run(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.cursor..)?;
        let start = self.cursor + rest.find(char::is_alphanumeric)?;
        let rest = self.text.get(start..)?;
        let end = start + rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        self.cursor = end;
        Some(start..end)
    }

    /// Whether the run is what an apostrophe leaves of a word: the `s` of `user's`, the `ll` of `you'll`.
    fn is_contraction(&self, run: &Range<usize>) -> bool {
        let before = self.text[..run.start].chars().next_back();
        run.len() <= 2
            && matches!(before, Some('\'' | '’'))
            && self.text[..run.start].chars().rev().nth(1).is_some_and(char::is_alphabetic)
    }

    fn is_joined(&self, end: usize) -> bool {
        let mut rest = self.text[end..].chars();
        matches!(rest.next(), Some('_' | '-')) && rest.next().is_some_and(char::is_alphanumeric)
    }
}

/// Scripts written without spaces: each character is a word, neighbours make phrases.
pub(super) fn is_ideographic(character: char) -> bool {
    matches!(u32::from(character), 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3134F)
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
    let mut start = run.start;
    let mut previous: Option<(usize, Class)> = None;
    let mut uppers = 0;
    for (offset, character) in word.char_indices() {
        let (at, class) = (run.start + offset, Class::of(character));
        let boundary = match (previous.map(|(_, class)| class), class) {
            (None, _) => None,
            (Some(_), Class::Ideograph) | (Some(Class::Ideograph), _) => Some(at),
            (Some(Class::Lower), Class::Upper) => Some(at),
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

/// Whether an acronym is followed by a plural `s` and no more of that word.
fn is_plural(rest: &str) -> bool {
    let mut rest = rest.chars();
    rest.next() == Some('s') && !rest.next().is_some_and(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, usize)> {
        let mut words = Vec::new();
        prose().token_stream(text).process(&mut |token| words.push((token.text.clone(), token.position)));
        words
    }

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn names_are_taken_apart_and_kept_whole() {
        assert_eq!(texts("getWeather"), ["get", "getweath", "weather"]);
        assert_eq!(texts("get_weather"), ["get", "getweath", "weather"]);
        assert_eq!(texts("getweather"), ["getweath"]);
        assert_eq!(texts("HTTPServer2"), ["http", "httpserver2", "server", "2"]);
        assert_eq!(texts("gpt4"), ["gpt", "gpt4", "4"]);
    }

    #[test]
    fn plural_acronyms_are_singular() {
        assert_eq!(texts("APIs of LLMs"), ["api", "llm"]);
    }

    #[test]
    fn stop_words_leave_a_gap() {
        assert_eq!(words("state of the art"), [("state".into(), 0), ("art".into(), 3)]);
    }

    #[test]
    fn accents_contractions_and_case_do_not_matter() {
        assert_eq!(texts("Müller's CAFÉ"), ["muller", "cafe"]);
        assert_eq!(texts("you'll don't"), ["you", "don"]);
    }

    #[test]
    fn ideographs_are_words_of_their_own() {
        assert_eq!(words("天气API"), [("天".into(), 0), ("气".into(), 1), ("api".into(), 2)]);
    }

    #[test]
    fn the_whole_has_the_place_of_its_first_part() {
        assert_eq!(
            words("a realTime feed"),
            [("real".into(), 1), ("realtim".into(), 1), ("time".into(), 2), ("feed".into(), 3)]
        );
    }

    #[test]
    fn nothing_searchable_has_no_words() {
        assert!(words("?! \" -- ++ ★ 👍").is_empty());
    }
}
