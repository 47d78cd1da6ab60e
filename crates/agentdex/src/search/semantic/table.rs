//! The built-in table: a small vector for each English word, and for each word piece of five other languages.
//!
//! The vector of a text is the sum of the vectors of its parts, scaled to length one. The weight of a part is the
//! length of its vector; both length and direction were determined by the fit
//! (`examples/fit_embedding_table/main.rs`).
//!
//! A word is looked up in English by its stem, and in other languages as written, in lower case and ASCII. A run of
//! ideographs and kana is a word. A word found in only one of these is used as such; for a word found in both, the
//! log-odds decide, together with half the log-odds of the other words in the text. A word found in neither is cut
//! into the pieces with the lowest cost: `strompreise` is `strom` and `preise`. In an English text, an unknown word
//! ending with `er` or `est` is first looked up without that ending: `cheapest` is `cheap`. A compound name
//! (`getWeather`) also counts as a whole if it is an English word.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 8 | [`Table::hash_of`] the remaining bytes |
//! | 4 | number of dimensions d |
//! | 4, 4 | sizes of the next two parts, in bytes |
//! | … | w English words, stemmed as in the index, and their indexes: a finite state transducer of `tantivy-fst` |
//! | … | p pieces and their indexes, likewise |
//! | 2 p | cost of each piece, in [`COST_STEP`] |
//! | w + p | log-odds of each entry to be of a language other than English, signed, in [`ODDS_STEP`] |
//! | 4 (w + p) | scale of each vector, a 32-bit float |
//! | d / 2 (w + p) | vectors in 4-bit integers plus 8: the lower halves of the bytes are the first half of a vector |
//!
//! All numbers are little-endian. Everything is read in place from the program image, without additional memory.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    lexicon::Lexicon,
    scan::{Quantized, unit},
};
use crate::search::text;

/// Version of the tokenization. Vectors computed with another version are recomputed.
const READING: u64 = 2;
/// Magic bytes at the beginning of a table.
pub const MAGIC: [u8; 8] = *b"ADXTAB03";
/// Step size of the quantized costs of pieces, in nats.
pub const COST_STEP: f64 = 1.0 / 1024.0;
/// Step size of the quantized log-odds, in nats.
pub const ODDS_STEP: f64 = 1.0 / 16.0;
/// Cost of a character that no piece has, in [`COST_STEP`]s.
const NO_PIECE: u32 = 32 * 1024;
/// Minimum number of letters in each piece of a word with a known meaning.
const FEWEST_LETTERS: usize = 4;
/// Endings of English words not removed by stemming.
const ENDINGS: [&str; 2] = ["er", "est"];
/// The maximum number of words in [`UnknownWords`], each with a byte a dimension.
const MOST_CACHED: usize = 8192;

static BUILT_IN: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("table.bin")).unwrap_or_default());

/// Table of English words and of word pieces of other languages, with their vectors. The default table is empty.
#[derive(Debug, Default)]
pub struct Table {
    dimensions: usize,
    words: Lexicon,
    pieces: Lexicon,
    costs: &'static [[u8; 2]],
    odds: &'static [u8],
    scales: &'static [[u8; 4]],
    vectors: &'static [u8],
    hash: u64,
}

/// Part of a text with a vector of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An English word, by index.
    Word(usize),
    /// A word piece, by index.
    Piece(usize),
}

/// A word of a text, as it may be read.
struct Read {
    english: Option<usize>,
    piece: Option<usize>,
    /// Number of the English word that it is without its ending, if it is neither one of English nor a piece.
    shorter: Option<usize>,
    odds: i32,
    written: String,
}

/// A word that is neither an English word nor a piece.
struct Unknown<'a> {
    written: &'a str,
    /// In an English text, the word without its ending.
    shorter: Option<usize>,
}

