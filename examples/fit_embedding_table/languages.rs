//! Fits pieces of other languages, so that a text gets the vector that English has for its translation.
//!
//! The vector of a text is the sum of those of its parts over the square root of their number. The target is the sum of the
//! English side as it is, not scaled to length one: so a word counts as much as its translation. Words of the other side
//! that are read as English have the vectors of English. Texts are read by the table itself, whose pieces have no vectors yet.

use std::{collections::BTreeMap, fs};

use agentdex::search::semantic::table::{COST_STEP, MAGIC, ODDS_STEP, Part, Table, for_each_word};
use tantivy_fst::MapBuilder;

use crate::{
    english,
    least_squares::{DIMENSIONS, Rows},
    outcome::Outcome,
    pairs::Pair,
    vocabulary::{Counts, Piece},
};

/// Strength that keeps vectors near zero.
const RIDGE: f32 = 0.3;
/// The largest number of a 4-bit vector.
const LARGEST: f32 = 7.0;

/// The words of English with their vectors.
struct English {
    words: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

/// Writes the table that is built in.
pub fn fit_to_english(english: &str, pairs: &str, texts: [&str; 2], output: &str) -> Outcome {
    let english = English::read(&fs::read(english)?).ok_or("not what `english` writes")?;
    let pairs = fs::read_to_string(pairs)?.lines().map(Pair::read).collect::<Option<Vec<_>>>().ok_or("not pairs")?;
    let mut english_texts: Vec<String> = english::texts(&fs::read_to_string(texts[0])?).into_iter().collect();
    english_texts.extend(english::definitions(&fs::read_to_string(texts[1])?));
    let counts = Counts::new(&pairs, &english_texts);
    drop(english_texts);
    let known: BTreeMap<&str, usize> = english.words.iter().map(String::as_str).zip(0..).collect();
    let pieces = counts.pieces(|word| {
        let mut is_known = false;
        for_each_word(word, |stem, _, _| is_known |= known.contains_key(stem));
        is_known
    });
    let unfitted = vec![vec![0.0; DIMENSIONS]; pieces.len()];
    let table = Table::read(file(&english, &pieces, &counts, &unfitted)?.leak()).ok_or("the table can't be read")?;
    let rows = rows(&pairs, &table, &english);
    eprintln!("{} pairs, {} with words of English, {} pieces", pairs.len(), rows.len(), pieces.len());
    let vectors: Vec<Vec<f32>> = rows.solve(pieces.len(), RIDGE).into_iter().map(|vector| vector.to_vec()).collect();
    let file = file(&english, &pieces, &counts, &vectors)?;
    eprintln!("{} bytes", file.len());
    fs::write(output, file)?;
    Ok(())
}

impl English {
    /// Reads the words, in vectors as they are in the table.
    fn read(bytes: &[u8]) -> Option<English> {
        let (header, rest) = bytes.strip_prefix(&english::MAGIC)?.split_at_checked(12)?;
        let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) as usize;
        let [dimensions, count, buckets] = *header.as_chunks::<4>().0 else { return None };
        let [dimensions, count, buckets] = [dimensions, count, buckets].map(|bytes| number(&bytes));
        let (ends, rest) = rest.split_at_checked(4 * count)?;
        let ends: Vec<usize> = ends.as_chunks::<4>().0.iter().map(number).collect();
        let (texts, rest) = rest.split_at_checked(*ends.last()?)?;
        let starts = [0].into_iter().chain(ends.iter().copied());
        let words = starts.zip(&ends).map(|(start, end)| String::from_utf8(texts[start..*end].to_vec()).ok());
        let words = words.collect::<Option<Vec<_>>>()?;
        let (scales, vectors) = rest.split_at_checked(4 * (count + buckets))?;
        let vectors = vectors.chunks(dimensions).zip(scales.as_chunks::<4>().0).take(count).map(|(vector, scale)| {
            let vector: Vec<f32> =
                vector.iter().map(|value| f32::from_le_bytes(*scale) * f32::from(value.cast_signed())).collect();
            let (values, scale) = quantized(&vector);
            values.iter().map(|value| scale * f32::from(*value)).collect()
        });
        (dimensions == DIMENSIONS).then_some(English { words, vectors: vectors.collect() })
    }
}

