//! The writer's side: adds, deletes, and makes both durable and visible.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use tantivy::{
    IndexReader, Term,
    indexer::{IndexWriterOptions, LogMergePolicy},
};

use super::{
    Entry, directory, entry,
    index::index_error,
    queue::{Queue, Queued},
    schema::Fields,
};
use crate::{Result, change::Position};

/// What is gathered in memory before a segment is written.
const MEMORY_BYTES: usize = 24 * 1024 * 1024;

/// The one writer of an index.
pub struct IndexWriter {
    writer: tantivy::IndexWriter<Queued>,
    queue: Queue,
    reader: IndexReader,
    fields: Fields,
    home: PathBuf,
    directory: PathBuf,
    is_current: bool,
    cursor: Arc<RwLock<Option<Position>>>,
}

impl IndexWriter {
    pub(super) fn new(
        index: &tantivy::Index,
        reader: IndexReader,
        fields: Fields,
        home: &Path,
        directory: &Path,
        cursor: Arc<RwLock<Option<Position>>>,
    ) -> tantivy::Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(MEMORY_BYTES)
            .build();
        let writer: tantivy::IndexWriter<Queued> = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(merge_policy()));
        let is_current = cursor.read().unwrap_or_else(PoisonError::into_inner).is_some();
        Ok(IndexWriter {
            writer,
            queue: Queue::default(),
            reader,
            fields,
            home: home.into(),
            directory: directory.into(),
            is_current,
            cursor,
        })
    }

    /// Adds a Thing, in place of what has its id.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn put(&mut self, entry: Entry<'_>) -> Result<()> {
        let (document, bytes) = entry::document(&self.fields, &entry)?;
        self.delete(entry.id)?;
        self.writer.add_document(self.queue.admit(document, bytes)).map_err(index_error("adding a Thing"))?;
        Ok(())
    }

    /// Takes a Thing out.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn delete(&mut self, id: &str) -> Result<()> {
        self.writer.delete_term(Term::from_field_text(self.fields.id, id));
        Ok(())
    }

    /// Makes everything since the last commit durable and visible, the cursor with it.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn commit(&mut self, cursor: Position) -> Result<()> {
        let mut prepared = self.writer.prepare_commit().map_err(index_error("committing"))?;
        prepared.set_payload(&cursor.to_string());
        prepared.commit().map_err(index_error("committing"))?;
        if !self.is_current {
            directory::make_current(&self.home, &self.directory)
                .map_err(index_error("putting a new index in place"))?;
            self.is_current = true;
        }
        self.reader.reload().map_err(index_error("loading a commit"))?;
        *self.cursor.write().unwrap_or_else(PoisonError::into_inner) = Some(cursor);
        Ok(())
    }
}

/// Small commits come ten times a second: they are merged early among themselves, so that neither
/// many segments slow down searches nor large segments are written again for a few Things.
fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(4);
    policy.set_min_layer_size(1_000);
    policy.set_del_docs_ratio_before_merge(0.3);
    policy
}
