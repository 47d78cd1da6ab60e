//! A new store made of what a [`Snapshot`](super::Snapshot) gave.

use std::{fs, io, path::Path};

use sled::Batch;
use uuid::Uuid;

use super::{
    directory::{STORE, check_version, create_directory, open_tree},
    layout,
    open::identity,
    options::Options,
    overlay::Overlay,
    sync::DataFiles,
    tree::reading,
    upgrade,
    value::{Origin, State},
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
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => {
            let source = io::Error::new(io::ErrorKind::DirectoryNotEmpty, "there is something in it; name another");
            return Err(failed(source));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    create_directory(directory)?;
    let mut tree = open_tree(directory, &Options::default())?;
    let writing = |source: sled::Error| Error::Store { doing: "writing a restored store", source: source.into() };
    let (mut batch, mut bytes) = (Batch::default(), 0);
    for pair in pairs {
        let (key, value) = pair?;
        // Followers of the life before, which would only rebuild what they have.
        if key.starts_with(layout::POSITIONS) {
            continue;
        }
        bytes += key.len() + value.len();
        batch.insert(key, value);
        if bytes >= BATCH_BYTES {
            tree.apply_batch(std::mem::take(&mut batch)).map_err(writing)?;
            bytes = 0;
        }
    }
    tree.apply_batch(batch).map_err(writing)?;
    if upgrade::is_due(&tree)? {
        tree = upgrade::upgrade(directory, tree, &Options::default())?;
    }
    let version = tree.get(layout::FORMAT_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    check_version(directory, &version)?;
    let state = tree.get(layout::STATE_KEY).map_err(reading)?;
    let state = state.map_or(Ok(State::default()), |bytes| State::decode(&bytes))?;
    let (from, _) = identity(&tree)?;
    let (epoch, _) = Uuid::new_v4().as_u64_pair();
    let mut overlay = Overlay::new(&tree);
    overlay.set(layout::EPOCH_KEY.into(), Some((&epoch.to_be_bytes()).into()));
    overlay.set(layout::ORIGIN_KEY.into(), Some(Origin { epoch: from, last: state.last }.encode()));
    let sealed = overlay.seal(state)?;
    tree.apply_batch(sealed.batch).map_err(writing)?;
    tree.flush().map_err(writing)?;
    DataFiles::open(&directory.join(STORE)).and_then(|mut files| files.sync()).map_err(failed)?;
    Ok(state.records)
}
