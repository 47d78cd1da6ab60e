//! Matches the changes of the log with queries. Each change is read once, in order, by whoever needs it first.
//!
//! For each Thing the numbers of the queries that it matches are remembered, four bytes each: a deletion has no
//! description any more, and an update only what it changes. What changes meant for queries is remembered for the
//! last of them; whoever resumes further back reads the state again.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use agentdex_api::MatchKind;

use crate::{
    Result,
    change::{Change, ChangeKind, Seq},
    convert::Format,
    search::{
        Entry, Meaning,
        saved::{Document, QueryIndex, SavedQuery},
    },
    store::{ChangeOrigin, LoggedChange, Store},
    td::merge_patch,
};

/// Maximum number of query events that are remembered.
const MAX_EVENTS: usize = 100_000;
/// The most pairs of queries and Things that match when a query is added.
pub(in crate::registry) const MAX_PAIRS: usize = 20_000_000;
/// Maximum number of changes that are read at once.
const CHANGES_AT_ONCE: usize = 64;

/// The number of a query; none is given twice.
pub(super) type QueryNo = u32;

/// Returns what a change means for a query that its Thing matched before, and matches after.
fn kind_of(change: &Change, before: bool, after: bool) -> Option<MatchKind> {
    match (change.kind, before, after) {
        (ChangeKind::Deleted, true, _) => Some(MatchKind::Deleted),
        (ChangeKind::Created, _, true) => Some(MatchKind::Created),
        (_, true, true) => Some(MatchKind::Updated),
        (_, false, true) => Some(MatchKind::Matched),
        (_, true, false) => Some(MatchKind::Unmatched),
        _ => None,
    }
}

/// Returns what an update means for a query where its reader sees only what was before it, which is a deletion to it, or
/// only what comes after, which is a creation.
fn seen_in_part(kind: MatchKind, seen: ChangeKind) -> Option<MatchKind> {
    let (matched, matches) = match kind {
        MatchKind::Updated => (true, true),
        MatchKind::Matched | MatchKind::Created => (false, true),
        MatchKind::Unmatched | MatchKind::Deleted => (true, false),
    };
    match seen {
        ChangeKind::Created => matches.then_some(MatchKind::Created),
        ChangeKind::Deleted => matched.then_some(MatchKind::Deleted),
        ChangeKind::Updated => Some(kind),
    }
}

/// The events of one change: the queries that it concerns, each with its kind of match.
type Matches = Box<[(QueryNo, MatchKind)]>;

/// Queries, what they match, and what changes meant for them.
pub(super) struct Matching {
    /// Up to where the log was read.
    position: Seq,
    index: QueryIndex,
    /// The model and vectors that queries by meaning are compared by.
    meaning: Option<Arc<Meaning>>,
    /// The queries that a Thing matches, ascending.
    matched: HashMap<Box<str>, Box<[QueryNo]>>,
    /// Total number of these pairs of a Thing and a query.
    pairs: usize,
    next: QueryNo,
    /// By query, since when it is compared with changes.
    since: HashMap<QueryNo, Seq>,
    /// Queries of which it isn't known yet what they match; with the Things that changed meanwhile.
    starting: HashMap<QueryNo, HashSet<Box<str>>>,
    events: VecDeque<(Seq, Matches)>,
    event_count: usize,
    /// Position up to which events may be missing.
    forgotten: Seq,
}

impl Matching {
    pub fn new(position: Seq, meaning: Option<Arc<Meaning>>) -> Matching {
        Matching {
            position,
            index: QueryIndex::default(),
            meaning,
            matched: HashMap::new(),
            pairs: 0,
            next: 0,
            since: HashMap::new(),
            starting: HashMap::new(),
            events: VecDeque::new(),
            event_count: 0,
            forgotten: position,
        }
    }

