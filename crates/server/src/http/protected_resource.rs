//! `/.well-known/oauth-protected-resource`: where clients get tokens for this registry (RFC 9728).

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use agentdex_api::ProtectedResource;

use super::{
    address::{base_url, base_url_before},
    context::Context,
    parameters::Parameters,
    problem::Problem,
};

/// Path of the metadata.
pub(super) const PATH: &str = "/.well-known/oauth-protected-resource";
/// Path of the MCP server.
pub(super) const MCP: &str = "/mcp";
/// Path of its metadata: clients append the path of a resource (RFC 9728, section 3.1).
pub(super) const OF_MCP: &str = "/.well-known/oauth-protected-resource/mcp";

/// Name the issuer of accepted tokens (RFC 9728)
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/.well-known/oauth-protected-resource",
    operation_id = "describe_protected_resource",
    tag = "about",
    responses(
        (status = 200, description = "The authorization server, and the scopes that grant a role", body = ProtectedResource),
        (status = 404, description = "Tokens are not accepted", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::Refusals,
    )
))]
pub(super) async fn metadata(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    respond(&context, &request, PATH, "")
}

/// Answers with the metadata of the MCP server.
pub(super) async fn metadata_of_mcp(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    respond(&context, &request, OF_MCP, MCP)
}

/// The metadata at `path` of the API, or of a resource of it.
fn respond(context: &Context, request: &HttpRequest, path: &str, resource: &str) -> Result<HttpResponse, Problem> {
    Parameters::parse(request, &[])?;
    let Some(issuer) = context.issuer().filter(|_| context.options.access.authentication) else {
        let detail = "this server doesn't accept tokens of an authorization server; to accept them, start it with \
            `--oidc-issuer`";
        return Err(Problem::new(StatusCode::NOT_FOUND, "no-issuer", detail));
    };
    let base = base_url(request, &context.options, path);
    let scopes: Vec<String> = issuer.roles.names().map(str::to_owned).collect();
    Ok(HttpResponse::Ok().json(ProtectedResource {
        authorization_servers: vec![issuer.issuer.clone()],
        bearer_methods_supported: vec!["header".to_owned()],
        resource_documentation: format!("{base}/docs/"),
        resource: format!("{base}{resource}"),
        resource_name: "agentdex".to_owned(),
        scopes_supported: Some(scopes).filter(|scopes| issuer.role_claim == "scope" && !scopes.is_empty()),
    }))
}

/// Returns the parameter of a challenge that points to the metadata (RFC 9728, section 5.1); empty where no tokens are
/// taken. `path` is the resource that was requested, as it is mounted.
pub(super) fn challenge(context: &Context, request: &HttpRequest, path: &str) -> String {
    if context.issuer().is_none() {
        return String::new();
    }
    let metadata = if path == MCP { OF_MCP } else { PATH };
    format!(", resource_metadata=\"{}{metadata}\"", base_url_before(request, &context.options, path))
}
