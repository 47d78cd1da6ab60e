//! The one table from errors to statuses, and the problem documents (RFC 9457) that carry them.
//!
//! What went wrong inside is kept as the source, logged once by [`super::observe`], and never sent.

use std::borrow::Cow;

use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
};
use agentdex_api::ValidationError;
use serde_json::{Map, Value, json};

use crate::{
    Error, Precondition, Seq, convert, fetch,
    td::{self, Report, Violation},
};

/// The media type of problem documents.
pub(super) const PROBLEM_JSON: &str = "application/problem+json";
/// Maximum number of characters of a client's text that a message repeats.
const LONGEST_EXCERPT: usize = 100;

/// The response to a request that fails: status, headers and problem document.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    /// Empty where the status says it all.
    code: &'static str,
    detail: String,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    source: Option<Box<Error>>,
}

impl Problem {
    /// A problem that is not an [`Error`]: one of HTTP itself.
    pub(super) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, code, detail: detail.into(), members: Map::new(), headers: Vec::new(), source: None }
    }

    /// 400 for a query parameter or header that isn't understood.
    pub(super) fn invalid_parameter(name: &str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "invalid-parameter", detail).with("parameter", &*excerpt(name))
    }

    /// 404 for a path that nothing is served under.
    pub(super) fn unknown_path(path: &str) -> Problem {
        let detail = format!("there is no resource at {}; GET / lists the resources", excerpt(path));
        Problem::new(StatusCode::NOT_FOUND, "unknown-path", detail)
    }

    /// 405 that names the methods which are allowed.
    pub(super) fn method_not_allowed(method: &str, allow: &str) -> Problem {
        let detail = format!("{} is not allowed here; allowed: {allow}", excerpt(method));
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail).with_header(header::ALLOW, allow)
    }

    /// 413 for a body that is larger than allowed.
    pub(super) fn body_too_large(maximum: usize) -> Problem {
        let detail = format!("the body exceeds the limit of {maximum} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail).with("maximum", maximum)
    }

    /// 412 for a read whose conditions don't hold of what has this entity tag.
    pub(super) fn precondition_failed(tag: &str) -> Problem {
        let detail = format!("the precondition of the request is not met; the current entity tag is {tag}");
        Problem::new(StatusCode::PRECONDITION_FAILED, "precondition-failed", detail).with_header(header::ETAG, tag)
    }

    /// The problem of a response that fails without a problem document.
    pub(super) fn of_status(status: StatusCode) -> Problem {
        Problem::new(status, "", "")
    }

    /// The problem of a document that was fetched from this URL: the request was right, what came of it isn't.
    pub(super) fn of_fetched(error: Error, url: &str) -> Problem {
        let (error, url) = match error {
            Error::RejectedDocument { url, source } => (*source, Cow::Owned(url)),
            error => (error, fetch::shown(url).into()),
        };
        let mut problem = Problem::from(error);
        if matches!(problem.status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE) {
            problem.status = StatusCode::UNPROCESSABLE_ENTITY;
            problem.detail = format!("the document from {url} was rejected: {}", problem.detail);
            problem = problem.with("url", &*url);
        }
        problem
    }

    /// Says what is wrong in other words.
    pub(super) fn with_detail(mut self, detail: impl Into<String>) -> Problem {
        self.detail = detail.into();
        self
    }

    /// Answers with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Problem {
        Problem { status, ..self }
    }

    /// Adds a member to the document.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.members.insert(name.into(), value.into());
        self
    }

    /// Adds a header to the answer.
    pub(super) fn with_header(mut self, name: HeaderName, value: impl AsRef<str>) -> Problem {
        if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
            self.headers.push((name, value));
        }
        self
    }

    /// The HTTP status phrase: the kind of problem is named by the code, this problem by the detail.
    fn title(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Unknown status")
    }

    /// The status of the response.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The error inside, if it is the server's: not the client's, nor that of somebody who was asked.
    pub(super) fn internal(&self) -> Option<&Error> {
        let is_of_others = matches!(self.status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT);
        self.source.as_deref().filter(|_| self.status.is_server_error() && !is_of_others)
    }

    /// The problem document.
    pub(super) fn document(&self) -> agentdex_api::Problem {
        let (kind, code) = match self.code {
            "" => ("about:blank".to_owned(), self.title().to_ascii_lowercase().replace(' ', "-")),
            code => (format!("urn:agentdex:problem:{code}"), code.to_owned()),
        };
        agentdex_api::Problem {
            kind,
            title: self.title().to_owned(),
            status: self.status.as_u16(),
            code,
            detail: Some(self.detail.clone()).filter(|detail| !detail.is_empty()),
            validation_errors: Vec::new(),
            members: self.members.clone(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.detail.is_empty() { self.title() } else { &self.detail })
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        for (name, value) in &self.headers {
            response.append_header((name.clone(), value.clone()));
        }
        response.content_type(PROBLEM_JSON).body(json!(self.document()).to_string())
    }
}

