//! Records: the complete stored state of each Thing, for export to other programs or versions, and import.

use agentdex_api::{Effect, FullRecord, OriginalDocument, RecordVersion};
use serde_json::value::RawValue;

use super::{Registry, import_options, network, prepare::Prepared};
use crate::{
    Error, Result,
    access::{Access, AccessRequest, Namespace, Owner, Visibility},
    change::{Precondition, Seq, Timestamp},
    registry::Written,
    store::{
        self, Declaration, Declarer, Declares, Edited, Expiry, Operation, Original, OwnDeclaration, Record, Records,
        Remark, TextAccess,
    },
    td::{self, Document, Identity, Report, Violation},
};

/// Iterator over the records of a registry, ascending by id.
pub struct FullRecords {
    registry: Registry,
    records: Records,
}

impl Registry {
    /// Returns the complete stored state of all Things with ids greater than `after`, ascending by id. Concurrent
    /// writes may or may not be included; a [backup](Registry::backup) reflects a single moment.
    ///
    /// ```
    /// # let home = std::env::temp_dir().join(format!("agentdex-records-{}", std::process::id()));
    /// use agentdex::{Registry, td::Description};
    ///
    /// let (from, to) = (Registry::open(home.join("from"))?, Registry::open(home.join("to"))?);
    /// from.put(Description::new("Forecast").id("urn:example:forecast"))?;
    /// for record in from.full_records(None)? {
    ///     to.write_record_blocking(record?, false)?;
    /// }
    /// let of = |registry: &Registry| registry.find("urn:example:forecast").map(|found| found.map(|thing| thing.created()));
    /// assert_eq!(of(&from)?, of(&to)?);
    /// # from.close(); to.close(); std::fs::remove_dir_all(home).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::AccessRefused`] for callers without access to everything.
    pub fn full_records(&self, after: Option<&str>) -> Result<FullRecords> {
        self.check_sees_all()?;
        // No id has a zero byte, so that this is where the next one may begin.
        let start = after.map(|after| format!("{after}\0"));
        Ok(FullRecords { registry: self.clone(), records: self.0.store.records(start.as_deref()) })
    }

