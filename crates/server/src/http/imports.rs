//! `/imports`: the tracked sources and their state.

use actix_web::{HttpRequest, HttpResponse, http::header::LINK, web::Data};
use agentdex_api::{Refreshed, SourceStatus, TrackedSource};
use serde_json::json;

use super::{
    address::{base_path, path_below, thing_id, thing_id_before},
    blocking::blocking,
    context::Context,
    parameters::Parameters,
    problem::Problem,
    things::page_url,
};
use crate::{Error, search::MAX_LIMIT, td};

/// Path suffix after the id of a Thing whose source is to be polled now.
pub(super) const REFRESH: &str = "/refresh";

/// List the tracked sources
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/imports",
    tag = "import",
    operation_id = "list_imports",
    params(
        ("id" = Option<String>, Query, min_length = 1, description = "Only the source of the Thing with this id"),
        ("status" = Option<Vec<String>>, Query, description = "`current` or `stale`; can be repeated"),
        ("limit" = Option<u64>, Query, description = "Maximum number of results; values over 1,000 are reduced to 1,000. All by default"),
        ("offset" = Option<u64>, Query, description = "Number of results to skip"),
    ),
    responses(
        (status = 200, description = "In ascending order of the Thing's id", body = Vec<TrackedSource>, headers(("Link"))),
        super::schemas::Refusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["id", "status", "limit", "offset"])?;
    let statuses = SourceStatus::ALL.map(|status| (status.name(), status));
    let wanted = parameters.choices("status", &statuses)?;
    let number = |name, minimum| {
        let number = parameters.number(name, minimum)?;
        Ok::<_, Problem>(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
    };
    let (limit, offset) = (number("limit", 1)?.map(|limit| limit.min(MAX_LIMIT)), number("offset", 0)?.unwrap_or(0));

    let registry = context.registry(&request);
    let id = parameters.text("id").map(str::to_owned);
    let read = move || match id {
        Some(id) => Ok(registry.find_tracked_source(&id)?.into_iter().collect()),
        None => registry.tracked_sources(),
    };
    let mut imports = blocking(read).await?;
    imports.retain(|import| wanted.is_empty() || wanted.contains(&import.status));
    let mut response = HttpResponse::Ok();
    if let Some(end) = limit.map(|limit| offset.saturating_add(limit)).filter(|end| *end < imports.len()) {
        let path = format!("{}/imports", base_path(&request, &context.options, "/imports"));
        let next = page_url(&path, &parameters, end, limit);
        response.insert_header((LINK, format!("<{next}>; rel=\"next\"")));
    }
    let page: Vec<TrackedSource> = imports.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX)).collect();
    Ok(response.json(page))
}

/// Answers all methods of a tracked source.
pub(super) async fn any(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    if path_below(&request) == "/" {
        let detail = "the collection is /imports, without a trailing slash; an import is /imports/{id}";
        return Err(Problem::unknown_path(request.path()).with_detail(detail));
    }
    match request.method().as_str() {
        "GET" | "HEAD" => retrieve(context, request).await,
        "DELETE" => stop(context, request).await,
        other => Err(Problem::method_not_allowed(other, "GET, HEAD, DELETE")),
    }
}

/// Describe the tracked source of a Thing
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/imports/{id}",
    tag = "import",
    operation_id = "retrieve_import",
    params(
        ("id" = String, Path, description = "The id of the Thing, percent-encoded"),
    ),
    responses(
        (status = 200, description = "The state of the Thing's source", body = TrackedSource),
        super::schemas::Refusals,
        super::schemas::ImportRefusals,
    )
))]
pub(super) async fn retrieve(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let id = thing_id(&request, &context.options)?;
    match context.registry(&request).find_tracked_source(&id)? {
        Some(import) => Ok(HttpResponse::Ok().json(import)),
        None => Err(Error::NotTracked { id }.into()),
    }
}

/// Stop tracking the source of a Thing; the Thing stays
#[cfg_attr(debug_assertions, utoipa::path(
    delete,
    path = "/imports/{id}",
    tag = "import",
    operation_id = "stop_import",
    params(
        ("id" = String, Path, description = "The id of the Thing, percent-encoded"),
    ),
    responses(
        (status = 204, description = "The source is no longer tracked"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::ImportRefusals,
    )
))]
pub(super) async fn stop(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let id = thing_id(&request, &context.options)?;
    context.registry(&request).untrack(&id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Poll the source of a Thing now, and import its document if it changed
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things/{id}/refresh",
    tag = "import",
    operation_id = "refresh_source",
    params(
        super::schemas::ThingId,
    ),
    responses(
        (status = 200, description = "Whether the description changed", body = Refreshed),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::FormRefusals,
        super::schemas::ImportRefusals,
        super::schemas::FetchRefusals,
        (status = 409, description = "`lossy-import`: the document would drop an original in another format", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn refresh(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let id = td::normalize_id(&thing_id_before(&request, &context.options, REFRESH)?)?.into_owned();
    let registry = context.registry(&request);
    let source = registry.find_tracked_source(&id)?.map(|import| import.source).unwrap_or_default();
    let refresh = async move { Ok((registry.refresh_source(&id).await?, registry.find_tracked_source(&id)?)) };
    let result = context.network.run(refresh).await;
    let (result, import) = result.map_err(|error| Problem::of_fetched(error, &source))?;
    Ok(HttpResponse::Ok().json(json!(Refreshed { import, result })))
}
