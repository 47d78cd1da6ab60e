//! The audit trail: changes by authenticated callers, written atomically with the change, and denied requests.
//!
//! Entries are numbered consecutively across four chains, which differ in who can write how many entries
//! ([`AuditChain`]). Each chain has its own key range and is trimmed at its front by its own count, so many changes
//! by a single key can only displace changes. Trimming by age works as for the log: the latest entries of each chain
//! are retained regardless of age.
//!
//! An entry contains its ordinal in the chain and the SHA-256 of the chain's previous stored entry. Trimming records
//! the last dropped entry under `m/audit` in the same batch. So chains have no gaps, the oldest entry of each chain
//! can be verified, and the ordinals of the last entries add up to the last number; [`Verification`] reports any
//! deviation. Only the removal of the newest entries can't be detected, and anyone with write access to the data
//! directory can rewrite all of it. A copy of an entry stored elsewhere proves all earlier entries of its chain.
//!
//! Entries of older versions have no hash; the chain of changes starts with the first entry that has a hash.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError, RwLock},
};

use agentdex_api::{AuditChain, AuditEntry, Audited};
use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use sled::IVec;

use super::{
    age::Age,
    damage::Gap,
    database::Database,
    layout,
    options::Options,
    overlay::{Overlay, Sealed},
    tree::{Tree, reading},
    value::State,
};
use crate::{Error, Result, change::Timestamp};

/// Maximum number of entries dropped per step.
const TRIMMED_AT_ONCE: usize = 1024;

/// End of a chain, or the point at which it was trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Link {
    /// The number of its last entry.
    number: u64,
    /// Ordinal of that entry in its chain.
    ordinal: u64,
    /// Hash of that entry.
    #[serde(with = "hexadecimal")]
    hash: [u8; 32],
}

impl Link {
    /// The beginning of a chain.
    fn none() -> Link {
        Link { number: 0, ordinal: 0, hash: sha256(b"") }
    }

    /// That of an entry as it is stored.
    fn of(number: u64, stored: &[u8]) -> Link {
        let entry: AuditEntry = serde_json::from_slice(stored).unwrap_or_default();
        Link { number, ordinal: place_of(&entry, number), hash: sha256(stored) }
    }
}

/// Returns the ordinal of an entry in its chain. Entries of earlier versions all belong to a single chain.
fn place_of(entry: &AuditEntry, number: u64) -> u64 {
    entry.ordinal.unwrap_or(number)
}

/// Last dropped entry of each chain.
type Dropped = BTreeMap<AuditChain, Link>;

fn read_dropped(bytes: Option<IVec>) -> Result<Dropped> {
    bytes.map_or(Ok(Dropped::new()), |bytes| serde_json::from_slice(&bytes).map_err(|_| layout::corrupt()))
}

/// The end of the trail.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    number: u64,
    chains: [Link; AuditChain::ALL.len()],
}

impl End {
    /// Advances the end to an entry that is already stored, or about to be.
    pub fn advance(&mut self, chain: AuditChain, number: u64, stored: &[u8]) {
        self.number = self.number.max(number);
        self.chains[chain as usize] = Link::of(number, stored);
    }

    /// Appends an entry, and returns its key and value. An entry that names no chain is appended to the chain of changes.
    pub fn append(&mut self, entry: AuditEntry) -> (IVec, IVec) {
        let chain = entry.chain.unwrap_or(AuditChain::Changes);
        let link = &mut self.chains[chain as usize];
        self.number += 1;
        let entry = AuditEntry {
            number: self.number,
            chain: Some(chain),
            ordinal: Some(link.ordinal + 1),
            previous: Some(HEXLOWER.encode(&link.hash)),
            ..entry
        };
        // A struct of texts and numbers is always JSON.
        let stored = serde_json::to_vec(&entry).unwrap_or_default();
        *link = Link { number: self.number, ordinal: link.ordinal + 1, hash: sha256(&stored) };
        (layout::audit_key(chain, self.number), stored.into())
    }
}

/// A stored entry; a default entry if it can't be decoded.
struct StoredEntry {
    number: u64,
    key: IVec,
    value: IVec,
    entry: AuditEntry,
}

impl StoredEntry {
    /// Returns the arrival time, or `None` if the entry can't be decoded.
    fn arrival(&self) -> Option<Timestamp> {
        self.entry.arrival.or(self.entry.at)
    }
}

