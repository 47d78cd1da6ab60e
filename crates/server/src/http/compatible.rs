//! `/search/compatible` and `/things/{id}/compatible`: what fits the data that there is and that is wanted.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    address::{base_path, path_below, thing_id_before, thing_path},
    blocking::blocking,
    body,
    context::Context,
    parameters::Parameters,
    problem::Problem,
    search::Link,
    things::SEQ,
};
use crate::{
    Error,
    registry::{CapabilityNeighbors, CompatibleQuery},
    search::{DEFAULT_LIMIT, MAX_LIMIT, compatible::CompatibleHit},
};

/// What comes behind the id of the Thing.
pub(super) const END: &str = "/compatible";

/// A capability with a link to its Thing.
#[derive(Serialize)]
struct LinkedHit {
    #[serde(flatten)]
    hit: CompatibleHit,
    links: [Link; 1],
}

/// `POST /search/compatible`
#[utoipa::path(
    post,
    path = "/search/compatible",
    operation_id = "search_compatible",
    tag = "search",
    summary = "Find capabilities that can use the data that there is and give the data that is wanted",
    description = "Parts of data correspond by name or title, regardless of case and punctuation, and their types by the type compatibility rules of Agent Spec: everything goes into a string, numbers and booleans into each other. What fits best comes first, then what is more relevant for `query`.",
    request_body(content((agentdex_api::CompatibleQuery = "application/json"))),
    responses(
        (status = 200, description = "The best first", body = super::schemas::CompatibleResult, headers(("Agentdex-Seq" = u64, description = "Log position that the answer shows"))),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
        (status = 503, description = "It takes too long, or the server is at its limits", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn capabilities(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let query: CompatibleQuery = json_body(&context, &request, payload, &[]).await?;
    let registry = context.registry(&request);
    let answer = blocking(move || registry.search_compatible(&query)).await?;
    let base = base_path(&request, &context.options, "/search/compatible");
    let hits: Vec<LinkedHit> = answer.found.hits.into_iter().map(|hit| linked(base, hit)).collect();
    Ok(HttpResponse::Ok()
        .insert_header((SEQ, answer.seq.0))
        .json(serde_json::json!({"total": answer.found.total, "hits": hits, "seq": answer.seq})))
}

/// `GET /things/{id}/compatible`
#[utoipa::path(
    get,
    path = "/things/{id}/compatible",
    operation_id = "thing_neighbors",
    tag = "search",
    summary = "Find capabilities that can take what those of a Thing give, or give what they need",
    params(
        ("id" = String, Path, description = "The id, percent-encoded: an absolute URI, or a name that is made one"),
        ("near_misses" = Option<bool>, Query, description = "Include capabilities of which one thing is missing"),
        ("limit" = Option<u64>, Query, description = "Maximum number of capabilities in each list: 10 unless given; over 1,000 is served as 1,000"),
    ),
    responses(
        (status = 200, description = "For each capability of the Thing that says what goes in or comes out", body = super::schemas::Neighbors, headers(("Agentdex-Seq" = u64, description = "Log position that the answer shows"))),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
)]
pub(super) async fn of_thing(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["near_misses", "limit"])?;
    let near_misses = parameters.flag("near_misses")?;
    let limit = parameters.number("limit", 1)?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let id = thing_id_before(&request, &context.options, END)?;
    let registry = context.registry(&request);
    let find = move || match registry.compatible_with(&id, near_misses, limit)? {
        Some(neighbors) => Ok(neighbors),
        None => Err(Error::NotFound { id }),
    };
    let neighbors = blocking(find).await?;
    let tail = format!("/things{}", path_below(&request));
    let base = base_path(&request, &context.options, &tail);
    let capability = |neighbors: CapabilityNeighbors| {
        let linked = |hits: Vec<CompatibleHit>| hits.into_iter().map(|hit| linked(base, hit)).collect::<Vec<_>>();
        serde_json::json!({
            "capability": neighbors.capability,
            "takes_output": linked(neighbors.takes_output),
            "gives_input": linked(neighbors.gives_input),
        })
    };
    let capabilities: Vec<_> = neighbors.capabilities.into_iter().map(capability).collect();
    Ok(HttpResponse::Ok()
        .insert_header((SEQ, neighbors.seq.0))
        .json(serde_json::json!({"id": neighbors.id, "capabilities": capabilities, "seq": neighbors.seq})))
}

fn linked(base: &str, hit: CompatibleHit) -> LinkedHit {
    let href = thing_path(base, &hit.id);
    LinkedHit { hit, links: [Link { rel: "describedby", href, type_: "application/td+json" }] }
}

/// Reads a body of JSON that is the query, beside parameters of these names.
pub(super) async fn json_body<T: DeserializeOwned>(
    context: &Data<Context>,
    request: &HttpRequest,
    payload: web::Payload,
    parameters: &[&str],
) -> Result<T, Problem> {
    Parameters::parse(request, parameters)?;
    body::check_type(request, &["application/json"])?;
    let json = body::read(request, payload, context.options.body_limit).await?;
    serde_json::from_slice(&json).map_err(|error| Error::InvalidQuery { message: error.to_string() }.into())
}
