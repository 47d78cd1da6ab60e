//! `CopiedDirectory`: a temporary copy of a data directory, since reading a damaged store may modify it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use uuid::Uuid;

use super::{
    directory::{STORE, create_directory, open_tree, wait_for_lock},
    layout,
    options::Options,
    overlay::batch_of,
    space::Space,
    witness,
};
use crate::{Error, Result};

/// The folder of the search index.
const SEARCH: &str = "search";

/// A temporary copy of the store, the witness, and the search index. It is removed on drop.
#[derive(Debug)]
pub struct CopiedDirectory(PathBuf);

impl CopiedDirectory {
    /// Copies a directory that no process has open. The original is not modified.
    ///
    /// # Errors
    /// [`Error::StoreInUse`]; [`Error::DiskFull`] with the space required in the folder for temporary files
    /// (`TMPDIR`); [`Error::Io`].
    pub fn of(directory: &Path) -> Result<CopiedDirectory> {
        let to = env::temp_dir().join(format!("agentdex-{}", Uuid::new_v4()));
        CopiedDirectory::make(directory, to, &[STORE, SEARCH])
    }

    /// Copies store and witness to a directory that isn't there.
    pub(super) fn of_store(directory: &Path, to: PathBuf) -> Result<CopiedDirectory> {
        CopiedDirectory::make(directory, to, &[STORE])
    }

    fn make(directory: &Path, to: PathBuf, folders: &[&str]) -> Result<CopiedDirectory> {
        let failed = |source| Error::Io { doing: format!("copying {}", directory.display()), source };
        if directory.join(STORE).join("db").exists() {
            wait_for_lock(directory)?;
        }
        let needed =
            folders.iter().try_fold(0, |sum, folder| Ok(sum + size(&directory.join(folder))?)).map_err(failed)?;
        let within = to.parent().unwrap_or(&to);
        if let Some(free) = Space::of(within).free().filter(|free| *free < needed) {
            return Err(Error::DiskFull { path: within.into(), free, needed });
        }
        create_directory(&to)?;
        let copy = CopiedDirectory(to);
        for folder in folders {
            copy_folder(&directory.join(folder), &copy.0.join(folder)).map_err(failed)?;
        }
        match fs::copy(directory.join(witness::FILE), copy.0.join(witness::FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => drop(copied.map_err(failed)?),
        }
        Ok(copy)
    }

    /// Makes the copy a registry of its own, if it is the copy of a node of a cluster, so that it can be opened.
    ///
    /// # Errors
    /// [`Error::Store`], and other errors of opening the store.
    pub fn leave_cluster(&self) -> Result<()> {
        let failed = |source: sled::Error| Error::Store { doing: "leaving a cluster", source: source.into() };
        let tree = open_tree(&self.0, &Options::default())?;
        tree.apply_batch(batch_of([(layout::NODE_KEY.into(), None)])).map_err(failed)?;
        tree.flush().map_err(failed).map(drop)
    }

    /// Returns the path of the copy.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for CopiedDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "a temporary copy can't be removed");
        }
    }
}

/// Returns the total size of the files in a folder, or 0 if the folder doesn't exist.
fn size(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in entries(folder)? {
        let file_type = entry.file_type()?;
        size += match file_type.is_dir() {
            true => self::size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(size)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in entries(from)? {
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
            // A copy of what may only be read is to be opened.
            let mut permissions = fs::metadata(&to)?.permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
            fs::set_permissions(&to, permissions)?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.collect(),
    }
}
