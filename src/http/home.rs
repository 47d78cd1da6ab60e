//! `/`: what this is, and where everything else is.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use serde_json::json;

use super::{address::base_path, context::Context, parameters::Parameters, problem::Problem};

/// `GET /`
#[utoipa::path(
    get,
    path = "/",
    operation_id = "home_page",
    tag = "about",
    summary = "Say what this is, with links",
    responses(
        (status = 200, description = "Name, version and links", body = super::schemas::About), super::schemas::Refusals,
    )
)]
pub(super) async fn page(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let base = base_path(&request, &context.options, "/");
    Ok(HttpResponse::Ok().json(json!({
        "name": "agentdex",
        "description": "An agent discovery registry: agents register as LMOS agents (W3C Thing Descriptions) and are found by what they can do",
        "version": env!("CARGO_PKG_VERSION"),
        "registry": format!("urn:agentdex:registry:{}", context.registry.registry_id()),
        "things": context.registry.len(),
        "links": {
            "things": format!("{base}/things"),
            "search": format!("{base}/search?q={{words}}"),
            "events": format!("{base}/events"),
            "queries": format!("{base}/queries"),
            "changes": format!("{base}/changes?since=0"),
            "import": format!("{base}/import/{{format}}"),
            "imports": format!("{base}/imports"),
            "validate": format!("{base}/validate"),
            "directory": format!("{base}/.well-known/wot"),
            "openapi": format!("{base}/openapi.json"),
            "documentation": format!("{base}/docs/"),
            "health": format!("{base}/health/ready"),
            "metrics": format!("{base}/metrics"),
        },
    })))
}
