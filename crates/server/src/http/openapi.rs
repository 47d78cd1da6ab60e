//! `/openapi.json`: the OpenAPI document, which tests compare with the handlers.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Bytes, Data},
};
use serde_json::{Value, json};

use super::{context::Context, gzipped::Gzipped, parameters::Parameters, problem::Problem};
use crate::access::Role;

/// The file `openapi/agentdex.json` (`build.rs`).
const DOCUMENT: Gzipped =
    Gzipped { media_type: "application/json", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/agentdex.json.gz")) };

/// Name of the security scheme of API keys.
pub(super) const API_KEY: &str = "apiKey";
/// Name of the security scheme of tokens of an issuer.
const OIDC: &str = "oidc";

/// The OpenAPI document of the API, as `GET /openapi.json` returns it where the API is open to everybody.
///
/// # Errors
/// If it can't be decompressed, which doesn't happen.
pub fn openapi_document() -> crate::Result<String> {
    DOCUMENT.text()
}

/// Describe the API
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "describe_api",
    tag = "about",
    responses((status = 200, description = "An OpenAPI document", content_type = "application/json"), super::schemas::Refusals)
))]
pub(super) async fn document(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    if !context.options.access.authentication {
        return DOCUMENT.response(&request);
    }
    let known = context.openapi.get();
    let document = known.cloned().map_or_else(|| secured(&context), Ok)?;
    let document = context.openapi.get_or_init(|| document).clone();
    Ok(HttpResponse::Ok().content_type(DOCUMENT.media_type).body(document))
}

/// The document of a registry that authenticates its clients: an operation that needs a role can't be used without
/// credentials, unless everybody has that role; and tokens are taken where there is an issuer.
fn secured(context: &Context) -> crate::Result<Bytes> {
    let mut document: Value = serde_json::from_str(&DOCUMENT.text()?).unwrap_or_default();
    let openid = context.openid_url();
    if let (Some(url), Some(schemes)) = (&openid, document.pointer_mut("/components/securitySchemes")) {
        schemes[OIDC] = json!({
            "type": "openIdConnect",
            "openIdConnectUrl": url,
            "description": "An access token from the issuer, sent like an API key.",
        });
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for operation in paths.into_iter().flat_map(|paths| paths.values_mut()).filter_map(Value::as_object_mut) {
        for security in operation.values_mut().filter_map(|operation| operation.get_mut("security")?.as_array_mut()) {
            let is_public = |requirement: &Value| requirement[API_KEY][0] == Role::Read.as_str();
            if !(context.options.access.public_read && security.iter().any(is_public)) {
                security.retain(|requirement| requirement != &json!({}));
            }
            if openid.is_some() && !security.is_empty() {
                security.push(json!({ OIDC: [] }));
            }
        }
    }
    Ok(document.to_string().into())
}
