//! `/things/{id}/history`: the changes of one Thing that the log still holds.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use serde_json::json;

use super::{Context, address::thing_id, parameters::Parameters, problem::Problem};
use crate::{Error, Seq};

/// Changes of an answer without `limit`.
const DEFAULT_LIMIT: usize = 100;
/// The most changes of an answer.
const MAX_LIMIT: usize = 1000;

/// `GET /things/{id}/history`
#[utoipa::path(
    get,
    path = "/things/{id}/history",
    tag = "changes",
    summary = "List the changes of a Thing that the log still holds",
    params(
        ("id" = String, Path, description = "The id, percent-encoded: an absolute URI, or a name that is made one"),
        ("since" = Option<u64>, Query, description = "Only changes after this position"),
        ("limit" = Option<u64>, Query, description = "At most so many; 100 unless given, 1,000 at most"),
    ),
    responses(
        (status = 200, description = "Oldest first", body = super::schemas::History),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
)]
pub(super) async fn of_thing(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["since", "limit"])?;
    let since = Seq(parameters.number("since", 0)?.unwrap_or_default());
    let limit = parameters.number("limit", 1)?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let id = thing_id(&request, &context.options)?;
    let registry = context.registry.clone();
    let read = move || {
        let changes = registry.history(&id, since, limit)?;
        // Gone and forgotten is not found; gone and remembered has a history.
        if changes.is_empty() && registry.find_by_id(&id)?.is_none() {
            return Err(Error::NotFound { id });
        }
        Ok(changes)
    };
    let changes = web::block(read).await.unwrap_or(Err(Error::ShuttingDown))?;
    Ok(HttpResponse::Ok().json(json!({"epoch": context.registry.epoch(), "changes": changes})))
}
