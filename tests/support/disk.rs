//! A temporary directory for tests of the disk.

use tempfile::TempDir;

/// Creates a temporary directory in the build directory. `TMPDIR` may lie in memory, where a sync does nothing.
pub fn directory_on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
