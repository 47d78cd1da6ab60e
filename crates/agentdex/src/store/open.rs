//! Opening: the directory, the lock, the format, and what is loaded into memory.

use std::{
    fs::{self, DirBuilder},
    io,
    path::Path,
    sync::{Arc, OnceLock, atomic::AtomicU64},
    thread,
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{
    audit::Audit,
    damage::Damage,
    expiry::{Expiries, Grace},
    held::Held,
    layout::{self, FORMAT_VERSION},
    local::Local,
    log::{Log, Start},
    namespaces::Namespaces,
    options::Options,
    overlay::Overlay,
    past::Past,
    restricted::Restricted,
    saving::Saving,
    space::Space,
    sync::DataFiles,
    tree::{Tree, reading},
    upgrade,
    value::{Origin, State},
    view::View,
};
use crate::{
    Error, Result,
    change::{Epoch, Timestamp},
};

/// The format of a directory that this program has not written.
const FOREIGN: &str = "of another program";

/// The folder of the tree.
pub(super) const STORE: &str = "store";

/// How long a lock is waited for: a process that is dying holds it a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The unit of sled's log. A page (some sixteen records) over a quarter of it goes to a file of its
/// own, which is slow; sled's own half a megabyte would do that to Things of 8 KB, this to such of 32.
/// A directory keeps the value that it was created with: another one is another format.
const SEGMENT_BYTES: usize = 2 * 1024 * 1024;

/// Opens or creates what is under `directory`.
pub(super) fn open(directory: &Path, options: Options) -> Result<(View, DataFiles, State)> {
    upgrade::finish(directory)?;
    create_directory(directory)?;
    let mut tree = open_tree(directory, &options)?;
    if upgrade::is_due(&tree)? {
        tree = upgrade::upgrade(directory, tree, &options)?;
    }
    upgrade::clean(directory);
    let (epoch, registry_id) = match tree.get(layout::FORMAT_KEY).map_err(reading)? {
        Some(version) => {
            check_version(directory, &version)?;
            identity(&tree)?
        }
        None => initialize(directory, &tree)?,
    };
    let state = tree.get(layout::STATE_KEY).map_err(reading)?;
    let state = state.map_or(Ok(State::default()), |bytes| State::decode(&bytes))?;
    let start = Start::read(&tree, state.last)?;
    let grace = Grace::new(&tree, Timestamp::now());
    let synced = tree.flush().map_err(io::Error::from).and_then(|_| DataFiles::open(&directory.join("store")));
    let files = synced.map_err(|source| Error::Store { doing: "flushing at the start", source: source.into() })?;
    let tree = Arc::new(Tree::new(tree, Held::new(directory)));
    let local = Local::load(&tree)?;
    let (restricted, audit) = (Restricted::load(&tree)?, Audit::load(&tree)?);
    let origin = tree.get(layout::ORIGIN_KEY)?.map(|bytes| Origin::decode(&bytes)).transpose()?;
    let view = View {
        log: Log::new(tree.clone(), epoch, start, state.last),
        expiries: Expiries::new(tree.clone(), grace),
        past: Past::load(&tree)?,
        namespaces: Namespaces::load(&tree)?,
        tree,
        epoch,
        origin,
        restricted,
        audit,
        registry_id,
        options,
        local,
        saving: Saving::default(),
        space: Space::of(directory),
        damage: Damage::default(),
        closed: OnceLock::new(),
        records: AtomicU64::new(state.records),
    };
    Ok((view, files, state))
}

pub(super) fn create_directory(directory: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let failed = |source: io::Error| {
        let what = match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => "using",
            _ => "creating",
        };
        let writable = if what == "using" { ", which has to be writable also where nothing is registered" } else { "" };
        Error::Io { doing: format!("{what} the data directory {}{writable}", directory.display()), source }
    };
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // What holds the descriptions is the owner's alone, also in a directory that was there already.
    for directory in [directory, &directory.join("store")] {
        match builder.create(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
            created => created.map_err(failed)?,
        }
        // What is opened later may be there and not writable.
        #[cfg(unix)]
        rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).map_err(|errno| failed(errno.into()))?;
    }
    Ok(())
}

pub(super) fn open_tree(directory: &Path, options: &Options) -> Result<sled::Db> {
    open_tree_in(directory, STORE, options)
}

/// Opens or creates the tree in a folder of the data directory.
pub(super) fn open_tree_in(directory: &Path, folder: &str, options: &Options) -> Result<sled::Db> {
    let config = sled::Config::new()
        .path(directory.join(folder))
        .cache_capacity(options.cache_bytes)
        .segment_size(SEGMENT_BYTES)
        .flush_every_ms(None);
    let started = Instant::now();
    loop {
        match config.open() {
            Ok(tree) => return Ok(tree),
            Err(error) if !is_lock_error(&error) => {
                return Err(match error {
                    // Another segment size, compression or version of sled: none of ours.
                    sled::Error::Unsupported(_) => unsupported(directory, FOREIGN.into()),
                    error => Error::Store { doing: "opening", source: error.into() },
                });
            }
            Err(_) if started.elapsed() > LOCK_PATIENCE => {
                return Err(Error::StoreInUse { path: directory.into(), by_this_process: Held::is_held(directory) });
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// sled 0.34 tells a lock that is held only in words.
fn is_lock_error(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().contains("could not acquire lock"))
}

fn unsupported(directory: &Path, found: String) -> Error {
    Error::UnsupportedStoreFormat { path: directory.into(), found, supported: FORMAT_VERSION }
}

pub(super) fn check_version(directory: &Path, version: &[u8]) -> Result<()> {
    match version.try_into().map(u32::from_be_bytes) {
        Ok(FORMAT_VERSION) => Ok(()),
        Ok(other) => Err(unsupported(directory, other.to_string())),
        Err(_) => Err(unsupported(directory, format!("{version:?}"))),
    }
}

pub(super) fn identity(tree: &sled::Tree) -> Result<(Epoch, Uuid)> {
    let epoch = tree.get(layout::EPOCH_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    let registry = tree.get(layout::REGISTRY_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    let epoch = epoch.as_ref().try_into().map_err(|_| layout::corrupt())?;
    let registry = Uuid::from_slice(&registry).map_err(|_| layout::corrupt())?;
    Ok((Epoch(u64::from_be_bytes(epoch)), registry))
}

fn initialize(directory: &Path, tree: &sled::Db) -> Result<(Epoch, Uuid)> {
    let foreign = !tree.is_empty() || tree.tree_names().len() > 1;
    if foreign {
        return Err(unsupported(directory, FOREIGN.into()));
    }
    let (epoch, _) = Uuid::new_v4().as_u64_pair();
    let registry_id = Uuid::new_v4();
    let mut overlay = Overlay::new(tree);
    overlay.set(layout::FORMAT_KEY.into(), Some((&FORMAT_VERSION.to_be_bytes()).into()));
    overlay.set(layout::EPOCH_KEY.into(), Some((&epoch.to_be_bytes()).into()));
    overlay.set(layout::REGISTRY_KEY.into(), Some(registry_id.as_bytes().into()));
    let sealed = overlay.seal(State::default())?;
    tree.apply_batch(sealed.batch).map_err(|source| Error::Store { doing: "creating", source: source.into() })?;
    Ok((Epoch(epoch), registry_id))
}