impl From<td::Error> for Problem {
    fn from(error: td::Error) -> Problem {
        Error::from(error).into()
    }
}

impl From<convert::Error> for Problem {
    fn from(error: convert::Error) -> Problem {
        Error::from(error).into()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let error = match error {
            Error::OtherFormat { source, .. } | Error::RejectedDocument { source, .. } => *source,
            error => error,
        };
        let (status, code) = classify(&error);
        let detail = match status {
            StatusCode::INTERNAL_SERVER_ERROR => "the registry failed; its log says why".to_owned(),
            _ => match &error {
                Error::DiskFull { .. } => {
                    "the disk of the registry is full; nothing was written. Reads continue, and writes are accepted again once there is space"
                        .to_owned()
                }
                Error::WritesClosed { .. } => "the registry accepts no writes until it is restarted".to_owned(),
                Error::Invalid(report) | Error::InvalidSource { report, .. } => describe(report),
                Error::UnexpectedId { id } => format!(
                    "the document has the id {id:?}, but this operation assigns ids; use PUT /things/{{id}}"
                ),
                Error::MissingId => {
                    "the document has no `id`; add an absolute URI as its `id`, or let POST /things assign an id"
                        .to_owned()
                }
                Error::PreconditionFailed { id, found: Some(_), .. } => {
                    format!("Thing {id:?} doesn't meet the precondition of the request")
                },
                // The caller doesn't see it, so nothing of it is in the answer.
                Error::PreconditionFailed { id, expected: Precondition::Absent, found: None } => {
                    format!("Thing {id:?} already exists")
                }
                Error::PreconditionFailed { id, found: None, .. } => format!("Thing {id:?} not found"),
                error => error.to_string(),
            },
        };
        let mut problem = Problem::new(status, code, detail);
        problem.add_specifics(&error);
        problem.source = Some(Box::new(error));
        problem
    }
}

