//! From a word as it is written to the term that the index has.
//!
//! Stemming costs more than the rest of indexing, and words repeat: each thread remembers the stems
//! of those it met.

use std::{cell::RefCell, collections::HashMap};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};

/// How many words a thread remembers; it then starts afresh.
const MOST_REMEMBERED: usize = 16 * 1024;

/// A text in lower case and ASCII, not taken apart.
pub(in crate::search) fn normalized(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    normalize_into(text, &mut normalized);
    normalized
}

/// Appends a text in lower case and ASCII.
pub(super) fn normalize_into(text: &str, normalized: &mut String) {
    if text.is_ascii() {
        let from = normalized.len();
        normalized.push_str(text);
        if let Some(added) = normalized.get_mut(from..) {
            added.make_ascii_lowercase();
        }
        return;
    }
    let mut folding =
        TextAnalyzer::builder(RawTokenizer::default()).filter(LowerCaser).filter(AsciiFoldingFilter).build();
    let mut stream = folding.token_stream(text);
    while stream.advance() {
        normalized.push_str(&stream.token().text);
    }
}

/// Hands the stem of a normalized word on, and whether it is a stop word.
pub(super) fn with_stem<R>(word: &str, then: impl FnOnce(&str, bool) -> R) -> R {
    thread_local!(static STEMS: RefCell<Stems> = RefCell::new(Stems::new()));
    STEMS.with_borrow_mut(|stems| {
        let stem = stems.stem(word);
        then(&stem.text, stem.is_stop_word)
    })
}

/// Stems by word. What is found is found with one look into the map.
struct Stems {
    places: HashMap<Box<str>, usize>,
    stems: Vec<Stem>,
    stop_words: TextAnalyzer,
    stemmer: TextAnalyzer,
}

struct Stem {
    text: Box<str>,
    is_stop_word: bool,
}

impl Stems {
    fn new() -> Stems {
        let stop_words = StopWordFilter::new(Language::English).unwrap_or_else(|| StopWordFilter::remove([]));
        Stems {
            places: HashMap::new(),
            stems: Vec::new(),
            stop_words: TextAnalyzer::builder(RawTokenizer::default()).filter(stop_words).build(),
            stemmer: TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build(),
        }
    }

    fn stem(&mut self, word: &str) -> &Stem {
        let place = match self.places.get(word) {
            Some(&place) => place,
            None => self.add(word),
        };
        &self.stems[place]
    }

    fn add(&mut self, word: &str) -> usize {
        if self.stems.len() >= MOST_REMEMBERED {
            self.places.clear();
            self.stems.clear();
        }
        let is_stop_word = !self.stop_words.token_stream(word).advance();
        let text =
            self.stemmer.token_stream(word).next().map_or_else(|| word.into(), |token| token.text.as_str().into());
        self.places.insert(word.into(), self.stems.len());
        self.stems.push(Stem { text, is_stop_word });
        self.stems.len() - 1
    }
}
