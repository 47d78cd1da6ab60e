//! Reading records: one by its id, or all in the order of their ids.

use std::{collections::VecDeque, sync::Arc};

use sled::IVec;

use super::{
    layout,
    value::{self, StoredRecord},
    view::View,
    write::{Expiry, Original},
};
use crate::{
    Result,
    change::{Seq, Timestamp},
};

/// A record as it is stored.
#[derive(Debug, Clone)]
pub struct Record {
    /// The id.
    pub id: String,
    /// The stored form.
    pub text: String,
    /// Its last change.
    pub seq: Seq,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it expires.
    pub expiry: Expiry,
    /// The format it was converted from; none if it came as a TD.
    pub format: Option<String>,
}

impl Record {
    fn new(id: &str, stored: &StoredRecord<'_>, expiry: Expiry) -> Record {
        Record {
            id: id.to_owned(),
            text: stored.text.to_owned(),
            seq: stored.seq,
            created: stored.created,
            modified: stored.modified,
            expiry,
            format: stored.format.map(str::to_owned),
        }
    }

    /// Most have no expiry, and the time costs as much as a good part of the reading.
    fn is_due(&self) -> bool {
        self.expiry.expires.is_some() && self.expiry.is_due(Timestamp::now())
    }
}

impl View {
    /// See [`super::Store::find`].
    pub fn find(&self, id: &str) -> Result<Option<Record>> {
        let record = self.find_unpurged(id)?;
        Ok(record.filter(|record| !record.is_due()))
    }

    /// See [`super::Store::find_unpurged`].
    pub fn find_unpurged(&self, id: &str) -> Result<Option<Record>> {
        let key = layout::record_key(id);
        loop {
            let generation = self.tree.generation();
            let Some(bytes) = self.tree.get(&key)? else { return Ok(None) };
            let stored = StoredRecord::decode(&bytes)?;
            if !stored.has_expiry {
                return Ok(Some(Record::new(id, &stored, Expiry::default())));
            }
            let expiry = self.expiries.of(id)?;
            // Else the expiry may be that of another record than the text.
            if generation == self.tree.generation() {
                return Ok(Some(Record::new(id, &stored, expiry)));
            }
        }
    }

    /// See [`super::Store::original`].
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        if self.find(id)?.is_none() {
            return Ok(None);
        }
        self.tree.get(&layout::original_key(id))?.map(|bytes| value::decode_original(&bytes)).transpose()
    }

    /// See [`super::Store::metadata`].
    pub fn metadata(&self, id: &str) -> Result<Option<Vec<u8>>> {
        if self.find(id)?.is_none() {
            return Ok(None);
        }
        Ok(self.tree.get(&layout::metadata_key(id))?.map(|metadata| metadata.to_vec()))
    }

    /// See [`super::Store::all_metadata`].
    pub fn all_metadata(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let (pairs, _) = self.tree.scan(layout::METADATA, layout::AFTER_METADATA, |_| false)?;
        let named = |(key, metadata): (IVec, IVec)| Ok((layout::name_of(&key, layout::METADATA)?, metadata.to_vec()));
        pairs.into_iter().map(named).collect()
    }
}

/// Iterates over records, a small chunk in memory at a time.
pub struct Records {
    view: Arc<View>,
    /// Where the next chunk starts; none after the last.
    next: Option<IVec>,
    chunk: VecDeque<Record>,
    /// Whether records that have expired are among them.
    unpurged: bool,
}

impl Records {
    const CHUNK_RECORDS: usize = 64;
    const CHUNK_BYTES: usize = 256 * 1024;

    pub(super) fn new(view: Arc<View>, start: Option<&str>, unpurged: bool) -> Records {
        let next = layout::record_key(start.unwrap_or_default());
        Records { view, next: Some(next), chunk: VecDeque::new(), unpurged }
    }

    fn read_chunk(&mut self, start: &[u8]) -> Result<()> {
        let generation = self.view.tree.generation();
        let (mut records, mut bytes) = (0, 0);
        let (pairs, stopped_at) = self.view.tree.scan(start, layout::AFTER_RECORDS, |value| {
            records += 1;
            bytes += value.len();
            records >= Self::CHUNK_RECORDS || bytes >= Self::CHUNK_BYTES
        })?;
        self.next = stopped_at.map(|last| layout::key_after(&last));
        for (key, value) in pairs {
            let id = key.get(layout::RECORDS.len()..).unwrap_or_default();
            let id = std::str::from_utf8(id).map_err(|_| layout::corrupt())?;
            let stored = StoredRecord::decode(&value)?;
            let expiry = if stored.has_expiry { self.view.expiries.of(id)? } else { Expiry::default() };
            let record = if stored.has_expiry && generation != self.view.tree.generation() {
                // The expiry may be that of another record than the text.
                self.view.find_unpurged(id)?
            } else {
                Some(Record::new(id, &stored, expiry))
            };
            self.chunk.extend(record.filter(|record| self.unpurged || !record.is_due()));
        }
        Ok(())
    }
}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        while self.chunk.is_empty() {
            let start = self.next.take()?;
            if let Err(error) = self.read_chunk(&start) {
                self.next = None;
                return Some(Err(error));
            }
        }
        self.chunk.pop_front().map(Ok)
    }
}