impl Table {
    /// Returns the table that is part of the program.
    pub fn built_in() -> &'static Table {
        &BUILT_IN
    }

    /// Reads a table. Returns `None` if the bytes are not a valid table.
    pub fn read(bytes: &'static [u8]) -> Option<Table> {
        let (hash, rest) = bytes.strip_prefix(&MAGIC)?.split_first_chunk::<8>()?;
        let (header, rest) = rest.split_at_checked(12)?;
        let [dimensions, words, pieces] = *header.as_chunks::<4>().0 else { return None };
        let [dimensions, words, pieces] = [dimensions, words, pieces].map(|number| u32::from_le_bytes(number) as usize);
        let (words, rest) = rest.split_at_checked(words)?;
        let (pieces, rest) = rest.split_at_checked(pieces)?;
        let (words, pieces) = (Lexicon::read(words)?, Lexicon::read(pieces)?);
        let rows = words.len() + pieces.len();
        let (costs, rest) = rest.split_at_checked(2 * pieces.len())?;
        let (odds, rest) = rest.split_at_checked(rows)?;
        let (scales, vectors) = rest.split_at_checked(4 * rows)?;
        (dimensions.is_multiple_of(2) && vectors.len() == rows.checked_mul(dimensions / 2)?).then_some(Table {
            dimensions,
            words,
            pieces,
            costs: costs.as_chunks::<2>().0,
            odds,
            scales: scales.as_chunks::<4>().0,
            vectors,
            hash: u64::from_le_bytes(*hash),
        })
    }

    /// Returns the hash of the bytes after the hash: FNV-1a with 64 bits.
    pub fn hash_of(content: &[u8]) -> u64 {
        const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        content.iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
    }

    /// Returns the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the number of English words.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of pieces.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Returns a hash that differs between tables with different vectors.
    pub fn hash(&self) -> u64 {
        self.hash.wrapping_add(READING)
    }

    /// Returns the index of a stemmed English word.
    pub fn find(&self, stem: &str) -> Option<usize> {
        self.words.find(stem.as_bytes())
    }

    /// Returns the index of an English word without an ending kept by its stem: `cheap` for `cheapest`, `thrill` for
    /// `thriller`.
    fn find_without_ending(&self, stem: &str) -> Option<usize> {
        let shorter = ENDINGS.into_iter().find_map(|ending| stem.strip_suffix(ending))?;
        self.find(shorter).filter(|_| shorter.len() >= FEWEST_LETTERS)
    }

    /// True if the table knows the meaning of a word, either by its English stem or, in another language, as a whole
    /// or in long pieces.
    pub fn knows(&self, stem: &str, written: &str) -> bool {
        self.has_word(stem, written) || self.find_without_ending(stem).is_some() || self.cut(written, |_| ())
    }

    /// True if the table contains the word as a whole. Unlike [`Table::knows`], ignores long pieces, which misspelled
    /// and unfinished words may have, too.
    pub fn has_word(&self, stem: &str, written: &str) -> bool {
        self.find(stem).is_some() || self.pieces.find(written.as_bytes()).is_some()
    }

    /// Returns the vector of a text, scaled to length one, or `None` if the table knows none of its words.
    /// `unknown` caches the vectors of words that are cut into pieces.
    pub fn embed(&self, text: &str, unknown: &mut UnknownWords) -> Option<Vec<f32>> {
        let (mut sum, mut is_known) = (vec![0.0; self.dimensions], false);
        self.for_each_word(text, |read| match read {
            Ok(part) => {
                is_known = true;
                self.add(part, &mut sum);
            }
            Err(Unknown { shorter: Some(word), .. }) => {
                is_known = true;
                self.add(Part::Word(word), &mut sum);
            }
            Err(Unknown { written, .. }) => is_known |= unknown.add(written, self, &mut sum),
        });
        unit(sum).filter(|_| is_known)
    }

    /// Calls `each` with each part of a text.
    pub fn for_each_part(&self, text: &str, mut each: impl FnMut(Part)) {
        self.for_each_word(text, |read| match read {
            Ok(part) => each(part),
            Err(Unknown { shorter: Some(word), .. }) => each(Part::Word(word)),
            Err(Unknown { written, .. }) => {
                self.cut(written, |piece| each(Part::Piece(piece)));
            }
        });
    }

    /// Calls `each` with each part of a text as used for fitting the table: unknown words are cut into pieces
    /// regardless of their ending.
    pub fn for_each_fitted_part(&self, text: &str, mut each: impl FnMut(Part)) {
        self.for_each_word(text, |read| match read {
            Ok(part) => each(part),
            Err(Unknown { written, .. }) => {
                self.cut(written, |piece| each(Part::Piece(piece)));
            }
        });
    }

    /// Calls `each` with the part for each word of a text, or with the word if it is unknown.
    fn for_each_word(&self, text: &str, mut each: impl FnMut(Result<Part, Unknown<'_>>)) {
        let mut words = Vec::new();
        for_each_word(text, |stem, written, is_whole| {
            let english = self.find(stem);
            if is_whole {
                // The parts of a name stand for it as well.
                english.into_iter().for_each(|word| each(Ok(Part::Word(word))));
                return;
            }
            let piece = self.pieces.find(written.as_bytes());
            let odds = piece.map(|piece| self.words.len() + piece).or(english).map_or(0, |row| self.odds(row));
            let is_unknown = english.is_none() && piece.is_none();
            let shorter = self.find_without_ending(stem).filter(|_| is_unknown);
            let written = if is_unknown { written.to_owned() } else { String::new() };
            words.push(Read { english, piece, shorter, odds, written });
        });
        let all: i32 = words.iter().map(|word| word.odds).sum();
        for word in &words {
            each(match (word.english, word.piece) {
                // Its own odds and half of those of the others.
                (Some(_), Some(piece)) if word.odds + all > 0 => Ok(Part::Piece(piece)),
                (Some(word), _) => Ok(Part::Word(word)),
                (None, Some(piece)) => Ok(Part::Piece(piece)),
                // In a text of another language, `bäcker` isn't who backs something.
                (None, None) => Err(Unknown { written: &word.written, shorter: word.shorter.filter(|_| all < 0) }),
            });
        }
    }

    /// Calls `each` with the pieces of a word with the lowest total cost. Returns true if they convey its meaning:
    /// each piece has many letters, or half of the word consists of ideographs covered by pieces. Characters not
    /// covered by any piece are skipped.
    fn cut(&self, word: &str, each: impl FnMut(usize)) -> bool {
        // By the byte where it ends, the cheapest way there: its cost, where its last piece starts, and that piece.
        let mut ways = vec![(u32::MAX, 0, None); word.len() + 1];
        ways[0].0 = 0;
        for (start, character) in word.char_indices() {
            let before = ways[start].0;
            let mut reach = |end: usize, cost: u32, piece: Option<usize>| {
                let cost = before.saturating_add(cost);
                if cost < ways[end].0 {
                    ways[end] = (cost, start, piece);
                }
            };
            reach(start + character.len_utf8(), NO_PIECE, None);
            self.pieces.for_each_prefix(&word.as_bytes()[start..], |length, piece| {
                let cost = self.costs.get(piece).map_or(NO_PIECE, |cost| u16::from_le_bytes(*cost).into());
                reach(start + length, cost, Some(piece));
            });
        }
        let (mut end, mut pieces, mut fewest, mut left_out) = (word.len(), Vec::new(), usize::MAX, 0);
        while end > 0 {
            let (_, start, piece) = ways[end];
            let text = word.get(start..end).unwrap_or_default();
            fewest = fewest.min(if piece.is_some() { text.chars().count() } else { 0 });
            left_out += if piece.is_some() { 0 } else { text.len() };
            pieces.extend(piece);
            end = start;
        }
        let is_known = match word.contains(text::is_ideographic) {
            true => 2 * left_out <= word.len(),
            false => !word.is_empty() && fewest >= FEWEST_LETTERS,
        };
        pieces.into_iter().rev().for_each(each);
        is_known
    }

    fn odds(&self, row: usize) -> i32 {
        self.odds.get(row).map_or(0, |odds| odds.cast_signed().into())
    }

    /// Adds the vector of a part.
    fn add(&self, part: Part, sum: &mut [f32]) {
        let row = match part {
            Part::Word(word) => word,
            Part::Piece(piece) => self.words.len() + piece,
        };
        let half = self.dimensions / 2;
        let (Some(vector), Some(scale)) = (self.vectors.get(row * half..(row + 1) * half), self.scales.get(row)) else {
            return;
        };
        let scale = f32::from_le_bytes(*scale);
        let (first, second) = sum.split_at_mut(half);
        for ((first, second), value) in first.iter_mut().zip(second).zip(vector) {
            *first += scale * (f32::from(value & 15) - 8.0);
            *second += scale * (f32::from(value >> 4) - 8.0);
        }
    }
}