    /// Writes a record: creates or replaces its Thing, with the owner, access, and times from the record. If the owner
    /// isn't a member of the record's namespace in this registry, the Thing is in no namespace, and a warning says so
    /// ([`Written::warnings`]). A creation time in the future is replaced by the current time.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] for callers without access to everything, [`Error::Invalid`] also for an expired
    /// record; otherwise the same as [`Registry::write`].
    pub async fn write_record(&self, record: FullRecord, dry_run: bool) -> Result<Written> {
        self.check_sees_all()?;
        let (access, is_kept) = self.access_here(record.owner, record.visibility, record.namespace);
        let expiry = Expiry { ttl: record.ttl, expires: record.expires };
        if expiry.is_due(Timestamp::now()) {
            return Err(invalid(Violation::new("/expires", "expired", "the record has expired".to_owned())));
        }
        let created = Some(record.created.min(Timestamp::now()));
        let is_sole = record.other_versions.is_empty() && record.version.is_none();
        // The served one comes after those that everybody sees who sees it, since of what can't be compared the latest is served,
        // and before the others: no text is published by being the first for a moment.
        let (hidden, others): (Vec<_>, Vec<_>) =
            record.other_versions.into_iter().partition(|other| other.access.is_some());
        // A text that nothing was converted to is changed in place.
        let takes_edits = record.original.is_some() || !record.part_of.is_empty();
        let (unedited, served) = (record.unedited.filter(|_| takes_edits), record.td);
        let access_of_unedited = record.unedited_access.filter(|_| unedited.is_some());
        let (is_edited, text) = (unedited.is_some(), unedited.unwrap_or_else(|| served.clone()));
        let own =
            RecordVersion { version: record.version, td: text, original: record.original, access: access_of_unedited };
        let (mut writes, mut warnings, place_of_own) = (Vec::new(), Vec::new(), others.len());
        for (place, version) in others.into_iter().chain([own]).chain(hidden).enumerate() {
            let is_own = place == place_of_own;
            let edited = if is_own && is_edited { Some(self.edited(&served)?) } else { None };
            let Prepared { write, warnings: found, .. } =
                self.prepare_version(version, (is_sole, edited), (expiry, created))?;
            writes.push(write);
            if is_own {
                warnings = found;
            }
        }
        if !is_kept {
            let message = format!(
                "in this registry, the owner is not a member of the namespace, so the Thing is {} and in no namespace; \
                 claim the namespace or add the owner to it, then change the access",
                access.visibility
            );
            warnings.push(Violation::new("/namespace", "namespace-not-kept", message));
        }
        let id = writes.first().map(|write| write.id.clone()).ok_or(Error::MissingId)?;
        let joined = [(record.part_of, true), (record.parts, false)].into_iter().filter(|(ids, _)| !ids.is_empty());
        writes.extend(joined.map(|(ids, is_part)| store::Write {
            id: id.clone(),
            precondition: Precondition::Present,
            operation: if is_part { Operation::JoinDocuments(ids) } else { Operation::TakeParts(ids) },
            actor: None,
        }));
        let has_source = record.source.is_some();
        if let Some(source) = record.source {
            let operation = Operation::Metadata(Some(network::checked_source(&id, &source).map_err(invalid)?));
            writes.push(store::Write { id: id.clone(), precondition: Precondition::Present, operation, actor: None });
        }
        let asked = AccessRequest {
            owner: access.owner.clone(),
            visibility: Some(access.visibility),
            namespace: Some(access.namespace.clone()),
            number: None,
            all_versions: false,
        };
        let mut author = self.author(asked)?;
        // What was nobody's doesn't become the caller's.
        author.to_new = access;
        author.modified = record.modified.map(|modified| modified.min(Timestamp::now()));
        let is_tracked = has_source || self.is_tracked(&id)?;
        let (effects, remarks) = self.commit_all(writes, author, dry_run).await?;
        let hides = |remark: &&Remark| matches!(remark, Remark::VersionsHidden { .. } | Remark::AccessNarrowed { .. });
        let remarks: Vec<Remark> = remarks.iter().filter(hides).cloned().collect();
        warnings.extend(self.own_warnings_of(&id, &remarks));
        if is_tracked && !dry_run {
            self.0.network.reschedule(&self.0.store, &id).await;
        }
        let worth = |(effect, _): &&(Effect, Seq)| match effect {
            Effect::Created => 3,
            Effect::Updated => 2,
            Effect::OriginalUpdated | Effect::VersionsUpdated => 1,
            _ => 0,
        };
        let (effect, _) = effects.iter().rev().max_by_key(worth).copied().ok_or(Error::MissingId)?;
        let seq = effects.last().map_or(Seq::ZERO, |(_, seq)| *seq);
        Ok(Written { id, effect, seq, warnings })
    }

    /// Like [`Registry::write_record`], for threads that may block.
    ///
    /// # Errors
    /// Same as [`Registry::write_record`].
    pub fn write_record_blocking(&self, record: FullRecord, dry_run: bool) -> Result<Written> {
        pollster::block_on(self.write_record(record, dry_run))
    }

    /// Converts a version of a record to a write, including its edited text, which is served instead.
    fn prepare_version(
        &self,
        version: RecordVersion,
        (is_sole, edited): (bool, Option<Edited>),
        times: (Expiry, Option<Timestamp>),
    ) -> Result<Prepared> {
        let RecordVersion { version, td, original, access } = version;
        let version = version.filter(|version| !version.is_empty());
        let access = access.map(|access| self.access_here(access.owner, access.visibility, access.namespace).0);
        let own = OwnDeclaration { version, is_sole, access, edited, ..OwnDeclaration::default() };
        self.prepare_record(&td, original.map(Original::from), Declares::Itself(own), times)
    }

    fn edited(&self, td: &RawValue) -> Result<Edited> {
        let admission = td::admit(Document::parse(td.get().as_bytes())?, Identity::Own, self.options().strictness)?;
        let capabilities = store::capability_keys(admission.thing.value());
        Ok(Edited { text: admission.thing.into_text(), capabilities })
    }

    /// A text of a record, as it is written.
    fn prepare_record(
        &self,
        td: &RawValue,
        original: Option<Original>,
        says: Declares,
        (expiry, moment): (Expiry, Option<Timestamp>),
    ) -> Result<Prepared> {
        let document = Document::parse(td.get().as_bytes())?;
        let admission = td::admit(document, Identity::Own, self.options().strictness)?;
        let mut prepared = self.prepare_put(admission, None, Precondition::Any);
        let put = &mut prepared.write.operation;
        if let Operation::Put { expiry: granted, original: from, created, declares, .. } = put {
            (*granted, *created, *from, *declares) = (expiry, moment, original, says);
        }
        Ok(prepared)
    }

