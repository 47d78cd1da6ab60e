//! `/search/jsonpath`, `/search/xpath`, `/search/sparql`: known to WoT Discovery, not offered here.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};

use super::problem::Problem;

/// Says so: 501 is what WoT Discovery asks for.
#[utoipa::path(
    get,
    path = "/search/{language}",
    tag = "search",
    summary = "Known to WoT Discovery, not offered",
    params(
        ("language" = String, Path, description = "`jsonpath`, `xpath` or `sparql`"),
    ),
    responses(
        (status = 501, description = "Not offered", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn not_offered(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let language = request.match_info().get("language").unwrap_or_default();
    let detail = format!("this registry does not answer {language} queries; GET /search?q= looks for words");
    Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "query-language-not-offered", detail))
}
