//! Opening: the format, and what is loaded into memory.

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock, atomic::AtomicU64},
};

use uuid::Uuid;

use super::{
    audit::Audit,
    damage::Damage,
    directory::{FOREIGN, STORE, check_version, create_directory, open_tree, unsupported},
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
    let synced = tree.flush().map_err(io::Error::from).and_then(|_| DataFiles::open(&directory.join(STORE)));
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
