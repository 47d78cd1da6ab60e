//! Opening a store: its content is compared with the witness before anything is written or served, and then loaded
//! into memory.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use uuid::Uuid;

use super::{
    append_counters::AppendCounters,
    audit::Audit,
    commit_log::{CommitLog, Identity, LastCommit, NewStore, OpenedLog, SharedLog},
    database::Database,
    directory::{FOREIGN, STORE, check_version, create_directory, lock_opening, open_tree, unsupported, wait_for_lock},
    expiry::{Expiries, Grace},
    held::Held,
    inspect::{self, check_end, identity},
    layout::{self, FORMAT_VERSION},
    listeners::Listeners,
    local::Local,
    log::{Log, Start},
    namespaces::Namespaces,
    options::Options,
    overlay::{Overlay, batch_of},
    panics,
    past::Past,
    restricted::Restricted,
    saving::Saving,
    space::Space,
    sum::Sum,
    sync::DataFiles,
    tree::{Tree, reading},
    upgrade, upgrade_in_place,
    value::{Origin, State},
    view::View,
    witness::{self, Seen, Slot, Witness},
};
use crate::{
    Error, Result,
    change::{Epoch, Position, Seq, Timestamp},
};

/// An open store.
pub(super) struct Opened {
    pub view: View,
    pub files: DataFiles,
    pub witness: Witness,
    pub state: State,
    /// Log shared with other stores, if any.
    pub log: Option<Arc<dyn CommitLog>>,
}

/// Opens or creates the store in `directory`. A store that falls short of its witness is not modified.
pub(super) fn open(directory: &Path, options: Options) -> Result<Opened> {
    upgrade::finish(directory)?;
    let is_there = fs::metadata(directory.join(STORE).join("db")).is_ok_and(|file| file.len() > 0);
    let mut opening = None;
    if is_there {
        create_directory(directory)?;
        opening = Some(lock_opening(directory)?);
        wait_for_lock(directory)?;
    }
    let seen = Seen::read(directory).map_err(|source| Error::Io { doing: "reading the witness".into(), source })?;
    if !is_there {
        if let Some(slot) = seen.slot() {
            return Err(witness::behind(directory, slot, 0, Seq::ZERO));
        }
        create_directory(directory)?;
        return load(directory, options, &seen, false, &AtomicBool::default());
    }
    // Without room for what a recovery overwrites nothing is opened: it would be lost if the store is refused.
    let undo = inspect::prepare(directory, &seen).map_err(|source| Error::Io {
        doing: format!("saving the files that the recovery of the store in {} overwrites", directory.display()),
        source,
    })?;
    let is_written = AtomicBool::default();
    let loaded = panics::caught_opening(|| load(directory, options, &seen, true, &is_written));
    let loaded = loaded.unwrap_or_else(|panic| Err(layout::unreadable(panic.into())));
    let loaded = loaded.map_err(|error| as_damage(directory, inspect::damage_of(error, &seen)));
    let undone = match &loaded {
        Ok(_) | Err(Error::StoreInUse { .. }) => undo.forget(),
        // An interrupted upgrade goes on at the next start. Older pages over what it wrote would damage the store.
        Err(_) if is_written.load(Ordering::Relaxed) => undo.forget(),
        Err(_) => undo.put_back(),
    };
    if let Err(error) = undone {
        tracing::warn!(%error, "files saved before the recovery of the store can't be restored or removed");
    }
    drop(opening);
    loaded
}

/// Converts the error of an existing store to an error about damage, if it is that.
fn as_damage(directory: &Path, error: Error) -> Error {
    let is_damage = layout::is_corrupt(&error);
    match error {
        Error::Store { source, .. } if is_damage => {
            Error::StoreDamaged { path: directory.to_owned(), found: format!("its files can't be read ({source})") }
        }
        error => error,
    }
}

