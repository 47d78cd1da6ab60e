//! Encoding of commits as values in etcd.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `adx1` |
//! | 2, 2 | version of the store's layout, and of the optional parts of its values |
//! | 16 | id of the commit |
//! | 16, 16 | node that wrote it; node with the next turn, or zero |
//! | 4 | number of further values with the rest of the commit, or 0 |
//! | 16 | first half of the SHA-256 digest of all other bytes, with those of further values |
//! | rest | size of the pairs in bytes: u32, and the pairs, compressed by LZ4 |
//!
//! The pairs are in ascending order of their keys, each with the size of its key, the size of its value (`FFFFFFFF` for a
//! removed key), the key, and the value. Numbers are big-endian.

use std::fmt;

use ring::digest::{Context, SHA256};
use sled::IVec;

use super::super::{super::layout::FORMAT_VERSION, Commit, CommitId, turn::Node};
use crate::store::{install::MAX_COMMIT_BYTES, overlay::Pairs};

const MAGIC: &[u8; 4] = b"adx1";

/// Version of the optional parts of values: the version to write, and the highest version that can be read.
const MINOR_VERSION: u16 = 0;

const DIGEST_AT: usize = 60;
const HEADER_BYTES: usize = 76;

/// Maximum size of a value in etcd. etcd refuses requests of more than 1.5 MiB.
pub(super) const MAX_VALUE_BYTES: usize = 1024 * 1024;

/// Maximum number of additional values of a commit. LZ4 enlarges incompressible data by a factor of 256/255.
const MAX_PARTS: usize = MAX_COMMIT_BYTES / MAX_VALUE_BYTES + 2;

/// Value size that marks a removed key.
const REMOVED: u32 = u32::MAX;

pub(super) type Digest = [u8; 16];

/// A commit, encoded as values in etcd.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    pub number: u64,
    pub id: CommitId,
    pub digest: Digest,
    /// Value of the commit's own key.
    pub value: Vec<u8>,
    /// Additional values, which contain the rest of a large commit.
    pub parts: Vec<Vec<u8>>,
}

impl Encoded {
    /// Encodes a commit. `turn` is the node with the next turn.
    pub fn of(commit: &Commit, by: Node, turn: Option<Node>) -> Encoded {
        let pairs = pack(&commit.pairs);
        let mut body = (pairs.len() as u32).to_be_bytes().to_vec();
        body.extend(lz4_flex::block::compress(&pairs));
        let is_small = HEADER_BYTES + body.len() <= MAX_VALUE_BYTES;
        let parts: Vec<Vec<u8>> =
            if is_small { Vec::new() } else { body.chunks(MAX_VALUE_BYTES).map(<[u8]>::to_vec).collect() };
        let mut value = Vec::with_capacity(HEADER_BYTES + if is_small { body.len() } else { 0 });
        value.extend_from_slice(MAGIC);
        value.extend_from_slice(&(FORMAT_VERSION as u16).to_be_bytes());
        value.extend_from_slice(&MINOR_VERSION.to_be_bytes());
        value.extend_from_slice(&commit.id.run.to_be_bytes());
        value.extend_from_slice(&commit.id.count.to_be_bytes());
        value.extend_from_slice(&by.to_be_bytes());
        value.extend_from_slice(&turn.unwrap_or(0).to_be_bytes());
        value.extend_from_slice(&(parts.len() as u32).to_be_bytes());
        let digest = digest(&value, &body);
        value.extend_from_slice(&digest);
        if is_small {
            value.extend(body);
        }
        Encoded { number: commit.number, id: commit.id, digest, value, parts }
    }
}

/// Decoded value of a commit's own key, without additional values.
#[derive(Debug, Clone)]
pub(super) struct Head<'a> {
    pub id: CommitId,
    pub by: Node,
    /// Node with the next turn.
    pub turn: Option<Node>,
    /// Number of additional values.
    pub parts: usize,
    pub digest: Digest,
    value: &'a [u8],
}

