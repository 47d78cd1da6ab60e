//! Security schemes of the OpenAPI document, and the operations that need them: from the table of roles.

use actix_web::http::Method;
use utoipa::{
    Modify,
    openapi::{
        OpenApi,
        path::Operation,
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};

use crate::http::{access::Needs, openapi::API_KEY};

const DESCRIPTION: &str = "An API key (`adx_…`), as printed by `agentdex keys create`. A registry without \
    authentication requires no key. With authentication, each operation requires a key with at least the role in its \
    security requirement: `read`, `register`, or `admin`.";

/// Writes the schemes into the document.
pub(in crate::http) struct Security;

impl Modify for Security {
    fn modify(&self, openapi: &mut OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(DESCRIPTION)).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme(API_KEY, SecurityScheme::Http(scheme));
        for (path, item) in &mut openapi.paths.paths {
            let needs = Needs::of(path);
            secure(&mut item.get, needs, &Method::GET);
            secure(&mut item.put, needs, &Method::PUT);
            secure(&mut item.post, needs, &Method::POST);
            secure(&mut item.patch, needs, &Method::PATCH);
            secure(&mut item.delete, needs, &Method::DELETE);
        }
    }
}

/// Names the role that an operation needs, as an alternative to none: a registry may be open to everybody.
fn secure(operation: &mut Option<Operation>, needs: Needs, method: &Method) {
    let Some(operation) = operation else { return };
    let with_key = |role| vec![SecurityRequirement::default(), SecurityRequirement::new(API_KEY, [role])];
    operation.security = Some(needs.role(method).map_or_else(Vec::new, |role| with_key(role.as_str())));
}
