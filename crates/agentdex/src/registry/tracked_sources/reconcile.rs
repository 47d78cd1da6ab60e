//! Writes the result of a poll to the store in a single transaction.

use agentdex_api::{RefreshResult, SourceStatus};
use serde_json::{Map, Value};

use super::{
    poll::{NewDocument, Polled, Same},
    schedule::{Outlook, next_try},
    source::Tracked,
    tracker::Tracker,
};
use crate::{
    Error, Result, Timestamp,
    change::Precondition,
    registry::{
        Effect, IfExists, Registry,
        import::{Declared, leave_out_own_members, refuse_repeated_ids},
        own_members::{self, STATUS},
        prepare::Prepared,
    },
    signature::Verification,
    store::{Author, Declares, Operation, Original, OwnDeclaration, Record, Write, version_of},
    td::{Document, merge_patch},
};

/// Maximum number of attempts at a write while others write the same Thing.
const ATTEMPTS: u32 = 3;

/// A tracked source with its Thing, as they are stored.
pub(super) struct Loaded {
    pub source: Tracked,
    /// With the text that the source gave, without edits.
    record: Record,
    /// Version of the text, if it has a version.
    version: Option<String>,
    pub original: Original,
}

impl Registry {
    /// Returns a tracked source with its Thing, or `None` if it isn't tracked.
    pub(super) fn load_tracked_source(&self, id: &str) -> Result<Option<Loaded>> {
        let store = &self.0.store;
        let (metadata, record, original) = (store.metadata(id)?, store.find(id)?, store.original(id)?);
        let (Some(metadata), Some(mut record), Some(original)) = (metadata, record, original) else { return Ok(None) };
        record.text = self.unedited(&record)?;
        let declared = store.declared(id)?.and_then(|declared| declared.declarations.into_iter().next());
        let version = declared.and_then(|(served, ..)| served.version).or_else(|| version_of(&record.text));
        Ok(Some(Loaded { source: Tracked::from_metadata(&metadata)?, record, version, original }))
    }

    /// Writes the result of a poll, and schedules the next poll. A failure is returned after it was written.
    pub(super) async fn reconcile(
        &self,
        before: &Tracked,
        mut polled: Polled,
        now: Timestamp,
    ) -> Result<RefreshResult> {
        let id = &before.id;
        let Some(tracker) = &self.0.network.tracker else { return Ok(RefreshResult::Stopped) };
        // The source wasn't asked: that proves nothing about it.
        if let Polled::Failed(error @ (Error::FetchBusy { .. } | Error::ShuttingDown)) = polled {
            return Err(error);
        }
        let _reconciling = tracker.reconciling.lock().await;
        for _ in 0..ATTEMPTS {
            let Some(mut loaded) = self.load_tracked_source(id)? else {
                tracker.schedule.forget(id);
                return Ok(RefreshResult::Stopped);
            };
            if !loaded.source.is_at(before) {
                tracker.schedule_as_stored(&self.0.store, id);
                return Ok(RefreshResult::Unchanged);
            }
            let (writes, failure) = self.writes_for(tracker, &mut loaded, &polled, now)?;
            // New parts of the document are whose it is.
            let author = Author { to_new: loaded.record.access.clone(), ..Author::default() };
            match self.commit_all(writes, author, false).await {
                // Somebody else was faster: try again on what is stored now.
                Err(Error::PreconditionFailed { .. }) => continue,
                // What is there stays, and the source's state says why.
                Err(error @ Error::LossyImport { .. }) => polled = Polled::Failed(error),
                Err(error) => return Err(error),
                Ok((effects, _)) => {
                    tracker.schedule_as_stored(&self.0.store, id);
                    let is_updated =
                        effects.iter().any(|(effect, _)| matches!(effect, Effect::Created | Effect::Updated));
                    return match (failure, polled) {
                        (Some(error), _) | (None, Polled::Failed(error)) => Err(error),
                        _ if is_updated => Ok(RefreshResult::Updated),
                        _ => Ok(RefreshResult::Unchanged),
                    };
                }
            }
        }
        Err(Error::Contended { id: id.clone(), attempts: ATTEMPTS })
    }

