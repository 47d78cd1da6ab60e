//! Compilation of clauses and filters to a [`Predicate`], corresponding to [`query::compile`] for queries of an
//! index.

use tantivy::{schema::Field, tokenizer::TextAnalyzer};

use super::predicate::{Part, Predicate};
use crate::{
    Result,
    search::{
        Condition, FilterField, Filters,
        query::{
            self, Clause, ExactTerm, MOST_PAIRS, Occur, Pattern, Target, Token, exact_field, split_prefix, tokens,
        },
        schema::{self, Fields},
        text,
        versions::{ANY_TENANT, VersionTerms},
    },
};

/// Compiles clauses and filters.
///
/// # Errors
/// [`crate::Error::InvalidQuery`] for a range of versions that can't be read.
pub(super) fn compile(clauses: &[Clause], filters: &Filters) -> Result<Predicate> {
    let (_, fields) = schema::build();
    let mut compiler = Compiler {
        fields,
        analyzer: text::prose(),
        wants_text: false,
        exact: Vec::new(),
        predicate: Predicate::default(),
    };
    clauses.iter().for_each(|clause| compiler.add(clause));
    if compiler.says_nothing() {
        compiler.add_stop_words(clauses);
    }
    for (condition, field, values) in filters.given() {
        compiler.restrict(condition, field, values)?;
    }
    Ok(compiler.finish())
}

struct Compiler {
    fields: Fields,
    analyzer: TextAnalyzer,
    /// True if some clause is text that should be found.
    wants_text: bool,
    /// Exact values by field; at least one of each list is required.
    exact: Vec<(Field, Vec<Part>)>,
    predicate: Predicate,
}

impl Compiler {
    fn add(&mut self, clause: &Clause) {
        match clause.target {
            Target::Text => self.add_text(self.fields.text, clause),
            Target::Title => self.add_text(self.fields.title, clause),
            Target::Description => self.add_text(self.fields.description, clause),
            Target::Id => self.add_exact(self.fields.id, clause, str::to_owned),
            Target::Exact(field) => {
                self.add_exact(self.fields.exact(field), clause, |value| ExactTerm::searched(field, value));
            }
        }
    }

    fn add_text(&mut self, field: Field, clause: &Clause) {
        self.wants_text |= clause.occur != Occur::Not;
        let parts = match &clause.pattern {
            // A saved query isn't being typed.
            Pattern::Word(word) | Pattern::Begun(word) => self.word(field, word, clause.occur),
            Pattern::Phrase(phrase) => self.phrase(field, phrase),
            Pattern::Prefix(prefix) => self.prefix(field, prefix, clause.occur),
        };
        match clause.occur {
            Occur::Any => self.predicate.any.extend(parts),
            Occur::Must => self.predicate.musts.extend((!parts.is_empty()).then_some(parts)),
            Occur::Not => self.predicate.nots.extend(parts),
        }
    }

    fn add_exact(&mut self, field: Field, clause: &Clause, form: impl Fn(&str) -> String) {
        let part = match &clause.pattern {
            Pattern::Word(value) | Pattern::Phrase(value) => Part::Term(field, form(value).into()),
            Pattern::Prefix(prefix) | Pattern::Begun(prefix) => Part::Beginning(field, form(prefix).into()),
        };
        match clause.occur {
            Occur::Not => self.predicate.nots.push(part),
            Occur::Must => self.exact.push((field, vec![part])),
            Occur::Any => match self.exact.iter_mut().find(|(other, _)| *other == field) {
                Some((_, parts)) => parts.push(part),
                None => self.exact.push((field, vec![part])),
            },
        }
    }

    fn word(&mut self, field: Field, word: &str, occur: Occur) -> Vec<Part> {
        let (parts, mut wholes): (Vec<Token>, Vec<Token>) =
            tokens(&mut self.analyzer, word).into_iter().partition(|token| !token.is_whole());
        wholes.retain(|whole| occur == Occur::Any || whole.is_whole_of(&parts));
        let mut found = match occur {
            Occur::Any => any_of(field, &parts),
            _ if parts.len() > 1 => vec![side_by_side(field, &parts)],
            _ => parts.iter().map(|part| of_token(field, part)).collect(),
        };
        found.extend(wholes.iter().map(|whole| of_token(field, whole)));
        if occur == Occur::Any && field == self.fields.text && query::may_be_id(word) {
            found.push(Part::Term(self.fields.id, word.into()));
        }
        found
    }

    fn phrase(&mut self, field: Field, phrase: &str) -> Vec<Part> {
        let mut parts = tokens(&mut self.analyzer, phrase);
        parts.retain(|token| !token.is_whole());
        match parts.as_slice() {
            [] => Vec::new(),
            [word] => vec![of_token(field, word)],
            parts => vec![side_by_side(field, parts)],
        }
    }

