//! `/things/{id}/versions`: what a Thing was registered or imported as, side by side.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use agentdex_api::Version;

use super::{address::thing_id_before, blocking::blocking, context::Context, parameters::Parameters, problem::Problem};
use crate::registry::ThingVersion;

/// The path behind the id of the Thing.
pub(super) const END: &str = "/versions";

/// List the versions of a Thing
///
/// The served version comes first, then the others, the highest first. Versions that aren't semantic come last, in
/// the order of their registration. `GET /things/{id}?version=` reads a version. A version with narrower access than
/// the Thing is listed only for callers with that access, and for the owner of the Thing, with its `visibility`.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/versions",
    operation_id = "thing_versions",
    tag = "things",
    params(super::schemas::ThingId),
    responses(
        (status = 200, description = "The versions, at most 20", body = Vec<Version>),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
))]
pub(super) async fn of_thing(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let id = thing_id_before(&request, &context.options, END)?;
    let registry = context.registry(&request);
    let versions = blocking(move || registry.versions(&id)).await?;
    Ok(HttpResponse::Ok().json(versions.into_iter().map(shown).collect::<Vec<Version>>()))
}

fn shown(version: ThingVersion) -> Version {
    let ThingVersion { version, is_served, seq, format, document, visibility, is_readable, .. } = version;
    Version { version, is_served, etag: format!("\"{seq}\""), format, document, visibility, is_readable }
}
