//! Chooses the pieces of other languages, by counting alone.
//!
//! Pieces are the most frequent words of each language (a run of ideographs is a word), the most frequent parts of words and
//! of runs, and single ideographs and kana. What is everyday counts more than its texts are many. A
//! word that English knows and translations keep (`hotel`) is left to English.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use agentdex::search::semantic::table::for_each_word;

use crate::pairs::{LANGUAGES, Pair};

/// All pieces.
const PIECES: usize = 33_000;
/// Parts of words in Latin letters, of these lengths.
const PARTS: usize = 3_500;
const PART_LENGTHS: std::ops::RangeInclusive<usize> = 3..=8;
/// Parts of runs of ideographs and kana, of these lengths.
const RUN_PARTS: usize = 7_000;
const RUN_PART_LENGTHS: std::ops::RangeInclusive<usize> = 2..=4;
/// The longest run that is a piece.
const LONGEST_RUN: usize = 6;
/// The fewest times that a character occurs which is a piece.
const FEWEST: f64 = 2.0;
/// Weight of an occurrence of a word in texts of these sources; in others it is one.
const WEIGHTS: [(&str, f64); 5] = [("cldr", 10.0), ("places", 4.0), ("forms", 3.0), ("home", 2.0), ("characters", 0.0)];
/// Factors of the count of a part, of a part of a run, and of a single ideograph, before it becomes a cost.
const SHARES: [f64; 3] = [0.1, 0.5, 0.05];
/// The cost of a piece beside what it is by its frequency, in nats.
const COST: f64 = 3.0;
/// The probability of a word that never occurred.
const UNKNOWN: f64 = 1e-7;

/// A piece with what it costs and the log-odds of being of another language, both in nats.
pub struct Piece {
    pub cost: f64,
    pub odds: f64,
}

/// The counts of words in texts of other languages and of English.
pub struct Counts {
    /// By language, weighted: those of all texts.
    words: Vec<BTreeMap<String, f64>>,
    /// The same without weights, shared by all of a language, on average.
    foreign: HashMap<String, f64>,
    english: HashMap<String, f64>,
    /// By English stem.
    foreign_stems: HashMap<String, f64>,
    english_stems: HashMap<String, f64>,
    /// Share of its pairs in which a word stands on both sides, of those in which it stands on the other.
    kept: HashMap<String, (f64, f64)>,
}

impl Counts {
    pub fn new(pairs: &[Pair], english_texts: &[String]) -> Counts {
        let mut counts = Counts {
            words: vec![BTreeMap::new(); LANGUAGES.len()],
            foreign: HashMap::new(),
            english: HashMap::new(),
            foreign_stems: HashMap::new(),
            english_stems: HashMap::new(),
            kept: HashMap::new(),
        };
        let mut totals = vec![0.0; LANGUAGES.len()];
        let each_word = |text: &str, each: &mut dyn FnMut(&str, &str)| {
            for_each_word(text, |stem, written, is_whole| {
                if !is_whole && written.contains(char::is_alphabetic) {
                    each(stem, written);
                }
            });
        };
        let mut by_language: Vec<BTreeMap<(String, String), f64>> = vec![BTreeMap::new(); LANGUAGES.len()];
        for pair in pairs {
            let weight = WEIGHTS.iter().find(|(source, _)| *source == pair.source).map_or(1.0, |(_, weight)| *weight);
            let mut english = BTreeSet::new();
            each_word(&pair.english, &mut |_, written| {
                english.insert(written.to_owned());
            });
            each_word(&pair.foreign, &mut |stem, written| {
                *counts.words[pair.language].entry(written.to_owned()).or_default() += weight;
                if weight > 0.0 {
                    *by_language[pair.language].entry((written.to_owned(), stem.to_owned())).or_default() += 1.0;
                    totals[pair.language] += 1.0;
                }
                let (kept, all) = counts.kept.entry(written.to_owned()).or_default();
                *kept += f64::from(u8::from(english.contains(written)));
                *all += 1.0;
            });
        }
        for (words, total) in by_language.iter().zip(&totals) {
            for ((written, stem), count) in words {
                let share = count / total / LANGUAGES.len() as f64;
                *counts.foreign.entry(written.clone()).or_default() += share;
                *counts.foreign_stems.entry(stem.clone()).or_default() += share;
            }
        }
        let mut total = 0.0;
        for text in english_texts.iter().map(String::as_str).chain(pairs.iter().map(|pair| pair.english.as_str())) {
            each_word(text, &mut |stem, written| {
                *counts.english.entry(written.to_owned()).or_default() += 1.0;
                *counts.english_stems.entry(stem.to_owned()).or_default() += 1.0;
                total += 1.0;
            });
        }
        counts.english.values_mut().chain(counts.english_stems.values_mut()).for_each(|count| *count /= total);
        counts
    }

