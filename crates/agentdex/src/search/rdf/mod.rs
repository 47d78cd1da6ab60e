//! Serialization of statements in RDF syntaxes.

use std::io;

use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term};
use oxttl::{NQuadsSerializer, TurtleSerializer};

use crate::{
    Error, Result,
    td::json_ld::{self as statement, Statements},
};

/// Prefixes for Turtle.
pub(super) const PREFIXES: [(&str, &str); 12] = [
    ("td", "https://www.w3.org/2019/wot/td#"),
    ("jsonschema", "https://www.w3.org/2019/wot/json-schema#"),
    ("wotsec", "https://www.w3.org/2019/wot/security#"),
    ("hctl", "https://www.w3.org/2019/wot/hypermedia#"),
    ("discovery", "https://www.w3.org/2022/wot/discovery-ontology#"),
    ("dct", "http://purl.org/dc/terms/"),
    ("schema", "http://schema.org/"),
    ("htv", "http://www.w3.org/2011/http#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("lmos", "lmos:"),
    ("agentdex", "agentdex:"),
];

/// An RDF syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// N-Quads 1.1.
    NQuads,
    /// Turtle 1.1. It has no named graphs, so statements in named graphs are left out.
    Turtle,
}

impl Syntax {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Syntax::NQuads => "application/n-quads",
            Syntax::Turtle => "text/turtle",
        }
    }

    /// Returns the short name: `nq` or `ttl`.
    pub fn name(self) -> &'static str {
        match self {
            Syntax::NQuads => "nq",
            Syntax::Turtle => "ttl",
        }
    }

    /// Serializes statements.
    ///
    /// # Errors
    /// [`Error::Io`] if the serializer fails.
    pub fn write(self, statements: &Statements) -> Result<Vec<u8>> {
        let written = match self {
            Syntax::NQuads => write_n_quads(statements),
            Syntax::Turtle => write_turtle(statements),
        };
        written.map_err(|source| Error::Io { doing: "writing RDF".to_owned(), source })
    }
}

fn write_n_quads(statements: &Statements) -> io::Result<Vec<u8>> {
    let mut serializer = NQuadsSerializer::new().for_writer(Vec::new());
    for quad in statements.quads.iter().filter_map(|quad| to_quad(quad, "b")) {
        serializer.serialize_quad(&quad)?;
    }
    Ok(serializer.finish())
}

fn write_turtle(statements: &Statements) -> io::Result<Vec<u8>> {
    let mut serializer = TurtleSerializer::new();
    for (prefix, namespace) in PREFIXES {
        serializer = serializer.with_prefix(prefix, namespace).map_err(io::Error::other)?;
    }
    let mut serializer = serializer.for_writer(Vec::new());
    for quad in statements.quads.iter().filter(|quad| quad.graph.is_none()).filter_map(|quad| to_quad(quad, "b")) {
        serializer.serialize_triple(quad.as_ref())?;
    }
    Ok(with_sorted_prefixes(&serializer.finish()?))
}

/// The serializer declares prefixes in any order; the same statements are to be the same text.
fn with_sorted_prefixes(turtle: &[u8]) -> Vec<u8> {
    let mut prefixes: Vec<&[u8]> =
        turtle.split_inclusive(|byte| *byte == b'\n').take_while(|line| line.starts_with(b"@prefix ")).collect();
    let length = prefixes.iter().map(|line| line.len()).sum();
    prefixes.sort_unstable();
    let mut sorted = prefixes.concat();
    sorted.extend_from_slice(turtle.get(length..).unwrap_or_default());
    sorted
}

/// Converts a statement to the types of the RDF crates. `scope` is the prefix for the names of blank nodes.
pub(super) fn to_quad(quad: &statement::Quad, scope: &str) -> Option<Quad> {
    let subject = to_node(&quad.subject, scope)?;
    let graph = match &quad.graph {
        Some(graph) => to_node(graph, scope)?.into(),
        None => GraphName::DefaultGraph,
    };
    Some(Quad::new(subject, NamedNode::new_unchecked(&*quad.predicate), to_term(&quad.object, scope), graph))
}

fn to_node(term: &statement::Term, scope: &str) -> Option<NamedOrBlankNode> {
    match to_term(term, scope) {
        Term::NamedNode(node) => Some(node.into()),
        Term::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}

/// A term as the RDF crates have it. IRIs and language tags were checked when the document was read.
pub(super) fn to_term(term: &statement::Term, scope: &str) -> Term {
    match term {
        statement::Term::Iri(iri) => NamedNode::new_unchecked(&**iri).into(),
        statement::Term::Blank(number) => BlankNode::new_unchecked(format!("{scope}{number}")).into(),
        statement::Term::Literal { value, language: Some(language), .. } => {
            Literal::new_language_tagged_literal_unchecked(value, language).into()
        }
        statement::Term::Literal { value, datatype, language: None } => {
            Literal::new_typed_literal(value, NamedNode::new_unchecked(&**datatype)).into()
        }
    }
}
