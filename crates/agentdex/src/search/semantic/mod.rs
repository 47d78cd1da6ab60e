//! Search by meaning: vectors of what Things are and can do, compared with the vector of a request.
//!
//! - **Vectors** come from the built-in [`table::Table`] of words, which needs no download, or from an
//!   [`encoder::Encoder`] in a directory of the operator's. `examples/fit_embedding_table/main.rs` fitted the table to the
//!   vectors of all-MiniLM-L6-v2 on the package descriptions of Debian and the glosses of WordNet, and the pieces of other
//!   languages to the vectors that it gives to translations; it has 256 dimensions, takes 6 MB in the program and some
//!   µs a text, and knows English, German, French, Spanish, Chinese and Japanese.
//! - **Of a Thing**: one vector of length one for 0.35 × its title + 0.65 × the first 400 characters of its
//!   description, and one made the same way for each capability that says something else, at most 256 in all. A
//!   title or description in English goes before that in the default language.
//! - **Likeness** of a request and a Thing is the largest cosine with one of the vectors of the Thing. In a request of
//!   several sentences it is ½ that of the whole + ½ that of the best sentence.
//! - **Score** of a hit: BM25, less where the cosine is low ([`Model::least_share_of_words`]), + [`Model::scale`] × cosine, or
//!   another factor that is set, as far as the request is known, and what its title counts. Candidates are what matches by words, and the nearest
//!   [`MOST_NEAREST`] with at least [`Model::threshold`]. See `hybrid`.
//! - **Memory**: a byte a dimension (256 with the table, 384 with all-MiniLM-L6-v2) and 8 more for each vector, and
//!   about 100 for each Thing. 100,000 Things with two vectors each: 63 MB with the table.
//! - **On disk**: a file of vectors in 8-bit integers that is appended to, with the position in the log (`file`).
//!   Vectors are made again where the model or the text they are of has changed.

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
