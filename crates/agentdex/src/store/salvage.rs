//! Salvage: creation of a new store from the readable data of a damaged store.
//!
//! A record is salvaged if its text matches its digest. The access to records, valid keys, and members of namespaces
//! are only trusted if the store contains everything recorded by its witness; otherwise they may have been revoked
//! since. In that case records become private and lose their past, and there are no keys and no namespaces.
//!
//! The log is retained from its last gap on.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use agentdex_api::{AuditChain, AuditEntry};
use sled::IVec;
use uuid::Uuid;

use super::{
    audit::Audit,
    check::Fault,
    copy::CopiedDirectory,
    database::Database,
    declaration::{Declaration, Declarer},
    directory::{create_directory, lock_opening, open_tree, wait_for_lock},
    inspect::{self, identity},
    layout::{self, FORMAT_VERSION},
    options::Options,
    overlay::Overlay,
    panics,
    recovery::Undo,
    repair::{forget, repair},
    restore::{Filling, check_empty, seal},
    sum::Digest,
    tree::Tree,
    value::{self, Body, Entry, Origin, OriginKind, State, StoredRecord},
    witness::{FILE, Seen},
};
use crate::{
    Error, Result,
    access::{Access, Visibility},
    change::{ChangeKind, Epoch, Seq, Timestamp},
};

/// Result of a salvage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Number of salvaged records.
    pub records: u64,
    /// Number of changes remaining in the log.
    pub changes: u64,
    /// Lost records and parts, with reasons.
    pub lost: Vec<Fault>,
    /// True if the witness proves that access, keys, and namespaces are the latest. Otherwise all records are private,
    /// and there are no keys, namespaces, or saved queries.
    pub is_proven: bool,
    /// Ids of revoked keys.
    pub revoked: Vec<String>,
}

/// Creates a store in `to`, an empty or missing directory, from the readable data of the damaged store in `directory`.
/// The new store has a new epoch. Works on copies of the damaged store: an unmodified copy and, if that doesn't match the
/// witness, repaired copies.
///
/// # Errors
/// [`Error::StoreDamaged`] if nothing can be read, [`Error::StoreInUse`], [`Error::DiskFull`], [`Error::Io`],
/// [`Error::Store`].
pub fn salvage(directory: &Path, to: &Path) -> Result<Salvaged> {
    let failed = |source| Error::Io { doing: format!("salvaging into {}", to.display()), source };
    check_empty(to).map_err(failed)?;
    let best = best(directory)?;
    let seen = inspect::seen(&best)?;
    let salvaged = inspect::read(best.path(), |from| fill(&best, from, &seen, to));
    salvaged.map_err(|error| match layout::is_corrupt(&error) {
        true => Error::StoreDamaged { path: directory.to_owned(), found: inspect::cause(&error) },
        false => error,
    })
}

