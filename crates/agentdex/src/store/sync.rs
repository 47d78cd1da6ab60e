//! `DataFiles`: the part of a flush omitted by sled.
//!
//! On Linux, sled 0.34 flushes with `sync_file_range`, which writes pages but neither the file's metadata (even if
//! the file has grown) nor the disk's own cache, so a power failure could undo an acknowledged write. Therefore each
//! flush ends with an `fdatasync` of sled's file. Pages too large for a segment of the log are stored as separate
//! files in `blobs`, which sled doesn't sync at all.
//!
//! sled removes such a file as soon as its page is rewritten, and a power failure may undo the creation of the new
//! file. Therefore each file has a second name in `blobs.kept` until the following flush.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{
    database::BLOBS,
    recovery::{names, put},
};

/// The folder of the second names of large pages, in sled's.
const KEPT_BLOBS: &str = "blobs.kept";

/// Files written by sled.
pub(super) struct DataFiles {
    log: File,
    blobs: PathBuf,
    kept: PathBuf,
    blobs_changed: SystemTime,
    synced_blobs: BTreeSet<String>,
}

impl DataFiles {
    /// Opens the files created by sled in `directory`, and syncs the files and their names.
    pub fn open(directory: &Path) -> io::Result<DataFiles> {
        let (blobs, kept) = (directory.join(BLOBS), directory.join(KEPT_BLOBS));
        let (log, synced_blobs) = (File::open(directory.join("db"))?, names(&kept)?.into_iter().collect());
        fs::create_dir_all(&kept)?;
        let mut files = DataFiles { log, blobs, kept, blobs_changed: SystemTime::UNIX_EPOCH, synced_blobs };
        files.sync()?;
        for ancestor in directory.ancestors().take(2) {
            File::open(ancestor)?.sync_all()?;
        }
        Ok(files)
    }

    /// Waits until all previous writes are on disk.
    pub fn sync(&mut self) -> io::Result<()> {
        let removed = self.sync_blobs()?;
        self.log.sync_data()?;
        removed.iter().try_for_each(|name| unless_gone(fs::remove_file(self.kept.join(name))))
    }

    /// Syncs new large pages, and returns those that are there no more.
    fn sync_blobs(&mut self) -> io::Result<Vec<String>> {
        // The clock of the file system ticks slowly: two files can come at the same time.
        const TICK: Duration = Duration::from_millis(50);
        let changed = fs::metadata(&self.blobs)?.modified()?;
        if changed == self.blobs_changed && changed.elapsed().is_ok_and(|age| age > TICK) {
            return Ok(Vec::new());
        }
        let mut present = BTreeSet::new();
        let mut has_new = false;
        for name in names(&self.blobs)? {
            if !self.synced_blobs.contains(&name) {
                // sled removes a file once its page has been rewritten, also in between.
                let blob = self.blobs.join(&name);
                unless_gone(File::open(&blob).and_then(|file| file.sync_data()))?;
                unless_gone(put(&blob, &self.kept.join(&name)))?;
                has_new = true;
            }
            present.insert(name);
        }
        if has_new {
            File::open(&self.blobs)?.sync_all()?;
            File::open(&self.kept)?.sync_all()?;
        }
        let removed = self.synced_blobs.difference(&present).cloned().collect();
        (self.synced_blobs, self.blobs_changed) = (present, changed);
        Ok(removed)
    }
}

/// Returns the names of large pages that exist only under their second name.
pub(super) fn removed_blobs(store: &Path) -> io::Result<Vec<String>> {
    let present: BTreeSet<String> = names(&store.join(BLOBS))?.into_iter().collect();
    Ok(names(&store.join(KEPT_BLOBS))?.into_iter().filter(|name| !present.contains(name)).collect())
}

/// Gives large pages that were removed their first names back.
pub(super) fn put_back_blobs(store: &Path, names: &[String]) -> io::Result<()> {
    names.iter().try_for_each(|name| put(&store.join(KEPT_BLOBS).join(name), &store.join(BLOBS).join(name)))
}

fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_blobs_are_noticed_and_removed_ones_forgotten() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join("blobs"))?;
        fs::write(directory.path().join("db"), "")?;
        let mut files = DataFiles::open(directory.path())?;
        let blob = |name: &str| directory.path().join("blobs").join(name);
        fs::write(blob("1"), "one")?;
        files.sync()?;
        fs::write(blob("2"), "two")?;
        files.sync()?;
        assert_eq!(files.synced_blobs, BTreeSet::from(["1".into(), "2".into()]));
        fs::remove_file(blob("1"))?;
        files.sync()?;
        assert_eq!(files.synced_blobs, BTreeSet::from(["2".into()]));
        Ok(())
    }

    #[test]
    fn a_removed_blob_can_be_put_back_until_the_next_flush() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let blob = directory.path().join("blobs/1");
        fs::create_dir(directory.path().join("blobs"))?;
        fs::write(directory.path().join("db"), "")?;
        let mut files = DataFiles::open(directory.path())?;
        fs::write(&blob, "one")?;
        files.sync()?;
        fs::remove_file(&blob)?;
        let removed = removed_blobs(directory.path())?;
        assert_eq!(removed, ["1"]);
        put_back_blobs(directory.path(), &removed)?;
        assert_eq!(fs::read(&blob)?, b"one");
        fs::remove_file(&blob)?;
        DataFiles::open(directory.path())?;
        assert!(removed_blobs(directory.path())?.is_empty());
        Ok(())
    }
}
