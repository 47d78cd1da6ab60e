//! Statements of a snapshot as a dataset for the evaluator. The default graph is the union of all graphs.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    ops::Range,
    rc::Rc,
    sync::PoisonError,
};

use oxrdf::Term;
use spareval::{ExpressionTerm, InternalQuad, QueryableDataset};

use super::{
    meter::{self, Exceeded, TermId},
    segment::{GRAPH, OBJECT, Order, PREDICATE, Row, SUBJECT},
    store::{Snapshot, has_blank_node},
    terms::{FIRST_BLANK, FIRST_COMPUTED, Terms, entry, iri_entry},
};

/// Maximum length of texts used in expressions.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Data visible to a query.
#[derive(Clone)]
pub(super) struct View(Rc<Visible>);

struct Visible {
    snapshot: Snapshot,
    /// Graphs of Things that have expired or were removed since.
    hidden: HashSet<u32>,
    computed: RefCell<Computed>,
}

/// Terms that the query made, and no description has.
#[derive(Default)]
struct Computed {
    terms: Vec<Term>,
    numbers: HashMap<Term, u32>,
}

impl View {
    /// Creates a view without the statements of some Things.
    pub fn new(snapshot: Snapshot, hidden_ids: &[String]) -> View {
        let terms = snapshot.terms.read().unwrap_or_else(PoisonError::into_inner);
        let hidden = hidden_ids.iter().filter_map(|id| terms.find(&iri_entry(id))).collect();
        drop(terms);
        View(Rc::new(Visible { snapshot, hidden, computed: RefCell::default() }))
    }

    fn terms<T>(&self, read: impl FnOnce(&Terms) -> T) -> T {
        read(&self.0.snapshot.terms.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Visible {
    fn is_visible(&self, part: usize, row: &Row) -> bool {
        let is_hidden = row.get(GRAPH).is_some_and(|graph| !self.hidden.is_empty() && self.hidden.contains(graph));
        !is_hidden && self.snapshot.parts.get(part).is_some_and(|part| part.is_live(row))
    }

    /// True if an earlier segment contains the statement in any graph.
    fn is_in_part_before(&self, part: usize, row: &Row) -> bool {
        let [_, subject, predicate, object] = *row;
        self.snapshot.parts.iter().enumerate().take(part).any(|(number, part)| {
            let mut places = part.segment.range(Order::Subject, &[subject, predicate, object]);
            places.any(|place| part.segment.row(Order::Subject, place).is_some_and(|row| self.is_visible(number, row)))
        })
    }
}

/// Rows that match a pattern.
struct Matches {
    visible: Rc<Visible>,
    order: Order,
    /// Prefix of rows in the sort order. These rows are at `places` of the current segment.
    start: Vec<u32>,
    part: usize,
    places: Range<usize>,
    /// Required values by column; `None` matches any value.
    wanted: [Option<u32>; 4],
    /// True if a statement in several graphs counts once.
    is_union: bool,
    last: Option<Row>,
}

impl Matches {
    fn new(visible: Rc<Visible>, wanted: [Option<u32>; 4], is_union: bool) -> Matches {
        let has = |place: usize| wanted.get(place).copied().flatten();
        let order = match (has(GRAPH), has(SUBJECT), has(PREDICATE), has(OBJECT)) {
            (Some(_), ..) => Order::Graph,
            (None, Some(_), None, Some(_)) | (None, None, None, Some(_)) => Order::Object,
            (None, None, Some(_), _) => Order::Predicate,
            _ => Order::Subject,
        };
        let start: Vec<u32> = order.places().into_iter().map_while(has).collect();
        let mut matches = Matches { visible, order, start, part: 0, places: 0..0, wanted, is_union, last: None };
        matches.enter(0);
        matches
    }

    fn enter(&mut self, part: usize) {
        self.part = part;
        self.last = None;
        self.places = match self.visible.snapshot.parts.get(part) {
            Some(part) => part.segment.range(self.order, &self.start),
            None => 0..0,
        };
    }

    /// Returns the next matching row, or `None` at the end.
    fn next_row(&mut self) -> Result<Option<Row>, Exceeded> {
        loop {
            meter::step()?;
            let Some(place) = self.places.next() else {
                if self.part + 1 >= self.visible.snapshot.parts.len() {
                    return Ok(None);
                }
                self.enter(self.part + 1);
                continue;
            };
            let part = self.visible.snapshot.parts.get(self.part);
            let Some(&row) = part.and_then(|part| part.segment.row(self.order, place)) else { continue };
            let is_wanted =
                row.iter().zip(&self.wanted).all(|(own, wanted)| wanted.is_none_or(|wanted| *own == wanted));
            if !is_wanted || !self.visible.is_visible(self.part, &row) {
                continue;
            }
            if self.is_union && !has_blank_node(&row) {
                let says_the_same = |last: &Row| last.iter().skip(1).eq(row.iter().skip(1));
                if self.last.as_ref().is_some_and(says_the_same) || self.visible.is_in_part_before(self.part, &row) {
                    continue;
                }
                self.last = Some(row);
            }
            return Ok(Some(row));
        }
    }
}

impl Iterator for Matches {
    type Item = Result<InternalQuad<TermId>, Exceeded>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next_row().transpose()?;
        Some(row.map(|[graph, subject, predicate, object]| InternalQuad {
            subject: TermId::new(subject),
            predicate: TermId::new(predicate),
            object: TermId::new(object),
            graph_name: (!self.is_union).then(|| TermId::new(graph)),
        }))
    }
}

impl<'a> QueryableDataset<'a> for View {
    type InternalTerm = TermId;
    type Error = Exceeded;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&TermId>,
        predicate: Option<&TermId>,
        object: Option<&TermId>,
        graph_name: Option<Option<&TermId>>,
    ) -> impl Iterator<Item = Result<InternalQuad<TermId>, Exceeded>> + use<'a> {
        let number = |term: Option<&TermId>| term.map(TermId::number);
        let graph = number(graph_name.flatten());
        let wanted = [graph, number(subject), number(predicate), number(object)];
        Matches::new(self.0.clone(), wanted, graph_name == Some(None))
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<TermId, Exceeded>> + use<'a> {
        let mut matches = Matches::new(self.0.clone(), [None; 4], false);
        matches.order = Order::Graph;
        matches.enter(0);
        let mut last = None;
        std::iter::from_fn(move || {
            loop {
                match matches.next_row() {
                    Ok(Some([graph, ..])) if last == Some(graph) => {}
                    Ok(Some([graph, ..])) => {
                        last = Some(graph);
                        return Some(Ok(TermId::new(graph)));
                    }
                    Ok(None) => return None,
                    Err(exceeded) => return Some(Err(exceeded)),
                }
            }
        })
    }

