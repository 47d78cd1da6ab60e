//! Permissions of an existing data directory.

use std::path::Path;

/// Logs a warning if other users have access to a data directory, which contains restricted data and hashes of keys.
pub(super) fn warn_of_other_users(directory: &Path) {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(directory) {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777;
        let may = match (mode & 0o055 != 0, mode & 0o022 != 0) {
            (false, false) => return,
            (_, true) => "replace its files",
            (true, false) => "list its files",
        };
        let path = directory.display();
        tracing::warn!("the data directory {path} has the mode {mode:04o}, so other users can {may}; run chmod 700");
    }
}
