//! Tokenization of text into the word pieces of BERT, like its reference tokenizer but without padding.

use std::{collections::HashMap, path::Path, sync::LazyLock};

use icu_normalizer::DecomposingNormalizerBorrowed;
use regex::Regex;
use serde::Deserialize;

use super::{failure::ModelError, files};

const VOCABULARY: &str = "vocab.txt";
const TOKENIZER: &str = "tokenizer.json";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
/// Prefix of a piece that continues a word.
const CONTINUATION: &str = "##";
/// Longer words are unknown.
const LONGEST_WORD: usize = 100;

/// Combining marks into which accents are decomposed.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{Mn}+").ok());
/// A word, or a single punctuation character; all ASCII symbols count as punctuation.
static WORDS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[!-/:-@\[-`{-~\p{P}\p{Han}]|[^\s!-/:-@\[-`{-~\p{P}\p{Han}]+").ok());

/// The vocabulary of an encoder.
pub(super) struct WordPieces {
    /// Pieces that a word begins with.
    first: HashMap<Box<str>, usize>,
    /// Pieces that continue a word, without their mark.
    further: HashMap<Box<str>, usize>,
    is_lower_case: bool,
    unknown: usize,
    start: usize,
    end: usize,
}

/// Members of `tokenizer.json`, as far as they are used.
#[derive(Deserialize)]
struct Tokenizer {
    model: Model,
    normalizer: Option<Normalizer>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    r#type: Option<String>,
    vocab: HashMap<String, usize>,
}

#[derive(Deserialize)]
struct Normalizer {
    lowercase: Option<bool>,
}

#[derive(Deserialize)]
struct TokenizerConfig {
    do_lower_case: Option<bool>,
}

impl WordPieces {
    pub fn read(directory: &Path) -> Result<WordPieces, ModelError> {
        let config: Option<TokenizerConfig> = files::optional(directory, TOKENIZER_CONFIG)?;
        let lower_case = config.and_then(|config| config.do_lower_case);
        let list = files::read(&directory.join(VOCABULARY)).map_err(|error| ModelError::new(VOCABULARY, error))?;
        if let Some(list) = list {
            let list = String::from_utf8(list).map_err(|error| ModelError::new(VOCABULARY, error))?;
            let numbered = list.lines().map(|line| line.trim_end().to_owned()).zip(0..);
            return WordPieces::new(VOCABULARY, numbered, lower_case.unwrap_or(true));
        }
        let tokenizer: Tokenizer = files::optional(directory, TOKENIZER)?.ok_or_else(|| {
            ModelError::new(VOCABULARY, format!("the file is missing, and so is {TOKENIZER}; one of them is needed"))
        })?;
        if tokenizer.model.r#type.as_deref().is_some_and(|kind| kind != "WordPiece") {
            return Err(ModelError::new(TOKENIZER, "only WordPiece vocabularies are supported"));
        }
        let lower_case = tokenizer.normalizer.and_then(|normalizer| normalizer.lowercase).or(lower_case);
        WordPieces::new(TOKENIZER, tokenizer.model.vocab.into_iter(), lower_case.unwrap_or(true))
    }

    fn new(
        file: &str,
        pieces: impl Iterator<Item = (String, usize)>,
        is_lower_case: bool,
    ) -> Result<WordPieces, ModelError> {
        let (mut first, mut further) = (HashMap::new(), HashMap::new());
        for (piece, number) in pieces {
            match piece.strip_prefix(CONTINUATION).filter(|rest| !rest.is_empty()) {
                Some(rest) => further.insert(rest.into(), number),
                None => first.insert(piece.into(), number),
            };
        }
        let special = |name: &str| {
            first.get(name).copied().ok_or_else(|| ModelError::new(file, format!("the vocabulary has no {name}")))
        };
        let (unknown, start, end) = (special("[UNK]")?, special("[CLS]")?, special("[SEP]")?);
        Ok(WordPieces { first, further, is_lower_case, unknown, start, end })
    }

    /// Returns the largest piece number plus one.
    pub fn len(&self) -> usize {
        self.first.values().chain(self.further.values()).max().map_or(0, |largest| largest + 1)
    }

    /// Appends the tokens of a text, at most `most` of them.
    pub fn read_into(&self, text: &str, most: usize, tokens: &mut Vec<usize>) {
        let full = tokens.len() + most.saturating_sub(1);
        tokens.push(self.start);
        let text = self.normalized(text);
        for word in WORDS.iter().flat_map(|words| words.find_iter(&text)) {
            if tokens.len() >= full {
                break;
            }
            self.add_word(word.as_str(), tokens);
        }
        tokens.truncate(full);
        tokens.push(self.end);
    }

    fn normalized(&self, text: &str) -> String {
        let readable = text.chars().filter_map(|character| match character {
            '\t' | '\n' | '\r' => Some(' '),
            '\u{FFFD}' => None,
            character if character.is_control() => None,
            character => Some(character),
        });
        let text: String = readable.collect();
        if !self.is_lower_case {
            return text;
        }
        if text.is_ascii() {
            return text.to_ascii_lowercase();
        }
        let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&text).to_lowercase();
        MARKS.as_ref().map(|marks| marks.replace_all(&decomposed, "").into_owned()).unwrap_or(decomposed)
    }

    /// Adds the tokens of a word by repeatedly taking the longest piece.
    fn add_word(&self, word: &str, tokens: &mut Vec<usize>) {
        let before = tokens.len();
        let mut rest = if word.chars().count() > LONGEST_WORD { "" } else { word };
        while !rest.is_empty() {
            let pieces = if rest.len() == word.len() { &self.first } else { &self.further };
            let ends = rest.char_indices().map(|(start, character)| start + character.len_utf8()).rev();
            let found = ends
                .filter_map(|end| rest.split_at_checked(end))
                .find_map(|(piece, after)| pieces.get(piece).map(|&number| (number, after)));
            let Some((number, after)) = found else { break };
            tokens.push(number);
            rest = after;
        }
        if !rest.is_empty() || tokens.len() == before {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
    }
}
