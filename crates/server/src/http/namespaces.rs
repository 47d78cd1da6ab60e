//! `/namespaces`: the Things that several owners share.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Data},
};
use agentdex_api::Membership;

use super::{
    blocking::blocking,
    compatible::json_body,
    context::Context,
    parameters::Parameters,
    problem::{Problem, excerpt},
};
use crate::access::Namespace;

/// List the namespaces that the caller is a member of; for admins, all of them
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/namespaces",
    tag = "about",
    operation_id = "list_namespaces",
    responses(
        (status = 200, description = "The namespaces, sorted by name", body = Vec<agentdex_api::ClaimedNamespace>),
        super::schemas::Refusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().json(context.registry(&request).claimed_namespaces()))
}

/// Claim a namespace, or set its members
///
/// The first owner to claim a namespace owns it. A name with a dot is a domain name, which can only be claimed by an
/// admin, or by an owner that the domain confirms at `https://{name}/.well-known/agentdex.json`: `{"owners":
/// [{"owner": "weather-team", "registry": "https://registry.example"}]}`. `registry` is the public URL of this
/// registry.
#[cfg_attr(debug_assertions, utoipa::path(
    put,
    path = "/namespaces/{name}",
    tag = "about",
    operation_id = "claim_namespace",
    params(("name" = String, Path, description = "Lower-case letters, digits, and single `-` and `.` in between", min_length = 1, max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")),
    request_body(content((agentdex_api::Membership = "application/json"))),
    responses(
        (status = 201, description = "The namespace was claimed", body = agentdex_api::ClaimedNamespace),
        (status = 200, description = "The namespace was changed", body = agentdex_api::ClaimedNamespace),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn claim(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let name = name(&request)?;
    let Membership { members } = json_body(&context, &request, payload, &[]).await?;
    let registry = context.registry(&request);
    let proof = registry.domain_proof(&name, context.options.public_url.as_deref()).await?;
    let (namespace, is_new) = blocking(move || registry.claim_namespace(name, members, proof)).await?;
    let mut response = if is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    Ok(response.json(namespace))
}

/// Give up a namespace
///
/// Only for its owner and admins. Things that only its members could see are then visible only to their owners
/// and admins.
#[cfg_attr(debug_assertions, utoipa::path(
    delete,
    path = "/namespaces/{name}",
    tag = "about",
    operation_id = "give_up_namespace",
    params(("name" = String, Path, description = "The name of the namespace", min_length = 1, max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")),
    responses(
        (status = 204, description = "The namespace was given up"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        (status = 404, description = "There is no such namespace", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn give_up(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let (registry, name) = (context.registry(&request), name(&request)?);
    let shown = name.to_string();
    if blocking(move || registry.give_up_namespace(&name)).await? {
        return Ok(HttpResponse::NoContent().finish());
    }
    let detail = format!("you are not a member of a namespace named {:?}", excerpt(&shown));
    Err(Problem::new(StatusCode::NOT_FOUND, "no-such-namespace", detail))
}

fn name(request: &HttpRequest) -> Result<Namespace, Problem> {
    let name = request.match_info().get("name").unwrap_or_default();
    name.parse().map_err(|message: String| Problem::new(StatusCode::BAD_REQUEST, "invalid-namespace", message))
}
