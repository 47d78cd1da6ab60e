//! The built-in table: a small vector for each word.
//!
//! The vector of a text is the sum of those of its words, scaled to length one. How much a word counts is the length
//! of its vector, which the fit (`examples/fit_embedding_table.rs`) found with its direction. A word that the table
//! doesn't have counts by its n-grams of letters, which share the vectors of [`Table::buckets`] by their hash.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4, 4, 4 | number of dimensions d, words w, buckets b |
//! | 4 w | where the text of each word ends |
//! | … | the words, stemmed as the index stems them, ascending |
//! | 4 (w + b) | the scale of each vector, a 32-bit float |
//! | d (w + b) | the vectors in 8-bit integers: those of the words, then those of the buckets |
//!
//! All numbers are little-endian.

use std::{collections::HashMap, sync::LazyLock};

use tantivy::tokenizer::TokenStream;

use super::scan::Quantized;
use crate::search::text;

/// What a table begins with.
pub const MAGIC: [u8; 8] = *b"ADXTAB01";
/// The lengths of the n-grams of a word that the table doesn't have.
const GRAM_LENGTHS: [usize; 3] = [3, 4, 5];
/// The maximum number of words in [`UnknownWords`], each with a byte a dimension.
const MOST_CACHED: usize = 8192;

static BUILT_IN: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("table.bin")).unwrap_or_default());

/// A table of words. The default one has none.
#[derive(Debug, Clone, Default)]
pub struct Table {
    dimensions: usize,
    buckets: usize,
    numbers: HashMap<&'static [u8], u32>,
    scales: &'static [[u8; 4]],
    vectors: &'static [u8],
    hash: u64,
}

/// What the vector of a text is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A word by its number in the table.
    Word(usize),
    /// The buckets of a word that the table doesn't have: it counts as the mean of their vectors.
    Unknown(Vec<usize>),
}

impl Table {
    /// The table that is part of the program.
    pub fn built_in() -> &'static Table {
        &BUILT_IN
    }

    /// Reads a table; none where the bytes are not one.
    pub fn read(bytes: &'static [u8]) -> Option<Table> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (header, rest) = rest.split_at_checked(12)?;
        let [dimensions, words, buckets] = *header.as_chunks::<4>().0 else { return None };
        let [dimensions, words, buckets] =
            [dimensions, words, buckets].map(|number| u32::from_le_bytes(number) as usize);
        let (ends, rest) = rest.split_at_checked(words.checked_mul(4)?)?;
        let ends = ends.as_chunks::<4>().0;
        let (texts, rest) = rest.split_at_checked(ends.last().map_or(0, |end| u32::from_le_bytes(*end) as usize))?;
        let rows = words.checked_add(buckets)?;
        let (scales, vectors) = rest.split_at_checked(rows.checked_mul(4)?)?;
        let mut start = 0;
        let mut numbers = HashMap::with_capacity(words);
        for (number, end) in (0..).zip(ends) {
            let end = u32::from_le_bytes(*end) as usize;
            numbers.insert(texts.get(start..end)?, number);
            start = end;
        }
        (vectors.len() == rows.checked_mul(dimensions)? && numbers.len() == words).then_some(Table {
            dimensions,
            buckets,
            numbers,
            scales: scales.as_chunks::<4>().0,
            vectors,
            hash: hash(bytes),
        })
    }

    /// The number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The number of vectors for n-grams of other words.
    pub fn buckets(&self) -> usize {
        self.buckets
    }

    /// Differs between tables that give other vectors.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The number of a word, stemmed.
    pub fn find(&self, word: &str) -> Option<usize> {
        self.numbers.get(word.as_bytes()).map(|number| *number as usize)
    }

    /// The vector of a text, of length one; none where the table has none of its words.
    pub fn embed(&self, text: &str, unknown: &mut UnknownWords) -> Option<Vec<f32>> {
        let (mut sum, mut is_known) = (vec![0.0; self.dimensions], false);
        for_each_word(text, |word, is_whole| match self.find(word) {
            Some(word) => {
                is_known = true;
                self.add(word, 1.0, &mut sum);
            }
            // The parts of a name stand for it as well.
            None if is_whole => {}
            None => unknown.add(word, self, &mut sum),
        });
        super::scan::unit(sum).filter(|_| is_known)
    }

    /// What a word that the table doesn't have adds to the vector of a text.
    fn unknown(&self, word: &str) -> Vec<f32> {
        let buckets = grams(word, self.buckets);
        let (mut sum, weight) = (vec![0.0; self.dimensions], 1.0 / buckets.len() as f32);
        buckets.iter().for_each(|bucket| self.add(self.len() + bucket, weight, &mut sum));
        sum
    }

    fn add(&self, row: usize, weight: f32, sum: &mut [f32]) {
        let vector = self.vectors.get(row * self.dimensions..(row + 1) * self.dimensions).unwrap_or_default();
        add(
            vector.iter().map(|value| value.cast_signed()),
            weight * self.scales.get(row).map_or(0.0, |scale| f32::from_le_bytes(*scale)),
            sum,
        );
    }
}

/// Adds a vector in 8-bit integers, multiplied with `scale`.
fn add(vector: impl Iterator<Item = i8>, scale: f32, sum: &mut [f32]) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += scale * f32::from(value);
    }
}

/// What words that the table doesn't have add to the vectors of texts, for those that were read last: each is made of
/// many n-grams, and they repeat.
#[derive(Debug, Default)]
pub struct UnknownWords(HashMap<Box<str>, Quantized>);

impl UnknownWords {
    fn add(&mut self, word: &str, table: &Table, sum: &mut [f32]) {
        if !self.0.contains_key(word) {
            if self.0.len() >= MOST_CACHED {
                self.0.clear();
            }
            self.0.insert(word.into(), Quantized::new(&table.unknown(word)));
        }
        if let Some(vector) = self.0.get(word) {
            add(vector.values.iter().copied(), vector.scale, sum);
        }
    }
}

/// Calls with what the vector of a text is made of, given what finds the number of a word.
pub fn for_each_part(text: &str, buckets: usize, find: impl Fn(&str) -> Option<usize>, mut each: impl FnMut(Part)) {
    for_each_word(text, |word, is_whole| match find(word) {
        Some(word) => each(Part::Word(word)),
        // The parts of a name stand for it as well.
        None if is_whole => {}
        None => {
            let grams = grams(word, buckets);
            if !grams.is_empty() {
                each(Part::Unknown(grams));
            }
        }
    });
}

/// Calls with each word of a text, stemmed, and whether it is a name that was also taken apart.
pub fn for_each_word(text: &str, mut each: impl FnMut(&str, bool)) {
    text::names().token_stream(text).process(&mut |token| each(&token.text, token.position_length > 1));
}

/// The buckets of the n-grams of a word; none for words without letters.
fn grams(word: &str, buckets: usize) -> Vec<usize> {
    if buckets == 0 || !word.contains(char::is_alphabetic) {
        return Vec::new();
    }
    let letters: Vec<char> = ['^'].into_iter().chain(word.chars()).chain(['$']).collect();
    let windows = GRAM_LENGTHS.into_iter().flat_map(|length| letters.windows(length));
    let mut encoded = String::new();
    windows
        .map(|gram| {
            encoded.clear();
            encoded.extend(gram);
            (hash(encoded.as_bytes()) % buckets as u64) as usize
        })
        .collect()
}

/// FNV-1a with 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
