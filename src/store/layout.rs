//! The keys of the one tree and the encoding of its values.
//!
//! | key | value | |
//! |---|---|---|
//! | `m/format` | version: u32 | the version of this table, [`FORMAT_VERSION`] |
//! | `m/epoch` | epoch: u64 | drawn when the store was created |
//! | `m/registry` | uuid: 16 bytes | drawn when the store was created |
//! | `m/state` | last seq: u64, records: u64 | the end of the log; how many records there are, expired ones included |
//! | `r/<id>` | flags: u8, seq: u64, created: i64, modified: i64, format: string, capability keys: block of strings, text: rest | a record; flags: 1 has an expiry, 2 has an original, 4 its last change is its creation |
//! | `o/<id>` | format: string, media type: string, document: rest | what the record was converted from |
//! | `e/<id>` | flags: u8, ttl: u64, expires: i64 | its expiry, apart so that a keep-alive writes a few bytes; flags: 1 has a ttl, 2 has a moment |
//! | `x/<moment><id>` | – | the expiries by moment |
//! | `l/<seq>` | kind: u8, body: u8, at: i64, id: string, actor: string, capability keys before and after: blocks of strings, text: rest | a change; body: 0 none, 1 `text` is the TD or the merge patch, 2 the TD is the record's |
//! | `h/<id>` 0 `<seq>` | – | the changes by Thing |
//! | `c/<follower>` | epoch: u64, seq: u64 | the cursor of a follower |
//! | `s/<name>` | as it was given | a session of a network follower |
//!
//! Integers are big endian, moments are milliseconds since 1970 (in keys with the sign bit flipped,
//! so that they sort). A string is its length (u32) and its UTF-8 bytes, empty for none; a block its
//! length and its strings. Ids have no zero byte.
//!
//! A creation's TD is in the record while that is unchanged, and moves into the log with the write
//! that changes or deletes it: a registration is written once, not twice.

use sled::IVec;

use super::write::{Expiry, Original};
use crate::{
    Error, Result,
    change::{ChangeKind, Cursor, Epoch, Seq, Timestamp},
};

/// The version of the layout that is read and written.
pub(super) const FORMAT_VERSION: u32 = 1;

pub(super) const FORMAT_KEY: &[u8] = b"m/format";
pub(super) const EPOCH_KEY: &[u8] = b"m/epoch";
pub(super) const REGISTRY_KEY: &[u8] = b"m/registry";
pub(super) const STATE_KEY: &[u8] = b"m/state";

pub(super) const RECORDS: &[u8] = b"r/";
/// The first key after all records.
pub(super) const AFTER_RECORDS: &[u8] = b"r0";
pub(super) const ORIGINALS: &[u8] = b"o/";
pub(super) const EXPIRIES: &[u8] = b"e/";
/// The first key after all expiries.
pub(super) const AFTER_EXPIRIES: &[u8] = b"e0";
pub(super) const DUE: &[u8] = b"x/";
pub(super) const LOG: &[u8] = b"l/";
pub(super) const CURSORS: &[u8] = b"c/";
pub(super) const SESSIONS: &[u8] = b"s/";

const HAS_EXPIRY: u8 = 1;
const HAS_ORIGINAL: u8 = 2;
const IS_CREATION: u8 = 4;

pub(super) fn record_key(id: &str) -> IVec {
    join(&[RECORDS, id.as_bytes()])
}

pub(super) fn original_key(id: &str) -> IVec {
    join(&[ORIGINALS, id.as_bytes()])
}

pub(super) fn expiry_key(id: &str) -> IVec {
    join(&[EXPIRIES, id.as_bytes()])
}

pub(super) fn due_key(moment: Timestamp, id: &str) -> IVec {
    join(&[DUE, &sortable(moment), id.as_bytes()])
}

/// The first key of [`due_key`]s later than `moment`.
pub(super) fn after_due(moment: Timestamp) -> IVec {
    join(&[DUE, &sortable(Timestamp(moment.0.saturating_add(1)))])
}

/// The id in a [`due_key`].
pub(super) fn id_of_due_key(key: &[u8]) -> Result<&str> {
    key.get(DUE.len() + 8..).and_then(|id| std::str::from_utf8(id).ok()).ok_or_else(corrupt)
}

pub(super) fn log_key(seq: Seq) -> IVec {
    join(&[LOG, &seq.0.to_be_bytes()])
}

pub(super) fn history_key(id: &str, seq: Seq) -> IVec {
    join(&[b"h/", id.as_bytes(), &[0], &seq.0.to_be_bytes()])
}

/// The seq at the end of a [`log_key`] or [`history_key`].
pub(super) fn seq_of_key(key: &[u8]) -> Result<Seq> {
    key.last_chunk().map(|bytes| Seq(u64::from_be_bytes(*bytes))).ok_or_else(corrupt)
}

