//! Statements of all Things, in memory.
//!
//! Statements are rows ([`segment`](super::segment)) of numbers of terms ([`terms`](super::terms)). Changes are
//! written to a new segment. Older rows of the same Thing are then dead, and are dropped when segments are merged,
//! which happens if a segment isn't at least twice as large as the next. A [`Snapshot`] is an immutable state for
//! queries. The statements of a Thing are in a graph named by its id.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use super::{
    segment::{GRAPH, OBJECT, Order, Row, SUBJECT, Segment},
    terms::{FIRST_BLANK, FIRST_COMPUTED, Terms, described_entry, iri_entry},
};
use crate::{
    Error, Result,
    td::json_ld::{Quad, Term},
};

/// Minimum number of terms for removing unused terms.
const TERMS_TO_KEEP: usize = 100_000;

/// Writer of the statements of all Things. [`QuadStore::commit`] makes its changes visible to queries.
#[derive(Debug, Default)]
pub struct QuadStore {
    terms: Arc<RwLock<Terms>>,
    segments: Vec<Part>,
    /// Uncommitted changes: the new rows of each changed graph. A removed graph has no rows.
    changed: HashMap<u32, Vec<Row>>,
    blank_nodes: u32,
    terms_when_compacted: usize,
}

/// A segment with its dead graphs.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub segment: Arc<Segment>,
    pub dead: Arc<HashSet<u32>>,
}

/// Statements at a point in time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) terms: Arc<RwLock<Terms>>,
    pub(super) parts: Arc<[Part]>,
}

impl QuadStore {
    /// Creates an empty store.
    pub fn new() -> QuadStore {
        QuadStore::default()
    }

    /// Replaces the statements of a Thing.
    ///
    /// # Errors
    /// [`Error::Index`] if there are too many terms.
    pub fn put(&mut self, id: &str, quads: &[Quad]) -> Result<()> {
        let mut terms = self.terms.write().unwrap_or_else(PoisonError::into_inner);
        let full =
            || Error::Index { doing: "numbering the terms of descriptions", source: "there are too many terms".into() };
        let first_blank = self.blank_nodes;
        let mut blank_nodes = first_blank;
        let mut number = |terms: &mut Terms, term: &Term| match term {
            Term::Blank(blank) => {
                let number = first_blank.checked_add(*blank)?;
                blank_nodes = blank_nodes.max(number + 1);
                FIRST_BLANK.checked_add(number).filter(|&number| number < FIRST_COMPUTED)
            }
            other => terms.add(&described_entry(other)?),
        };
        let graph = terms.add(&iri_entry(id)).ok_or_else(full)?;
        let mut rows = Vec::with_capacity(quads.len());
        for quad in quads {
            let predicate = terms.add(&iri_entry(&quad.predicate)).ok_or_else(full)?;
            let subject = number(&mut terms, &quad.subject).ok_or_else(full)?;
            let object = number(&mut terms, &quad.object).ok_or_else(full)?;
            rows.push([graph, subject, predicate, object]);
        }
        drop(terms);
        self.blank_nodes = blank_nodes;
        self.changed.insert(graph, rows);
        Ok(())
    }

    /// Removes the statements of a Thing.
    pub fn remove(&mut self, id: &str) {
        let graph = self.terms.read().unwrap_or_else(PoisonError::into_inner).find(&iri_entry(id));
        if let Some(graph) = graph {
            self.changed.insert(graph, Vec::new());
        }
    }

    /// Publishes all changes as a new snapshot.
    pub fn commit(&mut self) -> Snapshot {
        let changed = std::mem::take(&mut self.changed);
        for part in &mut self.segments {
            let replaced = changed.keys().filter(|&&graph| !part.segment.range(Order::Graph, &[graph]).is_empty());
            let replaced: Vec<u32> = replaced.copied().collect();
            if !replaced.is_empty() {
                Arc::make_mut(&mut part.dead).extend(replaced);
            }
        }
        let rows: Vec<Row> = changed.into_values().flatten().collect();
        if !rows.is_empty() {
            self.segments.push(Part::new(rows));
        }
        self.merge();
        let terms = self.terms.read().unwrap_or_else(PoisonError::into_inner).len();
        if terms > TERMS_TO_KEEP + 2 * self.terms_when_compacted {
            self.compact();
        }
        Snapshot { terms: self.terms.clone(), parts: self.segments.clone().into() }
    }

