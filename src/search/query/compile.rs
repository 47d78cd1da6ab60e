//! From clauses and filters to one tantivy query.
//!
//! Bare words become one flat union of terms, which tantivy searches with block-max pruning; only
//! what asks for more than that pays for more.

use tantivy::{
    Searcher, Term,
    query::{
        AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur as Occurrence, PhrasePrefixQuery,
        PhraseQuery, Query, TermQuery, TermSetQuery,
    },
    schema::{Field, IndexRecordOption},
    tokenizer::TextAnalyzer,
};

use super::{Clause, ExactTerm, Occur, Pattern, Target, excluded::Excluded};
use crate::{
    Result,
    search::{
        FacetField, Filters,
        index::index_error,
        schema::{ExactField, Fields},
        snippet::Highlights,
        suggest, text,
    },
};

/// The most terms that a prefix is taken apart into, so that matches are ranked; beyond, they are alike.
const MOST_PREFIX_TERMS: usize = 64;

/// Whether words are taken as they are written, or for others that are spelled alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::search) enum Spelling {
    Exact,
    Fuzzy,
}

/// A query that can be searched.
pub(in crate::search) struct Compiled {
    pub query: Box<dyn Query>,
    /// Whether there are words, so that hits have a score.
    pub is_scored: bool,
    /// What is marked in the text of hits.
    pub highlights: Highlights,
}

/// Compiles clauses and filters; `expired` ids don't match.
pub(in crate::search) fn compile(
    searcher: &Searcher,
    fields: &Fields,
    clauses: &[Clause],
    filters: &Filters,
    expired: &[String],
    spelling: Spelling,
) -> Result<Compiled> {
    let mut compiler = Compiler::new(searcher, fields, spelling);
    for clause in clauses {
        compiler.add(clause)?;
    }
    if compiler.says_nothing() {
        compiler.add_stop_words(clauses);
    }
    for facet in FacetField::ALL {
        compiler.restrict(ExactField::Facet(facet), filters.values(facet));
    }
    if !expired.is_empty() {
        let ids = expired.iter().map(|id| Term::from_field_text(fields.id, id));
        compiler.nots.push(Box::new(TermSetQuery::new(ids)));
    }
    Ok(compiler.finish())
}

struct Compiler<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    spelling: Spelling,
    analyzer: TextAnalyzer,
    any: Vec<Box<dyn Query>>,
    musts: Vec<Box<dyn Query>>,
    nots: Vec<Box<dyn Query>>,
    /// Exact values by field: one of those within a field, of every field.
    exact: Vec<(Field, Vec<Box<dyn Query>>)>,
    /// Whether some clause is text that should be found.
    wants_text: bool,
    highlights: Highlights,
}

