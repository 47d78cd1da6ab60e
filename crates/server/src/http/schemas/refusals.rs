//! Responses of operations that don't succeed.

use utoipa::IntoResponses;

use super::Problem;

/// Refusals and failures of every operation.
#[derive(IntoResponses)]
pub(in crate::http) enum Refusals {
    /// The request isn't understood: a parameter, a header, the body.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// The server authenticates its clients, and the request has no valid API key.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthenticated(Problem),
    /// The API key doesn't have the role that is needed, the server is read-only, or the page that sent it may not.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// More requests than the server takes of one client; `Retry-After` says when to send the next one.
    #[response(status = 429, content_type = "application/problem+json")]
    TooMany(Problem),
    /// The registry failed; its log says why.
    #[response(status = 500, content_type = "application/problem+json")]
    Failed(Problem),
    /// Not now: the search index is being rebuilt, writes are closed, or the server stops.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}

/// Refusals of operations that answer in one of several media types.
#[derive(IntoResponses)]
pub(in crate::http) enum TypeRefusals {
    /// `Accept` excludes all that is offered, which the member `offered` lists.
    #[response(status = 406, content_type = "application/problem+json")]
    NotAcceptable(Problem),
}

/// Failures of operations that write.
#[derive(IntoResponses)]
pub(in crate::http) enum WriteRefusals {
    /// The disk is full: nothing was written. Reads go on, and writes are taken again once there is room.
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
    /// The description says of no way to call the agent that could be used here.
    #[response(status = 422, content_type = "application/problem+json")]
    NotCallable(Problem),
    /// This registry doesn't offer it.
    #[response(status = 501, content_type = "application/problem+json")]
    NotOffered(Problem),
    /// The agent can't be reached, or answered with an error.
    #[response(status = 502, content_type = "application/problem+json")]
    AgentFailed(Problem),
    /// The agent didn't answer in time.
    #[response(status = 504, content_type = "application/problem+json")]
    TimedOut(Problem),
}

/// Refusals of imports.
#[derive(IntoResponses)]
pub(in crate::http) enum ConflictRefusals {
    /// `already-exists`: one of the Things is there; `unrelated`: the one that is there is something else; `lossy-import`: it has
    /// what the document would drop; `version-not-served`: the access would publish the version that is served in place of the
    /// lower one of the document.
    #[response(status = 409, content_type = "application/problem+json")]
    AlreadyExists(Problem),
}

/// Refusals of operations that pages of any origin could request without a CORS preflight.
#[derive(IntoResponses)]
pub(in crate::http) enum FormRefusals {
    /// It was sent by a page that may not.
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
    /// The URL isn't one that is fetched, what came isn't the document, or the card has no valid signature where one is required.
    #[response(status = 422, content_type = "application/problem+json")]
    Refused(Problem),
    /// No document came back.
    #[response(status = 502, content_type = "application/problem+json")]
    FetchFailed(Problem),
    /// It took too long.
    #[response(status = 504, content_type = "application/problem+json")]
    FetchTimedOut(Problem),
}

/// Refusals of operations that take a body.
#[derive(IntoResponses)]
pub(in crate::http) enum BodyRefusals {
    /// The body is larger than the limit.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// The body is of a type, or in a content coding, that isn't taken.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
}
