//! `/`: what this is, and where everything else is; for browsers the web page.

use actix_web::{HttpRequest, HttpResponse, http::header::VARY, web::Data};
use serde_json::json;

use super::{access, address::base_path, context::Context, formats, page, parameters::Parameters, problem::Problem};

/// `GET /`
#[utoipa::path(
    get,
    path = "/",
    operation_id = "home_page",
    tag = "about",
    summary = "Say what this is, with links; for browsers, the web page",
    responses(
        (status = 200, description = "Name, version and links; a page for clients that prefer `text/html`", content((super::schemas::About = "application/json"), (String = "text/html"))), super::schemas::Refusals,
    )
)]
pub(super) async fn page(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    if page::is_preferred(&request) {
        return Ok(page::document(&context, &request));
    }
    Parameters::parse(&request, &[])?;
    let base = base_path(&request, &context.options, "/");
    let mut about = json!({
        "name": "agentdex",
        "description": "An agent discovery registry: agents register as LMOS agents (W3C Thing Descriptions) and are found by what they can do",
        "version": env!("CARGO_PKG_VERSION"),
        "registry": format!("urn:agentdex:registry:{}", context.trusted.registry_id()),
        "formats": formats::list(base),
        "links": {
            "things": format!("{base}/things"),
            "search": format!("{base}/search?q={{words}}"),
            "events": format!("{base}/events"),
            "queries": format!("{base}/queries"),
            "changes": format!("{base}/changes?since=0"),
            "import": format!("{base}/import/{{format}}"),
            "imports": format!("{base}/imports"),
            "convert": format!("{base}/convert"),
            "validate": format!("{base}/validate"),
            "directory": format!("{base}/.well-known/wot"),
            "openapi": format!("{base}/openapi.json"),
            "documentation": format!("{base}/docs/"),
            "health": format!("{base}/health/ready"),
            "metrics": format!("{base}/metrics"),
        },
    });
    if access::may_read(&context, &request) {
        about["things"] = context.registry(&request).len().into();
    }
    about["access"] = access::shown(&context, &request);
    if context.options.conversations.is_some() {
        about["links"]["conversation"] = format!("{base}/things/{{id}}/conversation").into();
    }
    about["links"]["sessions"] = format!("{base}/aos/sessions").into();
    about["links"]["decisions"] = format!("{base}/aos/decisions").into();
    Ok(HttpResponse::Ok().insert_header((VARY, "accept")).json(about))
}
