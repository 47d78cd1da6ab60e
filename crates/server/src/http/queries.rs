//! `/queries`: saved queries, and what changes mean for them.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Data},
};

use super::{
    blocking::blocking,
    compatible::json_body,
    context::Context,
    events,
    parameters::Parameters,
    problem::{Problem, excerpt},
};
use crate::registry::{NamedQuery, QueryParameters};

/// List the saved queries
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/queries",
    tag = "changes",
    operation_id = "list_queries",
    responses(
        (status = 200, description = "In the order of their names", body = Vec<agentdex_api::NamedQuery>),
        super::schemas::Refusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(context.registry(&request).saved_queries()))
}

/// Read a saved query
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/queries/{name}",
    tag = "changes",
    operation_id = "retrieve_query",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "The query", body = agentdex_api::NamedQuery),
        super::schemas::Refusals,
        (status = 404, description = "There is no such query", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn retrieve(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(find(&context, &request)?))
}

/// Save a query, in place of the one of that name
///
/// Things that begin or cease to match it are announced at `/queries/{name}/events`, and over MQTT at
/// `agentdex/queries/{name}/{kind}/{id}`. The query is durable once this is answered.
#[cfg_attr(debug_assertions, utoipa::path(
    put,
    path = "/queries/{name}",
    tag = "changes",
    operation_id = "save_query",
    params(("name" = String, Path, description = "1 to 128 letters, digits and `-` `_` `.` `~`, with no `.` in front")),
    request_body(content((agentdex_api::QueryParameters = "application/json"))),
    responses(
        (status = 201, description = "It is new", body = agentdex_api::NamedQuery),
        (status = 200, description = "It took the place of another one, or was saved already", body = agentdex_api::NamedQuery),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn save(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let query: QueryParameters = json_body(&context, &request, payload, &[]).await?;
    let (registry, name) = (context.registry(&request), name(&request).to_owned());
    let is_new = blocking(move || registry.save_query(&name, query)).await?;
    let mut response = if is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    Ok(response.json(find(&context, &request)?))
}

/// Remove a saved query
#[cfg_attr(debug_assertions, utoipa::path(
    delete,
    path = "/queries/{name}",
    tag = "changes",
    operation_id = "remove_query",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 204, description = "Removed"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        (status = 404, description = "There is no such query", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn remove(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let (registry, named) = (context.registry(&request), find(&context, &request)?);
    blocking(move || registry.remove_query(&named.name)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Subscribe to what changes mean for a saved query
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/queries/{name}/events",
    tag = "changes",
    operation_id = "query_events",
    params(
        ("name" = String, Path, description = "Its name"),
        super::schemas::StreamParameters,
        ("Last-Event-ID" = Option<String>, Header, description = "Resume after the event with this id"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events: `thing_created`, `thing_updated`, `thing_deleted` of Things that match, `thing_matched` and `thing_unmatched` where that changed; `resync` where the position to resume from is no longer available", body = String, content_type = "text/event-stream", headers(("Last-Event-ID"))),
        super::schemas::Refusals,
        (status = 404, description = "There is no such query", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn subscribe(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &events::OF_QUERIES)?;
    let events = context.registry(&request).query_events(name(&request)).ok_or_else(|| unknown(&request))?;
    events::of_query(&context, &request, events)
}

fn name(request: &HttpRequest) -> &str {
    request.match_info().get("name").unwrap_or_default()
}

fn find(context: &Context, request: &HttpRequest) -> Result<NamedQuery, Problem> {
    context.registry(request).saved_query(name(request)).ok_or_else(|| unknown(request))
}

fn unknown(request: &HttpRequest) -> Problem {
    let detail = format!("there is no saved query {:?}; GET /queries lists them", excerpt(name(request)));
    Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
}
