//! An attempt to fetch a URL: its deadline and the errors that it ends with.

use std::time::Duration;

use reqwest::StatusCode;
use tokio::time::{Instant, timeout_at};

use super::target::Target;
use crate::{Error, Result};

/// An attempt to fetch a URL.
pub(super) struct Attempt {
    /// The requested URL, without secrets.
    pub shown: String,
    pub deadline: Instant,
}

impl Attempt {
    /// Runs one step of the attempt within the remaining time.
    pub async fn within<F: Future>(&self, doing: &'static str, work: F) -> Result<F::Output> {
        timeout_at(self.deadline, work).await.map_err(|_| self.timed_out(doing))
    }

    /// Waits for a permit for this host. Running out of time here is no fault of the host: [`Error::Busy`].
    pub async fn permit<T>(&self, host: &str, waiting: impl Future<Output = Option<T>>) -> Result<T> {
        let permit = timeout_at(self.deadline, waiting).await.ok().flatten();
        permit.ok_or_else(|| Error::Busy { host: host.into() })
    }

    pub fn timed_out(&self, doing: &'static str) -> Error {
        Error::TimedOut { url: self.shown.clone(), doing }
    }

    pub fn refused(&self, reason: impl Into<String>) -> Error {
        Error::Refused { url: self.shown.clone(), reason: reason.into() }
    }

    pub fn refused_at(&self, at: &Target, reason: String) -> Error {
        if at.is_redirect {
            self.refused(format!("it redirects to {}: {reason}", at.shown()))
        } else {
            self.refused(reason)
        }
    }

    /// A failure, with the answer that caused it, if there was one.
    pub fn failed(&self, status: Option<StatusCode>, reason: impl Into<String>) -> Error {
        let (url, status) = (self.shown.clone(), status.map(|status| status.as_u16()));
        Error::Failed { url, status, reason: reason.into(), retry_after: None, source: None }
    }

    /// An answer whose status means that there is no document, and how long its server asks to wait.
    pub fn unexpected(&self, status: StatusCode, pause: Option<Duration>) -> Error {
        let (url, reason) = (self.shown.clone(), format!("the server responded with {status}"));
        Error::Failed { url, status: Some(status.as_u16()), reason, retry_after: pause, source: None }
    }

    /// A connection that failed, or was cut off.
    pub fn interrupted(&self, doing: &'static str, error: reqwest::Error) -> Error {
        if error.is_timeout() {
            return self.timed_out(doing);
        }
        let error = error.without_url();
        let (url, reason) = (self.shown.clone(), format!("{doing} failed: {}", innermost(&error)));
        Error::Failed { url, status: None, reason, retry_after: None, source: Some(error.into()) }
    }
}

/// The cause that says most to a person.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