    fn merge(&mut self) {
        while let [.., before, last] = self.segments.as_slice()
            && before.segment.len() < 2 * last.segment.len()
        {
            let rows: Vec<Row> = before.live_rows().chain(last.live_rows()).copied().collect();
            self.segments.truncate(self.segments.len() - 2);
            if !rows.is_empty() {
                self.segments.push(Part::new(rows));
            }
        }
        for part in &mut self.segments {
            let dead: usize = part.dead.iter().map(|&graph| part.segment.range(Order::Graph, &[graph]).len()).sum();
            if 2 * dead > part.segment.len() {
                *part = Part::new(part.live_rows().copied().collect());
            }
        }
        self.segments.retain(|part| part.segment.len() > 0);
    }

    /// Writes all again, with the terms that are used.
    fn compact(&mut self) {
        let old = self.terms.clone();
        let old = old.read().unwrap_or_else(PoisonError::into_inner);
        let mut terms = Terms::default();
        let mut blank = HashMap::new();
        let mut renumbered = |number: u32| match number {
            FIRST_BLANK.. => {
                let next = FIRST_BLANK + u32::try_from(blank.len()).unwrap_or_default();
                *blank.entry(number).or_insert(next)
            }
            number => old.entry(number).and_then(|entry| terms.add(entry)).unwrap_or_default(),
        };
        let rows: Vec<Row> =
            self.segments.iter().flat_map(Part::live_rows).map(|row| row.map(&mut renumbered)).collect();
        self.blank_nodes = u32::try_from(blank.len()).unwrap_or_default();
        self.terms_when_compacted = terms.len();
        self.terms = Arc::new(RwLock::new(terms));
        self.segments = if rows.is_empty() { Vec::new() } else { vec![Part::new(rows)] };
    }
}

impl Part {
    fn new(rows: Vec<Row>) -> Part {
        Part { segment: Arc::new(Segment::new(rows)), dead: Arc::default() }
    }

    fn live_rows(&self) -> impl Iterator<Item = &Row> {
        self.segment.rows().iter().filter(|row| !self.dead.contains(&graph_of(row)))
    }

    /// True if the graph of the row still contains the row.
    pub fn is_live(&self, row: &Row) -> bool {
        self.dead.is_empty() || !self.dead.contains(&graph_of(row))
    }
}

fn graph_of(row: &Row) -> u32 {
    row.get(GRAPH).copied().unwrap_or_default()
}

/// True if a row contains a blank node, so it can only be in a single graph.
pub(super) fn has_blank_node(row: &Row) -> bool {
    [SUBJECT, OBJECT].iter().any(|&place| row.get(place).is_some_and(|number| *number >= FIRST_BLANK))
}

impl Snapshot {
    /// Returns the number of statements in memory, including old statements of changed or removed Things until they are
    /// dropped.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.segment.len()).sum()
    }

    /// True if no statements are in memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quad(subject: &str, object: &str) -> Quad {
        let iri = |text: &str| Term::Iri(text.into());
        Quad { subject: iri(subject), predicate: "urn:p".into(), object: iri(object), graph: None }
    }

    fn live(snapshot: &Snapshot) -> usize {
        snapshot.parts.iter().map(|part| part.live_rows().count()).sum()
    }

    #[test]
    fn what_is_replaced_or_removed_is_gone_and_its_place_is_used_again() {
        let mut store = QuadStore::new();
        for round in 0..50 {
            for thing in 0..20 {
                let id = format!("urn:{thing}");
                store.put(&id, &[quad(&id, &format!("urn:o{round}")), quad(&id, "urn:same")]).unwrap();
            }
            store.remove("urn:3");
            assert_eq!(live(&store.commit()), 38, "round {round}");
        }
        let snapshot = store.commit();
        assert!(snapshot.len() <= 3 * 38, "{} rows are kept", snapshot.len());
        assert!(snapshot.parts.len() <= 4, "{} segments", snapshot.parts.len());
        let before = live(&snapshot);
        store.compact();
        assert_eq!(live(&store.commit()), before);
        assert_eq!(store.terms.read().unwrap().len(), 19 + 3, "ids, the property, two objects");
    }
}
