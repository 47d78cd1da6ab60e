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
