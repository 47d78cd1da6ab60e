//! `/things/{id}/access`: whose a Thing is, and who sees it; and what requests that put Things ask for.

use super::{
    address::thing_id_before, blocking::blocking, compatible::json_body, conditions::Conditions, context::Context,
    parameters::Parameters, problem::Problem, thing,
};
use crate::{Error, access::AccessRequest, registry::Write};
use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CACHE_CONTROL, ETAG},
    web::{self, Data},
};

/// Path suffix of the access to a Thing, after its id.
pub(super) const END: &str = "/access";

/// Answers all methods of `/things/{id}/access`.
pub(super) async fn any(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    match request.method().as_str() {
        "GET" | "HEAD" => retrieve(context, request).await,
        "PUT" => set(context, request, payload).await,
        other => Err(Problem::method_not_allowed(other, "GET, HEAD, PUT")),
    }
}

/// Read the owner and visibility of a Thing
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/access",
    operation_id = "get_access",
    tag = "things",
    params(super::schemas::ThingId),
    responses(
        (status = 200, description = "Owner, visibility, and namespace of the Thing", body = agentdex_api::access::Access, headers(("ETag"))),
        super::schemas::Refusals,
        (status = 404, description = "There is no such Thing, or it has expired", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn retrieve(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let id = thing_id_before(&request, &context.options, END)?;
    let registry = context.registry(&request);
    let (thing, id) = blocking(move || Ok((registry.find(&id)?, id))).await?;
    let Some(thing) = thing else { return Err(Error::NotFound { id }.into()) };
    let mut response = HttpResponse::Ok();
    response.insert_header((ETAG, format!("\"{}\"", thing.seq()))).insert_header((CACHE_CONTROL, "no-store"));
    Ok(response.json(thing.access()))
}

/// Change the visibility, namespace, or owner of a Thing
///
/// Only for its owner and admins; only admins can change the owner. For callers who can now see the Thing, the event
/// is a creation; for callers who no longer can, a deletion. Things of parts of its document with the same owner get
/// the same access. The access applies to the served description. Other versions, and the original document of an
/// edited Thing, keep the access with which they were stored if that is narrower, unless `versions=all` is given; the
/// warning `versions-hidden` names them.
#[cfg_attr(debug_assertions, utoipa::path(
    put,
    path = "/things/{id}/access",
    operation_id = "set_access",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("dry_run" = Option<bool>, Query, description = "Check everything without writing anything"),
        ("versions" = Option<String>, Query, description = "`all`: the access also applies to versions that aren't served, and to an original under edits; `served` (the default)"),
        super::schemas::ConditionParameters,
        ("Prefer" = Option<String>, Header, description = "`return=effect`: respond with the effect and the warnings instead of 204"),
    ),
    request_body(content((agentdex_api::access::AccessRequest = "application/json"))),
    responses(
        (status = 204, description = "The access was changed", headers(("Agentdex-Effect" = String, description = "`updated` or `unchanged`"), ("Agentdex-Warnings" = u64), ("ETag"))),
        (status = 200, description = "Result, if requested by `Prefer`; or the result of a dry run", body = agentdex_api::DryRun),
        (status = 409, description = "`part-of-document`: a part inherits the access of its documents", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::ThingRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn set(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["dry_run", "versions"])?;
    let (dry_run, all_versions) = (parameters.flag("dry_run")?, parameters.all_versions()?);
    let id = thing_id_before(&request, &context.options, END)?;
    let conditions = Conditions::of(&request);
    let access: AccessRequest = json_body(&context, &request, payload, &["dry_run", "versions"]).await?;
    let access = AccessRequest { all_versions, ..access };
    let write = Write::access(&id, access).dry_run(dry_run);
    let written = thing::commit_to_present(&context.registry(&request), &id, write, &conditions, false).await?;
    thing::answer(&context, &request, &written, dry_run)
}
