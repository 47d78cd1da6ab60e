//! Temporary directories for tests of the disk.

use std::{path::Path, process::Command};

use tempfile::TempDir;

use super::{eventually, skipped};

/// Creates a temporary directory in the build directory. `TMPDIR` may lie in memory, where a sync does nothing.
pub fn directory_on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A file system in memory.
pub struct SmallDisk {
    directory: TempDir,
    mebibytes: u32,
}

impl SmallDisk {
    /// Mounts a file system of this size. Returns `None` if this process may not mount one.
    pub fn mount(mebibytes: u32) -> Option<SmallDisk> {
        let disk = SmallDisk { directory: tempfile::tempdir().unwrap(), mebibytes };
        let is_mounted = disk.run(&format!("size={mebibytes}m"));
        if !is_mounted {
            skipped("tmpfs", "root, who may mount a file system in memory");
        }
        is_mounted.then_some(disk)
    }

    /// Changes the size.
    pub fn grow(&self, mebibytes: u32) {
        assert!(self.run(&format!("remount,size={mebibytes}m")));
    }

    /// Takes away nearly all free space, until [`SmallDisk::empty`]. A program that keeps a reserve refuses all writes,
    /// but can complete those that have begun.
    pub fn fill(&self) {
        eventually("the disk is full", || {
            let system = rustix::fs::statvfs(self.path()).unwrap();
            let used = (system.f_blocks - system.f_bfree) * system.f_frsize;
            // If more has been written meanwhile, this fails.
            self.run(&format!("remount,size={}", used + used / 64))
        });
    }

    /// Restores the original size.
    pub fn empty(&self) {
        self.grow(self.mebibytes);
    }

    /// Mounts it with these options. Returns true if that has succeeded.
    pub fn run(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(self.path());
        mount.output().is_ok_and(|output| output.status.success())
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