impl<'a> Compiler<'a> {
    fn new(searcher: &'a Searcher, fields: &'a Fields, spelling: Spelling) -> Compiler<'a> {
        Compiler {
            searcher,
            fields,
            spelling,
            analyzer: text::prose(),
            any: Vec::new(),
            musts: Vec::new(),
            nots: Vec::new(),
            exact: Vec::new(),
            wants_text: false,
            highlights: Highlights::default(),
        }
    }

    fn add(&mut self, clause: &Clause) -> Result<()> {
        match clause.target {
            Target::Text => self.add_text(self.fields.text, clause),
            Target::Title => self.add_text(self.fields.title, clause),
            Target::Description => self.add_text(self.fields.description, clause),
            Target::Id => {
                let query = self.exact_query(self.fields.id, &clause.pattern, str::to_owned);
                self.add_exact(self.fields.id, clause.occur, query);
                Ok(())
            }
            Target::Exact(field) => {
                let query = self
                    .exact_query(self.fields.exact(field), &clause.pattern, |value| ExactTerm::searched(field, value));
                self.add_exact(self.fields.exact(field), clause.occur, query);
                Ok(())
            }
        }
    }

    fn add_text(&mut self, field: Field, clause: &Clause) -> Result<()> {
        self.wants_text |= clause.occur != Occur::Not;
        let queries = match &clause.pattern {
            Pattern::Word(word) => self.word(field, word, clause.occur)?,
            Pattern::Phrase(phrase) => self.phrase(field, phrase, clause.occur)?,
            Pattern::Prefix(prefix) => self.prefix(field, prefix, clause.occur)?,
        };
        match clause.occur {
            Occur::Any => self.any.extend(queries),
            Occur::Must => self.musts.extend(union(queries)),
            Occur::Not => self.nots.extend(union(queries).map(|not| -> Box<dyn Query> { Box::new(Excluded(not)) })),
        }
        Ok(())
    }

    /// A word; one that is a name stands for its parts, or, where it must or must not be there, for
    /// its whole or its parts side by side.
    fn word(&mut self, field: Field, word: &str, occur: Occur) -> Result<Vec<Box<dyn Query>>> {
        let tokens = self.tokens(word);
        let (parts, wholes): (Vec<Token>, Vec<Token>) = tokens.into_iter().partition(|token| !token.is_whole);
        let side_by_side = parts.len() > 1
            && self.spelling == Spelling::Exact
            && (occur != Occur::Any || word.contains(text::is_ideographic));
        let mut queries = Vec::new();
        if side_by_side {
            self.highlight(occur, parts.iter());
            queries.push(phrase_query(field, &parts));
        } else {
            for part in &parts {
                queries.extend(self.terms(field, part, occur)?);
            }
        }
        for whole in &wholes {
            queries.extend(self.terms(field, whole, occur)?);
        }
        if occur == Occur::Any && field == self.fields.text && word.contains(':') {
            let id = Box::new(term_query(self.fields.id, word, IndexRecordOption::Basic));
            queries.push(Box::new(ConstScoreQuery::new(id, 100.0)));
        }
        Ok(queries)
    }

    /// Words side by side; spelled wrongly, each of them may be the word it is most like.
    fn phrase(&mut self, field: Field, phrase: &str, occur: Occur) -> Result<Vec<Box<dyn Query>>> {
        let mut parts: Vec<Token> = self.tokens(phrase).into_iter().filter(|token| !token.is_whole).collect();
        if let [word] = parts.as_slice() {
            return self.terms(field, word, occur);
        }
        if self.spelling == Spelling::Fuzzy && occur != Occur::Not {
            for part in &mut parts {
                match self.alike(field, &part.text)?.into_iter().next() {
                    Some((term, _)) => part.text = term,
                    None => return Ok(Vec::new()),
                }
            }
        }
        self.highlight(occur, parts.iter());
        Ok(if parts.is_empty() { Vec::new() } else { vec![phrase_query(field, &parts)] })
    }

    /// The terms that begin so, and the stem that the beginning may be cut to; of a name its whole.
    fn prefix(&mut self, field: Field, prefix: &str, occur: Occur) -> Result<Vec<Box<dyn Query>>> {
        let name_start = prefix.rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).map_or(0, |at| at + 1);
        let (before, name) = prefix.split_at(prefix.ceil_char_boundary(name_start));
        let begin: String = text::normalized(name).chars().filter(|c| c.is_alphanumeric()).collect();
        if begin.is_empty() {
            return self.word(field, prefix, occur);
        }
        let mut queries = Vec::new();
        for token in self.tokens(before) {
            queries.extend(self.terms(field, &token, occur)?);
        }
        let mut terms = suggest::terms_with_prefix(self.searcher, field, &begin, MOST_PREFIX_TERMS + 1)
            .map_err(index_error("looking up a prefix"))?;
        terms.extend(self.tokens(&begin).pop().map(|stem| stem.text).filter(|stem| !stem.starts_with(&begin)));
        if terms.len() > MOST_PREFIX_TERMS {
            queries.push(prefix_query(field, &begin));
        } else {
            let query =
                |term: &String| -> Box<dyn Query> { Box::new(term_query(field, term, IndexRecordOption::WithFreqs)) };
            queries.extend(terms.iter().map(query));
        }
        if occur != Occur::Not {
            self.highlights.prefixes.push(begin);
        }
        Ok(queries)
    }

    /// A term, or those that are spelled alike.
    fn terms(&mut self, field: Field, token: &Token, occur: Occur) -> Result<Vec<Box<dyn Query>>> {
        if self.spelling == Spelling::Exact || occur == Occur::Not {
            self.highlight(occur, [token].into_iter());
            return Ok(vec![Box::new(term_query(field, &token.text, IndexRecordOption::WithFreqs))]);
        }
        let alike = suggest::terms_alike(self.searcher, field, &token.text)
            .map_err(index_error("looking up words that are spelled alike"))?;
        let mut queries: Vec<Box<dyn Query>> = Vec::with_capacity(alike.len());
        for (term, distance) in alike {
            let query = Box::new(term_query(field, &term, IndexRecordOption::WithFreqs));
            queries.push(Box::new(BoostQuery::new(query, 1.0 / (1.0 + f32::from(distance)))));
            self.highlights.terms.insert(term);
        }
        Ok(queries)
    }

    fn alike(&self, field: Field, term: &str) -> Result<Vec<(String, u8)>> {
        suggest::terms_alike(self.searcher, field, term).map_err(index_error("looking up words that are spelled alike"))
    }

    fn exact_query(&self, field: Field, pattern: &Pattern, form: impl Fn(&str) -> String) -> Box<dyn Query> {
        match pattern {
            Pattern::Word(value) | Pattern::Phrase(value) => {
                Box::new(term_query(field, &form(value), IndexRecordOption::Basic))
            }
            Pattern::Prefix(prefix) => prefix_query(field, &form(prefix)),
        }
    }

    fn add_exact(&mut self, field: Field, occur: Occur, query: Box<dyn Query>) {
        match occur {
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
        let terms = values.iter().map(|value| {
            term_query(self.fields.exact(field), &ExactTerm::searched(field, value), IndexRecordOption::Basic)
        });
        let queries: Vec<Box<dyn Query>> = terms.map(|term| -> Box<dyn Query> { Box::new(term) }).collect();
        if !queries.is_empty() {
            self.exact.push((self.fields.exact(field), queries));
        }
    }

    fn says_nothing(&self) -> bool {
        self.wants_text && self.any.is_empty() && self.musts.is_empty()
    }

    /// Stop words alone are looked for where they are kept: in titles.
    fn add_stop_words(&mut self, clauses: &[Clause]) {
        let mut analyzer = text::names();
        for clause in clauses.iter().filter(|clause| clause.occur != Occur::Not) {
            let (Target::Text | Target::Title, Pattern::Word(text) | Pattern::Phrase(text)) =
                (clause.target, &clause.pattern)
            else {
                continue;
            };
            for token in tokens(&mut analyzer, text) {
                self.any.push(Box::new(term_query(self.fields.title, &token.text, IndexRecordOption::WithFreqs)));
            }
        }
    }

    fn highlight<'t>(&mut self, occur: Occur, tokens: impl Iterator<Item = &'t Token>) {
        if occur != Occur::Not {
            self.highlights.terms.extend(tokens.map(|token| token.text.clone()));
        }
    }

    fn tokens(&mut self, text: &str) -> Vec<Token> {
        tokens(&mut self.analyzer, text)
    }

    fn finish(mut self) -> Compiled {
        let highlights = std::mem::take(&mut self.highlights);
        let has_text = !self.any.is_empty() || !self.musts.is_empty();
        if self.wants_text && !has_text && self.exact.is_empty() {
            return Compiled { query: Box::new(EmptyQuery), is_scored: false, highlights };
        }
        let is_flat = self.exact.is_empty() && self.nots.is_empty();
        let mut parts: Vec<(Occurrence, Box<dyn Query>)> = Vec::new();
        if self.musts.is_empty() && !is_flat {
            parts.extend(union(self.any).map(|any| (Occurrence::Must, any)));
        } else {
            parts.extend(self.musts.into_iter().map(|must| (Occurrence::Must, must)));
            parts.extend(self.any.into_iter().map(|any| (Occurrence::Should, any)));
        }
        for (_, values) in self.exact {
            parts.extend(union(values).map(|values| -> (_, Box<dyn Query>) {
                (Occurrence::Must, Box::new(ConstScoreQuery::new(values, 0.0)))
            }));
        }
        if parts.is_empty() {
            parts.push((Occurrence::Must, Box::new(AllQuery)));
        }
        parts.extend(self.nots.into_iter().map(|not| (Occurrence::MustNot, not)));
        let query = match parts.len() {
            1 => parts.remove(0).1,
            _ => Box::new(BooleanQuery::new(parts)),
        };
        Compiled { query, is_scored: has_text, highlights }
    }
}

