//! Sentence encoders of the BERT family, read from a directory in the format of `sentence-transformers`.
//!
//! | file | content read |
//! |---|---|
//! | `config.json` | shape of the network |
//! | `model.safetensors` | weights as 32-bit floats |
//! | `vocab.txt` or `tokenizer.json` | word pieces; padding and truncation requested by the latter are ignored |
//! | `tokenizer_config.json` | `do_lower_case`, if present |
//! | `1_Pooling/config.json` | pooling by the mean of all tokens or by the first token, if present |
//!
//! A text is truncated after [`MOST_TOKENS`] tokens. Its vector is the output of the network's last layer, pooled and
//! scaled to length one. Nothing is downloaded.

mod failure;
mod files;
mod layers;
mod wordpiece;

use std::{ops::Range, path::Path};

use ndarray::{Array2, Axis, s};

pub use self::failure::ModelError;
use self::{
    files::Weights,
    layers::{Layer, Norm},
    wordpiece::WordPieces,
};

/// Maximum number of tokens per text, including the two delimiters.
pub const MOST_TOKENS: usize = 256;

/// Sentence encoder of the BERT family, read from a directory.
pub struct Encoder {
    pieces: WordPieces,
    words: Array2<f32>,
    positions: Array2<f32>,
    /// Segment embedding, added to each token: all are of the first segment.
    segment: ndarray::Array1<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    takes_first: bool,
    hash: u64,
}

impl Encoder {
    /// Reads the encoder in a directory.
    ///
    /// # Errors
    /// [`ModelError`] if a file is missing or invalid.
    pub fn open(directory: &Path) -> Result<Encoder, ModelError> {
        let config = files::Config::read(directory)?;
        let weights = Weights::read(directory)?;
        let pieces = WordPieces::read(directory)?;
        let words = weights.matrix("embeddings.word_embeddings.weight", config.hidden_size)?;
        if words.nrows() < pieces.len() {
            let problem =
                format!("it has vectors for {} words, but the vocabulary has {} words", words.nrows(), pieces.len());
            return Err(ModelError::new(files::WEIGHTS, problem));
        }
        let positions = weights.matrix("embeddings.position_embeddings.weight", config.hidden_size)?;
        let segments = weights.matrix("embeddings.token_type_embeddings.weight", config.hidden_size)?;
        let layers = (0..config.num_hidden_layers).map(|number| Layer::read(&weights, &config, number));
        Ok(Encoder {
            pieces,
            words,
            positions,
            segment: segments.row(0).to_owned(),
            norm: Norm::read(&weights, "embeddings.LayerNorm", config.layer_norm_eps)?,
            layers: layers.collect::<Result<_, _>>()?,
            takes_first: files::takes_first_token(directory)?,
            hash: weights.hash(),
        })
    }

    /// Returns the number of dimensions of the encoder's vectors.
    pub fn dimensions(&self) -> usize {
        self.words.ncols()
    }

    /// Returns a hash of the file with the weights. Other files, such as the vocabulary, don't affect the hash.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns the vector of a text, scaled to length one.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        self.embed_all(&[text]).pop().unwrap_or_default()
    }

    /// Returns the vectors of several texts, scaled to length one. Short texts take less time together than
    /// separately.
    pub fn embed_all(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let most = MOST_TOKENS.min(self.positions.nrows());
        let (mut tokens, mut ranges) = (Vec::new(), Vec::with_capacity(texts.len()));
        for text in texts {
            let start = tokens.len();
            self.pieces.read_into(text, most, &mut tokens);
            ranges.push(start..tokens.len());
        }
        let hidden = self.last_layer(&tokens, &ranges);
        ranges.into_iter().map(|range| self.pooled(&hidden, range)).collect()
    }

    /// Runs the network on tokens, and returns the output of its last layer. Each range of the tokens is a text.
    fn last_layer(&self, tokens: &[usize], ranges: &[Range<usize>]) -> Array2<f32> {
        let mut hidden = self.words.select(Axis(0), tokens);
        for range in ranges {
            let mut text = hidden.slice_mut(s![range.clone(), ..]);
            text += &self.positions.slice(s![..range.len(), ..]);
            text += &self.segment;
        }
        self.norm.apply(&mut hidden);
        for layer in &self.layers {
            layer.apply(&mut hidden, ranges);
        }
        hidden
    }

    fn pooled(&self, hidden: &Array2<f32>, range: Range<usize>) -> Vec<f32> {
        let tokens = hidden.slice(s![range, ..]);
        let pooled = if self.takes_first { tokens.row(0).to_owned() } else { tokens.sum_axis(Axis(0)) };
        let length = pooled.dot(&pooled).sqrt().max(f32::MIN_POSITIVE);
        pooled.iter().map(|value| value / length).collect()
    }
}

#[cfg(test)]
mod tests;
