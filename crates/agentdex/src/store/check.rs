//! Consistency check of a data directory: records, texts, originals, expiries, the log, the history and the audit
//! trail.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use sled::IVec;

use super::{
    audit,
    damage::Gap,
    declaration::{Declaration, Declarations},
    layout,
    namespaces::NamespaceRecord,
    sum::{Digest, Sum},
    value::{self, Body, Content as EntryContent, Entry, State, StoredRecord},
};
use crate::{
    Result,
    access::{Access, Namespace, NamespaceNumber, Visibility},
    change::{ChangeKind, Seq, Timestamp},
};

/// Maximum number of listed faults.
const MOST_FAULTS: usize = 1000;

/// An inconsistency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Item concerned, such as `the record "urn:x"`.
    pub place: String,
    /// Description of the fault.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Result of a consistency check: the numbers of items checked, and the faults found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of records, including expired records that are not yet purged.
    pub records: u64,
    /// Number of changes in the log.
    pub changes: u64,
    /// Faults, at most 1,000.
    pub faults: Vec<Fault>,
    /// Notes about consistent data that may be unintended, at most 1,000: Things in unclaimed namespaces, and changes
    /// made with the clock ahead of the current time.
    pub notes: Vec<Fault>,
}

/// Reads keys and values, and checks them. `gaps` returns the unreadable ranges afterwards.
pub(super) fn check(
    pairs: impl Iterator<Item = Result<(IVec, IVec)>>,
    gaps: impl FnOnce() -> Vec<Gap>,
) -> Result<Checked> {
    let mut content = Content::default();
    for pair in pairs {
        let (key, value) = pair?;
        content.read(&key, &value);
    }
    gaps().iter().for_each(|gap| content.fault(gap.to_string(), "the page with these entries is damaged"));
    Ok(content.compare())
}

/// The content of the tree, as far as it is checked for consistency.
#[derive(Default)]
struct Content {
    state: State,
    /// Checksum of the keys read.
    sum: Sum,
    records: BTreeMap<String, Stored>,
    texts: BTreeMap<Seq, Digest>,
    originals: BTreeMap<Seq, Digest>,
    edits: BTreeMap<String, Digest>,
    /// The parts by document, as they are listed.
    parts: BTreeMap<String, BTreeSet<String>>,
    metadata: Vec<String>,
    expiries: HashMap<String, Option<Timestamp>>,
    due: HashMap<String, usize>,
    log: BTreeMap<Seq, Logged>,
    /// By id: the last entry in which not everybody saw it, as the log has it and as is noted.
    unseen: BTreeMap<String, Seq>,
    noted: BTreeMap<String, Seq>,
    history: Vec<Seq>,
    /// Ids of Things visible to a namespace, with its number and name.
    shown: Vec<(String, NamespaceNumber, Namespace)>,
    /// Ranges of changes that arrived later than now, each with the latest arrival.
    ahead: Vec<(Seq, Seq, Timestamp)>,
    /// Claimed namespaces.
    claimed: BTreeSet<NamespaceNumber>,
    audit: audit::Verification,
    faults: Vec<Fault>,
}

/// Checked parts of a log entry.
struct Logged {
    previous: Seq,
    /// True if the text that it created lies apart.
    is_apart: bool,
    /// The kind of a change.
    kind: Option<ChangeKind>,
}

/// Checked parts of a record.
struct Stored {
    seq: Seq,
    is_creation: bool,
    text: Digest,
    has_expiry: bool,
    has_parts: bool,
    declarations: Declarations,
    edits: Option<Digest>,
}