    /// Returns the access of a record from another registry in this registry, and whether it is unchanged: a
    /// namespace with the same name may belong to another owner.
    fn access_here(&self, owner: Option<Owner>, visibility: Visibility, name: Option<Namespace>) -> (Access, bool) {
        let known = name.as_ref().and_then(|name| self.0.store.find_namespace(name));
        let is_member = |owner: &Owner| known.as_ref().is_some_and(|(_, record)| record.has(owner));
        if name.is_none() || owner.as_ref().is_some_and(is_member) {
            let number = known.map(|(number, _)| number);
            return (Access { owner, visibility, namespace: name, number }, true);
        }
        let visibility = if visibility == Visibility::Public { visibility } else { Visibility::Private };
        (Access { owner, visibility, ..Access::default() }, false)
    }

    fn check_sees_all(&self) -> Result<()> {
        match self.grants() {
            None => Ok(()),
            Some(_) => Err(Error::AccessRefused { message: "only admins can read and write records".to_owned() }),
        }
    }
}

impl Iterator for FullRecords {
    type Item = Result<FullRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.and_then(|record| full(&self.registry, record)))
    }
}

fn full(registry: &Registry, record: Record) -> Result<FullRecord> {
    let store = &registry.0.store;
    let reading = |source: serde_json::Error| Error::Store { doing: "reading a record", source: source.into() };
    let raw = |text: String| RawValue::from_string(text).map_err(reading);
    let source = if record.format.is_some() { store.metadata(&record.id)? } else { None };
    let source = source.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(reading)?;
    let parts = if record.has_parts { store.parts(&record.id)? } else { Vec::new() };
    let (mut original, mut unedited, mut version, mut other_versions) = (None, None, None, Vec::new());
    let mut unedited_access = None;
    let own_access = |declaration: &Declaration| {
        let TextAccess { access, also } = declaration.access(&record.access);
        match also.is_empty() {
            true => Some(access).filter(|access| *access != record.access),
            // Of members of several namespaces, who may be others elsewhere.
            false => Some(Access { visibility: Visibility::Private, namespace: None, number: None, ..access }),
        }
    };
    if record.is_edited || record.has_versions {
        let declared = store.declared(&record.id)?.map_or_else(Vec::new, |declared| declared.declarations);
        let by_itself = |declaration: &Declaration| declaration.by == Declarer::Itself;
        for (number, (declaration, text, from)) in declared.into_iter().enumerate() {
            let from = from.map(OriginalDocument::from);
            match number {
                0 => {
                    original = from;
                    unedited = record.is_edited.then(|| raw(text)).transpose()?;
                    unedited_access = own_access(&declaration).filter(|_| record.is_edited);
                    version = declaration.version.clone().filter(|_| by_itself(&declaration));
                }
                _ if by_itself(&declaration) => {
                    let (access, version) = (own_access(&declaration), declaration.version);
                    other_versions.push(RecordVersion { version, td: raw(text)?, original: from, access });
                }
                _ => {}
            }
        }
    } else if record.format.is_some() {
        original = store.original(&record.id)?.map(OriginalDocument::from);
    }
    let Record { text, created, modified, expiry, access, part_of, .. } = record;
    Ok(FullRecord {
        td: raw(text)?,
        created,
        modified: Some(modified),
        owner: access.owner,
        visibility: access.visibility,
        namespace: access.namespace,
        ttl: expiry.ttl,
        expires: expiry.expires,
        original,
        unedited,
        unedited_access,
        version,
        other_versions,
        part_of,
        parts,
        source,
    })
}

fn invalid(violation: Violation) -> Error {
    Error::Invalid(Report { version: None, violations: vec![violation], warnings: Vec::new() })
}

impl From<OriginalDocument> for Original {
    fn from(document: OriginalDocument) -> Original {
        let OriginalDocument { format, media_type, text, options } = document;
        Original { format, media_type, bytes: text.into_bytes(), options: import_options::to_json(&options) }
    }
}

impl From<Original> for OriginalDocument {
    fn from(original: Original) -> OriginalDocument {
        let Original { format, media_type, bytes, options } = original;
        // What was converted was read as text.
        let (text, options) = (String::from_utf8_lossy(&bytes).into_owned(), import_options::from_json(&options));
        OriginalDocument { format, media_type, text, options }
    }
}