/// The status of an error's code. What isn't in the table failed inside: its code stays inside as well.
fn classify(error: &Error) -> (StatusCode, &'static str) {
    let code = error.code();
    let status = match code {
        "malformed-json"
        | "malformed-yaml"
        | "limit-exceeded"
        | "invalid-thing-description"
        | "credential-in-description"
        | "invalid-document"
        | "unclear-format"
        | "invalid-merge-patch"
        | "invalid-id"
        | "unexpected-id"
        | "missing-id"
        | "id-mismatch"
        | "invalid-query" => StatusCode::BAD_REQUEST,
        "body-too-large" => StatusCode::PAYLOAD_TOO_LARGE,
        "not-expressible" | "already-exists" | "part-of-document" => StatusCode::CONFLICT,
        "lossy-import" | "unrelated" | "hidden-versions" | "version-not-served" => StatusCode::CONFLICT,
        "not-found" | "no-such-version" | "no-such-action" | "not-tracked" => StatusCode::NOT_FOUND,
        "precondition-failed" => StatusCode::PRECONDITION_FAILED,
        "access-refused" | "not-owner" | "not-member" => StatusCode::FORBIDDEN,
        "contended"
        | "query-too-costly"
        | "overloaded"
        | "index-rebuilding"
        | "consistency-timeout"
        | "writes-closed"
        | "outcome-unknown"
        | "log-unavailable"
        | "clock-skew"
        | "shutting-down"
        | "fetch-busy" => StatusCode::SERVICE_UNAVAILABLE,
        "query-language-not-offered" => StatusCode::NOT_IMPLEMENTED,
        "disk-full" | "log-full" => StatusCode::INSUFFICIENT_STORAGE,
        "signature-required" | "fetch-refused" => StatusCode::UNPROCESSABLE_ENTITY,
        "fetch-failed" => StatusCode::BAD_GATEWAY,
        "fetch-timed-out" => StatusCode::GATEWAY_TIMEOUT,
        _ => return (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    (status, code)
}

impl Problem {
    /// Adds the details of an error that a program can read in addition to its code: members and headers.
    fn add_specifics(&mut self, error: &Error) {
        let members = match error {
            Error::MalformedJson { line, column, .. } | Error::MalformedYaml { line, column, .. } => {
                json!({"line": line, "column": column})
            }
            Error::DocumentTooLarge { maximum } => json!({"maximum": maximum}),
            Error::LimitExceeded { what, maximum } => json!({"limit": what, "maximum": maximum}),
            Error::Invalid(report) | Error::CredentialInDescription(report) | Error::InvalidSource { report, .. } => {
                json!({
                    "validationErrors": validation_errors(&report.violations),
                    "warnings": report.warnings,
                })
            }
            Error::SignatureRequired { status, .. } => json!({"signature": status}),
            Error::NotTracked { id } => json!({"id": id}),
            Error::NoSuchAction { id, action, .. } => json!({"id": id, "action": action}),
            Error::PartOfDocument { id, documents } => json!({"id": id, "documents": documents}),
            Error::Unrelated { id, title } => json!({"id": id, "existingTitle": title}),
            Error::LossyImport { id, format, original, losses, edits } => {
                let mut members =
                    json!({"id": id, "format": format, "originalFormat": original, "dropped": losses.to_members()});
                if !edits.is_empty() {
                    members["inexpressibleEdits"] = json!(edits);
                }
                members
            }
            Error::VersionNotServed { id, served } => json!({"id": id, "served": served}),
            Error::NoSuchVersion { id, version } => json!({"id": id, "version": version}),
            Error::UnexpectedId { id } | Error::NotFound { id } | Error::AlreadyExists { id } => json!({"id": id}),
            Error::IdMismatch { expected, found } => json!({"expected": expected, "found": found}),
            Error::FetchRefused { url, .. } | Error::FetchTimedOut { url, .. } => json!({"url": url}),
            Error::FetchFailed { url, status: None, .. } => json!({"url": url}),
            Error::FetchFailed { url, status: Some(status), .. } => json!({"url": url, "answered": status}),
            Error::IndexRebuilding { done, total } => json!({"done": done, "total": total}),
            _ => Value::Null,
        };
        if let Value::Object(members) = members {
            self.members.extend(members);
        }
        if let Error::PreconditionFailed { found: Some(Seq(seq)), .. } = error {
            self.headers.extend(HeaderValue::from_str(&format!("\"{seq}\"")).map(|value| (header::ETAG, value)).ok());
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = match error {
                Error::OutcomeUnknown | Error::LogUnavailable => "2",
                Error::ClockSkew { .. } => "5",
                _ => "1",
            };
            self.headers.push((header::RETRY_AFTER, HeaderValue::from_static(seconds)));
        }
    }
}

/// A text of a client as far as a message repeats it.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_EXCERPT) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

fn describe(report: &Report) -> String {
    match report.violations.as_slice() {
        [] => "the document is invalid".to_owned(),
        [violation] => format!("{}: {}", field(&violation.pointer), violation.message),
        [violation, others @ ..] => {
            format!("{}: {}; and {} more", field(&violation.pointer), violation.message, others.len())
        }
    }
}

/// The `validationErrors` of WoT Discovery.
pub(super) fn validation_errors(violations: &[Violation]) -> Vec<ValidationError> {
    let error = |Violation { pointer, rule, message }: &Violation| ValidationError {
        field: field(pointer),
        description: message.clone(),
        pointer: pointer.clone(),
        rule: rule.to_string(),
    };
    violations.iter().map(error).collect()
}

/// A JSON Pointer as WoT Discovery writes a field: `(root)`, `properties.status.forms.0.href`.
fn field(pointer: &str) -> String {
    let members = pointer.split('/').skip(1).map(|member| member.replace("~1", "/").replace("~0", "~"));
    match members.collect::<Vec<_>>().join(".") {
        field if field.is_empty() => "(root)".to_owned(),
        field => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_with_dots() {
        assert_eq!(field(""), "(root)");
        assert_eq!(field("/properties/status/forms/0/href"), "properties.status.forms.0.href");
        assert_eq!(field("/properties/a~1b~0c"), "properties.a/b~c");
    }

    #[test]
    fn what_went_wrong_inside_is_not_sent() {
        let source = std::io::Error::other("secret place");
        let problem = Problem::from(Error::Io { doing: "writing secret place".into(), source });
        assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!json!(problem.document()).to_string().contains("secret"));
        assert!(problem.internal().is_some());
        let closed = Problem::from(Error::WritesClosed { reason: "secret disk".into() });
        assert!(!json!(closed.document()).to_string().contains("secret"));
    }

    #[test]
    fn failures_of_other_servers_are_none_of_this_one() {
        let url = "https://agents.example/card.json".to_owned();
        let (status, reason) = (Some(500), String::new());
        let failed = Error::FetchFailed { url: url.clone(), status, reason, retry_after: None, source: None };
        for (error, status) in [(failed, 502), (Error::FetchTimedOut { url: url.clone(), doing: "connecting" }, 504)] {
            let problem = Problem::of_fetched(error, &url);
            assert_eq!((problem.status().as_u16(), problem.internal().is_none()), (status, true));
        }
        let busy = Problem::of_fetched(Error::FetchBusy { host: "agents.example".into() }, &url);
        assert!(busy.headers.iter().any(|(name, _)| name == header::RETRY_AFTER), "{busy:?}");
    }

    #[test]
    fn a_problem_without_a_code_is_about_its_status() {
        let document = Problem::of_status(StatusCode::NOT_ACCEPTABLE).document();
        assert_eq!(
            json!(document),
            json!({"type": "about:blank", "title": "Not Acceptable", "status": 406, "code": "not-acceptable"})
        );
    }
}
