//! A temporary directory that is removed with its user: when that is dropped, and where a process was killed by the next one.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;
use uuid::Uuid;

/// The start of the names of such directories.
const PREFIX: &str = "agentdex-demo-";
/// The file in it that is locked as long as the directory is used.
const LOCK: &str = "lock";

/// A directory for this process alone.
pub(super) struct TemporaryDirectory {
    path: PathBuf,
    _lock: File,
}

impl TemporaryDirectory {
    /// Creates one in the folder for temporary files, and removes those there that nobody uses.
    pub(super) fn create() -> io::Result<TemporaryDirectory> {
        TemporaryDirectory::create_in(&env::temp_dir())
    }

    fn create_in(folder: &Path) -> io::Result<TemporaryDirectory> {
        remove_unused(folder);
        let id = Uuid::new_v4().simple();
        // Under its name only once it is locked, so that no other process takes it for unused.
        let (unlocked, path) = (folder.join(format!(".{PREFIX}{id}")), folder.join(format!("{PREFIX}{id}")));
        fs::DirBuilder::new().mode(0o700).create(&unlocked)?;
        let locked = File::create_new(unlocked.join(LOCK)).and_then(|lock| {
            lock.try_lock()?;
            fs::rename(&unlocked, &path)?;
            Ok(lock)
        });
        match locked {
            Ok(lock) => Ok(TemporaryDirectory { path, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&unlocked);
                Err(error)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, "{} can't be removed", self.path.display());
        }
    }
}

/// Removes the directories of processes of this user that were killed.
fn remove_unused(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_ours(path)) {
        let lock = OpenOptions::new().write(true).open(path.join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// True if a demo of this user has made a directory. Others can write to the folder for temporary files: links are not
/// resolved, and what waits when it is opened, such as a pipe, is not opened.
fn is_ours(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let is_own = |found: &fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    is_named
        && fs::symlink_metadata(path).is_ok_and(|found| is_own(&found))
        && fs::symlink_metadata(path.join(LOCK)).is_ok_and(|lock| lock.is_file())
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn unused_directories_are_removed_and_used_ones_stay() {
        let folder = env::temp_dir().join(format!("agentdex-directories-{}", Uuid::new_v4().simple()));
        let killed = folder.join(format!("{PREFIX}killed"));
        fs::create_dir_all(killed.join("data")).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        let other = folder.join(format!("{PREFIX}without-a-lock"));
        fs::create_dir_all(&other).unwrap();
        let first = TemporaryDirectory::create_in(&folder).unwrap();
        assert!(!killed.exists() && other.exists());
        let second = TemporaryDirectory::create_in(&folder).unwrap();
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn pipes_and_links_are_neither_opened_nor_removed() {
        let folder = env::temp_dir().join(format!("agentdex-directories-{}", Uuid::new_v4().simple()));
        let [pipe, link, elsewhere] =
            [format!("{PREFIX}pipe"), format!("{PREFIX}link"), "elsewhere".to_owned()].map(|name| folder.join(name));
        for path in [&pipe, &link, &elsewhere] {
            fs::create_dir_all(path).unwrap();
        }
        assert!(Command::new("mkfifo").arg(pipe.join(LOCK)).status().unwrap().success());
        fs::write(elsewhere.join(LOCK), "").unwrap();
        symlink(elsewhere.join(LOCK), link.join(LOCK)).unwrap();
        let linked = folder.join(format!("{PREFIX}linked"));
        symlink(&elsewhere, &linked).unwrap();
        // Opening the pipe would wait for a reader.
        let own = TemporaryDirectory::create_in(&folder).unwrap();
        for path in [&pipe, &link, &linked, &elsewhere] {
            assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
        }
        drop(own);
        fs::remove_dir_all(&folder).unwrap();
    }
}
