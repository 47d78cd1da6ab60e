//! `/health/live` and `/health/ready`: for those who start, watch and route to the server.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header::RETRY_AFTER},
    web::Data,
};
use serde_json::json;

use super::{access, blocking::blocking, context::Context, parameters::Parameters, problem::Problem};

/// `GET /health/live`
#[utoipa::path(
    get,
    path = "/health/live",
    operation_id = "check_liveness",
    tag = "about",
    summary = "Say whether the process is alive",
    responses(
        (status = 200, description = "It is", body = super::schemas::Live),
        super::schemas::Refusals,
    )
)]
pub(super) async fn live(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(json!({"status": "live"})))
}

/// `GET /health/ready`
#[utoipa::path(
    get,
    path = "/health/ready",
    operation_id = "check_readiness",
    tag = "about",
    summary = "Say whether search answers and writes are taken",
    responses(
        (status = 200, description = "Both", body = super::schemas::Ready), super::schemas::Refusals,
    )
)]
pub(super) async fn ready(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let registry = context.registry(&request);
    // Counting leaves out what has expired, which is looked up in the store.
    let status = blocking(move || Ok(registry.status())).await?;
    if let Some(reason) = status.not_ready() {
        return Err(not_ready(&reason));
    }
    if !access::may_read(&context, &request) {
        return Ok(HttpResponse::Ok().json(json!({"status": "ready"})));
    }
    Ok(HttpResponse::Ok().json(json!({
        "status": "ready",
        "things": status.things,
        "cursor": status.cursor,
        "indexed": status.searchable(),
        "followers": status.followers,
    })))
}

fn not_ready(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", detail).with_header(RETRY_AFTER, "1")
}
