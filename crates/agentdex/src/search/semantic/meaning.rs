//! Vectors for semantic search, and the writer that updates them from the log.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    file::VectorFile,
    model::Model,
    scan::Quantized,
    table::UnknownWords,
    texts::{Described, described},
    vectors::{Rows, SlotNumber, Vectors},
};
use crate::{Error, Result, change::Position};

/// Vectors of all Things, with the model that computes them.
pub struct Meaning {
    model: Model,
    scale: f32,
    vectors: RwLock<Vectors>,
    is_stopping: AtomicBool,
}

impl Meaning {
    /// Creates an empty set of vectors. `scale` is the score added to BM25 by a cosine of 1; the default is
    /// [`Model::scale`].
    pub fn new(model: Model, scale: Option<f32>) -> Arc<Meaning> {
        let vectors = RwLock::new(Vectors::new(model.dimensions()));
        let scale = scale.unwrap_or(model.scale());
        Arc::new(Meaning { model, scale, vectors, is_stopping: AtomicBool::new(false) })
    }

    /// Returns the embedding model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the score added to BM25 by a cosine of 1.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Returns the number of vectors.
    pub fn vectors(&self) -> usize {
        self.read().used_rows()
    }

    /// Aborts long operations.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(in crate::search) fn read(&self) -> RwLockReadGuard<'_, Vectors> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vectors> {
        self.vectors.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Embeds a request: the whole and, if there are several, its sentences. Returns `None` if it has no meaning.
    pub(in crate::search) fn question(&self, whole: &str, sentences: &[String]) -> Option<Question> {
        let texts: Vec<&str> = [whole].into_iter().chain(sentences.iter().map(String::as_str)).collect();
        let vectors = self.model.embed(&texts, &mut UnknownWords::default());
        let mut vectors = vectors.into_iter().map(|vector| vector.map(|vector| Quantized::new(&vector)));
        let whole = vectors.next().flatten()?;
        Some(Question { whole, sentences: vectors.collect() })
    }

    /// Returns the vectors of a Thing from its stored text, using existing vectors of the same texts.
    pub(in crate::search) fn vectors_of(&self, id: &str, thing: &str) -> Result<Vec<Quantized>> {
        let described = described(thing)?;
        let known = self.read().find(id).filter(|rows| rows.source == source_of(&described));
        Ok(known
            .map_or_else(|| self.model.embed_described(&described, &mut UnknownWords::default()), |known| known.rows))
    }

    /// Returns the Things with at least this similarity to a request.
    pub(in crate::search) fn at_least(&self, question: &Question, threshold: f32) -> HashSet<Box<str>> {
        let vectors = self.read();
        let likeness = question.likeness(&vectors).whole;
        let is_near = |id: &&str| {
            let slot = vectors.slot(id).and_then(|slot| likeness.get(slot as usize));
            slot.is_some_and(|likeness| *likeness >= threshold)
        };
        vectors.ids().filter(is_near).map(Box::from).collect()
    }
}

/// Computes a hash of the texts to be embedded.
fn source_of(described: &[Described]) -> u64 {
    let mut hasher = DefaultHasher::new();
    described.hash(&mut hasher);
    hasher.finish()
}

/// A request as vectors.
#[derive(Debug)]
pub(in crate::search) struct Question {
    whole: Quantized,
    /// Vectors of the sentences; `None` for a sentence without known words.
    sentences: Vec<Option<Quantized>>,
}

/// Similarity of all Things to a request, by slot.
#[derive(Debug, Default)]
pub(in crate::search) struct Likeness {
    /// Similarity of each Thing to the whole request, combined with its similarity to the best sentence.
    pub whole: Vec<f32>,
    /// For each sentence, the similarity of each Thing; empty for a sentence without known words.
    pub sentences: Vec<Vec<f32>>,
}