impl Head<'_> {
    /// Decodes the value of a commit's own key.
    pub fn read(value: &[u8]) -> Result<Head<'_>, Unreadable> {
        let mut fields = Fields(value.get(..HEADER_BYTES).ok_or(Unreadable::Damaged)?);
        if fields.take::<4>()? != *MAGIC {
            return Err(Unreadable::Foreign);
        }
        let version = fields.u16()?;
        if u32::from(version) != FORMAT_VERSION {
            return Err(Unreadable::Version(version));
        }
        let minor = fields.u16()?;
        if minor > MINOR_VERSION {
            return Err(Unreadable::MinorVersion(minor));
        }
        let id = CommitId { run: fields.u64()?, count: fields.u64()? };
        let (by, turn) = (fields.u128()?, fields.u128()?);
        let parts = fields.u32()? as usize;
        if parts > MAX_PARTS {
            return Err(Unreadable::Damaged);
        }
        Ok(Head { id, by, turn: (turn != 0).then_some(turn), parts, digest: fields.take()?, value })
    }

    /// Decodes the pairs of the commit, given its additional values.
    pub fn pairs(&self, parts: &[Vec<u8>]) -> Result<Pairs, Unreadable> {
        let own = &self.value[HEADER_BYTES..];
        if parts.len() != self.parts || (self.parts > 0) != own.is_empty() {
            return Err(Unreadable::Damaged);
        }
        let joined;
        let body = if parts.is_empty() {
            own
        } else {
            joined = parts.concat();
            &joined
        };
        if digest(&self.value[..DIGEST_AT], body) != self.digest {
            return Err(Unreadable::Damaged);
        }
        let mut fields = Fields(body);
        let size = fields.u32()? as usize;
        if size > MAX_PACKED_BYTES {
            return Err(Unreadable::TooLarge(size));
        }
        let pairs = lz4_flex::block::decompress(fields.0, size).map_err(|_| Unreadable::Damaged)?;
        if pairs.len() != size {
            return Err(Unreadable::Damaged);
        }
        unpack(&pairs)
    }
}

/// Maximum size of the packed pairs: their keys and values, and the size fields of the largest possible number of
/// pairs.
const MAX_PACKED_BYTES: usize = MAX_COMMIT_BYTES * 2;