impl Content {
    fn fault(&mut self, place: impl Into<String>, message: impl Into<String>) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault { place: place.into(), message: message.into() });
        }
    }

    fn read(&mut self, key: &[u8], value: &[u8]) {
        if Sum::counts(key) {
            self.sum.replace(key, None, Some(value));
        }
        if self.try_read(key, value).is_none() {
            let shown = String::from_utf8_lossy(key.get(..100.min(key.len())).unwrap_or_default()).into_owned();
            self.fault(format!("the key {shown:?}"), "its value can't be read");
        }
    }

    /// Reads a key and value. Returns `None` if they can't be decoded.
    fn try_read(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        if self.audit.read(key, value)? {
            return Some(());
        }
        let prefix = key.get(..2)?;
        let id = || layout::name_of(key, prefix).ok();
        match prefix {
            b"m/" if key == layout::STATE_KEY => self.state = State::decode(value).ok()?,
            b"r/" => {
                let record = StoredRecord::decode(value).ok()?;
                let StoredRecord { seq, is_creation, text, has_expiry, has_parts, edits, .. } = record;
                let declarations = record.declared().ok()?;
                let Access { visibility, namespace, number, .. } = record.access().ok()?;
                if let (Visibility::Namespace, Some(namespace), Some(number)) = (visibility, namespace, number) {
                    self.shown.push((id()?, number, namespace));
                }
                let stored = Stored { seq, is_creation, text, has_expiry, has_parts, declarations, edits };
                self.records.insert(id()?, stored);
            }
            b"t/" => {
                self.texts.insert(layout::seq_of_key(key).ok()?, Digest::of(value));
                serde_json::from_slice::<serde::de::IgnoredAny>(value).ok()?;
            }
            b"o/" => {
                value::decode_original(value).ok()?;
                self.originals.insert(layout::seq_of_key(key).ok()?, Digest::of(value));
            }
            b"u/" => {
                value::decode_edits(value).ok()?;
                self.edits.insert(id()?, Digest::of(value));
            }
            b"d/" => {
                self.parts.insert(id()?, value::strings_of(value).ok()?.into_iter().collect());
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
                let is_apart = entry.change().is_some_and(|change| change.body == Body::Apart);
                let kind = entry.change().map(|change| change.kind);
                self.log.insert(seq, Logged { previous: entry.previous, is_apart, kind });
                if entry.arrival > Timestamp::now() {
                    match self.ahead.last_mut() {
                        Some((_, last, latest)) if *last == entry.previous => {
                            (*last, *latest) = (seq, entry.arrival.max(*latest));
                        }
                        _ => self.ahead.push((seq, seq, entry.arrival)),
                    }
                }
                if let EntryContent::Change(change) = entry.content
                    && (!change.access_before.is_public() || !change.access_after.is_public())
                {
                    self.unseen.insert(change.id, seq);
                }
            }
            b"v/" => {
                self.noted.insert(id()?, value::decode_seq(value).ok()?);
            }
            b"n/" if key.starts_with(layout::NAMESPACES) => {
                let record = NamespaceRecord::decode(value).ok()?;
                if record.owner.is_some() {
                    self.claimed.insert(NamespaceNumber(layout::seq_of_key(key).ok()?.0));
                }
            }
            b"h/" => self.history.push(layout::seq_of_key(key).ok()?),
            _ => {}
        }
        Some(())
    }

    fn compare(mut self) -> Checked {
        let (records, log) = (std::mem::take(&mut self.records), std::mem::take(&mut self.log));
        for (id, Stored { seq, text, has_expiry, declarations, edits, .. }) in &records {
            let place = format!("the record {id:?}");
            match self.texts.get(seq) {
                None => self.fault(&place, "its text is missing"),
                Some(found) if found != text => self.fault(&place, "its text differs from the text that was written"),
                Some(_) => {}
            }
            for declaration in &declarations.0 {
                self.compare_declaration(&place, *seq, declaration);
            }
            if self.edits.remove(id) != *edits {
                self.fault(&place, "its edits are missing, or differ from those that were written");
            }
            if *has_expiry != self.expiries.contains_key(id) {
                self.fault(&place, if *has_expiry { "its expiry is missing" } else { "it has an unexpected expiry" });
            }
            if *seq > self.state.last {
                self.fault(&place, format!("its change {seq} is beyond the end of the log, {}", self.state.last));
            }
        }
        for (id, moment) in std::mem::take(&mut self.expiries) {
            if self.due.remove(&id).unwrap_or_default() != usize::from(moment.is_some()) {
                self.fault(format!("the expiry of {id:?}"), "it isn't listed exactly once among the expiries by time");
            }
            if !records.contains_key(&id) {
                self.fault(format!("the expiry of {id:?}"), "the record doesn't exist");
            }
        }
        for id in std::mem::take(&mut self.due).into_keys() {
            self.fault(
                format!("the expiry of {id:?}"),
                "the index of expiries by time lists it, but no expiry is stored",
            );
        }
        for id in std::mem::take(&mut self.edits).into_keys() {
            self.fault(format!("the edits of {id:?}"), "the record doesn't exist");
        }
        self.compare_parts(&records);
        for id in std::mem::take(&mut self.metadata) {
            if !records.contains_key(&id) {
                self.fault(format!("the metadata of {id:?}"), "the record doesn't exist");
            }
        }
        let unlisted = records.values().filter(|record| record.is_creation).map(|record| record.seq).collect();
        self.compare_log(&log, &unlisted);
        for (place, message) in std::mem::take(&mut self.audit).faults() {
            self.fault(place, message);
        }
        if self.state.records != records.len() as u64 {
            let message = format!("the counter says {}, but there are {}", self.state.records, records.len());
            self.fault("the number of records", message);
        }
        if self.sum != self.state.sum {
            self.fault("the checksum of the content", "it differs from the recorded checksum");
        }
        if self.noted != self.unseen {
            let differs = |id: &&String| self.noted.get(*id) != self.unseen.get(*id);
            let ids: BTreeSet<&String> = self.noted.keys().chain(self.unseen.keys()).filter(differs).collect();
            let ids: Vec<String> = ids.into_iter().cloned().collect();
            for id in ids {
                self.fault(
                    format!("the restricted entries of {id:?}"),
                    "the recorded position of the last of these entries differs from the log",
                );
            }
        }
        let bases =
            records.values().flat_map(|record| record.declarations.0.iter().map(|declaration| declaration.base));
        let current: BTreeSet<Seq> = records.values().map(|record| record.seq).chain(bases).collect();
        for seq in std::mem::take(&mut self.texts).into_keys() {
            if !current.contains(&seq) && log.get(&seq).is_none_or(|entry| !entry.is_apart) {
                self.fault(format!("the text {seq}"), "neither a record nor the log refers to it");
            }
        }
        let unclaimed = self.shown.iter().filter(|(_, number, _)| !self.claimed.contains(number));
        let note = |(id, _, namespace): &(String, NamespaceNumber, Namespace)| {
            let message = format!(
                "its namespace {:?} is not claimed, so only its owner and admins can see it; change its access",
                namespace.as_str()
            );
            Fault { place: format!("the record {id:?}"), message }
        };
        let ahead = self.ahead.iter().map(|(first, last, latest)| Fault {
            place: if first == last { format!("the change {first}") } else { format!("the changes {first} to {last}") },
            message: format!("the system clock was ahead at the time; the latest timestamp is {latest}"),
        });
        let notes = unclaimed.map(note).chain(ahead).take(MOST_FAULTS).collect();
        Checked { records: records.len() as u64, changes: log.len() as u64, faults: self.faults, notes }
    }

    fn compare_declaration(&mut self, place: &str, served: Seq, declaration: &Declaration) {
        let base = declaration.base;
        match self.texts.get(&base) {
            _ if base == served => {}
            None => self.fault(place, "the text of one of its versions is missing"),
            Some(found) if *found != declaration.text => {
                self.fault(place, "the text of one of its versions differs from the text that was written");
            }
            Some(_) => {}
        }
        match (declaration.original, self.originals.get(&base)) {
            (Some(_), None) => self.fault(place, "its original is missing"),
            (None, Some(_)) => self.fault(place, "it has an unexpected original"),
            (Some(original), Some(found)) if *found != original => {
                self.fault(place, "its original differs from the original that was written");
            }
            _ => {}
        }
    }

    /// Compares the lists of parts of documents with the records.
    fn compare_parts(&mut self, records: &BTreeMap<String, Stored>) {
        let mut declared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (id, record) in records {
            for document in record.declarations.documents() {
                declared.entry(document).or_default().insert(id);
            }
        }
        let listed = std::mem::take(&mut self.parts);
        let documents: BTreeSet<&str> = declared.keys().copied().chain(listed.keys().map(String::as_str)).collect();
        for document in documents {
            let known: BTreeSet<&str> = listed.get(document).into_iter().flatten().map(String::as_str).collect();
            let is_noted = records.get(document).is_some_and(|record| record.has_parts);
            if declared.get(document).is_none_or(|parts| *parts != known) || !is_noted {
                self.fault(format!("the parts of {document:?}"), "they differ from the parts in the records");
            }
        }
    }

    /// `unlisted` are the creations that the history doesn't list yet.
    fn compare_log(&mut self, log: &BTreeMap<Seq, Logged>, unlisted: &BTreeSet<Seq>) {
        let trimmed_to = log.values().next().map_or(self.state.last, |first| first.previous);
        let mut before = trimmed_to;
        let history: BTreeSet<Seq> = std::mem::take(&mut self.history).into_iter().collect();
        for (seq, Logged { previous, is_apart, kind }) in log {
            if *previous != before {
                let message = format!("it should end with the change {previous}, but ends with {before}");
                self.fault(format!("the log before the change {seq}"), message);
            }
            if *is_apart && !self.texts.contains_key(seq) {
                self.fault(format!("the change {seq}"), "the description that it created is missing");
            }
            if kind.is_some() && !history.contains(seq) && !unlisted.contains(seq) {
                self.fault("the history", format!("it lacks the change {seq}"));
            }
            before = *seq;
        }
        if before != self.state.last {
            let message = format!("it should be {}, but the last change is {before}", self.state.last);
            self.fault("the end of the log", message);
        }
        let (counted, changes) = (self.state.entries, log.len() as u64);
        if counted != changes {
            self.fault("the number of changes", format!("the counter says {counted}, but there are {changes}"));
        }
        for seq in history {
            if !log.contains_key(&seq) {
                self.fault("the history", format!("it lists the change {seq}, which is not in the log"));
            }
        }
    }
}
