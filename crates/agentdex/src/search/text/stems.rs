//! Conversion of words to index terms.
//!
//! Stemming costs more than the rest of indexing, and words repeat: each thread caches the stems of recent words.

use std::{borrow::Cow, cell::RefCell, collections::BTreeSet};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};
use unicode_normalization::{UnicodeNormalization, char::canonical_combining_class};

/// Number of words for which a thread has room at first.
const FEWEST_REMEMBERED: usize = 1024;
/// Maximum number of words that a thread remembers: 64 bytes each.
const MOST_REMEMBERED: usize = 16 * 1024;
/// Longer words are stemmed each time.
const LONGEST_REMEMBERED: usize = 30;

/// A text without differences of case and, as far as possible, in ASCII; not taken apart.
pub(in crate::search) fn normalized(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    normalize_into(text, &mut normalized);
    normalized
}

/// Appends a text with its case folded, without marks such as accents, and with ASCII in place of letters that look like it.
pub(super) fn normalize_into(text: &str, normalized: &mut String) {
    let from = normalized.len();
    if text.is_ascii() {
        normalized.push_str(text);
        if let Some(added) = normalized.get_mut(from..) {
            added.make_ascii_lowercase();
        }
        return;
    }
    normalized.extend(folded(text).nfd().filter(|&c| !is_accent(c)).nfc());
    if normalized.get(from..).is_none_or(str::is_ascii) {
        return;
    }
    let rest = normalized.split_off(from);
    with_ascii_folding(|folding| {
        let mut stream = folding.token_stream(&rest);
        while stream.advance() {
            normalized.push_str(&stream.token().text);
        }
    });
}

/// Calls `then` with this thread's analyzer that replaces letters similar to ASCII: `ø` by `o`, `æ` by `ae`.
fn with_ascii_folding(then: impl FnOnce(&mut TextAnalyzer)) {
    thread_local!(static FOLDING: RefCell<TextAnalyzer> =
        RefCell::new(TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build()));
    FOLDING.with_borrow_mut(then);
}

/// Folds case: texts that differ only in case become equal, such as `Straße` and `STRASSE`, or `χάρτης` and `ΧΆΡΤΗΣ`.
pub(in crate::search) fn fold_case(text: &str) -> Cow<'_, str> {
    match text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        true => text.into(),
        false => folded(text).collect::<String>().into(),
    }
}

/// The characters of a text with their case folded: texts become equal that do so by full case folding (The Unicode Standard,
/// 3.13), and `ı` becomes `i`. Upper case makes `SS` of `ß`, which `ẞ` is only in lower case.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// True for a mark that doesn't change the identity of a letter: an accent, or a point in Hebrew or Arabic. Vowel
/// signs, nuktas, and viramas of South and Southeast Asian scripts, and voicing marks of kana, create a different
/// letter.
fn is_accent(character: char) -> bool {
    matches!(canonical_combining_class(character), 1..=6 | 10..=36 | 200..)
}

/// Returns a stemmer without a cache, for many words that don't repeat.
pub(in crate::search) fn stemmer() -> TextAnalyzer {
    TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build()
}

/// Endings removed by stemming.
const ENDINGS: [&str; 36] = [
    "ability", "able", "ally", "ance", "ances", "ate", "ated", "ates", "ating", "ation", "ations", "ator", "ed", "ely",
    "ence", "ences", "er", "ers", "es", "ful", "ibility", "ical", "ies", "ing", "ings", "ion", "ions", "ity", "ive",
    "iveness", "ization", "ize", "ly", "ment", "ments", "ness",
];

/// Returns possible stems of words with a normalized prefix, as far as its last letters tell: `translatio` may
/// continue as `translation` with the stem `translat`, and `plann` as `planning`.
pub(in crate::search) fn stems_of_words_beginning_with(beginning: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::from([beginning.to_owned()]);
    let is_doubled = matches!(beginning.as_bytes(), [.., one, other] if one == other);
    for ending in ENDINGS {
        let begun = (1..ending.len()).filter(|&at| beginning.ends_with(&ending[..at]));
        words.extend(begun.map(|at| format!("{beginning}{}", &ending[at..])));
        if is_doubled {
            words.insert(format!("{beginning}{ending}"));
        }
    }
    words.into_iter().map(|word| with_stem(&word, |stem, _| stem.to_owned())).collect()
}

/// Calls with the stem of a normalized word, and whether it is a stop word.
pub(super) fn with_stem<R>(word: &str, then: impl FnOnce(&str, bool) -> R) -> R {
    thread_local!(static STEMS: RefCell<Stems> = RefCell::new(Stems::new()));
    STEMS.with_borrow_mut(|stems| stems.with_stem(word, then))
}

/// Cache of stems of recent words. A word has a single slot, determined by its hash; it replaces the word stored
/// there.
struct Stems {
    places: Vec<Stemmed>,
    /// Number of words that took the place of others since the table grew.
    replaced: usize,
    stop_words: TextAnalyzer,
    stemmer: TextAnalyzer,
}

