//! `DataFiles`: the part of a flush that sled leaves out.
//!
//! On Linux sled 0.34 flushes with `sync_file_range`, which writes the pages but neither the file's
//! metadata (a file that has grown!) nor the disk's own cache; a power cut could take an
//! acknowledged write back. So each flush ends with an `fdatasync` of sled's file. And pages that are
//! too large for a segment of the log go to files of their own in `blobs`, which sled doesn't sync
//! at all.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// What sled writes to.
pub(super) struct DataFiles {
    log: File,
    blobs: PathBuf,
    blobs_changed: SystemTime,
    synced_blobs: BTreeSet<OsString>,
}

impl DataFiles {
    /// Opens the files that sled has made in `directory`, and syncs them and their names.
    pub fn open(directory: &Path) -> io::Result<DataFiles> {
        let (log, blobs) = (File::open(directory.join("db"))?, directory.join("blobs"));
        let mut files = DataFiles { log, blobs, blobs_changed: SystemTime::UNIX_EPOCH, synced_blobs: BTreeSet::new() };
        files.sync()?;
        for ancestor in directory.ancestors().take(2) {
            File::open(ancestor)?.sync_all()?;
        }
        Ok(files)
    }

    /// Returns when everything that was written is on disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.sync_blobs()?;
        self.log.sync_data()
    }

    fn sync_blobs(&mut self) -> io::Result<()> {
        // The clock of the file system ticks slowly: two files can come at the same time.
        const TICK: Duration = Duration::from_millis(50);
        let changed = fs::metadata(&self.blobs)?.modified()?;
        if changed == self.blobs_changed && changed.elapsed().is_ok_and(|age| age > TICK) {
            return Ok(());
        }
        let mut present = BTreeSet::new();
        for entry in fs::read_dir(&self.blobs)? {
            let entry = entry?;
            if !self.synced_blobs.contains(&entry.file_name()) {
                sync_if_there(&entry.path())?;
            }
            present.insert(entry.file_name());
        }
        if present.difference(&self.synced_blobs).next().is_some() {
            File::open(&self.blobs)?.sync_all()?;
        }
        (self.synced_blobs, self.blobs_changed) = (present, changed);
        Ok(())
    }
}

/// sled removes a file once its page has been rewritten, also in between.
fn sync_if_there(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|file| file.sync_data()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
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
}
