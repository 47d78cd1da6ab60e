//! Keys of the tree and layout of their values, encoded by [`super::value`].
//!
//! | key | value | content |
//! |---|---|---|
//! | `m/format` | version: u32 | version of this layout, [`FORMAT_VERSION`] |
//! | `m/epoch` | epoch: u64 | generated when the store was created |
//! | `m/registry` | uuid: 16 bytes | generated when the store was created |
//! | `m/state` | last seq: u64, records: u64, entries: u64, commit: u64, sum: u128, namespaces: u64 | end of the log; number of records, including expired ones; number of log entries; number of batches written; [checksum](super::sum::Sum) over the keys that count; number of namespace numbers assigned |
//! | `m/origin` | kind: u8, epoch: u64, last seq: u64 | origin of the store: 1 restored from a backup, 2 salvaged, 3 rolled back; with the epoch and the end of the original log |
//! | `m/upgrade` | commit: u64, sum: u128, is done: u8 | upgrade from format 4: number of the last commit before it, checksum at that time, and whether all records have been rewritten |
//! | `m/audit` | JSON | by chain of the audit trail: number, ordinal, and hash of the last dropped entry |
//! | `m/clock` | seq: u64, moment: i64 | time to which the log was reset by hand, after the entry at `seq` |
//! | `m/digests` | moment: i64 | time of the last commit after which all stores with a shared log compute [digests](super::digests) |
//! | `m/grace` | moment: i64 | moment since which ttls count, until all [expiries](super::expiry) are extended; only in stores with a shared log |
//! | `r/<id>` | see below | a record |
//! | `t/<seq>` | TD | text of the record with this seq, of a declaration, or of a creation in the log |
//! | `o/<seq>` | format: string, media type (and a zero byte and the JSON of the import options, if there are any): string, document: rest | original of the record or declaration with this seq |
//! | `i/<id>` | as given | metadata of a record with an original, until that changes |
//! | `u/<id>` | access: block, merge patch: rest | edits by hand on top of the declared text, and the access to the record when they were made |
//! | `d/<id>` | block of strings | ids of the parts declared by the document of a Thing, ascending; can be reconstructed from the records |
//! | `e/<id>` | flags: u8, ttl: u64, expires: i64 | expiry, stored separately so that a renewal writes only a few bytes; flags: 1 has a ttl, 2 has a moment |
//! | `x/<moment><id>` | – | expiries by moment |
//! | `l/<seq>` | see below | an entry of the log |
//! | `h/<id>` 0 `<seq>` | – | history: changes by Thing, except for the creation of a record that has not changed since |
//! | `a/<number>` | JSON | audit entry about a change of a Thing, or of an older version; numbers are u64 |
//! | `b/<chain>/<number>` | JSON | audit entry of another [chain](super::audit); all chains share the numbering |
//! | `v/<id>` | seq: u64 | last log entry at which the Thing was restricted; dropped together with that entry |
//! | `n/p/<follower>` | epoch: u64, seq: u64 | node-local: position of a follower |
//! | `n/s/<name>` | as given | node-local: session of a network follower |
//! | `n/c` | JSON | node-local, in a node of a cluster: its last commit in the [log of the cluster](super::commit_log) |
//! | `n/q/<name>` | as given | saved query without an owner |
//! | `n/q/<owner>` 0 `<name>` | as given | saved query; names of owners contain no zero byte |
//! | `n/k/<id>` | as given | API key |
//! | `n/n/<number>` | JSON | namespace: name, owner, membership intervals by position, and the position at which it was given up; numbers are u64 |
//!
//! Integers are big endian. Moments are milliseconds since 1970; in keys their sign bit is flipped, so that they
//! sort. A string is its length (u32) and its UTF-8 bytes, and empty if it is absent. A block is its length and its
//! strings. Ids contain no zero byte.
//!
//! # Records
//! flags: u8, seq: u64, life: u64, created: i64, modified: i64, digest of the text: 16 bytes, digest of the original:
//! 16 bytes, format: string, capability keys: block of strings, access: block, parts: rest
//!
//! - life: seq of the creation, 0 if unknown
//! - flags: 1 has an expiry, 2 has an original (otherwise its digest is omitted), 4 the last change is the creation,
//!   8 has an access, 16 its document has parts
//! - access: visibility: u8 (0 public, 1 namespace, 2 private), owner: string, namespace: string, and its number:
//!   u64, if there is a namespace
//! - parts: tag: u8, block. Tag 2 is the digest of the edits. Tag 3 are the [declarations](super::declaration), the
//!   served declaration first: by: string (id of a document, empty for the record itself), version: string, seq of
//!   its text and original: u64, digest of the text: 16 bytes, 1 and the digest of the original or 0, format: string,
//!   members: block of tag: u8 and block; unknown members are preserved. The member with tag 1 is the [access of the
//!   text](super::text_access) if it differs from that of the record: access: block, numbers of further namespaces:
//!   u64 each
//!
//! # Log entries
//! Each entry begins with kind: u8, body: u8, previous: u64, at: i64, arrival: i64. `previous` is the seq of the
//! previous entry. `arrival` is the time of the clock, of which the time of the log, `at`, may be ahead.
//!
//! - Changes (kind 0 created, 1 updated, 2 removed, 3 expired, 4 source gone; plus 8 if it has accesses): life: u64,
//!   id: string, actor: string, capability keys before and after: blocks of strings, access before and after, if any:
//!   blocks, text: rest. Only deletions have a life, the one that ends. body: 0 no text, 1 `text` is the merge patch,
//!   2 the TD is at `t/<seq>`
//! - Changes of members of a namespace (kind 5, body 0): number: u64, actor: string, joined and left: blocks of
//!   strings
//! - Declarations (kind 6, body 0): actor: string, id: string. A record got a text under this seq that isn't served.
//!   Not shown to readers
//!
//! # Placement
//! Long values are stored under the seq of their write and never change: new text is appended at the end of the tree,
//! where sled rewrites a page only a few times while it fills. Since ids are random, sled would rewrite sixteen
//! descriptions for each text stored by id. A text is removed by the write that replaces it, or by retention if the
//! log still contains its creation. The creation is added to the history by the write that changes or deletes the
//! record.