    /// Adds a query, which is compared with all changes from now on. [`Matching::started`] adds what it
    /// matches already.
    pub fn add(&mut self, query: Arc<SavedQuery>, end: Seq) -> QueryNo {
        if self.index.is_empty() {
            // Nobody asked what came before.
            self.position = self.position.max(end);
            self.forgotten = self.position;
            self.matched.clear();
            self.pairs = 0;
        }
        let number = self.next;
        self.next += 1;
        self.index.insert(number, query);
        self.starting.insert(number, HashSet::new());
        number
    }

    /// The Things that a query matches, as of the position that it was added at or later.
    pub fn started(&mut self, number: QueryNo, ids: &[String]) {
        let Some(changed) = self.starting.remove(&number) else { return };
        for id in ids.iter().filter(|id| !changed.contains(id.as_str())) {
            let numbers = self.matched.get(id.as_str()).map_or(&[][..], |numbers| numbers);
            if let Err(at) = numbers.binary_search(&number) {
                let mut more = numbers.to_vec();
                more.insert(at, number);
                self.pairs += 1;
                self.matched.insert(id.as_str().into(), more.into());
            }
        }
        self.since.insert(number, self.position);
    }

    /// True if a query that matches this number of Things stays below the maximum number of pairs.
    pub fn has_room_for(&self, matches: usize) -> bool {
        self.pairs.saturating_add(matches) <= MAX_PAIRS
    }

    /// True if it isn't known yet what a query matches.
    pub fn is_starting(&self, number: QueryNo) -> bool {
        self.starting.contains_key(&number)
    }

    /// Takes a query out.
    pub fn remove(&mut self, number: QueryNo) {
        self.index.remove(number);
        self.since.remove(&number);
        self.starting.remove(&number);
        let mut pairs = 0;
        self.matched.retain(|_, numbers| {
            if let Ok(at) = numbers.binary_search(&number) {
                let mut fewer = numbers.to_vec();
                fewer.remove(at);
                *numbers = fewer.into();
            }
            pairs += numbers.len();
            !numbers.is_empty()
        });
        self.pairs = pairs;
    }

    /// From where on a query's events are known.
    pub fn known_since(&self, number: QueryNo) -> Option<Seq> {
        self.since.get(&number).map(|since| (*since).max(self.forgotten))
    }

    /// The events that a change as a reader sees it is for all queries: it matched before and was seen, it matches after and is
    /// seen. The log was read up to it. `format` is that of the Thing, where a membership made it a change.
    pub fn events_of(&mut self, change: &LoggedChange, format: Option<&str>) -> Result<Vec<(QueryNo, MatchKind)>> {
        let events = self.events(change.seq);
        match change.origin() {
            ChangeOrigin::Entry => Ok(events.to_vec()),
            ChangeOrigin::Update => {
                let seen =
                    events.iter().filter_map(|(number, kind)| Some((*number, seen_in_part(*kind, change.kind)?)));
                Ok(seen.collect())
            }
            ChangeOrigin::Membership(last) => {
                let text = last.as_deref().or_else(|| change.td.as_ref().map(|td| td.get()));
                let kind = if change.kind == ChangeKind::Created { MatchKind::Created } else { MatchKind::Deleted };
                let matching = text.map(|text| self.matching_text(&change.id, text, format)).transpose()?;
                Ok(matching.into_iter().flatten().map(|number| (number, kind)).collect())
            }
        }
    }

    /// Returns the events of a change that was read, for all queries. Empty if it concerns none.
    fn events(&self, seq: Seq) -> &[(QueryNo, MatchKind)] {
        match self.events.binary_search_by_key(&seq, |(seq, _)| *seq) {
            Ok(at) => self.events.get(at).map_or(&[], |(_, events)| events),
            Err(_) => &[],
        }
    }

