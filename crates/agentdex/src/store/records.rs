//! Reading records: a single record by id, or all records in order of their ids.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use sled::IVec;

use super::{
    declaration::Declaration,
    layout,
    sum::Digest,
    value::{self, StoredRecord},
    view::View,
    write::{Edits, Expiry, Original},
};
use crate::{
    Error, Result,
    access::{Access, Grants},
    change::{Seq, Timestamp},
};

/// A stored record.
#[derive(Debug, Clone)]
pub struct Record {
    /// Id of the record.
    pub id: String,
    /// Stored text.
    pub text: String,
    /// Position of the last change.
    pub seq: Seq,
    /// Time of creation.
    pub created: Timestamp,
    /// Time of the last change.
    pub modified: Timestamp,
    /// Expiry of the record.
    pub expiry: Expiry,
    /// Format from which the record was converted, or `None` if it was registered as a TD.
    pub format: Option<String>,
    /// Owner and visibility.
    pub access: Access,
    /// Ids of Things whose documents declare the record as a part. Empty if the record declares itself.
    pub part_of: Vec<String>,
    /// True if its document has parts that are separate records.
    pub has_parts: bool,
    /// True if the record was edited by hand since its import.
    pub is_edited: bool,
    /// True if the record may have several declarations.
    pub has_versions: bool,
}

/// All texts of a record: declarations and edits.
#[derive(Debug, Clone)]
pub struct DeclaredTexts {
    /// Declarations with their texts and originals, the served declaration first.
    pub declarations: Vec<(Declaration, String, Option<Original>)>,
    /// Edits by hand on top of the served declaration.
    pub edits: Option<Edits>,
    /// Position of the record's last change.
    pub seq: Seq,
    /// Owner and visibility.
    pub access: Access,
}

impl Record {
    /// True if the record has expired. The time is only read if there is an expiry, since it costs as much as a good
    /// part of reading the record.
    fn is_due(&self) -> bool {
        self.expiry.expires.is_some() && self.expiry.is_due(Timestamp::now())
    }
}

/// A record without its text.
struct Header {
    id: String,
    /// Those of the text and of the original.
    digest: Digest,
    original: Option<Digest>,
    seq: Seq,
    created: Timestamp,
    modified: Timestamp,
    expiry: Expiry,
    format: Option<String>,
    access: Access,
    /// Position under which the original is stored.
    base: Seq,
    part_of: Vec<String>,
    has_parts: bool,
    is_edited: bool,
    has_versions: bool,
}

impl Header {
    fn new(id: &str, stored: &StoredRecord<'_>, expiry: Expiry) -> Result<Header> {
        Ok(Header {
            id: id.to_owned(),
            digest: stored.text,
            original: stored.original,
            seq: stored.seq,
            created: stored.created,
            modified: stored.modified,
            expiry,
            format: stored.format.map(str::to_owned),
            access: stored.access()?,
            base: stored.base()?,
            part_of: match stored.declarations {
                [] => Vec::new(),
                _ => stored.declared()?.documents().into_iter().map(str::to_owned).collect(),
            },
            has_parts: stored.has_parts,
            is_edited: stored.edits.is_some(),
            has_versions: !stored.declarations.is_empty(),
        })
    }

    fn with_text(self, text: String) -> Record {
        let Header { id, seq, created, modified, expiry, format, access, .. } = self;
        let (part_of, has_parts, is_edited, has_versions) =
            (self.part_of, self.has_parts, self.is_edited, self.has_versions);
        Record { id, text, seq, created, modified, expiry, format, access, part_of, has_parts, is_edited, has_versions }
    }
}

/// Returns the error for a text or an original that doesn't match its digest.
fn other_text() -> Error {
    layout::unreadable("its text or its original doesn't match its checksum".into())
}

impl View {
    /// See [`super::Store::find`].
    pub fn find(&self, id: &str) -> Result<Option<Record>> {
        let record = self.find_unpurged(id)?;
        Ok(record.filter(|record| !record.is_due()))
    }

    /// See [`super::Store::find_unpurged`].
    pub fn find_unpurged(&self, id: &str) -> Result<Option<Record>> {
        self.find_with(id, |header| {
            let text = self.text(header.seq)?;
            // One that was found to be another one may have been written again since.
            if self.tree.damage.has(id) && text.as_ref().is_none_or(|text| Digest::of(text.as_bytes()) != header.digest)
            {
                return Err(other_text());
            }
            Ok(text.map(|text| header.with_text(text)))
        })
    }

