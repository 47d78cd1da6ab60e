//! Whether what is stored fits together: records, texts, originals, expiries, the log and the history.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use super::{
    layout,
    snapshot::Snapshot,
    value::{self, Body, Entry, State, StoredRecord},
};
use crate::{
    Result,
    change::{Seq, Timestamp},
};

/// The most faults that are listed.
const MOST_FAULTS: usize = 1000;

/// Something that isn't as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it is about, such as `the record "urn:x"`.
    pub place: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What was checked, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Records, those included that have expired and aren't purged yet.
    pub records: u64,
    /// Changes that the log has.
    pub changes: u64,
    /// The faults, at most 1,000.
    pub faults: Vec<Fault>,
}

/// Reads all of a snapshot.
pub(super) fn check(snapshot: Snapshot) -> Result<Checked> {
    let mut content = Content::default();
    for pair in snapshot {
        let (key, value) = pair?;
        content.read(&key, &value);
    }
    Ok(content.compare())
}

/// What the tree has, as far as it has to fit together.
#[derive(Default)]
struct Content {
    state: State,
    /// By id: the seq, and whether there are an original and an expiry.
    records: BTreeMap<String, (Seq, bool, bool)>,
    texts: BTreeSet<Seq>,
    originals: BTreeSet<Seq>,
    metadata: Vec<String>,
    expiries: HashMap<String, Option<Timestamp>>,
    due: HashMap<String, usize>,
    /// By seq: the position before, and whether the text of a creation lies apart.
    log: BTreeMap<Seq, (Seq, bool)>,
    history: Vec<Seq>,
    faults: Vec<Fault>,
}

impl Content {
    fn fault(&mut self, place: impl Into<String>, message: impl Into<String>) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault { place: place.into(), message: message.into() });
        }
    }

    fn read(&mut self, key: &[u8], value: &[u8]) {
        if self.try_read(key, value).is_none() {
            let shown = String::from_utf8_lossy(key.get(..100.min(key.len())).unwrap_or_default()).into_owned();
            self.fault(format!("the key {shown:?}"), "what is under it can't be read");
        }
    }

    /// None for what can't be decoded.
    fn try_read(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let prefix = key.get(..2)?;
        let id = || layout::name_of(key, prefix).ok();
        match prefix {
            b"m/" if key == layout::STATE_KEY => self.state = State::decode(value).ok()?,
            b"r/" => {
                let record = StoredRecord::decode(value).ok()?;
                self.records.insert(id()?, (record.seq, record.has_original, record.has_expiry));
            }
            b"t/" => {
                self.texts.insert(layout::seq_of_key(key).ok()?);
                serde_json::from_slice::<serde::de::IgnoredAny>(value).ok()?;
            }
            b"o/" => {
                value::decode_original(value).ok()?;
                self.originals.insert(layout::seq_of_key(key).ok()?);
            }
            b"i/" => self.metadata.push(id()?),
            b"e/" => {
                let expiry = value::decode_expiry(value).ok()?;
                self.expiries.insert(id()?, expiry.expires);
            }
            b"x/" => *self.due.entry(layout::id_of_due_key(key).ok()?.to_owned()).or_default() += 1,
            b"l/" => {
                let seq = layout::seq_of_key(key).ok()?;
                let entry = Entry::decode(seq, value).ok()?;
                self.log.insert(seq, (entry.previous, entry.body == Body::Apart));
            }
            b"h/" => self.history.push(layout::seq_of_key(key).ok()?),
            _ => {}
        }
        Some(())
    }

    fn compare(mut self) -> Checked {
        let (records, log) = (std::mem::take(&mut self.records), std::mem::take(&mut self.log));
        for (id, (seq, has_original, has_expiry)) in &records {
            let place = format!("the record {id:?}");
            if !self.texts.contains(seq) {
                self.fault(&place, "its text is missing");
            }
            if *has_original != self.originals.contains(seq) {
                self.fault(
                    &place,
                    if *has_original { "its original is missing" } else { "it has an original too many" },
                );
            }
            if *has_expiry != self.expiries.contains_key(id) {
                self.fault(&place, if *has_expiry { "its expiry is missing" } else { "it has an expiry too many" });
            }
            if *seq > self.state.last {
                self.fault(&place, format!("its change {seq} is beyond the end of the log, {}", self.state.last));
            }
        }
        for (id, moment) in std::mem::take(&mut self.expiries) {
            if self.due.remove(&id).unwrap_or_default() != usize::from(moment.is_some()) {
                self.fault(format!("the expiry of {id:?}"), "the order of expiries doesn't have it once");
            }
            if !records.contains_key(&id) {
                self.fault(format!("the expiry of {id:?}"), "there is no such record");
            }
        }
        for id in std::mem::take(&mut self.due).into_keys() {
            self.fault(format!("the expiry of {id:?}"), "it is in the order of expiries alone");
        }
        for id in std::mem::take(&mut self.metadata) {
            if !records.contains_key(&id) {
                self.fault(format!("the metadata of {id:?}"), "there is no such record");
            }
        }
        self.compare_log(&log);
        if self.state.records != records.len() as u64 {
            let message = format!("{} are counted, {} are there", self.state.records, records.len());
            self.fault("the number of records", message);
        }
        let current: BTreeSet<Seq> = records.values().map(|(seq, ..)| *seq).collect();
        for seq in std::mem::take(&mut self.texts) {
            if !current.contains(&seq) && log.get(&seq).is_none_or(|(_, is_apart)| !is_apart) {
                self.fault(format!("the text {seq}"), "neither a record nor the log needs it");
            }
        }
        Checked { records: records.len() as u64, changes: log.len() as u64, faults: self.faults }
    }

    fn compare_log(&mut self, log: &BTreeMap<Seq, (Seq, bool)>) {
        let trimmed_to = log.values().next().map_or(self.state.last, |(previous, _)| *previous);
        let mut before = trimmed_to;
        for (seq, (previous, is_apart)) in log {
            if *previous != before {
                let message = format!("it comes after the change {previous}, and the log has {before} there");
                self.fault(format!("the log before {seq}"), message);
            }
            if *is_apart && !self.texts.contains(seq) {
                self.fault(format!("the change {seq}"), "the description that it created is missing");
            }
            before = *seq;
        }
        if before != self.state.last {
            let message = format!("it should be {}, and the last change is {before}", self.state.last);
            self.fault("the end of the log", message);
        }
        let (counted, changes) = (self.state.entries_after(trimmed_to), log.len() as u64);
        if counted != changes {
            self.fault("the number of changes", format!("{counted} are counted, {changes} are there"));
        }
        for seq in std::mem::take(&mut self.history) {
            if !log.contains_key(&seq) {
                self.fault("the history", format!("it lists the change {seq}, which the log doesn't have"));
            }
        }
    }
}
