//! `/health/live` and `/health/ready`: for those who start, watch and route to the server.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header::RETRY_AFTER},
    web::Data,
};
use agentdex_api::{Follower, Live, Ready};

use super::{access, blocking::blocking, context::Context, parameters::Parameters, problem::Problem};

/// Check whether the process is alive
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/health/live",
    operation_id = "check_liveness",
    tag = "about",
    responses(
        (status = 200, description = "The process is alive", body = Live),
        super::schemas::Refusals,
    )
))]
pub(super) async fn live(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(Live { status: "live".into() }))
}

/// Check whether searches and writes are possible
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/health/ready",
    operation_id = "check_readiness",
    tag = "about",
    responses(
        (status = 200, description = "Both", body = Ready), super::schemas::Refusals,
    )
))]
pub(super) async fn ready(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let registry = context.registry(&request);
    // Counting leaves out what has expired, which is looked up in the store.
    let status = blocking(move || Ok(registry.status())).await?;
    if let Some(reason) = status.not_ready() {
        return Err(not_ready(&reason));
    }
    let mut ready = Ready { status: "ready".into(), ..Ready::default() };
    if access::may_read(&context, &request) {
        ready.notes = Some(status.notes()).filter(|notes| !notes.is_empty());
        ready.indexed = status.searchable();
        ready.things = Some(status.things);
        ready.cursor = Some(status.cursor);
        ready.followers = Some(status.followers.into_iter().map(Follower::from).collect());
    }
    Ok(HttpResponse::Ok().json(ready))
}

fn not_ready(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", detail).with_header(RETRY_AFTER, "1")
}
