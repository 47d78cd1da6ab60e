//! The files of an index, written without waiting for the disk.
//!
//! An index can be rebuilt from the records, so that its commits need not be durable: only now and then
//! [`Files::sync`] makes them so. What was synced is listed in a file of its own; after a crash only the
//! other files have to be read to see whether they are whole.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, FileSlice, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
    error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
};

/// The list of synced files; the leading dot keeps it out of what tantivy manages.
const SYNCED: &str = ".synced";

/// A directory of index files.
#[derive(Clone)]
pub(super) struct Files {
    mapped: MmapDirectory,
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Files whose content is on the disk.
    synced: BTreeSet<PathBuf>,
    /// Files that were written since.
    unsynced: BTreeSet<PathBuf>,
}

impl Files {
    /// The files in a directory that exists.
    pub fn open(root: &Path) -> Result<Files, OpenDirectoryError> {
        let mapped = MmapDirectory::open(root)?;
        let listed = fs::read_to_string(root.join(SYNCED)).unwrap_or_default();
        let state = State { synced: listed.lines().map(PathBuf::from).collect(), ..State::default() };
        Ok(Files { mapped, root: root.into(), state: Arc::new(Mutex::new(state)) })
    }

    /// Whether the content of a file was made durable.
    pub fn is_synced(&self, path: &Path) -> bool {
        self.lock().synced.contains(path)
    }

    /// Makes everything durable that was written before. Blocks for as long as the disk needs.
    ///
    /// # Errors
    /// What the system says; the files are tried again next time.
    pub fn sync(&self) -> io::Result<()> {
        let unsynced = std::mem::take(&mut self.lock().unsynced);
        let outcome = self.sync_files(&unsynced);
        let mut state = self.lock();
        if let Err(error) = outcome {
            state.unsynced.extend(unsynced);
            return Err(error);
        }
        state.synced.extend(unsynced.into_iter().filter(|path| self.root.join(path).exists()));
        let listed: Vec<u8> = state.synced.iter().filter_map(|path| path.to_str()).flat_map(line).collect();
        drop(state);
        let draft = self.root.join(".synced.new");
        let mut file = File::create(&draft)?;
        file.write_all(&listed)?;
        file.sync_data()?;
        fs::rename(&draft, self.root.join(SYNCED))?;
        self.mapped.sync_directory()
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
        let mut state = self.lock();
        state.synced.remove(path);
        state.unsynced.insert(path.into());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(path: &str) -> impl Iterator<Item = u8> {
    path.bytes().chain([b'\n'])
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
        let mut state = self.lock();
        state.synced.remove(path);
        state.unsynced.remove(path);
        drop(state);
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
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let target = self.root.join(path);
        let mut draft = target.clone().into_os_string();
        draft.push(".new");
        fs::write(&draft, data)?;
        fs::rename(&draft, target)?;
        self.wrote(path);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

/// A file that is being written, and that nobody syncs when it is finished.
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
