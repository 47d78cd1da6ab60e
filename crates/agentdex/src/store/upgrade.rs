//! Upgrade of a store of format 3 to [`FORMAT_VERSION`].
//!
//! A second tree is written beside the first, and replaces it once it is synced, so an interruption at any time
//! leaves one of them intact. Epoch and positions are unchanged. The only way back is an earlier backup.
//!
//! Information missing in format 3 is filled in as specified in DESIGN: a life starts with the latest creation in the
//! log; namespaces are numbered in order of their names; an access that may be older than the claim of its namespace
//! gets the number of a namespace without members, so only the owner of the Thing and admins see it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, File},
    io,
    path::Path,
};

use agentdex_api::ClaimedNamespace;
use sled::{Batch, IVec};

use super::{
    database::Database,
    declaration::{Declaration, Declarations, Declarer},
    directory::{STORE, open_tree, open_tree_in},
    layout::{self, FORMAT_VERSION, corrupt},
    namespaces::{Interval, NamespaceRecord},
    options::Options,
    space::Space,
    sum::{Digest, Sum},
    sync::DataFiles,
    tree::reading,
    value::{self, Body, ChangeEntry, Content, Entry, Reader, State, StoredRecord},
    write::Expiry,
};
use crate::{
    Error, Result,
    access::{Access, Namespace, NamespaceNumber, Owner, Visibility},
    change::{ChangeKind, DeletionReason, Seq, Timestamp},
};

/// Format before the upgrade.
const FROM: u32 = 3;
/// The folder of the tree while it is made.
const MADE: &str = "store.upgrade";
/// Folder of the previous store, if two folders can't be exchanged atomically.
const BEFORE: &str = "store.format-3";
/// The member of the Thing of a part, in texts of format 3, with the id of the Thing of the document.
const PART_OF: &str = "agentdex:partOf";
/// Size in bytes at which a batch is written.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// True if a tree is one of the format before.
pub(super) fn is_due(tree: &Database) -> Result<bool> {
    let version = tree.get(layout::FORMAT_KEY).map_err(reading)?;
    Ok(version.is_some_and(|version| *version == FROM.to_be_bytes()))
}

/// Finishes an upgrade that ended between its two last steps.
pub(super) fn finish(directory: &Path) -> Result<()> {
    let (store, made, before) = (directory.join(STORE), directory.join(MADE), directory.join(BEFORE));
    if before.exists() && made.exists() && !store.exists() {
        fs::rename(made, store).map_err(failed)?;
        sync_directory(directory).map_err(failed)?;
    }
    Ok(())
}

/// Makes the tree of a directory one of this format.
pub(super) fn upgrade(directory: &Path, old: Database, options: &Options) -> Result<Database> {
    let needed = old.size_on_disk().map_err(reading)?;
    if let Some(free) = Space::of(directory).free().filter(|free| *free < needed) {
        return Err(Error::DiskFull { path: directory.to_owned(), free, needed });
    }
    tracing::info!(from = FROM, to = FORMAT_VERSION, "upgrading the store; older versions can't read it afterwards");
    remove(&directory.join(MADE)).map_err(failed)?;
    let new = open_tree_in(directory, MADE, options)?;
    Upgrade::new(&old)?.write(&new)?;
    new.flush().map_err(writing)?;
    DataFiles::open(&directory.join(MADE)).and_then(|mut files| files.sync()).map_err(failed)?;
    drop((old, new));
    replace(directory).map_err(failed)?;
    tracing::info!("the store is upgraded");
    open_tree(directory, options)
}

/// Removes leftovers of an upgrade. The caller must hold the lock of the store.
pub(super) fn clean(directory: &Path) {
    for folder in [MADE, BEFORE] {
        if let Err(error) = remove(&directory.join(folder)) {
            tracing::warn!(%error, folder, "leftovers of an upgrade can't be removed");
        }
    }
}

