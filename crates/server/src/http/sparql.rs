//! `/search/sparql`: SPARQL 1.1 queries (WoT Discovery, section 7.3.2.3; SPARQL 1.1 Protocol).

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{CONTENT_TYPE, VARY},
    },
    web::{self, Data},
};

use super::{
    blocking::blocking, body, context::Context, negotiation::negotiate, parameters::Parameters, problem::Problem,
};
use crate::search::sparql::{Format, Query};

/// A query that finds something where there is anything.
const EXAMPLE: &str = "SELECT ?thing ?title { ?thing <https://www.w3.org/2019/wot/td#title> ?title } LIMIT 10";
/// The parameters, in the URL or in a form.
const KNOWN: [&str; 2] = ["query", "consistent"];
/// Media types of a query in a body.
const QUERIES: [&str; 2] = ["application/sparql-query", FORM];
const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
/// The largest body: a query of the greatest length, every byte of it encoded, and a flag.
const MAX_BODY_BYTES: usize = 32 * 1024;

/// Search by SPARQL
///
/// SELECT, ASK, CONSTRUCT, or DESCRIBE over the statements of all descriptions: each description is a graph with its
/// id as the name, and the default graph is their union. Updates, FROM, and SERVICE are not supported. Only available
/// if the server was started with `--sparql`.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/search/sparql",
    operation_id = "query_sparql",
    tag = "search",
    params(
        ("query" = String, Query, description = "Query of at most 8 KiB", example = json!(EXAMPLE)),
        ("consistent" = Option<bool>, Query, description = "Wait until all writes acknowledged so far are indexed"),
    ),
    responses(
        (status = 200, description = "Results of SELECT and ASK, or the statements of CONSTRUCT and DESCRIBE", content((serde_json::Value = "application/sparql-results+json"), (String = "application/sparql-results+xml"), (String = "text/csv"), (String = "text/tab-separated-values"), (serde_json::Value = "application/ld+json"), (String = "application/n-triples"), (String = "text/turtle"), (String = "application/n-quads"))),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
        (status = 501, description = "SPARQL is not enabled", body = super::schemas::Problem, content_type = "application/problem+json"),
        (status = 503, description = "The query exceeds a limit, or the server is at its limits", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn get(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &KNOWN)?;
    let query = query_of(&parameters)?.to_owned();
    respond(&context, &request, &query, parameters.flag("consistent")?).await
}

/// Search by SPARQL, with the query in the body
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/search/sparql",
    operation_id = "query_sparql_by_post",
    tag = "search",
    params(
        ("consistent" = Option<bool>, Query, description = "Wait until all writes acknowledged so far are indexed"),
    ),
    request_body(content((String = "application/sparql-query", example = json!(EXAMPLE)), (super::schemas::SparqlForm = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The same as for GET", content((serde_json::Value = "application/sparql-results+json"), (String = "application/sparql-results+xml"), (String = "text/csv"), (String = "text/tab-separated-values"), (serde_json::Value = "application/ld+json"), (String = "application/n-triples"), (String = "text/turtle"), (String = "application/n-quads"))),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
        super::schemas::BodyRefusals,
        (status = 501, description = "SPARQL is not enabled", body = super::schemas::Problem, content_type = "application/problem+json"),
        (status = 503, description = "The query exceeds a limit, or the server is at its limits", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn post(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let in_url = Parameters::parse(&request, &["consistent"])?.flag("consistent")?;
    body::check_type(&request, &QUERIES)?;
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_form = content_type.get(..FORM.len()).is_some_and(|start| start.eq_ignore_ascii_case(FORM));
    let body = body::read(&request, payload, MAX_BODY_BYTES).await?;
    let text = String::from_utf8(body).map_err(|_| Problem::invalid_parameter("query", "the body is not UTF-8"))?;
    if !is_form {
        return respond(&context, &request, &text, in_url).await;
    }
    let form = Parameters::parse_query(&text, &KNOWN)?;
    let consistent = form.flag("consistent")? || in_url;
    respond(&context, &request, query_of(&form)?, consistent).await
}

fn query_of(parameters: &Parameters) -> Result<&str, Problem> {
    parameters
        .text("query")
        .ok_or_else(|| Problem::invalid_parameter("query", format!("give a SPARQL query, such as {EXAMPLE}")))
}

async fn respond(
    context: &Context,
    request: &HttpRequest,
    text: &str,
    consistent: bool,
) -> Result<HttpResponse, Problem> {
    let registry = context.registry(request);
    registry.ready_for_sparql(consistent).await?;
    let text = text.to_owned();
    let query = blocking(move || Query::parse(&text)).await?;
    let formats: Vec<(Format, &'static str)> = Format::all_for(query.kind()).collect();
    // The first is JSON, and known as that to clients of other queries.
    let media_types: Vec<&str> = formats.iter().map(|(_, media_type)| *media_type).chain([JSON]).collect();
    let chosen = negotiate(request, &media_types)?;
    let chosen = formats.iter().find(|(_, own)| *own == chosen).or(formats.first());
    let (format, media_type) = chosen.copied().unwrap_or((Format::Json, JSON));
    let written = blocking(move || registry.query_sparql(&query, format)).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((VARY, "accept, accept-encoding")).content_type(media_type);
    if request.method() == Method::HEAD {
        return Ok(response.finish());
    }
    Ok(response.body(written))
}
