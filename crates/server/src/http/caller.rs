//! Who sent a request.

use actix_web::{HttpMessage, HttpRequest};

use crate::access::{Caller, Rules};

/// Who has proved who it is when the connection was opened, by a client certificate.
pub(super) struct ByConnection(pub Caller);

/// Who sent a request, as [`access`](super::access) has found out.
pub(super) fn of(request: &HttpRequest, rules: &Rules) -> Caller {
    let known = request.extensions().get::<Caller>().cloned();
    known.unwrap_or_else(|| rules.without_credentials())
}
