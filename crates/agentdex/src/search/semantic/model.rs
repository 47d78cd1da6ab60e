//! Embedding models, and parameters that depend on the model.

use std::{fmt, path::Path, sync::Arc};

use super::{
    encoder::Encoder,
    scan::{Quantized, unit},
    table::{Table, UnknownWords},
    texts::Described,
};
use crate::{Error, Result};

/// Maximum number of Things found by meaning alone, unless the search sets a threshold.
pub const MOST_NEAREST: usize = 100;
/// Weight of the name in a vector. The description has the remaining weight.
const NAME_SHARE: f32 = 0.35;

/// An embedding model.
#[derive(Clone)]
pub enum Model {
    /// The table built into the program.
    BuiltIn,
    /// A sentence encoder.
    Encoder(Arc<Encoder>),
}

impl Model {
    /// Opens the encoder in a directory.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] if the directory contains no usable encoder.
    pub fn open(directory: &Path) -> Result<Model> {
        let encoder = Encoder::open(directory).map_err(|error| Error::InvalidSetting {
            origin: format!("embedding model {}", directory.display()),
            message: error.to_string(),
        })?;
        Ok(Model::Encoder(Arc::new(encoder)))
    }

    /// Returns the built-in model, a table that is part of the library, or `None` without the feature `semantic`.
    pub fn built_in() -> Option<Model> {
        Some(Model::BuiltIn)
    }

    /// True if embedding is fast enough for searches to wait for the vectors of recent writes.
    pub fn is_fast(&self) -> bool {
        matches!(self, Model::BuiltIn)
    }

    /// True if the model knows the meaning of a word, given by its English stem and by its form in lower case and
    /// ASCII. The table knows no word that `is_foreign` to it; an encoder knows any word.
    pub(in crate::search) fn knows(&self, stem: &str, written: &str, is_foreign: bool) -> bool {
        match self {
            Model::BuiltIn => !is_foreign && Table::built_in().knows(stem, written),
            Model::Encoder(_) => true,
        }
    }

    /// True if the model knows the word as a whole rather than only its pieces, so the word is complete and correctly
    /// spelled. Always true for an encoder.
    pub(in crate::search) fn has_word(&self, stem: &str, written: &str) -> bool {
        match self {
            Model::BuiltIn => Table::built_in().has_word(stem, written),
            Model::Encoder(_) => true,
        }
    }

    /// Returns the score added to BM25 by a cosine of 1. The value is the best for the labeled requests of
    /// `benches/relevance.rs`; 20 more or less make little difference.
    pub fn scale(&self) -> f32 {
        match self {
            Model::BuiltIn => 40.0,
            Model::Encoder(_) => 60.0,
        }
    }

    /// Returns the minimum share of the BM25 score kept for a Thing whose meaning differs from that of the query.
    /// The score of the cosine is added to this share. For the built-in table, 0.5 is the best share between 0.3 and
    /// 0.7 on the labeled requests of `benches/relevance.rs`. For encoders, only a share of 1 has been measured.
    pub fn least_share_of_words(&self) -> f32 {
        match self {
            Model::BuiltIn => 0.5,
            Model::Encoder(_) => 1.0,
        }
    }

    /// Returns the minimum cosine of a match by meaning alone.
    pub fn threshold(&self) -> f32 {
        match self {
            Model::BuiltIn => 0.20,
            Model::Encoder(_) => 0.25,
        }
    }

    /// Returns the cosine that the best match must reach for a search to be confident.
    pub fn low_confidence(&self) -> f32 {
        match self {
            Model::BuiltIn => 0.30,
            Model::Encoder(_) => 0.35,
        }
    }

    pub(super) fn dimensions(&self) -> usize {
        match self {
            Model::BuiltIn => Table::built_in().dimensions(),
            Model::Encoder(encoder) => encoder.dimensions(),
        }
    }

    pub(super) fn hash(&self) -> u64 {
        match self {
            Model::BuiltIn => Table::built_in().hash(),
            Model::Encoder(encoder) => encoder.hash(),
        }
    }

    /// Embeds texts as vectors of length one, with `None` for texts without known words.
    pub(super) fn embed(&self, texts: &[&str], unknown: &mut UnknownWords) -> Vec<Option<Vec<f32>>> {
        match self {
            Model::BuiltIn => texts.iter().map(|text| Table::built_in().embed(text, unknown)).collect(),
            Model::Encoder(encoder) => {
                let said: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
                let mut vectors = encoder.embed_all(&said).into_iter();
                texts.iter().map(|text| if text.trim().is_empty() { None } else { vectors.next() }).collect()
            }
        }
    }

    /// Embeds the descriptions, except those without known words.
    pub(super) fn embed_described(&self, described: &[Described], unknown: &mut UnknownWords) -> Vec<Quantized> {
        let texts: Vec<&str> = described.iter().flat_map(|one| [one.name.as_str(), one.description.as_str()]).collect();
        let vectors = self.embed(&texts, unknown);
        let mixed = vectors.as_chunks::<2>().0.iter().filter_map(|pair| match pair {
            [Some(name), Some(description)] => {
                let mixed = name.iter().zip(description);
                unit(mixed.map(|(name, rest)| NAME_SHARE * name + (1.0 - NAME_SHARE) * rest).collect())
            }
            [one, other] => one.clone().or_else(|| other.clone()),
        });
        mixed.map(|vector| Quantized::new(&vector)).collect()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Model::BuiltIn => f.write_str("BuiltIn"),
            Model::Encoder(encoder) => write!(f, "Encoder({:016x})", encoder.hash()),
        }
    }
}
