//! `/clock/accept`: the time of the log is set back to that of the clock.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use agentdex_api::ClockAccepted;

use super::{blocking::blocking, context::Context, parameters::Parameters, problem::Problem};

/// Reset the log's time to the system clock
///
/// Needs the role `admin`. Changes have the time of the last one as long as the clock is behind that, which it is once it was
/// ahead and has been set right. From now on changes have the time of the clock; earlier ones keep theirs.
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
