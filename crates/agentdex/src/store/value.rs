//! Encoding of the values described in [`super::layout`].

use sled::IVec;

use super::{
    layout::{corrupt, join, unknown_part},
    sum::{Digest, Sum},
    write::{Edits, Expiry, Original},
};
use crate::{
    Result,
    access::{Access, Namespace, NamespaceNumber, Owner, Visibility},
    change::{ChangeKind, DeletionReason, Epoch, Position, Seq, Timestamp},
};

const HAS_EXPIRY: u8 = 1;
const HAS_ORIGINAL: u8 = 2;
const IS_CREATION: u8 = 4;
const HAS_ACCESS: u8 = 8;
const HAS_PARTS: u8 = 16;
/// Tags of rarely used parts.
pub(super) const DECLARATIONS_OF_FORMAT_4: u8 = 1;
const EDITS: u8 = 2;
const DECLARATIONS: u8 = 3;
/// Kinds of entries that are not changes of records.
const MEMBERSHIP: u8 = 5;
const DECLARATION: u8 = 6;

/// The content of `m/state`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// End of the log.
    pub last: Seq,
    /// Number of records, including expired records.
    pub records: u64,
    /// Number of log entries.
    pub entries: u64,
    /// Number of committed batches.
    pub commit: u64,
    /// Checksum over the keys selected by [`Sum::counts`].
    pub sum: Sum,
    /// Number of namespace numbers assigned so far.
    pub namespaces: u64,
}

impl State {
    pub fn encode(&self) -> IVec {
        let State { last, records, entries, commit, sum, namespaces } = *self;
        let [last, records, entries, commit, namespaces] =
            [last.0, records, entries, commit, namespaces].map(u64::to_be_bytes);
        join(&[&last, &records, &entries, &commit, &sum.0.to_be_bytes(), &namespaces])
    }

    pub fn decode(bytes: &[u8]) -> Result<State> {
        let mut reader = Reader(bytes);
        let state = State {
            last: Seq(reader.u64()?),
            records: reader.u64()?,
            entries: reader.u64()?,
            commit: reader.u64()?,
            sum: Sum(u128::from_be_bytes(reader.chunk()?)),
            namespaces: reader.u64()?,
        };
        if reader.0.is_empty() { Ok(state) } else { Err(corrupt()) }
    }
}

/// Way in which a store was created from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OriginKind {
    /// From a backup.
    Restored = 1,
    /// From the readable data of a damaged store.
    Salvaged = 2,
    /// By files that were put back.
    RolledBack = 3,
}

/// The content of `m/origin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub kind: OriginKind,
    /// Epoch of the store from which this store was made.
    pub epoch: Epoch,
    /// End of the log of that store.
    pub last: Seq,
}

impl Origin {
    pub fn encode(&self) -> IVec {
        join(&[&[self.kind as u8], &self.epoch.0.to_be_bytes(), &self.last.0.to_be_bytes()])
    }

    pub fn decode(bytes: &[u8]) -> Result<Origin> {
        let mut reader = Reader(bytes);
        let kind = match reader.u8()? {
            1 => OriginKind::Restored,
            2 => OriginKind::Salvaged,
            3 => OriginKind::RolledBack,
            _ => return Err(corrupt()),
        };
        Ok(Origin { kind, epoch: Epoch(reader.u64()?), last: Seq(reader.u64()?) })
    }
}

/// Content of `m/upgrade`: an upgrade from format 4, and the previous state of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UpgradeState {
    /// Number of the last commit before the upgrade.
    pub commit: u64,
    /// Checksum before the upgrade.
    pub sum: Sum,
    /// True if all records have been rewritten.
    pub is_done: bool,
}

impl UpgradeState {
    pub fn encode(&self) -> IVec {
        join(&[&self.commit.to_be_bytes(), &self.sum.0.to_be_bytes(), &[u8::from(self.is_done)]])
    }

    pub fn decode(bytes: &[u8]) -> Result<UpgradeState> {
        let mut reader = Reader(bytes);
        let (commit, sum) = (reader.u64()?, Sum(u128::from_be_bytes(reader.chunk()?)));
        match reader.u8()? {
            done @ (0 | 1) if reader.0.is_empty() => Ok(UpgradeState { commit, sum, is_done: done == 1 }),
            _ => Err(corrupt()),
        }
    }
}