/// The entries of a chain after a number.
fn stored_after<'t>(
    tree: &'t Tree,
    db: &'t Database,
    chain: AuditChain,
    after: u64,
) -> impl Iterator<Item = Result<StoredEntry>> + use<'t> {
    let first = layout::audit_key(chain, after.saturating_add(1));
    tree.pairs(db, &first, &layout::after_prefix(layout::audit_prefix(chain))).map(|pair| {
        let (key, value) = pair?;
        let entry = serde_json::from_slice(&value).unwrap_or_default();
        Ok(StoredEntry { number: layout::seq_of_key(&key)?.0, key, value, entry })
    })
}

/// The trail in the tree.
#[derive(Debug)]
pub(super) struct Audit {
    end: RwLock<End>,
    ages: Mutex<[Age; AuditChain::ALL.len()]>,
}

impl Audit {
    /// Loads the end of the audit trail.
    pub fn load(tree: &Tree) -> Result<Audit> {
        let db = tree.db()?;
        let dropped = read_dropped(db.get(layout::AUDIT_DROPPED_KEY).map_err(reading)?)?;
        let mut end = End { number: 0, chains: [Link::none(); AuditChain::ALL.len()] };
        for chain in AuditChain::ALL {
            let last = db.scan_prefix(layout::audit_prefix(chain)).next_back().transpose().map_err(reading)?;
            let last = last.map(|(key, stored)| Ok::<_, Error>(Link::of(layout::seq_of_key(&key)?.0, &stored)));
            let link = last.transpose()?.or(dropped.get(&chain).copied()).unwrap_or_else(Link::none);
            end.number = end.number.max(link.number);
            end.chains[chain as usize] = link;
        }
        Ok(Audit { end: RwLock::new(end), ages: Mutex::default() })
    }

    /// Returns the durable end.
    pub fn last(&self) -> End {
        *self.end.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a new durable end.
    pub fn publish(&self, last: End) {
        *self.end.write().unwrap_or_else(PoisonError::into_inner) = last;
    }

    /// Returns up to `limit` entries with numbers greater than `after`. Unreadable entries are reported and skipped.
    pub fn read(&self, tree: &Tree, after: u64, limit: usize) -> Result<Audited> {
        let (db, last) = (tree.db()?, self.last().number);
        let mut entries: Vec<AuditEntry> = Vec::new();
        for chain in AuditChain::ALL {
            let mut left = limit;
            for stored in stored_after(tree, &db, chain, after) {
                let StoredEntry { number, key, entry, .. } = stored?;
                if left == 0 || number > last {
                    break;
                }
                if entry.at.is_some() {
                    entries.push(entry);
                    left -= 1;
                } else {
                    let end = layout::key_after(&key);
                    tree.damage.report_gap(Gap(key, end), "an entry of the audit trail can't be decoded");
                }
            }
        }
        entries.sort_by_key(|entry| entry.number);
        entries.truncate(limit);
        Ok(Audited { entries, last })
    }

    /// Returns a commit that drops some of the entries beyond retention, separately for each chain, or `None` if there
    /// are no such entries. The age of an entry is based on the latest arrival time among the entries up to it in its
    /// chain, ignoring times in the future. `state` is the state after the last commit.
    pub fn trim_step(&self, state: &State, tree: &Tree, now: Timestamp, options: &Options) -> Result<Option<Sealed>> {
        let retained_for = i64::try_from(options.retained_for.as_millis()).unwrap_or(i64::MAX);
        let too_old = Timestamp(now.0.saturating_sub(retained_for));
        let (db, end) = (tree.db()?, self.last());
        let (mut overlay, mut count) = (Overlay::new(&db), 0);
        let mut dropped = read_dropped(db.get(layout::AUDIT_DROPPED_KEY).map_err(reading)?)?;
        let mut ages = self.ages.lock().unwrap_or_else(PoisonError::into_inner);
        for (chain, age) in AuditChain::ALL.into_iter().zip(ages.iter_mut()) {
            let last = end.chains[chain as usize].ordinal;
            let beyond = last.saturating_sub(options.retained_changes);
            let may_age = last.saturating_sub(options.retained_at_any_age);
            let stored = |after: u64| stored_after(tree, &db, chain, after);
            if may_age > 0 {
                let of_entry = |stored: Result<StoredEntry>| stored.map(|stored| (stored.number, stored.arrival()));
                age.find(now, |searched_to| stored(searched_to).take(TRIMMED_AT_ONCE).map(of_entry))?;
            }
            for stored in stored(0).take(TRIMMED_AT_ONCE - count) {
                let stored = stored?;
                let place = place_of(&stored.entry, stored.number);
                let arrived = age.of_next(stored.arrival(), now);
                let is_old = place <= may_age && arrived.is_some_and(|arrived| arrived < too_old);
                // One that is damaged goes at once.
                if place > beyond && !is_old && stored.entry.at.is_some() {
                    break;
                }
                age.drop_next(arrived);
                dropped.insert(chain, Link::of(stored.number, &stored.value));
                overlay.set(stored.key, None);
                count += 1;
            }
        }
        if overlay.is_empty() {
            return Ok(None);
        }
        // A map of numbers and texts is always JSON.
        let dropped = serde_json::to_vec(&dropped).unwrap_or_default();
        overlay.set(layout::AUDIT_DROPPED_KEY.into(), Some(dropped.into()));
        overlay.seal(*state).map(Some)
    }
}

/// Verification of a trail whose keys are read in ascending order.
#[derive(Default)]
pub(super) struct Verification {
    chains: BTreeMap<AuditChain, Verified>,
    dropped: Dropped,
    faults: Vec<(String, String)>,
}

/// A chain as far as it was read.
struct Verified {
    /// Oldest entry: number, ordinal, and hash of the previous entry.
    first: (u64, u64, Option<String>),
    last: Link,
    /// True once an entry had a hash.
    is_chained: bool,
}

impl Verification {
    /// Reads a key of the trail. Returns `None` if it can't be decoded, and false if the key is not part of the
    /// trail.
    pub fn read(&mut self, key: &[u8], value: &[u8]) -> Option<bool> {
        if key == layout::AUDIT_DROPPED_KEY {
            self.dropped = serde_json::from_slice(value).ok()?;
            return Some(true);
        }
        let mut chains = AuditChain::ALL.into_iter();
        let Some(chain) = chains.find(|chain| key.starts_with(layout::audit_prefix(*chain))) else {
            return Some(false);
        };
        let number = layout::seq_of_key(key).ok()?.0;
        let entry: AuditEntry = serde_json::from_slice(value).ok()?;
        let link = Link { number, ordinal: place_of(&entry, number), hash: sha256(value) };
        if entry.number != number || entry.chain.is_some_and(|stated| stated != chain) {
            self.fault(number, "it is stored in the place of another entry");
        }
        let Some(before) = self.chains.get_mut(&chain) else {
            let (is_chained, first) = (entry.previous.is_some(), (number, link.ordinal, entry.previous));
            self.chains.insert(chain, Verified { first, last: link, is_chained });
            return Some(true);
        };
        let last = std::mem::replace(&mut before.last, link);
        let was_chained = std::mem::replace(&mut before.is_chained, entry.previous.is_some());
        let broken = match entry.previous {
            Some(previous) if previous != HEXLOWER.encode(&last.hash) => true,
            Some(_) => link.ordinal != last.ordinal + 1,
            None => was_chained,
        };
        if broken {
            let message = format!(
                "the chain of {} is broken before this entry: the entry {} isn't its original predecessor",
                chain.as_str(),
                last.number
            );
            self.fault(number, message);
        }
        Some(true)
    }