/// Returns the copy with the most records: unmodified, with a repaired log, or without the files that sled recreates.
fn best(directory: &Path) -> Result<CopiedDirectory> {
    let mut best: Option<(u64, CopiedDirectory)> = None;
    let mut reason = None;
    let ways: [fn(&Path) -> io::Result<()>; 3] = [take_last_writes, repair, forget];
    for (number, way) in ways.into_iter().enumerate() {
        let copy = CopiedDirectory::of(directory)?;
        if let Err(error) = way(copy.path()) {
            tracing::info!(%error, "a copy can't be repaired");
            continue;
        }
        let read = inspect::read(copy.path(), |tree| {
            let is_right = number == 0 && inspect::judge(copy.path(), tree, &inspect::seen(&copy)?).is_ok();
            Ok((count(tree)?, is_right))
        });
        match read {
            Ok((_, true)) => return Ok(copy),
            Ok((records, false)) if best.as_ref().is_none_or(|(most, _)| records > *most) => {
                best = Some((records, copy))
            }
            Ok(_) => {}
            Err(error) if layout::is_corrupt(&error) || matches!(error, Error::UnsupportedStoreFormat { .. }) => {
                reason.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    let reason = reason.map_or_else(String::new, |error| format!(" ({})", inspect::cause(&error)));
    let found = format!("nothing in it can be read{reason}");
    best.map(|(_, copy)| copy).ok_or_else(|| Error::StoreDamaged { path: directory.to_owned(), found })
}

/// Removes only torn last writes from a copy.
fn take_last_writes(copy: &Path) -> io::Result<()> {
    inspect::prepare(copy, &Seen::read(copy)?).and_then(Undo::forget)
}

/// Counts the records that can be decoded.
fn count(tree: &Tree) -> Result<u64> {
    let db = tree.db()?;
    let pairs = tree.pairs(&db, layout::RECORDS, layout::AFTER_RECORDS);
    pairs.map(|pair| Ok(u64::from(StoredRecord::decode(&pair?.1).is_ok()))).sum()
}

/// Fills a new store from the tree of a copy.
fn fill(copy: &CopiedDirectory, from: &Tree, seen: &Seen, to: &Path) -> Result<Salvaged> {
    let state = from.get(layout::STATE_KEY)?.map_or(Ok(State::default()), |bytes| State::decode(&bytes))?;
    let is_proven = seen.slot().is_some() && inspect::judge(copy.path(), from, seen).is_ok();
    create_directory(to)?;
    let tree = open_tree(to, &Options::default())?;
    let db = from.db()?;
    let mut salvage = Salvage {
        from,
        db: &db,
        filling: Filling::new(&tree),
        known: BTreeSet::new(),
        texts: BTreeSet::new(),
        created: BTreeSet::new(),
        joined: Vec::new(),
        result: Salvaged { is_proven, ..Salvaged::default() },
    };
    let kept = salvage.find_log(state.last)?;
    salvage.records()?;
    salvage.join()?;
    salvage.log(kept, state.last)?;
    salvage.others()?;
    let witnessed = seen.slot().map(|slot| (slot.epoch, slot.registry));
    let (epoch, registry) = identity(&db).ok().or(witnessed).unwrap_or((Epoch(0), Uuid::new_v4()));
    let Salvage { filling, known, mut result, .. } = salvage;
    for id in known {
        result.lost.push(Fault { place: format!("the record {id:?}"), message: "it is missing".into() });
    }
    result.lost.extend(
        from.damage
            .gaps()
            .into_iter()
            .map(|gap| Fault { place: gap.to_string(), message: "the page with these entries is damaged".into() }),
    );
    let sum = filling.finish()?;
    let (records, entries) = (result.records, result.changes);
    let state = State { last: state.last, records, entries, commit: 0, sum, namespaces: state.namespaces };
    let mut overlay = Overlay::new(&tree);
    let (new, _) = Uuid::new_v4().as_u64_pair();
    overlay.set(layout::FORMAT_KEY.into(), Some((&FORMAT_VERSION.to_be_bytes()).into()));
    overlay.set(layout::EPOCH_KEY.into(), Some((&new.to_be_bytes()).into()));
    overlay.set(layout::REGISTRY_KEY.into(), Some(registry.as_bytes().into()));
    let origin = Origin { kind: OriginKind::Salvaged, epoch, last: state.last };
    overlay.set(layout::ORIGIN_KEY.into(), Some(origin.encode()));
    seal(to, &tree, overlay, state)?;
    Ok(result)
}

struct Salvage<'a> {
    from: &'a Tree,
    db: &'a Database,
    filling: Filling<'a>,
    /// Ids expected according to the log and not yet found.
    known: BTreeSet<String>,
    /// Positions of salvaged texts.
    texts: BTreeSet<Seq>,
    /// Creations not listed in the history.
    created: BTreeSet<Seq>,
    /// The records of documents with parts, and of parts.
    joined: Vec<(String, IVec, IVec)>,
    result: Salvaged,
}

impl Salvage<'_> {
    /// Returns the first change after the last gap of the log, or `None` if the log has no such part.
    fn find_log(&mut self, last: Seq) -> Result<Option<Seq>> {
        let (mut first, mut before) = (None, Seq::ZERO);
        for pair in self.from.pairs(self.db, layout::LOG, &layout::log_key(last.next())) {
            let (key, value) = pair?;
            let seq = layout::seq_of_key(&key)?;
            let Ok(entry) = Entry::decode(seq, &value) else {
                first = None;
                continue;
            };
            if entry.previous != before {
                first = None;
            }
            let is_whole = match entry.change() {
                Some(change) => {
                    match change.kind {
                        ChangeKind::Created => drop(self.known.insert(change.id.clone())),
                        ChangeKind::Deleted => drop(self.known.remove(&change.id)),
                        ChangeKind::Updated => {}
                    }
                    change.body != Body::Apart || self.text(seq).is_some()
                }
                None => true,
            };
            before = seq;
            first = if is_whole { first.or(Some(seq)) } else { None };
        }
        Ok(first.filter(|_| self.result.is_proven && before == last))
    }

    fn text(&self, seq: Seq) -> Option<IVec> {
        self.from.get(&layout::text_key(seq)).ok().flatten().filter(|text| value::text(text).is_ok())
    }

    fn records(&mut self) -> Result<()> {
        for pair in self.from.pairs(self.db, layout::RECORDS, layout::AFTER_RECORDS) {
            let (key, value) = pair?;
            let id = layout::name_of(&key, layout::RECORDS).unwrap_or_default();
            self.known.remove(&id);
            if let Err(reason) = self.record(&id, key, &value)? {
                self.lose(&id, reason);
            }
        }
        Ok(())
    }

    fn lose(&mut self, id: &str, reason: &str) {
        self.result.lost.push(Fault { place: format!("the record {id:?}"), message: reason.to_owned() });
    }

    /// Takes a record, or says why it can't be.
    fn record(&mut self, id: &str, key: IVec, value: &[u8]) -> Result<std::result::Result<(), &'static str>> {
        let Ok(mut record) = StoredRecord::decode(value) else { return Ok(Err("it can't be read")) };
        let Ok(access) = record.access() else { return Ok(Err("its visibility can't be read")) };
        let text = self.text(record.seq).filter(|text| Digest::of(text) == record.text);
        let Some(text) = text else { return Ok(Err("its text is missing, or differs from the text that was written")) };
        let expiry = self.from.get(&layout::expiry_key(id)).ok().flatten();
        let expiry = expiry.and_then(|bytes| Some((value::decode_expiry(&bytes).ok()?, bytes)));
        if record.has_expiry && expiry.is_none() {
            return Ok(Err("its expiry is lost"));
        }
        let Ok(mut declarations) = record.declared() else { return Ok(Err("the list of its versions can't be read")) };
        let edits = self.from.get(&layout::edits_key(id)).ok().flatten();
        let edits = edits.filter(|edits| record.edits == Some(Digest::of(edits)));
        if record.edits.is_some() && edits.is_none() {
            self.lose(id, "its edits are no longer marked as edits; its served text is kept");
            record.edits = None;
            if let Some(served) = declarations.0.first_mut() {
                let (base, text, original, access) = (record.seq, record.text, None, None);
                *served = Declaration { base, text, original, access, ..served.clone() };
            }
        }
        declarations.0 = self.declarations(id, record.seq, record.text, declarations.0)?;
        let hidden = Access { visibility: Visibility::Private, namespace: None, number: None, ..access };
        if !self.result.is_proven {
            for declaration in &mut declarations.0 {
                declaration.access = declaration.access.take().map(|own| own.narrowed(&hidden));
            }
        }
        let served = declarations.0.first();
        (record.original, record.format) =
            (served.and_then(|served| served.original), served.and_then(|served| served.format.as_deref()));
        let has_original = record.original.is_some();
        let hidden = value::encode_access(&hidden);
        if !self.result.is_proven {
            record.access = &hidden;
        }
        let are_implied = record.edits.is_none() && declarations.are_implied(record.seq);
        let encoded = if are_implied { Vec::new() } else { declarations.encode() };
        record.declarations = &encoded;
        match record.has_parts || declarations.is_part() {
            true => self.joined.push((id.to_owned(), key, record.encode())),
            false => self.filling.put(key, record.encode())?,
        }
        self.filling.put(layout::text_key(record.seq), text)?;
        if let Some(edits) = edits.filter(|_| record.edits.is_some()) {
            self.filling.put(layout::edits_key(id), edits)?;
        }
        if has_original && let Some(metadata) = self.from.get(&layout::metadata_key(id)).ok().flatten() {
            self.filling.put(layout::metadata_key(id), metadata)?;
        }
        if let Some((expiry, bytes)) = expiry.filter(|_| record.has_expiry) {
            self.filling.put(layout::expiry_key(id), bytes)?;
            if let Some(moment) = expiry.expires {
                self.filling.put(layout::due_key(moment, id), IVec::default())?;
            }
        }
        self.texts.insert(record.seq);
        if record.is_creation {
            self.created.insert(record.seq);
        }
        self.result.records += 1;
        Ok(Ok(()))
    }

    /// Salvages the texts and originals of declarations. Declarations with a lost text are left out, except for the
    /// served one.
    fn declarations(
        &mut self,
        id: &str,
        seq: Seq,
        text: Digest,
        declared: Vec<Declaration>,
    ) -> Result<Vec<Declaration>> {
        let mut taken: Vec<Declaration> = Vec::new();
        for (number, mut declaration) in declared.into_iter().enumerate() {
            let found = self.text(declaration.base).filter(|found| Digest::of(found) == declaration.text);
            if found.is_none() && number > 0 {
                self.lose(id, "the text of one of its versions is lost");
                continue;
            }
            if found.is_none() {
                // It is what is served.
                self.lose(id, "its text without edits is lost; its served text is kept");
                declaration = Declaration { base: seq, text, original: None, access: None, ..declaration };
            }
            let original = self.from.get(&layout::original_key(declaration.base)).ok().flatten();
            let original = original.filter(|original| declaration.original == Some(Digest::of(original)));
            if declaration.original.is_some() && original.is_none() {
                self.lose(id, "its original document is lost; the rest is kept");
                declaration.original = None;
            }
            if declaration.original.is_none() {
                declaration.format = None;
            }
            if let Some(original) = original.filter(|_| declaration.original.is_some()) {
                self.filling.put(layout::original_key(declaration.base), original)?;
            }
            if declaration.base != seq
                && let Some(text) = found
            {
                self.texts.insert(declaration.base);
                self.filling.put(layout::text_key(declaration.base), text)?;
            }
            taken.push(declaration);
        }
        Ok(taken)
    }

    /// Takes the records of documents and of their parts, as far as both are there. A part without its documents declares itself.
    fn join(&mut self) -> Result<()> {
        let joined = std::mem::take(&mut self.joined);
        let there: BTreeSet<&str> = joined.iter().map(|(id, ..)| id.as_str()).collect();
        let mut parts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut declared = Vec::new();
        for (id, _, record) in &joined {
            let mut declarations = StoredRecord::decode(record)?.declared()?;
            let documents = declarations.documents().into_iter().map(str::to_owned).collect::<Vec<_>>();
            for document in documents {
                match there.contains(document.as_str()) {
                    true => parts.entry(document).or_default().push(id.clone()),
                    false if declarations.documents().len() > 1 => {
                        declarations.release(&Declarer::Document(document), None);
                    }
                    false => declarations.0.iter_mut().for_each(|declaration| declaration.by = Declarer::Itself),
                }
            }
            declared.push(declarations);
        }
        for ((id, key, record), declarations) in joined.iter().zip(declared) {
            let record = StoredRecord::decode(record)?;
            let are_implied = record.edits.is_none() && declarations.are_implied(record.seq);
            let encoded = if are_implied { Vec::new() } else { declarations.encode() };
            let record = StoredRecord { has_parts: parts.contains_key(id), declarations: &encoded, ..record };
            self.filling.put(key.clone(), record.encode())?;
        }
        for (document, ids) in parts {
            self.filling.put(layout::parts_key(&document), value::block_of(&ids).into())?;
        }
        Ok(())
    }

    /// Salvages the log from a change on, with all data belonging to it.
    fn log(&mut self, first: Option<Seq>, last: Seq) -> Result<()> {
        let Some(first) = first else { return Ok(()) };
        let mut restricted = BTreeMap::new();
        for pair in self.from.pairs(self.db, &layout::log_key(first), &layout::log_key(last.next())) {
            let (key, value) = pair?;
            let seq = layout::seq_of_key(&key)?;
            let entry = Entry::decode(seq, &value)?;
            if let Some(change) = entry.change() {
                if change.body == Body::Apart
                    && !self.texts.contains(&seq)
                    && let Some(text) = self.text(seq)
                {
                    self.filling.put(layout::text_key(seq), text)?;
                }
                if change.kind != ChangeKind::Created || !self.created.contains(&seq) {
                    self.filling.put(layout::history_key(&change.id, seq), IVec::default())?;
                }
                if !change.access_before.is_public() || !change.access_after.is_public() {
                    restricted.insert(change.id.clone(), seq);
                }
            }
            self.filling.put(key, value)?;
            self.result.changes += 1;
        }
        for (id, seq) in restricted {
            self.filling.put(layout::restricted_key(&id), value::encode_seq(seq))?;
        }
        Ok(())
    }

    /// Salvages data other than records.
    fn others(&mut self) -> Result<()> {
        let proven = self.result.is_proven;
        let trail = AuditChain::ALL.map(|chain| (layout::audit_prefix(chain), true));
        for (prefix, is_taken) in trail.into_iter().chain([
            (layout::AUDIT_DROPPED_KEY, true),
            (layout::CLOCK_KEY, true),
            (layout::KEYS, proven),
            (layout::NAMESPACES, proven),
            (layout::QUERIES, proven),
        ]) {
            let end = layout::after_prefix(prefix);
            for pair in self.from.pairs(self.db, prefix, &end) {
                let (key, value) = pair?;
                if is_taken {
                    self.filling.put(key, value)?;
                } else if prefix == layout::KEYS {
                    self.result.revoked.push(layout::name_of(&key, prefix).unwrap_or_default());
                } else if prefix == layout::QUERIES {
                    let name = layout::name_of(&key, prefix).unwrap_or_default().replace('\0', "/");
                    let message = "its visibility is unknown".to_owned();
                    self.result.lost.push(Fault { place: format!("the saved query {name:?}"), message });
                }
            }
        }
        Ok(())
    }
}

