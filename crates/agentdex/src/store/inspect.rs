//! Inspection of a copy of a store: all readable data is checked for consistency and compared with the witness.

use std::{fs, io, path::Path};

use uuid::Uuid;

use super::{
    check::{self, Checked, Fault},
    copy::CopiedDirectory,
    database::Database,
    directory::{FOREIGN, STORE, check_version, open_tree},
    held::Held,
    layout,
    options::Options,
    panics,
    recovery::Undo,
    sum::Sum,
    tear,
    tree::{Tree, guarded, reading},
    upgrade, upgrade_in_place,
    value::{Entry, State},
    witness::{self, Seen, Slot},
};
use crate::{
    Error, Result,
    change::{Epoch, Seq},
};

/// Result of an inspection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Numbers of readable records and changes, and faults.
    pub checked: Checked,
    /// Overall verdict.
    pub verdict: Verdict,
}

/// Verdict on a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The store is complete.
    InOrder,
    /// Some data is lost; all losses are listed as faults. The registry can be opened.
    Damaged,
    /// The registry refuses to open the store.
    Refused,
    /// The store is older than its last recorded state. The registry refuses to open it.
    Behind {
        /// Number of missing commits.
        commits: u64,
        /// Last position found in the store.
        found: Seq,
        /// Last position recorded in the file `witness` beside the store.
        expected: Seq,
    },
}

/// Inspects a copy of a data directory.
///
/// # Errors
/// [`Error::UnsupportedStoreFormat`], [`Error::Io`].
pub fn inspect(copy: &CopiedDirectory) -> Result<Inspection> {
    let (directory, seen) = (copy.path(), seen(copy)?);
    let failed = |source| Error::Io { doing: "preparing a copy of the store".into(), source };
    prepare(directory, &seen).and_then(Undo::forget).map_err(failed)?;
    let inspected = read(directory, |tree| {
        let checked = check_all(tree)?;
        Ok((judge(directory, tree, &seen), checked))
    });
    let (judged, mut checked) = match inspected {
        Ok(inspected) => inspected,
        Err(error) => match damage_of(error, &seen) {
            error if layout::is_corrupt(&error) => (Err(error), Checked::default()),
            error => return Err(error),
        },
    };
    let message = match judged {
        Ok(()) if checked.faults.is_empty() => return Ok(Inspection { checked, verdict: Verdict::InOrder }),
        Ok(()) => return Ok(Inspection { checked, verdict: Verdict::Damaged }),
        Err(Error::StoreBehind { commits, found, expected, .. }) => {
            return Ok(Inspection { checked, verdict: Verdict::Behind { commits, found, expected } });
        }
        Err(Error::StoreDamaged { found, .. }) => found,
        Err(error) => format!("its files can't be read ({})", cause(&error)),
    };
    checked.faults.insert(0, Fault { place: "the store".into(), message });
    Ok(Inspection { checked, verdict: Verdict::Refused })
}

/// Opens and reads the tree of a copy, ignoring its witness. Panics of sled about damaged files become errors.
pub(super) fn read<T>(directory: &Path, read: impl FnOnce(&Tree) -> Result<T>) -> Result<T> {
    let outcome = panics::caught_opening(|| read(&open(directory)?));
    outcome.unwrap_or_else(|panic| Err(layout::unreadable(panic.into())))
}

/// Preserves data that the recovery of a store would overwrite, and removes torn writes after a power failure from
/// its log. The store must not be open.
pub(super) fn prepare(directory: &Path, seen: &Seen) -> io::Result<Undo> {
    let is_whole = |copy: &Path| {
        let checked = read(copy, |tree| {
            judge(copy, tree, seen)?;
            // What lies behind the first fault doesn't matter, and is costly to find.
            tree.damage.search_no_more();
            check_all(tree)
        });
        checked.is_ok_and(|checked| checked.faults.is_empty())
    };
    tear::prepare(directory, seen, is_whole)
}

/// The error of opening a store, as damage if it has a witness and yet seems to be that of another program.
pub(super) fn damage_of(error: Error, seen: &Seen) -> Error {
    match error {
        Error::UnsupportedStoreFormat { found, .. } if found == FOREIGN && seen.slot().is_some() => {
            layout::unreadable("its file `store/conf` was not written by this program".into())
        }
        error => error,
    }
}

pub(super) fn check_all(tree: &Tree) -> Result<Checked> {
    let db = tree.db()?;
    check::check(tree.pairs(&db, &[], layout::AFTER_ALL), || tree.damage.gaps())
}

/// Returns the cause of an error, without the failed operation.
pub(super) fn cause(error: &Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The witness of a copy.
pub(super) fn seen(copy: &CopiedDirectory) -> Result<Seen> {
    Seen::read(copy.path()).map_err(|source| Error::Io { doing: "reading the witness".into(), source })
}

/// Opens the tree of a copy, ignoring its witness.
pub(super) fn open(directory: &Path) -> Result<Tree> {
    let options = Options::default();
    // It would be made.
    if !fs::metadata(directory.join(STORE).join("db")).is_ok_and(|file| file.len() > 0) {
        return Err(layout::unreadable("its file `store/db` is missing or empty".into()));
    }
    let mut db = open_tree(directory, &options)?;
    if upgrade::is_due(&db)? {
        db = upgrade::upgrade(directory, db, &options)?;
    }
    if upgrade_in_place::is_due(&db)? {
        upgrade_in_place::upgrade(directory, &db)?;
    }
    let version = guarded(|| db.get(layout::FORMAT_KEY))?.ok_or_else(layout::corrupt)?;
    check_version(directory, &version)?;
    Ok(Tree::new(db, Held::new(directory)))
}

/// Compares a tree with its witness.
pub(super) fn judge(directory: &Path, tree: &Tree, seen: &Seen) -> Result<()> {
    let db = tree.db()?;
    let (epoch, registry) = identity(&db)?;
    let state = State::decode(&tree.get(layout::STATE_KEY)?.ok_or_else(layout::corrupt)?)?;
    let sum = || panics::caught(|| Sum::read(&db)).unwrap_or_else(|panic| Err(layout::unreadable(panic.into())));
    witness::judge(directory, seen, &Slot::of(epoch, registry, &state), upgrade_in_place::state(&db)?, sum)?;
    check_end(directory, &db, &state)
}

/// Fails if the log doesn't end as recorded in the state of the store.
pub(super) fn check_end(directory: &Path, tree: &Database, state: &State) -> Result<()> {
    let last = tree.get(layout::log_key(state.last)).map_err(reading)?;
    match last.map(|entry| Entry::decode(state.last, &entry)) {
        Some(Ok(_)) => Ok(()),
        None if state.entries == 0 => Ok(()),
        _ => {
            let found = format!("its last change, {}, is missing", state.last);
            Err(Error::StoreDamaged { path: directory.to_owned(), found })
        }
    }
}

pub(super) fn identity(tree: &Database) -> Result<(Epoch, Uuid)> {
    let epoch = tree.get(layout::EPOCH_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    let registry = tree.get(layout::REGISTRY_KEY).map_err(reading)?.ok_or_else(layout::corrupt)?;
    let epoch = epoch.as_ref().try_into().map_err(|_| layout::corrupt())?;
    let registry = Uuid::from_slice(&registry).map_err(|_| layout::corrupt())?;
    Ok((Epoch(u64::from_be_bytes(epoch)), registry))
}
