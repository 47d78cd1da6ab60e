//! Pages of foreign origins: what they may send without asking first must not change anything.
//!
//! A body of a type that forms don't have is asked for first, as are most methods; the type is then what
//! keeps foreign pages out. What has no such body is taken from programs, which name no origin, and from
//! pages of the API's own origin or of one that CORS lets in.

use actix_web::{
    HttpRequest,
    http::{StatusCode, header::ORIGIN},
};

use super::{Options, address::base_url, problem::Problem};

/// Browsers name the origin of the page in every POST to another one (WHATWG Fetch, section 3.2).
pub(super) fn refuse_foreign_pages(request: &HttpRequest, options: &Options) -> Result<(), Problem> {
    let Some(origin) = request.headers().get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let own = base_url(request, options, request.path());
    let is_own =
        own.strip_prefix(origin).is_some_and(|rest| !origin.is_empty() && (rest.is_empty() || rest.starts_with('/')));
    if is_own || options.cors_origins.iter().any(|allowed| allowed == "*" || allowed == origin) {
        return Ok(());
    }
    let detail = format!("pages of {origin:?} may not send this here; programs send no `Origin`");
    Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", detail))
}