/// Accepts a store that is older than the state recorded by its witness, after its files were deliberately restored. The
/// store gets a new epoch. All API keys are revoked, and their ids are returned; access and namespaces are unchanged.
///
/// # Errors
/// [`Error::StoreInUse`]; [`Error::StoreDamaged`] if the store is also damaged; [`Error::ClusterDirectory`] for a node
/// of a cluster; [`Error::Io`], [`Error::Store`].
pub fn accept_rollback(directory: &Path) -> Result<Vec<String>> {
    let failed = |source| Error::Io { doing: format!("accepting {}", directory.display()), source };
    let _opening = lock_opening(directory)?;
    wait_for_lock(directory)?;
    let undo = inspect::prepare(directory, &Seen::Missing).map_err(failed)?;
    let accepted = panics::caught_opening(|| {
        let tree = inspect::open(directory)?;
        inspect::judge(directory, &tree, &Seen::Missing)?;
        match tree.get(layout::NODE_KEY)? {
            Some(_) => Err(Error::ClusterDirectory { path: directory.to_owned() }),
            None => Ok(tree),
        }
    });
    let tree = match accepted {
        Ok(Ok(tree)) => tree,
        Ok(Err(error)) => {
            undo.put_back().map_err(failed)?;
            return Err(error);
        }
        Err(panic) => {
            undo.put_back().map_err(failed)?;
            return Err(Error::StoreDamaged { path: directory.to_owned(), found: panic });
        }
    };
    undo.forget().map_err(failed)?;
    let db = tree.db()?;
    let state = State::decode(&tree.get(layout::STATE_KEY)?.ok_or_else(layout::corrupt)?)?;
    let (before, _) = identity(&db)?;
    let (epoch, _) = Uuid::new_v4().as_u64_pair();
    let mut overlay = Overlay::new(&db);
    overlay.set(layout::EPOCH_KEY.into(), Some((&epoch.to_be_bytes()).into()));
    let origin = Origin { kind: OriginKind::RolledBack, epoch: before, last: state.last };
    overlay.set(layout::ORIGIN_KEY.into(), Some(origin.encode()));
    let (mut revoked, mut trail) = (Vec::new(), Audit::load(&tree)?.last());
    for prefix in [layout::KEYS, layout::POSITIONS] {
        for pair in tree.all_pairs(&db, prefix, &layout::after_prefix(prefix)) {
            let (key, _) = pair?;
            if prefix == layout::KEYS {
                let id = layout::name_of(&key, prefix)?;
                let (key, entry) = trail.append(revocation(&id));
                overlay.set(key, Some(entry));
                revoked.push(id);
            }
            overlay.set(key, None);
        }
    }
    std::fs::remove_file(directory.join(FILE)).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(failed(error)),
    })?;
    seal(directory, &db, overlay, state)?;
    Ok(revoked)
}

/// Creates the audit entry about a key revoked without an authenticated author.
fn revocation(id: &str) -> AuditEntry {
    AuditEntry {
        at: Some(Timestamp::now()),
        action: "DELETE".into(),
        target: format!("/keys/{id}"),
        chain: Some(AuditChain::Administration),
        ..AuditEntry::default()
    }
}
