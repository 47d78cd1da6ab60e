//! Files of an index, written without waiting for the disk.
//!
//! Since an index can be rebuilt from the records, its commits need not be durable; [`Files::sync`] makes them
//! durable from time to time. Tantivy adds a checksum to each segment file; the lists of files get a checksum here,
//! as an additional line at the end.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use tantivy::{
    TantivyError,
    directory::{
        AntiCallToken, Directory, DirectoryLock, FileHandle, FileSlice, Lock, MmapDirectory, TerminatingWrite,
        WatchCallback, WatchHandle, WritePtr,
        error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
    },
};

use super::failure::is_outside;

/// Maximum time to wait for the lock of a writer. A writer that was dropped can leave it held for a moment: a process
/// that is being started has a copy of every open file until it runs its own program.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// A directory of index files.
#[derive(Clone)]
pub(super) struct Files {
    mapped: MmapDirectory,
    root: PathBuf,
    /// Files that were written since the last sync.
    unsynced: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Files {
    /// Opens the files in an existing directory.
    pub fn open(root: &Path) -> Result<Files, OpenDirectoryError> {
        Ok(Files { mapped: MmapDirectory::open(root)?, root: root.into(), unsynced: Arc::default() })
    }

    /// Makes all previous writes durable. Blocks until the disk has completed.
    ///
    /// # Errors
    /// Errors of the operating system. The files are synced again by the next call.
    pub fn sync(&self) -> io::Result<()> {
        let unsynced = std::mem::take(&mut *self.lock());
        let outcome = self.sync_files(&unsynced);
        if outcome.is_err() {
            self.lock().extend(unsynced);
        }
        outcome
    }

    fn sync_files(&self, paths: &BTreeSet<PathBuf>) -> io::Result<()> {
        for path in paths {
            match File::open(self.root.join(path)) {
                Ok(file) => file.sync_data()?,
                // Merged into another one meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.mapped.sync_directory()
    }

    fn wrote(&self, path: &Path) {
        self.lock().insert(path.into());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Progress of an inspection of the index files over several calls.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Last file compared.
    last: Option<PathBuf>,
}

/// Compares files of segments with their checksums in order of their names, until about `bytes` have been read.
/// Returns the first damaged file. Memory mappings for the comparison are released afterwards.
pub(super) fn damaged(root: &Path, inspection: &mut Inspection, bytes: u64) -> tantivy::Result<Option<PathBuf>> {
    let listed = || -> tantivy::Result<(tantivy::Index, BTreeSet<PathBuf>)> {
        let index = tantivy::Index::open(Files::open(root)?)?;
        let files = index.load_metas()?.list_segment_files().into_iter();
        let files = files.filter(|path| root.join(path).exists()).collect();
        Ok((index, files))
    };
    let (index, files) = listed()?;
    let after = inspection.last.take();
    let mut left = bytes;
    for path in files.iter().filter(|path| after.as_ref().is_none_or(|after| *path > after)) {
        if left == 0 {
            return Ok(None);
        }
        left = left.saturating_sub(fs::metadata(root.join(path)).map_or(0, |file| file.len()));
        match index.directory().validate_checksum(path).map_err(TantivyError::from) {
            Ok(true) => {}
            // A merge has replaced it meanwhile, and it is removed.
            _ if !listed()?.1.contains(path) => {}
            Err(error) if is_outside(&error) => return Err(error),
            Ok(false) | Err(_) => return Ok(Some(path.clone())),
        }
        inspection.last = Some(path.clone());
    }
    inspection.last = None;
    Ok(None)
}

/// A list of files with its checksum.
fn sealed(list: &[u8]) -> Vec<u8> {
    [list, b"\n", HEXLOWER.encode(digest(&SHA256, list).as_ref()).as_bytes()].concat()
}

/// Removes and verifies the checksum added by [`sealed`]. Returns `None` if it is wrong.
fn unsealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
    let list = bytes.get(..end)?;
    let is_whole = sealed(list) == bytes;
    bytes.truncate(end);
    is_whole.then_some(bytes)
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Files({:?})", self.root)
    }
}

impl Directory for Files {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn open_read(&self, path: &Path) -> Result<FileSlice, OpenReadError> {
        self.mapped.open_read(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.lock().remove(path);
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.into()),
            _ => OpenWriteError::IoError { io_error: Arc::new(error), filepath: path.into() },
        })?;
        Ok(BufWriter::new(Box::new(Unsynced { file, path: path.into(), files: self.clone() })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        unsealed(self.mapped.atomic_read(path)?).ok_or_else(|| {
            let damaged = io::Error::new(io::ErrorKind::InvalidData, "its checksum doesn't match its content");
            OpenReadError::wrap_io_error(damaged, path.into())
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let target = self.root.join(path);
        let mut draft = target.clone().into_os_string();
        draft.push(".new");
        fs::write(&draft, sealed(data))?;
        fs::rename(&draft, target)?;
        self.wrote(path);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let started = Instant::now();
        loop {
            match self.mapped.acquire_lock(lock) {
                Err(LockError::LockBusy) if started.elapsed() < LOCK_PATIENCE => {
                    thread::sleep(Duration::from_millis(20));
                }
                locked => return locked,
            }
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

/// A file under construction. Completing it doesn't sync it.
struct Unsynced {
    file: File,
    path: PathBuf,
    files: Files,
}

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for Unsynced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.file.flush()?;
        self.files.wrote(&self.path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tantivy::directory::INDEX_WRITER_LOCK;

    use super::*;

    #[test]
    fn lock_that_is_released_late_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::open(directory.path()).unwrap();
        let held = files.acquire_lock(&INDEX_WRITER_LOCK).unwrap();
        let release = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(held);
        });
        drop(files.acquire_lock(&INDEX_WRITER_LOCK).unwrap());
        release.join().unwrap();
    }
}
