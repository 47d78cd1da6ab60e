//! Torn writes: removal of incomplete, unacknowledged commits left by a power failure, before a store is opened.
//!
//! sled overwrites its log from the first unreadable message on. But if a write crosses the end of a segment, its
//! later part may be on disk without the earlier part, and a write with large pages may be in the log without their
//! files; sled considers both complete. A missing page may also be one that is no longer needed, which only the whole
//! store can tell. Therefore, if something is missing in the last batch or after the previous one, several copies are
//! opened: an unmodified copy, and copies with the log truncated there. The first copy that is consistent and
//! complete according to the witness becomes the store.

use std::{io, path::Path};

use super::{
    copy::CopiedDirectory,
    directory::STORE,
    recovery::{Undo, remove_folder},
    sync::{put_back_blobs, removed_blobs},
    witness::Seen,
};

/// Folder of the copies to try, within the data directory.
const TRIED: &str = "store.tried";

/// Preserves data that the recovery of a store would overwrite, and removes a torn last commit after a power failure
/// from its log. The store must not be open.
///
/// # Errors
/// Failures to preserve the data or to write the log.
pub(super) fn prepare(directory: &Path, seen: &Seen, is_whole: impl Fn(&Path) -> bool) -> io::Result<Undo> {
    let tried = directory.join(TRIED);
    remove_folder(&tried)?;
    let undo = Undo::keep(directory, None)?;
    let removed = !removed_blobs(&directory.join(STORE))?.is_empty();
    let was_closed = seen.slot().is_none_or(|slot| slot.is_closed);
    if was_closed || (undo.ends.is_empty() && !removed) {
        return Ok(undo);
    }
    let as_it_is = Way { puts_back: false, end: None };
    let others = [None].into_iter().filter(|_| removed).chain(undo.ends.iter().copied().map(Some));
    let others = others.map(|end| Way { puts_back: removed, end });
    let whole = [as_it_is].into_iter().chain(others).find(|way| {
        let copied = remove_folder(&tried)
            .and_then(|()| CopiedDirectory::of_store(directory, tried.clone()).map_err(io::Error::other));
        let found = copied.and_then(|copy| way.take(copy.path())?.forget().map(|()| is_whole(copy.path())));
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "the store can't be copied to find its last complete commit");
            false
        })
    });
    match whole.filter(|way| *way != as_it_is) {
        None => Ok(undo),
        Some(way) => {
            if way.puts_back {
                tracing::info!("restoring large pages that were removed before their successors were on disk");
            }
            if way.end.is_some() {
                tracing::info!("the last commit is incomplete, and is left out; it was not acknowledged");
            }
            way.take(directory)
        }
    }
}

/// A change of a store before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    /// True if large pages that were removed get their files back.
    puts_back: bool,
    /// Position at which the log ends.
    end: Option<i64>,
}

impl Way {
    fn take(self, directory: &Path) -> io::Result<Undo> {
        let store = directory.join(STORE);
        if self.puts_back {
            put_back_blobs(&store, &removed_blobs(&store)?)?;
        }
        let undo = Undo::keep(directory, self.end)?;
        match undo.end_log() {
            Ok(()) => Ok(undo),
            Err(error) => {
                undo.put_back()?;
                Err(error)
            }
        }
    }
}
