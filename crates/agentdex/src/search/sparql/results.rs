//! Serialization of results.

use std::io;

use oxjsonld::JsonLdSerializer;
use oxttl::{NQuadsSerializer, NTriplesSerializer, TurtleSerializer};
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use spareval::{QueryEvaluationError, QueryResults, QuerySolutionIter, QueryTripleIter};

use super::meter::Exceeded;
use crate::{Error, Result, search::rdf::PREFIXES};

/// The most results.
const MAX_RESULTS: usize = 100_000;
/// Maximum size of the results in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Kind of the results of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Results of SELECT and ASK.
    Solutions,
    /// Results of CONSTRUCT and DESCRIBE.
    Statements,
}

/// Serialization format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// SPARQL 1.1 Query Results JSON Format.
    Json,
    /// SPARQL Query Results XML Format.
    Xml,
    /// SPARQL 1.1 Query Results CSV.
    Csv,
    /// SPARQL 1.1 Query Results TSV.
    Tsv,
    /// JSON-LD 1.1, expanded.
    JsonLd,
    /// N-Triples 1.1.
    NTriples,
    /// Turtle 1.1.
    Turtle,
    /// N-Quads 1.1.
    NQuads,
}

/// Formats with their media types and kinds, the default of each kind first.
const FORMATS: [(Format, &str, Kind); 8] = [
    (Format::Json, "application/sparql-results+json", Kind::Solutions),
    (Format::Xml, "application/sparql-results+xml", Kind::Solutions),
    (Format::Csv, "text/csv", Kind::Solutions),
    (Format::Tsv, "text/tab-separated-values", Kind::Solutions),
    (Format::JsonLd, "application/ld+json", Kind::Statements),
    (Format::NTriples, "application/n-triples", Kind::Statements),
    (Format::Turtle, "text/turtle", Kind::Statements),
    (Format::NQuads, "application/n-quads", Kind::Statements),
];

impl Format {
    /// Returns the formats for a kind of results with their media types, starting with the default.
    pub fn all_for(kind: Kind) -> impl Iterator<Item = (Format, &'static str)> {
        FORMATS.into_iter().filter(move |(.., of)| *of == kind).map(|(format, media_type, _)| (format, media_type))
    }
}

/// Writes results.
pub(super) fn write(results: QueryResults<'_>, format: Format) -> Result<Vec<u8>> {
    match (results, solutions_format(format)) {
        (QueryResults::Boolean(answer), Some(format)) => {
            QueryResultsSerializer::from_format(format).serialize_boolean_to_writer(Vec::new(), answer).map_err(failed)
        }
        (QueryResults::Solutions(solutions), Some(format)) => write_solutions(solutions, format),
        (QueryResults::Graph(statements), None) => write_statements(statements, format),
        _ => {
            let message = "its results can't be written in the requested format: SELECT and ASK support JSON, XML, \
                           CSV, and TSV; CONSTRUCT and DESCRIBE support JSON-LD, N-Triples, Turtle, and N-Quads";
            Err(Error::InvalidQuery { message: message.to_owned() })
        }
    }
}

fn solutions_format(format: Format) -> Option<QueryResultsFormat> {
    match format {
        Format::Json => Some(QueryResultsFormat::Json),
        Format::Xml => Some(QueryResultsFormat::Xml),
        Format::Csv => Some(QueryResultsFormat::Csv),
        Format::Tsv => Some(QueryResultsFormat::Tsv),
        _ => None,
    }
}

fn write_solutions(solutions: QuerySolutionIter<'_>, format: QueryResultsFormat) -> Result<Vec<u8>> {
    let variables = solutions.variables().to_vec();
    let mut written = Bounded::default();
    let serializer = QueryResultsSerializer::from_format(format);
    let mut serializer = serializer.serialize_solutions_to_writer(&mut written, variables).map_err(failed)?;
    for (number, solution) in solutions.enumerate() {
        let solution = solution.map_err(evaluation_error)?;
        if number == MAX_RESULTS {
            return Err(too_many());
        }
        serializer.serialize(&solution).map_err(failed)?;
    }
    serializer.finish().map_err(failed)?;
    Ok(written.0)
}

fn write_statements(statements: QueryTripleIter<'_>, format: Format) -> Result<Vec<u8>> {
    let mut triples = Vec::new();
    for statement in statements {
        triples.push(statement.map_err(evaluation_error)?);
        if triples.len() > MAX_RESULTS {
            return Err(too_many());
        }
    }
    let mut written = Bounded::default();
    let done = match format {
        Format::Turtle => PREFIXES
            .iter()
            .try_fold(TurtleSerializer::new(), |serializer, (prefix, namespace)| {
                serializer.with_prefix(*prefix, *namespace).map_err(io::Error::other)
            })
            .and_then(|serializer| {
                let mut serializer = serializer.for_writer(&mut written);
                triples.iter().try_for_each(|triple| serializer.serialize_triple(triple))?;
                serializer.finish().map(drop)
            }),
        Format::NTriples => {
            let mut serializer = NTriplesSerializer::new().for_writer(&mut written);
            triples.iter().try_for_each(|triple| serializer.serialize_triple(triple))
        }
        Format::NQuads => {
            let mut serializer = NQuadsSerializer::new().for_writer(&mut written);
            let default = oxrdf::GraphNameRef::DefaultGraph;
            triples.iter().try_for_each(|triple| serializer.serialize_quad(triple.as_ref().in_graph(default)))
        }
        _ => {
            let mut serializer = JsonLdSerializer::new().for_writer(&mut written);
            let default = oxrdf::GraphNameRef::DefaultGraph;
            triples
                .iter()
                .try_for_each(|triple| serializer.serialize_quad(triple.as_ref().in_graph(default)))
                .and_then(|()| serializer.finish().map(drop))
        }
    };
    done.map_err(failed)?;
    Ok(written.0)
}

/// Output of a query, up to [`MAX_BYTES`].
#[derive(Default)]
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::FileTooLarge {
        let message = format!("its results exceed {MAX_BYTES} bytes; add a LIMIT, or select less");
        return Error::QueryTooCostly { message };
    }
    Error::Io { doing: "writing the results of a SPARQL query".to_owned(), source: error }
}

fn too_many() -> Error {
    Error::QueryTooCostly { message: format!("it has more than {MAX_RESULTS} results; add a LIMIT") }
}

/// Maps an error of the evaluator to an [`Error`].
pub(super) fn evaluation_error(error: QueryEvaluationError) -> Error {
    match error {
        QueryEvaluationError::Dataset(source) => match source.downcast::<Exceeded>() {
            Ok(exceeded) => exceeded.into_error(),
            Err(source) => Error::Index { doing: "evaluating a SPARQL query", source },
        },
        error => Error::InvalidQuery { message: error.to_string() },
    }
}
