//! `Applier`: converts commands to records and changes. It is deterministic: it reads no clock and uses no random
//! numbers, and times are part of the command, so the same commands applied to the same tree give the same result.
//!
//! The commands of a commit are applied in memory one after the other. Each write sees the staged results of earlier
//! writes, so preconditions are checked in log order. A failed command is rolled back.

use std::collections::BTreeMap;

use sled::IVec;

use super::{
    database::Database,
    declaration::Declarer,
    effects::{Effects, Staged},
    expiry::extended,
    gaps::Gaps,
    layout,
    named_write::{Expects, NamedWrite},
    namespaces::Namespaces,
    overlay::Overlay,
    sum::Digest,
    value::{self, Body, ChangeEntry, State, StoredRecord},
    view::View,
    write::{Applied, Author, Declares, Expiry, Operation, Original, Outcome, Patch, Remark, Transaction, Write},
};
use crate::{
    Error, Result,
    access::{Access, Namespace, NamespaceNumber},
    change::{ChangeKind, DeletionReason, Precondition, Seq, Timestamp},
    td::merge_patch,
};

/// A transaction, and when it is applied.
#[derive(Debug)]
pub(super) struct Command {
    pub transaction: Transaction,
    pub moment: Moment,
}

/// Time at which a command is applied, by the log and by the clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Time of the log, which never goes backward.
    pub at: Timestamp,
    /// Time of the clock, used for expiry as in reads. If the clock is set back, the time of the log stays ahead of
    /// it.
    pub clock: Timestamp,
    /// Moment since which ttls count, while an extension of all expiries is being written to the tree.
    pub grace: Option<Timestamp>,
}

/// Applier for the commands of a commit.
pub(super) struct Applier<'a> {
    gaps: Gaps,
    known_namespaces: &'a Namespaces,
    pub(super) moment: Moment,
    pub(super) state: State,
    pub(super) effects: Effects,
    /// The remarks on the command.
    pub(super) remarks: Vec<Remark>,
    pub(super) author: Author,
    pub(super) overlay: Overlay<'a>,
}

/// A stored record as a write finds it, with its access and expiry.
#[derive(Clone)]
pub(super) struct Found<'a> {
    pub record: StoredRecord<'a>,
    pub access: Access,
    pub expiry: Expiry,
}

/// Attributes of a put or a renewal, other than the text.
#[derive(Clone, Copy)]
pub(super) struct Particulars<'a> {
    pub id: &'a str,
    pub expiry: Expiry,
    pub original: Option<&'a Original>,
    /// Time of creation, if the record was created elsewhere.
    pub created: Option<Timestamp>,
}

/// The new stored form of a record, with its capability keys and the merge patch that was made before the commit.
pub(super) struct Description {
    pub text: String,
    pub capabilities: Vec<String>,
    pub patch: Option<Patch>,
}