/// Cache of the vectors of recently read words that had to be cut into pieces.
#[derive(Debug, Default)]
pub struct UnknownWords(HashMap<Box<str>, (Quantized, bool)>);

impl UnknownWords {
    /// Adds the pieces of a word. Returns true if they convey its meaning.
    fn add(&mut self, word: &str, table: &Table, sum: &mut [f32]) -> bool {
        if !self.0.contains_key(word) {
            if self.0.len() >= MOST_CACHED {
                self.0.clear();
            }
            let mut pieces = vec![0.0; table.dimensions];
            let is_known = table.cut(word, |piece| table.add(Part::Piece(piece), &mut pieces));
            self.0.insert(word.into(), (Quantized::new(&pieces), is_known));
        }
        let Some((vector, is_known)) = self.0.get(word) else { return false };
        for (sum, value) in sum.iter_mut().zip(&vector.values) {
            *sum += vector.scale * f32::from(*value);
        }
        *is_known
    }
}

/// Calls `each` for each word of a text, with its English stem, its normalized form (lower case, without accents), and
/// true for a compound name whose parts are passed as well. A run of ideographs is a single word.
pub fn for_each_word(text: &str, mut each: impl FnMut(&str, &str, bool)) {
    let mut run = String::new();
    let mut run_end = 0;
    text::for_each_name(text, |token, written| {
        let is_ideograph = token.position_length == 1 && written.starts_with(text::is_ideographic);
        if !run.is_empty() && (!is_ideograph || run_end != token.offset_from) {
            each(&run, &run, false);
            run.clear();
        }
        if is_ideograph {
            run.push_str(written);
            run_end = token.offset_to;
        } else {
            each(&token.text, written, token.position_length > 1);
        }
    });
    if !run.is_empty() {
        each(&run, &run, false);
    }
}