fn load(directory: &Path, options: Options, seen: &Seen, is_there: bool, is_written: &AtomicBool) -> Result<Opened> {
    let mut tree = open_tree(directory, &options)?;
    let is_upgraded = upgrade::is_due(&tree)?;
    if is_upgraded {
        tree = upgrade::upgrade(directory, tree, &options)?;
    }
    let (epoch, registry_id) = match tree.get(layout::FORMAT_KEY).map_err(reading)? {
        Some(version) => {
            if !upgrade_in_place::is_due(&tree)? {
                check_version(directory, &version)?;
            }
            identity(&tree)?
        }
        None => initialize(directory, &tree, seen, options.log.as_ref())?,
    };
    let stamp = tree.get(layout::NODE_KEY).map_err(reading)?;
    if stamp.is_some() && options.log.is_none() {
        return Err(Error::ClusterDirectory { path: directory.to_owned() });
    }
    let mut state = read_state(&tree)?;
    let mut slot = Slot::of(epoch, registry_id, &state);
    witness::judge(directory, seen, &slot, upgrade_in_place::state(&tree)?, || Sum::read(&tree))?;
    // A store with a shared log first gets the commits that it lacks.
    if options.log.is_none() {
        check_followed(directory, &options.followed, &slot)?;
    }
    let start = Start::read(&tree, state.last)?;
    check_end(directory, &tree, &state)?;
    // Everything that refuses a store comes before this.
    if upgrade_in_place::is_due(&tree)? {
        is_written.store(true, Ordering::Relaxed);
        upgrade_in_place::upgrade(directory, &tree)?;
        state = read_state(&tree)?;
        slot = Slot::of(epoch, registry_id, &state);
    }
    let mut log = None;
    if let Some(SharedLog(shared)) = &options.log {
        let (identity, stamp) = (Identity { registry: registry_id, epoch }, stamp.as_deref());
        let last = LastCommit { directory, identity, number: state.commit, sum: state.sum.0, stamp };
        let OpenedLog { log: opened, stamp } = shared.open(&last)?;
        if let Some(stamp) = stamp {
            is_written.store(true, Ordering::Relaxed);
            tree.apply_batch(batch_of([(layout::NODE_KEY.into(), Some(stamp))]))
                .map_err(|source| Error::Store { doing: "joining a cluster", source: source.into() })?;
        }
        log = Some(opened);
    }
    let grace = Grace::load(&tree, Timestamp::now(), log.is_some())?;
    let tree = Arc::new(Tree::new(tree, Held::new(directory)));
    let local = Local::load(&tree)?;
    let (restricted, audit) = (Restricted::load(&tree)?, Audit::load(&tree)?);
    let origin = tree.get(layout::ORIGIN_KEY)?.map(|bytes| Origin::decode(&bytes)).transpose()?;
    let is_unwitnessed = is_there && !is_upgraded && seen.slot().is_none();
    if is_unwitnessed {
        tracing::warn!(
            ?seen,
            "the witness of the store is missing, so it is unknown whether the store is complete; a new witness is \
             written"
        );
    }
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
        listeners: Listeners::default(),
        saving: Saving::default(),
        space: Space::of(directory),
        appends: AppendCounters::default(),
        is_unwitnessed,
        was_closed: !is_there || seen.slot().is_some_and(|slot| slot.is_closed),
        closed: OnceLock::new(),
        records: AtomicU64::new(state.records),
        #[cfg(any(test, debug_assertions))]
        observers: Default::default(),
        #[cfg(test)]
        write_fault: Default::default(),
    };
    // From here on it is written.
    upgrade::clean(directory);
    let failed = |source: io::Error| Error::Store { doing: "flushing at startup", source: source.into() };
    view.tree.db()?.flush().map_err(io::Error::from).map_err(failed)?;
    let files = DataFiles::open(&directory.join(STORE)).map_err(failed)?;
    let witness = Witness::open(directory, seen, slot)
        .map_err(|source| Error::Io { doing: "writing the witness of the store".into(), source })?;
    Ok(Opened { view, files, witness, state, log })
}

/// Fails if a follower has seen a later position than the last one of the store.
pub(super) fn check_followed(directory: &Path, followed: &[Position], slot: &Slot) -> Result<()> {
    let ahead = followed.iter().filter(|position| position.epoch == slot.epoch && position.seq > slot.last);
    match ahead.max_by_key(|position| position.seq) {
        Some(position) => {
            let expected = Slot { last: position.seq, ..*slot };
            Err(witness::behind(directory, &expected, slot.commit, slot.last))
        }
        None => Ok(()),
    }
}

fn read_state(tree: &Database) -> Result<State> {
    let state = tree.get(layout::STATE_KEY).map_err(reading)?;
    state.map_or(Ok(State::default()), |bytes| State::decode(&bytes))
}

/// Initializes a new store, with the identity of its shared log, if there is such a log.
fn initialize(directory: &Path, tree: &Database, seen: &Seen, log: Option<&SharedLog>) -> Result<(Epoch, Uuid)> {
    if tree.is_used() {
        return Err(unsupported(directory, FOREIGN.into()));
    }
    if let Some(slot) = seen.slot() {
        return Err(witness::behind(directory, slot, 0, Seq::ZERO));
    }
    let mut overlay = Overlay::new(tree);
    let Identity { registry: registry_id, epoch: Epoch(epoch) } =
        match log.map(|SharedLog(log)| log.identity(directory)).transpose()?.flatten() {
            Some(NewStore { identity, stamp }) => {
                // With its place in the log: it is never a registry of its own.
                overlay.set(layout::NODE_KEY.into(), Some(stamp));
                identity
            }
            None => {
                let (epoch, _) = Uuid::new_v4().as_u64_pair();
                Identity { registry: Uuid::new_v4(), epoch: Epoch(epoch) }
            }
        };
    overlay.set(layout::FORMAT_KEY.into(), Some((&FORMAT_VERSION.to_be_bytes()).into()));
    overlay.set(layout::EPOCH_KEY.into(), Some((&epoch.to_be_bytes()).into()));
    overlay.set(layout::REGISTRY_KEY.into(), Some(registry_id.as_bytes().into()));
    let sealed = overlay.seal(State::default())?;
    tree.apply_batch(batch_of(sealed.pairs))
        .map_err(|source| Error::Store { doing: "creating", source: source.into() })?;
    Ok((Epoch(epoch), registry_id))
}