    /// Removes the state of a source, and with it whether it is stale.
    pub(super) async fn end_tracking(&self, id: &str) -> Result<()> {
        for _ in 0..ATTEMPTS {
            if self.0.store.metadata(id)?.is_none() {
                return Err(Error::NotTracked { id: id.into() });
            }
            let clear = |loaded: Loaded| self.writes_for_patch(&loaded, loaded.status_patch(SourceStatus::Current));
            let cleared = self.load_tracked_source(id).and_then(|loaded| loaded.map_or(Ok(Vec::new()), clear));
            let mut writes = cleared.unwrap_or_else(|error| {
                tracing::warn!(id, %error, "the stale status can't be removed from a description");
                Vec::new()
            });
            let (precondition, operation) = (Precondition::Present, Operation::Metadata(None));
            writes.push(Write { id: id.into(), precondition, operation, actor: None });
            match self.commit_all(writes, self.author(Default::default())?, false).await {
                Err(Error::PreconditionFailed { .. }) => continue,
                written => return written.map(drop),
            }
        }
        Err(Error::Contended { id: id.into(), attempts: ATTEMPTS })
    }

    /// The writes for the result of a poll, that of the source's state last; and why a document was refused, if it
    /// was.
    fn writes_for(
        &self,
        tracker: &Tracker,
        loaded: &mut Loaded,
        polled: &Polled,
        now: Timestamp,
    ) -> Result<(Vec<Write>, Option<Error>)> {
        let tracking = &tracker.poller.tracking;
        let accepted = match polled {
            Polled::Same(same) => self.writes_for_same(loaded, same, tracking.stale_after, now),
            Polled::New(document) => self.writes_for_new(loaded, document),
            Polled::Failed(_) => Ok(Vec::new()),
        };
        let (mut writes, failure) = accepted.map_or_else(|error| (Vec::new(), Some(error)), |writes| (writes, None));
        match failure.as_ref().or(polled.failure()) {
            None => record(&mut loaded.source, polled, now),
            Some(error) => {
                loaded.source.failed(error, tracking.stale_after, now);
                writes = self.writes_for_failure(loaded);
            }
        }
        let has_failed = loaded.source.last_error.is_some();
        if !(has_failed && loaded.source.is_early(now)) {
            let (interval, failures) = (tracking.interval, loaded.source.failures);
            let outlook = Outlook { interval, failures, max_age: polled.max_age(), retry_after: polled.retry_after() };
            loaded.source.next_try = next_try(&loaded.source.id, now, outlook);
        }
        writes.push(loaded.write_of_source(writes.is_empty())?);
        Ok((writes, failure))
    }

    /// The source is available again, and keys may lead to another result for the card than before.
    fn writes_for_same(
        &self,
        loaded: &mut Loaded,
        same: &Same,
        stale_after: u32,
        now: Timestamp,
    ) -> Result<Vec<Write>> {
        let mut patch = loaded.status_patch(SourceStatus::Current);
        if let Some(found) = &same.assessment
            && loaded.source.accepts_check(found.is_certain, stale_after, now)
        {
            let text = &loaded.record.text;
            patch.extend(signature_patch(text, &found.verification, found.is_certain)?);
        }
        self.writes_for_patch(loaded, patch)
    }

    /// Returns the writes for a failure. It is stored even if the description has no room for its status.
    fn writes_for_failure(&self, loaded: &Loaded) -> Vec<Write> {
        let patched = self.writes_for_patch(loaded, loaded.status_patch(loaded.source.status));
        patched.unwrap_or_else(|error| {
            tracing::warn!(id = loaded.source.id, %error, "the stale status can't be added to a description");
            Vec::new()
        })
    }

