//! Matching of log changes with queries. Each change is read once, in order, by the first caller that needs it.
//!
//! The numbers of the queries matched by each Thing are kept in memory, four bytes each, since a deletion contains no
//! description and an update only its difference. Events are kept for the most recent changes; a reader that resumes
//! further back has to read the current state again.
//!
//! A change takes a limited number of steps. Queries that would exceed it are delayed, and catch up later from their
//! own positions.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agentdex_api::MatchKind;

use super::{
    delayed::Holder,
    descriptions::{Described, Descriptions},
    known::Known,
    matches::Matches,
    number::QueryNo,
};
use crate::{
    Result,
    change::{Change, ChangeKind, Seq},
    convert::Format,
    search::{
        Entry, Meaning,
        saved::{Candidate, Document, QueryIndex, SavedQuery},
    },
    store::{Logged, LoggedChange, Store},
};

/// Maximum number of steps, of some 50 ns each, for comparing a change with all queries before the rest is delayed,
/// and for each turn of delayed queries.
const STEPS_AT_ONCE: usize = 50_000;
/// Number of descriptions that are kept as delayed queries read them: owners take turns at different positions.
const DOCUMENTS_KEPT: usize = 4;

/// Queries and their matches.
pub(super) struct Matching {
    index: QueryIndex,
    /// Model and vectors for semantic queries.
    meaning: Option<Arc<Meaning>>,
    matches: Matches,
    next: QueryNo,
    holders: HashMap<QueryNo, Holder>,
    /// Last change of each Thing that changed while the matches of some queries were not yet known.
    changed: HashMap<Box<str>, Seq>,
    /// Locked only for moments: readers don't wait until a change was compared.
    known: Arc<Mutex<Known>>,
    descriptions: Descriptions,
    /// Changes that queries were compared with last.
    read: VecDeque<Arc<Read>>,
    steps_at_once: usize,
}

/// An entry of the log, prepared for comparison with queries.
struct Read {
    entry: Logged,
    /// The description after the change, with the queries that it may match; `None` if nothing matches.
    described: Option<(Document, Vec<Candidate>)>,
}

impl Matching {
    pub fn new(known: Arc<Mutex<Known>>, meaning: Option<Arc<Meaning>>) -> Matching {
        Matching {
            index: QueryIndex::default(),
            meaning,
            matches: Matches::default(),
            next: 0,
            holders: HashMap::new(),
            changed: HashMap::new(),
            known,
            descriptions: Descriptions::default(),
            read: VecDeque::new(),
            steps_at_once: STEPS_AT_ONCE,
        }
    }

