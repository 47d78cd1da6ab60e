//! Conversions from errors of the other agentdex crates.

use super::Error;
use crate::{convert, td};

impl From<td::Error> for Error {
    fn from(error: td::Error) -> Error {
        match error {
            td::Error::MalformedJson { line, column, message } => Error::MalformedJson { line, column, message },
            td::Error::NotSerializable { source } => Error::NotSerializable { source },
            td::Error::DocumentTooLarge { maximum } => Error::DocumentTooLarge { maximum },
            td::Error::LimitExceeded { what, maximum } => Error::LimitExceeded { what, maximum },
            td::Error::Invalid(report) => Error::Invalid(report),
            td::Error::InvalidPatch { message } => Error::InvalidPatch { message },
            td::Error::InvalidId { id, reason } => Error::InvalidId { id, reason },
            td::Error::UnexpectedId { id } => Error::UnexpectedId { id },
            td::Error::MissingId => Error::MissingId,
            td::Error::IdMismatch { expected, found } => Error::IdMismatch { expected, found },
            td::Error::NotRdf { reason } => Error::NotExpressible { format: "RDF", reason },
            td::Error::Overloaded { doing } => Error::Overloaded { doing },
            td::Error::ShuttingDown => Error::ShuttingDown,
            td::Error::Io { doing, source } => Error::Io { doing, source },
            other => Error::NotSerializable { source: other.into() },
        }
    }
}

impl From<convert::Error> for Error {
    fn from(error: convert::Error) -> Error {
        match error {
            convert::Error::MalformedJson { line, column, message } => Error::MalformedJson { line, column, message },
            convert::Error::MalformedYaml { line, column, message } => Error::MalformedYaml { line, column, message },
            convert::Error::DocumentTooLarge { maximum } => Error::DocumentTooLarge { maximum },
            convert::Error::LimitExceeded { what, maximum } => Error::LimitExceeded { what, maximum },
            convert::Error::InvalidSource { format, report } => Error::InvalidSource { format, report },
            convert::Error::UnclearFormat { message } => Error::UnclearFormat { message },
            convert::Error::NotExpressible { format, reason } => Error::NotExpressible { format, reason },
            convert::Error::Unsupported { what, instead } => Error::Unsupported { what, instead },
            convert::Error::InvalidSetting { origin, message } => Error::InvalidSetting { origin, message },
            convert::Error::Io { doing, source } => Error::Io { doing, source },
            convert::Error::Description(error) => error.into(),
            other => Error::NotSerializable { source: other.into() },
        }
    }
}

#[cfg(feature = "fetch")]
impl From<crate::fetch::Error> for Error {
    fn from(error: crate::fetch::Error) -> Error {
        use crate::fetch;

        match error {
            fetch::Error::Refused { url, reason } => Error::FetchRefused { url, reason },
            fetch::Error::Failed { url, status, reason, retry_after, source } => {
                Error::FetchFailed { url, status, reason, retry_after, source }
            }
            fetch::Error::TimedOut { url, doing } => Error::FetchTimedOut { url, doing },
            fetch::Error::Busy { host } => Error::FetchBusy { host },
            fetch::Error::InvalidSetting { origin, message } => Error::InvalidSetting { origin, message },
            other => Error::NotSerializable { source: other.into() },
        }
    }
}
