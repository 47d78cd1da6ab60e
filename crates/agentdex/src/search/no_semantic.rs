//! Search by meaning in a library without the feature `semantic`: the same names, of which there are no values. Those who
//! use them need not ask for the feature, and the compiler drops what they do.

use std::{
    collections::HashSet,
    convert::Infallible,
    iter,
    path::{Path, PathBuf},
    sync::Arc,
};

use tantivy::{DocId, SegmentReader, columnar::StrColumn};

use crate::{Error, Result, change::Position};

/// The maximum number of Things that are candidates by their meaning alone.
pub const MOST_NEAREST: usize = 0;

/// The last position in the file of the vectors: nothing is known of that without the feature `semantic`.
pub fn position_of_vectors(_: &Path) -> Option<Position> {
    None
}

/// A model that makes vectors of texts. There is none without the feature `semantic`.
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

    /// The model of the library itself: there is none.
    pub fn built_in() -> Option<Model> {
        None
    }

    /// True if texts take so little time that writers can wait for them.
    pub fn is_fast(&self) -> bool {
        match *self {}
    }

    pub(super) fn knows(&self, _: &str, _: &str, _: bool) -> bool {
        match *self {}
    }

    pub(super) fn has_word(&self, _: &str, _: &str) -> bool {
        match *self {}
    }

    /// The factor by which a cosine counts beside BM25.
    pub fn scale(&self) -> f32 {
        match *self {}
    }

    /// The share of its words that a Thing keeps whose meaning is a different one.
    pub fn least_share_of_words(&self) -> f32 {
        match *self {}
    }

    /// The least cosine of a candidate that no words match.
    pub fn threshold(&self) -> f32 {
        match *self {}
    }

    /// The best cosine below which a search is not sure of what it found.
    pub fn low_confidence(&self) -> f32 {
        match *self {}
    }
}

/// The vectors of all Things.
#[derive(Debug)]
pub struct Meaning(Infallible);

impl Meaning {
    /// Starts with no vectors.
    pub fn new(model: Model, _: Option<f32>) -> Arc<Meaning> {
        match model {}
    }

    /// The model that makes the vectors.
    pub fn model(&self) -> &Model {
        match self.0 {}
    }

    /// The factor by which a cosine counts beside BM25.
    pub fn scale(&self) -> f32 {
        match self.0 {}
    }

    /// Ends what takes long.
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

/// The vectors that there are.
pub(super) struct Vectors(Infallible);

/// The slots of documents that were looked up.
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

/// Makes the vectors of Things and keeps them in a file.
pub struct VectorWriter(Infallible);

impl VectorWriter {
    /// Opens the file.
    ///
    /// # Errors
    /// None: there is nothing to open it for.
    pub fn open(meaning: Arc<Meaning>, _: PathBuf) -> Result<(VectorWriter, Option<Position>)> {
        match meaning.0 {}
    }

    /// Makes the vectors of a Thing.
    ///
    /// # Errors
    /// None.
    pub fn put(&mut self, _: &str, _: &str) -> Result<()> {
        match self.0 {}
    }

    /// Forgets the vectors of a Thing.
    ///
    /// # Errors
    /// None.
    pub fn remove(&mut self, _: &str) -> Result<()> {
        match self.0 {}
    }

    /// Notes that everything up to a position is in.
    ///
    /// # Errors
    /// None.
    pub fn commit(&mut self, _: Position, _: bool) -> Result<()> {
        match self.0 {}
    }

    /// Compares what was written with its checksums.
    ///
    /// # Errors
    /// None.
    pub fn is_whole(&self) -> Result<bool> {
        match self.0 {}
    }

    /// Notes that something is missing until the next commit.
    ///
    /// # Errors
    /// None.
    pub fn begin_rebuild(&mut self) -> Result<()> {
        match self.0 {}
    }

    /// Forgets the vectors of all but these Things.
    ///
    /// # Errors
    /// None.
    pub fn retain(&mut self, _: &HashSet<Box<str>>) -> Result<()> {
        match self.0 {}
    }
}