pub(super) fn cursor_key(follower: &str) -> IVec {
    join(&[CURSORS, follower.as_bytes()])
}

pub(super) fn session_key(name: &str) -> IVec {
    join(&[SESSIONS, name.as_bytes()])
}

/// The smallest key after another.
pub(super) fn key_after(key: &[u8]) -> IVec {
    join(&[key, &[0]])
}

fn join(parts: &[&[u8]]) -> IVec {
    IVec::from(parts.concat())
}

fn sortable(moment: Timestamp) -> [u8; 8] {
    (moment.0 as u64 ^ 1 << 63).to_be_bytes()
}

/// What `m/state` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The end of the log.
    pub last: Seq,
    /// How many records there are, expired ones included.
    pub records: u64,
}

impl State {
    pub fn encode(&self) -> IVec {
        join(&[&self.last.0.to_be_bytes(), &self.records.to_be_bytes()])
    }

    pub fn decode(bytes: &[u8]) -> Result<State> {
        let mut reader = Reader(bytes);
        Ok(State { last: Seq(reader.u64()?), records: reader.u64()? })
    }
}

/// A record as it lies in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredRecord<'a> {
    pub has_expiry: bool,
    pub has_original: bool,
    /// Whether its last change is its creation, whose TD the log leaves to the record.
    pub is_creation: bool,
    pub seq: Seq,
    pub created: Timestamp,
    pub modified: Timestamp,
    pub format: Option<&'a str>,
    /// [`block_of`] its capability keys.
    pub capabilities: &'a [u8],
    pub text: &'a str,
}

impl<'a> StoredRecord<'a> {
    pub fn decode(bytes: &'a [u8]) -> Result<StoredRecord<'a>> {
        let mut reader = Reader(bytes);
        let flags = reader.u8()?;
        Ok(StoredRecord {
            has_expiry: flags & HAS_EXPIRY != 0,
            has_original: flags & HAS_ORIGINAL != 0,
            is_creation: flags & IS_CREATION != 0,
            seq: Seq(reader.u64()?),
            created: Timestamp(reader.i64()?),
            modified: Timestamp(reader.i64()?),
            format: reader.optional_string()?,
            capabilities: reader.block()?,
            text: reader.rest_as_str()?,
        })
    }

    pub fn capability_keys(&self) -> Result<Vec<String>> {
        strings_of(self.capabilities)
    }

    pub fn encode(&self) -> IVec {
        let mut bytes = Vec::with_capacity(64 + self.capabilities.len() + self.text.len());
        self.put_header(&mut bytes);
        put_bytes(&mut bytes, self.capabilities);
        bytes.extend_from_slice(self.text.as_bytes());
        IVec::from(bytes)
    }

    fn put_header(&self, bytes: &mut Vec<u8>) {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        bytes.push(
            flag(self.has_expiry, HAS_EXPIRY)
                | flag(self.has_original, HAS_ORIGINAL)
                | flag(self.is_creation, IS_CREATION),
        );
        bytes.extend_from_slice(&self.seq.0.to_be_bytes());
        bytes.extend_from_slice(&self.created.0.to_be_bytes());
        bytes.extend_from_slice(&self.modified.0.to_be_bytes());
        put_bytes(bytes, self.format.unwrap_or_default().as_bytes());
    }
}

/// The block of strings that [`StoredRecord`] and [`Entry`] keep capability keys as.
pub(super) fn block_of(strings: &[String]) -> Vec<u8> {
    let mut block = Vec::with_capacity(strings.iter().map(|string| 4 + string.len()).sum());
    for string in strings {
        put_bytes(&mut block, string.as_bytes());
    }
    block
}

pub(super) fn encode_expiry(expiry: &Expiry) -> IVec {
    let flags = u8::from(expiry.ttl.is_some()) | u8::from(expiry.expires.is_some()) << 1;
    let ttl = expiry.ttl.unwrap_or_default().to_be_bytes();
    let expires = expiry.expires.unwrap_or(Timestamp(0)).0.to_be_bytes();
    join(&[&[flags], &ttl, &expires])
}

pub(super) fn decode_expiry(bytes: &[u8]) -> Result<Expiry> {
    let mut reader = Reader(bytes);
    let (flags, ttl, expires) = (reader.u8()?, reader.u64()?, reader.i64()?);
    Ok(Expiry { ttl: (flags & 1 != 0).then_some(ttl), expires: (flags & 2 != 0).then_some(Timestamp(expires)) })
}

pub(super) fn encode_original(original: &Original) -> IVec {
    let mut bytes = Vec::with_capacity(64 + original.bytes.len());
    put_bytes(&mut bytes, original.format.as_bytes());
    put_bytes(&mut bytes, original.media_type.as_bytes());
    bytes.extend_from_slice(&original.bytes);
    IVec::from(bytes)
}

pub(super) fn decode_original(bytes: &[u8]) -> Result<Original> {
    let mut reader = Reader(bytes);
    Ok(Original {
        format: reader.string()?.to_owned(),
        media_type: reader.string()?.to_owned(),
        bytes: reader.0.to_vec(),
    })
}

pub(super) fn encode_cursor(cursor: Cursor) -> IVec {
    join(&[&cursor.epoch.0.to_be_bytes(), &cursor.seq.0.to_be_bytes()])
}

pub(super) fn decode_cursor(bytes: &[u8]) -> Result<Cursor> {
    let mut reader = Reader(bytes);
    Ok(Cursor { epoch: Epoch(reader.u64()?), seq: Seq(reader.u64()?) })
}

/// A change as it lies in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub kind: ChangeKind,
    pub at: Timestamp,
    pub id: String,
    pub actor: Option<String>,
    pub before: Vec<String>,
    pub after: Vec<String>,
    pub body: Body,
}

