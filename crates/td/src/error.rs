//! The errors of reading, fixing and patching descriptions.

use crate::Report;

/// An error of a library underneath, which is the source.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of reading, validating or changing a description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON.
    #[error("malformed JSON at line {line}, column {column}: {message}")]
    MalformedJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's message, such as the token that it expected.
        message: String,
    },
    /// A value has no form in JSON.
    #[error("the value can't be written as JSON: {source}")]
    NotSerializable {
        /// Why.
        source: BoxError,
    },
    /// The document has more bytes than are taken.
    #[error("the document exceeds the limit of {maximum} bytes")]
    DocumentTooLarge {
        /// The most bytes that are taken.
        maximum: usize,
    },
    /// Something else is larger, deeper or more than are taken.
    #[error("{what} exceeds the limit of {maximum}")]
    LimitExceeded {
        /// The quantity that was measured, such as `JSON nesting depth` or `length of the id in bytes`.
        what: &'static str,
        /// The largest value that is taken.
        maximum: u64,
    },
    /// The document is not a valid Thing Description.
    #[error("the Thing Description is invalid: {0}")]
    Invalid(Report),
    /// The merge patch is not a JSON object, or touches what a client can't set.
    #[error("invalid merge patch: {message}")]
    InvalidPatch {
        /// The mistake, and what would be right.
        message: String,
    },
    /// The id is not an absolute URI and can't be made one.
    #[error("invalid id {id:?}: {reason}")]
    InvalidId {
        /// The id as given.
        id: String,
        /// The reason why it can't be used.
        reason: String,
    },
    /// A document that is to be created anonymously brings an id.
    #[error("the document has the id {id:?}, but was to be created without one; put it under its id instead")]
    UnexpectedId {
        /// The id in the document.
        id: String,
    },
    /// A document that needs an id has none.
    #[error(
        "the document has no `id`; add one that is an absolute URI, or let the registry assign one when it is created"
    )]
    MissingId,
    /// The id of the document isn't the one it is addressed by.
    #[error("the document has the id {found:?}, but is addressed as {expected:?}")]
    IdMismatch {
        /// The id in the address.
        expected: String,
        /// The id in the document.
        found: String,
    },
    /// The description is not valid JSON-LD, or says something that RDF can't.
    #[error("the Thing can't be exported as RDF: {reason}")]
    NotRdf {
        /// The reason.
        reason: String,
    },
    /// Too many descriptions wait to be read as JSON-LD.
    #[error("too much is being done at the moment: {doing}; try again later")]
    Overloaded {
        /// The work that was refused.
        doing: &'static str,
    },
    /// The thread that reads JSON-LD has ended.
    #[error("the registry is shutting down")]
    ShuttingDown,
    /// A thread can't be started.
    #[error("{doing}: {source}")]
    Io {
        /// The work that failed.
        doing: String,
        /// The reason.
        source: std::io::Error,
    },
}
