//! Resources that the process uses, as far as the system reports them: Linux does.

use std::fs;

/// Returns the maximum number of open file descriptors of the process.
pub(super) fn descriptor_limit() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the number of open file descriptors.
pub(super) fn open_descriptors() -> Option<u64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}

/// Resident memory in bytes.
pub(super) struct Memory {
    /// All resident memory.
    pub resident: u64,
    /// Memory that the process allocated: it belongs to no file.
    pub anonymous: u64,
    /// Pages of files: the program, and the search index as far as it was read. The system reclaims them when it
    /// needs memory.
    pub file: u64,
}

/// The resident memory of the process.
pub(super) fn memory() -> Option<Memory> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some(Memory { resident: bytes("VmRSS:")?, anonymous: bytes("RssAnon:")?, file: bytes("RssFile:")? })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_on_linux() {
        let (limit, open) = (descriptor_limit().unwrap(), open_descriptors().unwrap());
        assert!(limit > open && open > 2, "{open} of {limit}");
        let Memory { resident, anonymous, file } = memory().unwrap();
        assert!(anonymous > 0 && file > 0 && resident >= anonymous + file);
    }
}
