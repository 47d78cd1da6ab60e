//! A new store made of what a [`Snapshot`](super::Snapshot) gave.

use std::{fs, io, path::Path};

use sled::{Batch, IVec};
use uuid::Uuid;

use super::{
    directory::{STORE, check_version, create_directory, open_tree},
    layout,
    open::identity,
    options::Options,
    overlay::Overlay,
    sum::Sum,
    sync::DataFiles,
    tree::reading,
    upgrade,
    value::{Origin, OriginKind, State},
    witness::{Seen, Slot, Witness},
};
use crate::{Error, Result};

/// A key and what is under it.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The size in bytes at which a batch is written.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Makes a store in a directory that doesn't exist or is empty, and returns how many records it has. Its life is a new
/// one: positions in the log of the old one mean nothing to it, and followers rebuild what they have.
///
/// # Errors
/// Those of the pairs; [`Error::UnsupportedStoreFormat`] for those of another version, [`Error::Io`] where there is
/// something in the directory, [`Error::Store`].
pub fn restore(directory: &Path, pairs: impl IntoIterator<Item = Result<Pair>>) -> Result<u64> {
    let doing = || format!("restoring into {}", directory.display());
    let failed = |source| Error::Io { doing: doing(), source };
    check_empty(directory).map_err(failed)?;
    create_directory(directory)?;
    let mut tree = open_tree(directory, &Options::default())?;
    let mut filling = Filling::new(&tree);
    for pair in pairs {
        let (key, value) = pair?;
        // Followers of the life before, which would only rebuild what they have.
        if !key.starts_with(layout::POSITIONS) {
            filling.put(key.into(), value.into())?;
        }
    }
    filling.finish()?;
    if upgrade::is_due(&tree)? {
        tree = upgrade::upgrade(directory, tree, &Options::default())?;
    }
    let version = tree.get(layout::FORMAT_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    check_version(directory, &version)?;
    let state = tree.get(layout::STATE_KEY).map_err(reading)?;
    let state = state.map_or(Ok(State::default()), |bytes| State::decode(&bytes))?;
    if Sum::read(&tree)? != state.sum {
        return Err(Error::InvalidBackup { reason: "its records aren't those that were stored".into() });
    }
    let (from, _) = identity(&tree)?;
    let (epoch, _) = Uuid::new_v4().as_u64_pair();
    let mut overlay = Overlay::new(&tree);
    overlay.set(layout::EPOCH_KEY.into(), Some((&epoch.to_be_bytes()).into()));
    overlay.set(
        layout::ORIGIN_KEY.into(),
        Some(Origin { kind: OriginKind::Restored, epoch: from, last: state.last }.encode()),
    );
    seal(directory, &tree, overlay, state)?;
    Ok(state.records)
}

/// Fails where there is something in a directory.
pub(super) fn check_empty(directory: &Path) -> io::Result<()> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "there is something in it; name another")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes the last batch of a store that isn't open, and syncs it with a witness of its own.
pub(super) fn seal(directory: &Path, tree: &sled::Db, overlay: Overlay<'_>, state: State) -> Result<()> {
    let sealed = overlay.seal(state)?;
    tree.apply_batch(sealed.batch).map_err(writing)?;
    tree.flush().map_err(writing)?;
    let failed = |source| Error::Io { doing: format!("syncing {}", directory.display()), source };
    DataFiles::open(&directory.join(STORE)).and_then(|mut files| files.sync()).map_err(failed)?;
    let (epoch, registry) = identity(tree)?;
    Witness::open(directory, &Seen::Missing, Slot::of(epoch, registry, &sealed.state)).map_err(failed)?;
    Ok(())
}

/// A tree that is filled in batches.
pub(super) struct Filling<'t> {
    tree: &'t sled::Db,
    batch: Batch,
    bytes: usize,
    /// The sum of what was put that counts.
    pub sum: Sum,
}

impl<'t> Filling<'t> {
    pub fn new(tree: &'t sled::Db) -> Filling<'t> {
        Filling { tree, batch: Batch::default(), bytes: 0, sum: Sum::default() }
    }

    /// Puts a key that isn't there yet.
    pub fn put(&mut self, key: IVec, value: IVec) -> Result<()> {
        if Sum::counts(&key) {
            self.sum.replace(&key, None, Some(&value));
        }
        self.bytes += key.len() + value.len();
        self.batch.insert(key, value);
        if self.bytes < BATCH_BYTES {
            return Ok(());
        }
        self.bytes = 0;
        self.tree.apply_batch(std::mem::take(&mut self.batch)).map_err(writing)
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<Sum> {
        self.tree.apply_batch(self.batch).map_err(writing)?;
        Ok(self.sum)
    }
}

fn writing(source: sled::Error) -> Error {
    Error::Store { doing: "writing a store", source: source.into() }
}