    fn contains_internal_graph_name(&self, graph_name: &TermId) -> Result<bool, Exceeded> {
        let mut matches = Matches::new(self.0.clone(), [Some(graph_name.number()), None, None, None], false);
        Ok(matches.next_row()?.is_some())
    }

    fn internalize_term(&self, term: Term) -> Result<TermId, Exceeded> {
        let known = entry(&term).and_then(|entry| self.terms(|terms| terms.find(&entry)));
        if let Some(number) = known {
            return Ok(TermId::new(number));
        }
        meter::text(term_len(&term))?;
        let mut computed = self.0.computed.borrow_mut();
        if let Some(number) = computed.numbers.get(&term) {
            return Ok(TermId::new(*number));
        }
        if term_len(&term) > MAX_TEXT_BYTES {
            return Err(Exceeded::Value);
        }
        let number = u32::try_from(computed.terms.len()).ok().and_then(|number| number.checked_add(FIRST_COMPUTED));
        let number = number.ok_or(Exceeded::Terms)?;
        computed.terms.push(term.clone());
        computed.numbers.insert(term, number);
        Ok(TermId::new(number))
    }

    fn externalize_term(&self, term: TermId) -> Result<Term, Exceeded> {
        let number = term.number();
        let found = match number {
            FIRST_COMPUTED.. => self.0.computed.borrow().terms.get((number - FIRST_COMPUTED) as usize).cloned(),
            _ => self.terms(|terms| terms.term(number)),
        };
        let found = found.ok_or(Exceeded::Terms)?;
        meter::text(term_len(&found))?;
        Ok(found)
    }

    fn externalize_expression_term(&self, term: TermId) -> Result<ExpressionTerm, Exceeded> {
        let number = term.number();
        if number < FIRST_BLANK && self.terms(|terms| terms.len_of(number)) > MAX_TEXT_BYTES {
            return Err(Exceeded::Value);
        }
        Ok(self.externalize_term(term)?.into())
    }
}

fn term_len(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len(),
    }
}