    /// Sets the number of steps after which queries are delayed.
    #[cfg(test)]
    pub fn set_steps_at_once(&mut self, steps: usize) {
        self.steps_at_once = steps;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a query to be compared with all further changes. `end` is the current end of the log. Call
    /// [`Matching::started`] to add the current matches of the query.
    pub fn add(&mut self, query: Arc<SavedQuery>, holder: Holder, end: Seq) -> QueryNo {
        if self.index.is_empty() {
            // Nobody asked what came before.
            self.known().skip_to(end);
            self.matches = Matches::default();
        }
        let number = self.next;
        self.next += 1;
        self.index.insert(number, query);
        self.holders.insert(number, holder);
        self.known().add(number);
        self.read.clear();
        number
    }

    /// Sets the ids of Things that match a query, as of the position at which it was added or later. If `has_readers`
    /// is true and changes have arrived in the meantime, the readers of the query are notified, since the events of
    /// these changes are unknown.
    pub fn started(&mut self, number: QueryNo, ids: &[String], has_readers: bool) {
        let Some(added) = self.known().starting_at(number) else { return };
        let has_changed = |id: &String| self.changed.get(id.as_str()).is_some_and(|seq| *seq > added);
        for id in ids.iter().filter(|id| !has_changed(id)) {
            self.matches.add(id, number);
        }
        let is_lost = has_readers && self.changed.values().any(|seq| *seq > added);
        let mut known = self.known();
        known.start(number);
        if is_lost {
            known.lose(&[number]);
        }
        drop(known);
        self.forget_changed();
    }

    /// Clears the list of changed Things when the matches of all queries are known.
    fn forget_changed(&mut self) {
        if !self.known().has_starting() {
            self.changed = HashMap::new();
        }
    }

    /// True if a query with this number of matches can be added without exceeding the maximum for all queries together.
    pub fn has_room_for(&self, matches: usize) -> bool {
        self.matches.has_room_for(matches)
    }

    /// True if the initial matches of a query are not yet known.
    pub fn is_starting(&self, number: QueryNo) -> bool {
        self.known().starting_at(number).is_some()
    }

    /// Removes a query.
    pub fn remove(&mut self, number: QueryNo) {
        self.index.remove(number);
        if let Some(holder) = self.holders.remove(&number) {
            self.known().remove(number, &holder);
        }
        self.forget_changed();
        self.matches.remove_query(number);
        self.read.clear();
    }

    /// Returns the events of `relevant` queries for a Thing that a change of membership made visible or invisible to a
    /// reader. `last` is the last visible text of an invisible Thing, and `format` is the format of the Thing.
    pub fn events_of_membership(
        &mut self,
        change: &LoggedChange,
        last: Option<&str>,
        format: Option<&str>,
        relevant: impl Fn(QueryNo) -> bool,
    ) -> Result<Vec<(QueryNo, MatchKind)>> {
        let text = last.or_else(|| change.td.as_ref().map(|td| td.get()));
        let Some(text) = text else { return Ok(Vec::new()) };
        let kind = if change.kind == ChangeKind::Created { MatchKind::Created } else { MatchKind::Deleted };
        let document = self.document(&change.id, text, format)?;
        let mut candidates = self.index.candidates(&document);
        candidates.retain(|candidate| relevant(candidate.number) && self.index.is_match(*candidate, &document, &mut 0));
        Ok(candidates.iter().map(|candidate| (candidate.number, kind)).collect())
    }

    /// Compares queries with the next change up to `end`. Returns true if further changes remain to be compared.
    pub fn read_on(&mut self, store: &Store, end: Seq) -> Result<bool> {
        if self.index.is_empty() {
            self.known().skip_to(end);
        }
        let position = self.known().position();
        if position >= end {
            return Ok(false);
        }
        let Some(read) = self.read_after(store, position)? else {
            // What the log no longer has can't be made up for: whoever listens reads the state again.
            self.known().lose_up_to(*store.durable().borrow());
            return Ok(false);
        };
        match read.entry.change() {
            Some(change) => self.compare(&read, change),
            // What a membership means is found out for whom it concerns.
            None if matches!(read.entry, Logged::Membership(_)) => self.known().move_to_membership(read.entry.seq()),
            None => self.known().move_to(read.entry.seq()),
        }
        Ok(read.entry.seq() < end)
    }

    /// Compares the delayed queries of a holder with their next change. Holders take turns. Returns false if no query
    /// is delayed.
    pub fn catch_up(&mut self, store: &Store) -> Result<bool> {
        let Some((position, queries)) = self.known().next_turn() else { return Ok(false) };
        let holder = queries.first().and_then(|first| self.holders.get(first)).cloned().unwrap_or_default();
        let Some(read) = self.read_after(store, position)? else {
            self.known().skip_delayed(&queries, &holder);
            return Ok(true);
        };
        let (mut steps, mut compared) = (0, Vec::new());
        for number in queries {
            if steps >= self.steps_at_once {
                break;
            }
            compared.push((number, self.is_match(&read, number, &mut steps)));
        }
        let known = self.known.clone();
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = read.entry.seq();
        match &read.entry {
            Logged::Change(change) => {
                for (number, after) in &compared {
                    known.note(change, *number, self.matches.has(&change.id, *number), *after);
                    self.matches.set(&change.id, *number, *after);
                }
                known.end_turn(seq);
            }
            Logged::Membership(_) => {
                let numbers: Vec<QueryNo> = compared.iter().map(|(number, _)| *number).collect();
                known.note_late_membership(seq, &numbers);
            }
            Logged::Declaration(_) => {}
        }
        for (number, _) in compared {
            known.move_delayed(number, &holder, seq);
        }
        Ok(true)
    }

    /// True if a query matches a Thing after a change.
    fn is_match(&self, read: &Read, number: QueryNo, steps: &mut usize) -> bool {
        *steps += 1;
        let Some((document, candidates)) = &read.described else { return false };
        let at = candidates.binary_search_by_key(&number, |candidate| candidate.number);
        let candidate = at.ok().and_then(|at| candidates.get(at));
        candidate.is_some_and(|candidate| self.index.is_match(*candidate, document, steps))
    }

    /// Returns the log entry after a position, prepared for comparison, or `None` if the log no longer contains it.
    fn read_after(&mut self, store: &Store, position: Seq) -> Result<Option<Arc<Read>>> {
        let part = store.changes(position, 1)?;
        let Some(entry) = part.entries.into_iter().next().filter(|_| !part.truncated) else { return Ok(None) };
        if let Some(known) = self.read.iter().find(|known| known.entry.seq() == entry.seq()) {
            return Ok(Some(known.clone()));
        }
        let described = match entry.change() {
            Some(change) if change.kind != ChangeKind::Deleted => self.describe(store, change)?,
            _ => None,
        };
        let read = Arc::new(Read { entry, described });
        self.read.push_back(read.clone());
        self.read.drain(..self.read.len().saturating_sub(DOCUMENTS_KEPT));
        Ok(Some(read))
    }

    fn describe(&mut self, store: &Store, change: &Change) -> Result<Option<(Document, Vec<Candidate>)>> {
        let Some(Described { text, format }) = self.descriptions.after(store, change)? else { return Ok(None) };
        let document = self.document(&change.id, &text, format.as_deref())?;
        let candidates = self.index.candidates(&document);
        Ok(Some((document, candidates)))
    }

    /// Compares the queries that keep up with a change. Those that its steps don't suffice for are delayed.
    fn compare(&mut self, read: &Read, change: &Change) {
        let (mut after, mut delayed, mut steps) = (Vec::new(), Vec::new(), 0);
        let in_turns = read.described.as_ref().map(|(_, candidates)| self.in_turns(candidates)).unwrap_or_default();
        for number in in_turns {
            if steps >= self.steps_at_once {
                delayed.push(number);
            } else if self.is_match(read, number, &mut steps) {
                after.push(number);
            }
        }
        after.sort_unstable();
        let before = self.matches.of(&change.id).to_vec();
        let known = self.known.clone();
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.has_starting() {
            self.changed.insert(change.id.as_str().into(), change.seq);
        }
        for number in delayed {
            known.delay(number, self.holders.get(&number).unwrap_or(&None));
        }
        let is_delayed = |known: &Known, number: &QueryNo| known.delayed().position(*number).is_some();
        let numbers: BTreeSet<QueryNo> = before.iter().chain(&after).copied().collect();
        for number in numbers.iter().filter(|number| !is_delayed(&known, number)).copied().collect::<Vec<_>>() {
            let [before, after] = [&before, &after].map(|numbers| numbers.binary_search(&number).is_ok());
            known.note(change, number, before, after);
        }
        // What a delayed query matches stays what it matched at its position.
        after.extend(before.iter().filter(|number| is_delayed(&known, number)));
        after.sort_unstable();
        self.matches.replace(&change.id, after);
        known.move_to(change.seq);
    }

    /// Returns the candidates that keep up, alternating between holders, those with the fewest parts first.
    fn in_turns(&self, candidates: &[Candidate]) -> Vec<QueryNo> {
        let mut sorted: Vec<(usize, QueryNo)> = {
            let known = self.known();
            let numbers = candidates.iter().map(|candidate| candidate.number);
            let keeping_up = numbers.filter(|number| known.delayed().position(*number).is_none());
            keeping_up.map(|number| (self.index.parts(number), number)).collect()
        };
        sorted.sort_unstable();
        let mut turns: HashMap<Option<&Holder>, usize> = HashMap::new();
        let turn_of = |(_, number): (usize, QueryNo)| {
            let turn = turns.entry(self.holders.get(&number)).or_default();
            *turn += 1;
            (*turn, number)
        };
        let mut in_turns: Vec<(usize, QueryNo)> = sorted.into_iter().map(turn_of).collect();
        in_turns.sort_by_key(|(turn, _)| *turn);
        in_turns.into_iter().map(|(_, number)| number).collect()
    }

    fn document(&self, id: &str, text: &str, format: Option<&str>) -> Result<Document> {
        let entry = Entry { id, text, format, terms: Format::search_terms(), access: None, moments: None };
        let document = Document::new(entry)?;
        match &self.meaning {
            Some(meaning) if self.index.needs_vectors() => document.with_vectors(entry, meaning),
            _ => Ok(document),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Registry, search::Filters, td::Description};

    fn query(text: &str) -> Arc<SavedQuery> {
        Arc::new(SavedQuery::new(Some(text), Filters::default()).unwrap())
    }

    /// Many negations of words that no agent has, but for the one of `weather`.
    fn costly(number: usize) -> Arc<SavedQuery> {
        let negated: String = (0..50).map(|word| format!("-q{number}x{word}* ")).collect();
        query(&format!("{negated} -weather"))
    }

    /// Queries of a registry that are compared by the test alone.
    struct Stage {
        registry: Registry,
        known: Arc<Mutex<Known>>,
        matching: Matching,
        _directory: tempfile::TempDir,
    }

    impl Stage {
        fn set(steps_at_once: usize) -> Stage {
            let directory = tempfile::tempdir().unwrap();
            let registry = Registry::open(directory.path()).unwrap();
            let known = Arc::new(Mutex::new(Known::after(registry.last_seq())));
            let mut matching = Matching::new(known.clone(), None);
            matching.set_steps_at_once(steps_at_once);
            Stage { registry, known, matching, _directory: directory }
        }

        fn add(&mut self, query: Arc<SavedQuery>, owner: &str) -> QueryNo {
            let number = self.matching.add(query, Some(owner.parse().unwrap()), self.registry.last_seq());
            self.matching.started(number, &[], false);
            number
        }

        fn put(&self, id: &str, title: &str) {
            self.registry.put(Description::new(title).id(id)).unwrap();
        }

        fn read_on(&mut self) {
            let end = self.registry.last_seq();
            while self.matching.read_on(&self.registry.0.store, end).unwrap() {}
        }

        fn catch_up(&mut self) -> bool {
            self.matching.catch_up(&self.registry.0.store).unwrap()
        }

        fn position_of(&self, number: QueryNo) -> Seq {
            self.known.lock().unwrap().position_of(number)
        }

        /// The events of all changes for a query.
        fn events(&self, number: QueryNo) -> Vec<(Seq, MatchKind)> {
            let changes = self.registry.0.store.changes(Seq::ZERO, 10_000).unwrap().changes();
            let known = self.known.lock().unwrap();
            let of =
                |seq| known.events_of(seq).iter().find(|(other, _)| *other == number).map(|(_, kind)| (seq, *kind));
            changes.iter().filter_map(|change| of(change.seq)).collect()
        }
    }

    /// Changes that a query without `weather` begins to match, goes on to, ends to, and so on.
    fn change_much(stage: &Stage) {
        for round in 0..3 {
            for (id, titles) in [("urn:a", ["weather", "tides", "tides again"]), ("urn:b", ["tides", "weather", "sun"])]
            {
                titles.iter().for_each(|title| stage.put(id, &format!("{title} {round}")));
            }
            stage.registry.patch("urn:a", r#"{"description": "weather"}"#).unwrap();
            stage.registry.patch("urn:a", r#"{"description": "sun"}"#).unwrap();
            stage.registry.remove("urn:b").unwrap();
        }
    }

    #[test]
    fn a_delayed_query_gets_each_event_once_and_delays_nobody() {
        let mut stages = [Stage::set(1), Stage::set(usize::MAX)];
        let mut numbers = Vec::new();
        for stage in &mut stages {
            numbers = (0..20).map(|number| stage.add(costly(number), "eve")).collect();
            numbers.push(stage.add(query("tides"), "bob"));
            change_much(stage);
            stage.read_on();
        }
        let [stage, oracle] = &mut stages;
        let (end, bobs) = (stage.registry.last_seq(), *numbers.last().unwrap());
        let kinds = |events: Vec<(Seq, MatchKind)>| events.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
        assert_eq!(kinds(stage.events(bobs)), kinds(oracle.events(bobs)), "known before the others are compared");
        assert_eq!((stage.position_of(bobs), stage.events(bobs).len()), (end, oracle.events(bobs).len()));
        assert!(stage.known.lock().unwrap().delayed().len() > 10, "most are delayed");
        let (behind, news) = (numbers[19], stage.events(bobs).len());
        assert!(stage.position_of(behind) < end);
        // What comes meanwhile is compared at once with what keeps up.
        stage.catch_up();
        stage.put("urn:c", "tides");
        oracle.put("urn:c", "tides");
        stage.read_on();
        oracle.read_on();
        assert_eq!(stage.events(bobs).len(), news + 1);
        assert!(stage.position_of(behind) < end);
        while stage.catch_up() {}
        for number in numbers {
            assert_eq!(stage.position_of(number), stage.registry.last_seq());
            assert_eq!(kinds(stage.events(number)), kinds(oracle.events(number)), "query {number}");
        }
    }

    #[test]
    fn what_a_query_matches_is_taken_from_things_that_have_not_changed_since_it_was_added() {
        let mut stage = Stage::set(usize::MAX);
        let add = |stage: &mut Stage| stage.matching.add(query("tides"), None, stage.registry.last_seq());
        let early = add(&mut stage);
        stage.put("urn:a", "sun");
        stage.read_on();
        let late = add(&mut stage);
        let ids = ["urn:a".to_owned(), "urn:b".to_owned()];
        stage.matching.started(early, &ids, false);
        stage.matching.started(late, &ids, false);
        assert_eq!(
            (stage.matching.matches.of("urn:a"), stage.matching.matches.of("urn:b")),
            (&[late][..], &[early, late][..])
        );
        assert!(stage.matching.changed.is_empty());
    }

    #[test]
    fn a_change_takes_a_bounded_number_of_queries_at_once() {
        let mut stage = Stage::set(500);
        let numbers: Vec<QueryNo> = (0..1_000).map(|number| stage.add(costly(number), "eve")).collect();
        stage.put("urn:a", "tides");
        stage.read_on();
        let end = stage.registry.last_seq();
        let caught_up = |stage: &Stage| numbers.iter().filter(|number| stage.position_of(**number) == end).count();
        let mut before = caught_up(&stage);
        assert!((1..=20).contains(&before), "{before} at once");
        while stage.catch_up() {
            let now = caught_up(&stage);
            assert!((1..=20).contains(&(now - before)) || now == 1_000, "{} at once", now - before);
            before = now;
        }
        assert_eq!(before, 1_000);
    }

    #[test]
    fn a_query_that_is_removed_or_whose_changes_are_gone_is_behind_no_more() {
        let mut stage = Stage::set(1);
        let numbers: Vec<QueryNo> = (0..3).map(|number| stage.add(costly(number), "eve")).collect();
        stage.put("urn:a", "tides");
        stage.read_on();
        let delayed = |stage: &Stage| stage.known.lock().unwrap().delayed().len();
        assert_eq!(delayed(&stage), 2);
        stage.matching.remove(numbers[2]);
        assert_eq!(delayed(&stage), 1);
        stage.known.lock().unwrap().lose_up_to(stage.registry.last_seq());
        assert_eq!((delayed(&stage), stage.catch_up()), (0, false));
        assert!(stage.known.lock().unwrap().known_since(numbers[1]) >= Some(stage.registry.last_seq()));
    }
}
