//! Preprocessed words for tantivy: a text is tokenized once, even if its words are added to several fields or several
//! times.
//!
//! A field gets a single value with a record for each word: the distance to the previous word's position and the
//! length of the word in bytes, each as a character, followed by the word. [`EncodedTokenizer`] merely decodes it.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Gap between texts, so that no phrase matches across two texts.
const GAP: usize = 1;

/// Words of a text.
#[derive(Default)]
pub(in crate::search) struct Words {
    /// Position of the first word. Other positions are relative to the previous word.
    first: usize,
    /// The first word without its distance, and the records of the others.
    records: String,
    /// The position of the last word.
    last: usize,
    /// Position after the last word.
    end: usize,
}

impl Words {
    /// Tokenizes a text.
    pub fn read(&mut self, tokenizer: &mut impl Tokenizer, text: &str) {
        self.records.clear();
        (self.last, self.end) = (0, 0);
        let mut stream = tokenizer.token_stream(text);
        while stream.advance() {
            let token = stream.token();
            if self.records.is_empty() {
                self.first = token.position;
            } else {
                self.records.push(number(token.position.saturating_sub(self.last)));
            }
            self.records.push(number(token.text.len()));
            self.records.push_str(&token.text);
            self.last = token.position;
            self.end = self.end.max(token.position + token.position_length);
        }
    }
}

/// The value of a field: the words of many texts.
#[derive(Default)]
pub(in crate::search) struct Encoded {
    records: String,
    /// The position of the last word.
    last: usize,
    /// Position at which the next text begins.
    next: usize,
}

impl Encoded {
    /// Adds the words of a text, repeated `times` times.
    pub fn add(&mut self, words: &Words, times: usize) {
        if words.records.is_empty() {
            return;
        }
        for _ in 0..times {
            self.records.push(number(self.next + words.first - self.last));
            self.records.push_str(&words.records);
            self.last = self.next + words.last;
            self.next += words.end + GAP;
        }
    }

    /// Returns the value, or `None` if there are no words.
    pub fn value(&self) -> Option<&str> {
        Some(self.records.as_str()).filter(|records| !records.is_empty())
    }
}

/// Encodes a number as a character. Words are shorter than the maximum; a longer distance is truncated, which breaks
/// phrases all the same.
fn number(number: usize) -> char {
    const LARGEST: u32 = 0xD7FF;
    char::from_u32(u32::try_from(number).unwrap_or(LARGEST).min(LARGEST)).unwrap_or_default()
}

/// Takes an encoded value apart.
#[derive(Clone, Default)]
pub(super) struct EncodedTokenizer {
    token: Token,
}

impl Tokenizer for EncodedTokenizer {
    type TokenStream<'a> = EncodedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> EncodedStream<'a> {
        self.token.reset();
        self.token.position = 0;
        EncodedStream { rest: text, token: &mut self.token }
    }
}

/// The words of an encoded value.
pub(super) struct EncodedStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TokenStream for EncodedStream<'_> {
    fn advance(&mut self) -> bool {
        let mut characters = self.rest.chars();
        let Some((distance, length)) = characters.next().zip(characters.next()) else { return false };
        let Some((word, rest)) = characters.as_str().split_at_checked(length as usize) else { return false };
        self.rest = rest;
        self.token.position += distance as usize;
        self.token.text.clear();
        self.token.text.push_str(word);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::text::{WordTokenizer, prose};

    /// The words of the texts with their positions, as tantivy adds texts of one field.
    fn expected(texts: &[(&str, usize)]) -> Vec<(String, usize)> {
        let (mut words, mut next) = (Vec::new(), 0);
        for text in texts.iter().flat_map(|(text, times)| std::iter::repeat_n(*text, *times)) {
            let mut end = None;
            prose().token_stream(text).process(&mut |token| {
                words.push((token.text.clone(), next + token.position));
                end = end.max(Some(next + token.position + token.position_length));
            });
            next = end.map_or(next, |end| end + 1);
        }
        words
    }

    #[test]
    fn words_come_out_as_they_went_in() {
        let texts = [
            ("getWeather", 4),
            ("", 2),
            ("the state of the art of realTime feeds", 1),
            ("the", 3),
            ("天気 API_v2", 2),
            ("of the of the of the end\nof a line", 1),
        ];
        let (mut tokenizer, mut words, mut encoded) = (WordTokenizer::prose(), Words::default(), Encoded::default());
        for (text, times) in texts {
            words.read(&mut tokenizer, text);
            encoded.add(&words, times);
        }
        let mut found = Vec::new();
        let mut tokenizer = EncodedTokenizer::default();
        tokenizer
            .token_stream(encoded.value().unwrap())
            .process(&mut |token| found.push((token.text.clone(), token.position)));
        assert_eq!(found, expected(&texts));
    }
}
