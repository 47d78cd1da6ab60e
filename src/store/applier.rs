//! `Applier`: commands in, records and changes out; the same ones wherever the same commands are applied
//! to the same tree. It reads no clock and draws nothing at random: moments come with the command.
//!
//! The commands of a commit are applied in memory one after the other. Each write sees what the writes
//! before it have staged, so preconditions hold in log order; a command that fails takes back what it
//! has staged.

use sled::{Batch, IVec};

use super::{
    expiry::extended,
    layout,
    overlay::Overlay,
    recent::RecentChange,
    tree::Before,
    value::{self, Body, Entry, State, StoredRecord},
    write::{Expiry, Operation, Original, Outcome, Patch, Write},
};
use crate::{
    Error, Result,
    change::{ChangeKind, DeletionReason, Precondition, Seq, Timestamp},
    td::merge_patch,
};

/// Writes that are applied together or not at all.
#[derive(Debug)]
pub(super) struct Command {
    pub writes: Vec<Write>,
    pub moment: Moment,
}

/// What a command knows of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// The time of the log, which doesn't go back.
    pub at: Timestamp,
    /// The clock that expiry is tested by, as readers ask: the time of the log stays ahead of a clock that was
    /// set back.
    pub clock: Timestamp,
    /// When the store was opened, as long as not every expiry has its grace in the tree.
    pub opened: Option<Timestamp>,
}

/// Applies the commands of one commit.
pub(super) struct Applier<'a> {
    moment: Moment,
    state: State,
    changes: Vec<RecentChange>,
    /// The expiries that are added or removed.
    moved: Vec<(IVec, bool)>,
    overlay: Overlay<'a>,
}

/// What there is under an id when a write comes to it.
struct Found<'a> {
    record: StoredRecord<'a>,
    expiry: Expiry,
}

/// What a put brings along beside its text.
struct Particulars<'a> {
    id: &'a str,
    expiry: Expiry,
    original: Option<&'a Original>,
}

/// What replaces a description.
struct Description {
    text: String,
    capabilities: Vec<String>,
    patch: Option<Patch>,
}

/// A commit that is ready to be written.
pub(super) struct Staged {
    pub batch: Batch,
    /// What the batch writes or removes.
    pub keys: Vec<IVec>,
    pub before: Before,
    pub changes: Vec<RecentChange>,
    pub moved: Vec<(IVec, bool)>,
    pub state: State,
}

