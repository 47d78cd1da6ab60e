//! What the process uses of the machine, as far as the system tells: Linux does.

use std::fs;

/// How many file descriptors the process may open.
pub(super) fn descriptor_limit() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many file descriptors are open.
pub(super) fn open_descriptors() -> Option<u64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}

/// How many bytes of memory are resident, and how many of these belong to no file.
pub(super) fn resident_bytes() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some((kilobytes("VmRSS:")? * 1024, kilobytes("RssAnon:")? * 1024))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_on_linux() {
        let (limit, open) = (descriptor_limit().unwrap(), open_descriptors().unwrap());
        assert!(limit > open && open > 2, "{open} of {limit}");
        let (resident, anonymous) = resident_bytes().unwrap();
        assert!(resident > anonymous && anonymous > 0);
    }
}
