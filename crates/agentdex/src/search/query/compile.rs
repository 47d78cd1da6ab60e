//! Compilation of clauses and filters to a single tantivy query.
//!
//! Plain words become a flat union of terms, which tantivy evaluates with block-max pruning. Only queries with other
//! constructs pay a higher cost.

use std::ops::Bound;

use tantivy::{
    Score, Searcher, Term,
    query::{
        AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, EmptyQuery, Occur as Occurrence,
        Query, RangeQuery, TermQuery, TermSetQuery,
    },
    schema::{Field, IndexRecordOption},
};

use super::{
    Clause, ExactTerm, Occur, Pattern, Spelling, Target,
    excluded::Excluded,
    languages::Languages,
    sentences,
    telling::Telling,
    words::{Part, Words, prefix_query, term_query, union, weigh_common_words},
};
use crate::{
    Result,
    change::Timestamp,
    search::{
        Condition, FacetField, FilterField, Filters, Period,
        failure::index_error,
        schema::{ExactField, Fields},
        snippet::Highlights,
        suggest::Corrected,
        versions::{self, ANY_TENANT, Ranged, Versions},
    },
};

/// A compiled query.
pub(in crate::search) struct Compiled {
    pub query: Box<dyn Query>,
    /// Distinct terms, if the query is just a union of terms.
    pub union: Option<Vec<(Term, Score)>>,
    /// True if there are words, so that hits have a score.
    pub is_scored: bool,
    /// Words to mark in the text of hits.
    pub highlights: Highlights,
    /// Corrections of words that occur in no description.
    pub corrections: Vec<Corrected>,
    /// Requested versions of capabilities. Hits with the highest versions come first.
    pub versions: Option<Versions>,
    /// True if words that occur in no description were not corrected, because the model knows them.
    pub has_known: bool,
    /// Distinct telling words.
    pub telling: Vec<Telling>,
    /// Optional scored parts. `musts` contains groups of scored parts, each of which must have a match.
    pub any: Vec<Part>,
    pub musts: Vec<Vec<Part>>,
    /// Indexes into `any` at which the sentences of a long request begin.
    pub sentences: Vec<usize>,
}

/// Compiles clauses and filters.
pub(in crate::search) fn compile(
    searcher: &Searcher,
    fields: &Fields,
    clauses: &[Clause],
    filters: &Filters,
    spelling: Spelling<'_>,
) -> Result<Compiled> {
    let languages = Languages::of(searcher, fields, clauses).map_err(index_error("reading the languages"))?;
    let mut compiler = Compiler::new(searcher, fields, Words::new(searcher, fields, spelling, languages));
    let starts = sentences::starts(clauses);
    for (at, clause) in clauses.iter().enumerate() {
        if starts.contains(&at) {
            compiler.sentences.push(compiler.any.len());
        }
        compiler.add(clause)?;
    }
    if compiler.says_nothing() {
        compiler.add_stop_words(clauses);
    }
    for (condition, field, values) in filters.given() {
        compiler.restrict(condition, field, values)?;
    }
    compiler.restrict_to_period(fields.created, filters.created);
    compiler.restrict_to_period(fields.modified, filters.modified);
    Ok(compiler.finish())
}

struct Compiler<'a> {
    fields: &'a Fields,
    words: Words<'a>,
    any: Vec<Part>,
    /// Indexes into `any` at which the sentences of a long request begin.
    sentences: Vec<usize>,
    musts: Vec<Vec<Part>>,
    nots: Vec<Box<dyn Query>>,
    /// Exact values by field: one of those within a field, of every field.
    exact: Vec<(Field, Vec<Box<dyn Query>>)>,
    /// True if some clause is text that should be found.
    wants_text: bool,
    searcher: &'a Searcher,
    versions: Option<Versions>,
}

