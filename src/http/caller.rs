//! Who sent a request.

use actix_web::{HttpMessage, HttpRequest};

use crate::access::{Caller, Rules};

/// Who sent a request, as [`access`](super::access) has found out.
pub(super) fn of(request: &HttpRequest, rules: &Rules) -> Caller {
    let known = request.extensions().get::<Caller>().cloned();
    known.unwrap_or_else(|| rules.without_credentials())
}
