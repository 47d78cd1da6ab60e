//! `/openapi.json`: the OpenAPI document, which tests compare with the handlers.

use actix_web::{HttpRequest, HttpResponse};

use super::{gzipped::Gzipped, parameters::Parameters, problem::Problem};

/// The file `openapi/agentdex.json` (`build.rs`).
const DOCUMENT: Gzipped =
    Gzipped { media_type: "application/json", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/agentdex.json.gz")) };

/// The OpenAPI document of the API, as `GET /openapi.json` returns it.
///
/// # Errors
/// If it can't be decompressed, which doesn't happen.
pub fn openapi_document() -> crate::Result<String> {
    DOCUMENT.text()
}

/// Describe the API
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "describe_api",
    tag = "about",
    responses((status = 200, description = "An OpenAPI document", content_type = "application/json"), super::schemas::Refusals)
))]
pub(super) async fn document(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    DOCUMENT.response(&request)
}
