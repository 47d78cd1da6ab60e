//! `/search/compose`: chains of capabilities.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};

use super::{blocking::blocking, compatible::json_body, context::Context, problem::Problem, things::SEQ};
use crate::registry::ComposeQuery;

/// Find chains of capabilities that lead from the available data to the desired data
///
/// The input of each step comes from the available data, or from earlier steps. The chains that fit best come first,
/// then those that are more relevant for `query`, then those with fewer steps. Each chain is also returned as an
/// Agent Spec Flow for `POST /import/agent-spec`.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/search/compose",
    operation_id = "compose",
    tag = "search",
    request_body(content((agentdex_api::ComposeQuery = "application/json"))),
    responses(
        (status = 200, description = "Best first; `complete` is false if there was not enough time to compare all chains", body = agentdex_api::ComposeResult, headers(("Agentdex-Seq" = u64))),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn chains(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let query: ComposeQuery = json_body(&context, &request, payload, &[]).await?;
    let registry = context.registry(&request);
    let answer = blocking(move || registry.compose(&query)).await?;
    Ok(HttpResponse::Ok().insert_header((SEQ, answer.seq.0)).json(answer))
}