    /// The log-odds of a word, by its stem, to be of another language.
    pub fn odds_of_stem(&self, stem: &str) -> f64 {
        odds(self.foreign_stems.get(stem), self.english_stems.get(stem))
    }

    /// The pieces by their texts; `is_english` says what English knows by its stem.
    pub fn pieces(&self, is_english: impl Fn(&str) -> bool) -> BTreeMap<String, Piece> {
        let all: f64 = self.words.iter().flat_map(BTreeMap::values).sum();
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        let (mut characters, mut parts, mut run_parts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for words in &self.words {
            for (word, count) in words {
                let letters: Vec<char> = word.chars().collect();
                let (lengths, parts) = match is_latin(word) {
                    true => (PART_LENGTHS, &mut parts),
                    false if is_run(word) => (RUN_PART_LENGTHS, &mut run_parts),
                    false => continue,
                };
                for ideograph in letters.iter().filter(|letter| !letter.is_ascii()) {
                    *characters.entry(ideograph.to_string()).or_default() += count.max(FEWEST / 100.0);
                }
                for length in lengths.filter(|length| *length < letters.len()) {
                    for part in letters.windows(length) {
                        *parts.entry(part.iter().collect::<String>()).or_default() += count;
                    }
                }
            }
        }
        characters.retain(|_, count: &mut f64| *count >= FEWEST);
        characters.iter().for_each(|(character, count)| add(&mut counts, character, count * SHARES[2]));
        let by_length = |parts: &BTreeMap<String, f64>| {
            let weight = |(part, count): (&String, &f64)| (part.clone(), count * (part.chars().count() - 1) as f64);
            most(parts.iter().map(weight).collect())
        };
        by_length(&parts).iter().take(PARTS).for_each(|part| add(&mut counts, part, parts[part] * SHARES[0]));
        by_length(&run_parts)
            .iter()
            .take(RUN_PARTS)
            .for_each(|part| add(&mut counts, part, run_parts[part] * SHARES[1]));
        let mut frequent: Vec<_> =
            self.words.iter().map(|words| self.frequent(words, &is_english).into_iter()).collect();
        // Of each language in turn; less of those whose runs are rarely words.
        while counts.len() < PIECES {
            let before = counts.len();
            for (words, known) in frequent.iter_mut().zip(&self.words) {
                let is_run = words.as_slice().first().is_some_and(|word| is_run(word));
                for word in words.by_ref().take(if is_run { 1 } else { 2 }) {
                    if counts.len() < PIECES {
                        add(&mut counts, &word, known[&word]);
                    }
                }
            }
            if counts.len() == before && frequent.iter().all(|words| words.as_slice().is_empty()) {
                break;
            }
        }
        let piece = |(text, count): (String, f64)| {
            let odds = odds(self.foreign.get(&text), self.english.get(&text));
            (text, Piece { cost: COST - (count.max(1e-3) / all).ln(), odds })
        };
        counts.into_iter().map(piece).collect()
    }

    /// The words of a language that may be pieces, the most frequent first.
    fn frequent(&self, words: &BTreeMap<String, f64>, is_english: &impl Fn(&str) -> bool) -> Vec<String> {
        let is_left = |word: &str| {
            let (kept, all) = self.kept.get(word).copied().unwrap_or_default();
            is_english(word) && kept > 0.5 * all
        };
        let is_piece = |word: &str| match is_latin(word) {
            true => word.len() > 1 && !is_left(word),
            false => is_run(word) && word.chars().count() <= LONGEST_RUN,
        };
        most(
            words
                .iter()
                .filter(|(word, count)| **count > 0.0 && is_piece(word))
                .map(|(word, count)| (word.clone(), *count))
                .collect(),
        )
    }
}

/// Adds a piece, or raises its count.
fn add(pieces: &mut BTreeMap<String, f64>, text: &str, count: f64) {
    let known = pieces.entry(text.to_owned()).or_default();
    *known = known.max(count);
}

fn is_latin(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_run(word: &str) -> bool {
    word.chars().all(|character| matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}'))
}

fn odds(foreign: Option<&f64>, english: Option<&f64>) -> f64 {
    let share = |share: Option<&f64>| share.copied().unwrap_or_default() + UNKNOWN;
    (share(foreign) / share(english)).ln()
}

/// Those with the largest counts first.
fn most(mut counts: Vec<(String, f64)>) -> Vec<String> {
    counts.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.into_iter().map(|(text, _)| text).collect()
}