#[cfg(test)]
mod tests {
    use tantivy_fst::MapBuilder;

    use super::*;

    /// A table of two dimensions: words and pieces with their costs, log-odds and vectors.
    fn table(words: &[(&str, i8, [u8; 2])], pieces: &[(&str, u16, i8, [u8; 2])]) -> Table {
        let transducer = |texts: &mut dyn Iterator<Item = &str>| {
            let mut builder = MapBuilder::memory();
            builder.extend_iter(texts.zip(0..)).expect("texts in order");
            builder.into_inner().expect("a transducer")
        };
        let texts =
            [transducer(&mut words.iter().map(|word| word.0)), transducer(&mut pieces.iter().map(|piece| piece.0))];
        let mut content = Vec::new();
        for number in [2, texts[0].len(), texts[1].len()] {
            content.extend((number as u32).to_le_bytes());
        }
        content.extend(texts.concat());
        pieces.iter().for_each(|piece| content.extend(piece.1.to_le_bytes()));
        let odds = words.iter().map(|word| word.1).chain(pieces.iter().map(|piece| piece.2));
        content.extend(odds.map(i8::cast_unsigned));
        let vectors: Vec<[u8; 2]> = words.iter().map(|word| word.2).chain(pieces.iter().map(|piece| piece.3)).collect();
        vectors.iter().for_each(|_| content.extend(0.5_f32.to_le_bytes()));
        content.extend(vectors.iter().map(|[first, second]| first | second << 4));
        let bytes = [MAGIC.as_slice(), &Table::hash_of(&content).to_le_bytes(), &content].concat();
        Table::read(bytes.leak()).expect("a table")
    }

