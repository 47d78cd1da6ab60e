//! `/clock/accept`: the time of the log is set back to that of the clock.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use agentdex_api::ClockAccepted;

use super::{blocking::blocking, context::Context, parameters::Parameters, problem::Problem};

/// Reset the log's time to the system clock
///
/// Requires the role `admin`. While the clock is behind the last change, because it was ahead and has been corrected,
/// new changes get the time of the last change. From now on, they get the time of the clock again; earlier changes
/// keep theirs.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/clock/accept",
    operation_id = "accept_clock",
    tag = "about",
    responses(
        (status = 200, description = "The time of the log", body = ClockAccepted),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
    )
))]
pub(super) async fn accept(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let registry = context.admin(&request)?;
    let (before, now) = blocking(move || registry.accept_clock()).await?;
    Ok(HttpResponse::Ok().json(ClockAccepted { before, now }))
}
