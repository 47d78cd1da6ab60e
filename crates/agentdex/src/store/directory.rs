//! Directory of a store: creation, locking, and opening as a sled tree.

use std::{
    fs::{self, DirBuilder},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{database::Database, held::Held, layout::FORMAT_VERSION, options::Options, tree::reading};
use crate::{Error, Result};

/// Format name for a directory not written by this program.
pub(super) const FOREIGN: &str = "of another program";

/// The folder of the tree.
pub(super) const STORE: &str = "store";

/// Maximum time to wait for a lock: a process that is dying holds it a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Segment size of sled's log. A page (some sixteen records) larger than a quarter of it is stored in a separate
/// file, which is slow. With sled's default of half a megabyte this would affect Things of 8 KB, with this value
/// those of 32 KB. It is fixed when a directory is created; another value is another format.
pub(super) const SEGMENT_BYTES: usize = 2 * 1024 * 1024;

/// Reads, writes and batches of 60,000 records are as fast with this cache as with four times of it.
const LEAST_CACHE: u64 = 16 * 1024 * 1024;

pub(super) fn create_directory(directory: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let failed = |source: io::Error| {
        let what = match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => "using",
            _ => "creating",
        };
        let writable =
            if what == "using" { ", which must be writable even for commands that only read it" } else { "" };
        Error::Io { doing: format!("{what} the data directory {}{writable}", directory.display()), source }
    };
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // What holds the descriptions is the owner's alone, also in a directory that was there already.
    for directory in [directory, &directory.join("store")] {
        match builder.create(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
            created => created.map_err(failed)?,
        }
        // What is opened later may be there and not writable.
        #[cfg(unix)]
        rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).map_err(|errno| failed(errno.into()))?;
    }
    Ok(())
}

pub(super) fn open_tree(directory: &Path, options: &Options) -> Result<Database> {
    open_tree_in(directory, STORE, options)
}

/// Opens or creates the tree in a folder of the data directory.
pub(super) fn open_tree_in(directory: &Path, folder: &str, options: &Options) -> Result<Database> {
    let path = directory.join(folder);
    let size = fs::metadata(path.join("db")).map_or(0, |file| file.len());
    let config = sled::Config::new()
        .path(&path)
        .cache_capacity(cache_of(size, options.cache_bytes))
        .segment_size(SEGMENT_BYTES)
        .flush_every_ms(None);
    let started = Instant::now();
    loop {
        match Database::open(&config, &path) {
            Ok(tree) => return Ok(tree),
            Err(error) if !is_lock_error(&error) => {
                return Err(match error {
                    // Another segment size, compression or version of sled: none of ours.
                    sled::Error::Unsupported(_) => unsupported(directory, FOREIGN.into()),
                    error => reading(error),
                });
            }
            Err(_) if started.elapsed() > LOCK_PATIENCE => {
                return Err(Error::StoreInUse { path: directory.into(), by_this_process: Held::is_held(directory) });
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// The size of the cache of a store.
fn cache_of(size: u64, most: u64) -> u64 {
    (size / 64).max(LEAST_CACHE).min(most)
}

/// Waits until no other process has the tree of a directory open.
pub(super) fn wait_for_lock(directory: &Path) -> Result<()> {
    lock(directory, &directory.join(STORE).join("db")).map(drop)
}

/// Waits until no other process opens a directory, and locks it as long as the returned file exists.
pub(super) fn lock_opening(directory: &Path) -> Result<fs::File> {
    lock(directory, directory)
}

fn lock(directory: &Path, path: &Path) -> Result<fs::File> {
    let failed = |source| Error::Io { doing: format!("opening the store in {}", directory.display()), source };
    let file = fs::File::open(path).map_err(failed)?;
    let started = Instant::now();
    loop {
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if started.elapsed() > LOCK_PATIENCE => {
                return Err(Error::StoreInUse { path: directory.into(), by_this_process: Held::is_held(directory) });
            }
            Err(rustix::io::Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(20)),
            // Where nothing can be locked, sled finds that out as well.
            Ok(()) | Err(_) => return Ok(file),
        }
    }
}

/// sled 0.34 tells a lock that is held only in words.
fn is_lock_error(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().contains("could not acquire lock"))
}

pub(super) fn unsupported(directory: &Path, found: String) -> Error {
    Error::UnsupportedStoreFormat { path: directory.into(), found, supported: FORMAT_VERSION }
}

pub(super) fn check_version(directory: &Path, version: &[u8]) -> Result<()> {
    match version.try_into().map(u32::from_be_bytes) {
        Ok(FORMAT_VERSION) => Ok(()),
        Ok(other) => Err(unsupported(directory, other.to_string())),
        Err(_) => Err(unsupported(directory, format!("{version:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_grows_with_the_store_within_bounds() {
        const GIB: u64 = 1 << 30;
        let of = |size| cache_of(size, 64 << 20) >> 20;
        assert_eq!([0, GIB, 2 * GIB, 4 * GIB, 40 * GIB].map(of), [16, 16, 32, 64, 64]);
        assert_eq!(cache_of(GIB, 1 << 20), 1 << 20, "what an embedder says is the most");
    }
}