/// A word with its stem, stored together in a single cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Stemmed {
    word: Short,
    stem: Short,
    is_stop_word: bool,
}

/// A text of at most [`LONGEST_REMEMBERED`] bytes.
#[derive(Clone, Copy, Default)]
struct Short {
    bytes: [u8; LONGEST_REMEMBERED],
    length: u8,
}

impl Short {
    fn new(text: &str) -> Option<Short> {
        let mut short = Short { length: u8::try_from(text.len()).ok()?, ..Short::default() };
        short.bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(short)
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl Stems {
    fn new() -> Stems {
        let stop_words = StopWordFilter::new(Language::English).unwrap_or_else(|| StopWordFilter::remove([]));
        Stems {
            places: vec![Stemmed::default(); FEWEST_REMEMBERED],
            replaced: 0,
            stop_words: TextAnalyzer::builder(RawTokenizer::default()).filter(stop_words).build(),
            stemmer: stemmer(),
        }
    }

    fn with_stem<R>(&mut self, word: &str, then: impl FnOnce(&str, bool) -> R) -> R {
        let hash = hash(word.as_bytes());
        if let Some(known) = self.place(hash)
            && known.word.as_bytes() == word.as_bytes()
            && let Ok(stem) = std::str::from_utf8(known.stem.as_bytes())
        {
            return then(stem, known.is_stop_word);
        }
        let is_stop_word = !self.stop_words.token_stream(word).advance();
        let mut stream = self.stemmer.token_stream(word);
        let stem = stream.next().map_or(word, |token| token.text.as_str());
        let stemmed = Short::new(word).zip(Short::new(stem));
        let outcome = then(stem, is_stop_word);
        drop(stream);
        if let Some((word, stem)) = stemmed {
            self.remember(hash, Stemmed { word, stem, is_stop_word });
        }
        outcome
    }

    fn place(&mut self, hash: usize) -> Option<&mut Stemmed> {
        let place = hash % self.places.len().max(1);
        self.places.get_mut(place)
    }

    /// Stores a stem. The table grows with the number of words, since most threads only see those of a few queries.
    fn remember(&mut self, hash: usize, stemmed: Stemmed) {
        let place = self.place(hash);
        let is_taken = place.as_ref().is_some_and(|known| known.word.length > 0);
        if let Some(place) = place {
            *place = stemmed;
        }
        self.replaced += usize::from(is_taken);
        if self.replaced > self.places.len() && self.places.len() < MOST_REMEMBERED {
            self.places = vec![Stemmed::default(); MOST_REMEMBERED.min(self.places.len() * 4)];
            self.replaced = 0;
        }
    }
}

/// Hashes a word. A collision only costs stemming it again.
fn hash(bytes: &[u8]) -> usize {
    let mut hash = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    (hash >> 40) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_marks_make_no_difference() {
        for (one, other) in [
            ("İstanbul", "istanbul"),
            ("ISTANBUL", "ıstanbul"),
            ("ΧΑΡΤΗΣ", "χάρτης"),
            ("Straße", "STRASSE"),
            ("STRAẞE", "strasse"),
            ("ﬁnance", "FINANCE"),
            ("Mu\u{308}ller", "Müller"),
            ("Ёлка", "елка"),
            ("Ærø", "AERO"),
            ("שָׁלוֹם", "שלום"),
            ("أحمد", "احمد"),
            ("Ａｐｉ", "api"),
            ("か\u{3099}", "が"),
        ] {
            assert_eq!(normalized(one), normalized(other), "{one} {other}");
        }
        for (one, other) in [("か", "が"), ("क", "क़"), ("กา", "กำ"), ("क्त", "कत"), ("ㅏ", "ㅑ"), ("한", "하")]
        {
            assert_ne!(normalized(one), normalized(other), "{one} {other}");
        }
        assert_eq!(normalized("한국어"), "한국어");
        assert_eq!(fold_case("ΧΆΡΤΗΣ"), fold_case("χάρτης"));
    }

    #[test]
    fn remembered_stems_are_those_of_the_stemmer() {
        let mut stems = Stems::new();
        for _ in 0..2 {
            for number in 0..10_000 {
                let word = format!("word{number}ing");
                let expected = format!("word{number}");
                assert_eq!(stems.with_stem(&word, |stem, stop| (stem.to_owned(), stop)), (expected, false));
            }
            assert_eq!(stems.with_stem("flying", |stem, stop| (stem.to_owned(), stop)), ("fli".to_owned(), false));
            assert!(stems.with_stem("the", |_, is_stop_word| is_stop_word));
            let long = "a".repeat(75) + "ing";
            assert_eq!(stems.with_stem(&long, |stem, _| stem.len()), 75);
        }
        assert!(stems.places.len() > FEWEST_REMEMBERED && stems.places.len() <= MOST_REMEMBERED);
    }
}
