//! What a look at a source does to its Thing, in one transaction.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{
    Imports,
    followed::{FollowedImport, ImportStatus},
    look::{Arrival, Look, Same},
    schedule::{Outlook, next_try},
};
use crate::{
    Error, Result, Timestamp,
    change::Precondition,
    registry::{
        Effect, IfExists, Registry,
        import::{leave_out_marks, refuse_repeated_ids},
        marks::{self, STATUS},
        write::Prepared,
    },
    store::{Operation, Original, Record, Write},
    td::Document,
};

/// How often it is tried again when somebody else writes the Thing at the same moment.
const ATTEMPTS: u32 = 3;

/// What a look at a source came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// The description is what it was; or it is by now what another look, or another import, has made of it.
    Unchanged,
    /// The document changed and was imported.
    Updated,
    /// It is no longer followed: it was removed, or changed by hand.
    Stopped,
}

/// An import with its Thing, as they are stored.
pub(super) struct Loaded {
    pub import: FollowedImport,
    record: Record,
    pub original: Original,
}

impl Registry {
    /// What is stored of a followed import; none if it isn't followed.
    pub(super) fn load_import(&self, id: &str) -> Result<Option<Loaded>> {
        let store = &self.0.store;
        let (note, record, original) = (store.note(id)?, store.find(id)?, store.original(id)?);
        let (Some(note), Some(record), Some(original)) = (note, record, original) else { return Ok(None) };
        Ok(Some(Loaded { import: FollowedImport::from_note(&note)?, record, original }))
    }

    /// Writes what a look came to, and when the next is due. A failure is an error once it is written.
    pub(super) async fn settle(&self, looked: &FollowedImport, look: Look, now: Timestamp) -> Result<Refreshed> {
        let id = &looked.id;
        let Some(imports) = &self.0.imports else { return Ok(Refreshed::Stopped) };
        // Nobody was asked: that says nothing of the source.
        if let Look::Failed(error @ (Error::FetchBusy { .. } | Error::ShuttingDown)) = look {
            return Err(error);
        }
        let _settling = imports.settling.lock().await;
        for _ in 0..ATTEMPTS {
            let Some(mut loaded) = self.load_import(id)? else {
                imports.schedule.forget(id);
                return Ok(Refreshed::Stopped);
            };
            if !loaded.import.is_at(looked) {
                self.plan_as_stored(imports, id);
                return Ok(Refreshed::Unchanged);
            }
            let (writes, failure) = self.writes_for(imports, &mut loaded, &look, now)?;
            match self.commit_all(writes, false).await {
                // Somebody else was faster: what is there now is looked at again.
                Err(Error::PreconditionFailed { .. }) => continue,
                Err(error) => return Err(error),
                Ok(effects) => {
                    self.plan_as_stored(imports, id);
                    let is_updated = effects.iter().any(|(effect, _)| *effect != Effect::Unchanged);
                    return match (failure, look) {
                        (Some(error), _) | (None, Look::Failed(error)) => Err(error),
                        _ if is_updated => Ok(Refreshed::Updated),
                        _ => Ok(Refreshed::Unchanged),
                    };
                }
            }
        }
        Err(Error::Contended { id: id.clone(), attempts: ATTEMPTS })
    }

    /// Forgets that a Thing is followed, and with it whether its source is stale.
    pub(super) async fn settle_end(&self, id: &str) -> Result<()> {
        for _ in 0..ATTEMPTS {
            if self.0.store.note(id)?.is_none() {
                return Err(Error::NotFollowed { id: id.into() });
            }
            let unmark = |loaded: Loaded| self.writes_for_patch(&loaded, loaded.status_patch(ImportStatus::Current));
            let unmarked = self.load_import(id).and_then(|loaded| loaded.map_or(Ok(Vec::new()), unmark));
            let mut writes = unmarked.unwrap_or_else(|error| {
                tracing::warn!(id, %error, "the mark of a stale source stays in the description");
                Vec::new()
            });
            let (precondition, operation) = (Precondition::Present, Operation::Note(None));
            writes.push(Write { id: id.into(), precondition, operation, actor: None });
            match self.commit_all(writes, false).await {
                Err(Error::PreconditionFailed { .. }) => continue,
                written => return written.map(drop),
            }
        }
        Err(Error::Contended { id: id.into(), attempts: ATTEMPTS })
    }

