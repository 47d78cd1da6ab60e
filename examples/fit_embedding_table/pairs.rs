//! Pairs of a text and its English translation.

/// The languages of the pairs.
pub const LANGUAGES: [&str; 5] = ["de", "fr", "es", "zh", "ja"];

/// A text and its translation.
pub struct Pair {
    pub source: String,
    /// Its number in [`LANGUAGES`].
    pub language: usize,
    pub foreign: String,
    pub english: String,
}

impl Pair {
    /// Reads a line of four fields, separated by tabs.
    pub fn read(line: &str) -> Option<Pair> {
        let [source, language, foreign, english]: [&str; 4] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let language = LANGUAGES.iter().position(|known| *known == language)?;
        Some(Pair { source: source.to_owned(), language, foreign: foreign.to_owned(), english: english.to_owned() })
    }
}
