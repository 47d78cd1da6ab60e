//! The errors of fetching.

use std::time::Duration;

/// An error of a dependency, used as the source of other errors.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of fallible operations of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error while fetching a document. URLs are the requested ones, without credentials and query values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL isn't fetched: it isn't public, or leads to a destination that isn't.
    #[error("{url} was not fetched: {reason}")]
    Refused {
        /// The requested URL.
        url: String,
        /// The reason, and the setting by which the operator can allow it.
        reason: String,
    },
    /// A URL was requested, and no document was returned.
    #[error("fetching {url} failed: {reason}")]
    Failed {
        /// The requested URL.
        url: String,
        /// The status of the answer, if there was one.
        status: Option<u16>,
        /// The response or error instead of a document.
        reason: String,
        /// The delay that its server requests, if any (`Retry-After`).
        retry_after: Option<Duration>,
        /// The cause.
        source: Option<BoxError>,
    },
    /// Fetching took too long.
    #[error("fetching {url} took too long while {doing}")]
    TimedOut {
        /// The requested URL.
        url: String,
        /// The phase, such as `connecting`.
        doing: &'static str,
    },
    /// Too many fetches are running; this one didn't get its turn in time.
    #[error("too many fetches are in progress, in total or from {host}; try again later")]
    Busy {
        /// The host.
        host: String,
    },
    /// A setting is unknown, or has an invalid value.
    #[error("{origin}: {message}")]
    InvalidSetting {
        /// The source of the setting: a file or a variable.
        origin: String,
        /// The mistake, and what would be right.
        message: String,
    },
}
