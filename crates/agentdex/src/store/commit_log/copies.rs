//! `Copies`: directories of stores with the same content.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::{
    change::Epoch,
    store::{CopiedDirectory, Options, Store},
};

pub struct Copies {
    root: TempDir,
    /// Number of the last commit of each store.
    pub last: u64,
    pub epoch: Epoch,
    _copies: Vec<CopiedDirectory>,
}

impl Copies {
    pub fn new(count: usize) -> Copies {
        let root = tempfile::tempdir().unwrap();
        let path = |number: usize| root.path().join(number.to_string());
        let first = Store::open(&path(0), Options::default()).unwrap();
        let (last, epoch) = (first.handle.committer.number(), first.epoch());
        first.close();
        let copies = (1..count).map(|number| CopiedDirectory::of_store(&path(0), path(number)).unwrap()).collect();
        Copies { root, last, epoch, _copies: copies }
    }

    pub fn path(&self, number: usize) -> PathBuf {
        self.root.path().join(number.to_string())
    }
}