/// Replaces the old tree by the new one.
fn replace(directory: &Path) -> io::Result<()> {
    let (store, made, before) = (directory.join(STORE), directory.join(MADE), directory.join(BEFORE));
    let exchange = rustix::fs::RenameFlags::EXCHANGE;
    if rustix::fs::renameat_with(rustix::fs::CWD, &made, rustix::fs::CWD, &store, exchange).is_err() {
        // Not every file system exchanges two folders.
        remove(&before)?;
        fs::rename(&store, &before)?;
        fs::rename(&made, &store)?;
    }
    sync_directory(directory)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn failed(source: io::Error) -> Error {
    Error::Io { doing: "upgrading the store".into(), source }
}

fn writing(source: sled::Error) -> Error {
    Error::Store { doing: "upgrading", source: source.into() }
}

/// The state of an id in the log, as far as it was read.
struct Known {
    /// Position of the creation of its present life; 0 if it is not in the log.
    life: Seq,
    access: Access,
    /// Last entry in which the Thing was restricted.
    restricted: Option<Seq>,
}

/// Content of the old tree, as it is converted to the new one.
struct Upgrade<'o> {
    old: &'o Database,
    claimed: BTreeMap<Namespace, (NamespaceNumber, Timestamp)>,
    namespaces: BTreeMap<NamespaceNumber, NamespaceRecord>,
    /// Numbers of namespaces named only in accesses.
    unclaimed: BTreeMap<Namespace, NamespaceNumber>,
    ids: HashMap<String, Known>,
    /// Documents of records whose texts declare them as parts, by the positions of the texts; `None` if the
    /// document's Thing doesn't exist or has another owner.
    parts: BTreeMap<Seq, Option<String>>,
    /// The ids of parts by document.
    documents: BTreeMap<String, Vec<String>>,
    /// The expiries of parts, which are those of their documents.
    expiries: BTreeMap<String, Expiry>,
    state: State,
    batch: Batch,
    bytes: usize,
}

