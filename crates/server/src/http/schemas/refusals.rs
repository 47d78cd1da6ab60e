//! What operations answer instead of success.

use utoipa::IntoResponses;

use super::Problem;

/// What every operation may answer instead.
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

/// What operations that write may answer instead.
#[derive(IntoResponses)]
pub(in crate::http) enum WriteRefusals {
    /// The disk is full: nothing was written. Reads go on, and writes are taken again once there is room.
    #[response(status = 507, content_type = "application/problem+json")]
    DiskFull(Problem),
}

/// What operations on one Thing may answer instead.
#[derive(IntoResponses)]
pub(in crate::http) enum ThingRefusals {
    /// There is no such Thing, or it has expired.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// `If-Match` or `If-None-Match` doesn't hold.
    #[response(status = 412, content_type = "application/problem+json")]
    PreconditionFailed(Problem),
}

/// What imports may answer instead.
#[derive(IntoResponses)]
pub(in crate::http) enum ConflictRefusals {
    /// One of the Things is there already.
    #[response(status = 409, content_type = "application/problem+json")]
    AlreadyExists(Problem),
}

/// What operations may answer instead that pages of any origin could ask for.
#[derive(IntoResponses)]
pub(in crate::http) enum FormRefusals {
    /// It was sent by a page that may not.
    #[response(status = 403, content_type = "application/problem+json")]
    ForeignOrigin(Problem),
}

/// What operations on a tracked source may answer instead.
#[derive(IntoResponses)]
pub(in crate::http) enum ImportRefusals {
    /// No source is tracked for this id.
    #[response(status = 404, content_type = "application/problem+json")]
    NotTracked(Problem),
}

/// What operations that fetch may answer instead.
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

/// What operations that take a body may answer instead.
#[derive(IntoResponses)]
pub(in crate::http) enum BodyRefusals {
    /// The body is larger than the limit.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(Problem),
    /// The body is of a type, or in a content coding, that isn't taken.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
}
