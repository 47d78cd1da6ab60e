//! Upgrade of format 4: each declaration gets the access of its text.
//!
//! Format 5 differs only in records with several declarations or with edits. These are rewritten in batches. The
//! first batch records the new format and starts the upgrade, and the last batch completes it; each batch contains
//! the current checksum. An interrupted upgrade continues with the records not yet rewritten. The number of the last
//! commit is unchanged, so an older witness recognizes the store by its checksum from before the upgrade.
//!
//! A text gets the narrowest access since it was stored that is still in the log, or else that of its record.

use std::path::Path;

use sled::{Batch, IVec};

use super::{
    database::Database,
    declaration::{Declaration, Declarations},
    held::Held,
    layout::{self, FORMAT_VERSION},
    text_access::TextAccess,
    tree::{Tree, reading},
    value::{Entry, State, StoredRecord, UpgradeState},
};
use crate::{
    Error, Result,
    access::{Access, Visibility},
    change::{ChangeKind, Seq},
};

/// Format before the upgrade.
const FROM: u32 = 4;
/// Size in bytes at which a batch is written.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// True if a tree is one of the format before, or was being upgraded.
pub(super) fn is_due(tree: &Database) -> Result<bool> {
    let version = tree.get(layout::FORMAT_KEY).map_err(reading)?;
    Ok(version.is_some_and(|version| *version == FROM.to_be_bytes())
        || state(tree)?.is_some_and(|state| !state.is_done))
}

/// Returns the state of a tree's upgrade, if it was upgraded.
pub(super) fn state(tree: &Database) -> Result<Option<UpgradeState>> {
    tree.get(layout::UPGRADE_KEY).map_err(reading)?.map(|bytes| UpgradeState::decode(&bytes)).transpose()
}

/// Upgrades a tree to this format. Unreadable data is left unchanged.
pub(super) fn upgrade(directory: &Path, db: &Database) -> Result<()> {
    let tree = Tree::new(db.clone(), Held::new(directory));
    let state = db.get(layout::STATE_KEY).map_err(reading)?;
    let state = state.map_or(Ok(State::default()), |bytes| State::decode(&bytes))?;
    let begun = self::state(db)?;
    if begun.is_none() {
        tracing::info!(
            from = FROM,
            to = FORMAT_VERSION,
            "upgrading the store; older versions can't read it afterwards"
        );
    }
    let begun = begun.unwrap_or(UpgradeState { commit: state.commit, sum: state.sum, is_done: false });
    let mut upgrade = Upgrade { tree: &tree, db, state, batch: Batch::default(), bytes: 0 };
    upgrade.batch.insert(layout::FORMAT_KEY, &FORMAT_VERSION.to_be_bytes());
    upgrade.batch.insert(layout::UPGRADE_KEY, begun.encode());
    upgrade.write()?;
    upgrade.records()?;
    upgrade.batch.insert(layout::UPGRADE_KEY, UpgradeState { is_done: true, ..begun }.encode());
    upgrade.write()?;
    db.flush().map_err(writing)?;
    tracing::info!("the store is upgraded");
    Ok(())
}

struct Upgrade<'t> {
    tree: &'t Tree,
    db: &'t Database,
    state: State,
    batch: Batch,
    bytes: usize,
}

impl Upgrade<'_> {
    /// Writes those records again that are as they were in format 4.
    fn records(&mut self) -> Result<()> {
        for pair in self.tree.pairs(self.db, layout::RECORDS, layout::AFTER_RECORDS) {
            let (key, value) = pair?;
            // A value that can't be decoded is damaged and left as it is, or was upgraded before an interruption.
            let Ok(record) = StoredRecord::decode_format_4(&value) else { continue };
            if record.declarations.is_empty() {
                continue;
            }
            let upgraded = match self.record(&layout::name_of(&key, layout::RECORDS)?, &record) {
                Err(error) if layout::is_corrupt(&error) => continue,
                upgraded => upgraded?,
            };
            self.state.sum.replace(&key, Some(&value), Some(&upgraded));
            self.bytes += key.len() + upgraded.len();
            self.batch.insert(key, upgraded);
            if self.bytes >= BATCH_BYTES {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        self.batch.insert(layout::STATE_KEY, self.state.encode());
        self.bytes = 0;
        self.db.apply_batch(std::mem::take(&mut self.batch)).map_err(writing)
    }

    fn record(&self, id: &str, record: &StoredRecord<'_>) -> Result<IVec> {
        let mut declarations = Declarations::decode_format_4(record.declarations)?;
        let access = record.access()?;
        let accesses = match self.accesses(id, record, &declarations) {
            // What the log says can't be read: nobody but its owner is shown what isn't served.
            Err(error) if layout::is_corrupt(&error) => vec![Some(private(&access).into()); declarations.0.len()],
            accesses => accesses?,
        };
        for (number, (declaration, shown)) in declarations.0.iter_mut().zip(accesses).enumerate() {
            // What is served as it was declared follows the record.
            if number > 0 || (record.edits.is_some() && declaration.text != record.text) {
                let shown = shown.unwrap_or_else(|| access.clone().into());
                declaration.set_access(self.as_of_document(declaration, shown)?, &access);
            }
        }
        let declarations = declarations.encode();
        Ok(StoredRecord { declarations: &declarations, ..*record }.encode())
    }

    /// Returns, for each declared text, the narrowest access in the log since it was stored.
    fn accesses(
        &self,
        id: &str,
        record: &StoredRecord<'_>,
        declarations: &Declarations,
    ) -> Result<Vec<Option<TextAccess>>> {
        let mut accesses: Vec<Option<TextAccess>> = vec![None; declarations.0.len()];
        let (start, end) = (layout::history_key(id, record.life), layout::history_key(id, Seq(u64::MAX)));
        for pair in self.tree.pairs(self.db, &start, &end) {
            let seq = layout::seq_of_key(&pair?.0)?;
            let Some(entry) = self.tree.get(&layout::log_key(seq))? else { continue };
            let entry = Entry::decode(seq, &entry)?;
            let Some(change) = entry.change() else { continue };
            if change.kind == ChangeKind::Deleted {
                accesses.fill(None);
                continue;
            }
            for (shown, declaration) in accesses.iter_mut().zip(&declarations.0) {
                *shown = Some(match shown.take() {
                    _ if seq <= declaration.base => change.access_after.clone().into(),
                    Some(before) => before.narrowed(&change.access_after),
                    None => {
                        let before: &Access = if change.kind == ChangeKind::Created {
                            &change.access_after
                        } else {
                            &change.access_before
                        };
                        TextAccess::from(before.clone()).narrowed(&change.access_after)
                    }
                });
            }
        }
        Ok(accesses)
    }

    /// Returns the access of a text declared by a document: no wider than that of the document. If the document can't
    /// be read, only the owner may read the text.
    fn as_of_document(&self, declaration: &Declaration, shown: TextAccess) -> Result<TextAccess> {
        let Some(document) = declaration.document() else { return Ok(shown) };
        let Some(document) = self.tree.get(&layout::record_key(document))? else { return Ok(shown) };
        let document = StoredRecord::decode(&document).or_else(|_| StoredRecord::decode_format_4(&document));
        let access = match document.and_then(|document| document.access()) {
            Err(error) if layout::is_corrupt(&error) => private(&shown.access),
            access => access?,
        };
        Ok(shown.narrowed(&access))
    }
}

fn private(access: &Access) -> Access {
    Access { visibility: Visibility::Private, ..access.clone() }
}

fn writing(source: sled::Error) -> Error {
    Error::Store { doing: "upgrading", source: source.into() }
}

#[cfg(test)]
mod tests;