/// A record as it lies in the tree; its text is apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredRecord<'a> {
    pub has_expiry: bool,
    /// True if the last change is the creation, which is not yet listed in the history.
    pub is_creation: bool,
    pub seq: Seq,
    /// Position of the creation; 0 if unknown.
    pub life: Seq,
    pub created: Timestamp,
    pub modified: Timestamp,
    /// Digest of the text.
    pub text: Digest,
    /// Digest of the original, if any.
    pub original: Option<Digest>,
    pub format: Option<&'a str>,
    /// Capability keys, encoded by [`block_of`].
    pub capabilities: &'a [u8],
    /// Owner and visibility, encoded; empty for the default.
    pub access: &'a [u8],
    /// True if the document has parts that are separate records.
    pub has_parts: bool,
    /// Encoded declarations, the served declaration first. Empty if the record declares itself with the served text.
    pub declarations: &'a [u8],
    /// Digest of the edits, if there are any.
    pub edits: Option<Digest>,
}

impl<'a> StoredRecord<'a> {
    pub fn decode(bytes: &'a [u8]) -> Result<StoredRecord<'a>> {
        StoredRecord::decode_with(bytes, DECLARATIONS)
    }

    /// Decodes a record of format 4, which encodes declarations differently.
    pub fn decode_format_4(bytes: &'a [u8]) -> Result<StoredRecord<'a>> {
        StoredRecord::decode_with(bytes, DECLARATIONS_OF_FORMAT_4)
    }

    fn decode_with(bytes: &'a [u8], declarations: u8) -> Result<StoredRecord<'a>> {
        let mut reader = Reader(bytes);
        let flags = reader.u8()?;
        let mut record = StoredRecord {
            has_expiry: flags & HAS_EXPIRY != 0,
            is_creation: flags & IS_CREATION != 0,
            seq: Seq(reader.u64()?),
            life: Seq(reader.u64()?),
            created: Timestamp(reader.i64()?),
            modified: Timestamp(reader.i64()?),
            text: Digest(reader.chunk()?),
            original: if flags & HAS_ORIGINAL == 0 { None } else { Some(Digest(reader.chunk()?)) },
            format: reader.optional_string()?,
            capabilities: reader.block()?,
            access: if flags & HAS_ACCESS == 0 { &[] } else { reader.block()? },
            has_parts: flags & HAS_PARTS != 0,
            declarations: &[],
            edits: None,
        };
        while !reader.0.is_empty() {
            match reader.u8()? {
                tag if tag == declarations => record.declarations = reader.block()?,
                EDITS => record.edits = Some(Digest(Reader(reader.block()?).chunk()?)),
                tag => return Err(unknown_part(tag)),
            }
        }
        Ok(record)
    }

    pub fn has_original(&self) -> bool {
        self.original.is_some()
    }

    pub fn access(&self) -> Result<Access> {
        decode_access(self.access)
    }

    pub fn capability_keys(&self) -> Result<Vec<String>> {
        strings_of(self.capabilities)
    }

    pub fn encode(&self) -> IVec {
        let mut bytes = Vec::with_capacity(128 + self.capabilities.len());
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        bytes.push(
            flag(self.has_expiry, HAS_EXPIRY)
                | flag(self.has_original(), HAS_ORIGINAL)
                | flag(self.is_creation, IS_CREATION)
                | flag(!self.access.is_empty(), HAS_ACCESS)
                | flag(self.has_parts, HAS_PARTS),
        );
        bytes.extend_from_slice(&self.seq.0.to_be_bytes());
        bytes.extend_from_slice(&self.life.0.to_be_bytes());
        bytes.extend_from_slice(&self.created.0.to_be_bytes());
        bytes.extend_from_slice(&self.modified.0.to_be_bytes());
        bytes.extend_from_slice(&self.text.0);
        bytes.extend(self.original.iter().flat_map(|digest| digest.0));
        put_bytes(&mut bytes, self.format.unwrap_or_default().as_bytes());
        put_bytes(&mut bytes, self.capabilities);
        if !self.access.is_empty() {
            put_bytes(&mut bytes, self.access);
        }
        if !self.declarations.is_empty() {
            bytes.push(DECLARATIONS);
            put_bytes(&mut bytes, self.declarations);
        }
        if let Some(edits) = self.edits {
            bytes.push(EDITS);
            put_bytes(&mut bytes, &edits.0);
        }
        IVec::from(bytes)
    }
}

/// Encodes the block of strings that holds capability keys in [`StoredRecord`] and [`Entry`].
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
    if access.namespace.is_some() {
        bytes.extend_from_slice(&access.number.unwrap_or(NamespaceNumber::UNCLAIMED).0.to_be_bytes());
    }
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
    let namespace: Option<Namespace> =
        reader.optional_string()?.map(str::parse).transpose().map_err(|_: String| corrupt())?;
    let number = namespace.is_some().then(|| reader.u64().map(NamespaceNumber)).transpose()?;
    Ok(Access { owner, visibility, namespace, number })
}

/// Decodes the text stored under a position.
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

/// The separator of media type and options of an original.
const OPTIONS: &str = "\0";

pub(super) fn encode_original(original: &Original) -> IVec {
    let mut bytes = Vec::with_capacity(64 + original.bytes.len());
    put_bytes(&mut bytes, original.format.as_bytes());
    match original.options.as_str() {
        "" => put_bytes(&mut bytes, original.media_type.as_bytes()),
        options => put_bytes(&mut bytes, [&original.media_type, OPTIONS, options].concat().as_bytes()),
    }
    bytes.extend_from_slice(&original.bytes);
    IVec::from(bytes)
}

pub(super) fn decode_original(bytes: &[u8]) -> Result<Original> {
    let mut reader = Reader(bytes);
    let (format, media_type) = (reader.string()?.to_owned(), reader.string()?);
    let (media_type, options) = media_type.split_once(OPTIONS).unwrap_or((media_type, ""));
    let (media_type, options) = (media_type.to_owned(), options.to_owned());
    Ok(Original { format, media_type, bytes: reader.0.to_vec(), options })
}

/// Edits as they are stored: the access that they were made under, and the merge patch.
pub(super) fn encode_edits(edits: &Edits) -> IVec {
    let access = encode_access(&edits.access);
    join(&[&(access.len() as u32).to_be_bytes(), &access, edits.patch.as_bytes()])
}

pub(super) fn decode_edits(bytes: &[u8]) -> Result<Edits> {
    let mut reader = Reader(bytes);
    Ok(Edits { access: decode_access(reader.block()?)?, patch: text(reader.0)?.to_owned() })
}

pub(super) fn encode_seq(seq: Seq) -> IVec {
    IVec::from(&seq.0.to_be_bytes())
}

pub(super) fn decode_seq(bytes: &[u8]) -> Result<Seq> {
    bytes.try_into().map(|bytes| Seq(u64::from_be_bytes(bytes))).map_err(|_| corrupt())
}

pub(super) fn encode_position(position: Position) -> IVec {
    join(&[&position.epoch.0.to_be_bytes(), &position.seq.0.to_be_bytes()])
}

pub(super) fn decode_position(bytes: &[u8]) -> Result<Position> {
    let mut reader = Reader(bytes);
    Ok(Position { epoch: Epoch(reader.u64()?), seq: Seq(reader.u64()?) })
}

/// Encodes the content of `m/clock`: the time that the log was set to after an entry.
pub(super) fn encode_clock(after: Seq, at: Timestamp) -> IVec {
    join(&[&after.0.to_be_bytes(), &at.0.to_be_bytes()])
}

pub(super) fn decode_clock(bytes: &[u8]) -> Result<(Seq, Timestamp)> {
    let mut reader = Reader(bytes);
    let set = (Seq(reader.u64()?), Timestamp(reader.i64()?));
    if reader.0.is_empty() { Ok(set) } else { Err(corrupt()) }
}

pub(super) fn encode_moment(at: Timestamp) -> IVec {
    (&at.0.to_be_bytes()).into()
}

pub(super) fn decode_moment(bytes: &[u8]) -> Result<Timestamp> {
    <[u8; 8]>::try_from(bytes).map(|bytes| Timestamp(i64::from_be_bytes(bytes))).map_err(|_| corrupt())
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Position of the previous entry.
    pub previous: Seq,
    /// Time of the log.
    pub at: Timestamp,
    /// Time of the clock. The time of the log is never behind it.
    pub arrival: Timestamp,
    pub actor: Option<String>,
    pub content: Content,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A change of a record.
    Change(Box<ChangeEntry>),
    /// A namespace has other members.
    Membership(MembershipEntry),
    /// A text was stored for the record with this id without being served.
    Declaration(String),
}

/// A change as it lies in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangeEntry {
    pub kind: ChangeKind,
    /// For a deletion: its reason, and the start of the ended life.
    pub end: Option<(DeletionReason, Seq)>,
    pub id: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
    pub access_before: Access,
    pub access_after: Access,
    pub body: Body,
}

/// The new and the former members of a namespace, as they lie in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MembershipEntry {
    pub number: NamespaceNumber,
    pub joined: Vec<Owner>,
    pub left: Vec<Owner>,
}

