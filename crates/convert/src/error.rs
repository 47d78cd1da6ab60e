//! Errors of parsing, converting, and exporting documents in other formats.

use agentdex_td::{self as td, Report};

/// The result of fallible operations of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error while reading, converting, or exporting a document, or reading keys.
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
        /// Message of the parser.
        message: String,
    },
    /// The text is not YAML, or can't be represented in JSON.
    #[error("malformed YAML at line {line}, column {column}: {message}")]
    MalformedYaml {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Explanation, without quoting the text.
        message: String,
    },
    /// The document is larger than allowed.
    #[error("the document exceeds the limit of {maximum} bytes")]
    DocumentTooLarge {
        /// Maximum size in bytes.
        maximum: usize,
    },
    /// Another quantity exceeds its limit.
    #[error("{what} exceeds the limit of {maximum}")]
    LimitExceeded {
        /// Name of the quantity, such as `JSON nesting depth` or `length of the id in bytes`.
        what: &'static str,
        /// Maximum value.
        maximum: u64,
    },
    /// A document in another format breaks the rules of its format, or can't be converted to a
    /// Thing.
    #[error("the {format} document is invalid: {report}")]
    InvalidSource {
        /// Name of the format, such as `agent-spec`.
        format: &'static str,
        /// All faults of the document.
        report: Report,
    },
    /// The format of a document was not given, and can't be detected.
    #[error("the format of the document is unclear: {message}")]
    UnclearFormat {
        /// The members that were expected, or the formats that contradict each other.
        message: String,
    },
    /// A Thing can't be expressed in the other format.
    #[error("the Thing can't be exported as {format}: {reason}")]
    NotExpressible {
        /// Name of the format, such as `agent-spec`.
        format: &'static str,
        /// Requirement of the format that the Thing doesn't meet.
        reason: String,
    },
    /// The feature is not enabled.
    #[error("this registry does not offer {what}: {instead}")]
    Unsupported {
        /// Requested feature.
        what: &'static str,
        /// Instructions for enabling the feature, and alternatives.
        instead: &'static str,
    },
    /// A setting is unknown, or has an invalid value.
    #[error("{origin}: {message}")]
    InvalidSetting {
        /// Source of the setting: a file or a variable.
        origin: String,
        /// Explanation of the error, and a valid value.
        message: String,
    },
    /// An operation on a file or socket failed.
    #[error("{doing}: {source}")]
    Io {
        /// Failed operation, with the path or address.
        doing: String,
        /// Underlying error.
        source: std::io::Error,
    },
    /// The description created from a document is invalid.
    #[error(transparent)]
    Description(td::Error),
}

impl From<td::Error> for Error {
    fn from(error: td::Error) -> Error {
        match error {
            td::Error::MalformedJson { line, column, message } => Error::MalformedJson { line, column, message },
            td::Error::DocumentTooLarge { maximum } => Error::DocumentTooLarge { maximum },
            td::Error::LimitExceeded { what, maximum } => Error::LimitExceeded { what, maximum },
            other => Error::Description(other),
        }
    }
}
