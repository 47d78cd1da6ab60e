//! Errors of parsing, fixing, and patching descriptions.

use crate::Report;

/// Error of an underlying library, as the source of an [`enum@Error`].
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Error of parsing, validating, or changing a description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON.
    #[error("malformed JSON at line {line}, column {column}: {message}")]
    MalformedJson {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// Message of the parser, for example about the expected token.
        message: String,
    },
    /// The value can't be represented in JSON.
    #[error("the value can't be written as JSON: {source}")]
    NotSerializable {
        /// Error of the serializer.
        source: BoxError,
    },
    /// The document is larger than the limit.
    #[error("the document exceeds the limit of {maximum} bytes")]
    DocumentTooLarge {
        /// Maximum size in bytes.
        maximum: usize,
    },
    /// A limit other than the size of the document is exceeded, such as the nesting depth.
    #[error("{what} exceeds the limit of {maximum}")]
    LimitExceeded {
        /// Name of the quantity, such as `JSON nesting depth` or `length of the id in bytes`.
        what: &'static str,
        /// Maximum value.
        maximum: u64,
    },
    /// The document is not a valid Thing Description.
    #[error("the Thing Description is invalid: {0}")]
    Invalid(Report),
    /// The merge patch is not a JSON object, or changes a member that clients can't set.
    #[error("invalid merge patch: {message}")]
    InvalidPatch {
        /// Description of the mistake and its correction.
        message: String,
    },
    /// The id is not an absolute URI, and can't be converted to one.
    #[error("invalid id {id:?}: {reason}")]
    InvalidId {
        /// The id as given.
        id: String,
        /// Reason for the rejection.
        reason: String,
    },
    /// The document contains an id, but was to be created without one.
    #[error(
        "the document has the id {id:?}, but this operation assigns ids itself; register the document under its own \
        id instead"
    )]
    UnexpectedId {
        /// The id in the document.
        id: String,
    },
    /// The document lacks the required id.
    #[error("the document has no `id`; add an absolute URI as its `id`, or let the registry assign an id on creation")]
    MissingId,
    /// The id in the document differs from the id in the address.
    #[error("the document has the id {found:?}, but the request names the id {expected:?}")]
    IdMismatch {
        /// The id in the address of the request.
        expected: String,
        /// The id in the document.
        found: String,
    },
    /// The description is not valid JSON-LD, or contains a statement that RDF can't express.
    #[error("the Thing can't be exported as RDF: {reason}")]
    NotRdf {
        /// Reason for the failure.
        reason: String,
    },
    /// The queue of descriptions to be read as JSON-LD is full.
    #[error("too many operations at once: {doing}; try again later")]
    Overloaded {
        /// Refused operation, such as `reading descriptions as JSON-LD`.
        doing: &'static str,
    },
    /// The thread that reads JSON-LD has terminated.
    #[error("the registry is shutting down")]
    ShuttingDown,
    /// A thread couldn't be started.
    #[error("{doing}: {source}")]
    Io {
        /// Failed operation, such as `starting a thread for JSON-LD`.
        doing: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
}