use agentdex_api::AuditChain;
use sled::IVec;

use crate::{
    Error, Result,
    access::NamespaceNumber,
    change::{Seq, Timestamp},
    error::BoxError,
};

/// Version of the layout that is read and written.
pub(super) const FORMAT_VERSION: u32 = 5;

pub(super) const FORMAT_KEY: &[u8] = b"m/format";
pub(super) const UPGRADE_KEY: &[u8] = b"m/upgrade";
pub(super) const EPOCH_KEY: &[u8] = b"m/epoch";
pub(super) const REGISTRY_KEY: &[u8] = b"m/registry";
pub(super) const STATE_KEY: &[u8] = b"m/state";
pub(super) const ORIGIN_KEY: &[u8] = b"m/origin";
pub(super) const CLOCK_KEY: &[u8] = b"m/clock";
pub(super) const AUDIT_DROPPED_KEY: &[u8] = b"m/audit";
pub(super) const GRACE_KEY: &[u8] = b"m/grace";
pub(super) const DIGESTS_KEY: &[u8] = b"m/digests";

/// A key after all others.
pub(super) const AFTER_ALL: &[u8] = &[0xff];
pub(super) const RECORDS: &[u8] = b"r/";
/// The first key after all records.
pub(super) const AFTER_RECORDS: &[u8] = b"r0";
pub(super) const TEXTS: &[u8] = b"t/";
const ORIGINALS: &[u8] = b"o/";
pub(super) const EDITS: &[u8] = b"u/";
pub(super) const PARTS: &[u8] = b"d/";
pub(super) const METADATA: &[u8] = b"i/";
/// The first key after all metadata.
pub(super) const AFTER_METADATA: &[u8] = b"i0";
pub(super) const EXPIRIES: &[u8] = b"e/";
/// The first key after all expiries.
pub(super) const AFTER_EXPIRIES: &[u8] = b"e0";
pub(super) const DUE: &[u8] = b"x/";
pub(super) const RESTRICTED: &[u8] = b"v/";
pub(super) const LOG: &[u8] = b"l/";
const HISTORY: &[u8] = b"h/";
pub(super) const POSITIONS: &[u8] = b"n/p/";
pub(super) const SESSIONS: &[u8] = b"n/s/";
pub(super) const NODE_KEY: &[u8] = b"n/c";
pub(super) const QUERIES: &[u8] = b"n/q/";
pub(super) const KEYS: &[u8] = b"n/k/";
pub(super) const NAMESPACES: &[u8] = b"n/n/";

