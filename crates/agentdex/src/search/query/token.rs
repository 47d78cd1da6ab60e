//! Words of a query text as found in the index.

use std::ops::Range;

use tantivy::tokenizer::TextAnalyzer;

use crate::search::text;

/// A word of a query text as the index has it.
pub(in crate::search) struct Token {
    pub text: String,
    /// Word as written in the query.
    pub written: String,
    pub position: usize,
    /// Number of parts of a compound name that the token joins; 1 for a single part.
    pub parts: usize,
}

impl Token {
    /// Returns the word as written in the query, in lower case.
    pub fn word(&self) -> String {
        text::normalized(&self.written)
    }

    /// True for a token that joins several parts of a compound name, in addition to the tokens of these parts.
    pub fn is_whole(&self) -> bool {
        self.parts > 1
    }

    /// True if the token consists of all these parts.
    pub fn is_whole_of(&self, parts: &[Token]) -> bool {
        parts.iter().all(|part| self.range().contains(&part.position))
    }

    /// Returns the positions of the parts.
    pub fn range(&self) -> Range<usize> {
        self.position..self.position + self.parts
    }

    pub fn is_ideographic(&self) -> bool {
        self.text.contains(text::is_ideographic)
    }
}

/// Takes a text apart.
pub(in crate::search) fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    analyzer.token_stream(text).process(&mut |token| {
        tokens.push(Token {
            text: token.text.clone(),
            written: text.get(token.offset_from..token.offset_to).unwrap_or_default().to_owned(),
            position: token.position,
            parts: token.position_length,
        });
    });
    tokens
}

/// Splits the text of a prefix into the words before its last name, and the beginning of that name in lower case, of
/// letters and digits alone.
pub(in crate::search) fn split_prefix(prefix: &str) -> (&str, String) {
    let is_outside = |c: char| !text::is_of_word(c) && !text::is_hyphen(c);
    let name_start = prefix.rfind(is_outside).map_or(0, |at| prefix.ceil_char_boundary(at + 1));
    let (before, name) = prefix.split_at(name_start);
    (before, text::normalized(name).chars().filter(|c| text::is_of_word(*c)).collect())
}
