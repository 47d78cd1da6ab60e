//! The encoding of the values that [`super::layout`] describes.

use sled::IVec;

use super::{
    layout::{corrupt, join},
    write::{Expiry, Original},
};
use crate::{
    Result,
    access::{Access, Namespace, Owner, Visibility},
    change::{ChangeKind, DeletionReason, Epoch, Position, Seq, Timestamp},
};

const HAS_EXPIRY: u8 = 1;
const HAS_ORIGINAL: u8 = 2;
const IS_CREATION: u8 = 4;
const HAS_ACCESS: u8 = 8;
const HAS_PREVIOUS: u8 = 16;

/// What `m/state` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The end of the log.
    pub last: Seq,
    /// How many records there are, expired ones included.
    pub records: u64,
    /// How many numbers the positions of the log leave out, from its first entry on.
    pub left_out: u64,
}

impl State {
    pub fn encode(&self) -> IVec {
        let left_out = self.left_out.to_be_bytes();
        let left_out = if self.left_out == 0 { &[][..] } else { &left_out };
        join(&[&self.last.0.to_be_bytes(), &self.records.to_be_bytes(), left_out])
    }

    pub fn decode(bytes: &[u8]) -> Result<State> {
        let mut reader = Reader(bytes);
        let (last, records) = (Seq(reader.u64()?), reader.u64()?);
        Ok(State { last, records, left_out: if reader.0.is_empty() { 0 } else { reader.u64()? } })
    }

    /// The number of entries of a log that begins after a position.
    pub fn entries_after(&self, trimmed_to: Seq) -> u64 {
        self.last.0.saturating_sub(trimmed_to.0).saturating_sub(self.left_out)
    }
}

/// How many numbers lie between two positions.
pub(super) fn left_out(previous: Seq, seq: Seq) -> u64 {
    seq.0.saturating_sub(previous.0).saturating_sub(1)
}

/// A record as it lies in the tree; its text is apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredRecord<'a> {
    pub has_expiry: bool,
    pub has_original: bool,
    /// Whether its last change is its creation, which the history doesn't list yet.
    pub is_creation: bool,
    pub seq: Seq,
    pub created: Timestamp,
    pub modified: Timestamp,
    pub format: Option<&'a str>,
    /// [`block_of`] its capability keys.
    pub capabilities: &'a [u8],
    /// Whose it is and who sees it, encoded; empty for the default.
    pub access: &'a [u8],
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
            access: if flags & HAS_ACCESS == 0 { &[] } else { reader.block()? },
        })
    }

    pub fn access(&self) -> Result<Access> {
        decode_access(self.access)
    }

    pub fn capability_keys(&self) -> Result<Vec<String>> {
        strings_of(self.capabilities)
    }

    pub fn encode(&self) -> IVec {
        let mut bytes = Vec::with_capacity(64 + self.capabilities.len());
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        bytes.push(
            flag(self.has_expiry, HAS_EXPIRY)
                | flag(self.has_original, HAS_ORIGINAL)
                | flag(self.is_creation, IS_CREATION)
                | flag(!self.access.is_empty(), HAS_ACCESS),
        );
        bytes.extend_from_slice(&self.seq.0.to_be_bytes());
        bytes.extend_from_slice(&self.created.0.to_be_bytes());
        bytes.extend_from_slice(&self.modified.0.to_be_bytes());
        put_bytes(&mut bytes, self.format.unwrap_or_default().as_bytes());
        put_bytes(&mut bytes, self.capabilities);
        if !self.access.is_empty() {
            put_bytes(&mut bytes, self.access);
        }
        IVec::from(bytes)
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

/// Access as records and changes have it; nothing for the default.
pub(super) fn encode_access(access: &Access) -> Vec<u8> {
    let mut bytes = Vec::new();
    if access.is_default() {
        return bytes;
    }
    bytes.push(match access.visibility {
        Visibility::Public => 0,
        Visibility::Namespace => 1,
        Visibility::Private => 2,
    });
    put_bytes(&mut bytes, access.owner.as_ref().map_or("", Owner::as_str).as_bytes());
    put_bytes(&mut bytes, access.namespace.as_ref().map_or("", Namespace::as_str).as_bytes());
    bytes
}

pub(super) fn decode_access(bytes: &[u8]) -> Result<Access> {
    if bytes.is_empty() {
        return Ok(Access::default());
    }
    let mut reader = Reader(bytes);
    let visibility = match reader.u8()? {
        0 => Visibility::Public,
        1 => Visibility::Namespace,
        2 => Visibility::Private,
        _ => return Err(corrupt()),
    };
    let owner = reader.optional_string()?.map(str::parse).transpose().map_err(|_: String| corrupt())?;
    let namespace = reader.optional_string()?.map(str::parse).transpose().map_err(|_: String| corrupt())?;
    Ok(Access { owner, visibility, namespace })
}

/// The text that lies under a seq.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| corrupt())
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

pub(super) fn encode_position(position: Position) -> IVec {
    join(&[&position.epoch.0.to_be_bytes(), &position.seq.0.to_be_bytes()])
}

pub(super) fn decode_position(bytes: &[u8]) -> Result<Position> {
    let mut reader = Reader(bytes);
    Ok(Position { epoch: Epoch(reader.u64()?), seq: Seq(reader.u64()?) })
}

/// A change as it lies in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The position before it.
    pub previous: Seq,
    pub kind: ChangeKind,
    /// Why, of a deletion.
    pub reason: Option<DeletionReason>,
    pub at: Timestamp,
    pub id: String,
    pub actor: Option<String>,
    pub before: Vec<String>,
    pub after: Vec<String>,
    pub access_before: Access,
    pub access_after: Access,
    pub body: Body,
}