pub(super) fn record_key(id: &str) -> IVec {
    join(&[RECORDS, id.as_bytes()])
}

pub(super) fn text_key(seq: Seq) -> IVec {
    join(&[TEXTS, &seq.0.to_be_bytes()])
}

pub(super) fn original_key(seq: Seq) -> IVec {
    join(&[ORIGINALS, &seq.0.to_be_bytes()])
}

pub(super) fn edits_key(id: &str) -> IVec {
    join(&[EDITS, id.as_bytes()])
}

pub(super) fn parts_key(id: &str) -> IVec {
    join(&[PARTS, id.as_bytes()])
}

pub(super) fn metadata_key(id: &str) -> IVec {
    join(&[METADATA, id.as_bytes()])
}

pub(super) fn expiry_key(id: &str) -> IVec {
    join(&[EXPIRIES, id.as_bytes()])
}

pub(super) fn due_key(moment: Timestamp, id: &str) -> IVec {
    join(&[DUE, &sortable(moment), id.as_bytes()])
}

/// The beginning of the keys of a chain of the audit trail.
pub(super) fn audit_prefix(chain: AuditChain) -> &'static [u8] {
    match chain {
        AuditChain::Changes => b"a/",
        AuditChain::Decisions => b"b/decisions/",
        AuditChain::Denials => b"b/denials/",
        AuditChain::Administration => b"b/administration/",
    }
}

pub(super) fn audit_key(chain: AuditChain, number: u64) -> IVec {
    join(&[audit_prefix(chain), &number.to_be_bytes()])
}

pub(super) fn namespace_key(number: NamespaceNumber) -> IVec {
    join(&[NAMESPACES, &number.0.to_be_bytes()])
}

pub(super) fn restricted_key(id: &str) -> IVec {
    join(&[RESTRICTED, id.as_bytes()])
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
    join(&[HISTORY, id.as_bytes(), &[0], &seq.0.to_be_bytes()])
}

/// Returns the first key after all keys with a prefix.
pub(super) fn after_prefix(prefix: &[u8]) -> IVec {
    let mut after = prefix.to_vec();
    if let Some(last) = after.last_mut() {
        // None of them ends with the greatest byte.
        *last = last.saturating_add(1);
    }
    after.into()
}

/// Families of the keys that commits write, and that are equal in all stores with the same commits. Their names are
/// shown to operators.
const REPLICATED: [(&[u8], &str); 21] = [
    (RECORDS, "records"),
    (TEXTS, "texts"),
    (ORIGINALS, "originals"),
    (METADATA, "metadata"),
    (EDITS, "edits"),
    (PARTS, "parts"),
    (EXPIRIES, "expiries"),
    (DUE, "expiry-times"),
    (LOG, "changes"),
    (HISTORY, "history"),
    (RESTRICTED, "restrictions"),
    (b"a/", "audit-trail"),
    (b"b/", "audit-trail"),
    (NAMESPACES, "namespaces"),
    (QUERIES, "queries"),
    (KEYS, "keys"),
    (STATE_KEY, "state"),
    (CLOCK_KEY, "state"),
    (AUDIT_DROPPED_KEY, "state"),
    (GRACE_KEY, "state"),
    (DIGESTS_KEY, "state"),
];

/// Returns the names of all families of replicated keys.
pub(super) fn families() -> impl Iterator<Item = &'static str> {
    REPLICATED.iter().map(|(_, family)| *family)
}

/// Returns the name of a replicated key's family, or `None` if the key is local to each store.
pub(super) fn family_of(key: &[u8]) -> Option<&'static str> {
    let is_within = |prefix: &[u8]| match prefix.ends_with(b"/") {
        true => key.starts_with(prefix),
        false => key == prefix,
    };
    REPLICATED.iter().find(|(prefix, _)| is_within(prefix)).map(|(_, family)| *family)
}

