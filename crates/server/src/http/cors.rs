//! CORS: what pages of other origins may do.

use actix_cors::Cors;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, HeaderMap, HeaderValue, ORIGIN, VARY,
};

/// The headers of responses that pages may read.
const EXPOSED: [&str; 13] = [
    "etag",
    "link",
    "location",
    "last-event-id",
    "agentdex-seq",
    "agentdex-position",
    "warning",
    "agentdex-effect",
    "agentdex-warnings",
    "preference-applied",
    "retry-after",
    "www-authenticate",
    "x-request-id",
];

/// Returns the CORS middleware for pages of these origins; `*` is every origin.
pub(super) fn middleware(origins: &[String]) -> Cors {
    let cors = Cors::default()
        .allowed_methods(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
        .allow_any_header()
        .expose_headers(EXPOSED)
        .max_age(3600);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin().send_wildcard();
    }
    origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
}

/// Returns the CORS middleware for what pages of every origin may read.
pub(super) fn for_all_to_read() -> Cors {
    let cors = Cors::default().allow_any_origin().send_wildcard().disable_vary_header();
    cors.allowed_methods(["GET", "HEAD"]).allow_any_header().expose_headers(["etag"]).max_age(3600)
}

/// Lets pages read a response that the middleware isn't asked about: a refusal before it.
pub(super) fn allow_to_read(origins: &[String], request: &HeaderMap, response: &mut HeaderMap) {
    let Some(origin) = request.get(ORIGIN).filter(|_| !origins.is_empty()) else { return };
    let allowed = match origins.iter().any(|known| known == "*") {
        true => HeaderValue::from_static("*"),
        false => {
            response.append(VARY, HeaderValue::from_static("origin"));
            match origins.iter().any(|known| known.as_bytes() == origin.as_bytes()) {
                true => origin.clone(),
                false => return,
            }
        }
    };
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    if let Ok(exposed) = HeaderValue::try_from(EXPOSED.join(", ")) {
        response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}