    fn writes_for_new(&self, loaded: &Loaded, document: &NewDocument) -> Result<Vec<Write>> {
        let mut things = document.conversion.things.clone();
        refuse_repeated_ids(&things)?;
        leave_out_own_members(&mut things)?;
        self.keep_server_metadata(&mut things, &document.conversion.options)?;
        self.add_signature(&mut things, document.verification.as_ref())?;
        let before = loaded.record.expiry;
        // A moment that was set by hand stays.
        let ttl = if before.ttl.is_none() && before.expires.is_some() { None } else { self.tracked_ttl(before.ttl) };
        // It has one version: the one that its source has now.
        let mut declared = Declared::of(&things, true)?;
        let mut writes = Vec::new();
        for thing in things {
            let says = declared.next(IfExists::Replace);
            writes.push(
                self.prepare_import(thing, &document.conversion.options, IfExists::Replace, ttl, Some(before), says)?
                    .write,
            );
        }
        match writes.first_mut() {
            Some(first) if first.id == loaded.source.id => first.precondition = Precondition::Seq(loaded.record.seq),
            other => {
                let found = other.map(|write| write.id.clone()).unwrap_or_default();
                return Err(Error::IdMismatch { expected: loaded.source.id.clone(), found });
            }
        }
        writes.extend(declared.parts(None));
        Ok(writes)
    }

    /// Patches the description and keeps its original.
    fn writes_for_patch(&self, loaded: &Loaded, patch: Map<String, Value>) -> Result<Vec<Write>> {
        if patch.is_empty() {
            return Ok(Vec::new());
        }
        let patch = Document::parse(Value::Object(patch).to_string().as_bytes())?;
        let Prepared { mut write, .. } = self.prepare_patch(&loaded.record, &patch, None)?;
        if let Operation::Put { original, declares, .. } = &mut write.operation {
            *original = Some(loaded.original.clone());
            *declares =
                Declares::Itself(OwnDeclaration { version: loaded.version.clone(), ..OwnDeclaration::default() });
        }
        Ok(vec![write])
    }
}

/// Records a poll that didn't fail.
fn record(source: &mut Tracked, polled: &Polled, now: Timestamp) {
    match polled {
        Polled::Same(same) => {
            if let Some((validators, url)) = &same.response {
                source.set_response(validators, url);
            }
        }
        Polled::New(document) => {
            if let Some(moved_to) = &document.moved_to {
                source.state.source.clone_from(moved_to);
            }
            source.set_response(&document.validators, &document.url);
            source.add_revision(&document.hash, now);
            source.unchecked = 0;
        }
        Polled::Failed(_) => return,
    }
    source.succeeded(now);
}

impl Loaded {
    /// Returns the patch by which the description states this status of its source; empty if it does already.
    fn status_patch(&self, status: SourceStatus) -> Map<String, Value> {
        let text = serde_json::from_str::<Map<String, Value>>(&self.record.text).unwrap_or_default();
        let stated = text.get(STATUS);
        let expected = match status {
            SourceStatus::Stale => Some(Value::from(status.name())),
            _ => None,
        };
        if stated == expected.as_ref() {
            return Map::new();
        }
        Map::from_iter([(STATUS.to_owned(), expected.unwrap_or_default())])
    }

    /// The write of the source's state. Alone it must ensure that nobody changed the Thing in the meantime.
    fn write_of_source(&self, is_alone: bool) -> Result<Write> {
        let precondition = if is_alone { Precondition::Seq(self.record.seq) } else { Precondition::Present };
        let operation = Operation::Metadata(Some(self.source.to_metadata()?));
        Ok(Write { id: self.source.id.clone(), precondition, operation, actor: None })
    }
}

/// Returns the patch of a description for a verification with a changed result. For an uncertain verification, only
/// the status is compared.
fn signature_patch(description: &str, found: &Verification, is_certain: bool) -> Result<Map<String, Value>> {
    let before = own_members::signature(description);
    if !is_certain && before.is_some_and(|before| before.status == found.status) {
        return Ok(Map::new());
    }
    let after = own_members::with_signature(description, Some(description), found)?;
    let Some(difference) = merge_patch::diff(description, &after) else { return Ok(Map::new()) };
    let unreadable = |error: serde_json::Error| Error::Store { doing: "comparing checks", source: error.into() };
    serde_json::from_str(&difference).map_err(unreadable)
}
