//! Failures: problem documents with the member `error` of older clients.

use actix_web::{
    body::{BoxBody, MessageBody},
    dev::ServiceResponse,
    http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_ENCODING, HeaderValue},
};
use serde_json::{Map, Value, json};

use super::{
    super::problem::Problem,
    path::{PREFIXES, is_open_to_pages},
};

/// Adds the member `error` to a problem document of the API, and the CORS header if pages of any origin may read the resource.
/// Other responses stay unchanged. `route` is the path of the resource in the documentation.
pub(in crate::http) fn complete(route: &str, mut response: ServiceResponse) -> ServiceResponse {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) || !is_of_api(route, response.request().path()) {
        return response;
    }
    let headers = response.headers_mut();
    if is_open_to_pages(route) && !headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    let problem = response.response().error().and_then(|error| error.as_error::<Problem>());
    if let Some(Value::Object(document)) = problem.map(|problem| json!(problem.document())) {
        // The body may be compressed already.
        response.headers_mut().remove(CONTENT_ENCODING);
        return response.map_body(|_, _| BoxBody::new(with_error(document)));
    }
    response.map_body(|_, body| match body.try_into_bytes() {
        Ok(body) => BoxBody::new(serde_json::from_slice(&body).map_or(body, |document| with_error(document).into())),
        Err(body) => body,
    })
}

fn is_of_api(route: &str, path: &str) -> bool {
    route.starts_with("/v0.1/")
        || route == "other" && PREFIXES.iter().any(|prefix| path.contains(&format!("{prefix}/")))
}

fn with_error(mut document: Map<String, Value>) -> String {
    let error = document.get("detail").or_else(|| document.get("title")).cloned().unwrap_or_default();
    document.insert("error".to_owned(), error);
    Value::Object(document).to_string()
}