/// The description in a log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// No text, as for a deletion.
    None,
    /// The TD of a creation, or the merge patch of an update.
    Text(String),
    /// The TD of a creation lies under its seq.
    Apart,
}

impl Entry {
    /// Returns the change, if the entry is a change.
    pub fn change(&self) -> Option<&ChangeEntry> {
        match &self.content {
            Content::Change(change) => Some(change),
            Content::Membership(_) | Content::Declaration(_) => None,
        }
    }

    /// Encodes the entry. The TD of a creation is stored separately.
    pub fn encode(&self) -> IVec {
        let mut bytes = Vec::with_capacity(192);
        let (kind, body) = match &self.content {
            Content::Change(change) => (change.stored_kind(), change.stored_body().0),
            Content::Membership(_) => (MEMBERSHIP, 0),
            Content::Declaration(_) => (DECLARATION, 0),
        };
        bytes.extend_from_slice(&[kind, body]);
        bytes.extend_from_slice(&self.previous.0.to_be_bytes());
        bytes.extend_from_slice(&self.at.0.to_be_bytes());
        bytes.extend_from_slice(&self.arrival.0.to_be_bytes());
        let actor = self.actor.as_deref().unwrap_or_default().as_bytes();
        match &self.content {
            Content::Change(change) => change.encode(actor, &mut bytes),
            Content::Membership(membership) => {
                bytes.extend_from_slice(&membership.number.0.to_be_bytes());
                put_bytes(&mut bytes, actor);
                for owners in [&membership.joined, &membership.left] {
                    let names: Vec<String> = owners.iter().map(ToString::to_string).collect();
                    put_bytes(&mut bytes, &block_of(&names));
                }
            }
            Content::Declaration(id) => {
                put_bytes(&mut bytes, actor);
                put_bytes(&mut bytes, id.as_bytes());
            }
        }
        IVec::from(bytes)
    }