    /// Reads the next changes up to `end`; whether there are more.
    pub fn read_on(&mut self, store: &Store, end: Seq) -> Result<bool> {
        if self.index.is_empty() {
            self.position = self.position.max(end);
            self.forgotten = self.position;
        }
        if self.position >= end {
            return Ok(false);
        }
        let read = store.changes(self.position, CHANGES_AT_ONCE)?;
        if read.truncated {
            // What the log no longer has can't be made up for: whoever listens reads the state again.
            self.position = read.last;
            self.forgotten = read.last;
            return Ok(false);
        }
        for entry in &read.entries {
            // What a membership means is found out for whom it concerns.
            if let Some(change) = entry.change() {
                self.read(store, change)?;
            }
            self.position = entry.seq();
        }
        Ok(!read.entries.is_empty() && self.position < end)
    }

    fn read(&mut self, store: &Store, change: &Change) -> Result<()> {
        let after = match change.kind {
            ChangeKind::Deleted => Vec::new(),
            _ => self.matching(store, change)?,
        };
        let before = self.matched.remove(change.id.as_str()).unwrap_or_default();
        self.pairs = self.pairs.saturating_sub(before.len()) + after.len();
        for changed in self.starting.values_mut() {
            changed.insert(change.id.as_str().into());
        }
        let mut events: Vec<(QueryNo, MatchKind)> = Vec::new();
        let numbers: BTreeSet<QueryNo> = before.iter().chain(&after).copied().collect();
        for number in numbers {
            let [before, after] = [&*before, &after].map(|numbers| numbers.binary_search(&number).is_ok());
            if self.since.contains_key(&number) {
                events.extend(kind_of(change, before, after).map(|kind| (number, kind)));
            }
        }
        if !after.is_empty() {
            self.matched.insert(change.id.as_str().into(), after.into());
        }
        if !events.is_empty() {
            self.event_count += events.len();
            self.events.push_back((change.seq, events.into()));
        }
        while self.event_count > MAX_EVENTS {
            let Some((seq, events)) = self.events.pop_front() else { break };
            self.event_count -= events.len();
            self.forgotten = seq;
        }
        Ok(())
    }

    /// The queries that a Thing matches after a change.
    fn matching(&mut self, store: &Store, change: &Change) -> Result<Vec<QueryNo>> {
        let Some((text, format)) = described_by(store, change)? else { return Ok(Vec::new()) };
        self.matching_text(&change.id, &text, format.as_deref())
    }

    /// The queries that a description matches.
    fn matching_text(&mut self, id: &str, text: &str, format: Option<&str>) -> Result<Vec<QueryNo>> {
        let entry = Entry { id, text, format, terms: Format::search_terms(), access: None, moments: None };
        let document = Document::new(entry)?;
        let document = match &self.meaning {
            Some(meaning) if self.index.needs_vectors() => document.with_vectors(entry, meaning)?,
            _ => document,
        };
        Ok(self.index.matching(&document)?.0)
    }
}

/// The description that a Thing had after a change, and its format. Where the record is another one by now, it is
/// made of the changes; where these no longer reach back to its creation, the record stands for it.
fn described_by(store: &Store, change: &Change) -> Result<Option<(String, Option<String>)>> {
    let record = store.find_unpurged(&change.id)?;
    let format = record.as_ref().and_then(|record| record.format.clone());
    let (text, seq) = record.map_or((None, None), |record| (Some(record.text), Some(record.seq)));
    if seq == Some(change.seq) {
        return Ok(text.map(|text| (text, format)));
    }
    if let Some(td) = &change.td {
        return Ok(Some((td.get().to_owned(), format)));
    }
    let mut described: Option<String> = None;
    for earlier in store.history(&change.id, Seq::ZERO, usize::MAX)? {
        if earlier.seq > change.seq {
            break;
        }
        described = match (&earlier.td, &earlier.patch, described) {
            (Some(td), ..) => Some(td.get().to_owned()),
            (_, Some(patch), Some(before)) => Some(merge_patch::apply(&before, patch.get())?),
            _ => None,
        };
    }
    Ok(described.or(text).map(|text| (text, format)))
}
