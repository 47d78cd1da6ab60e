//! The room that the disk has for commits.
//!
//! Writes are refused before the disk is full: then nothing is ever half written, reads go on, and writes are taken
//! again as soon as there is room. Without it a flush would fail in the middle, after which only the next start knows
//! what the disk has.

use std::path::{Path, PathBuf};

use super::write::Write;
use crate::Error;

/// What stays free on large disks: for pages that sled writes again, the search index, and what others write between
/// the check and the flush.
const RESERVE: u64 = 64 * 1024 * 1024;
/// On smaller ones this share of the whole.
const SHARE: u64 = 8;
/// How many bytes a byte of a write may take: its text, its log entry, and the pages that they are in.
const GROWTH: u64 = 8;

/// The file system that has the data directory.
#[derive(Debug)]
pub(super) struct Space {
    directory: PathBuf,
}

/// Less room than a commit may need.
#[derive(Debug)]
pub(super) struct Shortage {
    path: PathBuf,
    free: u64,
    needed: u64,
}

impl Space {
    pub fn of(directory: &Path) -> Space {
        Space { directory: directory.to_owned() }
    }

    /// How many bytes are free; none where the system doesn't tell.
    pub fn free(&self) -> Option<u64> {
        let file_system = rustix::fs::statvfs(&self.directory).ok()?;
        Some(file_system.f_bavail.saturating_mul(file_system.f_frsize))
    }

    /// What a commit of these writes might lack; none where the system doesn't tell.
    pub fn shortage<'w>(&self, writes: impl Iterator<Item = &'w Write>) -> Option<Shortage> {
        let file_system = rustix::fs::statvfs(&self.directory).ok()?;
        let total = file_system.f_blocks.saturating_mul(file_system.f_frsize);
        let free = file_system.f_bavail.saturating_mul(file_system.f_frsize);
        let needed = needed(total, writes.map(|write| write.bytes() as u64).sum());
        // Some file systems say that they have no blocks at all.
        (total > 0 && free < needed).then(|| Shortage { path: self.directory.clone(), free, needed })
    }
}

impl Shortage {
    /// The error for a writer.
    pub fn error(&self) -> Error {
        Error::DiskFull { path: self.path.clone(), free: self.free, needed: self.needed }
    }
}

/// How much has to be free for writes of so many bytes.
fn needed(total: u64, bytes: u64) -> u64 {
    RESERVE.min(total / SHARE).saturating_add(bytes.saturating_mul(GROWTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_disks_keep_a_share_free_and_large_ones_a_fixed_part() {
        assert_eq!(needed(32 << 20, 0), 4 << 20);
        assert_eq!(needed(1 << 40, 1000), RESERVE + 8000);
        assert_eq!(needed(0, u64::MAX), u64::MAX);
    }
}