/// True for a key that commits write, and that is equal in all stores with the same commits.
pub(super) fn is_replicated(key: &[u8]) -> bool {
    family_of(key).is_some()
}

/// True for a key that readers may read while a commit overwrites it, so its former value is shown until the commit is
/// durable. Log and history are read only up to the durable end; the rest is read from memory.
pub(super) fn is_hidden_until_durable(key: &[u8]) -> bool {
    ![LOG, HISTORY, b"a/", b"b/", b"m/", b"n/"].iter().any(|prefix| key.starts_with(prefix))
}

/// True for the key of an API key or a namespace.
pub(super) fn grants(key: &[u8]) -> bool {
    key.starts_with(KEYS) || key.starts_with(NAMESPACES)
}

/// The seq at the end of a [`log_key`] or [`history_key`].
pub(super) fn seq_of_key(key: &[u8]) -> Result<Seq> {
    key.last_chunk().map(|bytes| Seq(u64::from_be_bytes(*bytes))).ok_or_else(corrupt)
}

pub(super) fn position_key(follower: &str) -> IVec {
    join(&[POSITIONS, follower.as_bytes()])
}

/// Returns the id or name in a key that begins with `prefix`.
pub(super) fn name_of(key: &[u8], prefix: &[u8]) -> Result<String> {
    let name = key.get(prefix.len()..).unwrap_or_default();
    std::str::from_utf8(name).map(str::to_owned).map_err(|_| corrupt())
}

/// The smallest key after another.
pub(super) fn key_after(key: &[u8]) -> IVec {
    join(&[key, &[0]])
}

pub(super) fn join(parts: &[&[u8]]) -> IVec {
    IVec::from(parts.concat())
}

fn sortable(moment: Timestamp) -> [u8; 8] {
    (moment.0 as u64 ^ 1 << 63).to_be_bytes()
}

/// Operation named in errors about values that don't match the layout.
const DECODING: &str = "decoding a value";

/// Operation named in errors about unreadable pages.
const UNREADABLE: &str = "reading a page";

/// Creates the error for an unreadable page.
pub(super) fn unreadable(source: BoxError) -> Error {
    Error::Store { doing: UNREADABLE, source }
}

/// Creates the error for a value that doesn't match the layout.
pub(super) fn corrupt() -> Error {
    Error::Store { doing: DECODING, source: "the value does not have the documented layout".into() }
}

/// Creates the error for an unknown part of a record.
pub(super) fn unknown_part(tag: u8) -> Error {
    let source = format!("it contains a part {tag}, which is unknown in the format {FORMAT_VERSION}");
    Error::Store { doing: DECODING, source: source.into() }
}

/// True for the error of such a page or value.
pub(super) fn is_corrupt(error: &Error) -> bool {
    matches!(error, Error::Store { doing: DECODING | UNREADABLE, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_keys_are_in_the_order_of_their_moments() {
        let moments = [i64::MIN, -1, 0, 1, i64::MAX].map(|moment| due_key(Timestamp(moment), "urn:a"));
        assert!(moments.is_sorted());
        assert!(due_key(Timestamp(5), "urn:\u{10ffff}") < after_due(Timestamp(5)));
        assert!(after_due(Timestamp(5)) <= due_key(Timestamp(6), ""));
        assert_eq!(id_of_due_key(&due_key(Timestamp(-7), "urn:ä")).ok(), Some("urn:ä"));
    }

    #[test]
    fn history_of_a_thing_is_apart_from_that_of_longer_ids() {
        let (first, last) = (history_key("urn:a", Seq::ZERO), history_key("urn:a", Seq(u64::MAX)));
        assert!(first < history_key("urn:a", Seq(7)) && history_key("urn:a", Seq(7)) < last);
        for id in ["urn:a:b", "urn:a\u{1}", "urn:aa", "urn:"] {
            let other = history_key(id, Seq(7));
            assert!(other < first || other > last, "{id:?}");
        }
        assert_eq!(seq_of_key(&last).ok(), Some(Seq(u64::MAX)));
    }
}
