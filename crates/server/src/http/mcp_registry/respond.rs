//! Responses to reads. The entity tag is a hash of the body.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CACHE_CONTROL, ETAG},
};
use serde::Serialize;
use uuid::Uuid;

use super::super::{
    conditions::{Conditions, Verdict},
    problem::Problem,
};
use crate::Error;

/// Responds with a value as JSON, or with 304 if the client's copy is current.
pub(super) fn respond(request: &HttpRequest, value: &impl Serialize) -> Result<HttpResponse, Problem> {
    let failed =
        |source: serde_json::Error| Error::Io { doing: "writing a response".to_owned(), source: source.into() };
    let body = serde_json::to_vec(value).map_err(failed)?;
    let tag = Uuid::new_v5(&Uuid::NAMESPACE_OID, &body).to_string();
    let etag = (ETAG, format!("\"{tag}\""));
    // Other callers may see other servers.
    let cache = (CACHE_CONTROL, "private, no-cache");
    match Conditions::of(request).verdict(&tag) {
        Verdict::NotModified => Ok(HttpResponse::NotModified().insert_header(etag).insert_header(cache).finish()),
        Verdict::Failed => Err(Problem::precondition_failed(&etag.1)),
        Verdict::Proceed => {
            let mut response = HttpResponse::Ok();
            Ok(response.insert_header(etag).insert_header(cache).content_type("application/json").body(body))
        }
    }
}
