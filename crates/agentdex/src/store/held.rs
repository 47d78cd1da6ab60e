//! `Held`: the data directories opened by this process, so that a second open can report it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A directory marked as opened by this process until this is dropped.
#[derive(Debug)]
pub(super) struct Held(Option<PathBuf>);

impl Held {
    /// Marks an existing directory as open.
    pub fn new(directory: &Path) -> Held {
        let directory = resolved(directory);
        held().insert(directory.clone());
        Held(Some(directory))
    }

    /// Leaves the directory marked as open until the process ends.
    pub fn keep(&mut self) {
        self.0 = None;
    }

    /// True if this process has the directory open.
    pub fn is_held(directory: &Path) -> bool {
        held().contains(&resolved(directory))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(directory) = &self.0 {
            held().remove(directory);
        }
    }
}

fn held() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the canonical path of a directory.
fn resolved(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}