impl<'a> Applier<'a> {
    pub fn new(tree: &'a sled::Tree, state: State, moment: Moment) -> Applier<'a> {
        Applier { moment, state, changes: Vec::new(), moved: Vec::new(), overlay: Overlay::new(tree) }
    }

    /// Stages all writes of a command, or none.
    pub fn apply(&mut self, command: Command) -> Result<Vec<Outcome>> {
        let (state, changes, moved) = (self.state, self.changes.len(), self.moved.len());
        self.moment = command.moment;
        self.overlay.begin();
        let mut is_due = true;
        let write = |write| match is_due {
            true => self.write(write).inspect(|outcome| is_due = *outcome != Outcome::NotDue),
            false => Ok(Outcome::NotDue),
        };
        let outcomes: Result<Vec<Outcome>> = command.writes.into_iter().map(write).collect();
        if outcomes.is_err() {
            self.overlay.take_back();
            self.state = state;
            self.changes.truncate(changes);
            self.moved.truncate(moved);
        }
        outcomes
    }

    /// Writes the grace after a start into the tree.
    pub fn grant_grace(&mut self, id: &str) -> Result<()> {
        let granted = extended(self.expiry(id)?, self.moment.opened);
        self.move_expiry(id, true, granted)
    }

    /// Stages something that is no write to a record.
    pub fn set(&mut self, key: IVec, value: Option<IVec>) {
        self.overlay.set(key, value);
    }

    /// The batch; none where nothing is to be written.
    pub fn finish(mut self) -> Option<Staged> {
        if self.overlay.is_empty() {
            return None;
        }
        if !self.changes.is_empty() {
            self.set(layout::STATE_KEY.into(), Some(self.state.encode()));
        }
        let (batch, keys, before) = self.overlay.finish();
        Some(Staged { batch, keys, before, changes: self.changes, moved: self.moved, state: self.state })
    }

    fn write(&mut self, write: Write) -> Result<Outcome> {
        let Write { id, precondition, operation, actor } = write;
        if id.is_empty() || id.contains('\0') {
            return Err(Error::InvalidId { id, reason: "it is empty or has a zero byte".into() });
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
        match (operation, live) {
            (Operation::Put { text, capabilities, expiry, patch, original }, live) => {
                let particulars = Particulars { id: &id, expiry, original: original.as_ref() };
                if let Some(expired) = expired {
                    self.delete(&id, &expired, DeletionReason::Expired, None)?;
                }
                match live {
                    None => self.create(particulars, text, capabilities, actor),
                    Some(live) => self.replace(particulars, &live, Description { text, capabilities, patch }, actor),
                }
            }
            (Operation::Renew { expiry }, Some(live)) => {
                self.renew(Particulars { id: &id, expiry, original: None }, &live)
            }
            (Operation::Metadata(metadata), Some(live)) => self.set_metadata(&id, metadata, &live.record),
            (Operation::Remove(reason), Some(live)) => self.delete(&id, &live, reason, actor).map(Outcome::Removed),
            // `check` lets nothing but a put through where there is no record.
            (Operation::Renew { .. } | Operation::Metadata(_) | Operation::Remove(_) | Operation::Purge, _) => {
                Ok(Outcome::NotDue)
            }
        }
    }

    fn create(
        &mut self,
        particulars: Particulars<'_>,
        text: String,
        capabilities: Vec<String>,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let seq = self.state.last.next();
        let mut record = StoredRecord {
            has_expiry: false,
            has_original: false,
            is_creation: true,
            seq,
            created: self.moment.at,
            modified: self.moment.at,
            format: None,
            capabilities: &value::block_of(&capabilities),
        };
        self.attach(&particulars, &mut record)?;
        self.set(layout::text_key(seq), Some(IVec::from(text.as_bytes())));
        self.set(layout::record_key(particulars.id), Some(record.encode()));
        self.state.records += 1;
        let (id, at, after) = (particulars.id.to_owned(), self.moment.at, capabilities);
        let body = Body::Text(text);
        self.log(Entry { kind: ChangeKind::Created, reason: None, at, id, actor, before: Vec::new(), after, body });
        Ok(Outcome::Created(seq))
    }

    fn replace(
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
        let Some(patch) = patch.or_else(|| has_other_format.then(|| "{}".to_owned())) else {
            return self.renew(particulars, live);
        };
        self.leave_text(particulars.id, old)?;
        if old.has_original {
            self.overwrite(layout::metadata_key(particulars.id), None)?;
            self.overwrite(layout::original_key(old.seq), None)?;
        }
        let seq = self.state.last.next();
        let mut record = StoredRecord {
            is_creation: false,
            seq,
            modified: self.moment.at,
            capabilities: &value::block_of(&capabilities),
            has_original: false,
            format: None,
            ..*old
        };
        self.attach(&particulars, &mut record)?;
        self.set(layout::text_key(seq), Some(IVec::from(text.as_bytes())));
        self.set(layout::record_key(particulars.id), Some(record.encode()));
        let (id, at, before, after) = (particulars.id.to_owned(), self.moment.at, old.capability_keys()?, capabilities);
        self.log(Entry {
            kind: ChangeKind::Updated,
            reason: None,
            at,
            id,
            actor,
            before,
            after,
            body: Body::Text(patch),
        });
        Ok(Outcome::Updated(seq))
    }

    fn renew(&mut self, particulars: Particulars<'_>, live: &Found<'_>) -> Result<Outcome> {
        let mut record = live.record;
        let has_other_original = self.attach(&particulars, &mut record)?;
        if record != live.record {
            self.set(layout::record_key(particulars.id), Some(record.encode()));
        }
        Ok(if has_other_original { Outcome::OriginalUpdated(record.seq) } else { Outcome::Renewed(record.seq) })
    }

    fn delete(&mut self, id: &str, found: &Found<'_>, reason: DeletionReason, actor: Option<String>) -> Result<Seq> {
        self.leave_text(id, &found.record)?;
        self.move_expiry(id, found.record.has_expiry, Expiry::default())?;
        if found.record.has_original {
            self.overwrite(layout::original_key(found.record.seq), None)?;
            self.overwrite(layout::metadata_key(id), None)?;
        }
        self.set(layout::record_key(id), None);
        self.state.records = self.state.records.saturating_sub(1);
        let (id, at, before) = (id.to_owned(), self.moment.at, found.record.capability_keys()?);
        let (kind, after, body) = (ChangeKind::Deleted, Vec::new(), Body::None);
        Ok(self.log(Entry { kind, reason: Some(reason), at, id, actor, before, after, body }))
    }

    fn set_metadata(&mut self, id: &str, metadata: Option<Vec<u8>>, record: &StoredRecord<'_>) -> Result<Outcome> {
        if record.has_original {
            self.overwrite(layout::metadata_key(id), metadata.map(IVec::from))?;
        }
        Ok(Outcome::Renewed(record.seq))
    }

    /// Stages expiry and original of a record, notes in it that it has them, and returns whether the original differs
    /// from the stored one.
    fn attach<'r>(&mut self, particulars: &Particulars<'r>, record: &mut StoredRecord<'r>) -> Result<bool> {
        self.move_expiry(particulars.id, record.has_expiry, particulars.expiry)?;
        record.has_expiry = particulars.expiry != Expiry::default();
        let Some(original) = particulars.original else { return Ok(false) };
        (record.has_original, record.format) = (true, Some(original.format.as_str()));
        self.overwrite(layout::original_key(record.seq), Some(value::encode_original(original)))
    }

    fn move_expiry(&mut self, id: &str, has_expiry: bool, expiry: Expiry) -> Result<()> {
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
        self.moved.push((key, shall_be_there));
    }

    /// Drops the text of a record that is about to change, unless the log still has its creation, which the
    /// history then lists.
    fn leave_text(&mut self, id: &str, record: &StoredRecord<'_>) -> Result<()> {
        // None: retention has dropped it.
        if record.is_creation && self.overlay.get_open(&layout::log_key(record.seq))?.is_some() {
            self.set(layout::history_key(id, record.seq), Some(IVec::default()));
            return Ok(());
        }
        self.overwrite(layout::text_key(record.seq), None).map(drop)
    }

    /// Appends to the log.
    fn log(&mut self, entry: Entry) -> Seq {
        let seq = self.state.last.next();
        self.state.last = seq;
        if entry.kind != ChangeKind::Created {
            self.set(layout::history_key(&entry.id, seq), Some(IVec::default()));
        }
        self.set(layout::log_key(seq), Some(entry.encode()));
        self.changes.push(RecentChange::new(seq, entry));
        seq
    }

    fn found<'r>(&mut self, id: &str, bytes: &'r [u8]) -> Result<Found<'r>> {
        let record = StoredRecord::decode(bytes)?;
        let expiry = if record.has_expiry { self.expiry(id)? } else { Expiry::default() };
        Ok(Found { record, expiry: extended(expiry, self.moment.opened) })
    }

    /// What the tree, or what is staged, says of an expiry.
    fn expiry(&mut self, id: &str) -> Result<Expiry> {
        let bytes = self.overlay.get(&layout::expiry_key(id))?;
        bytes.map_or(Ok(Expiry::default()), |bytes| value::decode_expiry(&bytes))
    }

    /// Stages a value, if it differs from the one before, and returns whether it does.
    fn overwrite(&mut self, key: IVec, value: Option<IVec>) -> Result<bool> {
        let differs = self.overlay.get(&key)? != value;
        if differs {
            self.set(key, value);
        }
        Ok(differs)
    }
}

fn check(id: &str, precondition: Precondition, operation: &Operation, found: Option<Seq>) -> Result<()> {
    let expected = match (precondition, operation) {
        (Precondition::Any, Operation::Renew { .. } | Operation::Metadata(_) | Operation::Remove(_)) => {
            Precondition::Present
        }
        (precondition, _) => precondition,
    };
    let needs_record = !matches!(operation, Operation::Put { .. });
    let holds = match expected {
        Precondition::Any => true,
        Precondition::Absent => found.is_none() && !needs_record,
        Precondition::Present => found.is_some(),
        Precondition::Seq(seq) => found == Some(seq),
    };
    if holds { Ok(()) } else { Err(Error::PreconditionFailed { id: id.to_owned(), expected, found }) }
}
