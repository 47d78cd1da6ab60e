//! Creation of a store from the content of a [`Snapshot`](super::Snapshot).

use std::{fs, io, path::Path};

use sled::{Batch, IVec};
use uuid::Uuid;

use super::{
    database::Database,
    directory::{STORE, check_version, create_directory, open_tree},
    inspect::identity,
    layout,
    options::Options,
    overlay::{Overlay, batch_of},
    sum::Sum,
    sync::DataFiles,
    tree::reading,
    upgrade, upgrade_in_place,
    value::{Origin, OriginKind, State, StoredRecord},
    witness::{Seen, Slot, Witness},
};
use crate::{
    Error, Result,
    access::Visibility,
    change::{Epoch, Seq},
};

/// A key with its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Content of a restored store.
#[derive(Debug)]
pub struct RestoredContent {
    /// Number of records.
    pub records: u64,
    /// End of the log.
    pub last: Seq,
    /// Epoch of the original store.
    pub epoch: Epoch,
    /// UUID of the registry.
    pub registry: Uuid,
    /// Stored API keys, including omitted keys.
    pub keys: Vec<Vec<u8>>,
    /// Number of records visible only to their owner and admins.
    pub private: u64,
    /// Number of records visible only to members of a namespace.
    pub in_namespaces: u64,
}

/// Size in bytes at which a batch is written.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Purpose of a restored store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A registry of its own. It has a new epoch: positions in the original log are meaningless to it.
    Registry,
    /// A registry of its own, without the API keys.
    RegistryWithoutKeys,
    /// A further node of the original store's cluster.
    Node,
}

