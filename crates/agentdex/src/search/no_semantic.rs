//! Replacement for `semantic` in builds without that feature: the same names, but types without values. Callers need
//! not check the feature, and the compiler removes their code.

use std::{
    collections::HashSet,
    convert::Infallible,
    iter,
    path::{Path, PathBuf},
    sync::Arc,
};

use tantivy::{DocId, SegmentReader, columnar::StrColumn};

use crate::{Error, Result, change::Position};

/// Maximum number of Things found by meaning alone.
pub const MOST_NEAREST: usize = 0;

/// Hint for searches that find nothing by words.
pub const WITHOUT_MEANING: &str =
    "searched by words only, not by meaning: this build lacks the crate feature `semantic`";

/// Returns `None`: without the feature `semantic` there is no file of vectors.
pub fn position_of_vectors(_: &Path) -> Option<Position> {
    None
}

/// An embedding model. Without the feature `semantic` there are no models.
#[derive(Debug, Clone)]
pub enum Model {}

impl Model {
    /// Fails: encoders need the feature `semantic`.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`]
    pub fn open(directory: &Path) -> Result<Model> {
        Err(Error::InvalidSetting {
            origin: format!("embedding model {}", directory.display()),
            message: "this library was built without the feature `semantic`".to_owned(),
        })
    }

    /// Returns `None`: there is no built-in model.
    pub fn built_in() -> Option<Model> {
        None
    }

    /// True if embedding is fast enough for searches to wait for the vectors of recent writes.
    pub fn is_fast(&self) -> bool {
        match *self {}
    }

    pub(super) fn knows(&self, _: &str, _: &str, _: bool) -> bool {
        match *self {}
    }

    pub(super) fn has_word(&self, _: &str, _: &str) -> bool {
        match *self {}
    }

    /// Returns the weight of a cosine relative to BM25.
    pub fn scale(&self) -> f32 {
        match *self {}
    }

    /// Returns the minimum share of the BM25 score kept for a Thing whose meaning differs from that of the query.
    pub fn least_share_of_words(&self) -> f32 {
        match *self {}
    }

    /// Returns the minimum cosine of a match by meaning alone.
    pub fn threshold(&self) -> f32 {
        match *self {}
    }

    /// Returns the cosine that the best match must reach for a search to be confident.
    pub fn low_confidence(&self) -> f32 {
        match *self {}
    }
}

/// Vectors of all Things.
#[derive(Debug)]
pub struct Meaning(Infallible);

impl Meaning {
    /// Creates an empty set of vectors.
    pub fn new(model: Model, _: Option<f32>) -> Arc<Meaning> {
        match model {}
    }

    /// Returns the embedding model.
    pub fn model(&self) -> &Model {
        match self.0 {}
    }

    /// Returns the weight of a cosine relative to BM25.
    pub fn scale(&self) -> f32 {
        match self.0 {}
    }

    /// Aborts long operations.
    pub fn stop(&self) {
        match self.0 {}
    }

    pub(super) fn read(&self) -> Box<Vectors> {
        match self.0 {}
    }

    pub(super) fn question(&self, _: &str, _: &[String]) -> Option<Question> {
        match self.0 {}
    }

    pub(super) fn vectors_of(&self, _: &str, _: &str) -> Result<Vec<Quantized>> {
        match self.0 {}
    }

    pub(super) fn at_least(&self, _: &Question, _: f32) -> HashSet<Box<str>> {
        match self.0 {}
    }
}

/// A vector in 8-bit integers.
#[derive(Debug)]
pub(super) struct Quantized(Infallible);

/// A request as vectors.
#[derive(Debug)]
pub(super) struct Question(Infallible);

impl Question {
    pub fn likeness(&self, _: &Vectors) -> Likeness {
        match self.0 {}
    }

    pub fn likeness_of(&self, _: &[Quantized]) -> f32 {
        match self.0 {}
    }
}

/// By slot, how alike all Things are to a request.
#[derive(Default)]
pub(super) struct Likeness {
    pub whole: Vec<f32>,
    pub sentences: Vec<Vec<f32>>,
}

/// Vectors of Things.
pub(super) struct Vectors(Infallible);

/// Cache of the slots of documents.
#[derive(Default)]
pub(super) struct Places;

impl Places {
    pub fn of(
        &self,
        _: &SegmentReader,
        _: impl Fn(&SegmentReader) -> tantivy::Result<Option<StrColumn>>,
        vectors: &Vectors,
    ) -> tantivy::Result<Arc<Segment>> {
        match vectors.0 {}
    }
}

/// The slots of a segment's documents.
pub(super) struct Segment(Infallible);

impl Segment {
    pub fn slot(&self, _: DocId) -> Option<u32> {
        match self.0 {}
    }

    pub fn documents(&self) -> iter::Empty<(DocId, u32)> {
        match self.0 {}
    }
}

/// Computes the vectors of Things and stores them in a file.
pub struct VectorWriter(Infallible);

impl VectorWriter {
    /// Opens the file.
    ///
    /// # Errors
    /// Never fails.
    pub fn open(meaning: Arc<Meaning>, _: PathBuf) -> Result<(VectorWriter, Option<Position>)> {
        match meaning.0 {}
    }

    /// Computes the vectors of a Thing.
    ///
    /// # Errors
    /// Never fails.
    pub fn put(&mut self, _: &str, _: &str) -> Result<()> {
        match self.0 {}
    }

    /// Removes the vectors of a Thing.
    ///
    /// # Errors
    /// Never fails.
    pub fn remove(&mut self, _: &str) -> Result<()> {
        match self.0 {}
    }

    /// Commits everything up to a position.
    ///
    /// # Errors
    /// Never fails.
    pub fn commit(&mut self, _: Position, _: bool) -> Result<()> {
        match self.0 {}
    }

    /// Verifies the checksums of the file, and returns whether they are correct.
    ///
    /// # Errors
    /// Never fails.
    pub fn is_whole(&self) -> Result<bool> {
        match self.0 {}
    }

    /// Marks the vectors as incomplete until the next commit.
    ///
    /// # Errors
    /// Never fails.
    pub fn begin_rebuild(&mut self) -> Result<()> {
        match self.0 {}
    }

    /// Removes the vectors of all Things except those with the given ids.
    ///
    /// # Errors
    /// Never fails.
    pub fn retain(&mut self, _: &HashSet<Box<str>>) -> Result<()> {
        match self.0 {}
    }
}
