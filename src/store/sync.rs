//! `DataFile`: the part of a flush that sled leaves out.
//!
//! On Linux sled 0.34 flushes with `sync_file_range`, which writes the pages but neither the file's
//! metadata (a file that has grown!) nor the disk's own cache; a power cut could take an
//! acknowledged write back. So each flush ends with an `fdatasync` of sled's file.

use std::{fs::File, io, path::Path};

/// sled's data file, opened a second time.
pub(super) struct DataFile(File);

impl DataFile {
    /// Opens the file that sled has made in `directory`.
    pub fn open(directory: &Path) -> io::Result<DataFile> {
        File::open(directory.join("db")).map(DataFile)
    }

    /// Returns when everything that was written to the file is on disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
