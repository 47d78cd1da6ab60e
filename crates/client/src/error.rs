//! The errors of a client.

use agentdex_api::Problem;

use agentdex_td::BoxError;

/// Error of a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL of the registry can't be used.
    #[error("{url:?} is not the URL of a registry: {reason}; for example http://127.0.0.1:8080")]
    InvalidUrl {
        /// URL as given.
        url: String,
        /// Reason for the rejection.
        reason: String,
    },
    /// The API key doesn't have the format `adx_<id>_<secret>`, or an access token is empty or contains invalid
    /// characters.
    #[error(
        "malformed API key or access token; a key has the form adx_<id>_<secret>, as printed by \
         `agentdex keys create`, and a token the form <header>.<payload>.<signature> (JWT)"
    )]
    InvalidApiKey,
    /// A certificate or private key is missing or invalid.
    #[error("the certificate can't be used: {reason}; use PEM format, which starts with -----BEGIN CERTIFICATE-----")]
    InvalidCertificate {
        /// Reason for the rejection.
        reason: String,
    },
    /// The registry can't be reached, or the connection failed.
    #[error("the registry at {url} can't be reached: {reason}")]
    Unreachable {
        /// URL of the registry, or of a request whose response was interrupted.
        url: String,
        /// Innermost cause, such as `Connection refused`.
        reason: String,
        /// Error of the HTTP library.
        source: BoxError,
    },
    /// The registry answered with an error status. If the body is not a problem document, the problem contains at most
    /// the status and a `detail`.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// The response doesn't have the expected form.
    #[error("the response is not {expected}: {reason}; check that the URL is that of an agentdex registry")]
    UnexpectedAnswer {
        /// Description of the expected response, such as `a list of changes`.
        expected: &'static str,
        /// Difference from the expected response, such as a missing header.
        reason: String,
    },
    /// The response exceeds its size limit.
    #[error("the response of the registry exceeds the limit of {limit} bytes")]
    AnswerTooLarge {
        /// Limit in bytes.
        limit: usize,
    },
}

impl Error {
    pub(super) fn unreachable(url: String, source: reqwest::Error) -> Error {
        let mut innermost: &dyn std::error::Error = &source;
        while let Some(next) = innermost.source() {
            innermost = next;
        }
        Error::Unreachable { url, reason: reason_of(&innermost.to_string()), source: source.into() }
    }

    /// Returns the problem document of [`Error::Refused`], or `None` for other errors.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::Refused(problem) => Some(problem),
            _ => None,
        }
    }

    /// True if the registry answered that the requested resource doesn't exist (`not-found`).
    pub fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|problem| problem.code == "not-found")
    }

    /// True if a precondition doesn't hold: the Thing or query changed meanwhile, or exists already.
    pub fn is_conflict(&self) -> bool {
        self.problem().is_some_and(|problem| problem.status == 412)
    }

    /// True if another attempt may succeed, because the registry is busy or can't be reached.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Unreachable { .. } => true,
            Error::Refused(problem) => matches!(problem.status, 429 | 502..=504),
            _ => false,
        }
    }
}

/// Returns the reason why no connection was made, in words that say what to do where the libraries don't.
fn reason_of(innermost: &str) -> String {
    if innermost.contains("InvalidContentType") {
        return "it doesn't speak TLS; write http:// instead of https://".to_owned();
    }
    if innermost.starts_with("invalid HTTP version") || innermost.starts_with("invalid HTTP header") {
        return format!("it doesn't speak HTTP ({innermost}); check the port");
    }
    innermost.to_owned()
}

/// Reads a body; one that is not a problem document becomes the detail.
pub(super) fn read_problem(status: u16, body: &str) -> Problem {
    let problem: Option<Problem> = serde_json::from_str(body).ok();
    let problem = problem.unwrap_or_else(|| {
        // Pages are for people in a browser.
        let text = body.trim_start();
        let text = if text.starts_with('<') { "a web server responded, not a registry" } else { text.trim_end() };
        let detail = Some(text.chars().take(200).collect()).filter(|detail: &String| !detail.is_empty());
        Problem { detail, ..Problem::default() }
    });
    Problem { status, ..problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_document_is_read() {
        let body = r#"{"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "invalid", "code": "invalid-thing-description",
            "validationErrors": [{"field": "(root)", "description": "needs a title"}], "instance": "/things"}"#;
        let problem = read_problem(400, body);
        assert_eq!(problem.to_string(), "invalid (status 400)");
        assert_eq!(problem.validation_errors[0].field, "(root)");
    }

    #[test]
    fn body_that_is_not_a_problem_document_is_quoted_unless_it_is_a_page() {
        assert_eq!(read_problem(502, "no upstream").to_string(), "no upstream (status 502)");
        let page = read_problem(404, "\n<!DOCTYPE HTML>\n<title>Not found</title>");
        assert_eq!(page.to_string(), "a web server responded, not a registry (status 404)");
        assert_eq!(read_problem(500, "").to_string(), "the registry responded with status 500");
    }
}
