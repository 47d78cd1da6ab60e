//! `GET /servers/{name}/versions` and `…/versions/{version}`.

use std::cmp::Reverse;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use agentdex_api::mcp_registry::{ServerEntry, ServerList, ServerListMetadata, ServerStatus};

use super::{
    super::{
        blocking::blocking,
        context::Context,
        parameters::Parameters,
        problem::{Problem, excerpt},
    },
    entry::{Depth, ListedServer, find},
    path::Addressed,
    respond::respond,
};

/// Name for the latest version.
pub(super) const LATEST: &str = "latest";

/// List the versions of an MCP server
///
/// The most recently published version comes first.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/v0.1/servers/{serverName}/versions",
    operation_id = "list_mcp_server_versions",
    tag = "search",
    params(
        ("serverName" = String, Path, description = "The name, percent-encoded", example = "com.example/weather"),
        ("include_deleted" = Option<bool>, Query, description = "Include versions with the status `deleted`"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the list has another entity tag"),
    ),
    responses(
        (status = 200, description = "All versions, at most 20", body = ServerList, headers(("ETag"))),
        (status = 304, description = "Not modified"),
        super::super::schemas::Refusals,
        super::super::schemas::ThingRefusals,
    )
))]
pub(in crate::http) async fn versions(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let (Addressed { name, .. }, mut found) = read(&context, &request, Depth::All).await?;
    if found.is_empty() {
        return Err(no_such_server(&name, ""));
    }
    found.sort_by_key(|listed| Reverse(listed.stated().published_at));
    let servers: Vec<ServerEntry> = found.into_iter().map(|listed| listed.entry).collect();
    let count = servers.len().try_into().unwrap_or(u64::MAX);
    respond(&request, &ServerList { servers, metadata: ServerListMetadata { next_cursor: None, count } })
}

/// Read a version of an MCP server
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/v0.1/servers/{serverName}/versions/{version}",
    operation_id = "retrieve_mcp_server",
    tag = "search",
    params(
        ("serverName" = String, Path, description = "The name, percent-encoded", example = "com.example/weather"),
        ("version" = String, Path, description = "A version, percent-encoded, or `latest`", example = "latest"),
        ("include_deleted" = Option<bool>, Query, description = "Return the version even if its status is `deleted`"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the version has another entity tag"),
    ),
    responses(
        (status = 200, description = "The version", body = ServerEntry, headers(("ETag"))),
        (status = 304, description = "Not modified"),
        super::super::schemas::Refusals,
        super::super::schemas::ThingRefusals,
    )
))]
pub(in crate::http) async fn version(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let is_latest = Addressed::of(&request)?.version == LATEST;
    let depth = if is_latest { Depth::Latest } else { Depth::All };
    let (Addressed { name, version }, found) = read(&context, &request, depth).await?;
    let found = found.into_iter().find(|listed| is_latest || listed.version_name() == version);
    let found = found.ok_or_else(|| no_such_server(&name, &version))?;
    respond(&request, &found.entry)
}

async fn read(
    context: &Context,
    request: &HttpRequest,
    depth: Depth,
) -> Result<(Addressed, Vec<ListedServer>), Problem> {
    let includes_deleted = Parameters::parse_known(request, &["include_deleted"])?.flag("include_deleted")?;
    let addressed = Addressed::of(request)?;
    let (registry, name) = (context.registry(request), addressed.name.clone());
    let mut found = blocking(move || find(&registry, &name, depth)).await?;
    found.retain(|listed| includes_deleted || listed.stated().status != ServerStatus::Deleted);
    Ok((addressed, found))
}

/// Returns the problem for an unknown or hidden server, or version of a server if `version` is not empty.
pub(super) fn no_such_server(name: &str, version: &str) -> Problem {
    let of = if version.is_empty() { String::new() } else { format!("version {:?} of ", excerpt(version)) };
    let detail = format!("{of}MCP server {:?} not found; `GET /v0.1/servers` lists the servers", excerpt(name));
    Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
}