/// A word of the query as the index has it.
struct Token {
    text: String,
    position: usize,
    is_whole: bool,
}

fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    analyzer.token_stream(text).process(&mut |token| {
        tokens.push(Token { text: token.text.clone(), position: token.position, is_whole: token.position_length > 1 });
    });
    tokens
}

fn term_query(field: Field, text: &str, option: IndexRecordOption) -> TermQuery {
    TermQuery::new(Term::from_field_text(field, text), option)
}

fn phrase_query(field: Field, parts: &[Token]) -> Box<dyn Query> {
    let terms = parts.iter().map(|part| (part.position, Term::from_field_text(field, &part.text))).collect();
    Box::new(PhraseQuery::new_with_offset(terms))
}

/// All terms that begin so, alike in rank.
fn prefix_query(field: Field, prefix: &str) -> Box<dyn Query> {
    let mut query = PhrasePrefixQuery::new(vec![Term::from_field_text(field, prefix)]);
    query.set_max_expansions(u32::MAX);
    Box::new(query)
}

/// One query for any of several.
fn union(mut queries: Vec<Box<dyn Query>>) -> Option<Box<dyn Query>> {
    match queries.len() {
        0 => None,
        1 => queries.pop(),
        _ => Some(Box::new(BooleanQuery::union(queries))),
    }
}