impl Question {
    /// Computes the similarity of all Things to the request.
    pub fn likeness(&self, vectors: &Vectors) -> Likeness {
        let queries: Vec<&Quantized> = [&self.whole].into_iter().chain(self.sentences.iter().flatten()).collect();
        let mut cosines = vectors.cosines(&queries).into_iter();
        let mut whole = cosines.next().unwrap_or_default();
        let sentences = self.sentences.iter().map(|sentence| sentence.as_ref().and_then(|_| cosines.next()));
        let sentences: Vec<Vec<f32>> = sentences.map(Option::unwrap_or_default).collect();
        let said = || sentences.iter().filter(|cosines| !cosines.is_empty());
        if said().next().is_some() {
            for (slot, whole) in whole.iter_mut().enumerate() {
                let best = said().filter_map(|cosines| cosines.get(slot)).copied().fold(-1.0, f32::max);
                *whole = mean(*whole, best);
            }
        }
        Likeness { whole, sentences }
    }

    /// Computes the similarity between the request and a Thing with these vectors, like [`Question::likeness`].
    pub fn likeness_of(&self, vectors: &[Quantized]) -> f32 {
        let largest = |asked: &Quantized| vectors.iter().map(|vector| vector.cosine(asked)).fold(-1.0, f32::max);
        let whole = largest(&self.whole);
        let best = self.sentences.iter().flatten().map(largest).reduce(f32::max);
        best.map_or(whole, |best| mean(whole, best))
    }
}

fn mean(one: f32, other: f32) -> f32 {
    0.5 * (one + other)
}

/// Writer that computes the vectors of Things and stores them in a file.
pub struct VectorWriter {
    meaning: Arc<Meaning>,
    file: VectorFile,
    unknown: UnknownWords,
}

impl VectorWriter {
    /// Opens or creates the file, and publishes its vectors. Returns the last change reflected in it, or `None` if it
    /// must be rebuilt.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn open(meaning: Arc<Meaning>, path: PathBuf) -> Result<(VectorWriter, Option<Position>)> {
        let model = (meaning.model.hash(), meaning.model.dimensions());
        let (file, vectors, position) = VectorFile::open(path, model)?;
        meaning.write().replace(vectors);
        Ok((VectorWriter { meaning, file, unknown: UnknownWords::default() }, position))
    }

    /// Computes the vectors of a Thing from its stored text, unless the names and descriptions in the text are
    /// unchanged.
    ///
    /// # Errors
    /// [`Error::Index`] if the stored text can't be read, [`Error::Io`], [`Error::ShuttingDown`].
    pub fn put(&mut self, id: &str, thing: &str) -> Result<()> {
        if self.meaning.is_stopping.load(Ordering::Relaxed) {
            return Err(Error::ShuttingDown);
        }
        let described = described(thing)?;
        let source = source_of(&described);
        if self.meaning.read().source(id) == Some(source) {
            return Ok(());
        }
        let rows = Rows { source, rows: self.meaning.model.embed_described(&described, &mut self.unknown) };
        if rows.rows.is_empty() {
            return self.remove(id);
        }
        let place = self.file.put(id, &rows)?;
        self.meaning.write().put(id, &rows, Some(place));
        Ok(())
    }

    /// Removes the vectors of a Thing.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn remove(&mut self, id: &str) -> Result<()> {
        let slot: Option<SlotNumber> = self.meaning.read().slot(id);
        if slot.is_some() {
            self.file.remove(id)?;
            self.meaning.write().remove(id);
        }
        Ok(())
    }

    /// Commits everything up to a position. The commit survives the end of the process and, if `durable`, a crash of
    /// the system.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn commit(&mut self, position: Position, durable: bool) -> Result<()> {
        let written_again = self.file.commit(position, durable, &self.meaning.read())?;
        if let Some(vectors) = written_again {
            self.meaning.write().replace(vectors);
        } else if self.meaning.read().should_be_mapped() {
            let file = self.file.mapped()?;
            self.meaning.write().map(file);
        }
        Ok(())
    }

    /// Verifies the checksums of the file, and returns whether they are correct.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn is_whole(&self) -> Result<bool> {
        self.file.is_whole()
    }

    /// Marks the vectors as incomplete until the next commit. Existing vectors are kept, so they need not be computed
    /// again.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn begin_rebuild(&mut self) -> Result<()> {
        self.file.forget_position()
    }

    /// Removes the vectors of all Things except those in `ids`.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn retain(&mut self, ids: &HashSet<Box<str>>) -> Result<()> {
        let gone: Vec<Box<str>> = self.meaning.read().ids().filter(|id| !ids.contains(*id)).map(Box::from).collect();
        gone.iter().try_for_each(|id| self.remove(id))
    }
}