    /// The writes that a look comes to, the note last; and what kept a document out, if something did.
    fn writes_for(
        &self,
        imports: &Imports,
        loaded: &mut Loaded,
        look: &Look,
        now: Timestamp,
    ) -> Result<(Vec<Write>, Option<Error>)> {
        let following = &imports.looker.following;
        let taken = match look {
            Look::Same(same) => self.writes_for_same(loaded, same, following.stale_after, now),
            Look::New(arrival) => self.writes_for_new(loaded, arrival),
            Look::Failed(_) => Ok(Vec::new()),
        };
        let (mut writes, failure) = taken.map_or_else(|error| (Vec::new(), Some(error)), |writes| (writes, None));
        match failure.as_ref().or(look.failure()) {
            None => loaded.import.took(look, now),
            Some(error) => {
                loaded.import.failed(error, following.stale_after, now);
                writes = self.writes_for_failure(loaded);
            }
        }
        let has_failed = loaded.import.last_error.is_some();
        if !(has_failed && loaded.import.is_early(now)) {
            let (interval, failures) = (following.interval, loaded.import.failures);
            let outlook = Outlook { interval, failures, max_age: look.max_age(), retry_after: look.retry_after() };
            loaded.import.next_try = next_try(&loaded.import.id, now, outlook);
        }
        writes.push(loaded.note(writes.is_empty())?);
        Ok((writes, failure))
    }

    /// The source is there again, and keys may say something else of the card than before.
    fn writes_for_same(
        &self,
        loaded: &mut Loaded,
        same: &Same,
        stale_after: u32,
        now: Timestamp,
    ) -> Result<Vec<Write>> {
        let mut patch = loaded.status_patch(ImportStatus::Current);
        if let Some(found) = &same.assessment
            && loaded.import.believes(found, stale_after, now)
        {
            patch.extend(marks::signature_patch(&loaded.record.text, &found.verification, found.is_certain)?);
        }
        self.writes_for_patch(loaded, patch)
    }

    /// A failure is noted also where there is no room to say it in the description.
    fn writes_for_failure(&self, loaded: &Loaded) -> Vec<Write> {
        let marked = self.writes_for_patch(loaded, loaded.status_patch(loaded.import.status));
        marked.unwrap_or_else(|error| {
            tracing::warn!(id = loaded.import.id, %error, "a stale source can't be marked in its description");
            Vec::new()
        })
    }

    fn writes_for_new(&self, loaded: &Loaded, arrival: &Arrival) -> Result<Vec<Write>> {
        let mut things = arrival.conversion.things.clone();
        refuse_repeated_ids(&things)?;
        leave_out_marks(&mut things)?;
        self.mark(&mut things, arrival.verification.as_ref())?;
        let before = loaded.record.expiry;
        // A moment that was set by hand stays.
        let ttl = if before.ttl.is_none() && before.expires.is_some() { None } else { self.followed_ttl(before.ttl) };
        let prepare =
            |thing| self.prepare_import(thing, IfExists::Replace, ttl, Some(before)).map(|prepared| prepared.write);
        let mut writes: Vec<Write> = things.into_iter().map(prepare).collect::<Result<_>>()?;
        match writes.first_mut() {
            Some(first) if first.id == loaded.import.id => first.precondition = Precondition::Seq(loaded.record.seq),
            other => {
                let found = other.map(|write| write.id.clone()).unwrap_or_default();
                return Err(Error::IdMismatch { expected: loaded.import.id.clone(), found });
            }
        }
        Ok(writes)
    }

    /// Patches the description and leaves it what it was made of.
    fn writes_for_patch(&self, loaded: &Loaded, patch: Map<String, Value>) -> Result<Vec<Write>> {
        if patch.is_empty() {
            return Ok(Vec::new());
        }
        let patch = Document::parse(Value::Object(patch).to_string().as_bytes())?;
        let Prepared { mut write, .. } = self.prepare_patch(&loaded.record, &patch)?;
        if let Operation::Put { original, .. } = &mut write.operation {
            *original = Some(loaded.original.clone());
        }
        Ok(vec![write])
    }
}

impl Look {
    fn failure(&self) -> Option<&Error> {
        match self {
            Look::Failed(error) => Some(error),
            Look::Same(_) | Look::New(_) => None,
        }
    }

    fn max_age(&self) -> Option<Duration> {
        match self {
            Look::Same(same) => same.max_age,
            Look::New(arrival) => arrival.max_age,
            Look::Failed(_) => None,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Look::Failed(Error::FetchFailed { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }
}

impl Loaded {
    /// What the description must say anew of whether its source is stale.
    fn status_patch(&self, status: ImportStatus) -> Map<String, Value> {
        let text = serde_json::from_str::<Map<String, Value>>(&self.record.text).unwrap_or_default();
        let marked = text.get(STATUS);
        let mark = match status {
            ImportStatus::Stale => Some(Value::from(status.name())),
            ImportStatus::Current => None,
        };
        if marked == mark.as_ref() {
            return Map::new();
        }
        Map::from_iter([(STATUS.to_owned(), mark.unwrap_or_default())])
    }

    /// The write of the note. Alone it must see to it that nobody changed the Thing in the meantime.
    fn note(&self, is_alone: bool) -> Result<Write> {
        let precondition = if is_alone { Precondition::Seq(self.record.seq) } else { Precondition::Present };
        let operation = Operation::Note(Some(self.import.to_note()?));
        Ok(Write { id: self.import.id.clone(), precondition, operation, actor: None })
    }
}
