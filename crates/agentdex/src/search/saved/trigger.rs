//! Terms required in a description for a query to match, as far as single terms can decide.

use tantivy::{Term, schema::Field};

use crate::{
    Result,
    search::{
        FacetField, Filters,
        query::{self, Clause, ExactTerm, Occur, Pattern, Target},
        schema::{self, ExactField, Fields},
        text::{self, Language},
        versions::Ranged,
    },
};

/// Terms required in a matching description.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// No requirement that single terms can express.
    Always,
    /// Any of these terms, a term with any of these prefixes, or any form of these words in the languages of the
    /// description. With `suffices`, such a term is also sufficient for a match.
    Terms { terms: Vec<Term>, beginnings: Vec<Term>, words: Vec<(Field, String)>, suffices: bool },
}

impl Trigger {
    pub fn of(clauses: &[Clause], filters: &Filters) -> Result<Trigger> {
        let (_, fields) = schema::build();
        let filtered = filtered(&fields, filters)?;
        let words = words(&fields, clauses);
        // Where one word must be there, those that may be there say nothing.
        let is_plain = clauses.iter().all(|clause| clause.target == Target::Text && clause.occur != Occur::Not)
            && clauses.iter().filter(|clause| clause.occur == Occur::Must).count() <= 1;
        Ok(match (words, filtered) {
            // Capabilities tell more apart than words, and these more than tags, types and vendors.
            (Some(words), filtered) if !filtered.as_ref().is_some_and(|filtered| filtered.is_capability) => {
                let suffices = words.suffices && is_plain && filters.is_empty();
                let Words { terms, beginnings, written, .. } = words;
                Trigger::Terms { terms, beginnings, words: written, suffices }
            }
            (_, Some(Filtered { terms, is_only, .. })) => {
                let suffices = is_only && clauses.is_empty();
                Trigger::Terms { terms, beginnings: Vec::new(), words: Vec::new(), suffices }
            }
            _ => Trigger::Always,
        })
    }

    /// True if the query matches every description that has one of the terms.
    pub fn suffices(&self) -> bool {
        matches!(self, Trigger::Terms { suffices: true, .. })
    }

    /// Returns the terms in a language.
    pub fn terms_in(&self, language: Language) -> impl Iterator<Item = Term> + '_ {
        let words = match self {
            Trigger::Terms { words, .. } => words.as_slice(),
            Trigger::Always => &[],
        };
        words.iter().filter_map(move |(field, word)| Some(Term::from_field_text(*field, &language.form_of(word)?)))
    }
}

/// Terms required by a filter.
struct Filtered {
    terms: Vec<Term>,
    /// True if there is no other filter.
    is_only: bool,
    is_capability: bool,
}

/// Returns the first filter that single terms can express.
fn filtered(fields: &Fields, filters: &Filters) -> Result<Option<Filtered>> {
    let mut by_field: Vec<(ExactField, &[String])> =
        FacetField::ALL.map(|facet| (ExactField::Facet(facet), filters.values(facet))).into();
    by_field.push((ExactField::Channel, &filters.channel));
    by_field.retain(|(_, values)| !values.is_empty());
    let is_only = filters.given().count() == 1;
    for (field, values) in by_field {
        let is_capability = field == ExactField::Facet(FacetField::Capability);
        // Which versions are in a range isn't a matter of single terms.
        let mut is_ranged = false;
        for value in values.iter().filter(|_| is_capability) {
            is_ranged |= Ranged::read(value)?.is_some();
        }
        if !is_ranged {
            let term = |value: &String| Term::from_field_text(fields.exact(field), &ExactTerm::searched(field, value));
            return Ok(Some(Filtered { terms: values.iter().map(term).collect(), is_only, is_capability }));
        }
    }
    Ok(None)
}

/// Terms required by the words of a query.
#[derive(Default)]
struct Words {
    terms: Vec<Term>,
    /// Beginnings of others.
    beginnings: Vec<Term>,
    /// Words with forms in other languages, as written in the query.
    written: Vec<(Field, String)>,
    /// True if one of them is also enough.
    suffices: bool,
}