impl<'a> Compiler<'a> {
    fn new(searcher: &'a Searcher, fields: &'a Fields, words: Words<'a>) -> Compiler<'a> {
        Compiler {
            fields,
            words,
            any: Vec::new(),
            sentences: Vec::new(),
            musts: Vec::new(),
            nots: Vec::new(),
            exact: Vec::new(),
            wants_text: false,
            searcher,
            versions: None,
        }
    }

    fn add(&mut self, clause: &Clause) -> Result<()> {
        match clause.target {
            Target::Text => self.add_text(self.fields.text, clause),
            Target::Title => self.add_text(self.fields.title, clause),
            Target::Description => self.add_text(self.fields.description, clause),
            Target::Id => {
                self.add_exact(self.fields.id, clause, str::to_owned);
                Ok(())
            }
            Target::Exact(field) => {
                self.add_exact(self.fields.exact(field), clause, |value| ExactTerm::searched(field, value));
                Ok(())
            }
        }
    }

    fn add_text(&mut self, field: Field, clause: &Clause) -> Result<()> {
        self.wants_text |= clause.occur != Occur::Not;
        let parts = self.words.parts(field, &clause.pattern, clause.occur)?;
        match clause.occur {
            Occur::Any => self.any.extend(parts),
            Occur::Must => self.musts.extend((!parts.is_empty()).then_some(parts)),
            Occur::Not => self.nots.extend(union_of(&parts).map(|not| -> Box<dyn Query> { Box::new(Excluded(not)) })),
        }
        Ok(())
    }

    fn add_exact(&mut self, field: Field, clause: &Clause, form: impl Fn(&str) -> String) {
        let query = match &clause.pattern {
            Pattern::Word(value) | Pattern::Phrase(value) => exact_query(field, &form(value)),
            Pattern::Prefix(prefix) | Pattern::Begun(prefix) => prefix_query(field, &form(prefix)),
        };
        match clause.occur {
            Occur::Not => self.nots.push(query),
            Occur::Must => self.exact.push((field, vec![query])),
            Occur::Any => match self.exact.iter_mut().find(|(other, _)| *other == field) {
                Some((_, queries)) => queries.push(query),
                None => self.exact.push((field, vec![query])),
            },
        }
    }

    /// Adds a filter of the request, independently of fields in the query.
    fn restrict(&mut self, condition: Condition, field: FilterField, values: &[String]) -> Result<()> {
        let exact = self.fields.exact(exact_field(field));
        match condition {
            Condition::AnyOf => {
                let any = self.having(condition, field, values)?;
                self.exact.push((exact, any));
            }
            Condition::AllOf => {
                for value in values {
                    let any = self.having(condition, field, std::slice::from_ref(value))?;
                    self.exact.push((exact, any));
                }
            }
            Condition::NoneOf => {
                let any = self.having(condition, field, values)?;
                self.nots.extend(union(any));
            }
        }
        Ok(())
    }

    /// Builds the queries for values of a field, any of which may match. Each value matches as it is written;
    /// capabilities and Things also match in ranges of versions.
    fn having(&mut self, condition: Condition, field: FilterField, values: &[String]) -> Result<Vec<Box<dyn Query>>> {
        let exact = exact_field(field);
        let literal = |value: &String| exact_query(self.fields.exact(exact), &ExactTerm::searched(exact, value));
        let mut queries: Vec<Box<dyn Query>> = values.iter().map(literal).collect();
        let mut versions: Option<Versions> = None;
        match field {
            FilterField::Tenant => queries.push(exact_query(self.fields.tenant, ANY_TENANT)),
            FilterField::Capability => {
                for value in values {
                    let Some(ranged) = Ranged::read(value)? else { continue };
                    let versions = versions.get_or_insert_default();
                    let found = ranged.find(self.searcher, self.fields.capability_version, versions);
                    found.map_err(index_error("looking versions up"))?;
                }
            }
            FilterField::Version => {
                for value in values {
                    if let Some(found) = versions::of_things(self.searcher, self.fields.version, value)? {
                        versions.get_or_insert_default().extend(found);
                    }
                }
            }
            _ => {}
        }
        if let Some(versions) = versions {
            queries.push(Box::new(TermSetQuery::new(versions.terms().cloned())));
            if field == FilterField::Capability && condition != Condition::NoneOf {
                self.versions.get_or_insert_default().extend(versions);
            }
        }
        Ok(queries)
    }

    fn restrict_to_period(&mut self, field: Field, period: Period) {
        if !period.is_unbounded() {
            let term = |moment: Timestamp| Term::from_field_i64(field, moment.0);
            let from = period.from.map_or(Bound::Unbounded, |from| Bound::Included(term(from)));
            let before = period.before.map_or(Bound::Unbounded, |before| Bound::Excluded(term(before)));
            self.exact.push((field, vec![Box::new(RangeQuery::new(from, before))]));
        }
    }

    fn says_nothing(&self) -> bool {
        self.wants_text && self.any.is_empty() && self.musts.is_empty()
    }

    /// Adds a search in titles for a query that consists only of stop words, since other fields don't contain them.
    fn add_stop_words(&mut self, clauses: &[Clause]) {
        for clause in clauses.iter().filter(|clause| clause.occur != Occur::Not) {
            if matches!(clause.target, Target::Text | Target::Title) {
                self.any.extend(self.words.title_parts(&clause.pattern));
            }
        }
    }

    fn finish(mut self) -> Compiled {
        let highlights = self.words.take_highlights();
        let corrections = std::mem::take(&mut self.words.corrections);
        let versions = self.versions.take();
        let telling = std::mem::take(&mut self.words.telling);
        let has_known = self.words.has_known;
        weigh_common_words(&mut self.any);
        let is_scored = !self.any.is_empty() || !self.musts.is_empty();
        let is_restricted = !self.exact.is_empty() || !self.nots.is_empty();
        let (query, union): (Box<dyn Query>, _) = if self.says_nothing() && self.exact.is_empty() {
            (Box::new(EmptyQuery), None)
        } else if is_scored && !is_restricted && self.musts.is_empty() && self.any.iter().all(Part::is_term) {
            let query = scored(&self.any, &self.sentences);
            (query.unwrap_or_else(|| Box::new(EmptyQuery)), Some(distinct_terms(&self.any)))
        } else {
            (self.combine(is_restricted), None)
        };
        let Compiler { any, musts, sentences, .. } = self;
        Compiled {
            query,
            union,
            is_scored,
            highlights,
            corrections,
            versions,
            has_known,
            telling,
            any,
            musts,
            sentences,
        }
    }

    /// Combines required, restricting, scored, and excluded parts.
    fn combine(&mut self, is_restricted: bool) -> Box<dyn Query> {
        let mut parts: Vec<(Occurrence, Box<dyn Query>)> = Vec::new();
        let any = scored(&self.any, &self.sentences);
        if self.musts.is_empty() && is_restricted {
            parts.extend(any.map(|any| (Occurrence::Must, any)));
        } else {
            parts.extend(self.musts.iter().filter_map(|must| Some((Occurrence::Must, union_of(must)?))));
            parts.extend(any.map(|any| (Occurrence::Should, any)));
        }
        for values in std::mem::take(&mut self.exact).into_iter().filter_map(|(_, values)| union(values)) {
            parts.push((Occurrence::Must, Box::new(ConstScoreQuery::new(values, 0.0))));
        }
        if parts.is_empty() {
            parts.push((Occurrence::Must, Box::new(AllQuery)));
        }
        parts.extend(std::mem::take(&mut self.nots).into_iter().map(|not| (Occurrence::MustNot, not)));
        match parts.len() {
            1 => parts.remove(0).1,
            _ => Box::new(BooleanQuery::new(parts)),
        }
    }
}

fn exact_query(field: Field, value: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic))
}

