//! Disk space for commits.
//!
//! Writes are refused before the disk is full. So no write is ever incomplete, reads continue, and writes are
//! accepted again as soon as there is space. Otherwise a flush could fail halfway, after which the content of the
//! disk would be unknown until the next start. Removals and restrictions of access are accepted for longer than other
//! writes.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::Error;

/// Reserve on large disks in bytes: for pages rewritten by sled, the search index, and writes of other programs
/// between the check and the flush.
const RESERVE: u64 = 64 * 1024 * 1024;
/// Reserve on smaller disks, as a divisor of their size.
const SHARE: u64 = 8;
/// Divisor of the reserve: only removals and restrictions of access may use its last quarter.
const TAKING_AWAY: u64 = 4;
/// Maximum disk space in bytes for each byte of a write: its text, its log entry, and the pages that they are in.
const GROWTH: u64 = 8;

/// File system with the data directory.
#[derive(Debug)]
pub(super) struct Space {
    directory: PathBuf,
    /// Size of the last refused write, as long as no write of that size has been accepted since.
    refused: AtomicU64,
}

/// Space for the writes of a commit.
#[derive(Debug)]
pub(super) struct Room<'s> {
    space: &'s Space,
    /// Size of the file system in bytes; 0 if unknown.
    total: u64,
    free: u64,
    /// Number of bytes already reserved.
    taken: u64,
}

impl Space {
    pub fn of(directory: &Path) -> Space {
        Space { directory: directory.to_owned(), refused: AtomicU64::new(0) }
    }

    /// Returns the number of free bytes, or `None` if the system doesn't report it.
    pub fn free(&self) -> Option<u64> {
        let file_system = rustix::fs::statvfs(&self.directory).ok()?;
        Some(file_system.f_bavail.saturating_mul(file_system.f_frsize))
    }

    /// Returns the currently available space.
    pub fn room(&self) -> Room<'_> {
        let (total, free) = rustix::fs::statvfs(&self.directory).map_or((0, 0), |file_system| {
            let bytes = |blocks: u64| blocks.saturating_mul(file_system.f_frsize);
            (bytes(file_system.f_blocks), bytes(file_system.f_bavail))
        });
        Room { space: self, total, free, taken: 0 }
    }

    /// Fails if there is no space for writes, or not enough for a write as large as the last refused write.
    ///
    /// # Errors
    /// [`Error::DiskFull`]
    pub fn check(&self) -> Result<(), Error> {
        self.room().take(self.refused.load(Ordering::Relaxed), false)
    }
}

impl Room<'_> {
    /// Reserves space for a number of bytes. `takes_away` is true for removals and restrictions of access.
    ///
    /// # Errors
    /// [`Error::DiskFull`] if there is too little space.
    pub fn take(&mut self, bytes: u64, takes_away: bool) -> Result<(), Error> {
        let taken = self.taken.saturating_add(bytes);
        let needed = needed(self.total, taken, takes_away);
        // Some file systems say that they have no blocks at all.
        if self.total > 0 && self.free < needed {
            self.space.refused.fetch_max(bytes, Ordering::Relaxed);
            return Err(Error::DiskFull { path: self.space.directory.clone(), free: self.free, needed });
        }
        if bytes > 0 && bytes >= self.space.refused.load(Ordering::Relaxed) {
            self.space.refused.store(0, Ordering::Relaxed);
        }
        self.taken = taken;
        Ok(())
    }
}

/// Returns the bytes that must be free on a disk of `total` bytes for writes of `bytes` bytes. Writes that take
/// away may use most of the reserve.
fn needed(total: u64, bytes: u64, takes_away: bool) -> u64 {
    let reserve = RESERVE.min(total / SHARE);
    let reserve = if takes_away { reserve / TAKING_AWAY } else { reserve };
    reserve.saturating_add(bytes.saturating_mul(GROWTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_disks_keep_a_share_free_and_large_ones_a_fixed_part() {
        assert_eq!(needed(32 << 20, 0, false), 4 << 20);
        assert_eq!(needed(1 << 40, 1000, false), RESERVE + 8000);
        assert_eq!(needed(0, u64::MAX, false), u64::MAX);
    }

    #[test]
    fn what_takes_away_has_room_where_nothing_else_has() {
        let space = Space::of(Path::new("d"));
        let mut room = Room { space: &space, total: 32 << 20, free: 2 << 20, taken: 0 };
        assert!(room.take(0, false).is_err() && room.take(0, true).is_ok());
        room.free = 1 << 19;
        assert!(room.take(0, true).is_err());
    }
}