fn words(fields: &Fields, clauses: &[Clause]) -> Option<Words> {
    let field = |target: Target| match target {
        Target::Text => Some(fields.text),
        Target::Title => Some(fields.title),
        Target::Description => Some(fields.description),
        Target::Id | Target::Exact(_) => None,
    };
    let terms_of = |clause: &Clause| -> Option<Words> {
        let field = field(clause.target)?;
        let (text, is_word) = match &clause.pattern {
            Pattern::Word(word) => (word, true),
            Pattern::Phrase(phrase) => (phrase, false),
            Pattern::Prefix(prefix) => return beginning(field, prefix),
            Pattern::Begun(_) => return None,
        };
        // What looks like an id is looked for as one too.
        if is_word && query::may_be_id(text) {
            return None;
        }
        let (mut parts, mut wholes, mut written) = (Vec::new(), Vec::new(), Vec::new());
        text::prose().token_stream(text).process(&mut |token| match token.position_length > 1 {
            true if is_word => wholes.push(token.text.clone()),
            true => {}
            false => {
                parts.push(token.text.clone());
                written.extend(text.get(token.offset_from..token.offset_to).map(|word| (field, word.to_owned())));
            }
        });
        let is_any_of_them = parts.len() + wholes.len() == 1 || is_word && clause.occur == Occur::Any;
        // Of words side by side all must be there, so one will do: the longest is likely rare.
        if !is_any_of_them && let Some(longest) = parts.iter().max_by_key(|part| part.len()).cloned() {
            parts = vec![longest];
            written.clear();
        }
        // Of a run of characters that are words each, two neighbours must be there.
        let suffices = is_any_of_them && (parts.len() == 1 || !text.contains(text::is_ideographic));
        let terms: Vec<Term> = parts.iter().chain(&wholes).map(|text| Term::from_field_text(field, text)).collect();
        (!terms.is_empty()).then_some(Words { terms, written, suffices, ..Words::default() })
    };
    let of = |occur: Occur| clauses.iter().filter(move |clause| clause.occur == occur);
    let is_text = |clause: &&Clause| field(clause.target).is_some();
    // A word that must be there is enough to tell; a word that says nothing restricts nothing.
    let musts = of(Occur::Must).filter(is_text).filter_map(terms_of).min_by_key(|words| words.terms.len());
    if let Some(words) = musts {
        return Some(words);
    }
    let has_exact = clauses.iter().any(|clause| field(clause.target).is_none() && clause.occur != Occur::Not);
    if of(Occur::Must).any(|clause| field(clause.target).is_some()) || has_exact {
        return None;
    }
    let mut words = Words { suffices: true, ..Words::default() };
    for clause in of(Occur::Any) {
        let mut analyzed = Vec::new();
        if let Pattern::Word(text) | Pattern::Phrase(text) = &clause.pattern {
            text::prose().token_stream(text).process(&mut |token| analyzed.push(token.text.clone()));
            if analyzed.is_empty() {
                // A stop word, which counts only where there is nothing else.
                continue;
            }
        }
        let of_clause = terms_of(clause)?;
        words.suffices &= of_clause.suffices;
        words.terms.extend(of_clause.terms);
        words.beginnings.extend(of_clause.beginnings);
        words.written.extend(of_clause.written);
    }
    (!words.terms.is_empty() || !words.beginnings.is_empty()).then_some(words)
}

/// Returns the terms for a prefix, and the stem to which it may be cut, or `None` for a prefix of several words.
fn beginning(field: Field, prefix: &str) -> Option<Words> {
    let begun = text::normalized(prefix);
    if begun.is_empty() || ![prefix, begun.as_str()].iter().all(|text| text.chars().all(text::is_of_word)) {
        return None;
    }
    let mut stem = None;
    text::prose().token_stream(&begun).process(&mut |token| stem = Some(token.text.clone()));
    stem = stem.filter(|stem| !stem.starts_with(&begun));
    let terms = stem.iter().map(|stem| Term::from_field_text(field, stem)).collect();
    let beginnings = vec![Term::from_field_text(field, &begun)];
    Some(Words { terms, beginnings, written: Vec::new(), suffices: true })
}
