//! `GET /things/{id}/lmos-capabilities`: a Thing as an LMOS capability file.

use actix_web::{HttpRequest, HttpResponse, web::Data};

use super::{MAX_AGE, Rendition, Source, render};
use crate::{
    convert::{Format, lmos_capabilities::from_thing},
    http::{Context, conditions::Conditions, parameters::Parameters, problem::Problem},
};

/// What comes behind the id of the Thing.
pub(in crate::http) const END: &str = "/lmos-capabilities";

/// `GET /things/{id}/lmos-capabilities`
#[utoipa::path(
    get,
    path = "/things/{id}/lmos-capabilities",
    tag = "import",
    summary = "Read a Thing as an LMOS capability file",
    params(
        ("id" = String, Path, description = "The id, percent-encoded: an absolute URI, or a name that is made one"),
        ("If-Match" = Option<String>, Header, description = "Only if the current entity tag is one of these"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the current entity tag is none of these"),
    ),
    responses(
        (status = 200, description = "The file that it was imported from; of other descriptions one that is made of their capabilities", body = crate::http::schemas::CapabilityFile, headers(("ETag" = String, description = "The entity tag of the file"), ("Cache-Control" = String, description = "How long it needn't be asked for again"))),
        (status = 304, description = "Not modified"),
        (status = 409, description = "The description has no capabilities, or doesn't say their versions", body = crate::http::schemas::Problem, content_type = "application/problem+json"),
        crate::http::schemas::Refusals,
        crate::http::schemas::ThingRefusals,
    )
)]
pub(in crate::http) async fn capability_file(
    context: Data<Context>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let conditions = Conditions::of(&request);
    let make = |source| match source {
        Source::Original(original) => Ok(original.into()),
        Source::Description(thing) => from_thing(&thing).map(Rendition::json),
    };
    render(&context, &request, (Format::LmosCapabilities, END), make).await?.answer(&conditions, Some(MAX_AGE))
}