impl<'o> Upgrade<'o> {
    fn new(old: &'o Database) -> Result<Upgrade<'o>> {
        let state = old.get(layout::STATE_KEY).map_err(reading)?;
        let state = state.map_or(Ok(State::default()), |bytes| state_of(&bytes))?;
        let (claimed, namespaces, unclaimed, ids, batch) = Default::default();
        let (parts, documents, expiries) = Default::default();
        let mut upgrade =
            Upgrade { old, claimed, namespaces, unclaimed, ids, parts, documents, expiries, state, batch, bytes: 0 };
        for pair in old.scan_prefix(layout::NAMESPACES) {
            let (_, value) = pair.map_err(reading)?;
            let claimed: ClaimedNamespace = serde_json::from_slice(&value).map_err(|_| corrupt())?;
            let number =
                upgrade.number(&claimed.name, claimed.created, Some(claimed.owner), claimed.proof, claimed.members);
            upgrade.claimed.insert(claimed.name, (number, claimed.created));
        }
        upgrade.find_parts()?;
        Ok(upgrade)
    }

    /// Finds the records whose texts declare them as parts of a document.
    fn find_parts(&mut self) -> Result<()> {
        for pair in self.old.scan_prefix(layout::RECORDS) {
            let (key, value) = pair.map_err(reading)?;
            let record = old_record(&value)?;
            let Some(stored) = self.old.get(layout::text_key(record.seq)).map_err(reading)? else { continue };
            let text = value::text(&stored)?;
            if !text.contains(PART_OF) {
                continue;
            }
            let thing: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(text).map_err(|_| corrupt())?;
            let Some(document) = thing.get(PART_OF).and_then(serde_json::Value::as_str) else { continue };
            let whole = self.old.get(layout::record_key(document)).map_err(reading)?;
            let owner = |record: &StoredRecord<'_>| Ok::<_, Error>(old_access(record.access)?.owner);
            let is_its = match &whole {
                Some(whole) => owner(&old_record(whole)?)? == owner(&record)?,
                None => false,
            };
            let document = is_its.then(|| document.to_owned());
            if let Some(document) = &document {
                let id = layout::name_of(&key, layout::RECORDS)?;
                let expiry = self.old.get(layout::expiry_key(document)).map_err(reading)?;
                let expiry = expiry.map_or(Ok(Expiry::default()), |expiry| value::decode_expiry(&expiry))?;
                self.expiries.insert(id.clone(), expiry);
                self.documents.entry(document.clone()).or_default().push(id);
            }
            self.parts.insert(record.seq, document);
        }
        Ok(())
    }

    /// Gives a namespace a number.
    fn number(
        &mut self,
        name: &Namespace,
        created: Timestamp,
        owner: Option<Owner>,
        proof: Option<String>,
        others: BTreeSet<Owner>,
    ) -> NamespaceNumber {
        self.state.namespaces += 1;
        let (number, since) = (NamespaceNumber(self.state.namespaces), Interval { since: Seq::ZERO, until: None });
        let given_up = owner.is_none().then_some(Seq::ZERO);
        let members = others.into_iter().chain(owner.clone()).map(|owner| (owner, vec![since])).collect();
        let record = NamespaceRecord { name: name.clone(), owner, created, proof, given_up, members };
        self.namespaces.insert(number, record);
        number
    }

    /// Converts an access of format 3 that was given at `earliest` or later.
    fn access(&mut self, mut access: Access, earliest: Timestamp) -> Access {
        let Some(name) = &access.namespace else { return access };
        let claimed = self.claimed.get(name).filter(|(_, created)| earliest >= *created).map(|(number, _)| *number);
        let number = match claimed.or_else(|| self.unclaimed.get(name).copied()) {
            Some(number) => number,
            None => {
                let number = self.number(name, Timestamp(0), None, None, BTreeSet::new());
                self.unclaimed.insert(name.clone(), number);
                number
            }
        };
        access.number = Some(number);
        access
    }

    fn write(mut self, new: &Database) -> Result<()> {
        for pair in self.old.scan_prefix(layout::LOG) {
            let (key, value) = pair.map_err(reading)?;
            let entry = self.entry(layout::seq_of_key(&key)?, &value)?;
            self.state.entries += 1;
            self.put(new, key, entry.encode())?;
        }
        for pair in self.old.iter() {
            let (key, value) = pair.map_err(reading)?;
            let value = match key.get(..2) {
                Some(layout::LOG | layout::RESTRICTED) => continue,
                _ if key.starts_with(layout::NAMESPACES) => continue,
                _ if key == layout::STATE_KEY || key == layout::FORMAT_KEY => continue,
                Some(layout::EXPIRIES) if self.expiries.contains_key(&layout::name_of(&key, layout::EXPIRIES)?) => {
                    continue;
                }
                Some(layout::DUE) if self.expiries.contains_key(layout::id_of_due_key(&key)?) => continue,
                Some(layout::RECORDS) => self.record(&layout::name_of(&key, layout::RECORDS)?, &value)?,
                Some(layout::TEXTS) if self.parts.contains_key(&layout::seq_of_key(&key)?) => without_part_of(&value)?,
                _ => value,
            };
            self.put(new, key, value)?;
        }
        for (number, record) in std::mem::take(&mut self.namespaces) {
            self.put(new, layout::namespace_key(number), record.encode())?;
        }
        for (id, known) in std::mem::take(&mut self.ids) {
            if let Some(seq) = known.restricted {
                self.put(new, layout::restricted_key(&id), value::encode_seq(seq))?;
            }
        }
        for (document, parts) in std::mem::take(&mut self.documents) {
            self.put(new, layout::parts_key(&document), value::block_of(&parts).into())?;
        }
        for (id, expiry) in std::mem::take(&mut self.expiries) {
            if let Some(moment) = expiry.expires {
                self.put(new, layout::due_key(moment, &id), IVec::default())?;
            }
            if expiry != Expiry::default() {
                self.put(new, layout::expiry_key(&id), value::encode_expiry(&expiry))?;
            }
        }
        self.state.commit = 1;
        let state = self.state.encode();
        self.put(new, layout::STATE_KEY.into(), state)?;
        self.put(new, layout::FORMAT_KEY.into(), (&FORMAT_VERSION.to_be_bytes()).into())?;
        new.apply_batch(self.batch).map_err(writing)
    }

    fn put(&mut self, new: &Database, key: IVec, value: IVec) -> Result<()> {
        if Sum::counts(&key) {
            self.state.sum.replace(&key, None, Some(&value));
        }
        self.bytes += key.len() + value.len();
        self.batch.insert(key, value);
        if self.bytes >= BATCH_BYTES {
            new.apply_batch(std::mem::take(&mut self.batch)).map_err(writing)?;
            self.bytes = 0;
        }
        Ok(())
    }

    fn entry(&mut self, seq: Seq, bytes: &[u8]) -> Result<Entry> {
        let Old { mut entry, mut change } = old_entry(seq, bytes)?;
        let id = change.id.clone();
        let before = match self.ids.get(&id) {
            Some(known) if is_same(&known.access, &change.access_before) => known.access.clone(),
            _ => {
                let earliest = self.created(&id)?.unwrap_or(entry.at);
                self.access(change.access_before, earliest)
            }
        };
        let after = if is_same(&before, &change.access_after) && change.kind == ChangeKind::Updated {
            before.clone()
        } else {
            self.access(change.access_after, entry.at)
        };
        let known =
            self.ids.entry(id).or_insert(Known { life: Seq::ZERO, access: Access::default(), restricted: None });
        if !before.is_public() || !after.is_public() {
            known.restricted = Some(seq);
        }
        if let Some((_, life)) = &mut change.end {
            *life = known.life;
        }
        match change.kind {
            ChangeKind::Created => known.life = seq,
            ChangeKind::Updated => {}
            ChangeKind::Deleted => known.life = Seq::ZERO,
        }
        known.access = after.clone();
        (change.access_before, change.access_after) = (before, after);
        entry.content = Content::Change(Box::new(change));
        Ok(entry)
    }

    fn created(&self, id: &str) -> Result<Option<Timestamp>> {
        let record = self.old.get(layout::record_key(id)).map_err(reading)?;
        record.map(|bytes| old_record(&bytes).map(|record| record.created)).transpose()
    }

    fn record(&mut self, id: &str, bytes: &[u8]) -> Result<IVec> {
        let mut record = old_record(bytes)?;
        let access = old_access(record.access)?;
        let known = self.ids.get(id).filter(|known| is_same(&known.access, &access)).map(|known| known.access.clone());
        let access = match known {
            Some(access) => access,
            None => self.access(access, record.created),
        };
        record.life = self.ids.get(id).map_or(Seq::ZERO, |known| known.life);
        let mut text = self.old.get(layout::text_key(record.seq)).map_err(reading)?;
        if self.parts.contains_key(&record.seq) {
            text = text.as_deref().map(without_part_of).transpose()?;
        }
        record.text = text.map(|text| Digest::of(&text)).unwrap_or_default();
        if record.original.is_some() {
            let original = self.old.get(layout::original_key(record.seq)).map_err(reading)?;
            record.original = Some(original.map(|original| Digest::of(&original)).unwrap_or_default());
        }
        record.has_parts = self.documents.contains_key(id);
        if let Some(expiry) = self.expiries.get(id) {
            record.has_expiry = *expiry != Expiry::default();
        }
        let mut declarations = Declarations::default();
        if let Some(document) = self.parts.get(&record.seq).cloned().flatten() {
            let by = Declarer::Document(document);
            let itself = record.declared()?.0.remove(0);
            declarations.0.push(Declaration { by, ..itself });
        }
        let (access, declarations) = (value::encode_access(&access), declarations.encode());
        Ok(StoredRecord { access: &access, declarations: &declarations, ..record }.encode())
    }
}

/// Removes the member with the documents of a part from a text.
fn without_part_of(stored: &[u8]) -> Result<IVec> {
    let nothing = serde_json::json!({ PART_OF: null }).to_string();
    let without = crate::td::merge_patch::apply(value::text(stored)?, &nothing)?;
    Ok(IVec::from(without.as_bytes()))
}

/// True if two accesses are the same but for the numbers of their namespaces.
fn is_same(one: &Access, other: &Access) -> bool {
    one.owner == other.owner && one.visibility == other.visibility && one.namespace == other.namespace
}

/// An entry of format 3.
struct Old {
    /// Entry whose content is not yet set.
    entry: Entry,
    change: ChangeEntry,
}

fn state_of(bytes: &[u8]) -> Result<State> {
    let mut reader = Reader(bytes);
    Ok(State { last: Seq(reader.u64()?), records: reader.u64()?, ..State::default() })
}

fn old_record(bytes: &[u8]) -> Result<StoredRecord<'_>> {
    let mut reader = Reader(bytes);
    let flags = reader.u8()?;
    Ok(StoredRecord {
        has_expiry: flags & 1 != 0,
        original: (flags & 2 != 0).then(Digest::default),
        is_creation: flags & 4 != 0,
        seq: Seq(reader.u64()?),
        life: Seq::ZERO,
        created: Timestamp(reader.i64()?),
        modified: Timestamp(reader.i64()?),
        text: Digest::default(),
        format: reader.optional_string()?,
        capabilities: reader.block()?,
        access: if flags & 8 == 0 { &[] } else { reader.block()? },
        has_parts: false,
        declarations: &[],
        edits: None,
    })
}