    /// Compares the texts and originals of records with their digests, starting at an id, for a limited time, and
    /// reports differences. Returns the id at which to continue, or `None` at the end.
    pub fn compare_texts(&self, from: &str, time: Duration) -> Result<Option<String>> {
        let started = Instant::now();
        let db = self.tree.db()?;
        for pair in self.tree.pairs(&db, &layout::record_key(from), layout::AFTER_RECORDS) {
            let (key, _) = pair?;
            let id = layout::name_of(&key, layout::RECORDS)?;
            if started.elapsed() >= time {
                return Ok(Some(id));
            }
            let compared = self.find_with(&id, |header| {
                let Some(text) = self.text(header.seq)? else { return Ok(None) };
                let original = match header.original {
                    Some(digest) => {
                        let original = self.tree.get(&layout::original_key(header.base))?;
                        let Some(original) = original else { return Ok(None) };
                        Digest::of(&original) == digest
                    }
                    None => true,
                };
                match original && Digest::of(text.as_bytes()) == header.digest {
                    true => Ok(Some(())),
                    false => Err(other_text()),
                }
            });
            match compared {
                Err(error) if !layout::is_corrupt(&error) => return Err(error),
                // It is reported.
                _ => {}
            }
        }
        Ok(None)
    }

    /// See [`super::Store::original`].
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        let found = self.find_with(id, |header| {
            if header.original.is_none() || header.expiry.is_due(Timestamp::now()) {
                return Ok(Some(None));
            }
            let original = self.tree.get(&layout::original_key(header.base))?;
            original.map(|bytes| value::decode_original(&bytes).map(Some)).transpose()
        })?;
        Ok(found.flatten())
    }

    /// See [`super::Store::declared`].
    pub fn declared(&self, id: &str) -> Result<Option<DeclaredTexts>> {
        let key = layout::record_key(id);
        loop {
            let generation = self.tree.generation();
            let Some(bytes) = self.tree.get(&key)? else { return Ok(None) };
            let stored = StoredRecord::decode(&bytes)?;
            if stored.has_expiry && self.expiries.of(id)?.is_some_and(|expiry| expiry.is_due(Timestamp::now())) {
                return Ok(None);
            }
            match self.declared_texts(id, &stored)? {
                // Texts lie under seqs; edits may be those of another state.
                Some(texts) if texts.edits.is_none() || generation == self.tree.generation() => return Ok(Some(texts)),
                None if generation == self.tree.generation() => return Err(layout::corrupt()),
                _ => {}
            }
        }
    }

    /// See [`super::Store::parts`].
    pub fn parts(&self, id: &str) -> Result<Vec<String>> {
        let parts = self.tree.get(&layout::parts_key(id))?;
        parts.map_or_else(|| Ok(Vec::new()), |parts| value::strings_of(&parts))
    }

    /// Returns the declarations with their texts, or `None` if something is missing.
    fn declared_texts(&self, id: &str, stored: &StoredRecord<'_>) -> Result<Option<DeclaredTexts>> {
        let mut declarations = Vec::new();
        for declaration in stored.declared()?.0 {
            let Some(text) = self.text(declaration.base)? else { return Ok(None) };
            let original = match declaration.original {
                Some(_) => {
                    let Some(original) = self.tree.get(&layout::original_key(declaration.base))? else {
                        return Ok(None);
                    };
                    Some(value::decode_original(&original)?)
                }
                None => None,
            };
            declarations.push((declaration, text, original));
        }
        let edits = match stored.edits {
            Some(_) => {
                let Some(edits) = self.tree.get(&layout::edits_key(id))? else { return Ok(None) };
                Some(value::decode_edits(&edits)?)
            }
            None => None,
        };
        Ok(Some(DeclaredTexts { declarations, edits, seq: stored.seq, access: stored.access()? }))
    }

    /// Applies `read` to the record with the given id. Data stored under its position may be gone when it is read,
    /// but only if the record has changed meanwhile; it is then read again.
    fn find_with<T>(&self, id: &str, read: impl Fn(Header) -> Result<Option<T>>) -> Result<Option<T>> {
        self.try_find_with(id, read).inspect_err(|error| {
            if layout::is_corrupt(error) {
                self.tree.damage.report(id, error);
            }
        })
    }

    fn try_find_with<T>(&self, id: &str, read: impl Fn(Header) -> Result<Option<T>>) -> Result<Option<T>> {
        let key = layout::record_key(id);
        loop {
            let generation = self.tree.generation();
            let Some(bytes) = self.tree.get(&key)? else { return Ok(None) };
            let stored = StoredRecord::decode(&bytes)?;
            let expiry = if stored.has_expiry { self.expiries.of(id)? } else { Some(Expiry::default()) };
            // One that is lost would make the record eternal.
            let found = match expiry {
                Some(expiry) => read(Header::new(id, &stored, expiry)?)?,
                None => None,
            };
            let is_unchanged = generation == self.tree.generation();
            // Of another generation, the expiry may be that of another record than the text.
            match found {
                Some(found) if is_unchanged || !stored.has_expiry => return Ok(Some(found)),
                None if is_unchanged => return Err(layout::corrupt()),
                _ => {}
            }
        }
    }

    fn text(&self, seq: Seq) -> Result<Option<String>> {
        let text = self.tree.get(&layout::text_key(seq))?;
        text.map(|bytes| value::text(&bytes).map(str::to_owned)).transpose()
    }

    /// See [`super::Store::metadata`].
    pub fn metadata(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let found = self.find_with(id, |header| {
            let is_live = !header.expiry.is_due(Timestamp::now());
            let metadata = if is_live { self.tree.get(&layout::metadata_key(id))? } else { None };
            Ok(Some(metadata.map(|metadata| metadata.to_vec())))
        })?;
        Ok(found.flatten())
    }

    /// See [`super::Store::all_metadata`].
    pub fn all_metadata(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let (pairs, _) = self.tree.scan(layout::METADATA, layout::AFTER_METADATA, |_| false)?;
        let named = |(key, metadata): (IVec, IVec)| Ok((layout::name_of(&key, layout::METADATA)?, metadata.to_vec()));
        pairs.into_iter().map(named).collect()
    }
}

