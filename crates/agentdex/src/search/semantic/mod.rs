//! Semantic search: vectors of Things and their capabilities are compared with the vector of a request.
//!
//! - **Models**: vectors come from the built-in [`table::Table`] of words, which needs no download, or from an
//!   [`encoder::Encoder`] in a directory of the operator. The table was fitted by
//!   `examples/fit_embedding_table/main.rs` to the vectors of all-MiniLM-L6-v2 for the package descriptions of Debian
//!   and the glosses of WordNet, and its pieces of other languages to the vectors of translations. It has 256
//!   dimensions, takes 6 MB in the program and some µs per text, and knows English, German, French, Spanish, Chinese,
//!   and Japanese.
//! - **Vectors of a Thing**: a vector of length one for 0.35 × its title + 0.65 × the first 400 characters of its
//!   description, and a similar vector for each capability with a different text, up to 256 in total. English titles
//!   and descriptions are preferred to those in the default language.
//! - **Similarity** of a request and a Thing is the largest cosine with any vector of the Thing. For a request with
//!   several sentences it is ½ × the similarity to the whole request + ½ × the similarity to the best sentence.
//! - **Score** of a hit: BM25, reduced if the cosine is low ([`Model::least_share_of_words`]), plus [`Model::scale`]
//!   (or another configured factor) × cosine, weighted by the known share of the request, plus the score of its
//!   title. Candidates are the matches by words and the nearest [`MOST_NEAREST`] Things with a cosine of at least
//!   [`Model::threshold`]. See `hybrid`.
//! - **Memory**: for each vector a byte per dimension (256 with the table, 384 with all-MiniLM-L6-v2) plus 8 bytes,
//!   and about 100 bytes per Thing. 100,000 Things with two vectors each take 63 MB with the table.
//! - **On disk**: an append-only file of vectors in 8-bit integers, with the position in the log (`file`). Vectors
//!   are recomputed if the model or their texts have changed.

pub mod encoder;
mod file;
mod lexicon;
mod meaning;
mod model;
mod places;
mod scan;
pub mod table;
mod texts;
mod vectors;

/// Hint for searches that find nothing by words, in a registry without a model.
pub const WITHOUT_MEANING: &str = "searched by words only, not by meaning: this registry has no vectors";

pub use self::{
    file::position_of_vectors,
    meaning::{Meaning, VectorWriter},
    model::{MOST_NEAREST, Model},
};
pub(super) use self::{
    meaning::{Likeness, Question},
    places::{Places, Segment},
    scan::Quantized,
};