/// The description in a log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// A deletion has none.
    None,
    /// The TD of a creation, or the merge patch of an update.
    Text(String),
    /// The TD of a creation lies under its seq.
    Apart,
}

impl Entry {
    /// The entry at a position; the TD of a creation is stored apart from it.
    pub fn encode(&self, seq: Seq) -> IVec {
        let (body, text) = match (&self.body, self.kind) {
            (Body::None, _) => (0, ""),
            (Body::Text(text), ChangeKind::Updated | ChangeKind::Deleted) => (1, text.as_str()),
            (Body::Text(_), ChangeKind::Created) | (Body::Apart, _) => (2, ""),
        };
        let kind = match (self.kind, self.reason) {
            (ChangeKind::Created, _) => 0,
            (ChangeKind::Updated, _) => 1,
            (ChangeKind::Deleted, None | Some(DeletionReason::Removed)) => 2,
            (ChangeKind::Deleted, Some(DeletionReason::Expired)) => 3,
            (ChangeKind::Deleted, Some(DeletionReason::SourceGone)) => 4,
        };
        let mut bytes = Vec::with_capacity(128 + text.len());
        let has_access = !self.access_before.is_default() || !self.access_after.is_default();
        let has_previous = self.previous != number_before(seq);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        bytes.extend_from_slice(&[kind | flag(has_access, HAS_ACCESS) | flag(has_previous, HAS_PREVIOUS), body]);
        if has_previous {
            bytes.extend_from_slice(&self.previous.0.to_be_bytes());
        }
        bytes.extend_from_slice(&self.at.0.to_be_bytes());
        put_bytes(&mut bytes, self.id.as_bytes());
        put_bytes(&mut bytes, self.actor.as_deref().unwrap_or_default().as_bytes());
        put_bytes(&mut bytes, &block_of(&self.before));
        put_bytes(&mut bytes, &block_of(&self.after));
        if has_access {
            put_bytes(&mut bytes, &encode_access(&self.access_before));
            put_bytes(&mut bytes, &encode_access(&self.access_after));
        }
        bytes.extend_from_slice(text.as_bytes());
        IVec::from(bytes)
    }

    /// The entry at a position.
    pub fn decode(seq: Seq, bytes: &[u8]) -> Result<Entry> {
        let mut reader = Reader(bytes);
        let first = reader.u8()?;
        let (kind, reason) = match first & !(HAS_ACCESS | HAS_PREVIOUS) {
            0 => (ChangeKind::Created, None),
            1 => (ChangeKind::Updated, None),
            2 => (ChangeKind::Deleted, Some(DeletionReason::Removed)),
            3 => (ChangeKind::Deleted, Some(DeletionReason::Expired)),
            4 => (ChangeKind::Deleted, Some(DeletionReason::SourceGone)),
            _ => return Err(corrupt()),
        };
        let body = reader.u8()?;
        let previous = if first & HAS_PREVIOUS == 0 { number_before(seq) } else { Seq(reader.u64()?) };
        if previous >= seq {
            return Err(corrupt());
        }
        let (at, id) = (Timestamp(reader.i64()?), reader.string()?.to_owned());
        let actor = reader.optional_string()?.map(str::to_owned);
        let (before, after) = (strings_of(reader.block()?)?, strings_of(reader.block()?)?);
        let (access_before, access_after) = match first & HAS_ACCESS {
            0 => (Access::default(), Access::default()),
            _ => (decode_access(reader.block()?)?, decode_access(reader.block()?)?),
        };
        Ok(Entry {
            previous,
            kind,
            reason,
            at,
            id,
            actor,
            before,
            after,
            access_before,
            access_after,
            body: match body {
                0 => Body::None,
                1 => Body::Text(text(reader.0)?.to_owned()),
                2 => Body::Apart,
                _ => return Err(corrupt()),
            },
        })
    }
}