    fn example() -> Table {
        table(
            &[("stori", -99, [8, 12]), ("war", -1, [12, 8]), ("weather", -99, [9, 9])],
            &[
                ("preis", 9, 9, [8, 15]),
                ("strom", 9, 9, [15, 8]),
                ("strompr", 99, 9, [1, 1]),
                ("war", 9, 40, [8, 4]),
                ("wie", 9, 60, [4, 8]),
                ("z", 99, 9, [1, 1]),
                ("天", 9, 9, [1, 8]),
                ("气", 9, 9, [8, 1]),
            ],
        )
    }

    fn parts(text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        example().for_each_part(text, |part| parts.push(part));
        parts
    }

    #[test]
    fn an_unknown_word_of_an_english_text_is_read_without_its_ending() {
        let (weather, wie) = (Part::Word(2), Part::Piece(4));
        assert_eq!(parts("weatherest stories"), [weather, Part::Word(0)]);
        assert_eq!(parts("stories weatherest"), [Part::Word(0), weather]);
        assert!(!parts("Wie weatherest").contains(&weather));
        assert_eq!(parts("Wie weatherest")[0], wie);
        // Too short for what is left to be the same word.
        assert!(!parts("warest stories").contains(&Part::Word(1)));
        let table = example();
        assert!(table.knows("weatherest", "weatherest") && !table.has_word("weatherest", "weatherest"));
        let mut fitted = Vec::new();
        table.for_each_fitted_part("weatherest stories", |part| fitted.push(part));
        assert!(!fitted.contains(&weather), "{fitted:?}");
    }

    #[test]
    fn the_other_words_of_a_text_say_which_language_a_word_is_of() {
        assert_eq!(parts("War stories"), [Part::Word(1), Part::Word(0)]);
        assert_eq!(parts("Wie war"), [Part::Piece(4), Part::Piece(3)]);
        assert_eq!(parts("war"), [Part::Piece(3)]);
    }

    #[test]
    fn words_that_neither_language_knows_are_cut_where_it_costs_least() {
        assert_eq!(parts("Strompreis"), [Part::Piece(1), Part::Piece(0)]);
        assert_eq!(parts("天气 API"), [Part::Piece(6), Part::Piece(7)]);
        assert_eq!(parts("getWeather"), [Part::Word(2)]);
    }

    #[test]
    fn a_word_is_known_by_its_stem_or_by_long_pieces() {
        let table = example();
        for (stem, written) in [("stori", "stories"), ("wie", "wie"), ("strompreis", "strompreis"), ("天", "天")] {
            assert!(table.knows(stem, written), "{written}");
        }
        for unknown in ["zz", "stromz", "xyz", ""] {
            assert!(!table.knows(unknown, unknown), "{unknown}");
        }
    }

    #[test]
    fn the_vector_of_a_text_is_the_sum_of_those_of_its_parts() {
        let embed = |text: &str| example().embed(text, &mut UnknownWords::default());
        assert_eq!(embed("stories"), Some(vec![0.0, 1.0]));
        assert_eq!(embed("wie"), Some(vec![-1.0, 0.0]));
        let cut = embed("strompreis").unwrap();
        assert!(cut.iter().all(|value| (value - 0.5_f32.sqrt()).abs() < 0.01), "{cut:?}");
        assert_eq!(embed("xyz"), None, "a letter of it says nothing");
    }

    #[test]
    fn the_built_in_table_is_whole() {
        let bytes = include_bytes!("table.bin");
        let table = Table::built_in();
        assert_eq!(table.hash, Table::hash_of(&bytes[16..]));
        assert_eq!((table.dimensions(), table.words(), table.pieces()), (256, 13_200, 33_000));
        assert!(bytes.len() <= 7_000_000, "{} bytes", bytes.len());
        for cut in [0, 7, 20, 100, bytes.len() / 2, bytes.len() - 1] {
            assert!(Table::read(&bytes[..cut]).is_none(), "{cut}");
        }
    }
}