    /// Returns the parts for a prefix: terms with this prefix, the stem to which it may be cut, or a word before the
    /// name.
    fn prefix(&mut self, field: Field, prefix: &str, occur: Occur) -> Vec<Part> {
        let (before, beginning) = split_prefix(prefix);
        if beginning.is_empty() {
            return self.word(field, prefix, occur);
        }
        let mut parts: Vec<Part> =
            tokens(&mut self.analyzer, before).iter().map(|token| of_token(field, token)).collect();
        let stem = tokens(&mut self.analyzer, &beginning).pop().map(|stem| stem.text);
        let stem = stem.filter(|stem| !stem.starts_with(&beginning));
        parts.extend(stem.map(|stem| Part::Term(field, stem.into())));
        parts.push(Part::Beginning(field, beginning.into()));
        parts
    }

    fn restrict(&mut self, condition: Condition, field: FilterField, values: &[String]) -> Result<()> {
        let exact = self.fields.exact(exact_field(field));
        match condition {
            Condition::AnyOf => {
                let any = self.having(field, values)?;
                self.exact.push((exact, any));
            }
            Condition::AllOf => {
                for value in values {
                    let any = self.having(field, std::slice::from_ref(value))?;
                    self.exact.push((exact, any));
                }
            }
            Condition::NoneOf => {
                let any = self.having(field, values)?;
                self.predicate.nots.extend(any);
            }
        }
        Ok(())
    }

    fn having(&self, field: FilterField, values: &[String]) -> Result<Vec<Part>> {
        let exact = exact_field(field);
        let mut parts = Vec::with_capacity(values.len());
        for value in values {
            parts.push(Part::Term(self.fields.exact(exact), ExactTerm::searched(exact, value).into()));
            let (versions, field) = match field {
                FilterField::Capability => (VersionTerms::of_capability(value)?, self.fields.capability_version),
                FilterField::Version => (VersionTerms::of_thing(value)?, self.fields.version),
                _ => continue,
            };
            parts.extend(versions.map(|versions| Part::Version(field, versions)));
        }
        if field == FilterField::Tenant {
            parts.push(Part::Term(self.fields.tenant, ANY_TENANT.into()));
        }
        Ok(parts)
    }

    fn says_nothing(&self) -> bool {
        self.wants_text && self.predicate.any.is_empty() && self.predicate.musts.is_empty()
    }

    /// Adds a search in titles for a query that consists only of stop words, since other fields don't contain them.
    fn add_stop_words(&mut self, clauses: &[Clause]) {
        for clause in clauses.iter().filter(|clause| clause.occur != Occur::Not) {
            if matches!(clause.target, Target::Text | Target::Title) {
                let (Pattern::Word(text) | Pattern::Phrase(text) | Pattern::Prefix(text) | Pattern::Begun(text)) =
                    &clause.pattern;
                let words = tokens(&mut text::names(), text);
                let title = self.fields.title;
                self.predicate.any.extend(words.into_iter().map(|word| Part::Term(title, word.text.into())));
            }
        }
    }

    fn finish(self) -> Predicate {
        let is_never = self.says_nothing() && self.exact.is_empty();
        let exact = self.exact.into_iter().map(|(_, parts)| parts).collect();
        Predicate { is_never, exact, ..self.predicate }
    }
}

/// A word; the whole of a name has no forms in other languages.
fn of_token(field: Field, token: &Token) -> Part {
    if token.is_whole() {
        return Part::Term(field, token.text.as_str().into());
    }
    Part::Word { field, term: token.text.as_str().into(), written: token.written.as_str().into() }
}

/// The parts of a name, or the pairs of neighbors in a run of characters that are words each; any of them will do.
fn any_of(field: Field, parts: &[Token]) -> Vec<Part> {
    let mut found = Vec::new();
    let mut pairs: Vec<[&str; 2]> = Vec::new();
    for run in parts.chunk_by(|one, next| one.is_ideographic() && next.is_ideographic()) {
        if let [alone] = run {
            found.push(of_token(field, alone));
        }
        for pair in run.array_windows::<2>() {
            let texts = pair.each_ref().map(|token| token.text.as_str());
            if pairs.len() < MOST_PAIRS && !pairs.contains(&texts) {
                pairs.push(texts);
                found.push(side_by_side(field, pair));
            }
        }
    }
    found
}

fn side_by_side(field: Field, parts: &[Token]) -> Part {
    let start = parts.first().map_or(0, |first| first.position);
    let word = |token: &Token| {
        let distance = u32::try_from(token.position.saturating_sub(start)).unwrap_or(u32::MAX);
        (distance, token.text.as_str().into())
    };
    Part::Phrase(field, parts.iter().map(word).collect())
}
