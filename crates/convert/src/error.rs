//! The errors of reading, converting and exporting documents of other formats.

use agentdex_td::{self as td, Report};

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of reading, converting or exporting a document, or of reading keys.
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
    /// The text is no YAML, or none that has a JSON form.
    #[error("malformed YAML at line {line}, column {column}: {message}")]
    MalformedYaml {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Explanation that quotes nothing of the text itself.
        message: String,
    },
    /// The document has more bytes than are taken.
    #[error("the document exceeds the limit of {maximum} bytes")]
    DocumentTooLarge {
        /// The most bytes that are taken.
        maximum: usize,
    },
    /// Something else is larger, deeper or more than is taken.
    #[error("{what} exceeds the limit of {maximum}")]
    LimitExceeded {
        /// Quantity that was measured, such as `JSON nesting depth` or `length of the id in bytes`.
        what: &'static str,
        /// The largest value that is taken.
        maximum: u64,
    },
    /// A document in another format breaks the rules of its format, or yields no Thing.
    #[error("the {format} document is invalid: {report}")]
    InvalidSource {
        /// The format's name, such as `agent-spec`.
        format: &'static str,
        /// All that is wrong with it.
        report: Report,
    },
    /// Nobody said which format a document is in, and it doesn't tell by itself.
    #[error("the format of the document is unclear: {message}")]
    UnclearFormat {
        /// Members that were looked for, or the formats that contradict each other.
        message: String,
    },
    /// A Thing has nothing that could be written in the other format.
    #[error("the Thing can't be exported as {format}: {reason}")]
    NotExpressible {
        /// The format's name, such as `agent-spec`.
        format: &'static str,
        /// Requirement that the Thing doesn't meet.
        reason: String,
    },
    /// It is not switched on here.
    #[error("this registry does not offer {what}: {instead}")]
    Unsupported {
        /// Feature that was requested.
        what: &'static str,
        /// Instructions to enable it, and the alternatives.
        instead: &'static str,
    },
    /// A setting isn't known, or can't have that value.
    #[error("{origin}: {message}")]
    InvalidSetting {
        /// Source of the setting: a file or a variable.
        origin: String,
        /// Explanation of the error, and a valid value.
        message: String,
    },
    /// A file or socket failed.
    #[error("{doing}: {source}")]
    Io {
        /// Operation that failed, with the path or address.
        doing: String,
        /// Why.
        source: std::io::Error,
    },
    /// The description that a document gives is refused.
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
