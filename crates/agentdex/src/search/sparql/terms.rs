//! Terms and their numbers.

use std::{collections::HashMap, sync::Arc};

use oxrdf::{BlankNode, Literal, NamedNode, Term};

use crate::td::json_ld::Term as Described;

/// Numbers from here on are blank nodes, which have no entry.
pub(super) const FIRST_BLANK: u32 = 1 << 31;
/// Numbers from here on are terms that a query made.
pub(super) const FIRST_COMPUTED: u32 = 3 << 30;

const XSD_STRING: &str = "http://www.w3.org/2001/XMLSchema#string";

/// First byte of an entry: its kind.
const IRI: u8 = 0;
const STRING: u8 = 1;
const TAGGED: u8 = 2;
const TYPED: u8 = 3;

/// IRIs and values with their numbers: each is stored once, as short as it can be.
#[derive(Debug, Default)]
pub(super) struct Terms {
    entries: Vec<Arc<[u8]>>,
    numbers: HashMap<Arc<[u8]>, u32>,
}

impl Terms {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of an entry, adding the entry if it is new, or `None` if there are too many entries.
    pub fn add(&mut self, entry: &[u8]) -> Option<u32> {
        if let Some(number) = self.numbers.get(entry) {
            return Some(*number);
        }
        let number = u32::try_from(self.entries.len()).ok().filter(|&number| number < FIRST_BLANK)?;
        let entry: Arc<[u8]> = entry.into();
        self.entries.push(entry.clone());
        self.numbers.insert(entry, number);
        Some(number)
    }

    /// Returns the number of an existing entry.
    pub fn find(&self, entry: &[u8]) -> Option<u32> {
        self.numbers.get(entry).copied()
    }

    /// Returns the entry with the given number.
    pub fn entry(&self, number: u32) -> Option<&[u8]> {
        self.entries.get(number as usize).map(|entry| &**entry)
    }

    /// Returns the term with the given number. Blank nodes are named by their number.
    pub fn term(&self, number: u32) -> Option<Term> {
        if number >= FIRST_BLANK {
            return Some(BlankNode::new_unchecked(format!("b{}", number - FIRST_BLANK)).into());
        }
        let (kind, text) = self.entry(number)?.split_first()?;
        let text = std::str::from_utf8(text).ok()?;
        Some(match *kind {
            IRI => NamedNode::new_unchecked(text).into(),
            STRING => Literal::new_simple_literal(text).into(),
            TAGGED => {
                let (language, value) = text.split_once('\0')?;
                Literal::new_language_tagged_literal_unchecked(value, language).into()
            }
            _ => {
                let (datatype, value) = text.split_once('\0')?;
                Literal::new_typed_literal(value, NamedNode::new_unchecked(datatype)).into()
            }
        })
    }

    /// Returns an upper bound of the length of a term's value, in bytes.
    pub fn len_of(&self, number: u32) -> usize {
        self.entry(number).map_or(0, <[u8]>::len)
    }
}

/// The entry of an IRI.
pub(super) fn iri_entry(iri: &str) -> Vec<u8> {
    joined(IRI, "", iri)
}

/// Returns the entry for a term of a description, or `None` for a blank node.
pub(super) fn described_entry(term: &Described) -> Option<Vec<u8>> {
    Some(match term {
        Described::Iri(iri) => iri_entry(iri),
        Described::Blank(_) => return None,
        Described::Literal { value, language: Some(language), .. } => joined(TAGGED, language, value),
        Described::Literal { value, datatype, .. } if &**datatype == XSD_STRING => joined(STRING, "", value),
        Described::Literal { value, datatype, .. } => joined(TYPED, datatype, value),
    })
}

/// Returns the entry for a term of a query, or `None` for a blank node.
pub(super) fn entry(term: &Term) -> Option<Vec<u8>> {
    Some(match term {
        Term::NamedNode(node) => iri_entry(node.as_str()),
        Term::BlankNode(_) => return None,
        Term::Literal(literal) => match literal.language() {
            Some(language) => joined(TAGGED, language, literal.value()),
            None if literal.datatype().as_str() == XSD_STRING => joined(STRING, "", literal.value()),
            None => joined(TYPED, literal.datatype().as_str(), literal.value()),
        },
    })
}

fn joined(kind: u8, before: &str, text: &str) -> Vec<u8> {
    let mut entry = Vec::with_capacity(before.len() + text.len() + 2);
    entry.push(kind);
    if kind == TAGGED || kind == TYPED {
        entry.extend_from_slice(before.as_bytes());
        entry.push(0);
    }
    entry.extend_from_slice(text.as_bytes());
    entry
}