/// Rows that pieces are fitted to: those of pairs whose English side has words that are known.
fn rows(pairs: &[Pair], table: &Table, english: &English) -> Rows {
    let mut rows = Rows::default();
    for pair in pairs {
        let (mut target, mut count) = (vec![0.0_f32; DIMENSIONS], 0.0_f32);
        for_each_word(&pair.english, |stem, _, _| {
            if let Some(word) = table.find(stem) {
                count += 1.0;
                target.iter_mut().zip(&english.vectors[word]).for_each(|(sum, value)| *sum += value);
            }
        });
        let (mut pieces, mut words) = (BTreeMap::new(), Vec::new());
        table.for_each_fitted_part(&pair.foreign, |part| match part {
            Part::Word(word) => words.push(word),
            Part::Piece(piece) => *pieces.entry(piece as u32).or_insert(0.0_f32) += 1.0,
        });
        let parts = words.len() as f32 + pieces.values().sum::<f32>();
        if count == 0.0 || pieces.is_empty() {
            continue;
        }
        let weight = 1.0 / parts.sqrt();
        target.iter_mut().for_each(|value| *value /= count.sqrt());
        for word in words {
            target.iter_mut().zip(&english.vectors[word]).for_each(|(left, value)| *left -= weight * value);
        }
        let members: Vec<(u32, f32)> = pieces.into_iter().map(|(piece, times)| (piece, weight * times)).collect();
        rows.push(&members, &target);
    }
    rows
}

/// The 4-bit integers nearest to a vector, and their scale: that of a few with the least error.
fn quantized(vector: &[f32]) -> (Vec<i8>, f32) {
    let largest = vector.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let with_scale = |scale: f32| -> Vec<i8> {
        vector.iter().map(|value| (value / scale).round().clamp(-LARGEST, LARGEST) as i8).collect()
    };
    let error = |scale: f32| -> f32 {
        with_scale(scale).iter().zip(vector).map(|(one, other)| (scale * f32::from(*one) - other).powi(2)).sum()
    };
    let scales = (10_u8..=20).map(|share| largest / LARGEST * f32::from(share) / 20.0);
    let scale = scales.map(|scale| (scale, error(scale))).min_by(|one, other| one.1.total_cmp(&other.1));
    let scale = scale.map_or(1.0, |(scale, _)| scale);
    (with_scale(scale), scale)
}

/// The table as a file.
fn file(
    english: &English,
    pieces: &BTreeMap<String, Piece>,
    counts: &Counts,
    vectors: &[Vec<f32>],
) -> Outcome<Vec<u8>> {
    let mut content = Vec::new();
    let texts = [transducer(&mut english.words.iter())?, transducer(&mut pieces.keys())?];
    for number in [DIMENSIONS, texts[0].len(), texts[1].len()] {
        content.extend((number as u32).to_le_bytes());
    }
    content.extend(texts.concat());
    let in_steps = |value: f64, step: f64, [least, most]: [f64; 2]| (value / step).round().clamp(least, most);
    for piece in pieces.values() {
        content.extend((in_steps(piece.cost, COST_STEP, [0.0, u16::MAX.into()]) as u16).to_le_bytes());
    }
    let odds =
        english.words.iter().map(|word| counts.odds_of_stem(word)).chain(pieces.values().map(|piece| piece.odds));
    content.extend(odds.map(|odds| (in_steps(odds, ODDS_STEP, [-127.0, 127.0]) as i8).cast_unsigned()));
    let vectors: Vec<(Vec<i8>, f32)> = english.vectors.iter().chain(vectors).map(|vector| quantized(vector)).collect();
    vectors.iter().for_each(|(_, scale)| content.extend(scale.to_le_bytes()));
    for (values, _) in &vectors {
        let (first, second) = values.split_at(DIMENSIONS / 2);
        let nibble = |value: &i8| (value + 8).cast_unsigned();
        content.extend(first.iter().zip(second).map(|(first, second)| nibble(first) | nibble(second) << 4));
    }
    Ok([MAGIC.as_slice(), &Table::hash_of(&content).to_le_bytes(), &content].concat())
}

/// The transducer of texts, which are in the order of their bytes.
fn transducer(texts: &mut dyn Iterator<Item = &String>) -> Outcome<Vec<u8>> {
    let mut builder = MapBuilder::memory();
    builder.extend_iter(texts.zip(0..))?;
    Ok(builder.into_inner()?)
}
