//! The caller of a request.

use actix_web::{HttpMessage, HttpRequest};

use crate::access::{Caller, Rules};

/// The caller that proved its identity with a client certificate when the connection was opened.
pub(super) struct ByConnection(pub Caller);

/// Returns the caller of a request as [`access`](super::access) has identified it, or else the one without credentials.
pub(super) fn of(request: &HttpRequest, rules: &Rules) -> Caller {
    let known = request.extensions().get::<Caller>().cloned();
    known.unwrap_or_else(|| rules.without_credentials())
}
