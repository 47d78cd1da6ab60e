//! `/queries`: saved queries, and what changes mean for them.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Data},
};

use super::{
    blocking::blocking,
    compatible::json_body,
    conditions::Conditions,
    context::Context,
    events,
    parameters::Parameters,
    problem::{Problem, excerpt},
};
use crate::{
    Error,
    registry::{QueryName, QueryParameters},
};

/// The parameter that says whose query is meant.
const OWNER: &str = "owner";

/// List the saved queries that the caller can see
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/queries",
    tag = "changes",
    operation_id = "list_queries",
    responses(
        (status = 200, description = "The saved queries, in ascending order of their names", body = Vec<agentdex_api::NamedQuery>),
        super::schemas::Refusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(context.registry(&request).saved_queries()))
}

/// Read a saved query
///
/// By default, the caller's own query with that name, or else the query without an owner; `owner`
/// selects that of another owner.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/queries/{name}",
    tag = "changes",
    operation_id = "retrieve_query",
    params(("name" = String, Path, description = "The name of the query"), super::schemas::QueryOwner),
    responses(
        (status = 200, description = "The query", body = agentdex_api::NamedQuery),
        super::schemas::Refusals,
        (status = 404, description = "There is no such query", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn retrieve(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = named(&request, &Parameters::parse(&request, &[OWNER])?)?;
    let query = context.registry(&request).saved_query(name).ok_or_else(|| unknown(&request))?;
    Ok(HttpResponse::Ok().json(query))
}

/// Save a query, replacing the caller's query of the same name
///
/// A new query is private, unless `visibility` says otherwise; without authentication, everyone sees it. A replaced
/// query keeps its visibility. If an admin has no query of that name, an existing query without an owner is replaced.
///
/// Things that start or stop matching it are announced at `/queries/{name}/events`, and over MQTT at
/// `agentdex/queries/{query}/{kind}/{id}`, to callers who see the query. The query is durable once the request is
/// answered.
///
/// With `If-None-Match: *`, the request is refused if the caller already has a query with that
/// name.
#[cfg_attr(debug_assertions, utoipa::path(
    put,
    path = "/queries/{name}",
    tag = "changes",
    operation_id = "save_query",
    params(
        ("name" = String, Path, description = "1 to 128 letters, digits, and `-` `_` `.` `~`; must not start with `.`"),
        super::schemas::QueryOwner,
        super::schemas::QueryAccess,
        ("If-None-Match" = Option<String>, Header, description = "`*`: only if the query doesn't exist yet"),
    ),
    request_body(content((agentdex_api::QueryParameters = "application/json"))),
    responses(
        (status = 201, description = "The query was created", body = agentdex_api::NamedQuery),
        (status = 200, description = "The query replaced an existing query, or was already saved unchanged", body = agentdex_api::NamedQuery),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::BodyRefusals,
        (status = 412, description = "The query exists, and `If-None-Match` is `*`", body = super::schemas::Problem, content_type = "application/problem+json"),
        (status = 404, description = "The caller can't see any query of this owner", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn save(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &[OWNER, "visibility", "namespace"])?;
    let (name, access) = (named(&request, &parameters)?, parameters.access()?);
    let query: QueryParameters = json_body(&context, &request, payload, &[OWNER, "visibility", "namespace"]).await?;
    let registry = context.registry(&request);
    let must_be_new = Conditions::of(&request).must_be_absent();
    let save = move || match must_be_new {
        true => registry.save_new_query(name, query, access).map(|query| (query, true)),
        false => registry.save_query_with(name, query, access),
    };
    let (query, is_new) = blocking(save).await.map_err(|error| match error {
        Error::NoSuchQuery { .. } => unknown(&request),
        Error::AlreadyExists { id } => {
            let detail = format!("saved query {:?} already exists", excerpt(&id));
            Problem::new(StatusCode::PRECONDITION_FAILED, "precondition-failed", detail)
        }
        error => error.into(),
    })?;
    let mut response = if is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    Ok(response.json(query))
}

/// Remove a saved query
#[cfg_attr(debug_assertions, utoipa::path(
    delete,
    path = "/queries/{name}",
    tag = "changes",
    operation_id = "remove_query",
    params(("name" = String, Path, description = "The name of the query"), super::schemas::QueryOwner),
    responses(
        (status = 204, description = "The query was removed"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        (status = 404, description = "There is no such query", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn remove(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = named(&request, &Parameters::parse(&request, &[OWNER])?)?;
    let registry = context.registry(&request);
    if !blocking(move || registry.remove_query(name)).await? {
        return Err(unknown(&request));
    }
    Ok(HttpResponse::NoContent().finish())
}

/// Subscribe to the events of a saved query
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/queries/{name}/events",
    tag = "changes",
    operation_id = "query_events",
    params(
        ("name" = String, Path, description = "The name of the query"),
        super::schemas::QueryOwner,
        super::schemas::StreamParameters,
        ("Last-Event-ID" = Option<String>, Header, description = "Resume after the event with this id"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events: `thing_created`, `thing_updated`, and `thing_deleted` for Things that match; `thing_matched` and `thing_unmatched` when that changes; `resync` if the position to resume from is no longer available", body = String, content_type = "text/event-stream", headers(("Last-Event-ID"))),
        super::schemas::Refusals,
        (status = 404, description = "There is no such query", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn subscribe(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = named(&request, &Parameters::parse(&request, &events::OF_QUERIES)?)?;
    let events = context.registry(&request).query_events(name).ok_or_else(|| unknown(&request))?;
    events::of_query(&context, &request, events).await
}

/// The query that a request is about.
fn named(request: &HttpRequest, parameters: &Parameters) -> Result<QueryName, Problem> {
    let name = QueryName::new(request.match_info().get("name").unwrap_or_default());
    match parameters.text(OWNER) {
        None => Ok(name),
        Some("") => Ok(name.without_owner()),
        Some(owner) => {
            let owner = owner.parse().map_err(|message: String| Problem::invalid_parameter(OWNER, message))?;
            Ok(name.of(owner))
        }
    }
}

fn unknown(request: &HttpRequest) -> Problem {
    let name = request.match_info().get("name").unwrap_or_default();
    let detail = format!("saved query {:?} not found; GET /queries lists the saved queries", excerpt(name));
    Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
}
