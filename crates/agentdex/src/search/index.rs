//! Reader of the index: opening it, searching, and listing ids.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use tantivy::{IndexReader, ReloadPolicy};

use super::{
    Answer, Filters, IndexWriter, Search,
    cached::Cached,
    directory,
    failure::{index_error, is_outside, is_outside_io},
    files::{self, Files, Inspection},
    hidden::HiddenIds,
    schema::{self, Fields},
    snapshot::Snapshot,
    text,
    writer::Publisher,
};
use crate::{Result, change::Position};

/// A search index. Many readers search while a single writer, the registry's follower loop, adds, deletes, and
/// commits. Cloning is cheap.
#[derive(Clone)]
pub struct Index {
    current: Arc<RwLock<Snapshot>>,
}

impl Index {
    /// Opens the index in a directory. Returns `None` if the index is missing, damaged, or unreadable to this
    /// version; it must then be rebuilt with [`Index::create`]. All files are read and compared with their checksums.
    ///
    /// # Errors
    /// [`crate::Error::Index`] if the files may be intact but can't be read now, or if another process has opened the
    /// index.
    pub fn open(directory: &Path) -> Result<Option<(Index, IndexWriter, Position)>> {
        let Some(current) = directory::current(directory).map_err(index_error("opening"))? else {
            return Ok(None);
        };
        // Files that were damaged may not only be refused by tantivy, but also make it panic.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::open_current(directory, &current)));
        match opened {
            Ok(Ok(Some(opened))) => {
                directory::remove_leftovers(directory, Some(&current));
                Ok(Some(opened))
            }
            Ok(Err(error)) if is_outside(&error) => Err(index_error("opening")(error)),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the search index can't be read; rebuilding it");
                Ok(None)
            }
            Ok(Ok(None)) | Err(_) => Ok(None),
        }
    }

    fn open_current(home: &Path, current: &Path) -> tantivy::Result<Option<(Index, IndexWriter, Position)>> {
        let files = Files::open(current)?;
        let mut index = tantivy::Index::open(files.clone())?;
        let (schema, fields) = schema::build();
        let metas = index.load_metas()?;
        let position: Option<Position> = metas.payload.as_deref().and_then(|payload| payload.parse().ok());
        let Some(position) = position.filter(|_| index.schema() == schema) else { return Ok(None) };
        if let Some(damaged) = files::damaged(current, &mut Inspection::default(), u64::MAX)? {
            tracing::warn!(file = %damaged.display(), "the search index is damaged, and is being rebuilt");
            return Ok(None);
        }
        index.set_tokenizers(text::analyzers());
        let (index, writer) = Self::with_writer(&index, files, fields, home, current, Some(position))?;
        Ok(Some((index, writer, position)))
    }

    /// Compares files of the index in a directory with their checksums, up to about `bytes`, continuing after the
    /// previous call. Returns a damaged file, or the directory if the index as a whole is unusable.
    ///
    /// # Errors
    /// [`crate::Error::Index`] if files can't be read now but may be intact.
    pub fn inspect(directory: &Path, inspection: &mut Inspection, bytes: u64) -> Result<Option<PathBuf>> {
        let current = match directory::current(directory) {
            Ok(Some(current)) => current,
            Ok(None) => return Ok(Some(directory.into())),
            Err(error) => return Err(index_error("inspecting")(error)),
        };
        match catch_unwind(AssertUnwindSafe(|| files::damaged(&current, inspection, bytes))) {
            Ok(Ok(damaged)) => Ok(damaged),
            Ok(Err(error)) if is_outside(&error) => Err(index_error("inspecting")(error)),
            Ok(Err(_)) | Err(_) => Ok(Some(current)),
        }
    }

    /// Creates an empty index in a new directory beside the old index, after removing leftovers of earlier attempts.
    /// The first [`IndexWriter::commit`] replaces the old index.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn create(directory: &Path) -> Result<(Index, IndexWriter)> {
        match directory::current(directory) {
            Ok(current) => directory::remove_leftovers(directory, current.as_deref()),
            Err(error) if is_outside_io(&error) => return Err(index_error("reading the directory")(error)),
            Err(_) => directory::remove_leftovers(directory, None),
        }
        let new = directory::create(directory).map_err(index_error("creating a directory"))?;
        let (schema, fields) = schema::build();
        let files = Files::open(&new).map_err(index_error("creating"))?;
        let mut index =
            tantivy::Index::create(files.clone(), schema, schema::settings()).map_err(index_error("creating"))?;
        index.set_tokenizers(text::analyzers());
        Self::with_writer(&index, files, fields, directory, &new, None).map_err(index_error("creating"))
    }

    /// Removes leftovers of a failed rebuild, to free disk space.
    pub fn remove_leftovers(directory: &Path) {
        if let Ok(current) = directory::current(directory) {
            directory::remove_leftovers(directory, current.as_deref());
        }
    }

    fn with_writer(
        index: &tantivy::Index,
        files: Files,
        fields: Fields,
        home: &Path,
        directory: &Path,
        position: Option<Position>,
    ) -> tantivy::Result<(Index, IndexWriter)> {
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let snapshot = Snapshot::new(reader.searcher(), fields, Arc::new(Cached::default()), position);
        let current = Arc::new(RwLock::new(snapshot));
        let publisher = Publisher { reader, current: current.clone() };
        let writer = IndexWriter::new(index, files, publisher, fields, home, directory)?;
        Ok((Index { current }, writer))
    }

    /// Returns the latest searchable state.
    pub fn snapshot(&self) -> Snapshot {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the last searchable change, or `None` before the first commit.
    pub fn position(&self) -> Option<Position> {
        self.snapshot().position()
    }

    /// Searches the latest state like [`Snapshot::search`], without the `hidden` ids.
    ///
    /// # Errors
    /// Same as [`Snapshot::search`].
    pub fn search(&self, search: &Search, hidden: &[String]) -> Result<Answer> {
        let snapshot = self.snapshot();
        let hidden = snapshot.hide(&mut HiddenIds::default(), hidden.iter().map(String::as_str))?;
        snapshot.search(search, &hidden, None)
    }

    /// Lists ids in the latest state like [`Snapshot::ids`], without the `hidden` ids.
    ///
    /// # Errors
    /// Same as [`Snapshot::search`].
    pub fn ids(&self, query: Option<&str>, filters: &Filters, hidden: &[String]) -> Result<Vec<String>> {
        let snapshot = self.snapshot();
        let hidden = snapshot.hide(&mut HiddenIds::default(), hidden.iter().map(String::as_str))?;
        snapshot.ids(query, filters, &hidden)
    }
}
