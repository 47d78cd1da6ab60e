//! Records: Things with all that is stored of each, for other programs and other versions of this one, and taken again.

use agentdex_api::{FullRecord, OriginalDocument};
use serde_json::value::RawValue;

use super::{Registry, network, prepare::Prepared};
use crate::{
    Error, Result,
    access::{Access, AccessRequest, Namespace, Owner, Visibility},
    change::{Precondition, Timestamp},
    registry::Written,
    store::{self, Declares, Expiry, Operation, Original, Record, Records},
    td::{self, Document, Identity, Report, Violation},
};

/// The records of a registry, in the order of their ids.
pub struct FullRecords {
    registry: Registry,
    records: Records,
}

impl Registry {
    /// The Things with all that is stored of each, in the order of their ids, those after `after`. What is written
    /// meanwhile may or may not be among them: a [backup](Registry::backup) is of one moment.
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
    /// [`Error::AccessRefused`] for callers who don't see everything.
    pub fn full_records(&self, after: Option<&str>) -> Result<FullRecords> {
        self.check_sees_all()?;
        // No id has a zero byte, so that this is where the next one may begin.
        let start = after.map(|after| format!("{after}\0"));
        Ok(FullRecords { registry: self.clone(), records: self.0.store.records(start.as_deref()) })
    }

    /// Writes a record: its Thing is created as of then, or replaced, and is whose it was.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] for callers who don't see everything, [`Error::Invalid`] also for one that has expired,
    /// else as [`Registry::write`].
    pub async fn write_record(&self, record: FullRecord, dry_run: bool) -> Result<Written> {
        self.check_sees_all()?;
        let (access, is_kept) = self.access_here(record.owner, record.visibility, record.namespace);
        let expiry = Expiry { ttl: record.ttl, expires: record.expires };
        if expiry.is_due(Timestamp::now()) {
            return Err(invalid(Violation::new("/expires", "expired", "it has expired".to_owned())));
        }
        let document = Document::parse(record.td.get().as_bytes())?;
        let admission = td::admit(document, Identity::Own, self.options().strictness)?;
        let Prepared { mut write, mut warnings, .. } = self.prepare_put(admission, None, Precondition::Any);
        if let Operation::Put { expiry: granted, original, created, declares, .. } = &mut write.operation {
            *declares = Declares::itself();
            (*granted, *created) = (expiry, Some(record.created.min(Timestamp::now())));
            *original = record.original.map(Original::from);
        }
        if !is_kept {
            let message = format!(
                "its owner is no member of a namespace of this name here, so that it is {} and in none; claim the namespace, \
                 then change the access",
                access.visibility
            );
            warnings.push(Violation::new("/namespace", "namespace-not-kept", message));
        }
        let id = write.id.clone();
        let mut writes = vec![write];
        if let Some(source) = record.source {
            let operation = Operation::Metadata(Some(network::checked_source(&id, &source).map_err(invalid)?));
            writes.push(store::Write { id: id.clone(), precondition: Precondition::Present, operation, actor: None });
        }
        let asked = AccessRequest {
            owner: access.owner.clone(),
            visibility: Some(access.visibility),
            namespace: Some(access.namespace.clone()),
            number: None,
        };
        let mut author = self.author(asked)?;
        // What was nobody's doesn't become the caller's.
        author.to_new = access;
        author.modified = record.modified.map(|modified| modified.min(Timestamp::now()));
        let is_tracked = writes.len() > 1 || self.is_tracked(&id)?;
        let (effects, _) = self.commit_all(writes, author, dry_run).await?;
        if is_tracked && !dry_run {
            self.0.has_tracked_sources.store(true, std::sync::atomic::Ordering::Relaxed);
            self.0.network.reschedule(&self.0.store, &id).await;
        }
        let (effect, seq) = effects.first().copied().ok_or_else(|| Error::NotFound { id: id.clone() })?;
        Ok(Written { id, effect, seq, warnings })
    }

    /// [`Registry::write_record`] for threads that may block.
    ///
    /// # Errors
    /// As [`Registry::write_record`].
    pub fn write_record_blocking(&self, record: FullRecord, dry_run: bool) -> Result<Written> {
        pollster::block_on(self.write_record(record, dry_run))
    }

    /// The access that a record from elsewhere gets here, and whether it is the one that it had: a namespace of the same
    /// name may be another's.
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
            Some(_) => Err(Error::AccessRefused { message: "records are read and written by admins".to_owned() }),
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
    let Record { id, text, created, modified, expiry, format, access, .. } = record;
    let store = &registry.0.store;
    let (original, source) = match format {
        Some(_) => (store.original(&id)?, store.metadata(&id)?),
        None => (None, None),
    };
    let reading = |source: serde_json::Error| Error::Store { doing: "reading a record", source: source.into() };
    let source = source.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(reading)?;
    Ok(FullRecord {
        td: RawValue::from_string(text).map_err(reading)?,
        created,
        modified: Some(modified),
        owner: access.owner,
        visibility: access.visibility,
        namespace: access.namespace,
        ttl: expiry.ttl,
        expires: expiry.expires,
        original: original.map(OriginalDocument::from),
        source,
    })
}

fn invalid(violation: Violation) -> Error {
    Error::Invalid(Report { version: None, violations: vec![violation], warnings: Vec::new() })
}

impl From<OriginalDocument> for Original {
    fn from(document: OriginalDocument) -> Original {
        let OriginalDocument { format, media_type, text } = document;
        Original { format, media_type, bytes: text.into_bytes() }
    }
}

impl From<Original> for OriginalDocument {
    fn from(original: Original) -> OriginalDocument {
        let Original { format, media_type, bytes } = original;
        // What was converted was read as text.
        OriginalDocument { format, media_type, text: String::from_utf8_lossy(&bytes).into_owned() }
    }
}