fn pack(pairs: &Pairs) -> Vec<u8> {
    let mut packed = Vec::new();
    for (key, value) in pairs {
        packed.extend_from_slice(&(key.len() as u32).to_be_bytes());
        packed.extend_from_slice(&value.as_ref().map_or(REMOVED, |value| value.len() as u32).to_be_bytes());
        packed.extend_from_slice(key);
        packed.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    packed
}

fn unpack(packed: &[u8]) -> Result<Pairs, Unreadable> {
    let (mut fields, mut pairs) = (Fields(packed), Pairs::new());
    while !fields.0.is_empty() {
        let (key, value) = (fields.u32()?, fields.u32()?);
        let key = IVec::from(fields.bytes(key as usize)?);
        let value = (value != REMOVED).then(|| fields.bytes(value as usize)).transpose()?.map(IVec::from);
        if pairs.last().is_some_and(|(last, _)| *last >= key) {
            return Err(Unreadable::Damaged);
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

fn digest(header: &[u8], body: &[u8]) -> Digest {
    let mut digest = Context::new(&SHA256);
    digest.update(header);
    digest.update(body);
    let mut half = Digest::default();
    half.copy_from_slice(&digest.finish().as_ref()[..16]);
    half
}

/// Reader of consecutive fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Unreadable> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Unreadable::Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Unreadable::Damaged)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn u16(&mut self) -> Result<u16, Unreadable> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, Unreadable> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, Unreadable> {
        self.take().map(u64::from_be_bytes)
    }

    fn u128(&mut self) -> Result<u128, Unreadable> {
        self.take().map(u128::from_be_bytes)
    }
}

/// Reason why a commit in etcd can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The value is not a commit.
    Foreign,
    /// The commit is incomplete, or its bytes have changed since it was written.
    Damaged,
    /// The commit is too large.
    TooLarge(usize),
    /// The commit was written by a version of the program with a different layout of the store.
    Version(u16),
    /// Only a newer version of the program can read parts of the commit.
    MinorVersion(u16),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Foreign => f.write_str("it isn't a commit of agentdex"),
            Unreadable::Damaged => f.write_str("it is damaged"),
            Unreadable::TooLarge(bytes) => {
                write!(f, "it has {bytes} bytes, but at most {MAX_COMMIT_BYTES} are allowed")
            }
            Unreadable::Version(version) => {
                write!(f, "it was written in format {version}, but this program uses format {FORMAT_VERSION}")
            }
            Unreadable::MinorVersion(_) => {
                f.write_str("it was written by a newer version of agentdex: upgrade this node")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: CommitId = CommitId { run: 7, count: 9 };

    fn commit(pairs: Pairs) -> Commit {
        Commit { number: 12, id: ID, pairs, has_more: false }
    }

    /// Bytes that LZ4 doesn't make shorter.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut noise = Vec::with_capacity(bytes + 8);
        while noise.len() < bytes {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            noise.extend_from_slice(&state.to_le_bytes());
        }
        noise.truncate(bytes);
        noise
    }

    fn small() -> Pairs {
        vec![
            (IVec::from(b"m/state"), Some(IVec::from(vec![1; 56]))),
            (IVec::from(b"r/urn:example:a"), None),
            (IVec::from(b"r/urn:example:b"), Some(IVec::from(b""))),
        ]
    }

    #[test]
    fn commits_come_back_as_they_were() {
        let noise = noise(5 * MAX_VALUE_BYTES / 2);
        let large = vec![(IVec::from(b"t/1"), Some(IVec::from(noise)))];
        for (pairs, parts) in [(small(), 0), (Pairs::new(), 0), (large, 3)] {
            let encoded = Encoded::of(&commit(pairs.clone()), 1, Some(2));
            assert_eq!((encoded.number, encoded.parts.len()), (12, parts));
            assert!(encoded.parts.iter().all(|part| part.len() <= MAX_VALUE_BYTES));
            let head = Head::read(&encoded.value).unwrap();
            assert_eq!((head.id, head.by, head.turn, head.digest), (ID, 1, Some(2), encoded.digest));
            assert_eq!(head.pairs(&encoded.parts).unwrap(), pairs);
        }
        let encoded = Encoded::of(&commit(small()), 1, None);
        assert_eq!(Head::read(&encoded.value).unwrap().turn, None);
    }

    #[test]
    fn every_changed_missing_and_added_byte_is_noticed() {
        let encoded = Encoded::of(&commit(small()), 1, Some(2));
        let read = |value: &[u8]| Head::read(value).and_then(|head| head.pairs(&[]));
        for at in 0..encoded.value.len() {
            let mut value = encoded.value.clone();
            value[at] ^= 1;
            assert!(read(&value).is_err(), "byte {at}");
            assert!(read(&encoded.value[..at]).is_err(), "{at} bytes");
        }
        assert_eq!(read(&[&encoded.value[..], b"x"].concat()), Err(Unreadable::Damaged));
        assert_eq!(
            read(b"anything else, long enough for a header of 76 bytes: anything else, long enough"),
            Err(Unreadable::Foreign)
        );
    }

    #[test]
    fn parts_are_those_of_the_commit_in_their_order() {
        let pairs = vec![(IVec::from(b"t/1"), Some(IVec::from(noise(3 * MAX_VALUE_BYTES))))];
        let Encoded { value, parts, .. } = Encoded::of(&commit(pairs), 1, None);
        let head = Head::read(&value).unwrap();
        let swapped = [&parts[1..], &parts[..1]].concat();
        for wrong in [&parts[1..], &swapped, &[]] {
            assert_eq!(head.pairs(wrong), Err(Unreadable::Damaged));
        }
    }

    #[test]
    fn commits_of_other_programs_are_named() {
        let Encoded { mut value, .. } = Encoded::of(&commit(small()), 1, None);
        value[5] = 9;
        let error = Head::read(&value).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("it was written in format 9, but this program uses format {FORMAT_VERSION}")
        );
        (value[5], value[7]) = (FORMAT_VERSION as u8, 1);
        assert_eq!(Head::read(&value).unwrap_err(), Unreadable::MinorVersion(1));
    }

    #[test]
    fn sizes_are_bounded_before_anything_is_reserved() {
        // 4 GiB of zeros, as told.
        let body = [&u32::MAX.to_be_bytes()[..], &[0; 16]].concat();
        let Encoded { mut value, .. } = Encoded::of(&commit(Pairs::new()), 1, None);
        value.truncate(DIGEST_AT);
        let digest = digest(&value, &body);
        value.extend_from_slice(&digest);
        value.extend(body);
        assert_eq!(Head::read(&value).unwrap().pairs(&[]), Err(Unreadable::TooLarge(u32::MAX as usize)));
    }
}
