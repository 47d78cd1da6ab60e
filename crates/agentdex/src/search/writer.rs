//! Writer of the index: adds and deletes documents, makes the changes visible, and from time to time durable.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
};

use tantivy::{
    IndexReader, Term,
    indexer::{IndexWriterOptions, LogMergePolicy},
};

use super::{
    Entry, directory, entry,
    failure::index_error,
    files::Files,
    known_ids::KnownIds,
    queue::{Queue, Queued},
    schema::Fields,
    snapshot::Snapshot,
};
use crate::{Result, change::Position};

/// Memory that is filled before a segment is written, in bytes.
const MEMORY_BYTES: usize = 96 * 1024 * 1024;

/// Publisher of the searchable state after commits.
pub(super) struct Publisher {
    pub reader: IndexReader,
    pub current: Arc<RwLock<Snapshot>>,
}

impl Publisher {
    fn position(&self) -> Option<Position> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).position()
    }

    fn publish(&self, position: Position) -> tantivy::Result<()> {
        self.reader.reload()?;
        let searcher = self.reader.searcher();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = current.succeeded_by(searcher, position);
        Ok(())
    }
}

/// The only writer of an index.
pub struct IndexWriter {
    writer: tantivy::IndexWriter<Queued>,
    queue: Queue,
    files: Files,
    publisher: Publisher,
    fields: Fields,
    home: PathBuf,
    directory: PathBuf,
    is_current: bool,
    /// True if anything was written since the last commit.
    is_changed: bool,
    known_ids: KnownIds,
    syncing: Option<JoinHandle<io::Result<()>>>,
}

impl IndexWriter {
    pub(super) fn new(
        index: &tantivy::Index,
        files: Files,
        publisher: Publisher,
        fields: Fields,
        home: &Path,
        directory: &Path,
    ) -> tantivy::Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(MEMORY_BYTES)
            .build();
        let writer: tantivy::IndexWriter<Queued> = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(merge_policy()));
        let is_current = publisher.position().is_some();
        Ok(IndexWriter {
            writer,
            queue: Queue::default(),
            files,
            publisher,
            fields,
            home: home.into(),
            directory: directory.into(),
            is_current,
            is_changed: false,
            known_ids: KnownIds::default(),
            syncing: None,
        })
    }

    /// Returns the last committed change, or `None` before the first commit of a new index.
    pub fn position(&self) -> Option<Position> {
        self.publisher.position()
    }

    /// Adds a Thing, replacing a Thing with the same id.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn put(&mut self, entry: Entry<'_>) -> Result<()> {
        let (document, bytes) = entry::document(&self.fields, &entry)?;
        self.is_changed = true;
        let searcher = || self.publisher.reader.searcher();
        if self.known_ids.add(entry.id, searcher, self.fields.id).map_err(index_error("reading ids"))? {
            self.writer.delete_term(Term::from_field_text(self.fields.id, entry.id));
        }
        self.writer.add_document(self.queue.admit(document, bytes)).map_err(index_error("adding a Thing"))?;
        Ok(())
    }

    /// Deletes a Thing.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn delete(&mut self, id: &str) -> Result<()> {
        self.is_changed = true;
        let searcher = || self.publisher.reader.searcher();
        if self.known_ids.has(id, searcher, self.fields.id).map_err(index_error("reading ids"))? {
            self.writer.delete_term(Term::from_field_text(self.fields.id, id));
        }
        Ok(())
    }

    /// Makes all changes since the last commit visible, together with the position. They survive the end of the
    /// process; a crash of the system may damage unsynced files, which [`super::Index::open`] detects. The first
    /// commit of a new index is durable, since it replaces another index.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn commit(&mut self, position: Position) -> Result<()> {
        if self.is_current && !self.is_changed && self.position() == Some(position) {
            return Ok(());
        }
        let mut prepared = self.writer.prepare_commit().map_err(index_error("committing"))?;
        prepared.set_payload(&position.to_string());
        prepared.commit().map_err(index_error("committing"))?;
        self.is_changed = false;
        if !self.is_current {
            self.files.sync().map_err(index_error("syncing a new index"))?;
            directory::make_current(&self.home, &self.directory)
                .map_err(index_error("putting a new index in place"))?;
            self.is_current = true;
        }
        self.publisher.publish(position).map_err(index_error("loading a commit"))?;
        self.known_ids.forget_deleted(&self.publisher.reader.searcher());
        Ok(())
    }

    /// Makes committed changes durable. Blocks until the disk has completed.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn sync(&mut self) -> Result<()> {
        self.finish_syncing()?;
        self.files.sync().map_err(index_error("syncing"))
    }

    /// Starts making committed changes durable in the background, unless that is already in progress.
    ///
    /// # Errors
    /// [`crate::Error::Index`] if it can't be started or if the previous attempt failed.
    pub fn start_syncing(&mut self) -> Result<()> {
        if self.syncing.as_ref().is_some_and(|syncing| !syncing.is_finished()) {
            return Ok(());
        }
        self.finish_syncing()?;
        let files = self.files.clone();
        let thread = std::thread::Builder::new().name("agentdex-index-sync".into()).spawn(move || files.sync());
        self.syncing = Some(thread.map_err(index_error("starting to sync"))?);
        Ok(())
    }

    fn finish_syncing(&mut self) -> Result<()> {
        match self.syncing.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome.map_err(index_error("syncing")),
            Some(Err(_)) => Err(index_error("syncing")("the thread panicked")),
            None => Ok(()),
        }
    }
}

/// Commits come about once a second. They are merged among themselves, eight at a time, so that neither
/// many segments slow down searches nor Things are written again often.
fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(8);
    policy.set_min_layer_size(1_000);
    policy.set_del_docs_ratio_before_merge(0.3);
    policy
}
