//! One fetch while it is under way: what it is about, until when, and what its failures are called.

use reqwest::StatusCode;
use tokio::time::{Instant, timeout_at};

use super::target::Target;
use crate::{Error, Result};

pub(super) struct Errand<'a> {
    /// The URL as it was asked for.
    pub url: &'a str,
    pub deadline: Instant,
}

impl Errand<'_> {
    /// Does a part of it in the time that is left.
    pub async fn within<F: Future>(&self, doing: &'static str, work: F) -> Result<F::Output> {
        timeout_at(self.deadline, work).await.map_err(|_| self.timed_out(doing))
    }

    pub fn timed_out(&self, doing: &'static str) -> Error {
        Error::FetchTimedOut { url: self.url.into(), doing }
    }

    pub fn refused(&self, reason: impl Into<String>) -> Error {
        Error::FetchRefused { url: self.url.into(), reason: reason.into() }
    }

    pub fn refused_at(&self, at: &Target, reason: String) -> Error {
        if at.is_redirect {
            self.refused(format!("it redirects to {}: {reason}", at.as_str()))
        } else {
            self.refused(reason)
        }
    }

    /// Something that went wrong, with the answer that it went wrong with, if there was one.
    pub fn failed(&self, status: Option<StatusCode>, reason: impl Into<String>) -> Error {
        let status = status.map(|status| status.as_u16());
        Error::FetchFailed { url: self.url.into(), status, reason: reason.into(), source: None }
    }

    /// An answer with a status that brings no document.
    pub fn unexpected(&self, status: StatusCode) -> Error {
        self.failed(Some(status), format!("the answer is {status}"))
    }

    /// A connection that didn't come about, or broke off.
    pub fn interrupted(&self, doing: &'static str, error: reqwest::Error) -> Error {
        if error.is_timeout() {
            return self.timed_out(doing);
        }
        let error = error.without_url();
        let reason = format!("{doing} failed: {}", innermost(&error));
        Error::FetchFailed { url: self.url.into(), status: None, reason, source: Some(error.into()) }
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
