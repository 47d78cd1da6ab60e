//! `/keys`: the API keys that clients prove themselves with.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{CACHE_CONTROL, LOCATION},
    },
    web::{self, Data},
};

use super::{
    address::base_path,
    blocking::blocking,
    compatible::json_body,
    context::Context,
    parameters::Parameters,
    problem::{Problem, excerpt},
};
use crate::access::{CreatedKey, NewKey};

/// List the API keys, without their secrets
///
/// Requires the role `admin`; refused (403) if the server doesn't authenticate its clients.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/keys",
    tag = "about",
    operation_id = "list_keys",
    responses(
        (status = 200, description = "Oldest first, including expired keys", body = Vec<agentdex_api::access::ApiKey>),
        super::schemas::Refusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    check_managed(&context)?;
    Ok(HttpResponse::Ok().json(context.admin(&request)?.keys().list()))
}

/// Create an API key
///
/// Requires the role `admin`; refused (403) if the server doesn't authenticate its clients. The key itself is
/// returned only here.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/keys",
    tag = "about",
    operation_id = "create_key",
    request_body(content((agentdex_api::access::NewKey = "application/json"))),
    responses(
        (status = 201, description = "The key", body = agentdex_api::access::CreatedKey, headers(("Location" = String, description = "URL at which to revoke the key"))),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn create(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let new: NewKey = json_body(&context, &request, payload, &[]).await?;
    check_managed(&context)?;
    let registry = context.admin(&request)?;
    let (listed, key) = blocking(move || registry.create_key(new)).await?;
    let location = format!("{}/keys/{}", base_path(&request, &context.options, "/keys"), listed.id);
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, location))
        .insert_header((CACHE_CONTROL, "no-store"))
        .json(CreatedKey { listed, key }))
}

/// Revoke an API key
///
/// Requires the role `admin`; refused (403) if the server doesn't authenticate its clients. Requests with the key are
/// refused from now on; streams and MQTT connections that were opened with it end immediately.
#[cfg_attr(debug_assertions, utoipa::path(
    delete,
    path = "/keys/{id}",
    tag = "about",
    operation_id = "revoke_key",
    params(("id" = String, Path, description = "The id of the key: its digits between the underscores")),
    responses(
        (status = 204, description = "The key was revoked"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        (status = 404, description = "There is no such key", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn revoke(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    check_managed(&context)?;
    let id = request.match_info().get("id").unwrap_or_default().to_owned();
    let (registry, revoked) = (context.admin(&request)?, id.clone());
    if blocking(move || registry.revoke_key(&revoked)).await? {
        return Ok(HttpResponse::NoContent().finish());
    }
    let detail = format!("there is no API key {:?}; GET /keys lists the keys", excerpt(&id));
    Err(Problem::new(StatusCode::NOT_FOUND, "no-such-key", detail))
}

/// Refuses to manage keys where clients aren't authenticated: everybody could create a key, which would still be valid
/// once authentication is switched on.
fn check_managed(context: &Context) -> Result<(), Problem> {
    if context.options.access.authentication {
        return Ok(());
    }
    let detail = "API keys can't be managed, since this server doesn't authenticate its clients; stop it, create \
        the first key with `agentdex keys create --role admin --owner NAME --data DIR`, and start it with `--auth`";
    Err(Problem::new(StatusCode::FORBIDDEN, "authentication-off", detail))
}
