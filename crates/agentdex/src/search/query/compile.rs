//! From clauses and filters to one tantivy query.
//!
//! Bare words become one flat union of terms, which tantivy searches with block-max pruning; only
//! what asks for more than that pays for more.

use tantivy::{
    Score, Searcher, Term,
    query::{
        AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, EmptyQuery, Occur as Occurrence,
        Query, TermQuery, TermSetQuery,
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
    search::{
        FacetField, Filters,
        failure::index_error,
        schema::{ExactField, Fields},
        snippet::Highlights,
        suggest::Corrected,
        versions::{ANY_TENANT, Ranged, Versions},
    },
};

/// A query that can be searched.
pub(in crate::search) struct Compiled {
    pub query: Box<dyn Query>,
    /// The terms, each once, where the query is a union of terms and nothing else.
    pub union: Option<Vec<(Term, Score)>>,
    /// Whether there are words, so that hits have a score.
    pub is_scored: bool,
    /// What is marked in the text of hits.
    pub highlights: Highlights,
    /// Words that no description has, and those that took their place.
    pub corrections: Vec<Corrected>,
    /// Versions of capabilities that are asked for: the highest come first.
    pub versions: Option<Versions>,
    /// The words that say something, each once.
    pub telling: Vec<Telling>,
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
    for facet in FacetField::ALL {
        match facet {
            FacetField::Capability => compiler.restrict_capability(&filters.capability)?,
            _ => compiler.restrict(ExactField::Facet(facet), filters.values(facet)),
        }
    }
    compiler.restrict(ExactField::Channel, &filters.channel);
    compiler.restrict(ExactField::Speaks, &filters.speaks);
    if !filters.tenant.is_empty() {
        let any = ANY_TENANT.to_owned();
        let tenants: Vec<String> = filters.tenant.iter().cloned().chain([any]).collect();
        compiler.restrict(ExactField::Tenant, &tenants);
    }
    Ok(compiler.finish())
}

struct Compiler<'a> {
    fields: &'a Fields,
    words: Words<'a>,
    any: Vec<Part>,
    /// Where the sentences of a long request begin in `any`.
    sentences: Vec<usize>,
    musts: Vec<Box<dyn Query>>,
    nots: Vec<Box<dyn Query>>,
    /// Exact values by field: one of those within a field, of every field.
    exact: Vec<(Field, Vec<Box<dyn Query>>)>,
    /// Whether some clause is text that should be found.
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
            Occur::Must => self.musts.extend(union_of(parts)),
            Occur::Not => self.nots.extend(union_of(parts).map(|not| -> Box<dyn Query> { Box::new(Excluded(not)) })),
        }
        Ok(())
    }

    fn add_exact(&mut self, field: Field, clause: &Clause, form: impl Fn(&str) -> String) {
        let query = match &clause.pattern {
            Pattern::Word(value) | Pattern::Phrase(value) => exact_query(field, &form(value)),
            Pattern::Prefix(prefix) => prefix_query(field, &form(prefix)),
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

    /// A filter of the request, apart from what the query says about that field.
    fn restrict(&mut self, field: ExactField, values: &[String]) {
        if !values.is_empty() {
            let queries =
                values.iter().map(|value| exact_query(self.fields.exact(field), &ExactTerm::searched(field, value)));
            self.exact.push((self.fields.exact(field), queries.collect()));
        }
    }

    /// Capabilities by name or id, or in a range of versions.
    fn restrict_capability(&mut self, values: &[String]) -> Result<()> {
        let field = ExactField::Facet(FacetField::Capability);
        let ranged = values.iter().filter_map(|value| Ranged::read(value).transpose()).collect::<Result<Vec<_>>>()?;
        if ranged.is_empty() {
            self.restrict(field, values);
            return Ok(());
        }
        let mut versions = Versions::default();
        for ranged in ranged {
            let found = ranged.find(self.searcher, self.fields.capability_version, &mut versions);
            found.map_err(index_error("looking versions up"))?;
        }
        let literal =
            values.iter().map(|value| exact_query(self.fields.exact(field), &ExactTerm::searched(field, value)));
        let satisfying: Box<dyn Query> = Box::new(TermSetQuery::new(versions.terms().cloned()));
        self.exact.push((self.fields.capability_version, literal.chain([satisfying]).collect()));
        self.versions = Some(versions);
        Ok(())
    }

    fn says_nothing(&self) -> bool {
        self.wants_text && self.any.is_empty() && self.musts.is_empty()
    }

    /// Stop words alone are looked for where they are kept: in titles.
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
        if self.says_nothing() && self.exact.is_empty() {
            return Compiled {
                query: Box::new(EmptyQuery),
                union: None,
                is_scored: false,
                highlights,
                corrections,
                versions,
                telling,
            };
        }
        weigh_common_words(&mut self.any);
        let is_scored = !self.any.is_empty() || !self.musts.is_empty();
        let is_restricted = !self.exact.is_empty() || !self.nots.is_empty();
        if is_scored && !is_restricted && self.musts.is_empty() && self.any.iter().all(Part::is_term) {
            let query = scored(&self.any, &self.sentences);
            return Compiled {
                query: query.unwrap_or_else(|| Box::new(EmptyQuery)),
                union: Some(distinct_terms(&self.any)),
                is_scored,
                highlights,
                corrections,
                versions,
                telling,
            };
        }
        let query = self.combine(is_restricted);
        Compiled { query, union: None, is_scored, highlights, corrections, versions, telling }
    }

    /// What must be, what restricts, what adds to the score and what must not be.
    fn combine(self, is_restricted: bool) -> Box<dyn Query> {
        let mut parts: Vec<(Occurrence, Box<dyn Query>)> = Vec::new();
        let any = scored(&self.any, &self.sentences);
        if self.musts.is_empty() && is_restricted {
            parts.extend(any.map(|any| (Occurrence::Must, any)));
        } else {
            parts.extend(self.musts.into_iter().map(|must| (Occurrence::Must, must)));
            parts.extend(any.map(|any| (Occurrence::Should, any)));
        }
        for values in self.exact.into_iter().filter_map(|(_, values)| union(values)) {
            parts.push((Occurrence::Must, Box::new(ConstScoreQuery::new(values, 0.0))));
        }
        if parts.is_empty() {
            parts.push((Occurrence::Must, Box::new(AllQuery)));
        }
        parts.extend(self.nots.into_iter().map(|not| (Occurrence::MustNot, not)));
        match parts.len() {
            1 => parts.remove(0).1,
            _ => Box::new(BooleanQuery::new(parts)),
        }
    }
}

fn exact_query(field: Field, value: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic))
}

fn union_of(parts: Vec<Part>) -> Option<Box<dyn Query>> {
    union(parts.iter().map(Part::to_query).collect())
}

/// Any of the parts. In a request of several sentences, which often names several needs, half of the score is
/// that of the best sentence.
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

/// Each word that is one term, once, with the largest of its boosts.
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
