//! `/search/compatible` and `/things/{id}/compatible`: what fits the data that there is and that is wanted.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use agentdex_api::{CompatibleResult, Link};
use serde::de::DeserializeOwned;

use super::{
    address::{base_path, path_below, thing_id_before, thing_path},
    blocking::blocking,
    body,
    context::Context,
    parameters::Parameters,
    problem::Problem,
    things::SEQ,
};
use crate::{
    Error,
    registry::CompatibleQuery,
    search::{DEFAULT_LIMIT, MAX_LIMIT, compatible::CompatibleHit},
};

/// Path suffix after the id of a Thing.
pub(super) const END: &str = "/compatible";

/// Find capabilities that accept the available data and return the desired data
///
/// Parts of data correspond by name or title, regardless of case and punctuation, or by a synonymous name. A part
/// fits another if its values satisfy the other's schema: types, `enum`, bounds, lengths, formats, units, items, and
/// members, with `$ref` and `allOf`. `fit` is 1 only if all values fit. From 0.5, the schemas don't contradict each
/// other. Below, some values may not fit, or must be converted by the type compatibility rules of Agent Spec. The
/// links list all doubts. The best fits come first, and among equal fits, those that are more relevant for `query`.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/search/compatible",
    operation_id = "search_compatible",
    tag = "search",
    request_body(content((agentdex_api::CompatibleQuery = "application/json"))),
    responses(
        (status = 200, description = "The best matches first", body = CompatibleResult, headers(("Agentdex-Seq" = u64))),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
        (status = 503, description = "The search takes too long, or the server is at its limits", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn capabilities(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let query: CompatibleQuery = json_body(&context, &request, payload, &[]).await?;
    let registry = context.registry(&request);
    let answer = blocking(move || registry.search_compatible(&query)).await?;
    let base = base_path(&request, &context.options, "/search/compatible");
    let (total, hits, seq) = (answer.found.total, linked(base, answer.found.hits), answer.seq);
    Ok(HttpResponse::Ok().insert_header((SEQ, seq.0)).json(CompatibleResult { total, hits, seq }))
}

/// Find capabilities that accept the output of a Thing's capabilities, or provide their input
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/compatible",
    operation_id = "thing_neighbors",
    tag = "search",
    params(
        super::schemas::ThingId,
        ("near_misses" = Option<bool>, Query, description = "Include capabilities for which a single value is missing"),
        ("limit" = Option<u64>, Query, description = "Maximum number of capabilities in each list (default 10); values over 1,000 are reduced to 1,000"),
    ),
    responses(
        (status = 200, description = "For each capability of the Thing that declares an input or an output", body = agentdex_api::Neighbors, headers(("Agentdex-Seq" = u64))),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
))]
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
    let mut neighbors = blocking(find).await?;
    let tail = format!("/things{}", path_below(&request));
    let base = base_path(&request, &context.options, &tail);
    for of_one in &mut neighbors.capabilities {
        of_one.takes_output = linked(base, std::mem::take(&mut of_one.takes_output));
        of_one.gives_input = linked(base, std::mem::take(&mut of_one.gives_input));
    }
    Ok(HttpResponse::Ok().insert_header((SEQ, neighbors.seq.0)).json(neighbors))
}

fn linked(base: &str, mut hits: Vec<CompatibleHit>) -> Vec<CompatibleHit> {
    for hit in &mut hits {
        hit.links = vec![Link::to_description(thing_path(base, &hit.id))];
    }
    hits
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
    let invalid = |message: String| {
        let detail = format!("invalid body: {message}");
        Problem::from(Error::InvalidQuery { message }).with_detail(detail)
    };
    // A struct would be read from a list as well, member by member.
    if json.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(invalid("it is not a JSON object".to_owned()));
    }
    serde_json::from_slice(&json).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        // For an invalid value, Serde appends the position of its end, which says nothing to a caller.
        invalid(if error.is_data() { message.replacen(&place, "", 1) } else { message })
    })
}