    /// Decodes the entry at a position.
    pub fn decode(seq: Seq, bytes: &[u8]) -> Result<Entry> {
        let mut reader = Reader(bytes);
        let (kind, body, previous) = (reader.u8()?, reader.u8()?, Seq(reader.u64()?));
        if previous >= seq {
            return Err(corrupt());
        }
        let (at, arrival) = (Timestamp(reader.i64()?), Timestamp(reader.i64()?));
        let (actor, content) = if kind == MEMBERSHIP {
            let number = NamespaceNumber(reader.u64()?);
            let actor = reader.optional_string()?.map(str::to_owned);
            let (joined, left) = (owners_of(reader.block()?)?, owners_of(reader.block()?)?);
            (actor, Content::Membership(MembershipEntry { number, joined, left }))
        } else if kind == DECLARATION {
            let actor = reader.optional_string()?.map(str::to_owned);
            (actor, Content::Declaration(reader.string()?.to_owned()))
        } else {
            let (actor, change) = ChangeEntry::decode(kind, body, &mut reader)?;
            (actor, Content::Change(Box::new(change)))
        };
        Ok(Entry { previous, at, arrival, actor, content })
    }
}

impl ChangeEntry {
    fn stored_kind(&self) -> u8 {
        let kind = match (self.kind, self.end) {
            (ChangeKind::Created, _) => 0,
            (ChangeKind::Updated, _) => 1,
            (ChangeKind::Deleted, None | Some((DeletionReason::Removed, _))) => 2,
            (ChangeKind::Deleted, Some((DeletionReason::Expired, _))) => 3,
            (ChangeKind::Deleted, Some((DeletionReason::SourceGone, _))) => 4,
        };
        if self.has_access() { kind | HAS_ACCESS } else { kind }
    }