    /// Returns the places and descriptions of faults in the chains, after all keys were read.
    pub fn faults(mut self) -> Vec<(String, String)> {
        let (mut places, mut number) = (0, 0);
        for chain in AuditChain::ALL {
            let cut = self.dropped.get(&chain).copied().unwrap_or_else(Link::none);
            let Some(Verified { first: (first, ordinal, previous), last, .. }) = self.chains.remove(&chain) else {
                (places, number) = (places + cut.ordinal, number.max(cut.number));
                continue;
            };
            (places, number) = (places + last.ordinal, number.max(last.number));
            let follows = previous.is_none_or(|previous| previous == HEXLOWER.encode(&cut.hash));
            if !follows || (cut.ordinal > 0 && ordinal != cut.ordinal + 1) {
                let message =
                    format!("the chain of {} is broken before this entry: entries are missing", chain.as_str());
                self.fault(first, message);
            }
        }
        if places != number {
            let message = format!("the trail ends with entry {number}, but its chains account for {places} entries");
            self.faults.push(("the end of the audit trail".to_owned(), message));
        }
        self.faults
    }

    fn fault(&mut self, number: u64, message: impl Into<String>) {
        self.faults.push((format!("the audit entry {number}"), message.into()));
    }
}

fn sha256(text: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text).as_ref());
    hash
}

/// The SHA-256 of a text in hexadecimal digits.
pub(super) fn hash_of(text: &[u8]) -> String {
    HEXLOWER.encode(&sha256(text))
}

/// Hashes as hexadecimal digits.
mod hexadecimal {
    use data_encoding::HEXLOWER;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&HEXLOWER.encode(hash))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let digits = String::deserialize(deserializer)?;
        let bytes = HEXLOWER.decode(digits.as_bytes()).map_err(D::Error::custom)?;
        bytes.try_into().map_err(|_| D::Error::custom("a SHA-256 digest must have 32 bytes"))
    }
}
