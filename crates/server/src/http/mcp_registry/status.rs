//! `PATCH …/status`: the status of a version, or of all versions.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Data},
};
use agentdex_api::mcp_registry::{ServerEntry, ServerStatus, StatusUpdate, UpdatedServers};
use serde_json::json;

use super::{
    super::{blocking::blocking, compatible::json_body, context::Context, problem::Problem},
    entry::{Depth, LONGEST_MESSAGE, ListedServer, find},
    path::Addressed,
    publish::check_namespace,
    read::{LATEST, no_such_server},
};
use crate::{Error, Registry, Timestamp};

/// Maximum number of attempts after concurrent writes.
const ATTEMPTS: u32 = 20;

/// Set the status of a version of an MCP server
///
/// For owners of the server in its namespace, as for `POST /v0.1/publish`, and admins.
#[cfg_attr(debug_assertions, utoipa::path(
    patch,
    path = "/v0.1/servers/{serverName}/versions/{version}/status",
    operation_id = "set_mcp_server_version_status",
    tag = "import",
    params(
        ("serverName" = String, Path, description = "The name, percent-encoded", example = "com.example/weather"),
        ("version" = String, Path, description = "A version, percent-encoded, or `latest`", example = "1.0.0"),
    ),
    request_body(content((StatusUpdate = "application/json"))),
    responses(
        (status = 200, description = "The version with its new status", body = ServerEntry),
        (status = 409, description = "`not-expressible`: the version isn't served, and was not imported from `server.json`", body = super::super::schemas::Problem, content_type = "application/problem+json"),
        super::super::schemas::Refusals,
        super::super::schemas::WriteRefusals,
        super::super::schemas::ThingRefusals,
        super::super::schemas::BodyRefusals,
    )
))]
pub(in crate::http) async fn of_version(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let mut updated = update(context, request, payload).await?;
    Ok(HttpResponse::Ok().json(updated.pop()))
}

/// Set the status of all versions of an MCP server
///
/// For owners of the server in its namespace, as for `POST /v0.1/publish`, and admins. Versions are changed in sequence.
#[cfg_attr(debug_assertions, utoipa::path(
    patch,
    path = "/v0.1/servers/{serverName}/status",
    operation_id = "set_mcp_server_status",
    tag = "import",
    params(
        ("serverName" = String, Path, description = "The name, percent-encoded", example = "com.example/weather"),
    ),
    request_body(content((StatusUpdate = "application/json"))),
    responses(
        (status = 200, description = "The versions whose status was changed", body = UpdatedServers),
        (status = 409, description = "`not-expressible`: a version isn't served, and was not imported from `server.json`", body = super::super::schemas::Problem, content_type = "application/problem+json"),
        super::super::schemas::Refusals,
        super::super::schemas::WriteRefusals,
        super::super::schemas::ThingRefusals,
        super::super::schemas::BodyRefusals,
    )
))]
pub(in crate::http) async fn of_all_versions(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let servers = update(context, request, payload).await?;
    let updated_count = servers.len().try_into().unwrap_or(u64::MAX);
    Ok(HttpResponse::Ok().json(UpdatedServers { updated_count, servers }))
}

/// Updates the addressed versions. Returns the changed versions, of which there is at least one.
async fn update(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<Vec<ServerEntry>, Problem> {
    let addressed = Addressed::of(&request)?;
    let update: StatusUpdate = json_body(&context, &request, payload, &[]).await?;
    let invalid = |detail: String| Problem::new(StatusCode::BAD_REQUEST, "invalid-query", detail);
    if let Some(message) = &update.status_message {
        if update.status == ServerStatus::Active {
            return Err(invalid("`statusMessage` is not allowed for the status `active`".to_owned()));
        }
        if message.chars().count() > LONGEST_MESSAGE {
            return Err(invalid(format!("`statusMessage` has more than {LONGEST_MESSAGE} characters")));
        }
    }
    let registry = context.registry(&request);
    blocking(move || Ok(apply(&registry, addressed, &update))).await?
}

fn apply(registry: &Registry, mut addressed: Addressed, update: &StatusUpdate) -> Result<Vec<ServerEntry>, Problem> {
    check_namespace(registry, &addressed.name)?;
    let found = find_addressed(registry, &addressed)?;
    let Some(first) = found.first() else { return Err(no_such_server(&addressed.name, &addressed.version)) };
    if addressed.version == LATEST {
        // A version published meanwhile is another one.
        first.version_name().clone_into(&mut addressed.version);
    }
    let is_changed = |listed: &ListedServer| {
        let stated = listed.stated();
        (stated.status, &stated.status_message) != (update.status, &update.status_message)
    };
    let changed: Vec<String> =
        found.iter().filter(|listed| is_changed(listed)).map(|listed| listed.version_name().to_owned()).collect();
    if changed.is_empty() {
        let detail = format!("no changes to apply: the status is `{}` already", update.status.as_str());
        return Err(Problem::new(StatusCode::BAD_REQUEST, "no-changes", detail));
    }
    for version in &changed {
        set_status(registry, &addressed, version, update)?;
    }
    let mut updated = find_addressed(registry, &addressed)?;
    updated.retain(|listed| changed.iter().any(|version| version == listed.version_name()));
    if updated.is_empty() {
        // It was removed concurrently.
        return Err(no_such_server(&addressed.name, &addressed.version));
    }
    Ok(updated.into_iter().map(|listed| listed.entry).collect())
}

fn find_addressed(registry: &Registry, addressed: &Addressed) -> Result<Vec<ListedServer>, Error> {
    let Addressed { name, version } = addressed;
    let depth = if version == LATEST { Depth::Latest } else { Depth::All };
    let mut found = find(registry, name, depth)?;
    found.retain(|listed| ["", LATEST, listed.version_name()].contains(&version.as_str()));
    Ok(found)
}

fn set_status(registry: &Registry, addressed: &Addressed, version: &str, update: &StatusUpdate) -> Result<(), Problem> {
    for _ in 0..ATTEMPTS {
        let found = find_addressed(registry, addressed)?.into_iter().find(|listed| listed.version_name() == version);
        let found = found.ok_or_else(|| no_such_server(&addressed.name, version))?;
        let stated = found.stated();
        let mut block = found.block.clone();
        block.insert("status".to_owned(), json!(update.status));
        block.insert("statusChangedAt".to_owned(), json!(Timestamp::now()));
        block.insert("publishedAt".to_owned(), json!(stated.published_at));
        match &update.status_message {
            Some(message) => drop(block.insert("statusMessage".to_owned(), message.clone().into())),
            None => drop(block.remove("statusMessage")),
        }
        match registry.set_server_metadata(&stated.id, &found.version, &block) {
            Err(Error::PreconditionFailed { .. }) => {}
            outcome => return Ok(outcome?),
        }
    }
    Err(Error::Contended { id: addressed.name.clone(), attempts: ATTEMPTS }.into())
}
