//! Turns an admitted document into a store write, with its expiry and without the members that only the registry sets.

use super::{Registry, expiry::forgets_expiry, own_members, redaction::Redaction};
use crate::{
    Error, Result,
    change::Precondition,
    store::{self, Declares, Expiry, Operation, Record},
    td::{self, Admission, Document, Identity, RegistrationRequest, Violation},
};

/// A write as the store takes it.
pub(super) struct Prepared {
    pub write: store::Write,
    pub warnings: Vec<Violation>,
    /// True if the description contains members reserved to the registry.
    has_own_members: bool,
    /// True if the Thing must exist: its id is not allowed for a new Thing.
    pub must_exist: bool,
}

impl Prepared {
    /// Leaves out the members that only the registry sets.
    pub(super) fn without_own_members(mut self) -> Result<Prepared> {
        if let (true, Operation::Put { text, .. }) = (self.has_own_members, &mut self.write.operation) {
            let (left, warning) = own_members::leave_out(text)?;
            *text = left;
            self.warnings.push(warning);
        }
        Ok(self)
    }
}

impl Registry {
    pub(super) fn prepare(
        &self,
        document: Document,
        identity: Identity<'_>,
        precondition: Precondition,
    ) -> Result<Prepared> {
        let (strictness, redaction) = (self.options().strictness, self.options().redaction);
        let admission = redaction.apply(td::admit(document, identity, strictness)?, strictness)?;
        let must_exist = self.check_new_id(admission.thing.id())?;
        if must_exist && precondition == Precondition::Absent {
            return Err(Error::AlreadyExists { id: admission.thing.id().to_owned() });
        }
        Ok(Prepared { must_exist, ..self.prepare_put(admission, None, precondition) })
    }

    /// Refuses a new id with bidirectional formatting characters, forbidden in IRIs (RFC 3987, section 4.1), and the name of a
    /// server in the namespace of others. Existing agents keep such an id; returns true if the Thing must exist.
    pub(super) fn check_new_id(&self, id: &str) -> Result<bool> {
        let must_exist = self.check_server_name(id)?;
        let is_bidirectional = |character: char| matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let Some(found) = id.chars().find(|character| is_bidirectional(*character)) else { return Ok(must_exist) };
        if self.find_record(id)?.is_some() {
            return Ok(true);
        }
        let reason = format!(
            "it contains U+{:04X}, a bidirectional formatting character; remove or percent-encode it",
            u32::from(found)
        );
        Err(Error::InvalidId { id: id.to_owned(), reason })
    }

    pub(super) fn prepare_put(
        &self,
        admission: Admission,
        before: Option<Expiry>,
        precondition: Precondition,
    ) -> Prepared {
        let Admission { thing, registration, mut warnings } = admission;
        let (expiry, warning) = self.expiry(registration, before);
        warnings.extend(warning);
        let capabilities = store::capability_keys(thing.value());
        let id = thing.id().to_owned();
        let has_own_members = own_members::are_in(thing.value());
        let operation = Operation::Put {
            text: thing.into_text(),
            capabilities,
            expiry,
            patch: None,
            original: None,
            created: None,
            declares: Declares::ByHand { replaces: false, only_related: false },
        };
        let write = store::Write { id, precondition, operation, actor: None };
        Prepared { write, warnings, has_own_members, must_exist: false }
    }

    /// True for the description of a version as the registry gives it to the caller.
    pub(super) fn is_text_of_version(&self, prepared: &Prepared, version: &str) -> Result<bool> {
        let Operation::Put { text, .. } = &prepared.write.operation else { return Ok(false) };
        if !prepared.has_own_members || self.find_record(&prepared.write.id)?.is_none() {
            return Ok(false);
        }
        let versions = self.versions(&prepared.write.id)?;
        let mut texts = versions.iter().filter(|one| one.is_readable && one.version.as_deref() == Some(version));
        Ok(texts.any(|one| td::merge_patch::diff(one.text(), text).is_none()))
    }

    /// Removes the members reserved to the registry. If the rest equals the stored description, the stored
    /// description is kept, as long as it exists.
    pub(super) fn without_foreign_members(&self, mut prepared: Prepared) -> Result<Prepared> {
        let Prepared { write, warnings, has_own_members, .. } = &mut prepared;
        let Operation::Put { text, patch, .. } = &mut write.operation else { return Ok(prepared) };
        let stored = match write.precondition {
            Precondition::Absent => None,
            _ => self.0.store.find(&write.id)?,
        };
        // Only what was imported can have such members.
        let may_have_them =
            |stored: &Record| stored.format.is_some() && (*has_own_members || own_members::may_be_in(&stored.text));
        let may_have_them = stored.as_ref().is_some_and(may_have_them);
        let mut difference = stored.as_ref().and_then(|stored| td::merge_patch::diff(&stored.text, text));
        if *has_own_members && (difference.is_some() || !may_have_them) {
            let before = std::mem::take(text);
            let (left, warning) = own_members::leave_out(&before)?;
            // That its source is stale is true of what is edited, too.
            *text = match &stored {
                Some(stored) => own_members::with_status_of(&stored.text, left)?,
                None => left,
            };
            match &stored {
                // Who edits what it has read changes none of them.
                Some(stored) if own_members::are_same(&stored.text, &before) => {
                    warnings.extend(own_members::lost(&stored.text, text));
                }
                _ => warnings.push(warning),
            }
            difference = stored.as_ref().and_then(|stored| td::merge_patch::diff(&stored.text, text));
        }
        let Some(stored) = stored else { return Ok(prepared) };
        if may_have_them {
            if difference.is_some() && td::merge_patch::diff(&own_members::leave_out(&stored.text)?.0, text).is_none() {
                difference = None;
                *text = stored.text;
            }
            if difference.is_none() {
                write.precondition = Precondition::Seq(stored.seq);
            }
        }
        *patch = Some(store::Patch { since: stored.seq, text: difference });
        Ok(prepared)
    }

    /// Prepares a merge patch. Credentials in patches by hand are subject to the redaction policy; patches without a
    /// policy come from the registry itself.
    pub(super) fn prepare_patch(
        &self,
        record: &Record,
        patch: &Document,
        redaction: Option<Redaction>,
    ) -> Result<Prepared> {
        let unchanged = Precondition::Seq(record.seq);
        if patch.value().as_object().is_some_and(serde_json::Map::is_empty) {
            let (expiry, warning) = self.expiry(RegistrationRequest::default(), Some(record.expiry));
            let operation = Operation::Renew { expiry };
            let write = store::Write { id: record.id.clone(), precondition: unchanged, operation, actor: None };
            let warnings = warning.into_iter().collect();
            return Ok(Prepared { write, warnings, has_own_members: false, must_exist: false });
        }
        let patched = Document::parse(td::merge_patch::apply(&record.text, patch.text())?.as_bytes())?;
        let strictness = self.options().strictness;
        let mut admission = td::admit(patched, Identity::Addressed(&record.id), strictness)?;
        if let Some(redaction) = redaction {
            admission = redaction.apply(admission, strictness)?;
        }
        let before = if forgets_expiry(patch) { None } else { Some(record.expiry) };
        Ok(self.prepare_put(admission, before, unchanged))
    }
}
