//! `/search/xpath`: a query language of WoT Discovery that is not offered.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};

use super::problem::Problem;

/// The query language that is not offered.
pub(super) const NOT_OFFERED: &str = "xpath";

/// Respond to query languages of WoT Discovery that are not offered
#[cfg_attr(debug_assertions, utoipa::path(
    method(get, post),
    path = "/search/{language}",
    tag = "search",
    operation_id = "query_language_not_offered",
    params(
        ("language" = String, Path, description = "`xpath`"),
    ),
    responses(
        (status = 404, description = "Not a query language of WoT Discovery", body = super::schemas::Problem, content_type = "application/problem+json"),
        (status = 501, description = "The query language is not supported", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn not_offered(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let language = request.match_info().get("language").unwrap_or_default();
    let detail = format!(
        "this registry doesn't offer {language} queries; GET /search?q= finds Things by words, GET \
         /search/jsonpath?query= by structure, and GET /search/sparql?query= with SPARQL, if enabled"
    );
    Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "query-language-not-offered", detail))
}