/// Creates a store from the pairs of a backup, in an empty or missing directory. The search index and other followers
/// of the log aren't included; they are rebuilt later.
///
/// # Errors
/// Errors returned by `pairs`; [`Error::UnsupportedStoreFormat`] for another format of the store;
/// [`Error::InvalidBackup`] for a wrong checksum, or if [`Purpose::Node`] requires the backup of a node;
/// [`Error::Io`] if the directory is not empty; [`Error::Store`].
pub fn restore(
    directory: &Path,
    pairs: impl IntoIterator<Item = Result<Pair>>,
    purpose: Purpose,
) -> Result<RestoredContent> {
    let doing = || format!("restoring into {}", directory.display());
    let failed = |source| Error::Io { doing: doing(), source };
    check_empty(directory).map_err(failed)?;
    create_directory(directory)?;
    let mut tree = open_tree(directory, &Options::default())?;
    let mut filling = Filling::new(&tree);
    for pair in pairs {
        let (key, value) = pair?;
        if !is_omitted(&key, purpose) {
            filling.put(key.into(), value.into())?;
        }
    }
    filling.finish()?;
    if purpose == Purpose::Node && tree.get(layout::NODE_KEY).map_err(reading)?.is_none() {
        return Err(Error::InvalidBackup { reason: "it is not the backup of a node of a cluster".into() });
    }
    if upgrade::is_due(&tree)? {
        tree = upgrade::upgrade(directory, tree, &Options::default())?;
    }
    if upgrade_in_place::is_due(&tree)? {
        upgrade_in_place::upgrade(directory, &tree)?;
    }
    let version = tree.get(layout::FORMAT_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    check_version(directory, &version)?;
    let state = tree.get(layout::STATE_KEY).map_err(reading)?;
    let state = state.map_or(Ok(State::default()), |bytes| State::decode(&bytes))?;
    if Sum::read(&tree)? != state.sum {
        return Err(Error::InvalidBackup { reason: "its records don't match their checksum".into() });
    }
    let (from, registry) = identity(&tree)?;
    let mut overlay = Overlay::new(&tree);
    if purpose != Purpose::Node {
        let (epoch, _) = Uuid::new_v4().as_u64_pair();
        overlay.set(layout::EPOCH_KEY.into(), Some((&epoch.to_be_bytes()).into()));
        let origin = Origin { kind: OriginKind::Restored, epoch: from, last: state.last };
        overlay.set(layout::ORIGIN_KEY.into(), Some(origin.encode()));
    }
    let mut keys = Vec::new();
    for pair in tree.scan_prefix(layout::KEYS) {
        let (key, value) = pair.map_err(reading)?;
        keys.push(value.to_vec());
        if purpose == Purpose::RegistryWithoutKeys {
            overlay.set(key, None);
        }
    }
    let (private, in_namespaces) = count_restricted(&tree)?;
    match purpose {
        // A node has the commits of the others, and none of its own.
        Purpose::Node => sync(directory, &tree, &state)?,
        Purpose::Registry | Purpose::RegistryWithoutKeys => seal(directory, &tree, overlay, state)?,
    }
    Ok(RestoredContent {
        records: state.records,
        last: state.last,
        epoch: from,
        registry,
        keys,
        private,
        in_namespaces,
    })
}

/// True for a pair of the original store that a restored store doesn't get.
fn is_omitted(key: &[u8], purpose: Purpose) -> bool {
    // Its followers would only rebuild their data.
    let is_position = key.starts_with(layout::POSITIONS);
    is_position
        || match purpose {
            Purpose::Node => key.starts_with(layout::SESSIONS),
            // Its data about its cluster.
            Purpose::Registry | Purpose::RegistryWithoutKeys => {
                [layout::NODE_KEY, layout::GRACE_KEY, layout::DIGESTS_KEY].contains(&key)
            }
        }
}

/// Counts the records visible only to their owner, and those visible to the members of a namespace.
fn count_restricted(tree: &Database) -> Result<(u64, u64)> {
    let (mut private, mut in_namespaces) = (0, 0);
    for pair in tree.scan_prefix(layout::RECORDS) {
        let (_, record) = pair.map_err(reading)?;
        match StoredRecord::decode(&record)?.access()?.visibility {
            Visibility::Public => {}
            Visibility::Namespace => in_namespaces += 1,
            Visibility::Private => private += 1,
        }
    }
    Ok((private, in_namespaces))
}

/// Fails if a directory is not empty.
pub(super) fn check_empty(directory: &Path) -> io::Result<()> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(io::Error::new(
            io::ErrorKind::DirectoryNotEmpty,
            "the directory is not empty; choose another directory",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes the last batch of a store that isn't open, and syncs it with a witness of its own.
pub(super) fn seal(directory: &Path, tree: &Database, overlay: Overlay<'_>, state: State) -> Result<()> {
    let sealed = overlay.seal(state)?;
    tree.apply_batch(batch_of(sealed.pairs)).map_err(writing)?;
    sync(directory, tree, &sealed.state)
}

/// Syncs a store that isn't open, with a witness of its own.
fn sync(directory: &Path, tree: &Database, state: &State) -> Result<()> {
    tree.flush().map_err(writing)?;
    let failed = |source| Error::Io { doing: format!("syncing {}", directory.display()), source };
    DataFiles::open(&directory.join(STORE)).and_then(|mut files| files.sync()).map_err(failed)?;
    let (epoch, registry) = identity(tree)?;
    Witness::open(directory, &Seen::Missing, Slot::of(epoch, registry, state)).map_err(failed)?;
    Ok(())
}

/// A tree being filled in batches.
pub(super) struct Filling<'t> {
    tree: &'t Database,
    batch: Batch,
    bytes: usize,
    /// Checksum over the keys selected by [`Sum::counts`].
    pub sum: Sum,
}

impl<'t> Filling<'t> {
    pub fn new(tree: &'t Database) -> Filling<'t> {
        Filling { tree, batch: Batch::default(), bytes: 0, sum: Sum::default() }
    }

    /// Adds a new key.
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

    /// Writes the remaining keys.
    pub fn finish(self) -> Result<Sum> {
        self.tree.apply_batch(self.batch).map_err(writing)?;
        Ok(self.sum)
    }
}

fn writing(source: sled::Error) -> Error {
    Error::Store { doing: "writing a store", source: source.into() }
}