    fn has_access(&self) -> bool {
        !self.access_before.is_default() || !self.access_after.is_default()
    }

    fn stored_body(&self) -> (u8, &str) {
        match (&self.body, self.kind) {
            (Body::None, _) => (0, ""),
            (Body::Text(text), ChangeKind::Updated | ChangeKind::Deleted) => (1, text.as_str()),
            (Body::Text(_), ChangeKind::Created) | (Body::Apart, _) => (2, ""),
        }
    }

    fn encode(&self, actor: &[u8], bytes: &mut Vec<u8>) {
        if self.kind == ChangeKind::Deleted {
            bytes.extend_from_slice(&self.end.map_or(Seq::ZERO, |(_, life)| life).0.to_be_bytes());
        }
        put_bytes(bytes, self.id.as_bytes());
        put_bytes(bytes, actor);
        put_bytes(bytes, &block_of(&self.before));
        put_bytes(bytes, &block_of(&self.after));
        if self.has_access() {
            put_bytes(bytes, &encode_access(&self.access_before));
            put_bytes(bytes, &encode_access(&self.access_after));
        }
        bytes.extend_from_slice(self.stored_body().1.as_bytes());
    }

    fn decode(kind: u8, body: u8, reader: &mut Reader<'_>) -> Result<(Option<String>, ChangeEntry)> {
        let has_access = kind & HAS_ACCESS != 0;
        let (kind, reason) = match kind & !HAS_ACCESS {
            0 => (ChangeKind::Created, None),
            1 => (ChangeKind::Updated, None),
            2 => (ChangeKind::Deleted, Some(DeletionReason::Removed)),
            3 => (ChangeKind::Deleted, Some(DeletionReason::Expired)),
            4 => (ChangeKind::Deleted, Some(DeletionReason::SourceGone)),
            _ => return Err(corrupt()),
        };
        let end = match reason {
            Some(reason) => Some((reason, Seq(reader.u64()?))),
            None => None,
        };
        let id = reader.string()?.to_owned();
        let actor = reader.optional_string()?.map(str::to_owned);
        let (before, after) = (strings_of(reader.block()?)?, strings_of(reader.block()?)?);
        let (access_before, access_after) = match has_access {
            false => (Access::default(), Access::default()),
            true => (decode_access(reader.block()?)?, decode_access(reader.block()?)?),
        };
        let body = match body {
            0 => Body::None,
            1 => Body::Text(text(reader.0)?.to_owned()),
            2 => Body::Apart,
            _ => return Err(corrupt()),
        };
        Ok((actor, ChangeEntry { kind, end, id, before, after, access_before, access_after, body }))
    }
}

fn owners_of(block: &[u8]) -> Result<Vec<Owner>> {
    strings_of(block)?.into_iter().map(|name| name.parse().map_err(|_: String| corrupt())).collect()
}

/// Reads a value from its front.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.chunk().map(u64::from_be_bytes)
    }

    pub fn i64(&mut self) -> Result<i64> {
        self.chunk().map(i64::from_be_bytes)
    }

    pub fn block(&mut self) -> Result<&'a [u8]> {
        let length = u32::from_be_bytes(self.chunk()?);
        self.take(length as usize)
    }

    pub fn string(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.block()?).map_err(|_| corrupt())
    }

    pub fn optional_string(&mut self) -> Result<Option<&'a str>> {
        self.string().map(|string| (!string.is_empty()).then_some(string))
    }
}

pub(super) fn strings_of(block: &[u8]) -> Result<Vec<String>> {
    let mut reader = Reader(block);
    let mut strings = Vec::new();
    while !reader.0.is_empty() {
        strings.push(reader.string()?.to_owned());
    }
    Ok(strings)
}

pub(super) fn put_bytes(target: &mut Vec<u8>, bytes: &[u8]) {
    // Documents are limited to 1 MiB, far below what a u32 holds.
    target.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    target.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