fn old_access(bytes: &[u8]) -> Result<Access> {
    if bytes.is_empty() {
        return Ok(Access::default());
    }
    let mut reader = Reader(bytes);
    let visibility = *Visibility::ALL.get(usize::from(reader.u8()?)).ok_or_else(corrupt)?;
    let owner = reader.optional_string()?.map(str::parse).transpose().map_err(|_: String| corrupt())?;
    let namespace = reader.optional_string()?.map(str::parse).transpose().map_err(|_: String| corrupt())?;
    Ok(Access { owner, visibility, namespace, number: None })
}

fn old_entry(seq: Seq, bytes: &[u8]) -> Result<Old> {
    let mut reader = Reader(bytes);
    let (first, body) = (reader.u8()?, reader.u8()?);
    let (kind, reason) = match first & !(8 | 16) {
        0 => (ChangeKind::Created, None),
        1 => (ChangeKind::Updated, None),
        2 => (ChangeKind::Deleted, Some(DeletionReason::Removed)),
        3 => (ChangeKind::Deleted, Some(DeletionReason::Expired)),
        4 => (ChangeKind::Deleted, Some(DeletionReason::SourceGone)),
        _ => return Err(corrupt()),
    };
    let previous = if first & 16 == 0 { Seq(seq.0.saturating_sub(1)) } else { Seq(reader.u64()?) };
    if previous >= seq {
        return Err(corrupt());
    }
    let at = Timestamp(reader.i64()?);
    let id = reader.string()?.to_owned();
    let actor = reader.optional_string()?.map(str::to_owned);
    let (before, after) = (value::strings_of(reader.block()?)?, value::strings_of(reader.block()?)?);
    let (access_before, access_after) = match first & 8 {
        0 => (Access::default(), Access::default()),
        _ => (old_access(reader.block()?)?, old_access(reader.block()?)?),
    };
    let body = match body {
        0 => Body::None,
        1 => Body::Text(value::text(reader.0)?.to_owned()),
        2 => Body::Apart,
        _ => return Err(corrupt()),
    };
    let end = reason.map(|reason| (reason, Seq::ZERO));
    let change = ChangeEntry { kind, end, id, before, after, access_before, access_after, body };
    let content = Content::Change(Box::new(change.clone()));
    Ok(Old { entry: Entry { previous, at, arrival: at, actor, content }, change })
}