/// Iterator over records. Reads the headers of a chunk at once, and each text on demand. Damaged records are reported
/// and skipped.
pub struct Records {
    view: Arc<View>,
    /// Key at which the next chunk starts, or `None` after the last.
    next: Option<IVec>,
    /// Headers of the current chunk, each with a flag that is true if it is known to be from a consistent state of
    /// the tree.
    chunk: VecDeque<(Header, bool)>,
    /// True if records that have expired are among them.
    unpurged: bool,
}

impl Records {
    const CHUNK_RECORDS: usize = 64;

    pub(super) fn new(view: Arc<View>, start: Option<&str>, unpurged: bool) -> Records {
        let next = layout::record_key(start.unwrap_or_default());
        Records { view, next: Some(next), chunk: VecDeque::new(), unpurged }
    }

    fn read_chunk(&mut self, start: &[u8]) -> Result<()> {
        let mut records = 0;
        let generation = self.view.tree.generation();
        let (pairs, stopped_at) = self.view.tree.scan(start, layout::AFTER_RECORDS, |_| {
            records += 1;
            records >= Self::CHUNK_RECORDS
        })?;
        self.next = stopped_at.map(|last| layout::key_after(&last));
        for (key, value) in pairs {
            let id = key.get(layout::RECORDS.len()..).unwrap_or_default();
            match self.header(id, &value) {
                Ok((header, has_expiry)) => {
                    // Of another generation, the expiry may be that of another record.
                    let is_sure = !has_expiry || generation == self.view.tree.generation();
                    self.chunk.push_back((header, is_sure));
                }
                Err(error) if layout::is_corrupt(&error) => {
                    self.view.tree.damage.report(&String::from_utf8_lossy(id), &error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn header(&self, id: &[u8], value: &[u8]) -> Result<(Header, bool)> {
        let id = std::str::from_utf8(id).map_err(|_| layout::corrupt())?;
        let stored = StoredRecord::decode(value)?;
        let expiry = if stored.has_expiry { self.view.expiries.of(id)? } else { None };
        // One that is gone belongs to a record that has changed meanwhile, or is damaged: that is found out when it is read.
        Ok((Header::new(id, &stored, expiry.unwrap_or_default())?, stored.has_expiry))
    }

    /// True if a caller with these grants sees the record, or if the record doesn't exist.
    pub fn is_seen(&self, id: &str, by: &Grants) -> bool {
        self.view.restricted.is_seen(id, by)
    }

    /// Returns the next few records as a separate iterator, so that another thread can read their texts, or `None` at
    /// the end.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn take_chunk(&mut self) -> Result<Option<Records>> {
        while self.chunk.is_empty() {
            let Some(start) = self.next.take() else { return Ok(None) };
            self.read_chunk(&start)?;
        }
        let chunk = std::mem::take(&mut self.chunk);
        Ok(Some(Records { view: self.view.clone(), next: None, chunk, unpurged: self.unpurged }))
    }

    /// The record, if it is still there.
    fn read(&self, (header, is_sure): (Header, bool)) -> Result<Option<Record>> {
        let is_sure = is_sure && !self.view.tree.damage.has(&header.id);
        let text = if is_sure { self.view.text(header.seq)? } else { None };
        let record = match text {
            Some(text) => Some(header.with_text(text)),
            None => self.view.find_unpurged(&header.id)?,
        };
        Ok(record.filter(|record| self.unpurged || !record.is_due()))
    }
}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        loop {
            if let Some(header) = self.chunk.pop_front() {
                let id = header.0.id.clone();
                match self.read(header) {
                    Ok(None) => {}
                    Err(error) if layout::is_corrupt(&error) => self.view.tree.damage.report(&id, &error),
                    read => return read.transpose(),
                }
                continue;
            }
            let start = self.next.take()?;
            if let Err(error) = self.read_chunk(&start) {
                return Some(Err(error));
            }
        }
    }
}