/// Returns the field of exact values for a filter.
pub(in crate::search) fn exact_field(field: FilterField) -> ExactField {
    match field {
        FilterField::Capability => ExactField::Facet(FacetField::Capability),
        FilterField::Type => ExactField::Facet(FacetField::Type),
        FilterField::Tag => ExactField::Facet(FacetField::Tag),
        FilterField::Vendor => ExactField::Facet(FacetField::Vendor),
        FilterField::Protocol => ExactField::Facet(FacetField::Protocol),
        FilterField::Security => ExactField::Facet(FacetField::Security),
        FilterField::Format => ExactField::Facet(FacetField::Format),
        FilterField::Status => ExactField::Facet(FacetField::Status),
        FilterField::Signature => ExactField::Facet(FacetField::Signature),
        FilterField::Tenant => ExactField::Tenant,
        FilterField::Channel => ExactField::Channel,
        FilterField::Speaks => ExactField::Speaks,
        FilterField::Version => ExactField::Version,
    }
}

fn union_of(parts: &[Part]) -> Option<Box<dyn Query>> {
    union(parts.iter().map(Part::to_query).collect())
}

/// Creates a query for any of the parts. For a request of several sentences, which often states several needs, half
/// of the score is that of the best sentence.
fn scored(parts: &[Part], sentences: &[usize]) -> Option<Box<dyn Query>> {
    let whole = any_of(parts)?;
    let ends = sentences.iter().skip(1).copied().chain([parts.len()]);
    let sentences = sentences.iter().zip(ends).filter_map(|(&start, end)| any_of(parts.get(start..end)?));
    let sentences: Vec<Box<dyn Query>> = sentences.collect();
    if sentences.len() < 2 {
        return Some(whole);
    }
    let best: Box<dyn Query> = Box::new(DisjunctionMaxQuery::new(sentences));
    let half = |query| -> Box<dyn Query> { Box::new(BoostQuery::new(query, 0.5)) };
    union(vec![half(whole), half(best)])
}

/// Any of the parts, each term once.
fn any_of(parts: &[Part]) -> Option<Box<dyn Query>> {
    let terms = distinct_terms(parts).into_iter().map(|(term, boost)| term_query(term, boost));
    let is_first = |at: usize, part: &Part| !parts.iter().take(at).any(|before| before.is_same_word(part));
    let others = parts.iter().enumerate().filter(|&(at, part)| !part.is_term() && is_first(at, part));
    union(terms.chain(others.map(|(_, part)| part.to_query())).collect())
}

/// Returns the distinct single terms with their largest boosts.
fn distinct_terms(parts: &[Part]) -> Vec<(Term, Score)> {
    let mut distinct: Vec<(Term, Score)> = Vec::with_capacity(parts.len());
    for part in parts {
        let Part::Word { terms, boost, .. } = part else { continue };
        let [term] = terms.as_slice() else { continue };
        match distinct.iter_mut().find(|(other, _)| other == term) {
            Some((_, other)) => *other = other.max(*boost),
            None => distinct.push((term.clone(), *boost)),
        }
    }
    distinct
}