/// The previous position where positions have no gap.
fn number_before(seq: Seq) -> Seq {
    Seq(seq.0.saturating_sub(1))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The position of all entries.
    const AT: Seq = Seq(42);

    fn entry(kind: ChangeKind, body: Body) -> Entry {
        Entry {
            previous: Seq(41),
            kind,
            reason: None,
            at: Timestamp(-1),
            id: "urn:ä".into(),
            actor: Some("eve".into()),
            before: vec!["a".into(), String::new()],
            after: vec!["b".repeat(300)],
            access_before: Access::default(),
            access_after: Access::default(),
            body,
        }
    }

    fn access(visibility: Visibility) -> Access {
        let namespace = (visibility != Visibility::Private).then(|| "weather".parse().unwrap());
        Access { owner: Some("team".parse().unwrap()), visibility, namespace }
    }

    fn deleted(reason: DeletionReason) -> Entry {
        let entry = entry(ChangeKind::Deleted, Body::None);
        Entry { reason: Some(reason), actor: None, before: vec![], after: vec![], ..entry }
    }

    #[test]
    fn entries_are_read_as_they_were_written() -> Result<()> {
        for entry in [
            entry(ChangeKind::Created, Body::Apart),
            entry(ChangeKind::Updated, Body::Text("{\"ä\":null}".into())),
            deleted(DeletionReason::Removed),
            deleted(DeletionReason::Expired),
            deleted(DeletionReason::SourceGone),
        ] {
            assert_eq!(Entry::decode(AT, &entry.encode(AT))?, entry);
            for visibility in Visibility::ALL {
                let entry = Entry { access_before: access(visibility), ..entry.clone() };
                assert_eq!(Entry::decode(AT, &entry.encode(AT))?, entry);
                let entry = Entry { access_after: access(Visibility::Private), previous: Seq(7), ..entry };
                assert_eq!(Entry::decode(AT, &entry.encode(AT))?, entry);
            }
        }
        Ok(())
    }

    #[test]
    fn what_was_written_before_there_were_owners_is_of_nobody() -> Result<()> {
        let record = [&[4_u8][..], &[0; 24], &[0; 4], &[0; 4]].concat();
        assert_eq!(StoredRecord::decode(&record)?.access()?, Access::default());
        let entry = [&[2_u8, 0][..], &[0; 8], b"\0\0\0\x05urn:a", &[0; 4], &[0; 4], &[0; 4]].concat();
        let entry = Entry::decode(AT, &entry)?;
        assert_eq!((entry.access_before, entry.access_after), (Access::default(), Access::default()));
        assert_eq!(entry.previous, Seq(41), "nor gaps");
        Ok(())
    }

    #[test]
    fn records_are_read_as_they_were_written() -> Result<()> {
        let capabilities = block_of(&["a".into(), "b".into()]);
        let access = encode_access(&access(Visibility::Namespace));
        for flags in 0..16 {
            let record = StoredRecord {
                has_expiry: flags & 1 != 0,
                has_original: flags & 2 != 0,
                is_creation: flags & 4 != 0,
                seq: Seq(u64::MAX),
                created: Timestamp(-5),
                modified: Timestamp(7),
                format: (flags & 2 != 0).then_some("a2a"),
                capabilities: &capabilities,
                access: if flags & 8 != 0 { &access } else { &[] },
            };
            let encoded = record.encode();
            assert_eq!(StoredRecord::decode(&encoded)?, record);
            assert_eq!(StoredRecord::decode(&encoded)?.capability_keys()?, ["a", "b"]);
        }
        Ok(())
    }

    #[test]
    fn expiries_are_read_as_they_were_written() -> Result<()> {
        for ttl in [None, Some(0), Some(u64::MAX)] {
            for expires in [None, Some(Timestamp(0)), Some(Timestamp::MAX)] {
                let expiry = Expiry { ttl, expires };
                assert_eq!(decode_expiry(&encode_expiry(&expiry))?, expiry);
            }
        }
        Ok(())
    }

    #[test]
    fn values_that_are_cut_off_are_errors() {
        let header = Entry { previous: Seq(7), ..entry(ChangeKind::Deleted, Body::None) }.encode(AT);
        for length in 0..header.len() {
            assert!(Entry::decode(AT, &header[..length]).is_err(), "{length} bytes of an entry");
        }
        assert!(Entry::decode(Seq(7), &header).is_err(), "it doesn't come before itself");
        let expiry = encode_expiry(&Expiry::default());
        assert!(decode_expiry(&expiry[..expiry.len() - 1]).is_err());
        assert!(StoredRecord::decode(&[0; 20]).is_err());
        assert!(State::decode(&[0; 15]).is_err() && State::decode(&[0; 17]).is_err());
        let state = State { last: Seq(50), records: 3, left_out: 30 };
        assert_eq!(State::decode(&state.encode()).ok(), Some(state));
        assert_eq!((state.entries_after(Seq(10)), State { left_out: 0, ..state }.encode().len()), (10, 16));
        assert!(decode_original(&[0, 0, 0, 9, 1]).is_err());
    }
}
