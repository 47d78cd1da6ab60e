//! Responses of operations that don't succeed.

use utoipa::IntoResponses;

use super::Problem;

/// Refusals and failures of every operation.
#[derive(IntoResponses)]
pub(in crate::http) enum Refusals {
    /// A parameter, a header, or the body is invalid.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// The server authenticates its clients, and the request has no valid API key.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthenticated(Problem),
    /// The API key doesn't have the required role, the server is read-only, or the web page that sent the request
    /// isn't allowed.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// Too many requests from one client; `Retry-After` says when to send the next request.
    #[response(status = 429, content_type = "application/problem+json")]
    TooMany(Problem),
    /// The registry failed; its log contains the reason.
    #[response(status = 500, content_type = "application/problem+json")]
    Failed(Problem),
    /// Temporarily unavailable: the search index is being rebuilt, writes are closed, or the server
    /// is stopping.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}

/// Refusals of operations with several response media types.
#[derive(IntoResponses)]
pub(in crate::http) enum TypeRefusals {
    /// `Accept` excludes all available media types, which the member `offered` lists.
    #[response(status = 406, content_type = "application/problem+json")]
    NotAcceptable(Problem),
}

/// Failures of operations that write.
#[derive(IntoResponses)]
pub(in crate::http) enum WriteRefusals {
    /// The disk is full: nothing was written. Reads continue, and writes are accepted again once there is
    /// space.
    #[response(status = 507, content_type = "application/problem+json")]
    DiskFull(Problem),
}

/// Refusals of operations on one Thing.
#[derive(IntoResponses)]
pub(in crate::http) enum ThingRefusals {
    /// There is no such Thing, or it has expired.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// `If-Match` or `If-None-Match` doesn't hold.
    #[response(status = 412, content_type = "application/problem+json")]
    PreconditionFailed(Problem),
}

/// Refusals and failures of operations that call an agent.
#[derive(IntoResponses)]
pub(in crate::http) enum CallRefusals {
    /// There is no such agent.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// The description contains no usable way to call the agent.
    #[response(status = 422, content_type = "application/problem+json")]
    NotCallable(Problem),
    /// This registry doesn't call agents.
    #[response(status = 501, content_type = "application/problem+json")]
    NotOffered(Problem),
    /// The agent can't be reached, or responded with an error.
    #[response(status = 502, content_type = "application/problem+json")]
    AgentFailed(Problem),
    /// The agent didn't answer in time.
    #[response(status = 504, content_type = "application/problem+json")]
    TimedOut(Problem),
}

/// Refusals of imports.
#[derive(IntoResponses)]
pub(in crate::http) enum ConflictRefusals {
    /// `already-exists`: one of the Things already exists; `unrelated`: the existing Thing is unrelated to the
    /// document; `lossy-import`: the existing Thing has content that the document would drop; `version-not-served`:
    /// the access would apply to the served version, which is higher than that of the document.
    #[response(status = 409, content_type = "application/problem+json")]
    AlreadyExists(Problem),
}

/// Refusals of operations that pages of any origin could request without a CORS preflight.
#[derive(IntoResponses)]
pub(in crate::http) enum FormRefusals {
    /// Requests from the origin of this web page aren't allowed.
    #[response(status = 403, content_type = "application/problem+json")]
    ForeignOrigin(Problem),
}

/// Refusals of operations on a tracked source.
#[derive(IntoResponses)]
pub(in crate::http) enum ImportRefusals {
    /// No source is tracked for this id.
    #[response(status = 404, content_type = "application/problem+json")]
    NotTracked(Problem),
}

/// Refusals and failures of operations that fetch a document.
#[derive(IntoResponses)]
pub(in crate::http) enum FetchRefusals {
    /// The URL isn't allowed, the response isn't a document in the expected format, or a required signature of the
    /// card is missing or invalid.
    #[response(status = 422, content_type = "application/problem+json")]
    Refused(Problem),
    /// No document was returned.
    #[response(status = 502, content_type = "application/problem+json")]
    FetchFailed(Problem),
    /// The fetch took too long.
    #[response(status = 504, content_type = "application/problem+json")]
    FetchTimedOut(Problem),
}

/// Refusals of operations with a body.
#[derive(IntoResponses)]
pub(in crate::http) enum BodyRefusals {
    /// The body is larger than the limit.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// The media type or content coding of the body is not supported.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
}
