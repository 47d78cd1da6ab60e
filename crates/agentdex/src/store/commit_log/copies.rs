//! `Copies`: directories of stores with the same content, and logs that they open.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;

use super::{CommitLog, LastCommit, NewStore, OpenLog, OpenedLog, SharedLog};
use crate::{
    Result,
    store::{CopiedDirectory, Options, Store},
};

pub struct Copies {
    root: TempDir,
    /// Number of the last commit of each store.
    pub last: u64,
    _copies: Vec<CopiedDirectory>,
}

impl Copies {
    pub fn new(count: usize) -> Copies {
        let root = tempfile::tempdir().unwrap();
        let path = |number: usize| root.path().join(number.to_string());
        let first = Store::open(&path(0), Options::default()).unwrap();
        let last = first.handle.committer.number();
        first.close();
        let copies = (1..count).map(|number| CopiedDirectory::of_store(&path(0), path(number)).unwrap()).collect();
        Copies { root, last, _copies: copies }
    }

    pub fn path(&self, number: usize) -> PathBuf {
        self.root.path().join(number.to_string())
    }
}

/// Log opened before its store.
struct Ready(Arc<dyn CommitLog>);

impl OpenLog for Ready {
    fn identity(&self, _directory: &Path) -> Result<Option<NewStore>> {
        Ok(None)
    }

    fn open(&self, _store: &LastCommit<'_>) -> Result<OpenedLog> {
        Ok(OpenedLog { log: self.0.clone(), stamp: None })
    }
}

impl SharedLog {
    /// Wraps a log that is open already.
    pub fn ready(log: impl CommitLog + 'static) -> SharedLog {
        SharedLog(Arc::new(Ready(Arc::new(log))))
    }
}
