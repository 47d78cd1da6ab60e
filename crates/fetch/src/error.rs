//! The errors of fetching.

use std::time::Duration;

/// An error of a library underneath, which is the source.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of fetching a document. URLs are those that were asked for, without credentials and the text of their query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL isn't fetched: it isn't one of the public web, or leads to a place that isn't.
    #[error("{url} was not fetched: {reason}")]
    Refused {
        /// The URL that was asked for.
        url: String,
        /// The reason, and the setting by which the operator can allow it.
        reason: String,
    },
    /// A URL was asked for, and no document came back.
    #[error("fetching {url} failed: {reason}")]
    Failed {
        /// The URL that was asked for.
        url: String,
        /// The status of the answer, if there was one.
        status: Option<u16>,
        /// The response or error instead of a document.
        reason: String,
        /// The delay that its server asks for (`Retry-After`), if it does.
        retry_after: Option<Duration>,
        /// The cause.
        source: Option<BoxError>,
    },
    /// Fetching took longer than it may.
    #[error("fetching {url} took too long while {doing}")]
    TimedOut {
        /// The URL that was asked for.
        url: String,
        /// The phase, such as `connecting`.
        doing: &'static str,
    },
    /// Too many fetches are running: there was no turn in time.
    #[error("too many fetches in progress, in total or from {host}; try again later")]
    Busy {
        /// The host.
        host: String,
    },
    /// A setting isn't known, or can't have that value.
    #[error("{origin}: {message}")]
    InvalidSetting {
        /// The source of the setting: a file or a variable.
        origin: String,
        /// The mistake, and what would be right.
        message: String,
    },
}
