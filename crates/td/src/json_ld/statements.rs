//! Conversion of an expanded document to statements (JSON-LD 1.1 API, section 7).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use json_ld::{
    ExpandedDocument, Id, Node, Object, ValidId, Value,
    object::value::Literal,
    rdf_types::vocabulary::{BlankIdIndex, IndexVocabulary, IriIndex, IriVocabulary},
    syntax,
};

use super::{Quad, Term};

/// The namespaces that RDF itself needs.
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// From here on numbers are written as doubles.
const LEAST_DOUBLE: f64 = 1e21;

/// Reads a document.
pub(super) struct Reader<'a> {
    vocabulary: &'a IndexVocabulary,
    quads: Vec<Quad>,
    iris: HashMap<IriIndex, Arc<str>>,
    names: HashMap<String, Arc<str>>,
    blank: HashMap<BlankIdIndex, u32>,
    next_blank: u32,
    graph: Option<Term>,
}

impl<'a> Reader<'a> {
    pub fn new(vocabulary: &'a IndexVocabulary) -> Reader<'a> {
        Reader {
            vocabulary,
            quads: Vec::new(),
            iris: HashMap::new(),
            names: HashMap::new(),
            blank: HashMap::new(),
            next_blank: 0,
            graph: None,
        }
    }

    /// Returns all statements of a document, without duplicates.
    pub fn read(mut self, document: &ExpandedDocument<IriIndex, BlankIdIndex>) -> Vec<Quad> {
        for object in document.objects() {
            self.object(object.inner());
        }
        let mut seen = HashSet::with_capacity(self.quads.len());
        let is_new: Vec<bool> = self.quads.iter().map(|quad| seen.insert(quad)).collect();
        let mut is_new = is_new.into_iter();
        self.quads.retain(|_| is_new.next().unwrap_or_default());
        self.quads
    }

    fn push(&mut self, subject: &Term, predicate: Arc<str>, object: Term) {
        self.quads.push(Quad { subject: subject.clone(), predicate, object, graph: self.graph.clone() });
    }

    /// Reads an object and returns its term, or `None` if RDF can't express it.
    fn object(&mut self, object: &Object<IriIndex, BlankIdIndex>) -> Option<Term> {
        match object {
            Object::Node(node) => self.node(node),
            Object::Value(value) => self.value(value),
            Object::List(list) => {
                let items: Vec<Term> = list.iter().filter_map(|item| self.object(item.inner())).collect();
                let mut rest = Term::Iri(self.name(RDF, "nil"));
                for item in items.into_iter().rev() {
                    let cell = self.new_blank();
                    let (first, next) = (self.name(RDF, "first"), self.name(RDF, "rest"));
                    self.push(&cell, first, item);
                    self.push(&cell, next, rest);
                    rest = cell;
                }
                Some(rest)
            }
        }
    }

    /// A node and all statements about it. Of one whose id is not an IRI only what is below it is read.
    fn node(&mut self, node: &Node<IriIndex, BlankIdIndex>) -> Option<Term> {
        let subject = match &node.id {
            Some(id) => self.id(id),
            None => Some(self.new_blank()),
        };
        for class in node.types.iter().flatten() {
            if let (Some(subject), Some(class)) = (&subject, self.id(class)) {
                let is_a = self.name(RDF, "type");
                self.push(subject, is_a, class);
            }
        }
        for (property, objects) in node.properties.iter() {
            // What has no meaning in the context isn't there for RDF; blank nodes can't be properties.
            if matches!(property, Id::Invalid(_)) {
                continue;
            }
            let property = self.property(property);
            for object in objects {
                let object = self.object(object.inner());
                if let (Some(subject), Some(property), Some(object)) = (&subject, &property, object) {
                    self.push(subject, property.clone(), object);
                }
            }
        }
        for (property, nodes) in node.reverse_properties.iter().flat_map(|properties| properties.iter()) {
            let property = self.property(property);
            for other in nodes {
                let other = self.node(other.inner());
                if let (Some(subject), Some(property), Some(other)) = (&subject, &property, other) {
                    self.push(&other, property.clone(), subject.clone());
                }
            }
        }
        for included in node.included.iter().flatten() {
            self.node(included.inner());
        }
        if let (Some(graph), Some(subject)) = (&node.graph, &subject) {
            let outer = self.graph.replace(subject.clone());
            for object in graph {
                self.object(object.inner());
            }
            self.graph = outer;
        }
        subject
    }

    fn property(&mut self, id: &Id<IriIndex, BlankIdIndex>) -> Option<Arc<str>> {
        match self.id(id) {
            Some(Term::Iri(iri)) => Some(iri),
            _ => None,
        }
    }

    fn id(&mut self, id: &Id<IriIndex, BlankIdIndex>) -> Option<Term> {
        match id {
            Id::Valid(ValidId::Iri(iri)) => self.iri(iri).map(Term::Iri),
            Id::Valid(ValidId::Blank(blank)) => {
                let next = self.next_blank;
                let number = *self.blank.entry(*blank).or_insert(next);
                self.next_blank += u32::from(number == next);
                Some(Term::Blank(number))
            }
            Id::Invalid(_) => None,
        }
    }

    fn new_blank(&mut self) -> Term {
        self.next_blank += 1;
        Term::Blank(self.next_blank - 1)
    }

    fn iri(&mut self, iri: &IriIndex) -> Option<Arc<str>> {
        if let Some(known) = self.iris.get(iri) {
            return Some(known.clone());
        }
        let text: Arc<str> = self.vocabulary.iri(iri)?.as_str().into();
        self.iris.insert(*iri, text.clone());
        Some(text)
    }

    fn name(&mut self, namespace: &str, local: &str) -> Arc<str> {
        let name = format!("{namespace}{local}");
        self.names.entry(name).or_insert_with_key(|name| name.as_str().into()).clone()
    }

    fn value(&mut self, value: &Value<IriIndex>) -> Option<Term> {
        let (value, datatype) = match value {
            Value::Json(json) => {
                let mut json = json.clone();
                json.canonicalize();
                (json.to_string(), self.name(RDF, "JSON"))
            }
            Value::LangString(text) => match text.language() {
                Some(language) => {
                    // A tag that is not well-formed can't be said in RDF.
                    let language = language.as_well_formed()?.as_str().to_lowercase();
                    let datatype = self.name(RDF, "langString");
                    return Some(Term::Literal { value: text.as_str().to_owned(), datatype, language: Some(language) });
                }
                None => (text.as_str().to_owned(), self.name(XSD, "string")),
            },
            Value::Literal(literal, datatype) => {
                let datatype = match datatype {
                    Some(iri) => Some(self.iri(iri)?),
                    None => None,
                };
                let (value, own) = match literal {
                    Literal::Null => return None,
                    Literal::Boolean(value) => (value.to_string(), "boolean"),
                    Literal::String(text) => (text.to_string(), "string"),
                    Literal::Number(number) => {
                        let is_double = datatype.as_deref().and_then(|iri| iri.strip_prefix(XSD)) == Some("double");
                        lexical_form(number, is_double)
                    }
                };
                (value, datatype.unwrap_or_else(|| self.name(XSD, own)))
            }
        };
        Some(Term::Literal { value, datatype, language: None })
    }
}

/// A number in the canonical form of its type, and which one that is.
fn lexical_form(number: &syntax::Number, is_double: bool) -> (String, &'static str) {
    let text = number.as_str();
    let is_integer = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let value = text.parse::<f64>().unwrap_or_default();
    if !is_double && value.abs() < LEAST_DOUBLE && value.fract() == 0.0 {
        return match text {
            "-0" => ("0".to_owned(), "integer"),
            text if is_integer(text) => (text.to_owned(), "integer"),
            _ => (format!("{value:.0}"), "integer"),
        };
    }
    let scientific = format!("{value:.15E}");
    let (mantissa, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    let mantissa = mantissa.trim_end_matches('0');
    let digit = if mantissa.ends_with('.') { "0" } else { "" };
    (format!("{mantissa}{digit}E{exponent}"), "double")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_canonical_form_of_their_type() {
        for (number, is_double, expected) in [
            ("5", false, ("5", "integer")),
            ("-0", false, ("0", "integer")),
            ("5.0", false, ("5", "integer")),
            ("1e3", false, ("1000", "integer")),
            ("12345678901234567890", false, ("12345678901234567890", "integer")),
            ("1e21", false, ("1.0E21", "double")),
            ("5.25", false, ("5.25E0", "double")),
            ("5", true, ("5.0E0", "double")),
            ("0.001", false, ("1.0E-3", "double")),
        ] {
            let read = syntax::Number::new(number).map(|number| lexical_form(number, is_double));
            assert_eq!(read.ok(), Some((expected.0.to_owned(), expected.1)), "{number}");
        }
    }
}