impl<'a> Applier<'a> {
    /// Creates an applier for a store in the given state.
    pub fn new(view: &'a View, tree: &'a Database, state: State, moment: Moment) -> Applier<'a> {
        let (gaps, known_namespaces) = (view.options.gaps, &view.namespaces);
        let (author, overlay) = (Author::default(), Overlay::new(tree));
        let (effects, remarks) = (Effects::none(view.audit.last()), Vec::new());
        Applier { gaps, known_namespaces, moment, state, effects, remarks, author, overlay }
    }

    /// Stages all writes of a command atomically. In a dry run, the outcomes have the current last positions of the
    /// records.
    pub fn apply(&mut self, command: Command) -> Result<Applied> {
        let (state, effects) = (self.state, self.effects.savepoint());
        let Transaction { author, writes, namespace, named, dry_run, .. } = command.transaction;
        let foretold: Vec<String> = writes.iter().filter(|_| dry_run).map(|write| write.id.clone()).collect();
        (self.moment, self.author) = (command.moment, author);
        self.remarks.clear();
        self.overlay.begin();
        let mut is_due = true;
        let write = |write| match is_due {
            true => self.write(write).inspect(|outcome| is_due = *outcome != Outcome::NotDue),
            false => Ok(Outcome::NotDue),
        };
        let mut outcomes: Result<Vec<Outcome>> = writes.into_iter().map(write).collect();
        if let Some(namespace) = namespace.filter(|_| outcomes.is_ok())
            && let Err(error) = self.write_namespace(namespace)
        {
            outcomes = Err(error);
        }
        if let Some(named) = named.filter(|_| outcomes.is_ok())
            && let Err(error) = self.write_named(named)
        {
            outcomes = Err(error);
        }
        for note in std::mem::take(&mut self.author.notes) {
            self.note(note);
        }
        if outcomes.is_err() || dry_run {
            self.overlay.take_back();
            self.effects.roll_back(effects);
            self.state = state;
        }
        let mut outcomes = outcomes?;
        if dry_run {
            for (outcome, id) in outcomes.iter_mut().zip(foretold) {
                *outcome = outcome.at(self.last_seq(&id)?);
            }
        }
        Ok(Applied { outcomes, remarks: std::mem::take(&mut self.remarks) })
    }

    /// The position of the next change.
    pub(super) fn next_seq(&self) -> Seq {
        self.gaps.after(self.state.last)
    }

    /// Returns the number of the namespace with a name, or `None` if nobody has claimed it.
    pub(super) fn claimed(&self, name: &Namespace) -> Option<NamespaceNumber> {
        let staged = self.effects.namespaces.iter().rev();
        let mut staged = staged.filter_map(|(number, record)| Some((*number, record.as_ref()?)));
        if let Some((number, record)) = staged.find(|(_, record)| record.name == *name) {
            return record.given_up.is_none().then_some(number);
        }
        let (number, record) = self.known_namespaces.find(name)?;
        record.owner.is_some().then_some(number)
    }

    /// Returns the number of namespaces that are not given up, including the changes of this round.
    pub(super) fn number_claimed(&self) -> usize {
        let staged = self.effects.namespaces.iter().filter_map(|(number, record)| Some((*number, record.as_ref()?)));
        let staged: BTreeMap<_, _> = staged.map(|(number, record)| (number, record.given_up.is_none())).collect();
        let before = staged.keys().filter(|number| self.known_namespaces.is_claimed(**number)).count();
        let after = staged.values().filter(|is_claimed| **is_claimed).count();
        self.known_namespaces.len() - before + after
    }

    /// Returns the position of a record, or 0 if it doesn't exist or has expired.
    fn last_seq(&mut self, id: &str) -> Result<Seq> {
        let Some(bytes) = self.overlay.get(&layout::record_key(id))? else { return Ok(Seq::ZERO) };
        let found = self.found(id, &bytes)?;
        Ok(if found.expiry.is_due(self.moment.clock) { Seq::ZERO } else { found.record.seq })
    }

    /// Writes the extended expiry of a record.
    pub fn grant_grace(&mut self, id: &str) -> Result<()> {
        let granted = extended(self.expiry(id)?, self.moment.grace);
        self.move_expiry(id, true, granted)
    }

    /// Ends the extension of expiries in all stores with the same log.
    pub fn end_grace(&mut self) {
        self.overlay.set(layout::GRACE_KEY.into(), None);
        self.effects.grace = Some(None);
    }

    /// Stages a value that is not part of a record.
    pub fn set(&mut self, key: IVec, value: Option<IVec>) {
        self.overlay.set(key, value);
    }

    /// Stages a named value.
    ///
    /// # Errors
    /// [`Error::Contended`] if the value isn't as expected.
    fn write_named(&mut self, write: NamedWrite) -> Result<()> {
        let NamedWrite { kind, name, value, expects } = write;
        let key = kind.key(&name);
        if expects != Expects::Any && !expects.holds(self.overlay.get_open(&key)?.as_deref()) {
            return Err(Error::Contended { id: name, attempts: 1 });
        }
        self.overlay.set(key, value.map(IVec::from));
        Ok(())
    }

    /// Stages pending uses and revocations of keys. Uses of removed keys are omitted.
    pub fn write_pending(&mut self, keys: Vec<NamedWrite>) -> Result<()> {
        keys.into_iter().try_for_each(|key| match self.write_named(key) {
            Err(Error::Contended { .. }) => Ok(()),
            written => written,
        })
    }

    /// Returns the commit, or `None` if there is nothing to write.
    pub fn finish(self) -> Result<Option<Staged>> {
        if self.overlay.is_empty() {
            return Ok(None);
        }
        Ok(Some(Staged::new(self.overlay.seal(self.state)?, self.effects)))
    }

    fn write(&mut self, write: Write) -> Result<Outcome> {
        let Write { id, precondition, operation, actor } = write;
        let actor = actor.or_else(|| self.author.caller.owner().map(ToString::to_string));
        if id.is_empty() || id.contains('\0') {
            return Err(Error::InvalidId { id, reason: "it is empty or contains a null byte".into() });
        }
        let bytes = self.overlay.get(&layout::record_key(&id))?;
        let found = bytes.as_deref().map(|bytes| self.found(&id, bytes)).transpose()?;
        let (live, expired) = match found {
            Some(found) if found.expiry.is_due(self.moment.clock) => (None, Some(found)),
            found => (found, None),
        };
        if let Operation::Purge = operation {
            return match expired {
                Some(expired) => self.delete(&id, &expired, DeletionReason::Expired, actor).map(Outcome::Removed),
                None => Ok(Outcome::NotDue),
            };
        }
        check(&id, precondition, &operation, live.as_ref().map(|live| live.record.seq))?;
        let is_by_document = matches!(&operation, Operation::Put { declares: Declares::Document { .. }, .. });
        if !is_by_document && live.as_ref().is_some_and(|live| !live.access.lets_change(&self.author.caller)) {
            return Err(Error::NotOwner { id });
        }
        let of_document = live.as_ref().filter(|live| live.record.has_parts).cloned();
        let outcome = match (operation, live) {
            (Operation::Put { text, capabilities, expiry, patch, original, created, declares }, live) => {
                let particulars = Particulars { id: &id, expiry, original: original.as_ref(), created };
                let description = Description { text, capabilities, patch };
                if let Some(expired) = expired {
                    self.delete(&id, &expired, DeletionReason::Expired, None)?;
                }
                if let Some(live) = live.as_ref().filter(|_| declares.only_related()) {
                    self.check_related(&id, live, &description)?;
                }
                match (declares, live) {
                    (Declares::Document { id: document, version }, live) => {
                        self.declare_part(particulars, live.as_ref(), (document, version), description, actor)
                    }
                    (declares, None) => self.create_declared(particulars, declares, description, actor),
                    (Declares::Itself(own), Some(live)) => {
                        self.declare_itself(particulars, &live, own, description, actor)
                    }
                    (Declares::ByHand { replaces, .. }, Some(live)) => {
                        self.put_by_hand(particulars, &live, replaces, description, actor)
                    }
                }
            }
            (Operation::Renew { expiry }, Some(live)) => {
                let expiry = if live.record.declared()?.is_part() { live.expiry } else { expiry };
                self.renew(Particulars { id: &id, expiry, original: None, created: None }, &live)
            }
            (Operation::Metadata(metadata), Some(live)) => self.set_metadata(&id, metadata, &live.record),
            (Operation::Access, Some(live)) => {
                self.check_access_is_its_own(&id, &live)?;
                self.set_access(&id, &live, actor)
            }
            (Operation::Remove(reason), Some(live)) => {
                self.say_who_loses(&id, &live)?;
                self.delete(&id, &live, reason, actor).map(Outcome::Removed)
            }
            (Operation::RemoveVersion { version, expected }, Some(live)) => {
                self.remove_version(&id, &live, (&version, expected), actor)
            }
            (Operation::JoinDocuments(documents), Some(live)) => {
                documents.iter().try_for_each(|document| self.join(document, &id, &actor))?;
                Ok(Outcome::Renewed(live.record.seq))
            }
            (Operation::TakeParts(parts), Some(live)) => {
                parts.iter().try_for_each(|part| self.join(&id, part, &actor))?;
                Ok(Outcome::Renewed(live.record.seq))
            }
            (Operation::Parts { version, ids }, Some(live)) => self.set_parts(&id, &live, version, ids, actor),
            // It has expired, or expires at once.
            (Operation::Parts { .. } | Operation::JoinDocuments(_) | Operation::TakeParts(_), None) => {
                Ok(Outcome::Renewed(Seq::ZERO))
            }
            // `check` lets nothing else through where there is no record.
            (
                Operation::Renew { .. }
                | Operation::Metadata(_)
                | Operation::Access
                | Operation::Remove(_)
                | Operation::RemoveVersion { .. }
                | Operation::Purge,
                _,
            ) => Ok(Outcome::NotDue),
        }?;
        if let Some(before) = of_document {
            self.let_parts_follow(&id, &before)?;
        }
        Ok(outcome)
    }

    pub(super) fn create(
        &mut self,
        particulars: Particulars<'_>,
        (declarer, access): (Option<(Declarer, Option<String>)>, Access),
        text: String,
        capabilities: Vec<String>,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let seq = self.next_seq();
        let created = particulars.created.unwrap_or(self.moment.at);
        let mut record = StoredRecord {
            has_expiry: false,
            is_creation: true,
            seq,
            life: seq,
            created,
            modified: self.modified(created),
            text: Digest::of(text.as_bytes()),
            original: None,
            format: None,
            capabilities: &value::block_of(&capabilities),
            access: &value::encode_access(&access),
            has_parts: false,
            declarations: &[],
            edits: None,
        };
        self.attach(&particulars, &mut record)?;
        let declarations = self.declarations_of_new(&record, declarer);
        record.declarations = &declarations;
        self.set(layout::text_key(seq), Some(IVec::from(text.as_bytes())));
        self.set(layout::record_key(particulars.id), Some(record.encode()));
        self.restrict(particulars.id, &Access::default(), &access);
        self.audit(ChangeKind::Created, particulars.id, (None, Some(text.as_bytes())), (None, Some(&access)));
        self.state.records += 1;
        let (id, access_before, access_after) = (particulars.id.to_owned(), Access::default(), access);
        let (kind, end, before, body) = (ChangeKind::Created, None, Vec::new(), Body::Text(text));
        let after = capabilities;
        self.log_change(ChangeEntry { kind, end, id, before, after, access_before, access_after, body }, actor);
        Ok(Outcome::Created(seq))
    }

    /// Returns the time of the last change of a record being put, which may have happened elsewhere.
    pub(super) fn modified(&self, created: Timestamp) -> Timestamp {
        self.author.modified.map_or(self.moment.at, |modified| modified.max(created))
    }

    pub(super) fn replace(
        &mut self,
        particulars: Particulars<'_>,
        live: &Found<'_>,
        description: Description,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let old = &live.record;
        let Description { text, capabilities, patch } = description;
        let patch = match patch.filter(|patch| patch.since == old.seq) {
            Some(patch) => patch.text,
            None => {
                let old = self.overlay.get(&layout::text_key(old.seq))?.ok_or_else(layout::corrupt)?;
                merge_patch::diff(value::text(&old)?, &text)
            }
        };
        // Followers index the format: where it alone changes, there is a change with an empty patch.
        let has_other_format = particulars.original.is_some_and(|original| old.format != Some(&original.format));
        let access = self.author.access.applied_to(&live.access);
        if patch.is_none() && particulars.original.is_none() && access != live.access {
            // The same text, seen by others: what it was converted from stays with it.
            let mut record = *old;
            self.attach(&particulars, &mut record)?;
            let found = Found { record, access: live.access.clone(), expiry: particulars.expiry };
            return self.set_access(particulars.id, &found, actor);
        }
        let changes_anyway = has_other_format || access != live.access;
        let Some(patch) = patch.or_else(|| changes_anyway.then(|| "{}".to_owned())) else {
            return self.renew(particulars, live);
        };
        self.check_member(particulars.id, &access)?;
        if let Some(before) = self.audited_text(old)? {
            let texts = (Some(&*before), Some(text.as_bytes()));
            self.audit(ChangeKind::Updated, particulars.id, texts, (Some(&live.access), Some(&access)));
        }
        self.leave_text(particulars.id, old)?;
        if old.has_original() {
            self.overwrite(layout::metadata_key(particulars.id), None)?;
            self.overwrite(layout::original_key(old.seq), None)?;
        }
        let seq = self.next_seq();
        let mut record = StoredRecord {
            is_creation: false,
            seq,
            modified: self.modified(old.created),
            capabilities: &value::block_of(&capabilities),
            text: Digest::of(text.as_bytes()),
            original: None,
            format: None,
            access: &value::encode_access(&access),
            ..*old
        };
        self.attach(&particulars, &mut record)?;
        self.set(layout::text_key(seq), Some(IVec::from(text.as_bytes())));
        self.set(layout::record_key(particulars.id), Some(record.encode()));
        self.restrict(particulars.id, &live.access, &access);
        self.log_update(particulars.id, live, (capabilities, access), patch, actor)?;
        Ok(Outcome::Updated(seq))
    }

    /// Changes the owner and visibility of a record. Its text and original move to the position of the change.
    pub(super) fn set_access(&mut self, id: &str, live: &Found<'_>, actor: Option<String>) -> Result<Outcome> {
        let old = &live.record;
        let access = self.author.access.applied_to(&live.access);
        if access == live.access && (old.declarations.is_empty() || !self.author.access.all_versions) {
            self.remark_on_hidden(id, &old.declared()?, &access)?;
            return Ok(Outcome::Renewed(old.seq));
        }
        self.check_member(id, &access)?;
        if !old.declarations.is_empty() {
            return self.serve_to(id, live, access, actor);
        }
        let seq = self.next_seq();
        let text = self.overlay.get(&layout::text_key(old.seq))?.ok_or_else(layout::corrupt)?;
        self.audit(ChangeKind::Updated, id, (Some(&text), Some(&text)), (Some(&live.access), Some(&access)));
        self.leave_text(id, old)?;
        self.set(layout::text_key(seq), Some(text));
        if old.has_original() {
            let original = self.overlay.get(&layout::original_key(old.seq))?;
            self.overwrite(layout::original_key(old.seq), None)?;
            self.set(layout::original_key(seq), original);
        }
        let encoded = value::encode_access(&access);
        let record = StoredRecord { is_creation: false, seq, modified: self.moment.at, access: &encoded, ..*old };
        self.set(layout::record_key(id), Some(record.encode()));
        self.restrict(id, &live.access, &access);
        self.log_update(id, live, (old.capability_keys()?, access), "{}".to_owned(), actor)?;
        Ok(Outcome::Updated(seq))
    }

    /// Notes who sees a record, if not everybody does or did.
    pub(super) fn restrict(&mut self, id: &str, before: &Access, after: &Access) {
        if before.is_public() && after.is_public() {
            return;
        }
        self.effects.restricted.push((id.to_owned(), after.clone()));
    }

    pub(super) fn renew(&mut self, particulars: Particulars<'_>, live: &Found<'_>) -> Result<Outcome> {
        let mut record = live.record;
        let has_other_original = self.attach(&particulars, &mut record)?;
        if record != live.record {
            self.set(layout::record_key(particulars.id), Some(record.encode()));
        }
        Ok(if has_other_original { Outcome::OriginalUpdated(record.seq) } else { Outcome::Renewed(record.seq) })
    }

    pub(super) fn delete(
        &mut self,
        id: &str,
        found: &Found<'_>,
        reason: DeletionReason,
        actor: Option<String>,
    ) -> Result<Seq> {
        if let Some(text) = self.audited_text(&found.record)? {
            self.audit(ChangeKind::Deleted, id, (Some(&text), None), (Some(&found.access), None));
        }
        self.leave_text(id, &found.record)?;
        self.move_expiry(id, found.record.has_expiry, Expiry::default())?;
        if found.record.has_original() {
            self.overwrite(layout::metadata_key(id), None)?;
        }
        self.drop_declarations(id, &found.record)?;
        self.set(layout::record_key(id), None);
        self.restrict(id, &found.access, &Access::default());
        self.state.records = self.state.records.saturating_sub(1);
        let (id, end, before) = (id.to_owned(), Some((reason, found.record.life)), found.record.capability_keys()?);
        let (kind, after, body) = (ChangeKind::Deleted, Vec::new(), Body::None);
        let (access_before, access_after) = (found.access.clone(), Access::default());
        let seq = self.log_change(
            ChangeEntry { kind, end, id: id.clone(), before, after, access_before, access_after, body },
            actor.clone(),
        );
        if found.record.has_parts {
            self.release_parts(&id, actor)?;
        }
        Ok(seq)
    }

    fn set_metadata(&mut self, id: &str, metadata: Option<Vec<u8>>, record: &StoredRecord<'_>) -> Result<Outcome> {
        if record.has_original() {
            self.overwrite(layout::metadata_key(id), metadata.map(IVec::from))?;
        }
        Ok(Outcome::Renewed(record.seq))
    }

    /// Stages the expiry and the original of a record, and marks them in the record. Returns whether the original
    /// differs from the stored one.
    pub(super) fn attach<'r>(&mut self, particulars: &Particulars<'r>, record: &mut StoredRecord<'r>) -> Result<bool> {
        self.move_expiry(particulars.id, record.has_expiry, particulars.expiry)?;
        record.has_expiry = particulars.expiry != Expiry::default();
        let Some(original) = particulars.original else { return Ok(false) };
        let encoded = value::encode_original(original);
        (record.original, record.format) = (Some(Digest::of(&encoded)), Some(original.format.as_str()));
        self.overwrite(layout::original_key(record.seq), Some(encoded))
    }

    pub(super) fn move_expiry(&mut self, id: &str, has_expiry: bool, expiry: Expiry) -> Result<()> {
        let old = if has_expiry { self.expiry(id)? } else { Expiry::default() };
        if old == expiry {
            return Ok(());
        }
        if let Some(moment) = old.expires {
            self.move_due(layout::due_key(moment, id), false);
        }
        if let Some(moment) = expiry.expires {
            self.move_due(layout::due_key(moment, id), true);
        }
        let value = (expiry != Expiry::default()).then(|| value::encode_expiry(&expiry));
        self.overwrite(layout::expiry_key(id), value).map(drop)
    }

    fn move_due(&mut self, key: IVec, shall_be_there: bool) {
        self.overlay.set_known(key.clone(), !shall_be_there, shall_be_there);
        self.effects.expiries.push((key, shall_be_there));
    }

    /// Drops the text of a record about to be changed, unless it is the text of a creation still in the log, which is
    /// then listed in the history.
    pub(super) fn leave_text(&mut self, id: &str, record: &StoredRecord<'_>) -> Result<()> {
        // None: retention has dropped it.
        if record.is_creation && self.overlay.get_open(&layout::log_key(record.seq))?.is_some() {
            self.set(layout::history_key(id, record.seq), Some(IVec::default()));
            return Ok(());
        }
        self.overwrite(layout::text_key(record.seq), None).map(drop)
    }

    pub(super) fn found<'r>(&mut self, id: &str, bytes: &'r [u8]) -> Result<Found<'r>> {
        let record = StoredRecord::decode(bytes)?;
        let expiry = if record.has_expiry { self.expiry(id)? } else { Expiry::default() };
        Ok(Found { access: record.access()?, record, expiry: extended(expiry, self.moment.grace) })
    }

    /// Returns the expiry of an id: the staged one, or else that of the tree, or else the default.
    fn expiry(&mut self, id: &str) -> Result<Expiry> {
        let bytes = self.overlay.get(&layout::expiry_key(id))?;
        bytes.map_or(Ok(Expiry::default()), |bytes| value::decode_expiry(&bytes))
    }

    /// Stages a value if it differs from the previous one. Returns whether it does.
    pub(super) fn overwrite(&mut self, key: IVec, value: Option<IVec>) -> Result<bool> {
        let differs = self.overlay.get(&key)? != value;
        if differs {
            self.set(key, value);
        }
        Ok(differs)
    }
}

fn check(id: &str, precondition: Precondition, operation: &Operation, found: Option<Seq>) -> Result<()> {
    let expected = match (precondition, operation) {
        (
            Precondition::Any,
            Operation::Renew { .. }
            | Operation::Metadata(_)
            | Operation::Access
            | Operation::Remove(_)
            | Operation::RemoveVersion { .. },
        ) => Precondition::Present,
        (precondition, _) => precondition,
    };
    let needs_record = !matches!(operation, Operation::Put { .. });
    let holds = expected.holds(found) && !(needs_record && expected == Precondition::Absent);
    if holds { Ok(()) } else { Err(Error::PreconditionFailed { id: id.to_owned(), expected, found }) }
}