/// The description in a log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// A deletion has none.
    None,
    /// The TD of a creation, or the merge patch of an update.
    Text(String),
    /// The TD of a creation is the text of the record, which has this entry's seq.
    InRecord,
}

impl Entry {
    /// The entry as it is.
    pub fn encode(&self) -> IVec {
        match &self.body {
            Body::None => self.encode_with(0, ""),
            Body::Text(text) => self.encode_with(1, text),
            Body::InRecord => self.encode_without_text(),
        }
    }

    /// The entry with its text left to the record.
    pub fn encode_without_text(&self) -> IVec {
        self.encode_with(2, "")
    }

    fn encode_with(&self, body: u8, text: &str) -> IVec {
        let kind = match self.kind {
            ChangeKind::Created => 0,
            ChangeKind::Updated => 1,
            ChangeKind::Deleted => 2,
        };
        let mut bytes = Vec::with_capacity(128 + text.len());
        bytes.extend_from_slice(&[kind, body]);
        bytes.extend_from_slice(&self.at.0.to_be_bytes());
        put_bytes(&mut bytes, self.id.as_bytes());
        put_bytes(&mut bytes, self.actor.as_deref().unwrap_or_default().as_bytes());
        put_bytes(&mut bytes, &block_of(&self.before));
        put_bytes(&mut bytes, &block_of(&self.after));
        bytes.extend_from_slice(text.as_bytes());
        IVec::from(bytes)
    }

    pub fn decode(bytes: &[u8]) -> Result<Entry> {
        let mut reader = Reader(bytes);
        let kind = match reader.u8()? {
            0 => ChangeKind::Created,
            1 => ChangeKind::Updated,
            2 => ChangeKind::Deleted,
            _ => return Err(corrupt()),
        };
        let body = reader.u8()?;
        Ok(Entry {
            kind,
            at: Timestamp(reader.i64()?),
            id: reader.string()?.to_owned(),
            actor: reader.optional_string()?.map(str::to_owned),
            before: strings_of(reader.block()?)?,
            after: strings_of(reader.block()?)?,
            body: match body {
                0 => Body::None,
                1 => Body::Text(reader.rest_as_str()?.to_owned()),
                2 => Body::InRecord,
                _ => return Err(corrupt()),
            },
        })
    }
}

/// Reads a value from its front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    fn u64(&mut self) -> Result<u64> {
        self.chunk().map(u64::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64> {
        self.chunk().map(i64::from_be_bytes)
    }

    fn block(&mut self) -> Result<&'a [u8]> {
        let length = u32::from_be_bytes(self.chunk()?);
        self.take(length as usize)
    }

    fn string(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.block()?).map_err(|_| corrupt())
    }

    fn optional_string(&mut self) -> Result<Option<&'a str>> {
        self.string().map(|string| (!string.is_empty()).then_some(string))
    }

    fn rest_as_str(&self) -> Result<&'a str> {
        std::str::from_utf8(self.0).map_err(|_| corrupt())
    }
}

fn strings_of(block: &[u8]) -> Result<Vec<String>> {
    let mut reader = Reader(block);
    let mut strings = Vec::new();
    while !reader.0.is_empty() {
        strings.push(reader.string()?.to_owned());
    }
    Ok(strings)
}

fn put_bytes(target: &mut Vec<u8>, bytes: &[u8]) {
    // Documents are limited to 1 MiB, far below what a u32 holds.
    target.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    target.extend_from_slice(bytes);
}

/// A value that isn't what the layout says.
pub(super) fn corrupt() -> Error {
    Error::Store { doing: "decoding a value", source: "the value does not have the documented layout".into() }
}
